//! State that the operators of one query share: memory, workers, cancellation, snapshots, profile.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use host::Io;
use kernels::Batch;
use parking_lot::Mutex;
use plan::physical::{LookUps, OperatorId, OperatorProfile};
use plan::{Switches, Technique};
use sched::{Grant, Scheduler, Ticket};
use sql::catalog::SequencesRef;
use storage::{
    AccessPath, BlockPaths, BufferPool, Restriction, Snapshot, Table, TableId, TableSnapshot, Tid,
};
use types::budget::{self, Account, Entry};
use types::{Result, Value};

use crate::account::cancelled;

/// Counters of one operator, added to by all workers.
#[derive(Debug, Default)]
pub struct Counters {
    /// Rows out.
    pub rows: AtomicU64,
    /// Own time in nanoseconds.
    pub nanos: AtomicU64,
    /// Blocks a scan looked into.
    pub blocks_scanned: AtomicU64,
    /// Blocks a scan skipped.
    pub blocks_skipped: AtomicU64,
    /// Bytes of column values that a scan read, if it measures itself.
    pub bytes_read: AtomicU64,
    /// Blocks by the path on which a scan found their rows, in the order of [`AccessPath::ALL`].
    pub paths: [AtomicU64; AccessPath::ALL.len()],
    /// Look-ups by index, if the operator measures itself.
    pub look_ups: Mutex<Vec<LookUps>>,
    /// Outer rows of an index join that a hash join joined.
    pub hashed_rows: AtomicU64,
    /// Largest memory.
    pub memory_bytes: AtomicU64,
    /// Written to temporary files.
    pub spilled_bytes: AtomicU64,
}

/// Measurement of operators: on for EXPLAIN ANALYZE, off for other queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Count rows and take times.
    On,
    /// Neither.
    Off,
}

/// Tables read, each with the restrictions that rows satisfied; several queries may share it.
pub type ReadLog = Mutex<Vec<(Arc<Table>, Vec<Restriction>)>>;

/// Rows that changed under a READ COMMITTED statement: it looks at them as they are now.
#[derive(Clone, Debug)]
pub struct Recheck {
    /// Snapshot of these rows; other tables are read at the query's own snapshot.
    pub at: Snapshot,
    /// The rows of each table, by its number, ascending.
    pub tids: Vec<(TableId, Vec<Tid>)>,
}

impl Recheck {
    /// The rows of one table.
    pub(crate) fn tids_of(&self, table: &Table) -> Vec<Tid> {
        let own = self.tids.iter().find(|(id, _)| *id == table.id());
        own.map_or_else(Vec::new, |(_, tids)| tids.clone())
    }
}

/// Where and from when on a query spills.
#[derive(Clone, Debug)]
pub struct SpillSpace {
    /// The file system.
    pub io: Arc<dyn Io>,
    /// Where files go; made when the first one is needed.
    pub directory: PathBuf,
    /// Bytes that an operator of a worker may hold; by default only the pool's limit counts.
    pub work_bytes: Option<u64>,
}

/// Shared state of one running query.
pub struct QueryContext {
    /// Memory.
    pub pool: Arc<BufferPool>,
    /// Workers.
    pub scheduler: Arc<Scheduler>,
    /// Place at the scheduler.
    pub ticket: Arc<Ticket>,
    /// Set by the session's owner to end the query.
    pub cancel: Arc<AtomicBool>,
    /// Values of `$1`..., in their declared types' physical form.
    pub parameters: Vec<Value>,
    /// Rows for `Input` operators, by slot: batches of the columns that the statement
    /// describes, of at most `kernels::BATCH_ROWS` rows each.
    pub inputs: Vec<Vec<Batch>>,
    /// Snapshot of the query.
    pub at: Snapshot,
    /// Rows of the statement's target to look at again, and nothing else of it.
    pub recheck: Option<Recheck>,
    /// Where scans note what they read, for validation at commit: serializable transactions only.
    pub reads: Option<Arc<ReadLog>>,
    /// Sequences for nextval and its kin; without them they are 0A000.
    pub sequences: Option<SequencesRef>,
    /// True when its work orders run on the calling thread, one after the other: it calls routines,
    /// which run there.
    pub is_serial: bool,
    /// Where rows go that do not fit in memory; without it they are 53200.
    pub spill: Option<SpillSpace>,
    /// Which techniques are used.
    pub switches: Switches,
    /// Which index sub-blocks scans use.
    pub block_paths: BlockPaths,
    /// Measurement of operators: on or off.
    pub profile: Profile,
    /// Work orders done and known so far, for a progress display.
    pub progress: Arc<Progress>,
    /// Leave to run, which ends with the context; none for a query that needs little.
    pub grant: OnceLock<Grant>,
    /// Account that it runs on: that of the thread that made the context.
    account: Option<Arc<dyn Account>>,
    counters: Vec<Counters>,
    snapshots: Mutex<Vec<(Arc<Table>, Arc<TableSnapshot>)>>,
}

/// Work orders of a query, as far as known.
#[derive(Debug, Default)]
pub struct Progress {
    /// Completed.
    pub done: AtomicU64,
    /// Completed and still to do in the pipelines begun.
    pub total: AtomicU64,
    /// The pipelines begun, one for each source.
    pipelines: Mutex<Vec<Arc<PipelineProgress>>>,
}

/// Work orders of one pipeline: of all its runs, if it is run again and again.
#[derive(Debug)]
pub struct PipelineProgress {
    /// The operator whose rows the work orders read; None for rows of no operator of the plan.
    pub source: Option<OperatorId>,
    /// The operators that the rows pass.
    pub operators: Vec<OperatorId>,
    /// Work orders done and still to do.
    pub orders: AtomicU64,
    /// Work orders done.
    pub done: AtomicU64,
    /// Nanoseconds of these.
    pub nanos: AtomicU64,
}

impl Progress {
    /// Notes that a pipeline begins, with so many work orders.
    pub(crate) fn begin(
        &self,
        source: Option<OperatorId>,
        operators: impl Iterator<Item = OperatorId>,
        orders: u64,
    ) -> Arc<PipelineProgress> {
        self.total.fetch_add(orders, Ordering::Relaxed);
        let mut pipelines = self.pipelines.lock();
        let known = pipelines.iter().find(|known| known.source == source).cloned();
        let pipeline = known.unwrap_or_else(|| {
            let (orders, done, nanos) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
            let operators = operators.collect();
            let new = Arc::new(PipelineProgress { source, operators, orders, done, nanos });
            pipelines.push(Arc::clone(&new));
            new
        });
        pipeline.orders.fetch_add(orders, Ordering::Relaxed);
        pipeline
    }

    /// Notes the end of a work order of `pipeline` that took so long.
    pub(crate) fn end_order(&self, pipeline: &PipelineProgress, took: Duration) {
        self.done.fetch_add(1, Ordering::Relaxed);
        pipeline.done.fetch_add(1, Ordering::Relaxed);
        pipeline.nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The pipelines begun so far, in the order of their beginning.
    pub fn pipelines(&self) -> Vec<Arc<PipelineProgress>> {
        self.pipelines.lock().clone()
    }
}

impl QueryContext {
    /// The context of a query with `operator_count` operators.
    pub fn new(
        pool: Arc<BufferPool>,
        scheduler: Arc<Scheduler>,
        ticket: Arc<Ticket>,
        operator_count: usize,
    ) -> Self {
        Self {
            pool,
            scheduler,
            ticket,
            cancel: Arc::default(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            at: Snapshot::ALL,
            recheck: None,
            reads: None,
            sequences: None,
            is_serial: false,
            spill: None,
            switches: Switches::default(),
            block_paths: BlockPaths::default(),
            profile: Profile::Off,
            progress: Arc::default(),
            grant: OnceLock::new(),
            account: budget::current(),
            counters: (0..operator_count).map(|_| Counters::default()).collect(),
            snapshots: Mutex::default(),
        }
    }

    /// True when `technique` is used.
    #[inline]
    pub fn has(&self, technique: Technique) -> bool {
        self.switches.has(technique)
    }

    /// Checks for cancellation: called at least once per flow.
    ///
    /// # Errors
    /// 57014 when the query was cancelled.
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        self.account.as_ref().map_or(Ok(()), |account| account.check())
    }

    /// A worker's thread works for the query until the entry is dropped.
    pub(crate) fn enter(&self) -> Option<Entry> {
        self.account.as_ref().map(|account| budget::enter(Arc::clone(account)))
    }

    /// The snapshot of `table` that the whole query reads.
    pub fn snapshot(&self, table: &Arc<Table>) -> Arc<TableSnapshot> {
        let mut snapshots = self.snapshots.lock();
        if let Some((_, snapshot)) = snapshots.iter().find(|(t, _)| Arc::ptr_eq(t, table)) {
            return Arc::clone(snapshot);
        }
        let snapshot = table.snapshot(self.at);
        snapshots.push((Arc::clone(table), Arc::clone(&snapshot)));
        snapshot
    }

    /// Counters of an operator.
    pub fn counters(&self, id: OperatorId) -> &Counters {
        &self.counters[id.0]
    }

    /// Adds look-ups of an operator in one index, where it measures itself.
    pub(crate) fn note_look_ups(&self, id: OperatorId, made: LookUps) {
        if self.profile == Profile::Off || made.count == 0 {
            return;
        }
        let mut all = self.counters(id).look_ups.lock();
        match all.iter_mut().find(|known| known.index == made.index) {
            Some(known) => {
                known.count += made.count;
                known.rows += made.rows;
            }
            None => all.push(made),
        }
    }

    /// Measurements for EXPLAIN ANALYZE, by operator.
    pub fn profiles(&self) -> Vec<OperatorProfile> {
        let read = |c: &AtomicU64| c.load(Ordering::Relaxed);
        let paths = |c: &Counters| {
            let counted = AccessPath::ALL.into_iter().zip(&c.paths);
            let used: Vec<_> = counted.map(|(p, n)| (p, read(n))).filter(|(_, n)| *n > 0).collect();
            let by_index = |path| !matches!(path, AccessPath::Constant | AccessPath::Scan);
            if used.iter().any(|(path, _)| by_index(*path)) {
                used.into_iter().map(|(path, blocks)| (path.name(), blocks)).collect()
            } else {
                Vec::new()
            }
        };
        let profile = |c: &Counters| OperatorProfile {
            rows: read(&c.rows),
            nanos: read(&c.nanos),
            blocks_scanned: read(&c.blocks_scanned),
            blocks_skipped: read(&c.blocks_skipped),
            bytes_read: read(&c.bytes_read),
            paths: paths(c),
            look_ups: c.look_ups.lock().clone(),
            hashed_rows: read(&c.hashed_rows),
            memory_bytes: read(&c.memory_bytes),
            spilled_bytes: read(&c.spilled_bytes),
        };
        self.counters.iter().map(profile).collect()
    }
}
