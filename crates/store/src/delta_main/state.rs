//! One state of a table, and how the next one takes words over.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::index::Index;
use super::page::{Body, Page};
use crate::error::Result;
use crate::key_map::KeyMap;
use crate::log::Address;
use crate::sync::{AtomicU64, Ordering};
use crate::table::{Memory, Room, Taken};

/// Bit of a word whose key has a word in the next state.
const MOVED: u64 = 1 << 62;
/// Word that has to be taken over from the state before.
pub(super) const INHERIT: u64 = 1 << 63;

/// Parts of a table that stay the same between two merges, but for the words.
pub(super) struct State<B> {
    /// Entries below are merged.
    pub floor: Address,
    /// By number; `None` for numbers that no page has at this time.
    pub pages: Vec<Option<Arc<Page<B>>>>,
    pub index: Index,
    pub delta: KeyMap<Taken>,
    /// The state whose words may not all have been taken over.
    pub before: ArcSwapOption<State<B>>,
    pub _index_room: Taken,
}

/// A record of a page.
pub(super) struct Spot<'a, B> {
    pub page: &'a Page<B>,
    pub record: usize,
}

impl<B> Clone for Spot<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Spot<'_, B> {}

/// Meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The newest entry of the key, 0 when there is none in the log.
    Top(Address),
    /// The key has another word in a newer state.
    Outdated,
}

/// Keys that a delta has room for at first, at least.
const DELTA_KEYS: usize = 1024;

impl<B: Body> State<B> {
    /// The state of an empty table.
    pub(super) fn empty(keys: usize, memory: &Arc<Memory>) -> Result<Self> {
        let index = Index::new();
        Ok(Self {
            floor: 0,
            pages: Vec::new(),
            delta: delta(0, keys, memory, Room::Limited)?,
            before: ArcSwapOption::empty(),
            _index_room: memory.take(index.bytes(), Room::Limited)?,
            index,
        })
    }

    /// The record of a merged key.
    #[inline]
    pub(super) fn spot(&self, key: u64) -> Option<Spot<'_, B>> {
        let place = self.index.find(key)?;
        let page = self.pages[place.page as usize].as_deref();
        let page = page.expect("the index leads to pages that are there");
        Some(Spot { page, record: place.record as usize })
    }

    /// The word of `key`, if it has one in this state.
    pub(super) fn word(&self, key: u64) -> Option<&AtomicU64> {
        match self.spot(key) {
            Some(spot) => Some(spot.page.records.word(spot.record)),
            None => self.delta.find(key),
        }
    }

    /// The word of `key`, made if need be.
    fn claim(&self, key: u64, memory: &Arc<Memory>, room: Room) -> Result<&AtomicU64> {
        match self.spot(key) {
            Some(spot) => Ok(spot.page.records.word(spot.record)),
            None => self.delta.claim(key, |bytes| memory.take(bytes, room)),
        }
    }

    /// The word of `key` for a writer, and what it says.
    pub(super) fn to_write(&self, key: u64, memory: &Arc<Memory>) -> Result<(&AtomicU64, Seen)> {
        let word = self.claim(key, memory, Room::Limited)?;
        Ok((word, self.seen(key, word, memory)?))
    }

    /// Reads the word of `key`.
    #[inline]
    pub(super) fn seen(&self, key: u64, word: &AtomicU64, memory: &Arc<Memory>) -> Result<Seen> {
        let mut value = word.load(Ordering::Acquire);
        if value == INHERIT {
            value = self.inherit(key, word, memory)?;
        }
        Ok(self.plain(value))
    }

    /// True when a word of the state before leads to entries that this state has not merged.
    pub(super) fn has_top(&self, word: &AtomicU64) -> bool {
        above(word.load(Ordering::Acquire) & !MOVED, self.floor) != 0
    }

    /// Takes the word of a key over that this state may not have yet.
    pub(super) fn to_take_over(&self, key: u64, memory: &Arc<Memory>) -> Result<()> {
        let word = self.claim(key, memory, Room::Beyond)?;
        self.seen(key, word, memory).map(drop)
    }

    fn plain(&self, value: u64) -> Seen {
        if value & MOVED != 0 { Seen::Outdated } else { Seen::Top(above(value, self.floor)) }
    }

    /// Reads what is known of `key` without a word in this state: its word in the state before, as
    /// long as that may say something.
    pub(super) fn seen_before(&self, key: u64) -> Seen {
        let before = self.before.load();
        let value = before.as_ref().and_then(|before| before.word(key));
        value.map_or(Seen::Top(0), |word| self.plain(word.load(Ordering::Acquire)))
    }

    /// Takes the word of `key` over from the state before.
    #[cold]
    pub(super) fn inherit(&self, key: u64, word: &AtomicU64, memory: &Arc<Memory>) -> Result<u64> {
        let mut value = 0;
        if let Some(before) = &*self.before.load() {
            // A write of the old state that comes later has to find a word that is MOVED.
            let old = before.claim(key, memory, Room::Beyond)?;
            value = above(old.fetch_or(MOVED, Ordering::AcqRel) & !MOVED, self.floor);
        }
        if value != 0
            && let Some(spot) = self.spot(key)
        {
            spot.page.records.touch();
        }
        let taken = word.compare_exchange(INHERIT, value, Ordering::AcqRel, Ordering::Acquire);
        Ok(taken.err().unwrap_or(value))
    }
}

/// A delta with room for some keys.
pub(super) fn delta(
    initial: u64,
    keys: usize,
    memory: &Arc<Memory>,
    room: Room,
) -> Result<KeyMap<Taken>> {
    KeyMap::new(keys.max(DELTA_KEYS), initial, |bytes| memory.take(bytes, room))
}

/// The address in a word that is not MOVED; 0 when what it leads to is merged.
fn above(value: u64, floor: Address) -> Address {
    if value & INHERIT != 0 || value < floor { 0 } else { value }
}
