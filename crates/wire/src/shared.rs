//! State that all parts of a server share, and the way from a client that was let in to a session
//! thread.
//!
//! Made by `server`; read by `startup`, `authenticate` and `http`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::{Database, Session};
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;
use types::{Error, Result, SqlState};

use crate::activity::Activities;
use crate::connection::{Connection, Until, Watcher, Welcome};
use crate::journal::Field;
use crate::link::Link;
use crate::metrics::Metrics;
use crate::newcomer::Newcomer;
use crate::opening::{SessionLimits, session_for};
use crate::options::ServerOptions;
use crate::turns::Turns;

/// State that all parts of a server share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) options: ServerOptions,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) activities: Activities,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) handle: Handle,
    /// Clients that are not let in yet.
    pub(crate) newcomers: AtomicUsize,
    pub(crate) is_ending: AtomicBool,
    /// Secret that the verifiers of users that do not exist are made of.
    pub(crate) secret: [u8; 32],
}

impl Shared {
    /// A session for `user` of the database `name`; without a name, or with the user's own, of the
    /// first database where none is called so.
    ///
    /// # Errors
    /// 53300 when there are too many, 57P03 when the server ends, 3D000 for an unknown database.
    pub(crate) fn session(&self, user: &str, name: &str) -> Result<Session> {
        if self.is_ending.load(Ordering::Relaxed) {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, message));
        }
        if self.activities.count() >= self.options.connections_max {
            let message = "sorry, too many clients already";
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message));
        }
        let limits = SessionLimits {
            statement: self.options.statement_limit,
            idle: self.options.idle_limit,
        };
        session_for(&self.database, user, name, limits)
    }

    /// Checks that the server works.
    ///
    /// # Errors
    /// 57P03 when the server ends, 58030 when the log of the database has failed.
    pub(crate) fn health(&self) -> Result<()> {
        if self.is_ending.load(Ordering::Relaxed) {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, message));
        }
        self.database.health()
    }

    /// Gives a client that was let in to the session threads.
    pub(crate) fn seat(self: &Arc<Self>, newcomer: Newcomer, session: Session, secret: i32) {
        let Ok((transport, socket)) = newcomer.settle() else { return };
        let (id, cancel) = (session.id(), session.cancel_handle());
        let activity = self.activities.add(id, secret, cancel, Arc::clone(&socket.0));
        let link = Link::new(transport, activity);
        self.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let user = session.setting("session_authorization").unwrap_or_default();
        let pid = Field::Number(id.unsigned_abs().into());
        self.options.log.write("INFO", "connection", &[("pid", pid), ("user", Field::Text(&user))]);
        let watcher = Watcher { metrics: Arc::clone(&self.metrics), log: self.options.log, user };
        let turns = Arc::downgrade(&self.turns);
        session.on_notification(Arc::new(move || {
            turns.upgrade().into_iter().for_each(|turns| turns.wake(id));
        }));
        let (turns, muted) = (Arc::downgrade(&self.turns), socket.clone());
        let mute = move || turns.upgrade().into_iter().for_each(|turns| turns.mute(id, &muted.0));
        let connection = Connection::new(session, link, socket, watcher, Box::new(mute));
        match connection.welcome() {
            Welcome::Sent => self.turns.add(connection, Until::Readable),
            Welcome::Waits => self.turns.add(connection, Until::Turn),
        }
    }
}
