//! Wide decimals: NUMERIC whose values each keep a scale of their own, NaN and the infinities.
//!
//! ```text
//! value part, ordered by its bytes             scale, for display alone
//! [sign and exponent | digits of base 100 | end]  [0..=250] or [high, low, 255]
//! ```
//! Invariant: two values are equal when their value parts ([`key`]) are, and ordered as these are;
//! 1.5 and 1.50 differ in the scale behind it. All digits of a value are within its scale.
//!
//! Elsewhere: integers divided by one power of ten for a whole column (`decimal`), columns of wide
//! decimals (`kernels::wide`). Source: PostgreSQL 15, documentation of NUMERIC, and its answers.

mod arithmetic;
mod convert;
mod integer;
mod power;
mod text;
mod total;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use num_bigint::BigUint;

use crate::{Error, Result, SqlState, Value, budget};
pub use arithmetic::{deviation, quotient_scale};
pub(crate) use integer::Int;
pub use total::Total;

/// Most digits after the point.
pub const SCALE_MAX: u32 = 16_383;
/// Most digits before the point.
pub const DIGITS_MAX: u32 = 131_072;
/// Most digits after the point that a computed quotient, root or power has.
pub const DISPLAY_SCALE_MAX: i64 = 1000;
/// Least significant digits of a quotient, root or power.
pub const SIGNIFICANT: i64 = 16;

/// Exponents of base 100 that the first byte holds.
const SHORT: std::ops::RangeInclusive<i32> = -20..=40;
const SHORT_BASE: i32 = 0x90;
const LONG_BELOW: u8 = 0x88;
const LONG_ABOVE: u8 = 0xf0;
const ZERO: u8 = 0x80;
const INFINITE: u8 = 0xfe;
const NOT_A_NUMBER: u8 = 0xff;
const MINUS_INFINITE: u8 = 0;
/// Greatest scale of one byte.
const SCALE_SHORT: u32 = 250;

/// Bytes of a value, two digits each, that make work on it worth a look at the account.
const LOOK_BYTES: usize = 512;

/// Looks at the account before work on a value of so many bytes, if that takes long.
///
/// # Errors
/// 57014 after a cancel.
#[inline]
pub fn look(bytes: usize) -> Result<()> {
    if bytes < LOOK_BYTES { Ok(()) } else { budget::check() }
}

/// A number with its scale: `int` divided by 10 to the `scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    pub(crate) int: Int,
    pub(crate) scale: u32,
}

/// A wide decimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wide {
    /// Equal to itself and above everything else, as in PostgreSQL.
    NaN,
    /// Infinity.
    Infinity,
    /// -Infinity.
    MinusInfinity,
    /// A number.
    Finite(Number),
}

/// 22003 for what exceeds the digits of every NUMERIC.
#[cold]
pub fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

/// The bytes of a value that decide equality and order.
#[inline]
pub fn key(bytes: &[u8]) -> &[u8] {
    let suffix = match bytes.last() {
        Some(255) => 3,
        _ => 1,
    };
    bytes.get(..bytes.len().saturating_sub(suffix)).unwrap_or(bytes)
}

/// The order of two values in their bytes.
#[inline]
pub fn order(a: &[u8], b: &[u8]) -> Ordering {
    key(a).cmp(key(b))
}

/// The digits after the point that a value in its bytes shows; 0 for NaN and the infinities.
pub fn scale_of(bytes: &[u8]) -> u32 {
    match bytes {
        [.., high, low, 255] => u32::from(*high) << 8 | u32::from(*low),
        [.., scale] => u32::from(*scale),
        [] => 0,
    }
}

impl Number {
    /// `value` divided by 10 to the `scale`.
    pub fn new(value: i128, scale: u32) -> Self {
        Self { int: Int::Small(value), scale }
    }

    /// The integer and its scale, when each has at most 38 digits.
    pub fn short(&self) -> Option<(i128, u8)> {
        match (&self.int, u8::try_from(self.scale)) {
            (Int::Small(value), Ok(scale)) if scale <= 38 && crate::decimal::fits(*value, 38) => {
                Some((*value, scale))
            }
            _ => None,
        }
    }
}

impl From<Number> for Wide {
    fn from(number: Number) -> Self {
        Self::Finite(number)
    }
}

impl Wide {
    /// `value` divided by 10 to the `scale`.
    pub fn new(value: i128, scale: u32) -> Self {
        Self::Finite(Number::new(value, scale))
    }

    /// The value of `bytes`, made by [`Self::encode`].
    ///
    /// # Panics
    /// Never for such bytes; others give some number.
    pub fn decode(bytes: &[u8]) -> Self {
        let scale = scale_of(bytes);
        let part = key(bytes);
        match part.first() {
            None | Some(&ZERO) => Self::new(0, scale),
            Some(&NOT_A_NUMBER) => Self::NaN,
            Some(&INFINITE) => Self::Infinity,
            Some(&MINUS_INFINITE) => Self::MinusInfinity,
            Some(&first) => Self::Finite(decode_number(part, first < ZERO, scale)),
        }
    }

    /// As [`Self::decode`], for work whose length depends on the value's.
    ///
    /// # Errors
    /// 57014 after a cancel.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Self> {
        look(bytes.len())?;
        Ok(Self::decode(bytes))
    }

    /// The bytes of the value.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        self.encode(&mut out);
        out
    }

    /// The value as a [`Value`].
    pub fn value(&self) -> Value {
        Value::Str(self.bytes().into())
    }

    /// Appends the bytes of the value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::NaN => out.extend_from_slice(&[NOT_A_NUMBER, 0]),
            Self::Infinity => out.extend_from_slice(&[INFINITE, 0]),
            Self::MinusInfinity => out.extend_from_slice(&[MINUS_INFINITE, 0]),
            Self::Finite(number) => {
                encode_number(number, out);
                if number.scale <= SCALE_SHORT {
                    out.push(number.scale as u8);
                } else {
                    out.extend_from_slice(&[(number.scale >> 8) as u8, number.scale as u8, 255]);
                }
            }
        }
    }

    /// The value when it is within the digits of NUMERIC; a scale beyond the greatest is rounded.
    ///
    /// # Errors
    /// 22003.
    pub fn checked(self) -> Result<Self> {
        let Self::Finite(mut number) = self else {
            return Ok(self);
        };
        if number.scale > SCALE_MAX {
            number = number.rescaled(SCALE_MAX);
        }
        if i64::from(number.int.digit_count()) - i64::from(number.scale) > i64::from(DIGITS_MAX) {
            return Err(overflow());
        }
        Ok(Self::Finite(number))
    }

    /// The number, or None for NaN and the infinities.
    pub fn finite(&self) -> Option<&Number> {
        match self {
            Self::Finite(number) => Some(number),
            _ => None,
        }
    }

    /// True for NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Self::NaN)
    }

    /// Digits after the point that are shown; None for NaN and the infinities.
    pub fn scale(&self) -> Option<u32> {
        self.finite().map(|number| number.scale)
    }

    /// The fewest digits after the point that hold the value; None for NaN and the infinities.
    pub fn min_scale(&self) -> Option<u32> {
        self.finite().map(Number::min_scale)
    }

    /// -1, 0 or 1; None for NaN.
    pub fn signum(&self) -> Option<i32> {
        match self {
            Self::NaN => None,
            Self::Infinity => Some(1),
            Self::MinusInfinity => Some(-1),
            Self::Finite(number) => Some(number.int.signum()),
        }
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |wide: &Self| match wide {
            Self::MinusInfinity => 0,
            Self::Finite(_) => 1,
            Self::Infinity => 2,
            Self::NaN => 3,
        };
        match (self, other) {
            (Self::Finite(a), Self::Finite(b)) => a.compare(b),
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }
}

fn encode_number(number: &Number, out: &mut Vec<u8>) {
    let negative = number.int.signum() < 0;
    let odd = number.scale % 2;
    let start = out.len();
    let mut small = [0u8; 20];
    let held;
    let digits: &[u8] = match &number.int {
        Int::Small(0) => {
            out.push(ZERO);
            return;
        }
        Int::Small(value) if value.unsigned_abs() < u128::MAX / 10 => {
            let mut rest = value.unsigned_abs() * if odd == 1 { 10 } else { 1 };
            let mut at = small.len();
            while rest > u128::from(u64::MAX) {
                at -= 1;
                small[at] = (rest % 100) as u8;
                rest /= 100;
            }
            let mut rest = rest as u64;
            while rest > 0 {
                at -= 1;
                small[at] = (rest % 100) as u8;
                rest /= 100;
            }
            &small[at..]
        }
        int => {
            let magnitude = int.magnitude() * if odd == 1 { 10u32 } else { 1 };
            held = magnitude.to_radix_be(100);
            &held
        }
    };
    let exponent = digits.len() as i32 - (number.scale + odd) as i32 / 2;
    if SHORT.contains(&exponent) {
        out.push((SHORT_BASE + exponent - SHORT.start()) as u8);
    } else {
        out.push(if exponent < 0 { LONG_BELOW } else { LONG_ABOVE });
        out.extend_from_slice(&((exponent + (1 << 23)) as u32).to_be_bytes()[1..]);
    }
    let kept = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
    out.extend(digits[..kept].iter().map(|digit| digit + 1));
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn decode_number(part: &[u8], negative: bool, scale: u32) -> Number {
    let flip = if negative { 0xff } else { 0 };
    let first = part[0] ^ flip;
    let (exponent, start) = if matches!(first, LONG_BELOW | LONG_ABOVE) && part.len() >= 4 {
        let at = |i: usize| i32::from(part[i] ^ flip);
        ((at(1) << 16 | at(2) << 8 | at(3)) - (1 << 23), 4)
    } else {
        (i32::from(first) - SHORT_BASE + SHORT.start(), 1)
    };
    let digits = part.get(start..part.len().saturating_sub(1)).unwrap_or(&[]);
    let power = 2 * (exponent - digits.len() as i32) + scale as i32;
    let digit = |byte: &u8| (byte ^ flip).wrapping_sub(1).min(99);
    if digits.len() <= 18 {
        let value = if digits.len() <= 9 {
            let value = digits.iter().fold(0u64, |v, byte| v * 100 + u64::from(digit(byte)));
            i128::from(value)
        } else {
            digits.iter().fold(0i128, |v, byte| v * 100 + i128::from(digit(byte)))
        };
        let value = if negative { -value } else { value };
        if power == 0 {
            return Number { int: Int::Small(value), scale };
        }
        return Number { int: Int::Small(value).shifted(power), scale };
    }
    let digits: Vec<u8> = digits.iter().map(digit).collect();
    let magnitude = BigUint::from_radix_be(&digits, 100).unwrap_or_default();
    Number { int: Int::from_magnitude(magnitude, negative).shifted(power), scale }
}

/// 0A000 for NaN and the infinities, which no integer type holds.
#[cold]
pub(crate) fn special(what: &str, name: &str) -> Error {
    let message = format!("cannot convert {what} to {name}");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
