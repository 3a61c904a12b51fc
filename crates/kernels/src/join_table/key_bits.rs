//! Tests of integer keys in a bitmap, many at once.
//!
//! ```text
//! values[i] - min = | word: 27 bits | bit: 5 bits |      below the range, else not there
//!                        STRIDE bytes from word to word: 4, or 8 with something between
//! ```
//! Machines with gather read the words of 8 or 16 keys by one instruction and keep the positions by
//! another; the loop that takes keys one by one is their twin.
//! Source: Polychroniou, Raghavan, Ross 2015, "Rethinking SIMD vectorization for in-memory
//! databases", sections 3 and 5 (gather, selective store).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};

use crate::level::{Level, level};

/// Range up to which places of words are offsets of a gather.
const GATHER_RANGE_MAX: u64 = 1 << 31;

/// Integers that are keys: INTEGER and DATE, BIGINT.
pub trait IntegerKey: lanes::Lanes + Copy + Into<i64> {}

impl IntegerKey for i32 {}
impl IntegerKey for i64 {}

mod lanes {
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::{__m256i, __m512i};

    /// Keys as lanes of registers; no other crate gives types lanes.
    pub trait Lanes: Sized {
        /// The type holds `min` and all keys of `range` from it on.
        fn holds(min: i64, range: u64) -> bool;

        /// Low 32 bits of the distances of 16 values from `min`; 1 bits for those below `range`.
        ///
        /// # Safety
        /// 16 values can be read; the machine has [`crate::Level::Avx512`].
        #[cfg(target_arch = "x86_64")]
        unsafe fn offsets_512(values: *const Self, min: i64, range: u64) -> (__m512i, u16);

        /// Low 32 bits of the distances of 8 values from `min`; all bits of a lane for those below
        /// `range`.
        ///
        /// # Safety
        /// 8 values can be read; the machine has [`crate::Level::Avx2`].
        #[cfg(target_arch = "x86_64")]
        unsafe fn offsets_256(values: *const Self, min: i64, range: u64) -> (__m256i, __m256i);
    }
}

impl lanes::Lanes for i32 {
    fn holds(min: i64, range: u64) -> bool {
        let last = i64::try_from(range).ok().and_then(|range| min.checked_add(range.max(1) - 1));
        Self::try_from(min).is_ok() && last.is_some_and(|last| Self::try_from(last).is_ok())
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn offsets_512(values: *const Self, min: i64, range: u64) -> (__m512i, u16) {
        // SAFETY: as the caller's.
        unsafe { avx512::offsets_i32(values, min, range) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn offsets_256(values: *const Self, min: i64, range: u64) -> (__m256i, __m256i) {
        // SAFETY: as the caller's.
        unsafe { avx2::offsets_i32(values, min, range) }
    }
}

impl lanes::Lanes for i64 {
    fn holds(_: i64, _: u64) -> bool {
        true
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn offsets_512(values: *const Self, min: i64, range: u64) -> (__m512i, u16) {
        // SAFETY: as the caller's.
        unsafe { avx512::offsets_i64(values, min, range) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn offsets_256(values: *const Self, min: i64, range: u64) -> (__m256i, __m256i) {
        // SAFETY: as the caller's.
        unsafe { avx2::offsets_i64(values, min, range) }
    }
}

/// A bitmap of keys from `min` on: 32 of them in the first four of each `STRIDE` bytes,
/// little-endian.
#[derive(Clone, Copy)]
pub(super) struct KeyBits<'a, const STRIDE: usize> {
    words: &'a [u64],
    min: i64,
    range: u64,
}

impl<'a, const STRIDE: usize> KeyBits<'a, STRIDE> {
    /// The keys from `min` to `min + range - 1` of which there are bits.
    ///
    /// # Panics
    /// If there are fewer words than the range needs, or none.
    pub(super) fn new(words: &'a [u64], min: i64, range: u64) -> Self {
        const { assert!(STRIDE == 4 || STRIDE == 8) };
        assert!(!words.is_empty() && range.div_ceil(32) <= (words.len() * (8 / STRIDE)) as u64);
        Self { words, min, range }
    }

    #[inline(always)]
    fn has(&self, key: i64) -> bool {
        let offset = key.wrapping_sub(self.min) as u64;
        let inside = offset < self.range;
        let bits = STRIDE as u64 * 8;
        // A word of 64 bits has the keys of one stride of 8 bytes, or of two of 4.
        let (at, bit) =
            if bits == 64 { (offset / 32, offset % 32) } else { (offset / 64, offset % 64) };
        let at = if inside { at as usize } else { 0 };
        inside & (self.words[at] >> bit & 1 == 1)
    }

    /// `values[i]` is the key of `positions[i]`: keeps the positions whose key has its bit, in
    /// order.
    pub(super) fn retain<T: IntegerKey>(self, values: &[T], positions: &mut Vec<u32>) {
        assert_eq!(values.len(), positions.len(), "a value for each position");
        let fits = self.range <= GATHER_RANGE_MAX && T::holds(self.min, self.range);
        let (read, kept) = match level() {
            // SAFETY: `level` found the features of its variant on this machine; the range fits.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if fits => unsafe { avx512::retain(self, values, positions) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if fits => unsafe { avx2::retain(self, values, positions) },
            _ => (0, 0),
        };
        self.retain_one_by_one(values, positions, read, kept);
    }

    /// Goes on where `read` values were tested and `kept` positions stand in front.
    fn retain_one_by_one<T: IntegerKey>(
        self,
        values: &[T],
        positions: &mut Vec<u32>,
        read: usize,
        mut kept: usize,
    ) {
        for i in read..values.len() {
            positions[kept] = positions[i];
            kept += usize::from(self.has(values[i].into()));
        }
        positions.truncate(kept);
    }
}
