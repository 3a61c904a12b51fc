//! Handles of what a session runs: to cancel it, and to see how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use exec::context::Progress;
use parking_lot::Mutex;
use plan::physical::PhysicalPlan;
use sched::Ticket;
use types::{Error, Result, SqlState};

/// Cancels what a session runs, from another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle(pub(crate) Arc<AtomicBool>);

impl From<Arc<AtomicBool>> for CancelHandle {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

impl CancelHandle {
    /// Cancels the running statement; without one nothing happens.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after a cancel, until the next statement begins.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails when the statement was cancelled.
    ///
    /// # Errors
    /// 57014 after a cancel.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            let message = "canceling statement due to user request";
            return Err(Error::new(SqlState::QUERY_CANCELED, message));
        }
        Ok(())
    }

    pub(crate) fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Shows how far the running statement is: work orders done and known.
#[derive(Clone, Debug, Default)]
pub struct ProgressHandle(pub(crate) Arc<Mutex<Option<RunningQuery>>>);

/// A query that runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningQuery {
    /// None for rows that come without a plan: those of COPY.
    pub(crate) plan: Option<Arc<PhysicalPlan>>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) ticket: Arc<Ticket>,
}

impl ProgressHandle {
    /// The query that runs, if one does.
    pub(crate) fn running(&self) -> Option<RunningQuery> {
        self.0.lock().clone()
    }

    /// Work orders done and known of the query that runs, if one does.
    pub fn get(&self) -> Option<(u64, u64)> {
        let progress = self.running()?.progress;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Some((read(&progress.done), read(&progress.total)))
    }
}
