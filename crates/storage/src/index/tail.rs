//! Bytes of long keys that do not fit their entry, and how much memory they take.
//!
//! ```text
//! entry word --> | length u32 | bytes |        on the general heap, counted by a Meter
//! ```
//! Invariant: the bytes never change. Whoever removes the entry frees them after an epoch, because
//! readers without latches may still compare with them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::Guard;
use parking_lot::Mutex;
use types::Result;

use crate::memory::{BufferPool, MemoryCategory, Reservation, defer};

const HEADER: usize = size_of::<u32>();

/// Owned bytes behind a thin pointer.
pub(super) struct Tail(NonNull<u8>);

// SAFETY: immutable bytes owned by one holder.
unsafe impl Send for Tail {}

impl Tail {
    /// A copy of `bytes`.
    ///
    /// # Panics
    /// If they are 4 GiB or more.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let length = u32::try_from(bytes.len()).expect("keys are shorter than 4 GiB");
        let layout = layout(bytes.len());
        // SAFETY: the layout has the bytes of the header at least.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: the allocation is new, aligned for the header, and has room for both.
        unsafe {
            start.cast::<u32>().write(length);
            start.add(HEADER).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        Self(start)
    }

    /// Its place, to keep in an entry.
    pub(super) fn into_word(self) -> u64 {
        let word = self.0.as_ptr().expose_provenance() as u64;
        std::mem::forget(self);
        word
    }

    /// The tail whose place is `word`.
    ///
    /// # Safety
    /// `word` must come from [`Self::into_word`], and no other tail be made from it.
    pub(super) unsafe fn from_word(word: u64) -> Self {
        Self(NonNull::new(with_exposed_provenance_mut(word as usize)).expect("a place is not null"))
    }

    /// Frees it once the threads that are pinned now have gone.
    pub(super) fn retire(self, guard: &Guard) {
        // SAFETY: alive until it is deferred.
        let bytes = unsafe { self.0.cast::<u32>().read() };
        // SAFETY: the bytes never change, and any thread may free them.
        unsafe { defer(self, held_bytes(bytes as usize), guard) };
    }

    /// The bytes of the tail whose place is `word`.
    ///
    /// # Safety
    /// `word` must come from [`Self::into_word`], and the tail not be freed during `'g`.
    #[inline]
    pub(super) unsafe fn bytes_at<'g>(word: u64) -> &'g [u8] {
        let start: *mut u8 = with_exposed_provenance_mut(word as usize);
        // SAFETY: by contract a live allocation of `new`: a header, then that many bytes.
        unsafe {
            let length = start.cast::<u32>().read();
            std::slice::from_raw_parts(start.add(HEADER), length as usize)
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // SAFETY: the allocation is ours and has the layout `new` gave it.
        unsafe {
            let length = self.0.cast::<u32>().read();
            dealloc(self.0.as_ptr(), layout(length as usize));
        }
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(HEADER + bytes, align_of::<u32>()).expect("less than half of memory")
}

/// Bytes that a tail of `bytes` is counted with.
pub(super) fn held_bytes(bytes: usize) -> u64 {
    (HEADER + bytes).next_multiple_of(16) as u64
}

/// Bytes of tails of one index, promised by the pool in steps.
pub(super) struct Meter {
    used: AtomicU64,
    promised: AtomicU64,
    reservation: Mutex<Reservation>,
}

/// Bytes asked of the pool at a time.
const STEP: u64 = 64 << 10;

impl Meter {
    pub(super) fn new(pool: &Arc<BufferPool>) -> Self {
        Self {
            used: AtomicU64::new(0),
            promised: AtomicU64::new(0),
            reservation: Mutex::new(Reservation::empty(pool, MemoryCategory::Indexes)),
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if used <= self.promised.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut reservation = self.reservation.lock();
        let used = self.used.load(Ordering::Relaxed);
        if used > reservation.bytes() {
            let grown = used.next_multiple_of(STEP) + used / 8 / STEP * STEP;
            let resized =
                reservation.resize(grown).or_else(|_| reservation.resize(used)).inspect_err(|_| {
                    self.used.fetch_sub(bytes, Ordering::Relaxed);
                });
            resized?;
            self.promised.store(reservation.bytes(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Counts `bytes` less.
    pub(super) fn give_back(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        if used + STEP < self.promised.load(Ordering::Relaxed) / 2 {
            let mut reservation = self.reservation.lock();
            let used = self.used.load(Ordering::Relaxed).next_multiple_of(STEP);
            if used < reservation.bytes() && reservation.resize(used).is_ok() {
                self.promised.store(used, Ordering::Relaxed);
            }
        }
    }
}
