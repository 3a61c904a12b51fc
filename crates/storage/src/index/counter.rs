//! A count that many threads change at the same time.

use std::sync::atomic::{AtomicI64, Ordering};

const STRIPES: usize = 8;

/// A part of the count, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(AtomicI64);

/// Counts in stripes, so that threads that change different places rarely meet.
#[derive(Default)]
pub(super) struct Counter([Stripe; STRIPES]);

impl Counter {
    /// Adds `change`, which is due to something at `place`.
    #[inline]
    pub(super) fn add(&self, place: u64, change: i64) {
        self.0[place as usize % STRIPES].0.fetch_add(change, Ordering::Relaxed);
    }

    /// The sum; exact when nobody changes it.
    #[inline]
    pub(super) fn get(&self) -> u64 {
        let sum: i64 = self.0.iter().map(|s| s.0.load(Ordering::Relaxed)).sum();
        sum.max(0) as u64
    }
}
