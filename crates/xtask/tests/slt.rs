//! The SQL tests on Tessera: every file in every layout, with one worker and with two,
//! with indexes wherever they can be used, once with operators that spill, once with blocks
//! that are frozen as soon as nobody writes them, once so in files and with little memory, and once
//! with work orders as messages of the bus.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use testkit::slt;
use xtask::tessera::Tessera;

/// Layouts of tables, by their names in SQL.
const LAYOUTS: [&str; 3] = ["row", "column", "frozen"];

/// Numbers of workers, and whether indexes are used.
const SETTINGS: [(usize, &str); 3] = [(1, "on"), (2, "on"), (2, "prefer")];

/// Memory of databases that have little of it: files whose statements need more end there.
const LITTLE_BYTES: u64 = 24 << 20;

/// Failures of one file that are shown.
const SHOWN: usize = 5;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Result<Vec<Trial>, String> {
    let corpus = xtask::slt::corpus();
    let files = slt::files(&corpus).map_err(xtask::text)?;
    let mut trials = Vec::new();
    for layout in LAYOUTS {
        for (threads, index_paths) in SETTINGS {
            let backend = Tessera::new(layout, threads, index_paths)?;
            add(&mut trials, &files, &format!("{layout}/{threads}/{index_paths}"), backend);
        }
    }
    add(&mut trials, &files, "column/2/on/spilling", Tessera::new("column", 2, "on")?.spilling());
    add(&mut trials, &files, "auto/2/on/freezing", Tessera::new("auto", 2, "on")?.freezing());
    let little = Tessera::new("auto", 2, "on")?.freezing().with_memory(LITTLE_BYTES);
    add(&mut trials, &files, "auto/2/on/freezing/memory", little);
    add(&mut trials, &files, "auto/2/on/bus", Tessera::new("auto", 2, "on")?.on_bus());
    Ok(trials)
}

/// A trial for each file.
fn add(trials: &mut Vec<Trial>, files: &[PathBuf], settings: &str, backend: Tessera) {
    let (corpus, backend) = (xtask::slt::corpus(), Arc::new(backend));
    for path in files {
        let name = path.strip_prefix(&corpus).unwrap_or(path).with_extension("");
        let name = format!("{settings}/{}", name.display());
        let (backend, path) = (Arc::clone(&backend), path.clone());
        trials.push(Trial::test(name, move || run(&path, &backend)));
    }
}

fn run(path: &std::path::Path, backend: &Tessera) -> Result<(), Failed> {
    let report = slt::run_file(path, backend)?;
    if report.failures.is_empty() {
        return Ok(());
    }
    let mut message = format!("{} records failed\n", report.failures.len());
    for failure in report.failures.iter().take(SHOWN) {
        message += &format!("line {}: {}\n\n", failure.line, failure.message);
    }
    Err(message.into())
}
