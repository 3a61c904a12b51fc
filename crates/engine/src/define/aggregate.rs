//! CREATE AGGREGATE: what the binder leaves to those who know values and the system's functions.

use std::sync::Arc;

use catalog::State;
use sql::catalog::{NullInput, RoutineDef, RoutineKind, RoutineType, StepFunction};
use types::{DataType, Error, Result, SqlState, text};

use crate::Session;
use crate::show::pg_catalog;
use crate::statement::row_types::type_of;

/// Says of functions of the system whether they are strict, and looks at INITCOND.
///
/// # Errors
/// 42P13 for a strict SFUNC without INITCOND whose state is no argument; errors of INITCOND.
pub(super) fn complete(session: &Session, def: &mut RoutineDef) -> Result<()> {
    let inputs: Vec<RoutineType> = def.inputs().map(|input| input.ty.clone()).collect();
    let Some(aggregate) = &mut def.aggregate else { return Ok(()) };
    let count = 1 + inputs.len();
    let functions = [Some(&mut aggregate.transition), aggregate.last.as_mut()];
    for function in functions.into_iter().chain([aggregate.combine.as_mut()]).flatten() {
        if let StepFunction::System(name, nulls) = function {
            *nulls = pg_catalog::null_input(name, count);
        }
    }
    let is_strict = match &aggregate.transition {
        StepFunction::System(_, nulls) => *nulls == NullInput::Strict,
        StepFunction::Routine(number) => {
            let state = session.state();
            state.routine_numbered(*number).is_some_and(|f| f.nulls == NullInput::Strict)
        }
    };
    let begins = inputs.first().is_some_and(|first| first.shown() == aggregate.state.shown());
    if is_strict && aggregate.initial.is_none() && !begins {
        let message = "must not omit initial value when transition function is strict and \
                       transition type is not compatible with input type";
        return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
    }
    if let Some(written) = &aggregate.initial {
        let ty = type_of(session, &aggregate.state)?;
        if ty != DataType::Unknown {
            text::parse_in(written, ty, session.settings.time_zone())?;
        }
    }
    Ok(())
}

/// The aggregates that call the function with this number.
pub(super) fn calling(state: &State, number: u32) -> Vec<Arc<RoutineDef>> {
    let calls = |def: &&Arc<RoutineDef>| {
        let own = def.aggregate.as_ref().filter(|_| def.kind == RoutineKind::Aggregate);
        own.is_some_and(|own| own.functions().any(|f| *f == StepFunction::Routine(number)))
    };
    state.routines.values().filter(calls).cloned().collect()
}
