//! A table: blocks, indexes, and the ways to read and write rows.
//!
//! ```text
//! write   -> tail (hot block with room) | directory: block id -> block | indexes
//! load    -> BulkWriter -- full blocks -- TableLoad::commit -> all blocks at once
//! read    -> directory                       one row by TID, no latch
//! query   -> snapshot: the blocks it sees, in order of their ids
//! ```
//! Invariants: block ids are never used twice; a block is in the directory before any row of it can
//! be found, and leaves it when all its rows are dead for every snapshot; the tail is the newest
//! hot block and is never dropped while it is the tail. The latch on the list of blocks is taken
//! for an instant, by writes only when a block is full.
//! Elsewhere: versions (`row`), undo and collection (`undo`), when transactions begin and end (the
//! crate `txn`).

mod batch;
mod directory;
mod entries;
mod image;
mod index_blocks;
mod recover;
mod stored_keys;
mod seals;
mod freezing;
mod gathering;
mod stored_statistics;
mod moving;
mod replay;
mod undo;
#[cfg(test)]
mod evicting;
#[cfg(test)]
mod model;
#[cfg(test)]
mod stress;
#[cfg(test)]
mod tests;
mod write;
mod find;
mod many;
mod old_keys;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};

use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned};
use kernels::{Batch, Column, Vector, VectorData};
use parking_lot::Mutex;
use types::{Error, PhysicalType, Result};

use crate::block::sub_block::SubBlockSpec;
use crate::block::{BLOCK_ROWS_MAX, Block, BlockLayout, PayloadSource, SYMBOL_TABLE_BYTES, Scheme};
use crate::datum::RowBuffer;
use crate::fixed::value_bytes;
use crate::hot;
use crate::ids::{IndexId, TableId};
use crate::index::TableIndex;
use crate::memory::BufferPool;
use crate::schema::{Layout, Schema};
use crate::sharers::Sharers;
use crate::snapshot::TableSnapshot;
use crate::statistics::{Bounds, Known};
use crate::tid::Tid;
use crate::version::{Snapshot, Timestamp, TxnId, WriteError};
pub(crate) use batch::{Loaded, Publication};
pub(crate) use directory::BlockRef;
use directory::Directory;
pub use find::{KeyRead, KeySearch, Seeker};
pub use freezing::HotBlock;
pub use image::{BlockCopy, BlockImage};
pub use index_blocks::SubBlockInfo;
pub use many::KeyBatch;
use moving::Traces;
pub use moving::{BlockUse, Moving};
pub use recover::EvictedBlock;
pub use replay::{RowChange, RowChangeKind, RowChanges, TableReplay, replay_rows};
pub use stored_keys::KeySource;
pub use stored_statistics::KeptStatistics;
pub use undo::{Change, ChangeKind, UndoBuffer, UndoMark};

/// A shared set of rows that transactions read and write.
pub struct Table {
    id: TableId,
    name: String,
    schema: Schema,
    types: Box<[PhysicalType]>,
    layout: Layout,
    pool: Arc<BufferPool>,
    blocks_made: AtomicU64,
    /// See [`Self::replaced_at`].
    replaced_at: AtomicU64,
    directory: Directory,
    /// Where rows of blocks that are gone went, for who still has their TIDs.
    traces: Traces,
    /// The block that takes new rows, in the directory; null at first.
    tail: AtomicPtr<Block>,
    blocks: Mutex<BlockList>,
    indexes: Atomic<Arc<[Arc<TableIndex>]>>,
    indexes_change: Mutex<()>,
    /// Index sub-blocks that frozen blocks have besides their rows.
    sub_blocks: Mutex<Arc<[SubBlockSpec]>>,
    bounds: Bounds,
    live_rows: AtomicI64,
    changes: AtomicU64,
    pub(crate) sharers: Sharers,
    pub(crate) known: Known,
}

/// The blocks in order of their ids.
#[derive(Default)]
struct BlockList {
    all: Arc<Vec<Arc<Block>>>,
    /// Frozen blocks under a sixteenth full.
    small: usize,
}

impl BlockList {
    fn add(&mut self, block: Arc<Block>) {
        self.small += usize::from(is_small(&block));
        let all = Arc::make_mut(&mut self.all);
        let at = all.partition_point(|b| b.id() < block.id());
        all.insert(at, block);
    }

    fn remove(&mut self, id: u64) {
        if let Ok(at) = self.all.binary_search_by_key(&id, |b| b.id()) {
            let block = Arc::make_mut(&mut self.all).remove(at);
            self.small -= usize::from(is_small(&block));
        }
    }

    /// Puts `block` in the place of the block of its id.
    fn replace(&mut self, block: Arc<Block>) {
        self.remove(block.id());
        self.add(block);
    }
}

fn is_small(block: &Block) -> bool {
    block.layout() == BlockLayout::Frozen && block.rows() < BLOCK_ROWS_MAX / 16
}

/// Small frozen blocks from which on INSERT into a frozen table makes hot rows.
const SMALL_BLOCKS_MAX: usize = 64;

/// One column of one block, for `tessera_blocks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// How values are held.
    pub scheme: Scheme,
    /// Bytes of a code or value.
    pub width: usize,
    /// Bytes of all its areas; an estimate for hot blocks, whose string bytes are shared by
    /// columns.
    pub bytes: u64,
}

/// One block, for `tessera_blocks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its number in the table.
    pub id: u64,
    /// How its rows are laid out.
    pub layout: BlockLayout,
    /// Rows.
    pub rows: usize,
    /// Rows that are there, or may be for some snapshot.
    pub live_rows: usize,
    /// Bytes of memory held.
    pub bytes: u64,
    /// Bytes of it that versions of rows take.
    pub version_bytes: u64,
    /// True when its values are in memory, not only in its file.
    pub is_resident: bool,
    /// Rows that commits changed since the block was made, or the database opened.
    pub changes: u64,
    /// The newest commit that changed it.
    pub changed: Timestamp,
    /// Segments by ordinal.
    pub segments: Vec<SegmentInfo>,
}

impl Table {
    /// An empty table.
    pub fn new(
        id: TableId,
        name: impl Into<String>,
        schema: Schema,
        layout: Layout,
        pool: Arc<BufferPool>,
    ) -> Arc<Self> {
        let types = schema.physical();
        Arc::new(Self {
            id,
            name: name.into(),
            schema,
            layout,
            pool,
            blocks_made: AtomicU64::new(0),
            replaced_at: AtomicU64::new(0),
            directory: Directory::default(),
            traces: Traces::default(),
            tail: AtomicPtr::default(),
            blocks: Mutex::default(),
            indexes: Atomic::new(Arc::from([])),
            indexes_change: Mutex::default(),
            sub_blocks: Mutex::new(Arc::from([])),
            bounds: Bounds::new(&types),
            live_rows: AtomicI64::new(0),
            changes: AtomicU64::new(0),
            sharers: Sharers::default(),
            known: Known::new(types.clone()),
            types: types.into(),
        })
    }

    /// Its number in the database.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// When it took the place of another one, whose rows older snapshots saw; 0 for one that did
    /// not.
    pub fn replaced_at(&self) -> Timestamp {
        Timestamp(self.replaced_at.load(Ordering::SeqCst))
    }

    /// Notes that it takes the place of another one at `ts`.
    pub fn set_replaced_at(&self, ts: Timestamp) {
        self.replaced_at.store(ts.0, Ordering::SeqCst);
    }

    /// Its name when it was created.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How its blocks are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The pool that holds its blocks.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// The rows that `at` sees. To be taken while `at` is active.
    pub fn snapshot(&self, at: Snapshot) -> Arc<TableSnapshot> {
        let blocks = Arc::clone(&self.blocks.lock().all);
        TableSnapshot::new(self.schema.clone(), at, &blocks)
    }

    /// Puts `columns` of the row `tid` into `out`, which is cleared; false when `at` does not see
    /// the row.
    ///
    /// # Errors
    /// Errors of reading a frozen block that is not in memory: XX001, 53200, 58030.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn read(
        &self,
        at: Snapshot,
        tid: Tid,
        columns: &[usize],
        out: &mut RowBuffer,
    ) -> Result<bool> {
        let guard = epoch::pin();
        loop {
            let Some((block, row)) = self.place(at, tid, &guard) else {
                out.clear();
                return Ok(false);
            };
            if block.read(row, at, columns, out, &guard)? {
                return Ok(true);
            }
            // It may have moved meanwhile.
            let again = self.place(at, tid, &guard);
            if again.is_none_or(|(other, _)| std::ptr::eq(other.get(), block.get())) {
                return Ok(false);
            }
        }
    }

    /// The block of `tid`, if it has that row.
    #[inline]
    fn locate<'g>(&self, tid: Tid, guard: &'g Guard) -> Option<BlockRef<'g>> {
        self.directory.get(tid.block(), guard).filter(|b| (tid.row() as usize) < b.rows())
    }

    /// Rows that a snapshot taken now sees.
    pub fn live_rows(&self) -> u64 {
        self.live_rows.load(Ordering::Acquire).max(0) as u64
    }

    /// A commit added `rows` rows, less those it deleted, and changed `changes` in all.
    pub(crate) fn note_commit(&self, rows: i64, changes: u64) {
        if rows != 0 {
            self.live_rows.fetch_add(rows, Ordering::AcqRel);
        }
        self.changes.fetch_add(changes, Ordering::Relaxed);
    }

    /// Changes whenever the bounds of a column of whole numbers become wider, or a column gets its
    /// first NULL: plans that rely on them are then made anew. To be read after the snapshot that
    /// the plan will run on was taken.
    pub fn range_epoch(&self) -> u64 {
        self.bounds.epoch()
    }

    /// Descriptions of its blocks, in order.
    pub fn block_infos(&self) -> Vec<BlockInfo> {
        let blocks = Arc::clone(&self.blocks.lock().all);
        blocks.iter().map(|b| BlockInfo::of(b)).collect()
    }

    /// True when block `id` is frozen and nobody told it where it can be read again.
    pub fn wants_home(&self, id: u64) -> bool {
        let guard = epoch::pin();
        let found = self.directory.get(id, &guard);
        found.is_some_and(|block| block.hot.is_none() && !block.has_home())
    }

    /// Tells block `id`, if it is there and frozen, where it can be read again: from then on its
    /// values may leave memory. The first call counts.
    pub fn set_home(&self, id: u64, home: Arc<dyn PayloadSource>) {
        let guard = epoch::pin();
        if let Some(block) = self.directory.get(id, &guard) {
            block.shared().set_home(home);
        }
    }

    pub(crate) fn next_block_id(&self) -> u64 {
        self.blocks_made.fetch_add(1, Ordering::Relaxed)
    }

    /// Its indexes, in the order in which they were added.
    pub fn indexes(&self) -> Arc<[Arc<TableIndex>]> {
        let guard = epoch::pin();
        // SAFETY: never null; replaced lists are dropped after the guard.
        Arc::clone(unsafe { self.indexes.load(Ordering::Acquire, &guard).deref() })
    }

    /// As [`Self::indexes`], for who is pinned.
    #[inline]
    fn index_list<'g>(&self, guard: &'g Guard) -> &'g [Arc<TableIndex>] {
        // SAFETY: as above.
        unsafe { self.indexes.load(Ordering::Acquire, guard).deref() }
    }

    fn set_indexes(&self, list: Vec<Arc<TableIndex>>) {
        let guard = epoch::pin();
        let old = self.indexes.swap(Owned::new(list.into()), Ordering::AcqRel, &guard);
        // SAFETY: out of reach now; who loaded it before is pinned.
        unsafe { guard.defer_destroy(old) };
    }

    /// Maintains `index`, which has the entries of all rows, from now on.
    fn put_index(&self, index: TableIndex) -> Arc<TableIndex> {
        let index = Arc::new(index);
        let mut list = self.indexes().to_vec();
        list.push(Arc::clone(&index));
        self.set_indexes(list);
        index
    }

    /// Rows of `txn`, which has dropped the index `id`, may have equal keys from now on, though the
    /// index is maintained until it is removed. With [`TxnId::NONE`] they may not any more: the
    /// transaction has taken that back, and all that it wrote since. Nobody else may write the
    /// table meanwhile.
    pub fn set_index_dropped_by(&self, id: IndexId, txn: TxnId) {
        let list = self.indexes();
        list.iter().filter(|index| index.spec().id == id).for_each(|i| i.set_dropped_by(txn));
    }

    /// Stops maintaining the index `id`, or drops what blocks have for it.
    pub fn remove_index(&self, id: IndexId) {
        let _latch = self.indexes_change.lock();
        self.remove_sub_blocks(id);
        let list = self.indexes();
        self.set_indexes(list.iter().filter(|i| i.spec().id != id).cloned().collect());
    }

    /// The layout of hot rows.
    fn hot_layout(&self) -> BlockLayout {
        match self.layout {
            Layout::Column => BlockLayout::Column,
            Layout::Row | Layout::Auto | Layout::Frozen => BlockLayout::Row,
        }
    }

    /// True when INSERT makes frozen blocks.
    fn freezes_inserts(&self) -> bool {
        self.layout == Layout::Frozen && self.blocks.lock().small < SMALL_BLOCKS_MAX
    }

    /// Room for up to `count` rows, the first with `heap_bytes` string bytes, at the end of the
    /// table: a block and the rows claimed, at least one. A new block has room for `expected`.
    ///
    /// # Errors
    /// 53200 without memory; 54000 for rows of gigabytes.
    #[inline]
    fn claim<'g>(
        &self,
        (count, expected): (usize, usize),
        heap_bytes: usize,
        guard: &'g Guard,
    ) -> Result<(BlockRef<'g>, Range<u32>)> {
        loop {
            let tail = self.tail.load(Ordering::Acquire);
            // SAFETY: the tail is in the directory, and another or null before it is taken out.
            let found = unsafe { self.directory.found(tail, guard) };
            if let Some(block) = found.filter(|b| !b.is_heap_full(heap_bytes)) {
                let rows = block.claim(count, &self.pool)?;
                if !rows.is_empty() {
                    return Ok((block, rows));
                }
            }
            self.replace_tail(tail, expected, guard)?;
        }
    }

    /// String bytes that the tail still takes.
    fn tail_room(&self, guard: &Guard) -> u64 {
        // SAFETY: as in `claim`.
        let tail = unsafe { self.directory.found(self.tail.load(Ordering::Acquire), guard) };
        let used = tail.map_or(0, |block| block.hot().heap.used());
        if used < hot::HEAP_BYTES_MAX { hot::HEAP_BYTES_MAX - used } else { hot::HEAP_BYTES_MAX }
    }

    /// Closes the tail `full` and makes a new one, or takes up the last block if it has room.
    #[cold]
    fn replace_tail(&self, full: *mut Block, rows: usize, guard: &Guard) -> Result<()> {
        let mut list = self.blocks.lock();
        if self.tail.load(Ordering::Acquire) != full {
            return Ok(());
        }
        // SAFETY: as in `claim`; the latch is held.
        let full = unsafe { self.directory.found(full, guard) };
        let hot = list.all.iter().rev().find(|b| b.hot.is_some()).cloned();
        if full.is_none()
            && let Some(last) = &hot
            && last.layout() == self.hot_layout()
            && !last.hot().is_closed()
            && last.rows() < last.header.capacity as usize
        {
            let pointer = Arc::as_ptr(last).cast_mut();
            self.tail.store(pointer, Ordering::Release);
            return Ok(());
        }
        let before = hot.map_or(hot::ROWS_MIN / 2, |b| b.header.capacity as usize);
        let capacity = rows.max(before * 2).clamp(hot::ROWS_MIN, BLOCK_ROWS_MAX);
        let capacity = capacity.next_power_of_two();
        let id = self.next_block_id();
        let block = hot::create(id, self.hot_layout(), &self.types, capacity, &self.pool)?;
        let block = Arc::new(block);
        let pointer = self.directory.put(Arc::clone(&block));
        list.add(block);
        self.tail.store(pointer, Ordering::Release);
        if let Some(full) = full {
            full.close();
            let is_dead = full.dead() == full.rows();
            drop(list);
            if is_dead {
                self.drop_block(&full, guard);
            }
        }
        Ok(())
    }

    /// Takes a block without rows out of the table. Snapshots keep it.
    pub(crate) fn drop_block(&self, block: &Block, guard: &Guard) {
        let mut list = self.blocks.lock();
        list.remove(block.id());
        let pointer = std::ptr::from_ref(block).cast_mut();
        let null = std::ptr::null_mut();
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let _ = self.tail.compare_exchange(pointer, null, order.0, order.1);
        drop(list);
        self.directory.take(block.id(), guard);
    }

    /// Adds a block that is not the tail.
    fn add_block(&self, block: Arc<Block>) {
        self.directory.put(Arc::clone(&block));
        self.blocks.lock().add(block);
    }

    /// The columns of `batch` as vectors of the schema's types, NOT NULL checked.
    pub(crate) fn conform(&self, batch: &Batch) -> Result<Vec<Arc<Vector>>, WriteError> {
        if batch.columns.len() != self.schema.len() {
            let message = format!("{} columns for table {}", batch.columns.len(), self.name);
            return Err(Error::internal(message).into());
        }
        let columns = batch.columns.iter().zip(self.schema.columns());
        let conform = |(column, spec): (&Column, &crate::schema::ColumnSpec)| {
            let vector = widen(column, spec.physical())?;
            if spec.not_null && vector.validity.as_ref().is_some_and(|v| !v.all()) {
                return Err(self.null_in(batch));
            }
            Ok(vector)
        };
        columns.map(conform).collect()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let indexes = std::mem::take(&mut self.indexes);
        // SAFETY: nobody else has the table.
        drop(unsafe { indexes.try_into_owned() });
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({})", self.name)
    }
}

/// The column as a vector of type `physical`; narrower integers are widened.
fn widen(column: &Column, physical: PhysicalType) -> Result<Arc<Vector>> {
    let vector = column.to_plain();
    if vector.physical() == physical {
        return Ok(vector);
    }
    let data = match (&vector.data, physical) {
        (VectorData::I32(v), PhysicalType::I64) => {
            VectorData::I64(v.iter().map(|&x| x.into()).collect())
        }
        (VectorData::I32(v), PhysicalType::I128) => {
            VectorData::I128(v.iter().map(|&x| x.into()).collect())
        }
        (VectorData::I64(v), PhysicalType::I128) => {
            VectorData::I128(v.iter().map(|&x| x.into()).collect())
        }
        _ => {
            let message = format!("{:?} for a column of {physical:?}", vector.physical());
            return Err(Error::internal(message));
        }
    };
    Ok(Arc::new(Vector::with_validity(data, vector.validity.clone())))
}

impl BlockInfo {
    fn of(block: &Block) -> Self {
        let segments = block.header.segments.iter().map(|s| {
            let rows = block.rows() as u64;
            let size = value_bytes(s.physical) as u64;
            let area = |offset: u32, bytes: u64| if offset == 0 { 0 } else { bytes };
            let entry = if s.physical == PhysicalType::Str { 4 } else { size };
            let lookup = crate::freeze::lookup::table_entries(s.width) as u64 * 4;
            let bytes = area(s.sma, 32)
                + area(s.dictionary, (u64::from(s.entries) + 1) * entry)
                + rows * u64::from(s.width)
                + area(s.lookup, lookup)
                + area(s.validity, rows / 8)
                + area(s.symbols, SYMBOL_TABLE_BYTES as u64)
                + u64::from(s.strings_bytes);
            SegmentInfo { scheme: s.scheme, width: s.width.into(), bytes }
        });
        Self {
            id: block.id(),
            layout: block.layout(),
            rows: block.rows(),
            live_rows: block.rows() - block.dead().min(block.rows()),
            bytes: block.bytes(),
            version_bytes: block.versions.bytes(),
            is_resident: block.is_resident(),
            changes: block.changes(),
            changed: Timestamp(block.changed()),
            segments: segments.collect(),
        }
    }
}
