//! Merges: entries of the log become rows of pages, and garbage is left out.
//!
//! A page is written anew when a word of it was changed, or it has rows that nobody reads any more,
//! or it is the last one and has much room for new keys; all others stay.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arc_swap::ArcSwapOption;

use super::DeltaMain;
use super::index::Place;
use super::page::{Body, Drafts, Page};
use super::state::{INHERIT, Seen, Spot, State, delta};
use super::versions::{Found, Source, Versions};
use crate::error::Result;
use crate::log::{Address, Log, Pages};
use crate::snapshot::Version;
use crate::table::{Room, TableStats};
use crate::tuple::TupleWriter;

/// Input of a merge.
struct Old<'a, B> {
    state: &'a State<B>,
    log: &'a Pages,
    /// The log itself, which grows meanwhile.
    all: &'a Log,
    /// Entries from here on stay in the log.
    floor: Address,
    /// One version of each key up to this one is enough.
    needed: Version,
}

/// Memory that is used for each key again.
struct Scratch {
    writer: TupleWriter,
    row: Vec<u64>,
    newer: Newer,
}

/// Pages of the log, read again when an entry is met that was written since.
struct Newer(Arc<Pages>);

impl Newer {
    /// The first entry of a chain that lies below `floor`; 0 without one.
    fn top_below(&mut self, log: &Log, top: Address, floor: Address) -> Address {
        let mut address = top;
        while address >= floor {
            if self.0.entry(address).is_none() {
                self.0 = log.pages_held();
            }
            let entry = self.0.entry(address).expect("the log is not cut while a merge runs");
            address = entry.previous().load(Ordering::Acquire);
        }
        address
    }
}

impl<B: Body> DeltaMain<B> {
    pub(super) fn merge(&self, lowest_active: Version) -> Result<()> {
        let needed = self.horizon.raise(self.schema.kind(), lowest_active);
        let Some(_merging) = self.merging.try_lock() else { return Ok(()) };
        let _alone = self.passes.write();
        let state = self.state.load_full();
        let floor = self.log.rotate()?;
        // Entries below the floor are complete then, and in their chains or never will be.
        self.gate.drain();
        let log = self.log.pages_held();
        let old = Old { state: &state, log: &log, all: &self.log, floor, needed };
        let newer = Newer(Arc::clone(&log));
        let mut scratch = Scratch { writer: TupleWriter::default(), row: Vec::new(), newer };
        let mut keys = Vec::new();
        state.delta.each(|key, word| {
            if let Ok(Seen::Top(top)) = state.seen(key, word, &self.memory)
                && top != 0
                && scratch.newer.top_below(&self.log, top, floor) != 0
            {
                keys.push(key);
            }
        });
        let stays = self.pages_that_stay(&old, keys.len());
        let mut drafts = Drafts::new(&self.schema, self.page_bytes, &self.memory, INHERIT);
        let dirty = || {
            let numbered = state.pages.iter().zip(&stays).filter(|(_, stays)| !**stays);
            numbered.filter_map(|(page, _)| page.as_deref())
        };
        for page in dirty() {
            for record in 0..page.records.len() {
                let spot = Spot { page, record };
                let word = page.records.word(record).load(Ordering::Acquire);
                old.retained(word, Some(spot), &mut drafts, &mut scratch);
                drafts.record(page.records.key(record))?;
            }
        }
        for key in &keys {
            let word = state.delta.find(*key).expect("keys of a delta stay");
            old.retained(word.load(Ordering::Acquire), None, &mut drafts, &mut scratch);
            drafts.record(*key)?;
        }
        drafts.finish()?;
        self.pages_rewritten.fetch_add(dirty().count() as u64, Ordering::Relaxed);
        let next = self.next_state(&old, &stays, drafts.pages)?;
        self.state.store(Arc::clone(&next));
        // Nobody writes in the old state any more then, nor adds keys to it.
        self.gate.drain();
        self.take_over(&state, &next)?;
        next.before.store(None);
        self.log.remove(|page| page.number * (self.log.page_words() as u64) < floor);
        Ok(())
    }

    /// By number: pages that stay, and numbers without a page.
    fn pages_that_stay(&self, old: &Old<'_, B>, new_keys: usize) -> Vec<bool> {
        let pages = &old.state.pages;
        let last = pages.iter().rposition(Option::is_some);
        let is_clean =
            |page: &Page<B>| !page.records.is_touched() && page.records.garbage_at > old.needed.0;
        let has_room = |number, page: &Page<B>| {
            Some(number) == last && new_keys > 0 && page.bytes * 2 < self.page_bytes
        };
        let stays = pages.iter().enumerate().map(|(number, page)| {
            page.as_ref().is_none_or(|page| is_clean(page) && !has_room(number, page))
        });
        stays.collect()
    }

    /// The state with new pages in the place of those that do not stay.
    fn next_state(
        &self,
        old: &Old<'_, B>,
        stays: &[bool],
        fresh: Vec<Arc<Page<B>>>,
    ) -> Result<Arc<State<B>>> {
        let mut index = old.state.index.clone();
        let mut pages = old.state.pages.clone();
        for (page, _) in pages.iter_mut().zip(stays).filter(|(_, stays)| !**stays) {
            if let Some(page) = page.take() {
                (0..page.records.len()).for_each(|record| index.remove(page.records.key(record)));
            }
        }
        let mut number = 0;
        for page in fresh {
            while pages.get(number).is_some_and(Option::is_some) {
                number += 1;
            }
            for record in 0..page.records.len() {
                let place = Place { page: number as u32, record: record as u32 };
                index.put(page.records.key(record), place);
            }
            if number == pages.len() {
                pages.push(None);
            }
            pages[number] = Some(page);
        }
        Ok(Arc::new(State {
            floor: old.floor,
            pages,
            delta: delta(INHERIT, 0, &self.memory, Room::Beyond)?,
            before: ArcSwapOption::from(Some(self.state.load_full())),
            _index_room: self.memory.take(index.bytes(), Room::Beyond)?,
            index,
        }))
    }

    /// Takes over all words that are left.
    fn take_over(&self, old: &State<B>, next: &State<B>) -> Result<()> {
        for page in next.pages.iter().flatten() {
            for record in 0..page.records.len() {
                let word = page.records.word(record);
                if word.load(Ordering::Acquire) == INHERIT {
                    next.inherit(page.records.key(record), word, &self.memory)?;
                }
            }
        }
        // Keys that have no row now: what was written to them since is in the log.
        let mut left = Vec::new();
        let mut look = |key, word: &crate::sync::AtomicU64| {
            if next.spot(key).is_none() && next.has_top(word) {
                left.push(key);
            }
        };
        old.delta.each(&mut look);
        for page in old.pages.iter().flatten() {
            for record in 0..page.records.len() {
                look(page.records.key(record), page.records.word(record));
            }
        }
        for key in left {
            next.to_take_over(key, &self.memory)?;
        }
        Ok(())
    }

    pub(super) fn counted(&self) -> TableStats {
        let _pass = self.passes.read();
        let state = self.state.load_full();
        let log = self.log.pages_held();
        let mut versions = 0;
        let mut count = |top, spot| {
            // Entries that were written since are on newer pages.
            let log = if top == 0 { Arc::clone(&log) } else { self.log.pages_held() };
            let all = Versions::<B>::new(&log, top, state.floor, spot);
            versions += all.filter(|found| found.is_ok()).count() as u64;
        };
        for page in state.pages.iter().flatten() {
            for record in 0..page.records.len() {
                let spot = Spot { page: &**page, record };
                let word = page.records.word(record);
                if let Ok(Seen::Top(top)) = state.seen(page.records.key(record), word, &self.memory)
                {
                    count(top, Some(spot));
                }
            }
        }
        state.delta.each(|key, word| {
            if let Ok(Seen::Top(top)) = state.seen(key, word, &self.memory) {
                count(top, None);
            }
        });
        TableStats {
            bytes: self.memory.used(),
            pages: state.pages.iter().flatten().count() as u64,
            pages_read: self.pages_read.load(Ordering::Relaxed),
            pages_rewritten: self.pages_rewritten.load(Ordering::Relaxed),
            versions,
        }
    }
}

impl<B: Body> Old<'_, B> {
    /// Adds the versions of a key that stay: all above `needed`, and the newest one up to it unless
    /// that is a deletion.
    fn retained(
        &self,
        word: u64,
        spot: Option<Spot<'_, B>>,
        drafts: &mut Drafts<'_, B>,
        scratch: &mut Scratch,
    ) {
        let top = scratch.newer.top_below(self.all, word, self.floor);
        for found in Versions::new(self.log, top, self.state.floor, spot) {
            let Ok(found) = found else { break };
            let is_last = found.version <= self.needed;
            if is_last && found.is_deleted() {
                break;
            }
            self.push(found, spot, drafts, scratch);
            if is_last {
                break;
            }
        }
    }

    fn push(
        &self,
        found: Found<'_>,
        spot: Option<Spot<'_, B>>,
        drafts: &mut Drafts<'_, B>,
        scratch: &mut Scratch,
    ) {
        let version = found.version.0;
        match (found.source, spot) {
            (Source::Entry(entry), _) => {
                scratch.row.clear();
                scratch.row.extend(entry.row().iter().map(|word| word.load(Ordering::Relaxed)));
                drafts.row(version, Some(&scratch.row));
            }
            (Source::Row(row), Some(spot)) => {
                spot.page.body.row(drafts.schema(), row, &mut scratch.writer);
                drafts.row(version, Some(&scratch.writer.words));
            }
            _ => drafts.row(version, None),
        }
    }
}
