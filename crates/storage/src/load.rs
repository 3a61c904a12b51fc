//! Bulk loads: writers on many threads, all of whose rows appear at once.
//!
//! ```text
//! BulkWriter -- push --> columns of up to 65,536 rows -- freeze -> blocks -. finish
//! BulkWriter -- push --> ...                                        +--> TableLoad -- commit
//! ```
//! Invariants: rows of one writer keep their order, within a block unless its [`BlockShape`] says
//! otherwise; a load that is dropped leaves nothing; blocks are made on the thread that pushes.

mod order;

use std::sync::Arc;

use kernels::{Batch, Column, Vector, VectorBuilder};
use parking_lot::Mutex;
use types::{Error, Result};

use crate::block::{BLOCK_ROWS_MAX, Block, BlockLayout};
use crate::freeze::freeze;
use crate::hot;
use crate::memory::{MemoryCategory, Reservation};
use crate::schema::Layout;
use crate::statistics::{ColumnSummary, Sample};
use crate::table::{Loaded, Publication, Table, UndoBuffer};
use crate::version::WriteError;

/// String bytes of one column after which a block is full before it has all its rows.
const STRING_BYTES_MAX: usize = 256 << 20;

/// How a writer cuts its rows into blocks.
///
/// Source: Patel 2013, sections 3.3.1 and 4.1 (sorted column stores; sizes of blocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Rows of a block: from 1 to [`BLOCK_ROWS_MAX`], which is usual.
    pub rows_max: usize,
    /// Ordinal of the column by which the rows of each block are sorted: ascending, NULLs last,
    /// rows of one value as they were pushed. Without it rows stay as they were pushed. Scans of
    /// frozen blocks find ranges of a sorted column by binary search.
    pub sorted_by: Option<usize>,
}

impl Table {
    /// Starts a load: rows of its writers become visible together, or not at all.
    pub fn begin_load(self: &Arc<Self>) -> Arc<TableLoad> {
        let threshold = self.known.threshold();
        TableLoad::new(Arc::clone(self), threshold)
    }

    /// A load with one writer, whose [`BulkWriter::finish`] makes its rows visible to everybody,
    /// without a transaction.
    pub fn bulk_writer(self: &Arc<Self>) -> BulkWriter {
        self.begin_load().sole_writer()
    }
}

impl Default for BlockShape {
    fn default() -> Self {
        Self { rows_max: BLOCK_ROWS_MAX, sorted_by: None }
    }
}

/// Blocks and statistics that one writer made.
struct Written {
    blocks: Vec<Block>,
    summaries: Vec<ColumnSummary>,
    sample: Sample,
    rows: u64,
}

impl Written {
    fn new(table: &Table, threshold: f64) -> Self {
        let types = table.schema().physical();
        Self {
            blocks: Vec::new(),
            summaries: types.iter().map(|_| ColumnSummary::nulls(0)).collect(),
            sample: Sample::new(&types, threshold),
            rows: 0,
        }
    }
}

/// One load of one table.
pub struct TableLoad {
    table: Arc<Table>,
    threshold: f64,
    state: Mutex<LoadState>,
}

#[derive(Default)]
struct LoadState {
    writers: usize,
    /// Results by number of the writer.
    finished: Vec<(usize, Written)>,
    /// Once commit was called: what it makes visible, and the rows of that.
    publication: Option<(Publication, u64)>,
    /// The rows are the table's, or cannot be.
    ended: bool,
}

impl TableLoad {
    pub(crate) fn new(table: Arc<Table>, threshold: f64) -> Arc<Self> {
        Arc::new(Self { table, threshold, state: Mutex::default() })
    }

    /// A writer, for one thread. Writers made earlier come first in the table.
    pub fn writer(self: &Arc<Self>) -> BulkWriter {
        self.writer_of(BlockShape::default())
    }

    /// As [`Self::writer`], of blocks of this shape.
    ///
    /// # Panics
    /// If a block cannot have so many rows, or the table has no such column.
    pub fn writer_of(self: &Arc<Self>, shape: BlockShape) -> BulkWriter {
        assert!((1..=BLOCK_ROWS_MAX).contains(&shape.rows_max), "rows of a block");
        let columns = self.table.schema().len();
        assert!(shape.sorted_by.is_none_or(|column| column < columns), "a column of the table");
        let mut state = self.state.lock();
        state.writers += 1;
        BulkWriter::new(Arc::clone(self), state.writers - 1, OnFinish::HandOver, shape)
    }

    pub(crate) fn sole_writer(self: &Arc<Self>) -> BulkWriter {
        BulkWriter::new(Arc::clone(self), 0, OnFinish::Commit, BlockShape::default())
    }

    /// Makes the rows of all finished writers part of the transaction of `undo`; returns how many.
    /// Rows of writers that did not finish are dropped. After [`WriteError::Wait`] the caller calls
    /// again, and the load goes on at the row that had to wait; after any other error the caller
    /// rolls back to before.
    ///
    /// # Errors
    /// [`WriteError::Wait`] and [`WriteError::Duplicate`] by unique indexes; XX000 when the load
    /// was committed before.
    pub fn commit(&self, undo: &mut UndoBuffer) -> Result<u64, WriteError> {
        self.publish(Some(undo))
    }

    /// As [`Self::commit`], without a transaction: everybody sees the rows at once.
    ///
    /// # Errors
    /// XX000 when the load was committed before, or there are unique indexes.
    pub fn commit_for_all(&self) -> Result<u64> {
        self.publish(None).map_err(WriteError::into_failure)
    }

    fn publish(&self, undo: Option<&mut UndoBuffer>) -> Result<u64, WriteError> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(Error::internal("the load was committed before").into());
        }
        let finished = std::mem::take(&mut state.finished);
        let (publication, rows) = state.publication.get_or_insert_with(|| self.gather(finished));
        let (published, rows) = (self.table.publish(publication, undo), *rows);
        state.ended = !matches!(published, Err(WriteError::Wait(_)));
        published.map(|()| rows)
    }

    /// The blocks of all writers, and their rows.
    fn gather(&self, mut finished: Vec<(usize, Written)>) -> (Publication, u64) {
        finished.sort_by_key(|(number, _)| *number);
        let mut all = Written::new(&self.table, self.threshold);
        for (_, written) in finished {
            all.blocks.extend(written.blocks);
            all.rows += written.rows;
            all.sample.merge(&written.sample);
            for (summary, more) in all.summaries.iter_mut().zip(&written.summaries) {
                summary.merge(more);
            }
        }
        // Blocks get their ids here: in order of the writers.
        let renumber = |block: Block| Arc::new(block.with_id(self.table.next_block_id()));
        let blocks = all.blocks.into_iter().map(renumber).collect();
        let loaded = Loaded { blocks, summaries: &all.summaries, sample: &all.sample };
        (self.table.admit(loaded), all.rows)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnFinish {
    HandOver,
    Commit,
}

/// Collects rows of one thread and makes blocks of them.
pub struct BulkWriter {
    load: Arc<TableLoad>,
    number: usize,
    on_finish: OnFinish,
    shape: BlockShape,
    builders: Vec<VectorBuilder>,
    /// Rows in the builders.
    buffered: usize,
    reservation: Option<Reservation>,
    written: Written,
}

impl BulkWriter {
    fn new(load: Arc<TableLoad>, number: usize, on_finish: OnFinish, shape: BlockShape) -> Self {
        let written = Written::new(&load.table, load.threshold);
        let builders = empty_builders(&load.table);
        let reservation = None;
        Self { load, number, on_finish, shape, builders, buffered: 0, reservation, written }
    }

    /// Adds the rows of `batch`, whose columns are in schema order. After an error drop the writer.
    ///
    /// # Errors
    /// [`WriteError::Null`]; 53200 without memory; 54000 for a row of gigabytes.
    pub fn push(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let vectors = self.load.table.conform(batch)?;
        let mut from = 0;
        while from < batch.rows {
            let taken = (self.shape.rows_max - self.buffered).min(batch.rows - from);
            for (builder, vector) in self.builders.iter_mut().zip(&vectors) {
                if taken == vector.len() {
                    builder.append(vector, None);
                } else {
                    builder.append(&vector.slice(from, taken), None);
                }
            }
            from += taken;
            self.buffered += taken;
            let full = self.buffered == self.shape.rows_max
                || self.builders.iter().any(|b| b.bytes() > STRING_BYTES_MAX);
            self.count_memory()?;
            if full {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn count_memory(&mut self) -> Result<()> {
        let bytes = self.builders.iter().map(|b| b.bytes() as u64).sum();
        match &mut self.reservation {
            Some(reservation) => reservation.resize(bytes),
            None => {
                let pool = self.load.table.pool();
                self.reservation = Some(pool.reserve(MemoryCategory::Load, bytes)?);
                Ok(())
            }
        }
    }

    /// Makes a block of the rows collected.
    fn flush(&mut self) -> Result<()> {
        let table = Arc::clone(&self.load.table);
        let builders = std::mem::replace(&mut self.builders, empty_builders(&table));
        let mut vectors: Vec<Vector> = builders.into_iter().map(VectorBuilder::finish).collect();
        if let Some(column) = self.shape.sorted_by {
            let order = order::sorted_rows(&vectors[column]);
            vectors.iter_mut().for_each(|vector| *vector = vector.gather(&order));
        }
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let rows = std::mem::take(&mut self.buffered);
        if rows == 0 {
            return Ok(());
        }
        let (block, summaries) = match table.layout() {
            Layout::Frozen | Layout::Auto => freeze(UNNUMBERED, &vectors, rows, table.pool())?,
            Layout::Row => hot_block(BlockLayout::Row, &vectors, rows, &table)?,
            Layout::Column => hot_block(BlockLayout::Column, &vectors, rows, &table)?,
        };
        table.build_sub_blocks(&block)?;
        for (summary, more) in self.written.summaries.iter_mut().zip(&summaries) {
            summary.merge(more);
        }
        let seed = (self.number as u64) << 32 | self.written.blocks.len() as u64;
        self.written.sample.add(&vectors, rows, seed);
        self.written.blocks.push(block);
        self.written.rows += rows as u64;
        Ok(())
    }

    /// Makes a block of the last rows and hands all of them to the load, for [`TableLoad::commit`];
    /// the writer of [`Table::bulk_writer`] makes them visible to everybody at once. Returns how
    /// many rows were pushed.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        let Self { load, number, on_finish, written, .. } = self;
        let rows = written.rows;
        load.state.lock().finished.push((number, written));
        if on_finish == OnFinish::Commit {
            load.commit_for_all()?;
        }
        Ok(rows)
    }
}

fn empty_builders(table: &Table) -> Vec<VectorBuilder> {
    table.schema().physical().into_iter().map(VectorBuilder::new).collect()
}

/// The id of a block until its load is committed.
const UNNUMBERED: u64 = 0;

fn hot_block(
    layout: BlockLayout,
    vectors: &[&Vector],
    rows: usize,
    table: &Table,
) -> Result<(Block, Vec<ColumnSummary>)> {
    let block = hot::build(UNNUMBERED, layout, vectors, rows, table.pool())?;
    Ok((block, vectors.iter().copied().map(ColumnSummary::of).collect()))
}

/// A batch of vectors, for callers that have no columns yet.
pub fn batch_of(vectors: Vec<Vector>) -> Batch {
    let rows = vectors.first().map_or(0, Vector::len);
    Batch::new(vectors.into_iter().map(Column::plain).collect(), rows)
}
