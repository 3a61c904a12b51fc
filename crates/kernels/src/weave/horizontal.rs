//! BitWeaving/H: codes in fields of words, each below a delimiter bit that takes the result.
//!
//! ```text
//! X, C: codes and constant in each field; M1: k ones, M2: the delimiter, L: the lowest bit
//! X <= C: (C + (X ^ M1) + L) & M2     X >= C: (X + (C ^ M1) + L) & M2
//! X <> C: ((X ^ C) + M1) & M2
//! ```

use super::{CodeCompare, Loop, last_code};
use crate::level::flavours;

/// Segments whose words lie side by side.
const LANES: usize = 8;

/// Where codes of `bits` bits stand.
#[derive(Clone, Copy)]
struct Shape {
    bits: usize,
    /// Words of a segment, and bits of a field.
    field: usize,
    /// Codes of a segment, at most 64.
    rows: usize,
    /// 1 in the lowest bit of each field.
    lowest: u64,
}

impl Shape {
    fn new(bits: u32) -> Self {
        let field = bits as usize + 1;
        let fields = 64 / field;
        let lowest = (0..fields).map(|j| 1u64 << (j * field)).sum();
        Self { bits: bits as usize, field, rows: fields * field, lowest }
    }

    /// Codes of a group of segments.
    fn group_rows(self) -> usize {
        self.rows * LANES
    }

    /// `constant` in each field.
    fn spread(self, constant: u32) -> u64 {
        self.lowest * u64::from(constant)
    }
}

/// Words that hold `rows` codes of `bits` bits.
pub fn words(rows: usize, bits: u32) -> usize {
    let shape = Shape::new(bits);
    rows.div_ceil(shape.group_rows()) * shape.field * LANES
}

/// Puts `codes` of `bits` bits into `out`, which is zeroed and has the size that [`words`] says.
///
/// # Panics
/// If the sizes do not fit, or `bits` is not 1 to 32.
pub fn pack(codes: &[u32], bits: u32, out: &mut [u64]) {
    assert_eq!(out.len(), words(codes.len(), bits), "the words that the codes need");
    debug_assert!(codes.iter().all(|&code| code <= last_code(bits)), "codes have so many bits");
    let shape = Shape::new(bits);
    for (segment, codes) in codes.chunks(shape.rows).enumerate() {
        let first = segment / LANES * shape.field * LANES + segment % LANES;
        for (row, &code) in codes.iter().enumerate() {
            let (field, word) = (row / shape.field, row % shape.field);
            out[first + word * LANES] |= u64::from(code) << (field * shape.field);
        }
    }
}

/// Clears the bits of `keep` whose code does not satisfy `compare`. `packed` is what [`pack`] made
/// of codes of `bits` bits, `keep` has a bit for each row (those past the last row 0).
///
/// # Panics
/// If the sizes do not fit.
pub fn find(packed: &[u64], bits: u32, compare: CodeCompare, keep: &mut [u64]) {
    let shape = Shape::new(bits);
    let (words, rest) = packed.as_chunks::<LANES>();
    assert!(rest.is_empty() && words.len().is_multiple_of(shape.field), "whole groups");
    let last = last_code(bits);
    let (ones, lowest) = (shape.spread(last), shape.lowest);
    match compare.loop_for(last) {
        Loop::All => {}
        Loop::None => keep.fill(0),
        Loop::Eq(c) => {
            let c = shape.spread(c);
            each(words, shape, keep, move |x| !((x ^ c).wrapping_add(ones)));
        }
        Loop::Ne(c) => {
            let c = shape.spread(c);
            each(words, shape, keep, move |x| (x ^ c).wrapping_add(ones));
        }
        Loop::Le(hi) => {
            let hi = shape.spread(hi).wrapping_add(lowest);
            each(words, shape, keep, move |x| hi.wrapping_add(x ^ ones));
        }
        Loop::Ge(lo) => {
            let lo = (shape.spread(lo) ^ ones).wrapping_add(lowest);
            each(words, shape, keep, move |x| x.wrapping_add(lo));
        }
        Loop::Between(lo, hi) => {
            let lo = (shape.spread(lo) ^ ones).wrapping_add(lowest);
            let hi = shape.spread(hi).wrapping_add(lowest);
            each(words, shape, keep, move |x| x.wrapping_add(lo) & hi.wrapping_add(x ^ ones));
        }
    }
}

/// True when no row of `rows` from `first` on is left, as far as whole words tell.
#[inline(always)]
fn is_over(keep: &[u64], first: usize, rows: usize) -> bool {
    let end = (first + rows).div_ceil(64).min(keep.len());
    keep[(first / 64).min(end)..end].iter().fold(0, |all, word| all | word) == 0
}

/// `keep &= bits` for the `count` rows from `first` on.
#[inline(always)]
fn intersect(keep: &mut [u64], first: usize, bits: u64, count: usize) {
    let (word, shift) = (first / 64, first % 64);
    let outside = if count == 64 { 0 } else { u64::MAX << count };
    if let Some(keep) = keep.get_mut(word) {
        *keep &= bits << shift | outside << shift | !(u64::MAX << shift);
    }
    if shift + count > 64
        && let Some(keep) = keep.get_mut(word + 1)
    {
        // Ones from above: rows of later segments.
        *keep &= (bits | outside) >> (64 - shift) | u64::MAX << (shift + count - 64);
    }
}

flavours! {
    /// Keeps the rows whose delimiter is 1 in `test` of their word.
    fn each [F: Fn(u64) -> u64](
        words: &[[u64; LANES]],
        shape: Shape,
        keep: &mut [u64],
        test: F,
    ) {
        let delimiters = shape.lowest << shape.bits;
        for (number, group) in words.chunks_exact(shape.field).enumerate() {
            let first = number * shape.group_rows();
            if is_over(keep, first, shape.group_rows()) {
                continue;
            }
            let mut dense = [0u64; LANES];
            for (i, word) in group.iter().enumerate() {
                let shift = (shape.bits - i) as u32;
                for (dense, &lane) in dense.iter_mut().zip(word) {
                    *dense |= (test(lane) & delimiters) >> shift;
                }
            }
            for (lane, bits) in dense.into_iter().enumerate() {
                intersect(keep, first + lane * shape.rows, bits, shape.rows);
            }
        }
    }
}
