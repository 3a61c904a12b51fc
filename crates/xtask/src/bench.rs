//! `cargo xtask bench`: Tessera beside DuckDB, hot, in alternating runs.
//!
//! ```text
//! query 1: warm up both, then T D T D T D ... -> medians, ratio
//! ```
//! A ratio above 1 says that Tessera is faster. Timings are printed, never asserted.
//! Elsewhere: what Tessera is measured at alone, in the modules below; TPC-C (`tpcc`).

pub mod durable;
pub mod recovery;
pub mod checkpoint;
pub mod versions;
pub mod waterfall;
pub mod join_order;

use std::process::Command;
use std::time::Instant;

use crate::suite::{self, Options, Pair};
use crate::{Outcome, root, text};

/// What to measure.
pub struct Plan {
    /// The benchmark.
    pub options: Options,
    /// Timed runs of each query on each side.
    pub runs: usize,
    /// Whether the peer keeps its data in a file.
    pub peer_file: bool,
}

/// Medians of one query in milliseconds.
struct Measured {
    ours: f64,
    theirs: f64,
    rows: usize,
    checksum: u64,
}

/// Measures and prints.
///
/// # Errors
/// When a query fails on either side.
pub fn run(plan: &Plan) -> Outcome {
    print_circumstances(plan);
    let mut pair = suite::open(&plan.options, plan.peer_file)?;
    println!(
        "{:>5} {:>12} {:>12} {:>8} {:>8}",
        "query", "tessera ms", "duckdb ms", "ratio", "rows"
    );
    let (mut logs, mut ours, mut theirs) = (0.0, 0.0, 0.0);
    let mut count = 0.0;
    let mut checksum = 0;
    for (name, query) in plan.options.chosen() {
        let measured = measure(&mut pair, query, plan.runs)
            .map_err(|message| format!("query {name}: {message}"))?;
        let ratio = measured.theirs / measured.ours;
        println!(
            "{name:>5} {:>12.2} {:>12.2} {ratio:>8.2} {:>8}",
            measured.ours, measured.theirs, measured.rows
        );
        logs += ratio.ln();
        ours += measured.ours.ln();
        theirs += measured.theirs.ln();
        count += 1.0;
        checksum = mix(checksum, &measured.checksum.to_le_bytes());
    }
    let mean = |sum: f64| (sum / f64::max(count, 1.0)).exp();
    println!("{:>5} {:>12.2} {:>12.2} {:>8.2}", "mean", mean(ours), mean(theirs), mean(logs));
    println!("means are geometric; checksum of Tessera's results {checksum:016x}");
    Ok(())
}

fn measure(pair: &mut Pair, query: &str, runs: usize) -> Result<Measured, String> {
    let warm = pair.tessera.execute(query).map_err(text)?;
    let mut checksum = 0;
    warm.for_each_text(|row| {
        for cell in row {
            checksum = mix(checksum, cell.as_deref().unwrap_or("\u{1}").as_bytes());
        }
        true
    });
    pair.duckdb.warm(query).map_err(text)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        let result = pair.tessera.execute(query).map_err(text)?;
        ours.push(start.elapsed().as_secs_f64() * 1e3);
        drop(result);
        theirs.push(pair.duckdb.time(query).map_err(text)?.seconds * 1e3);
    }
    let rows = warm.row_count();
    Ok(Measured { ours: median(&mut ours), theirs: median(&mut theirs), rows, checksum })
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() % 2 {
        1 => times[middle],
        _ => (times[middle - 1] + times[middle]) / 2.0,
    }
}

/// FNV-1a, and a mark after each cell.
fn mix(state: u64, bytes: &[u8]) -> u64 {
    let start = state ^ 0xcbf2_9ce4_8422_2325;
    bytes
        .iter()
        .chain(&[0xff])
        .fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn print_circumstances(plan: &Plan) {
    let options = &plan.options;
    println!("{}", circumstances());
    println!(
        "run      {} sf {}, {} threads, {} runs; peer duckdb {} {}",
        options.suite.name,
        options.scale,
        options.threads,
        plan.runs,
        testkit::duckdb::VERSION,
        if plan.peer_file { "from its file" } else { "in memory" }
    );
}

/// Commit and machine, as every measurement names them.
pub fn circumstances() -> String {
    format!("commit   {}\nmachine  {}", commit(), machine())
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let changed = git(&["status", "--porcelain"]).is_some_and(|changes| !changes.is_empty());
    if changed { format!("{hash}, with changes") } else { hash }
}

fn machine() -> String {
    let field = |file: &str, name: &str| {
        let content = std::fs::read_to_string(file).unwrap_or_default();
        let line = content.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = field("/proc/cpuinfo", "model name");
    let memory = field("/proc/meminfo", "MemTotal");
    format!("{model}, {cores} cores, {memory}")
}
