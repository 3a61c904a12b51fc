//! Functions of the session, as queries call them: settings, notifications, advisory locks, other
//! sessions.
//!
//! A query runs anywhere, so what it asks of its session is noted and done when it has ended; the
//! session's settings are there as they were when it began.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use catalog::State;
use host::Clock;
use parking_lot::Mutex;
use sql::algebra::AdvisorySpan;
use sql::statement::{RelationName, SetScope};

use crate::instance::channels::Pending;
use crate::instance::database::WeakDatabase;
use crate::instance::info::SessionInfo;
use crate::words::settings::Settings;
use crate::{CancelHandle, Database, Session};

/// Changes of their session that queries asked for.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) settings: Vec<(String, String, SetScope)>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) warnings: Vec<String>,
}

/// Session state that functions use, shared with the queries that call them.
pub(crate) struct SessionCalls {
    pub(crate) info: Arc<SessionInfo>,
    pub(crate) database: WeakDatabase,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cancel: CancelHandle,
    pub(crate) asked: Mutex<Asked>,
    pub(crate) is_asked: AtomicBool,
    /// The session's, as they were when the last query began.
    pub(crate) settings: Mutex<Settings>,
    /// When its statement began, microseconds since 1970.
    pub(crate) began: AtomicI64,
    /// Triggers that are running, each in the one before.
    pub(crate) triggers: AtomicI32,
    /// True when the session may hold advisory locks until its transaction ends.
    pub(crate) locks_transaction: AtomicBool,
    /// True when the session may hold advisory locks until it ends.
    pub(crate) locks_session: AtomicBool,
}

impl SessionCalls {
    pub(crate) fn new(info: Arc<SessionInfo>, database: &Database) -> Self {
        Self {
            cancel: info.cancel.clone(),
            info,
            database: database.downgrade(),
            clock: Arc::clone(&database.inner().clock),
            asked: Mutex::default(),
            is_asked: AtomicBool::new(false),
            settings: Mutex::default(),
            began: AtomicI64::new(0),
            triggers: AtomicI32::new(0),
            locks_transaction: AtomicBool::new(false),
            locks_session: AtomicBool::new(false),
        }
    }

    /// A statement begins.
    pub(crate) fn begin_statement(&self) {
        self.began.store(self.clock.micros(), Ordering::Relaxed);
    }

    /// When the statement began, microseconds since 1970.
    pub(crate) fn statement_micros(&self) -> i64 {
        self.began.load(Ordering::Relaxed)
    }

    /// True when the session may hold advisory locks.
    pub(crate) fn has_locked(&self) -> bool {
        let locks = [&self.locks_transaction, &self.locks_session];
        locks.iter().any(|locks| locks.load(Ordering::Acquire))
    }

    /// A query begins with these settings.
    pub(crate) fn begin(&self, settings: &Settings) {
        let mut known = self.settings.lock();
        if known.version() != settings.version() {
            known.clone_from(settings);
        }
    }

    /// The settings that the query which runs sees.
    pub(crate) fn seen(&self) -> Settings {
        self.settings.lock().clone()
    }

    /// The relation that the search path finds by this name.
    pub(crate) fn found(&self, state: &State, name: &str) -> Option<RelationName> {
        let settings = self.settings.lock();
        let mut all =
            settings.implied_temporary().into_iter().chain(settings.schemas()).map(|schema| {
                RelationName { schema: Some(schema.to_owned()), name: name.to_owned() }
            });
        all.find(|name| state.has_relation(&name.key()))
    }

    /// True when the search path comes to `schema` before it finds a relation of this name.
    pub(crate) fn finds_in(&self, schema: &str, state: &State, name: &str) -> bool {
        let settings = self.settings.lock();
        let is_here = |in_path: &str| {
            let name = RelationName { schema: Some(in_path.to_owned()), name: name.to_owned() };
            state.has_relation(&name.key())
        };
        let mut path = settings.implied_temporary().into_iter().chain(settings.schemas());
        path.find(|in_path| *in_path == schema || is_here(in_path)) == Some(schema)
    }

    pub(crate) fn ask(&self, ask: impl FnOnce(&mut Asked)) {
        ask(&mut self.asked.lock());
        self.is_asked.store(true, Ordering::Release);
    }

    /// Takes what was asked for, if anything was.
    pub(crate) fn take(&self) -> Option<Asked> {
        if !self.is_asked.load(Ordering::Acquire) {
            return None;
        }
        self.is_asked.store(false, Ordering::Release);
        Some(std::mem::take(&mut *self.asked.lock()))
    }
}

impl Session {
    /// Forgets what queries asked for that failed.
    pub(crate) fn forget_asked(&self) {
        drop(self.calls.take());
    }

    /// Gives up advisory locks of the transaction, which has ended.
    pub(crate) fn end_transaction_locks(&self) {
        if self.calls.locks_transaction.load(Ordering::Acquire) {
            self.calls.locks_transaction.store(false, Ordering::Release);
            self.inner().advisory.release(self.info().id, AdvisorySpan::Transaction);
        }
    }

    /// Gives up all advisory locks, at its end.
    pub(crate) fn end_locks(&self) {
        self.end_transaction_locks();
        if self.calls.locks_session.swap(false, Ordering::AcqRel) {
            self.inner().advisory.release(self.info().id, AdvisorySpan::Session);
        }
    }
}
