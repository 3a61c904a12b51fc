//! Memory that nobody finds any more, and that comes back when every reader that may have found it
//! before has gone.
//!
//! ```text
//! defer(bytes) -> bag of the thread -- FLUSH_BYTES --> queue of all -- epochs advance --> dropped
//!                                       counted here: WAITING ^
//! ```
//! Invariant: nothing advances epochs in a process that rests, so whoever wants the memory does
//! ([`settle`], [`advance`]), while it is not pinned itself.
//! Elsewhere: what is deferred (`table::undo::collect`, `table::directory`).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::{self as epoch, Guard};

/// Bytes that a thread defers before it hands its bag to all threads.
const FLUSH_BYTES: u64 = 64 << 10;
/// Waiting bytes that the end of a transaction leaves for others to give back.
const SETTLE_BYTES: u64 = 1 << 20;
/// Times that the epoch is asked to advance before someone is taken to be in the way: four epochs
/// are enough, and each time drops no more than a few bags.
const ADVANCES: usize = 32;

/// Bytes in the queue of all threads, of all databases of the process.
static WAITING: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Bytes in the bag of this thread.
    static KEPT: Cell<u64> = const { Cell::new(0) };
}

/// Drops `what`, which holds `bytes`, once no thread is on it.
///
/// # Safety
/// Only threads that are pinned now may still use `what`, and any thread may drop it.
pub(crate) unsafe fn defer<T>(what: T, bytes: u64, guard: &Guard) {
    // SAFETY: by contract.
    unsafe { guard.defer_unchecked(move || drop(what)) };
    let kept = KEPT.get() + bytes;
    KEPT.set(kept);
    if kept >= FLUSH_BYTES {
        flush(guard);
    }
}

/// Hands the bag of this thread to all threads.
fn flush(guard: &Guard) {
    let kept = KEPT.take();
    if kept > 0 {
        WAITING.fetch_add(kept, Ordering::Relaxed);
        guard.defer(move || WAITING.fetch_sub(kept, Ordering::Relaxed));
    }
    guard.flush();
}

/// Bytes that wait for epochs to advance.
pub(super) fn waiting() -> u64 {
    WAITING.load(Ordering::Relaxed) + KEPT.get()
}

/// Lets epochs advance, if no thread is on an older one, and drops what that allows. For threads
/// that are not pinned.
pub(super) fn advance() {
    for _ in 0..ADVANCES {
        flush(&epoch::pin());
    }
}

/// Gives back what waits, unless it is little or a thread is in the way. For the end of a
/// transaction; one load when there is nothing.
pub fn settle() {
    loop {
        let before = WAITING.load(Ordering::Relaxed);
        if before < SETTLE_BYTES {
            return;
        }
        advance();
        if WAITING.load(Ordering::Relaxed) >= before {
            return;
        }
    }
}
