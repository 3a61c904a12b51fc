//! A database in the log's place: the native bus as a cache in front of it.
//!
//! ```text
//! append -> tail (calls, in the order of commits) --leader takes all--> Store::apply -> durable
//! ```
//! Invariants: one leader at a time, and batches are applied in order, so the store is always what
//! it would be had calls come one by one; after a failed batch nothing is acknowledged any more.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};
use types::codec::Input;
use types::waiting::waiting;
use types::{Error, Result, SqlState};
use wal::Lsn;

use super::queue::Queue;
use super::state::State;
use crate::record::Record;
use crate::semantics::BusError;
use crate::store::Store;

/// Changes that no leader has taken yet.
#[derive(Debug, Default)]
struct Tail {
    calls: Vec<Vec<Record>>,
    /// How many there ever were.
    end: u64,
}

#[derive(Debug, Default)]
struct Flush {
    /// A thread writes right now.
    is_led: bool,
    failure: Option<Error>,
}

/// The changes of a bus on their way into a store.
#[derive(Debug)]
pub(super) struct Stored {
    store: Box<dyn Store>,
    tail: Mutex<Tail>,
    durable: AtomicU64,
    flush: Mutex<Flush>,
    flushed: Condvar,
}

impl Stored {
    /// Reads what the store has.
    ///
    /// # Errors
    /// The errors of the store.
    pub(super) fn open<Q: Queue>(store: Box<dyn Store>) -> Result<(Self, State<Q>), BusError> {
        let mut state = State::new();
        store.load(&mut |record| state.apply_snapshot(record))?;
        state.end_snapshot();
        let stored = Self {
            store,
            tail: Mutex::default(),
            durable: AtomicU64::new(0),
            flush: Mutex::default(),
            flushed: Condvar::new(),
        };
        Ok((stored, state))
    }

    /// Reads the changes of a call, which the store is asked about.
    ///
    /// # Errors
    /// Why the store cannot hold it; nothing has happened then.
    pub(super) fn prepare(&self, payload: &[u8]) -> Result<Vec<Record>> {
        let mut input = Input::new(payload);
        let mut call = Vec::new();
        while !input.is_empty() {
            let record = Record::read(&mut input);
            call.push(record.map_err(|bytes| bytes.in_bytes_of("a change of the bus"))?);
        }
        self.store.check(&call)?;
        Ok(call)
    }

    /// Appends a call, in memory; the caller holds what it is about.
    ///
    /// # Errors
    /// Why the store failed before.
    pub(super) fn append(&self, call: Vec<Record>) -> Result<Lsn> {
        self.health()?;
        let mut tail = self.tail.lock();
        tail.calls.push(call);
        tail.end += 1;
        Ok(Lsn(tail.end))
    }

    /// # Errors
    /// Why the store failed.
    pub(super) fn health(&self) -> Result<()> {
        self.flush.lock().failure.clone().map_or(Ok(()), Err)
    }

    /// Waits until the store has what is in front of `lsn`. One of the waiting threads writes for
    /// all.
    ///
    /// # Errors
    /// Why the store failed.
    pub(super) fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        if self.durable.load(Ordering::Acquire) >= lsn.0 {
            return Ok(());
        }
        waiting(|| self.wait_flushed(lsn))
    }

    fn wait_flushed(&self, lsn: Lsn) -> Result<()> {
        let mut flush = self.flush.lock();
        while self.durable.load(Ordering::Acquire) < lsn.0 {
            if let Some(failure) = &flush.failure {
                return Err(failure.clone());
            }
            if flush.is_led {
                self.flushed.wait(&mut flush);
                continue;
            }
            flush.is_led = true;
            drop(flush);
            let leader = Leader(self);
            let outcome = self.lead();
            drop(leader);
            flush = self.flush.lock();
            flush.is_led = false;
            flush.failure = outcome.err();
            self.flushed.notify_all();
        }
        Ok(())
    }

    fn lead(&self) -> Result<()> {
        let tail = {
            let mut tail = self.tail.lock();
            Tail { calls: std::mem::take(&mut tail.calls), end: tail.end }
        };
        self.store.apply(tail.calls).map_err(|error| match error {
            BusError::Storage(error) => error,
            // What is in memory may be ahead of the store: only to open it anew says which it is.
            BusError::Network(reason) => Error::new(SqlState::CONNECTION_FAILURE, reason),
            other => Error::internal(other.to_string()),
        })?;
        self.durable.store(tail.end, Ordering::Release);
        Ok(())
    }
}

/// A leader at work. Should it panic, the store has failed, and nobody waits for it for ever.
struct Leader<'a>(&'a Stored);

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut flush = self.0.flush.lock();
            flush.is_led = false;
            flush.failure = Some(Error::internal("a leader panicked in the store of the bus"));
            self.0.flushed.notify_all();
        }
    }
}
