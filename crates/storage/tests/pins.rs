//! Pins of a payload under a model checker: readers, who read it from its file where it is gone,
//! beside who takes it back, in all orders and with all values that weak memory lets them see.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../src/block/payload/pins.rs"]
mod pins;

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;
use pins::Pins;

/// Bytes of the payload.
const BYTES: u64 = 77;

/// A payload that comes and goes as that of a block.
struct Slot {
    pins: Pins,
    change: Mutex<()>,
    payload: UnsafeCell<Option<u64>>,
}

// SAFETY: the payload is reached as that of `block::payload`; loom finds races of its accesses.
unsafe impl Sync for Slot {}

impl Slot {
    fn resident() -> Arc<Self> {
        let payload = UnsafeCell::new(Some(BYTES));
        Arc::new(Self { pins: Pins::resident(), change: Mutex::new(()), payload })
    }

    fn evicted() -> Arc<Self> {
        let payload = UnsafeCell::new(None);
        Arc::new(Self { pins: Pins::evicted(), change: Mutex::new(()), payload })
    }

    /// Reads the payload, from its file if need be.
    fn read(&self) {
        if !self.pins.pin() {
            let _change = self.change.lock().expect("nobody panics");
            if !self.pins.has_come() {
                // SAFETY: not resident, and the latch is held.
                self.payload.with_mut(|payload| unsafe { *payload = Some(BYTES) });
                self.pins.put();
            }
        }
        // SAFETY: pinned, and found resident.
        let found = self.payload.with(|payload| unsafe { *payload });
        assert_eq!(found, Some(BYTES));
        self.pins.unpin();
    }

    /// Takes the payload back unless somebody uses it.
    fn evict(&self) {
        let Ok(_change) = self.change.try_lock() else { return };
        if self.pins.take() {
            // SAFETY: nobody counted as a pin, who comes now waits for the latch.
            self.payload.with_mut(|payload| unsafe { *payload = None });
        }
    }
}

/// Runs `others` in threads beside the last of the steps.
fn beside(slot: fn() -> Arc<Slot>, others: &'static [fn(&Slot)], own: fn(&Slot)) {
    loom::model(move || {
        let slot = slot();
        let run = |step: &fn(&Slot)| {
            let (slot, step) = (Arc::clone(&slot), *step);
            thread::spawn(move || step(&slot))
        };
        let threads: Vec<_> = others.iter().map(run).collect();
        own(&slot);
        threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
        slot.read();
        assert!(slot.pins.is_resident() && slot.pins.is_idle(), "all pins are back");
    });
}

#[test]
fn a_payload_that_is_read_is_not_taken_back() {
    beside(Slot::resident, &[Slot::evict], Slot::read);
    beside(Slot::resident, &[Slot::evict, Slot::read], Slot::read);
}

#[test]
fn one_of_two_readers_brings_a_payload() {
    beside(Slot::evicted, &[Slot::read], Slot::read);
    beside(Slot::evicted, &[Slot::read, Slot::evict], Slot::read);
}

#[test]
fn a_payload_is_taken_back_once() {
    beside(Slot::resident, &[Slot::evict], Slot::evict);
}
