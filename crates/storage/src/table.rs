//! A table: blocks, and the one latch behind which rows are added.
//!
//! ```text
//! INSERT -- append --------------------------> hot tail block, or small tails frozen again
//! load ---- BulkWriter -- full blocks -- TableLoad::commit --> all blocks at once
//! query --- snapshot: the blocks as they are, shared
//! ```
//! Invariants: readers take the latch for an instant, to share a list of blocks; what is not
//! committed is in no snapshot; block ids are never used twice.
//! Elsewhere: loads (`load`), visibility by transactions (the issue "Transactions").

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use parking_lot::Mutex;
use types::{Error, PhysicalType, Result, SqlState};

use crate::block::{BLOCK_ROWS_MAX, Block, BlockLayout, SYMBOL_TABLE_BYTES, Scheme, value_bytes};
use crate::datum::{Datum, RowBuffer};
use crate::freeze::freeze;
use crate::hot;
use crate::load::{BulkWriter, TableLoad};
use crate::memory::BufferPool;
use crate::positions::Positions;
use crate::schema::{Layout, Schema};
use crate::snapshot::TableSnapshot;
use crate::statistics::{ColumnSummary, Sample, TableStatistics};
use crate::tid::Tid;
use crate::undo::UndoBuffer;
use crate::version::{Snapshot, Timestamp, TxnId};

/// A shared, growing set of rows.
pub struct Table {
    id: u64,
    name: String,
    schema: Schema,
    layout: Layout,
    pool: Arc<BufferPool>,
    blocks_made: AtomicU64,
    state: Mutex<State>,
}

/// Why a row was not written. Nothing was changed by the call.
#[derive(Debug)]
pub enum WriteError {
    /// This transaction has the row (or a row of the same key): wait for its end and call again.
    Wait(TxnId),
    /// Somebody who committed after the snapshot changed the row (40001), or it is gone.
    Conflict {
        /// Where it is now, if it moved.
        moved_to: Option<Tid>,
    },
    /// The row `tid` has the same key (23505).
    Duplicate {
        /// Id of the index.
        index: u64,
        /// The other row.
        tid: Tid,
    },
    /// 23502 and whatever else may fail.
    Failed(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A block as a checkpoint writes it.
#[derive(Debug)]
pub struct BlockImage {
    snapshot: Arc<TableSnapshot>,
    number: usize,
}

impl BlockImage {
    /// Its number in the table.
    pub fn id(&self) -> u64 {
        todo!()
    }

    /// How its rows are laid out.
    pub fn layout(&self) -> BlockLayout {
        todo!()
    }

    /// Its newest change that may not be part of an older image: nothing before it differs.
    pub fn changed(&self) -> Timestamp {
        todo!()
    }

    /// The rows that do not exist in the snapshot, one bit each (1 = dead), and the block as bytes
    /// that describe themselves; the values of such rows are NULL.
    pub fn write(&self) -> (Vec<u64>, Vec<u8>) {
        let _ = (&self.snapshot, self.number);
        todo!()
    }

    /// The dead rows alone: the bytes of a frozen block never change.
    pub fn dead(&self) -> Vec<u64> {
        todo!()
    }
}

struct State {
    blocks: Vec<Arc<Block>>,
    summaries: Vec<ColumnSummary>,
    sample: Sample,
    snapshot: Option<Arc<TableSnapshot>>,
    statistics: Option<Arc<TableStatistics>>,
}

impl State {
    fn empty(types: &[PhysicalType]) -> Self {
        Self {
            blocks: Vec::new(),
            summaries: types.iter().map(|_| ColumnSummary::nulls(0)).collect(),
            sample: Sample::new(types, 1.0),
            snapshot: None,
            statistics: None,
        }
    }

    fn changed(&mut self) {
        self.snapshot = None;
        self.statistics = None;
    }
}

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
    /// Bytes of memory held.
    pub bytes: u64,
    /// By ordinal.
    pub segments: Vec<SegmentInfo>,
}

impl Table {
    /// An empty table.
    pub fn new(
        id: u64,
        name: impl Into<String>,
        schema: Schema,
        layout: Layout,
        pool: Arc<BufferPool>,
    ) -> Arc<Self> {
        let state = Mutex::new(State::empty(&schema.physical()));
        let name = name.into();
        let blocks_made = AtomicU64::new(0);
        Arc::new(Self { id, name, schema, layout, pool, blocks_made, state })
    }

    /// Its number in the database.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Adds a row, values in schema order, to be seen when the transaction of `undo` commits.
    ///
    /// # Errors
    /// [`WriteError::Wait`] and [`WriteError::Duplicate`] by unique indexes; 23502 for NULL in a
    /// NOT NULL column; 53200 without memory; 54000 for a row of gigabytes.
    pub fn insert(
        self: &Arc<Self>,
        _undo: &mut UndoBuffer,
        _row: &[Datum<'_>],
    ) -> Result<Tid, WriteError> {
        todo!()
    }

    /// Adds the rows of `batch`, columns in schema order, and their TIDs to `tids`. Stops at the
    /// first error: the caller rolls back to its mark.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_batch(
        self: &Arc<Self>,
        _undo: &mut UndoBuffer,
        _batch: &Batch,
        _tids: &mut Vec<Tid>,
    ) -> Result<(), WriteError> {
        todo!()
    }

    /// Changes columns of the row `tid`, which `at` sees; returns its TID, a new one if it moved.
    ///
    /// # Errors
    /// As [`Self::insert`]; [`WriteError::Conflict`] when the row changed after `at`.
    pub fn update(
        self: &Arc<Self>,
        _undo: &mut UndoBuffer,
        _at: Snapshot,
        _tid: Tid,
        _changes: &[(usize, Datum<'_>)],
    ) -> Result<Tid, WriteError> {
        todo!()
    }

    /// Removes the row `tid`, which `at` sees.
    ///
    /// # Errors
    /// [`WriteError::Wait`], [`WriteError::Conflict`].
    pub fn delete(
        self: &Arc<Self>,
        _undo: &mut UndoBuffer,
        _at: Snapshot,
        _tid: Tid,
    ) -> Result<(), WriteError> {
        todo!()
    }

    /// Keeps others from changing the row `tid` until the transaction ends (SELECT FOR UPDATE).
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn lock(
        self: &Arc<Self>,
        _undo: &mut UndoBuffer,
        _at: Snapshot,
        _tid: Tid,
    ) -> Result<(), WriteError> {
        todo!()
    }

    /// Puts `columns` of the row `tid` into `out`, which is cleared; false when `at` does not see
    /// the row.
    pub fn read(&self, _at: Snapshot, _tid: Tid, _columns: &[usize], _out: &mut RowBuffer) -> bool {
        todo!()
    }

    /// Rows that are there for a snapshot taken now.
    pub fn live_rows(&self) -> u64 {
        todo!()
    }

    /// Changes whenever bounds of a column became wider: plans that rely on bounds are then made
    /// anew.
    pub fn range_epoch(&self) -> u64 {
        todo!()
    }

    /// Recovery: puts back a block of a checkpoint. Bit `i` of `dead` is 1 when row `i` does not
    /// exist; `created` is the timestamp from which the rest is seen.
    ///
    /// # Errors
    /// XX001 when the bytes are not a whole block of this table; 53200 without memory.
    pub fn restore_block(
        self: &Arc<Self>,
        _id: u64,
        _bytes: &[u8],
        _dead: &[u64],
        _created: Timestamp,
    ) -> Result<()> {
        todo!()
    }

    /// Recovery: puts the row `tid` in place, unversioned; makes its block if it is missing. A row
    /// that exists already gets these values.
    ///
    /// # Errors
    /// XX001 when there is no such place; 53200 without memory.
    pub fn recover_insert(self: &Arc<Self>, _tid: Tid, _row: &[Datum<'_>]) -> Result<()> {
        todo!()
    }

    /// Recovery: changes columns of the row `tid`, unversioned.
    ///
    /// # Errors
    /// XX001 when there is no such row; 53200 without memory.
    pub fn recover_update(
        self: &Arc<Self>,
        _tid: Tid,
        _changes: &[(usize, Datum<'_>)],
    ) -> Result<()> {
        todo!()
    }

    /// Recovery: removes the row `tid`. Nothing happens when it is gone.
    ///
    /// # Errors
    /// XX001 when there is no such place.
    pub fn recover_delete(self: &Arc<Self>, _tid: Tid) -> Result<()> {
        todo!()
    }

    /// The blocks as `at` sees them, for a checkpoint.
    pub fn blocks_at(self: &Arc<Self>, _at: Snapshot) -> Vec<BlockImage> {
        todo!()
    }

    /// The number the next block will get, for the manifest of a checkpoint.
    pub fn next_block(&self) -> u64 {
        self.blocks_made.load(Ordering::Relaxed)
    }

    /// Temp.
    pub fn indexes(&self) -> Arc<[Arc<crate::TableIndex>]> {
        todo!()
    }

    /// Temp.
    pub fn add_index(&self, _index: crate::TableIndex, _threads: usize) -> Result<()> {
        todo!()
    }

    /// Temp.
    pub fn find(&self, _i: usize, _key: &[Datum<'_>], _txn: crate::TxnId, _f: impl FnMut(Tid) -> std::ops::ControlFlow<()>) -> Result<(), WriteError> {
        todo!()
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

    /// Adds the rows of `batch`, whose columns are in schema order: all of them or, on error, none.
    ///
    /// # Errors
    /// 23502 for NULL in a NOT NULL column; 53200 without memory; 54000 for a row of gigabytes.
    pub fn append(&self, batch: &Batch) -> Result<()> {
        let vectors = self.conform(batch)?;
        let vectors: Vec<&Vector> = vectors.iter().map(|v| &**v).collect();
        if batch.rows == 0 {
            return Ok(());
        }
        let mut state = self.state.lock();
        match self.layout {
            Layout::Frozen => self.append_frozen(&mut state, &vectors, batch.rows)?,
            Layout::Column => {
                self.append_hot(&mut state, BlockLayout::Column, &vectors, batch.rows)?
            }
            Layout::Row | Layout::Auto => {
                self.append_hot(&mut state, BlockLayout::Row, &vectors, batch.rows)?;
            }
        }
        for (summary, vector) in state.summaries.iter_mut().zip(&vectors) {
            summary.add(vector);
        }
        let seed = self.next_block_id();
        state.sample.add(&vectors, batch.rows, seed);
        state.changed();
        Ok(())
    }

    fn append_hot(
        &self,
        state: &mut State,
        layout: BlockLayout,
        vectors: &[&Vector],
        rows: usize,
    ) -> Result<()> {
        let types = self.schema.physical();
        let tail = state.blocks.last().filter(|b| b.layout() == layout).cloned();
        let replaced = usize::from(tail.is_some());
        let mut finished: Vec<Arc<Block>> = Vec::new();
        let mut current = tail;
        let mut from = 0;
        while from < rows {
            let block = match current.take() {
                Some(block) => block,
                None => {
                    let room = hot::Room { rows: rows - from, heap_bytes: 0 };
                    let id = self.next_block_id();
                    Arc::new(hot::create(id, layout, &types, room, &self.pool)?)
                }
            };
            // SAFETY: the newest view of a hot block is the last of `state.blocks`, or was made
            // above; `state` is latched, so this is the only writer.
            let (longer, taken) = unsafe { hot::append(&block, vectors, from, rows, &self.pool) }?;
            from += taken;
            if taken == 0 {
                finished.push(block);
            } else {
                current = Some(Arc::new(longer));
            }
        }
        finished.extend(current);
        let kept = state.blocks.len() - replaced;
        state.blocks.truncate(kept);
        state.blocks.extend(finished);
        Ok(())
    }

    /// Freezes the rows together with those of small blocks at the end, so that many small inserts
    /// make few blocks and each row is frozen again a logarithmic number of times.
    fn append_frozen(&self, state: &mut State, vectors: &[&Vector], rows: usize) -> Result<()> {
        let mut merged = rows;
        let mut kept = state.blocks.len();
        while let Some(block) = kept.checked_sub(1).map(|i| &state.blocks[i]) {
            let small = block.rows() <= merged && merged + block.rows() <= BLOCK_ROWS_MAX;
            if !small {
                break;
            }
            merged += block.rows();
            kept -= 1;
        }
        let source = TableSnapshot::new(self.schema.clone(), state.blocks[kept..].to_vec());
        let mut all = Vec::with_capacity(vectors.len());
        for (column, vector) in vectors.iter().enumerate() {
            let mut builder = VectorBuilder::with_capacity(vector.physical(), merged);
            for block in 0..source.block_count() {
                let len = source.block(block).rows() as u32;
                let old = source.unpack(block, column, &Positions::Range { start: 0, len })?;
                builder.append(&old.to_vector(), None);
            }
            builder.append(vector, None);
            all.push(builder.finish());
        }
        let mut blocks = Vec::new();
        for start in (0..merged).step_by(BLOCK_ROWS_MAX) {
            let len = BLOCK_ROWS_MAX.min(merged - start);
            let part: Vec<Vector> = all.iter().map(|v| v.slice(start, len)).collect();
            let part: Vec<&Vector> = part.iter().collect();
            let (block, _) = freeze(self.next_block_id(), &part, len, &self.pool)?;
            blocks.push(Arc::new(block));
        }
        state.blocks.truncate(kept);
        state.blocks.extend(blocks);
        Ok(())
    }

    /// The columns of `batch` as vectors of the schema's types, NOT NULL checked.
    pub(crate) fn conform(&self, batch: &Batch) -> Result<Vec<Arc<Vector>>> {
        if batch.columns.len() != self.schema.len() {
            let message = format!("{} columns for table {}", batch.columns.len(), self.name);
            return Err(Error::internal(message));
        }
        let columns = batch.columns.iter().zip(self.schema.columns());
        let conform = |(column, spec): (&Column, &crate::schema::ColumnSpec)| {
            let vector = widen(column, spec.physical())?;
            if spec.not_null && vector.validity.as_ref().is_some_and(|v| !v.all()) {
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    spec.name, self.name
                );
                return Err(Error::new(SqlState::NOT_NULL_VIOLATION, message));
            }
            Ok(vector)
        };
        columns.map(conform).collect()
    }

    /// Starts a load: rows of its writers become visible together, or not at all.
    pub fn begin_load(self: &Arc<Self>) -> Arc<TableLoad> {
        let threshold = self.state.lock().sample.threshold();
        TableLoad::new(Arc::clone(self), threshold)
    }

    /// A load with one writer, whose [`BulkWriter::finish`] commits it.
    pub fn bulk_writer(self: &Arc<Self>) -> BulkWriter {
        self.begin_load().sole_writer()
    }

    /// Adds finished blocks and what is known of their rows.
    pub(crate) fn publish(
        &self,
        blocks: Vec<Arc<Block>>,
        summaries: &[ColumnSummary],
        sample: &Sample,
    ) {
        let mut state = self.state.lock();
        state.blocks.extend(blocks);
        for (summary, more) in state.summaries.iter_mut().zip(summaries) {
            summary.merge(more);
        }
        state.sample.merge(sample);
        state.changed();
    }

    /// Removes all rows. Snapshots keep theirs.
    pub fn truncate(&self) {
        *self.state.lock() = State::empty(&self.schema.physical());
    }

    /// The rows that `at` sees. To be taken while `at` is active.
    pub fn snapshot(self: &Arc<Self>, _at: Snapshot) -> Arc<TableSnapshot> {
        let mut state = self.state.lock();
        if let Some(snapshot) = &state.snapshot {
            return Arc::clone(snapshot);
        }
        let snapshot = TableSnapshot::new(self.schema.clone(), state.blocks.clone());
        state.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Statistics of the rows now; made when first asked for after a change.
    pub fn statistics(&self) -> Arc<TableStatistics> {
        let mut state = self.state.lock();
        if let Some(statistics) = &state.statistics {
            return Arc::clone(statistics);
        }
        let State { blocks, summaries, sample, .. } = &mut *state;
        let made = TableStatistics::new(blocks, summaries, sample);
        let statistics = Arc::new(made);
        state.statistics = Some(Arc::clone(&statistics));
        statistics
    }

    /// What its blocks are, in order.
    pub fn block_infos(&self) -> Vec<BlockInfo> {
        let blocks = self.state.lock().blocks.clone();
        blocks.iter().map(|b| BlockInfo::of(b)).collect()
    }

    pub(crate) fn next_block_id(&self) -> u64 {
        self.blocks_made.fetch_add(1, Ordering::Relaxed)
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
            bytes: block.bytes(),
            segments: segments.collect(),
        }
    }
}
