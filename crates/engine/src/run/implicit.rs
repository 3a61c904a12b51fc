//! Statements that are sent together, as PostgreSQL runs them: in one transaction, which ends with
//! the last of them unless BEGIN makes it one that lasts.

use std::sync::Arc;
use std::time::Duration;

use catalog::rights::Object;
use sql::statement::{Privilege, Privileges};
use types::calendar::TimeZone;
use types::charset::Charset;
use types::{DataType, Result, stack};

use crate::instance::channels::{Notification, Wake};
use crate::instance::registry::{CopyClient, Outside};
use crate::transaction::work::Begun;
use crate::{QueryResult, Session};

impl Session {
    /// Begins a transaction for statements that belong together, unless one runs. An error of one
    /// of them takes it back; [`Self::end_implicit`] commits it.
    ///
    /// # Errors
    /// 53300 when too many transactions run.
    pub fn begin_implicit(&mut self) -> Result<()> {
        if self.work.is_none() {
            let modes = self.modes()?;
            self.calls.begin_statement();
            self.begin_work(modes, Begun::Implicitly)?;
        }
        Ok(())
    }

    /// Commits what [`Self::begin_implicit`] began, if it is still there; a transaction of BEGIN
    /// goes on.
    ///
    /// # Errors
    /// 23503 from deferred foreign keys, 40001 from validation, or why the log cannot take it:
    /// everything is then rolled back.
    pub fn end_implicit(&mut self) -> Result<()> {
        if self.work.as_ref().is_some_and(|work| work.begun == Begun::Implicitly) {
            self.commit()
        } else {
            Ok(())
        }
    }

    /// True inside a transaction of [`Self::begin_implicit`].
    pub fn in_implicit(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.begun == Begun::Implicitly)
    }

    /// The transaction fails for a reason outside the session, a bad message say: an implicit one
    /// is taken back, one of BEGIN can only be rolled back.
    ///
    /// # Errors
    /// 53300 when too many transactions run.
    pub fn fail_transaction(&mut self) -> Result<()> {
        self.fail()
    }

    /// Runs all statements of `text` as PostgreSQL's simple query does, several in one transaction,
    /// and hands over each result before the next statement begins: the last after the commit.
    ///
    /// # Errors
    /// The first error; what was not committed by COMMIT before is taken back.
    pub fn execute_together(
        &mut self,
        text: &str,
        each: impl FnMut(QueryResult) -> Result<()>,
    ) -> Result<()> {
        stack::statement(stack::levels_in(text), || self.execute_together_here(text, each))
    }

    fn execute_together_here(
        &mut self,
        text: &str,
        mut each: impl FnMut(QueryResult) -> Result<()>,
    ) -> Result<()> {
        let statements = self.parse(text)?;
        let count = statements.len();
        for (at, statement) in statements.into_iter().enumerate() {
            if count > 1 {
                self.begin_implicit()?;
            }
            let result = self
                .statement_by(&mut |session| session.bind_and_run(&statement, &[], Vec::new()))?;
            if at + 1 == count {
                self.end_implicit()?;
            }
            if let Err(error) = each(result) {
                self.fail()?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// The value of a setting, as SHOW has it.
    ///
    /// # Errors
    /// 42704 for one that does not exist.
    pub fn setting(&self, name: &str) -> Result<String> {
        if name == "is_superuser" {
            let is = self.state().is_superuser(self.settings.who());
            return Ok(if is { "on" } else { "off" }.to_owned());
        }
        self.settings.get(name)
    }

    /// The time that the setting `name` says, `statement_timeout` say; none for 0, and for what is
    /// no time.
    pub fn time_limit(&self, name: &str) -> Option<Duration> {
        self.settings.time_limit(name)
    }

    /// Whose clocks show its times with a zone as text.
    pub fn time_zone(&self) -> &TimeZone {
        self.settings.time_zone()
    }

    /// The encoding of its client's texts.
    pub fn charset(&self) -> Charset {
        self.settings.charset()
    }

    /// Changes a setting, as SET does.
    ///
    /// # Errors
    /// 42704 for one that does not exist, 22023 and others for the value.
    pub fn configure(&mut self, name: &str, value: &str) -> Result<()> {
        self.set(name, Some(value))
    }

    /// RESET goes back to the settings as they are now.
    pub fn keep_settings(&mut self) {
        self.settings.keep_as_base();
    }

    /// Moves whenever a setting may have changed.
    pub fn settings_version(&self) -> u64 {
        self.settings.version()
    }

    /// The user on whose behalf it runs; one that is no role was let in unasked, and may do
    /// everything.
    pub fn set_user(&mut self, user: &str) {
        let trusted = self.database().role(user).is_none();
        self.settings.set_user(user, trusted);
        self.info().seen.lock().user = Some(user.to_owned());
    }

    /// The columns of a cursor of DECLARE.
    pub fn cursor_columns(&self, name: &str) -> Option<&[(String, DataType)]> {
        self.cursors.columns(name)
    }

    /// Takes what came by NOTIFY, in order.
    pub fn take_notifications(&self) -> Vec<Notification> {
        self.inbox.take()
    }

    /// True when something came by NOTIFY.
    pub fn has_notifications(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// `wake` is called whenever something comes.
    pub fn on_notification(&self, wake: Wake) {
        self.inbox.set_wake(wake);
    }

    /// Shows others what the session runs from now on.
    pub fn show_query(&self, text: &Arc<str>) {
        let now = self.inner().clock.micros();
        self.info().seen.lock().query = Some((Arc::clone(text), now));
    }

    /// Shows others its application_name as it is now.
    pub fn show_application(&self) {
        let application = self.settings.get("application_name").unwrap_or_default();
        self.info().seen.lock().application = application;
    }

    /// Refuses when the user may not connect to the database.
    ///
    /// # Errors
    /// 42501.
    pub fn check_connect(&self) -> Result<()> {
        let connect = Privileges::of(&[Privilege::Connect]);
        let allowed = self.state().check(self.settings.who(), &Object::Database, connect);
        allowed.map_err(|error| error.with_detail("User does not have CONNECT privilege."))
    }

    /// COPY FROM STDIN and TO STDOUT are with `client` from now on.
    pub fn set_client(&mut self, client: Box<dyn CopyClient>) {
        self.client = Some(client);
    }

    /// Names that no relation has are looked up in `outside` from now on.
    pub fn set_outside(&mut self, outside: Option<Arc<dyn Outside>>) {
        self.outside = outside;
    }
}

/// True when `text` has no statement: blanks and comments.
pub fn is_blank(text: &str) -> bool {
    let text = text.trim_start();
    let may_be = text.is_empty() || [";", "--", "/*"].iter().any(|begin| text.starts_with(begin));
    may_be && sql::parse(text).is_ok_and(|statements| statements.is_empty())
}
