//! Functions, procedures, aggregates and DO: their bodies, run on the thread of the session and in
//! its transaction.
//!
//! ```text
//! query -> kernel -> Sequences::routine -> Callee (the session, lent)  -+
//! CALL, DO ---------------------------------------------------------------+-> Code -> Frame
//!   Frame: values of the variables; each statement of the body is a fragment: prepared once, its
//!   variables are its parameters, its plan is kept as that of a prepared statement
//! ```
//! Invariant: an error leaves the transaction as it was before the outermost statement, or before
//! the block that handles it; the frames of routines end with it.
//! Elsewhere: syntax of PL/pgSQL (`sql::program`), code that is kept (`session::code`), how a call
//! finds its routine (`sql::bind::routine_call`).

mod aggregate;
mod assign;
mod block;
mod built_in;
pub(super) mod collation;
mod cursor;
mod frame;
mod fragment;
mod loops;
mod raise;
mod result;
mod statement;
mod trigger;

use std::sync::Arc;

use catalog::rights::Object;
use sql::algebra::{LargeObject, RoutineCall};
use sql::catalog::{NullInput, RoutineDef, RoutineKind, RoutineType, RowCount, Security};
use sql::statement::{CallRoutine, DoBlock};
use types::{DataType, ElementType, Error, RecordType, Result, SqlState, Value, stack};

use crate::define::large_object::LargeObjects;
use crate::session::code::{Body, Called, Code};
use crate::session::compiled::OwnQuery;
use crate::statement::row_types::type_of;
use crate::statement::running::{Run, Running};
use crate::statement::sequence::Callee;
use crate::statement::trigger::{Answer, TriggerCall};
use crate::transaction::work::Begun;
use crate::{QueryResult, Session};
use frame::{Boundaries, Frame, Typed};
use result::Wanted;

/// Calls inside of each other: more are 54001.
const DEPTH_MAX: usize = 400;

impl Callee for Session {
    fn call_routine(&mut self, called: RoutineCall, ty: DataType, row: &[Value]) -> Result<Value> {
        let def = routine(self, called.number)?;
        let meant = Called::of(&def, called.instance, called.collation);
        if def.kind == RoutineKind::Aggregate {
            return self.fold(&def, meant, row);
        }
        let is_missing = def.nulls == NullInput::Strict && row.iter().any(Value::is_null);
        if is_missing {
            return Ok(Value::Null);
        }
        let wanted = Wanted::of(&def, ty);
        let code = self.code_of(&def, meant)?;
        self.run_with(&def, &code, Call::of(row, wanted, Boundaries::Refused))
    }

    fn call_trigger(&mut self, call: TriggerCall<'_>) -> Result<Answer> {
        self.fire(call)
    }

    fn call_large_object(&mut self, function: LargeObject, arguments: &[Value]) -> Result<Value> {
        LargeObjects { session: self }.call(function, arguments)
    }
}

/// The routine with this number.
///
/// # Errors
/// XX000 when it is gone, which no statement that was bound meets.
fn routine(session: &Session, number: u32) -> Result<Arc<RoutineDef>> {
    let state = session.state();
    let found = state.routine_numbered(number).cloned();
    found.ok_or_else(|| Error::internal("a routine that is called is there"))
}

/// A call of a routine.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    /// Values of the parameters that go in.
    pub(super) row: &'a [Value],
    pub(super) wanted: Wanted,
    pub(super) boundaries: Boundaries,
    /// Values of the variables that the code has besides its parameters.
    variables: &'a [Typed],
}

impl<'a> Call<'a> {
    fn of(row: &'a [Value], wanted: Wanted, boundaries: Boundaries) -> Self {
        Self { row, wanted, boundaries, variables: &[] }
    }
}

impl Session {
    /// The code of a routine for such calls, parsed or kept.
    fn code_of(&mut self, def: &Arc<RoutineDef>, called: Called) -> Result<Arc<Code>> {
        if let Some(code) = self.code.get(def, called) {
            return Ok(Arc::clone(code));
        }
        let Called { instance, collation, .. } = called;
        let own =
            if instance.is_plain() { Arc::clone(def) } else { Arc::new(instance.routine(def)) };
        let code = Arc::new(Code::of(&own, &[])?.under(collation));
        self.code.keep(def, called, &code);
        Ok(code)
    }

    /// Runs a routine with its own settings and rights, if it has some.
    fn run_with(&mut self, def: &RoutineDef, code: &Arc<Code>, call: Call<'_>) -> Result<Value> {
        let is_plain = def.settings.is_empty() && def.security == Security::Invoker;
        if is_plain {
            return self.run_code(code, call);
        }
        let before = self.settings.clone();
        let outside = self.calls.seen();
        let is_same = outside.version() == before.version();
        let copies = self.work.as_ref().map_or(0, |work| work.settings.len());
        let prepared = self.prepare_settings(def);
        let result = prepared.and_then(|()| self.run_code(code, call));
        // A rollback restores what was outside.
        if let Some(work) = self.work.as_mut().filter(|work| work.settings.len() > copies) {
            work.settings.truncate(copies);
            work.settings.push(before.clone());
        }
        match &result {
            Ok(_) => self.settings.leave_routine(before, &def.settings),
            Err(_) => self.settings.go_back(before),
        }
        // The query that calls goes on with the settings outside.
        self.calls.begin(if is_same { &self.settings } else { &outside });
        result
    }

    /// Takes what the routine says of settings, and the rights of its owner.
    fn prepare_settings(&mut self, def: &RoutineDef) -> Result<()> {
        for (name, value) in &def.settings {
            self.settings.set_local(name, Some(value))?;
        }
        if def.security == Security::Definer {
            let state = self.state();
            let owner = state.owner_of(&Object::Routine(def.key())).to_owned();
            self.settings.act_as(&owner)?;
        }
        Ok(())
    }

    /// Runs code one call deeper.
    ///
    /// # Errors
    /// 54001; errors of its statements.
    fn run_code(&mut self, code: &Arc<Code>, call: Call<'_>) -> Result<Value> {
        if self.call_depth >= DEPTH_MAX {
            let error = Error::new(SqlState::STACK_DEPTH, "stack depth limit exceeded");
            let hint = format!("Functions call each other {DEPTH_MAX} deep at most.");
            return Err(error.with_hint(hint));
        }
        self.call_depth += 1;
        let result = stack::deep(|| {
            let mut frame = Frame::new(Running::own(self), code, call)?;
            match &code.body {
                Body::Program(program) => frame.run(program),
                Body::Sql(statements) => frame.run_sql(statements),
            }
        });
        self.call_depth -= 1;
        result
    }
}

/// CALL.
pub(super) fn call(running: &mut Running<'_>, call: &CallRoutine) -> Result<QueryResult> {
    let boundaries = Boundaries::of(running.session);
    call_with(running, call, boundaries)
}

/// CALL of a routine that may end transactions, or may not; a row of what comes out of it.
pub(super) fn call_with(
    running: &mut Running<'_>,
    call: &CallRoutine,
    boundaries: Boundaries,
) -> Result<QueryResult> {
    let def = routine(running.session, call.number)?;
    let result = running.run_query(&call.arguments, Run::of(OwnQuery::Source))?;
    let batch = result.batches.iter().find(|batch| batch.rows > 0);
    let row: Vec<Value> =
        batch.map(|b| b.columns.iter().map(|c| c.value(0)).collect()).unwrap_or_default();
    let row: Vec<Value> = row
        .into_iter()
        .zip(&call.arguments.columns)
        .map(|(value, column)| frame::widened(value, column.ty))
        .collect();
    drop(result);
    let mut columns = Vec::new();
    for output in def.outputs() {
        let ty = call.instance.routine_type(&output.ty);
        columns.push((output.name.clone(), type_of(running.session, &ty)?));
    }
    let field =
        |(name, ty): &(String, DataType)| types::RecordField { name: name.clone(), ty: *ty };
    let record = RecordType::new(columns.iter().map(field).collect())?;
    let wanted = Wanted::Row(record);
    let meant = Called::of(&def, call.instance, call.collation);
    let code = running.session.code_of(&def, meant)?;
    let value = running.session.run_with(&def, &code, Call::of(&row, wanted, boundaries))?;
    if columns.is_empty() {
        return Ok(QueryResult::command("CALL"));
    }
    let values: Vec<Value> = match &value {
        Value::Str(bytes) => types::record::Fields::new(bytes, record).collect(),
        _ => vec![Value::Null; columns.len()],
    };
    Ok(QueryResult::from_values("CALL", columns, &[values]))
}

/// DO.
pub(super) fn run_block(running: &mut Running<'_>, block: &DoBlock) -> Result<QueryResult> {
    let session = &mut *running.session;
    let code = Arc::new(Code::of_block(&block.body)?);
    let boundaries = Boundaries::of(session);
    session.run_code(&code, Call::of(&[], Wanted::Nothing, boundaries))?;
    Ok(QueryResult::command("DO"))
}

impl Boundaries {
    /// Choice for a statement of the session itself.
    fn of(session: &Session) -> Self {
        match session.work.as_ref().map(|work| work.begun) {
            Some(Begun::ForOneStatement) if session.call_depth == 0 => Self::Allowed,
            _ => Self::Refused,
        }
    }
}

/// The record that the elements of an array are; None for other types.
fn row_of(ty: DataType) -> Option<RecordType> {
    match ty {
        DataType::Array(ElementType::Record(row)) => Some(row),
        _ => None,
    }
}

impl Wanted {
    /// Form that a call in an expression of type `ty` wants.
    fn of(def: &RoutineDef, ty: DataType) -> Self {
        match (def.rows, row_of(ty), ty) {
            (RowCount::Many, Some(row), _) => Self::Rows(row),
            (_, _, DataType::Record(row)) => Self::Row(row),
            _ if def.result == RoutineType::Void => Self::Nothing,
            _ => Self::Value(ty),
        }
    }
}
