//! Makes commits survive: their redo in the log, checkpoints, recovery.
//!
//! ```text
//! commit: encode (redo; files of loaded blocks) -> latch: append -> wait (group commit) -> done
//! checkpoint: latch: snapshot, place in the log -> changed blocks, catalog -> manifest -> clean up
//! open: manifest -> catalog, blocks -> log by TID -> indexes
//! ```
//! Invariants: nothing is written to a file under the commit latch; a file that the log or a
//! manifest names was synced before; temporary tables, views and sequences are in no file.
//! Elsewhere: files and their damage (`wal`, `txn::checkpoint`), definitions as bytes
//! (`catalog::codec`).

mod objects;
mod marks;
mod files;
mod homes;
mod redo;
mod replay;
mod encode;
mod recover;
mod open;
mod checkpoint;
mod background;
mod verify;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use catalog::{Relations, State};
use host::{Clock, Io, RealClock, RealIo};
use parking_lot::Mutex;
use storage::Timestamp;
use txn::checkpoint::Directory;
use types::{Error, Result, SqlState};
use wal::{Log, LogOptions};

use background::Checkpointer;
use files::BlockFiles;
use homes::Homes;
use txn::manager::TransactionManager;

pub use recover::RecoveryReport;
pub use verify::CheckReport;
pub use wal::Background;

pub(crate) use encode::Effects;
pub(crate) use marks::{COMMITTED_MAX, Marks, Named};
pub(crate) use open::{Opened, check, open};
pub(crate) use redo::Redo;
pub(crate) use verify::{tables as check_tables, tables_beside_others as check_beside_others};
pub(crate) use wal::Lsn;

/// Bytes of log after which a checkpoint is written: recovery reads no more than about twice that.
pub(crate) const CHECKPOINT_WAL_BYTES: u64 = 256 << 20;

/// Bit of the numbers of temporary tables, whose rows are in no file.
const TEMPORARY_TABLE: u64 = 1 << 62;

/// Files and clock of a database: the machine's, or those of a simulation.
#[derive(Clone, Debug)]
pub struct Files {
    /// The file system.
    pub io: Arc<dyn Io>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Threads of the engine that write the log and checkpoints; without them only sessions do.
    pub background: Background,
    /// Bytes of a file of the log.
    pub segment_bytes: u64,
}

impl Default for Files {
    fn default() -> Self {
        let segment_bytes = LogOptions::default().segment_bytes;
        Self {
            io: Arc::new(RealIo),
            clock: Arc::new(RealClock),
            background: Background::Thread,
            segment_bytes,
        }
    }
}

impl Files {
    fn log_options(&self) -> LogOptions {
        let (segment_bytes, background) = (self.segment_bytes, self.background);
        LogOptions { segment_bytes, background, ..LogOptions::default() }
    }
}

/// The number of a temporary table.
pub(crate) fn temporary_table(id: u64) -> u64 {
    id | TEMPORARY_TABLE
}

/// True for the number of a temporary table.
pub(crate) fn is_temporary(table: u64) -> bool {
    table & TEMPORARY_TABLE != 0
}

/// Parts of a database besides its files, which log and checkpoints read.
pub(crate) struct Stores {
    /// The catalog and, with it, the tables.
    pub(crate) relations: Relations,
    pub(crate) transactions: Arc<TransactionManager>,
    /// Transactions that files name; changes under the commit latch.
    pub(crate) named: Mutex<Named>,
    /// Bytes of log after which a checkpoint is written.
    pub(crate) checkpoint_wal_bytes: AtomicU64,
}

impl Stores {
    /// The stores of a database whose newest commit, at `last`, left it in `state`, and whose files
    /// name the transactions `named`.
    pub(crate) fn new(state: State, named: Named, last: Timestamp) -> Arc<Self> {
        let relations = Relations::default();
        relations.publish(Arc::new(state));
        Arc::new(Self {
            relations,
            transactions: TransactionManager::new(last),
            named: Mutex::new(named),
            checkpoint_wal_bytes: AtomicU64::new(CHECKPOINT_WAL_BYTES),
        })
    }
}

/// The open files of one database. Dropped in the order of the fields: the lock goes last.
pub(crate) struct Durable {
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
    pub(crate) recovery: RecoveryReport,
    directory: Directory,
}

impl Durable {
    /// Disk space of the log, bytes written to it so far, checkpoints written.
    pub(crate) fn condition(&self) -> (u64, u64, u64) {
        let written = self.log.position().lsn.0;
        (self.log.disk_bytes(), written, self.checkpoints.load(Ordering::Relaxed))
    }

    /// # Errors
    /// 58030 once the log has failed.
    pub(crate) fn health(&self) -> Result<()> {
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
    pub(crate) fn append(
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
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<()> {
        self.checkpoint_if_due(lsn);
        self.log.wait_durable(lsn)
    }

    /// A commit at `lsn` is waited for later.
    pub(crate) fn note(&self, lsn: Lsn) {
        self.checkpoint_if_due(lsn);
    }

    /// True when the log is durable up to `lsn`.
    pub(crate) fn is_durable(&self, lsn: Lsn) -> bool {
        self.log.durable() >= lsn
    }

    /// Waits until it is.
    pub(crate) fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.log.wait_durable(lsn)
    }

    /// Makes the log write soon, without waiting for it.
    pub(crate) fn wait_not(&self, lsn: Lsn) {
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
    pub(crate) fn close(&self) -> Result<()> {
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

/// XX001 for what the files say and cannot be.
fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("the database is damaged: {what}"))
}
