//! Prepared statements of a session: by name in SQL, and without in process.

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

/// A parsed statement with the types of its parameters, for any session of its database.
pub struct PreparedStatement(Prepared);

impl PreparedStatement {
    /// The types of `$1`, `$2` ...
    pub fn parameters(&self) -> &[DataType] {
        &self.0.types
    }
}

impl Session {
    /// Parses the one statement of `text` and infers its parameters; `types` are those that are
    /// known.
    ///
    /// # Errors
    /// 42601 when there is not one statement; what is wrong with it.
    pub fn prepare_statement(
        &mut self,
        text: &str,
        types: &[DataType],
    ) -> Result<PreparedStatement> {
        let mut statements = sql::parse(text)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            let message = "cannot prepare other than one statement";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        let types = sql::bind(&statement, &self.catalog(), types)?.parameters().to_vec();
        Ok(PreparedStatement(Prepared { types, statement }))
    }

    /// Runs a prepared statement with a value of each parameter's type.
    ///
    /// # Errors
    /// 08P01 when `values` are too few or too many; what the statement says.
    pub fn execute_prepared(
        &mut self,
        prepared: &PreparedStatement,
        values: &[Value],
    ) -> Result<QueryResult> {
        let Prepared { types, statement } = &prepared.0;
        if values.len() != types.len() {
            let message = format!("{} values for {} parameters", values.len(), types.len());
            return Err(Error::new(SqlState(*b"08P01"), message));
        }
        self.begin_text();
        let outer = std::mem::replace(&mut self.parameters, values.to_vec());
        let result = self.statement(statement, types);
        self.parameters = outer;
        result
    }
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
