//! The transactions on Tessera through SQL: prepared statements of a session in process.

use engine::{Database, PreparedStatement, QueryResult, Session};
use types::cast::assign_value;
use types::{DataType, NumericType, Value};

use super::super::driver::{System, Use};
use super::super::sql::{Access, Param, Rows, SqlConnection, SqlTerminal, StatementId};
use super::super::terminal::Failure;
use super::{Waits, failure};

/// A loaded database, for the SQL terminals of all workers.
pub struct TesseraSql {
    database: Database,
    waits: Waits,
}

impl TesseraSql {
    /// Transactions on `database`, which holds a population.
    pub fn new(database: &Database, waits: Waits) -> Self {
        Self { database: database.clone(), waits }
    }
}

impl System for TesseraSql {
    fn with_terminal(&self, _: usize, body: Use<'_>) -> Result<(), Failure> {
        let mut session = self.database.session();
        let waits = match self.waits {
            Waits::Yes => "on",
            Waits::No => "off",
        };
        session.execute(&format!("SET synchronous_commit = {waits}")).map_err(failure)?;
        let connection = TesseraConnection { session, statements: Vec::new(), values: Vec::new() };
        body(&mut SqlTerminal::new(connection)?)
    }
}

/// A session with its prepared statements.
struct TesseraConnection {
    session: Session,
    statements: Vec<PreparedStatement>,
    /// Values for the statement that runs.
    values: Vec<Value>,
}

/// The value of a parameter of type `ty`.
fn value(param: &Param<'_>, ty: DataType) -> types::Result<Value> {
    let (value, from) = match *param {
        Param::Integer(value) => (Value::I64(value), DataType::BigInt),
        Param::Decimal(scaled, scale) => {
            let from = NumericType::fixed(NumericType::PRECISION_64, scale);
            (Value::I64(scaled), DataType::Numeric(from))
        }
        Param::Time(micros) => (Value::I64(micros), DataType::TIMESTAMP),
        Param::Text(text) => (Value::text(text), DataType::Text),
        Param::Null => (Value::Null, ty),
    };
    assign_value(&value, from, ty)
}

impl TesseraConnection {
    fn run(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<QueryResult, Failure> {
        let statement = &mut self.statements[id.0];
        self.values.clear();
        for (param, ty) in params.iter().zip(statement.parameters()) {
            self.values.push(value(param, *ty).map_err(failure)?);
        }
        self.session.execute_prepared(statement, &self.values).map_err(failure)
    }

    fn control(&mut self, sql: &str) -> Result<(), Failure> {
        self.session.execute(sql).map(|_| ()).map_err(failure)
    }
}

impl SqlConnection for TesseraConnection {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, Failure> {
        self.statements.push(self.session.prepare(sql, &[]).map_err(failure)?);
        Ok(StatementId(self.statements.len() - 1))
    }

    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        self.control(match access {
            Access::ReadOnly => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::ReadWrite => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        })
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.control("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        // A commit that failed has ended the transaction.
        if self.session.in_transaction() { self.control("ROLLBACK") } else { Ok(()) }
    }

    fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        self.run(id, params).map(|_| ())
    }

    fn query(
        &mut self,
        id: StatementId,
        params: &[Param<'_>],
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        let result = self.run(id, params)?;
        rows.reset(result.columns().len());
        for batch in result.batches() {
            for row in 0..batch.rows {
                batch.columns.iter().try_for_each(|column| push(rows, column.value(row)))?;
            }
        }
        Ok(())
    }
}

fn push(rows: &mut Rows, value: Value) -> Result<(), Failure> {
    match value {
        Value::Null => rows.push_null(),
        Value::I32(value) => rows.push_integer(value.into()),
        Value::I64(value) => rows.push_integer(value),
        Value::I128(value) => rows.push_integer(value.try_into().map_err(Failure::fatal)?),
        Value::Str(bytes) => {
            rows.push_text(std::str::from_utf8(bytes.trim_ascii_end()).map_err(Failure::fatal)?);
        }
        other => return Err(Failure::Fatal(format!("{other:?} is of no type of TPC-C"))),
    }
    Ok(())
}
