//! Estimates kept with a table, and when they are made again.
//!
//! ```text
//! a load             -> loaded           summaries and a sample of what it brought
//! gathering          -> looks            summaries of other blocks, as they were when looked at
//! gathering, a peek  -> current          what planners read
//! checkpoint         <- current, loaded  `-> stored, after opening: read by who plans first
//! ```
//! Three latches, so that planners and loads wait for an instant only: `looks` alone is held while
//! rows are read, and who plans never waits for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use types::{PhysicalType, Result};

use super::{ColumnSummary, Estimates, Sample, stored};
use crate::block::Block;
use crate::positions::Positions;
use crate::snapshot::TableSnapshot;
use crate::statistics::TableStatistics;

/// Work for a block whose summaries are known and are to be put together, in rows looked at: 4 KiB
/// of registers for each column, and its sample.
const MERGE_ROWS: u64 = 256;

/// Summaries of what loads brought, and of other blocks as they were when last looked at.
#[derive(Debug)]
pub(crate) struct Known {
    types: Vec<PhysicalType>,
    loaded: Mutex<Loaded>,
    /// Held by who gathers.
    pub(crate) looks: Mutex<Looks>,
    current: Mutex<Option<Current>>,
    /// True when somebody planned with estimates that should be better.
    wanted: AtomicBool,
    /// Number of the estimates that were gathered last, or stored: 0 when none were. Changes while
    /// `current` is held.
    generation: AtomicU64,
    /// Reader of what a checkpoint kept, until somebody wants it.
    stored: Mutex<Option<Stored>>,
}

/// Statistics that a checkpoint kept.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) source: Arc<dyn StatisticsSource>,
    /// See [`Keepable::generation`].
    pub(crate) generation: u64,
    /// Changes of the table when they were made, as this process counts them.
    pub(crate) changes: u64,
}

/// Reader of the statistics of a table that a checkpoint kept.
pub trait StatisticsSource: Send + Sync + std::fmt::Debug {
    /// The bytes; None when they cannot be read, which costs time and nothing else.
    fn read(&self) -> Option<Vec<u8>>;
}

/// Summaries and a sample of blocks.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(super) summaries: Vec<ColumnSummary>,
    pub(super) sample: Sample,
    pub(super) blocks: HashSet<u64>,
}

impl Loaded {
    fn add(&mut self, summaries: &[ColumnSummary], sample: &Sample) {
        for (summary, more) in self.summaries.iter_mut().zip(summaries) {
            summary.merge(more);
        }
        self.sample.merge(sample);
    }
}

/// Part that a checkpoint may keep of a table's statistics.
pub(crate) struct Keepable {
    /// Number of the estimates: the same number is the same estimates.
    pub(crate) generation: u64,
    /// Changes of the table when they were made.
    pub(crate) changes: u64,
    /// None when they are stored and were not read.
    pub(crate) estimates: Option<Arc<Estimates>>,
}

/// Blocks that were looked at, by id.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    blocks: HashMap<u64, Looked>,
}

#[derive(Debug)]
struct Looked {
    rows: u64,
    changes: u64,
    summaries: Vec<ColumnSummary>,
    sample: Sample,
}

/// How estimates were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    /// From a few rows.
    Peeked,
    /// From all rows.
    Gathered,
}

#[derive(Debug)]
struct Current {
    /// Changes of the table when they were made.
    changes: u64,
    grade: Grade,
    estimates: Arc<Estimates>,
    /// Estimates with the bounds of some moment.
    told: Option<Arc<TableStatistics>>,
}

/// Age of the estimates that a table has.
pub(crate) enum Kept {
    /// Less than a tenth of the rows changed since.
    Fresh(Arc<Estimates>),
    /// More, but fewer changes than there were rows.
    Old(Arc<Estimates>),
    /// None that are worth anything: as many rows changed as there were.
    Nothing,
}

impl Known {
    pub(crate) fn new(types: Vec<PhysicalType>) -> Self {
        let summaries = types.iter().map(|_| ColumnSummary::nulls(0)).collect();
        let sample = Sample::new(&types, 1.0);
        Self {
            loaded: Mutex::new(Loaded { summaries, sample, blocks: HashSet::new() }),
            looks: Mutex::default(),
            current: Mutex::default(),
            wanted: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            stored: Mutex::default(),
            types,
        }
    }

    /// Share of rows sampled, for the next load.
    pub(crate) fn threshold(&self) -> f64 {
        self.loaded.lock().sample.threshold()
    }

    /// Takes what a load found in `blocks`.
    pub(crate) fn add_loaded(
        &self,
        blocks: &[Arc<Block>],
        summaries: &[ColumnSummary],
        sample: &Sample,
    ) {
        let mut loaded = self.loaded.lock();
        loaded.add(summaries, sample);
        loaded.blocks.extend(blocks.iter().map(|block| block.id()));
    }

    /// Opening: a checkpoint kept estimates.
    pub(crate) fn store(&self, stored: Stored) {
        self.generation.store(stored.generation, Ordering::Relaxed);
        *self.stored.lock() = Some(stored);
    }

    /// True while what a checkpoint kept was not read.
    pub(crate) fn is_stored(&self) -> bool {
        self.stored.lock().is_some()
    }

    /// Reads what a checkpoint kept, if nobody has: estimates, and summaries of `blocks`.
    pub(crate) fn recall(&self, blocks: impl FnOnce() -> Arc<Vec<Arc<Block>>>) {
        // Others who plan wait: they would look at rows otherwise.
        let mut stored = self.stored.lock();
        let Some(Stored { source, changes, .. }) = stored.take() else { return };
        let Some(bytes) = source.read() else { return };
        let Ok((estimates, before)) = stored::read(&bytes, &self.types) else { return };
        self.current.lock().get_or_insert_with(|| Current {
            changes,
            grade: Grade::Gathered,
            estimates: Arc::new(estimates),
            told: None,
        });
        let there: HashSet<u64> = blocks().iter().map(|block| block.id()).collect();
        // Rows of a block that is gone may be in another now.
        if before.blocks.is_subset(&there) {
            let mut loaded = self.loaded.lock();
            loaded.add(&before.summaries, &before.sample);
            loaded.blocks.extend(before.blocks);
        }
    }

    /// The estimates that a checkpoint may keep; None when there are none but of a few rows.
    pub(crate) fn keepable(&self) -> Option<Keepable> {
        let stored = self.stored.lock();
        let current = self.current.lock();
        let generation = self.generation.load(Ordering::Relaxed);
        if let Some(Stored { changes, .. }) = *stored {
            return Some(Keepable { generation, changes, estimates: None });
        }
        let current = current.as_ref().filter(|current| current.grade == Grade::Gathered)?;
        let estimates = Some(Arc::clone(&current.estimates));
        Some(Keepable { generation, changes: current.changes, estimates })
    }

    /// `estimates` as bytes, with summaries of what loads brought, and of other frozen blocks as
    /// they were looked at; None when they are too long to be kept.
    pub(crate) fn write(&self, estimates: &Estimates, blocks: &[Arc<Block>]) -> Option<Vec<u8>> {
        let mut loaded = self.loaded.lock().clone();
        if let Some(looks) = self.looks.try_lock() {
            for block in blocks.iter().filter(|block| block.hot.is_none()) {
                if loaded.blocks.contains(&block.id()) {
                    continue;
                }
                let looked = looks.blocks.get(&block.id());
                let is_fresh = |old: &&Looked| is_fresh(old, block.rows() as u64, block.changes());
                if let Some(looked) = looked.filter(is_fresh) {
                    loaded.add(&looked.summaries, &looked.sample);
                    loaded.blocks.insert(block.id());
                }
            }
        }
        stored::write(estimates, &self.types, loaded)
    }

    /// The estimates made last, seen after so many changes of the table.
    pub(crate) fn kept(&self, changes: u64) -> Kept {
        let current = self.current.lock();
        let Some(current) = &*current else { return Kept::Nothing };
        let (changed, rows) = (changes.saturating_sub(current.changes), current.estimates.rows);
        let estimates = Arc::clone(&current.estimates);
        if changed == 0 || changed.saturating_mul(10) < rows {
            Kept::Fresh(estimates)
        } else if changed < rows {
            Kept::Old(estimates)
        } else {
            Kept::Nothing
        }
    }

    /// Block `target` has the rows of `sources`: what loads brought is known.
    pub(crate) fn follow(&self, target: u64, sources: &[u64]) {
        let mut loaded = self.loaded.lock();
        if sources.iter().all(|id| loaded.blocks.contains(id)) {
            loaded.blocks.insert(target);
        }
    }

    /// Keeps estimates made after so many changes of the table.
    pub(crate) fn keep(&self, changes: u64, grade: Grade, estimates: &Arc<Estimates>) {
        let estimates = Arc::clone(estimates);
        let mut current = self.current.lock();
        if grade == Grade::Gathered {
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
        *current = Some(Current { changes, grade, estimates, told: None });
    }

    /// `statistics` made of `estimates`, or the same made before.
    pub(crate) fn told(
        &self,
        estimates: &Arc<Estimates>,
        statistics: TableStatistics,
    ) -> Arc<TableStatistics> {
        let mut current = self.current.lock();
        let current = current.as_mut().filter(|now| Arc::ptr_eq(&now.estimates, estimates));
        let Some(current) = current else { return Arc::new(statistics) };
        let same = |told: &&Arc<TableStatistics>| told.is_of(&statistics);
        if let Some(told) = current.told.as_ref().filter(same) {
            return Arc::clone(told);
        }
        let statistics = Arc::new(statistics);
        current.told = Some(Arc::clone(&statistics));
        statistics
    }

    /// True when the estimates are of a few rows only.
    pub(crate) fn is_peeked(&self) -> bool {
        self.current.lock().as_ref().is_some_and(|current| current.grade == Grade::Peeked)
    }

    /// Notes whether somebody planned with estimates that should be better.
    pub(crate) fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Rows that [`Self::look`] would read, or their worth in other work.
    pub(crate) fn work(&self, looks: &Looks, blocks: &[Arc<Block>]) -> u64 {
        let loaded = self.loaded.lock();
        let others = blocks.iter().filter(|block| !loaded.blocks.contains(&block.id()));
        let work = |block: &Arc<Block>| match looks.blocks.get(&block.id()) {
            Some(old) if is_fresh(old, block.rows() as u64, block.changes()) => MERGE_ROWS,
            _ => block.rows() as u64,
        };
        others.map(work).sum()
    }

    /// Summaries and a sample of all rows of `snapshot`, looking at blocks of which a tenth
    /// changed. `go_on` is asked before each of them.
    ///
    /// # Errors
    /// Errors of `go_on`, and as [`TableSnapshot::unpack`]; what was looked at before is kept.
    pub(crate) fn look(
        &self,
        looks: &mut Looks,
        snapshot: &Arc<TableSnapshot>,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<(Vec<ColumnSummary>, Sample)> {
        let Loaded { mut summaries, mut sample, blocks: loaded } = self.loaded.lock().clone();
        let threshold = sample.threshold();
        let mut there = HashSet::with_capacity(snapshot.block_count());
        for number in 0..snapshot.block_count() {
            let block = snapshot.block(number);
            let (rows, changes) = (block.rows() as u64, block.changes());
            if loaded.contains(&block.id()) {
                continue;
            }
            there.insert(block.id());
            let old = looks.blocks.get(&block.id());
            if !old.is_some_and(|old| is_fresh(old, rows, changes)) {
                go_on()?;
                let (summaries, sample) = summarise(snapshot, number, &self.types, threshold)?;
                let looked = Looked { rows, changes, summaries, sample };
                looks.blocks.insert(block.id(), looked);
            }
            let found = &looks.blocks[&block.id()];
            for (summary, more) in summaries.iter_mut().zip(&found.summaries) {
                summary.merge(more);
            }
            sample.merge(&found.sample);
        }
        looks.blocks.retain(|id, _| there.contains(id));
        Ok((summaries, sample))
    }
}

fn is_fresh(old: &Looked, rows: u64, changes: u64) -> bool {
    let changed = changes - old.changes + (rows - old.rows);
    changed == 0 || changed * 10 < old.rows
}

fn summarise(
    snapshot: &Arc<TableSnapshot>,
    number: usize,
    types: &[PhysicalType],
    threshold: f64,
) -> Result<(Vec<ColumnSummary>, Sample)> {
    let positions = Positions::List(snapshot.visible(number));
    let columns = (0..types.len()).map(|column| {
        let column = snapshot.unpack(number, column, &positions)?;
        Ok(column.to_vector().into_owned())
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let columns: Vec<_> = columns.iter().collect();
    let mut sample = Sample::new(types, threshold);
    sample.add(&columns, positions.len(), snapshot.block(number).id());
    Ok((columns.into_iter().map(ColumnSummary::of).collect(), sample))
}
