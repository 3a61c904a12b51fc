//! The schemas of a database: those that were made, and `public`, which is there from the start.
//!
//! ```text
//! schemas              public is
//! --                   as a new database has it: everybody may use it
//! "public"             one that somebody made, after the first had gone
//! ".public"            gone
//! ```
//! Invariant: never both. No schema has a point in its name, so that the mark is none.

use super::rights::SCHEMA_NAME;
use super::{Schema, State};

/// Mark among the names of schemas: there is no `public`.
const NO_PUBLIC: &str = ".public";

impl State {
    /// True when there is a schema `name`.
    pub fn has_schema(&self, name: &str) -> bool {
        if name == SCHEMA_NAME {
            return !self.schemas.contains_key(NO_PUBLIC);
        }
        name != NO_PUBLIC && self.schemas.contains_key(name)
    }

    /// True when `public` is the schema that a new database has.
    pub fn has_first_public(&self) -> bool {
        !self.schemas.contains_key(NO_PUBLIC) && !self.schemas.contains_key(SCHEMA_NAME)
    }

    /// The names of all schemas but those of the system, `public` first.
    pub fn schema_names(&self) -> impl Iterator<Item = &str> {
        let public = self.has_schema(SCHEMA_NAME).then_some(SCHEMA_NAME);
        let others = self.schemas.keys().map(String::as_str);
        public.into_iter().chain(others.filter(|name| ![SCHEMA_NAME, NO_PUBLIC].contains(name)))
    }

    /// Adds a schema that is not there.
    pub fn add_schema(&mut self, name: &str) {
        if name == SCHEMA_NAME {
            self.schemas.remove(NO_PUBLIC);
        }
        self.schemas.insert(name.to_owned(), Schema);
    }

    /// Takes a schema away; what is in it has gone before.
    pub fn remove_schema(&mut self, name: &str) {
        self.schemas.remove(name);
        if name == SCHEMA_NAME {
            self.schemas.insert(NO_PUBLIC.to_owned(), Schema);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(state: &State) -> Vec<&str> {
        state.schema_names().collect()
    }

    #[test]
    fn public_goes_and_comes_back() {
        let mut state = State::default();
        state.add_schema("own");
        assert!(state.has_schema(SCHEMA_NAME) && state.has_first_public());
        assert_eq!(names(&state), ["public", "own"]);

        state.remove_schema(SCHEMA_NAME);
        assert!(!state.has_schema(SCHEMA_NAME) && !state.has_schema(NO_PUBLIC));
        assert_eq!(names(&state), ["own"]);

        state.add_schema(SCHEMA_NAME);
        assert!(state.has_schema(SCHEMA_NAME) && !state.has_first_public());
        assert_eq!(names(&state), ["public", "own"]);

        state.remove_schema(SCHEMA_NAME);
        assert_eq!(names(&state), ["own"]);
    }
}
