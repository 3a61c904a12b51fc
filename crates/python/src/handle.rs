//! Databases that this process has open: one for each directory, shared by its connections.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use engine::{Config, Database};
use parking_lot::Mutex;
use types::{Error, Result, SqlState};

/// Open databases, and how many handles each has.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, (Database, usize)>>> = LazyLock::new(Mutex::default);

/// Limits that a connection asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Worker threads.
    pub(crate) threads: Option<usize>,
    /// Memory in bytes.
    pub(crate) memory_bytes: Option<u64>,
}

impl Limits {
    fn config(self) -> Config {
        let mut config = Config::default();
        config.threads = self.threads.unwrap_or(config.threads);
        config.memory_bytes = self.memory_bytes.unwrap_or(config.memory_bytes);
        config
    }

    /// Fails when an open database has other limits.
    ///
    /// # Errors
    /// 55006 when it has others.
    fn check(self, database: &Database) -> Result<()> {
        let threads = self.threads.is_none_or(|threads| threads == database.threads());
        let memory = self.memory_bytes.is_none_or(|bytes| bytes == database.pool().limit());
        if threads && memory {
            return Ok(());
        }
        let message = "the database is open in this process with other threads or memory";
        Err(Error::new(SqlState::OBJECT_IN_USE, message))
    }
}

/// A share in a database. The directory is given up when the last one is gone.
pub(crate) struct Handle {
    /// None in memory.
    path: Option<PathBuf>,
    /// Always there until the handle is dropped.
    database: Option<Database>,
}

impl Handle {
    /// A new database in memory.
    ///
    /// # Errors
    /// See [`Database::open_in_memory`].
    pub(crate) fn in_memory(limits: Limits) -> Result<Self> {
        let database = opened(Database::open_in_memory(limits.config())?);
        Ok(Self { path: None, database: Some(database) })
    }

    /// The database in the directory `path`, which is opened, or made, unless this process has it.
    ///
    /// # Errors
    /// See [`Database::open`]; 55006 when it is open with other limits.
    pub(crate) fn open(path: &Path, limits: Limits) -> Result<Self> {
        // Held while the files are read or closed, so that nobody meets a lock of this process.
        let mut open = OPEN.lock();
        if let Ok(path) = path.canonicalize()
            && let Some((database, handles)) = open.get_mut(&path)
        {
            limits.check(database)?;
            *handles += 1;
            return Ok(Self { database: Some(database.clone()), path: Some(path) });
        }
        let database = opened(Database::open(path, limits.config())?);
        let path = path.canonicalize().map_err(|error| {
            let message = format!("\"{}\": {error}", path.display());
            Error::new(SqlState::IO_ERROR, message)
        })?;
        open.insert(path.clone(), (database.clone(), 1));
        Ok(Self { path: Some(path), database: Some(database) })
    }

    /// The database.
    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().expect("there until the drop")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Some(path) = &self.path else { return };
        let mut open = OPEN.lock();
        // Before the last one goes, which closes the files.
        self.database = None;
        if let Some((_, handles)) = open.get_mut(path) {
            *handles -= 1;
            if *handles == 0 {
                open.remove(path);
            }
        }
    }
}

/// `database` with everything that stands in FROM and CALL.
fn opened(database: Database) -> Database {
    formats::register(&database);
    workloads::register(&database);
    database
}
