//! Opening a database in files, and checking one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::Mutex;
use storage::{BufferPool, Lru2};
use txn::checkpoint::Directory;
use types::{Result, SqlState};
use wal::Log;

use super::background::Checkpointer;
use super::recover::{Means, Recovered};
use super::verify::{self, CheckReport};
use super::{Durable, Files, Stores};
use crate::Config;

/// A database that was opened.
pub(crate) struct Opened {
    pub(crate) durable: Durable,
    pub(crate) stores: Arc<Stores>,
    /// The largest number of a table or index.
    pub(crate) last_object: u64,
}

/// Opens the database in `path`, or makes one there.
///
/// # Errors
/// See [`crate::Database::open`].
pub(crate) fn open(
    path: &Path,
    config: &Config,
    files: &Files,
    pool: &Arc<BufferPool>,
) -> Result<Opened> {
    let options = files.log_options();
    let directory = Directory::open(&files.io, path, options)?;
    let recovered = Means::new(&directory, pool, config).recover()?;
    let Recovered { state, files: block_files, manifest, log, .. } = recovered;
    if let Some(torn) = log.torn_tail() {
        eprintln!(
            "tessera: \"{}\" ends at byte {} inside of a commit, which is cut: nobody was told \
             that it succeeded",
            torn.path.display(),
            torn.offset
        );
    }
    let log = Log::resume(log, options)?;
    directory.sweep(&manifest, |name| block_files.contains(name))?;
    let checkpoint_lsn = manifest.position.lsn.0;
    let stores = Stores::new(state, recovered.named, recovered.last);
    let durable = Durable {
        stores: Arc::clone(&stores),
        checkpointer: Checkpointer::default(),
        log,
        files: Mutex::new(block_files),
        homes: recovered.homes,
        writing: Arc::default(),
        next_version: AtomicU64::new(recovered.next_version),
        checkpoint_lsn: AtomicU64::new(checkpoint_lsn),
        commits_since: AtomicU64::new(recovered.replayed),
        checkpoints: AtomicU64::new(0),
        closed: AtomicBool::new(false),
        recovery: recovered.report,
        directory,
    };
    Ok(Opened { durable, stores, last_object: recovered.last_object })
}

/// Verifies every file of the database in `path`, then its indexes against its tables. Changes
/// nothing.
///
/// # Errors
/// See [`crate::Database::check`].
pub(crate) fn check(path: &Path, config: &Config, files: &Files) -> Result<CheckReport> {
    let findings = txn::checkpoint::check(&files.io, path)?;
    if !findings.is_empty() {
        return Ok(CheckReport { findings, ..CheckReport::default() });
    }
    let pool = BufferPool::evicting(config.memory_bytes, Box::new(Lru2));
    let directory = Directory::open(&files.io, path, files.log_options())?;
    match Means::new(&directory, &pool, config).recover() {
        Ok(recovered) => {
            let mut report = verify::tables(&recovered.state);
            verify::blocks(&recovered.state, &mut report);
            Ok(report)
        }
        Err(error) if error.state() == SqlState::DATA_CORRUPTED => {
            let problems = vec![error.message().to_owned()];
            Ok(CheckReport { problems, ..CheckReport::default() })
        }
        Err(error) => Err(error),
    }
}
