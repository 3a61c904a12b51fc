//! Comparison of columns.
//!
//! Operands have equally many rows, or one row that counts for all. Integers of different physical
//! types compare by value. As PostgreSQL: NaN equals itself and is greater than every other number;
//! text compares byte by byte.

use std::borrow::Cow;
use std::cmp::Ordering;

use types::{CompareOp, Interval};

use crate::broadcast::{self, both_valid, zip};
use crate::loops::map_into;
use crate::{Bitmap, StrVector, StrView, Vector, VectorData};

/// Values of one physical type in SQL's order.
pub trait Ordered: Copy + Send + Sync + 'static {
    /// `self = other`.
    fn equal(self, other: Self) -> bool;
    /// `self < other`.
    fn less(self, other: Self) -> bool;
    /// `self <= other`.
    fn less_equal(self, other: Self) -> bool;

    /// All three in one.
    #[inline(always)]
    fn order(self, other: Self) -> Ordering {
        if self.less(other) {
            Ordering::Less
        } else if self.equal(other) {
            Ordering::Equal
        } else {
            Ordering::Greater
        }
    }
}

macro_rules! ordered {
    ($($value:ty),*) => {$(
        impl Ordered for $value {
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn less_equal(self, other: Self) -> bool {
                self <= other
            }
        }
    )*};
}

ordered!(u8, i32, i64, i128, Interval);

impl Ordered for f64 {
    #[inline(always)]
    fn equal(self, other: Self) -> bool {
        (self == other) | (self.is_nan() & other.is_nan())
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        (self < other) | (!self.is_nan() & other.is_nan())
    }
    #[inline(always)]
    fn less_equal(self, other: Self) -> bool {
        (self <= other) | other.is_nan()
    }
}

fn compare_fixed<T: Ordered>(op: CompareOp, a: &[T], b: &[T]) -> Vec<u8> {
    match op {
        CompareOp::Equal | CompareOp::NotDistinct => zip(a, b, |x, y| u8::from(x.equal(y))),
        CompareOp::NotEqual | CompareOp::Distinct => zip(a, b, |x, y| u8::from(!x.equal(y))),
        CompareOp::Less => zip(a, b, |x, y| u8::from(x.less(y))),
        CompareOp::LessEqual => zip(a, b, |x, y| u8::from(x.less_equal(y))),
        CompareOp::Greater => zip(a, b, |x, y| u8::from(y.less(x))),
        CompareOp::GreaterEqual => zip(a, b, |x, y| u8::from(y.less_equal(x))),
    }
}

/// True when row `i` of `a` equals row `j` of `b`: length and first four bytes decide most.
#[inline(always)]
pub fn str_equal(a: &StrVector, i: usize, b: &StrVector, j: usize) -> bool {
    let (x, y) = (&a.views()[i], &b.views()[j]);
    if x.head() != y.head() {
        return false;
    }
    x.tail() == y.tail() || (!x.is_inline() && a.get(i) == b.get(j))
}

/// The order of row `i` of `a` and row `j` of `b`: the first four bytes decide most.
#[inline(always)]
pub fn str_order(a: &StrVector, i: usize, b: &StrVector, j: usize) -> Ordering {
    // The prefix is zero padded, so different prefixes are in the order of the strings.
    let prefix = |v: &StrVector, i: usize| ((v.views()[i].head() >> 32) as u32).swap_bytes();
    let (x, y) = (prefix(a, i), prefix(b, j));
    if x != y { x.cmp(&y) } else { a.get(i).cmp(b.get(j)) }
}

/// 1 where the string equals `one`, the only row of its vector: a short one is two words.
fn equal_to_one(rows: &StrVector, one: &StrVector) -> Vec<u8> {
    let (head, tail) = (one.views()[0].head(), one.views()[0].tail());
    if one.views()[0].is_inline() {
        let mut out = Vec::new();
        map_into(rows.views(), &mut out, |v| u8::from((v.head() == head) & (v.tail() == tail)));
        return out;
    }
    let text = one.get(0);
    let equal = |(i, v): (usize, &StrView)| u8::from(v.head() == head && rows.get(i) == text);
    rows.views().iter().enumerate().map(equal).collect()
}

fn compare_str(op: CompareOp, a: &StrVector, b: &StrVector) -> Vec<u8> {
    let rows = broadcast::rows(a.len(), b.len());
    let at = |i| (broadcast::row(a.len(), i), broadcast::row(b.len(), i));
    let equal = |i| {
        let (i, j) = at(i);
        str_equal(a, i, b, j)
    };
    let negated = matches!(op, CompareOp::NotEqual | CompareOp::Distinct);
    if negated || matches!(op, CompareOp::Equal | CompareOp::NotDistinct) {
        let one_sided = match (a.len(), b.len()) {
            (_, 1) => Some(equal_to_one(a, b)),
            (1, _) => Some(equal_to_one(b, a)),
            _ => None,
        };
        if let Some(mut values) = one_sided {
            values.iter_mut().for_each(|value| *value ^= u8::from(negated));
            return values;
        }
    }
    match op {
        CompareOp::Equal | CompareOp::NotDistinct => {
            (0..rows).map(|i| u8::from(equal(i))).collect()
        }
        CompareOp::NotEqual | CompareOp::Distinct => {
            (0..rows).map(|i| u8::from(!equal(i))).collect()
        }
        _ => (0..rows)
            .map(|i| {
                let (i, j) = at(i);
                u8::from(op.accepts(str_order(a, i, b, j)))
            })
            .collect(),
    }
}

/// The integers of `data` in 64 bits; None when one does not fit, or they are not integers.
fn narrow_i64(data: &VectorData) -> Option<Cow<'_, [i64]>> {
    match data {
        VectorData::I64(v) => Some(Cow::Borrowed(v)),
        VectorData::I32(v) => {
            let mut out = Vec::new();
            map_into(v, &mut out, i64::from);
            Some(Cow::Owned(out))
        }
        // Only for constants: a column that was held in 128 bits stays so.
        VectorData::I128(v) if v.len() == 1 => {
            i64::try_from(v[0]).ok().map(|v| Cow::Owned(vec![v]))
        }
        _ => None,
    }
}

/// The integers of `data` in 128 bits; None when they are not integers.
fn widen_i128(data: &VectorData) -> Option<Cow<'_, [i128]>> {
    let mut out = Vec::new();
    match data {
        VectorData::I128(v) => return Some(Cow::Borrowed(v)),
        VectorData::I64(v) => map_into(v, &mut out, i128::from),
        VectorData::I32(v) => map_into(v, &mut out, i128::from),
        _ => return None,
    }
    Some(Cow::Owned(out))
}

fn compare_integers(op: CompareOp, a: &VectorData, b: &VectorData) -> Option<Vec<u8>> {
    if let (Some(a), Some(b)) = (narrow_i64(a), narrow_i64(b)) {
        return Some(compare_fixed(op, &a, &b));
    }
    Some(compare_fixed(op, &widen_i128(a)?, &widen_i128(b)?))
}

/// 1 per row that satisfies `op`; rows with a NULL are arbitrary.
///
/// # Panics
/// If the types do not fit: the planner fixed them before.
fn compare_values(op: CompareOp, a: &VectorData, b: &VectorData) -> Vec<u8> {
    match (a, b) {
        (VectorData::Bool(a), VectorData::Bool(b)) => compare_fixed(op, a, b),
        (VectorData::I32(a), VectorData::I32(b)) => compare_fixed(op, a, b),
        (VectorData::I64(a), VectorData::I64(b)) => compare_fixed(op, a, b),
        (VectorData::I128(a), VectorData::I128(b)) => compare_fixed(op, a, b),
        (VectorData::F64(a), VectorData::F64(b)) => compare_fixed(op, a, b),
        (VectorData::Interval(a), VectorData::Interval(b)) => compare_fixed(op, a, b),
        (VectorData::Str(a), VectorData::Str(b)) => compare_str(op, a, b),
        (a, b) => match compare_integers(op, a, b) {
            Some(values) => values,
            None => panic!("comparison of columns of different types"),
        },
    }
}

/// `a op b`: Bool, NULL where an operand is, except for (not) distinct.
///
/// # Panics
/// If row counts or types do not fit: the planner fixed them before.
pub fn compare(op: CompareOp, a: &Vector, b: &Vector) -> Vector {
    let mut values = compare_values(op, &a.data, &b.data);
    let nullable = a.validity.is_some() || b.validity.is_some();
    if !matches!(op, CompareOp::Distinct | CompareOp::NotDistinct) {
        return Vector::with_validity(VectorData::Bool(values), both_valid(a, b));
    }
    if nullable {
        let distinct = op == CompareOp::Distinct;
        let (rows_a, rows_b) = (a.len(), b.len());
        for (i, value) in values.iter_mut().enumerate() {
            let null_a = a.is_null(broadcast::row(rows_a, i));
            let null_b = b.is_null(broadcast::row(rows_b, i));
            if null_a || null_b {
                *value = u8::from((null_a != null_b) == distinct);
            }
        }
    }
    Vector::new(VectorData::Bool(values))
}

/// The order of row `i` of `a` and row `j` of `b`, which are of one type and not NULL: for merging
/// and for tests, not for loops over batches.
///
/// # Panics
/// If the types differ.
pub fn order_rows(a: &Vector, i: usize, b: &Vector, j: usize) -> Ordering {
    match (&a.data, &b.data) {
        (VectorData::Bool(a), VectorData::Bool(b)) => a[i].order(b[j]),
        (VectorData::I32(a), VectorData::I32(b)) => a[i].order(b[j]),
        (VectorData::I64(a), VectorData::I64(b)) => a[i].order(b[j]),
        (VectorData::I128(a), VectorData::I128(b)) => a[i].order(b[j]),
        (VectorData::F64(a), VectorData::F64(b)) => a[i].order(b[j]),
        (VectorData::Interval(a), VectorData::Interval(b)) => a[i].order(b[j]),
        (VectorData::Str(a), VectorData::Str(b)) => str_order(a, i, b, j),
        _ => panic!("comparison of columns of different types"),
    }
}

/// Bit `i` is 1 when row `i` is true: value not 0 and not NULL.
pub fn true_bits(vector: &Vector) -> Bitmap {
    let bits = crate::logic::pack_bits(vector.as_bool());
    match &vector.validity {
        None => bits,
        Some(validity) => bits.and(validity),
    }
}

#[cfg(test)]
mod tests;
