//! Groups as a source.
//!
//! ```text
//! Whole       one table, in parts of its groups (`late`)
//! Ranges      arrays of all workers, a range of keys per work order, merged on the way
//! Partitions  runs of all workers, a partition per work order, merged on the way
//! ```

use std::sync::Arc;

use kernels::{BATCH_ROWS, Batch, Column};
use parking_lot::Mutex;
use storage::{MemoryCategory, Reservation};
use types::{Error, PhysicalType, Result};

use super::keys::{KeyForm, KeyTable};
use super::late::{GroupRows, SetShape, Table};
use super::local::{Dense, Groups, Run, SetLocal, new_states};
use super::sink::{AggregateSink, SetPlan, null_column};
use super::spill;
use super::states::{Coverage, Mapping, States};
use crate::flow::Flow;
use crate::pipeline::{Demand, Push, Source};
use crate::spill::Written;

/// Groups per work order of a table or an array.
const ORDER_GROUPS: usize = 1 << 15;

/// The groups of one set, ready to be read.
enum SetOutput {
    /// One row.
    Scalar(Vec<Box<dyn States>>),
    /// A table.
    Whole(Arc<GroupRows>),
    /// Arrays over the same range.
    Ranges(Vec<SetLocal>),
    /// Runs by partition, given to the work order that merges them; further rows are on disk.
    Partitions(Vec<Mutex<Option<Vec<Run>>>>, KeyForm, Vec<Written>),
}

struct SetGroups {
    output: SetOutput,
    shape: Arc<SetShape>,
}

/// All groups of an aggregation.
pub(crate) struct GroupSource {
    sets: Vec<SetGroups>,
    _memory: Vec<Reservation>,
}

/// How output columns are made beyond states.
pub(crate) struct Shape {
    /// All keys.
    pub(crate) keys: Vec<PhysicalType>,
    /// For each key the state that has its values, if not the key itself.
    pub(crate) replaced: Vec<Option<usize>>,
    /// For each set its keys among all.
    pub(crate) ordinals: Vec<Vec<usize>>,
    /// True when the last column is the set's index.
    pub(crate) numbered: bool,
}

impl GroupSource {
    /// The groups of `sets`, by set the parts of all workers and their rows on disk.
    ///
    /// # Errors
    /// Errors of merging states.
    pub(crate) fn new(
        sink: &Arc<AggregateSink>,
        sets: Vec<(Vec<SetLocal>, Vec<Written>)>,
        shape: Shape,
        memory: Vec<Reservation>,
    ) -> Result<Self> {
        let (keys, replaced) = (shape.keys.into(), shape.replaced.into());
        let numbered = shape.numbered;
        let mut outputs = Vec::with_capacity(sets.len());
        let parts = sets.into_iter().zip(&sink.sets).zip(shape.ordinals).enumerate();
        for (number, (((parts, spilled), set), ordinals)) in parts {
            let combined = combine(sink, set, parts, spilled)?;
            let shape = Arc::new(SetShape {
                sink: Arc::clone(sink),
                set: number,
                keys: Arc::clone(&keys),
                replaced: Arc::clone(&replaced),
                ordinals,
                numbered,
                dictionaries: set.shared.dictionaries(),
            });
            let output = match combined {
                Combined::Scalar(states) => SetOutput::Scalar(states),
                Combined::Ranges(parts) => SetOutput::Ranges(parts),
                Combined::Whole(part, form) => {
                    let table = Table::Part(part);
                    SetOutput::Whole(Arc::new(GroupRows::new(&shape, form, table, None)))
                }
                Combined::Partitions(runs, form, spilled) => {
                    SetOutput::Partitions(runs, form, spilled)
                }
            };
            outputs.push(SetGroups { output, shape });
        }
        Ok(Self { sets: outputs, _memory: memory })
    }
}

impl SetGroups {
    /// Pushes `groups`, whose only key is `key`, if there is one.
    fn emit(
        &self,
        key: Option<&Column>,
        states: &[Box<dyn States>],
        groups: &[u32],
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        let own = |_| key.cloned().unwrap_or_else(|| null_column(PhysicalType::Bool, groups.len()));
        let column = |column| self.shape.column(column, states, groups, own);
        let columns = (0..self.shape.width()).map(column).collect::<Result<_>>()?;
        push(Flow::from_batch(Batch::new(columns, groups.len())))
    }

    fn run_range(&self, parts: &[SetLocal], order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let range = order * ORDER_GROUPS..(order + 1) * ORDER_GROUPS;
        let mut found: Vec<(&Dense, &SetLocal, Vec<u32>)> = Vec::new();
        for part in parts {
            if let Groups::Dense(dense) = &part.groups {
                let groups = dense.existing(range.clone());
                if !groups.is_empty() {
                    found.push((dense, part, groups));
                }
            }
        }
        let sink = &self.shape.sink;
        let physical = sink.sets[self.shape.set].physical[0];
        let Some((dense, part, groups)) = found.first() else {
            return Ok(Demand::More);
        };
        if found.len() == 1 {
            for groups in groups.chunks(BATCH_ROWS) {
                let key = dense.keys(groups, physical);
                if self.emit(Some(&key), &part.states, groups, push)? == Demand::Enough {
                    return Ok(Demand::Enough);
                }
            }
            return Ok(Demand::More);
        }
        let mut all: Vec<u32> = found.iter().flat_map(|(_, _, g)| g.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        let mut places = vec![0u32; ORDER_GROUPS];
        for (place, &group) in all.iter().enumerate() {
            places[group as usize - range.start] = place as u32;
        }
        let mut states = new_states(&sink.plan, Coverage::Sparse);
        for (_, part, source) in &found {
            let target: Vec<u32> =
                source.iter().map(|&g| places[g as usize - range.start]).collect();
            for (to, from) in states.iter_mut().zip(&part.states) {
                to.resize(all.len());
                to.merge(&**from, Mapping { source, target: &target })?;
            }
        }
        for (start, groups) in all.chunks(BATCH_ROWS).enumerate() {
            let key = dense.keys(groups, physical);
            let start = (start * BATCH_ROWS) as u32;
            let rows: Vec<u32> = (start..start + groups.len() as u32).collect();
            if self.emit(Some(&key), &states, &rows, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }

    fn run_partition(
        &self,
        (runs, form): (&Mutex<Option<Vec<Run>>>, KeyForm),
        (spilled, partition): (&[Written], usize),
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        let taken = runs.lock().take();
        let mut runs = taken.ok_or_else(|| Error::internal("groups are read once"))?;
        runs.retain(|run| run.keys.view().len() > 0);
        let rows: usize = runs.iter().map(|run| run.keys.view().len()).sum();
        let mut table = KeyTable::new(form, rows / 2);
        let sink = &self.shape.sink;
        let mut states = new_states(&sink.plan, Coverage::Dense);
        let pool = &sink.context.pool;
        let mut memory = Reservation::empty(pool, MemoryCategory::Aggregation);
        let mut target = Vec::new();
        for run in &runs {
            sink.context.check()?;
            merge_run(&mut table, &mut states, run, &mut target)?;
            let bytes = table.bytes() + states.iter().map(|s| s.bytes()).sum::<usize>();
            memory.resize(bytes as u64)?;
        }
        drop(runs);
        let plan = &sink.sets[self.shape.set];
        spill::read(sink, plan, (spilled, partition), (&mut table, &mut states), &mut memory)?;
        states.iter_mut().for_each(|s| s.seal());
        let table = Table::Merged(table, states);
        let rows = Arc::new(GroupRows::new(&self.shape, form, table, Some(memory)));
        emit_table(&rows, 0..rows.len() as u32, push)
    }
}

/// Pushes `groups` of a table.
fn emit_table(
    rows: &Arc<GroupRows>,
    groups: std::ops::Range<u32>,
    push: &mut Push<'_>,
) -> Result<Demand> {
    for start in groups.clone().step_by(BATCH_ROWS) {
        let len = (groups.end - start).min(BATCH_ROWS as u32);
        if push(rows.flow(start, len))? == Demand::Enough {
            return Ok(Demand::Enough);
        }
    }
    Ok(Demand::More)
}

/// Adds the groups of `run`.
fn merge_run(
    table: &mut KeyTable,
    states: &mut [Box<dyn States>],
    run: &Run,
    target: &mut Vec<u32>,
) -> Result<()> {
    let view = run.keys.view();
    table.insert(view, target);
    merge_states(states, &run.states, table.len(), target)
}

fn merge_states(
    states: &mut [Box<dyn States>],
    from: &[Box<dyn States>],
    groups: usize,
    target: &[u32],
) -> Result<()> {
    let source: Vec<u32> = (0..target.len() as u32).collect();
    for (to, from) in states.iter_mut().zip(from) {
        to.resize(groups);
        to.merge(&**from, Mapping { source: &source, target })?;
    }
    Ok(())
}

/// Groups of all workers' tables up to which one thread merges them.
const MERGED_GROUPS_MAX: usize = 1 << 14;

/// Groups that workers gathered for one set.
enum Combined {
    Scalar(Vec<Box<dyn States>>),
    Whole(Box<SetLocal>, KeyForm),
    Ranges(Vec<SetLocal>),
    Partitions(Vec<Mutex<Option<Vec<Run>>>>, KeyForm, Vec<Written>),
}

/// The parts of all workers together.
fn combine(
    sink: &AggregateSink,
    set: &SetPlan,
    mut parts: Vec<SetLocal>,
    spilled: Vec<Written>,
) -> Result<Combined> {
    let mut context = set.context(&sink.plan);
    if !spilled.is_empty() {
        context.bits = set.spill_bits();
    }
    let is_dense = |p: &SetLocal| matches!(p.groups, Groups::Dense(_));
    if parts.is_empty() {
        parts.push(set.local(&sink.plan));
    }
    if matches!(parts[0].groups, Groups::Scalar) {
        let mut first = parts.swap_remove(0);
        for part in parts {
            merge_states(&mut first.states, &part.states, 1, &[0])?;
        }
        first.states.iter_mut().for_each(|s| s.seal());
        return Ok(Combined::Scalar(first.states));
    }
    if parts.iter().all(is_dense) {
        parts.iter_mut().for_each(|p| p.states.iter_mut().for_each(|s| s.seal()));
        return Ok(Combined::Ranges(parts));
    }
    for part in &mut parts {
        part.become_hash(&context)?;
    }
    let form = |p: &SetLocal| match &p.groups {
        Groups::Hash(grouper) => grouper.form(),
        _ => KeyForm::Bytes,
    };
    let len = |p: &SetLocal| match &p.groups {
        Groups::Hash(grouper) => grouper.len(),
        _ => 0,
    };
    parts.retain(|p| len(p) > 0 || !p.runs.is_empty());
    if parts.is_empty() {
        parts.push(SetLocal::hash(&sink.plan, &set.shared));
    }
    if !spilled.is_empty() || parts.iter().any(|p| form(p) != form(&parts[0])) {
        for part in &mut parts {
            part.become_bytes(&context)?;
        }
    }
    let form = form(&parts[0]);
    let groups: usize = parts.iter().map(len).sum();
    let unsplit = spilled.is_empty() && parts.iter().all(|p| p.runs.is_empty());
    if unsplit && (parts.len() == 1 || groups <= MERGED_GROUPS_MAX) {
        return whole(parts).map(|part| Combined::Whole(Box::new(part), form));
    }
    let mut partitions: Vec<Vec<Run>> = (0..1 << context.bits).map(|_| Vec::new()).collect();
    for mut part in parts {
        part.split(&context)?;
        for (partition, run) in partitions.iter_mut().zip(part.runs) {
            partition.push(run);
        }
    }
    let partitions = partitions.into_iter().map(|runs| Mutex::new(Some(runs))).collect();
    Ok(Combined::Partitions(partitions, form, spilled))
}

/// All parts merged into the first.
fn whole(parts: Vec<SetLocal>) -> Result<SetLocal> {
    let mut parts = parts.into_iter();
    let mut first = parts.next().ok_or_else(|| Error::internal("a part"))?;
    for part in parts {
        let (Groups::Hash(to), Groups::Hash(from)) = (&mut first.groups, &part.groups) else {
            return Err(Error::internal("tables"));
        };
        let mut target = Vec::new();
        to.insert(from.view(), &mut target);
        let groups = to.len();
        merge_states(&mut first.states, &part.states, groups, &target)?;
    }
    first.states.iter_mut().for_each(|s| s.seal());
    Ok(first)
}

impl SetOutput {
    fn orders(&self) -> usize {
        match self {
            Self::Scalar(_) => 1,
            Self::Whole(rows) => rows.len().div_ceil(ORDER_GROUPS),
            Self::Ranges(parts) => match parts.first().map(|p| &p.groups) {
                Some(Groups::Dense(dense)) => dense.exists.len().div_ceil(ORDER_GROUPS),
                _ => 0,
            },
            Self::Partitions(partitions, ..) => partitions.len(),
        }
    }
}

impl Source for GroupSource {
    fn orders(&self) -> usize {
        self.sets.iter().map(|set| set.output.orders()).sum()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let mut order = order;
        for set in &self.sets {
            let orders = set.output.orders();
            if order >= orders {
                order -= orders;
                continue;
            }
            return match &set.output {
                SetOutput::Scalar(states) => set.emit(None, states, &[0], push),
                SetOutput::Whole(rows) => {
                    let start = order * ORDER_GROUPS;
                    let end = (start + ORDER_GROUPS).min(rows.len());
                    emit_table(rows, start as u32..end as u32, push)
                }
                SetOutput::Ranges(parts) => set.run_range(parts, order, push),
                SetOutput::Partitions(partitions, form, spilled) => {
                    let runs = (&partitions[order], *form);
                    set.run_partition(runs, (spilled, order), push)
                }
            };
        }
        Ok(Demand::More)
    }
}
