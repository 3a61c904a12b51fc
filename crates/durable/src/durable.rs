//! The open files of a database: what commits, checkpoints and closing do with them.
//!
//! Elsewhere: redo of a transaction (`encode`, `redo`), checkpoints (`checkpoint`), opening
//! (`open`).

mod redo;
mod encode;
mod checkpoint;
mod open;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use catalog::State;
use parking_lot::Mutex;
use storage::Timestamp;
use txn::checkpoint::Directory;
use types::Result;
use wal::{Log, Lsn};

use crate::background::Checkpointer;
use crate::files::BlockFiles;
use crate::handed::Stores;
use crate::homes::Homes;
use crate::recover::RecoveryReport;

pub use encode::Effects;
pub use open::{Opened, check, open};
pub use redo::Redo;

/// The open files of one database. Dropped in the order of the fields: the lock goes last.
pub struct Durable {
    stores: Arc<Stores>,
    checkpointer: Checkpointer,
    log: Log,
    /// Which block is in which file.
    files: Mutex<BlockFiles>,
    /// Where frozen blocks are read again.
    homes: Arc<Homes>,
    /// Held while a checkpoint is written, and while a block is frozen: a checkpoint that holds a
    /// frozen block begins behind all commits that wrote its rows while they were hot.
    writing: Arc<Mutex<()>>,
    /// Version of the next block file.
    next_version: AtomicU64,
    /// Where the log was when the newest checkpoint began, or the last attempt at one.
    checkpoint_lsn: AtomicU64,
    /// Commits that the newest checkpoint does not hold.
    commits_since: AtomicU64,
    /// Checkpoints written.
    checkpoints: AtomicU64,
    closed: AtomicBool,
    /// Time and amounts of opening it.
    pub recovery: RecoveryReport,
    directory: Directory,
}

impl Durable {
    /// Disk space of the log, bytes written to it so far, checkpoints written.
    pub fn condition(&self) -> (u64, u64, u64) {
        let written = self.log.position().lsn.0;
        (self.log.disk_bytes(), written, self.checkpoints.load(Ordering::Relaxed))
    }

    /// # Errors
    /// 58030 once the log has failed.
    pub fn health(&self) -> Result<()> {
        self.log.health()
    }

    fn next_version(&self) -> u64 {
        self.next_version.fetch_add(1, Ordering::Relaxed)
    }

    /// Appends redo to the log buffer, under the commit latch; `catalog` is that of the
    /// transaction, if it changed it.
    ///
    /// # Errors
    /// 58030 once the log has failed; 40001 when a sequence that the transaction took values of
    /// was renamed or dropped meanwhile.
    pub fn append(
        &self,
        ts: Timestamp,
        redo: &mut Redo<'_>,
        catalog: Option<&State>,
    ) -> Result<Lsn> {
        redo.put_sequence_values(catalog, &self.stores.relations)?;
        let lsn = redo.append(&self.log, ts)?;
        let files = redo.take_files();
        if !files.is_empty() {
            for (table, loaded) in &files {
                self.homes.tell(table, &loaded.file, loaded.temperature);
            }
            self.files.lock().add(ts, files.into_iter().map(|(_, loaded)| loaded));
        }
        self.commits_since.fetch_add(1, Ordering::Relaxed);
        Ok(lsn)
    }

    /// Waits until the log is durable up to `lsn`. Not under the commit latch.
    ///
    /// # Errors
    /// 58030 or 53100: the commit is visible but may not survive.
    pub fn wait(&self, lsn: Lsn) -> Result<()> {
        self.checkpoint_if_due(lsn);
        self.log.wait_durable(lsn)
    }

    /// A commit at `lsn` is waited for later.
    pub fn note(&self, lsn: Lsn) {
        self.checkpoint_if_due(lsn);
    }

    /// True when the log is durable up to `lsn`.
    pub fn is_durable(&self, lsn: Lsn) -> bool {
        self.log.durable() >= lsn
    }

    /// Waits until the log is durable up to `lsn`.
    ///
    /// # Errors
    /// 58030 and 53100: the commit is visible but may not survive.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.log.wait_durable(lsn)
    }

    /// Makes the log write soon, without waiting for it.
    pub fn wait_not(&self, lsn: Lsn) {
        self.checkpoint_if_due(lsn);
        self.log.flush_later();
    }

    fn checkpoint_if_due(&self, lsn: Lsn) {
        let since = lsn.0.saturating_sub(self.checkpoint_lsn.load(Ordering::Relaxed));
        if since >= self.stores.checkpoint_wal_bytes.load(Ordering::Relaxed) {
            self.checkpointer.ask();
        }
    }

    /// Ends work with the files: writes what waits and, if that is cheap, a checkpoint. Once.
    ///
    /// # Errors
    /// Errors of the log and of a checkpoint.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.checkpointer.stop();
        self.log.wait_durable(self.log.position().lsn)?;
        if self.commits_since.load(Ordering::Relaxed) > 0 && self.is_checkpoint_cheap() {
            return self.write_checkpoint();
        }
        Ok(())
    }
}
