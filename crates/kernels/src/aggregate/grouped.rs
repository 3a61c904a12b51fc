//! Grouped counts, sums, bit and boolean aggregates.

use types::{Error, Interval, Result, SqlState};

use super::Rows;

/// Updates `state[groups[j]]` by `f` for each row that is not NULL.
#[inline(always)]
pub(super) fn update<T: Copy, S>(
    values: &[T],
    rows: Rows,
    groups: &[u32],
    state: &mut [S],
    mut f: impl FnMut(&mut S, T),
) {
    assert_eq!(rows.len(values.len()), groups.len(), "one group per row");
    rows.each(values.len(), |j, i| f(&mut state[groups[j] as usize], values[i]));
}

/// count(*): one more for each row's group.
pub fn count_rows(groups: &[u32], state: &mut [i64]) {
    for &group in groups {
        state[group as usize] += 1;
    }
}

/// count(x) of a column of `count` rows.
pub fn count(count: usize, rows: Rows, groups: &[u32], state: &mut [i64]) {
    if rows.validity.is_none() {
        return count_rows(groups, state);
    }
    rows.each(count, |j, _| state[groups[j] as usize] += 1);
}

/// Marks groups that have a row that is not NULL: what decides between a sum and NULL.
pub fn mark(count: usize, rows: Rows, groups: &[u32], seen: &mut [u8]) {
    rows.each(count, |j, _| seen[groups[j] as usize] = 1);
}

/// sum of I32 in 64 bits, which 2^31 rows cannot exceed.
pub fn sum_i32(values: &[i32], rows: Rows, groups: &[u32], state: &mut [i64]) {
    update(values, rows, groups, state, |sum, v| *sum += i64::from(v));
}

/// sum of I64, exact.
pub fn sum_i64(values: &[i64], rows: Rows, groups: &[u32], state: &mut [i128]) {
    update(values, rows, groups, state, |sum, v| *sum += i128::from(v));
}

/// sum of I64 in 64 bits, where the planner proved that no group's sum exceeds them.
pub fn sum_i64_narrow(values: &[i64], rows: Rows, groups: &[u32], state: &mut [i64]) {
    update(values, rows, groups, state, |sum, v| *sum = sum.wrapping_add(v));
}

/// sum of I128.
///
/// # Errors
/// 22003 when a sum exceeds 128 bits.
pub fn sum_i128(values: &[i128], rows: Rows, groups: &[u32], state: &mut [i128]) -> Result<()> {
    let mut failed = false;
    update(values, rows, groups, state, |sum, v| {
        let (next, overflow) = sum.overflowing_add(v);
        *sum = next;
        failed |= overflow;
    });
    if failed { Err(types::decimal::overflow()) } else { Ok(()) }
}

/// Sum of squares of integers, exact: for variances.
///
/// # Errors
/// 22003 when a sum exceeds 128 bits.
pub fn sum_squares<T: Copy + Into<i128>>(
    values: &[T],
    rows: Rows,
    groups: &[u32],
    state: &mut [i128],
) -> Result<()> {
    let mut failed = false;
    update(values, rows, groups, state, |sum, v| {
        let v: i128 = v.into();
        match v.checked_mul(v).and_then(|square| sum.checked_add(square)) {
            Some(next) => *sum = next,
            None => failed = true,
        }
    });
    if failed { Err(types::decimal::overflow()) } else { Ok(()) }
}

/// sum of F64.
pub fn sum_f64(values: &[f64], rows: Rows, groups: &[u32], state: &mut [f64]) {
    update(values, rows, groups, state, |sum, v| *sum += v);
}

/// sum of INTERVAL, field by field.
///
/// # Errors
/// 22008 when a field overflows.
pub fn sum_interval(
    values: &[Interval],
    rows: Rows,
    groups: &[u32],
    state: &mut [Interval],
) -> Result<()> {
    let mut failed = false;
    update(values, rows, groups, state, |sum, v| {
        let fields = (
            sum.months.checked_add(v.months),
            sum.days.checked_add(v.days),
            sum.micros.checked_add(v.micros),
        );
        match fields {
            (Some(months), Some(days), Some(micros)) => *sum = Interval { months, days, micros },
            _ => failed = true,
        }
    });
    if failed {
        return Err(Error::new(SqlState::DATETIME_OVERFLOW, "interval out of range"));
    }
    Ok(())
}

/// bool_and; states start at 1.
pub fn bool_and(values: &[u8], rows: Rows, groups: &[u32], state: &mut [u8]) {
    update(values, rows, groups, state, |all, v| *all &= v);
}

/// bool_or; states start at 0.
pub fn bool_or(values: &[u8], rows: Rows, groups: &[u32], state: &mut [u8]) {
    update(values, rows, groups, state, |any, v| *any |= v);
}

/// bit_and of I32 or I64; states start at -1.
pub fn bit_and<T: Copy + Into<i64>>(values: &[T], rows: Rows, groups: &[u32], state: &mut [i64]) {
    update(values, rows, groups, state, |bits, v| *bits &= v.into());
}

/// bit_or of I32 or I64; states start at 0.
pub fn bit_or<T: Copy + Into<i64>>(values: &[T], rows: Rows, groups: &[u32], state: &mut [i64]) {
    update(values, rows, groups, state, |bits, v| *bits |= v.into());
}

/// bit_xor of I32 or I64; states start at 0.
pub fn bit_xor<T: Copy + Into<i64>>(values: &[T], rows: Rows, groups: &[u32], state: &mut [i64]) {
    update(values, rows, groups, state, |bits, v| *bits ^= v.into());
}
