//! Functions on integers and floating point. Argument convention: see `text_fn`. NUMERIC: see
//! `numeric`.
//!
//! Floating-point results that overflow to infinity or vanish to 0 without an argument to excuse it
//! are 22003, as PostgreSQL has it.

mod degrees;
mod hyperbolic;
mod random;
#[cfg(test)]
mod tests;

pub use degrees::{acosd, asind, atan2d, atand, cosd, cotd, sind, tand};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use random::{random, random_uuid, sampled};

use types::{DataType, Error, PhysicalType, Result, SqlState};

use crate::rows::{Fixed, Values, map, try_build, try_map, try_write, try_zip};
use crate::{Vector, VectorData};

#[cold]
fn out_of_range(message: &str) -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
}

#[cold]
fn integer_out_of_range(ty: DataType) -> Error {
    types::decimal::integer_out_of_range(ty)
}

/// `value` unless it became infinite or 0 while none of the arguments was.
#[inline]
fn checked(value: f64, infinite: bool, zero: bool) -> Result<f64> {
    if value.is_infinite() && !infinite {
        return Err(out_of_range("value out of range: overflow"));
    }
    if value == 0.0 && !zero {
        return Err(out_of_range("value out of range: underflow"));
    }
    Ok(value)
}

/// abs of an integer or floating-point type (`ty`).
///
/// # Errors
/// 22003 for the least integer.
pub fn abs(number: &Vector, ty: DataType) -> Result<Vector> {
    match &number.data {
        VectorData::F64(_) => Ok(map(number, f64::abs)),
        VectorData::I64(_) => {
            try_map(number, |v: i64| v.checked_abs().ok_or_else(|| integer_out_of_range(ty)))
        }
        _ => try_map(number, |v: i32| {
            let least = if ty == DataType::SmallInt { i32::from(i16::MIN) } else { i32::MIN };
            if v == least { Err(integer_out_of_range(ty)) } else { Ok(v.abs()) }
        }),
    }
}

/// sign of a DOUBLE, or of an integer: -1, 0 or 1 of the same type.
///
/// # Errors
/// None.
pub fn sign(number: &Vector) -> Result<Vector> {
    Ok(match number.physical() {
        PhysicalType::F64 => map(number, |v: f64| {
            // 0 of NaN, as in PostgreSQL.
            f64::from(i8::from(v > 0.0) - i8::from(v < 0.0))
        }),
        PhysicalType::I64 => map(number, i64::signum),
        _ => map(number, i32::signum),
    })
}

macro_rules! total {
    ($($(#[$doc:meta])* $name:ident = $f:expr;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// None.
        pub fn $name(number: &Vector) -> Result<Vector> {
            Ok(map(number, $f))
        })*
    };
}

total! {
    /// ceil(DOUBLE).
    ceil = f64::ceil;
    /// floor(DOUBLE).
    floor = f64::floor;
    /// round(DOUBLE), half to even.
    round = f64::round_ties_even;
    /// trunc(DOUBLE).
    trunc = f64::trunc;
    /// cbrt(DOUBLE): exact for cubes of whole numbers.
    cbrt = cube_root;
    /// radians(DOUBLE).
    radians = |v: f64| v * (std::f64::consts::PI / 180.0);
    /// atan(DOUBLE).
    atan = f64::atan;
}

/// The library's root, whose last bit may be wrong, after a Newton step: the error of its cube is
/// computed to twice the precision.
fn cube_root(v: f64) -> f64 {
    let root = v.cbrt();
    // Outside, parts of the error vanish or overflow; 0, infinities and NaN are their own roots.
    if !(1e-280..=1e300).contains(&v.abs()) {
        return root;
    }
    let square = root * root;
    let square_rest = root.mul_add(root, -square);
    let cube = square * root;
    let cube_rest = square.mul_add(root, -cube) + square_rest * root;
    root - ((cube - v) + cube_rest) / (3.0 * square)
}

/// degrees(DOUBLE).
///
/// # Errors
/// 22003 on overflow.
pub fn degrees(number: &Vector) -> Result<Vector> {
    const RADIAN: f64 = std::f64::consts::PI / 180.0;
    try_map(number, |v: f64| checked(v / RADIAN, v.is_infinite(), v == 0.0))
}

/// sqrt(DOUBLE).
///
/// # Errors
/// 2201F when negative.
pub fn sqrt(number: &Vector) -> Result<Vector> {
    try_map(number, |v: f64| {
        if v < 0.0 {
            let message = "cannot take square root of a negative number";
            return Err(Error::new(SqlState::INVALID_POWER, message));
        }
        Ok(v.sqrt())
    })
}

/// exp(DOUBLE).
///
/// # Errors
/// 22003 on overflow and underflow.
pub fn exp(number: &Vector) -> Result<Vector> {
    try_map(number, |v: f64| checked(v.exp(), v.is_infinite(), v == f64::NEG_INFINITY))
}

fn logarithm(number: &Vector, f: impl Fn(f64) -> f64) -> Result<Vector> {
    try_map(number, |v: f64| {
        let what = if v == 0.0 {
            "zero"
        } else if v < 0.0 {
            "a negative number"
        } else {
            return Ok(f(v));
        };
        let message = format!("cannot take logarithm of {what}");
        Err(Error::new(SqlState::INVALID_LOGARITHM, message))
    })
}

/// ln(DOUBLE).
///
/// # Errors
/// 2201E when not positive.
pub fn ln(number: &Vector) -> Result<Vector> {
    logarithm(number, f64::ln)
}

/// log10(DOUBLE).
///
/// # Errors
/// 2201E when not positive.
pub fn log10(number: &Vector) -> Result<Vector> {
    logarithm(number, f64::log10)
}

fn input_out_of_range() -> Error {
    out_of_range("input is out of range")
}

/// Functions of an angle, which an infinity is not.
fn of_angle(number: &Vector, f: impl Fn(f64) -> f64) -> Result<Vector> {
    try_map(number, |v: f64| if v.is_infinite() { Err(input_out_of_range()) } else { Ok(f(v)) })
}

/// sin(DOUBLE).
///
/// # Errors
/// 22003 for infinities.
pub fn sin(number: &Vector) -> Result<Vector> {
    of_angle(number, f64::sin)
}

/// cos(DOUBLE).
///
/// # Errors
/// 22003 for infinities.
pub fn cos(number: &Vector) -> Result<Vector> {
    of_angle(number, f64::cos)
}

/// tan(DOUBLE).
///
/// # Errors
/// 22003 for infinities.
pub fn tan(number: &Vector) -> Result<Vector> {
    of_angle(number, f64::tan)
}

/// cot(DOUBLE).
///
/// # Errors
/// 22003 for infinities.
pub fn cot(number: &Vector) -> Result<Vector> {
    of_angle(number, |v| 1.0 / v.tan())
}

/// Inverse functions, defined from -1 to 1.
fn of_ratio(number: &Vector, f: impl Fn(f64) -> f64) -> Result<Vector> {
    try_map(number, |v: f64| if v.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(f(v)) })
}

/// asin(DOUBLE).
///
/// # Errors
/// 22003 outside -1 to 1.
pub fn asin(number: &Vector) -> Result<Vector> {
    of_ratio(number, f64::asin)
}

/// acos(DOUBLE).
///
/// # Errors
/// 22003 outside -1 to 1.
pub fn acos(number: &Vector) -> Result<Vector> {
    of_ratio(number, f64::acos)
}

/// power(DOUBLE, DOUBLE).
///
/// # Errors
/// 2201F for zero to a negative power and negative numbers to a fraction, 22003 on overflow and
/// underflow.
pub fn power(base: &Vector, exponent: &Vector) -> Result<Vector> {
    try_zip(base, exponent, |x: f64, y: f64| {
        let invalid = |message: &str| Error::new(SqlState::INVALID_POWER, message);
        if x == 0.0 && y < 0.0 {
            return Err(invalid("zero raised to a negative power is undefined"));
        }
        if x < 0.0 && y.is_finite() && y.floor() != y {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(invalid(message));
        }
        let infinite = x.is_infinite() || y.is_infinite();
        checked(x.powf(y), infinite, infinite || x == 0.0)
    })
}

/// atan2(DOUBLE, DOUBLE).
///
/// # Errors
/// None.
pub fn atan2(y: &Vector, x: &Vector) -> Result<Vector> {
    try_zip(y, x, |y: f64, x: f64| Ok(y.atan2(x)))
}

/// Euclid's algorithm; the result is at most 2^127.
fn greatest_divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // Arguments have at most 64 bits.
    a as i128
}

/// `f` on integers of type `ty`, whose result must be of that type too.
fn on_integers(
    a: &Vector,
    b: &Vector,
    ty: DataType,
    f: impl Fn(i128, i128) -> i128,
) -> Result<Vector> {
    let range = move || integer_out_of_range(ty);
    if a.physical() == PhysicalType::I64 {
        return try_zip(a, b, |x: i64, y: i64| {
            i64::try_from(f(i128::from(x), i128::from(y))).map_err(|_| range())
        });
    }
    try_zip(a, b, |x: i32, y: i32| {
        let result = f(i128::from(x), i128::from(y));
        let fits = ty != DataType::SmallInt || i16::try_from(result).is_ok();
        i32::try_from(result).ok().filter(|_| fits).ok_or_else(range)
    })
}

/// gcd of integers of one type (`ty`).
///
/// # Errors
/// 22003.
pub fn gcd(a: &Vector, b: &Vector, ty: DataType) -> Result<Vector> {
    on_integers(a, b, ty, greatest_divisor)
}

/// lcm of integers of one type (`ty`).
///
/// # Errors
/// 22003.
pub fn lcm(a: &Vector, b: &Vector, ty: DataType) -> Result<Vector> {
    on_integers(
        a,
        b,
        ty,
        |x, y| {
            if x == 0 || y == 0 { 0 } else { (x / greatest_divisor(x, y) * y).abs() }
        },
    )
}

/// width_bucket(DOUBLE operand, low, high, I32 count) -> I32.
///
/// # Errors
/// 2201G for a count below 1 and bounds that are equal or not finite, 22003 for bucket 2^31.
pub fn width_bucket(
    operand: &Vector,
    low: &Vector,
    high: &Vector,
    count: &Vector,
) -> Result<Vector> {
    let invalid =
        |message: &str| Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET, message));
    let values = Values::<f64>::new(operand);
    let (lows, highs) = (Values::<f64>::new(low), Values::<f64>::new(high));
    let counts = Values::<i32>::new(count);
    try_build(&[operand, low, high, count], |i| {
        let (value, low, high, count) = (values.get(i), lows.get(i), highs.get(i), counts.get(i));
        if count <= 0 {
            return invalid("count must be greater than zero");
        }
        if value.is_nan() || low.is_nan() || high.is_nan() {
            return invalid("operand, lower bound, and upper bound cannot be NaN");
        }
        if low.is_infinite() || high.is_infinite() {
            return invalid("lower and upper bounds must be finite");
        }
        if low == high {
            return invalid("lower bound cannot equal upper bound");
        }
        let (before, after) =
            if low < high { (value < low, value >= high) } else { (value > low, value <= high) };
        if before {
            return Ok(0);
        }
        if after {
            return count.checked_add(1).ok_or_else(|| integer_out_of_range(DataType::Integer));
        }
        // Halved first, so that the width of the largest bounds does not overflow.
        let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        Ok(((f64::from(count) * share) as i32).min(count - 1) + 1)
    })
}

/// float8send(DOUBLE) -> BYTEA.
///
/// # Errors
/// None.
pub fn double_bytes(values: &Vector) -> Result<Vector> {
    sent(values, f64::to_be_bytes)
}

/// float4send(REAL) -> BYTEA.
///
/// # Errors
/// None.
pub fn real_bytes(values: &Vector) -> Result<Vector> {
    sent(values, |value| (value as f32).to_be_bytes())
}

/// The bytes that `bytes` makes of each value.
fn sent<const N: usize>(values: &Vector, bytes: impl Fn(f64) -> [u8; N]) -> Result<Vector> {
    let numbers = Values::<f64>::new(values);
    try_write(&[values], |i, out| {
        out.extend_from_slice(&bytes(numbers.get(i)));
        Ok(())
    })
}

/// pi(), one row.
pub fn pi() -> Vector {
    Vector::new(f64::data(vec![std::f64::consts::PI]))
}
