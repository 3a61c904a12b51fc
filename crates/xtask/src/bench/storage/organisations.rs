//! How the rows of a table are organised, in the storage that SQL uses.
//!
//! ```text
//! data -> shares of workers -> BulkWriter (rows a block, sorted by) -> blocks -> indexes
//! ```
//! A *file* is a block that holds the whole share of a worker. Partitions are ranges of the values
//! of the other column, of equal width; each block has rows of one of them.
//! Source: Patel 2013, section 3.3.1.

use std::sync::Arc;
use std::time::Instant;

use kernels::Batch;
use storage::{
    BLOCK_ROWS_MAX, BlockShape, BufferPool, BulkWriter, IndexColumn, IndexId, IndexKind, IndexSpec,
    Layout, Snapshot, SubBlockKind, SubBlockSpec, Table, TableId, TableIndex, TableSnapshot, TxnId,
    Uniqueness, batch_of,
};

use super::measure::Sample;
use super::tables::Data;
use super::{Outcome, Settings};
use crate::text;

/// Partitions of a table that has some.
pub(super) const PARTITIONS: usize = 16;

/// Index that leads to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// Nothing.
    None,
    /// A B+-tree over all rows, on the sort column and on the other: table indexes.
    Table,
    /// A CSB+-tree in each block, on the other column.
    Csb,
}

/// Where rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The blocks stay as they were made.
    Made,
    /// Each block is sorted by the sort column.
    Sorted,
    /// The same, and each block is of one partition of the other column.
    Partitioned,
}

/// One organisation.
#[derive(Clone, Debug)]
pub(super) struct Organisation {
    pub(super) name: String,
    pub(super) layout: Layout,
    pub(super) block_rows: usize,
    pub(super) order: Order,
    pub(super) index: Index,
}

/// Time and result of building.
#[derive(Clone, Debug)]
pub(super) struct Build {
    pub(super) table: &'static str,
    pub(super) organisation: String,
    pub(super) rows: usize,
    pub(super) blocks: usize,
    /// Bytes of all blocks without index sub-blocks.
    pub(super) bytes: u64,
    /// Bytes of the index on the other column.
    pub(super) index_bytes: u64,
    /// Milliseconds of loading, sorting and encoding included.
    pub(super) load: Sample,
    /// Milliseconds of building the index on the other column.
    pub(super) index: Option<Sample>,
}

/// A table in one organisation.
pub(super) struct Stored {
    pub(super) organisation: Organisation,
    pub(super) table: Arc<Table>,
    pub(super) snapshot: Arc<TableSnapshot>,
    pub(super) build: Build,
}

/// Number of the index on the sort column in [`Table::indexes`]; the other column's is the next.
pub(super) const SORT_INDEX: usize = 0;

impl Organisation {
    /// Blocks of usual size, rows as they were made, without an index.
    pub(super) fn new(name: impl Into<String>, layout: Layout) -> Self {
        let (block_rows, order, index) = (BLOCK_ROWS_MAX, Order::Made, Index::None);
        Self { name: name.into(), layout, block_rows, order, index }
    }

    /// The same in this order, with this index.
    pub(super) fn with(self, order: Order, index: Index) -> Self {
        Self { order, index, ..self }
    }

    /// The same with blocks of at most so many rows.
    pub(super) fn of_blocks(self, block_rows: usize) -> Self {
        Self { block_rows: block_rows.clamp(1, BLOCK_ROWS_MAX), ..self }
    }

    /// Loads `data`, `builds` times for the time it takes, with the threads of `settings`.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn build(
        &self,
        data: &Data,
        settings: &Settings,
        builds: usize,
    ) -> Result<Stored, String> {
        let (mut loads, mut indexes) = (Vec::new(), Vec::new());
        for _ in 1..builds {
            let (table, ms) = self.load(data, settings.threads)?;
            loads.push(ms);
            indexes.extend(self.add_index(&table, data, settings.threads)?);
        }
        let (table, ms) = self.load(data, settings.threads)?;
        loads.push(ms);
        let bytes = table.snapshot(Snapshot::ALL).bytes();
        indexes.extend(self.add_index(&table, data, settings.threads)?);
        let index_bytes = match self.index {
            Index::None => 0,
            Index::Csb => table.sub_block_info(CSB_ID).bytes,
            Index::Table => table.indexes()[SORT_INDEX + 1].bytes(),
        };
        let snapshot = table.snapshot(Snapshot::ALL);
        let build = Build {
            table: data.spec.name,
            organisation: self.name.clone(),
            rows: data.rows,
            blocks: snapshot.block_count(),
            bytes,
            index_bytes,
            load: Sample::of(&loads),
            index: (!indexes.is_empty()).then(|| Sample::of(&indexes)),
        };
        Ok(Stored { organisation: self.clone(), table, snapshot, build })
    }

    /// The table, and milliseconds.
    fn load(&self, data: &Data, threads: usize) -> Result<(Arc<Table>, f64), String> {
        let pool = BufferPool::new(u64::MAX);
        let table = Table::new(TableId(1), data.spec.name, data.spec.schema(), self.layout, pool);
        let sorted_by = (self.order != Order::Made).then_some(data.spec.sort);
        let shape = BlockShape { rows_max: self.block_rows, sorted_by };
        let parts = if self.order == Order::Partitioned { PARTITIONS } else { threads };
        let begun = Instant::now();
        let load = table.begin_load();
        let mut writers: Vec<_> = (0..parts).map(|part| (part, load.writer_of(shape))).collect();
        let mut shares: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        while let Some((part, writer)) = writers.pop() {
            shares[part % threads].push((part, writer));
        }
        let push = |part: usize, writer: &mut BulkWriter| match self.order {
            Order::Partitioned => push_partition(data, part, writer),
            Order::Made | Order::Sorted => push_share(data, part, threads, writer),
        };
        let run = |share: Vec<(usize, BulkWriter)>| -> Outcome {
            for (part, mut writer) in share {
                push(part, &mut writer)?;
                writer.finish().map_err(text)?;
            }
            Ok(())
        };
        let run = &run;
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                shares.into_iter().map(|share| scope.spawn(move || run(share))).collect();
            let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            ends.into_iter().try_for_each(|end| end.map_err(|_| "a worker panicked".to_owned())?)
        })?;
        let rows = load.commit_for_all().map_err(text)?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        if rows != data.rows as u64 {
            return Err(format!("{}: {rows} rows loaded of {}", self.name, data.rows));
        }
        Ok((table, ms))
    }

    /// Milliseconds of building the index on the other column, if there is one.
    fn add_index(
        &self,
        table: &Arc<Table>,
        data: &Data,
        threads: usize,
    ) -> Result<Option<f64>, String> {
        let (sort, other) = (data.spec.sort, data.spec.other);
        match self.index {
            Index::None => Ok(None),
            Index::Csb => {
                let kind = SubBlockKind::Csb;
                let spec = SubBlockSpec { id: CSB_ID, name: "csb".into(), column: other, kind };
                let begun = Instant::now();
                table.add_sub_blocks(spec, threads).map_err(text)?;
                Ok(Some(begun.elapsed().as_secs_f64() * 1e3))
            }
            Index::Table => {
                let mut last = None;
                for column in [sort, other] {
                    let spec = IndexSpec {
                        id: IndexId(column as u64),
                        name: format!("i{column}"),
                        columns: vec![IndexColumn::new(column)],
                        unique: Uniqueness::No,
                        kind: IndexKind::Ordered,
                    };
                    let begun = Instant::now();
                    let index =
                        TableIndex::new(spec, table.schema(), table.pool()).map_err(text)?;
                    let added = table.add_index(index, threads, TxnId::NONE);
                    added.map_err(|error| format!("{error:?}"))?;
                    last = Some(begun.elapsed().as_secs_f64() * 1e3);
                }
                Ok(last)
            }
        }
    }
}

/// Number of the CSB+-trees.
const CSB_ID: IndexId = IndexId(1);

/// Rows pushed at a time.
const PUSH_ROWS: usize = 16_384;

/// Pushes the rows of worker `part` of `parts`.
fn push_share(data: &Data, part: usize, parts: usize, writer: &mut BulkWriter) -> Outcome {
    let (mut at, end) = (data.rows * part / parts, data.rows * (part + 1) / parts);
    while at < end {
        let rows = PUSH_ROWS.min(end - at);
        let columns = data.columns.iter().map(|column| column.slice(at, rows));
        let pushed = writer.push(&batch_of(columns.collect()));
        pushed.map_err(|error| text(error.into_failure()))?;
        at += rows;
    }
    Ok(())
}

/// Pushes the rows whose value of the other column is in range `part` of [`PARTITIONS`].
fn push_partition(data: &Data, part: usize, writer: &mut BulkWriter) -> Outcome {
    let upper = u64::from(data.spec.upper(data.spec.other).unwrap_or(1));
    let partition = |value: i32| (value as u64 - 1) * PARTITIONS as u64 / upper;
    let values = data.numbers(data.spec.other).iter().enumerate();
    let rows = values.filter(|(_, value)| partition(**value) == part as u64);
    let rows: Vec<u32> = rows.map(|(row, _)| row as u32).collect();
    for rows in rows.chunks(PUSH_ROWS) {
        let columns = data.columns.iter().map(|column| column.gather(rows));
        let batch: Batch = batch_of(columns.collect());
        writer.push(&batch).map_err(|error| text(error.into_failure()))?;
    }
    Ok(())
}
