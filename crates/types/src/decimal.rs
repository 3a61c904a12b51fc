//! Exact arithmetic on decimals: an `i128` divided by a power of ten, the scale.
//!
//! ```text
//! 12.345 at scale 3: 12345        at scale 5: 1234500        rounded to scale 1: 123
//! ```
//! Invariant: a value has at most 38 digits, so every sum of two fits 128 bits and every product
//! 256. Rounding is half away from zero, as PostgreSQL's NUMERIC. `None` is always an overflow.
//!
//! Elsewhere: text (`text`), columns (`kernels::numeric`).

use crate::characters::{Buffer, syntax_error, trim};
use crate::{DataType, Error, NumericDisplay, NumericType, PhysicalType, Result, SqlState, Value};

/// The largest exponent of [`pow10`].
pub const EXPONENT_MAX: u32 = 38;

const POWERS: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// 10 to the `exponent`.
///
/// # Panics
/// If `exponent` exceeds [`EXPONENT_MAX`].
#[inline]
pub const fn pow10(exponent: u32) -> i128 {
    POWERS[exponent as usize]
}

/// True when `value` has at most `precision` digits.
#[inline]
pub fn fits(value: i128, precision: u8) -> bool {
    value.unsigned_abs() < POWERS[usize::from(precision)].unsigned_abs()
}

/// How many decimal digits `value` has; 0 has none.
#[inline]
pub fn digit_count(value: i128) -> u32 {
    value.unsigned_abs().checked_ilog10().map_or(0, |log| log + 1)
}

/// `a / b`, rounded half away from zero.
///
/// # Panics
/// If `b` is 0, or the quotient is 2 to the 127.
#[inline]
pub fn divide_round(a: i128, b: i128) -> i128 {
    let (quotient, rest) = (a / b, a % b);
    // |rest| < |b|, so the difference cannot overflow, unlike twice the rest.
    if rest != 0 && rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs() {
        quotient + if (a < 0) == (b < 0) { 1 } else { -1 }
    } else {
        quotient
    }
}

/// `value` of scale `from` at scale `to`, rounded.
#[inline]
pub fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        value.checked_mul(*POWERS.get(usize::from(to - from))?)
    } else {
        // A scale is at most 38, so the power exists.
        Some(divide_round(value, POWERS[usize::from(from - to)]))
    }
}

/// `value` of scale `scale`, rounded to `digits` after the point (before it when negative), same
/// scale.
pub fn round(value: i128, scale: u8, digits: i32) -> Option<i128> {
    with_unit(value, scale, digits, divide_round)
}

/// As [`round`], towards zero.
pub fn trunc(value: i128, scale: u8, digits: i32) -> Option<i128> {
    with_unit(value, scale, digits, |a, b| a / b)
}

fn with_unit(
    value: i128,
    scale: u8,
    digits: i32,
    divide: impl Fn(i128, i128) -> i128,
) -> Option<i128> {
    let exponent = i64::from(scale) - i64::from(digits);
    match u32::try_from(exponent) {
        Err(_) => Some(value),
        Ok(exponent) if exponent > EXPONENT_MAX => Some(0),
        Ok(exponent) => divide(value, pow10(exponent)).checked_mul(pow10(exponent)),
    }
}

/// The largest whole number not above `value`, at the same scale.
#[inline]
pub fn floor(value: i128, scale: u8) -> Option<i128> {
    let unit = pow10(u32::from(scale));
    value.div_euclid(unit).checked_mul(unit)
}

/// The smallest whole number not below `value`, at the same scale.
#[inline]
pub fn ceil(value: i128, scale: u8) -> Option<i128> {
    let unit = pow10(u32::from(scale));
    let whole = value.div_euclid(unit) + i128::from(value.rem_euclid(unit) != 0);
    whole.checked_mul(unit)
}

/// The 256-bit product of `a` and `b`: high and low half.
pub(crate) fn widening_multiply(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let (low, cross1, cross2, high) = (a0 * b0, a1 * b0, a0 * b1, a1 * b1);
    let middle = (low >> 64) + (cross1 & LOW) + (cross2 & LOW);
    let high = high + (cross1 >> 64) + (cross2 >> 64) + (middle >> 64);
    (high, (middle << 64) | (low & LOW))
}

/// Quotient and remainder of the 256-bit `high:low` by `divisor`; None when the quotient exceeds
/// 128 bits.
fn wide_divide(high: u128, low: u128, divisor: u128) -> Option<(u128, u128)> {
    if high >= divisor {
        return None;
    }
    if high == 0 {
        return Some((low / divisor, low % divisor));
    }
    // Knuth's algorithm D in base 2^64: the divisor is shifted so that its top bit is 1.
    let shift = divisor.leading_zeros();
    let divisor = divisor << shift;
    let high = if shift == 0 { high } else { high << shift | low >> (128 - shift) };
    let low = low << shift;
    let (q1, rest) = divide_digit(high, (low >> 64) as u64, divisor);
    let (q0, rest) = divide_digit(rest, low as u64, divisor);
    Some((u128::from(q1) << 64 | u128::from(q0), rest >> shift))
}

/// One digit of the quotient: `(rest:digit) / divisor` with `rest < divisor`, `divisor` normalised.
fn divide_digit(rest: u128, digit: u64, divisor: u128) -> (u64, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (d1, d0) = (divisor >> 64, divisor & LOW);
    let mut quotient = (rest / d1).min(LOW);
    let mut excess = rest - quotient * d1;
    // The estimate is at most 2 too large.
    while excess <= LOW && quotient * d0 > (excess << 64 | u128::from(digit)) {
        quotient -= 1;
        excess += d1;
    }
    // The true remainder is below the divisor, so arithmetic modulo 2^128 gives it exactly.
    let rest = (rest << 64 | u128::from(digit)).wrapping_sub(quotient.wrapping_mul(divisor));
    (quotient as u64, rest)
}

fn signed(magnitude: u128, negative: bool) -> Option<i128> {
    let value = i128::try_from(magnitude).ok()?;
    Some(if negative { -value } else { value })
}

/// `a * b / 10^drop`, rounded: a product of scales s and t at scale s + t - `drop`.
#[inline]
pub fn multiply(a: i128, b: i128, drop: u32) -> Option<i128> {
    if let Some(product) = a.checked_mul(b) {
        return match drop {
            0 => Some(product),
            1..=EXPONENT_MAX => Some(divide_round(product, pow10(drop))),
            _ => multiply_wide(a, b, drop),
        };
    }
    multiply_wide(a, b, drop)
}

fn multiply_wide(a: i128, b: i128, drop: u32) -> Option<i128> {
    let negative = (a < 0) != (b < 0);
    let (mut high, mut low) = widening_multiply(a.unsigned_abs(), b.unsigned_abs());
    let mut drop = drop;
    if drop > EXPONENT_MAX {
        // Drop most digits first: half of the remaining unit is whole, so what they were never
        // decides the rounding.
        let unit = pow10(drop - EXPONENT_MAX).unsigned_abs();
        let high_rest = high % unit;
        high /= unit;
        low = wide_divide(high_rest, low, unit)?.0;
        drop = EXPONENT_MAX;
    }
    let unit = pow10(drop).unsigned_abs();
    let (quotient, rest) = wide_divide(high, low, unit)?;
    let up = rest != 0 && rest >= unit - rest;
    signed(quotient.checked_add(u128::from(up))?, negative)
}

/// The smallest scale at which `value` of scale `scale` is exact.
pub fn trimmed_scale(value: i128, scale: u8) -> u8 {
    let (mut value, mut scale) = (value, scale);
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    scale
}

/// `a % b` with the sign of `a`, at the larger of both scales; `b` is not 0.
pub fn modulo(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Option<i128> {
    let scale = a_scale.max(b_scale);
    let Some(divisor) = b.checked_mul(pow10(u32::from(scale - b_scale))) else {
        // The divisor exceeds every dividend of its own scale, and `a` has the larger one.
        return Some(a);
    };
    let unit = pow10(u32::from(scale - a_scale));
    if let Some(dividend) = a.checked_mul(unit) {
        return dividend.checked_rem(divisor).or(Some(0));
    }
    let (high, low) = widening_multiply(a.unsigned_abs(), unit.unsigned_abs());
    let divisor = divisor.unsigned_abs();
    signed(wide_divide(high % divisor, low, divisor)?.1, a < 0)
}

/// The nearest double.
pub fn to_f64(value: i128, scale: u8) -> f64 {
    // Both exact, so the quotient is rounded once.
    if value.unsigned_abs() < 1 << 53 && scale <= 22 {
        return value as f64 / pow10(u32::from(scale)) as f64;
    }
    let mut buffer = Buffer::default();
    buffer.write(format_args!("{value}e-{scale}"));
    buffer.as_str().parse().unwrap_or(f64::NAN)
}

/// The nearest 32-bit float, widened.
pub fn to_f32(value: i128, scale: u8) -> f64 {
    if value.unsigned_abs() < 1 << 24 && scale <= 10 {
        return f64::from(value as f32 / pow10(u32::from(scale)) as f32);
    }
    let mut buffer = Buffer::default();
    buffer.write(format_args!("{value}e-{scale}"));
    f64::from(buffer.as_str().parse::<f32>().unwrap_or(f32::NAN))
}

/// 0A000: no scaled integer is NaN.
#[cold]
pub(crate) fn no_nan(ty: NumericType) -> Error {
    Error::unsupported(format!("NaN in {}", DataType::Numeric(ty)))
}

/// 22003 for an infinity.
#[cold]
pub(crate) fn infinite_field(ty: NumericType) -> Error {
    let detail = format!(
        "A field with precision {}, scale {} cannot hold an infinite value.",
        ty.precision, ty.scale
    );
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow").with_detail(detail)
}

/// `value` at the type's scale, from its first 15 significant digits as PostgreSQL does.
///
/// # Errors
/// 22003 when it exceeds the precision, as infinities do; 0A000 for NaN.
pub fn from_f64(value: f64, ty: NumericType) -> Result<i128> {
    from_f64_rounded(value, 15, ty)
}

/// As [`from_f64`] for a REAL: 6 significant digits.
///
/// # Errors
/// As [`from_f64`].
pub fn from_f32(value: f64, ty: NumericType) -> Result<i128> {
    from_f64_rounded(value, 6, ty)
}

/// As [`from_f64`] with `digits` significant digits, at least 1.
///
/// # Errors
/// As [`from_f64`].
pub fn from_f64_rounded(value: f64, digits: usize, ty: NumericType) -> Result<i128> {
    if value.is_nan() {
        return Err(no_nan(ty));
    }
    if value.is_infinite() {
        return Err(infinite_field(ty));
    }
    if digits >= 15 && value.abs() < 1e15 && value.trunc() == value {
        // All its digits are whole and significant.
        let scaled = (value as i128).checked_mul(pow10(u32::from(ty.scale)));
        return check(scaled, ty);
    }
    let mut buffer = Buffer::default();
    buffer.write(format_args!("{value:.*e}", digits - 1));
    parse_decimal(buffer.as_str(), ty)
}

/// `value` if it has at most the type's precision.
///
/// # Errors
/// 22003 otherwise.
#[inline]
pub fn check(value: Option<i128>, ty: NumericType) -> Result<i128> {
    value.filter(|&v| fits(v, ty.precision)).ok_or_else(|| field_overflow(ty))
}

/// 22003 with PostgreSQL's message for a value that NUMERIC(p, s) cannot hold.
#[cold]
pub fn field_overflow(ty: NumericType) -> Error {
    if ty.display != NumericDisplay::Fixed {
        return overflow();
    }
    let whole = ty.precision - ty.scale;
    let bound = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow").with_detail(format!(
        "A field with precision {}, scale {} must round to an absolute value less than {bound}.",
        ty.precision, ty.scale
    ))
}

/// 22003 for a result of more than 38 digits: wide decimals may hold it.
#[cold]
pub fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format").narrow()
}

/// 22012.
#[cold]
pub fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The parts of a decimal literal.
pub(crate) struct Decimal<'a> {
    pub(crate) negative: bool,
    pub(crate) whole: &'a [u8],
    pub(crate) fraction: &'a [u8],
    pub(crate) exponent: i64,
}

/// The parts of `word`; None when it is no decimal.
pub(crate) fn split_decimal(word: &str) -> Option<Decimal<'_>> {
    let bytes = word.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(negative || bytes.first() == Some(&b'+'));
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = &bytes[at..at + digits(at)];
    at += whole.len();
    let mut fraction: &[u8] = &[];
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        fraction = &bytes[at..at + digits(at)];
        at += fraction.len();
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent = 0i64;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        let minus = bytes.get(at) == Some(&b'-');
        at += usize::from(minus || bytes.get(at) == Some(&b'+'));
        let count = digits(at);
        if count == 0 {
            return None;
        }
        for digit in &bytes[at..at + count] {
            exponent = (exponent * 10 + i64::from(digit - b'0')).min(1 << 40);
        }
        exponent = if minus { -exponent } else { exponent };
        at += count;
    }
    (at == bytes.len()).then_some(Decimal { negative, whole, fraction, exponent })
}

/// The plain form, `-12.34`, of at most 18 digits that all fit `ty`.
fn short_decimal(bytes: &[u8], ty: NumericType) -> Option<i128> {
    let (negative, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        bytes => (false, bytes),
    };
    let (mut value, mut fraction, mut digits) = (0_u64, None, 0);
    for &byte in bytes {
        match byte {
            b'0'..=b'9' => {
                value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                digits += 1;
            }
            b'.' if fraction.is_none() => fraction = Some(digits),
            _ => return None,
        }
    }
    let scale = fraction.map_or(0, |whole| digits - whole);
    let missing = usize::from(ty.scale).checked_sub(scale)?;
    if digits == 0 || digits > 18 || missing > 18 {
        return None;
    }
    let value = i128::from(value) * pow10(missing as u32);
    fits(value, ty.precision).then_some(if negative { -value } else { value })
}

/// A decimal at the type's scale, rounded half away from zero.
///
/// # Errors
/// 22P02 when it is none, 22003 when it has too many digits before the point, as infinities have,
/// 0A000 for NaN.
pub(crate) fn parse_decimal(text: &str, ty: NumericType) -> Result<i128> {
    if let Some(value) = short_decimal(text.as_bytes(), ty) {
        return Ok(value);
    }
    let word = trim(text);
    let Some(parts) = split_decimal(word) else {
        let unsigned = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        return Err(match unsigned.as_str() {
            "nan" if unsigned.len() == word.len() => no_nan(ty),
            "inf" | "infinity" => infinite_field(ty),
            _ => syntax_error("numeric", text),
        });
    };
    if parts.exponent.abs() >= i64::from(i32::MAX / 2) {
        return Err(syntax_error("numeric", text));
    }
    // Digit `i` of both parts counts 10^(point - 1 - i).
    let point = parts.whole.len() as i64 + parts.exponent;
    let wanted = point + i64::from(ty.scale);
    let digits = parts.whole.iter().chain(parts.fraction).map(|b| i128::from(b - b'0'));
    let mut value = 0i128;
    let mut taken = 0;
    for digit in digits {
        if taken >= wanted {
            // The first digit dropped decides, when it stands right after the last one kept.
            value += i128::from(taken == wanted && digit >= 5);
            break;
        }
        value = value * 10 + digit;
        if value >= pow10(38) {
            return Err(field_overflow(ty));
        }
        taken += 1;
    }
    if taken < wanted && value != 0 {
        let missing = u32::try_from(wanted - taken).ok().filter(|&m| m <= 38);
        value = missing
            .and_then(|missing| value.checked_mul(pow10(missing)))
            .ok_or_else(|| field_overflow(ty))?;
    }
    if !fits(value, ty.precision) {
        return Err(field_overflow(ty));
    }
    Ok(if parts.negative { -value } else { value })
}

/// A scaled integer in the usual physical form of its type.
pub fn numeric_value(value: i128, ty: NumericType) -> Value {
    match DataType::Numeric(ty).physical() {
        // A value of at most 18 digits.
        PhysicalType::I64 => Value::I64(value as i64),
        _ => Value::I128(value),
    }
}

/// 22003 for an integer type.
#[cold]
pub fn integer_out_of_range(to: DataType) -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("{} out of range", to.name()))
}
