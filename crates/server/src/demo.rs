//! `tessera demo`: TPC-H from nothing to 22 answers.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use engine::Database;
use indicatif::ProgressBar;
use types::Result;
use workloads::{LoadProgress, tpch};

use crate::arguments::Format;
use crate::{interrupt, progress, report, shell};

/// Generates, loads, queries; then a shell when standard input is a terminal.
///
/// # Errors
/// Errors of loading; errors of queries are reported and counted.
pub(crate) fn run(database: &Database, sf: f64, format: Format) -> Result<ExitCode> {
    let mut session = database.session();
    interrupt::watch(&session.cancel_handle());
    let threads = database.threads();
    println!("TPC-H at scale factor {sf}, {threads} worker thread(s).");
    let start = Instant::now();
    let bar = Arc::new(Bar::default());
    let shown = Arc::clone(&bar);
    let report_part: LoadProgress = Arc::new(move |table, done, all| {
        shown.show(table, done as u64, all as u64);
    });
    tpch::load(database, sf, &session.cancel_handle(), &report_part)?;
    bar.finish();
    let loading = start.elapsed();
    print_sizes(database);
    println!("Generated and loaded in {:.1} s.\n", loading.as_secs_f64());
    let failed = run_queries(&mut session);
    if std::io::stdin().is_terminal() {
        println!("\nThe tables are loaded: ask them something.");
        shell::run(&mut session, format);
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The bar of the table being loaded; worker threads move it.
#[derive(Default)]
struct Bar(Mutex<Option<(String, ProgressBar)>>);

impl Bar {
    fn show(&self, table: &str, done: u64, all: u64) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_none_or(|(name, _)| name != table) {
            if let Some((_, bar)) = current.take() {
                bar.finish();
            }
            let bar = progress::new_bar();
            bar.set_message(table.to_owned());
            *current = Some((table.to_owned(), bar));
        }
        if let Some((_, bar)) = &*current {
            bar.set_length(all);
            bar.set_position(done);
        }
    }

    fn finish(&self) {
        if let Some((_, bar)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish();
        }
    }
}

fn print_sizes(database: &Database) {
    let mut bytes = 0;
    for info in database.relations() {
        println!("{:10} {:>12} rows {:>10.1} MB", info.name, info.rows, info.bytes as f64 / 1e6);
        bytes += info.bytes;
    }
    println!("{:10} {:>17} {:>10.1} MB", "all", "", bytes as f64 / 1e6);
}

/// Runs the 22 queries; how many failed.
fn run_queries(session: &mut engine::Session) -> usize {
    let mut failed = 0;
    let mut logarithms = 0.0;
    let begin = Instant::now();
    for (i, query) in tpch::QUERIES.iter().enumerate() {
        let start = Instant::now();
        match session.execute(query) {
            Ok(result) => {
                let ms = start.elapsed().as_secs_f64() * 1e3;
                logarithms += ms.ln();
                let rows = result.row_count();
                let noun = if rows == 1 { "row" } else { "rows" };
                println!("Q{:<3} {ms:>10.1} ms {rows:>8} {noun}", i + 1);
            }
            Err(error) => {
                failed += 1;
                print!("Q{:<3} ", i + 1);
                report::print(query, &error);
            }
        }
    }
    let total = begin.elapsed().as_secs_f64();
    if failed == 0 {
        let mean = (logarithms / tpch::QUERIES.len() as f64).exp();
        println!("All 22 queries in {total:.2} s, geometric mean {mean:.1} ms.");
    } else {
        println!("{failed} of 22 queries failed.");
    }
    failed
}
