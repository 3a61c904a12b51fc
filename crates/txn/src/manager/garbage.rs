//! Transactions that ended and whose undo records some snapshot may still need.
//!
//! ```text
//! commit -> queue of the thread, by timestamp -- every snapshot at or above --> collected,
//!           by the same thread at its next commits, by others now and then
//! ```
//! A thread collects what it wrote itself, so that two that write different rows do not take each
//! other's cache lines.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use storage::{Timestamp, UndoBuffer};

const QUEUES: usize = 16;
/// Ends of transactions after which a thread looks at the queues of others too.
const OTHERS_EVERY: u32 = 64;
/// How long a thread that collects is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

struct Ended {
    ts: Timestamp,
    undo: Arc<UndoBuffer>,
}

/// A queue in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Queue {
    /// Oldest first.
    ended: Mutex<VecDeque<Ended>>,
    /// Held by the thread that collects.
    collector: Mutex<()>,
}

/// Undo buffers to collect.
#[derive(Default)]
pub(super) struct Garbage {
    queues: [Queue; QUEUES],
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static QUEUE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % QUEUES;
    static ENDS: Cell<u32> = const { Cell::new(0) };
}

impl Garbage {
    /// Adds a transaction that ended at `ts`, the newest of all.
    pub(super) fn add(&self, ts: Timestamp, undo: UndoBuffer) {
        let queue = QUEUE.with(|queue| &self.queues[*queue]);
        queue.ended.lock().push_back(Ended { ts, undo: Arc::new(undo) });
    }

    /// Transactions that ended after `since`, newest first.
    pub(super) fn newer(&self, since: Timestamp) -> Vec<Arc<UndoBuffer>> {
        let mut newer = Vec::new();
        for queue in &self.queues {
            let ended = queue.ended.lock();
            let found = ended.iter().rev().take_while(|e| e.ts > since);
            newer.extend(found.map(|e| (e.ts, Arc::clone(&e.undo))));
        }
        newer.sort_unstable_by_key(|(ts, _)| std::cmp::Reverse(*ts));
        newer.into_iter().map(|(_, undo)| undo).collect()
    }

    /// How many, and their bytes.
    pub(super) fn size(&self) -> (usize, u64) {
        let of = |queue: &Queue| {
            let ended = queue.ended.lock();
            (ended.len(), ended.iter().map(|e| e.undo.bytes()).sum::<u64>())
        };
        self.queues.iter().map(of).fold((0, 0), |(n, b), (count, bytes)| (n + count, b + bytes))
    }

    /// After a transaction of this thread has ended: frees what this thread left and no snapshot
    /// needs any more, as `mark` tells; now and then, or when `all`, what any thread left.
    pub(super) fn collect_after(&self, all: bool, mark: impl Fn() -> Timestamp) {
        let ends = ENDS.get().wrapping_add(1);
        ENDS.set(ends);
        if all || ends.is_multiple_of(OTHERS_EVERY) {
            self.collect(mark);
        } else {
            QUEUE.with(|queue| self.queues[*queue].collect(&mark));
        }
    }

    /// Frees what no snapshot needs any more, other than what another thread is about to.
    pub(super) fn collect(&self, mark: impl Fn() -> Timestamp) {
        self.used().iter().for_each(|queue| queue.collect(&mark));
    }

    /// As [`Self::collect`]; waits, not for long, for threads that are about to.
    pub(super) fn collect_all(&self, mark: impl Fn() -> Timestamp) {
        self.collect(mark);
        for queue in self.used() {
            drop(queue.collector.try_lock_for(PATIENCE));
        }
    }

    fn used(&self) -> &[Queue] {
        &self.queues[..THREADS.load(Ordering::Relaxed).min(QUEUES)]
    }
}

impl Queue {
    fn collect(&self, mark: &impl Fn() -> Timestamp) {
        if self.ended.lock().is_empty() {
            return;
        }
        let Some(_collector) = self.collector.try_lock() else { return };
        let mark = mark();
        loop {
            let next = {
                let mut ended = self.ended.lock();
                match ended.front() {
                    Some(first) if first.ts <= mark => ended.pop_front(),
                    _ => None,
                }
            };
            let Some(Ended { ts, undo }) = next else { return };
            match Arc::try_unwrap(undo) {
                Ok(undo) => undo.collect(),
                // A validation is looking at it; the next collection will find it again.
                Err(undo) => return self.ended.lock().push_front(Ended { ts, undo }),
            }
        }
    }
}
