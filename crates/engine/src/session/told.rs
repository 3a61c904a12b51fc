//! Words for the client besides results, and what only superusers may say.

use catalog::who::denied;
use types::{Error, Result, SqlState};

use super::Session;
use crate::words::notice::{Notice, Severity};

impl Session {
    /// Takes what the client is to be told besides results, in order.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    fn tell(&mut self, severity: Severity, state: SqlState, message: String) {
        let asked = self.settings.changed("client_min_messages").unwrap_or("notice");
        let least = Severity::from_name(asked);
        if least.is_some_and(|least| severity >= least) {
            self.notices.push(Notice { severity, error: Error::new(state, message) });
        }
    }

    /// Tells the client what `error` says; an INFO whatever it wants to hear.
    pub(crate) fn tell_all(&mut self, severity: Severity, error: Error) {
        let asked = self.settings.changed("client_min_messages").unwrap_or("notice");
        let least = Severity::from_name(asked);
        if severity == Severity::Info || least.is_some_and(|least| severity >= least) {
            self.notices.push(Notice { severity, error });
        }
    }

    /// Tells the client something, with this SQLSTATE.
    pub(crate) fn notice(&mut self, state: SqlState, message: String) {
        self.tell(Severity::Notice, state, message);
    }

    /// Warns the client.
    pub(crate) fn warn(&mut self, state: SqlState, message: String) {
        self.tell(Severity::Warning, state, message);
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
        if self.state().is_superuser(self.settings.who()) {
            return Ok(());
        }
        Err(denied(format!("permission denied to set parameter \"{name}\"")))
    }
}
