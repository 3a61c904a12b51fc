//! `cargo xtask bench`: Tessera beside a peer, hot, in alternating runs.
//!
//! ```text
//! query 1: warm up both, then T P T P T P ... -> medians, ratio; then once more on each side
//!          -> planning time, peak of memory beyond the tables
//! ```
//! A ratio above 1 says that Tessera is faster. Planning is EXPLAIN from text to text for Tessera;
//! for the peer what it says, without parsing if it is DuckDB. Timings are printed, never asserted.
//! Elsewhere: what Tessera is measured at alone, in the modules below; TPC-C (`tpcc`).

pub mod durable;
pub mod readings;
pub mod recovery;
pub mod checkpoint;
pub mod ch;
pub mod adapt;
pub mod ahead;
pub mod versions;
pub mod waterfall;
pub mod switches;
pub mod join_order;
pub mod limits;
pub mod storage;

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use crate::peers::Which;
use crate::suite::{self, Options, Pair};
use crate::{Outcome, root, text};

/// Parameters of a measurement.
pub struct Plan {
    /// The benchmark.
    pub options: Options,
    /// Timed runs of each query on each side.
    pub runs: usize,
    /// The peer.
    pub peer: Which,
}

/// Costs of a query on one side: medians of times, the peak of memory of one run.
#[derive(Clone, Copy)]
struct Cost {
    ms: f64,
    planning_ms: Option<f64>,
    peak_bytes: Option<u64>,
}

struct Measured {
    ours: Cost,
    theirs: Cost,
    rows: usize,
    checksum: u64,
}

/// Measures and prints.
///
/// # Errors
/// When a query fails on either side.
pub fn run(plan: &Plan) -> Outcome {
    println!("{}", circumstances());
    let mut pair = suite::open(&plan.options, plan.peer)?;
    print_run(plan, &pair);
    println!(
        "{:>5} {:>10} {:>10} {:>7} {:>8} {:>8} {:>9} {:>9} {:>8}",
        "query",
        "tessera ms",
        "peer ms",
        "ratio",
        "plan ms",
        "plan ms",
        "peak MiB",
        "peak MiB",
        "rows"
    );
    let mut all = Vec::new();
    for (name, query) in plan.options.chosen() {
        let measured = measure(&mut pair, query, plan.runs)
            .map_err(|message| format!("query {name}: {message}"))?;
        print_line(name, &measured.ours, &measured.theirs, &measured.rows.to_string());
        all.push(measured);
    }
    print_sums(&all);
    Ok(())
}

/// One line of the table: of plans and peaks, ours first.
fn print_line(name: &str, ours: &Cost, theirs: &Cost, rows: &str) {
    let planning = |cost: &Cost| cost.planning_ms.map_or("-".into(), |ms| format!("{ms:.2}"));
    let peak = |cost: &Cost| {
        cost.peak_bytes.map_or("-".into(), |bytes| format!("{:.2}", bytes as f64 / 1048576.0))
    };
    println!(
        "{name:>5} {:>10.2} {:>10.2} {:>7.2} {:>8} {:>8} {:>9} {:>9} {rows:>8}",
        ours.ms,
        theirs.ms,
        theirs.ms / ours.ms,
        planning(ours),
        planning(theirs),
        peak(ours),
        peak(theirs)
    );
}

fn print_sums(all: &[Measured]) {
    let sum = |cost: fn(&Measured) -> Cost| Cost {
        ms: all.iter().map(|measured| cost(measured).ms).sum(),
        planning_ms: Some(all.iter().filter_map(|measured| cost(measured).planning_ms).sum()),
        peak_bytes: Some(all.iter().filter_map(|measured| cost(measured).peak_bytes).sum()),
    };
    print_line("sum", &sum(|measured| measured.ours), &sum(|measured| measured.theirs), "");
    let mean = |cost: fn(&Measured) -> Cost| {
        let logs: f64 = all.iter().map(|measured| cost(measured).ms.ln()).sum();
        (logs / all.len().max(1) as f64).exp()
    };
    let none = |ms| Cost { ms, planning_ms: None, peak_bytes: None };
    let means = (mean(|measured| measured.ours), mean(|measured| measured.theirs));
    print_line("mean", &none(means.0), &none(means.1), "");
    let longest = all.iter().filter_map(|measured| measured.ours.planning_ms).fold(0.0, f64::max);
    let slower = all.iter().filter(|measured| measured.ours.ms > measured.theirs.ms).count();
    let checksum = all.iter().fold(0, |sum, measured| mix(sum, &measured.checksum.to_le_bytes()));
    println!(
        "means are geometric; slower on {slower} of {} queries; longest planning {longest:.2} ms\n\
         checksum of Tessera's results {checksum:016x}",
        all.len()
    );
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
    pair.peer.warm(query)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(1) {
        ours.push(timed(pair, query)?);
        theirs.push(pair.peer.time(query)?);
    }
    let profile = pair.peer.profile(query)?;
    let theirs = Cost {
        ms: median(&mut theirs),
        planning_ms: profile.planning_seconds.map(|seconds| seconds * 1e3),
        peak_bytes: profile.peak_bytes,
    };
    let rows = warm.row_count();
    drop(warm);
    let ours = Cost {
        ms: median(&mut ours),
        planning_ms: Some(planning(pair, query)?),
        peak_bytes: Some(peak(pair, query)?),
    };
    Ok(Measured { ours, theirs, rows, checksum })
}

/// Milliseconds that Tessera takes for `statement`.
fn timed(pair: &mut Pair, statement: &str) -> Result<f64, String> {
    let start = Instant::now();
    let result = pair.tessera.execute(statement).map_err(text)?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    drop(result);
    Ok(ms)
}

/// Times planning is measured.
const PLANNINGS: usize = 21;

/// Milliseconds of parsing, binding, planning and printing the plan.
fn planning(pair: &mut Pair, query: &str) -> Result<f64, String> {
    let explain = format!("EXPLAIN {query}");
    let mut times = (0..PLANNINGS).map(|_| timed(pair, &explain)).collect::<Result<Vec<_>, _>>()?;
    Ok(median(&mut times))
}

/// The largest memory of the buffer pool in a run of `query`, beyond what it holds without.
fn peak(pair: &mut Pair, query: &str) -> Result<u64, String> {
    let pool = Arc::clone(pair.tessera.database().pool());
    let before = pool.total();
    pool.reset_peak();
    pair.tessera.execute(query).map_err(text)?;
    Ok(pool.peak().saturating_sub(before))
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

fn print_run(plan: &Plan, pair: &Pair) {
    let options = &plan.options;
    println!(
        "run      {} {} {}, {} threads, {} runs; peer {}",
        options.suite.name,
        options.suite.unit,
        options.scale,
        options.threads,
        plan.runs,
        pair.peer.name()
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
