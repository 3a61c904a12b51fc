//! Loads of new tables by generators: parallel, frozen as they come, published together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use sched::{Priority, RunError, Ticket, WorkOrders};
use sql::catalog::{ColumnDef, KeyDef};
use storage::{BulkWriter, ColumnSpec, Layout, Schema, Table};
use types::{DataType, Error, Result, SqlState};

use crate::catalog::TableEntry;
use crate::{CancelHandle, Database};

/// Tables being loaded. Dropped without [`BulkLoad::commit`] nothing of them stays.
pub struct BulkLoad {
    database: Database,
    entries: Vec<Arc<TableEntry>>,
}

/// Fills a writer with part `part` of a table's rows.
pub type FillPart = Arc<dyn Fn(usize, &mut BulkWriter) -> Result<()> + Send + Sync>;

/// Told how many parts of how many are done.
pub type PartsProgress = Arc<dyn Fn(usize, usize) + Send + Sync>;

impl BulkLoad {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, entries: Vec::new() }
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
        let spec = |(i, (name, ty)): (usize, &(&str, DataType))| {
            let mut spec = ColumnSpec::new(*name, *ty);
            spec.not_null = !nullable.contains(&i);
            spec
        };
        let schema = Schema::new(columns.iter().enumerate().map(spec).collect());
        let layout = match self.database.inner().layout {
            Layout::Auto => Layout::Frozen,
            other => other,
        };
        let table = self.database.new_table(name, schema, layout);
        let column = |(i, (name, ty)): (usize, &(&str, DataType))| ColumnDef {
            name: (*name).to_owned(),
            ty: *ty,
            not_null: !nullable.contains(&i),
            default: None,
        };
        let columns = columns.iter().enumerate().map(column).collect();
        let entry = TableEntry::new(name.to_owned(), columns, keys, Arc::clone(&table));
        self.entries.push(Arc::new(entry));
        table
    }

    /// Runs `fill` for parts `0..parts` on all workers, each part with a writer of its own, so that
    /// blocks keep the order of rows inside a part.
    ///
    /// # Errors
    /// The first error of `fill`, 57014 when cancelled, 53200 without memory.
    pub fn fill(
        &self,
        table: &Arc<Table>,
        parts: usize,
        cancel: &CancelHandle,
        progress: PartsProgress,
        fill: FillPart,
    ) -> Result<()> {
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
        let scheduler = Arc::clone(&self.database.inner().scheduler.read());
        let ticket = Ticket::new(Priority::default());
        let outcome = scheduler.run(&ticket, Arc::clone(&orders) as Arc<dyn WorkOrders>, parts);
        if let Some(error) = orders.error.lock().take() {
            return Err(error);
        }
        if let Err(RunError::Panicked(message)) = outcome {
            return Err(Error::internal(format!("a loader failed: {message}")));
        }
        cancel.check()?;
        load.commit().map(|_| ())
    }

    /// Makes the tables visible.
    ///
    /// # Errors
    /// 42P07 when one of the names is taken.
    pub fn commit(self) -> Result<()> {
        self.database.inner().relations.update(|state| {
            for entry in &self.entries {
                let name = sql::catalog::TableMeta::name(&**entry).to_owned();
                if state.contains(&name) {
                    let message = format!("relation \"{name}\" already exists");
                    return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
                }
                state.tables.insert(name, Arc::clone(entry));
            }
            Ok(())
        })
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
