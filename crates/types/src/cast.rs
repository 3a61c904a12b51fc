//! Casts of single values.
#![allow(unused_variables)]

use crate::{DataType, Error, Result, Value};

/// `value` of type `from` as `to`, by the rules of an explicit cast: overlong text is cut.
///
/// # Errors
/// 22003, 22P02 and so on; 42846 when there is no such cast.
pub fn cast_value(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    Err(Error::internal("not there yet"))
}

/// As [`cast_value`] by the rules of assignment (INSERT, UPDATE): overlong text is 22001 unless the
/// excess is blank.
///
/// # Errors
/// As [`cast_value`], and 22001.
pub fn assign_value(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    Err(Error::internal("not there yet"))
}
