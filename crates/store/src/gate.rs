//! Counts calls in flight, so that a merge can wait for those that began before it.
//!
//! ```text
//! enter: add one to the side that is open; look whether it still is, else take it back
//! drain: open the other side; wait until nobody is left on the one that was open
//! ```
//! Invariant: when a drain ends, each call that entered before it began is over. A call that enters
//! while it goes on counts on the other side, and does not hold it up.
//! Proof: a call stays only if it saw its side open after it was counted. So its count comes before
//! the switch in the one order of these operations, and the drain, which looks after the switch,
//! sees it until the call leaves. Calls on the other side began after an earlier switch, or before
//! it and were waited for then.
//! Elsewhere: the model that loom runs (`tests/loom.rs`).
//! Source: the epochs of Pilman 2017, section 8.1, for a structure with one writer of epochs.

use crate::sync::{AtomicU64, AtomicUsize, Ordering, pause};

/// Counters that threads are spread over, so that calls do not share a cache line.
const SHARDS: usize = 8;

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
            let side = self.open.load(Ordering::SeqCst);
            let count = &shard.sides[side];
            count.fetch_add(1, Ordering::SeqCst);
            if self.open.load(Ordering::SeqCst) == side {
                return Passage(count);
            }
            count.fetch_sub(1, Ordering::SeqCst);
            pause(attempt);
            attempt += 1;
        }
    }

    /// Waits for the calls that entered before. Only one thread drains at a time.
    pub(crate) fn drain(&self) {
        let side = self.open.load(Ordering::SeqCst);
        self.open.store(1 - side, Ordering::SeqCst);
        for shard in &self.shards {
            let mut attempt = 0;
            while shard.sides[side].load(Ordering::SeqCst) != 0 {
                pause(attempt);
                attempt += 1;
            }
        }
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
