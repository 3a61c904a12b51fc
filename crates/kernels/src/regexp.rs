//! Regular expressions (the regex crate's syntax, close to PostgreSQL's ARE), compiled once per pattern.
#![allow(unused_variables)]

use types::{Error, Result};

use crate::Vector;
use crate::like::Case;

/// `text ~ pattern` and `text ~* pattern` -> Bool.
///
/// # Errors
/// 2201B when a pattern is not well formed.
pub fn matches(text: &Vector, pattern: &Vector, case: Case) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// regexp_replace(text, pattern, replacement [, flags]).
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag.
pub fn replace(
    text: &Vector,
    pattern: &Vector,
    replacement: &Vector,
    flags: Option<&Vector>,
) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}
