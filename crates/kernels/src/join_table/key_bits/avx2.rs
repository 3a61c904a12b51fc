//! AVX2 flavour: 8 keys at once.

use std::arch::x86_64::*;

use super::{IntegerKey, KeyBits};
use crate::select::BIT_NUMBERS;

/// Equals the loop one by one for whole groups of 8; values read, and positions kept.
///
/// # Safety
/// The machine has [`crate::Level::Avx2`]; the range is at most [`super::GATHER_RANGE_MAX`], and
/// `T` holds its keys.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn retain<T: IntegerKey, const STRIDE: usize>(
    bits: KeyBits<'_, STRIDE>,
    values: &[T],
    positions: &mut [u32],
) -> (usize, usize) {
    assert!(values.len() <= positions.len());
    let words = bits.words.as_ptr().cast::<i32>();
    let start = positions.as_mut_ptr();
    let (mut read, mut kept) = (0, 0);
    while read + 8 <= values.len() {
        // SAFETY: `read + 8` values and positions are there, and `kept <= read`, so what is written
        // over was read. Of a lane inside of the range the word is there (`KeyBits::new`), its
        // number is below 2^26; the other lanes read the first word.
        unsafe {
            let (offsets, inside) = T::offsets_256(values.as_ptr().add(read), bits.min, bits.range);
            let at = _mm256_and_si256(_mm256_srli_epi32::<5>(offsets), inside);
            let found = if STRIDE == 8 {
                _mm256_i32gather_epi32::<8>(words, at)
            } else {
                _mm256_i32gather_epi32::<4>(words, at)
            };
            // The bit of the key becomes the sign.
            let bit = _mm256_and_si256(offsets, _mm256_set1_epi32(31));
            let signs = _mm256_sllv_epi32(found, _mm256_sub_epi32(_mm256_set1_epi32(31), bit));
            let signs = _mm256_and_si256(signs, inside);
            let hit = _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u8;
            let numbers = i64::from_le_bytes(BIT_NUMBERS[hit as usize]);
            let numbers = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(numbers));
            let chunk = _mm256_loadu_si256(start.add(read).cast());
            let survivors = _mm256_permutevar8x32_epi32(chunk, numbers);
            _mm256_storeu_si256(start.add(kept).cast(), survivors);
            kept += hit.count_ones() as usize;
        }
        read += 8;
    }
    (read, kept)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn offsets_i32(values: *const i32, min: i64, range: u64) -> (__m256i, __m256i) {
    // SAFETY: the caller's values.
    let values = unsafe { _mm256_loadu_si256(values.cast()) };
    let offsets = _mm256_sub_epi32(values, _mm256_set1_epi32(min as i32));
    // An empty range has no last offset: nothing is inside then.
    let last = _mm256_set1_epi32(range.saturating_sub(1) as u32 as i32);
    let inside = _mm256_cmpeq_epi32(_mm256_min_epu32(offsets, last), offsets);
    (offsets, if range == 0 { _mm256_setzero_si256() } else { inside })
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn offsets_i64(values: *const i64, min: i64, range: u64) -> (__m256i, __m256i) {
    let sign = i64::MIN;
    let min = _mm256_set1_epi64x(min);
    // Compared as signed numbers, all of them shifted by half of what there are.
    let range = _mm256_set1_epi64x(range as i64 ^ sign);
    // SAFETY: the caller's values, 8 of them.
    let halves =
        unsafe { [_mm256_loadu_si256(values.cast()), _mm256_loadu_si256(values.add(4).cast())] };
    let offsets = halves.map(|half| _mm256_sub_epi64(half, min));
    let inside = offsets
        .map(|half| _mm256_cmpgt_epi64(range, _mm256_xor_si256(half, _mm256_set1_epi64x(sign))));
    (low_halves(offsets), low_halves(inside))
}

/// The low 32 bits of 8 numbers of 64, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn low_halves([first, second]: [__m256i; 2]) -> __m256i {
    let even = _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0);
    let first = _mm256_permutevar8x32_epi32(first, even);
    let second = _mm256_permutevar8x32_epi32(second, even);
    _mm256_permute2x128_si256::<0x20>(first, second)
}
