//! Facts about a session that others see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::Mutex;
use sched::Suspension;

use crate::{CancelHandle, ProgressHandle};

/// State of a session, for `tessera_sessions()` and `tessera_queries`.
#[derive(Debug, Default)]
pub(crate) struct SessionInfo {
    /// Its number.
    pub(crate) id: u64,
    /// When it began: microseconds since 1970.
    pub(crate) began_micros: i64,
    /// A statement runs.
    pub(crate) active: AtomicBool,
    /// Its statement waits for messages of the bus.
    pub(crate) listening: AtomicBool,
    /// Its transaction; 0 without one.
    pub(crate) txn: AtomicU64,
    /// Suspends its statement.
    pub(crate) suspension: Suspension,
    /// Cancels its statements.
    pub(crate) cancel: CancelHandle,
    /// How far its statement is.
    pub(crate) progress: ProgressHandle,
    /// State that pg_stat_activity shows.
    pub(crate) seen: Mutex<Seen>,
}

/// State of a session that others see: pg_stat_activity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// User who began the session; None when the library did.
    pub(crate) user: Option<String>,
    /// Its application_name.
    pub(crate) application: String,
    /// The statement that runs, or ran last, and when it began: microseconds since 1970.
    pub(crate) query: Option<(Arc<str>, i64)>,
}
