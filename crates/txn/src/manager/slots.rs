//! One place for each running transaction: its number, its snapshot, for whom it waits.
//!
//! ```text
//! txn: 0 free | TxnId = bit 63, sequence << 10 | slot      start: IDLE | timestamp
//! ```
//! Invariants: a number is used once; `start` is set before its owner reads anything; edges of the
//! waits-for graph change under `waits` only, so that a cycle is seen by whoever closes it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use storage::{Timestamp, TxnId};
use types::waiting::waiting;

/// The most transactions at once.
pub const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 10;
const IDLE: u64 = u64::MAX;
const RUNNING_BIT: u64 = 1 << 63;

/// Two cache lines, so that neighbours do not disturb each other.
#[repr(align(128))]
struct Slot {
    txn: AtomicU64,
    start: AtomicU64,
    sequence: AtomicU64,
    waiters: AtomicU32,
    waits_for: AtomicU64,
    /// The transaction does nothing any more but take back what it did.
    is_ending: AtomicBool,
    latch: Mutex<()>,
    ended: Condvar,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            txn: AtomicU64::new(0),
            start: AtomicU64::new(IDLE),
            sequence: AtomicU64::new(0),
            waiters: AtomicU32::new(0),
            waits_for: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            latch: Mutex::new(()),
            ended: Condvar::new(),
        }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Ended,
    Deadlock,
    NotYet,
}

/// All places.
pub(super) struct Slots {
    slots: Box<[Slot]>,
    /// Slots from here on were never used.
    used: AtomicUsize,
    waits: Mutex<()>,
}

impl Slots {
    pub(super) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        Self { slots, used: AtomicUsize::new(0), waits: Mutex::new(()) }
    }

    /// A free place, now taken; None when all are.
    pub(super) fn claim(&self) -> Option<usize> {
        for slot in 0..SLOTS {
            let place = &self.slots[slot];
            if place.txn.load(Ordering::Relaxed) != 0 {
                continue;
            }
            let id = RUNNING_BIT
                | (place.sequence.load(Ordering::Relaxed) + 1) << SLOT_BITS
                | slot as u64;
            let taken =
                place.txn.compare_exchange(0, id, Ordering::SeqCst, Ordering::Relaxed).is_ok();
            if taken {
                // Only the owner counts on; the exchange above ordered it after the last owner.
                place.sequence.fetch_add(1, Ordering::Relaxed);
                self.used.fetch_max(slot + 1, Ordering::SeqCst);
                return Some(slot);
            }
        }
        None
    }

    /// The number of the transaction in `slot`.
    pub(super) fn id(&self, slot: usize) -> TxnId {
        TxnId(self.slots[slot].txn.load(Ordering::Relaxed))
    }

    /// The transaction in `slot` only takes back what it did, from now on.
    pub(super) fn set_ending(&self, slot: usize) {
        self.slots[slot].is_ending.store(true, Ordering::SeqCst);
    }

    /// Whether `txn` only takes back what it did.
    pub(super) fn is_ending(&self, txn: TxnId) -> bool {
        let place = &self.slots[(txn.0 as usize) & (SLOTS - 1)];
        place.is_ending.load(Ordering::SeqCst) && place.txn.load(Ordering::SeqCst) == txn.0
    }

    /// Puts the newest published timestamp into the slot, and returns it.
    pub(super) fn announce(&self, slot: usize, published: &AtomicU64) -> Timestamp {
        let mut ts = published.load(Ordering::SeqCst);
        loop {
            self.slots[slot].start.store(ts, Ordering::SeqCst);
            // Whoever computed a low-water mark without seeing this slot had read `published`
            // before; so the value read now is at or above that mark.
            let again = published.load(Ordering::SeqCst);
            if again == ts {
                return Timestamp(ts);
            }
            ts = again;
        }
    }

    /// The transaction in `slot` reads nothing any more: it keeps no versions.
    pub(super) fn let_go(&self, slot: usize) {
        self.slots[slot].start.store(IDLE, Ordering::SeqCst);
    }

    /// The smallest announced timestamp.
    pub(super) fn oldest(&self) -> Option<u64> {
        let used = self.used.load(Ordering::SeqCst);
        let starts = self.slots[..used].iter().map(|s| s.start.load(Ordering::SeqCst));
        starts.min().filter(|&start| start != IDLE)
    }

    /// Frees the place and wakes who waits for it.
    pub(super) fn release(&self, slot: usize) {
        let place = &self.slots[slot];
        place.start.store(IDLE, Ordering::SeqCst);
        place.is_ending.store(false, Ordering::SeqCst);
        place.txn.store(0, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if place.waiters.load(Ordering::SeqCst) > 0 {
            drop(place.latch.lock());
            place.ended.notify_all();
        }
    }

    /// Waits until `other` has ended, `slice` at most.
    pub(super) fn wait(&self, own: usize, other: TxnId, slice: Duration) -> Waited {
        let place = &self.slots[(other.0 as usize) & (SLOTS - 1)];
        if place.txn.load(Ordering::SeqCst) != other.0 {
            return Waited::Ended;
        }
        if !self.enter_wait(own, other) {
            return Waited::Deadlock;
        }
        place.waiters.fetch_add(1, Ordering::SeqCst);
        let deadline = Instant::now() + slice;
        let running = || place.txn.load(Ordering::SeqCst) == other.0;
        waiting(|| {
            let mut latch = place.latch.lock();
            while running() && !place.ended.wait_until(&mut latch, deadline).timed_out() {}
        });
        place.waiters.fetch_sub(1, Ordering::SeqCst);
        // The edge stays until `stop_waiting`, so that others see it between two slices.
        if running() { Waited::NotYet } else { Waited::Ended }
    }

    /// The transaction in `slot` no longer waits.
    pub(super) fn stop_waiting(&self, slot: usize) {
        self.slots[slot].waits_for.store(0, Ordering::SeqCst);
    }

    /// Adds the edge unless it closes a cycle.
    fn enter_wait(&self, own: usize, other: TxnId) -> bool {
        let _waits = self.waits.lock();
        let me = self.slots[own].txn.load(Ordering::SeqCst);
        let mut at = other.0;
        for _ in 0..SLOTS {
            if at == me {
                self.slots[own].waits_for.store(0, Ordering::SeqCst);
                return false;
            }
            let place = &self.slots[(at as usize) & (SLOTS - 1)];
            if place.txn.load(Ordering::SeqCst) != at {
                break;
            }
            at = place.waits_for.load(Ordering::SeqCst);
            if at == 0 {
                break;
            }
        }
        self.slots[own].waits_for.store(other.0, Ordering::SeqCst);
        true
    }

    /// Number, snapshot and waited-for of every running transaction. Who was not yet awake when the
    /// other one ended no longer waits.
    pub(super) fn running(&self) -> Vec<(TxnId, Timestamp, Option<TxnId>)> {
        let is_running = |txn: u64| {
            txn != 0 && self.slots[(txn as usize) & (SLOTS - 1)].txn.load(Ordering::SeqCst) == txn
        };
        let used = self.used.load(Ordering::SeqCst);
        let running = self.slots[..used].iter().filter_map(|place| {
            let txn = place.txn.load(Ordering::SeqCst);
            let start = place.start.load(Ordering::SeqCst);
            let waits = place.waits_for.load(Ordering::SeqCst);
            let live = txn != 0 && start != IDLE;
            let waits = is_running(waits).then_some(TxnId(waits));
            live.then_some((TxnId(txn), Timestamp(start), waits))
        });
        running.collect()
    }
}
