//! A connection: statements that are prepared once, values, and errors as the bus has them.

use std::collections::HashMap;
use std::fmt;

use ::postgres::error::SqlState as ServerState;
use ::postgres::fallible_iterator::FallibleIterator as _;
use ::postgres::types::{ToSql, Type};
use ::postgres::{Client, SimpleQueryMessage, Statement};
use types::{Error, SqlState};

use crate::semantics::{Body, BusError, Result};
use crate::tables::{Cell, Link, Parameter, Row};

/// A connection to a server.
pub struct Wire {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("prepared", &self.prepared.len()).finish_non_exhaustive()
    }
}

/// An error of the network when the connection ended, else one of the server: 55006 for a lock,
/// 53100 on a full disk, 58030 for what has no state here, with the server's own state in words.
impl From<::postgres::Error> for BusError {
    fn from(error: ::postgres::Error) -> Self {
        let Some(said) = error.as_db_error() else {
            return Self::Network(error.to_string());
        };
        let code = said.code();
        if code.code().starts_with("57P") || code.code().starts_with("08") {
            return Self::Network(said.message().to_owned());
        }
        let state = [
            (ServerState::DISK_FULL, SqlState::DISK_FULL),
            (ServerState::INSUFFICIENT_PRIVILEGE, SqlState::INSUFFICIENT_PRIVILEGE),
            (ServerState::LOCK_NOT_AVAILABLE, SqlState::OBJECT_IN_USE),
            (ServerState::OUT_OF_MEMORY, SqlState::OUT_OF_MEMORY),
            (ServerState::QUERY_CANCELED, SqlState::QUERY_CANCELED),
            (ServerState::DATA_CORRUPTED, SqlState::DATA_CORRUPTED),
        ];
        let state = state.into_iter().find(|(server, _)| server == code);
        let state = state.map_or(SqlState::IO_ERROR, |(_, ours)| ours);
        Self::Storage(Error::new(state, format!("{} ({})", said.message(), code.code())))
    }
}

impl Wire {
    pub(super) fn new(client: Client) -> Self {
        Self { client, prepared: HashMap::new() }
    }

    fn statement(&mut self, text: &'static str) -> Result<Statement> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text)?;
        Ok(self.prepared.entry(text).or_insert(statement).clone())
    }
}

impl Link for Wire {
    fn run(&mut self, statements: &str) -> Result<bool> {
        let answer = self.client.simple_query(statements)?;
        let last = answer.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some(!row.is_empty() && row.get(row.len() - 1) == Some("t"))
            }
            _ => None,
        });
        Ok(last == Some(true))
    }

    fn each_row(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
        each: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let statement = self.statement(statement)?;
        let values: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(value).collect();
        let mut rows = self.client.query_raw(&statement, values)?;
        while let Some(row) = rows.next()? {
            let cells = (0..row.len()).map(|column| cell(&row, column));
            each(Row(cells.collect::<Result<_>>()?))?;
        }
        Ok(())
    }

    fn is_broken(&self) -> bool {
        self.client.is_closed()
    }
}

fn value<'p>(parameter: &'p Parameter<'_>) -> &'p (dyn ToSql + Sync) {
    match parameter {
        Parameter::Number(number) => number,
        Parameter::Small(number) => number,
        Parameter::Bytes(bytes) => bytes,
        Parameter::Numbers(numbers) => numbers,
        Parameter::Smalls(numbers) => numbers,
        Parameter::ManyBytes(all) => all,
    }
}

fn cell(row: &::postgres::Row, column: usize) -> Result<Cell> {
    Ok(match *row.columns()[column].type_() {
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map_or(Cell::Null, Cell::Truth),
        Type::INT4 => {
            let number = row.try_get::<_, Option<i32>>(column)?;
            number.map_or(Cell::Null, |number| Cell::Number(number.into()))
        }
        Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map_or(Cell::Null, Cell::Number),
        _ => {
            let bytes = row.try_get::<_, Option<&[u8]>>(column)?;
            bytes.map_or(Cell::Null, |bytes| Cell::Bytes(Body::from(bytes)))
        }
    })
}
