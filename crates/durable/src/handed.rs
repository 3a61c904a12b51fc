//! Parts that a caller hands over: files and clock, memory and threads, catalog and transactions.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use catalog::{Relations, State};
use host::{Clock, Io, RealClock, RealIo};
use parking_lot::Mutex;
use storage::{BufferPool, Timestamp};
use txn::manager::TransactionManager;
use wal::{Background, LogOptions};

use crate::marks::Named;

/// Bytes of log after which a checkpoint is written: recovery reads no more than about twice that.
pub const CHECKPOINT_WAL_BYTES: u64 = 256 << 20;

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
    /// Bytes of the log that recovery hands to its threads at once, at least.
    pub portion_bytes: usize,
}

/// Bytes of the log at once: enough for a thread to be busy while the next ones are read.
const PORTION_BYTES: usize = 1 << 20;

impl Default for Files {
    fn default() -> Self {
        let segment_bytes = LogOptions::default().segment_bytes;
        Self {
            io: Arc::new(RealIo),
            clock: Arc::new(RealClock),
            background: Background::Thread,
            segment_bytes,
            portion_bytes: PORTION_BYTES,
        }
    }
}

impl Files {
    pub(crate) fn log_options(&self) -> LogOptions {
        let (segment_bytes, background) = (self.segment_bytes, self.background);
        LogOptions { segment_bytes, background, ..LogOptions::default() }
    }
}

/// Means by which a database is opened.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    /// Its files.
    pub files: &'a Files,
    /// Memory for its blocks.
    pub pool: &'a Arc<BufferPool>,
    /// Threads that read blocks, replay the log and build indexes; at least one is used.
    pub threads: usize,
}

/// Parts of a database besides its files, which log and checkpoints read.
pub struct Stores {
    /// The catalog and, with it, the tables.
    pub relations: Relations,
    /// Its transactions.
    pub transactions: Arc<TransactionManager>,
    /// Transactions that files name; changes under the commit latch.
    pub named: Mutex<Named>,
    /// Bytes of log after which a checkpoint is written.
    pub checkpoint_wal_bytes: AtomicU64,
}

impl Stores {
    /// The stores of a database whose newest commit, at `last`, left it in `state`, and whose files
    /// name the transactions `named`.
    pub fn new(state: State, named: Named, last: Timestamp) -> Arc<Self> {
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
