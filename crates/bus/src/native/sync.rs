//! What the protocol of versions is made of; tests put a model checker's parts in its place.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

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
