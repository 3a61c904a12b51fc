//! One range of memory, read and written through typed slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use types::Interval;

use super::{BufferPool, MemoryCategory, Reservation, slots::Place};

/// A range of bytes from the pool, 64-byte aligned, zeroed when allocated; given back on drop.
#[derive(Debug)]
pub struct Memory {
    place: Option<Place>,
    bytes: usize,
    reservation: Reservation,
}

impl Memory {
    pub(super) fn new(place: Place, bytes: usize, reservation: Reservation) -> Self {
        debug_assert!(place.bytes >= bytes);
        Self { place: Some(place), bytes, reservation }
    }

    /// No memory.
    pub(crate) fn empty(pool: &Arc<BufferPool>, category: MemoryCategory) -> Self {
        Self { place: None, bytes: 0, reservation: Reservation::empty(pool, category) }
    }

    /// The pool that it is from.
    pub(crate) fn pool(&self) -> &Arc<BufferPool> {
        self.reservation.pool()
    }

    /// Bytes usable.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes counted in the pool, rounding included.
    pub fn held_bytes(&self) -> u64 {
        self.reservation.bytes()
    }

    /// The first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        let nowhere = std::ptr::without_provenance_mut(64);
        self.place.as_ref().map_or(nowhere, |p| p.start.as_ptr())
    }

    /// All bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the place holds `bytes` initialised bytes until drop. A hot block, which is
        // written while shared, is only reached through atomics.
        unsafe { std::slice::from_raw_parts(self.start(), self.bytes) }
    }

    /// All bytes, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` proves that nobody else refers to the memory.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.bytes) }
    }

    /// All whole 8-byte words.
    pub fn words(&self) -> &[u64] {
        self.slice_of(0, self.bytes / 8)
    }

    /// All whole 8-byte words, to write.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: aligned to 64, initialised, and exclusively ours.
        unsafe { std::slice::from_raw_parts_mut(self.start().cast(), self.bytes / 8) }
    }

    /// `count` values from byte `offset` on.
    ///
    /// # Panics
    /// If they do not lie inside the memory or are not aligned.
    #[inline]
    pub(crate) fn slice_of<T: Plain>(&self, offset: usize, count: usize) -> &[T] {
        let start = self.checked::<T>(offset, count);
        // SAFETY: `checked` proved bounds and alignment; any bytes are a valid `T` (`Plain`). Hot
        // blocks, which change, are only reached through atomics.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// The value at byte `offset`, aligned or not.
    ///
    /// # Panics
    /// If it does not lie inside the memory.
    #[inline]
    pub(crate) fn read_at<T: Plain>(&self, offset: usize) -> T {
        assert!(
            offset <= self.bytes && size_of::<T>() <= self.bytes - offset,
            "read inside the memory"
        );
        // SAFETY: in bounds by the assertion; any bytes are a valid `T`. As for `slice_of`.
        unsafe { self.start().add(offset).cast::<T>().read_unaligned() }
    }

    /// Word `offset / 8`, which other threads may be writing.
    #[inline]
    pub(crate) fn atomic_word(&self, offset: usize) -> &AtomicU64 {
        let start = self.checked::<u64>(offset, 1);
        // SAFETY: in bounds and aligned; such memory is only reached through atomics of one size.
        unsafe { AtomicU64::from_ptr(start) }
    }

    /// As [`Self::atomic_word`], 4 bytes.
    #[inline]
    pub(crate) fn atomic_half(&self, offset: usize) -> &AtomicU32 {
        let start = self.checked::<u32>(offset, 1);
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(start) }
    }

    /// As [`Self::atomic_word`], one byte.
    #[inline]
    pub(crate) fn atomic_byte(&self, offset: usize) -> &AtomicU8 {
        let start = self.checked::<u8>(offset, 1);
        // SAFETY: as above.
        unsafe { AtomicU8::from_ptr(start) }
    }

    /// Asks the processor for the lines of `bytes` bytes from `offset` on, which may lie outside.
    #[inline]
    pub(crate) fn prefetch(&self, offset: usize, bytes: usize) {
        prefetch(self.start().wrapping_add(offset), bytes);
    }

    #[inline]
    fn checked<T>(&self, offset: usize, count: usize) -> *mut T {
        let bytes = count.checked_mul(size_of::<T>());
        let fits = offset <= self.bytes && bytes.is_some_and(|b| b <= self.bytes - offset);
        assert!(fits && offset.is_multiple_of(align_of::<T>()), "range inside the memory");
        // SAFETY: `offset` is at most the length of the allocation.
        unsafe { self.start().add(offset).cast() }
    }
}

/// Asks the processor for the lines of the `bytes` bytes at `start`, which need not be memory.
#[inline]
pub(crate) fn prefetch(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (start.addr() / 64 * 64..start.addr() + bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing the program can see and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.with_addr(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

/// Zeroed words that many threads write: the directory of a hash table, say.
#[derive(Debug)]
pub struct AtomicMemory(Memory);

impl AtomicMemory {
    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: aligned, initialised, and the memory is reachable through this type alone.
        unsafe { std::slice::from_raw_parts(self.0.start().cast(), self.0.bytes / 8) }
    }

    /// The same memory for plain access, when all writers are done.
    pub fn into_memory(self) -> Memory {
        self.0
    }
}

impl From<Memory> for AtomicMemory {
    fn from(memory: Memory) -> Self {
        Self(memory)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.reservation.pool().give_back(place);
        }
    }
}

/// Types whose every bit pattern is a value and that have no padding.
///
/// # Safety
/// Implementors must be exactly that.
pub(crate) unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        // SAFETY: a primitive number.
        unsafe impl Plain for $ty {}
    )*};
}

plain!(u8, u16, u32, u64, i32, i64, i128, f64);

/// An interval as it stands in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct IntervalBits {
    months: i32,
    days: i32,
    micros: i64,
}

// SAFETY: three numbers whose sizes leave no padding under `repr(C)`.
unsafe impl Plain for IntervalBits {}

impl From<Interval> for IntervalBits {
    fn from(v: Interval) -> Self {
        Self { months: v.months, days: v.days, micros: v.micros }
    }
}

impl From<IntervalBits> for Interval {
    fn from(v: IntervalBits) -> Self {
        Self { months: v.months, days: v.days, micros: v.micros }
    }
}

/// The bytes of plain values.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding, so all their bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}
