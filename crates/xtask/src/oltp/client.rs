//! One connection: statements prepared with declared types, transactions, what went wrong.

use std::fmt;
use std::path::PathBuf;

use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Config, NoTls, Row, Statement};

/// Where a server listens.
pub(super) struct Place {
    /// Folder of its socket.
    pub(super) folder: PathBuf,
    pub(super) port: u16,
    pub(super) user: &'static str,
}

/// A statement with the types that its parameters are sent as.
pub(super) struct Prepared {
    pub(super) sql: String,
    pub(super) types: Vec<Type>,
}

impl Prepared {
    /// `sql` with these types: of each character one, `l` int8, `i` int4, `s` varchar, `d` float8.
    pub(super) fn new(sql: &str, types: &str) -> Self {
        let of = |c| match c {
            'l' => Type::INT8,
            'i' => Type::INT4,
            'd' => Type::FLOAT8,
            _ => Type::VARCHAR,
        };
        Self { sql: sql.to_owned(), types: types.chars().map(of).collect() }
    }
}

/// Why a transaction ended.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another one was first: it is tried again.
    Lost(String),
    /// A row with that key is there already: part of some workloads.
    Exists,
    /// Anything else.
    Fatal(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(message) | Self::Fatal(message) => f.write_str(message),
            Self::Exists => f.write_str("a row with that key exists"),
        }
    }
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Self {
        let lost = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        let message = match error.as_db_error() {
            Some(server) => format!("{}: {}", server.code().code(), server.message()),
            None => error.to_string(),
        };
        match error.code() {
            Some(code) if lost.contains(code) => Self::Lost(message),
            Some(code) if *code == SqlState::UNIQUE_VIOLATION => Self::Exists,
            _ => Self::Fatal(message),
        }
    }
}

/// A connection with its statements.
pub(super) struct Client {
    connection: postgres::Client,
    statements: Vec<Statement>,
}

/// Values of parameters.
pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

impl Client {
    /// Connects, and prepares `statements`.
    pub(super) fn connect(place: &Place, statements: &[Prepared]) -> Result<Self, Failure> {
        let mut config = Config::new();
        config.host_path(&place.folder).port(place.port).user(place.user).dbname("postgres");
        let mut connection = config.connect(NoTls)?;
        connection.batch_execute(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        )?;
        let prepare = |one: &Prepared| connection.prepare_typed(&one.sql, &one.types);
        let statements = statements.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { connection, statements })
    }

    /// Runs statements without parameters.
    pub(super) fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        let named = |failure| match failure {
            Failure::Fatal(message) => Failure::Fatal(format!("{message}, of {sql}")),
            other => other,
        };
        self.connection.batch_execute(sql).map_err(|error| named(error.into()))
    }

    /// The only value of a query, a bigint.
    pub(super) fn integer(&mut self, sql: &str) -> Result<i64, Failure> {
        Ok(self.connection.query_one(sql, &[])?.try_get(0)?)
    }

    /// Runs statement number `number`; its rows.
    pub(super) fn query(&mut self, number: usize, values: Values<'_>) -> Result<Vec<Row>, Failure> {
        Ok(self.connection.query(&self.statements[number], values)?)
    }

    /// Runs statement number `number`, which gives one row.
    pub(super) fn one(&mut self, number: usize, values: Values<'_>) -> Result<Row, Failure> {
        Ok(self.connection.query_one(&self.statements[number], values)?)
    }

    /// Runs statement number `number`; how many rows it changed.
    pub(super) fn execute(&mut self, number: usize, values: Values<'_>) -> Result<u64, Failure> {
        Ok(self.connection.execute(&self.statements[number], values)?)
    }

    /// Runs `work` as one transaction.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.connection.batch_execute("BEGIN")?;
        let done = work(self)?;
        self.connection.batch_execute("COMMIT")?;
        Ok(done)
    }

    /// Ends a transaction that failed, if there is one.
    pub(super) fn roll_back(&mut self) -> Result<(), Failure> {
        Ok(self.connection.batch_execute("ROLLBACK")?)
    }
}
