//! One column of plain values.

use types::{Interval, PhysicalType, Value};

use crate::{Bitmap, StrVector};

/// The values of a column, by physical type.
#[derive(Clone, Debug)]
pub enum VectorData {
    /// 0 or 1 per row.
    Bool(Vec<u8>),
    /// See [`PhysicalType::I32`].
    I32(Vec<i32>),
    /// See [`PhysicalType::I64`].
    I64(Vec<i64>),
    /// See [`PhysicalType::I128`].
    I128(Vec<i128>),
    /// See [`PhysicalType::F64`].
    F64(Vec<f64>),
    /// Text and bytes.
    Str(StrVector),
    /// Intervals.
    Interval(Vec<Interval>),
}

/// Runs `$body` with `$v` bound to the values, whatever their type; `Str` has its own arm.
#[macro_export]
macro_rules! for_fixed {
    ($data:expr, $v:ident => $body:expr, $s:ident => $str:expr) => {
        match $data {
            $crate::VectorData::Bool($v) => $body,
            $crate::VectorData::I32($v) => $body,
            $crate::VectorData::I64($v) => $body,
            $crate::VectorData::I128($v) => $body,
            $crate::VectorData::F64($v) => $body,
            $crate::VectorData::Interval($v) => $body,
            $crate::VectorData::Str($s) => $str,
        }
    };
}

/// Values and which of them are not NULL.
#[derive(Clone, Debug)]
pub struct Vector {
    /// The values; the one under a NULL is arbitrary.
    pub data: VectorData,
    /// 1 = not NULL; absent when no row is NULL.
    pub validity: Option<Bitmap>,
}

impl Vector {
    /// A vector without NULLs.
    pub fn new(data: VectorData) -> Self {
        Self { data, validity: None }
    }

    /// A vector with `validity`, which is dropped when all its bits are 1.
    pub fn with_validity(data: VectorData, validity: Option<Bitmap>) -> Self {
        let vector = Self { data, validity: validity.filter(|v| !v.all()) };
        debug_assert!(vector.validity.as_ref().is_none_or(|v| v.len() == vector.len()));
        vector
    }

    /// Rows.
    pub fn len(&self) -> usize {
        for_fixed!(&self.data, v => v.len(), s => s.len())
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The physical type.
    pub fn physical(&self) -> PhysicalType {
        match &self.data {
            VectorData::Bool(_) => PhysicalType::Bool,
            VectorData::I32(_) => PhysicalType::I32,
            VectorData::I64(_) => PhysicalType::I64,
            VectorData::I128(_) => PhysicalType::I128,
            VectorData::F64(_) => PhysicalType::F64,
            VectorData::Str(_) => PhysicalType::Str,
            VectorData::Interval(_) => PhysicalType::Interval,
        }
    }

    /// True when row `i` is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v.get(i))
    }

    /// The value of row `i`: for literals and output, never in a loop over many rows.
    pub fn value(&self, i: usize) -> Value {
        if self.is_null(i) {
            return Value::Null;
        }
        match &self.data {
            VectorData::Bool(v) => Value::Bool(v[i] != 0),
            VectorData::I32(v) => Value::I32(v[i]),
            VectorData::I64(v) => Value::I64(v[i]),
            VectorData::I128(v) => Value::I128(v[i]),
            VectorData::F64(v) => Value::F64(v[i]),
            VectorData::Str(v) => Value::Str(v.get(i).into()),
            VectorData::Interval(v) => Value::Interval(v[i]),
        }
    }

    /// The rows at `positions`.
    #[must_use]
    pub fn gather(&self, positions: &[u32]) -> Self {
        fn pick<T: Copy>(v: &[T], positions: &[u32]) -> Vec<T> {
            positions.iter().map(|&p| v[p as usize]).collect()
        }
        let data = match &self.data {
            VectorData::Bool(v) => VectorData::Bool(pick(v, positions)),
            VectorData::I32(v) => VectorData::I32(pick(v, positions)),
            VectorData::I64(v) => VectorData::I64(pick(v, positions)),
            VectorData::I128(v) => VectorData::I128(pick(v, positions)),
            VectorData::F64(v) => VectorData::F64(pick(v, positions)),
            VectorData::Interval(v) => VectorData::Interval(pick(v, positions)),
            VectorData::Str(v) => VectorData::Str(v.gather(positions)),
        };
        let validity = self.validity.as_ref().map(|v| v.gather(positions));
        Self::with_validity(data, validity)
    }

    /// Rows `start..start + len`.
    #[must_use]
    pub fn slice(&self, start: usize, len: usize) -> Self {
        let range = start..start + len;
        let data = match &self.data {
            VectorData::Bool(v) => VectorData::Bool(v[range].to_vec()),
            VectorData::I32(v) => VectorData::I32(v[range].to_vec()),
            VectorData::I64(v) => VectorData::I64(v[range].to_vec()),
            VectorData::I128(v) => VectorData::I128(v[range].to_vec()),
            VectorData::F64(v) => VectorData::F64(v[range].to_vec()),
            VectorData::Interval(v) => VectorData::Interval(v[range].to_vec()),
            VectorData::Str(v) => VectorData::Str(v.slice(start, len)),
        };
        let validity = self.validity.as_ref().map(|v| v.slice(start, len));
        Self::with_validity(data, validity)
    }

    /// The 64-bit integers. Panics on another type: the planner fixed the type before.
    pub fn as_i64(&self) -> &[i64] {
        match &self.data {
            VectorData::I64(v) => v,
            other => panic!("expected I64, found {:?}", std::mem::discriminant(other)),
        }
    }

    /// The strings. Panics on another type: the planner fixed the type before.
    pub fn as_str(&self) -> &StrVector {
        match &self.data {
            VectorData::Str(v) => v,
            other => panic!("expected Str, found {:?}", std::mem::discriminant(other)),
        }
    }

    /// The booleans, 0 or 1. Panics on another type: the planner fixed the type before.
    pub fn as_bool(&self) -> &[u8] {
        match &self.data {
            VectorData::Bool(v) => v,
            other => panic!("expected Bool, found {:?}", std::mem::discriminant(other)),
        }
    }
}
