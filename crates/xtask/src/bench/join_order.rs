//! `cargo xtask bench join-order`: SSB with joins in the order of cost, of the text, and in the
//! worst, with and without LIP.
//!
//! LIP tests all build sides in the scan of the fact table, so that the order of the joins above
//! should matter little (Patel 2018, section 5.3).

use engine::{Config, Session};

use super::waterfall::timed;
use super::{circumstances, median};
use crate::bench_args::{JoinOrderArgs, threads_or_cores};
use crate::suite::Suite;
use crate::variants::Variant;
use crate::{Outcome, tessera, text};

use plan::Technique;

/// What is measured: a name, and how queries are run.
fn ways() -> Vec<(&'static str, Variant)> {
    let lip = || Variant::without("lip", &[]);
    let fixed = || Variant::without("fixed", &[Technique::LipAdaptive]);
    let none = || Variant::without("none", &[Technique::Lip, Technique::ExactFilters]);
    vec![
        ("cost", lip()),
        ("text", lip().and_order("text")),
        ("worst", lip().and_order("worst")),
        ("worst, fixed order of filters", fixed().and_order("worst")),
        ("cost, no filters", none()),
        ("worst, no filters", none().and_order("worst")),
    ]
}

/// Measures and prints a table.
///
/// # Errors
/// What the database says.
pub fn run(args: &JoinOrderArgs) -> Outcome {
    let threads = threads_or_cores(args.threads);
    println!("{}", circumstances());
    println!("run      ssb sf {}, {threads} threads, medians of {} runs", args.sf, args.runs);
    let database = tessera::open(Config { threads, ..Config::default() }).map_err(text)?;
    let mut session = database.session();
    session.execute(&format!("CALL ssb(sf => {})", args.sf)).map_err(text)?;
    let ways = ways();
    let names: Vec<&str> = ways.iter().map(|(name, _)| *name).collect();
    println!("\n| query | {} | worst : cost | without filters |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len() + 2));
    for (name, query) in Suite::ssb().queries {
        let times = measured(&mut session, query, &ways, args.runs)?;
        let cells: Vec<String> = times.iter().map(|time| format!("{time:.2}")).collect();
        let ratios = format!("{:.2} | {:.2}", times[2] / times[0], times[5] / times[4]);
        println!("| {name} | {} | {ratios} |", cells.join(" | "));
    }
    Ok(())
}

/// The median of each way; runs of all ways alternate.
fn measured(
    session: &mut Session,
    query: &str,
    ways: &[(&str, Variant)],
    runs: usize,
) -> Result<Vec<f64>, String> {
    let mut times = vec![Vec::new(); ways.len()];
    for run in 0..=runs.max(1) {
        for ((_, variant), times) in ways.iter().zip(&mut times) {
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
