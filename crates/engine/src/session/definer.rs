//! The part of a session that changes definitions: the catalog of its transaction, the role that
//! asks, notices. Statements about objects that run no query have it in the place of the session.

use std::sync::Arc;

use catalog::State;
use catalog::who::Who;
use types::{Result, SqlState};

use super::{Session, told};
use crate::instance::attached::AttachedTransaction;
use crate::instance::database::Inner;
use crate::transaction::work::Work;
use crate::words::notice::{Notice, Severity};
use crate::words::settings::Settings;
use crate::{CancelHandle, Database};

/// Definitions as a statement changes them.
pub(crate) struct Definer<'s> {
    database: &'s Database,
    work: &'s mut Work,
    pub(crate) settings: &'s Settings,
    cancel: &'s CancelHandle,
    notices: &'s mut Vec<Notice>,
}

impl Session {
    /// The part of the session that changes definitions, while a statement runs.
    pub(crate) fn definer(&mut self) -> Definer<'_> {
        Definer {
            database: &self.database,
            work: self.work.as_mut().expect("a statement runs in a transaction"),
            settings: &self.settings,
            cancel: &self.cancel,
            notices: &mut self.notices,
        }
    }

    /// Changes the catalog in the transaction.
    pub(crate) fn change_catalog<T>(
        &mut self,
        change: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        self.definer().change_catalog(change)
    }
}

impl Definer<'_> {
    /// The database.
    pub(crate) fn database(&self) -> &Database {
        self.database
    }

    pub(crate) fn inner(&self) -> &Inner {
        self.database.inner()
    }

    /// The catalog as the transaction sees it.
    pub(crate) fn state(&self) -> Arc<State> {
        self.work.catalog(self.database.inner())
    }

    /// The transaction's part in the attached database, if there is one.
    ///
    /// # Errors
    /// 08006 and others when its processes do not answer.
    pub(crate) fn attached(&self) -> Result<Option<Arc<dyn AttachedTransaction>>> {
        let registry = self.database.registry();
        let begin = registry.attachment().is_some();
        begin.then(|| self.work.attached(registry)).transpose()
    }

    /// Role that the statement runs as.
    pub(crate) fn who(&self) -> Who {
        self.settings.who().clone()
    }

    /// Changes the catalog in the transaction.
    ///
    /// # Errors
    /// 40P01, 57014 from waiting for others that change it; errors of `change`.
    pub(crate) fn change_catalog<T>(
        &mut self,
        change: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        self.work.change_catalog(self.database.inner(), self.cancel, self.settings.who(), change)
    }

    /// Tells the client something, with this SQLSTATE.
    pub(crate) fn notice(&mut self, state: SqlState, message: String) {
        let error = types::Error::new(state, message);
        told::tell(self.notices, self.settings, Severity::Notice, error);
    }

    /// Refuses what only superusers may set.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_server_setting(&self, name: &str) -> Result<()> {
        told::check_server_setting(&self.state(), self.settings.who(), name)
    }
}
