//! State of a payload in one word: whether it is in memory, and how many use it.
//!
//! ```text
//! RESIDENT | pins  --take, if no pins--> 0 | pins of who waits  --put--> RESIDENT | pins
//! ```
//! The latch of the payload is held by whoever takes or puts. Orderings: what `put` follows is seen
//! by who pins and finds RESIDENT; what comes before `unpin` is done when `take` succeeds.
//! Shown by `tests/pins.rs` under a model checker.

use crate::sync::{AtomicU64, Ordering};

/// Bit of the word: the payload is in memory. Below it: pins.
const RESIDENT: u64 = 1 << 63;

/// The word.
#[derive(Debug)]
pub(crate) struct Pins(AtomicU64);

impl Pins {
    /// State of a payload in memory that nobody uses.
    pub(crate) fn resident() -> Self {
        Self(AtomicU64::new(RESIDENT))
    }

    /// State of a payload that is not in memory.
    pub(crate) fn evicted() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a user; true when the payload is in memory, where it stays until [`Self::unpin`].
    #[inline]
    pub(crate) fn pin(&self) -> bool {
        self.0.fetch_add(1, Ordering::Acquire) & RESIDENT != 0
    }

    /// Takes a user back.
    #[inline]
    pub(crate) fn unpin(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// True when the payload is in memory, for who has pinned and holds the latch.
    pub(crate) fn has_come(&self) -> bool {
        self.0.load(Ordering::Acquire) & RESIDENT != 0
    }

    /// True when the payload is in memory at the moment.
    pub(crate) fn is_resident(&self) -> bool {
        self.0.load(Ordering::Relaxed) & RESIDENT != 0
    }

    /// True when the payload is in memory at the moment and nobody uses it.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RESIDENT
    }

    /// Makes a payload that nobody uses one that is not in memory; the caller, who holds the latch,
    /// then has it alone.
    pub(crate) fn take(&self) -> bool {
        self.0.compare_exchange(RESIDENT, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The caller, who holds the latch, has put the payload into memory.
    pub(crate) fn put(&self) {
        self.0.fetch_or(RESIDENT, Ordering::Release);
    }
}
