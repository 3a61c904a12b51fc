//! `cargo xtask bench ch`: TPC-C's transactions and CH-benCHmark's queries on one database at once.
//!
//! ```text
//! CALL ch -> N transactional sessions (driver of TPC-C) | M analytical ones, in endless rotation
//! -> rates, times of queries, QphCH, oldest snapshot -> temperatures -> the twelve conditions
//! ```
//! Analytical sessions begin with different queries, so that none profits from another's caches.
//! A query sees what was committed when it began: its snapshot is at its end as old as it took.
//! Strings are TPC-C's.
//!
//! Source: Funke 2015, sections 2.3 and 2.5: QphCH is 22 times 3,600 seconds by the time of a set,
//! times sessions; normalised times are those for a million order lines. The time of a set is the
//! sum of its queries' mean times.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::{Config, Database, Session};
use storage::Layout;
use workloads::LoadProgress;
use workloads::ch;
use workloads::tpcc::driver::{self, Length, Plan, Report};
use workloads::tpcc::tessera::{TesseraSql, Waits};
use workloads::tpcc::{self, Scale};

use super::durable::{Scratch, audit_tpcc};
use crate::bench_args::ChArgs;
use crate::{Outcome, bench, text};

/// Queries whose input does not grow with transactions, by number from 1; times of others are
/// normalised.
const CONSTANT: [usize; 4] = [2, 11, 16, 22];

/// Times of the queries, in seconds, by number from 1.
type Times = BTreeMap<usize, Vec<f64>>;

/// Loads, runs both sides, prints, audits.
///
/// # Errors
/// Errors of the database, and conditions that do not hold afterwards.
pub fn run(args: &ChArgs) -> Outcome {
    if args.warehouses == 0 || args.transactions + args.analytics == 0 {
        return Err("there must be a warehouse and a session".into());
    }
    println!("{}", bench::circumstances());
    let scale = Scale::new(args.warehouses);
    let folder = Scratch::new("ch")?;
    let begun = Instant::now();
    let database = load(&folder.0, args, &scale).map_err(text)?;
    println!("load     {:.1} s", begun.elapsed().as_secs_f64());
    println!(
        "run      ch, {} warehouses, {} transactional and {} analytical sessions, {:.1} s, \
         freezing {}, {} threads",
        args.warehouses,
        args.transactions,
        args.analytics,
        args.seconds,
        args.freezing,
        database.threads()
    );
    let (report, times) = both(&database, args, &scale)?;
    if let Some(report) = report {
        println!(
            "New-Order/s {:.1}, transactions/s {:.1}",
            report.new_orders_per_second(),
            report.transactions_per_second()
        );
    }
    let mut session = database.session();
    print_times(&times, args.analytics, rows_of(&mut session, "order_line")?);
    print_temperatures(&mut session)?;
    audit_tpcc(&database, &scale)?;
    println!("conditions 1 to 12 hold, indexes agree");
    Ok(())
}

fn load(folder: &std::path::Path, args: &ChArgs, scale: &Scale) -> types::Result<Database> {
    let config = Config { threads: args.threads, layout: Layout::Auto, ..Config::default() };
    let database = Database::open(folder, config)?;
    let mut session = database.session();
    session.execute(&format!("SET freezing = {}", args.freezing))?;
    let silent: LoadProgress = Arc::new(|_, _, _| {});
    ch::load(&database, scale, tpcc::SEED, &session.cancel_handle(), &silent)?;
    for sql in tpcc::create_indexes() {
        session.execute(&sql)?;
    }
    session.execute("CHECKPOINT")?;
    Ok(database)
}

/// Runs both sides at once: what transactions were like, if there were any, and the times.
fn both(
    database: &Database,
    args: &ChArgs,
    scale: &Scale,
) -> Result<(Option<Report>, Times), String> {
    let stop = AtomicBool::new(false);
    let times = Mutex::new(Times::new());
    let failure = Mutex::new(None);
    let report = std::thread::scope(|scope| {
        for analyst in 0..args.analytics {
            let (stop, times, failure) = (&stop, &times, &failure);
            scope.spawn(move || {
                // Evenly spread over the set.
                let first = analyst * ch::QUERIES.len() / args.analytics;
                if let Err(error) = rotate(database.session(), first, stop, times) {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
        }
        let report = transactions(database, args, scale);
        stop.store(true, Ordering::Relaxed);
        report
    })?;
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error.to_string()),
        None => Ok((report, times.into_inner().unwrap_or_else(PoisonError::into_inner))),
    }
}

fn transactions(
    database: &Database,
    args: &ChArgs,
    scale: &Scale,
) -> Result<Option<Report>, String> {
    let measured = Duration::from_secs_f64(args.seconds);
    if args.transactions == 0 {
        std::thread::sleep(measured);
        return Ok(None);
    }
    let plan = Plan {
        scale: *scale,
        seed: tpcc::SEED,
        run: 1,
        workers: args.transactions,
        length: Length::Time(Duration::ZERO, measured),
    };
    let waits = if args.async_commits { Waits::No } else { Waits::Yes };
    driver::run(&TesseraSql::new(database, waits), &plan).map(Some).map_err(text)
}

/// Runs the queries one after the other, from number `first` of them on, until `stop`.
fn rotate(
    mut session: Session,
    first: usize,
    stop: &AtomicBool,
    times: &Mutex<Times>,
) -> types::Result<()> {
    for at in (0..ch::QUERIES.len()).cycle().skip(first) {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let begun = Instant::now();
        session.execute(ch::QUERIES[at])?;
        let took = begun.elapsed().as_secs_f64();
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        times.entry(at + 1).or_default().push(took);
    }
    Ok(())
}

fn print_times(times: &Times, sessions: usize, order_lines: f64) {
    if times.is_empty() {
        return;
    }
    println!(
        "{:>5} {:>6} {:>10} {:>10} {:>14}",
        "query", "runs", "mean ms", "max ms", "ms/M lines"
    );
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    for (number, all) in times {
        let longest = all.iter().copied().fold(0.0, f64::max);
        let normalised = if CONSTANT.contains(number) {
            "-".to_owned()
        } else {
            format!("{:.1}", mean(all) * 1e9 / order_lines)
        };
        let (mean, longest) = (mean(all) * 1e3, longest * 1e3);
        println!("{number:>5} {:>6} {mean:>10.1} {longest:>10.1} {normalised:>14}", all.len());
    }
    let means: Vec<f64> = times.values().map(|all| mean(all)).collect();
    if means.len() < ch::QUERIES.len() {
        return println!("no session came through all queries");
    }
    let set: f64 = means.iter().sum();
    let logs: f64 = means.iter().map(|time| time.ln()).sum();
    let oldest = times.values().flatten().copied().fold(0.0, f64::max);
    println!(
        "set {set:.3} s, geometric mean {:.1} ms, QphCH {:.0} x {sessions}, oldest snapshot \
         {oldest:.3} s",
        (logs / means.len() as f64).exp() * 1e3,
        22.0 * 3600.0 / set
    );
}

fn rows_of(session: &mut Session, table: &str) -> Result<f64, String> {
    let result = session.execute(&format!("SELECT count(*) FROM {table}")).map_err(text)?;
    let cell = result.text_rows().into_iter().flatten().flatten().next();
    cell.and_then(|cell| cell.parse().ok()).ok_or_else(|| format!("{table} has no count"))
}

fn print_temperatures(session: &mut Session) -> Outcome {
    let sql = "SELECT table_name, hot_blocks, hot_rows, hot_bytes, frozen_blocks, frozen_rows,
                      frozen_bytes
               FROM tessera_temperatures() ORDER BY table_name";
    let result = session.execute(sql).map_err(text)?;
    let header = ["table", "hot blocks", "rows", "MB", "frozen blocks", "rows", "MB"];
    let [name, numbers @ ..] = header;
    println!("{name:<12}{}", numbers.map(|number| format!("{number:>14}")).concat());
    for row in result.text_rows() {
        let cells: Vec<String> = row.into_iter().flatten().collect();
        let [name, numbers @ ..] = &cells[..] else { continue };
        let megabytes = |bytes: &str| bytes.parse::<f64>().unwrap_or(0.0) / 1e6;
        let shown = numbers.iter().enumerate().map(|(i, cell)| match i % 3 {
            2 => format!("{:>14.1}", megabytes(cell)),
            _ => format!("{cell:>14}"),
        });
        println!("{name:<12}{}", shown.collect::<String>());
    }
    Ok(())
}
