//! Trigonometry in degrees: exact at the multiples of 30 and 45 degrees where the functions are.
//!
//! Source: PostgreSQL 15, float.c, `dsind` and the functions around it.

use std::f64::consts::PI;

use types::Result;

use super::{of_angle, of_ratio};
use crate::Vector;
use crate::rows::{map, try_zip};

/// Radians per degree.
const DEGREE: f64 = PI / 180.0;

/// Sine from 0 to 30 degrees, exactly a half at 30.
fn small_sine(x: f64) -> f64 {
    (x * DEGREE).sin() / (30.0 * DEGREE).sin() / 2.0
}

/// Cosine from 0 to 60 degrees, exactly a half at 60.
fn large_cosine(x: f64) -> f64 {
    1.0 - (1.0 - (x * DEGREE).cos()) / (1.0 - (60.0 * DEGREE).cos()) / 2.0
}

/// Sine from 0 to 90 degrees.
fn sine(x: f64) -> f64 {
    if x <= 30.0 { small_sine(x) } else { large_cosine(90.0 - x) }
}

/// Cosine from 0 to 90 degrees.
fn cosine(x: f64) -> f64 {
    if x <= 60.0 { large_cosine(x) } else { small_sine(90.0 - x) }
}

/// An angle brought to 0 to 90 degrees, and the signs that its sine and cosine have.
fn quadrant(angle: f64) -> (f64, f64, f64) {
    let (mut x, mut sine_sign, mut cosine_sign) = (angle % 360.0, 1.0, 1.0);
    if x < 0.0 {
        (x, sine_sign) = (-x, -sine_sign);
    }
    if x > 180.0 {
        (x, sine_sign) = (360.0 - x, -sine_sign);
    }
    if x > 90.0 {
        (x, cosine_sign) = (180.0 - x, -1.0);
    }
    (x, sine_sign, cosine_sign)
}

/// sind(DOUBLE degrees).
///
/// # Errors
/// 22003 for infinities.
pub fn sind(number: &Vector) -> Result<Vector> {
    of_angle(number, |angle| {
        let (x, sign, _) = quadrant(angle);
        sign * sine(x)
    })
}

/// cosd(DOUBLE degrees).
///
/// # Errors
/// 22003 for infinities.
pub fn cosd(number: &Vector) -> Result<Vector> {
    of_angle(number, |angle| {
        let (x, _, sign) = quadrant(angle);
        sign * cosine(x)
    })
}

/// tand(DOUBLE degrees).
///
/// # Errors
/// 22003 for infinities.
pub fn tand(number: &Vector) -> Result<Vector> {
    let unit = sine(45.0) / cosine(45.0);
    of_angle(number, |angle| {
        let (x, s, c) = quadrant(angle);
        // The sum turns a negative zero into zero.
        s * c * (sine(x) / cosine(x) / unit) + 0.0
    })
}

/// cotd(DOUBLE degrees).
///
/// # Errors
/// 22003 for infinities.
pub fn cotd(number: &Vector) -> Result<Vector> {
    let unit = cosine(45.0) / sine(45.0);
    of_angle(number, |angle| {
        let (x, s, c) = quadrant(angle);
        s * c * (cosine(x) / sine(x) / unit) + 0.0
    })
}

/// The angle from 0 to 90 degrees whose sine is `x`, from 0 to 1.
fn arc_sine(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - x.acos() / 0.5f64.acos() * 60.0 }
}

/// The angle from 0 to 90 degrees whose cosine is `x`, from 0 to 1.
fn arc_cosine(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / 0.5f64.asin() * 30.0 } else { x.acos() / 0.5f64.acos() * 60.0 }
}

/// asind(DOUBLE) in degrees.
///
/// # Errors
/// 22003 outside -1 to 1.
pub fn asind(number: &Vector) -> Result<Vector> {
    of_ratio(number, |x| if x >= 0.0 { arc_sine(x) } else { -arc_sine(-x) })
}

/// acosd(DOUBLE) in degrees.
///
/// # Errors
/// 22003 outside -1 to 1.
pub fn acosd(number: &Vector) -> Result<Vector> {
    of_ratio(number, |x| if x >= 0.0 { arc_cosine(x) } else { 90.0 + arc_sine(-x) })
}

/// atand(DOUBLE) in degrees.
///
/// # Errors
/// None.
pub fn atand(number: &Vector) -> Result<Vector> {
    Ok(map(number, |x: f64| x.atan() / 1.0f64.atan() * 45.0))
}

/// atan2d(DOUBLE, DOUBLE) in degrees.
///
/// # Errors
/// None.
pub fn atan2d(y: &Vector, x: &Vector) -> Result<Vector> {
    try_zip(y, x, |y: f64, x: f64| Ok(y.atan2(x) / 1.0f64.atan() * 45.0))
}
