//! Statements that are sent together, as PostgreSQL runs them: in one transaction, which ends with
//! the last of them unless BEGIN makes it one that lasts.

use std::sync::Arc;

use types::Result;

use crate::registry::{CopyClient, Outside};
use crate::work::Begun;
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
            self.begin_work(modes, Begun::Implicitly)?;
        }
        Ok(())
    }

    /// Commits what [`Self::begin_implicit`] began, if it is still there; a transaction of BEGIN
    /// goes on.
    ///
    /// # Errors
    /// 40001 from validation, or why the log cannot take it: everything is then rolled back.
    pub fn end_implicit(&mut self) -> Result<()> {
        match self.work.as_ref().is_some_and(|work| work.begun == Begun::Implicitly) {
            true => self.commit_work(),
            false => Ok(()),
        }
    }

    /// Whether there is a transaction of [`Self::begin_implicit`].
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
        mut each: impl FnMut(QueryResult) -> Result<()>,
    ) -> Result<()> {
        let statements = self.parse(text)?;
        let count = statements.len();
        for (at, statement) in statements.into_iter().enumerate() {
            if count > 1 {
                self.begin_implicit()?;
            }
            let result = self.statement_by(&mut |session| session.bind_and_run(&statement, &[]))?;
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
        self.settings.get(name)
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

    /// The user on whose behalf it runs.
    pub fn set_user(&mut self, user: &str) {
        self.settings.set_user(user);
    }

    /// COPY FROM STDIN and TO STDOUT are with `client` from now on.
    pub fn set_client(&mut self, client: Box<dyn CopyClient>) {
        self.client = Some(client);
    }

    /// Names that no relation has are looked up in `outside` from now on.
    pub fn set_outside(&mut self, outside: Option<Arc<dyn Outside>>) {
        self.outside = outside;
    }

    /// Its number: what pg_backend_pid() says.
    pub fn id(&self) -> i32 {
        i32::try_from(self.info().id).unwrap_or(i32::MAX)
    }
}

/// Whether `text` has no statement: blanks and comments.
pub fn is_blank(text: &str) -> bool {
    let text = text.trim_start();
    let may_be = text.is_empty() || [";", "--", "/*"].iter().any(|begin| text.starts_with(begin));
    may_be && sql::parse(text).is_ok_and(|statements| statements.is_empty())
}
