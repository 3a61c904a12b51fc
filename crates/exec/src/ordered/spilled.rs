//! Sorted runs on disk, and their merge.
//!
//! ```text
//! runs of a worker -> one file, each run a list of chunks in order
//! more runs than memory has room for chunks --some merged at a time--> longer runs --> output
//! ```
//! Keys are not stored: they are computed again from the rows of each chunk.
//! Departure from merging in memory: one work order merges everything.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use kernels::keys::SortKeys;
use kernels::sort_rows::{Entry, entries};
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder};
use plan::physical::OperatorId;
use storage::{MemoryCategory, Reservation};
use types::{PhysicalType, Result};

use super::Bounds;
use super::sort::RunSink;
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::pipeline::{Demand, Push, Source};
use crate::spill::{ChunkList, SpillFile};

/// Runs merged at once at most: a chunk of each is in memory.
const FAN_IN_MAX: usize = 64;
/// Bytes in memory per byte of a chunk in its file: its columns, and its keys with their entries.
const EXPANSION: u64 = 3;
/// Rows of a chunk.
const CHUNK_ROWS: usize = BATCH_ROWS / 2;

/// Runs in one file.
pub(super) struct RunFile {
    file: Arc<SpillFile>,
    runs: Vec<ChunkList>,
}

impl RunFile {
    /// No runs.
    ///
    /// # Errors
    /// As [`SpillFile::new`].
    pub(super) fn new(context: &Arc<QueryContext>, id: OperatorId) -> Result<Self> {
        Ok(Self { file: SpillFile::new(context, id)?, runs: Vec::new() })
    }

    /// Writes a run: the rows of `columns` in the order of `rows`.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub(super) fn write(&mut self, columns: &[Vector], rows: &[u32]) -> Result<()> {
        let mut list = ChunkList::default();
        for rows in rows.chunks(CHUNK_ROWS) {
            let columns = columns.iter().map(|c| Column::plain(c.gather(rows))).collect();
            self.file.write(&Batch::new(columns, rows.len()), &mut list)?;
        }
        self.runs.push(list);
        Ok(())
    }
}

/// A run on disk.
#[derive(Clone)]
struct SpilledRun {
    file: Arc<SpillFile>,
    chunks: ChunkList,
}

/// Sorted rows on disk, to be merged.
pub(super) struct SpilledRuns {
    sink: Arc<RunSink>,
    runs: Vec<SpilledRun>,
    wanted: std::ops::Range<u64>,
}

impl SpilledRuns {
    /// All rows of `files`, of which `bounds` are given. Merges until few runs are left.
    ///
    /// # Errors
    /// As [`SpillFile::write`] and [`SpillFile::read`].
    pub(super) fn new(sink: &Arc<RunSink>, files: Vec<RunFile>, bounds: Bounds) -> Result<Self> {
        let mut runs: Vec<SpilledRun> = Vec::new();
        for RunFile { file, runs: lists } in files {
            runs.extend(lists.into_iter().map(|chunks| SpilledRun { file: file.clone(), chunks }));
        }
        let rows = runs.iter().map(|run| run.chunks.rows()).sum();
        let fan_in = fan_in(&sink.context, &runs);
        while runs.len() > fan_in {
            let file = SpillFile::new(&sink.context, sink.id)?;
            let mut merged = Vec::new();
            for part in runs.chunks(fan_in) {
                let mut chunks = ChunkList::default();
                Merge::new(sink, part)?.run(|batch| {
                    file.write(&batch, &mut chunks)?;
                    Ok(Demand::More)
                })?;
                merged.push(SpilledRun { file: Arc::clone(&file), chunks });
            }
            runs = merged;
        }
        Ok(Self { sink: Arc::clone(sink), runs, wanted: bounds.range(rows) })
    }
}

/// How many of `runs` can be merged at once with half of the memory that is left.
fn fan_in(context: &QueryContext, runs: &[SpilledRun]) -> usize {
    let chunk_bytes = runs.iter().map(|run| run.chunks.largest_bytes()).max().unwrap_or(0);
    let left = context.pool.limit().saturating_sub(context.pool.held());
    let fitting = left / 2 / (chunk_bytes * EXPANSION).max(1);
    (fitting as usize).clamp(2, FAN_IN_MAX)
}

impl Source for SpilledRuns {
    fn orders(&self) -> usize {
        1
    }

    fn run(&self, _order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let mut place = 0;
        Merge::new(&self.sink, &self.runs)?.run(|batch| {
            let start = self.wanted.start.clamp(place, place + batch.rows as u64) - place;
            let end = self.wanted.end.clamp(place, place + batch.rows as u64) - place;
            place += batch.rows as u64;
            let demand = if start < end {
                let rows: Vec<u32> = (start as u32..end as u32).collect();
                push(Flow::from_batch(batch.gather(&rows)))?
            } else {
                Demand::More
            };
            Ok(if place >= self.wanted.end { Demand::Enough } else { demand })
        })
    }
}

/// The place in a run.
struct Cursor<'a> {
    run: &'a SpilledRun,
    next_chunk: usize,
    columns: Vec<Arc<Vector>>,
    keys: SortKeys,
    entries: Vec<Entry>,
    row: usize,
}

/// The first row of a cursor, ordered by its key.
struct Head {
    entry: Entry,
    key: Vec<u8>,
    cursor: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        let keys = self.entry.order(&other.entry).then_with(|| self.key.cmp(&other.key));
        keys.then_with(|| self.cursor.cmp(&other.cursor))
    }
}

/// Several runs being merged.
struct Merge<'a> {
    sink: &'a RunSink,
    cursors: Vec<Cursor<'a>>,
    heads: BinaryHeap<Reverse<Head>>,
    output: Vec<VectorBuilder>,
    rows: usize,
    _memory: Reservation,
}

impl<'a> Merge<'a> {
    fn new(sink: &'a RunSink, runs: &'a [SpilledRun]) -> Result<Self> {
        let cursor = |run| Cursor {
            run,
            next_chunk: 0,
            columns: Vec::new(),
            keys: sink.spec.sort_keys(),
            entries: Vec::new(),
            row: 0,
        };
        // The output is as large as two chunks.
        let largest = runs.iter().map(|run| run.chunks.largest_bytes());
        let bytes = largest.clone().sum::<u64>() + 2 * largest.max().unwrap_or(0);
        let pool = &sink.context.pool;
        let mut merge = Self {
            sink,
            cursors: runs.iter().map(cursor).collect(),
            heads: BinaryHeap::new(),
            output: builders(&sink.physical),
            rows: 0,
            _memory: pool.reserve(MemoryCategory::Sort, bytes * EXPANSION)?,
        };
        for number in 0..runs.len() {
            merge.load(number)?;
        }
        Ok(merge)
    }

    /// The next chunk of a cursor.
    fn load(&mut self, number: usize) -> Result<()> {
        let cursor = &mut self.cursors[number];
        cursor.row = 0;
        cursor.entries.clear();
        if cursor.next_chunk >= cursor.run.chunks.len() {
            return Ok(());
        }
        let batch = cursor.run.file.read(&cursor.run.chunks, cursor.next_chunk)?;
        cursor.next_chunk += 1;
        let mut flow = Flow::from_batch(batch);
        let keys = self.sink.spec.columns(&mut flow)?;
        let keys: Vec<&Vector> = keys.iter().map(|k| &**k).collect();
        cursor.keys.clear();
        cursor.keys.append(&keys);
        cursor.entries = entries(&cursor.keys);
        cursor.columns = flow.into_batch()?.columns.iter().map(Column::to_plain).collect();
        self.push_head(number);
        Ok(())
    }

    fn push_head(&mut self, number: usize) {
        let cursor = &self.cursors[number];
        let entry = cursor.entries[cursor.row];
        let key = cursor.keys.get(cursor.row).to_vec();
        self.heads.push(Reverse(Head { entry, key, cursor: number }));
    }

    /// Gives all rows to `push`, in order, until it has enough.
    fn run(mut self, mut push: impl FnMut(Batch) -> Result<Demand>) -> Result<Demand> {
        while let Some(Reverse(head)) = self.heads.pop() {
            self.take(&head)?;
            if self.rows >= BATCH_ROWS && push(self.batch())? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        if self.rows > 0 { push(self.batch()) } else { Ok(Demand::More) }
    }

    /// Appends the row at `head`, and those after it that still come before all other cursors.
    fn take(&mut self, head: &Head) -> Result<()> {
        let number = head.cursor;
        let next = self.heads.peek().map(|Reverse(next)| next);
        let cursor = &mut self.cursors[number];
        let start = cursor.row;
        cursor.row += 1;
        let limit = cursor.entries.len().min(start + BATCH_ROWS - self.rows);
        while cursor.row < limit && next.is_none_or(|next| cursor.is_before(next)) {
            cursor.row += 1;
        }
        let rows: Vec<u32> = (start as u32..cursor.row as u32).collect();
        for (builder, column) in self.output.iter_mut().zip(&cursor.columns) {
            builder.append(column, Some(&rows));
        }
        self.rows += rows.len();
        if cursor.row < cursor.entries.len() {
            self.push_head(number)
        } else {
            self.load(number)?
        }
        Ok(())
    }

    fn batch(&mut self) -> Batch {
        let output = std::mem::replace(&mut self.output, builders(&self.sink.physical));
        let rows = std::mem::take(&mut self.rows);
        Batch::new(output.into_iter().map(|b| Column::plain(b.finish())).collect(), rows)
    }
}

impl Cursor<'_> {
    /// True when the cursor's row comes before `head`.
    fn is_before(&self, head: &Head) -> bool {
        let order = self.entries[self.row].order(&head.entry);
        order.then_with(|| self.keys.get(self.row).cmp(&head.key)) != Ordering::Greater
    }
}

fn builders(physical: &[PhysicalType]) -> Vec<VectorBuilder> {
    physical.iter().map(|&p| VectorBuilder::new(p)).collect()
}
