//! Sessions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{CancelHandle, PreparedStatement, QueryResult};
use parking_lot::Mutex;
use pyo3::prelude::*;
use sql::Effect;
use types::calendar::TimeZone;
use types::{DataType, Error, SqlState, Value};

use crate::error::{exception, raise};
use crate::handle::{Handle, Limits};
use crate::interrupt::{Length, detached};
use crate::parameter::{self, Parameter};
use crate::result::Result;
use crate::stream::Objects;

/// Prepared statements that a session keeps; with one more, all are forgotten.
const STATEMENTS_MAX: usize = 128;

/// A session of a database.
#[pyclass(frozen, module = "tessera._tessera")]
pub(crate) struct Session {
    /// None when it is closed.
    open: Mutex<Option<Open>>,
    cancel: CancelHandle,
    /// The process that opened it: threads and locks are not there in another one.
    process: u32,
}

struct Open {
    session: engine::Session,
    /// Statements by text and types of parameters.
    statements: HashMap<Key, PreparedStatement>,
    /// In which they were prepared: their literals are read in it.
    zone: TimeZone,
    /// After the session, which is part of the database.
    _handle: Handle,
}

/// A text and the types of its parameters, as given.
type Key = (String, Vec<DataType>);

fn key_of(text: &str, parameters: &[Parameter]) -> Key {
    (text.to_owned(), parameters.iter().map(|parameter| parameter.ty).collect())
}

/// When changes begin a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Each statement is a transaction, unless one was begun.
    Autocommit,
    /// The first change begins one.
    Transactions,
}

impl From<bool> for Mode {
    fn from(autocommit: bool) -> Self {
        if autocommit { Self::Autocommit } else { Self::Transactions }
    }
}

/// Why nothing came of a call.
enum Failure {
    Closed,
    Forked,
    Sql(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl Failure {
    fn exception(&self, py: Python<'_>) -> PyErr {
        let interface =
            |message| raise(py, "InterfaceError", SqlState::CONNECTION_DOES_NOT_EXIST, message);
        match self {
            Self::Sql(error) => exception(py, error),
            Self::Closed => interface("the connection is closed"),
            Self::Forked => {
                interface("the connection belongs to the process that this was forked from")
            }
        }
    }
}

impl Session {
    /// Calls `work` with the session, when nobody else uses it. Never while attached.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Open) -> std::result::Result<T, Error>,
    ) -> std::result::Result<T, Failure> {
        if self.process != std::process::id() {
            return Err(Failure::Forked);
        }
        let mut open = self.open.lock();
        Ok(work(open.as_mut().ok_or(Failure::Closed)?)?)
    }

    /// How long the statement will take. Waits for nobody.
    fn length(&self, text: &str, parameters: &[Parameter]) -> Length {
        let open = self.open.try_lock();
        let statements = open.as_ref().and_then(|open| open.as_ref()).map(|open| &open.statements);
        let known = statements.and_then(|known| known.get(&key_of(text, parameters)));
        if known.is_some_and(PreparedStatement::reads_one_row) {
            Length::Short
        } else {
            Length::Unknown
        }
    }

    /// [`Self::with`] and `objects` in FROM, interrupted by signals.
    fn run_with<T: Send>(
        &self,
        py: Python<'_>,
        find: Option<Py<PyAny>>,
        length: Length,
        work: impl FnOnce(&mut Open) -> std::result::Result<T, Error> + Send,
    ) -> PyResult<T> {
        let objects = find.map(|find| Arc::new(Objects::new(find)));
        let outside = objects.clone().map(|objects| objects as Arc<dyn engine::registry::Outside>);
        let result = detached(py, &self.cancel, length, || {
            self.with(|open| {
                open.session.set_outside(outside);
                let result = work(open);
                open.session.set_outside(None);
                result
            })
        })?;
        result.map_err(|failure| {
            let raised = objects.and_then(|objects| objects.raised());
            raised.unwrap_or_else(|| failure.exception(py))
        })
    }
}

#[pymethods]
impl Session {
    /// Opens the database in the directory `path`, or a new one in memory.
    #[new]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        threads: Option<usize>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let limits = Limits { threads, memory_bytes: memory };
        let open = py.detach(|| {
            let handle = match &path {
                Some(path) => Handle::open(path, limits)?,
                None => Handle::in_memory(limits)?,
            };
            let session = handle.database().session();
            let (statements, zone) = (HashMap::new(), session.time_zone().clone());
            Ok(Open { session, statements, zone, _handle: handle })
        });
        let open = open.map_err(|error| exception(py, &error))?;
        let (cancel, process) = (open.session.cancel_handle(), std::process::id());
        Ok(Self { open: Mutex::new(Some(open)), cancel, process })
    }

    /// Runs `text`: one statement with parameters, any number without. The result of the last.
    fn run(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: Option<Bound<'_, PyAny>>,
        autocommit: bool,
        find: Option<Py<PyAny>>,
    ) -> PyResult<Result> {
        let mode = Mode::from(autocommit);
        let result = match parameters {
            None => self.run_with(py, find, Length::Unknown, |open| open.run_text(text, mode))?,
            Some(parameters) => {
                let (text, values) = parameter::take(text, &parameters)?;
                let length = self.length(&text, &values);
                self.run_with(py, find, length, |open| open.run(&text, &values, mode))?
            }
        };
        Ok(Result::new(result))
    }

    /// Runs the statement `text` with the parameters of each of `rows`, in one transaction. How
    /// many rows were changed.
    fn run_many(
        &self,
        py: Python<'_>,
        text: &str,
        rows: Bound<'_, PyAny>,
        autocommit: bool,
        find: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let (text, rows) = parameter::take_many(text, &rows)?;
        let mode = Mode::from(autocommit);
        self.run_with(py, find, Length::Unknown, |open| open.run_many(&text, &rows, mode))
    }

    /// Ends the transaction, if there is one: by COMMIT or ROLLBACK.
    fn end(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        let end = |open: &mut Open| {
            if open.session.in_transaction() {
                open.session.execute(text).map(|result| result.tag().to_owned())
            } else {
                Ok(text.to_owned())
            }
        };
        py.detach(|| self.with(end)).map_err(|failure| failure.exception(py))
    }

    /// True when a transaction was begun.
    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        let asked = py.detach(|| self.with(|open| Ok(open.session.in_transaction())));
        asked.map_err(|failure| failure.exception(py))
    }

    /// True when there is a table or view `name`.
    fn has_relation(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let has = |open: &mut Open| {
            Ok(open.session.relations().iter().any(|relation| relation.name == name))
        };
        py.detach(|| self.with(has)).map_err(|failure| failure.exception(py))
    }

    /// Cancels what runs, from another thread.
    fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Rolls back and gives up the database; nothing happens the second time.
    fn close(&self, py: Python<'_>) {
        if self.process == std::process::id() {
            py.detach(|| drop(self.open.lock().take()));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let open = self.open.get_mut().take();
        if self.process != std::process::id() {
            // Its files and threads are the parent's.
            std::mem::forget(open);
        } else if let Some(open) = open {
            // To close a database may take a while.
            Python::attach(|py| py.detach(|| drop(open)));
        }
    }
}

impl Open {
    fn run_text(&mut self, text: &str, mode: Mode) -> std::result::Result<QueryResult, Error> {
        self.in_transaction(&changes_in(text), mode, |open| open.session.execute(text))
    }

    fn run(
        &mut self,
        text: &str,
        parameters: &[Parameter],
        mode: Mode,
    ) -> std::result::Result<QueryResult, Error> {
        self.in_transaction(&changes_in(text), mode, |open| open.execute(text, parameters))
    }

    fn run_many(
        &mut self,
        text: &str,
        rows: &[Vec<Parameter>],
        mode: Mode,
    ) -> std::result::Result<u64, Error> {
        let mut changed = 0;
        let mut run = |open: &mut Self| {
            for row in rows {
                changed += rows_of(&open.execute(text, row)?);
            }
            Ok(())
        };
        match mode {
            Mode::Transactions => self.in_transaction(&|| true, mode, run)?,
            Mode::Autocommit => {
                self.session.begin_implicit()?;
                run(self)?;
                self.session.end_implicit()?;
            }
        }
        Ok(changed)
    }

    /// Runs `work` in a transaction, which it begins when `mode` says so and `work` changes
    /// something, and takes back if its first statement fails.
    fn in_transaction<T>(
        &mut self,
        changes: &dyn Fn() -> bool,
        mode: Mode,
        work: impl FnOnce(&mut Self) -> std::result::Result<T, Error>,
    ) -> std::result::Result<T, Error> {
        if mode == Mode::Autocommit || self.session.in_transaction() || !changes() {
            return work(self);
        }
        self.session.execute("BEGIN")?;
        let result = work(self);
        // A cancel that goes on may hit the rollback, too.
        let mut tries = 0;
        while result.is_err() && self.session.in_transaction() && tries < 100 {
            let _ = self.session.execute("ROLLBACK");
            tries += 1;
        }
        result
    }

    /// Runs one statement, whose plan is kept.
    fn execute(
        &mut self,
        text: &str,
        parameters: &[Parameter],
    ) -> std::result::Result<QueryResult, Error> {
        let key = key_of(text, parameters);
        if self.zone != *self.session.time_zone() {
            self.statements.clear();
            self.zone = self.session.time_zone().clone();
        }
        let mut prepared = match self.statements.remove(&key) {
            Some(prepared) => prepared,
            None => self.session.prepare(text, &key.1)?,
        };
        let zone = self.session.time_zone();
        let value = |(parameter, ty): (&Parameter, &DataType)| parameter.for_type(*ty, zone);
        let known = prepared.parameters().len();
        if known != parameters.len() {
            let message = format!("{} parameter values for {known}", parameters.len());
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let values = parameters.iter().zip(prepared.parameters()).map(value);
        let values = values.collect::<std::result::Result<Vec<Value>, Error>>()?;
        let result = self.session.execute_prepared(&mut prepared, &values);
        if self.statements.len() == STATEMENTS_MAX {
            self.statements.clear();
        }
        self.statements.insert(key, prepared);
        result
    }
}

/// True when `text` changes something and leaves transactions alone.
fn changes_in(text: &str) -> impl Fn() -> bool {
    // A text with an error in it is told of by the session.
    move || {
        let statements = sql::parse(text).unwrap_or_default();
        let has = |effect| statements.iter().any(|statement| statement.effect() == effect);
        has(Effect::Changes) && !has(Effect::Transaction)
    }
}

/// The number at the end of a tag.
fn rows_of(result: &QueryResult) -> u64 {
    result.tag().rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
