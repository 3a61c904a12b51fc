//! Settings that the server acts on, and those that the client is told about.

use std::time::Duration;

use engine::Session;
use types::charset::Charset;

use super::Connection;
use crate::link::Link;
use crate::message;

/// Settings whose changes the client is told, under the names it knows.
const REPORTED: &[(&str, &str)] = &[
    ("server_version", "server_version"),
    ("server_encoding", "server_encoding"),
    ("client_encoding", "client_encoding"),
    ("application_name", "application_name"),
    ("default_transaction_read_only", "default_transaction_read_only"),
    ("datestyle", "DateStyle"),
    ("intervalstyle", "IntervalStyle"),
    ("timezone", "TimeZone"),
    ("integer_datetimes", "integer_datetimes"),
    ("standard_conforming_strings", "standard_conforming_strings"),
    ("in_hot_standby", "in_hot_standby"),
    ("is_superuser", "is_superuser"),
    ("session_authorization", "session_authorization"),
];

/// Settings as they were after the last statement that may have changed them.
pub(super) struct Cached {
    /// How long a statement may run, in milliseconds; 0 is for ever.
    pub(super) statement_ms: u64,
    /// How long the client may be silent in a transaction.
    pub(super) idle_in_transaction: Option<Duration>,
    /// Time for which it may be silent outside of one.
    pub(super) idle: Option<Duration>,
    /// The encoding of the client's texts, unless they come and go as they are.
    pub(super) charset: Option<Charset>,
    version: u64,
    reported: Vec<String>,
}

fn whole_ms(limit: Duration) -> u64 {
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
}

impl Cached {
    pub(super) fn new(session: &Session) -> Self {
        let value = |(name, _): &(&str, &str)| session.setting(name).unwrap_or_default();
        Self {
            statement_ms: session.time_limit("statement_timeout").map_or(0, whole_ms),
            idle_in_transaction: session.time_limit("idle_in_transaction_session_timeout"),
            idle: session.time_limit("idle_session_timeout"),
            charset: Some(session.charset()).filter(|charset| !charset.is_plain()),
            version: session.settings_version(),
            reported: REPORTED.iter().map(value).collect(),
        }
    }

    /// Appends all that the client is told, but values that it cannot read.
    pub(super) fn report_all(&self, link: &mut Link) {
        for ((_, name), value) in REPORTED.iter().zip(&self.reported) {
            let _ = link.say(|out| message::parameter(out, name, value));
        }
    }
}

impl Connection {
    /// Acts on settings that a statement may have changed, and tells the client.
    pub(super) fn refresh_settings(&mut self) {
        if self.session.settings_version() == self.settings.version {
            return;
        }
        let new = Cached::new(&self.session);
        let mut link = self.link.lock();
        link.charset = self.session.charset();
        let both = self.settings.reported.iter().zip(&new.reported);
        for ((_, name), (_, value)) in REPORTED.iter().zip(both).filter(|(_, (a, b))| a != b) {
            // A value that the client cannot read is not told.
            let _ = link.say(|out| message::parameter(out, name, value));
        }
        drop(link);
        self.settings = new;
        self.session.show_application();
    }
}
