//! The part of a session's transaction that is one of the attached database.
//!
//! ```text
//! first name in its schema -> begin -> statements -> COMMIT: the attached part, then the own one
//! ```
//! Invariant: a transaction that changed rows there changed none here but temporary ones, so one of
//! the two commits decides.

use std::sync::Arc;

use storage::ChangeKind;
use txn::manager::Isolation;
use types::{Error, Result};

use crate::durable::is_temporary;
use crate::instance::attached::{AttachedMark, AttachedTransaction};
use crate::instance::registry::Registry;
use crate::transaction::work::Work;

/// 0A000 for a transaction that changes rows here and there.
fn mixed() -> Error {
    Error::unsupported("a transaction that changes shared tables and others")
}

impl Work {
    /// The transaction of the attached database, begun if need be.
    ///
    /// # Errors
    /// 0A000 under SERIALIZABLE; errors of its beginning.
    pub(crate) fn attached(&self, registry: &Registry) -> Result<Arc<dyn AttachedTransaction>> {
        let Some(attachment) = registry.attachment() else {
            return Err(Error::internal("no database is attached"));
        };
        if self.txn.isolation() == Isolation::Serializable {
            return Err(Error::unsupported("SERIALIZABLE with shared tables")
                .with_hint("REPEATABLE READ gives one snapshot, and refuses lost updates."));
        }
        let mut attached = self.attached.lock();
        if let Some(begun) = &*attached {
            return Ok(Arc::clone(begun));
        }
        Ok(Arc::clone(attached.insert(attachment.begin(self.access)?)))
    }

    /// As [`Self::attached`], to change it.
    ///
    /// # Errors
    /// 0A000 for a transaction that changed others than temporary tables.
    pub(crate) fn attached_to_change(
        &self,
        registry: &Registry,
    ) -> Result<Arc<dyn AttachedTransaction>> {
        if self.has_own_changes() { Err(mixed()) } else { self.attached(registry) }
    }

    /// The next statement sees what was committed meanwhile, unless it has changes.
    pub(crate) fn renew_attached(&mut self) {
        if !self.has_attached_changes() {
            *self.attached.get_mut() = None;
        }
    }

    /// True when it has a part in the attached database.
    pub(crate) fn has_attached(&self) -> bool {
        self.attached.lock().is_some()
    }

    /// True when it changed attached tables.
    pub(crate) fn has_attached_changes(&self) -> bool {
        self.attached.lock().as_ref().is_some_and(|attached| !attached.has_only_read())
    }

    /// True when it changed what this database keeps.
    fn has_own_changes(&self) -> bool {
        let is_change = |change: storage::Change<'_>| {
            !is_temporary(change.table.id())
                && !matches!(change.kind, ChangeKind::Lock | ChangeKind::Void)
        };
        self.has_changed_catalog()
            || self.txn.changes().is_some_and(|undo| undo.changes().any(is_change))
    }

    /// # Errors
    /// 0A000 for a write of the table of this number when attached tables were changed.
    pub(crate) fn check_own_change(&self, table: u64) -> Result<()> {
        if is_temporary(table) || !self.has_attached_changes() { Ok(()) } else { Err(mixed()) }
    }

    /// The place in the attached part.
    pub(crate) fn attached_mark(&self) -> AttachedMark {
        self.attached.lock().as_ref().map_or(AttachedMark(0), |attached| attached.mark())
    }

    /// Takes back what was changed there since.
    pub(crate) fn attached_go_back(&self, mark: AttachedMark) {
        if let Some(attached) = &*self.attached.lock() {
            attached.go_back(mark);
        }
    }

    /// Commits the attached part.
    ///
    /// # Errors
    /// 0A000 for changes here and there; errors of its commit.
    pub(crate) fn commit_attached(&mut self) -> Result<()> {
        if !self.has_attached_changes() {
            return Ok(());
        }
        if self.has_own_changes() {
            return Err(mixed());
        }
        match self.attached.get_mut().take() {
            Some(attached) => attached.commit(),
            None => Ok(()),
        }
    }
}
