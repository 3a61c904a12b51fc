//! Casts of whole columns. Argument convention: see `text_fn`.
#![allow(unused_variables)]

use types::{DataType, Error, PhysicalType, Result};

use crate::Vector;

/// `vector` of type `from` as `to`, by the rules of an explicit cast, in `to.physical()` form. The physical form of a NUMERIC argument is the vector's own.
///
/// # Errors
/// As PostgreSQL.
pub fn cast(vector: &Vector, from: DataType, to: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// As [`cast`], in the form `physical` (I64 or I128 for NUMERIC, otherwise `to.physical()`).
///
/// # Errors
/// As PostgreSQL.
pub fn cast_as(
    vector: &Vector,
    from: DataType,
    to: DataType,
    physical: PhysicalType,
) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// As [`cast`] by the rules of assignment (INSERT, UPDATE): overlong text is 22001 unless the excess is blank.
///
/// # Errors
/// As PostgreSQL.
pub fn assign(vector: &Vector, from: DataType, to: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}
