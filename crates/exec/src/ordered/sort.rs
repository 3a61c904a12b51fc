//! ORDER BY: sorted runs, merged by ranges of keys.

use std::sync::Arc;
use std::sync::atomic::Ordering as Atomic;

use kernels::keys::SortKeys;
use kernels::sort_rows::{Entry, entries, needs_bytes, sort};
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder};
use plan::physical::{Node, Operator, OperatorId, SortKey};
use storage::{MemoryCategory, Reservation};
use types::{Error, PhysicalType, Result};

use super::spilled::{RunFile, SpilledRuns};
use super::{Bounds, top};
use crate::aggregate::{Inputs, sort_field};
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Place, Push, Sink, Source, Stream, drive};
use crate::pushed::PushedFilter;
use crate::spill::Room;

/// Rows of a run: entries of 3 MiB, sorted while they are in the second-level cache or near it.
const RUN_ROWS: usize = 1 << 17;
/// Rows per range of the merged output.
const RANGE_ROWS: u64 = 1 << 16;
/// Samples per range and run from which ranges are found.
const SAMPLES: usize = 16;

/// The keys of a sort.
pub(super) struct SortSpec {
    /// Expressions of the keys.
    pub(super) inputs: Inputs,
    /// Input numbers, by key.
    pub(super) numbers: Vec<usize>,
    /// As the plan has them.
    pub(super) keys: Vec<SortKey>,
}

impl SortSpec {
    pub(super) fn new(opener: &Opener, keys: &[SortKey]) -> Result<Self> {
        let mut inputs = Inputs::default();
        let numbers =
            keys.iter().map(|k| inputs.add(opener, &k.expr)).collect::<Result<Vec<_>>>()?;
        Ok(Self { inputs, numbers, keys: keys.to_vec() })
    }

    /// Empty sort keys.
    pub(super) fn sort_keys(&self) -> SortKeys {
        SortKeys::new(self.keys.iter().map(sort_field).collect())
    }

    /// The key columns of a flow.
    pub(super) fn columns(&self, flow: &mut Flow) -> Result<Vec<Arc<Vector>>> {
        let values = self.inputs.evaluate(flow)?;
        Ok(self.numbers.iter().map(|&n| values[n].to_plain()).collect())
    }
}

/// Opens [`Operator::Sort`].
///
/// # Errors
/// 2201W and 2201X for negative bounds; whatever the input meets; 53200 when rows do not fit in
/// memory.
pub(crate) fn open_sort(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let Operator::Sort { input, keys, limit, offset } = &node.operator else {
        return Err(Error::internal("not a sort"));
    };
    let bounds = Bounds::new(opener, limit.as_ref(), offset.as_ref())?;
    let unbounded = bounds.limit.is_none() && bounds.offset == 0;
    let stream = opener.open(input, if unbounded { filters } else { Vec::new() })?;
    let spec = SortSpec::new(opener, keys)?;
    let physical: Vec<PhysicalType> = input.output.iter().map(|c| c.physical).collect();
    if let Some(needed) = bounds.needed()
        && needed <= top::ROWS_MAX
    {
        let top = top::Top { spec, payload: physical, bounds };
        return top.open(opener, node, &stream);
    }
    let context = Arc::clone(&opener.context);
    let sink = Arc::new(RunSink { context, id: node.id, spec, physical });
    let mut locals = drive(&opener.context, &stream, &sink)?;
    if locals.iter().any(|local| local.spilled.is_some()) {
        let source = merge_spilled(&sink, locals, bounds)?;
        return Ok(Stream::new(Arc::new(source), Some(node.id)));
    }
    let mut runs = Vec::new();
    let mut memory = Vec::new();
    for mut local in locals.drain(..) {
        if local.rows > 0 {
            // Unsorted: the workers sort the last runs together.
            runs.push(local.run());
        }
        runs.append(&mut local.runs);
        memory.push(local.memory);
    }
    let runs = finish_runs(&opener.context, runs)?;
    let source = MergeSource::new(&opener.context, runs, bounds, memory);
    Ok(Stream::new(Arc::new(source), Some(node.id)))
}

/// All rows as runs on disk, merged.
fn merge_spilled(
    sink: &Arc<RunSink>,
    locals: Vec<RunLocal>,
    bounds: Bounds,
) -> Result<SpilledRuns> {
    let mut runs = Vec::new();
    for mut local in locals {
        sink.spill(&mut local)?;
        runs.extend(local.spilled);
    }
    SpilledRuns::new(sink, runs, bounds)
}

/// Rows in their order.
struct Run {
    /// Keys by row; empty when entries hold them whole.
    keys: SortKeys,
    /// In order.
    entries: Vec<Entry>,
    /// By row.
    columns: Vec<Vector>,
    sorted: bool,
}

impl Run {
    fn sort(&mut self) {
        if !self.sorted {
            sort(&self.keys, &mut self.entries);
            self.sorted = true;
        }
    }

    /// The order of two rows of two runs.
    fn order(&self, a: &Entry, other: &Self, b: &Entry) -> std::cmp::Ordering {
        a.order(b).then_with(|| {
            if needs_bytes(&self.keys) {
                self.keys.get(a.row as usize).cmp(other.keys.get(b.row as usize))
            } else {
                std::cmp::Ordering::Equal
            }
        })
    }
}

/// Sorts runs that are not.
fn finish_runs(context: &Arc<QueryContext>, runs: Vec<Run>) -> Result<Vec<Run>> {
    let (mut done, open): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|r| r.sorted);
    let open: Arc<Vec<parking_lot::Mutex<Option<Run>>>> =
        Arc::new(open.into_iter().map(|r| parking_lot::Mutex::new(Some(r))).collect());
    let count = open.len();
    done.extend(super::parallel::compute_all(context, count, move |i| {
        let taken = open[i].lock().take();
        let mut run = taken.ok_or_else(|| Error::internal("a run is sorted once"))?;
        run.sort();
        Ok(run)
    })?);
    Ok(done)
}

/// Gathers rows into runs and sorts each when it is full.
pub(super) struct RunSink {
    pub(super) context: Arc<QueryContext>,
    pub(super) id: OperatorId,
    pub(super) spec: SortSpec,
    pub(super) physical: Vec<PhysicalType>,
}

pub(super) struct RunLocal {
    keys: SortKeys,
    columns: Vec<VectorBuilder>,
    rows: usize,
    runs: Vec<Run>,
    run_bytes: u64,
    memory: Reservation,
    physical: Vec<PhysicalType>,
    empty: SortKeys,
    /// Runs that are on disk, if there are any.
    spilled: Option<RunFile>,
}

fn builders(physical: &[PhysicalType]) -> Vec<VectorBuilder> {
    physical.iter().map(|&p| VectorBuilder::new(p)).collect()
}

impl RunLocal {
    /// The rows gathered, as an unsorted run.
    fn run(&mut self) -> Run {
        let columns = std::mem::replace(&mut self.columns, builders(&self.physical));
        let keys = std::mem::replace(&mut self.keys, self.empty.clone());
        let entries = entries(&keys);
        self.rows = 0;
        let columns = columns.into_iter().map(VectorBuilder::finish_pinned).collect();
        let keys = if needs_bytes(&keys) { keys } else { self.empty.clone() };
        Run { keys, entries, columns, sorted: false }
    }

    fn bytes(&self) -> u64 {
        let columns: usize = self.columns.iter().map(VectorBuilder::bytes).sum();
        (columns + self.keys.bytes() + self.rows * size_of::<Entry>()) as u64
    }
}

impl RunSink {
    /// Writes all rows of `local` to disk, in sorted runs.
    fn spill(&self, local: &mut RunLocal) -> Result<()> {
        let mut runs = std::mem::take(&mut local.runs);
        if local.rows > 0 {
            let mut run = local.run();
            run.sort();
            runs.push(run);
        }
        if local.spilled.is_none() {
            local.spilled = Some(RunFile::new(&self.context, self.id)?);
        }
        if let Some(file) = &mut local.spilled {
            for run in runs {
                let rows: Vec<u32> = run.entries.iter().map(|entry| entry.row).collect();
                file.write(&run.columns, &rows)?;
            }
        }
        local.run_bytes = 0;
        local.memory.resize(0)
    }
}

impl Sink for RunSink {
    type Local = RunLocal;

    fn local(&self) -> RunLocal {
        RunLocal {
            keys: self.spec.sort_keys(),
            columns: builders(&self.physical),
            rows: 0,
            runs: Vec::new(),
            run_bytes: 0,
            memory: Reservation::empty(&self.context.pool, MemoryCategory::Sort),
            physical: self.physical.clone(),
            empty: self.spec.sort_keys(),
            spilled: None,
        }
    }

    fn consume(&self, local: &mut RunLocal, mut flow: Flow, _: Place) -> Result<Demand> {
        let keys = self.spec.columns(&mut flow)?;
        let keys: Vec<&Vector> = keys.iter().map(|k| &**k).collect();
        local.keys.append(&keys);
        let batch = flow.into_batch()?;
        for (builder, column) in local.columns.iter_mut().zip(&batch.columns) {
            builder.append(&column.to_vector(), None);
        }
        local.rows += batch.rows;
        let bytes = local.run_bytes + local.bytes();
        match local.memory.resize(bytes) {
            Err(error) if self.context.can_spill(&error) => {
                return self.spill(local).map(|()| Demand::More);
            }
            result => result?,
        }
        self.context.counters(self.id).memory_bytes.fetch_max(bytes, Atomic::Relaxed);
        if self.context.room(bytes) == Room::Full {
            self.spill(local)?;
            return Ok(Demand::More);
        }
        if local.rows >= RUN_ROWS {
            local.run_bytes = bytes;
            let mut run = local.run();
            run.sort();
            local.runs.push(run);
        }
        Ok(Demand::More)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// Runs merged by ranges of keys, one work order each.
struct MergeSource {
    context: Arc<QueryContext>,
    runs: Vec<Run>,
    /// Per range and run the first entry; one range more at the end.
    cuts: Vec<Vec<usize>>,
    /// Rows before each range.
    starts: Vec<u64>,
    wanted: std::ops::Range<u64>,
    _memory: Vec<Reservation>,
}

impl MergeSource {
    fn new(
        context: &Arc<QueryContext>,
        runs: Vec<Run>,
        bounds: Bounds,
        memory: Vec<Reservation>,
    ) -> Self {
        let rows: u64 = runs.iter().map(|r| r.entries.len() as u64).sum();
        let mut cuts = vec![vec![0; runs.len()]];
        for (run, entry) in splitters(&runs, rows.div_ceil(RANGE_ROWS) as usize) {
            let (owner, splitter) = (&runs[run], runs[run].entries[entry]);
            let cut = |r: &Run| r.entries.partition_point(|e| r.order(e, owner, &splitter).is_lt());
            cuts.push(runs.iter().map(cut).collect());
        }
        cuts.push(runs.iter().map(|r| r.entries.len()).collect());
        let before = |cut: &Vec<usize>| cut.iter().map(|&c| c as u64).sum();
        let starts = cuts.iter().map(before).collect();
        let context = Arc::clone(context);
        let wanted = bounds.range(rows);
        Self { context, runs, cuts, starts, wanted, _memory: memory }
    }

    /// The rows of a range: run by run, and their order.
    fn merge(&self, range: usize) -> (Vec<(usize, Vec<u32>)>, Vec<u32>) {
        let (from, to) = (&self.cuts[range], &self.cuts[range + 1]);
        let mut parts = Vec::new();
        // Entries of all parts, with the run and its row beside.
        let mut all: Vec<(Entry, u32, u32)> = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            let entries = &run.entries[from[number]..to[number]];
            if !entries.is_empty() {
                let place = |e: &Entry| (*e, number as u32, 0);
                let start = all.len() as u32;
                all.extend(entries.iter().map(place));
                for (i, entry) in all[start as usize..].iter_mut().enumerate() {
                    entry.2 = start + i as u32;
                }
                parts.push((number, entries.iter().map(|e| e.row).collect()));
            }
        }
        if parts.len() > 1 {
            // A stable sort finds the sorted parts and merges them.
            all.sort_by(|(a, r, _), (b, s, _)| {
                self.runs[*r as usize].order(a, &self.runs[*s as usize], b)
            });
        }
        (parts, all.into_iter().map(|(_, _, place)| place).collect())
    }
}

/// Entries that cut all runs into about `ranges` ranges, as (run, entry).
fn splitters(runs: &[Run], ranges: usize) -> Vec<(usize, usize)> {
    if ranges < 2 {
        return Vec::new();
    }
    let rows: usize = runs.iter().map(|r| r.entries.len()).sum();
    let step = (rows / (ranges * SAMPLES)).max(1);
    let mut samples: Vec<(usize, usize)> = runs
        .iter()
        .enumerate()
        .flat_map(|(i, run)| (step / 2..run.entries.len()).step_by(step).map(move |e| (i, e)))
        .collect();
    samples.sort_by(|&(r, e), &(s, f)| {
        runs[r].order(&runs[r].entries[e], &runs[s], &runs[s].entries[f])
    });
    (1..ranges).filter_map(|i| samples.get(i * samples.len() / ranges).copied()).collect()
}

impl Source for MergeSource {
    fn orders(&self) -> usize {
        self.cuts.len() - 1
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let start = self.starts[order];
        let from = self.wanted.start.max(start);
        let to = self.wanted.end.min(self.starts[order + 1]);
        if from >= to {
            return Ok(Demand::More);
        }
        let (parts, order) = self.merge(order);
        let mut memory = Reservation::empty(&self.context.pool, MemoryCategory::Sort);
        let width = self.runs.first().map_or(0, |r| r.columns.len());
        memory.resize((order.len() * width * 16) as u64)?;
        let column = |c: usize| {
            let physical = self.runs[0].columns[c].physical();
            let mut builder = VectorBuilder::with_capacity(physical, order.len());
            for (run, rows) in &parts {
                builder.append(&self.runs[*run].columns[c], Some(rows));
            }
            Column::plain(builder.finish_pinned())
        };
        let batch = Batch::new((0..width).map(column).collect(), order.len());
        for rows in order[(from - start) as usize..(to - start) as usize].chunks(BATCH_ROWS) {
            if push(Flow::from_batch(batch.gather(rows)))? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }
}
