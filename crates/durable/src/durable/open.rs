//! Opening a database in files, and checking one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::Mutex;
use txn::checkpoint::Directory;
use types::{Result, SqlState};
use wal::Log;

use super::Durable;
use crate::background::Checkpointer;
use crate::handed::{Opening, Stores};
use crate::recover::{Means, Recovered};
use crate::verify::{self, CheckReport};

/// A database that was opened.
pub struct Opened {
    /// Its open files.
    pub durable: Durable,
    /// Catalog and transactions as they were left.
    pub stores: Arc<Stores>,
    /// The largest number of a table or index.
    pub last_object: u64,
}

/// Opens the database in `path`, or makes one there.
///
/// # Errors
/// 55006 when another process has it open; XX001 with file, offset and expectation when a file is
/// damaged, which changes nothing; 58P01 when `path` holds something else; 53200 when it does not
/// fit into memory; 58030 and 53100 for what the disk says.
pub fn open(path: &Path, opening: Opening<'_>) -> Result<Opened> {
    let options = opening.files.log_options();
    let directory = Directory::open(&opening.files.io, path, options)?;
    let recovered = Means::new(&directory, opening).recover()?;
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
/// 58P01 when there is no database; 55006 when it is open; 53200 when it does not fit into memory;
/// 58030 when a file cannot be read.
pub fn check(path: &Path, opening: Opening<'_>) -> Result<CheckReport> {
    let files = opening.files;
    let findings = txn::checkpoint::check(&files.io, path)?;
    if !findings.is_empty() {
        return Ok(CheckReport { findings, ..CheckReport::default() });
    }
    let directory = Directory::open(&files.io, path, files.log_options())?;
    match Means::new(&directory, opening).recover() {
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
