//! Numbers from text.

use super::{is_space, syntax_error, trim};
use crate::decimal::{field_overflow, fits, pow10};
use crate::{Error, NumericType, Result, SqlState};

/// An integer of type `T`: blanks, a sign, digits, blanks.
pub(super) fn parse_integer<T: TryFrom<i64>>(text: &str, type_name: &str) -> Result<T> {
    let bytes = text.as_bytes();
    let mut at = bytes.iter().take_while(|&&b| is_space(b)).count();
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(negative || bytes.get(at) == Some(&b'+'));
    let start = at;
    // Built up negative: the range reaches one further there.
    let mut value = Some(0i64);
    while let Some(digit) = bytes.get(at).filter(|b| b.is_ascii_digit()) {
        value = value
            .and_then(|v| v.checked_mul(10))
            .and_then(|v| v.checked_sub(i64::from(digit - b'0')));
        at += 1;
    }
    let digits = at - start;
    let rest_blank = bytes[at..].iter().all(|&b| is_space(b));
    let value = if negative { value } else { value.and_then(i64::checked_neg) };
    match value.and_then(|v| T::try_from(v).ok()) {
        _ if digits == 0 || !rest_blank => Err(syntax_error(type_name, text)),
        None => Err(out_of_range(text, type_name)),
        Some(value) => Ok(value),
    }
}

/// An OID; a negative number stands for the one 2^32 above it, as in PostgreSQL.
pub(crate) fn parse_oid(text: &str, type_name: &str) -> Result<i64> {
    let number = parse_integer::<i64>(text, type_name)?;
    crate::cast::oid(number.into()).ok_or_else(|| out_of_range(text, type_name))
}

#[cold]
fn out_of_range(text: &str, type_name: &str) -> Error {
    let message = format!("value \"{text}\" is out of range for type {type_name}");
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
}

/// What a floating-point literal is before its digits are looked at.
enum Float<'a> {
    Special(f64),
    Digits(&'a str),
}

fn classify<'a>(text: &'a str, type_name: &str) -> Result<Float<'a>> {
    let word = trim(text);
    let (sign, unsigned) = match word.as_bytes().first() {
        Some(b'-') => (-1.0, &word[1..]),
        Some(b'+') => (1.0, &word[1..]),
        _ => (1.0, word),
    };
    if unsigned.eq_ignore_ascii_case("nan") {
        return Ok(Float::Special(f64::NAN));
    }
    if unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf") {
        return Ok(Float::Special(sign * f64::INFINITY));
    }
    let numeric =
        unsigned.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if numeric && !unsigned.is_empty() {
        Ok(Float::Digits(word))
    } else {
        Err(syntax_error(type_name, text))
    }
}

/// True when a literal's digits are not all 0: then a value of 0 has underflowed.
fn has_digits(word: &str) -> bool {
    let mantissa = word.split(['e', 'E']).next().unwrap_or("");
    mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'))
}

#[cold]
fn float_range(text: &str, type_name: &str) -> Error {
    let message = format!("\"{}\" is out of range for type {type_name}", trim(text));
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
}

/// DOUBLE PRECISION.
pub(super) fn parse_f64(text: &str) -> Result<f64> {
    const NAME: &str = "double precision";
    match classify(text, NAME)? {
        Float::Special(value) => Ok(value),
        Float::Digits(word) => {
            let value: f64 = word.parse().map_err(|_| syntax_error(NAME, text))?;
            if value.is_infinite() || (value == 0.0 && has_digits(word)) {
                return Err(float_range(text, NAME));
            }
            Ok(value)
        }
    }
}

/// REAL, widened.
pub(super) fn parse_f32(text: &str) -> Result<f64> {
    const NAME: &str = "real";
    match classify(text, NAME)? {
        Float::Special(value) => Ok(value),
        Float::Digits(word) => {
            let value: f32 = word.parse().map_err(|_| syntax_error(NAME, text))?;
            if value.is_infinite() || (value == 0.0 && has_digits(word)) {
                return Err(float_range(text, NAME));
            }
            Ok(f64::from(value))
        }
    }
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
/// 22P02 when it is none, 22003 when it has too many digits before the point, 0A000 for NaN and
/// infinities.
pub(crate) fn parse_decimal(text: &str, ty: NumericType) -> Result<i128> {
    if let Some(value) = short_decimal(text.as_bytes(), ty) {
        return Ok(value);
    }
    let word = trim(text);
    let Some(parts) = split_decimal(word) else {
        let unsigned = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        return Err(match unsigned.as_str() {
            "nan" if unsigned.len() == word.len() => Error::unsupported("NaN in NUMERIC"),
            "inf" | "infinity" => Error::unsupported("infinity in NUMERIC"),
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
