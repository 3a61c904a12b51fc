//! Errors for calls of functions and operators that no types fit: 42883.

use types::{CompareOp, DataType, Error, SqlState};

use super::place;
use crate::algebra::Place;

/// 42883 for an infix operator.
pub(super) fn no_operator(op: &str, a: DataType, b: DataType, at: Place) -> Error {
    let message = format!("operator does not exist: {} {op} {}", a.name(), b.name());
    missing_operator(message, at)
}

/// 42883 for a comparison of a row with something else.
pub(super) fn no_row_operator(op: CompareOp, other: DataType, at: Place) -> Error {
    let op = compare_text(op);
    missing_operator(format!("operator does not exist: record {op} {}", other.name()), at)
}

/// 42883 for a prefix operator.
pub(super) fn no_prefix(op: &str, ty: DataType, at: Place) -> Error {
    missing_operator(format!("operator does not exist: {op} {}", ty.name()), at)
}

/// 42883 for a function.
pub(super) fn no_function(message: String, at: Place) -> Error {
    let error = Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
        "No function matches the given name and argument types. You might need to add \
         explicit type \
         casts.",
    );
    place(error, at)
}

/// The operator that values need: IS DISTINCT FROM goes by `=`.
pub(super) fn compare_text(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Distinct | CompareOp::NotDistinct => CompareOp::Equal.as_str(),
        op => op.as_str(),
    }
}

fn missing_operator(message: String, at: Place) -> Error {
    let error = Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
        "No operator matches the given name and argument types. You might need to add \
         explicit type \
         casts.",
    );
    place(error, at)
}
