//! Functions that triggers call: their variables, WHEN, what they give back.
//!
//! Called by statements that write (`write::triggers`), through `statement::sequence::Callee`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sql::catalog::{
    BodyForm, Language, NullInput, RoutineDef, RoutineKind, RoutineType, RowCount, Security,
    TriggerDef, Volatility,
};
use sql::statement::RelationName;
use types::{DataType, ElementType, Error, Result, SqlState, Value, array};

use super::collation::of_columns;
use super::frame::{Boundaries, Typed};
use super::result::Wanted;
use super::{Call, built_in};
use crate::Session;
use crate::session::code::{Code, TRIGGER, TriggerCode};
use crate::statement::trigger::{Answer, Transition, TriggerCall};

impl Session {
    /// Calls a trigger, if its condition holds.
    pub(super) fn fire(&mut self, call: TriggerCall<'_>) -> Result<Answer> {
        let calls = Arc::clone(&self.calls);
        calls.triggers.fetch_add(1, Ordering::Relaxed);
        let outer = self.in_use.len();
        self.in_use.extend(self.state().tables.get(call.table).map(|entry| entry.storage().id()));
        let answer = self.fire_here(call);
        self.in_use.truncate(outer);
        calls.triggers.fetch_sub(1, Ordering::Relaxed);
        answer
    }

    fn fire_here(&mut self, call: TriggerCall<'_>) -> Result<Answer> {
        if call.def.condition.is_none()
            && let Some(row) = built_in::fire(&call)?
        {
            return Ok(Answer::Row(row));
        }
        let code = self.trigger_code(&call)?;
        let variables = self.variables(&call)?;
        if let Some(condition) = &code.condition {
            let wanted = Wanted::Value(DataType::Boolean);
            let variables = variables.as_slice();
            let when = Call { row: &[], wanted, boundaries: Boundaries::Refused, variables };
            if self.run_code(condition, when)? != Value::Bool(true) {
                return Ok(Answer::Quiet);
            }
        }
        if let Some(row) = built_in::fire(&call)? {
            return Ok(Answer::Row(row));
        }
        let wanted = Wanted::Row(call.row);
        let variables = variables.as_slice();
        let run = Call { row: &[], wanted, boundaries: Boundaries::Refused, variables };
        let of = |table: &Transition| (table.name.clone(), table.rows.clone());
        let transitions = call.tables.iter().map(of).collect();
        let outer = std::mem::replace(&mut self.transitions, transitions);
        let result = self.run_with(&code.routine, &code.function, run);
        self.transitions = outer;
        result.map(Answer::Row).map_err(explained)
    }

    /// The code of a trigger, parsed or kept: a function has one for each trigger that calls it, as
    /// the types of its rows are those of the table.
    fn trigger_code(&mut self, call: &TriggerCall<'_>) -> Result<Arc<TriggerCode>> {
        let state = self.state();
        let built_in = sql::catalog::built_in_trigger_function(&call.def.routine);
        let built_in = built_in.map(|name| Arc::new(condition(call.def, name)));
        let Some(routine) = state.routines.get(&call.def.routine).or(built_in.as_ref()) else {
            let message = format!("function {} does not exist", call.def.routine);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        };
        if let Some(code) = self.code.of_trigger(call.table, call.def, routine) {
            return Ok(Arc::clone(code));
        }
        let function = Arc::new(Code::of(routine, &TRIGGER)?);
        let condition = match &call.def.condition {
            Some(text) => Some(Arc::new(Code::of(&Arc::new(condition(call.def, text)), &TRIGGER)?)),
            None => None,
        };
        let code = TriggerCode {
            def: Arc::clone(call.def),
            routine: Arc::clone(routine),
            function,
            condition,
        };
        Ok(self.code.keep_trigger(call.table, code))
    }

    /// Values of the variables of a trigger's function, in the order of [`TRIGGER`].
    fn variables(&self, call: &TriggerCall<'_>) -> Result<Vec<Typed>> {
        let state = self.state();
        let table = state.tables.get(call.table);
        let collations = table.and_then(|table| of_columns(&table.def.columns));
        let row = |value: &Value| Typed {
            value: value.clone(),
            ty: DataType::Record(call.row),
            collations: collations.clone(),
        };
        let name = |text: &str| Typed::of(Value::text(text), DataType::Name);
        let text = |text: &str| Typed::of(Value::text(text), DataType::Text);
        let number = self.state().relation_number(call.table).unwrap_or(0);
        let bare = RelationName::name_of_key(call.table);
        let arguments: Vec<Value> = call.def.arguments.iter().map(|a| Value::text(a)).collect();
        let count = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
        let text_array = DataType::Array(ElementType::Text);
        let arguments = match arguments.as_slice() {
            [] => Value::Null,
            all => {
                let mut builder = array::ArrayBuilder::new();
                all.iter().for_each(|value| builder.push_value(value, ElementType::Text));
                Value::Str(builder.finish_from(0)?.into())
            }
        };
        Ok(vec![
            row(call.new),
            row(call.old),
            name(&call.def.name),
            text(call.def.timing.name()),
            text(call.def.level.name()),
            text(call.event.name()),
            Typed::of(Value::I64(number), DataType::Oid),
            name(bare),
            name(bare),
            name(RelationName::schema_of_key(call.table)),
            Typed::of(Value::I32(count), DataType::Integer),
            Typed::of(arguments, text_array),
        ])
    }
}

/// WHEN as a function that gives its value.
fn condition(def: &TriggerDef, text: &str) -> RoutineDef {
    RoutineDef {
        number: 0,
        name: def.name.clone(),
        kind: RoutineKind::Function,
        parameters: Vec::new(),
        result: RoutineType::plain(DataType::Boolean),
        rows: RowCount::One,
        language: Language::PlPgSql,
        body: format!("BEGIN RETURN (\n{text}\n); END"),
        form: BodyForm::Text,
        volatility: Volatility::Volatile,
        nulls: NullInput::Called,
        security: Security::Invoker,
        settings: Vec::new(),
        hints: Vec::new(),
        aggregate: None,
    }
}

/// Errors of what is given back, in the words of triggers.
fn explained(error: Error) -> Error {
    let message = match error.message() {
        "structure of query does not match function result type" => {
            "returned row structure does not match the structure of the triggering table"
        }
        "control reached end of function without RETURN" => {
            "control reached end of trigger procedure without RETURN"
        }
        _ => return error,
    };
    let told = Error::new(error.state(), message);
    match error.detail() {
        Some(detail) => told.with_detail(detail.to_owned()),
        None => told,
    }
}
