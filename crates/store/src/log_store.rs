//! A table as a log: an index leads to the newest version of each key, versions lead to older ones.
//!
//! ```text
//! index: key -> word -> entry (newest) -> previous -> ...      newest first, by version
//! pages of the log: all entries; valid to tells a scan without the index when one was replaced
//! ```
//! The word of a key is where writers meet: a version is written by one compare-exchange of it. The
//! writer then says in the entry below until when that was valid, and seals its own. A scan judges
//! entries alone. It also collects: a page of which a scan found more than half to be garbage is
//! emptied by the next one, entry by entry: a copy is made, `valid to` of the original leads to it,
//! the one word that led to the original leads to the copy, the page goes.
//! Invariants: a chain has each version once; only one thread collects; a page is collected when no
//! call that could append to it is in flight (`gate`). An entry whose page is gone was copied
//! before: who meets its address begins anew.
//! Elsewhere: entries and pages (`log`), words by key (`key_map`).
//! Source: Pilman 2017, section 4.3. Departures: the original's `valid to` leads to the copy, which
//! takes the place of exchanges of 128 bits; a writer whose exchange was lost to a collection tries
//! again, so that conflicts are conflicts; keys keep their slots of 16 bytes when they are removed.

mod read;
mod write;
mod collect;
mod image;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use crate::error::Result;
use crate::gate::Gate;
use crate::key_map::KeyMap;
use crate::log::Log;
use crate::scan::{ScanEnd, ScanRequest};
use crate::schema::{Key, Schema};
use crate::snapshot::{Snapshot, Version};
use crate::table::{Fetched, Horizon, Memory, Room, Table, TableOptions, TableStats, Taken, Write};
use crate::tuple::Tuple;

/// A table in a log.
pub struct LogStore {
    schema: Arc<Schema>,
    memory: Arc<Memory>,
    horizon: Horizon,
    index: KeyMap<Taken>,
    log: Log,
    gate: Gate,
    /// Held by the scan of this moment: scans come one after the other.
    pass: Mutex<()>,
    pages_read: AtomicU64,
    pages_rewritten: AtomicU64,
}

/// Keys that the index has room for before it grows.
const KEYS_EXPECTED: usize = 4096;

impl LogStore {
    /// An empty table.
    ///
    /// # Errors
    /// [`crate::StoreError::OutOfMemory`].
    pub fn new(schema: Arc<Schema>, options: &TableOptions) -> Result<Self> {
        let memory = Memory::part_of(&options.memory);
        let keys = options.keys_expected.max(KEYS_EXPECTED);
        let index = KeyMap::new(keys, 0, |bytes| memory.take(bytes, Room::Limited))?;
        let log = Log::new(options.page_bytes, &memory);
        Ok(Self {
            schema,
            memory,
            horizon: Horizon::default(),
            index,
            log,
            gate: Gate::default(),
            pass: Mutex::new(()),
            pages_read: AtomicU64::new(0),
            pages_rewritten: AtomicU64::new(0),
        })
    }
}

impl Table for LogStore {
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
        self.collect_once(lowest_active)
    }

    fn stats(&self) -> TableStats {
        self.counted()
    }
}
