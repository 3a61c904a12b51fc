//! One query on one organisation: run by all workers, checked, timed.
//!
//! ```text
//! Task: blocks by a ScanPlan | ranges of an index | groups
//! worker: next part -> rows found -> columns unpacked -> row-major memory of the worker
//! run 0: rows and checksum are those of the model; then timed runs, rows counted in each
//! ```
//! A short query is repeated within a run, so that starting threads does not count; the memory of
//! the output is used again. Invariant: a wrong answer ends the measurement.
//! Source: Patel 2013, section 3.2 (output in a plain row store; mean and standard deviation).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use kernels::{Vector, VectorData};
use storage::{
    BlockPaths, Datum, Direction, KeyBuffer, KeyRange, Positions, RowBuffer, ScanPlan,
    ScanTechniques, Snapshot, Tid,
};
use types::Value;

use super::counters::{Counters, Misses};
use super::organisations::{SORT_INDEX, Stored};
use super::queries::{Answer, Cell, Query, Role};
use super::tables::{Text, text_of};
use super::{Outcome, Settings};
use crate::bench_args::StoragePart;
use crate::text;

/// Path by which rows are found: what storage may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// All rows are tested.
    Scan,
    /// Smallest and largest values, binary search on sorted columns; no index.
    Search,
    /// CSB+-trees wherever they can answer, nothing else.
    Index,
    /// Binary search and CSB+-trees.
    Combined,
    /// The way that storage takes by itself.
    Chosen,
    /// A table index; rows are read in the order of keys.
    KeyOrder,
    /// A table index; rows are read in the order of their places.
    PlaceOrder,
}

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Search => "search",
            Self::Index => "csb",
            Self::Combined => "search + csb",
            Self::Chosen => "chosen",
            Self::KeyOrder => "table index",
            Self::PlaceOrder => "table index, sorted",
        }
    }

    fn fit(self, plan: ScanPlan) -> ScanPlan {
        let skipping = matches!(self, Self::Search | Self::Combined | Self::Chosen);
        let paths = match self {
            Self::Index | Self::Combined => BlockPaths::Prefer,
            Self::Chosen => BlockPaths::Consider,
            _ => BlockPaths::Avoid,
        };
        plan.with(ScanTechniques { skipping, ..ScanTechniques::default() }).with_paths(paths)
    }
}

/// Times of some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Least time, which rules compare: other work on the machine disturbs it least.
    pub(super) least: f64,
    pub(super) mean: f64,
    /// The standard deviation.
    pub(super) deviation: f64,
}

impl Sample {
    /// Sample of at least one value.
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Self { least: values.iter().copied().fold(f64::INFINITY, f64::min), mean, deviation }
    }
}

/// One measured point of the grid.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Part of the grid.
    pub(super) part: StoragePart,
    pub(super) table: &'static str,
    pub(super) organisation: String,
    pub(super) role: Role,
    pub(super) way: Way,
    pub(super) percent: f64,
    /// Columns of the output.
    pub(super) width: usize,
    pub(super) threads: usize,
    /// Milliseconds of the query.
    pub(super) ms: Sample,
    /// Cache misses of the query, by all workers.
    pub(super) misses: Option<Misses>,
}

/// Rows of a worker's output, one after the other.
#[derive(Default)]
struct RowStore<C> {
    cells: Vec<C>,
    width: usize,
    /// Rows so far, also where there are no cells.
    rows: u64,
    /// Rows of the repetitions before.
    rows_before: u64,
}

impl<C: Cell> RowStore<C> {
    /// Begins the next repetition.
    fn clear(&mut self, width: usize) {
        self.cells.clear();
        self.rows_before += self.rows;
        (self.width, self.rows) = (width, 0);
    }

    /// Begins the first.
    fn reset(&mut self) {
        (self.rows, self.rows_before) = (0, 0);
    }

    fn answer(&self) -> Answer {
        if self.width == 0 {
            return Answer { rows: self.rows, checksum: 0 };
        }
        let mut answer = Answer::default();
        self.cells.chunks(self.width).for_each(|row| answer.add(row.iter().copied()));
        answer
    }
}

/// A cell that storage has.
trait Stow: Cell {
    /// Puts `values` into every `width`th cell.
    fn put(values: &Vector, cells: &mut [Self], width: usize);

    /// One value.
    fn of(datum: Datum<'_>) -> Self;
}

impl Stow for i32 {
    fn put(values: &Vector, cells: &mut [Self], width: usize) {
        let VectorData::I32(values) = &values.data else { unreachable!("a column of numbers") };
        cells.iter_mut().step_by(width).zip(values).for_each(|(cell, value)| *cell = *value);
    }

    fn of(datum: Datum<'_>) -> Self {
        match datum {
            Datum::I32(value) => value,
            _ => unreachable!("a column of numbers without NULLs"),
        }
    }
}

impl Stow for Text {
    fn put(values: &Vector, cells: &mut [Self], width: usize) {
        let values = values.as_str().iter();
        cells.iter_mut().step_by(width).zip(values).for_each(|(cell, v)| *cell = text_of(v));
    }

    fn of(datum: Datum<'_>) -> Self {
        match datum {
            Datum::Str(value) => text_of(value),
            _ => unreachable!("a column of strings without NULLs"),
        }
    }
}

/// Rows looked at together, as in queries of SQL.
const BATCH_ROWS: usize = 2048;

/// Task of workers, in parts that they take one after the other.
enum Task<'q> {
    Scan { plan: ScanPlan, projection: &'q [usize] },
    Ranges { index: usize, keys: Vec<KeyBuffer>, order: Way, projection: &'q [usize] },
    Groups { plan: ScanPlan, group: usize, value: usize },
}

impl<'q> Task<'q> {
    fn new(stored: &Stored, query: &'q Query, way: Way) -> Result<Self, String> {
        let plan = way.fit(query.plan(stored.table.schema())?);
        let projection = &query.projection[..];
        if query.role == Role::Groups {
            return Ok(Self::Groups { plan, group: projection[0], value: projection[1] });
        }
        if !matches!(way, Way::KeyOrder | Way::PlaceOrder) {
            return Ok(Self::Scan { plan, projection });
        }
        let index = SORT_INDEX + usize::from(query.role == Role::Other);
        let indexes = stored.table.indexes();
        let encode = |value: &Value| {
            let mut key = KeyBuffer::new();
            match value {
                Value::Str(text) => indexes[index].encode(&[Datum::Str(text)], &mut key),
                Value::I32(number) => indexes[index].encode(&[Datum::I32(*number)], &mut key),
                _ => unreachable!("columns are numbers or strings"),
            }
            key
        };
        let keys = query.starts.iter().map(encode).collect();
        Ok(Self::Ranges { index, keys, order: way, projection })
    }

    fn parts(&self, stored: &Stored) -> usize {
        match self {
            Self::Scan { .. } | Self::Groups { .. } => stored.snapshot.block_count(),
            Self::Ranges { keys, .. } => keys.len(),
        }
    }

    fn run<C: Stow>(&self, stored: &Stored, part: usize, out: &mut RowStore<C>) -> Outcome {
        match self {
            Self::Scan { plan, projection } => scan(stored, plan, part, |block, positions| {
                let first = out.cells.len();
                out.rows += positions.len() as u64;
                out.cells.resize(first + positions.len() * projection.len(), C::default());
                for (i, &column) in projection.iter().enumerate() {
                    let values = stored.snapshot.unpack(block, column, positions).map_err(text)?;
                    C::put(&values.to_vector(), &mut out.cells[first + i..], projection.len());
                }
                Ok(())
            }),
            Self::Ranges { index, keys, order, projection } => {
                let low = std::ops::Bound::Included(&keys[part][..]);
                let high = keys.get(part + 1);
                let high =
                    high.map_or(std::ops::Bound::Unbounded, |k| std::ops::Bound::Excluded(&k[..]));
                let mut tids: Vec<Tid> = Vec::new();
                let (range, at) = (KeyRange { low, high }, Snapshot::ALL);
                let read = stored.table.tids_in(*index, at, range, Direction::Forward, &mut tids);
                read.map_err(|error| error.to_string())?;
                out.rows += tids.len() as u64;
                if projection.is_empty() {
                    return Ok(());
                }
                if *order == Way::PlaceOrder {
                    tids.sort_unstable();
                }
                let mut row = RowBuffer::new();
                for tid in tids {
                    let seen = stored.table.read(at, tid, projection, &mut row);
                    if !seen.map_err(|error| error.to_string())? {
                        return Err(format!("no row {tid:?}"));
                    }
                    out.cells.extend(row.iter().map(C::of));
                }
                Ok(())
            }
            Self::Groups { .. } => unreachable!("groups are numbers"),
        }
    }
}

/// Finds the rows of a block, a batch at a time.
fn scan(
    stored: &Stored,
    plan: &ScanPlan,
    block: usize,
    mut found: impl FnMut(usize, &Positions) -> Outcome,
) -> Outcome {
    let Some(mut cursor) = plan.open(&stored.snapshot, block).map_err(text)? else {
        return Ok(());
    };
    let mut positions = Positions::default();
    while cursor.next(BATCH_ROWS, &mut positions).map_err(text)? {
        found(block, &positions)?;
    }
    Ok(())
}

/// Rows of a group, by number of the group.
type Least = [i32; 101];

/// Lowers the least values of groups by those of a block.
fn lower(stored: &Stored, task: &Task<'_>, block: usize, least: &mut Least) -> Outcome {
    let Task::Groups { plan, group, value } = task else {
        return Err("not a task of groups".into());
    };
    scan(stored, plan, block, |block, positions| {
        let column = |c: usize| stored.snapshot.unpack(block, c, positions).map_err(text);
        let (groups, values) = (column(*group)?, column(*value)?);
        let (groups, values) = (groups.to_vector(), values.to_vector());
        if let (VectorData::I32(groups), VectorData::I32(values)) = (&groups.data, &values.data) {
            for (&group, &value) in groups.iter().zip(values) {
                let slot = &mut least[group as usize];
                *slot = value.min(*slot);
            }
        }
        Ok(())
    })
}

/// Runs `work` on each worker with its number and its output; the first error.
fn on_workers<O: Send>(outputs: &mut [O], work: impl Fn(&mut O) -> Outcome + Sync) -> Outcome {
    let work = &work;
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            outputs.iter_mut().map(|output| scope.spawn(move || work(output))).collect();
        let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        ends.into_iter().try_for_each(|end| end.map_err(|_| "a worker panicked".to_owned())?)
    })
}

/// Calls `part` with parts below `parts` until all workers together have had each `repeats` times;
/// `begin` before each time.
fn share<O>(
    taken: &[AtomicUsize],
    parts: usize,
    output: &mut O,
    begin: impl Fn(&mut O),
    part: impl Fn(usize, &mut O) -> Outcome,
) -> Outcome {
    for next in taken {
        begin(output);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= parts {
                break;
            }
            part(at, output)?;
        }
    }
    Ok(())
}

/// Memory of the output that is used again: one of each kind for each worker.
pub(super) struct Outputs {
    numbers: Vec<RowStore<i32>>,
    texts: Vec<RowStore<Text>>,
}

impl Outputs {
    /// Outputs for `threads` workers.
    pub(super) fn new(threads: usize) -> Self {
        fn stores<C: Cell>(threads: usize) -> Vec<RowStore<C>> {
            (0..threads).map(|_| RowStore::default()).collect()
        }
        Self { numbers: stores(threads), texts: stores(threads) }
    }
}

/// Results of some repetitions of a query.
struct Ran {
    /// Rows of all repetitions.
    rows: u64,
    seconds: f64,
}

/// One counter of parts for each repetition.
fn counters_of(repeats: usize) -> Vec<AtomicUsize> {
    (0..repeats).map(|_| AtomicUsize::new(0)).collect()
}

/// Runs a query `repeats` times; the rows of the last are left in `outputs`.
fn run_rows<C: Stow>(
    (stored, query, way): Work<'_>,
    repeats: usize,
    outputs: &mut [RowStore<C>],
) -> Result<Ran, String> {
    outputs.iter_mut().for_each(RowStore::reset);
    let begun = Instant::now();
    let task = Task::new(stored, query, way)?;
    let (parts, taken) = (task.parts(stored), counters_of(repeats));
    let width = query.projection.len();
    on_workers(outputs, |output| {
        let part = |at: usize, output: &mut RowStore<C>| task.run(stored, at, output);
        share(&taken, parts, output, |output| output.clear(width), part)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Ran { rows: outputs.iter().map(|o| o.rows_before + o.rows).sum(), seconds })
}

/// Runs a query of groups, whose least values do not depend on repetitions.
fn run_groups(
    (stored, query, way): Work<'_>,
    repeats: usize,
    threads: usize,
) -> Result<(Answer, Ran), String> {
    let begun = Instant::now();
    let task = Task::new(stored, query, way)?;
    let (parts, taken) = (task.parts(stored), counters_of(repeats));
    let mut all: Vec<Least> = vec![[i32::MAX; 101]; threads];
    on_workers(&mut all, |least| {
        let part = |at: usize, least: &mut Least| lower(stored, &task, at, least);
        share(&taken, parts, least, |_| (), part)
    })?;
    let mut answer = Answer::default();
    for group in 1..=100 {
        let least = all.iter().map(|least| least[group]).min().unwrap_or(i32::MAX);
        if least < query.below {
            answer.add([group as i32, least].into_iter());
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok((answer, Ran { rows: answer.rows * repeats as u64, seconds }))
}

/// Table, query and way of a run.
pub(super) type Work<'w> = (&'w Stored, &'w Query, Way);

fn sum<C: Cell>(outputs: &[RowStore<C>]) -> Answer {
    outputs.iter().map(RowStore::answer).fold(Answer::default(), |a, b| Answer {
        rows: a.rows + b.rows,
        checksum: a.checksum.wrapping_add(b.checksum),
    })
}

/// Runs a query `repeats` times; of one repetition, and always of groups, also the whole answer.
fn run(work: Work<'_>, repeats: usize, outputs: &mut Outputs) -> Result<(Answer, Ran), String> {
    let (stored, query, _) = work;
    if query.role == Role::Groups {
        return run_groups(work, repeats, outputs.numbers.len());
    }
    let is_one = repeats == 1;
    if stored.table.schema().columns()[0].physical() == types::PhysicalType::Str {
        let ran = run_rows(work, repeats, &mut outputs.texts)?;
        return Ok((if is_one { sum(&outputs.texts) } else { query.expected }, ran));
    }
    let ran = run_rows(work, repeats, &mut outputs.numbers)?;
    Ok((if is_one { sum(&outputs.numbers) } else { query.expected }, ran))
}

/// Times a query is repeated within a run at most.
const REPEATS_MAX: f64 = 500.0;

/// Checks and times a query with as many threads as there are outputs.
///
/// # Errors
/// An answer that is not the model's; what storage says.
pub(super) fn measure(
    work: Work<'_>,
    settings: &Settings,
    part: StoragePart,
    outputs: &mut Outputs,
) -> Result<Point, String> {
    let (stored, query, way) = work;
    let threads = outputs.numbers.len();
    let name = &stored.organisation.name;
    let place = format!(
        "{}, {name}, {}, {} %, {} columns, by {}",
        stored.build.table,
        query.role.name(),
        query.percent,
        query.projection.len(),
        way.name()
    );
    let mut checked = |repeats: usize| {
        let (answer, ran) = run(work, repeats, outputs)?;
        let rows = query.expected.rows * repeats as u64;
        if answer != query.expected || ran.rows != rows {
            let found = ran.rows;
            return Err(format!("{place}: {found} rows, not {rows}; {answer:?}, {query:?}"));
        }
        Ok(ran.seconds)
    };
    let seconds = checked(1)?;
    let repeats = (settings.run_ms / 1e3 / seconds.max(1e-9)).clamp(1.0, REPEATS_MAX).ceil();
    let (repeats, mut times) = (repeats as usize, Vec::new());
    let mut counters = if settings.counts { Counters::start().ok() } else { None };
    let before = counters.as_mut().and_then(Counters::read);
    for _ in 0..settings.runs {
        times.push(checked(repeats)? * 1e3 / repeats as f64);
    }
    let after = counters.as_mut().and_then(Counters::read);
    let each = (settings.runs * repeats) as f64;
    let misses = before
        .zip(after)
        .map(|(a, b)| Misses { l2: (b.l2 - a.l2) / each, l3: (b.l3 - a.l3) / each });
    Ok(Point {
        part,
        table: stored.build.table,
        organisation: name.clone(),
        role: query.role,
        way,
        percent: query.percent,
        width: if query.role == Role::Groups { 2 } else { query.projection.len() },
        threads,
        ms: Sample::of(&times),
        misses,
    })
}
