//! Calls of functions on packed types: their arguments, results and names.

use crate::{DataType, Interval, PackedType, RangeKind, Result, Value, array};

/// An argument, in the form that its type has in memory.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// NULL: of functions that take it alone.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// Integers, DATE, TIME and timestamps.
    Int(i64),
    /// DOUBLE.
    Double(f64),
    /// INTERVAL.
    Interval(Interval),
    /// A value that is held as bytes.
    Bytes(&'a [u8]),
}

/// A result of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// NULL.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// Integers, DATE and timestamps.
    Int(i64),
    /// DOUBLE.
    Double(f64),
    /// Bytes that were appended to the buffer.
    Bytes,
}

/// The arguments of one call, and their types.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The arguments.
    pub arguments: &'a [Arg<'a>],
    /// Their types.
    pub types: &'a [DataType],
    /// The type of the result.
    pub ty: DataType,
}

impl<'a> Call<'a> {
    /// Argument `at`, which is bytes.
    pub(super) fn bytes(&self, at: usize) -> &'a [u8] {
        match self.arguments.get(at) {
            Some(Arg::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    /// Argument `at`, which is an integer.
    pub(super) fn int(&self, at: usize) -> i64 {
        match self.arguments.get(at) {
            Some(Arg::Int(value)) => *value,
            _ => 0,
        }
    }

    /// The number of argument `at`, which is an object of the catalog.
    pub(super) fn object(&self, at: usize) -> i64 {
        i64::from(crate::object_number(self.bytes(at)))
    }

    /// Argument `at`, which is a DOUBLE.
    pub(super) fn double(&self, at: usize) -> f64 {
        match self.arguments.get(at) {
            Some(Arg::Double(value)) => *value,
            _ => 0.0,
        }
    }

    /// Argument `at`, which is an INTERVAL.
    pub(super) fn interval(&self, at: usize) -> Interval {
        match self.arguments.get(at) {
            Some(Arg::Interval(value)) => *value,
            _ => Interval { months: 0, days: 0, micros: 0 },
        }
    }

    /// True when argument `at` is NULL.
    pub(super) fn is_null(&self, at: usize) -> bool {
        matches!(self.arguments.get(at), Some(Arg::Null) | None)
    }

    /// The elements of argument `at`, an array of texts; None for NULL.
    pub(super) fn texts(&self, at: usize) -> Vec<Option<std::borrow::Cow<'a, [u8]>>> {
        let Some(DataType::Array(element)) = self.types.get(at).copied() else {
            return Vec::new();
        };
        let elements = array::Elements::new(self.bytes(at), element);
        elements.map(|raw| raw.map(array::text_bytes)).collect()
    }

    /// The elements of argument `at`, an array, that are not NULL.
    pub(super) fn elements(&self, at: usize) -> Vec<std::borrow::Cow<'a, [u8]>> {
        let Some(DataType::Array(element)) = self.types.get(at).copied() else {
            return Vec::new();
        };
        array::Elements::new(self.bytes(at), element).flatten().map(array::text_bytes).collect()
    }

    /// The type of the ranges among the arguments, or of the result.
    pub(super) fn any_kind(&self) -> RangeKind {
        let of = |ty: &DataType| match ty.element().unwrap_or(*ty) {
            DataType::Packed(ty) => ty.range(),
            _ => None,
        };
        let found = self.types.iter().find_map(of).or_else(|| of(&self.ty));
        found.unwrap_or(RangeKind::Int4)
    }
}

/// The type of a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// This type.
    Is(DataType),
    /// A range of any kind, of which there is one in a call.
    Range,
    /// A multirange of that kind.
    Multirange,
    /// A bound of it.
    Bound,
    /// An array of such ranges.
    Ranges,
    /// An array of such multiranges.
    Multiranges,
}

impl Parameter {
    /// The type, where ranges are of `kind`.
    pub fn of(self, kind: RangeKind) -> DataType {
        let array = |ty| DataType::array_of(DataType::Packed(ty)).unwrap_or(DataType::Unknown);
        match self {
            Self::Is(ty) => ty,
            Self::Range => DataType::Packed(PackedType::Range(kind)),
            Self::Multirange => DataType::Packed(PackedType::Multirange(kind)),
            Self::Bound => kind.bound(),
            Self::Ranges => array(PackedType::Range(kind)),
            Self::Multiranges => array(PackedType::Multirange(kind)),
        }
    }

    /// True for types that depend on what ranges are of.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Is(_))
    }
}

/// A function or an operator on packed types.
#[derive(Debug)]
pub struct PackedFunction {
    /// Its name; that of an operator's function where SQL calls it so.
    pub name: &'static str,
    /// The operator that it is, or nothing.
    pub operator: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The type of any number of further arguments.
    pub rest: Option<Parameter>,
    /// The type of its result.
    pub gives: Parameter,
    /// False when NULL is an argument like others.
    pub is_strict: bool,
    /// Computes one row; bytes are appended to the buffer, which is empty.
    pub compute: fn(&Call<'_>, &mut Vec<u8>) -> Result<Given>,
}

/// A value as an argument.
impl<'a> From<&'a Value> for Arg<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::I32(value) => Self::Int(i64::from(*value)),
            Value::I64(value) => Self::Int(*value),
            Value::F64(value) => Self::Double(*value),
            Value::Interval(value) => Self::Interval(*value),
            Value::Str(bytes) => Self::Bytes(bytes),
            Value::Null | Value::I128(_) => Self::Null,
        }
    }
}
