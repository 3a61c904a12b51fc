//! A latch with a version: writers exclude each other, readers write nothing and notice writers.
//!
//! ```text
//! word: even = version, odd = latched        latch: v -> v + 1        unlatch: v + 1 -> v + 2
//! reader: v = read(); load data (relaxed); is_unchanged(v)? the data are those of version v
//! ```
//! Invariant: words never go backwards, nodes that are used again included; so an equal version
//! means that nothing was written in between.
//! Why the fences: a reader that sees a datum written under the latch must also see the latch. The
//! release fence after latching comes before every write of data, the acquire fence before the
//! second load of the version after every read of them (Boehm 2012, "Can seqlocks get along with
//! programming language memory models?").
//! Source: Leis et al. 2016, "The ART of practical synchronization".

use super::sync::{AtomicU64, Ordering, fence, pause};

const LATCHED: u64 = 1;

/// The version, once nobody holds the latch.
#[inline]
pub(super) fn read(word: &AtomicU64) -> u64 {
    let mut attempt = 0;
    loop {
        let version = word.load(Ordering::Acquire);
        if version & LATCHED == 0 {
            return version;
        }
        attempt += 1;
        pause(attempt);
    }
}

/// True when nobody has held the latch since [`read`] returned `version`.
#[inline]
pub(super) fn is_unchanged(word: &AtomicU64, version: u64) -> bool {
    fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == version
}

/// Takes the latch if nobody has held it since [`read`] returned `version`.
#[inline]
pub(super) fn try_latch(word: &AtomicU64, version: u64) -> bool {
    let latched = version | LATCHED;
    let taken =
        word.compare_exchange(version, latched, Ordering::Acquire, Ordering::Relaxed).is_ok();
    fence(Ordering::Release);
    taken
}

/// Takes the latch, waiting for it.
#[inline]
pub(super) fn latch(word: &AtomicU64) {
    while !try_latch(word, read(word)) {}
}

/// Gives the latch back; whoever read meanwhile notices.
#[inline]
pub(super) fn unlatch(word: &AtomicU64) {
    let latched = word.load(Ordering::Relaxed);
    debug_assert!(latched & LATCHED != 0, "only a held latch is given back");
    word.store(latched.wrapping_add(1), Ordering::Release);
}
