//! Joins whose build side is on disk.
//!
//! ```text
//! build rows --hash of keys--> 16 partitions --.
//! probe rows --same hash-----> 16 partitions --'-> a work order each: table, probe, unmatched rows
//!                                  build side still too large --> 16 smaller pairs, LEVELS deep
//! ```
//! Every kind is right partition by partition, for rows with equal keys are in one partition.
//! Marks of NULL need more: with keys compared by IS NOT DISTINCT FROM only these decide the
//! partition; with a single key by `=` it is enough to know whether any build row is NULL.
//! Departure from hybrid hash joins: all of the build side is on disk.

use std::sync::Arc;

use kernels::hash::hash_columns;
use kernels::{Batch, Column};
use plan::physical::{Expr, JoinKey, JoinKind, NullKeys, OperatorId};
use storage::{MemoryCategory, Reservation};
use types::{Error, PhysicalType, Result, SqlState};

use super::build::{BuildInput, BuildRows};
use super::mark::Whole;
use super::probe::KeyColumns;
use super::{Join, KeyTable, Spec, Stage, needs_build_rows, null_code, pads_probe_rows, unmatched};
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Operator, Place, Push, Sink, Source, Stream, drive};
use crate::pushed::PushedFilter;
use crate::result::string_bytes;
use crate::spill::{PARTITION_BITS, Partitions, Room, SpillFile, Written, split};

/// How often partitions are split again: 16^5 parts are enough unless a key is too frequent.
const LEVELS: u32 = 5;

/// The numbers of the keys whose hash can be a row's partition.
pub(super) fn partitioned(
    kind: JoinKind,
    keys: &[JoinKey],
    condition: Option<&Expr>,
) -> Vec<usize> {
    if kind != JoinKind::ProbeMark {
        return (0..keys.len()).collect();
    }
    let same: Vec<usize> = (0..keys.len()).filter(|&k| keys[k].nulls == NullKeys::Match).collect();
    match (&same[..], keys.len(), condition) {
        ([], 1, None) => vec![0],
        _ => same,
    }
}

/// The stream of a join whose build side is `written`.
///
/// # Errors
/// Whatever running the probe side meets; 53100 when the disk is full.
pub(super) fn open(
    join: Join<'_>,
    opener: &mut Opener,
    (input, written): (Arc<BuildInput>, Vec<Written>),
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let context = Arc::clone(&opener.context);
    let Join { probe, spec, .. } = join;
    let whole = whole(&input, spec.kind, &written)?;
    let stream = opener.open(probe, filters)?;
    let id = spec.id;
    let keys = KeyColumns::new(&spec.keys)?;
    let partitioned = input.partitioned().to_vec();
    let sink = Arc::new(ProbeSink { context: Arc::clone(&context), id, keys, partitioned });
    let locals = drive(&context, &stream, &sink)?;
    drop(stream);
    let spilled = locals.into_iter().flatten().map(Partitions::finish);
    let source = SpilledJoin {
        context,
        spec,
        probe_types: probe.output.iter().map(|c| c.physical).collect(),
        input,
        sink,
        whole,
        build: written,
        probe: spilled.collect::<Result<_>>()?,
    };
    Ok(Stream::new(Arc::new(source), Some(id)))
}

/// Facts about all build rows that marks depend on.
fn whole(input: &BuildInput, kind: JoinKind, written: &[Written]) -> Result<Whole> {
    let mut whole = Whole { any_row: true, null_in_key: false };
    if kind == JoinKind::ProbeMark {
        for written in written {
            for partition in 0..1 << PARTITION_BITS {
                written.for_each(partition, |batch| {
                    let is_null = |c: usize| batch.columns[c].to_vector().validity.is_some();
                    whole.null_in_key |= input.keys().iter().any(|&c| is_null(c));
                    Ok(())
                })?;
            }
        }
    }
    Ok(whole)
}

/// Writes probe rows to their partitions.
struct ProbeSink {
    context: Arc<QueryContext>,
    id: OperatorId,
    keys: KeyColumns,
    partitioned: Vec<usize>,
}

impl ProbeSink {
    fn write(&self, partitions: &mut Partitions, mut flow: Flow, level: u32) -> Result<()> {
        let keys = self.keys.of(&mut flow)?;
        let keys: Vec<&Column> = self.partitioned.iter().map(|&k| &keys[k]).collect();
        let mut hashes = Vec::new();
        hash_columns(&keys, flow.rows(), &mut hashes);
        partitions.append(&flow.into_batch()?, &split(&hashes, level, PARTITION_BITS))
    }

    fn partitions(&self) -> Result<Partitions> {
        Ok(Partitions::new(SpillFile::new(&self.context, self.id)?, 1 << PARTITION_BITS))
    }
}

impl Sink for ProbeSink {
    /// The partitions, made with the first row.
    type Local = Option<Partitions>;

    fn local(&self) -> Self::Local {
        None
    }

    fn consume(&self, local: &mut Self::Local, flow: Flow, _: Place) -> Result<Demand> {
        let mut partitions = match local.take() {
            Some(partitions) => partitions,
            None => self.partitions()?,
        };
        self.write(&mut partitions, flow, 0)?;
        *local = Some(partitions);
        Ok(Demand::More)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// A join, partition by partition.
struct SpilledJoin {
    context: Arc<QueryContext>,
    spec: Spec,
    probe_types: Vec<PhysicalType>,
    input: Arc<BuildInput>,
    sink: Arc<ProbeSink>,
    whole: Whole,
    build: Vec<Written>,
    probe: Vec<Written>,
}

/// A partition of both sides.
#[derive(Clone, Copy)]
struct Pair<'a> {
    build: &'a [Written],
    probe: &'a [Written],
    partition: usize,
    level: u32,
}

impl Pair<'_> {
    fn has_rows(&self, side: &[Written]) -> bool {
        side.iter().any(|written| written.rows(self.partition) > 0)
    }
}

impl Source for SpilledJoin {
    fn orders(&self) -> usize {
        1 << PARTITION_BITS
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        self.join(Pair { build: &self.build, probe: &self.probe, partition: order, level: 0 }, push)
    }
}

impl SpilledJoin {
    fn join(&self, pair: Pair<'_>, push: &mut Push<'_>) -> Result<Demand> {
        let kind = self.spec.kind;
        let (any_build, any_probe) = (pair.has_rows(pair.build), pair.has_rows(pair.probe));
        if !any_build && (needs_build_rows(kind) || !any_probe) {
            return Ok(Demand::More);
        }
        let stage = match self.stage(pair) {
            Err(error) if self.context.can_spill(&error) && pair.level + 1 < LEVELS => {
                return self.split(pair, push);
            }
            stage => stage?,
        };
        let Stage { mut probe, matched, build, layout } = stage;
        probe.unknown = probe.unknown.of_part(self.whole);
        let mut state = probe.state();
        let mut demand = Demand::More;
        for written in pair.probe {
            written.for_each(pair.partition, |batch| {
                if demand == Demand::More {
                    demand = probe.process(&mut *state, Flow::from_batch(batch), push)?;
                }
                Ok(())
            })?;
        }
        let Some((rows, wanted)) = matched.filter(|_| demand == Demand::More) else {
            return Ok(demand);
        };
        let source = unmatched::source(rows, wanted, build, layout, self.probe_types.clone());
        for order in 0..source.orders() {
            if source.run(order, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }

    /// The build side of `pair` in memory, and its probe.
    fn stage(&self, pair: Pair<'_>) -> Result<Stage> {
        let spec = &self.spec;
        let mut memory = Reservation::empty(&self.context.pool, MemoryCategory::HashTables);
        let (mut batches, mut strings) = (Vec::<Batch>::new(), 0);
        for written in pair.build {
            written.for_each(pair.partition, |batch| {
                memory.grow(self.input.bytes_of(batch.rows))?;
                strings += string_bytes(&batch);
                batches.push(batch);
                let held = memory.bytes() + strings;
                if self.context.room(held) == Room::Full && pair.level + 1 < LEVELS {
                    return Err(Error::new(SqlState::OUT_OF_MEMORY, "a partition is too large"));
                }
                Ok(())
            })?;
        }
        let nullable = pads_probe_rows(spec.kind);
        let build = BuildRows::of_batches(&self.context, &batches, &self.input, nullable)?;
        drop(batches);
        memory.resize(0)?;
        let nulls = spec.keys.iter().map(|key| null_code(key.nulls)).collect();
        let keys = build.keys().to_vec();
        let table = KeyTable::build_alone(&self.context, keys, nulls, &mut memory)?;
        let layout = spec.layout.clone();
        spec.stage(&self.context, (Arc::new(build), layout), Some(Arc::new(table)), memory)
    }

    /// Joins `pair` in smaller parts.
    fn split(&self, pair: Pair<'_>, push: &mut Push<'_>) -> Result<Demand> {
        let level = pair.level + 1;
        let mut build = self.input.partitions(&self.context, self.spec.id)?;
        for written in pair.build {
            let write = |batch: Batch| self.input.write(&mut build, &batch, level);
            written.for_each(pair.partition, write)?;
        }
        let mut probe = self.sink.partitions()?;
        for written in pair.probe {
            let write = |batch| self.sink.write(&mut probe, Flow::from_batch(batch), level);
            written.for_each(pair.partition, write)?;
        }
        let (build, probe) = ([build.finish()?], [probe.finish()?]);
        for partition in 0..1 << PARTITION_BITS {
            let part = Pair { build: &build, probe: &probe, partition, level };
            if self.join(part, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }
}
