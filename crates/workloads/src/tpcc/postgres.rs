//! TPC-C through PostgreSQL's protocol: a connection with its prepared statements, and rows on
//! their way in.
//!
//! Users: PostgreSQL as a system (`xtask`), a cluster of shared data (`tessera shared-demo`).
//! Isolation is REPEATABLE READ, snapshots, under which TPC-C is serializable.

mod numeric;

use std::error::Error;
use std::io::Write as _;

use bytes::{BufMut as _, BytesMut};
use postgres::error::SqlState;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};

use super::populate::{Decimal, RowSink, Time};
use super::schema::Table;
use super::sql::{Access, Param, Rows, SqlConnection, StatementId};
use super::terminal::Failure;

/// Rows of one COPY at most: a transaction of its own, small enough for shared tables.
const COPY_ROWS: usize = 10_000;

/// Microseconds from 1970 to 2000, where PostgreSQL's times begin.
const EPOCH: i64 = 946_684_800_000_000;

/// Class of the SQLSTATEs of connections: 08006 says that a node does not reach its stores.
const CONNECTION_CLASS: &str = "08";

/// The failure of a transaction by an error of its connection.
pub fn failure(error: postgres::Error) -> Failure {
    let lost = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    let gone = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    let Some(server) = error.as_db_error() else {
        let is_gone = error.is_closed() || error.source().is_some_and(|e| e.is::<std::io::Error>());
        let message = error.to_string();
        return if is_gone { Failure::Lost(message) } else { Failure::Fatal(message) };
    };
    let message = format!("{}: {}", server.code().code(), server.message());
    match server.code() {
        code if lost.contains(code) => Failure::Retry(message),
        code if gone.contains(code) || code.code().starts_with(CONNECTION_CLASS) => {
            Failure::Lost(message)
        }
        _ => Failure::Fatal(message),
    }
}

/// A connection with its prepared statements.
pub struct Connection {
    client: Client,
    statements: Vec<Statement>,
}

impl Connection {
    /// A connection without statements yet.
    pub fn new(client: Client) -> Self {
        Self { client, statements: Vec::new() }
    }
}

impl SqlConnection for Connection {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, Failure> {
        self.statements.push(self.client.prepare(sql).map_err(failure)?);
        Ok(StatementId(self.statements.len() - 1))
    }

    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        let begin = match access {
            Access::ReadOnly => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::ReadWrite => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        };
        self.client.batch_execute(begin).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.client.batch_execute("COMMIT").map_err(|error| match failure(error) {
            Failure::Lost(message) => Failure::Doubt(message),
            other => other,
        })
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.client.batch_execute("ROLLBACK").map_err(failure)
    }

    fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        with_params(params, |params| {
            self.client.execute(&self.statements[id.0], params).map(|_| ()).map_err(failure)
        })
    }

    fn query(
        &mut self,
        id: StatementId,
        params: &[Param<'_>],
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        let statement = &self.statements[id.0];
        let found =
            with_params(params, |params| self.client.query(statement, params).map_err(failure))?;
        let columns = statement.columns().len();
        rows.reset(columns);
        for row in &found {
            for column in 0..columns {
                match row.try_get(column).map_err(failure)? {
                    Cell::Null => rows.push_null(),
                    Cell::Number(value) => rows.push_integer(value),
                    Cell::Text(text) => rows.push_text(text),
                }
            }
        }
        Ok(())
    }
}

/// Calls `run` with the parameters as the driver wants them.
fn with_params<T>(params: &[Param<'_>], run: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let values: Vec<Value<'_>> = params.iter().map(|param| Value(*param)).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    run(&values)
}

/// A parameter in the binary form of its statement's type.
#[derive(Debug)]
pub struct Value<'a>(pub Param<'a>);

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + std::marker::Sync + Send>> {
        match (self.0, ty) {
            (Param::Null, _) => return Ok(IsNull::Yes),
            (Param::Integer(value), &Type::INT4) => out.put_i32(i32::try_from(value)?),
            (Param::Integer(value), &Type::INT8) => out.put_i64(value),
            (Param::Integer(value), &Type::NUMERIC) => numeric::encode(value, 0, out),
            (Param::Decimal(scaled, scale), &Type::NUMERIC) => numeric::encode(scaled, scale, out),
            (Param::Time(micros), &Type::TIMESTAMP) => out.put_i64(micros - EPOCH),
            (Param::Text(text), &Type::TEXT | &Type::VARCHAR | &Type::BPCHAR) => {
                out.put_slice(text.as_bytes());
            }
            (param, ty) => return Err(format!("{param:?} is given for a {ty}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of a row.
enum Cell<'a> {
    Null,
    Number(i64),
    Text(&'a str),
}

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(
        ty: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn Error + std::marker::Sync + Send>> {
        Ok(match *ty {
            Type::INT4 => Self::Number(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Number(i64::from_sql(ty, raw)?),
            Type::TIMESTAMP => Self::Number(i64::from_sql(&Type::INT8, raw)? + EPOCH),
            Type::NUMERIC => Self::Number(numeric::decode(raw).ok_or("a number out of range")?),
            _ => Self::Text(std::str::from_utf8(raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + std::marker::Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Rows on their way into a table, as lines of COPY's text format.
///
/// A COPY has 10,000 rows at most, and is a transaction of its own.
pub struct Copy<'a> {
    client: &'a mut Client,
    table: Table,
    lines: String,
    rows: usize,
}

impl<'a> Copy<'a> {
    /// Rows into `table`.
    pub fn new(client: &'a mut Client, table: Table) -> Self {
        Self { client, table, lines: String::new(), rows: 0 }
    }

    /// Sends the last rows.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }

    fn put(&mut self, value: std::fmt::Arguments<'_>) {
        use std::fmt::Write as _;
        if !self.lines.is_empty() && !self.lines.ends_with('\n') {
            self.lines.push('\t');
        }
        // Writing to a String cannot fail.
        let _ = self.lines.write_fmt(value);
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.rows > 0 {
            let copy = format!("COPY {} FROM STDIN", self.table.name());
            let mut writer = self.client.copy_in(&copy).map_err(failure)?;
            writer.write_all(self.lines.as_bytes()).map_err(Failure::fatal)?;
            writer.finish().map_err(failure)?;
            self.lines.clear();
            self.rows = 0;
        }
        Ok(())
    }
}

impl RowSink for Copy<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) {
        self.put(format_args!("{value}"));
    }

    fn decimal(&mut self, scaled: i64, scale: u8) {
        self.put(format_args!("{}", Decimal(scaled, scale)));
    }

    fn text(&mut self, value: &str) {
        // No generated text needs an escape.
        self.put(format_args!("{value}"));
    }

    fn time(&mut self, micros: i64) {
        self.put(format_args!("{}", Time(micros)));
    }

    fn null(&mut self) {
        self.put(format_args!("\\N"));
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.lines.push('\n');
        self.rows += 1;
        if self.rows < COPY_ROWS { Ok(()) } else { self.flush() }
    }
}
