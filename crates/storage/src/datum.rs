//! One value of one row, borrowed; and some values of one row, kept.

use types::{Interval, PhysicalType, Value};

/// A value in its physical form. Strings are borrowed.
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

impl Datum<'_> {
    /// True for NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The same value, owned.
    pub fn to_value(&self) -> Value {
        match *self {
            Self::Null => Value::Null,
            Self::Bool(v) => Value::Bool(v),
            Self::I32(v) => Value::I32(v),
            Self::I64(v) => Value::I64(v),
            Self::I128(v) => Value::I128(v),
            Self::F64(v) => Value::F64(v),
            Self::Str(v) => Value::Str(v.into()),
            Self::Interval(v) => Value::Interval(v),
        }
    }

    /// How it is held; None for NULL.
    pub fn physical(&self) -> Option<PhysicalType> {
        match self {
            Self::Null => None,
            Self::Bool(_) => Some(PhysicalType::Bool),
            Self::I32(_) => Some(PhysicalType::I32),
            Self::I64(_) => Some(PhysicalType::I64),
            Self::I128(_) => Some(PhysicalType::I128),
            Self::F64(_) => Some(PhysicalType::F64),
            Self::Str(_) => Some(PhysicalType::Str),
            Self::Interval(_) => Some(PhysicalType::Interval),
        }
    }
}

impl<'a> From<&'a Value> for Datum<'a> {
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

/// Values of some columns of one row. Reused from row to row: filling it again allocates nothing
/// once it has grown to the longest row.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// Strings are `Str(b"")` here; their bytes end at `ends` of the same position.
    values: Vec<Datum<'static>>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl RowBuffer {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Values held.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
        self.bytes.clear();
    }

    /// Appends a value; strings are copied in.
    pub fn push(&mut self, value: Datum<'_>) {
        self.values.push(match value {
            Datum::Null => Datum::Null,
            Datum::Bool(v) => Datum::Bool(v),
            Datum::I32(v) => Datum::I32(v),
            Datum::I64(v) => Datum::I64(v),
            Datum::I128(v) => Datum::I128(v),
            Datum::F64(v) => Datum::F64(v),
            Datum::Interval(v) => Datum::Interval(v),
            Datum::Str(v) => {
                self.bytes.extend_from_slice(v);
                Datum::Str(b"")
            }
        });
        self.ends.push(self.bytes.len());
    }

    /// Value `i`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, i: usize) -> Datum<'_> {
        match self.values[i] {
            Datum::Str(_) => {
                let start = if i == 0 { 0 } else { self.ends[i - 1] };
                Datum::Str(&self.bytes[start..self.ends[i]])
            }
            value => value,
        }
    }

    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = Datum<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_back_its_values() {
        let values = [
            Value::text("ab"),
            Value::Null,
            Value::I64(-7),
            Value::text(""),
            Value::text("xyz"),
            Value::Interval(Interval { months: 1, days: 2, micros: 3 }),
        ];
        let mut row = RowBuffer::new();
        for _ in 0..2 {
            row.clear();
            values.iter().for_each(|v| row.push(Datum::from(v)));
            assert_eq!(row.len(), values.len());
            assert!(row.iter().map(|d| d.to_value()).eq(values.iter().cloned()));
        }
    }
}
