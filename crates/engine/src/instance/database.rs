//! A database: memory, workers, catalog, and what is registered with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use catalog::locks::TableLock;
use catalog::{TableEntry, TableInfo, undefined_table};
use durable::{self, CheckReport, Durable, Effects, Lsn, Marks, RecoveryReport, Redo, Stores};
use exec::SpillSpace;
use host::Clock;
use parking_lot::Mutex;
use sched::{Admission, Scheduler};
use storage::{BufferPool, Layout, Timestamp, UndoBuffer};
use txn::manager::{CommitWork, Isolation};
use types::{Error, Result};

use super::advisory::AdvisoryLocks;
use super::arrivals::Arrivals;
use super::channels::Channels;
use super::cluster::{Cluster, ToCluster};
use super::compaction::Traces;
use super::freezing::{Freezer, Site};
use super::gathering::Gatherer;
use super::info::SessionInfo;
use super::prepared::PreparedTransactions;
use super::registry::Registry;
use super::xids::Xids;
use crate::Config;

/// A database. Sessions share it; it ends with the last of them.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

/// A database that does not keep itself alive: for what is registered with it.
#[derive(Clone)]
pub(crate) struct WeakDatabase(Weak<Inner>);

impl WeakDatabase {
    /// The database.
    ///
    /// # Errors
    /// XX000 when it is gone, which a session of it cannot see.
    pub(crate) fn upgrade(&self) -> Result<Database> {
        self.0.upgrade().map(Database).ok_or_else(|| Error::internal("the database is closed"))
    }
}

/// A database in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Transactions that changed something, since the database was made.
    pub committed: u64,
    /// Transactions taken back, since it was opened.
    pub aborted: u64,
    /// Memory of data and queries.
    pub memory_bytes: u64,
    /// Limit of that memory.
    pub memory_limit_bytes: u64,
    /// Disk space of the log.
    pub log_bytes: u64,
    /// Bytes of log since the database was made.
    pub log_written_bytes: u64,
    /// Checkpoints since it was opened.
    pub checkpoints: u64,
}

pub(crate) struct Inner {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) scheduler: Arc<Scheduler>,
    /// Queries that ask for much memory begin by its leave.
    pub(crate) admission: Arc<Admission>,
    /// How many of them run at once; 0 stands for a number by the workers.
    pub(crate) heavy_max: AtomicUsize,
    pub(crate) registry: Registry,
    pub(crate) layout: Layout,
    pub(crate) stores: Arc<Stores>,
    /// Held by the transaction that changes the catalog.
    pub(crate) catalog_lock: Arc<TableLock>,
    /// Held while indexes that were put off are built.
    pub(crate) index_building: Mutex<()>,
    /// Numbers of tables and indexes.
    pub(crate) objects_made: AtomicU64,
    /// Shared by all databases of a server: clients cancel by number.
    sessions_made: Arc<AtomicU64>,
    /// Sessions by number; those that ended are forgotten when the next one begins.
    sessions: Mutex<BTreeMap<u64, Weak<SessionInfo>>>,
    /// Transactions taken back.
    pub(crate) aborted: AtomicU64,
    /// When the database was opened.
    pub(crate) opened_micros: i64,
    /// Locks that mean what their users agree on.
    pub(crate) advisory: AdvisoryLocks,
    /// Numbers of transactions for users.
    pub(crate) xids: Arc<Xids>,
    /// Transactions that no session has.
    pub(crate) prepared: Arc<PreparedTransactions>,
    /// Listening sessions, by channel.
    pub(crate) channels: Channels,
    /// Sessions that wait for messages of the bus.
    pub(crate) arrivals: Arrivals,
    /// The time of day.
    pub(crate) clock: Arc<dyn Clock>,
    /// Where queries put what does not fit in memory.
    pub(crate) spill: SpillSpace,
    /// Freezes blocks in the background.
    pub(crate) freezer: Freezer,
    /// Gathers statistics in the background.
    pub(crate) gatherer: Gatherer,
    /// Rows that moved.
    traces: Arc<Traces>,
    /// Log and checkpoints; None in memory.
    pub(crate) durable: Option<Arc<Durable>>,
    /// The databases of the server.
    cluster: OnceLock<ToCluster>,
}

impl Inner {
    /// The databases of the server; None while it begins or ends.
    pub(crate) fn cluster(&self) -> Option<Arc<Cluster>> {
        self.cluster.get()?.get()
    }

    /// The database is one of a server's.
    pub(crate) fn join(&self, cluster: ToCluster) {
        // It joins once.
        let _ = self.cluster.set(cluster);
    }

    /// A number no table or index had before.
    pub(crate) fn next_object_id(&self) -> u64 {
        self.objects_made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes over the marks of a commit at `ts`, under the commit latch.
    pub(crate) fn note_marks(&self, marks: &Marks, ts: Timestamp) {
        if marks.is_empty() {
            return;
        }
        self.stores.named.lock().note(marks);
        if let Some(number) = marks.committed {
            self.xids.commit(number, ts, || self.stores.transactions.low_water_mark());
        }
    }

    /// Commits marks alone, and waits for the disk.
    ///
    /// # Errors
    /// 53300 when too many transactions run; 53100, 58030.
    pub(crate) fn mark(&self, marks: &Marks) -> Result<()> {
        let effects = Effects { marks: Some(marks), ..Effects::default() };
        let durable = self.durable.as_deref();
        let redo = durable.map(|durable| durable.encode(None, effects)).transpose()?.flatten();
        let mut marking = Marking { inner: self, marks, redo, lsn: None };
        self.stores.transactions.begin(Isolation::ReadCommitted)?.commit(&mut marking)?;
        durable.zip(marking.lsn).map_or(Ok(()), |(durable, lsn)| durable.wait(lsn))
    }

    /// A number for a transaction.
    ///
    /// # Errors
    /// Errors of [`Self::mark`].
    pub(crate) fn next_number(&self) -> Result<u64> {
        self.xids
            .assign(|below| self.mark(&Marks { numbers_below: Some(below), ..Marks::default() }))
    }

    /// Writes a checkpoint; in memory nothing happens.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        match &self.durable {
            Some(durable) => durable.checkpoint(),
            None => Ok(()),
        }
    }

    pub(crate) fn checkpoint_in_background(&self) {
        if let Some(durable) = &self.durable {
            durable.checkpoint_in_background();
        }
    }

    /// The database for who freezes its blocks.
    pub(crate) fn site(&self) -> Site {
        let (stores, traces) = (Arc::clone(&self.stores), Arc::clone(&self.traces));
        Site { stores, durable: self.durable.clone(), traces }
    }

    /// Starts the threads that work for nobody in particular.
    pub(crate) fn start_background(&self) {
        self.freezer.start(self.site());
        self.gatherer.start(Arc::clone(&self.stores));
    }

    fn close(&self) -> Result<()> {
        if let Some(ToCluster::Keeps(cluster)) = self.cluster.get() {
            let others: Vec<_> =
                cluster.members().iter().filter_map(|member| member.database.clone()).collect();
            for database in others {
                database.inner().close()?;
            }
        }
        self.freezer.stop();
        self.gatherer.stop();
        match &self.durable {
            Some(durable) => durable.close(),
            None => Ok(()),
        }
    }
}

/// A commit of nothing but marks.
struct Marking<'a> {
    inner: &'a Inner,
    marks: &'a Marks,
    redo: Option<Redo<'a>>,
    lsn: Option<Lsn>,
}

impl CommitWork for Marking<'_> {
    fn publish(&mut self, ts: Timestamp, _: &UndoBuffer) -> Result<()> {
        if let (Some(durable), Some(redo)) = (&self.inner.durable, &mut self.redo) {
            self.lsn = Some(durable.append(ts, redo, None)?);
        }
        self.inner.note_marks(self.marks, ts);
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            eprintln!("tessera: the database was not closed well: {error}");
        }
        self.prepared.forget_all_of(self);
    }
}

/// Parts that a database starts from.
pub(crate) struct Beginning {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) stores: Arc<Stores>,
    pub(crate) last_object: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spill: SpillSpace,
    pub(crate) durable: Option<Arc<Durable>>,
    /// Database whose workers and queue it shares.
    pub(crate) beside: Option<Database>,
}

impl Database {
    /// A database of `config` that begins so.
    pub(crate) fn begin(config: &Config, beginning: Beginning) -> Self {
        let Beginning { pool, stores, last_object, clock, spill, durable, beside } = beginning;
        let beside = beside.as_ref().map(Database::inner);
        let xids = Arc::new(Xids::new(&stores.named.lock()));
        let scheduler = beside.map(|inner| Arc::clone(&inner.scheduler));
        let admission = beside.map(|inner| Arc::clone(&inner.admission));
        let prepared = beside.map(|inner| Arc::clone(&inner.prepared));
        let sessions_made = beside.map(|inner| Arc::clone(&inner.sessions_made));
        let database = Self(Arc::new(Inner {
            pool,
            scheduler: scheduler.unwrap_or_else(|| Scheduler::new(config.threads)),
            admission: admission.unwrap_or_default(),
            heavy_max: AtomicUsize::new(0),
            stores,
            registry: Registry::default(),
            layout: config.layout,
            catalog_lock: Arc::default(),
            index_building: Mutex::default(),
            objects_made: AtomicU64::new(last_object),
            sessions_made: sessions_made.unwrap_or_default(),
            cluster: OnceLock::new(),
            sessions: Mutex::default(),
            aborted: AtomicU64::new(0),
            opened_micros: clock.micros(),
            advisory: AdvisoryLocks::default(),
            xids,
            prepared: prepared.unwrap_or_default(),
            channels: Channels::default(),
            arrivals: Arrivals::default(),
            clock,
            spill,
            freezer: Freezer::default(),
            gatherer: Gatherer::default(),
            traces: Arc::default(),
            durable,
        }));
        // Weak: what they keep holds the pool.
        let transactions = Arc::downgrade(&database.0.stores.transactions);
        database.0.pool.set_collector(move || {
            if let Some(transactions) = transactions.upgrade() {
                transactions.collect();
            }
        });
        database
    }

    /// The facts of a new session, which is known from now on.
    pub(crate) fn new_info(&self) -> Arc<SessionInfo> {
        let id = self.0.sessions_made.fetch_add(1, Ordering::Relaxed) + 1;
        let info = Arc::new(SessionInfo {
            id,
            began_micros: self.0.clock.micros(),
            ..SessionInfo::default()
        });
        let mut sessions = self.0.sessions.lock();
        sessions.retain(|_, known| known.strong_count() > 0);
        sessions.insert(id, Arc::downgrade(&info));
        drop(sessions);
        info
    }

    /// Writes what waits for the disk and, if that costs little, a checkpoint, so that the next
    /// opening has nothing to do. Without a call the last drop does it. The directory is given up
    /// when the last session and clone is gone.
    ///
    /// # Errors
    /// 58030, 53100: what was acknowledged is safe nevertheless.
    pub fn close(self) -> Result<()> {
        self.0.close()
    }

    /// Compares all indexes with their tables, which nobody may write meanwhile.
    pub fn check_indexes(&self) -> CheckReport {
        self.0.stores.transactions.collect();
        durable::check_tables(&self.0.stores.relations.snapshot())
    }

    /// Compares all indexes with their tables as far as that can be done beside writers.
    pub(crate) fn check_beside_others(&self) -> Result<CheckReport> {
        durable::check_beside_others(
            &self.0.stores.relations.snapshot(),
            &self.0.stores.transactions,
        )
    }

    /// Time and amounts of opening the database; zeros in memory.
    pub fn recovery(&self) -> RecoveryReport {
        self.0.durable.as_ref().map_or_else(RecoveryReport::default, |durable| durable.recovery)
    }

    pub(crate) fn downgrade(&self) -> WeakDatabase {
        WeakDatabase(Arc::downgrade(&self.0))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// True for the same database.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The sessions that exist, by number.
    pub(crate) fn sessions(&self) -> Vec<(u64, Arc<SessionInfo>)> {
        let sessions = self.0.sessions.lock();
        sessions.iter().filter_map(|(id, info)| Some((*id, info.upgrade()?))).collect()
    }

    /// Runs of work orders that have not ended.
    pub(crate) fn pending_orders(&self) -> Vec<sched::Pending> {
        self.0.scheduler.pending()
    }

    /// Where table functions, procedures and formats are added.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// True when it has a schema of this name.
    pub fn has_schema(&self, name: &str) -> bool {
        self.0.stores.relations.snapshot().has_schema(name)
    }

    /// Schema of the attached database.
    pub fn attached_schema(&self) -> Option<&str> {
        self.registry().attachment().map(|attachment| attachment.schema())
    }

    /// The owner of all large memory.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.0.pool
    }

    /// How it is, in numbers.
    pub fn condition(&self) -> Condition {
        let inner = &self.0;
        let durable = inner.durable.as_ref().map(|durable| durable.condition()).unwrap_or_default();
        let (log_bytes, log_written_bytes, checkpoints) = durable;
        Condition {
            committed: inner.stores.transactions.newest().0,
            aborted: inner.aborted.load(Ordering::Relaxed),
            memory_bytes: inner.pool.total(),
            memory_limit_bytes: inner.pool.limit(),
            log_bytes,
            log_written_bytes,
            checkpoints,
        }
    }

    /// Fails when no commit is possible any more.
    ///
    /// # Errors
    /// 58030 once the log has failed.
    pub fn health(&self) -> Result<()> {
        self.0.durable.as_ref().map_or(Ok(()), |durable| durable.health())
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.0.scheduler.workers()
    }

    /// Tables and views, by name.
    pub fn relations(&self) -> Vec<TableInfo> {
        self.0.stores.relations.snapshot().infos()
    }

    /// The table called `name`.
    ///
    /// # Errors
    /// 42P01.
    pub fn table(&self, name: &str) -> Result<Arc<TableEntry>> {
        let state = self.0.stores.relations.snapshot();
        state.tables.get(name).cloned().ok_or_else(|| undefined_table(name))
    }
}
