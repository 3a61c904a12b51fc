//! Wide decimals from and to text.

use num_bigint::BigUint;

use super::integer::Int;
use super::{DIGITS_MAX, Number, SCALE_MAX, Wide, overflow};
use crate::Result;
use crate::characters::{syntax_error, trim};
use crate::decimal::split_decimal;

/// The integer of `digits`, ASCII.
fn integer(digits: &[u8], negative: bool) -> Int {
    if digits.len() <= 38 {
        let value = digits.iter().fold(0i128, |v, digit| v * 10 + i128::from(digit - b'0'));
        return Int::Small(if negative { -value } else { value });
    }
    let magnitude = BigUint::parse_bytes(digits, 10).unwrap_or_default();
    Int::from_magnitude(magnitude, negative)
}

impl Wide {
    /// The value that `text` denotes, by PostgreSQL's input rules for NUMERIC.
    ///
    /// # Errors
    /// 22P02, 22003; 57014 after a cancel.
    pub fn parse(text: &str) -> Result<Self> {
        super::look(text.len())?;
        let word = trim(text);
        let Some(parts) = split_decimal(word) else {
            let (sign, unsigned) = match word.as_bytes().first() {
                Some(b'-') => (-1, &word[1..]),
                Some(b'+') => (1, &word[1..]),
                _ => (0, word),
            };
            return match unsigned.to_ascii_lowercase().as_str() {
                "nan" if sign == 0 => Ok(Self::NaN),
                "inf" | "infinity" if sign < 0 => Ok(Self::MinusInfinity),
                "inf" | "infinity" => Ok(Self::Infinity),
                _ => Err(syntax_error("numeric", text)),
            };
        };
        if parts.exponent.abs() >= i64::from(i32::MAX / 2) {
            return Err(syntax_error("numeric", text));
        }
        let scale = (parts.fraction.len() as i64 - parts.exponent).max(0);
        if scale > i64::from(SCALE_MAX) {
            return Err(overflow());
        }
        let all: Vec<u8> = parts.whole.iter().chain(parts.fraction).copied().collect();
        let first = all.iter().position(|&digit| digit != b'0').unwrap_or(all.len());
        let digits = &all[first..];
        if digits.is_empty() {
            return Ok(Self::new(0, scale as u32));
        }
        let before = digits.len() as i64 - parts.fraction.len() as i64 + parts.exponent;
        if before > i64::from(DIGITS_MAX) {
            return Err(overflow());
        }
        let power = scale - (parts.fraction.len() as i64 - parts.exponent);
        let int = integer(digits, parts.negative).shifted(power as i32);
        Ok(Self::Finite(Number { int, scale: scale as u32 }))
    }

    /// Appends the value as PostgreSQL prints it.
    pub fn format(&self, out: &mut Vec<u8>) {
        let number = match self {
            Self::NaN => return out.extend_from_slice(b"NaN"),
            Self::Infinity => return out.extend_from_slice(b"Infinity"),
            Self::MinusInfinity => return out.extend_from_slice(b"-Infinity"),
            Self::Finite(number) => number,
        };
        if number.int.signum() < 0 {
            out.push(b'-');
        }
        let digits = match &number.int {
            Int::Small(value) => value.unsigned_abs().to_string(),
            Int::Big(value) => value.magnitude().to_string(),
        };
        let scale = number.scale as usize;
        let missing = (scale + 1).saturating_sub(digits.len());
        out.extend(std::iter::repeat_n(b'0', missing.min(1)));
        if scale == 0 {
            out.extend_from_slice(if digits == "0" && missing > 0 {
                b""
            } else {
                digits.as_bytes()
            });
            return;
        }
        let split = digits.len().saturating_sub(scale);
        out.extend_from_slice(&digits.as_bytes()[..split]);
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', missing.saturating_sub(1)));
        out.extend_from_slice(&digits.as_bytes()[split..]);
    }
}

impl std::fmt::Display for Wide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.format(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
