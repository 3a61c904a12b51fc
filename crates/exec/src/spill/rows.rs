//! Rows of a stream, in memory or on disk, and results that are made on disk.

use std::sync::Arc;

use kernels::{BATCH_ROWS, Batch};
use plan::physical::{OperatorId, OutputColumn};
use storage::{MemoryCategory, Reservation};
use types::Result;

use super::{ChunkList, PARTITION_BITS, Partitions, Room, SpillFile, Written, split};
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::pipeline::{Demand, Place, Push, Sink, Source, Stream, drive};
use crate::result::{ResultSet, StoredRows, batch_bytes, string_bytes};

/// The hash of each row, by which it has its partition.
pub(crate) type Hashes = Arc<dyn Fn(&Batch) -> Result<Vec<u64>> + Send + Sync>;

/// The rows of a stream.
pub(crate) enum Gathered {
    /// In memory, in stream order.
    Memory(StoredRows),
    /// On disk, by partition, what each worker wrote.
    Disk(Vec<Written>),
}

struct GatherSink {
    context: Arc<QueryContext>,
    id: OperatorId,
    hashes: Option<Hashes>,
}

struct Local {
    batches: Vec<(Place, Batch)>,
    bytes: u64,
    /// Strings of the batches, which are counted where they were made.
    strings: u64,
    memory: Reservation,
    spilled: Option<Partitions>,
}

/// Runs `stream` and keeps its rows: without `hashes` in memory.
///
/// # Errors
/// Whatever running meets; 53200 when the rows do not fit and have no partitions; 53100 when the
/// disk is full.
pub(crate) fn gather(
    context: &Arc<QueryContext>,
    stream: &Stream,
    (output, id): (&[OutputColumn], OperatorId),
    hashes: Option<Hashes>,
) -> Result<Gathered> {
    let sink = Arc::new(GatherSink { context: Arc::clone(context), id, hashes });
    let mut locals = drive(context, stream, &sink)?;
    if locals.iter().any(|local| local.spilled.is_some()) {
        locals.iter_mut().try_for_each(|local| sink.spill(local))?;
        let partitions = locals.into_iter().filter_map(|local| local.spilled);
        return Ok(Gathered::Disk(partitions.map(Partitions::finish).collect::<Result<_>>()?));
    }
    let (mut batches, mut memory) = (Vec::new(), Vec::new());
    for local in locals {
        batches.extend(local.batches);
        memory.push(local.memory);
    }
    let result = ResultSet::of_parts(batches, memory, output);
    Ok(Gathered::Memory(StoredRows::of(result, output)?))
}

impl GatherSink {
    fn write(&self, partitions: &mut Partitions, batch: &Batch) -> Result<()> {
        match &self.hashes {
            Some(hashes) => partitions.append(batch, &split(&hashes(batch)?, 0, PARTITION_BITS)),
            None => Ok(()),
        }
    }

    /// Writes what was gathered to disk; further rows follow it.
    fn spill(&self, local: &mut Local) -> Result<()> {
        let mut partitions = match local.spilled.take() {
            Some(partitions) => partitions,
            None => new_partitions(&self.context, self.id)?,
        };
        for (_, batch) in std::mem::take(&mut local.batches) {
            self.write(&mut partitions, &batch)?;
        }
        local.spilled = Some(partitions);
        (local.bytes, local.strings) = (0, 0);
        local.memory.resize(0)
    }
}

fn new_partitions(context: &Arc<QueryContext>, id: OperatorId) -> Result<Partitions> {
    Ok(Partitions::new(SpillFile::new(context, id)?, 1 << PARTITION_BITS))
}

impl Sink for GatherSink {
    type Local = Local;

    fn local(&self) -> Local {
        let memory = Reservation::empty(&self.context.pool, MemoryCategory::Temporary);
        Local { batches: Vec::new(), bytes: 0, strings: 0, memory, spilled: None }
    }

    fn consume(&self, local: &mut Local, flow: Flow, place: Place) -> Result<Demand> {
        let batch = flow.into_batch()?;
        if let Some(partitions) = &mut local.spilled {
            self.write(partitions, &batch)?;
            return Ok(Demand::More);
        }
        local.bytes += batch_bytes(&batch);
        local.strings += string_bytes(&batch);
        local.batches.push((place, batch));
        let spills = self.hashes.is_some();
        match local.memory.resize(local.bytes) {
            Err(error) if !(spills && self.context.can_spill(&error)) => return Err(error),
            Ok(()) if !(spills && self.context.room(local.bytes + local.strings) == Room::Full) => {
            }
            _ => self.spill(local)?,
        }
        Ok(Demand::More)
    }
}

/// `rows` on disk.
///
/// # Errors
/// As [`SpillFile::write`].
pub(crate) fn on_disk(
    context: &Arc<QueryContext>,
    id: OperatorId,
    rows: Gathered,
    hashes: &dyn Fn(&Batch) -> Result<Vec<u64>>,
) -> Result<Vec<Written>> {
    let rows = match rows {
        Gathered::Disk(written) => return Ok(written),
        Gathered::Memory(rows) => rows,
    };
    let mut partitions = new_partitions(context, id)?;
    for start in (0..rows.rows()).step_by(BATCH_ROWS) {
        let end = rows.rows().min(start + BATCH_ROWS) as u32;
        let batch = rows.batch().gather(&(start as u32..end).collect::<Vec<_>>());
        partitions.append(&batch, &split(&hashes(&batch)?, 0, PARTITION_BITS))?;
    }
    Ok(vec![partitions.finish()?])
}

/// The rows of a partition in memory.
///
/// # Errors
/// 53200 when they do not fit; as [`SpillFile::read`].
pub(crate) fn load(
    context: &Arc<QueryContext>,
    written: &[Written],
    partition: usize,
    output: &[OutputColumn],
) -> Result<StoredRows> {
    let mut memory = Reservation::empty(&context.pool, MemoryCategory::Temporary);
    let mut batches = Vec::new();
    for written in written {
        written.for_each(partition, |batch| {
            memory.grow(batch_bytes(&batch))?;
            batches.push((Place { segment: 0, order: batches.len() }, batch));
            Ok(())
        })?;
    }
    StoredRows::of(ResultSet::of_parts(batches, vec![memory], output), output)
}

/// Result rows on disk.
pub(crate) struct Results {
    file: Arc<SpillFile>,
    list: ChunkList,
}

/// Chunks per work order.
const ORDER_CHUNKS: usize = 16;

impl Results {
    /// No rows.
    ///
    /// # Errors
    /// As [`SpillFile::new`].
    pub(crate) fn new(context: &Arc<QueryContext>, id: OperatorId) -> Result<Self> {
        Ok(Self { file: SpillFile::new(context, id)?, list: ChunkList::default() })
    }

    /// Appends `batch`.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<()> {
        self.file.write(batch, &mut self.list)
    }

    /// All rows, in the order in which they were written.
    pub(crate) fn source(self) -> Arc<dyn Source> {
        Arc::new(self)
    }
}

impl Source for Results {
    fn orders(&self) -> usize {
        self.list.len().div_ceil(ORDER_CHUNKS)
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let start = order * ORDER_CHUNKS;
        for number in start..self.list.len().min(start + ORDER_CHUNKS) {
            let batch = self.file.read(&self.list, number)?;
            if push(Flow::from_batch(batch))? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }
}
