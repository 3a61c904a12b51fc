//! `cargo xtask bench join-order`: SSB with joins in the order of cost, of the text, and in the
//! worst, with and without LIP.
//!
//! LIP tests all build sides in the scan of the fact table, so that the order of the joins above
//! should matter little (Patel 2018, section 5.3).

use engine::Config;

use super::circumstances;
use super::switches::alternating;
use crate::bench_args::{JoinOrderArgs, threads_or_cores};
use crate::suite::Suite;
use crate::variants::Variant;
use crate::{Outcome, tessera, text};

use plan::Technique;

/// Ways that are measured.
fn ways() -> Vec<Variant> {
    let lip = |name| Variant::without(name, &[]);
    let fixed = |name| Variant::without(name, &[Technique::LipAdaptive]);
    let none = |name| Variant::without(name, &[Technique::Lip, Technique::ExactFilters]);
    vec![
        lip("cost"),
        lip("text").and_order("text"),
        lip("worst").and_order("worst"),
        fixed("worst, fixed order of filters").and_order("worst"),
        none("cost, no filters"),
        none("worst, no filters").and_order("worst"),
    ]
}

/// Measures and prints a table.
///
/// # Errors
/// Errors of the database.
pub fn run(args: &JoinOrderArgs) -> Outcome {
    let threads = threads_or_cores(args.threads);
    println!("{}", circumstances());
    println!("run      ssb sf {}, {threads} threads, medians of {} runs", args.sf, args.runs);
    let database = tessera::open(Config { threads, ..Config::default() }).map_err(text)?;
    let mut session = database.session();
    session.execute(&format!("CALL ssb(sf => {})", args.sf)).map_err(text)?;
    let ways = ways();
    let names: Vec<&str> = ways.iter().map(|way| &*way.name).collect();
    println!("\n| query | {} | worst : cost | without filters |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len() + 2));
    for (name, query) in Suite::ssb().queries {
        let times = alternating(&mut session, &query, &ways, args.runs)?;
        let cells: Vec<String> = times.iter().map(|time| format!("{time:.2}")).collect();
        let ratios = format!("{:.2} | {:.2}", times[2] / times[0], times[5] / times[4]);
        println!("| {name} | {} | {ratios} |", cells.join(" | "));
    }
    Ok(())
}
