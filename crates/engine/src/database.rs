//! A database: memory, workers, catalog, and what is registered with it.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use sched::Scheduler;
use storage::{BufferPool, Layout, Schema, Table};
use types::{Error, Result};

use crate::catalog::{Relations, TableEntry, TableInfo, undefined_table};
use crate::registry::Registry;
use crate::{BulkLoad, Config, Session, system};

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

pub(crate) struct Inner {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) scheduler: RwLock<Arc<Scheduler>>,
    pub(crate) relations: Relations,
    pub(crate) registry: Registry,
    pub(crate) layout: Layout,
}

impl Database {
    /// An empty database in memory.
    ///
    /// # Errors
    /// None today; opening files will have some.
    pub fn open_in_memory(config: Config) -> Result<Self> {
        let database = Self(Arc::new(Inner {
            pool: BufferPool::new(config.memory_bytes),
            scheduler: RwLock::new(Scheduler::new(config.threads)),
            relations: Relations::default(),
            registry: Registry::default(),
            layout: config.layout,
        }));
        system::register(&database);
        Ok(database)
    }

    pub(crate) fn downgrade(&self) -> WeakDatabase {
        WeakDatabase(Arc::downgrade(&self.0))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// A new session.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    /// Where table functions, procedures and formats are added.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// The owner of all large memory.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.0.pool
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.0.scheduler.read().workers()
    }

    /// Tables and views, by name.
    pub fn relations(&self) -> Vec<TableInfo> {
        self.0.relations.snapshot().infos()
    }

    /// The table called `name`.
    ///
    /// # Errors
    /// 42P01.
    pub fn table(&self, name: &str) -> Result<Arc<TableEntry>> {
        let state = self.0.relations.snapshot();
        state.tables.get(name).cloned().ok_or_else(|| undefined_table(name))
    }

    /// Starts a load of new tables that appear together, loaded, or not at all.
    pub fn bulk_load(&self) -> BulkLoad {
        BulkLoad::new(self.clone())
    }

    pub(crate) fn new_table(&self, name: &str, schema: Schema, layout: Layout) -> Arc<Table> {
        Table::new(name, schema, layout, Arc::clone(&self.0.pool))
    }
}
