//! Order of values of keys, without copies of them.

use std::cmp::Ordering;

use types::{DataType, Interval, Value};

/// A value of a key, in whatever width it is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// NULL.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// An integer, a date, a time, a decimal of a known scale, or a label of an enumerated type.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// Text, bytes, or what is held as such.
    Bytes(&'a [u8]),
    /// INTERVAL.
    Interval(Interval),
}

impl<'a> From<&'a Value> for Scalar<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::I32(value) => Self::Int((*value).into()),
            Value::I64(value) => Self::Int((*value).into()),
            Value::I128(value) => Self::Int(*value),
            Value::F64(value) => Self::Float(*value),
            Value::Str(bytes) => Self::Bytes(bytes),
            Value::Interval(value) => Self::Interval(*value),
        }
    }
}

/// Order of two values of type `ty`; NULL comes last.
pub fn order(a: Scalar<'_>, b: Scalar<'_>, ty: DataType) -> Ordering {
    match (a, b) {
        (Scalar::Null, Scalar::Null) => Ordering::Equal,
        (Scalar::Null, _) => Ordering::Greater,
        (_, Scalar::Null) => Ordering::Less,
        (Scalar::Bool(a), Scalar::Bool(b)) => a.cmp(&b),
        (Scalar::Int(a), Scalar::Int(b)) => a.cmp(&b),
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b).unwrap_or_else(|| {
            // NaN is the greatest, and equals itself.
            a.is_nan().cmp(&b.is_nan())
        }),
        (Scalar::Interval(a), Scalar::Interval(b)) => a.cmp(&b),
        (Scalar::Bytes(a), Scalar::Bytes(b)) => match ty {
            DataType::WideNumeric(_) => types::wide::order(a, b),
            DataType::Char(_) => trimmed(a).cmp(trimmed(b)),
            _ => a.cmp(b),
        },
        // Values of one type are of one kind.
        _ => Ordering::Equal,
    }
}

/// A value of CHAR without the blanks that do not count.
pub(super) fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    &bytes[..end]
}
