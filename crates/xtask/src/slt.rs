//! `cargo xtask slt`: the SQL tests against one database system.

mod shared;

use std::path::{Path, PathBuf};
use std::time::Instant;

use testkit::postgres::Postgres;
use testkit::slt::{self, Answer, Backend, Report, SqlError};

use crate::{Outcome, root, text};
use shared::Shared;

/// The area that only Tessera can run: layouts, files, procedures.
const OWN_AREA: &str = "tests/slt/tessera";

/// The area for which PostgreSQL needs pgvector.
const VECTOR_AREA: &str = "tests/slt/vector";

/// Where the files are.
pub fn corpus() -> PathBuf {
    root().join("tests/slt")
}

/// Checks `paths` against PostgreSQL, or writes its answers into them.
///
/// # Errors
/// When PostgreSQL cannot be started, or a record does not hold there.
pub fn postgres(paths: &[PathBuf], rewrite: bool, show: usize) -> Outcome {
    let server = Postgres::start().map_err(|error| error.message)?;
    let mut files = all_files(paths)?;
    files.retain(|path| !path.starts_with(root().join(OWN_AREA)));
    if !has_vectors(&server).map_err(|error| error.message)? {
        println!("{VECTOR_AREA} is left out: this PostgreSQL has no pgvector");
        files.retain(|path| !path.starts_with(root().join(VECTOR_AREA)));
    }
    if !rewrite {
        return run(&files, &server, show);
    }
    for path in files {
        let changed = slt::rewrite_file(&path, &server).map_err(text)?;
        if changed {
            println!("rewritten: {}", short(&path));
        }
    }
    Ok(())
}

/// True when the server can create the extension `vector`.
fn has_vectors(server: &Postgres) -> Result<bool, SqlError> {
    let sql = "SELECT FROM pg_available_extensions WHERE name = 'vector'";
    let database = server.create()?;
    let answer = database.connect()?.run(sql)?;
    Ok(matches!(answer, Answer::Rows { rows, .. } if !rows.is_empty()))
}

/// Runs `paths`, or the files that hold there, on shared tables of so many stores.
///
/// # Errors
/// As [`run`].
pub fn on_shared(paths: &[PathBuf], place: SharedPlace<'_>, show: usize) -> Outcome {
    let backend = Shared::new(place.program, place.stores);
    let own = if paths.is_empty() { Shared::files()? } else { Vec::new() };
    run(if own.is_empty() { paths } else { &own }, &backend, show)
}

/// Processes of shared tables.
#[derive(Clone, Copy, Debug)]
pub struct SharedPlace<'a> {
    /// Program that they run; that which cargo built last without it.
    pub program: Option<&'a Path>,
    /// Stores, from 1.
    pub stores: usize,
}

/// Runs `paths` on `backend` and prints what failed.
///
/// # Errors
/// How many files failed.
pub fn run(paths: &[PathBuf], backend: &dyn Backend, show: usize) -> Outcome {
    let start = Instant::now();
    let mut total = Report::default();
    let mut failed_files = 0;
    for path in all_files(paths)? {
        let report = slt::run_file(&path, backend).map_err(text)?;
        for failure in report.failures.iter().take(show) {
            println!("{}:{}: {}\n", short(&path), failure.line, failure.message);
        }
        if let Some(line) = report.cut_at {
            println!("{}: ended at line {line}, for want of memory", short(&path));
        }
        if !report.failures.is_empty() {
            let records = report.queries + report.statements;
            println!("{}: {} of {records} failed\n", short(&path), report.failures.len());
            failed_files += 1;
        }
        total.queries += report.queries;
        total.statements += report.statements;
        total.failures.extend(report.failures);
    }
    println!(
        "{}: {} queries and {} statements, {} failed, {:.1} s",
        backend.name(),
        total.queries,
        total.statements,
        total.failures.len(),
        start.elapsed().as_secs_f64()
    );
    if failed_files == 0 { Ok(()) } else { Err(format!("{failed_files} files failed")) }
}

fn all_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    if paths.is_empty() {
        return slt::files(&corpus()).map_err(text);
    }
    let mut found = Vec::new();
    for path in paths {
        found.extend(slt::files(path).map_err(text)?);
    }
    Ok(found)
}

fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
