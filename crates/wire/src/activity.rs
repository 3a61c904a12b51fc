//! Activity of connections, for those who end it: cancels, time limits, the end of the server.
//!
//! ```text
//! its thread:  begin(limit) -> statement -> end()        watch: every TICK, over all connections
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::CancelHandle;
use parking_lot::Mutex;
use types::{Error, SqlState};

use crate::broken::Broken;
use crate::socket::Socket;

/// How often time limits are looked at.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Ticks between looks whether the client of a statement that runs is gone.
const GONE_TICKS: u64 = 25;

/// Milliseconds a statement runs before anybody looks whether its client is gone.
const GONE_MS: u64 = 500;

const NOTHING: u8 = 0;
const TIMED_OUT: u8 = 1;
const CLIENT_GONE: u8 = 2;

/// Activity of one connection.
pub(crate) struct Activity {
    cancel: CancelHandle,
    secret: i32,
    socket: Arc<Socket>,
    epoch: Instant,
    /// Milliseconds after `epoch`, from 1, when the statement began; 0 without one.
    since_ms: AtomicU64,
    /// How long it may run; 0 without limit.
    limit_ms: AtomicU64,
    /// Why it was cancelled, when not by the user.
    cause: AtomicU8,
    /// The connection is to end before its next message.
    pub(crate) is_ending: AtomicBool,
}

impl Activity {
    fn ms_at(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.epoch);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// A statement begins `now`, which may run for `limit_ms`; 0 is for ever.
    pub(crate) fn begin(&self, now: Instant, limit_ms: u64) {
        self.cause.store(NOTHING, Ordering::Relaxed);
        self.limit_ms.store(limit_ms, Ordering::Relaxed);
        self.since_ms.store(self.ms_at(now), Ordering::Release);
    }

    /// The statement has ended.
    pub(crate) fn end(&self) {
        self.since_ms.store(0, Ordering::Release);
    }

    /// The error of a statement, with the reason for a cancel.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if error.state() != SqlState::QUERY_CANCELED {
            return error;
        }
        let message = match self.cause.load(Ordering::Relaxed) {
            TIMED_OUT => "canceling statement due to statement timeout",
            CLIENT_GONE => "connection to client lost",
            _ if self.is_ending.load(Ordering::Relaxed) => return shutting_down(),
            _ => return error,
        };
        Error::new(SqlState::QUERY_CANCELED, message)
    }

    /// # Errors
    /// 57P01 when the server ends.
    pub(crate) fn check(&self) -> Result<(), Broken> {
        if self.is_ending.load(Ordering::Relaxed) {
            Err(Broken::Fatal(shutting_down()))
        } else {
            Ok(())
        }
    }

    fn stop(&self, cause: u8) {
        self.cause.store(cause, Ordering::Relaxed);
        self.cancel.cancel();
    }

    fn watch(&self, tick: u64) {
        let since = self.since_ms.load(Ordering::Acquire);
        if since == 0 {
            return;
        }
        let ran = self.ms_at(Instant::now()).saturating_sub(since);
        let limit = self.limit_ms.load(Ordering::Relaxed);
        if limit > 0 && ran >= limit {
            self.stop(TIMED_OUT);
        } else if ran >= GONE_MS && tick.is_multiple_of(GONE_TICKS) && self.socket.is_gone() {
            self.stop(CLIENT_GONE);
        }
    }
}

/// 57P01.
pub(crate) fn shutting_down() -> Error {
    let message = "terminating connection due to administrator command";
    Error::new(SqlState::ADMIN_SHUTDOWN, message)
}

/// Activities of all connections, by the number of their session.
pub(crate) struct Activities {
    epoch: Instant,
    all: Mutex<HashMap<i32, Arc<Activity>>>,
}

impl Default for Activities {
    fn default() -> Self {
        Self { epoch: Instant::now(), all: Mutex::default() }
    }
}

impl Activities {
    /// Adds a connection, whose statements `cancel` cancels for who knows `secret`.
    pub(crate) fn add(
        &self,
        session: i32,
        secret: i32,
        cancel: CancelHandle,
        socket: Arc<Socket>,
    ) -> Arc<Activity> {
        let activity = Arc::new(Activity {
            cancel,
            secret,
            socket,
            epoch: self.epoch,
            since_ms: AtomicU64::new(0),
            limit_ms: AtomicU64::new(0),
            cause: AtomicU8::new(NOTHING),
            is_ending: AtomicBool::new(false),
        });
        self.all.lock().insert(session, Arc::clone(&activity));
        activity
    }

    /// A connection has ended.
    pub(crate) fn remove(&self, session: i32) {
        self.all.lock().remove(&session);
    }

    /// Connections.
    pub(crate) fn count(&self) -> usize {
        self.all.lock().len()
    }

    /// Cancels what a session runs, if `secret` is its own.
    pub(crate) fn cancel(&self, session: i32, secret: i32) {
        if let Some(activity) = self.all.lock().get(&session)
            && activity.secret == secret
        {
            activity.cancel.cancel();
        }
    }

    /// Looks after time limits and clients that are gone.
    pub(crate) fn watch(&self, tick: u64) {
        self.all.lock().values().for_each(|activity| activity.watch(tick));
    }

    /// Connections are to end after what they run.
    pub(crate) fn end(&self) {
        let all = self.all.lock();
        all.values().for_each(|activity| activity.is_ending.store(true, Ordering::Relaxed));
    }

    /// Ends a connection; false when there is none of this number.
    pub(crate) fn terminate(&self, session: i32) -> bool {
        let Some(activity) = self.all.lock().get(&session).cloned() else { return false };
        activity.is_ending.store(true, Ordering::Relaxed);
        activity.cancel.cancel();
        true
    }

    /// Cancels everything.
    pub(crate) fn cancel_all(&self) {
        self.all.lock().values().for_each(|activity| activity.cancel.cancel());
    }

    /// Shuts all sockets.
    pub(crate) fn shut_all(&self) {
        self.all.lock().values().for_each(|activity| activity.socket.shut());
    }
}
