//! The scalar twins: they define what the other instruction sets must give.

use crate::Bitmap;
use crate::unpack::Code;

/// Appends `base + i` for each of `count` rows with `keep(i)`, without branches.
#[inline(always)]
pub(super) fn append(count: usize, base: u32, out: &mut Vec<u32>, keep: impl Fn(usize) -> bool) {
    let old = out.len();
    out.resize(old + count, 0);
    let target = &mut out[old..];
    let mut kept = 0;
    for i in 0..count {
        // `kept <= i < count`, so the write is in bounds.
        target[kept] = base.wrapping_add(i as u32);
        kept += usize::from(keep(i));
    }
    out.truncate(old + kept);
}

/// Keeps the positions with `keep(position)`, without branches.
#[inline(always)]
pub fn refine(positions: &mut Vec<u32>, keep: impl Fn(u32) -> bool) {
    let mut kept = 0;
    for i in 0..positions.len() {
        let position = positions[i];
        positions[kept] = position;
        kept += usize::from(keep(position));
    }
    positions.truncate(kept);
}

/// See the function of the parent with this name.
pub fn bit_rows(words: &[u64], base: u32, out: &mut Vec<u32>) {
    for (number, &word) in words.iter().enumerate() {
        few_rows(word, base.wrapping_add(number as u32 * 64), out);
    }
}

/// Appends `base` + number of each 1 bit, one after the other.
#[inline(always)]
pub(super) fn few_rows(mut word: u64, base: u32, out: &mut Vec<u32>) {
    while word != 0 {
        out.push(base.wrapping_add(word.trailing_zeros()));
        word &= word - 1;
    }
}

macro_rules! ranges {
    ($($range:ident, $refine:ident, $value:ty;)*) => {$(
        /// See the function of the parent with this name.
        pub fn $range(values: &[$value], lo: $value, hi: $value, base: u32, out: &mut Vec<u32>) {
            append(values.len(), base, out, |i| lo <= values[i] && values[i] <= hi);
        }

        /// See the function of the parent with this name.
        pub fn $refine(values: &[$value], lo: $value, hi: $value, positions: &mut Vec<u32>) {
            refine(positions, |p| lo <= values[p as usize] && values[p as usize] <= hi);
        }
    )*};
}

ranges! {
    range_u8, refine_u8, u8;
    range_u16, refine_u16, u16;
    range_u32, refine_u32, u32;
    range_i32, refine_i32, i32;
    range_i64, refine_i64, i64;
}

#[inline(always)]
fn bit<C: Code>(bits: &Bitmap, code: C) -> bool {
    let code = code.widen() as usize;
    code < bits.len() && bits.get(code)
}

macro_rules! bitsets {
    ($($bitset:ident, $refine:ident, $code:ty;)*) => {$(
        /// See the function of the parent with this name.
        pub fn $bitset(codes: &[$code], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
            append(codes.len(), base, out, |i| bit(bits, codes[i]));
        }

        /// See the function of the parent with this name.
        pub fn $refine(codes: &[$code], bits: &Bitmap, positions: &mut Vec<u32>) {
            refine(positions, |p| bit(bits, codes[p as usize]));
        }
    )*};
}

bitsets! {
    bitset_u8, refine_bitset_u8, u8;
    bitset_u16, refine_bitset_u16, u16;
    bitset_u32, refine_bitset_u32, u32;
}

/// See the function of the parent with this name.
pub fn bool_rows(values: &[u8], validity: &Bitmap, base: u32, out: &mut Vec<u32>) {
    append(values.len(), base, out, |i| values[i] != 0 && validity.get(i));
}
