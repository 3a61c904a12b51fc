//! Memory of a session's statements beyond what operators reserve: long values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use storage::{BufferPool, MemoryCategory, Reservation};
use types::budget::Account;
use types::{Error, Result, SqlState};

/// The account of a session, on which its threads and the workers work for it.
pub struct StatementAccount {
    memory: Mutex<Reservation>,
    cancel: Arc<AtomicBool>,
    has_failed: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl StatementAccount {
    /// An account whose memory comes from `pool`; `cancel` ends its work.
    pub fn new(pool: &Arc<BufferPool>, cancel: Arc<AtomicBool>) -> Self {
        let memory = Mutex::new(Reservation::empty(pool, MemoryCategory::Temporary));
        Self { memory, cancel, has_failed: AtomicBool::new(false), failure: Mutex::new(None) }
    }

    /// Fails when a value of the statement had no room, whether it was cancelled or not.
    ///
    /// # Errors
    /// The first that was kept.
    pub fn settle(&self) -> Result<()> {
        if !self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.failure.lock().clone().map_or(Ok(()), Err)
    }

    /// Gives all memory back: a statement that ended leaves no values of its own.
    pub fn clear(&self) {
        self.memory.lock().resize(0).expect("less memory is always there");
    }

    /// Forgets the error of the statement before.
    pub fn begin(&self) {
        if self.has_failed.swap(false, Ordering::Relaxed) {
            *self.failure.lock() = None;
        }
    }
}

/// 57014, for work that was cancelled.
pub(crate) fn cancelled() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}

impl Account for StatementAccount {
    fn check(&self) -> Result<()> {
        if self.has_failed.load(Ordering::Relaxed)
            && let Some(error) = &*self.failure.lock()
        {
            return Err(error.clone());
        }
        if self.cancel.load(Ordering::Relaxed) { Err(cancelled()) } else { Ok(()) }
    }

    fn fail(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) -> Result<()> {
        self.memory.lock().grow(bytes)
    }

    fn give_back(&self, bytes: u64) {
        let mut memory = self.memory.lock();
        let left = memory.bytes().saturating_sub(bytes);
        memory.resize(left).expect("less memory is always there");
    }
}
