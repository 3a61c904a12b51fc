//! LISTEN and NOTIFY: messages from transactions that commit to sessions that listen.
//!
//! ```text
//! NOTIFY -> the transaction -> COMMIT -> inboxes of all who listen -> their clients
//! ```
//! LISTEN and UNLISTEN count from the commit of their transaction, as in PostgreSQL.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use types::{Error, Result, SqlState};

/// Bytes of a payload, as in PostgreSQL.
const PAYLOAD_BYTES_MAX: usize = 8000;

/// Bytes of the name of a channel.
const CHANNEL_BYTES_MAX: usize = 64;

/// Messages that wait for a session which does not take them: older ones then go.
const WAITING_MAX: usize = 100_000;

/// Notification that a session receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The session that said it: its pg_backend_pid().
    pub session: i32,
    /// The channel.
    pub channel: String,
    /// Text that NOTIFY sent.
    pub payload: String,
}

/// Called when something came, from the thread of another session.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Notifications that came for a session.
#[derive(Default)]
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<Notification>>,
    wake: Mutex<Option<Wake>>,
}

impl Inbox {
    /// Takes what came.
    pub(crate) fn take(&self) -> Vec<Notification> {
        std::mem::take(&mut *self.waiting.lock()).into()
    }

    /// True when nothing came.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    pub(crate) fn set_wake(&self, wake: Wake) {
        *self.wake.lock() = Some(wake);
    }

    fn put(&self, notification: Notification) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(notification);
        drop(waiting);
        let wake = self.wake.lock().clone();
        wake.into_iter().for_each(|wake| wake());
    }
}

/// Change of channels that a transaction makes when it commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    Listen(String),
    /// None for all.
    Unlisten(Option<String>),
    Notify(String, String),
}

impl Pending {
    /// A notification.
    ///
    /// # Errors
    /// 22023 for names and payloads that are too long or empty.
    pub(crate) fn notify(channel: &str, payload: &str) -> Result<Self> {
        let invalid = |message: &str| Err(Error::new(SqlState::INVALID_PARAMETER, message));
        if channel.is_empty() {
            return invalid("channel name cannot be empty");
        }
        if channel.len() >= CHANNEL_BYTES_MAX {
            return invalid("channel name too long");
        }
        if payload.len() >= PAYLOAD_BYTES_MAX {
            return invalid("payload string too long");
        }
        Ok(Self::Notify(channel.to_owned(), payload.to_owned()))
    }
}

/// Listening sessions, by channel.
#[derive(Default)]
pub(crate) struct Channels(Mutex<HashMap<String, Vec<Weak<Inbox>>>>);

impl Channels {
    /// True when the session of `inbox` listens to a channel.
    pub(crate) fn listens(&self, inbox: &Arc<Inbox>) -> bool {
        let is_own = |known: &Weak<Inbox>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(inbox));
        self.0.lock().values().flatten().any(is_own)
    }

    /// Does what a transaction of `session` asked for, in order; the same notification
    /// twice is one.
    pub(crate) fn commit(&self, session: i32, inbox: &Arc<Inbox>, pending: &[Pending]) {
        let mut all = self.0.lock();
        let is_own = |known: &Weak<Inbox>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(inbox));
        for (at, one) in pending.iter().enumerate() {
            match one {
                Pending::Listen(channel) => {
                    let listeners = all.entry(channel.clone()).or_default();
                    if !listeners.iter().any(is_own) {
                        listeners.push(Arc::downgrade(inbox));
                    }
                }
                Pending::Unlisten(channel) => {
                    for (name, listeners) in all.iter_mut() {
                        if channel.as_ref().is_none_or(|channel| channel == name) {
                            listeners.retain(|known| !is_own(known));
                        }
                    }
                }
                Pending::Notify(channel, payload) => {
                    if pending[..at].contains(one) {
                        continue;
                    }
                    let Some(listeners) = all.get_mut(channel) else { continue };
                    listeners.retain(|known| known.strong_count() > 0);
                    for inbox in listeners.iter().filter_map(Weak::upgrade) {
                        let (channel, payload) = (channel.clone(), payload.clone());
                        inbox.put(Notification { session, channel, payload });
                    }
                }
            }
        }
        all.retain(|_, listeners| !listeners.is_empty());
    }
}
