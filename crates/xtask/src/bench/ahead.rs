//! `cargo xtask bench ahead`: scans of a table of twice its memory, with blocks that are asked for
//! before they are needed and without.
//!
//! ```text
//! loads, CHECKPOINT, close -> open -> files out of the system's cache -> scan    on, off in turn
//! ```
//! Each run reads what is not in the pool from the disk; the bytes are printed. Answers must agree.

use std::path::Path;
use std::time::Instant;

use engine::{Config, Database, Session};
use rustix::fs::{Advice, Mode, OFlags};

use super::durable::Scratch;
use super::readings::{bytes_read, load};
use super::{circumstances, median};
use crate::bench_args::{AheadArgs, threads_or_cores};
use crate::{Outcome, text};

/// Scans with their names.
const SCANS: [(&str, &str); 3] = [
    ("sum and largest", "SELECT sum(id), max(value) FROM readings"),
    (
        "groups by sensor",
        "SELECT sensor, count(*), max(value), min(at) FROM readings GROUP BY sensor \
         ORDER BY sensor",
    ),
    ("LIKE in all texts", "SELECT count(*) FROM readings WHERE note LIKE '%77%5%'"),
];

/// Loads, scans and prints.
///
/// # Errors
/// Errors of the database; answers that differ.
pub fn run(args: &AheadArgs) -> Outcome {
    println!("{}", circumstances());
    let scratch = Scratch::new("ahead")?;
    let path = &scratch.0;
    let threads = threads_or_cores(args.threads);
    let rows = load(path, Config { threads, ..Config::default() }, args.blocks_mib << 20, &[])?;
    let memory_bytes = (args.blocks_mib << 20) / 2;
    let config = Config { threads, memory_bytes, ..Config::default() };
    let database = Database::open(path, config).map_err(text)?;
    println!(
        "run      ahead, {rows} rows, {} MiB of blocks, {} MiB of memory, {threads} threads, \
         medians of {} runs",
        args.blocks_mib,
        args.blocks_mib / 2,
        args.runs
    );
    println!("{:<20} {:>9} {:>9} {:>7} {:>9}", "", "on ms", "off ms", "off/on", "disk MB");
    let mut session = database.session();
    for (name, sql) in SCANS {
        let mut times = [Vec::new(), Vec::new()];
        let (mut answer, mut read) = (None, 0);
        for run in 0..=args.runs {
            for (way, times) in ["on", "off"].into_iter().zip(&mut times) {
                session.execute(&format!("SET tessera.read_ahead = {way}")).map_err(text)?;
                forget(&path.join("blocks"))?;
                let before = bytes_read("read_bytes");
                let (time, found) = timed(&mut session, sql)?;
                read = bytes_read("read_bytes") - before;
                if *answer.get_or_insert_with(|| found.clone()) != found {
                    return Err(format!("{name}: read_ahead changed the answer"));
                }
                // The first run checks blocks that were never read.
                if run > 0 {
                    times.push(time);
                }
            }
        }
        let [on, off] = times.map(|mut times| median(&mut times));
        let megabytes = read as f64 / 1e6;
        println!("{name:<20} {on:>9.1} {off:>9.1} {:>7.2} {megabytes:>9.1}", off / on);
    }
    drop(session);
    database.close().map_err(text)
}

type Answer = Vec<Vec<Option<String>>>;

/// Milliseconds of a query, and what it says.
fn timed(session: &mut Session, sql: &str) -> Result<(f64, Answer), String> {
    let begun = Instant::now();
    let found = session.execute(sql).map_err(text)?;
    Ok((begun.elapsed().as_secs_f64() * 1e3, found.text_rows()))
}

/// Takes the files of a directory out of the system's cache.
fn forget(directory: &Path) -> Outcome {
    for entry in std::fs::read_dir(directory).map_err(text)? {
        let path = entry.map_err(text)?.path();
        let file = rustix::fs::open(&path, OFlags::RDONLY, Mode::empty()).map_err(text)?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(text)?;
    }
    Ok(())
}
