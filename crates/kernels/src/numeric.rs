//! NUMERIC arithmetic on scaled integers, held as I64 or I128 (I32 is taken too), in both operand forms.
//! Argument convention: see `text_fn`. A result that exceeds its precision is 22003.
#![allow(unused_variables)]

use std::cmp::Ordering;

use types::{Error, NumericType, PhysicalType, Result};

use crate::{Bitmap, Vector};

/// A column of NUMERIC and its type. The vector's physical type may be narrower than the type's.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Scaled integers.
    pub vector: &'a Vector,
    /// Their type; the scale counts, and for division the display.
    pub ty: NumericType,
}

/// What a kernel is to return.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The result's type.
    pub ty: NumericType,
    /// I64 or I128: an I64 result is checked to fit.
    pub physical: PhysicalType,
}

impl Target {
    /// `ty` in its usual physical form.
    pub fn new(ty: NumericType) -> Self {
        Self {
            ty,
            physical: types::DataType::Numeric(ty).physical(),
        }
    }
}

/// a + b.
///
/// # Errors
/// As PostgreSQL.
pub fn add(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// a - b.
///
/// # Errors
/// As PostgreSQL.
pub fn subtract(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// a * b.
///
/// # Errors
/// As PostgreSQL.
pub fn multiply(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// a / b, rounded as PostgreSQL rounds ([`types::decimal::divide`]); 22012.
///
/// # Errors
/// As PostgreSQL.
pub fn divide(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// a % b; 22012.
///
/// # Errors
/// As PostgreSQL.
pub fn modulo(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// div(a, b): the quotient without fraction; 22012.
///
/// # Errors
/// As PostgreSQL.
pub fn divide_integer(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// - a.
///
/// # Errors
/// As PostgreSQL.
pub fn negate(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// abs(a).
///
/// # Errors
/// As PostgreSQL.
pub fn abs(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// sign(a).
///
/// # Errors
/// As PostgreSQL.
pub fn sign(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// round(a, digits), half away from zero; digits may be negative.
///
/// # Errors
/// As PostgreSQL.
pub fn round(a: Operand, digits: i32, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// trunc(a, digits), towards zero; digits may be negative.
///
/// # Errors
/// As PostgreSQL.
pub fn trunc(a: Operand, digits: i32, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// floor(a).
///
/// # Errors
/// As PostgreSQL.
pub fn floor(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// ceil(a).
///
/// # Errors
/// As PostgreSQL.
pub fn ceil(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// The same number at another scale, rounded half away from zero: numeric casts.
///
/// # Errors
/// As PostgreSQL.
pub fn rescale(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// sqrt(a); 2201F.
///
/// # Errors
/// As PostgreSQL.
pub fn sqrt(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// exp(a).
///
/// # Errors
/// As PostgreSQL.
pub fn exp(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// ln(a); 2201E.
///
/// # Errors
/// As PostgreSQL.
pub fn ln(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// log10(a); 2201E.
///
/// # Errors
/// As PostgreSQL.
pub fn log10(a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// log(base, a); 2201E.
///
/// # Errors
/// As PostgreSQL.
pub fn log(base: Operand, a: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// power(a, b); 2201F.
///
/// # Errors
/// As PostgreSQL.
pub fn power(a: Operand, b: Operand, to: Target) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// Bit `i` is `accept(a[i] cmp b[i])`; rows with a NULL are arbitrary. Scales may differ.
pub fn compare(a: Operand, b: Operand, accept: impl Fn(Ordering) -> bool) -> Bitmap {
    Bitmap::default()
}
