//! `cargo xtask bench recovery`: how fast a log is replayed and a checkpoint is loaded.
//!
//! ```text
//! child: log grows -> killed -> open: replay -> CHECKPOINT, close -> open: blocks
//! a database of twice its memory -> closed -> open -> first row by key      (`opening`)
//! ```
//! The files are in the system's cache, where the child's death left them: this is the speed of
//! the processor. What reading them alone takes is printed beside it, and the processor's seconds
//! of the whole opening, which say what a disturbed machine would have done alone.

mod opening;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use engine::{Database, RecoveryReport};
use workloads::tpcc::driver::{self, Length, Plan};
use workloads::tpcc::tessera::{Tessera, Waits};
use workloads::tpcc::{self, Scale};

use super::circumstances;
use super::durable::{Scratch, audit_tpcc, bytes_below, load_tpcc, open};
use crate::bench_args::{Log, RecoveryArgs, RecoveryChildArgs, threads_or_cores};
use crate::{Outcome, text};

/// Rows of one INSERT.
const INSERT_ROWS: u64 = 10_000;

/// Writes the log, says so, and waits to be killed.
///
/// # Errors
/// Errors of the database.
pub fn child(args: &RecoveryChildArgs) -> Outcome {
    let database = open(&args.path, args.threads).map_err(text)?;
    let mut session = database.session();
    session.execute("SET checkpoint_wal_bytes = '1000GB'").map_err(text)?;
    session.execute("SET synchronous_commit = off").map_err(text)?;
    let is_full = || Ok::<_, String>(bytes_below(&args.path.join("wal"))? >= args.mib << 20);
    match args.log {
        Log::Rows => {
            let sql = "CREATE TABLE readings (id bigint PRIMARY KEY, sensor integer, at timestamp, \
                 value double precision, unit varchar(12), note text)";
            session.execute(sql).map_err(text)?;
            session.execute("CHECKPOINT").map_err(text)?;
            let mut first = 0;
            while !is_full()? {
                let last = first + INSERT_ROWS - 1;
                let sql = format!(
                    "INSERT INTO readings SELECT i, i % 1000, TIMESTAMP '2026-01-01' + \
                     i * INTERVAL '1 second', i * 0.5, 'kelvin', 'reading number ' || i \
                     FROM generate_series({first}, {last}) AS g(i)"
                );
                session.execute(&sql).map_err(text)?;
                first += INSERT_ROWS;
            }
        }
        Log::Tpcc => {
            let scale = Scale::new(args.threads as u32);
            load_tpcc(&database, &scale).map_err(text)?;
            session.execute("CHECKPOINT").map_err(text)?;
            let system = Tessera::new(&database, Waits::No).map_err(text)?;
            for run in 1.. {
                if is_full()? {
                    break;
                }
                let length = Length::Time(Duration::ZERO, Duration::from_secs(1));
                let (seed, workers) = (tpcc::SEED, args.threads);
                driver::run(&system, &Plan { scale, seed, run, workers, length }).map_err(text)?;
            }
        }
    }
    println!("full");
    loop {
        std::thread::park();
    }
}

/// Measures and prints.
///
/// # Errors
/// Errors of the database, or damage after recovery.
pub fn run(args: &RecoveryArgs) -> Outcome {
    println!("{}", circumstances());
    let threads = threads_or_cores(args.threads);
    println!("run      recovery, {threads} threads, {} MiB of log", args.mib);
    if !args.opening {
        println!(
            "{:>5} {:>10} {:>8} {:>8} {:>8} {:>8} {:>10} {:>9} {:>10}",
            "log", "part", "MB", "s", "MB/s", "cpu s", "read MB/s", "commits", "indexes s"
        );
        for log in [Log::Rows, Log::Tpcc] {
            if args.log.is_none_or(|wanted| wanted == log) {
                measure(args.mib, threads, log)?;
            }
        }
    }
    if args.blocks_mib == 0 { Ok(()) } else { opening::run(args.blocks_mib, threads) }
}

fn measure(mib: u64, threads: usize, log: Log) -> Outcome {
    let scratch = Scratch::new("recovery")?;
    let path = &scratch.0;
    let name = log.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let mut child = Command::new(std::env::current_exe().map_err(text)?);
    child.args(["recovery-child", "--log", &name]).arg("--path").arg(path);
    child.args([format!("--mib={mib}"), format!("--threads={threads}")]);
    let mut child = child.stdout(Stdio::piped()).spawn().map_err(text)?;
    let mut line = String::new();
    let output = child.stdout.take().ok_or("the child has no output")?;
    BufReader::new(output).read_line(&mut line).map_err(text)?;
    child.kill().map_err(text)?;
    child.wait().map_err(text)?;
    if line.trim_end() != "full" {
        return Err("the child could not fill the log".into());
    }

    let alone = read_speed(&path.join("wal"))?;
    let database = measure_open(path, threads, |report| Part {
        names: [&name, "replay"],
        bytes: report.log_bytes,
        time: report.log,
        alone,
    })?;
    if log == Log::Tpcc {
        audit_tpcc(&database, &Scale::new(threads as u32))?;
    }
    database.session().execute("CHECKPOINT").map_err(text)?;
    database.close().map_err(text)?;

    let blocks = path.join("blocks");
    let (bytes, alone) = (bytes_below(&blocks)?, read_speed(&blocks)?);
    let names = [&name, "checkpoint"];
    measure_open(path, threads, |report| Part { names, bytes, time: report.blocks, alone })?;
    Ok(())
}

/// Measured part of an opening.
struct Part<'a> {
    names: [&'a str; 2],
    bytes: u64,
    time: Duration,
    /// Megabytes in a second of reading the same files.
    alone: f64,
}

fn measure_open<'a>(
    path: &Path,
    threads: usize,
    part: impl FnOnce(&RecoveryReport) -> Part<'a>,
) -> Result<Database, String> {
    let before = processor_seconds();
    let database = open(path, threads).map_err(text)?;
    let processor = processor_seconds() - before;
    let report = database.recovery();
    let Part { names: [name, what], bytes, time, alone } = part(&report);
    let (megabytes, seconds) = (bytes as f64 / 1e6, time.as_secs_f64());
    println!(
        "{name:>5} {what:>10} {megabytes:>8.0} {seconds:>8.2} {:>8.0} {processor:>8.2} \
         {alone:>10.0} {:>9} {:>10.2}",
        megabytes / seconds.max(1e-9),
        report.commits,
        report.indexes.as_secs_f64()
    );
    Ok(database)
}

/// Seconds that this process has had of a processor, by the system's clock of 10 ms.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    // utime and stime, the 14th and 15th field of the line.
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// Megabytes in a second of reading all files of `folder`, one after the other.
fn read_speed(folder: &Path) -> Result<f64, String> {
    let mut buffer = vec![0; 4 << 20];
    let (begun, mut bytes) = (Instant::now(), 0);
    for entry in std::fs::read_dir(folder).map_err(text)? {
        let mut file = std::fs::File::open(entry.map_err(text)?.path()).map_err(text)?;
        loop {
            match file.read(&mut buffer).map_err(text)? {
                0 => break,
                count => bytes += count,
            }
        }
    }
    Ok(bytes as f64 / 1e6 / begun.elapsed().as_secs_f64().max(1e-9))
}
