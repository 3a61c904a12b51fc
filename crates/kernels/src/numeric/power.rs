//! Roots, powers and logarithms of NUMERIC.

use types::{Error, Result, SqlState, decimal};

use super::{Operand, Target, binary, unary};
use crate::Vector;

#[cold]
fn invalid_power(message: &str) -> Error {
    Error::new(SqlState::INVALID_POWER, message)
}

fn no_logarithm(value: i128) -> Option<Error> {
    let what = match value.signum() {
        0 => "zero",
        -1 => "a negative number",
        _ => return None,
    };
    let message = format!("cannot take logarithm of {what}");
    Some(Error::new(SqlState::INVALID_LOGARITHM, message))
}

/// 16 significant digits of `value` at the result's scale.
fn from_double(value: f64, to: Target) -> Option<i128> {
    decimal::from_f64_rounded(value, 16, to.ty).ok()
}

/// sqrt(a), exact to the last digit that PostgreSQL gives.
///
/// # Errors
/// 2201F when negative, 22003.
pub fn sqrt(a: Operand<'_>, to: Target) -> Result<Vector> {
    let f = move |v: i128| {
        let shown = decimal::sqrt_scale(v, a.ty).min(u32::from(to.ty.scale)) as u8;
        let root = if v < 0 { None } else { decimal::sqrt(v, a.ty.scale, shown) };
        decimal::rescale(root?, shown, to.ty.scale)
    };
    unary(a, to, f, |v| {
        (v < 0).then(|| invalid_power("cannot take square root of a negative number"))
    })
}

/// exp(a).
///
/// # Errors
/// 22003.
pub fn exp(a: Operand<'_>, to: Target) -> Result<Vector> {
    let f = move |v| from_double(decimal::to_f64(v, a.ty.scale).exp(), to);
    unary(a, to, f, |_| None)
}

/// ln(a).
///
/// # Errors
/// 2201E when not positive, 22003.
pub fn ln(a: Operand<'_>, to: Target) -> Result<Vector> {
    let f = move |v: i128| {
        let result = (v > 0).then(|| decimal::to_f64(v, a.ty.scale).ln());
        from_double(result?, to)
    };
    unary(a, to, f, no_logarithm)
}

/// log10(a).
///
/// # Errors
/// 2201E when not positive, 22003.
pub fn log10(a: Operand<'_>, to: Target) -> Result<Vector> {
    let f = move |v: i128| {
        let result = (v > 0).then(|| decimal::to_f64(v, a.ty.scale).log10());
        from_double(result?, to)
    };
    unary(a, to, f, no_logarithm)
}

/// log(base, a).
///
/// # Errors
/// 2201E when one is not positive, 22012 when the base is 1, 22003.
pub fn log(base: Operand<'_>, a: Operand<'_>, to: Target) -> Result<Vector> {
    let (base_scale, a_scale) = (base.ty.scale, a.ty.scale);
    let is_one = move |b: i128| b == decimal::pow10(u32::from(base_scale));
    let f = move |b: i128, v: i128| {
        if b <= 0 || v <= 0 || is_one(b) {
            return None;
        }
        let (b, v) = (decimal::to_f64(b, base_scale), decimal::to_f64(v, a_scale));
        // Powers of 2 and 10 have exact logarithms of their own.
        let result = if b == 2.0 {
            v.log2()
        } else if b == 10.0 {
            v.log10()
        } else {
            v.ln() / b.ln()
        };
        from_double(result, to)
    };
    binary(base, a, to, f, |b, v| {
        let no_base = no_logarithm(b).or_else(|| no_logarithm(v));
        no_base.or_else(|| is_one(b).then(decimal::division_by_zero))
    })
}

/// `base` of scale `scale` to the `exponent` at scale `result_scale`; None when an intermediate
/// value exceeds 128 bits.
fn whole_power(base: i128, scale: u8, exponent: u32, result_scale: u8) -> Option<i128> {
    let value = base.checked_pow(exponent)?;
    let value_scale = u32::from(scale).checked_mul(exponent)?;
    let result_scale = u32::from(result_scale);
    if value_scale <= result_scale {
        return value.checked_mul(decimal::pow10(result_scale - value_scale));
    }
    match value_scale - result_scale {
        drop @ 0..=decimal::EXPONENT_MAX => {
            Some(decimal::divide_round(value, decimal::pow10(drop)))
        }
        // Below half of 10^-result_scale, as the value has at most 39 digits.
        drop if drop > decimal::EXPONENT_MAX + 1 => Some(0),
        _ => None,
    }
}

/// power(a, b): exact for whole exponents while 38 digits hold it.
///
/// # Errors
/// 2201F for zero to a negative power and negative numbers to a fraction, 22003.
pub fn power(a: Operand<'_>, b: Operand<'_>, to: Target) -> Result<Vector> {
    let unit = decimal::pow10(u32::from(b.ty.scale));
    let (a_scale, b_scale) = (a.ty.scale, b.ty.scale);
    let undefined = move |x: i128, y: i128| {
        if x == 0 && y < 0 {
            Some("zero raised to a negative power is undefined")
        } else if x < 0 && y % unit != 0 {
            Some("a negative number raised to a non-integer power yields a complex result")
        } else {
            None
        }
    };
    let f = move |x: i128, y: i128| {
        if undefined(x, y).is_some() {
            return None;
        }
        let whole = if y % unit == 0 { u32::try_from(y / unit).ok() } else { None };
        whole.and_then(|n| whole_power(x, a_scale, n, to.ty.scale)).or_else(|| {
            let (x, y) = (decimal::to_f64(x, a_scale), decimal::to_f64(y, b_scale));
            from_double(x.powf(y), to)
        })
    };
    binary(a, b, to, f, |x, y| undefined(x, y).map(invalid_power))
}
