//! IF EXISTS: a notice in the place of an error.

use sql::statement::IfMissing;
use types::{Error, Result, SqlState};

/// Text of the notice for an object that is not there and need not be.
///
/// # Errors
/// `error`, unless it says that an object or its schema is not there, and IF EXISTS was given.
pub(super) fn skipped(error: Error, if_missing: IfMissing) -> Result<String> {
    match error.state() {
        SqlState::UNDEFINED_OBJECT | SqlState::UNDEFINED_SCHEMA
            if if_missing == IfMissing::Skip =>
        {
            Ok(format!("{}, skipping", error.message()))
        }
        _ => Err(error),
    }
}
