//! Runs files record by record, and renews their expected results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use futures_executor::block_on;
use sqllogictest::{
    DB, DBOutput, DefaultColumnType, QueryExpect, Record, RecordOutput, Runner, StatementExpect,
};

use super::backend::cell_text;
use super::{Answer, Backend, Connection, Database, SqlError};
use super::{script, sessions};

/// The variable that names a directory of the file's own, writable by every backend:
/// `COPY t TO '$__COPY_DIR__/t.csv'` after `control substitution on`.
pub const COPY_DIR: &str = "__COPY_DIR__";

type Rec = Record<DefaultColumnType>;

/// A record that did not do what the file says.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Line of the record in its file, from 1.
    pub line: u32,
    /// The statement, what was expected, what came.
    pub message: String,
}

/// Findings of running one file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// `query` records run.
    pub queries: usize,
    /// `statement` records run.
    pub statements: usize,
    /// Records that failed, in file order.
    pub failures: Vec<Failure>,
    /// Line of the record that did not fit into memory, with which the run ended.
    pub cut_at: Option<u32>,
}

/// The `.slt` files under `root`, sorted; `root` may be a file.
///
/// # Errors
/// When a directory cannot be read.
pub fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    if root.is_file() {
        return Ok(vec![root.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Runs every record of `path` in a new database of `backend`.
///
/// # Errors
/// When the file cannot be parsed, or the database not made.
pub fn run_file(path: &Path, backend: &dyn Backend) -> Result<Report, SqlError> {
    let text = fs::read_to_string(path).map_err(SqlError::internal)?;
    if script::is_script(&text) {
        return sessions::run(&script::parse(&text)?, backend);
    }
    let bench = Bench::new(backend)?;
    let mut runner = bench.runner();
    let mut report = Report::default();
    for record in parse(path)? {
        match &record {
            Record::Query { .. } => report.queries += 1,
            Record::Statement { .. } => report.statements += 1,
            Record::Halt { .. } => break,
            _ => {}
        }
        let outcome = runner.run(record);
        if bench.database.ran_out() {
            report.cut_at = outcome.err().map(|error| error.location().line());
            break;
        }
        if let Err(error) = outcome {
            let line = error.location().line();
            report.failures.push(Failure { line, message: error.kind().to_string() });
        }
    }
    runner.shutdown();
    Ok(report)
}

/// Runs `path` and writes what came as the new expectation; returns whether the file changed.
///
/// # Errors
/// When the file cannot be parsed or written, or the database not made.
pub fn rewrite_file(path: &Path, backend: &dyn Backend) -> Result<bool, SqlError> {
    let before = fs::read_to_string(path).map_err(SqlError::internal)?;
    let text = if script::is_script(&before) {
        script::print(&sessions::renew(&script::parse(&before)?, backend)?)
    } else {
        renewed_file(path, backend)?
    };
    if text != before {
        fs::write(path, &text).map_err(SqlError::internal)?;
    }
    Ok(text != before)
}

/// A file of one session with what came as its expectation.
fn renewed_file(path: &Path, backend: &dyn Backend) -> Result<String, SqlError> {
    let bench = Bench::new(backend)?;
    let mut runner = bench.runner();
    let mut text = String::new();
    for record in parse(path)? {
        let output = block_on(runner.apply_record(record.clone()));
        text += &renewed(record, &output).to_string();
        text.push('\n');
    }
    runner.shutdown();
    Ok(format!("{}\n", text.trim_end()))
}

fn parse(path: &Path) -> Result<Vec<Rec>, SqlError> {
    sqllogictest::parse_file(path).map_err(SqlError::internal)
}

/// `record` with `output` as its expectation; an error is expected by its SQLSTATE.
fn renewed(record: Rec, output: &RecordOutput<DefaultColumnType>) -> Rec {
    let error = match output {
        RecordOutput::Query { error, .. } | RecordOutput::Statement { error, .. } => error.as_ref(),
        _ => None,
    };
    let Some(error) = error else {
        let updated = sqllogictest::update_record_with_output(
            &record,
            output,
            " ",
            sqllogictest::default_validator,
            sqllogictest::default_normalizer,
            sqllogictest::default_column_validator,
        );
        return updated.unwrap_or(record);
    };
    let sqlstate = error.downcast_ref::<SqlError>().map_or("XX000", |e| e.sqlstate.as_str());
    let expected = sqllogictest::ExpectedError::SqlState(sqlstate.to_owned());
    let mut record = record;
    match &mut record {
        Record::Query { expected: old, .. } => *old = QueryExpect::Error(expected),
        Record::Statement { expected: old, .. } => *old = StatementExpect::Error(expected),
        _ => {}
    }
    record
}

/// The database and the scratch directory of one file.
struct Bench {
    name: String,
    database: Box<dyn Database>,
    scratch: PathBuf,
}

impl Bench {
    fn new(backend: &dyn Backend) -> Result<Self, SqlError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("tessera-slt-{}-{number}", std::process::id());
        let scratch = std::env::temp_dir().join(folder);
        fs::create_dir_all(&scratch).map_err(SqlError::internal)?;
        open_to_all(&scratch).map_err(SqlError::internal)?;
        Ok(Self { name: backend.name().into(), database: backend.create()?, scratch })
    }

    fn runner(&self) -> Runner<Session, impl sqllogictest::MakeConnection<Conn = Session> + '_> {
        let mut runner = Runner::new(move || {
            let session = self.database.connect();
            std::future::ready(
                session.map(|connection| Session { connection, name: self.name.clone() }),
            )
        });
        runner.set_var(COPY_DIR.into(), self.scratch.to_string_lossy().into_owned());
        runner
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Best effort: a leftover scratch directory harms nobody.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Lets a server that runs as another user write into `directory`.
fn open_to_all(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777))
}

/// A connection as the sqllogictest crate wants it.
struct Session {
    connection: Box<dyn Connection>,
    name: String,
}

impl DB for Session {
    type Error = SqlError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, SqlError> {
        Ok(match self.connection.run(sql)? {
            Answer::Done(count) => DBOutput::StatementComplete(count),
            Answer::Rows { columns, rows } => DBOutput::Rows {
                types: vec![DefaultColumnType::Any; columns],
                rows: rows
                    .into_iter()
                    .map(|row| row.into_iter().map(cell_text).collect())
                    .collect(),
            },
        })
    }

    fn engine_name(&self) -> &str {
        &self.name
    }

    fn error_sql_state(error: &SqlError) -> Option<String> {
        Some(error.sqlstate.clone())
    }
}
