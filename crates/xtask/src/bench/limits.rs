//! `cargo xtask bench limits`: what the machine's memory allows, and how far from it queries are.
//!
//! ```text
//! memory   -> bytes a second in order; nanoseconds per word at random, by size of the area
//! EXPLAIN ANALYZE -> bytes that scans read; rows into joins and groups, bytes of their tables
//! both     -> the least time of the query, and of each operator that a slow query spends time in
//! ```
//! The least time of a scan is that of its bytes in order; of a join or an aggregation that of one
//! word at random, in an area as large as its table, for each row that comes in; of other operators
//! nothing. Operators of a query follow one another here, and all threads share their work.

use std::hint::black_box;
use std::time::Instant;

use engine::Session;

use super::waterfall::timed;
use super::{circumstances, median};
use crate::bench_args::{LimitsArgs, threads_or_cores};
use crate::suite::{self, Options, Suite};
use crate::{Outcome, text};

/// Bytes each thread reads in order.
const AREA_BYTES: usize = 512 << 20;
/// Sizes of areas that are read at random.
const SIZES: [usize; 6] = [256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];
/// Words read at random in one measurement of one thread.
const READS: usize = 1 << 24;
/// Queries whose operators are shown.
const SLOWEST: usize = 3;

/// Bandwidth and latency of memory for all threads together.
struct Memory {
    bytes_per_ms: f64,
    /// Milliseconds per word at random, by [`SIZES`].
    random_ms: [f64; SIZES.len()],
}

impl Memory {
    fn measure(threads: usize) -> Self {
        let in_order = median_of(|| {
            together(threads, AREA_BYTES, |area| {
                black_box(area.iter().fold(0u64, |sum, &word| sum.wrapping_add(word)));
            })
        });
        let random = SIZES.map(|bytes| {
            let ms = median_of(|| together(threads, bytes, at_random));
            ms / (READS * threads) as f64
        });
        Self { bytes_per_ms: (AREA_BYTES * threads) as f64 / in_order, random_ms: random }
    }

    /// Milliseconds per word in an area of `bytes`.
    fn random(&self, bytes: u64) -> f64 {
        let at = SIZES.iter().position(|&size| size as u64 >= bytes).unwrap_or(SIZES.len() - 1);
        self.random_ms[at]
    }
}

/// The median of five measurements.
fn median_of(mut measure: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..5).map(|_| measure()).collect();
    median(&mut times)
}

/// Milliseconds that `threads` threads take, each on `bytes` of its own that are there already.
fn together(threads: usize, bytes: usize, work: impl Fn(&[u64]) + Sync) -> f64 {
    let areas: Vec<Vec<u64>> = (0..threads).map(|_| (0..bytes as u64 / 8).collect()).collect();
    let work = &work;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for area in &areas {
            scope.spawn(move || work(area));
        }
    });
    start.elapsed().as_secs_f64() * 1e3
}

/// Reads words whose places do not depend on each other.
fn at_random(area: &[u64]) {
    let mask = area.len() - 1;
    let (mut place, mut sum) = (0x9e37_79b9_7f4a_7c15_u64, 0u64);
    for _ in 0..READS {
        place =
            place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sum = sum.wrapping_add(area[(place >> 32) as usize & mask]);
    }
    black_box(sum);
}

/// One operator, as EXPLAIN ANALYZE tells.
struct Line {
    name: String,
    depth: usize,
    rows: f64,
    ms: f64,
    read: u64,
    memory: u64,
    /// Rows of the operators right below.
    rows_in: f64,
}

impl Line {
    /// The operator of a line of the plan; None for details.
    fn parse(line: &str) -> Option<Self> {
        let (head, rest) = line.split_once("  (rows=")?;
        let depth = head.len() - head.trim_start().len();
        let field = |name: &str| {
            let at = rest.find(&format!(", {name}="))? + name.len() + 3;
            rest[at..].split([',', ')']).next()
        };
        let bytes = |name: &str| field(name).and_then(bytes).unwrap_or(0);
        Some(Self {
            name: head.trim().to_owned(),
            depth,
            rows: field("actual")?.parse().ok()?,
            ms: field("time")?.strip_suffix(" ms")?.parse().ok()?,
            read: bytes("read"),
            memory: bytes("memory"),
            rows_in: 0.0,
        })
    }

    /// The least time it can take.
    fn least_ms(&self, memory: &Memory) -> f64 {
        let scan = self.read as f64 / memory.bytes_per_ms;
        match self.memory {
            0 => scan,
            bytes => scan + self.rows_in * memory.random(bytes),
        }
    }
}

/// The number of `12 KiB`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let shift = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? << shift)
}

/// The operators of a query, in the order of its plan.
fn operators(session: &mut Session, query: &str) -> Result<Vec<Line>, String> {
    let plan = session.execute(&format!("EXPLAIN ANALYZE {query}")).map_err(text)?.text_rows();
    let mut lines: Vec<Line> =
        plan.iter().flatten().flatten().filter_map(|line| Line::parse(line)).collect();
    for at in 0..lines.len() {
        let below = lines[at + 1..].iter().take_while(|line| line.depth > lines[at].depth);
        let next = below.clone().map(|line| line.depth).min();
        let rows = below.filter(|l| Some(l.depth) == next).map(|line| line.rows);
        lines[at].rows_in = rows.fold(0.0, |sum, rows| sum + rows);
    }
    Ok(lines)
}

/// Measures and prints.
///
/// # Errors
/// Errors of the database.
pub fn run(args: &LimitsArgs) -> Outcome {
    let threads = threads_or_cores(args.threads);
    println!("{}", circumstances());
    let memory = Memory::measure(threads);
    println!("\nmemory, {threads} threads: {:.1} GB/s in order", memory.bytes_per_ms / 1e6);
    println!("\n| area of each thread, KiB | words at random, million a second |\n| --- | --- |");
    for (size, ms) in SIZES.iter().zip(&memory.random_ms) {
        println!("| {} | {:.0} |", size >> 10, 1e-3 / ms);
    }
    for suite in [Suite::tpch(), Suite::ssb()] {
        let options = Options { suite, scale: args.sf, threads, queries: Vec::new(), files: None };
        of_suite(&options, args.runs, &memory)?;
    }
    Ok(())
}

fn of_suite(options: &Options, runs: usize, memory: &Memory) -> Outcome {
    let mut session = suite::generate(options)?;
    println!("\n{} {}: all queries\n", options.suite.name, options.scale);
    println!("| query | ms | bytes read, MiB | GB/s | tables, MiB | least ms | share |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut measured = Vec::new();
    for (name, query) in options.chosen() {
        timed(&mut session, query)?;
        let times = (0..runs.max(1)).map(|_| timed(&mut session, query));
        let ms = median(&mut times.collect::<Result<Vec<_>, _>>()?);
        let lines = operators(&mut session, query)?;
        let read: u64 = lines.iter().map(|line| line.read).sum();
        let tables: u64 = lines.iter().map(|line| line.memory).sum();
        let least: f64 = lines.iter().map(|line| line.least_ms(memory)).sum();
        println!(
            "| {name} | {ms:.2} | {:.1} | {:.1} | {:.1} | {least:.2} | {:.0} % |",
            read as f64 / 1048576.0,
            read as f64 / ms / 1e6,
            tables as f64 / 1048576.0,
            100.0 * least / ms
        );
        measured.push((name, ms, lines));
    }
    measured.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, ms, lines) in measured.iter().take(SLOWEST) {
        show(name, *ms, lines, options.threads, memory);
    }
    Ok(())
}

/// Where a query spends its time: operators with at least a fiftieth of it.
fn show(name: &str, ms: f64, lines: &[Line], threads: usize, memory: &Memory) {
    println!("\nquery {name}, {ms:.2} ms\n");
    println!("| operator | rows in | rows out | ms of {threads} threads | ns a row | least ms |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let all: f64 = lines.iter().map(|line| line.ms).sum();
    for line in lines.iter().filter(|line| line.ms * 50.0 >= all) {
        let rows = line.rows_in.max(line.rows);
        println!(
            "| {} | {} | {} | {:.2} | {:.1} | {:.2} |",
            line.name,
            line.rows_in,
            line.rows,
            line.ms,
            line.ms * 1e6 / rows.max(1.0),
            line.least_ms(memory) * threads as f64
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn lines_of_plans_are_understood() {
        let line = "  Scan lineitem  (rows=257607, actual=257781, time=0.530 ms, \
                    blocks=10 scanned 0 skipped, read=12 KiB, memory=3 MiB)";
        let found = Line::parse(line).expect("an operator");
        assert_eq!((found.name.as_str(), found.depth), ("Scan lineitem", 2));
        assert_eq!((found.rows, found.ms), (257_781.0, 0.53));
        assert_eq!((found.read, found.memory), (12 << 10, 3 << 20));
        assert!(Line::parse("      where l_shipdate < date '1995-01-01'").is_none());
    }
}
