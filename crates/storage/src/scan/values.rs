//! Prepared restrictions on plain values: hot blocks, plain segments, and single values.

use std::sync::Arc;

use kernels::{Column, StrView, Vector, VectorData};
use types::{PhysicalType, Result};

use crate::fixed::Fixed;
use crate::restriction::{KeyTest, Test, TextTest};

/// Keeps `positions[i]` where `keep(i)`, in order.
pub(super) fn retain(positions: &mut Vec<u32>, mut keep: impl FnMut(usize) -> bool) {
    let mut kept = 0;
    for i in 0..positions.len() {
        positions[kept] = positions[i];
        kept += usize::from(keep(i));
    }
    positions.truncate(kept);
}

/// As [`retain_values`], of values that others have, too.
///
/// # Errors
/// As [`retain_values`].
pub(super) fn retain_shared(
    test: &Test,
    values: &Arc<Vector>,
    positions: &mut Vec<u32>,
) -> Result<()> {
    match test {
        Test::Filter(filter) if values.physical() == PhysicalType::Str => {
            filter.retain_columns(&[&Column::Plain(Arc::clone(values))], positions);
            Ok(())
        }
        test => retain_values(test, values, positions),
    }
}

/// Keeps the positions whose value satisfies `test`; `values` has the value of each position.
///
/// # Errors
/// Errors that a predicate raises.
pub(super) fn retain_values(test: &Test, values: &Vector, positions: &mut Vec<u32>) -> Result<()> {
    debug_assert_eq!(values.len(), positions.len());
    match test {
        Test::Never => positions.clear(),
        Test::IsNull => retain(positions, |i| values.is_null(i)),
        Test::IsNotNull => {
            if values.validity.is_some() {
                retain(positions, |i| !values.is_null(i));
            }
        }
        Test::Keys(test) => retain_keys(test, values, positions),
        Test::Texts(test) => retain_texts(test, values, positions),
        Test::Predicate(predicate) => {
            let kept = predicate.select(values)?;
            retain(positions, |i| kept.get(i));
        }
        Test::Filter(filter) if values.physical() == PhysicalType::Str => {
            filter.retain_columns(&[&Column::plain(values.clone())], positions);
        }
        Test::Joint(..) => unreachable!("several columns have a test of their own"),
        Test::Filter(filter) => {
            let valid;
            let values = match &values.validity {
                None => values,
                Some(validity) => {
                    let rows = validity.ones();
                    kernels::select::compose(positions, &rows);
                    valid = values.gather(&rows);
                    &valid
                }
            };
            match &values.data {
                VectorData::I32(v) => filter.retain_i32(v, positions),
                VectorData::I64(v) => filter.retain_i64(v, positions),
                other => {
                    let wide = <i128 as Fixed>::slice(other);
                    let fits = |i: &u32| i64::try_from(wide[*i as usize]).is_ok();
                    let rows: Vec<u32> = (0..wide.len() as u32).filter(fits).collect();
                    kernels::select::compose(positions, &rows);
                    let narrow: Vec<i64> = rows.iter().map(|&i| wide[i as usize] as i64).collect();
                    filter.retain_i64(&narrow, positions);
                }
            }
        }
    }
    Ok(())
}

/// Texts up to which the first bytes of all are looked at together; more are searched one by one.
const LISTED_MAX: usize = 16;

fn retain_texts(test: &TextTest, values: &Vector, positions: &mut Vec<u32>) {
    let strings = values.as_str();
    let Some(texts) = test.listed().filter(|texts| texts.len() <= LISTED_MAX) else {
        retain(positions, |i| !values.is_null(i) && test.accepts(strings.get(i)));
        return;
    };
    // Most differ in length or in the first bytes, which are in the views.
    let mut heads: Vec<u64> = texts.iter().map(|text| StrView::new(text).head()).collect();
    heads.sort_unstable();
    let views = strings.views();
    let may_be = |i: usize| match heads[..] {
        [head] => views[i].head() == head,
        _ => heads.binary_search(&views[i].head()).is_ok(),
    };
    retain(positions, |i| may_be(i) && !values.is_null(i) && test.accepts(strings.get(i)));
}

fn retain_keys(test: &KeyTest, values: &Vector, positions: &mut Vec<u32>) {
    match (&values.data, test) {
        (VectorData::I32(v), &KeyTest::Range(lo, hi)) => {
            let (lo, hi) = (lo as i32, hi as i32);
            retain_valid(values, positions, |i| lo <= v[i] && v[i] <= hi);
        }
        (VectorData::I64(v), &KeyTest::Range(lo, hi)) => {
            let (lo, hi) = (lo as i64, hi as i64);
            retain_valid(values, positions, |i| lo <= v[i] && v[i] <= hi);
        }
        (VectorData::Bool(v), test) => retain_by_key(v, test, values, positions),
        (VectorData::I32(v), test) => retain_by_key(v, test, values, positions),
        (VectorData::I64(v), test) => retain_by_key(v, test, values, positions),
        (VectorData::I128(v), test) => retain_by_key(v, test, values, positions),
        (VectorData::F64(v), test) => retain_by_key(v, test, values, positions),
        (VectorData::Interval(v), test) => retain_by_key(v, test, values, positions),
        (VectorData::Str(_), _) => unreachable!("strings have tests of their own"),
    }
}

fn retain_by_key<T: Fixed>(typed: &[T], test: &KeyTest, values: &Vector, positions: &mut Vec<u32>) {
    retain_valid(values, positions, |i| test.accepts(typed[i].key()));
}

fn retain_valid(values: &Vector, positions: &mut Vec<u32>, accepts: impl Fn(usize) -> bool) {
    match &values.validity {
        None => retain(positions, accepts),
        Some(validity) => retain(positions, |i| validity.get(i) && accepts(i)),
    }
}
