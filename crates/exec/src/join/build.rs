//! The stored build side.

use std::sync::Arc;

use kernels::hash::hash_columns;
use kernels::{BATCH_ROWS, Batch, Column, Vector};
use plan::physical::{Expr, ExprKind, Node, OperatorId};
use storage::{MemoryCategory, Positions, Reservation};
use types::{Error, PhysicalType, Result, SqlState};

use crate::context::QueryContext;
use crate::expr::{Evaluator, columns_of};
use crate::flow::{Flow, NULL_ROW, RowSource};
use crate::pipeline::{Demand, Place, Sink, Stream, drive};
use crate::result::string_bytes;
use crate::spill::{PARTITION_BITS, Partitions, Room, SpillFile, Written, split};

use super::layout::{Layout, place_of};
use super::parallel::compute_all;
use super::stored::Stored;

/// Stored columns of each row: columns of the build child, then computed keys.
pub(super) struct BuildInput {
    columns: Vec<usize>,
    computed: Vec<Evaluator>,
    /// All columns that are loaded: stored ones and those that computed keys use.
    loaded: Vec<usize>,
    types: Vec<PhysicalType>,
    /// Per key its place among the stored columns.
    keys: Vec<usize>,
    /// Numbers of the keys whose hash is a row's partition on disk; none when it cannot spill.
    partitioned: Vec<usize>,
}

impl BuildInput {
    /// Columns that the layout and the key expressions `keys` need of `build`.
    pub(super) fn new(
        build: &Node,
        layout: &mut Layout,
        keys: &[&Expr],
        partitioned: Vec<usize>,
    ) -> Result<Self> {
        let mut columns = layout.build.clone();
        for key in keys {
            if let ExprKind::Column(column) = key.kind {
                place_of(&mut columns, column);
            }
        }
        let mut loaded = columns.clone();
        let mut types: Vec<_> = columns.iter().map(|&c| build.output[c].physical).collect();
        let (mut computed, mut places) = (Vec::new(), Vec::new());
        for key in keys {
            if let ExprKind::Column(column) = key.kind {
                places.push(place_of(&mut columns, column));
                continue;
            }
            places.push(columns.len() + computed.len());
            computed.push(Evaluator::new(key)?);
            types.push(key.physical);
            columns_of(key).into_iter().for_each(|column| {
                place_of(&mut loaded, column);
            });
        }
        Ok(Self { columns, computed, loaded, types, keys: places, partitioned })
    }

    /// Column `column` of all `batches`; keys are plain.
    fn together(&self, batches: &[Batch], column: usize) -> Stored {
        let physical = self.types[column];
        if self.keys.contains(&column) {
            Stored::plain(batches, column, physical)
        } else {
            Stored::payload(batches, column, physical)
        }
    }

    /// True when rows have partitions.
    pub(super) fn can_spill(&self) -> bool {
        !self.partitioned.is_empty()
    }

    /// Numbers of the keys whose hash is a row's partition.
    pub(super) fn partitioned(&self) -> &[usize] {
        &self.partitioned
    }

    /// Bytes of `rows` stored rows; strings beyond their views are not counted.
    pub(super) fn bytes_of(&self, rows: usize) -> u64 {
        self.types.iter().map(|&t| width(t)).sum::<u64>() * rows as u64
    }

    /// The build child's ordinals that are stored, each with its place.
    pub(super) fn places(&self) -> Vec<(usize, usize)> {
        self.columns.iter().copied().enumerate().map(|(place, column)| (column, place)).collect()
    }

    /// Places of the keys among stored columns.
    pub(super) fn keys(&self) -> &[usize] {
        &self.keys
    }

    /// No rows on disk yet.
    ///
    /// # Errors
    /// As [`SpillFile::new`].
    pub(super) fn partitions(
        &self,
        context: &Arc<QueryContext>,
        id: OperatorId,
    ) -> Result<Partitions> {
        Ok(Partitions::new(SpillFile::new(context, id)?, 1 << PARTITION_BITS))
    }

    /// Writes stored rows to their partitions of `level`.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub(super) fn write(
        &self,
        partitions: &mut Partitions,
        batch: &Batch,
        level: u32,
    ) -> Result<()> {
        let keys = self.partitioned.iter().map(|&k| &batch.columns[self.keys[k]]);
        let mut hashes = Vec::new();
        hash_columns(&keys.collect::<Vec<_>>(), batch.rows, &mut hashes);
        partitions.append(batch, &split(&hashes, level, PARTITION_BITS))
    }

    /// The stored columns of the rows of `flow`.
    ///
    /// # Errors
    /// Whatever unpacking and evaluation meet.
    pub(super) fn stored(&self, mut flow: Flow) -> Result<Batch> {
        flow.load(&self.loaded)?;
        let batch = flow.batch();
        let mut columns: Vec<_> = self.columns.iter().map(|&c| batch.columns[c].clone()).collect();
        for key in &self.computed {
            columns.push(key.evaluate(batch)?);
        }
        Ok(Batch::new(columns, batch.rows))
    }
}

/// Bytes of one value; strings beyond their views are not counted.
fn width(physical: PhysicalType) -> u64 {
    match physical {
        PhysicalType::Bool => 1,
        PhysicalType::I32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        PhysicalType::I128 | PhysicalType::Interval | PhysicalType::Str => 16,
    }
}

/// Bytes that a worker's part of a build side grows by before it asks for room again.
const STEP_BYTES: u64 = 64 << 10;

/// Keeps batches as they come, with their place, or writes them to disk when they have no room.
struct BuildSink {
    context: Arc<QueryContext>,
    input: Arc<BuildInput>,
    id: OperatorId,
}

struct Gathered {
    batches: Vec<(Place, Batch)>,
    bytes: u64,
    /// Strings of the batches, which are counted where they were made.
    strings: u64,
    memory: Reservation,
    spilled: Option<Partitions>,
}

impl BuildSink {
    /// Writes what was gathered to disk; further rows follow it.
    fn spill(&self, local: &mut Gathered) -> Result<()> {
        let batches = std::mem::take(&mut local.batches);
        if local.spilled.is_none() {
            local.spilled = Some(self.input.partitions(&self.context, self.id)?);
        }
        if let Some(partitions) = &mut local.spilled {
            for (_, batch) in batches {
                self.input.write(partitions, &batch, 0)?;
            }
        }
        (local.bytes, local.strings) = (0, 0);
        local.memory.resize(0)
    }
}

impl Sink for BuildSink {
    type Local = Gathered;

    fn local(&self) -> Gathered {
        let memory = Reservation::empty(&self.context.pool, MemoryCategory::HashTables);
        Gathered { batches: Vec::new(), bytes: 0, strings: 0, memory, spilled: None }
    }

    fn consume(&self, local: &mut Gathered, flow: Flow, place: Place) -> Result<Demand> {
        let batch = self.input.stored(flow)?;
        if let Some(partitions) = &mut local.spilled {
            self.input.write(partitions, &batch, 0)?;
            return Ok(Demand::More);
        }
        local.bytes += self.input.bytes_of(batch.rows) + 64;
        let strings = string_bytes(&batch);
        local.strings += strings;
        local.batches.push((place, batch));
        // In steps, so that the pool is not asked for each flow.
        if local.bytes > local.memory.bytes() || strings > STEP_BYTES {
            let wanted = local.bytes + local.bytes / 4 + STEP_BYTES;
            let resized = local.memory.resize(wanted.max(local.memory.bytes()));
            let full = self.context.room(local.bytes + local.strings) == Room::Full;
            match resized {
                Err(error) if !(self.input.can_spill() && self.context.can_spill(&error)) => {
                    return Err(error);
                }
                Ok(()) if !(self.input.can_spill() && full) => {}
                _ => self.spill(local)?,
            }
        }
        Ok(Demand::More)
    }
}

/// A complete build side.
pub(super) enum Built {
    /// In memory.
    Memory(BuildRows),
    /// On disk, what each worker wrote.
    Disk(Vec<Written>),
}

/// The build side: the layout's build columns, then keys; rows in the order its stream gave them.
pub(super) struct BuildRows {
    columns: Vec<Arc<Stored>>,
    keys: Vec<Arc<Vector>>,
    rows: usize,
    nullable: bool,
    bytes: u64,
    _memory: Vec<Reservation>,
}

/// Rows from which on columns are put together by several workers.
const PARALLEL_ROWS: usize = 1 << 15;

impl BuildRows {
    /// Runs `stream` and stores what `input` says. `nullable`: [`NULL_ROW`] may be asked for.
    ///
    /// # Errors
    /// Whatever running meets; 53200 when the rows do not fit and cannot spill; 54000 beyond 2^32
    /// rows.
    pub(super) fn collect(
        context: &Arc<QueryContext>,
        stream: &Stream,
        (input, id): (&Arc<BuildInput>, OperatorId),
        nullable: bool,
    ) -> Result<Built> {
        let sink = BuildSink { context: Arc::clone(context), input: Arc::clone(input), id };
        let sink = Arc::new(sink);
        let mut locals = drive(context, stream, &sink)?;
        if locals.iter().any(|local| local.spilled.is_some()) {
            locals.iter_mut().try_for_each(|local| sink.spill(local))?;
            let partitions = locals.into_iter().filter_map(|local| local.spilled);
            return Ok(Built::Disk(partitions.map(Partitions::finish).collect::<Result<_>>()?));
        }
        let mut batches = Vec::new();
        let mut memory = Vec::new();
        for local in locals {
            batches.extend(local.batches);
            memory.push(local.memory);
        }
        batches.sort_by_key(|(place, _)| *place);
        let batches: Vec<Batch> = batches.into_iter().map(|(_, batch)| batch).collect();
        let rows: usize = batches.iter().map(|b| b.rows).sum();
        // The copy, beside the batches, which go when it is complete.
        let copy = match Self::reserved(context, input, &batches) {
            Err(error) if input.can_spill() && context.can_spill(&error) => {
                let mut partitions = input.partitions(context, id)?;
                batches.iter().try_for_each(|batch| input.write(&mut partitions, batch, 0))?;
                return Ok(Built::Disk(vec![partitions.finish()?]));
            }
            copy => copy?,
        };
        let together = {
            let input = Arc::clone(input);
            let batches = Arc::new(batches);
            move |c: usize| Arc::new(input.together(&batches, c))
        };
        let columns = input.types.len();
        let columns: Vec<_> = if rows < PARALLEL_ROWS {
            (0..columns).map(together).collect()
        } else {
            compute_all(context, columns, together)?
        };
        Ok(Built::Memory(Self::of(input, columns, rows, nullable, copy)))
    }

    /// `batches`, on the calling thread, which may be a worker.
    ///
    /// # Errors
    /// 53200 when the rows do not fit; 54000 beyond 2^32 rows.
    pub(super) fn of_batches(
        context: &Arc<QueryContext>,
        batches: &[Batch],
        input: &BuildInput,
        nullable: bool,
    ) -> Result<Self> {
        let rows = batches.iter().map(|b| b.rows).sum();
        let copy = Self::reserved(context, input, batches)?;
        let columns = 0..input.types.len();
        let columns = columns.map(|c| Arc::new(input.together(batches, c))).collect();
        Ok(Self::of(input, columns, rows, nullable, copy))
    }

    fn of(
        input: &BuildInput,
        columns: Vec<Arc<Stored>>,
        rows: usize,
        nullable: bool,
        memory: Reservation,
    ) -> Self {
        let keys = input.keys.iter().filter_map(|&k| columns[k].vector().cloned()).collect();
        Self { columns, keys, rows, nullable, bytes: memory.bytes(), _memory: vec![memory] }
    }

    /// Memory for a copy of the rows of `batches`.
    fn reserved(
        context: &Arc<QueryContext>,
        input: &BuildInput,
        batches: &[Batch],
    ) -> Result<Reservation> {
        let rows: usize = batches.iter().map(|b| b.rows).sum();
        if rows >= NULL_ROW as usize {
            let message = "a join's build side has more than 4294967294 rows";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        let strings: u64 = batches.iter().map(string_bytes).sum();
        context.pool.reserve(MemoryCategory::HashTables, input.bytes_of(rows) + strings)
    }

    /// Writes the rows to disk.
    ///
    /// # Errors
    /// As [`crate::spill::SpillFile::write`].
    pub(super) fn write(&self, input: &BuildInput, partitions: &mut Partitions) -> Result<()> {
        for start in (0..self.rows).step_by(BATCH_ROWS) {
            let len = BATCH_ROWS.min(self.rows - start);
            let slice = |c: &Arc<Stored>| c.slice(start, len);
            let batch = Batch::new(self.columns.iter().map(slice).collect(), len);
            input.write(partitions, &batch, 0)?;
        }
        Ok(())
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The key columns.
    pub(super) fn keys(&self) -> &[Arc<Vector>] {
        &self.keys
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The rows of a stored column at `rows`.
    pub(super) fn gather(&self, column: usize, rows: &[u32]) -> Column {
        self.columns[column].gather(rows)
    }
}

impl RowSource for BuildRows {
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column> {
        let stored = &self.columns[column];
        Ok(match positions {
            Positions::Range { start, len } => stored.slice(*start as usize, *len as usize),
            Positions::List(list) if self.nullable => stored.gather_or_null(list),
            Positions::List(list) => stored.gather(list),
        })
    }
}
