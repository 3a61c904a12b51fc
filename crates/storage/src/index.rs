//! Table indexes: from normalised keys to TIDs, for point queries, ranges and constraints.
//!
//! ```text
//! row --encode--> key bytes --insert--> ordered (B+-tree) or hash: entries (key, TID)
//! lookup(key) -> TIDs          range(low, high) -> (key, TID) in either direction
//! row --elements--> several keys --insert--> inverted: an entry for each (`inverted`)
//! vector --near--> keys and TIDs by their distance, approximately (`near`)
//! ```
//! Invariants: an entry is there once; entries carry no versions, so whoever reads them checks the
//! row; all memory is counted in the pool.
//! Elsewhere: the format of keys (`key`), keys in files (`stored`), which entries a row needs
//! (`table`, `table::undo`).

mod key;
mod derived;
mod inverted;
mod range;
mod latch;
mod tail;
mod form;
mod node;
mod arena;
mod counter;
mod tree;
mod hash;
mod stored;
mod near;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use kernels::keys::{SortDirection, SortField, SortNulls};
use parking_lot::{Mutex, MutexGuard};
use types::Result;
use types::budget;
use types::packed::distance::NearForm;

use crate::datum::Datum;
use crate::ids::IndexId;
use crate::memory::BufferPool;
use crate::schema::Schema;
use crate::sync;
use crate::tid::Tid;
use crate::version::TxnId;

pub use derived::{Derivation, INDEX_EXPRESSION, Membership};
pub use key::{KeyBuffer, KeyRange};
pub use near::NearCursor;
pub use range::{RangeCursor, RangeState};
pub use stored::IndexKeys;
pub(crate) use stored::{RunWriter, StoredRun};

use form::{Fixed, Long};
use hash::HashIndex;
use key::KeyEncoder;
use near::NearIndex;
pub use tree::BuiltKeys;
use tree::{Run, Tree};

/// One column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Which column of the table; from [`INDEX_EXPRESSION`] on, which expression of the index.
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
    /// Rows whose key has a NULL.
    Distinct,
    /// None.
    NullsNotDistinct,
}

/// Searches that the index supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Equality, prefixes, ranges, order.
    Ordered,
    /// Equality.
    Hash,
    /// Elements of values: a row has an entry for each element of its columns.
    Inverted,
    /// Nearest vectors.
    Near(NearForm),
}

/// Definition of an index, as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its number, never used twice.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// Its columns, the most significant first.
    pub columns: Vec<IndexColumn>,
    /// Which rows may have equal keys. The index itself takes any entries.
    pub unique: Uniqueness,
    /// Searches that it supports.
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

/// A place of an index where a key would be.
#[derive(Clone, Copy)]
pub(crate) struct KeyGap<'i>(tree::Gap<'i>);

/// An entry that was found.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'k> {
    pub(crate) key: &'k [u8],
    pub(crate) tid: Tid,
    /// [`TableIndex::removals`] before it was found.
    pub(crate) removals: Option<u64>,
}

impl<'k> Entry<'k> {
    /// An entry of which nobody knows what was removed since.
    pub(crate) fn of(key: &'k [u8], tid: Tid) -> Self {
        Self { key, tid, removals: None }
    }
}

/// Stripes of [`TableIndex::latch_key`].
const LATCH_COUNT: usize = 64;

/// One index of one table. Any number of threads may read and write it at the same time.
pub struct TableIndex {
    spec: IndexSpec,
    ordinals: Box<[usize]>,
    encoder: KeyEncoder,
    derivation: Option<Arc<dyn Derivation>>,
    /// See [`Self::definition`].
    definition: Option<Box<[u8]>>,
    latches: [Mutex<()>; LATCH_COUNT],
    structure: Structure,
    /// A row changed its key: entries may lead to rows that have another one.
    rekeyed: AtomicBool,
    /// How often entries were removed.
    removals: AtomicU64,
    /// Set while it may have entries of keys that its rows no longer have: of older versions, as
    /// long as it is built, since who removes these does not know of it.
    has_old_keys: AtomicBool,
    /// The transaction that dropped it and has not ended; it alone writes the table, and equal keys
    /// are no concern of it.
    dropped_by: AtomicU64,
}

/// The entries, by kind of index and length of keys.
enum Structure {
    Tree1(Tree<Fixed<1>>),
    Tree2(Tree<Fixed<2>>),
    TreeLong(Tree<Long>),
    Hash1(HashIndex<Fixed<1>>),
    Hash2(HashIndex<Fixed<2>>),
    HashLong(HashIndex<Long>),
    Near(NearIndex),
}

/// The same for every structure.
macro_rules! structure {
    ($index:expr, $structure:ident => $same:expr) => {
        match &$index.structure {
            Structure::Tree1($structure) => $same,
            Structure::Tree2($structure) => $same,
            Structure::TreeLong($structure) => $same,
            Structure::Hash1($structure) => $same,
            Structure::Hash2($structure) => $same,
            Structure::HashLong($structure) => $same,
            Structure::Near($structure) => $same,
        }
    };
}

/// The same for every tree, and something else for other indexes.
macro_rules! tree {
    ($index:expr, $tree:ident => $same:expr, _ => $other:expr) => {
        match &$index.structure {
            Structure::Tree1($tree) => $same,
            Structure::Tree2($tree) => $same,
            Structure::TreeLong($tree) => $same,
            _ => $other,
        }
    };
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
        Self::derived(spec, schema, pool, None)
    }

    /// As [`Self::new`], of an index some of whose columns, or whose rows, `derivation` tells.
    ///
    /// # Errors
    /// As [`Self::new`].
    ///
    /// # Panics
    /// If a column is neither in the schema nor among the expressions of the derivation, or that
    /// of a near index has no vectors of known dimensions.
    pub fn derived(
        spec: IndexSpec,
        schema: &Schema,
        pool: &Arc<BufferPool>,
        derivation: Option<Arc<dyn Derivation>>,
    ) -> Result<Self> {
        let expressions = derivation.as_ref().map_or(&[][..], |derived| derived.expressions());
        let encoder = KeyEncoder::new(&spec.columns, schema, expressions);
        let width = encoder.width();
        let structure = match (spec.kind, width) {
            (IndexKind::Ordered, Some(w @ 0..=8)) => Structure::Tree1(Tree::new(pool, w)?),
            (IndexKind::Ordered, Some(w @ 9..=16)) => Structure::Tree2(Tree::new(pool, w)?),
            (IndexKind::Ordered | IndexKind::Inverted, _) => {
                Structure::TreeLong(Tree::new(pool, 0)?)
            }
            (IndexKind::Hash, Some(w @ 0..=8)) => Structure::Hash1(HashIndex::new(pool, w)?),
            (IndexKind::Hash, Some(w @ 9..=16)) => Structure::Hash2(HashIndex::new(pool, w)?),
            (IndexKind::Hash, _) => Structure::HashLong(HashIndex::new(pool, 0)?),
            (IndexKind::Near(form), _) => {
                let ty = key::column_spec(&spec.columns[0], schema, expressions).ty;
                Structure::Near(NearIndex::new(pool, form, ty))
            }
        };
        let latches = std::array::from_fn(|_| Mutex::new(()));
        let ordinals = derived::ordinals(&spec, derivation.as_deref());
        let rekeyed = AtomicBool::new(false);
        let dropped_by = AtomicU64::new(TxnId::NONE.0);
        let mut index = Self {
            spec,
            ordinals,
            encoder,
            derivation,
            definition: None,
            latches,
            structure,
            rekeyed,
            removals: AtomicU64::new(0),
            has_old_keys: AtomicBool::new(false),
            dropped_by,
        };
        index.define(schema);
        Ok(index)
    }

    /// Says that `txn` dropped it; [`TxnId::NONE`] takes that back.
    pub(crate) fn set_dropped_by(&self, txn: TxnId) {
        self.dropped_by.store(txn.0, Ordering::Release);
    }

    /// True when `txn` dropped it.
    #[inline]
    pub(crate) fn is_dropped_by(&self, txn: TxnId) -> bool {
        txn != TxnId::NONE && self.dropped_by.load(Ordering::Acquire) == txn.0
    }

    /// True when a row of the table ever changed its key in place.
    #[inline]
    pub(crate) fn is_rekeyed(&self) -> bool {
        self.rekeyed.load(Ordering::Acquire)
    }

    /// How often entries were removed; None where nothing follows of that. An entry that was found
    /// after the count was read is one of the newest key of its row if the row has no versions and
    /// the count is the same then: the entries of older keys go, and are counted, before their
    /// versions do, of an index that was there when these were made.
    #[inline]
    pub(crate) fn removals(&self) -> Option<u64> {
        let removals = self.removals.load(Ordering::Acquire);
        (!self.has_old_keys.load(Ordering::Acquire)).then_some(removals)
    }

    /// An index that is being built gets entries of keys that rows had before.
    pub(crate) fn note_old_keys(&self) {
        self.has_old_keys.store(true, Ordering::SeqCst);
        self.note_rekeyed();
    }

    /// All its entries are of versions that are there, and who removes these knows of it.
    pub(crate) fn forget_old_keys(&self) {
        self.has_old_keys.store(false, Ordering::Release);
    }

    /// A row is about to change its key in place.
    pub(crate) fn note_rekeyed(&self) {
        if !self.is_rekeyed() {
            self.rekeyed.store(true, Ordering::SeqCst);
        }
    }

    /// Definition of the index.
    pub fn spec(&self) -> &IndexSpec {
        &self.spec
    }

    /// The table's ordinals of the columns that make a key, see [`Self::encode_row`]: those of its
    /// columns in order, unless some are derived.
    pub fn ordinals(&self) -> &[usize] {
        &self.ordinals
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
    #[inline]
    pub fn encode(&self, values: &[Datum<'_>], key: &mut KeyBuffer) {
        self.encoder.encode(values, key);
    }

    /// True when one of the values that `key`, a whole one, was made of is NULL.
    pub fn has_null(&self, key: &[u8]) -> bool {
        self.encoder.has_null(key)
    }

    /// Expressions and condition of the index, if it is not over all rows and plain columns.
    pub fn derivation(&self) -> Option<&dyn Derivation> {
        self.derivation.as_deref()
    }

    /// The latch behind which a unique key is tested and inserted. Keys share latches: a thread
    /// holds one at a time, and for an instant.
    pub fn latch_key(&self, key: &[u8]) -> MutexGuard<'_, ()> {
        let hash = foldhash::fast::FixedState::default().hash_one(key);
        self.latches[hash as usize % LATCH_COUNT].lock()
    }

    /// Adds the entries of a row with `key`; false when they were there.
    ///
    /// # Errors
    /// 53200 when the limit would be passed; nothing was changed but, in an inverted index, other
    /// entries of the row.
    ///
    /// # Panics
    /// If `key` is not a whole key of this index, or the TID is the largest number.
    pub fn insert(&self, key: &[u8], tid: Tid) -> Result<bool> {
        if self.is_inverted() {
            return self.insert_elements(key, tid);
        }
        self.insert_entry(key, tid)
    }

    #[inline]
    fn insert_entry(&self, key: &[u8], tid: Tid) -> Result<bool> {
        structure!(self, s => s.insert(key, tid))
    }

    /// Where `key` would be put, if no entry has it and the index remembers such places.
    ///
    /// # Panics
    /// As [`Self::insert`].
    #[inline]
    pub(crate) fn gap(&self, key: &[u8]) -> Option<KeyGap<'_>> {
        tree!(self, t => t.gap(key).map(KeyGap), _ => None)
    }

    /// As [`Self::insert`], of a key that was not there when `gap` was found; others may have come
    /// and gone meanwhile.
    ///
    /// # Errors
    /// As [`Self::insert`].
    ///
    /// # Panics
    /// As [`Self::insert`].
    #[inline]
    pub(crate) fn insert_at(&self, gap: KeyGap<'_>, key: &[u8], tid: Tid) -> Result<bool> {
        tree!(self, t => t.insert_at(gap.0, key, tid), _ => self.insert(key, tid))
    }

    /// Removes the entries of a row with `key`; false when they were not there.
    ///
    /// # Panics
    /// If `key` is not a whole key of this index.
    pub fn remove(&self, key: &[u8], tid: Tid) -> bool {
        let was_there = if self.is_inverted() {
            self.remove_elements(key, tid)
        } else {
            self.remove_entry(key, tid)
        };
        self.removals.fetch_add(1, Ordering::AcqRel);
        was_there
    }

    #[inline]
    fn remove_entry(&self, key: &[u8], tid: Tid) -> bool {
        structure!(self, s => s.remove(key, tid))
    }

    /// Calls `found` with the TIDs of `key`, in ascending order if the index is ordered, until it
    /// breaks. Entries that come or go meanwhile may be found or not; `found` may use the index.
    ///
    /// # Panics
    /// If `key` is not a whole key of this index.
    #[inline]
    pub fn lookup(&self, key: &[u8], found: impl FnMut(Tid) -> ControlFlow<()>) -> ControlFlow<()> {
        structure!(self, s => s.lookup(key, found))
    }

    /// Asks the processor for what a lookup of `key` reads first; returns what
    /// [`Self::lookup_fetched`] wants to know.
    #[inline]
    pub(crate) fn fetch(&self, key: &[u8]) -> u64 {
        match &self.structure {
            Structure::Tree1(tree) => tree.fetch(key),
            Structure::Tree2(tree) => tree.fetch(key),
            Structure::TreeLong(tree) => tree.fetch(key),
            Structure::Hash1(hash) => return hash.fetch(key),
            Structure::Hash2(hash) => return hash.fetch(key),
            Structure::HashLong(hash) => return hash.fetch(key),
            Structure::Near(_) => {}
        }
        0
    }

    /// As [`Self::lookup`], some time after [`Self::fetch`] of the same key returned `mark`.
    #[inline]
    pub(crate) fn lookup_fetched(
        &self,
        key: &[u8],
        mark: u64,
        found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match &self.structure {
            Structure::Hash1(hash) => hash.lookup_hashed(key, mark, found),
            Structure::Hash2(hash) => hash.lookup_hashed(key, mark, found),
            Structure::HashLong(hash) => hash.lookup_hashed(key, mark, found),
            _ => self.lookup(key, found),
        }
    }

    /// A cursor over the entries whose keys are in `range`. Entries that are there all the time
    /// are returned once, in order; those that come or go meanwhile once or never.
    ///
    /// # Panics
    /// If the index is not ordered.
    pub fn range(&self, range: KeyRange<'_>, direction: Direction) -> RangeCursor<'_> {
        let mut state = RangeState::new();
        self.start(range, direction, &mut state);
        RangeCursor { index: self, state }
    }

    /// As [`Self::range`], for a cursor that does not borrow the index: `state` is set to the
    /// start, and [`Self::next`] goes on. Allocates nothing once `state` has grown.
    ///
    /// # Panics
    /// If the index is not ordered.
    pub fn start(&self, range: KeyRange<'_>, direction: Direction, state: &mut RangeState) {
        state.removals = self.removals();
        tree!(self, t => t.start(range, direction, state), _ => no_ranges());
    }

    /// The next entry of a range started by [`Self::start`] of the same index.
    #[inline]
    pub fn next<'s>(&self, state: &'s mut RangeState) -> Option<(&'s [u8], Tid)> {
        self.next_entry(state).map(|entry| (entry.key, entry.tid))
    }

    /// As [`Self::next`].
    #[inline]
    pub(crate) fn next_entry<'s>(&self, state: &'s mut RangeState) -> Option<Entry<'s>> {
        if state.wants_more() {
            state.removals = self.removals();
            tree!(self, t => t.fill(state), _ => no_ranges());
        }
        let removals = state.removals;
        state.take().map(|(key, tid)| Entry { key, tid, removals })
    }

    /// Fills the empty index: `part(i, run)` pushes the entries of part `i` of `part_count`, in
    /// any order; parts are taken by `threads` threads. Nobody may write meanwhile. Tells whether
    /// keys were seen to differ, which only an ordered index sees.
    ///
    /// # Errors
    /// 53200 when the limit would be passed, or what a part returns; the index is then to be
    /// dropped.
    ///
    /// # Panics
    /// If the index is not empty.
    pub fn bulk_build(
        &self,
        threads: usize,
        part_count: usize,
        part: impl Fn(usize, &mut KeyRun<'_, '_>) -> Result<()> + Sync,
    ) -> Result<BuiltKeys> {
        assert!(self.is_empty(), "only an empty index is built in bulk");
        match &self.structure {
            Structure::Tree1(tree) => {
                tree.build(threads, part_count, |i, run| part(i, &mut KeyRun(Target::Run1(run))))
            }
            Structure::Tree2(tree) => {
                tree.build(threads, part_count, |i, run| part(i, &mut KeyRun(Target::Run2(run))))
            }
            Structure::TreeLong(tree) if self.is_inverted() => {
                tree.build(threads, part_count, |i, run| {
                    part(i, &mut KeyRun(Target::Elements(run)))
                })
            }
            Structure::TreeLong(tree) => {
                tree.build(threads, part_count, |i, run| part(i, &mut KeyRun(Target::RunLong(run))))
            }
            _ => {
                in_parallel(threads, part_count, |i| part(i, &mut KeyRun(Target::Single(self))))?;
                Ok(BuiltKeys::Repeated)
            }
        }
    }

    /// Entries; exact when nobody changes them.
    pub fn len(&self) -> u64 {
        structure!(self, s => s.len())
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held, as counted in the pool.
    pub fn bytes(&self) -> u64 {
        structure!(self, s => s.bytes())
    }

    /// Tests the structure; nobody may write meanwhile.
    ///
    /// # Errors
    /// First damage that is found.
    pub fn check(&self) -> std::result::Result<(), String> {
        structure!(self, s => s.check()).map_err(|e| format!("index {}: {e}", self.spec.name))
    }
}

fn no_ranges() -> ! {
    panic!("only ordered indexes have ranges")
}

/// Runs all parts by `threads` threads, this one included; stops at an error.
fn in_parallel(
    threads: usize,
    part_count: usize,
    part: impl Fn(usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let account = budget::current();
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= part_count {
            return Ok(());
        }
        part(i).inspect_err(|_| next.store(part_count, Ordering::Relaxed))?;
    };
    std::thread::scope(|scope| {
        let entered = || {
            let _entry = account.clone().map(budget::enter);
            work()
        };
        let others: Vec<_> = (1..threads.min(part_count)).map(|_| scope.spawn(entered)).collect();
        let own = work();
        others.into_iter().fold(own, |result, thread| {
            let joined = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result.and(joined)
        })
    })
}

/// Where entries are put on their way into an index.
pub struct KeyRun<'r, 't>(Target<'r, 't>);

enum Target<'r, 't> {
    Run1(&'r mut Run<'t, Fixed<1>>),
    Run2(&'r mut Run<'t, Fixed<2>>),
    RunLong(&'r mut Run<'t, Long>),
    Elements(&'r mut Run<'t, Long>),
    Single(&'t TableIndex),
}

impl KeyRun<'_, '_> {
    /// Adds the entries of a row with `key`.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    ///
    /// # Panics
    /// If `key` is not a whole key of the index, or the TID is the largest number.
    #[inline]
    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        match &mut self.0 {
            Target::Run1(run) => run.push(key, tid),
            Target::Run2(run) => run.push(key, tid),
            Target::RunLong(run) => run.push(key, tid),
            Target::Elements(run) => {
                inverted::elements(key).try_for_each(|element| run.push(element, tid))
            }
            Target::Single(index) => index.insert(key, tid).map(|_| ()),
        }
    }
}
