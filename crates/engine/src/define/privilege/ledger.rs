//! The catalog in which a statement changes rights: that of the database, or a copy with the
//! attached tables, whose rights the attached database keeps afterwards (`define::attached`).

use std::sync::Arc;

use catalog::State;
use types::Result;

use crate::Session;

/// Rights as a statement changes them.
pub(crate) struct Ledger<'s> {
    pub(super) session: &'s mut Session,
    /// The copy; None for the catalog of the database.
    copy: Option<Arc<State>>,
}

impl<'s> Ledger<'s> {
    /// The rights that the catalog of the database has.
    pub(crate) fn own(session: &'s mut Session) -> Self {
        Self { session, copy: None }
    }

    /// The rights in `copy`, which alone changes.
    pub(crate) fn of_copy(session: &'s mut Session, copy: Arc<State>) -> Self {
        Self { session, copy: Some(copy) }
    }

    /// The catalog as it is now.
    pub(crate) fn state(&self) -> Arc<State> {
        self.copy.as_ref().map_or_else(|| self.session.state(), Arc::clone)
    }

    /// Changes the catalog.
    ///
    /// # Errors
    /// Errors of `change`, and of waiting for others that change the catalog of the database.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        match &mut self.copy {
            Some(copy) => change(Arc::make_mut(copy)),
            None => self.session.change_catalog(change),
        }
    }
}
