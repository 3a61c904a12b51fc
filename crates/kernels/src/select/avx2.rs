//! AVX2 flavours: masks by compare and movemask, positions from a table of the bits of each byte.

use std::arch::x86_64::*;

use crate::Bitmap;

/// For each byte the numbers of its 1 bits, packed to the front: one byte each.
pub(crate) static BIT_NUMBERS: [[u8; 8]; 256] = bit_numbers();

const fn bit_numbers() -> [[u8; 8]; 256] {
    let mut table = [[0u8; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

/// Writes `base` + number of each 1 bit of `mask` at `end`; returns the new end.
///
/// # Safety
/// 64 positions must be writable from `end` on.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn emit(mask: u64, base: u32, mut end: *mut u32) -> *mut u32 {
    for part in 0..8 {
        let byte = (mask >> (part * 8)) as u8;
        let numbers = i64::from_le_bytes(BIT_NUMBERS[byte as usize]);
        let numbers = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(numbers));
        let first = _mm256_set1_epi32(base.wrapping_add(part * 8) as i32);
        // SAFETY: at most 8 positions were written for each earlier part, so 8 more are writable.
        unsafe {
            _mm256_storeu_si256(end.cast(), _mm256_add_epi32(first, numbers));
            end = end.add(byte.count_ones() as usize);
        }
    }
    end
}

/// Words with at most so many bits are taken apart bit by bit.
const FEW_BITS: u32 = 4;

/// Equals the scalar twin.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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

/// 32 bytes of `group`, at the byte offset `part * 32`.
#[inline]
#[target_feature(enable = "avx2")]
fn load<T>(group: &[T; 64], part: usize) -> __m256i {
    assert!(part * 32 + 32 <= size_of::<[T; 64]>());
    // SAFETY: the line above keeps the load inside the group; it needs no alignment.
    unsafe { _mm256_loadu_si256(group.as_ptr().cast::<__m256i>().add(part)) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn mask_8(group: &[u8; 64], lo: __m256i, width: __m256i) -> u64 {
    let mut mask = 0;
    for part in 0..2 {
        let offset = _mm256_sub_epi8(load(group, part), lo);
        let hit = _mm256_cmpeq_epi8(_mm256_min_epu8(offset, width), offset);
        mask |= u64::from(_mm256_movemask_epi8(hit) as u32) << (part * 32);
    }
    mask
}

#[inline]
#[target_feature(enable = "avx2")]
fn mask_16(group: &[u16; 64], lo: __m256i, width: __m256i) -> u64 {
    let hit = |part: usize| {
        let offset = _mm256_sub_epi16(load(group, part), lo);
        _mm256_cmpeq_epi16(_mm256_min_epu16(offset, width), offset)
    };
    let mut mask = 0;
    for part in 0..2 {
        let packed = _mm256_packs_epi16(hit(part * 2), hit(part * 2 + 1));
        // Packing works per 128-bit lane: quarters 0 2 1 3 are back in order after this.
        let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
        mask |= u64::from(_mm256_movemask_epi8(ordered) as u32) << (part * 32);
    }
    mask
}

#[inline]
#[target_feature(enable = "avx2")]
fn mask_32<T>(group: &[T; 64], lo: __m256i, width: __m256i) -> u64 {
    let mut mask = 0;
    for part in 0..8 {
        let offset = _mm256_sub_epi32(load(group, part), lo);
        let hit = _mm256_cmpeq_epi32(_mm256_min_epu32(offset, width), offset);
        mask |= u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(hit)) as u32) << (part * 8);
    }
    mask
}

#[inline]
#[target_feature(enable = "avx2")]
fn mask_64(group: &[i64; 64], lo: __m256i, width: __m256i) -> u64 {
    // AVX2 compares signed only: flip the top bits for an unsigned comparison.
    let flip = _mm256_set1_epi64x(i64::MIN);
    let width = _mm256_xor_si256(width, flip);
    let mut mask = 0;
    for part in 0..16 {
        let offset = _mm256_xor_si256(_mm256_sub_epi64(load(group, part), lo), flip);
        let miss = _mm256_cmpgt_epi64(offset, width);
        mask |= u64::from(!_mm256_movemask_pd(_mm256_castsi256_pd(miss)) as u32 & 15) << (part * 4);
    }
    mask
}

macro_rules! ranges {
    ($($range:ident, $value:ty, $lane:ty, $set:ident, $mask:ident;)*) => {$(
        /// Equals the scalar twin.
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        pub(super) fn $range(
            values: &[$value], lo: $value, hi: $value, base: u32, out: &mut Vec<u32>,
        ) {
            let width = $set(hi.wrapping_sub(lo) as $lane);
            let lo = $set(lo as $lane);
            select(values, base, out, |group, _| $mask(group, lo, width));
        }
    )*};
}

ranges! {
    range_u8, u8, i8, _mm256_set1_epi8, mask_8;
    range_u16, u16, i16, _mm256_set1_epi16, mask_16;
    range_u32, u32, i32, _mm256_set1_epi32, mask_32;
    range_i32, i32, i32, _mm256_set1_epi32, mask_32;
    range_i64, i64, i64, _mm256_set1_epi64x, mask_64;
}

/// The first 256 bits of `bits`, zero padded.
pub(super) fn bits_256(bits: &Bitmap) -> [u64; 4] {
    let mut words = [0u64; 4];
    let count = bits.words().len().min(4);
    words[..count].copy_from_slice(&bits.words()[..count]);
    words
}

/// Equals the scalar twin: byte `code / 8` of the bitmap by shuffle, then its bit `code % 8`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bitset_u8(codes: &[u8], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    let [a, b, c, d] = bits_256(bits).map(|word| word as i64);
    let low = _mm256_set_epi64x(b, a, b, a);
    let high = _mm256_set_epi64x(d, c, d, c);
    let powers = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let mask = |group: &[u8; 64], _: usize| {
        let mut mask = 0;
        for part in 0..2 {
            let codes = load(group, part);
            // Bits 3 to 6 of the code number a byte in a half, bit 7 chooses the half.
            let byte = _mm256_and_si256(_mm256_srli_epi16::<3>(codes), _mm256_set1_epi8(15));
            let in_low = _mm256_shuffle_epi8(low, byte);
            let in_high = _mm256_shuffle_epi8(high, byte);
            let byte = _mm256_blendv_epi8(in_low, in_high, codes);
            let power = _mm256_and_si256(codes, _mm256_set1_epi8(7));
            let power = _mm256_shuffle_epi8(powers, power);
            let hit = _mm256_cmpeq_epi8(_mm256_and_si256(byte, power), power);
            mask |= u64::from(_mm256_movemask_epi8(hit) as u32) << (part * 32);
        }
        mask
    };
    select(codes, base, out, mask);
}

/// Equals the scalar twin.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn bool_rows(values: &[u8], validity: &Bitmap, base: u32, out: &mut Vec<u32>) {
    let (lo, width) = (_mm256_set1_epi8(1), _mm256_set1_epi8(-2));
    let words = validity.words();
    select(values, base, out, |group, number| mask_8(group, lo, width) & words[number]);
}
