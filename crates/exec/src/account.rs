//! Memory of a session's statements beyond what operators reserve: long values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use storage::{BufferPool, MemoryCategory, Reservation};
use types::budget::Account;
use types::{Error, Result, SqlState};

/// Bytes that an account has of the pool ahead of its need, at most, so that short strings do not
/// ask the pool one by one.
const AHEAD_BYTES: u64 = 64 << 10;

/// Memory of values, as the pool counts it.
struct Values {
    /// Bytes of values that live.
    used: u64,
    /// These, and what is had ahead; nothing when there are none.
    memory: Reservation,
}

impl Values {
    fn take(&mut self, bytes: u64) -> Result<()> {
        let used = self.used.saturating_add(bytes);
        if used > self.memory.bytes() && self.memory.resize(used + AHEAD_BYTES).is_err() {
            self.memory.resize(used)?;
        }
        self.used = used;
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        if self.used == 0 || self.memory.bytes() > self.used + 2 * AHEAD_BYTES {
            let left = if self.used == 0 { 0 } else { self.used + AHEAD_BYTES };
            self.memory.resize(left).expect("less memory is always there");
        }
    }
}

/// The account of a session, on which its threads and the workers work for it. Values that a
/// statement leaves, as those of a cursor's rows, are counted as long as they live.
pub struct StatementAccount {
    values: Mutex<Values>,
    cancel: Arc<AtomicBool>,
    has_failed: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl StatementAccount {
    /// An account whose memory comes from `pool`; `cancel` ends its work.
    pub fn new(pool: &Arc<BufferPool>, cancel: Arc<AtomicBool>) -> Self {
        let memory = Reservation::empty(pool, MemoryCategory::Temporary);
        let values = Mutex::new(Values { used: 0, memory });
        Self { values, cancel, has_failed: AtomicBool::new(false), failure: Mutex::new(None) }
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
        self.values.lock().take(bytes)
    }

    fn give_back(&self, bytes: u64) {
        self.values.lock().give_back(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use types::budget::{self, Charge};

    use super::*;

    #[test]
    fn values_are_counted_until_they_go_and_the_last_takes_all_with_it() {
        let pool = BufferPool::new(1 << 20);
        let account = Arc::new(StatementAccount::new(&pool, Arc::default()));
        let entry = budget::enter(Arc::clone(&account) as Arc<dyn Account>);
        let charge = |bytes| {
            let mut charge = Charge::default();
            charge.grow(bytes).map(|()| charge)
        };
        let short: Vec<Charge> = (0..100).map(|_| charge(100).expect("room")).collect();
        assert!((10_000..10_000 + 2 * AHEAD_BYTES).contains(&pool.total()));
        // What is had ahead is given up before anything fails.
        let rest = charge((1 << 20) - 10_000).expect("room");
        assert_eq!(pool.total(), 1 << 20);
        assert_eq!(charge(1).expect_err("full").state(), SqlState::OUT_OF_MEMORY);
        account.begin();
        drop((rest, entry));
        assert!(pool.total() >= 10_000, "a statement that ended may have left values");
        drop(short);
        assert_eq!(pool.total(), 0);
    }
}
