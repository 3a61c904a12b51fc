//! Aggregates that users made: the functions that their steps call.
//!
//! An aggregate is a routine without a body ([`super::RoutineDef::aggregate`]). Its calls collect
//! their rows as an array of records, which the session folds.

use super::{NullInput, RoutineType};

/// A function that an aggregate calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepFunction {
    /// One that users made, by its number in the catalog.
    Routine(u32),
    /// One of the system, by its name, and what it does with NULL.
    System(String, NullInput),
}

/// Arguments of the function that gives the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastTakes {
    /// The state.
    #[default]
    State,
    /// The state, and a NULL for each argument of the aggregate: FINALFUNC_EXTRA.
    Nulls,
}

/// Content of an aggregate, besides its name and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateDef {
    /// SFUNC: the next state, of the state and the arguments.
    pub transition: StepFunction,
    /// STYPE.
    pub state: RoutineType,
    /// INITCOND, as text.
    pub initial: Option<String>,
    /// FINALFUNC: the result, of the last state.
    pub last: Option<StepFunction>,
    /// Arguments of FINALFUNC.
    pub last_takes: LastTakes,
    /// COMBINEFUNC: kept and shown, as one thread folds all rows.
    pub combine: Option<StepFunction>,
    /// SSPACE, FINALFUNC_MODIFY, SORTOP as they were written: nothing asks for them here.
    pub options: Vec<(String, String)>,
}

impl AggregateDef {
    /// The functions that it calls, each with the name of its option.
    pub fn functions(&self) -> impl Iterator<Item = &StepFunction> {
        [Some(&self.transition), self.last.as_ref(), self.combine.as_ref()].into_iter().flatten()
    }

    /// An option as it was written.
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}
