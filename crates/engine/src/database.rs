//! A database: memory, workers, catalog, and what is registered with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use sched::Scheduler;
use storage::{BufferPool, Layout, Timestamp};
use txn::manager::TransactionManager;
use types::{Error, Result};

use crate::catalog::{Relations, TableEntry, TableInfo, undefined_table};
use crate::durable::Durable;
use crate::locks::TableLock;
use crate::registry::Registry;
use crate::session::SessionInfo;
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
    pub(crate) transactions: Arc<TransactionManager>,
    /// Held by the transaction that changes the catalog.
    pub(crate) catalog_lock: Arc<TableLock>,
    /// Held while indexes that were put off are built.
    pub(crate) index_building: Mutex<()>,
    /// Numbers of tables and indexes.
    pub(crate) objects_made: AtomicU64,
    sessions_made: AtomicU64,
    /// Sessions by number; those that ended are forgotten when the next one begins.
    sessions: Mutex<BTreeMap<u64, Weak<SessionInfo>>>,
    /// Log and checkpoints; None in memory.
    pub(crate) durable: Option<Durable>,
}

impl Inner {
    /// A number no table or index had before.
    pub(crate) fn next_object_id(&self) -> u64 {
        self.objects_made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes a checkpoint; in memory nothing happens.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        match &self.durable {
            Some(durable) => durable.checkpoint(self),
            None => Ok(()),
        }
    }
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
            transactions: TransactionManager::new(Timestamp(1)),
            catalog_lock: Arc::default(),
            index_building: Mutex::default(),
            objects_made: AtomicU64::new(0),
            sessions_made: AtomicU64::new(0),
            sessions: Mutex::default(),
            durable: None,
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
        let info = Arc::<SessionInfo>::default();
        let mut sessions = self.0.sessions.lock();
        sessions.retain(|_, known| known.strong_count() > 0);
        let id = self.0.sessions_made.fetch_add(1, Ordering::Relaxed) + 1;
        sessions.insert(id, Arc::downgrade(&info));
        drop(sessions);
        Session::new(self.clone(), info)
    }

    /// The sessions that exist, by number.
    pub(crate) fn sessions(&self) -> Vec<(u64, Arc<SessionInfo>)> {
        let sessions = self.0.sessions.lock();
        sessions.iter().filter_map(|(id, info)| Some((*id, info.upgrade()?))).collect()
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
    ///
    /// # Errors
    /// 53300 when too many transactions run.
    pub fn bulk_load(&self) -> Result<BulkLoad> {
        BulkLoad::new(self.clone())
    }
}
