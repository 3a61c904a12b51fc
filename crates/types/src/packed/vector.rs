//! VECTOR of the extension of that name: finite floats of 32 bits, at least one.
//!
//! ```text
//! { a float as bits in the order of floats 4, big-endian }*
//! ```
//! A vector that begins another one comes before it, as in pgvector. Zero has two forms, which are
//! equal: the key has the positive one ([`key`]).
//!
//! Elsewhere: distances (`distance`), what SQL calls (`vector_functions`).
//! Source: pgvector 0.8, manual.

use super::distance::{Floats, LANES};
use crate::array::ArrayBuilder;
use crate::characters::{is_space, syntax_error};
use crate::wide::Wide;
use crate::{ElementType, Error, NumericType, Result, SqlState, Value, array, decimal};

/// Dimensions of a vector at most.
pub const VECTOR_DIMENSIONS_MAX: usize = 16_000;

/// Bytes of a float.
const BYTES: usize = 4;
const SIGN: u32 = 1 << 31;

/// The floats of a value as its bytes have them.
#[derive(Clone, Copy, Debug)]
pub struct PackedFloats<'a>(&'a [[u8; BYTES]]);

impl<'a> PackedFloats<'a> {
    /// The floats of the value `bytes`.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks::<BYTES>().0)
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.0.len()
    }

    /// The floats, in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = f32> + 'a {
        self.0.iter().map(|bytes| float_of(*bytes))
    }
}

impl Floats for PackedFloats<'_> {
    #[inline(always)]
    fn groups(self) -> impl Iterator<Item = [f32; LANES]> {
        self.0.as_chunks::<LANES>().0.iter().map(|group| group.map(float_of))
    }

    #[inline(always)]
    fn rest(self) -> impl Iterator<Item = f32> {
        self.0.as_chunks::<LANES>().1.iter().map(|bytes| float_of(*bytes))
    }
}

#[inline(always)]
fn float_of(bytes: [u8; BYTES]) -> f32 {
    let bits = u32::from_be_bytes(bytes);
    // All bits of a negative float were turned, of others the sign.
    let turned = !(((bits as i32) >> 31) as u32) | SIGN;
    f32::from_bits(bits ^ turned)
}

/// Appends a float in the order of floats.
pub(super) fn push_float(out: &mut Vec<u8>, value: f32) {
    let bits = value.to_bits();
    let turned = (((bits as i32) >> 31) as u32) | SIGN;
    out.extend_from_slice(&(bits ^ turned).to_be_bytes());
}

/// The value of these floats.
pub fn vector_value(floats: impl IntoIterator<Item = f32>) -> Vec<u8> {
    let mut out = Vec::new();
    floats.into_iter().for_each(|float| push_float(&mut out, float));
    out
}

/// The bytes that equal vectors have in common.
pub(super) fn key(bytes: &[u8]) -> Vec<u8> {
    // Minus zero plus zero is zero.
    vector_value(PackedFloats::of(bytes).iter().map(|float| float + 0.0))
}

/// 22000.
#[cold]
pub(super) fn without_dimensions() -> Error {
    Error::new(SqlState::DATA_EXCEPTION, "vector must have at least 1 dimension")
}

/// 54000.
#[cold]
fn too_many_dimensions() -> Error {
    let message = format!("vector cannot have more than {VECTOR_DIMENSIONS_MAX} dimensions");
    Error::new(SqlState::LIMIT_EXCEEDED, message)
}

/// # Errors
/// 22000 for a vector without dimensions, 54000 for one with too many.
pub(super) fn check_count(count: usize) -> Result<()> {
    match count {
        0 => Err(without_dimensions()),
        1..=VECTOR_DIMENSIONS_MAX => Ok(()),
        _ => Err(too_many_dimensions()),
    }
}

/// # Errors
/// 22000 when there are other dimensions than were declared.
pub(super) fn check_declared(declared: Option<u16>, count: usize) -> Result<()> {
    match declared {
        Some(expected) if usize::from(expected) != count => {
            let message = format!("expected {expected} dimensions, not {count}");
            Err(Error::new(SqlState::DATA_EXCEPTION, message))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// 22000 for what is no number that a vector has.
pub(super) fn check_float(value: f32) -> Result<f32> {
    let message = if value.is_nan() {
        "NaN not allowed in vector"
    } else if value.is_infinite() {
        "infinite value not allowed in vector"
    } else {
        return Ok(value);
    };
    Err(Error::new(SqlState::DATA_EXCEPTION, message))
}

/// The value with the dimensions that a type declares.
///
/// # Errors
/// 22000 when it has others.
pub(crate) fn fitted(bytes: &[u8], declared: Option<u16>) -> Result<Vec<u8>> {
    check_declared(declared, PackedFloats::of(bytes).count())?;
    Ok(bytes.to_vec())
}

/// Bytes of the number that begins `text`: digits, or a name of what is no number.
fn number_length(text: &[u8]) -> usize {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = |at: usize| usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let begin = sign(0);
    for name in ["infinity", "inf", "nan"] {
        let word = text.get(begin..begin + name.len());
        if word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes())) {
            return begin + name.len();
        }
    }
    let whole = digits(begin);
    let mut end = begin + whole;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return 0;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let begin = end + 1 + sign(end + 1);
        let exponent = digits(begin.min(text.len()));
        if exponent > 0 {
            end = begin + exponent;
        }
    }
    end
}

/// Reads a vector: `[1,2,3]`.
///
/// # Errors
/// 22P02, 22003, 22000, 54000.
pub(crate) fn parse_vector_of_floats(text: &str) -> Result<Vec<u8>> {
    let malformed = || syntax_error("vector", text);
    let trimmed = |bytes: &'_ [u8]| bytes.iter().take_while(|byte| is_space(**byte)).count();
    let bytes = text.as_bytes();
    let mut at = trimmed(bytes);
    if bytes.get(at) != Some(&b'[') {
        return Err(malformed().with_detail("Vector contents must start with \"[\"."));
    }
    at += 1;
    at += trimmed(&bytes[at..]);
    if bytes.get(at) == Some(&b']') {
        return Err(without_dimensions());
    }
    let mut out = Vec::new();
    loop {
        if out.len() == VECTOR_DIMENSIONS_MAX * BYTES {
            return Err(too_many_dimensions());
        }
        at += trimmed(&bytes[at..]);
        let word = &text[at..at + number_length(&bytes[at..])];
        let value: f32 = word.parse().map_err(|_| malformed())?;
        if value.is_infinite() && word.bytes().any(|byte| byte.is_ascii_digit()) {
            let message = format!("\"{word}\" is out of range for type vector");
            return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
        }
        push_float(&mut out, check_float(value)?);
        at += word.len();
        at += trimmed(&bytes[at..]);
        at += 1;
        match bytes.get(at - 1) {
            Some(b',') => {}
            Some(b']') => break,
            _ => return Err(malformed()),
        }
    }
    if at + trimmed(&bytes[at..]) < bytes.len() {
        return Err(malformed().with_detail("Junk after closing right brace."));
    }
    Ok(out)
}

/// Appends a vector, with `number` writing a REAL.
pub(crate) fn format_vector_of_floats(
    out: &mut Vec<u8>,
    bytes: &[u8],
    number: impl Fn(&mut Vec<u8>, f64),
) {
    for (at, float) in PackedFloats::of(bytes).iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        number(out, f64::from(float));
    }
    out.push(b']');
}

/// The vector of an array's elements.
///
/// # Errors
/// 22000, 22004, 22003, 54000.
pub(super) fn of_array(
    bytes: &[u8],
    element: ElementType,
    declared: Option<u16>,
) -> Result<Vec<u8>> {
    if array::Shape::of(bytes, element).dimensions().len() > 1 {
        return Err(Error::new(SqlState::DATA_EXCEPTION, "array must be 1-D"));
    }
    let mut floats = Vec::new();
    for raw in array::Elements::new(bytes, element) {
        if raw.is_none() {
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, "array must not contain nulls"));
        }
        floats.push(single(&array::decode(raw, element), element)?);
    }
    check_count(floats.len())?;
    check_declared(declared, floats.len())?;
    floats.iter().try_for_each(|float| check_float(*float).map(|_| ()))?;
    Ok(vector_value(floats))
}

/// A number as a float of 32 bits.
fn single(value: &Value, element: ElementType) -> Result<f32> {
    Ok(match (value, element) {
        (Value::F64(value), _) => *value as f32,
        // A REAL, widened.
        (value, ElementType::Numeric(NumericType { scale, .. })) => {
            value.as_integer().map_or(f32::NAN, |value| decimal::to_f32(value, scale) as f32)
        }
        (Value::Str(bytes), ElementType::WideNumeric(_)) => Wide::read(bytes)?.to_real()? as f32,
        (value, _) => value.as_integer().map_or(f32::NAN, |value| value as f32),
    })
}

/// The array of REAL with a vector's floats.
///
/// # Errors
/// None.
pub(super) fn to_array(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    PackedFloats::of(bytes).iter().for_each(|float| builder.push_f64(f64::from(float)));
    builder.finish()
}

/// Appends the binary form for clients: dimensions 2, 0 2, floats 4.
pub(super) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    let floats = PackedFloats::of(bytes);
    // At most 16,000.
    out.extend_from_slice(&(floats.count() as u16).to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    floats.iter().for_each(|float| out.extend_from_slice(&float.to_be_bytes()));
}

/// The value of a binary form; None when the bytes are none.
///
/// # Errors
/// 22000, 54000.
pub(super) fn decode(bytes: &[u8], declared: Option<u16>) -> Result<Option<Vec<u8>>> {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let [count, unused] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_be_bytes);
    check_count(usize::from(count))?;
    check_declared(declared, usize::from(count))?;
    if unused != 0 {
        let message = format!("expected unused to be 0, not {unused}");
        return Err(Error::new(SqlState::DATA_EXCEPTION, message));
    }
    let (floats, behind) = rest.as_chunks::<BYTES>();
    if floats.len() != usize::from(count) || !behind.is_empty() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(rest.len());
    for float in floats {
        push_float(&mut out, check_float(f32::from_be_bytes(*float))?);
    }
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_have_the_order_of_floats(a: f32, b: f32) {
            let [x, y] = [a, b].map(|float| vector_value([float]));
            prop_assert_eq!(x.cmp(&y), a.total_cmp(&b));
            let back = PackedFloats::of(&x).iter().map(f32::to_bits).collect::<Vec<_>>();
            prop_assert_eq!(back, [a.to_bits()]);
        }
    }

    #[test]
    fn zeros_have_one_key_and_beginnings_come_first() {
        let minus = vector_value([1.0, -0.0]);
        let plus = vector_value([1.0, 0.0]);
        assert!(minus < plus);
        assert_eq!(key(&minus), key(&plus));
        assert!(vector_value([1.0]) < minus);
    }

    #[test]
    fn binary_forms_are_read_and_written() {
        let value = vector_value([1.5, -2.0]);
        let mut wire = Vec::new();
        encode(&mut wire, &value);
        assert_eq!(wire, [0, 2, 0, 0, 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0]);
        assert_eq!(decode(&wire, Some(2)), Ok(Some(value)));
        let error = decode(&wire, Some(3)).expect_err("there are two");
        assert_eq!(error.message(), "expected 3 dimensions, not 2");
        assert_eq!(decode(&wire[..11], None), Ok(None));
        wire[3] = 7;
        let error = decode(&wire, None).expect_err("it is not 0");
        assert_eq!(error.message(), "expected unused to be 0, not 7");
    }
}
