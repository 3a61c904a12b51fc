//! `cargo xtask bench oltp`: transactions of many benchmarks on Tessera's server and PostgreSQL's.
//!
//! ```text
//! for each server: for each workload: fill -> for each number of clients: warm up, run -> rate
//!                                          -> its invariants, or the command fails
//! -> table of rates and ratios, geometric mean of the ratios
//! ```
//! Statements go through the extended protocol with the types that a driver of Java declares: int8
//! for numbers of any width, varchar for texts. Both servers listen at a Unix socket, write to disk
//! before they acknowledge a commit, and run REPEATABLE READ. A transaction that lost to another
//! one is tried again; it counts once.
//!
//! Elsewhere: a client (`client`), one file for each workload.

mod client;
mod epinions;
mod orders;
mod queue;
mod smallbank;
mod tatp;
mod voter;
mod ycsb;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::Random;
use testkit::postgres::Postgres;

use crate::bench_args::OltpArgs;
use crate::server::Server;
use crate::{Outcome, text, workspace};
use client::{Client, Failure, Place, Prepared};

/// Settings of PostgreSQL beyond its defaults.
const POSTGRES_SETTINGS: &str = "
listen_addresses = ''
shared_buffers = 2GB
max_wal_size = 8GB
max_connections = 100
jit = off
";

/// Transactions of one benchmark.
trait Workload: Sync {
    /// Its name, as arguments and tables have it.
    fn name(&self) -> String;

    /// Tables and their rows: SQL that gives the same on both servers.
    fn fill(&self) -> Vec<String>;

    /// Its statements; transactions name them by position.
    fn statements(&self) -> Vec<Prepared>;

    /// Runs one transaction.
    ///
    /// # Errors
    /// [`Failure::Lost`] when it is to be tried again.
    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure>;

    /// Queries of one bigint, and the number that each must give after transactions with these
    /// effects in all.
    fn invariants(&self, effects: Effect) -> Vec<(String, i64)>;
}

/// Sums of what committed transactions did: each workload says what it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Effect {
    first: i64,
    second: i64,
}

impl Effect {
    fn first(first: i64) -> Self {
        Self { first, second: 0 }
    }

    fn second(second: i64) -> Self {
        Self { first: 0, second }
    }
}

/// Sums of effects over clients.
#[derive(Debug, Default)]
struct Effects {
    first: AtomicI64,
    second: AtomicI64,
}

impl Effects {
    fn add(&self, effect: Effect) {
        self.first.fetch_add(effect.first, Ordering::Relaxed);
        self.second.fetch_add(effect.second, Ordering::Relaxed);
    }

    fn sum(&self) -> Effect {
        let read = |of: &AtomicI64| of.load(Ordering::Relaxed);
        Effect { first: read(&self.first), second: read(&self.second) }
    }
}

fn workloads(scale: f64) -> Vec<Box<dyn Workload>> {
    let rows = |at_one: i64| ((at_one as f64 * scale) as i64).max(100);
    let mut all: Vec<Box<dyn Workload>> = vec![
        Box::new(tatp::Tatp { subscribers: rows(100_000) }),
        Box::new(smallbank::SmallBank { customers: rows(18_000) }),
    ];
    for mix in ycsb::MIXES {
        all.push(Box::new(ycsb::Ycsb::new(mix, rows(100_000))));
    }
    all.push(Box::new(epinions::Epinions { users: rows(2_000), items: rows(1_000) }));
    all.push(Box::new(voter::Voter));
    all.push(Box::new(orders::Orders { items: rows(100_000) }));
    all.push(Box::new(queue::Queue { jobs: rows(10_000) }));
    all
}

/// Rate of one workload with so many clients.
struct Figure {
    workload: String,
    clients: usize,
    per_second: f64,
    retries: u64,
}

/// Runs the chosen workloads on both servers and prints a table.
///
/// # Errors
/// When a server or a client fails, or an invariant does not hold afterwards.
pub fn run(args: &OltpArgs) -> Outcome {
    let mut chosen = workloads(args.scale);
    if let Some(name) =
        args.only.iter().find(|name| chosen.iter().all(|workload| workload.name() != **name))
    {
        return Err(format!("there is no workload {name}"));
    }
    if !args.only.is_empty() {
        chosen.retain(|workload| args.only.contains(&workload.name()));
    }
    if args.clients.contains(&0) || args.seconds <= 0.0 {
        return Err("there must be a client and some time".into());
    }
    if args.program.is_none() {
        workspace::cargo(&["build", "--release", "-p", "server"])?;
    }
    let folder = std::env::temp_dir().join(format!("tessera-oltp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(text)?;
    let outcome = compare(args, &chosen, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn compare(args: &OltpArgs, chosen: &[Box<dyn Workload>], folder: &Path) -> Outcome {
    let postgres = Postgres::start_with(POSTGRES_SETTINGS).map_err(|error| error.message)?;
    let place = Place { folder: postgres.folder().to_owned(), port: 5432, user: "postgres" };
    let theirs = measure_all(args, chosen, &place)?;
    drop(postgres);
    let options = ["--auth", "trust", "--unix-socket"].map(OsString::from);
    let options = options.into_iter().chain([folder.into()]).collect();
    let tessera = Server::start(args.program.as_deref(), options)?;
    let port = tessera.port.parse().map_err(text)?;
    let place = Place { folder: folder.to_owned(), port, user: "tessera" };
    let ours = measure_all(args, chosen, &place)?;
    drop(tessera);
    println!("\n| workload | clients | Tessera 1/s | PostgreSQL 1/s | ratio | retries of each |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut logs = Vec::new();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let ratio = ours.per_second / theirs.per_second;
        logs.push(ratio.ln());
        println!(
            "| {} | {} | {:.0} | {:.0} | {ratio:.2} | {}, {} |",
            ours.workload,
            ours.clients,
            ours.per_second,
            theirs.per_second,
            ours.retries,
            theirs.retries
        );
    }
    let mean = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
    println!("\ngeometric mean of the ratios: {mean:.2}");
    Ok(())
}

fn measure_all(
    args: &OltpArgs,
    chosen: &[Box<dyn Workload>],
    place: &Place,
) -> Result<Vec<Figure>, String> {
    let mut figures = Vec::new();
    for workload in chosen {
        figures.extend(
            measure(args, &**workload, place)
                .map_err(|failure| format!("{} on {}: {failure}", workload.name(), place.user))?,
        );
    }
    Ok(figures)
}

fn measure(
    args: &OltpArgs,
    workload: &dyn Workload,
    place: &Place,
) -> Result<Vec<Figure>, Failure> {
    let mut admin = Client::connect(place, &[])?;
    for sql in workload.fill() {
        admin.batch(&sql)?;
    }
    admin.batch("ANALYZE")?;
    admin.batch("CHECKPOINT")?;
    let effects = Effects::default();
    let mut figures = Vec::new();
    for &clients in &args.clients {
        let figure = run_clients(args, workload, place, clients, &effects)?;
        let (name, rate) = (&figure.workload, figure.per_second);
        println!("{}: {name}, {clients} clients: {rate:.0} 1/s", place.user);
        figures.push(figure);
    }
    for (sql, expected) in workload.invariants(effects.sum()) {
        let found = admin.integer(&sql)?;
        if found != expected {
            return Err(Failure::Fatal(format!("{sql} gives {found}, not {expected}")));
        }
    }
    Ok(figures)
}

fn run_clients(
    args: &OltpArgs,
    workload: &dyn Workload,
    place: &Place,
    clients: usize,
    effects: &Effects,
) -> Result<Figure, Failure> {
    let statements = workload.statements();
    let (counts, retries) = (AtomicBool::new(false), AtomicU64::new(0));
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Barrier::new(clients + 1);
    let one = |number: usize| -> Result<(), Failure> {
        let connected = Client::connect(place, &statements);
        start.wait();
        let mut client = connected?;
        let seed = args.seed ^ ((number as u64) << 32) ^ ((clients as u64) << 48);
        let mut random = Random::new(seed);
        while !stop.load(Ordering::Relaxed) {
            // The same transaction again, not an easier one.
            let drawn = random.clone();
            loop {
                match workload.transact(&mut client, &mut random) {
                    Ok(effect) => break effects.add(effect),
                    Err(Failure::Lost(_)) => {
                        client.roll_back()?;
                        retries.fetch_add(1, Ordering::Relaxed);
                        random = drawn.clone();
                    }
                    Err(fatal) => return Err(fatal),
                }
            }
            if counts.load(Ordering::Relaxed) {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..clients).map(|n| scope.spawn(move || one(n))).collect();
        start.wait();
        let length = Duration::from_secs_f64(args.seconds);
        std::thread::sleep(length / 5);
        counts.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        std::thread::sleep(length);
        counts.store(false, Ordering::Relaxed);
        let per_second = done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            let broken = |_| Failure::Fatal("a client panicked".into());
            thread.join().map_err(broken)??;
        }
        let retries = retries.load(Ordering::Relaxed);
        Ok(Figure { workload: workload.name(), clients, per_second, retries })
    })
}
