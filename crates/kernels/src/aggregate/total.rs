//! Ungrouped counts and sums.

use types::Result;

use super::Rows;
use crate::level::flavours;

flavours! {
    /// Halves of 64-bit values are summed apart: exact for up to 2^31 values, and without carries.
    fn add_i64[](values: &[i64]) -> i128 {
        let (mut low, mut high) = (0u64, 0i64);
        for &v in values {
            low = low.wrapping_add(v as u64 & 0xffff_ffff);
            high = high.wrapping_add(v >> 32);
        }
        (i128::from(high) << 32) + i128::from(low)
    }

    fn add_i32[](values: &[i32]) -> i64 {
        let mut sum = 0i64;
        for &v in values {
            sum += i64::from(v);
        }
        sum
    }

    /// Sixteen sums side by side: additions need not wait for each other.
    fn add_f64[](values: &[f64]) -> f64 {
        let mut sums = [0f64; 16];
        let (chunks, rest) = values.as_chunks::<16>();
        for chunk in chunks {
            for (sum, &v) in sums.iter_mut().zip(chunk) {
                *sum += v;
            }
        }
        let mut total: f64 = sums.iter().sum();
        for &v in rest {
            total += v;
        }
        total
    }
}

/// Runs of rows that are not NULL, given to `f` as slices, or the rows one by one.
fn each_run<T>(values: &[T], rows: Rows, mut f: impl FnMut(&[T])) {
    let (Some(validity), None) = (rows.validity, rows.selection) else {
        if rows.validity.is_none() && rows.selection.is_none() {
            return f(values);
        }
        return rows.each(values.len(), |_, i| f(&values[i..=i]));
    };
    for (word, chunk) in validity.words().iter().zip(values.chunks(64)) {
        let mut word = *word;
        while word != 0 {
            let start = word.trailing_zeros() as usize;
            let run = (!(word >> start)).trailing_zeros() as usize;
            let end = (start + run).min(chunk.len());
            f(&chunk[start..end]);
            word = if end >= 64 { 0 } else { word & (u64::MAX << end) };
        }
    }
}

/// How many of `count` rows are not NULL.
pub fn count_total(count: usize, rows: Rows) -> i64 {
    match (rows.validity, rows.selection) {
        (None, _) => rows.len(count) as i64,
        (Some(validity), None) => validity.count_ones() as i64,
        (Some(validity), Some(s)) => s.iter().filter(|&&i| validity.get(i as usize)).count() as i64,
    }
}

/// Sum of I32, exact.
pub fn total_i32(values: &[i32], rows: Rows) -> i64 {
    if let (None, Some(selection)) = (rows.validity, rows.selection) {
        return selection.iter().map(|&i| i64::from(values[i as usize])).sum();
    }
    let mut sum = 0;
    each_run(values, rows, |run| sum += add_i32(run));
    sum
}

/// Sum of I64, exact.
pub fn total_i64(values: &[i64], rows: Rows) -> i128 {
    if let (None, Some(selection)) = (rows.validity, rows.selection) {
        return selection.iter().map(|&i| i128::from(values[i as usize])).sum();
    }
    let mut sum = 0;
    each_run(values, rows, |run| sum += add_i64(run));
    sum
}

/// Sum of I128 on top of `start`.
///
/// # Errors
/// 22003 when it exceeds 128 bits.
pub fn total_i128(start: i128, values: &[i128], rows: Rows) -> Result<i128> {
    let (mut sum, mut failed) = (start, false);
    rows.each(values.len(), |_, i| {
        let (next, overflow) = sum.overflowing_add(values[i]);
        sum = next;
        failed |= overflow;
    });
    if failed { Err(types::decimal::overflow()) } else { Ok(sum) }
}

/// Sum of F64, in an order of its own.
pub fn total_f64(values: &[f64], rows: Rows) -> f64 {
    if let (None, Some(selection)) = (rows.validity, rows.selection) {
        return selection.iter().map(|&i| values[i as usize]).sum();
    }
    let mut sum = 0.0;
    each_run(values, rows, |run| sum += add_f64(run));
    sum
}
