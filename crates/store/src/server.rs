//! A store of many tables: calls on keys run on the caller's thread, scans and collections on
//! threads of the store.
//!
//! ```text
//! get, insert, update, ...  -> table                          at once, whatever scans do
//! scan   -> queue (bounded) -> coordinator -> batch by table -> scan threads -> sink, reply
//! clock  -> interval over   -> coordinator -> collect each table
//! ```
//! The coordinator takes all queries that wait, up to [`StoreOptions::batch_queries`], and answers
//! those of one table in one pass; what comes meanwhile waits for the next one. So a query may wait
//! for one pass of each table before its own, and a slow sink holds up its batch.
//! Invariant: no call on a key waits for the queue.
//! Source: Pilman 2017, sections 4.1.8 and 4.3.4.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::delta_main::{ColumnStore, RowStore};
use crate::error::{Result, StoreError};
use crate::image::{self, ImageWriter, Imaged, Keep};
use crate::log_store::LogStore;
use crate::query::Query;
use crate::ranges::{HashRange, Ranges};
use crate::scan::code::Compile;
use crate::scan::{ScanEnd, ScanRequest, Sink};
use crate::schema::{Key, Schema, TableKind};
use crate::snapshot::{Snapshot, Version};
use crate::sync::{AtomicU64, Ordering};
use crate::table::{Memory, Table, TableOptions};

/// How a table keeps its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// [`ColumnStore`]: scans read the fields that they need.
    Columns,
    /// [`RowStore`]: rows are read whole.
    Rows,
    /// [`LogStore`]: nothing is merged.
    Log,
}

/// Number of a table in its store, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

/// Choices for a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Bytes of all tables.
    pub memory_limit: u64,
    /// Threads of a scan.
    pub scan_threads: usize,
    /// Queries that may wait; one more is refused.
    pub queue_queries: usize,
    /// Queries of one batch.
    pub batch_queries: usize,
    /// Time from one collection of all tables to the next.
    pub collect_interval: Duration,
    /// Choices for its tables, but for their memory.
    pub page_bytes: usize,
    /// Maker of code for scans; without one they run as loops.
    pub compiler: Option<Arc<dyn Compile>>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            memory_limit: u64::MAX,
            scan_threads: 2,
            queue_queries: 1024,
            batch_queries: 1024,
            collect_interval: Duration::from_secs(60),
            page_bytes: TableOptions::default().page_bytes,
            compiler: None,
        }
    }
}

#[derive(Clone)]
struct Named {
    name: String,
    layout: Layout,
    table: Arc<dyn Imaged>,
}

/// Name of a table that was dropped: its number stays taken, so that others keep theirs.
pub fn dropped_name(name: &str) -> String {
    format!("dropped {name}")
}

/// Name and form of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its number.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub schema: Arc<Schema>,
    /// How it keeps its rows.
    pub layout: Layout,
}

/// Images of keys on their way from one store to another.
#[derive(Clone, Copy, Debug)]
pub struct KeyImages<'a> {
    /// Hashes of the keys.
    pub range: HashRange,
    /// Version below which snapshots may miss something.
    pub horizon: Version,
    /// The images, one after the other.
    pub bytes: &'a [u8],
}

/// Work for the coordinator.
enum Job {
    Scan(Waiting),
    Collect(SyncSender<Result<()>>),
    Stop,
}

/// A query that waits.
struct Waiting {
    table: TableId,
    query: Query,
    snapshot: Snapshot,
    sink: Arc<dyn Sink>,
    reply: SyncSender<Result<ScanEnd>>,
}

impl Waiting {
    fn end(&self, end: Result<ScanEnd>) {
        self.sink.ended(&end);
        // Who waited may be gone.
        drop(self.reply.send(end));
    }
}

/// A scan that was let in.
pub struct Pending(Receiver<Result<ScanEnd>>);

impl Pending {
    /// Waits for its end.
    ///
    /// # Errors
    /// As [`Table::scan`]; [`StoreError::Overloaded`] when the store was closed before.
    pub fn wait(self) -> Result<ScanEnd> {
        self.0.recv().unwrap_or(Err(StoreError::Overloaded))
    }
}

/// Parts that the coordinator needs, too.
struct Shared {
    tables: ArcSwap<Vec<Named>>,
    /// Largest `lowest_active` of all calls.
    lowest_active: AtomicU64,
    options: StoreOptions,
}

/// A store.
pub struct Store {
    shared: Arc<Shared>,
    memory: Arc<Memory>,
    creation: Mutex<()>,
    jobs: SyncSender<Job>,
    coordinator: Option<JoinHandle<()>>,
}

impl Store {
    /// A store without tables.
    ///
    /// # Errors
    /// [`StoreError::Overloaded`] when the machine has no thread left.
    pub fn open(options: StoreOptions) -> Result<Self> {
        let memory = Memory::new(options.memory_limit);
        let (jobs, queue) = sync_channel(options.queue_queries.max(1));
        let tables = ArcSwap::from_pointee(Vec::new());
        let shared = Arc::new(Shared { tables, lowest_active: AtomicU64::new(0), options });
        let coordinator = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("store-scan".into())
                .spawn(move || shared.coordinate(&queue))
        };
        let coordinator = Some(coordinator.map_err(|_| StoreError::Overloaded)?);
        Ok(Self { shared, memory, creation: Mutex::new(()), jobs, coordinator })
    }

    /// Makes a table; names are unique.
    ///
    /// # Errors
    /// [`StoreError::InvalidTable`] for a name that is taken, [`StoreError::OutOfMemory`].
    pub fn create(&self, name: &str, schema: Schema, layout: Layout) -> Result<TableId> {
        let _creation = self.creation.lock();
        let tables = self.shared.tables.load();
        if tables.iter().any(|named| named.name == name) {
            return Err(StoreError::InvalidTable(format!("{name} is there already")));
        }
        let table = self.empty(Arc::new(schema), layout)?;
        let mut more = tables.to_vec();
        more.push(Named { name: name.into(), layout, table });
        let id = TableId(more.len() as u64);
        self.shared.tables.store(Arc::new(more));
        Ok(id)
    }

    fn empty(&self, schema: Arc<Schema>, layout: Layout) -> Result<Arc<dyn Imaged>> {
        let page_bytes = self.shared.options.page_bytes;
        let memory = Arc::clone(&self.memory);
        let compiler = self.shared.options.compiler.clone();
        let options = TableOptions { page_bytes, memory, compiler, ..TableOptions::default() };
        Ok(match layout {
            Layout::Columns => Arc::new(ColumnStore::new(schema, &options)?),
            Layout::Rows => Arc::new(RowStore::new(schema, &options)?),
            Layout::Log => Arc::new(LogStore::new(schema, &options)?),
        })
    }

    /// Takes the rows and the name of a table away; its number stays taken, and an empty table
    /// stands under it. Nothing happens when there is none of that name.
    ///
    /// # Errors
    /// [`StoreError::OutOfMemory`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let _creation = self.creation.lock();
        let mut tables = self.shared.tables.load().to_vec();
        let gone = dropped_name(name);
        let is_meant = |named: &&mut Named| named.name == name || named.name == gone;
        let Some(named) = tables.iter_mut().find(is_meant) else { return Ok(()) };
        let table = self.empty(Arc::clone(named.table.schema()), Layout::Log)?;
        *named = Named { name: gone, layout: Layout::Log, table };
        self.shared.tables.store(Arc::new(tables));
        Ok(())
    }

    /// The table of this name, with its number.
    ///
    /// # Errors
    /// [`StoreError::InvalidTable`] when there is none.
    pub fn find(&self, name: &str) -> Result<(TableId, Arc<dyn Table>)> {
        let tables = self.shared.tables.load();
        let found = tables.iter().position(|named| named.name == name);
        let found = found.map(|i| {
            let table: Arc<dyn Table> = tables[i].table.clone();
            (TableId(i as u64 + 1), table)
        });
        found.ok_or_else(|| StoreError::InvalidTable(format!("there is no {name}")))
    }

    /// Names and numbers of all tables, in the order of their making.
    pub fn tables(&self) -> Vec<(TableId, String)> {
        let tables = self.shared.tables.load();
        let numbered = tables.iter().enumerate();
        numbered.map(|(i, named)| (TableId(i as u64 + 1), named.name.clone())).collect()
    }

    /// The table of this number. Calls on its keys run on the caller's thread; its scans go through
    /// [`Self::scan`].
    ///
    /// # Errors
    /// [`StoreError::InvalidTable`] when there is none.
    pub fn table(&self, id: TableId) -> Result<Arc<dyn Table>> {
        Ok(self.shared.table(id)?)
    }

    /// Names and forms of all tables, in the order of their making.
    pub fn definitions(&self) -> Vec<Definition> {
        let tables = self.shared.tables.load();
        let numbered = tables.iter().enumerate().map(|(i, named)| Definition {
            id: TableId(i as u64 + 1),
            name: named.name.clone(),
            schema: Arc::clone(named.table.schema()),
            layout: named.layout,
        });
        numbered.collect()
    }

    /// Gives the versions of a table to `keep`, for [`Self::restore`], while calls go on; returns
    /// the version up to which one version of each key is left. Keys that come meanwhile may be
    /// missing, others are as they were at some moment since the beginning.
    ///
    /// # Errors
    /// Errors of `keep`; 42P01 when there is no such table.
    pub fn image(&self, id: TableId, keep: Keep<'_>) -> types::Result<Version> {
        self.shared.table(id)?.image(&mut ImageWriter::new(keep))
    }

    /// Puts keys of an image into a table that has none of them.
    ///
    /// # Errors
    /// XX001 when the bytes are no image of the table; 53200 without room.
    pub fn restore(&self, id: TableId, image: &[u8]) -> types::Result<()> {
        image::restore(&*self.shared.table(id)?, image)
    }

    /// Keys of a table whose hashes are in `wanted`; those that come meanwhile may be missing.
    ///
    /// # Errors
    /// 53200 without room; 42P01 when there is no such table.
    pub fn keys(&self, id: TableId, wanted: &Ranges) -> types::Result<Vec<Key>> {
        let mut keys = Vec::new();
        self.shared.table(id)?.image(&mut ImageWriter::list(wanted, &mut keys))?;
        Ok(keys)
    }

    /// Appends the versions of a key, for [`Self::replace`], also when it has none; returns the
    /// version below which snapshots may miss something.
    ///
    /// # Errors
    /// 53200 without room; 42P01 when there is no such table.
    pub fn image_of(&self, id: TableId, key: Key, out: &mut Vec<u8>) -> types::Result<Version> {
        let table = self.shared.table(id)?;
        table.image_of(key, &mut ImageWriter::of_keys(out))?;
        // Collections that came between took more than the image lacks.
        Ok(table.horizon().needed(TableKind::Transactional))
    }

    /// Puts keys in the place of what a table has of them: images of keys of `range`, from a table
    /// whose snapshots below `horizon` may miss something.
    ///
    /// # Errors
    /// XX001 when the bytes are no such images; 53200 without room; 42P01.
    pub fn replace(&self, id: TableId, images: &KeyImages<'_>) -> types::Result<()> {
        let table = self.shared.table(id)?;
        table.horizon().raise(table.schema().kind(), images.horizon);
        image::replace(&*table, images.bytes, &images.range)
    }

    /// Takes a key with all its versions out of a table.
    ///
    /// # Errors
    /// 53200 without room; 42P01 when there is no such table.
    pub fn forget(&self, id: TableId, key: Key) -> types::Result<()> {
        image::take_back(&*self.shared.table(id)?, key)
    }

    /// Raises what the store knows of the lowest active version to that of a snapshot: whoever
    /// brings calls to tables says so.
    pub fn heard_of(&self, snapshot: &Snapshot) {
        self.shared.lowest_active.fetch_max(snapshot.lowest_active().0, Ordering::AcqRel);
    }

    /// The largest `lowest_active` that it heard of.
    pub fn lowest_active(&self) -> Version {
        Version(self.shared.lowest_active.load(Ordering::Acquire))
    }

    /// Puts a query into the queue; its rows go to `sink`.
    ///
    /// # Errors
    /// [`StoreError::Overloaded`] when the queue is full, [`StoreError::InvalidTable`], and
    /// [`StoreError::InvalidScan`] for a query that does not fit the table.
    pub fn scan(
        &self,
        table: TableId,
        query: Query,
        snapshot: Snapshot,
        sink: Arc<dyn Sink>,
    ) -> Result<Pending> {
        query.check(self.table(table)?.schema())?;
        self.heard_of(&snapshot);
        let (reply, pending) = sync_channel(1);
        let waiting = Waiting { table, query, snapshot, sink, reply };
        match self.jobs.try_send(Job::Scan(waiting)) {
            Ok(()) => Ok(Pending(pending)),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                Err(StoreError::Overloaded)
            }
        }
    }

    /// Collects garbage of all tables now, behind the scans that wait.
    ///
    /// # Errors
    /// [`StoreError::Overloaded`] when the queue is full; those of [`Table::collect`].
    pub fn collect(&self) -> Result<()> {
        let (reply, done) = sync_channel(1);
        self.jobs.try_send(Job::Collect(reply)).map_err(|_| StoreError::Overloaded)?;
        done.recv().unwrap_or(Err(StoreError::Overloaded))
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> u64 {
        self.memory.used()
    }
}

impl Drop for Store {
    /// Ends the coordinator after the scans that wait.
    fn drop(&mut self) {
        // An error says that the coordinator is gone already.
        drop(self.jobs.send(Job::Stop));
        if let Some(coordinator) = self.coordinator.take() {
            drop(coordinator.join());
        }
    }
}

impl Shared {
    fn table(&self, id: TableId) -> Result<Arc<dyn Imaged>> {
        let tables = self.tables.load();
        let found = (id.0 as usize).checked_sub(1).and_then(|i| tables.get(i));
        let found = found.map(|named| Arc::clone(&named.table));
        found.ok_or_else(|| StoreError::InvalidTable(format!("there is no table {}", id.0)))
    }

    fn coordinate(&self, queue: &Receiver<Job>) {
        let interval = self.options.collect_interval;
        let mut collect_at = Instant::now() + interval;
        loop {
            let left = collect_at.saturating_duration_since(Instant::now());
            let mut batch = Vec::new();
            let mut next = match queue.recv_timeout(left) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while let Some(Job::Scan(waiting)) = next {
                batch.push(waiting);
                let is_full = batch.len() >= self.options.batch_queries;
                next = if is_full { None } else { queue.try_recv().ok() };
            }
            self.answer(batch);
            match next {
                Some(Job::Stop) => return,
                Some(Job::Collect(reply)) => {
                    // Who asked may be gone.
                    drop(reply.send(self.collect()));
                }
                _ => (),
            }
            if Instant::now() >= collect_at {
                // A table without room is collected next time; writes to it are told so meanwhile.
                drop(self.collect());
                collect_at = Instant::now() + interval;
            }
        }
    }

    /// Answers the queries of a batch, one pass for each table.
    fn answer(&self, mut batch: Vec<Waiting>) {
        while let Some(id) = batch.first().map(|waiting| waiting.table) {
            let same: Vec<Waiting> = batch.extract_if(.., |w| w.table == id).collect();
            let requests: Vec<ScanRequest<'_>> = same
                .iter()
                .map(|w| ScanRequest { query: &w.query, snapshot: &w.snapshot, sink: &*w.sink })
                .collect();
            let scan = |requests: &[ScanRequest<'_>]| {
                self.table(id).and_then(|table| table.scan(requests, self.options.scan_threads))
            };
            match scan(&requests) {
                Ok(ends) => {
                    for (waiting, end) in same.iter().zip(ends) {
                        waiting.end(Ok(end));
                    }
                }
                // One snapshot that is too old is not the others' fault.
                Err(_) => {
                    for (waiting, request) in same.iter().zip(&requests) {
                        let end = scan(&[*request]).map(|mut ends| ends.remove(0));
                        waiting.end(end);
                    }
                }
            }
        }
    }

    fn collect(&self) -> Result<()> {
        let lowest = Version(self.lowest_active.load(Ordering::Acquire));
        let tables = self.tables.load_full();
        let outcomes: Vec<Result<()>> =
            tables.iter().map(|named| named.table.collect(lowest)).collect();
        outcomes.into_iter().collect()
    }
}
