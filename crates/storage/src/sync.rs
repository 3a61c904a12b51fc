//! Atomics that latches are made of; tests put a model checker's parts in their place.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Attempts after which a waiting thread offers its core to others.
const SPINS: u32 = 64;

/// Waits a moment before attempt `attempt` of something that another thread is in the way of.
#[inline]
pub(crate) fn pause(attempt: u32) {
    if attempt.is_multiple_of(SPINS) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}
