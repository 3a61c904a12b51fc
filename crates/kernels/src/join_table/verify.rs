//! Values of pairs compared, and rows gathered where some are missing.

use types::Interval;

use super::{NullCode, Pairs};
use crate::{Bitmap, Column, StrVector, Vector, VectorBuilder, VectorData};

fn equal_f64(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn equal_str(a: &StrVector, i: u32, b: &StrVector, j: u32) -> bool {
    let (i, j) = (i as usize, j as usize);
    let (x, y) = (a.views()[i], b.views()[j]);
    x.head() == y.head() && (x.tail() == y.tail() || (!x.is_inline() && a.get(i) == b.get(j)))
}

/// Replaces `equal` by the indexes of the pairs whose values are equal, NULLs not looked at.
fn equal_pairs(probe: &Vector, build: &Vector, pairs: &Pairs, equal: &mut Vec<u32>) {
    equal.clear();
    equal.extend(0..pairs.len() as u32);
    macro_rules! keep {
        ($a:expr, $b:expr, $same:expr) => {{
            let (a, b, same) = ($a, $b, $same);
            super::key_set::keep_if(equal, |i| {
                let (p, q) = (pairs.probe[i as usize], pairs.build[i as usize]);
                same(a[p as usize], b[q as usize])
            });
        }};
    }
    match (&probe.data, &build.data) {
        (VectorData::Bool(a), VectorData::Bool(b)) => keep!(a, b, |x: u8, y: u8| x == y),
        (VectorData::I32(a), VectorData::I32(b)) => keep!(a, b, |x: i32, y: i32| x == y),
        (VectorData::I64(a), VectorData::I64(b)) => keep!(a, b, |x: i64, y: i64| x == y),
        (VectorData::I128(a), VectorData::I128(b)) => keep!(a, b, |x: i128, y: i128| x == y),
        (VectorData::F64(a), VectorData::F64(b)) => keep!(a, b, equal_f64),
        (VectorData::Interval(a), VectorData::Interval(b)) => {
            keep!(a, b, |x: Interval, y: Interval| x == y);
        }
        (VectorData::Str(a), VectorData::Str(b)) => super::key_set::keep_if(equal, |i| {
            equal_str(a, pairs.probe[i as usize], b, pairs.build[i as usize])
        }),
        _ => panic!("{:?} compared with {:?}", probe.physical(), build.physical()),
    }
}

/// Keeps the pairs whose values in one key column are equal.
///
/// # Panics
/// If the columns are of two types.
pub fn keep_equal(probe: &Column, build: &Vector, nulls: NullCode, pairs: &mut Pairs) {
    let probe = probe.to_vector();
    let mut equal = Vec::new();
    equal_pairs(&probe, build, pairs, &mut equal);
    if probe.validity.is_some() || build.validity.is_some() {
        let mut same = Bitmap::filled(pairs.len(), false);
        equal.iter().for_each(|&i| same.set(i as usize, true));
        equal = (0..pairs.len() as u32).collect();
        super::key_set::keep_if(&mut equal, |i| {
            let i = i as usize;
            let p = probe.is_null(pairs.probe[i] as usize);
            let b = build.is_null(pairs.build[i] as usize);
            if p || b { p && b && nulls == NullCode::Value } else { same.get(i) }
        });
    }
    pairs.keep(&equal);
}

/// Keeps the pairs whose values in one key column are not known to differ: equal, or one is NULL.
///
/// # Panics
/// If the columns are of two types.
pub fn keep_possible(probe: &Column, build: &Vector, pairs: &mut Pairs) {
    let probe = probe.to_vector();
    let mut equal = Vec::new();
    equal_pairs(&probe, build, pairs, &mut equal);
    let mut same = Bitmap::filled(pairs.len(), false);
    equal.iter().for_each(|&i| same.set(i as usize, true));
    let mut possible: Vec<u32> = (0..pairs.len() as u32).collect();
    super::key_set::keep_if(&mut possible, |i| {
        let i = i as usize;
        same.get(i)
            || probe.is_null(pairs.probe[i] as usize)
            || build.is_null(pairs.build[i] as usize)
    });
    pairs.keep(&possible);
}

/// The rows of `vector` at `positions`, NULL where a position is `u32::MAX`.
pub fn gather_or_null(vector: &Vector, positions: &[u32]) -> Vector {
    if vector.is_empty() {
        let mut builder = VectorBuilder::with_capacity(vector.physical(), positions.len());
        positions.iter().for_each(|_| builder.push_null());
        return builder.finish();
    }
    let present = Bitmap::from_fn(positions.len(), |i| positions[i] != u32::MAX);
    if present.all() {
        return vector.gather(positions);
    }
    // A missing row takes the value of row 0, which NULL hides.
    let rows: Vec<u32> = positions.iter().map(|&p| if p == u32::MAX { 0 } else { p }).collect();
    let mut gathered = vector.gather(&rows);
    let validity = gathered.validity.take().map_or_else(|| present.clone(), |v| v.and(&present));
    Vector::with_validity(gathered.data, Some(validity))
}

/// True when row `i` of `a` and row `j` of `b` are equal or both NULL: for single rows, not for
/// loops over many.
///
/// # Panics
/// If the vectors are of two types.
pub fn equal_rows(a: &Vector, i: usize, b: &Vector, j: usize) -> bool {
    if a.is_null(i) || b.is_null(j) {
        return a.is_null(i) && b.is_null(j);
    }
    match (&a.data, &b.data) {
        (VectorData::Bool(a), VectorData::Bool(b)) => a[i] == b[j],
        (VectorData::I32(a), VectorData::I32(b)) => a[i] == b[j],
        (VectorData::I64(a), VectorData::I64(b)) => a[i] == b[j],
        (VectorData::I128(a), VectorData::I128(b)) => a[i] == b[j],
        (VectorData::F64(a), VectorData::F64(b)) => equal_f64(a[i], b[j]),
        (VectorData::Interval(a), VectorData::Interval(b)) => a[i] == b[j],
        (VectorData::Str(a), VectorData::Str(b)) => equal_str(a, i as u32, b, j as u32),
        _ => panic!("{:?} compared with {:?}", a.physical(), b.physical()),
    }
}
