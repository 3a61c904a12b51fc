//! The word of a row as a latch.
//!
//! ```text
//! reader: load values (relaxed); settled(word) is what decides
//! writer: latch(word); link the record; order(); store values (relaxed); publish(word, record)
//! ```
//! A reader that loaded a value stored by a writer finds, behind its acquire fence, the word
//! latched
//! or what was published: the writer's release fence lies between latch and store. Waiting for the
//! latch to go, it then finds the record.

use super::sync::{AtomicU64, Ordering, fence, pause};

/// Bit of a word while a thread writes the row.
pub(crate) const LATCHED: u64 = 1;

/// Waits until the word is not latched, and returns it. Loads before it happened before.
#[inline]
pub(crate) fn settled(word: &AtomicU64) -> u64 {
    fence(Ordering::Acquire);
    let mut attempt = 0;
    loop {
        let found = word.load(Ordering::Acquire);
        if found & LATCHED == 0 {
            return found;
        }
        attempt += 1;
        pause(attempt);
    }
}

/// Latches the word; returns what it was.
#[inline]
pub(crate) fn latch(word: &AtomicU64) -> u64 {
    let mut attempt = 0;
    loop {
        let found = word.load(Ordering::Relaxed);
        let order = (Ordering::Acquire, Ordering::Relaxed);
        if found & LATCHED == 0
            && word.compare_exchange(found, found | LATCHED, order.0, order.1).is_ok()
        {
            return found;
        }
        attempt += 1;
        pause(attempt);
    }
}

/// Between latching and the first value stored.
#[inline]
pub(crate) fn order() {
    fence(Ordering::Release);
}

/// Unlatches with this word: a record, or what it was.
#[inline]
pub(crate) fn publish(word: &AtomicU64, record: u64) {
    word.store(record, Ordering::Release);
}
