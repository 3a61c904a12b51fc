//! Prepared statements that a session keeps: one name space for PREPARE and for the protocol.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use sql::ParsedStatement;
use types::{DataType, Error, Result, SqlState};

use super::{ColumnOrigin, PreparedStatement};
use crate::{QueryResult, Session};

/// Most statements that a session keeps.
const KEPT_MAX: usize = 100_000;

/// How a statement was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreparedBy {
    /// The statement PREPARE.
    Sql,
    /// A message of the client.
    Protocol,
}

/// Text and plan of a kept statement.
pub(crate) struct Body {
    pub(crate) text: Arc<str>,
    pub(crate) by: PreparedBy,
    /// Microseconds since 1970.
    pub(crate) prepared_micros: i64,
    pub(crate) declared: Vec<u32>,
    pub(crate) prepared: Option<PreparedStatement>,
}

/// A prepared statement that lasts: whoever runs it holds it, though its name may be forgotten.
pub struct KeptStatement {
    /// The text that prepared it.
    pub(crate) text: Arc<str>,
    pub(crate) by: PreparedBy,
    /// Microseconds since 1970.
    pub(crate) prepared_micros: i64,
    declared: Vec<u32>,
    types: Vec<DataType>,
    columns: Option<Vec<(String, DataType)>>,
    origins: Vec<ColumnOrigin>,
    statement: Option<Arc<ParsedStatement>>,
    /// None for a text without a statement.
    prepared: Option<Mutex<PreparedStatement>>,
}

impl KeptStatement {
    pub(crate) fn new(body: Body) -> Self {
        let Body { text, by, prepared_micros, declared, prepared } = body;
        let of = prepared.as_ref();
        Self {
            text,
            by,
            prepared_micros,
            declared,
            types: of.map(|p| p.types.clone()).unwrap_or_default(),
            columns: of.and_then(|p| p.columns.clone()),
            origins: of.map(|p| p.origins.clone()).unwrap_or_default(),
            statement: of.map(|p| Arc::clone(&p.statement)),
            prepared: prepared.map(Mutex::new),
        }
    }

    /// The text that prepared it.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The types of `$1`...
    pub fn parameters(&self) -> &[DataType] {
        &self.types
    }

    /// The number that the client declared for the type of parameter `at`; 0 without one.
    pub fn declared(&self, at: usize) -> u32 {
        self.declared.get(at).copied().unwrap_or(0)
    }

    /// The columns of its rows when it was prepared; None for a statement without rows, or CALL.
    pub fn columns(&self) -> Option<&[(String, DataType)]> {
        self.columns.as_deref()
    }

    /// The origin of each of the columns when it was prepared.
    pub fn origins(&self) -> &[ColumnOrigin] {
        &self.origins
    }

    /// The statement, to run; None for a text without one.
    ///
    /// # Errors
    /// 54001 when it runs already: it would execute itself without end.
    pub fn lock(&self) -> Result<Option<MutexGuard<'_, PreparedStatement>>> {
        let Some(prepared) = &self.prepared else { return Ok(None) };
        match prepared.try_lock() {
            Some(prepared) => Ok(Some(prepared)),
            None => Err(Error::new(SqlState::STACK_DEPTH, "stack depth limit exceeded")),
        }
    }

    pub(crate) fn statement(&self) -> Option<&ParsedStatement> {
        self.statement.as_deref()
    }

    /// Refuses rows that are not what was described.
    pub(crate) fn check_columns(&self, result: &QueryResult) -> Result<()> {
        let (Some(told), true) = (&self.columns, result.has_rows()) else { return Ok(()) };
        let has = result.columns();
        let name_of = |ty: &DataType| match ty {
            ty if ty.is_numeric() => "numeric".to_owned(),
            ty => ty.name().to_string(),
        };
        let is_same = |(told, has): (&(String, DataType), &(String, DataType))| {
            told.1 == has.1 || name_of(&told.1) == name_of(&has.1)
        };
        if told.len() == has.len() && told.iter().zip(has).all(is_same) {
            return Ok(());
        }
        let message = "cached plan must not change result type";
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }
}

/// Prepared statements by name.
#[derive(Default)]
pub(crate) struct PreparedStatements(HashMap<String, Arc<KeptStatement>, RandomState>);

impl PreparedStatements {
    /// One of them.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<KeptStatement>> {
        self.0.get(name)
    }

    /// All of them and their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &Arc<KeptStatement>)> {
        self.0.iter()
    }

    /// The parameter types of one.
    pub(crate) fn types(&self, name: &str) -> Option<Vec<DataType>> {
        self.0.get(name).map(|kept| kept.types.clone())
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<KeptStatement>> {
        self.0.remove(name)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Session {
    /// The prepared statement of this name, by whatever way it was prepared.
    pub fn kept_statement(&self, name: &str) -> Option<&Arc<KeptStatement>> {
        self.prepared.get(name)
    }

    /// Keeps `statement` under `name` until it is forgotten.
    ///
    /// # Errors
    /// 42P05 when there is one of this name; 54000 when there are too many.
    pub fn keep_statement(&mut self, name: &str, statement: Arc<KeptStatement>) -> Result<()> {
        let statements = &mut self.prepared.0;
        if statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        if statements.len() >= KEPT_MAX {
            let message = format!("too many prepared statements: more than {KEPT_MAX}");
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        statements.insert(name.to_owned(), statement);
        Ok(())
    }

    /// Forgets the prepared statement of this name, if there is one.
    pub fn forget_statement(&mut self, name: &str) {
        self.prepared.remove(name);
    }
}
