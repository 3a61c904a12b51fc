//! Aggregates that users made: the rows that a call collected, folded by the functions of the
//! aggregate.
//!
//! ```text
//! state = INITCOND; for each row: state = SFUNC(state, arguments); result = FINALFUNC(state)
//! ```
//! Invariant: a strict SFUNC passes over rows with a NULL, and begins with the first value where
//! there is no INITCOND.
//! Elsewhere: how the rows come together (`sql::bind::own_aggregate`).

use std::sync::Arc;

use sql::catalog::{
    AggregateDef, BodyForm, Instance, Language, LastTakes, NullInput, ParameterDef, ParameterMode,
    RoutineDef, RoutineKind, RoutineType, RowCount, Security, StepFunction, Volatility,
};
use types::array::{Elements, decode};
use types::{
    Collation, DataType, ElementType, Error, RecordField, RecordType, Result, SqlState, Value,
    record, text,
};

use super::Call;
use super::frame::Boundaries;
use super::result::Wanted;
use crate::Session;
use crate::session::code::{Called, Code, Folding, Step};
use crate::statement::row_types::type_of;

/// Types that a function of an aggregate takes and gives.
struct Signature<'t> {
    takes: &'t [DataType],
    gives: DataType,
    /// Collation of what it takes.
    collation: Option<Collation>,
}

impl Session {
    /// The result of an aggregate, of the only argument of the call: an array of rows, or NULL when
    /// there are none.
    pub(super) fn fold(
        &mut self,
        def: &Arc<RoutineDef>,
        called: Called,
        given: &[Value],
    ) -> Result<Value> {
        let folding = self.folding(def, called)?;
        let mut state = folding.initial.clone();
        // A strict function without INITCOND has no state before the first row that counts.
        let mut is_open = state.is_null() && folding.transition.def.nulls == NullInput::Strict;
        if let Some(Value::Str(rows)) = given.first() {
            let element = ElementType::Record(folding.row);
            for raw in Elements::new(rows, element) {
                let Value::Str(fields) = decode(raw, element) else { continue };
                let mut row = vec![state];
                row.extend(record::Fields::new(&fields, folding.row).take(folding.arguments));
                let is_missing = row[1..].iter().any(Value::is_null);
                let is_strict = folding.transition.def.nulls == NullInput::Strict;
                state = if is_strict && is_missing {
                    row.swap_remove(0)
                } else if is_open {
                    is_open = false;
                    row.swap_remove(1)
                } else {
                    self.step(&folding.transition, &row)?
                };
            }
        }
        let Some(last) = &folding.last else { return Ok(state) };
        let mut row = vec![state];
        row.resize(1 + folding.nulls, Value::Null);
        self.step(last, &row)
    }

    fn step(&mut self, step: &Step, row: &[Value]) -> Result<Value> {
        if step.def.nulls == NullInput::Strict && row.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let wanted = Wanted::of(&step.def, step.ty);
        self.run_with(&step.def, &step.code, Call::of(row, wanted, Boundaries::Refused))
    }

    /// The functions of an aggregate with the types of a call, made or kept.
    fn folding(&mut self, def: &Arc<RoutineDef>, called: Called) -> Result<Arc<Folding>> {
        if let Some(folding) = self.code.folding(def, called)
            && self.is_current(folding)
        {
            return Ok(Arc::clone(folding));
        }
        let own = called.instance.routine(def);
        let Some(aggregate) = &own.aggregate else {
            return Err(Error::internal("an aggregate has functions"));
        };
        let folding = Arc::new(self.new_folding(&own, aggregate, called.collation)?);
        self.code.keep_folding(def, called, &folding);
        Ok(folding)
    }

    /// True while the functions are those of the catalog.
    fn is_current(&self, folding: &Folding) -> bool {
        let state = self.state();
        let mut steps = [Some(&folding.transition), folding.last.as_ref()].into_iter().flatten();
        steps.all(|step| match &step.source {
            Some(source) => {
                let now = state.routine_numbered(source.number);
                now.is_some_and(|now| Arc::ptr_eq(now, source))
            }
            None => true,
        })
    }

    fn new_folding(
        &mut self,
        own: &RoutineDef,
        aggregate: &AggregateDef,
        collation: Option<Collation>,
    ) -> Result<Folding> {
        let state = type_of(self, &aggregate.state)?;
        let mut takes = vec![state];
        for input in own.inputs() {
            takes.push(type_of(self, &input.ty)?);
        }
        let signature = Signature { takes: &takes, gives: state, collation };
        let transition = self.new_step(&aggregate.transition, &signature)?;
        let nulls = match aggregate.last_takes {
            LastTakes::State => 0,
            LastTakes::Nulls => takes.len() - 1,
        };
        let last = match &aggregate.last {
            Some(last) => {
                let gives = type_of(self, &own.result)?;
                let takes = &takes[..=nulls];
                Some(self.new_step(last, &Signature { takes, gives, collation })?)
            }
            None => None,
        };
        let initial = match &aggregate.initial {
            Some(written) => text::parse_in(written, state, self.settings.time_zone())?,
            None => Value::Null,
        };
        let arguments = takes.len() - 1;
        let named =
            |(at, ty): (usize, &DataType)| RecordField { name: format!("f{}", at + 1), ty: *ty };
        let mut fields: Vec<RecordField> = takes[1..].iter().enumerate().map(named).collect();
        if fields.is_empty() {
            fields.push(RecordField { name: String::new(), ty: DataType::Boolean });
        }
        let row = RecordType::new(fields)?;
        Ok(Folding { transition, last, nulls, row, arguments, initial })
    }

    fn new_step(&mut self, function: &StepFunction, signature: &Signature<'_>) -> Result<Step> {
        let ty = signature.gives;
        match function {
            StepFunction::Routine(number) => {
                let source = self.state().routine_numbered(*number).cloned();
                let is_gone = "a function of the aggregate was dropped";
                let gone = || Error::new(SqlState::UNDEFINED_FUNCTION, is_gone);
                let source = source.ok_or_else(gone)?;
                let instance = Instance::of_types(&source, signature.takes);
                let called = Called::of(&source, instance, signature.collation);
                let code = self.code_of(&source, called)?;
                let def = Arc::new(instance.routine(&source));
                Ok(Step { source: Some(source), def, code, ty })
            }
            StepFunction::System(name, nulls) => {
                let def = Arc::new(called(name, *nulls, signature));
                let code = Arc::new(Code::of(&def, &[])?.under(signature.collation));
                Ok(Step { source: None, def, code, ty })
            }
        }
    }
}

/// A function of the system as one in PL/pgSQL that calls it.
fn called(name: &str, nulls: NullInput, signature: &Signature<'_>) -> RoutineDef {
    let parameter = |ty: &DataType| ParameterDef {
        name: String::new(),
        mode: ParameterMode::In,
        ty: RoutineType::plain(*ty),
        default: None,
    };
    let list: Vec<String> = (1..=signature.takes.len()).map(|at| format!("${at}")).collect();
    let name = name.replace('"', "\"\"");
    RoutineDef {
        number: 0,
        name: name.clone(),
        kind: RoutineKind::Function,
        parameters: signature.takes.iter().map(parameter).collect(),
        result: RoutineType::plain(signature.gives),
        rows: RowCount::One,
        language: Language::PlPgSql,
        body: format!("BEGIN RETURN pg_catalog.\"{name}\"({}); END", list.join(", ")),
        form: BodyForm::Text,
        volatility: Volatility::Volatile,
        nulls,
        security: Security::Invoker,
        settings: Vec::new(),
        hints: Vec::new(),
        aggregate: None,
    }
}
