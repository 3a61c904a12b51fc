//! Memory and time that a thread's work may still use: those of the statement that it works for.
//!
//! ```text
//! session, worker -- enter(account) --> thread --- charge(bytes) --> Charge, in a value's memory
//!                                              '-- Pace::step(bytes) --> check() every MiB or so
//! ```
//! Entering an account says for whom the thread works until the entry is dropped; without one
//! nothing is counted and nothing ends. Code that makes values asks here, so that no argument has
//! to reach every loop.
//! Invariants: what a charge counted is given back when it is dropped, on whatever thread. An error
//! that a function could not return is kept by the account, whose statement then fails.

use std::cell::RefCell;
use std::sync::Arc;

use crate::{Error, Result, SqlState};

/// Account of a statement that a thread works for.
pub trait Account: Send + Sync {
    /// Fails when the work is to end.
    ///
    /// # Errors
    /// Error that [`Self::fail`] kept; 57014 after a cancel.
    fn check(&self) -> Result<()>;

    /// Keeps `error` for each [`Self::check`]; an earlier one stays.
    fn fail(&self, error: Error);

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// 53200 when there is no room for them.
    fn take(&self, bytes: u64) -> Result<()>;

    /// Counts `bytes` less.
    fn give_back(&self, bytes: u64);
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Account>>> = const { RefCell::new(None) };
}

/// The time a thread works for an account.
pub struct Entry {
    before: Option<Arc<dyn Account>>,
}

/// The thread works for `account` until the entry is dropped.
#[must_use]
pub fn enter(account: Arc<dyn Account>) -> Entry {
    Entry { before: CURRENT.replace(Some(account)) }
}

impl Drop for Entry {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// The account of this thread.
pub fn current() -> Option<Arc<dyn Account>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Fails when this thread's work is to end.
///
/// # Errors
/// Error that [`fail`] kept; 57014 after a cancel.
pub fn check() -> Result<()> {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |account| account.check()))
}

/// Keeps `error` for every [`check`] of the account from now on; an earlier one stays.
pub fn fail(error: Error) {
    CURRENT.with_borrow(|current| {
        if let Some(account) = current {
            account.fail(error);
        }
    });
}

/// Bytes counted until it is dropped.
#[derive(Default)]
pub struct Charge {
    account: Option<Arc<dyn Account>>,
    bytes: u64,
}

impl std::fmt::Debug for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Charge({} bytes)", self.bytes)
    }
}

impl Charge {
    /// Bytes counted; 0 where no account is entered.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// 53200 when there is no room; the old count stays.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        if self.account.is_none() {
            self.account = current();
        }
        if let Some(account) = &self.account {
            account.take(bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// Counts `bytes` from now on instead.
    ///
    /// # Errors
    /// As [`Self::grow`].
    pub fn resize(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        if let Some(account) = &self.account {
            account.give_back(self.bytes - bytes);
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            account.give_back(self.bytes);
        }
    }
}

/// The most bytes of one value, as PostgreSQL has it: 1 GiB less one.
pub const VALUE_BYTES_MAX: usize = (1 << 30) - 1;

/// Values shorter than this are not looked at one by one.
pub const LARGE_BYTES: usize = 1 << 20;

/// 54000: a value would be longer than values may be.
pub fn too_long() -> Error {
    Error::new(SqlState::LIMIT_EXCEEDED, "requested length too large")
}

/// `bytes` if a value may have so many.
///
/// # Errors
/// 54000.
#[inline]
pub fn value_length(bytes: Option<usize>) -> Result<usize> {
    bytes.filter(|&bytes| bytes <= VALUE_BYTES_MAX).ok_or_else(too_long)
}

/// Bytes that a value gets beyond its need where there is no room to double it.
const SPARE_BYTES: usize = 16 << 20;

/// The memory of one value that is being written, counted from [`LARGE_BYTES`] on.
#[derive(Debug, Default)]
pub struct Room(Charge);

impl Room {
    /// Makes room in `out` for `more` bytes.
    ///
    /// # Errors
    /// 54000 when the value gets too long, 53200 when there is no memory for it, 57014 after a
    /// cancel.
    #[inline]
    pub fn make(&mut self, out: &mut Vec<u8>, more: usize) -> Result<()> {
        if out.capacity() - out.len() >= more {
            return Ok(());
        }
        self.make_more(out, more)
    }

    fn make_more(&mut self, out: &mut Vec<u8>, more: usize) -> Result<()> {
        let needed = value_length(out.len().checked_add(more))?;
        let capacity = needed.max(out.capacity().saturating_mul(2)).min(VALUE_BYTES_MAX);
        if capacity < LARGE_BYTES {
            out.reserve(capacity - out.len());
            return Ok(());
        }
        check()?;
        // What doubling asks for beyond the need is given up first, then what spares copies. The
        // old memory is there until its bytes are copied.
        let before = if out.capacity() < LARGE_BYTES { 0 } else { out.capacity() };
        let wanted = [capacity, capacity.min(needed + SPARE_BYTES), needed];
        let mut outcome = Ok(());
        for capacity in wanted {
            outcome = self.0.resize((before + capacity) as u64);
            if outcome.is_ok() {
                out.reserve_exact(capacity - out.len());
                return self.0.resize(capacity as u64);
            }
        }
        outcome
    }

    /// Appends `bytes` to `out`.
    ///
    /// # Errors
    /// As [`Self::make`].
    #[inline]
    pub fn push(&mut self, out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
        self.make(out, bytes.len())?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    /// Counts a value of `bytes` that other code wrote meanwhile into `capacity`.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn note(&mut self, bytes: usize, capacity: usize) -> Result<()> {
        value_length(Some(bytes))?;
        if capacity >= LARGE_BYTES && capacity as u64 != self.0.bytes() {
            self.0.resize(capacity as u64)?;
        }
        Ok(())
    }

    /// Counts nothing any longer; the bytes counted so far.
    pub fn take(&mut self) -> Charge {
        std::mem::take(&mut self.0)
    }
}

/// Bytes of work between two looks at the account.
const STEP_BYTES: usize = 1 << 20;

/// Looks at the account each time a MiB or so was worked on.
#[derive(Debug)]
pub struct Pace {
    left: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { left: STEP_BYTES }
    }
}

impl Pace {
    /// Notes work on `bytes`.
    ///
    /// # Errors
    /// As [`check`].
    #[inline]
    pub fn step(&mut self, bytes: usize) -> Result<()> {
        if bytes < self.left {
            self.left -= bytes;
            return Ok(());
        }
        self.left = STEP_BYTES;
        check()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Purse {
        used: AtomicU64,
        cancelled: AtomicBool,
        failed: AtomicBool,
    }

    impl Account for Purse {
        fn check(&self) -> Result<()> {
            if self.failed.load(Ordering::Relaxed) {
                return Err(Error::new(SqlState::OUT_OF_MEMORY, "kept"));
            }
            if self.cancelled.load(Ordering::Relaxed) {
                Err(Error::new(SqlState::QUERY_CANCELED, "ended"))
            } else {
                Ok(())
            }
        }

        fn fail(&self, _: Error) {
            self.failed.store(true, Ordering::Relaxed);
        }

        fn take(&self, bytes: u64) -> Result<()> {
            if self.used.fetch_add(bytes, Ordering::Relaxed) + bytes > 8 << 20 {
                self.give_back(bytes);
                return Err(Error::new(SqlState::OUT_OF_MEMORY, "full"));
            }
            Ok(())
        }

        fn give_back(&self, bytes: u64) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn charges_count_until_they_are_dropped() {
        let purse = Arc::new(Purse::default());
        let mut uncounted = Charge::default();
        uncounted.grow(1 << 30).expect("nobody counts");
        let entry = enter(Arc::clone(&purse) as Arc<dyn Account>);
        let mut charge = Charge::default();
        charge.grow(5 << 20).expect("fits");
        assert_eq!(charge.grow(5 << 20).expect_err("full").state(), SqlState::OUT_OF_MEMORY);
        assert_eq!(charge.bytes(), 5 << 20);
        drop(entry);
        drop(charge);
        assert_eq!(purse.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_value_that_is_written_is_counted_and_has_a_maximum() {
        let purse = Arc::new(Purse::default());
        let _entry = enter(Arc::clone(&purse) as Arc<dyn Account>);
        let (mut room, mut out) = (Room::default(), Vec::new());
        room.push(&mut out, &[1; 100]).expect("small");
        assert_eq!(purse.used.load(Ordering::Relaxed), 0);
        room.make(&mut out, 4 << 20).expect("fits");
        assert!(purse.used.load(Ordering::Relaxed) >= 4 << 20);
        let full = room.make(&mut out, 9 << 20).expect_err("full");
        assert_eq!(full.state(), SqlState::OUT_OF_MEMORY);
        let long = room.make(&mut out, 1 << 30).expect_err("too long");
        assert_eq!(long.state(), SqlState::LIMIT_EXCEEDED);
    }

    #[test]
    fn a_kept_error_stays_and_a_pace_looks_now_and_then() {
        let purse = Arc::new(Purse::default());
        let _entry = enter(Arc::clone(&purse) as Arc<dyn Account>);
        let mut pace = Pace::default();
        purse.cancelled.store(true, Ordering::Relaxed);
        assert!(pace.step(100).is_ok());
        assert_eq!(pace.step(1 << 20).expect_err("ended").state(), SqlState::QUERY_CANCELED);
        fail(Error::new(SqlState::OUT_OF_MEMORY, "kept"));
        for _ in 0..2 {
            assert_eq!(check().expect_err("kept").state(), SqlState::OUT_OF_MEMORY);
        }
    }
}
