//! Opening a database, and what begins with one: sessions, loads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::State;
use durable::{Named, Opening, Stores};
use exec::SpillSpace;
use host::{Io, RealClock, RealIo};
use storage::{BufferPool, Lru2, Timestamp};
use types::Result;

use super::databases::begin_cluster;
use super::two_phase;
use crate::instance::database::Beginning;
use crate::show::system;
use crate::{Background, BulkLoad, CheckReport, Config, Database, Files, Session};

/// The sub-directory of a database with the temporary files of its queries.
const TEMPORARY_NAME: &str = "temporary";

/// Temporary files in `directory`.
pub(super) fn spill_in(io: Arc<dyn Io>, directory: PathBuf) -> SpillSpace {
    SpillSpace { io, directory, work_bytes: None }
}

/// Removes what a process left that died between making a temporary file and removing its name.
fn sweep(space: &SpillSpace) {
    // What cannot be removed harms nobody.
    for name in space.io.list(&space.directory).unwrap_or_default() {
        let _ = space.io.remove(&space.directory.join(name));
    }
}

/// A database that begins so, with the functions that show it.
pub(super) fn started(config: &Config, beginning: Beginning) -> Database {
    let database = Database::begin(config, beginning);
    system::register(&database);
    database
}

/// The database in the directory `path`, beside another of its server or alone.
///
/// # Errors
/// See [`Database::open`].
pub(super) fn opened_beside(
    path: &Path,
    config: &Config,
    files: &Files,
    beside: Option<&Database>,
) -> Result<Database> {
    let alone = || BufferPool::evicting(config.memory_bytes, Box::new(Lru2));
    let pool = beside.map_or_else(alone, |beside| Arc::clone(beside.pool()));
    let opened = durable::open(path, Opening { files, pool: &pool, threads: config.threads })?;
    let durable::Opened { durable, stores, last_object } = opened;
    let durable = Some(Arc::new(durable));
    let spill = spill_in(Arc::clone(&files.io), path.join(TEMPORARY_NAME));
    sweep(&spill);
    let (clock, beside) = (Arc::clone(&files.clock), beside.cloned());
    let beginning = Beginning { pool, stores, last_object, clock, spill, durable, beside };
    let database = started(config, beginning);
    two_phase::restore(&database)?;
    if let (Some(durable), Background::Thread) = (&database.inner().durable, files.background) {
        database.inner().start_background();
        let database = database.downgrade();
        durable.start(move || {
            if let Ok(database) = database.upgrade() {
                database.inner().checkpoint_in_background();
            }
        });
    }
    Ok(database)
}

impl Database {
    /// An empty database in memory.
    ///
    /// # Errors
    /// None today.
    pub fn open_in_memory(config: Config) -> Result<Self> {
        let pool = BufferPool::new(config.memory_bytes);
        let stores = Stores::new(State::default(), Named::default(), Timestamp(1));
        let spill = spill_in(Arc::new(RealIo), std::env::temp_dir());
        let clock = Arc::new(RealClock);
        let (durable, beside) = Default::default();
        let beginning = Beginning { pool, stores, last_object: 0, clock, spill, durable, beside };
        let database = started(&config, beginning);
        database.inner().start_background();
        begin_cluster(&database, &config, None)?;
        Ok(database)
    }

    /// Opens the database in the directory `path`, which is made when there is none: every commit
    /// that was acknowledged is there, whatever happened to the process or the machine. It is held
    /// until the last session and clone is gone. An end of the log that was torn by a crash is cut,
    /// with a line on standard error.
    ///
    /// # Errors
    /// 55006 when another process has it open; XX001 with file, offset and expectation when a file
    /// is damaged, which changes nothing; 58P01 when `path` holds something else; 53200 when it
    /// does not fit into memory; 58030 and 53100 for what the disk says.
    pub fn open(path: impl AsRef<Path>, config: Config) -> Result<Self> {
        Self::open_with(path, config, &Files::default())
    }

    /// [`Self::open`] on the files of `files`: those of a simulation, for tests.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn open_with(path: impl AsRef<Path>, config: Config, files: &Files) -> Result<Self> {
        let database = opened_beside(path.as_ref(), &config, files, None)?;
        begin_cluster(&database, &config, Some((path.as_ref(), files)))?;
        Ok(database)
    }

    /// Verifies all files of the database in `path`, which nobody may have open, then opens it in
    /// memory only and compares indexes with tables. Changes nothing.
    ///
    /// # Errors
    /// 58P01 when there is no database; 55006 when it is open; 53200 when it does not fit into
    /// memory; 58030 when a file cannot be read.
    pub fn check(path: impl AsRef<Path>, config: &Config, files: &Files) -> Result<CheckReport> {
        let pool = &BufferPool::evicting(config.memory_bytes, Box::new(Lru2));
        durable::check(path.as_ref(), Opening { files, pool, threads: config.threads })
    }

    /// A new session.
    pub fn session(&self) -> Session {
        Session::new(self.clone(), self.new_info())
    }

    /// Starts a load of new tables that appear together, loaded, or not at all.
    ///
    /// # Errors
    /// 53300 when too many transactions run.
    pub fn bulk_load(&self) -> Result<BulkLoad> {
        BulkLoad::new(self.clone())
    }
}
