//! A session: statements that are prepared once, values, and errors as the bus has them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bus::tables::{Cell, Link, Parameter, Row};
use bus::{BusError, Result};
use engine::{PreparedStatement, Session};
use types::array::ArrayBuilder;
use types::{Error, SqlState, Value};

/// A session of a database of this process.
pub struct Linked {
    session: Session,
    prepared: HashMap<&'static str, PreparedStatement>,
}

impl fmt::Debug for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linked").field("session", &self.session.id()).finish_non_exhaustive()
    }
}

impl Linked {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, prepared: HashMap::new() }
    }
}

/// Runs statements as a server runs those of one message: in one transaction, unless they say
/// otherwise. True when the last cell of the last row is TRUE.
pub(crate) fn run(session: &mut Session, statements: &str) -> Result<bool> {
    let mut last = Value::Null;
    let outcome = session.execute_together(statements, |result| {
        if let Some(batch) = result.batches().iter().rfind(|batch| batch.rows > 0)
            && let Some(column) = batch.columns.last()
        {
            last = column.to_plain().value(batch.rows - 1);
        }
        Ok(())
    });
    outcome.map_err(failure)?;
    Ok(matches!(last, Value::Bool(true)))
}

/// An error as a bus has it: the database's, 55006 for a lock that was not had in time.
fn failure(error: Error) -> BusError {
    match error.state() {
        SqlState::LOCK_NOT_AVAILABLE => {
            BusError::Storage(Error::new(SqlState::OBJECT_IN_USE, error.to_string()))
        }
        _ => BusError::Storage(error),
    }
}

impl Link for Linked {
    fn run(&mut self, statements: &str) -> Result<bool> {
        run(&mut self.session, statements)
    }

    fn each_row(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
        each: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let values: Vec<Value> =
            parameters.iter().map(value).collect::<types::Result<_>>().map_err(failure)?;
        let prepared = match self.prepared.remove(statement) {
            Some(prepared) => prepared,
            None => self.session.prepare(statement, &[]).map_err(failure)?,
        };
        let prepared = self.prepared.entry(statement).or_insert(prepared);
        let result = self.session.execute_prepared(prepared, &values).map_err(failure)?;
        for batch in result.batches() {
            let columns: Vec<_> = batch.columns.iter().map(|column| column.to_plain()).collect();
            for i in 0..batch.rows {
                each(Row(columns
                    .iter()
                    .map(|column| cell(column.value(i)))
                    .collect::<Result<_>>()?))?;
            }
        }
        Ok(())
    }

    /// True when a transaction is left, which no call does.
    fn is_broken(&self) -> bool {
        self.session.in_transaction()
    }
}

/// A parameter as the engine has it.
///
/// # Errors
/// 54000 for an array that is too large.
fn value(parameter: &Parameter<'_>) -> types::Result<Value> {
    let array = |push: &mut dyn FnMut(&mut ArrayBuilder)| {
        let mut builder = ArrayBuilder::new();
        push(&mut builder);
        Ok(Value::Str(builder.finish()?.into()))
    };
    match parameter {
        Parameter::Number(number) => Ok(Value::I64(*number)),
        Parameter::Small(number) => Ok(Value::I32(*number)),
        Parameter::Bytes(bytes) => {
            Ok(bytes.map_or(Value::Null, |bytes| Value::Str(Arc::from(bytes))))
        }
        Parameter::Numbers(all) => {
            array(&mut |array| all.iter().for_each(|number| array.push_i64(*number)))
        }
        Parameter::Smalls(all) => {
            array(&mut |array| all.iter().for_each(|number| array.push_i32(*number)))
        }
        Parameter::ManyBytes(all) => array(&mut |array| {
            for bytes in *all {
                match bytes {
                    Some(bytes) => array.push_text(bytes),
                    None => array.push_null(),
                }
            }
        }),
    }
}

/// A value as a bus has it.
///
/// # Errors
/// XX001 for one of a type that no table of a bus has.
fn cell(value: Value) -> Result<Cell> {
    match value {
        Value::Null => Ok(Cell::Null),
        Value::Bool(truth) => Ok(Cell::Truth(truth)),
        Value::I32(number) => Ok(Cell::Number(number.into())),
        Value::I64(number) => Ok(Cell::Number(number)),
        Value::Str(bytes) => Ok(Cell::Bytes(bytes)),
        Value::I128(_) | Value::F64(_) | Value::Interval(_) => {
            let message = "the tables of the bus hold a value of a strange type";
            Err(Error::new(SqlState::DATA_CORRUPTED, message).into())
        }
    }
}
