//! A table as merged pages and a log: scans read pages, writes go to the log, merges bring the log
//! into the pages.
//!
//! ```text
//! state   | index: key -> page, record | pages | delta: key -> word | floor | state before
//! word    0, or address of the newest entry in the log -> older entries -> ... (floor)
//! key     merged: its word stands in its page; else in the delta: one word for all writers
//! ```
//! A merge begins a new page of the log, whose address is the floor of the next state, and waits
//! for the writes in flight: what lies below the floor is complete. It builds pages of what is
//! merged and of entries below the floor, and publishes the next state, whose new words say
//! INHERIT. Who meets such a word takes it over: the word of the state before is marked MOVED and
//! keeps what it says, the new word gets it, entries below the floor left out. Who meets a MOVED
//! word reads the state again. When no write of the old state is in flight any more, the merge
//! takes over all words that are left, forgets the state before, and drops the log below the floor.
//! Invariants: a key has one word in each state; a word that is MOVED never changes; pages that
//! nobody wrote since they were made stay as they are, with their words; scans and merges of a
//! table exclude each other, reads and writes wait for neither; while an image is made, merges are
//! left out.
//! Elsewhere: entries (`log`), words of keys (`key_map`), waiting (`gate`).
//! Source: Pilman 2017, section 4.4. Departures: inserts and updates share one log, and the delta
//! holds the word that inserts have there; relocation is this taking over of words; memory goes
//! with its last reader, by counted references in the place of epochs.

#![expect(private_bounds, reason = "the two bodies that there are have names")]

mod index;
mod page;
mod row;
mod column_map;
mod state;
mod versions;
mod write;
mod merge;
mod scan;
mod image;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

pub use column_map::ColumnBody;
pub use row::RowBody;

use crate::error::Result;
use crate::gate::Gate;
use crate::log::Log;
use crate::scan::{Coding, ScanEnd, ScanRequest};
use crate::schema::{Key, Schema};
use crate::snapshot::{Snapshot, Version};
use crate::table::{Fetched, Horizon, Memory, Table, TableOptions, TableStats, Write};
use crate::tuple::Tuple;
use page::Body;
use state::State;

/// A table with a delta, whose pages hold rows as `B` does.
pub struct DeltaMain<B: Body> {
    schema: Arc<Schema>,
    memory: Arc<Memory>,
    page_bytes: usize,
    horizon: Horizon,
    log: Log,
    gate: Gate,
    state: ArcSwap<State<B>>,
    /// Scans share it, a merge has it alone.
    passes: RwLock<()>,
    /// Held by a merge or an image.
    merging: Mutex<()>,
    pages_read: AtomicU64,
    pages_rewritten: AtomicU64,
    coding: Coding,
}

/// A table whose pages are columns: scans read the fields that they need.
pub type ColumnStore = DeltaMain<ColumnBody>;

/// A table whose pages are rows.
pub type RowStore = DeltaMain<RowBody>;

impl<B: Body> DeltaMain<B> {
    /// An empty table.
    ///
    /// # Errors
    /// [`crate::StoreError::OutOfMemory`].
    pub fn new(schema: Arc<Schema>, options: &TableOptions) -> Result<Self> {
        let memory = Memory::part_of(&options.memory);
        let state = State::empty(options.keys_expected, &memory)?;
        Ok(Self {
            schema,
            page_bytes: options.page_bytes,
            horizon: Horizon::default(),
            log: Log::new(options.page_bytes, &memory),
            gate: Gate::default(),
            state: ArcSwap::from_pointee(state),
            passes: RwLock::new(()),
            merging: Mutex::new(()),
            pages_read: AtomicU64::new(0),
            pages_rewritten: AtomicU64::new(0),
            coding: Coding::new(options.compiler.clone()),
            memory,
        })
    }
}

impl<B: Body> Table for DeltaMain<B> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn get(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched> {
        self.read(snapshot, key)
    }

    fn insert(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.write(snapshot, key, Write::Insert(tuple))
    }

    fn update(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.write(snapshot, key, Write::Update(tuple))
    }

    fn remove(&self, snapshot: &Snapshot, key: Key) -> Result<()> {
        self.write(snapshot, key, Write::Remove)
    }

    fn newest_version(&self, key: Key) -> Version {
        self.newest(key)
    }

    fn revert(&self, version: Version, key: Key) -> Result<()> {
        self.take_back(version, key)
    }

    fn scan(&self, requests: &[ScanRequest<'_>], threads: usize) -> Result<Vec<ScanEnd>> {
        self.pass(requests, threads)
    }

    fn collect(&self, lowest_active: Version) -> Result<()> {
        self.merge(lowest_active)
    }

    fn stats(&self) -> TableStats {
        self.counted()
    }
}
