//! REAL and DOUBLE PRECISION, both held as F64; REAL results are rounded to 32 bits.

use types::{DataType, Error, Result};

use super::{Arithmetic, division_by_zero, first_error};
use crate::broadcast::{both_valid, zip_failing};
use crate::loops::map_into;
use crate::{Vector, VectorData};

/// A result, and whether it must be looked at: not finite, or zero where it need not be.
#[inline(always)]
fn noted(value: f64, zero_is_suspect: bool) -> (f64, bool) {
    (value, !value.is_finite() | (zero_is_suspect & (value == 0.0)))
}

#[inline(always)]
fn rounded(value: f64) -> f64 {
    f64::from(value as f32)
}

fn compute(op: Arithmetic, a: &[f64], b: &[f64], ty: DataType) -> (Vec<f64>, bool) {
    match (op, ty == DataType::Real) {
        (Arithmetic::Add, false) => zip_failing(a, b, |x, y| noted(x + y, false)),
        (Arithmetic::Subtract, false) => zip_failing(a, b, |x, y| noted(x - y, false)),
        (Arithmetic::Multiply, false) => {
            zip_failing(a, b, |x, y| noted(x * y, (x != 0.0) & (y != 0.0)))
        }
        (Arithmetic::Add, true) => zip_failing(a, b, |x, y| noted(rounded(x + y), false)),
        (Arithmetic::Subtract, true) => zip_failing(a, b, |x, y| noted(rounded(x - y), false)),
        (Arithmetic::Multiply, true) => {
            zip_failing(a, b, |x, y| noted(rounded(x * y), (x != 0.0) & (y != 0.0)))
        }
        (Arithmetic::Divide, false) => zip_failing(a, b, |x, y| {
            let (value, suspect) = noted(x / y, x != 0.0);
            (value, suspect | (y == 0.0))
        }),
        (Arithmetic::Divide, true) => zip_failing(a, b, |x, y| {
            let (value, suspect) = noted(rounded(x / y), x != 0.0);
            (value, suspect | (y == 0.0))
        }),
        (op, _) => panic!("{op:?} on floating point"),
    }
}

/// Error of PostgreSQL for `a op b = value`, if any.
fn row_error(op: Arithmetic, a: f64, b: f64, value: f64) -> Option<Error> {
    if op == Arithmetic::Divide && b == 0.0 && !a.is_nan() {
        return Some(division_by_zero());
    }
    if value.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Some(overflow());
    }
    let underflows = match op {
        Arithmetic::Multiply => a != 0.0 && b != 0.0,
        Arithmetic::Divide => a != 0.0 && !b.is_infinite(),
        _ => false,
    };
    (underflows && value == 0.0)
        .then(|| Error::new(types::SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: underflow"))
}

fn overflow() -> Error {
    Error::new(types::SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow")
}

/// `a op b` on REAL or DOUBLE PRECISION (`ty`): add, subtract, multiply, divide.
///
/// # Errors
/// 22003 when finite operands give an infinite result, or others than zero give zero; 22012.
///
/// # Panics
/// If the columns are not F64, or the operator is none of these.
pub fn float(op: Arithmetic, a: &Vector, b: &Vector, ty: DataType) -> Result<Vector> {
    let (VectorData::F64(x), VectorData::F64(y)) = (&a.data, &b.data) else {
        panic!("floating-point arithmetic on {:?} and {:?}", a.physical(), b.physical());
    };
    let (values, suspect) = compute(op, x, y, ty);
    if suspect {
        let check = |i: usize, j: usize| {
            let (value, _) = compute(op, &[x[i]], &[y[j]], ty);
            row_error(op, x[i], y[j], value[0])
        };
        if let Some(error) = first_error(a, b, check) {
            return Err(error);
        }
    }
    Ok(Vector::with_validity(VectorData::F64(values), both_valid(a, b)))
}

/// `- a`.
///
/// # Panics
/// If the column is not F64.
pub fn negate_float(a: &Vector) -> Vector {
    let VectorData::F64(v) = &a.data else { panic!("negation of {:?}", a.physical()) };
    let mut out = Vec::new();
    map_into(v, &mut out, |x: f64| -x);
    Vector::with_validity(VectorData::F64(out), a.validity.clone())
}
