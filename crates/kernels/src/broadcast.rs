//! Operands of one length, or of one row that counts for all: how constants reach kernels.

use crate::loops::{map_checked, map_into, zip_checked, zip_into};
use crate::{Bitmap, Vector};

/// Rows of the result of a kernel with operands of `a` and `b` rows.
///
/// # Panics
/// If they differ and none is 1.
#[inline]
pub fn rows(a: usize, b: usize) -> usize {
    assert!(a == b || a == 1 || b == 1, "operands of {a} and {b} rows");
    if a == 1 { b } else { a }
}

/// `f(a, b)` for all rows.
pub fn zip<A: Copy, B: Copy, R: Copy>(a: &[A], b: &[B], f: impl Fn(A, B) -> R) -> Vec<R> {
    let mut out = Vec::new();
    match (a, b) {
        (a, b) if a.len() == b.len() => zip_into(a, b, &mut out, f),
        (&[x], b) => map_into(b, &mut out, move |y| f(x, y)),
        (a, &[y]) => map_into(a, &mut out, move |x| f(x, y)),
        _ => panic!("operands of {} and {} rows", a.len(), b.len()),
    }
    out
}

/// `f(a, b)` for all rows, and whether it failed for one of them, NULL rows included.
pub fn zip_failing<A: Copy, B: Copy, R: Copy>(
    a: &[A],
    b: &[B],
    f: impl Fn(A, B) -> (R, bool),
) -> (Vec<R>, bool) {
    let mut out = Vec::new();
    let failed = match (a, b) {
        (a, b) if a.len() == b.len() => zip_checked(a, b, &mut out, f),
        (&[x], b) => map_checked(b, &mut out, move |y| f(x, y)),
        (a, &[y]) => map_checked(a, &mut out, move |x| f(x, y)),
        _ => panic!("operands of {} and {} rows", a.len(), b.len()),
    };
    (out, failed)
}

/// The row of an operand of `len` rows that counts for row `i`.
#[inline(always)]
pub fn row(len: usize, i: usize) -> usize {
    if len == 1 { 0 } else { i }
}

/// Validity of `rows` rows where `vector` may be one row for all.
fn spread(vector: &Vector, rows: usize) -> Option<Bitmap> {
    let validity = vector.validity.as_ref()?;
    if validity.len() == rows {
        return Some(validity.clone());
    }
    (!validity.get(0)).then(|| Bitmap::filled(rows, false))
}

/// Rows in which both operands are valid; None when all are.
pub fn both_valid(a: &Vector, b: &Vector) -> Option<Bitmap> {
    if a.validity.is_none() && b.validity.is_none() {
        return None;
    }
    let rows = rows(a.len(), b.len());
    match (spread(a, rows), spread(b, rows)) {
        (Some(a), Some(b)) => Some(a.and(&b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VectorData;

    #[test]
    fn one_row_counts_for_all() {
        assert_eq!(zip(&[1, 2, 3], &[10], |a, b| a - b), [-9, -8, -7]);
        assert_eq!(zip(&[10], &[1, 2, 3], |a, b| a - b), [9, 8, 7]);
        assert_eq!(zip(&[10], &[1], |a, b| a - b), [9]);
        assert_eq!(zip(&[10], &[0i32; 0], |a, b| a - b), [0i32; 0]);
        assert_eq!(zip_failing(&[1, 2], &[2], |a, b| (a, a == b)), (vec![1, 2], true));
    }

    #[test]
    fn a_null_for_all_makes_all_rows_null() {
        let some = Vector::with_validity(
            VectorData::I32(vec![1, 2]),
            Some(Bitmap::from_fn(2, |i| i == 0)),
        );
        let null = Vector::with_validity(VectorData::I32(vec![1]), Some(Bitmap::filled(1, false)));
        let one = Vector::new(VectorData::I32(vec![1]));
        assert_eq!(both_valid(&some, &null).map(|v| v.count_ones()), Some(0));
        assert_eq!(both_valid(&one, &some), some.validity);
        assert_eq!(both_valid(&one, &one), None);
    }
}
