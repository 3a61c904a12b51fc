//! Hyperbolic functions and their inverses.

use types::Result;

use super::input_out_of_range;
use crate::Vector;
use crate::rows::{map, try_map};

/// sinh(DOUBLE).
///
/// # Errors
/// None: what overflows is infinite.
pub fn sinh(number: &Vector) -> Result<Vector> {
    Ok(map(number, f64::sinh))
}

/// cosh(DOUBLE).
///
/// # Errors
/// None: what overflows is infinite.
pub fn cosh(number: &Vector) -> Result<Vector> {
    Ok(map(number, f64::cosh))
}

/// tanh(DOUBLE).
///
/// # Errors
/// None.
pub fn tanh(number: &Vector) -> Result<Vector> {
    Ok(map(number, f64::tanh))
}

/// asinh(DOUBLE).
///
/// # Errors
/// None.
pub fn asinh(number: &Vector) -> Result<Vector> {
    Ok(map(number, f64::asinh))
}

/// acosh(DOUBLE).
///
/// # Errors
/// 22003 below 1.
pub fn acosh(number: &Vector) -> Result<Vector> {
    try_map(number, |v: f64| if v < 1.0 { Err(input_out_of_range()) } else { Ok(v.acosh()) })
}

/// atanh(DOUBLE).
///
/// # Errors
/// 22003 outside -1 to 1.
pub fn atanh(number: &Vector) -> Result<Vector> {
    try_map(number, |v: f64| if v.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(v.atanh()) })
}
