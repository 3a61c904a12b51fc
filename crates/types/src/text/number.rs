//! Numbers from text.

use crate::catalog_type::oid;
use crate::characters::{is_space, syntax_error, trim};
use crate::{Error, Result, SqlState};

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
    oid(number.into()).ok_or_else(|| out_of_range(text, type_name))
}

#[cold]
fn out_of_range(text: &str, type_name: &str) -> Error {
    let message = format!("value \"{text}\" is out of range for type {type_name}");
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
}

/// Form of a floating-point literal before its digits are looked at.
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
