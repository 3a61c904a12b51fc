//! The lookup table of a segment: code byte to the range of rows where such codes occur.
//!
//! ```text
//! slot(code) = most significant byte of code that is not 0, + 256 * its index
//! table:       first row of each slot, u16 | last row of each slot, u16    (first > last: none)
//! ```
//! Invariant: rows with a code of `lo..=hi` all lie in `rows(lo, hi)`; slots ascend with codes.
//! Source: Funke 2015, section 5.4, Table 5.2. Departures: 16-bit row ids (4 bytes a slot, not 8),
//! and a table whose slots cover most of the block on average is not kept.

use std::ops::Range;

use crate::block::Segment;
use crate::memory::Memory;

/// Slots of a table over codes of `width` bytes.
pub(crate) fn table_entries(width: u8) -> usize {
    usize::from(width) * 256
}

#[inline]
fn slot(code: u32) -> usize {
    let byte = (31 - (code | 1).leading_zeros()) / 8;
    (code >> (byte * 8)) as usize + 256 * byte as usize
}

/// Below so many rows a scan costs less than a table.
const ROWS_MIN: usize = 4096;
/// A table is kept when its slots cover on average at most this share of the rows.
const COVER_MAX: f64 = 0.7;

/// The table over `codes`, when it is worth its bytes.
pub(crate) fn build<C: kernels::unpack::Code>(codes: &[C]) -> Option<Vec<u16>> {
    if codes.len() < ROWS_MIN {
        return None;
    }
    let entries = size_of::<C>() * 256;
    let mut table = vec![0u16; 2 * entries];
    let (first, last) = table.split_at_mut(entries);
    first.fill(u16::MAX);
    for (row, code) in codes.iter().enumerate() {
        last[slot(code.widen())] = row as u16;
    }
    for (row, code) in codes.iter().enumerate().rev() {
        first[slot(code.widen())] = row as u16;
    }
    let covers = first.iter().zip(last.iter()).filter(|(f, l)| f <= l);
    let covers = covers.map(|(&f, &l)| f64::from(l - f) + 1.0);
    let (used, sum) = covers.fold((0.0, 0.0), |(n, sum), cover| (n + 1.0, sum + cover));
    (sum <= COVER_MAX * used * codes.len() as f64).then_some(table)
}

/// A table in a block.
pub(crate) struct LookupTable<'a> {
    first: &'a [u16],
    last: &'a [u16],
}

impl<'a> LookupTable<'a> {
    /// The table of `segment`, which has one.
    pub(crate) fn new(memory: &'a Memory, segment: &Segment) -> Self {
        let entries = table_entries(segment.width);
        let table = memory.slice_of::<u16>(segment.lookup as usize, 2 * entries);
        let (first, last) = table.split_at(entries);
        Self { first, last }
    }

    /// The rows of slot `slot`; None when there are none.
    pub(crate) fn entry(&self, slot: usize) -> Option<Range<u32>> {
        let (first, last) = (self.first[slot], self.last[slot]);
        (first <= last).then(|| u32::from(first)..u32::from(last) + 1)
    }

    /// A range that holds all rows with a code of `lo..=hi`; empty when there are none.
    pub(crate) fn rows(&self, lo: u32, hi: u32) -> Range<u32> {
        if lo > hi {
            return 0..0;
        }
        let slots = slot(lo)..slot(hi).min(self.first.len() - 1) + 1;
        let ranges = slots.filter_map(|s| self.entry(s));
        let union = |a: Range<u32>, b: Range<u32>| a.start.min(b.start)..a.end.max(b.end);
        ranges.reduce(union).unwrap_or(0..0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use testkit::Random;

    use super::*;

    fn check<C: kernels::unpack::Code>(random: &mut Random, codes: &[C]) {
        let Some(table) = build(codes) else {
            return;
        };
        let (first, last) = table.split_at(table_entries(size_of::<C>() as u8));
        let table = LookupTable { first, last };
        for _ in 0..50 {
            let mut pick = || codes[random.below(codes.len() as u64) as usize].widen();
            let (a, b) = (pick(), pick().wrapping_add(1));
            let (lo, hi) = (a.min(b), a.max(b));
            let rows = table.rows(lo, hi);
            let matches =
                (0..codes.len() as u32).filter(|&r| (lo..=hi).contains(&codes[r as usize].widen()));
            for row in matches {
                assert!(rows.contains(&row), "row {row} of {lo}..={hi} is not in {rows:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn ranges_cover_all_matches(seed: u64, rows in 4096usize..65_537, spread in 0u32..32) {
            let random = &mut Random::new(seed);
            let noise = random.below(2000) + 1;
            let code = |i: usize, random: &mut Random| {
                (((i as u64) << spread >> 16) + random.below(noise)) as u32
            };
            let wide: Vec<u32> = (0..rows).map(|i| code(i, random)).collect();
            check(random, &wide);
            check(random, &wide.iter().map(|&c| c as u16).collect::<Vec<_>>());
            check(random, &wide.iter().map(|&c| (c >> 4) as u8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sorted_codes_are_found_exactly() {
        let codes: Vec<u8> = (0..65_536).map(|i| (i / 256) as u8).collect();
        let table = build(&codes).expect("useful");
        let (first, last) = table.split_at(256);
        let table = LookupTable { first, last };
        assert_eq!(table.rows(3, 3), 768..1024);
        assert_eq!(table.rows(254, 255), 65_024..65_536);
        assert_eq!(table.rows(4, 3), 0..0);
    }
}
