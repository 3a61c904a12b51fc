//! Tests with their literals by type, and how they judge one value.

use std::cmp::Ordering;
use std::sync::Arc;

use kernels::compare::Ordered;
use types::{CompareOp, Value};

use crate::query::{Predicate, Test};
use crate::schema::{FieldType, Schema};
use crate::tuple::{TupleRef, Words};

/// Which values of a condition pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sense {
    /// Values that satisfy it.
    Plain,
    /// Values that do not.
    Inverse,
}

impl Sense {
    #[inline(always)]
    /// True when a value passes that satisfies the condition, or does not: `is_met`.
    pub fn of(self, is_met: bool) -> bool {
        is_met == (self == Self::Plain)
    }
}

/// A test of values that are not NULL, or of NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// Integers of a closed range, or outside of it.
    Integer {
        /// Smallest integer inside.
        low: i64,
        /// Largest integer inside; below `low`, nothing is.
        high: i64,
        /// Inside or outside.
        sense: Sense,
    },
    /// Floats in SQL's order.
    Float {
        /// How the value compares.
        op: CompareOp,
        /// With this.
        literal: f64,
    },
    /// Bytes in their order.
    Bytes {
        /// How the value compares.
        op: CompareOp,
        /// With these.
        literal: Arc<[u8]>,
    },
    /// Beginning of bytes.
    Prefix {
        /// The beginning.
        part: Arc<[u8]>,
        /// With it or without.
        sense: Sense,
    },
    /// End of bytes.
    Suffix {
        /// The end.
        part: Arc<[u8]>,
        /// With it or without.
        sense: Sense,
    },
    /// NULL, or not NULL.
    Null(Sense),
}

/// A test of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldCheck {
    /// Number of the field in its schema.
    pub field: usize,
    /// Test of its values.
    pub check: Check,
}

impl FieldCheck {
    /// The check of a predicate that fits its table.
    pub(crate) fn new(predicate: &Predicate) -> Self {
        let check = match &predicate.test {
            Test::IsNull => Check::Null(Sense::Plain),
            Test::IsNotNull => Check::Null(Sense::Inverse),
            Test::StartsWith(part) => Check::Prefix { part: part.clone(), sense: Sense::Plain },
            Test::StartsNotWith(part) => {
                Check::Prefix { part: part.clone(), sense: Sense::Inverse }
            }
            Test::EndsWith(part) => Check::Suffix { part: part.clone(), sense: Sense::Plain },
            Test::EndsNotWith(part) => Check::Suffix { part: part.clone(), sense: Sense::Inverse },
            Test::Compare(op, literal) => compared(*op, literal),
        };
        Self { field: predicate.field.idx(), check }
    }

    /// True when the row's field satisfies it; `scratch` is for its bytes.
    pub(crate) fn accepts<W: Words + ?Sized>(
        &self,
        row: &TupleRef<'_, W>,
        scratch: &mut Vec<u8>,
    ) -> bool {
        if let Check::Null(sense) = self.check {
            return sense.of(row.is_null(self.field));
        }
        if row.is_null(self.field) {
            return false;
        }
        match &self.check {
            Check::Integer { low, high, sense } => {
                let value = integer(row.schema, self.field, row.bits(self.field));
                sense.of(*low <= value && value <= *high)
            }
            Check::Float { op, literal } => {
                let value = float(row.schema, self.field, row.bits(self.field));
                op.accepts(value.order(*literal))
            }
            check => {
                scratch.clear();
                row.bytes_into(self.field, scratch);
                check.accepts_bytes(scratch)
            }
        }
    }
}

fn compared(op: CompareOp, literal: &Value) -> Check {
    match literal {
        Value::I32(v) => integers(op, i64::from(*v)),
        Value::I64(v) => integers(op, *v),
        Value::F64(v) => Check::Float { op, literal: *v },
        Value::Str(bytes) => Check::Bytes { op, literal: bytes.clone() },
        // `Query::check` refused it.
        _ => Check::Integer { low: 1, high: 0, sense: Sense::Plain },
    }
}

fn integers(op: CompareOp, literal: i64) -> Check {
    let (low, high, sense) = match op {
        CompareOp::Equal | CompareOp::NotDistinct => (literal, literal, Sense::Plain),
        CompareOp::NotEqual | CompareOp::Distinct => (literal, literal, Sense::Inverse),
        CompareOp::Less => (literal, i64::MAX, Sense::Inverse),
        CompareOp::LessEqual => (i64::MIN, literal, Sense::Plain),
        CompareOp::Greater => (i64::MIN, literal, Sense::Inverse),
        CompareOp::GreaterEqual => (literal, i64::MAX, Sense::Plain),
    };
    Check::Integer { low, high, sense }
}

/// The integer in the low bits of a word.
#[inline(always)]
pub(crate) fn integer(schema: &Schema, field: usize, bits: u64) -> i64 {
    match schema.fields()[field].field_type {
        FieldType::I16 => i64::from(bits as i16),
        FieldType::I32 => i64::from(bits as i32),
        _ => bits as i64,
    }
}

/// The float in the low bits of a word.
#[inline(always)]
pub(crate) fn float(schema: &Schema, field: usize, bits: u64) -> f64 {
    match schema.fields()[field].field_type {
        FieldType::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

impl Check {
    /// True when bytes that are not NULL satisfy it.
    pub fn accepts_bytes(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Bytes { op, literal } => op.accepts(bytes.cmp(literal)),
            Self::Prefix { part, sense } => sense.of(bytes.starts_with(part)),
            Self::Suffix { part, sense } => sense.of(bytes.ends_with(part)),
            _ => false,
        }
    }

    /// The answer for bytes that begin with `prefix`, or are `prefix` when `len` is at most 4;
    /// `None` when the rest decides.
    #[inline]
    pub(crate) fn accepts_prefix(&self, prefix: &[u8; 4], len: usize) -> Option<bool> {
        let known = &prefix[..len.min(4)];
        if len <= 4 {
            return Some(self.accepts_bytes(known));
        }
        match self {
            Self::Prefix { part, sense } => {
                let common = part.len().min(4);
                if known[..common] != part[..common] {
                    Some(sense.of(false))
                } else {
                    (part.len() <= 4).then(|| sense.of(true))
                }
            }
            Self::Bytes { op: CompareOp::Equal | CompareOp::NotEqual, literal }
                if literal.len() != len =>
            {
                Some(matches!(self, Self::Bytes { op: CompareOp::NotEqual, .. }))
            }
            Self::Bytes { op, literal } => {
                let common = literal.len().min(4);
                match known[..common].cmp(&literal[..common]) {
                    Ordering::Equal if literal.len() <= 4 => Some(op.accepts(Ordering::Greater)),
                    Ordering::Equal => None,
                    decided => Some(op.accepts(decided)),
                }
            }
            Self::Suffix { part, sense } if part.len() > len => Some(sense.of(false)),
            _ => None,
        }
    }
}
