//! Prepared statements of a session.

use std::collections::HashMap;

use sql::ParsedStatement;
use sql::statement::{Execute, Prepare};
use types::{DataType, Error, Result, SqlState, Value};

use crate::session::Run;
use crate::{QueryResult, Session};

struct Prepared {
    types: Vec<DataType>,
    statement: ParsedStatement,
}

/// Prepared statements by name.
#[derive(Default)]
pub(crate) struct PreparedStatements(HashMap<String, Prepared>);

impl PreparedStatements {
    /// The parameter types of one.
    pub(crate) fn types(&self, name: &str) -> Option<Vec<DataType>> {
        self.0.get(name).map(|p| p.types.clone())
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

fn unknown(name: &str) -> Error {
    let message = format!("prepared statement \"{name}\" does not exist");
    Error::new(SqlState(*b"26000"), message)
}

pub(crate) fn prepare(session: &mut Session, prepare: Prepare) -> Result<QueryResult> {
    let Prepare { name, parameters, statement } = prepare;
    if session.prepared.0.contains_key(&name) {
        let message = format!("prepared statement \"{name}\" already exists");
        return Err(Error::new(SqlState(*b"42P05"), message));
    }
    session.prepared.0.insert(name, Prepared { types: parameters, statement });
    Ok(QueryResult::command("PREPARE"))
}

pub(crate) fn execute(session: &mut Session, execute: &Execute) -> Result<QueryResult> {
    let prepared = session.prepared.0.get(&execute.name).ok_or_else(|| unknown(&execute.name))?;
    let (types, statement) = (prepared.types.clone(), prepared.statement.clone());
    let values: Vec<Value> = match &execute.arguments {
        Some(query) => {
            let result = session.run_query(query, Run::default())?;
            let row = result.batches.iter().find(|batch| batch.rows > 0);
            row.map(|b| b.columns.iter().map(|c| c.value(0)).collect()).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let outer = std::mem::replace(&mut session.parameters, values);
    let result = session.bind_and_run(&statement, &types);
    session.parameters = outer;
    result
}

pub(crate) fn deallocate(session: &mut Session, name: Option<&str>) -> Result<QueryResult> {
    match name {
        None => {
            session.prepared.clear();
            Ok(QueryResult::command("DEALLOCATE ALL"))
        }
        Some(name) => {
            session.prepared.0.remove(name).ok_or_else(|| unknown(name))?;
            Ok(QueryResult::command("DEALLOCATE"))
        }
    }
}
