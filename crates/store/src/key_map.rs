//! Words by key, found and added without locks: the index of a log, and of keys not merged yet.
//!
//! ```text
//! segment   | slot | slot | ...           slot: | key + 1, 0 = free | word |
//!    '-- next: eight times as large, or none yet
//! ```
//! A key's slot is the first of its window in the first segment that has room there. Slots never
//! become free, so a window that is full stays full: whoever looks for a key goes the same way, and
//! two that add one key meet in one slot, whose compare-exchange decides. The largest key, which
//! has no number left above it, has a slot of its own.
//! Invariant: a key has at most one slot, for as long as the map is there.
//! Elsewhere: what words mean (`log_store`, `delta_main`); the model that loom runs
//! (`tests/loom.rs`).
//! Source: Pilman 2017, sections 4.3 and 4.4.1. Departure: a segment that is full has a larger one
//! behind it, and a key is claimed by one word, so that nothing has to be probed again.

use std::sync::OnceLock;

use crate::sync::{AtomicU64, Ordering};

/// Slots that a key may be in, in each segment.
const WINDOW: usize = 16;
/// Slots of a segment by those of the one before it.
const GROWTH: usize = 8;

struct Slot {
    key: AtomicU64,
    word: AtomicU64,
}

struct Segment<R> {
    slots: Box<[Slot]>,
    next: OnceLock<Box<Segment<R>>>,
    /// Gives the segment's memory back.
    _room: R,
}

/// The map. `R` is what memory is counted by.
pub(crate) struct KeyMap<R> {
    first: Segment<R>,
    largest: Slot,
    initial: u64,
}

impl<R> KeyMap<R> {
    /// A map with room for some `keys`, each of whose words is `initial` at first.
    ///
    /// # Errors
    /// Errors of `room`, which counts bytes.
    pub(crate) fn new<E>(
        keys: usize,
        initial: u64,
        room: impl FnOnce(usize) -> Result<R, E>,
    ) -> Result<Self, E> {
        let slots = (keys + keys / 2).next_power_of_two().max(WINDOW);
        let first = Segment::new(slots, initial, room)?;
        Ok(Self { first, largest: Slot::free(initial), initial })
    }

    /// The word of `key`, if it has one.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<&AtomicU64> {
        if key == u64::MAX {
            let is_there = self.largest.key.load(Ordering::Acquire) != 0;
            return is_there.then_some(&self.largest.word);
        }
        let mut segment = &self.first;
        loop {
            for slot in segment.window(key) {
                match slot.key.load(Ordering::Acquire) {
                    0 => return None,
                    other if other == key + 1 => return Some(&slot.word),
                    _ => (),
                }
            }
            segment = segment.next.get()?;
        }
    }

    /// The word of `key`, which is `initial` when the key is new.
    ///
    /// # Errors
    /// Errors of `room`, which counts the bytes of another segment.
    pub(crate) fn claim<E>(
        &self,
        key: u64,
        room: impl Fn(usize) -> Result<R, E>,
    ) -> Result<&AtomicU64, E> {
        if key == u64::MAX {
            self.largest.key.store(1, Ordering::Release);
            return Ok(&self.largest.word);
        }
        let mut segment = &self.first;
        loop {
            for slot in segment.window(key) {
                let seen = slot.key.load(Ordering::Acquire);
                let seen = if seen == 0 { slot.claimed(key) } else { seen };
                if seen == key + 1 {
                    return Ok(&slot.word);
                }
            }
            if segment.next.get().is_none() {
                let next = Segment::new(segment.slots.len() * GROWTH, self.initial, &room)?;
                // Who comes second uses the segment of who came first.
                segment.next.get_or_init(|| Box::new(next));
            }
            segment = segment.next.get().expect("it was set above");
        }
    }

    /// Calls `f` with each key and its word; keys that are added meanwhile may be missing.
    pub(crate) fn each(&self, mut f: impl FnMut(u64, &AtomicU64)) {
        let mut segment = Some(&self.first);
        while let Some(some) = segment {
            for slot in &some.slots {
                let key = slot.key.load(Ordering::Acquire);
                if key != 0 {
                    f(key - 1, &slot.word);
                }
            }
            segment = some.next.get().map(|next| &**next);
        }
        if self.largest.key.load(Ordering::Acquire) != 0 {
            f(u64::MAX, &self.largest.word);
        }
    }
}

impl Slot {
    /// Takes a free slot for `key`; returns what the slot says then.
    fn claimed(&self, key: u64) -> u64 {
        let outcome = self.key.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire);
        outcome.err().unwrap_or(key + 1)
    }

    fn free(initial: u64) -> Self {
        Self { key: AtomicU64::new(0), word: AtomicU64::new(initial) }
    }
}

impl<R> Segment<R> {
    fn new<E>(
        slots: usize,
        initial: u64,
        room: impl FnOnce(usize) -> Result<R, E>,
    ) -> Result<Self, E> {
        let room = room(slots * size_of::<Slot>())?;
        let slots = (0..slots).map(|_| Slot::free(initial)).collect();
        Ok(Self { slots, next: OnceLock::new(), _room: room })
    }

    /// The slots that `key` may be in, in their order.
    #[inline]
    fn window(&self, key: u64) -> impl Iterator<Item = &Slot> {
        let mask = self.slots.len() - 1;
        let first = mixed(key) as usize;
        (0..WINDOW.min(self.slots.len())).map(move |i| &self.slots[(first + i) & mask])
    }
}

/// Spreads keys that are close to each other.
///
/// Source: Steele, Lea, Flood 2014 (SplitMix64).
#[inline]
fn mixed(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
