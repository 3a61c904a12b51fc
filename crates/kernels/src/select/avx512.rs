//! AVX-512 flavours: masks by compare, positions by compress; single codes by gather.

use std::arch::x86_64::*;

use super::scalar;
use crate::Bitmap;

/// 0, 1 ... 15.
#[inline]
#[target_feature(enable = "avx512f")]
fn row_numbers() -> __m512i {
    _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

/// Writes `base` + number of each 1 bit of `mask` at `end`; returns the new end.
///
/// # Safety
/// 64 positions must be writable from `end` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn emit(mask: u64, base: u32, mut end: *mut u32) -> *mut u32 {
    let mut rows = _mm512_add_epi32(_mm512_set1_epi32(base as i32), row_numbers());
    for part in 0..4 {
        let bits = (mask >> (part * 16)) as u16;
        // SAFETY: at most 16 positions were written for each earlier part, so 16 more are writable.
        // A whole register is stored: compressing into memory is slow on some machines.
        unsafe {
            _mm512_storeu_si512(end.cast(), _mm512_maskz_compress_epi32(bits, rows));
            end = end.add(bits.count_ones() as usize);
        }
        rows = _mm512_add_epi32(rows, _mm512_set1_epi32(16));
    }
    end
}

/// Words with at most so many bits are taken apart bit by bit.
const FEW_BITS: u32 = 4;

/// Equals the scalar twin.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bit_rows(words: &[u64], base: u32, out: &mut Vec<u32>) {
    for (number, &word) in words.iter().enumerate() {
        let first = base.wrapping_add(number as u32 * 64);
        if word.count_ones() <= FEW_BITS {
            super::scalar::few_rows(word, first, out);
            continue;
        }
        out.reserve(128);
        // SAFETY: 128 positions are reserved behind the length, of which `emit` writes up to 64
        // and says where the last kept one ends: in the same allocation, all initialised.
        unsafe {
            let end = emit(word, first, out.as_mut_ptr().add(out.len()));
            let len = end.offset_from_unsigned(out.as_ptr());
            out.set_len(len);
        }
    }
}

/// Appends `base` + row for each 1 bit of `mask(64 values, number of their group)`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn select<T: Copy + Default>(
    values: &[T],
    base: u32,
    out: &mut Vec<u32>,
    mask: impl Fn(&[T; 64], usize) -> u64,
) {
    // `emit` writes up to 64 positions past those it keeps.
    out.reserve(values.len() + 64);
    // SAFETY: the old length is within capacity.
    let mut end = unsafe { out.as_mut_ptr().add(out.len()) };
    let (groups, rest) = values.as_chunks::<64>();
    for (number, group) in groups.iter().enumerate() {
        let first = base.wrapping_add(number as u32 * 64);
        // SAFETY: at most 64 positions per earlier group are written, and 64 more are reserved.
        end = unsafe { emit(mask(group, number), first, end) };
    }
    if !rest.is_empty() {
        let mut padded = [T::default(); 64];
        padded[..rest.len()].copy_from_slice(rest);
        let bits = mask(&padded, groups.len()) & ((1u64 << rest.len()) - 1);
        let first = base.wrapping_add(groups.len() as u32 * 64);
        // SAFETY: as above.
        end = unsafe { emit(bits, first, end) };
    }
    // SAFETY: `end` is behind the last position kept, in the same allocation, all initialised.
    unsafe {
        let len = end.offset_from_unsigned(out.as_ptr());
        out.set_len(len);
    }
}

/// 64 bytes of `group`, at the byte offset `part * 64`.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(group: &[T; 64], part: usize) -> __m512i {
    assert!(part * 64 + 64 <= size_of::<[T; 64]>());
    // SAFETY: the line above keeps the load inside the group; it needs no alignment.
    unsafe { _mm512_loadu_si512(group.as_ptr().cast::<__m512i>().add(part)) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn mask_8(group: &[u8; 64], lo: __m512i, width: __m512i) -> u64 {
    _mm512_cmple_epu8_mask(_mm512_sub_epi8(load(group, 0), lo), width)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn mask_16(group: &[u16; 64], lo: __m512i, width: __m512i) -> u64 {
    let part = |i| u64::from(_mm512_cmple_epu16_mask(_mm512_sub_epi16(load(group, i), lo), width));
    part(0) | part(1) << 32
}

#[inline]
#[target_feature(enable = "avx512f")]
fn mask_32<T>(group: &[T; 64], lo: __m512i, width: __m512i) -> u64 {
    let part = |i| u64::from(_mm512_cmple_epu32_mask(_mm512_sub_epi32(load(group, i), lo), width));
    part(0) | part(1) << 16 | part(2) << 32 | part(3) << 48
}

#[inline]
#[target_feature(enable = "avx512f")]
fn mask_64(group: &[i64; 64], lo: __m512i, width: __m512i) -> u64 {
    let mut mask = 0;
    for part in 0..8 {
        let offset = _mm512_sub_epi64(load(group, part), lo);
        mask |= u64::from(_mm512_cmple_epu64_mask(offset, width)) << (part * 8);
    }
    mask
}

/// Keeps `positions[i]` where `mask(16 positions)` has a 1 bit; the last ones by `keep`.
///
/// `mask` and `keep` are called with positions below `rows` only.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
fn refine(
    rows: usize,
    positions: &mut Vec<u32>,
    mask: impl Fn(__m512i) -> u16,
    keep: impl Fn(usize) -> bool,
) {
    let bound = _mm512_set1_epi32(rows.min(u32::MAX as usize) as u32 as i32);
    let (count, start) = (positions.len(), positions.as_mut_ptr());
    let (mut read, mut kept) = (0, 0);
    while read + 16 <= count {
        // SAFETY: `read + 16 <= count` positions are readable.
        let chunk = unsafe { _mm512_loadu_si512(start.add(read).cast()) };
        assert!(_mm512_cmpge_epu32_mask(chunk, bound) == 0, "position past the end");
        let bits = mask(chunk);
        // SAFETY: `kept <= read`, so the 16 positions written were read before.
        unsafe {
            let survivors = _mm512_maskz_compress_epi32(bits, chunk);
            _mm512_storeu_si512(start.add(kept).cast(), survivors);
        }
        kept += bits.count_ones() as usize;
        read += 16;
    }
    for i in read..count {
        let position = positions[i];
        assert!((position as usize) < rows, "position past the end");
        positions[kept] = position;
        kept += usize::from(keep(position as usize));
    }
    positions.truncate(kept);
}

/// Values above this many are left to the scalar twin: gather offsets are signed 32-bit bytes.
const GATHER_ROWS_MAX: usize = 1 << 28;

/// The codes at 16 positions, zero-extended.
///
/// # Safety
/// The slice's length is from 4 to [`GATHER_ROWS_MAX`], and every position is below it.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather_u8(values: &[u8], positions: __m512i) -> __m512i {
    // Four bytes are read at once: near the end start earlier, and shift the wanted byte down.
    let offset = _mm512_min_epu32(positions, _mm512_set1_epi32(values.len() as i32 - 4));
    let shift = _mm512_slli_epi32::<3>(_mm512_sub_epi32(positions, offset));
    // SAFETY: `offset + 4 <= len` for every lane.
    let words = unsafe { _mm512_i32gather_epi32::<1>(offset, values.as_ptr().cast()) };
    _mm512_and_si512(_mm512_srlv_epi32(words, shift), _mm512_set1_epi32(0xff))
}

/// As [`gather_u8`], from a slice of 2 values or more.
///
/// # Safety
/// As [`gather_u8`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather_u16(values: &[u16], positions: __m512i) -> __m512i {
    let wanted = _mm512_add_epi32(positions, positions);
    let offset = _mm512_min_epu32(wanted, _mm512_set1_epi32(values.len() as i32 * 2 - 4));
    let shift = _mm512_slli_epi32::<3>(_mm512_sub_epi32(wanted, offset));
    // SAFETY: `offset + 4` bytes are in the slice for every lane.
    let words = unsafe { _mm512_i32gather_epi32::<1>(offset, values.as_ptr().cast()) };
    _mm512_and_si512(_mm512_srlv_epi32(words, shift), _mm512_set1_epi32(0xffff))
}

/// As [`gather_u8`], for any 4-byte type.
///
/// # Safety
/// As [`gather_u8`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather_u32<T>(values: &[T], positions: __m512i) -> __m512i {
    // SAFETY: every position is in the slice.
    unsafe { _mm512_i32gather_epi32::<4>(positions, values.as_ptr().cast()) }
}

macro_rules! ranges {
    ($(
        $range:ident, $refine:ident, $value:ty, $lane:ty, $set:ident, $mask:ident, $gather:ident;
    )*) => {$(
        /// Equals the scalar twin.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
        #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
        pub(super) fn $range(
            values: &[$value], lo: $value, hi: $value, base: u32, out: &mut Vec<u32>,
        ) {
            let width = $set(hi.wrapping_sub(lo) as $lane);
            let lo = $set(lo as $lane);
            select(values, base, out, |group, _| $mask(group, lo, width));
        }

        /// Equals the scalar twin.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
        #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
        pub(super) fn $refine(
            values: &[$value], lo: $value, hi: $value, positions: &mut Vec<u32>,
        ) {
            if !(4..=GATHER_ROWS_MAX).contains(&values.len()) {
                return scalar::$refine(values, lo, hi, positions);
            }
            // Lanes are the values zero-extended, or as they are for 4 bytes.
            let first = _mm512_set1_epi32(lo as i32);
            let width = _mm512_set1_epi32((hi as i32).wrapping_sub(lo as i32));
            let mask = |chunk: __m512i| {
                // SAFETY: `refine` gives positions below the length, which was checked above.
                let lanes = unsafe { $gather(values, chunk) };
                _mm512_cmple_epu32_mask(_mm512_sub_epi32(lanes, first), width)
            };
            refine(values.len(), positions, mask, |p| lo <= values[p] && values[p] <= hi);
        }
    )*};
}

ranges! {
    range_u8, refine_u8, u8, i8, _mm512_set1_epi8, mask_8, gather_u8;
    range_u16, refine_u16, u16, i16, _mm512_set1_epi16, mask_16, gather_u16;
    range_u32, refine_u32, u32, i32, _mm512_set1_epi32, mask_32, gather_u32;
    range_i32, refine_i32, i32, i32, _mm512_set1_epi32, mask_32, gather_u32;
}

/// Equals the scalar twin.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn range_i64(values: &[i64], lo: i64, hi: i64, base: u32, out: &mut Vec<u32>) {
    let width = _mm512_set1_epi64(hi.wrapping_sub(lo));
    let lo = _mm512_set1_epi64(lo);
    select(values, base, out, |group, _| mask_64(group, lo, width));
}

/// Equals the scalar twin.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn refine_i64(values: &[i64], lo: i64, hi: i64, positions: &mut Vec<u32>) {
    if values.len() > GATHER_ROWS_MAX {
        return scalar::refine_i64(values, lo, hi, positions);
    }
    let width = _mm512_set1_epi64(hi.wrapping_sub(lo));
    let first = _mm512_set1_epi64(lo);
    let half = |eight: __m256i| {
        // SAFETY: `refine` gives positions below the length, and offsets fit 31 bits (scale 8).
        let lanes = unsafe { _mm512_i32gather_epi64::<8>(eight, values.as_ptr().cast()) };
        u16::from(_mm512_cmple_epu64_mask(_mm512_sub_epi64(lanes, first), width))
    };
    let mask = |chunk: __m512i| {
        let low = half(_mm512_castsi512_si256(chunk));
        low | half(_mm512_extracti64x4_epi64::<1>(chunk)) << 8
    };
    refine(values.len(), positions, mask, |p| lo <= values[p] && values[p] <= hi);
}

/// Which of 16 codes have a 1 bit in `words`, a bitmap of `len` bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn bits_at(words: &[u64], len: usize, codes: __m512i) -> u16 {
    // Byte offsets of 32-bit words stay below 2^29 even for 2^32 codes.
    let bound = _mm512_set1_epi32(len.min(u32::MAX as usize) as u32 as i32);
    let inside = _mm512_cmplt_epu32_mask(codes, bound);
    let index = _mm512_srli_epi32::<5>(codes);
    let zero = _mm512_setzero_si512();
    debug_assert!(words.len() * 64 >= len);
    // SAFETY: only lanes with `code < len` are read, and `words` holds `len` bits.
    let found =
        unsafe { _mm512_mask_i32gather_epi32::<4>(zero, inside, index, words.as_ptr().cast()) };
    let bit = _mm512_and_si512(codes, _mm512_set1_epi32(31));
    _mm512_test_epi32_mask(found, _mm512_sllv_epi32(_mm512_set1_epi32(1), bit))
}

/// Equals the scalar twin: byte `code / 8` of the bitmap by permute, then its bit `code % 8`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bitset_u8(codes: &[u8], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    let [a, b, c, d] = super::avx2::bits_256(bits).map(|word| word as i64);
    let bytes = _mm512_set_epi64(d, c, b, a, d, c, b, a);
    let powers = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let mask = |group: &[u8; 64], _: usize| {
        let codes = load(group, 0);
        let index = _mm512_and_si512(_mm512_srli_epi16::<3>(codes), _mm512_set1_epi8(31));
        let byte = _mm512_permutexvar_epi8(index, bytes);
        let power = _mm512_and_si512(codes, _mm512_set1_epi8(7));
        _mm512_test_epi8_mask(byte, _mm512_shuffle_epi8(powers, power))
    };
    select(codes, base, out, mask);
}

/// Equals the scalar twin.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bitset_u16(codes: &[u16], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    let (words, len) = (bits.words(), bits.len());
    let mask = |group: &[u16; 64], _: usize| {
        let mut mask = 0;
        for half in 0..2 {
            let codes = load(group, half);
            let low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes));
            let high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(codes));
            let found = u64::from(bits_at(words, len, low));
            let found = found | u64::from(bits_at(words, len, high)) << 16;
            mask |= found << (half * 32);
        }
        mask
    };
    select(codes, base, out, mask);
}

/// Equals the scalar twin.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bitset_u32(codes: &[u32], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    let (words, len) = (bits.words(), bits.len());
    let mask = |group: &[u32; 64], _: usize| {
        let mut mask = 0;
        for part in 0..4 {
            mask |= u64::from(bits_at(words, len, load(group, part))) << (part * 16);
        }
        mask
    };
    select(codes, base, out, mask);
}

macro_rules! refine_bitsets {
    ($($refine:ident, $code:ty, $gather:ident;)*) => {$(
        /// Equals the scalar twin.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
        #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
        pub(super) fn $refine(codes: &[$code], bits: &Bitmap, positions: &mut Vec<u32>) {
            if !(4..=GATHER_ROWS_MAX).contains(&codes.len()) {
                return scalar::$refine(codes, bits, positions);
            }
            let (words, len) = (bits.words(), bits.len());
            let mask = |chunk: __m512i| {
                // SAFETY: `refine` gives positions below the length, which was checked above.
                bits_at(words, len, unsafe { $gather(codes, chunk) })
            };
            refine(codes.len(), positions, mask, |p| {
                let code = codes[p] as usize;
                code < len && bits.get(code)
            });
        }
    )*};
}

refine_bitsets! {
    refine_bitset_u8, u8, gather_u8;
    refine_bitset_u16, u16, gather_u16;
    refine_bitset_u32, u32, gather_u32;
}

/// Equals the scalar twin.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bool_rows(values: &[u8], validity: &Bitmap, base: u32, out: &mut Vec<u32>) {
    let words = validity.words();
    let mask = |group: &[u8; 64], number: usize| {
        let values = load(group, 0);
        _mm512_test_epi8_mask(values, values) & words[number]
    };
    select(values, base, out, mask);
}
