//! One value of one row, on its way in or out, without allocation.
//!
//! ```text
//! Datum       a value; a string is borrowed
//! RowBuffer   | value | value | ...   strings: (offset, length) into | bytes -> |
//! ```

use kernels::{Vector, VectorData};
use types::{Interval, PhysicalType, Value};

/// A value in its physical form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// See [`PhysicalType::I32`].
    I32(i32),
    /// See [`PhysicalType::I64`].
    I64(i64),
    /// See [`PhysicalType::I128`].
    I128(i128),
    /// See [`PhysicalType::F64`].
    F64(f64),
    /// Text (UTF-8) or BYTEA.
    Str(&'a [u8]),
    /// INTERVAL.
    Interval(Interval),
}

impl<'a> From<&'a Value> for Datum<'a> {
    #[inline]
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(v) => Self::Bool(*v),
            Value::I32(v) => Self::I32(*v),
            Value::I64(v) => Self::I64(*v),
            Value::I128(v) => Self::I128(*v),
            Value::F64(v) => Self::F64(*v),
            Value::Str(v) => Self::Str(v),
            Value::Interval(v) => Self::Interval(*v),
        }
    }
}

impl<'a> Datum<'a> {
    /// The value of row `row`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn of(vector: &'a Vector, row: usize) -> Self {
        if vector.is_null(row) {
            return Self::Null;
        }
        match &vector.data {
            VectorData::Bool(v) => Self::Bool(v[row] != 0),
            VectorData::I32(v) => Self::I32(v[row]),
            VectorData::I64(v) => Self::I64(v[row]),
            VectorData::I128(v) => Self::I128(v[row]),
            VectorData::F64(v) => Self::F64(v[row]),
            VectorData::Str(v) => Self::Str(v.get(row)),
            VectorData::Interval(v) => Self::Interval(v[row]),
        }
    }
}

impl Datum<'_> {
    /// True for NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value with memory of its own.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(v) => Value::Bool(*v),
            Self::I32(v) => Value::I32(*v),
            Self::I64(v) => Value::I64(*v),
            Self::I128(v) => Value::I128(*v),
            Self::F64(v) => Value::F64(*v),
            Self::Str(v) => Value::Str((*v).into()),
            Self::Interval(v) => Value::Interval(*v),
        }
    }

    /// The integer behind I32, I64 and I128.
    #[inline]
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::I32(v) => Some(i128::from(*v)),
            Self::I64(v) => Some(i128::from(*v)),
            Self::I128(v) => Some(*v),
            _ => None,
        }
    }

    /// The value in a column of type `physical`: integers are widened; None when it does not fit.
    #[inline]
    pub fn widened(self, physical: PhysicalType) -> Option<Self> {
        Some(match (self, physical) {
            (Self::Null, _) => Self::Null,
            (Self::Bool(_), PhysicalType::Bool)
            | (Self::I32(_), PhysicalType::I32)
            | (Self::I64(_), PhysicalType::I64)
            | (Self::I128(_), PhysicalType::I128)
            | (Self::F64(_), PhysicalType::F64)
            | (Self::Str(_), PhysicalType::Str)
            | (Self::Interval(_), PhysicalType::Interval) => self,
            (Self::I32(v), PhysicalType::I64) => Self::I64(v.into()),
            (Self::I32(v), PhysicalType::I128) => Self::I128(v.into()),
            (Self::I64(v), PhysicalType::I128) => Self::I128(v.into()),
            _ => return None,
        })
    }
}

/// A value whose string lies in the buffer.
#[derive(Clone, Copy, Debug)]
enum Held {
    Fixed(Datum<'static>),
    Str { start: usize, bytes: usize },
}

/// Values of some columns of one row. Reused from row to row it does not allocate.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    values: Vec<Held>,
    bytes: Vec<u8>,
}

impl RowBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Value number `i`, in the order in which columns were asked for.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, i: usize) -> Datum<'_> {
        match self.values[i] {
            Held::Fixed(datum) => datum,
            Held::Str { start, bytes } => Datum::Str(&self.bytes[start..start + bytes]),
        }
    }

    /// All values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Datum<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Forgets all values; keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.values.clear();
        self.bytes.clear();
    }

    /// Makes room for `values` more.
    #[inline]
    pub(crate) fn reserve(&mut self, values: usize) {
        self.values.reserve(values);
    }

    /// Adds a value; the bytes of a string are copied.
    #[inline]
    pub fn push(&mut self, datum: Datum<'_>) {
        let held = self.hold(datum);
        self.values.push(held);
    }

    /// Replaces value number `i`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn set(&mut self, i: usize, datum: Datum<'_>) {
        self.values[i] = self.hold(datum);
    }

    #[inline]
    fn hold(&mut self, datum: Datum<'_>) -> Held {
        Held::Fixed(match datum {
            Datum::Str(text) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(text);
                return Held::Str { start, bytes: text.len() };
            }
            Datum::Null => Datum::Null,
            Datum::Bool(v) => Datum::Bool(v),
            Datum::I32(v) => Datum::I32(v),
            Datum::I64(v) => Datum::I64(v),
            Datum::I128(v) => Datum::I128(v),
            Datum::F64(v) => Datum::F64(v),
            Datum::Interval(v) => Datum::Interval(v),
        })
    }
}
