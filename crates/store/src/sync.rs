//! Parts of the protocols without locks; tests put those of a model checker in their place.

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters that threads are spread over, so that calls in flight do not share a cache line.
pub(crate) const SHARDS: usize = 8;

/// Attempts after which a waiting thread offers its core to others.
const SPINS: u32 = 64;

/// Waits a moment before attempt `attempt` of something that another thread is in the way of.
#[inline]
pub(crate) fn pause(attempt: u32) {
    if attempt < SPINS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}
