//! Table indexes: from normalised keys to TIDs, for point queries, ranges and constraints.
//!
//! ```text
//! row --encode--> key bytes --insert--> ordered (B+-tree) or hash: entries (key, TID)
//! lookup(key) -> TIDs          range(low, high) -> (key, TID) in either direction
//! ```
//! Invariants: an entry is there once; entries carry no versions, so whoever reads them checks the
//! row; all memory is counted in the pool.
//! Elsewhere: the format of keys (`key`), which entries a row needs (`table`, `undo`).

mod key;

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use kernels::keys::{SortDirection, SortField, SortNulls};
use parking_lot::{Mutex, MutexGuard, RwLock};
use types::Result;

use crate::datum::Datum;
use crate::memory::BufferPool;
use crate::schema::Schema;
use crate::tid::Tid;

use key::KeyEncoder;
pub use key::{KeyBuffer, KeyRange};

/// One column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Which column of the table.
    pub ordinal: usize,
    /// ASC or DESC.
    pub order: SortDirection,
    /// Where NULLs go; of no effect in NOT NULL columns.
    pub nulls: SortNulls,
}

impl IndexColumn {
    /// `ordinal` ascending, NULLS LAST.
    pub fn new(ordinal: usize) -> Self {
        Self { ordinal, order: SortDirection::Ascending, nulls: SortNulls::Last }
    }
}

/// Which rows may have equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    /// All.
    No,
    /// Those whose key has a NULL.
    Distinct,
    /// None.
    NullsNotDistinct,
}

/// What the index can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Equality, prefixes, ranges, order.
    Ordered,
    /// Equality.
    Hash,
}

/// What an index is, as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its number, never used twice.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its columns, the most significant first.
    pub columns: Vec<IndexColumn>,
    /// Which rows may have equal keys. The index itself takes any entries.
    pub unique: Uniqueness,
    /// What it can be asked.
    pub kind: IndexKind,
}

/// Order in which a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// Stripes of [`TableIndex::latch_key`].
const LATCH_COUNT: usize = 64;

/// One index of one table. Any number of threads may read and write it at the same time.
pub struct TableIndex {
    spec: IndexSpec,
    encoder: KeyEncoder,
    latches: [Mutex<()>; LATCH_COUNT],
    entries: RwLock<BTreeSet<(Vec<u8>, Tid)>>,
}

impl TableIndex {
    /// An empty index of a table with `schema`, whose memory comes from `pool`.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    ///
    /// # Panics
    /// If a column is not in the schema.
    pub fn new(spec: IndexSpec, schema: &Schema, pool: &Arc<BufferPool>) -> Result<Self> {
        let encoder = KeyEncoder::new(&spec.columns, schema);
        let _ = pool;
        let latches = std::array::from_fn(|_| Mutex::new(()));
        Ok(Self { spec, encoder, latches, entries: RwLock::default() })
    }

    /// What it is.
    pub fn spec(&self) -> &IndexSpec {
        &self.spec
    }

    /// How its keys are made, in the terms of [`kernels::keys::SortKeys`], whose bytes are equal.
    pub fn key_fields(&self) -> &[SortField] {
        self.encoder.fields()
    }

    /// Makes `key` the normalised key of `values`, those of the index's first columns: all of
    /// them for a whole key, fewer for a prefix. Allocates nothing once `key` has grown.
    ///
    /// # Panics
    /// If there are more values than columns, a value has another type than its column, or is NULL
    /// in a NOT NULL column.
    pub fn encode(&self, values: &[Datum<'_>], key: &mut KeyBuffer) {
        self.encoder.encode(values, key);
    }

    /// The latch behind which a unique key is tested and inserted. Keys share latches: a thread
    /// holds one at a time, and for an instant.
    pub fn latch_key(&self, key: &[u8]) -> MutexGuard<'_, ()> {
        let hash = key.iter().fold(0u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        self.latches[(hash >> 32) as usize % LATCH_COUNT].lock()
    }

    /// Adds an entry; false when it was there.
    ///
    /// # Errors
    /// 53200 when the limit would be passed; nothing was changed.
    pub fn insert(&self, key: &[u8], tid: Tid) -> Result<bool> {
        Ok(self.entries.write().insert((key.to_vec(), tid)))
    }

    /// Removes an entry; false when it was not there.
    pub fn remove(&self, key: &[u8], tid: Tid) -> bool {
        self.entries.write().remove(&(key.to_vec(), tid))
    }

    /// Calls `found` with the TIDs of `key`, in ascending order if the index is ordered, until it
    /// breaks. Entries that come or go meanwhile may be found or not; `found` may use the index.
    pub fn lookup(
        &self,
        key: &[u8],
        mut found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let range = (key.to_vec(), Tid(0))..=(key.to_vec(), Tid(u64::MAX));
        let tids: Vec<Tid> = self.entries.read().range(range).map(|e| e.1).collect();
        tids.into_iter().try_for_each(&mut found)
    }

    /// A cursor over the entries whose keys are in `range`. Entries that are there all the time
    /// are returned once, in order; those that come or go meanwhile once or never.
    ///
    /// # Panics
    /// If the index is not ordered.
    pub fn range(&self, range: KeyRange<'_>, direction: Direction) -> RangeCursor<'_> {
        let mut state = RangeState::default();
        self.start(range, direction, &mut state);
        RangeCursor { index: self, state }
    }

    /// As [`Self::range`], for a cursor that does not borrow the index: `state` is set to the
    /// start, and [`Self::next`] goes on.
    ///
    /// # Panics
    /// If the index is not ordered.
    pub fn start(&self, range: KeyRange<'_>, direction: Direction, state: &mut RangeState) {
        assert_eq!(self.spec.kind, IndexKind::Ordered, "only ordered indexes have ranges");
        let inside = |key: &[u8]| {
            (match range.low {
                Bound::Included(low) => key >= low,
                Bound::Excluded(low) => key > low,
                Bound::Unbounded => true,
            }) && match range.high {
                Bound::Included(high) => key <= high,
                Bound::Excluded(high) => key < high,
                Bound::Unbounded => true,
            }
        };
        let entries = self.entries.read();
        state.entries = entries.iter().filter(|e| inside(&e.0)).cloned().collect();
        if direction == Direction::Backward {
            state.entries.reverse();
        }
        state.next = 0;
    }

    /// The next entry of a range started by [`Self::start`] of the same index.
    pub fn next<'s>(&self, state: &'s mut RangeState) -> Option<(&'s [u8], Tid)> {
        let entry = state.entries.get(state.next)?;
        state.next += 1;
        Some((&entry.0, entry.1))
    }

    /// Fills the empty index: `part(i, run)` pushes the entries of part `i` of `part_count`, in
    /// any order; parts are taken by `threads` threads.
    ///
    /// # Errors
    /// 53200 when the limit would be passed, or what a part returns; the index is then empty.
    ///
    /// # Panics
    /// If the index is not empty.
    pub fn bulk_build(
        &self,
        threads: usize,
        part_count: usize,
        part: impl Fn(usize, &mut KeyRun) -> Result<()> + Sync,
    ) -> Result<()> {
        let _ = threads;
        assert_eq!(self.len(), 0, "only an empty index is built in bulk");
        let mut run = KeyRun { entries: Vec::new() };
        (0..part_count).try_for_each(|i| part(i, &mut run))?;
        self.entries.write().extend(run.entries);
        Ok(())
    }

    /// Entries.
    pub fn len(&self) -> u64 {
        self.entries.read().len() as u64
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held, as counted in the pool.
    pub fn bytes(&self) -> u64 {
        0
    }

    /// Tests the structure; nobody may write meanwhile.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self) -> std::result::Result<(), String> {
        Ok(())
    }
}

/// Entries on their way into an index.
pub struct KeyRun {
    entries: Vec<(Vec<u8>, Tid)>,
}

impl KeyRun {
    /// Adds an entry.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        self.entries.push((key.to_vec(), tid));
        Ok(())
    }
}

/// Where a range is; reusable.
#[derive(Debug, Default)]
pub struct RangeState {
    entries: Vec<(Vec<u8>, Tid)>,
    next: usize,
}

/// A range of an index being read.
pub struct RangeCursor<'i> {
    index: &'i TableIndex,
    state: RangeState,
}

impl RangeCursor<'_> {
    /// The next key and TID.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<(&[u8], Tid)> {
        self.index.next(&mut self.state)
    }
}
