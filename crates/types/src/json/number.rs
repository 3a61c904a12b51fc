//! Numbers of JSON as PostgreSQL's NUMERIC has them: decimal digits, as many as are written.

use crate::{DataType, Error, NumericType, Result, SqlState, Value, decimal};

/// The most digits after the point.
const SCALE_MAX: i64 = 16_383;

/// The most digits before the point.
const WHOLE_MAX: i64 = 131_072;

/// A number taken apart: its value is `0.digits` times 10 to the `exponent`.
struct Parts<'t> {
    negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    /// Number behind `e`.
    exponent: i64,
}

impl<'t> Parts<'t> {
    fn new(text: &'t [u8]) -> Self {
        let (negative, text) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mark = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (digits, exponent) = text.split_at(mark.unwrap_or(text.len()));
        let point = digits.iter().position(|&byte| byte == b'.');
        let (whole, fraction) = digits.split_at(point.unwrap_or(digits.len()));
        let fraction = fraction.get(1..).unwrap_or_default();
        Self { negative, whole, fraction, exponent: exponent_of(exponent) }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + Clone + 't {
        self.whole.iter().chain(self.fraction).copied()
    }

    fn is_zero(&self) -> bool {
        self.digits().all(|digit| digit == b'0')
    }

    /// Digits before the point, where the first that counts is not 0: less than 1 for fractions
    /// that begin with zeros.
    fn magnitude(&self) -> i64 {
        let zeros = self.digits().take_while(|&digit| digit == b'0').count();
        self.whole.len() as i64 + self.exponent - zeros as i64
    }

    /// Digits after the point that are shown.
    fn scale(&self) -> i64 {
        (self.fraction.len() as i64 - self.exponent).max(0)
    }
}

/// `e5` and the like as a number; so large ones that no NUMERIC has them become 2^31.
fn exponent_of(text: &[u8]) -> i64 {
    let text = text.get(1..).unwrap_or_default();
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let value = digits.iter().fold(0i64, |value, &digit| {
        (value * 10 + i64::from(digit.saturating_sub(b'0'))).min(1 << 31)
    });
    if negative { -value } else { value }
}

/// 22003.
#[cold]
fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

/// Appends the number `text` as NUMERIC prints it: without exponent, all digits kept.
///
/// # Errors
/// 22003 beyond NUMERIC's range.
pub(super) fn push_canonical(out: &mut Vec<u8>, text: &[u8]) -> Result<()> {
    let is_plain = !text.iter().any(|byte| matches!(byte, b'e' | b'E' | b'-'));
    if is_plain && text.len() <= 1_000 {
        out.extend_from_slice(text);
        return Ok(());
    }
    let parts = Parts::new(text);
    let (scale, is_zero) = (parts.scale(), parts.is_zero());
    let out_of_range = scale > SCALE_MAX
        || parts.exponent.abs() > i64::from(i32::MAX / 2)
        || (!is_zero && parts.magnitude() > WHOLE_MAX);
    if out_of_range {
        return Err(overflow());
    }
    if parts.negative && !is_zero {
        out.push(b'-');
    }
    // Digits before the point, of which those beyond what is written are 0.
    let whole = if is_zero { 1 } else { parts.whole.len() as i64 + parts.exponent };
    let zeros = |out: &mut Vec<u8>, count: i64| {
        out.extend(std::iter::repeat_n(b'0', usize::try_from(count).unwrap_or(0)));
    };
    let mut digits = parts.digits();
    let start = out.len();
    if is_zero {
        digits = parts.digits();
        out.push(b'0');
    } else if whole <= 0 {
        out.push(b'0');
    } else {
        let written = out.len();
        out.extend(digits.by_ref().take(usize::try_from(whole).unwrap_or(0)));
        let missing = whole - (out.len() - written) as i64;
        zeros(out, missing);
        // 0.05e2 begins with zeros.
        let leading = out[start..].iter().take_while(|&&digit| digit == b'0').count();
        let leading = leading.min(out.len() - start - 1);
        out.drain(start..start + leading);
    }
    if scale > 0 {
        out.push(b'.');
        let written = out.len();
        if !is_zero {
            zeros(out, (-whole).min(scale));
            out.extend(digits);
        }
        let missing = scale - (out.len() - written) as i64;
        zeros(out, missing);
    }
    Ok(())
}

/// Appends bytes whose order is that of the numbers, whatever zeros end them; no such bytes begin
/// others.
///
/// ```text
/// zero 80; above 81 magnitude (sign flipped, 4 bytes) digits 00; below 7F, all the rest inverted
/// ```
pub(super) fn push_key(out: &mut Vec<u8>, text: &[u8]) {
    let parts = Parts::new(text);
    if parts.is_zero() {
        out.push(0x80);
        return;
    }
    out.push(if parts.negative { 0x7f } else { 0x81 });
    let start = out.len();
    // Bounded by the length of a text.
    let magnitude = parts.magnitude() as i32;
    out.extend_from_slice(&((magnitude as u32) ^ 1 << 31).to_be_bytes());
    out.extend(parts.digits().skip_while(|&digit| digit == b'0'));
    while out.last() == Some(&b'0') {
        out.pop();
    }
    out.push(0);
    if parts.negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// True when two numbers are equal.
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    let (mut x, mut y) = (Vec::new(), Vec::new());
    push_key(&mut x, a);
    push_key(&mut y, b);
    x == y
}

/// A canonical number rounded to an integer, half away from zero, as a value and its type.
///
/// # Errors
/// 22003 for what is no `to`.
pub(crate) fn integer_part(text: &str, to: DataType) -> Result<(Value, DataType)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let carry = i128::from(fraction.as_bytes().first().is_some_and(|digit| *digit >= b'5'));
    let digits = whole.parse::<i128>().ok().filter(|digits| digits.unsigned_abs() < 1 << 100);
    let Some(digits) = digits else {
        return Err(decimal::integer_out_of_range(to));
    };
    let rounded = if text.starts_with('-') { digits - carry } else { digits + carry };
    let ty = NumericType::fixed(NumericType::PRECISION_MAX, 0);
    Ok((Value::I128(rounded), DataType::Numeric(ty)))
}
