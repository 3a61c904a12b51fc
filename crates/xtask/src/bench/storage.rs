//! `cargo xtask bench storage`, the storage explorer: which organisation of rows answers which
//! queries in what time, and which of the study's twelve rules hold on this machine.
//!
//! ```text
//! tables (seed) -> organisations (storage's own) -> queries x ways -> points -> rules, report
//!                                                      | each answer is the scalar model's
//! ```
//! Below SQL: blocks, scans and indexes are those of the crate `storage`; only the loop over blocks
//! and the memory of the output are this module's. What the grid of the sources has and storage
//! has not is named, with its reason (`grid::ABSENT`). Timings are printed, never asserted.
//! Source: Patel 2013; Chasseur 2015, chapter 3.

mod tables;
mod queries;
mod organisations;
mod counters;
mod measure;
mod grid;
mod rules;
mod report;

use super::circumstances;
use crate::bench_args::{StorageArgs, StoragePart};
use crate::{Outcome, text};
use grid::Grid;
use report::Report;

/// The arguments, with what is found out about the machine.
struct Settings {
    /// Rows of Narrow-U.
    rows: usize,
    runs: usize,
    threads: usize,
    seed: u64,
    run_ms: f64,
    parts: Vec<StoragePart>,
    /// True when misses are counted.
    counts: bool,
}

/// Every part, in the order in which they run.
const PARTS: [StoragePart; 7] = [
    StoragePart::NarrowU,
    StoragePart::NarrowE,
    StoragePart::WideE,
    StoragePart::Strings,
    StoragePart::Aggregate,
    StoragePart::Sizes,
    StoragePart::Files,
];

impl Settings {
    fn new(args: &StorageArgs) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let is_wanted = |part: &StoragePart| args.only.is_empty() || args.only.contains(part);
        Self {
            rows: args.rows.max(1),
            runs: args.runs.max(1),
            threads: args.threads.unwrap_or(cores).max(1),
            seed: args.seed,
            run_ms: args.run_ms,
            parts: PARTS.into_iter().filter(is_wanted).collect(),
            counts: counters::Counters::start().is_ok(),
        }
    }
}

/// Measures, checks the answers, and prints the report; with `--out` also writes it as
/// `storage.md`, with charts.
///
/// # Errors
/// An answer that is not the model's; what storage says; files that cannot be written.
pub fn run(args: &StorageArgs) -> Outcome {
    let settings = Settings::new(args);
    let measured = Grid::run(&settings)?;
    let rules = rules::check(&measured, settings.threads);
    let remarks = rules::remarks(&measured, settings.threads);
    let report = Report { settings: &settings, measured: &measured, rules: &rules, remarks };
    let page = report.page(&circumstances());
    println!("{page}");
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(text)?;
        std::fs::write(folder.join("storage.md"), &page).map_err(text)?;
        report.draw(folder)?;
    }
    Ok(())
}
