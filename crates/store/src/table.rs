//! The calls of one table, whichever back end keeps it.
//!
//! Reads and writes never wait for scans or collections. Each call gives a snapshot; a table keeps
//! what the smallest `lowest_active` that it was given in [`Table::collect`] needs, and refuses
//! snapshots below it.
//! Source: Pilman 2017, sections 3.2 and 4.1; outcomes as in the table of the digest's section 4.5.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::{Result, StoreError};
use crate::scan::code::Compile;
use crate::scan::{ScanEnd, ScanRequest};
use crate::schema::{Key, Schema, TableKind};
use crate::snapshot::{Snapshot, Version};
use crate::tuple::Tuple;

/// Is there a version newer than the one that was read?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Newest {
    /// None: a transaction with this snapshot may write the key.
    Yes,
    /// There is: a write would meet a conflict.
    No,
}

/// Row that [`Table::get`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its version.
    pub version: Version,
    /// Tells whether a newer version exists.
    pub newest: Newest,
    /// The row, by the table's schema.
    pub tuple: Tuple,
}

/// How much a table holds, and what its passes did; counts since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// Bytes in pages and indexes.
    pub bytes: u64,
    /// Pages of rows there are.
    pub pages: u64,
    /// Pages that scans read, once for all queries of a pass.
    pub pages_read: u64,
    /// Pages that collections and merges wrote anew.
    pub pages_rewritten: u64,
    /// Versions that are kept; garbage counts that readers still pass by.
    pub versions: u64,
}

/// A table.
pub trait Table: Send + Sync {
    /// Its columns.
    fn schema(&self) -> &Arc<Schema>;

    /// The row of `key` in the snapshot: its version with the largest number in the read set.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::NotInSnapshot`], [`StoreError::InvalidSnapshot`].
    fn get(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched>;

    /// Writes a row where none is in the snapshot.
    ///
    /// # Errors
    /// [`StoreError::InvalidWrite`] when there is one, [`StoreError::NotInSnapshot`] on a conflict,
    /// [`StoreError::InvalidSnapshot`], [`StoreError::InvalidTuple`], [`StoreError::OutOfMemory`].
    fn insert(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()>;

    /// Writes a row where one is in the snapshot.
    ///
    /// # Errors
    /// [`StoreError::InvalidWrite`] when there is none; else as [`Self::insert`].
    fn update(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()>;

    /// Takes the row away that is in the snapshot. A row that this version made where none was is
    /// as if it never was.
    ///
    /// # Errors
    /// As [`Self::update`].
    fn remove(&self, snapshot: &Snapshot, key: Key) -> Result<()>;

    /// Version of the newest row or deletion of `key`, seen or not; 0 when there is none. With
    /// [`Snapshot::conditional`] it is the token of a load-linked that found no row.
    fn newest_version(&self, key: Key) -> Version;

    /// Takes the newest version of `key` away if it is `version`; does nothing where `version`
    /// wrote nothing.
    ///
    /// # Errors
    /// [`StoreError::NotInSnapshot`] when a newer version stands above it, or its write goes on.
    fn revert(&self, version: Version, key: Key) -> Result<()>;

    /// Reads all rows once, on `threads` threads, for all requests; one end for each.
    ///
    /// # Errors
    /// [`StoreError::InvalidScan`], [`StoreError::InvalidSnapshot`].
    fn scan(&self, requests: &[ScanRequest<'_>], threads: usize) -> Result<Vec<ScanEnd>>;

    /// Frees what no snapshot with this `lowest_active` reads, as far as one pass finds it.
    /// Snapshots below are refused from now on.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`] when there is no room for pages that are written anew; nothing
    /// is lost then.
    fn collect(&self, lowest_active: Version) -> Result<()>;

    /// How much it holds.
    fn stats(&self) -> TableStats;
}

/// Memory that all tables of a store share.
#[derive(Debug)]
pub struct Memory {
    used: AtomicU64,
    limit: u64,
    /// Counts the same bytes, too.
    whole: Option<Arc<Memory>>,
}

impl Memory {
    /// Room for `limit` bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { used: AtomicU64::new(0), limit, whole: None })
    }

    /// A part of `whole` that is counted apart.
    pub(crate) fn part_of(whole: &Arc<Self>) -> Arc<Self> {
        let whole = Some(Arc::clone(whole));
        Arc::new(Self { used: AtomicU64::new(0), limit: u64::MAX, whole })
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts `bytes` until the result is dropped.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`] when they exceed the limit, and `room` obeys it.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize, room: Room) -> Result<Taken> {
        let whole = self.whole.as_ref().map(|whole| whole.take(bytes, room)).transpose()?;
        let bytes = bytes as u64;
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let taken = Taken { memory: Arc::clone(self), bytes, _whole: whole.map(Box::new) };
        // Dropping `taken` gives the bytes back.
        let is_full = before + bytes > self.limit && room == Room::Limited;
        if is_full { Err(StoreError::OutOfMemory) } else { Ok(taken) }
    }
}

/// May an allocation exceed the limit?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// The limit holds.
    Limited,
    /// A collection needs more for a moment, to free more than that.
    Beyond,
}

/// A small number of this thread, to spread threads over counters.
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

/// Bytes that are counted as used.
#[derive(Debug)]
pub(crate) struct Taken {
    memory: Arc<Memory>,
    bytes: u64,
    _whole: Option<Box<Taken>>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Choices for a table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Bytes of a page: larger ones are scanned faster and cost more to write anew.
    pub page_bytes: usize,
    /// Keys that its indexes have room for at first; they grow by themselves.
    pub keys_expected: usize,
    /// Memory that its pages and indexes are counted in.
    pub memory: Arc<Memory>,
    /// Maker of code for scans of its pages; without one they run as loops.
    pub compiler: Option<Arc<dyn Compile>>,
}

impl Default for TableOptions {
    fn default() -> Self {
        let memory = Memory::new(u64::MAX);
        Self { page_bytes: 1 << 20, keys_expected: 0, memory, compiler: None }
    }
}

/// Smallest version that snapshots of a table may still have as their base; only grows.
#[derive(Debug, Default)]
pub(crate) struct Horizon(AtomicU64);

impl Horizon {
    /// Refuses snapshots that would miss versions.
    pub(crate) fn admit(&self, snapshot: &Snapshot) -> Result<()> {
        let is_kept = snapshot.base().0 >= self.0.load(Ordering::Acquire);
        if is_kept { Ok(()) } else { Err(StoreError::InvalidSnapshot) }
    }

    /// Raises it for tables of this kind; returns what is [`Self::needed`] then.
    pub(crate) fn raise(&self, kind: TableKind, lowest_active: Version) -> Version {
        if kind == TableKind::Transactional {
            self.0.fetch_max(lowest_active.0, Ordering::AcqRel);
        }
        self.needed(kind)
    }

    /// Version up to which one version of each key is enough.
    pub(crate) fn needed(&self, kind: TableKind) -> Version {
        match kind {
            TableKind::Transactional => Version(self.0.load(Ordering::Acquire)),
            TableKind::NonTransactional => Version::MAX,
        }
    }
}

/// Change of a key.
#[derive(Clone, Copy)]
pub(crate) enum Write<'a> {
    Insert(&'a Tuple),
    Update(&'a Tuple),
    Remove,
}

/// State of the newest version of a key when a write looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// No version.
    Absent,
    /// A deletion.
    Deleted(Version),
    /// A row.
    Live(Version),
}

impl Head {
    pub(crate) fn version(self) -> Option<Version> {
        match self {
            Self::Absent => None,
            Self::Deleted(version) | Self::Live(version) => Some(version),
        }
    }

    pub(crate) fn is_live(self) -> bool {
        matches!(self, Self::Live(_))
    }
}

/// Work of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Put a version above the newest one.
    Above,
    /// Put a version in the place of the newest one, which the same writer made.
    Replace,
    /// Take the newest version away: the same writer made it where no row was.
    Undo,
}

impl Write<'_> {
    /// The step for a key with `head` on top of `below`: the one table of outcomes for all back
    /// ends.
    pub(crate) fn step(self, snapshot: &Snapshot, head: Head, below: Head) -> Result<Step> {
        let writes = snapshot.writes()?;
        if head.version().is_some_and(|version| !snapshot.sees(version)) {
            return Err(StoreError::NotInSnapshot);
        }
        if head.is_live() == matches!(self, Self::Insert(_)) {
            return Err(StoreError::InvalidWrite);
        }
        Ok(match self {
            _ if head.version() != Some(writes) => Step::Above,
            Self::Remove if !below.is_live() => Step::Undo,
            _ => Step::Replace,
        })
    }

    pub(crate) fn tuple(&self) -> Option<&Tuple> {
        match self {
            Self::Insert(tuple) | Self::Update(tuple) => Some(tuple),
            Self::Remove => None,
        }
    }
}

/// Answer of a read that walked versions from the newest one down.
pub(crate) fn answer(
    newest: Option<Version>,
    visible: Option<(Version, Option<Tuple>)>,
) -> Result<Fetched> {
    let Some(newest) = newest else { return Err(StoreError::NotFound) };
    match visible {
        Some((version, Some(tuple))) => {
            let newest = if version == newest { Newest::Yes } else { Newest::No };
            Ok(Fetched { version, newest, tuple })
        }
        Some((version, None)) if version == newest => Err(StoreError::NotFound),
        _ => Err(StoreError::NotInSnapshot),
    }
}
