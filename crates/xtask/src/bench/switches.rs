//! `cargo xtask bench switches`: what each technique is worth alone, by switching it off.
//!
//! ```text
//! query -> all on, without a, without b, ... in turn -> medians -> ratios to all on
//! ```
//! Suites: `ssb`, `tpch`, and `partitions`, a part of TPC-H's tables in partitions.
//!
//! A ratio above 1 says that queries are slower without the technique; the last way is all on with
//! `scheduler_dispatch = bus`.

mod partitions;

use engine::{Config, Session};

use super::waterfall::{geometric, timed};
use super::{circumstances, median};
use crate::bench_args::{JoinOrderArgs, SwitchesArgs, threads_or_cores};
use crate::suite::Suite;
use crate::variants::Variant;
use crate::{Outcome, tessera, text};

/// Measures and prints a table for each suite.
///
/// # Errors
/// Errors of the database; a suite that does not exist.
pub fn run(args: &SwitchesArgs) -> Outcome {
    let JoinOrderArgs { sf, threads, runs } = args.ways;
    let threads = threads_or_cores(threads);
    println!("{}", circumstances());
    println!("run      sf {sf}, {threads} threads, medians of {runs} runs");
    for name in &args.suites {
        let in_partitions = name == "partitions";
        let suite = Suite::named(if in_partitions { "tpch" } else { name })?;
        let database = tessera::open(Config { threads, ..Config::default() }).map_err(text)?;
        let mut session = database.session();
        session.execute(&format!("CALL {}(sf => {sf})", suite.name)).map_err(text)?;
        let (more, queries) = if in_partitions {
            (partitions::statements(sf), partitions::queries())
        } else {
            (Vec::new(), suite.queries)
        };
        for statement in &more {
            session.execute(statement).map_err(text)?;
        }
        let mut ways = vec![Variant::without("all on", &[])];
        ways.extend(Variant::each());
        ways.push(Variant::on_bus());
        let mut ratios: Vec<Vec<(String, f64)>> = vec![Vec::new(); ways.len()];
        for (query, sql) in &queries {
            let times = alternating(&mut session, sql, &ways, runs)?;
            for (ratios, time) in ratios.iter_mut().zip(&times) {
                ratios.push((query.clone(), time / times[0]));
            }
        }
        println!("\n{name}:\n\n| | mean ratio | most | least |\n| --- | --- | --- | --- |");
        ways.iter().zip(&ratios).skip(1).for_each(|(way, ratios)| print_line(&way.name, ratios));
    }
    Ok(())
}

/// The mean of the ratios of all queries, the largest and the smallest.
fn print_line(name: &str, ratios: &[(String, f64)]) {
    let by_ratio = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
    let cell = |found: Option<&(String, f64)>| {
        found.map_or_else(String::new, |(query, ratio)| format!("{ratio:.2} (query {query})"))
    };
    let mean = geometric(ratios.iter().map(|(_, ratio)| *ratio));
    let most = cell(ratios.iter().max_by(by_ratio));
    println!("| {name} | {mean:.3} | {most} | {} |", cell(ratios.iter().min_by(by_ratio)));
}

/// The median of each way; runs of all ways alternate.
pub(super) fn alternating(
    session: &mut Session,
    query: &str,
    ways: &[Variant],
    runs: usize,
) -> Result<Vec<f64>, String> {
    let mut times = vec![Vec::new(); ways.len()];
    for run in 0..=runs.max(1) {
        for (variant, times) in ways.iter().zip(&mut times) {
            for setting in variant.settings() {
                session.execute(&setting).map_err(text)?;
            }
            let time = timed(session, query)?;
            if run > 0 {
                times.push(time);
            }
        }
    }
    Ok(times.iter_mut().map(|times| median(times)).collect())
}
