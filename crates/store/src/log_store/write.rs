//! Writes of one key: an entry is made, and the key's word is exchanged for its address.
//!
//! A link that a writer copies (`previous` of an entry that it takes out) may be changed by a
//! collection before the writer's exchange. So the writer looks at the original again afterwards,
//! and changes the link in the chain likewise; and a collection looks at the chain again after it
//! changed a link. Whoever comes second sees what the other did.

use std::sync::atomic::{AtomicU64, Ordering};

use super::LogStore;
use super::read::{Chain, Moved};
use crate::error::{Result, StoreError};
use crate::gate::Passage;
use crate::log::{Address, Draft, Entry, FOR_EVER, Kind, Pages, forwarded};
use crate::schema::Key;
use crate::snapshot::{Snapshot, Version};
use crate::table::{Head, Room, Step, Write, thread_number};
use crate::tuple::Tuple;

/// The two newest entries of a key.
struct Top<'a> {
    first: Option<Entry<'a>>,
    second: Option<Entry<'a>>,
}

impl<'a> Top<'a> {
    fn of(pages: &'a Pages, word: u64) -> Result<Self, Moved> {
        let mut chain = Chain::new(pages, word);
        let first = chain.next().transpose()?;
        let second = chain.next().transpose()?;
        Ok(Self { first, second })
    }

    fn below(&self) -> Address {
        self.second.map_or(0, |entry| entry.address)
    }
}

fn head(entry: Option<Entry<'_>>) -> Head {
    match entry {
        None => Head::Absent,
        Some(entry) if entry.kind() == Kind::Data => Head::Live(entry.version()),
        Some(entry) => Head::Deleted(entry.version()),
    }
}

/// Did an exchange happen?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Another thread was faster.
    Lost,
}

impl LogStore {
    fn enter(&self) -> Passage<'_> {
        self.gate.enter(thread_number())
    }

    pub(super) fn write(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        self.horizon.admit(snapshot)?;
        self.put(snapshot, key, write)
    }

    /// As [`Self::write`], whatever the snapshot's base is.
    pub(super) fn put(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        let version = snapshot.writes()?.0;
        let _passage = self.enter();
        let kind = if write.tuple().is_some() { Kind::Data } else { Kind::Delete };
        let row = write.tuple().map_or(&[][..], Tuple::words);
        let draft = Draft { key, version, kind, row };
        let word = self.index.claim(key, |bytes| self.memory.take(bytes, Room::Limited))?;
        let mut made = None;
        let outcome = loop {
            let seen = word.load(Ordering::Acquire);
            let pages = self.log.pages();
            let Ok(top) = Top::of(&pages, seen) else { continue };
            let step = match write.step(snapshot, head(top.first), head(top.second)) {
                Ok(step) => step,
                Err(error) => break Err(error),
            };
            if step != Step::Above && top.first.is_some_and(|first| !first.is_sealed()) {
                // The same transaction writes the key at this moment.
                break Err(StoreError::NotInSnapshot);
            }
            if step == Step::Undo {
                match self.unlink(word, &top) {
                    Outcome::Done => break Ok(()),
                    Outcome::Lost => continue,
                }
            }
            let address = match made.map_or_else(|| self.log.append(draft, Room::Limited), Ok) {
                Ok(address) => *made.insert(address),
                Err(error) => break Err(error),
            };
            if self.link(word, address, &top, step) == Outcome::Done {
                return Ok(());
            }
        };
        if let Some(address) = made {
            let pages = self.log.pages();
            let entry = own(&pages, address);
            entry.invalidate();
            entry.seal();
        }
        outcome
    }

    /// Puts the entry at `address` on top.
    fn link(&self, word: &AtomicU64, address: Address, top: &Top<'_>, step: Step) -> Outcome {
        let pages = self.log.pages();
        let entry = own(&pages, address);
        let seen = top.first.map_or(0, |first| first.address);
        let below = if step == Step::Replace { top.below() } else { seen };
        entry.previous().store(below, Ordering::Relaxed);
        if word.compare_exchange(seen, address, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Outcome::Lost;
        }
        match (step, top.first) {
            (Step::Replace, Some(first)) => {
                first.invalidate();
                self.follow(word, first, below);
            }
            (_, Some(first)) => self.set_valid_to(first, |_| Some(entry.version().0)),
            _ => (),
        }
        entry.seal();
        Outcome::Done
    }

    /// Takes the newest entry off.
    fn unlink(&self, word: &AtomicU64, top: &Top<'_>) -> Outcome {
        let Some(first) = top.first else { return Outcome::Done };
        let below = top.below();
        let release = Ordering::AcqRel;
        if word.compare_exchange(first.address, below, release, Ordering::Relaxed).is_err() {
            return Outcome::Lost;
        }
        first.invalidate();
        self.follow(word, first, below);
        if let Some(second) = top.second {
            // Another writer may have replaced it by now.
            let version = first.version().0;
            self.set_valid_to(second, |seen| (seen == version).then_some(FOR_EVER));
        }
        Outcome::Done
    }

    /// Repeats what a collection did to the link of `gone`, which was `below` when it was copied.
    fn follow(&self, word: &AtomicU64, gone: Entry<'_>, below: Address) {
        let now = gone.previous().load(Ordering::Acquire);
        if now != below {
            self.relink(word, below, now);
        }
    }

    /// Changes the link to `from` in a key's chain, wherever it is; true when there was one.
    pub(super) fn relink(&self, word: &AtomicU64, from: Address, to: Address) -> bool {
        let mut is_found = false;
        'again: loop {
            let release = Ordering::AcqRel;
            let seen = word.load(Ordering::Acquire);
            if seen == from {
                let outcome = word.compare_exchange(from, to, release, Ordering::Acquire);
                is_found |= outcome.is_ok();
                continue;
            }
            let pages = self.log.pages();
            for entry in Chain::new(&pages, seen) {
                let Ok(entry) = entry else { continue 'again };
                let link = entry.previous();
                if link.load(Ordering::Acquire) == from {
                    let outcome = link.compare_exchange(from, to, release, Ordering::Acquire);
                    is_found |= outcome.is_ok();
                    continue 'again;
                }
            }
            return is_found;
        }
    }

    /// Changes `valid to` of an entry, or of its copy, to what `next` makes of it.
    fn set_valid_to(&self, entry: Entry<'_>, next: impl Fn(u64) -> Option<u64>) {
        if change(entry, &next) {
            return;
        }
        // One collection runs at a time, and waits for writers before pages go: a copy that a
        // writer is led to is not copied again.
        let copy = forwarded(entry.valid_to().load(Ordering::Acquire));
        let pages = self.log.pages();
        let is_changed = change(own(&pages, copy.expect("a copy keeps its place")), &next);
        debug_assert!(is_changed, "a copy of a copy while a writer is in flight");
    }

    pub(super) fn take_back(&self, version: Version, key: Key) -> Result<()> {
        let _passage = self.enter();
        let Some(word) = self.index.find(key) else { return Ok(()) };
        loop {
            let seen = word.load(Ordering::Acquire);
            let pages = self.log.pages();
            let Ok(top) = Top::of(&pages, seen) else { continue };
            let Some(first) = top.first else { return Ok(()) };
            if first.version() != version {
                return below(&pages, seen, version);
            }
            if !first.is_sealed() {
                return Err(StoreError::NotInSnapshot);
            }
            if self.unlink(word, &top) == Outcome::Done {
                return Ok(());
            }
        }
    }
}

/// Changes `valid to`; false when the entry has a copy by now.
fn change(entry: Entry<'_>, next: impl Fn(u64) -> Option<u64>) -> bool {
    let cell = entry.valid_to();
    loop {
        let seen = cell.load(Ordering::Acquire);
        if forwarded(seen).is_some() {
            return false;
        }
        let Some(value) = next(seen) else { return true };
        if cell.compare_exchange(seen, value, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return true;
        }
    }
}

/// The entry that this call made, or is led to.
fn own<'a>(pages: &'a Pages, address: Address) -> Entry<'a> {
    pages.entry(address).expect("a page stays while a call that knows it is in flight")
}

/// Looks whether `version` stands below a newer one.
fn below(pages: &Pages, word: u64, version: Version) -> Result<()> {
    let is_there = |entry: Result<Entry<'_>, Moved>| entry.is_ok_and(|e| e.version() == version);
    if Chain::new(pages, word).any(is_there) { Err(StoreError::NotInSnapshot) } else { Ok(()) }
}
