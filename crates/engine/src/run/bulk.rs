//! Loads of new tables by generators: parallel, frozen as they come, published together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use catalog::locks::TableLock;
use catalog::stored::{key_index, schema_of};
use catalog::who::Who;
use catalog::{Indexes, TableDef, TableEntry};
use parking_lot::Mutex;
use sched::{Extent, Priority, RunError, Ticket, WorkOrders};
use sql::catalog::{ColumnDef, KeyDef};
use sql::statement::AccessMode;
use storage::{BulkWriter, Layout, Table, TableId};
use txn::manager::Isolation;
use types::{DataType, Error, Result, SqlState};

use crate::transaction::work::{Begun, Durability, Modes, Work};
use crate::write::rows::attempt;
use crate::{CancelHandle, Database};

/// Tables being loaded, in a transaction of its own. Dropped without [`BulkLoad::commit`] nothing
/// of them stays.
pub struct BulkLoad {
    database: Database,
    entries: Vec<Arc<TableEntry>>,
    work: Mutex<Work>,
}

/// Fills a writer with part `part` of a table's rows.
pub type FillPart = Arc<dyn Fn(usize, &mut BulkWriter) -> Result<()> + Send + Sync>;

/// Told how many parts of how many are done.
pub type PartsProgress = Arc<dyn Fn(usize, usize) + Send + Sync>;

/// The parts of a table that is filled.
pub struct Parts<'a> {
    /// Number of the parts, whose numbers begin at 0.
    pub count: usize,
    /// Looked at between parts.
    pub cancel: &'a CancelHandle,
    /// Told after each part.
    pub progress: PartsProgress,
}

impl BulkLoad {
    pub(crate) fn new(database: Database) -> Result<Self> {
        let modes = Modes::new(Isolation::Snapshot, AccessMode::ReadWrite);
        let (begun, temporary) = (Begun::Explicitly, Arc::default());
        let now = database.inner().clock.micros();
        let work = Work::begin(database.inner(), modes, begun, temporary, now)?;
        Ok(Self { database, entries: Vec::new(), work: Mutex::new(work) })
    }

    /// Adds an empty table; all columns but those at `nullable` are NOT NULL, `keys` hold by
    /// construction of the rows.
    pub fn table(
        &mut self,
        name: &str,
        columns: &[(&str, DataType)],
        nullable: &[usize],
        keys: Vec<KeyDef>,
    ) -> Arc<Table> {
        let inner = self.database.inner();
        let layout = match inner.layout {
            Layout::Auto => Layout::Frozen,
            other => other,
        };
        let column = |(i, (name, ty)): (usize, &(&str, DataType))| ColumnDef {
            not_null: !nullable.contains(&i),
            ..ColumnDef::new(*name, *ty)
        };
        let mut def = TableDef::new(name, columns.iter().enumerate().map(column).collect(), layout);
        def.indexes = keys.iter().map(|key| key_index(key, &def.columns)).collect();
        def.keys = keys;
        let schema = schema_of(&def.columns);
        let table = Table::new(
            TableId(inner.next_object_id()),
            name,
            schema,
            layout,
            Arc::clone(&inner.pool),
        );
        let lock = Arc::<TableLock>::default();
        let indexes = if def.indexes.is_empty() { Indexes::Built } else { Indexes::Deferred };
        let entry = TableEntry::new(def, Arc::clone(&table), lock, indexes);
        self.entries.push(Arc::new(entry));
        table
    }

    /// Runs `fill` for all parts of a table on all workers, each part with a writer of its own, so
    /// that blocks keep the order of rows inside a part.
    ///
    /// # Errors
    /// The first error of `fill`, 57014 when cancelled, 53200 without memory.
    pub fn fill(&self, table: &Arc<Table>, parts: Parts<'_>, fill: FillPart) -> Result<()> {
        let Parts { count: parts, cancel, progress } = parts;
        let load = table.begin_load();
        // Made in order of the parts: so their blocks come in this order.
        let writers = (0..parts).map(|_| Mutex::new(Some(load.writer()))).collect();
        let orders = Arc::new(FillOrders {
            writers,
            fill,
            error: Mutex::new(None),
            stop: AtomicBool::new(false),
            cancel: cancel.clone(),
            done: AtomicU64::new(0),
            progress,
        });
        let scheduler = &self.database.inner().scheduler;
        let ticket = Ticket::new(Priority::default());
        let extent = Extent { slots: scheduler.slots(), count: parts };
        let shared = Arc::clone(&orders) as Arc<dyn WorkOrders>;
        let outcome = scheduler.run(&ticket, shared, extent);
        if let Some(error) = orders.error.lock().take() {
            return Err(error);
        }
        if let Err(RunError::Panicked(message)) = outcome {
            return Err(Error::internal(format!("a loader failed: {message}")));
        }
        cancel.check()?;
        let mut work = self.work.lock();
        attempt(&mut work, cancel, |undo| load.commit(undo))
            .map(|_| ())
            .map_err(|_| Error::internal("a new table has no conflicts"))
    }

    /// Makes the tables visible.
    ///
    /// # Errors
    /// 42P07 when one of the names is taken.
    pub fn commit(self) -> Result<()> {
        let inner = self.database.inner();
        let mut work = self.work.into_inner();
        work.change_catalog(inner, &CancelHandle::default(), &Who::All, |state| {
            for entry in &self.entries {
                let name = entry.def.name.clone();
                if state.contains(&name) {
                    let message = format!("relation \"{name}\" already exists");
                    return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
                }
                state.tables.insert(name, Arc::clone(entry));
            }
            Ok(())
        })?;
        work.commit(inner, Durability::Wait)
    }
}

struct FillOrders {
    writers: Vec<Mutex<Option<BulkWriter>>>,
    fill: FillPart,
    error: Mutex<Option<Error>>,
    stop: AtomicBool,
    cancel: CancelHandle,
    done: AtomicU64,
    progress: PartsProgress,
}

impl FillOrders {
    fn fill_part(&self, part: usize) -> Result<()> {
        if let Some(mut writer) = self.writers[part].lock().take() {
            (self.fill)(part, &mut writer)?;
            writer.finish()?;
        }
        Ok(())
    }
}

impl WorkOrders for FillOrders {
    fn run(&self, _worker: usize, order: usize) {
        if let Err(error) = self.fill_part(order) {
            self.error.lock().get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(done as usize, self.writers.len());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }
}
