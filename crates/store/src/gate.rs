//! Counts calls in flight, so that a merge can wait for those that began before it.
//!
//! ```text
//! enter: add one to the side that is open; look whether it still is, else take it back
//! drain: open the other side; wait until nobody is left on the one that was open
//! ```
//! Invariant: when a drain ends, each call that entered before it began is over. A call that enters
//! while it goes on counts on the other side, and does not hold it up.
//! Proof: calls add to a counter and a drain adds nothing to it, both by read-modify-write, so one
//! comes first. If the call does, the drain sees it until it leaves. If the drain does, the call
//! has acquired what the drain released, sees the other side open, and takes its count back. Calls
//! on the other side began after an earlier switch, or before it and were waited for then.
//! Elsewhere: the model that loom runs (`tests/loom.rs`).
//! Source: the epochs of Pilman 2017, section 8.1, for a structure with one writer of epochs.

use crate::sync::{AtomicU64, AtomicUsize, Ordering, SHARDS, pause};

/// A counter on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    sides: [AtomicU64; 2],
}

/// The calls in flight of one table.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: AtomicUsize,
    shards: [Shard; SHARDS],
}

/// A call in flight, until it is dropped.
pub(crate) struct Passage<'a>(&'a AtomicU64);

impl Gate {
    /// Enters on one of the counters; any number will do, different threads better have different
    /// ones.
    #[inline]
    pub(crate) fn enter(&self, thread: usize) -> Passage<'_> {
        let shard = &self.shards[thread % SHARDS];
        let mut attempt = 0;
        loop {
            let side = self.open.load(Ordering::Acquire);
            let count = &shard.sides[side];
            count.fetch_add(1, Ordering::AcqRel);
            if self.open.load(Ordering::Acquire) == side {
                return Passage(count);
            }
            count.fetch_sub(1, Ordering::AcqRel);
            pause(attempt);
            attempt += 1;
        }
    }

    /// Waits for the calls that entered before. Only one thread drains at a time.
    pub(crate) fn drain(&self) {
        let side = self.open.load(Ordering::Acquire);
        self.open.store(1 - side, Ordering::Release);
        for shard in &self.shards {
            let mut attempt = 0;
            while shard.sides[side].fetch_add(0, Ordering::AcqRel) != 0 {
                pause(attempt);
                attempt += 1;
            }
        }
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
