//! Arrays as bytes whose order is that of the arrays.
//!
//! ```text
//! array    element* 00 [shape]
//! shape    of one dimension: first subscript, 4 bytes, when it is not 1
//!          of several: FF FF FF FF, their number, their lengths, their first subscripts (4 bytes
//!          each); no first subscript is FF FF FF FF
//! element  01 value | 02                                            02: NULL
//! value    BOOLEAN 1 byte; integers, DATE, labels 4; BIGINT, OID, times, floats 8; UUID 16:
//!          big-endian, sign bit flipped; NUMERIC 80 + length, then its bytes (negative: 80 -
//!          length, inverted);
//!          INTERVAL 16 of its length, 16 as it is; text, BYTEA with 00 as 00 FF, then 00 00
//! ```
//! Arrays of one type are equal when their bytes are and ordered as their bytes are: by elements,
//! NULL after all values, then shorter before longer, then by number of dimensions, lengths and
//! first subscripts. So hashing, grouping, sorting, indexes, minima and dictionaries take them as
//! they take BYTEA. The elements of several dimensions are in the order of rows: the last subscript
//! changes first, so that unnest, ANY and containment need no shape.
//!
//! Departures from PostgreSQL: -0 is held as 0, and every NaN as one; intervals that are equal and
//! look different (`1 mon`, `30 days`) make arrays that are not equal; a first subscript below 1
//! is above 1.
//! Elsewhere: dimensions (`shape`), functions on arrays (`functions`), parts of them (`parts`),
//! arrays of arrays (`nested`), text form (`text`).

mod functions;
mod nested;
mod parts;
mod shape;

pub use functions::{
    End, appended, concatenated, contains, element_key, filled, overlaps, position, positions,
    removed, replaced, split, trimmed,
};
pub use nested::{Nested, Nesting};
pub use parts::{Bounds, element_at, slice, slices, with_element, with_slice};
pub use shape::{DIMENSIONS_MAX, Dimension, Shape, too_many};

use std::borrow::Cow;

use crate::{DataType, ElementType, Error, Interval, Result, Value};

/// The most elements of an array, as in PostgreSQL.
pub const ELEMENTS_MAX: usize = (1 << 27) - 1;

/// The most bytes of an array.
const BYTES_MAX: usize = (1 << 30) - 1;

const LAST: u8 = 0;
const PRESENT: u8 = 1;
const NULL: u8 = 2;

/// Begins the shape of an array of several dimensions.
const SEVERAL: [u8; 4] = [0xff; 4];

/// An array without elements.
pub const EMPTY: &[u8] = &[LAST];

/// One element as it is in an array: its value's bytes, None for NULL. Equal elements of one type
/// have equal bytes.
pub type RawElement<'a> = Option<&'a [u8]>;

/// The bytes of a value that begins `bytes`.
///
/// # Panics
/// If `bytes` are not what [`ArrayBuilder`] made.
fn value_bytes(element: ElementType, bytes: &[u8]) -> usize {
    use ElementType as E;
    match element {
        E::Boolean => 1,
        E::SmallInt | E::VectorSmallInt | E::Integer | E::Date | E::Enum(_) => 4,
        E::BigInt
        | E::Oid
        | E::VectorOid
        | E::Xid
        | E::Tid
        | E::Time(_)
        | E::Timestamp(_)
        | E::TimestampTz(_)
        | E::Real
        | E::Double => 8,
        E::Uuid => 16,
        E::Interval(_) => 32,
        E::Numeric(_) => 1 + usize::from(bytes[0].abs_diff(0x80)),
        E::WideNumeric(_)
        | E::Char(_)
        | E::Varchar(_)
        | E::Text
        | E::Name
        | E::InternalChar
        | E::AclItem
        | E::RefCursor
        | E::Reg(_)
        | E::Bytea
        | E::Json
        | E::Jsonb
        | E::JsonPath
        | E::Record(_)
        | E::Packed(_) => {
            let mut at = 0;
            loop {
                match bytes[at..].iter().position(|&b| b == 0) {
                    Some(zero) if bytes[at + zero + 1] == 0 => return at + zero + 2,
                    Some(zero) => at += zero + 2,
                    None => panic!("text in an array without its end"),
                }
            }
        }
    }
}

/// An array's elements, in order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    element: ElementType,
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The elements of `array`, whose elements are of type `element`.
    pub fn new(array: &'a [u8], element: ElementType) -> Self {
        Self { element, rest: array }
    }

    /// The shape, which follows the last of `count` elements, once they are read.
    fn shape_behind(&self, count: usize) -> Shape {
        let number = |bytes: &[u8]| u32::from_be_bytes(fixed(bytes));
        let subscript = |bytes: &[u8]| (number(bytes) ^ 1 << 31) as i32;
        let bytes = self.rest.get(1..).unwrap_or_default();
        // Below 2^27 elements.
        let line = |lower| Shape::new(&[Dimension { lower, length: count as i32 }]);
        let found = match bytes.split_first_chunk::<4>() {
            None => line(1),
            Some((&SEVERAL, rest)) => {
                let sides = &rest[1..];
                let (lengths, lowers) = sides.split_at(sides.len() / 2);
                let sides = lengths.chunks_exact(4).zip(lowers.chunks_exact(4));
                let dimension = |(length, lower)| Dimension {
                    lower: subscript(lower),
                    length: number(length) as i32,
                };
                Shape::new(&sides.map(dimension).collect::<Vec<_>>())
            }
            Some((lower, _)) => line(subscript(lower)),
        };
        found.unwrap_or(Shape::EMPTY)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = RawElement<'a>;

    fn next(&mut self) -> Option<RawElement<'a>> {
        let (raw, rest) = split_element(self.rest, self.element)?;
        self.rest = rest;
        Some(raw)
    }
}

/// The first element of `bytes` and what is behind it; None at the end.
pub(crate) fn split_element(bytes: &[u8], element: ElementType) -> Option<(RawElement<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    match tag {
        PRESENT => {
            let (value, rest) = rest.split_at(value_bytes(element, rest));
            Some((Some(value), rest))
        }
        NULL => Some((None, rest)),
        _ => None,
    }
}

/// The number of elements.
pub fn cardinality(array: &[u8], element: ElementType) -> usize {
    Elements::new(array, element).count()
}

/// The first and the last subscript of the outermost dimension; None for an empty array.
pub fn bounds(array: &[u8], element: ElementType) -> Option<(i32, i32)> {
    Shape::of(array, element).first().map(|first| (first.lower, first.upper()))
}

/// The values of an array.
pub fn values(array: &[u8], element: ElementType) -> Vec<Value> {
    Elements::new(array, element).map(|raw| decode(raw, element)).collect()
}

/// An array of `values`, all in the physical form of `element` or NULL, from subscript 1.
///
/// # Errors
/// 54000 when it is too large.
pub fn from_values<'v>(
    values: impl IntoIterator<Item = &'v Value>,
    element: ElementType,
) -> Result<Value> {
    let mut builder = ArrayBuilder::new();
    values.into_iter().for_each(|value| builder.push_value(value, element));
    builder.finish().map(|bytes| Value::Str(bytes.into()))
}

/// Text or bytes of an element of such a type.
pub fn text_bytes(raw: &[u8]) -> Cow<'_, [u8]> {
    let inner = &raw[..raw.len().saturating_sub(2)];
    if !inner.contains(&0) {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut after_zero = false;
    for &byte in inner {
        if !after_zero {
            out.push(byte);
        }
        after_zero = byte == 0 && !after_zero;
    }
    Cow::Owned(out)
}

fn fixed<const N: usize>(raw: &[u8]) -> [u8; N] {
    raw.try_into().expect("an element of its type's length")
}

/// The value of an element.
pub fn decode(raw: RawElement<'_>, element: ElementType) -> Value {
    use ElementType as E;
    let Some(raw) = raw else {
        return Value::Null;
    };
    match element {
        E::Boolean => Value::Bool(raw[0] != 0),
        E::SmallInt | E::VectorSmallInt | E::Integer | E::Date | E::Enum(_) => {
            Value::I32((u32::from_be_bytes(fixed(raw)) ^ 1 << 31) as i32)
        }
        E::BigInt
        | E::Oid
        | E::VectorOid
        | E::Xid
        | E::Tid
        | E::Time(_)
        | E::Timestamp(_)
        | E::TimestampTz(_) => Value::I64((u64::from_be_bytes(fixed(raw)) ^ 1 << 63) as i64),
        E::Real | E::Double => {
            let bits = u64::from_be_bytes(fixed(raw));
            Value::F64(f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }))
        }
        E::Uuid => Value::I128((u128::from_be_bytes(fixed(raw)) ^ 1 << 127) as i128),
        E::Numeric(ty) => crate::decimal::numeric_value(decode_numeric(raw), ty),
        E::Interval(_) => Value::Interval(Interval {
            months: i32::from_be_bytes(fixed(&raw[16..20])),
            days: i32::from_be_bytes(fixed(&raw[20..24])),
            micros: i64::from_be_bytes(fixed(&raw[24..])),
        }),
        E::WideNumeric(_)
        | E::Char(_)
        | E::Varchar(_)
        | E::Text
        | E::Name
        | E::InternalChar
        | E::AclItem
        | E::RefCursor
        | E::Reg(_)
        | E::Bytea
        | E::Json
        | E::Jsonb
        | E::JsonPath
        | E::Record(_)
        | E::Packed(_) => Value::Str(text_bytes(raw).into()),
    }
}

fn decode_numeric(raw: &[u8]) -> i128 {
    let negative = raw[0] < 0x80;
    let magnitude = raw[1..].iter().fold(0u128, |magnitude, byte| {
        magnitude << 8 | u128::from(if negative { !byte } else { *byte })
    });
    // No NUMERIC has more than 38 digits.
    if negative { -(magnitude as i128) } else { magnitude as i128 }
}

/// Elements being collected into an array.
#[derive(Clone, Debug, Default)]
pub struct ArrayBuilder {
    bytes: Vec<u8>,
    count: usize,
}

impl ArrayBuilder {
    /// No elements yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Elements so far.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes so far.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The only element pushed since the last [`Self::clear`], to compare it with others.
    pub fn single(&self) -> RawElement<'_> {
        match self.bytes.split_first() {
            Some((&PRESENT, value)) => Some(value),
            _ => None,
        }
    }

    /// Takes all elements back.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Appends an element of an array of the same type.
    pub fn push_raw(&mut self, raw: RawElement<'_>) {
        match raw {
            Some(value) => {
                self.present();
                self.bytes.extend_from_slice(value);
            }
            None => self.push_null(),
        }
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        self.bytes.push(NULL);
        self.count += 1;
    }

    fn present(&mut self) {
        self.bytes.push(PRESENT);
        self.count += 1;
    }

    /// Appends a value in the physical form of its type, NULL included.
    ///
    /// # Panics
    /// If it is in another form.
    pub fn push_value(&mut self, value: &Value, element: ElementType) {
        match (value, element) {
            (Value::Null, _) => self.push_null(),
            (Value::Bool(v), _) => self.push_bool(*v),
            (Value::I32(v), ElementType::Numeric(_)) => self.push_numeric(i128::from(*v)),
            (Value::I64(v), ElementType::Numeric(_)) => self.push_numeric(i128::from(*v)),
            (Value::I128(v), ElementType::Numeric(_)) => self.push_numeric(*v),
            (Value::I32(v), _) => self.push_i32(*v),
            (Value::I64(v), _) => self.push_i64(*v),
            (Value::I128(v), _) => self.push_uuid(*v),
            (Value::F64(v), _) => self.push_f64(*v),
            (Value::Str(v), _) => self.push_text(v),
            (Value::Interval(v), _) => self.push_interval(*v),
        }
    }

    /// Appends a BOOLEAN.
    pub fn push_bool(&mut self, value: bool) {
        self.present();
        self.bytes.push(u8::from(value));
    }

    /// Appends a value held as I32.
    pub fn push_i32(&mut self, value: i32) {
        self.present();
        self.bytes.extend_from_slice(&(value as u32 ^ 1 << 31).to_be_bytes());
    }

    /// Appends a value held as I64, but no NUMERIC.
    pub fn push_i64(&mut self, value: i64) {
        self.present();
        self.bytes.extend_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
    }

    /// Appends a floating-point number.
    pub fn push_f64(&mut self, value: f64) {
        let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
        let bits = value.to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
        self.present();
        self.bytes.extend_from_slice(&ordered.to_be_bytes());
    }

    /// Appends a UUID as it is held.
    pub fn push_uuid(&mut self, value: i128) {
        self.present();
        self.bytes.extend_from_slice(&(value as u128 ^ 1 << 127).to_be_bytes());
    }

    /// Appends the integer of a NUMERIC.
    pub fn push_numeric(&mut self, value: i128) {
        let magnitude = value.unsigned_abs();
        let length = (128 - magnitude.leading_zeros()).div_ceil(8) as usize;
        let bytes = magnitude.to_be_bytes();
        let bytes = &bytes[16 - length..];
        self.present();
        // At most 16 bytes.
        if value < 0 {
            self.bytes.push(0x80 - length as u8);
            self.bytes.extend(bytes.iter().map(|byte| !byte));
        } else {
            self.bytes.push(0x80 + length as u8);
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Appends an INTERVAL.
    pub fn push_interval(&mut self, value: Interval) {
        self.present();
        let length = value.comparable() as u128 ^ 1 << 127;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(&value.months.to_be_bytes());
        self.bytes.extend_from_slice(&value.days.to_be_bytes());
        self.bytes.extend_from_slice(&value.micros.to_be_bytes());
    }

    /// Appends text or bytes.
    pub fn push_text(&mut self, value: &[u8]) {
        self.present();
        if value.contains(&0) {
            for &byte in value {
                self.bytes.push(byte);
                if byte == 0 {
                    self.bytes.push(0xff);
                }
            }
        } else {
            self.bytes.extend_from_slice(value);
        }
        self.bytes.extend_from_slice(&[0, 0]);
    }

    /// The array, from subscript 1.
    ///
    /// # Errors
    /// 54000 when it is too large.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.finish_from(1)
    }

    /// The array, whose first subscript is `lower`; an empty one has none.
    ///
    /// # Errors
    /// 54000 when it is too large, 2202E when the last subscript would be.
    pub fn finish_from(mut self, lower: i32) -> Result<Vec<u8>> {
        self.check_size()?;
        // Below 2^27, as was just checked.
        if lower.checked_add(self.count as i32).is_none() {
            let message = format!("array lower bound is too large: {lower}");
            return Err(shape::subscript_error(&message));
        }
        self.bytes.push(LAST);
        if lower != 1 && self.count > 0 {
            self.bytes.extend_from_slice(&(lower as u32 ^ 1 << 31).to_be_bytes());
        }
        Ok(self.bytes)
    }

    fn check_size(&self) -> Result<()> {
        let is_too_large = self.count > ELEMENTS_MAX || self.bytes.len() >= BYTES_MAX - 64;
        if is_too_large { Err(shape::too_large()) } else { Ok(()) }
    }

    /// The array of this shape, whose elements were appended in the order of rows.
    ///
    /// # Errors
    /// 54000 when it is too large.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    pub fn finish_shaped(mut self, shape: &Shape) -> Result<Vec<u8>> {
        assert_eq!(shape.size(), self.count, "an array has the elements of its shape");
        match shape.dimensions() {
            [] => self.finish(),
            [only] => self.finish_from(only.lower),
            several => {
                self.check_size()?;
                self.bytes.push(LAST);
                self.bytes.extend_from_slice(&SEVERAL);
                // At most six.
                self.bytes.push(several.len() as u8);
                for dimension in several {
                    self.bytes.extend_from_slice(&(dimension.length as u32).to_be_bytes());
                }
                for dimension in several {
                    let lower = dimension.lower as u32 ^ 1 << 31;
                    self.bytes.extend_from_slice(&lower.to_be_bytes());
                }
                Ok(self.bytes)
            }
        }
    }
}

/// The array with each element converted by `convert`, in the form of `to`, under its subscripts.
///
/// # Errors
/// Errors of `convert`, and 54000.
pub fn map(
    array: &[u8],
    from: ElementType,
    to: ElementType,
    mut convert: impl FnMut(Value) -> Result<Value>,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    for raw in Elements::new(array, from) {
        builder.push_value(&convert(decode(raw, from))?, to);
    }
    builder.finish_shaped(&Shape::of(array, from))
}

/// The element type of an array type.
///
/// # Errors
/// XX000 for another type: the binder made a call that it should not have made.
pub fn element_of(ty: DataType) -> Result<ElementType> {
    match ty {
        DataType::Array(element) => Ok(element),
        other => Err(Error::internal(format!("{other} is no array"))),
    }
}
