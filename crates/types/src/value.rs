//! One value outside a column: literals, defaults, statistics.

use std::sync::Arc;

use crate::Interval;

/// A value in its physical form; its [`crate::DataType`] is kept beside it. Equal are values that
/// are so in every use: intervals by their parts, not by their length as SQL has it, and zeros by
/// their signs, which are seen as text.
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// See [`crate::PhysicalType::I32`].
    I32(i32),
    /// See [`crate::PhysicalType::I64`].
    I64(i64),
    /// See [`crate::PhysicalType::I128`].
    I128(i128),
    /// See [`crate::PhysicalType::F64`].
    F64(f64),
    /// Text (UTF-8), BYTEA, or an array (see [`crate::array`]).
    Str(Arc<[u8]>),
    /// INTERVAL.
    Interval(Interval),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::I32(a), Self::I32(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::I128(a), Self::I128(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Interval(a), Self::Interval(b)) => {
                (a.months, a.days, a.micros) == (b.months, b.days, b.micros)
            }
            _ => false,
        }
    }
}

impl Value {
    /// A text value.
    pub fn text(text: &str) -> Self {
        Self::Str(Arc::from(text.as_bytes()))
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The integer behind I32, I64 and I128 (days, microseconds, scaled decimals included).
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::I32(v) => Some(i128::from(*v)),
            Self::I64(v) => Some(i128::from(*v)),
            Self::I128(v) => Some(*v),
            _ => None,
        }
    }
}
