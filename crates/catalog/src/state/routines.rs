//! Functions and procedures that users made, as the catalog finds them.
//!
//! Invariant: keys of routines are those of their names and types, so that all of one name follow
//! each other.

use std::sync::Arc;

use sql::catalog::{RoutineDef, RoutineType};
use types::Result;

use crate::state::State;
use crate::state::comments::Commented;
use crate::state::numbers::{FIRST, hash};
use crate::state::rights::Object;

impl State {
    /// The routines of this name, a key of relations.
    pub fn routines_called(&self, name: &str) -> impl Iterator<Item = &Arc<RoutineDef>> {
        let begin = format!("{name}(");
        let is_meant = |key: &str| key.starts_with(&begin);
        let found = self.routines.range(begin.clone()..);
        let found: Vec<&Arc<RoutineDef>> =
            found.take_while(|(key, _)| is_meant(key)).map(|(_, routine)| routine).collect();
        found.into_iter()
    }

    /// The routine with this number.
    pub fn routine_numbered(&self, number: u32) -> Option<&Arc<RoutineDef>> {
        self.routines.values().find(|routine| routine.number == number)
    }

    /// Puts a routine in the place of the one with the key `from`, which it may have another key
    /// than: rights, comments and triggers follow.
    pub fn replace_routine(&mut self, from: &str, def: RoutineDef) {
        let to = def.key();
        self.routines.remove(from);
        if from != to {
            self.move_rights(&Object::Routine(from.to_owned()), Object::Routine(to.clone()));
            self.rename_trigger_function(from, &to);
            self.move_comments(|on| match on {
                Commented::Routine(key) if key == from => Some(Commented::Routine(to.clone())),
                _ => None,
            });
        }
        self.routines.insert(to, Arc::new(def));
    }

    /// Gives routines other types in the places of theirs.
    ///
    /// # Errors
    /// Errors of `retyped`.
    pub(crate) fn retype_routines(
        &mut self,
        retyped: impl Fn(&RoutineType) -> Result<RoutineType>,
    ) -> Result<()> {
        let mut changed = Vec::new();
        for (key, routine) in &self.routines {
            let mut def = RoutineDef::clone(routine);
            for parameter in &mut def.parameters {
                parameter.ty = retyped(&parameter.ty)?;
            }
            def.result = retyped(&def.result)?;
            if let Some(aggregate) = &mut def.aggregate {
                aggregate.state = retyped(&aggregate.state)?;
            }
            if def != **routine {
                changed.push((key.clone(), def));
            }
        }
        changed.into_iter().for_each(|(key, def)| self.replace_routine(&key, def));
        Ok(())
    }

    /// The number of a new routine with this key.
    pub fn new_routine_number(&self, key: &str) -> u32 {
        let mut number = FIRST + hash("routine", key);
        while self.routines.values().any(|known| u64::from(known.number) == number) {
            number += 1;
        }
        // Below 2^30 and some.
        number as u32
    }
}
