//! Functions and procedures that users made, as the catalog finds them.
//!
//! Invariant: keys of routines are those of their names and types, so that all of one name follow
//! each other.

use std::sync::Arc;

use sql::catalog::RoutineDef;

use crate::state::State;
use crate::state::numbers::{FIRST, hash};

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
