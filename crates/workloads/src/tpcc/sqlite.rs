//! SQLite as a system: a database file, a connection for each worker.
//!
//! WAL mode; `synchronous` is FULL (a commit is on disk) or OFF; 1 GiB of page cache for each
//! connection. Transactions that write begin IMMEDIATE, because SQLite has one writer at a time and
//! would otherwise refuse it later; whoever finds the file busy yields its core and tries again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Statement};

use super::driver::{System, Use};
use super::populate::{RowSink, Scale, populate};
use super::schema::{Dialect, Table, create_indexes, create_tables};
use super::sql::{Access, Param, Rows, SqlConnection, SqlTerminal, StatementId};
use super::terminal::Failure;

/// Durability of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A commit waits for the disk.
    Sync,
    /// A commit does not wait: the newest may be lost with the machine.
    Async,
}

/// A population in a file.
pub struct Sqlite {
    path: PathBuf,
    durability: Durability,
}

/// Times a connection found the file busy and tried again.
static BUSY: AtomicU64 = AtomicU64::new(0);

/// How long a connection waits for the writer before it fails.
const BUSY_TRIES: i32 = 10_000_000;

impl Sqlite {
    /// Makes a database in `path`, which must not exist, and fills it.
    ///
    /// # Errors
    /// Errors of SQLite.
    pub fn create(
        path: &Path,
        durability: Durability,
        scale: &Scale,
        seed: u64,
    ) -> Result<Self, Failure> {
        let system = Self { path: path.to_path_buf(), durability };
        let connection = system.connect()?;
        for sql in create_tables(Dialect::Sqlite) {
            connection.execute_batch(&sql).map_err(failure)?;
        }
        connection.execute_batch("BEGIN").map_err(failure)?;
        for table in Table::ALL {
            let marks = vec!["?"; table.columns().len()].join(",");
            let sql = format!("INSERT INTO {} VALUES ({marks})", table.name());
            let statement = connection.prepare(&sql).map_err(failure)?;
            let mut sink = Bound { statement, next: 1, refused: None };
            populate(table, scale, seed, 1..=scale.warehouses, &mut sink)?;
        }
        connection.execute_batch("COMMIT").map_err(failure)?;
        for sql in create_indexes() {
            connection.execute_batch(&sql).map_err(failure)?;
        }
        connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)").map_err(failure)?;
        Ok(system)
    }

    /// A connection of its own.
    ///
    /// # Errors
    /// Errors of SQLite.
    pub fn connect(&self) -> Result<Connection, Failure> {
        let mut connection = Connection::open(&self.path).map_err(failure)?;
        // The time-out covers the switch to WAL mode only: the handler replaces it.
        connection.busy_timeout(Duration::from_secs(10)).map_err(failure)?;
        connection.execute_batch(&self.settings()).map_err(failure)?;
        connection.busy_handler(Some(yield_core)).map_err(failure)?;
        Ok(connection)
    }

    /// Settings of every connection.
    pub fn settings(&self) -> String {
        let synchronous = match self.durability {
            Durability::Sync => "FULL",
            Durability::Async => "OFF",
        };
        format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
             PRAGMA cache_size = -1048576; PRAGMA temp_store = MEMORY"
        )
    }

    /// Runs a query of one integer.
    ///
    /// # Errors
    /// Errors of SQLite.
    pub fn integer(&self, sql: &str) -> Result<i64, Failure> {
        self.connect()?.query_row(sql, [], |row| row.get(0)).map_err(failure)
    }

    /// The release of SQLite.
    pub fn version() -> &'static str {
        rusqlite::version()
    }

    /// How often connections of this process found a file busy and tried again.
    pub fn busy_count() -> u64 {
        BUSY.load(Ordering::Relaxed)
    }
}

fn yield_core(tries: i32) -> bool {
    BUSY.fetch_add(1, Ordering::Relaxed);
    std::thread::yield_now();
    tries < BUSY_TRIES
}

fn failure(error: rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Failure::Retry(error.to_string())
        }
        _ => Failure::fatal(error),
    }
}

impl System for Sqlite {
    fn with_terminal(&self, _: usize, body: Use<'_>) -> Result<(), Failure> {
        let connection = self.connect()?;
        body(&mut SqlTerminal::new(SqliteSession::new(&connection)?)?)
    }
}

/// A connection with its prepared statements; [`CONTROL`] are the first ones.
struct SqliteSession<'c> {
    connection: &'c Connection,
    statements: Vec<Statement<'c>>,
}

const CONTROL: [&str; 4] = ["BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"];

impl<'c> SqliteSession<'c> {
    fn new(connection: &'c Connection) -> Result<Self, Failure> {
        let prepare = |sql: &&str| connection.prepare(sql).map_err(failure);
        let statements = CONTROL.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { connection, statements })
    }

    fn control(&mut self, sql: &str) -> Result<(), Failure> {
        let place = CONTROL.iter().position(|control| *control == sql);
        let id = StatementId(place.expect("callers name statements of the list"));
        self.execute(id, &[])
    }

    fn bind(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        let statement = &mut self.statements[id.0];
        for (i, param) in (1..).zip(params) {
            bind(statement, i, *param).map_err(failure)?;
        }
        Ok(())
    }
}

fn bind(statement: &mut Statement<'_>, i: usize, param: Param<'_>) -> rusqlite::Result<()> {
    match param {
        Param::Integer(value) | Param::Decimal(value, _) | Param::Time(value) => {
            statement.raw_bind_parameter(i, value)
        }
        Param::Text(text) => statement.raw_bind_parameter(i, text),
        Param::Null => statement.raw_bind_parameter(i, rusqlite::types::Null),
    }
}

impl SqlConnection for SqliteSession<'_> {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, Failure> {
        let statement = self.connection.prepare(&sql.replace('$', "?")).map_err(failure)?;
        self.statements.push(statement);
        Ok(StatementId(self.statements.len() - 1))
    }

    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        match access {
            Access::ReadOnly => self.control("BEGIN"),
            Access::ReadWrite => self.control("BEGIN IMMEDIATE"),
        }
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.control("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        // Some errors end the transaction by themselves.
        if self.connection.is_autocommit() { Ok(()) } else { self.control("ROLLBACK") }
    }

    fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        self.bind(id, params)?;
        self.statements[id.0].raw_execute().map(|_| ()).map_err(failure)
    }

    fn query(
        &mut self,
        id: StatementId,
        params: &[Param<'_>],
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        self.bind(id, params)?;
        let statement = &mut self.statements[id.0];
        let columns = statement.column_count();
        rows.reset(columns);
        let mut found = statement.raw_query();
        while let Some(row) = found.next().map_err(failure)? {
            for column in 0..columns {
                match row.get_ref(column).map_err(failure)? {
                    ValueRef::Null => rows.push_null(),
                    ValueRef::Integer(value) => rows.push_integer(value),
                    ValueRef::Text(text) => {
                        rows.push_text(std::str::from_utf8(text).map_err(Failure::fatal)?);
                    }
                    other => {
                        let kind = other.data_type();
                        return Err(Failure::Fatal(format!("column {column} is {kind}")));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Binds values as they come and executes at the end of each row.
struct Bound<'c> {
    statement: Statement<'c>,
    next: usize,
    refused: Option<rusqlite::Error>,
}

impl Bound<'_> {
    fn bind(&mut self, param: Param<'_>) {
        if let Err(error) = bind(&mut self.statement, self.next, param) {
            self.refused.get_or_insert(error);
        }
        self.next += 1;
    }
}

impl RowSink for Bound<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) {
        self.bind(Param::Integer(value));
    }

    fn decimal(&mut self, scaled: i64, scale: u8) {
        self.bind(Param::Decimal(scaled, scale));
    }

    fn text(&mut self, value: &str) {
        self.bind(Param::Text(value));
    }

    fn time(&mut self, micros: i64) {
        self.bind(Param::Time(micros));
    }

    fn null(&mut self) {
        self.bind(Param::Null);
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.next = 1;
        match self.refused.take() {
            Some(error) => Err(failure(error)),
            None => self.statement.raw_execute().map(|_| ()).map_err(failure),
        }
    }
}
