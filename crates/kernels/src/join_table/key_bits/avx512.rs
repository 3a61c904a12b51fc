//! AVX-512 flavour: 16 keys at once.

use std::arch::x86_64::*;

use super::{IntegerKey, KeyBits};

/// Equals the loop one by one for whole groups of 16; values read, and positions kept.
///
/// # Safety
/// The machine has [`crate::Level::Avx512`]; the range is at most [`super::GATHER_RANGE_MAX`], and
/// `T` holds its keys.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn retain<T: IntegerKey, const STRIDE: usize>(
    bits: KeyBits<'_, STRIDE>,
    values: &[T],
    positions: &mut [u32],
) -> (usize, usize) {
    assert!(values.len() <= positions.len());
    let words = bits.words.as_ptr().cast::<i32>();
    let start = positions.as_mut_ptr();
    let (mut read, mut kept) = (0, 0);
    while read + 16 <= values.len() {
        // SAFETY: `read + 16` values and positions are there, and `kept <= read`, so what is
        // written over was read. Of a lane inside of the range the word is there
        // (`KeyBits::new`), its number is below 2^26; the other lanes read nothing.
        unsafe {
            let (offsets, inside) = T::offsets_512(values.as_ptr().add(read), bits.min, bits.range);
            let at = _mm512_srli_epi32::<5>(offsets);
            let zero = _mm512_setzero_si512();
            let found = if STRIDE == 8 {
                _mm512_mask_i32gather_epi32::<8>(zero, inside, at, words)
            } else {
                _mm512_mask_i32gather_epi32::<4>(zero, inside, at, words)
            };
            let bit = _mm512_and_si512(offsets, _mm512_set1_epi32(31));
            let hit = _mm512_test_epi32_mask(found, _mm512_sllv_epi32(_mm512_set1_epi32(1), bit));
            let chunk = _mm512_loadu_si512(start.add(read).cast());
            // A whole register is stored: compressing into memory is slow on some machines.
            let survivors = _mm512_maskz_compress_epi32(hit, chunk);
            _mm512_storeu_si512(start.add(kept).cast(), survivors);
            kept += hit.count_ones() as usize;
        }
        read += 16;
    }
    (read, kept)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn offsets_i32(values: *const i32, min: i64, range: u64) -> (__m512i, u16) {
    // SAFETY: the caller's values.
    let values = unsafe { _mm512_loadu_si512(values.cast()) };
    let offsets = _mm512_sub_epi32(values, _mm512_set1_epi32(min as i32));
    (offsets, _mm512_cmplt_epu32_mask(offsets, _mm512_set1_epi32(range as u32 as i32)))
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn offsets_i64(values: *const i64, min: i64, range: u64) -> (__m512i, u16) {
    let (min, range) = (_mm512_set1_epi64(min), _mm512_set1_epi64(range as i64));
    // SAFETY: the caller's values, 16 of them.
    let halves =
        unsafe { [_mm512_loadu_si512(values.cast()), _mm512_loadu_si512(values.add(8).cast())] };
    let [low, high] = halves.map(|half| _mm512_sub_epi64(half, min));
    let inside = u16::from(_mm512_cmplt_epu64_mask(low, range))
        | u16::from(_mm512_cmplt_epu64_mask(high, range)) << 8;
    let (low, high) = (_mm512_cvtepi64_epi32(low), _mm512_cvtepi64_epi32(high));
    (_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high), inside)
}
