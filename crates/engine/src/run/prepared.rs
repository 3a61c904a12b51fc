//! Prepared statements of a session: those with a name, whether PREPARE or the protocol gave it,
//! and those of the library.

use std::sync::Arc;

use sql::catalog::Digits;
use sql::statement::{CreateExecuted, Execute, Prepare, Statement};
use storage::Datum;
use types::budget::{self, Account};
use types::{DataType, Error, Result, SqlState, Value, stack};

use crate::define::bus;
use crate::run::transaction;
use crate::session::boundary::Boundary;
use crate::session::compiled::{Compiled, Ready, Timing};
use crate::session::prepared::kept::{Body, KeptStatement, PreparedBy, PreparedStatements};
use crate::session::prepared::{PreparedStatement, unknown};
use crate::statement::describe;
use crate::statement::running::{Run, Running};
use crate::{QueryResult, Session};

pub(crate) fn prepare(session: &mut Session, prepare: Prepare) -> Result<QueryResult> {
    let Prepare { name, parameters, statement } = prepare;
    let bound = sql::bind(&statement, &session.catalog(), &parameters)?;
    let columns = describe::columns(session, &bound)?;
    let origins = describe::origins(session, &bound);
    let text = session.info().seen.lock().query.as_ref().map(|(text, _)| Arc::clone(text));
    let text = text.unwrap_or_else(|| statement.text.as_str().into());
    let prepared = PreparedStatement::new(session, parameters, statement);
    let prepared = PreparedStatement { columns, origins, ..prepared };
    let body = Body {
        text,
        by: PreparedBy::Sql,
        prepared_micros: session.inner().clock.micros(),
        declared: Vec::new(),
        prepared: Some(prepared),
    };
    session.keep_statement(&name, Arc::new(KeptStatement::new(body)))?;
    Ok(QueryResult::command("PREPARE"))
}

pub(crate) fn execute(running: &mut Running<'_>, execute: &Execute) -> Result<QueryResult> {
    let kept = running.session.kept_statement(&execute.name).map(Arc::clone);
    let kept = kept.ok_or_else(|| unknown(&execute.name))?;
    let Some(mut prepared) = kept.lock()? else { return Ok(QueryResult::command("EXECUTE")) };
    let result = execute_with(running, &mut prepared, execute)?;
    kept.check_columns(&result)?;
    Ok(result)
}

/// The values of the arguments of EXECUTE.
fn values_of(running: &mut Running<'_>, execute: &Execute) -> Result<Vec<Value>> {
    let Some(query) = &execute.arguments else { return Ok(Vec::new()) };
    let result = running.run_query(query, Run::default())?;
    let row = result.batches.iter().find(|batch| batch.rows > 0);
    Ok(row.map(|b| b.columns.iter().map(|c| c.value(0)).collect()).unwrap_or_default())
}

/// Hands the statement that `execute` means, bound anew, to `work`, with its values as parameters.
pub(crate) fn with_values(
    running: &mut Running<'_>,
    execute: &Execute,
    work: impl FnOnce(&mut Running<'_>, Statement) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let kept =
        running.session.kept_statement(&execute.name).ok_or_else(|| unknown(&execute.name))?;
    let Some(statement) = kept.statement() else {
        return Err(Error::unsupported("EXPLAIN of an empty statement"));
    };
    stack::require(statement.levels())?;
    let bound = sql::bind(statement, &running.session.catalog(), kept.parameters())?;
    let values = values_of(running, execute)?;
    work(&mut Running::new(running.session, values), bound)
}

/// CREATE TABLE AS EXECUTE: CREATE TABLE AS of the prepared text, with its values as parameters.
///
/// # Errors
/// 42809 when the statement is no query.
pub(crate) fn create_executed(
    running: &mut Running<'_>,
    create: &CreateExecuted,
) -> Result<QueryResult> {
    let execute = &create.execute;
    let kept =
        running.session.kept_statement(&execute.name).ok_or_else(|| unknown(&execute.name))?;
    let not_query =
        || Error::new(SqlState::WRONG_OBJECT_TYPE, "prepared statement is not a SELECT");
    let query = kept.statement().ok_or_else(not_query)?;
    let catalog = running.session.catalog();
    if !matches!(sql::bind(query, &catalog, kept.parameters())?, Statement::Query(_)) {
        return Err(not_query());
    }
    drop(catalog);
    let text = format!("{}{} {}", create.head, query.text, create.tail);
    let parsed = sql::parse(&text)?.pop().ok_or_else(|| Error::internal("a statement"))?;
    let bound = sql::bind(&parsed, &running.session.catalog(), kept.parameters())?;
    let values = values_of(running, execute)?;
    Running::new(running.session, values).run(bound)
}

fn execute_with(
    running: &mut Running<'_>,
    prepared: &mut PreparedStatement,
    execute: &Execute,
) -> Result<QueryResult> {
    stack::require(prepared.statement.levels())?;
    let values = values_of(running, execute)?;
    run_compiled(&mut Running::new(running.session, values), prepared)
}

/// Runs the statement in the session's transaction, with these parameters.
pub(super) fn run_compiled(
    running: &mut Running<'_>,
    prepared: &mut PreparedStatement,
) -> Result<QueryResult> {
    if let Some(boundary) = prepared.boundary {
        return transaction::end_or_begin(running.session, boundary);
    }
    prepared.compiled = prepared.compiled.take().filter(|compiled| {
        compiled.is_current(running.session) && running.session.digits == Digits::Likely
    });
    let compiled = match &prepared.compiled {
        Some(compiled) => Arc::clone(compiled),
        None => match running.session.compile(prepared)? {
            Ready::Once(statement) => {
                prepared.boundary = Boundary::of(&statement);
                return running.run(*statement);
            }
            Ready::Now(statement) => {
                prepared.timing = Timing::Now;
                return running.run(*statement);
            }
            Ready::Again(compiled) => Arc::clone(prepared.compiled.insert(compiled)),
        },
    };
    if !compiled.asks_time {
        return run_ready(running, &compiled);
    }
    let now = Value::I64(running.session.work().now_micros);
    running.parameters.push(now);
    let result = run_ready(running, &compiled);
    running.parameters.pop();
    result
}

/// Runs it with all of its parameters.
fn run_ready(running: &mut Running<'_>, compiled: &Arc<Compiled>) -> Result<QueryResult> {
    if let Some(point) = &compiled.point
        && let Some(result) = point.run(running)?
    {
        return Ok(result);
    }
    bus::ensure(running.session, &compiled.statement)?;
    running.compiled = Some(Arc::clone(compiled));
    let result = running.run_rows(&compiled.statement);
    result.unwrap_or_else(|| Err(Error::internal("a statement about rows")))
}

/// DEALLOCATE.
pub(crate) fn deallocate(
    prepared: &mut PreparedStatements,
    name: Option<&str>,
) -> Result<QueryResult> {
    match name {
        None => {
            prepared.clear();
            Ok(QueryResult::command("DEALLOCATE ALL"))
        }
        Some(name) => {
            prepared.remove(name).ok_or_else(|| unknown(name))?;
            Ok(QueryResult::command("DEALLOCATE"))
        }
    }
}

impl Session {
    /// Prepares the statement `text`, whose parameters `$1`... have these types as far as given
    /// ([`DataType::Unknown`] where not); the others are inferred. A transaction fails with it.
    ///
    /// # Errors
    /// Errors of parsing and binding; 42601 if not one statement; 25P02 in a failed transaction.
    pub fn prepare(&mut self, text: &str, types: &[DataType]) -> Result<PreparedStatement> {
        self.begin_text();
        let _entry = budget::enter(Arc::clone(&self.account) as Arc<dyn Account>);
        let prepared = stack::statement(stack::levels_in(text), || {
            let mut prepared = stack::attempt(|| self.try_prepare(text, types));
            while prepared.as_ref().is_err_and(stack::is_again) {
                prepared = stack::attempt(|| self.try_prepare(text, types));
            }
            prepared
        });
        if prepared.is_err() {
            self.fail()?;
        }
        prepared
    }

    fn try_prepare(&mut self, text: &str, types: &[DataType]) -> Result<PreparedStatement> {
        let mut statements = self.parse_text(text)?;
        let (Some(statement), None) = (statements.pop(), statements.pop()) else {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        let bound = sql::bind(&statement, &self.catalog(), types)?;
        if self.in_failed_transaction() && !transaction::is_end(&bound) {
            return Err(transaction::failed());
        }
        let columns = describe::columns(self, &bound)?;
        let origins = describe::origins(self, &bound);
        let prepared = PreparedStatement::new(self, bound.parameters().to_vec(), statement);
        Ok(PreparedStatement { columns, origins, ..prepared })
    }

    /// Prepares the statement `text` as [`Self::prepare`] does, for a client whose protocol has
    /// `declared` for its parameters' types: the numbers of `types`. A text without a statement is
    /// one that does nothing.
    ///
    /// # Errors
    /// See [`Self::prepare`].
    pub fn prepare_kept(
        &mut self,
        text: &str,
        declared: Vec<u32>,
        types: &[DataType],
    ) -> Result<Arc<KeptStatement>> {
        let prepared = if crate::is_blank(text) { None } else { Some(self.prepare(text, types)?) };
        let body = Body {
            text: text.into(),
            by: PreparedBy::Protocol,
            prepared_micros: self.inner().clock.micros(),
            declared,
            prepared,
        };
        Ok(Arc::new(KeptStatement::new(body)))
    }

    /// Runs a prepared statement with these values, in the physical forms of its parameters' types.
    ///
    /// # Errors
    /// 08P01 for another number of values, 42804 for one of another type; what the statement says.
    pub fn execute_prepared(
        &mut self,
        prepared: &mut PreparedStatement,
        values: &[Value],
    ) -> Result<QueryResult> {
        self.begin_text();
        let mut values = conform(&prepared.types, values)?;
        let levels = prepared.statement.levels();
        stack::statement(levels, || {
            self.statement_by(&mut |session| {
                if session.in_failed_transaction() {
                    return session.bind_and_run(&prepared.statement, &prepared.types, Vec::new());
                }
                // A statement that is tried again has them again.
                let mut running = Running::new(session, std::mem::take(&mut values));
                let result = run_compiled(&mut running, prepared);
                values = running.parameters;
                result
            })
        })
    }
}

/// `values` as parameters of these types.
fn conform(types: &[DataType], values: &[Value]) -> Result<Vec<Value>> {
    if types.len() != values.len() {
        let message = format!("{} parameter values for {}", values.len(), types.len());
        return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
    }
    let widened = |(number, (ty, value)): (usize, (&DataType, &Value))| {
        let datum = Datum::from(value).widened(ty.physical());
        match (datum, value) {
            (Some(Datum::Str(bytes)), _) if ty.is_text() && std::str::from_utf8(bytes).is_err() => {
                let message = "invalid byte sequence for encoding \"UTF8\"";
                Err(Error::new(SqlState::INVALID_ENCODING, message))
            }
            // Not copied.
            (Some(_), Value::Str(_)) => Ok(value.clone()),
            (Some(datum), _) => Ok(datum.to_value()),
            (None, _) => {
                let message = format!("parameter ${} is not of type {}", number + 1, ty.name());
                Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    };
    types.iter().zip(values).enumerate().map(widened).collect()
}
