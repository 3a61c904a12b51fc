//! JSON: text that is checked, and text in a canonical form.
//!
//! ```text
//! JSON   {"b":1, "a" : 1e1,"b":2}     as it was written
//! JSONB  {"a": 10, "b": 2}            last of equal keys, keys by length, then bytes, numbers
//!                                     as NUMERIC prints them, PostgreSQL's spaces
//! key    07 00000002 ...              bytes in the order of the JSONB values: see `order`
//! ```
//! Both are held as text, so a value inside of a JSONB is a part of its text, and what a client
//! sees is what is stored. JSONB values that are equal have equal text but for zeros at the end of
//! fractions (`1.0`, `1`); comparisons are of keys, made when they are asked for.
//!
//! Nothing here goes deeper into the stack with the value's depth, which is at most
//! [`NESTING_MAX`], but for containment and paths: those end at [`RECURSION_MAX`].
//! Elsewhere: values of SQL as JSON (`to_json`), columns (`kernels::json_fn`). Decision:
//! docs/decisions/025-json.md.

mod assign;
mod canonical;
mod change;
mod contain;
mod events;
mod number;
mod order;
mod show;
mod string;
mod value;

pub use assign::assigned;
pub use canonical::{Canonical, canonical};
pub use change::{PathChange, change_path, concatenated, without_index, without_key, without_keys};
pub use contain::{contains, has_key};
pub use events::{Event, Events, check};
pub(crate) use number::integer_part;
pub use order::key;
pub use show::{pretty, without_nulls};
pub use string::{push_quoted, unescaped};
pub use value::{Elements, Fields, Json, Kind};

use crate::{Error, SqlState};

/// Objects and arrays inside of each other: more are 54001.
pub const NESTING_MAX: usize = 10_000;

/// Calls inside of each other, of what walks two values at once.
pub(crate) const RECURSION_MAX: usize = 1_000;

/// 54001.
#[cold]
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState::STACK_DEPTH, "stack depth limit exceeded")
}

/// 22023.
#[cold]
pub(crate) fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}
