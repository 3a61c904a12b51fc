//! One connection: its session, and the messages that the client sends it.
//!
//! ```text
//! Query                          -> rows, CommandComplete ..., ReadyForQuery
//! Parse, Bind, Describe, Execute -> `extended`; after an error everything up to Sync is skipped
//! ```
//! Invariants: a connection is served by one thread at a time; a panic ends the connection, its
//! transaction is rolled back.

mod extended;
mod function_call;
mod named;
mod settings;
mod simple;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use engine::{Commits, KeptStatement, QueryResult, Session};
use parking_lot::Mutex;
use types::charset::Charset;
use types::{DataType, Error, Result, SqlState};

use crate::activity::Activity;
use crate::broken::Broken;
use crate::copy::{CopyLink, Mute};
use crate::encode::{self, Format, Outgoing, Place};
use crate::journal::LogOptions;
use crate::link::{Link, News, Received};
use crate::message::{self, Severity, violation};
use crate::metrics::Metrics;
use crate::recode;
use crate::socket::SharedSocket;

use self::extended::Portal;
use self::function_call::Functions;
use self::named::Named;
use self::settings::Cached;

/// State after an error: all messages are skipped until the next Sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipping {
    No,
    UntilSync,
}

/// Messages after which others have their turn.
const MESSAGES_MAX: usize = 1000;

/// A client that was let in.
pub(crate) struct Connection {
    link: Arc<Mutex<Link>>,
    activity: Arc<Activity>,
    pub(crate) socket: SharedSocket,
    session: Session,
    /// The statement of Parse without a name; the session keeps the others.
    unnamed: Option<Arc<KeptStatement>>,
    portals: Named<Portal>,
    /// Functions that the client called by their numbers.
    functions: Functions,
    skipping: Skipping,
    /// The body of the message that is served.
    body: Vec<u8>,
    settings: Cached,
    /// News of the socket that were not read yet.
    pub(crate) news: Option<News>,
    /// Why it ends before the next message.
    dismissed: Option<Error>,
    watcher: Watcher,
}

/// Counts and logs the activity of a connection.
pub(crate) struct Watcher {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: LogOptions,
    /// User who began the session.
    pub(crate) user: String,
}

/// State of the message that lets a client begin.
pub(crate) enum Welcome {
    Sent,
    /// A thread has to send it.
    Waits,
}

/// Event that a parked connection waits for.
pub(crate) enum Until {
    /// A message of the client.
    Readable,
    /// Its turn: there is something to do.
    Turn,
    /// Its commits: some thread writes those of all connections to disk.
    Written(Arc<Commits>),
}

/// Next step of a connection.
pub(crate) enum Next {
    /// The connection waits for its client, or lets others go first.
    Parked(Box<Connection>, Until),
    /// The connection is over.
    End,
}

impl Outgoing for Link {
    type Error = Broken;

    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    fn end_row(&mut self, start: usize, columns: &[(DataType, Format)]) -> Result<(), Broken> {
        if !self.charset.is_plain()
            && let Err(error) = recode::row(&mut self.outgoing, start, columns, self.charset)
        {
            self.outgoing.truncate(start - 1);
            return Err(Broken::Statement(error));
        }
        self.flush_full()
    }
}

impl Connection {
    /// The connection of `session` through `link`, whose socket `mute` silences.
    pub(crate) fn new(
        mut session: Session,
        mut link: Link,
        socket: SharedSocket,
        watcher: Watcher,
        mute: Mute,
    ) -> Box<Self> {
        let activity = Arc::clone(&link.activity);
        let settings = Cached::new(&session);
        link.answer_after(session.defer_commits());
        link.charset = session.charset();
        let link = Arc::new(Mutex::new(link));
        session.set_client(Box::new(CopyLink::new(Arc::clone(&link), mute)));
        session.show_application();
        Box::new(Self {
            link,
            activity,
            socket,
            session,
            unnamed: None,
            portals: Named::default(),
            functions: Functions::default(),
            skipping: Skipping::No,
            body: Vec::new(),
            settings,
            news: None,
            dismissed: None,
            watcher,
        })
    }

    /// The number of its session.
    pub(crate) fn id(&self) -> i32 {
        self.session.id()
    }

    /// Tells the client that it may begin: at once where the socket has room for it and nothing
    /// was read already.
    pub(crate) fn welcome(&self) -> Welcome {
        let mut link = self.link.lock();
        self.settings.report_all(&mut link);
        message::ready(&mut link.outgoing, b'I');
        if !link.is_encrypted() && link.flush().is_ok() { Welcome::Sent } else { Welcome::Waits }
    }

    /// How long it may stay idle from now on.
    pub(crate) fn idle_limit(&self) -> Option<Duration> {
        if self.session.in_transaction() {
            self.settings.idle_in_transaction
        } else {
            self.settings.idle
        }
    }

    /// Gives buffers back, while it is idle.
    pub(crate) fn shrink(&mut self) {
        self.link.lock().shrink();
        self.body = Vec::new();
    }

    /// Ends it for being idle too long.
    pub(crate) fn dismiss(&mut self) {
        self.dismissed = Some(if self.session.in_transaction() {
            let message = "terminating connection due to idle-in-transaction timeout";
            Error::new(SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, message)
        } else {
            let message = "terminating connection due to idle-session timeout";
            Error::new(SqlState::IDLE_SESSION_TIMEOUT, message)
        });
    }

    /// Serves the messages that are there.
    pub(crate) fn serve(mut self: Box<Self>) -> Next {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.serve_all()));
        let broken = match outcome {
            Ok(Ok(Ending::Pause(until))) => return Next::Parked(self, until),
            Ok(Ok(Ending::Terminated)) => return Next::End,
            Ok(Err(broken)) => broken,
            Err(_) => Broken::Fatal(Error::internal("the session met a mistake of the program")),
        };
        if let Broken::Fatal(error) | Broken::Statement(error) = broken {
            self.link.lock().farewell(&error);
        }
        Next::End
    }

    fn serve_all(&mut self) -> Result<Ending, Broken> {
        if let Some(reason) = self.dismissed.take() {
            return Err(Broken::Fatal(reason));
        }
        self.send_notifications();
        if let Some(news) = self.news.take() {
            self.link.lock().hear(news);
        }
        for _ in 0..MESSAGES_MAX {
            let mut link = self.link.lock();
            let kind = match link.take(&mut self.body)? {
                Some(kind) => kind,
                None => {
                    if let Some(commits) = link.waits_for() {
                        return Ok(Ending::Pause(Until::Written(Arc::clone(commits))));
                    }
                    match link.receive(&mut self.body)? {
                        Received::Message(kind) => kind,
                        Received::Nothing => return Ok(Ending::Pause(Until::Readable)),
                    }
                }
            };
            drop(link);
            if kind == b'X' {
                return Ok(Ending::Terminated);
            }
            self.serve_message(kind)?;
        }
        Ok(Ending::Pause(Until::Turn))
    }

    fn serve_message(&mut self, kind: u8) -> Result<(), Broken> {
        let body = std::mem::take(&mut self.body);
        let outcome = match self.settings.charset {
            None => self.dispatch(kind, &body),
            Some(_) if self.skipping == Skipping::UntilSync => self.dispatch(kind, &body),
            Some(charset) => match self.recoded(kind, &body, charset) {
                Ok(body) => self.dispatch(kind, &body),
                Err(error) => self.refuse(kind, &error),
            },
        };
        self.body = body;
        outcome
    }

    /// A message with its texts in UTF-8.
    fn recoded(&self, kind: u8, body: &[u8], charset: Charset) -> Result<Vec<u8>> {
        let parameters = |name: &str| {
            let statement = match name {
                "" => self.unnamed.as_ref(),
                name => self.session.kept_statement(name),
            };
            statement.map(|statement| statement.parameters().to_vec())
        };
        recode::request(kind, body, charset, &parameters)
    }

    /// Reports why a message of `kind` is none.
    fn refuse(&mut self, kind: u8, error: &Error) -> Result<(), Broken> {
        self.fail(error, "")?;
        if kind == b'Q' {
            self.ready();
        } else {
            self.skipping = Skipping::UntilSync;
        }
        Ok(())
    }

    fn dispatch(&mut self, kind: u8, body: &[u8]) -> Result<(), Broken> {
        match kind {
            b'S' => return self.sync(),
            b'Q' if self.skipping == Skipping::No => return self.query(body),
            _ if self.skipping == Skipping::UntilSync => return Ok(()),
            // What is left of a COPY that failed.
            b'd' | b'c' | b'f' => return Ok(()),
            b'F' => return self.call_function(body),
            b'p' => return Err(Broken::Fatal(violation("unexpected password message"))),
            _ => {}
        }
        let outcome = match kind {
            b'P' => self.parse(body),
            b'B' => self.bind(body),
            b'D' => self.describe(body),
            b'E' => return self.execute(body),
            b'C' => self.close(body),
            // What waits is written before the next wait for the client.
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            let text = if kind == b'P' { statement_text(body) } else { "" };
            self.fail(&error, text)?;
            self.skipping = Skipping::UntilSync;
        }
        Ok(())
    }

    /// Sends what came by NOTIFY, unless a transaction runs.
    fn send_notifications(&mut self) {
        if self.session.has_notifications() && !self.session.in_transaction() {
            let came = self.session.take_notifications();
            let link = &mut self.link.lock();
            for notification in &came {
                if let Err(broken) = link.say(|out| message::notification(out, notification)) {
                    message::error(&mut link.outgoing, Severity::Error, &broken.to_error(), "");
                }
            }
        }
    }

    /// Reports an error of a statement; the transaction fails with it.
    fn fail(&mut self, error: &Error, text: &str) -> Result<(), Broken> {
        self.session.fail_transaction()?;
        let notices = self.session.take_notices();
        let mut link = self.link.lock();
        link.charset = self.session.charset();
        let told = notices.iter().try_for_each(|n| link.say(|out| message::notice(out, n)));
        match told {
            Ok(()) => link.complain(Severity::Error, error, text),
            Err(broken) => link.complain(Severity::Error, &broken.to_error(), ""),
        }
        drop(link);
        self.watcher.metrics.failed();
        self.watcher.log.error(self.session.id(), &self.watcher.user, error);
        Ok(())
    }

    /// Sends ReadyForQuery with the state of the transaction.
    fn ready(&mut self) {
        self.refresh_settings();
        if !self.session.in_transaction() {
            self.portals.clear();
            self.send_notifications();
        }
        let status = if !self.session.in_transaction() {
            b'I'
        } else if self.session.in_failed_transaction() {
            b'E'
        } else {
            b'T'
        };
        message::ready(&mut self.link.lock().outgoing, status);
    }
}

/// How serving ended.
enum Ending {
    Pause(Until),
    Terminated,
}

/// The text of a Parse message, for the place of an error.
fn statement_text(body: &[u8]) -> &str {
    let mut fields = message::Fields::new(body);
    fields.text().and_then(|_| fields.text()).unwrap_or_default()
}

/// Sends all rows of `result` and CommandComplete.
fn send(link: &Mutex<Link>, result: &QueryResult, formats: &[Format]) -> Result<(), Broken> {
    let mut link = link.lock();
    let notices = result.notices();
    notices.iter().try_for_each(|notice| link.say(|out| message::notice(out, notice)))?;
    if result.has_rows() {
        encode::rows(&mut *link, result, formats, &mut Place::default(), usize::MAX)?;
    }
    message::complete(&mut link.outgoing, result.tag());
    link.flush_full()
}
