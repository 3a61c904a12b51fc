//! The values of a frozen segment as integers in value order: what trees and woven words hold.
//!
//! ```text
//! dictionary, truncation   the codes of the segment
//! plain, fixed width       order key - smallest order key of the block, if that fits 64 bits
//! single, text             none
//! ```

use crate::block::{Block, Frozen, Nulls, Scheme, with_codes};
use crate::fixed::{Fixed, with_fixed};
use crate::restriction::KeyTest;
use types::PhysicalType;

/// A closed range of codes, not empty.
pub(crate) type CodeRange = (u64, u64);

/// The integers of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Domain {
    /// The largest code of a value; the smallest is 0.
    pub(crate) last: u64,
    /// NULL's code, one above `last`, where NULLs occur.
    pub(crate) null: Option<u64>,
    /// The order key of code 0, for plain values.
    base: Option<i128>,
}

impl Domain {
    /// The domain of a segment with more than one value; None when it has no integers.
    pub(crate) fn of(block: &Block, column: usize) -> Option<Self> {
        let segment = block.segment(column);
        let has_nulls = segment.nulls != Nulls::None;
        if segment.has_codes() {
            let last = match segment.scheme {
                Scheme::Dictionary => u64::from(segment.entries) - 1,
                _ => block.sma_keys(column).map(|(min, max)| (max - min) as u64)?,
            };
            let null = has_nulls.then_some(u64::from(segment.null_code));
            return Some(Self { last, null, base: None });
        }
        if segment.scheme != Scheme::Plain || segment.physical == PhysicalType::Str {
            return None;
        }
        let (min, max) = block.sma_keys(column)?;
        let last = u64::try_from(max.wrapping_sub(min) as u128).ok()?;
        let null = if has_nulls { Some(last.checked_add(1)?) } else { None };
        Some(Self { last, null, base: Some(min) })
    }

    /// Calls `visit(row, code)` for each row whose value is not NULL, in order of rows.
    pub(super) fn each(&self, block: Frozen<'_>, column: usize, mut visit: impl FnMut(u32, u64)) {
        let Some(base) = self.base else {
            let null = self.null;
            with_codes!(block.codes(column), codes => {
                for (row, &code) in codes.iter().enumerate() {
                    if Some(u64::from(code)) != null {
                        visit(row as u32, u64::from(code));
                    }
                }
            });
            return;
        };
        let validity = block.validity_words(column);
        let is_valid = |row: usize| validity.is_none_or(|v| v[row / 64] >> (row % 64) & 1 == 1);
        with_fixed!(block.segment(column).physical, T => {
            let values = block.values::<<T as Fixed>::Bits>(column);
            for (row, &value) in values.iter().enumerate().filter(|(row, _)| is_valid(*row)) {
                visit(row as u32, (T::from_stored(value).key() - base) as u64);
            }
        }, unreachable!("text has no keys"))
    }

    /// The codes that satisfy a test of the order keys of plain values, ascending and apart; None
    /// when the codes are the segment's own, on which the scan has translated the test.
    pub(crate) fn ranges(&self, test: &KeyTest) -> Option<Vec<CodeRange>> {
        let base = self.base?;
        // `last` fits 64 bits, so the sum is a key of the type.
        let max = base + i128::from(self.last);
        let code = |key: i128| (key - base) as u64;
        Some(match test {
            KeyTest::Range(lo, hi) if *hi < base || *lo > max => Vec::new(),
            KeyTest::Range(lo, hi) => vec![(code(base.max(*lo)), code(max.min(*hi)))],
            KeyTest::Not(key) if !(base..=max).contains(key) => vec![(0, self.last)],
            KeyTest::Not(key) => self.without(code(*key)),
            KeyTest::Set(keys) => {
                let inside = keys.iter().filter(|key| (base..=max).contains(key));
                runs(inside.map(|&key| code(key)))
            }
        })
    }

    /// All codes of values but one.
    pub(crate) fn without(&self, code: u64) -> Vec<CodeRange> {
        let below = (code > 0).then(|| (0, code - 1));
        let above = (code < self.last).then(|| (code + 1, self.last));
        below.into_iter().chain(above).collect()
    }
}

/// Ascending codes as ranges.
pub(crate) fn runs(codes: impl Iterator<Item = u64>) -> Vec<CodeRange> {
    let mut ranges: Vec<CodeRange> = Vec::new();
    for code in codes {
        match ranges.last_mut() {
            Some((_, hi)) if *hi + 1 == code => *hi = code,
            _ => ranges.push((code, code)),
        }
    }
    ranges
}
