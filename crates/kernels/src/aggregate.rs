//! Update loops of aggregates.
//!
//! ```text
//! grouped     state[groups[j]] <- state[groups[j]] + row      one state per group
//! ungrouped   state <- state + sum of all rows                vectorised, one state
//! ```
//! [`Rows`] says which rows of the column are looked at: row `j` of the selection belongs to group
//! `groups[j]`. Rows that are NULL change nothing. States live in slices owned by the caller, so
//! that one array per aggregate serves hash, dense and merged aggregation alike.
//!
//! Elsewhere: which loop belongs to which SQL function, merging of partial states, results
//! (`exec`).

mod extreme;
mod grouped;
mod moments;
mod total;
#[cfg(test)]
mod tests;

pub use extreme::{Extreme, StrExtremes, extreme, extreme_total, first};
pub use grouped::{
    bit_and, bit_or, bit_xor, bool_and, bool_or, count, count_rows, mark, sum_f64, sum_i32,
    sum_i64, sum_i64_narrow, sum_i128, sum_interval, sum_squares,
};
pub use moments::{Moments, PairMoments, moments, pair_moments};
pub use total::{count_total, total_f64, total_i32, total_i64, total_i128};

use crate::Bitmap;

/// Which rows of a column an update looks at.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Rows that are not NULL; None when none is.
    pub validity: Option<&'a Bitmap>,
    /// Row numbers; None for all rows in order.
    pub selection: Option<&'a [u32]>,
}

impl<'a> Rows<'a> {
    /// All rows of a column with this validity.
    pub fn all(validity: Option<&'a Bitmap>) -> Self {
        Self { validity, selection: None }
    }

    /// The rows numbered in `selection`.
    pub fn selected(validity: Option<&'a Bitmap>, selection: &'a [u32]) -> Self {
        Self { validity, selection: Some(selection) }
    }

    /// Calls `f(j, row)` for each row that is not NULL, `j` its number in the selection.
    #[inline(always)]
    fn each(&self, rows: usize, mut f: impl FnMut(usize, usize)) {
        match (self.validity, self.selection) {
            (None, None) => (0..rows).for_each(|i| f(i, i)),
            (None, Some(s)) => s.iter().enumerate().for_each(|(j, &i)| f(j, i as usize)),
            (Some(v), None) => {
                for (w, &word) in v.words().iter().enumerate() {
                    let mut word = word;
                    while word != 0 {
                        let i = w * 64 + word.trailing_zeros() as usize;
                        f(i, i);
                        word &= word - 1;
                    }
                }
            }
            (Some(v), Some(s)) => {
                for (j, &i) in s.iter().enumerate() {
                    if v.get(i as usize) {
                        f(j, i as usize);
                    }
                }
            }
        }
    }

    /// How many rows are looked at, NULLs included, of a column of `rows`.
    fn len(&self, rows: usize) -> usize {
        self.selection.map_or(rows, <[u32]>::len)
    }
}
