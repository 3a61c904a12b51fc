//! NUMERIC in PostgreSQL's binary form.
//!
//! ```text
//! [digits i16][weight i16][sign u16][scale u16][digit i16]...   a digit is 0 to 9999
//! value = sign * sum of digit i * 10000 ^ (weight - i)
//! ```

use std::fmt::Write as _;

use types::wide::Wide;
use types::{Error, NumericDisplay, NumericType, Result, SqlState, decimal};

const BASE: u128 = 10_000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;

/// Quotient and rest; 64-bit division is several times faster than 128-bit.
#[inline]
fn split(value: u128, by: u128) -> (u128, u128) {
    match (u64::try_from(value), u64::try_from(by)) {
        (Ok(value), Ok(by)) => (u128::from(value / by), u128::from(value % by)),
        _ => (value / by, value % by),
    }
}

/// Appends `value`, an integer divided by 10 to the scale of `ty`.
pub(crate) fn encode(out: &mut Vec<u8>, value: i128, ty: NumericType) {
    let scale = match ty.display {
        NumericDisplay::Fixed | NumericDisplay::Computed => ty.scale,
        NumericDisplay::Trimmed => decimal::trimmed_scale(value, ty.scale),
    };
    // Whole digits of four on both sides of the point.
    let power = |exponent: u32| decimal::pow10(exponent).unsigned_abs();
    let shown = match ty.scale - scale {
        0 => value.unsigned_abs(),
        hidden => value.unsigned_abs() / power(u32::from(hidden)),
    };
    let after = usize::from(scale).div_ceil(4);
    let (mut whole, mut part) = split(shown, power(u32::from(scale)));
    // At most 38 digits and three zeros: the part alone is below 10^40, so it does not overflow.
    let mut digits = [0_u16; 24];
    let mut first = digits.len() - after;
    let zeros = (after * 4 - usize::from(scale)) as u32;
    for at in (first..digits.len()).rev() {
        let last = at == digits.len() - 1 && zeros > 0;
        let unit = if last { BASE / power(zeros) } else { BASE };
        let (rest, digit) = split(part, unit);
        part = rest;
        digits[at] = (if last { digit * power(zeros) } else { digit }) as u16;
    }
    let mut weight = -1_i16;
    while whole > 0 {
        first -= 1;
        let (rest, digit) = split(whole, BASE);
        (whole, digits[first]) = (rest, digit as u16);
        weight += 1;
    }
    let mut digits = &digits[first..];
    while let [0, rest @ ..] = digits {
        digits = rest;
        weight -= 1;
    }
    while let [rest @ .., 0] = digits {
        digits = rest;
    }
    if digits.is_empty() {
        weight = 0;
    }
    let sign = if value < 0 { NEGATIVE } else { 0 };
    let count = digits.len() as u16;
    for field in [count, weight as u16, sign, u16::from(scale)] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// The integer that, divided by 10 to the scale of `ty`, is the value of `bytes`; rounded when it
/// has more digits after the point.
///
/// # Errors
/// 22P03 for bytes that are no number, 22003 for one that does not fit, 0A000 for NaN and
/// infinity.
pub(crate) fn decode(bytes: &[u8], ty: NumericType) -> Result<i128> {
    let invalid = || {
        Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "invalid external \"numeric\" value")
    };
    let (head, digits) = bytes.split_first_chunk::<8>().ok_or_else(invalid)?;
    let field = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let weight = i32::from(field(2) as i16);
    let negative = match field(4) {
        0 => false,
        NEGATIVE => true,
        NAN | INFINITY | MINUS_INFINITY => {
            return Err(Error::unsupported("NUMERIC NaN or infinity"));
        }
        _ => return Err(invalid()),
    };
    if digits.len() != usize::from(field(0)) * 2 {
        return Err(invalid());
    }
    let mut value = 0_i128;
    let mut half = 0_i128;
    for (at, digit) in digits.chunks_exact(2).enumerate() {
        let digit = i128::from(u16::from_be_bytes([digit[0], digit[1]]));
        if digit >= BASE as i128 {
            return Err(invalid());
        }
        // The digit's last decimal stands `exponent` places before the last one of the scale.
        let exponent = (weight - at as i32) * 4 + i32::from(ty.scale);
        if exponent >= 0 {
            let power = u32::try_from(exponent).ok().and_then(|e| 10_i128.checked_pow(e));
            let add = match (digit, power) {
                (0, _) => Some(0),
                (_, power) => power.and_then(|power| power.checked_mul(digit)),
            };
            value = add.and_then(|add| value.checked_add(add)).ok_or_else(decimal::overflow)?;
        } else if exponent > -4 {
            let power = 10_i128.pow(exponent.unsigned_abs());
            value = value.checked_add(digit / power).ok_or_else(decimal::overflow)?;
            half = digit % power * 2 / power;
        } else if exponent == -4 {
            half = digit * 2 / BASE as i128;
        }
    }
    let value = value.checked_add(half).ok_or_else(decimal::overflow)?;
    decimal::check(Some(if negative { -value } else { value }), ty)
}

/// Appends a wide decimal.
pub(crate) fn encode_wide(out: &mut Vec<u8>, bytes: &[u8]) {
    let value = Wide::decode(bytes);
    let sign = match &value {
        Wide::NaN => NAN,
        Wide::Infinity => INFINITY,
        Wide::MinusInfinity => MINUS_INFINITY,
        Wide::Finite(number) => {
            if let Some((integer, scale)) = number.short() {
                return encode(out, integer, NumericType::fixed(NumericType::PRECISION_MAX, scale));
            }
            return encode_text(out, &value.to_string());
        }
    };
    for field in [0, 0, sign, 0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
}

/// Appends a number that is given as its text.
fn encode_text(out: &mut Vec<u8>, text: &str) {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (NEGATIVE, rest),
        None => (0, text),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let zeros = |length: usize| "0".repeat(length.next_multiple_of(4) - length);
    let all = format!("{}{whole}{part}{}", zeros(whole.len()), zeros(part.len()));
    let digits: Vec<u16> = all
        .as_bytes()
        .chunks(4)
        .map(|four| four.iter().fold(0, |digit, c| digit * 10 + u16::from(c - b'0')))
        .collect();
    let first = digits.iter().position(|&digit| digit != 0).unwrap_or(digits.len());
    let last = digits.iter().rposition(|&digit| digit != 0).map_or(first, |last| last + 1);
    // At most 131,072 digits before the point.
    let weight = if first == last { 0 } else { whole.len().div_ceil(4) as i32 - 1 - first as i32 };
    for field in [(last - first) as u16, weight as i16 as u16, sign, part.len() as u16] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    digits[first..last].iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// The wide decimal of `bytes`; digits behind its scale are cut.
///
/// # Errors
/// 22P03 for bytes that are no number, 22003.
pub(crate) fn decode_wide(bytes: &[u8]) -> Result<Wide> {
    let invalid = || {
        Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "invalid external \"numeric\" value")
    };
    let (head, digits) = bytes.split_first_chunk::<8>().ok_or_else(invalid)?;
    let field = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (weight, sign, scale) = (i64::from(field(2) as i16), field(4), field(6));
    match sign {
        0 | NEGATIVE => {}
        NAN => return Ok(Wide::NaN),
        INFINITY => return Ok(Wide::Infinity),
        MINUS_INFINITY => return Ok(Wide::MinusInfinity),
        _ => return Err(invalid()),
    }
    if digits.len() != usize::from(field(0)) * 2 || scale > 0x3fff {
        return Err(invalid());
    }
    let mut text = String::with_capacity(digits.len() * 2 + 16);
    text.push_str(if sign == NEGATIVE { "-0" } else { "0" });
    for digit in digits.chunks_exact(2) {
        let digit = u16::from_be_bytes([digit[0], digit[1]]);
        if u128::from(digit) >= BASE {
            return Err(invalid());
        }
        let _ = write!(text, "{digit:04}");
    }
    let exponent = (weight + 1 - digits.len() as i64 / 2) * 4;
    let _ = write!(text, "e{exponent}");
    Wide::parse(&text)?.trunc(i32::from(scale))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(value: i128, ty: NumericType) {
        let mut bytes = Vec::new();
        encode(&mut bytes, value, ty);
        assert_eq!(decode(&bytes, ty).expect("own bytes"), value, "{bytes:?}");
    }

    #[test]
    fn one_and_a_half() {
        let mut bytes = Vec::new();
        encode(&mut bytes, -150, NumericType::fixed(10, 2));
        assert_eq!(bytes, [0, 2, 0, 0, 0x40, 0, 0, 2, 0, 1, 0x13, 0x88]);
    }

    #[test]
    fn extremes() {
        let most = 10_i128.pow(38) - 1;
        for scale in [0, 1, 2, 3, 4, 16, 37, 38] {
            for value in [0, 1, -1, 9_999, 10_000, most, -most] {
                round_trip(value, NumericType::fixed(38, scale));
            }
        }
        assert!(decode(&[0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1], NumericType::fixed(38, 2)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            value in -(10_i128.pow(38) - 1)..10_i128.pow(38),
            scale in 0..=38_u8,
        ) {
            let fixed = NumericType::fixed(38, scale);
            round_trip(value, fixed);
            round_trip(value, NumericType { display: NumericDisplay::Trimmed, ..fixed });
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(&bytes, NumericType::TRIMMED);
        }
    }
}
