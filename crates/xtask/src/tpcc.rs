//! `cargo xtask bench tpcc`: the same transactions on Tessera or a peer, with equal durability.
//!
//! ```text
//! open and load -> driver: warm up, measure -> print -> the twelve conditions, or it fails
//! ```
//! A command runs one system: the machine is its own meanwhile. Figures of runs are compared by
//! whoever reads them.

mod postgres;
mod shared;
mod tessera;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use workloads::tpcc::driver::{self, Length, Plan, Report, System};
use workloads::tpcc::sqlite::Sqlite;
use workloads::tpcc::{self as tpcc, Failure, Kind, Scale};

use self::postgres::PostgresSystem;
use self::shared::SharedSystem;
use self::tessera::TesseraSystem;
use crate::cluster::Sizes;
use crate::{Outcome, bench, peers_home, text};

pub use workloads::tpcc::sqlite::Durability;

/// Whom to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Tessera.
    Tessera,
    /// SQLite, in process.
    Sqlite,
    /// PostgreSQL over a socket of this machine.
    Postgres,
}

/// How transactions reach the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Code inside the system: Tessera's native transactions; PostgreSQL's stored procedures, one
    /// call a transaction.
    Native,
    /// Prepared statements, one after the other.
    Sql,
}

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Warehouses of the population.
    pub warehouses: u32,
    /// Worker threads.
    pub workers: usize,
    /// Measured seconds, after a fifth of them to warm up.
    pub seconds: f64,
    /// Whom to measure.
    pub target: Target,
    /// Wait of commits for the disk.
    pub durability: Durability,
    /// How transactions reach it.
    pub interface: Interface,
}

/// A system with a population, as this command needs it.
trait Measured: System {
    /// Name, release and settings, in one line.
    fn description(&self) -> String;

    /// Runs a query of one integer.
    fn integer(&self, sql: &str) -> Result<i64, Failure>;

    /// Further result of a run, in one line; empty without.
    fn remark(&self) -> String {
        String::new()
    }
}

/// Loads, measures, prints, checks.
///
/// # Errors
/// When the system fails, or a consistency condition does not hold afterwards.
pub fn run(options: &Options) -> Outcome {
    if options.workers == 0 || options.warehouses == 0 {
        return Err("there must be a worker and a warehouse".into());
    }
    println!("{}", bench::circumstances());
    let scale = Scale::new(options.warehouses);
    let run = Run { scale, workers: options.workers, seconds: options.seconds };
    let report = match options.target {
        Target::Tessera => {
            let folder = ScratchFile::new()?;
            measure(&run, || {
                let how = (options.durability, options.interface);
                TesseraSystem::create(&folder.0, how, options.workers, &scale)
            })
        }
        Target::Sqlite => {
            let file = ScratchFile::new()?;
            measure(&run, || Sqlite::create(&file.0, options.durability, &scale, tpcc::SEED))
        }
        Target::Postgres => measure(&run, || {
            PostgresSystem::create(options.durability, options.interface, &scale, tpcc::SEED)
        }),
    };
    report.map(drop)
}

/// Measures shared data of these processes, which run `program`.
///
/// # Errors
/// As [`run`].
pub(crate) fn on_shared(program: &Path, sizes: Sizes, run: &Run) -> Result<Report, String> {
    measure(run, || SharedSystem::create(program, sizes, &run.scale))
}

/// A run of terminals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) scale: Scale,
    pub(crate) workers: usize,
    pub(crate) seconds: f64,
}

fn measure<M: Measured>(
    run: &Run,
    open: impl FnOnce() -> Result<M, Failure>,
) -> Result<Report, String> {
    let Run { scale, workers, seconds } = *run;
    let start = Instant::now();
    let system = open().map_err(text)?;
    println!("system   {}", system.description());
    println!("load     {:.1} s", start.elapsed().as_secs_f64());
    let warm_up = Duration::from_secs_f64(seconds / 5.0);
    let plan = Plan {
        scale,
        seed: tpcc::SEED,
        run: 1,
        workers,
        length: Length::Time(warm_up, Duration::from_secs_f64(seconds)),
    };
    println!(
        "run      tpcc, {} warehouses, {workers} workers, {seconds:.1} s after {:.1} s; seed {}",
        scale.warehouses,
        warm_up.as_secs_f64(),
        tpcc::SEED
    );
    let report = driver::run(&system, &plan).map_err(text)?;
    print(&report);
    match system.remark() {
        remark if remark.is_empty() => {}
        remark => println!("{remark}"),
    }
    let start = Instant::now();
    let broken = tpcc::violations(&scale, |sql| system.integer(sql)).map_err(text)?;
    broken.iter().for_each(|violation| println!("{violation}"));
    match broken.len() {
        0 => println!("conditions 1 to 12 hold, {:.1} s", start.elapsed().as_secs_f64()),
        count => return Err(format!("{count} consistency conditions are broken")),
    }
    Ok(report)
}

fn print(report: &Report) {
    println!(
        "{:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "transaction", "count", "per s", "p50 us", "p95 us", "p99 us", "max us", "retries"
    );
    for kind in Kind::ALL {
        let times = &report.times[kind as usize];
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let at = |share: f64| micros(times.quantile(share));
        println!(
            "{:>12} {:>9} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8}",
            kind.name(),
            times.count(),
            report.per_second(kind),
            at(0.5),
            at(0.95),
            at(0.99),
            micros(times.max()),
            report.retries[kind as usize]
        );
    }
    let tries: u64 = report.retries.iter().sum::<u64>() + report.committed() + report.rolled_back;
    println!(
        "New-Order/s {:.1}, transactions/s {:.1} (committed); rolled back as asked {}, lost to \
         others {:.3} %",
        report.new_orders_per_second(),
        report.transactions_per_second(),
        report.rolled_back,
        report.retries.iter().sum::<u64>() as f64 * 100.0 / tries.max(1) as f64
    );
}

impl Measured for Sqlite {
    fn description(&self) -> String {
        format!("sqlite {}, in process, {}", Sqlite::version(), self.settings())
    }

    fn integer(&self, sql: &str) -> Result<i64, Failure> {
        Sqlite::integer(self, sql)
    }

    fn remark(&self) -> String {
        format!("the file was found busy {} times, warm-up included", Sqlite::busy_count())
    }
}

/// A database file on the disk of the target directory, removed with its owner.
struct ScratchFile(PathBuf);

impl ScratchFile {
    fn new() -> Result<Self, String> {
        fs::create_dir_all(peers_home()).map_err(text)?;
        Ok(Self(peers_home().join(format!("tpcc-{}.sqlite", std::process::id()))))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            // Best effort: what remains is in the target directory.
            let _ = fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}
