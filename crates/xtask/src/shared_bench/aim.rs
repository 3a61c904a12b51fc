//! Huawei-AIM on a shared table: queries of clients alone, then beside a stream of calls.
//!
//! ```text
//! COPY -> shared.subscribers -> 1, 2 clients without calls -> 1, 2 clients beside calls
//!      -> audit of the calls; a copy in a table of the node alone -> the seven queries on both
//! ```

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, SimpleQueryMessage};
use workloads::aim::{Aim, QUERIES, Reach};
use workloads::tpcc::Histogram;

use crate::bench_args::SharedBenchArgs;
use crate::cluster::{Cluster, Sizes, connect};
use crate::{Outcome, peers_home, text};

/// The shared table, and its copy in the node.
const TABLE: &str = "shared.subscribers";
const COPY: &str = "public.copied";

/// Rows of a COPY, which is a transaction.
const COPY_ROWS: u64 = 2000;

/// Clients of queries.
const CLIENTS: [usize; 2] = [1, 2];

/// Sets of parameters with which answers are compared.
const SEEDS: u64 = 5;

/// Findings of a run.
#[derive(Default)]
struct Found {
    times: Histogram,
    /// Calls that were committed.
    calls: u64,
    seconds: f64,
}

/// A table that is being measured.
struct Bench<'a> {
    aim: Aim,
    cluster: &'a Cluster,
    nodes: usize,
    time: Duration,
    /// Calls of the stream that were made.
    made: AtomicU64,
}

/// Measures, prints, checks.
///
/// # Errors
/// When a process fails, a call is lost, or an answer differs.
pub(super) fn run(args: &SharedBenchArgs, program: &Path) -> Outcome {
    let nodes = args.nodes.iter().copied().max().unwrap_or(1);
    let sizes = Sizes { stores: args.stores, nodes };
    let aim = Aim { subscribers: args.subscribers.max(1), attributes: args.attributes };
    let home = peers_home().join(format!("aim-{}", std::process::id()));
    let cluster = Cluster::start(program, home, sizes)?;
    let begin = Instant::now();
    fill(&mut connect(&cluster, 0).map_err(text)?, &aim)?;
    println!(
        "aim      {} subscribers with {} attributes on {} stores, {nodes} nodes, loaded in {:.1} s",
        aim.subscribers,
        aim.attributes,
        args.stores,
        begin.elapsed().as_secs_f64()
    );
    let time = Duration::from_secs_f64(args.seconds);
    let bench = Bench { aim, cluster: &cluster, nodes, time, made: AtomicU64::new(0) };
    println!("clients calls/s asked  calls/s  queries/s   p50 ms   p99 ms");
    for calls in [0, args.calls] {
        for clients in CLIENTS {
            let found = bench.measure(clients, calls)?;
            let ms = |share| found.times.quantile(share) as f64 / 1e6;
            println!(
                "{clients:>7} {calls:>13} {:>8.1} {:>10.2} {:>8.1} {:>8.1}",
                found.calls as f64 / found.seconds,
                found.times.count() as f64 / found.seconds,
                ms(0.5),
                ms(0.99)
            );
        }
    }
    bench.check()
}

fn fill(client: &mut Client, aim: &Aim) -> Outcome {
    client.batch_execute(&aim.create_table(TABLE)).map_err(text)?;
    let mut lines = String::new();
    for id in 0..aim.subscribers {
        aim.subscriber(id).write(&mut lines);
        if (id + 1) % COPY_ROWS == 0 || id + 1 == aim.subscribers {
            let mut writer = client.copy_in(&format!("COPY {TABLE} FROM STDIN")).map_err(text)?;
            writer.write_all(lines.as_bytes()).map_err(text)?;
            writer.finish().map_err(text)?;
            lines.clear();
        }
    }
    Ok(())
}

impl Bench<'_> {
    fn client(&self, number: usize) -> Result<Client, String> {
        connect(self.cluster, number % self.nodes).map_err(text)
    }

    /// Runs so many clients, beside so many calls in a second.
    fn measure(&self, clients: usize, calls: u64) -> Result<Found, String> {
        let is_over = AtomicBool::new(false);
        let begin = Instant::now();
        let before = self.made.load(Ordering::Relaxed);
        let mut found = Found::default();
        thread::scope(|scope| {
            let is_over = &is_over;
            let asks: Vec<_> =
                (0..clients).map(|number| scope.spawn(move || self.ask(number, is_over))).collect();
            let stream = (calls > 0).then(|| scope.spawn(move || self.call(calls, is_over)));
            while begin.elapsed() < self.time {
                thread::park_timeout(self.time.saturating_sub(begin.elapsed()));
            }
            is_over.store(true, Ordering::Relaxed);
            for times in asks {
                found.times.merge(&times.join().map_err(|_| "a client panicked")??);
            }
            stream.map_or(Ok(()), |stream| stream.join().map_err(|_| "the stream panicked")?)
        })?;
        found.seconds = begin.elapsed().as_secs_f64();
        found.calls = self.made.load(Ordering::Relaxed) - before;
        Ok(found)
    }

    /// Asks one query after the other; times in nanoseconds.
    fn ask(&self, number: usize, is_over: &AtomicBool) -> Result<Histogram, String> {
        let mut client = self.client(number)?;
        let mut times = Histogram::default();
        let mut seed = number as u64;
        while !is_over.load(Ordering::Relaxed) {
            let query = (seed % u64::from(QUERIES)) as u32 + 1;
            let begin = Instant::now();
            client.simple_query(&self.aim.query(query, TABLE, seed)).map_err(text)?;
            times.add(begin.elapsed().as_nanos() as u64);
            seed += 1;
        }
        Ok(times)
    }

    /// Makes calls of the stream, `rate` in a second at most.
    fn call(&self, rate: u64, is_over: &AtomicBool) -> Outcome {
        // Queries begin at the first node.
        let mut client = self.client(self.nodes - 1)?;
        let mut prepare = |reach: Reach| client.prepare(&reach.update(TABLE)).map_err(text);
        let (local, distant) = (prepare(Reach::Local)?, prepare(Reach::Distant)?);
        let begin = Instant::now();
        for made in 0.. {
            let due = begin + Duration::from_secs_f64(f64::from(made) / rate as f64);
            while Instant::now() < due && !is_over.load(Ordering::Relaxed) {
                thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            let call = self.aim.call(self.made.load(Ordering::Relaxed));
            let statement = if call.reach == Reach::Local { &local } else { &distant };
            let subscriber = call.subscriber as i64;
            while let Err(error) =
                client.execute(statement, &[&call.seconds, &call.cents, &subscriber])
            {
                if error.code() != Some(&SqlState::T_R_SERIALIZATION_FAILURE) {
                    return Err(text(error));
                }
            }
            self.made.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Compares calls with the model's, and answers with those of a table of the node alone.
    fn check(&self) -> Outcome {
        let mut client = self.client(0)?;
        let calls = self.made.load(Ordering::Relaxed);
        let (audit, expected) = self.aim.audit(TABLE, calls);
        let row = client.query_one(&audit, &[]).map_err(text)?;
        for (column, expected) in expected.into_iter().enumerate() {
            let found: i64 = row.try_get(column).map_err(text)?;
            if found != expected {
                return Err(format!("{audit}: {found} in the place of {expected}"));
            }
        }
        let copy = format!("CREATE TABLE {COPY} AS SELECT * FROM {TABLE}");
        client.batch_execute(&copy).map_err(text)?;
        for (number, seed) in (1..=QUERIES).flat_map(|number| (0..SEEDS).map(move |s| (number, s)))
        {
            let query = |table| self.aim.query(number, table, seed);
            let [shared, own] = [TABLE, COPY].map(|table| rows(&mut client, &query(table)));
            if shared? != own? {
                return Err(format!("differs from a table of one node: {}", query(TABLE)));
            }
        }
        println!("{calls} calls are there, and the answers are those of a table of one node");
        Ok(())
    }
}

/// The rows of a query, as texts.
fn rows(client: &mut Client, query: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let messages = client.simple_query(query).map_err(text)?;
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
        }
        _ => None,
    };
    Ok(messages.iter().filter_map(row).collect())
}
