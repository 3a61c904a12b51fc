//! Words for the client besides results, and what only superusers may say.

use catalog::State;
use catalog::who::{Who, denied};
use types::{Error, Result, SqlState};

use super::Session;
use crate::words::notice::{Notice, Severity};
use crate::words::settings::Settings;

impl Session {
    /// Takes what the client is to be told besides results, in order.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Tells the client what `error` says; an INFO whatever it wants to hear.
    pub(crate) fn tell_all(&mut self, severity: Severity, error: Error) {
        tell(&mut self.notices, &self.settings, severity, error);
    }

    /// Tells the client something, with this SQLSTATE.
    pub(crate) fn notice(&mut self, state: SqlState, message: String) {
        self.tell_all(Severity::Notice, Error::new(state, message));
    }

    /// Warns the client.
    pub(crate) fn warn(&mut self, state: SqlState, message: String) {
        self.tell_all(Severity::Warning, Error::new(state, message));
    }

    /// Its number: what pg_backend_pid() says.
    pub fn id(&self) -> i32 {
        i32::try_from(self.info().id).unwrap_or(i32::MAX)
    }

    /// Keeps a copy of the settings, which a rollback restores.
    pub(crate) fn remember_settings(&mut self) {
        if let Some(work) = &mut self.work {
            work.settings.push(self.settings.clone());
        }
    }

    /// Refuses what only superusers may set.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_server_setting(&self, name: &str) -> Result<()> {
        check_server_setting(&self.state(), self.settings.who(), name)
    }
}

/// Adds a message for the client, if it wants to hear it; an INFO in any case.
pub(super) fn tell(
    notices: &mut Vec<Notice>,
    settings: &Settings,
    severity: Severity,
    error: Error,
) {
    let asked = settings.changed("client_min_messages").unwrap_or("notice");
    let least = Severity::from_name(asked);
    if severity == Severity::Info || least.is_some_and(|least| severity >= least) {
        notices.push(Notice { severity, error });
    }
}

/// # Errors
/// 42501 for a setting that only superusers may change.
pub(super) fn check_server_setting(state: &State, who: &Who, name: &str) -> Result<()> {
    if state.is_superuser(who) {
        return Ok(());
    }
    Err(denied(format!("permission denied to set parameter \"{name}\"")))
}
