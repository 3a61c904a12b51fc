//! Functions on integers and floating point. Argument convention: see `text_fn`. NUMERIC: see `numeric`.
#![allow(unused_variables)]

use types::{DataType, Error, Result};

use crate::Vector;

/// abs of an integer or floating-point type (`ty`).
///
/// # Errors
/// As PostgreSQL.
pub fn abs(number: &Vector, ty: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// sign of a DOUBLE, or of an integer.
///
/// # Errors
/// As PostgreSQL.
pub fn sign(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// ceil(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn ceil(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// floor(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn floor(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// round(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn round(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// trunc(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn trunc(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// sqrt(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn sqrt(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// cbrt(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn cbrt(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// exp(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn exp(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// ln(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn ln(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// log10(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn log10(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// degrees(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn degrees(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// radians(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn radians(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// sin(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn sin(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// cos(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn cos(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// tan(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn tan(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// cot(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn cot(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// asin(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn asin(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// acos(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn acos(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// atan(DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn atan(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// power(DOUBLE, DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn power(base: &Vector, exponent: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// atan2(DOUBLE, DOUBLE).
///
/// # Errors
/// As PostgreSQL.
pub fn atan2(y: &Vector, x: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// gcd of integers of one type (`ty`).
///
/// # Errors
/// As PostgreSQL.
pub fn gcd(a: &Vector, b: &Vector, ty: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// lcm of integers of one type (`ty`).
///
/// # Errors
/// As PostgreSQL.
pub fn lcm(a: &Vector, b: &Vector, ty: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// factorial(I64) -> I128, NUMERIC(38, 0).
///
/// # Errors
/// As PostgreSQL.
pub fn factorial(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// width_bucket(DOUBLE operand, low, high, I32 count) -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn width_bucket(
    operand: &Vector,
    low: &Vector,
    high: &Vector,
    count: &Vector,
) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// pi(), one row.
pub fn pi() -> Vector {
    Vector::new(crate::VectorData::F64(vec![std::f64::consts::PI]))
}

/// random(): `rows` numbers from 0 to below 1.
pub fn random(rows: usize) -> Vector {
    Vector::new(crate::VectorData::F64(vec![0.5; rows]))
}

/// gen_random_uuid(): `rows` version-4 UUIDs.
pub fn random_uuid(rows: usize) -> Vector {
    Vector::new(crate::VectorData::I128(vec![0; rows]))
}
