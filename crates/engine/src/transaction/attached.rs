//! The part of a session's transaction that is one of the attached database.
//!
//! ```text
//! first name in its schema -> begin -> statements -> COMMIT: the attached part, then the own one
//! definition of a table that others know -> bound again: hold -> begin -> the definition -> COMMIT
//! ```
//! Invariant: a transaction that changed rows there changed none here but temporary ones, so one of
//! the two commits decides.

use std::sync::Arc;

use storage::{ChangeKind, TableId};
use txn::manager::Isolation;
use types::{Error, Result};

use crate::instance::attached::{
    AttachedHold, AttachedMark, AttachedTableId, AttachedTransaction, Attachment, HeldTables,
};
use crate::instance::registry::Registry;
use crate::transaction::held::HeldSnapshot;
use crate::transaction::holds::{Definition, Needs, OwnHold, WantedHold};
use crate::transaction::work::{Begun, Work, stale};

/// 0A000 for a transaction that changes rows here and there.
fn mixed() -> Error {
    Error::unsupported("a transaction that changes shared tables and others")
}

/// 0A000 for a definition that would need a newer snapshot.
fn behind_others() -> Error {
    let what = "a definition of a shared table behind other work in its transaction";
    Error::unsupported(what).with_hint("Define tables first.")
}

impl Work {
    /// Sees what `held` sees from now on.
    pub(crate) fn see(&mut self, held: &Arc<HeldSnapshot>) {
        self.txn.see_as(&held.txn);
        *self.attached.get_mut() = held.attached.clone();
        self.held = Some(Arc::clone(held));
        // As behind its first query, which takes the snapshot.
        self.statements = 1;
    }

    /// Keeps others from writing tables that are to be defined anew, until this transaction ends.
    ///
    /// # Errors
    /// [`stale`]: the statement is bound again, under the hold, and sees what was committed before
    /// it. 0A000 for a definition that needs rows behind changes, which have an older snapshot.
    pub(crate) fn hold_attached(
        &mut self,
        attachment: &dyn Attachment,
        definition: &Definition<'_>,
    ) -> Result<()> {
        let Some(transaction) = self.attached.get_mut().clone() else { return Err(stale()) };
        let others: Vec<AttachedTableId> =
            definition.tables.iter().copied().filter(|id| !transaction.has_made(*id)).collect();
        let is_alone = self.begun == Begun::ForOneStatement;
        if definition.needs == Needs::Nothing && is_alone {
            return Ok(());
        }
        let covers = |hold: &dyn AttachedHold| others.iter().all(|id| hold.tables().covers(*id));
        match self.hold.get_mut() {
            _ if others.is_empty() => return Ok(()),
            OwnHold::Taken(hold) if covers(&**hold) => return Ok(()),
            OwnHold::Beside(hold) if covers(&**hold) && definition.needs != Needs::Rows => {
                return Ok(());
            }
            OwnHold::Beside(_) => return Err(behind_others()),
            _ => {}
        }
        // A table that got another number meanwhile is not among those held.
        if let OwnHold::Failed(error) = std::mem::take(self.hold.get_mut()) {
            return Err(error);
        }
        // Later statements of the transaction define more tables, perhaps.
        let tables = if is_alone { HeldTables::Only(others) } else { HeldTables::All };
        let wait = definition.wait.clone();
        let is_new = !self.attached_before || self.txn.isolation() == Isolation::ReadCommitted;
        if transaction.has_only_read() && is_new {
            let before = Arc::downgrade(&transaction);
            *self.hold.get_mut() = OwnHold::Wanted(WantedHold { tables, wait, before });
            *self.attached.get_mut() = None;
            return Err(stale());
        }
        match definition.needs {
            Needs::Rows => return Err(behind_others()),
            Needs::Silence => {}
            Needs::Nothing => return Ok(()),
        }
        let hold = wait.hold(attachment, tables, Some(&*transaction))?;
        transaction.go_under(hold.number());
        *self.hold.get_mut() = OwnHold::Beside(hold);
        Ok(())
    }

    /// True when it is to begin again under a hold, and did nothing else.
    pub(crate) fn wants_hold(&self) -> bool {
        matches!(*self.hold.lock(), OwnHold::Wanted(_))
    }

    /// Begins the attached part, under the hold that was wanted.
    fn begin_attached(&self, attachment: &dyn Attachment) -> Result<Arc<dyn AttachedTransaction>> {
        let mut held = self.hold.lock();
        if let OwnHold::Wanted(wanted) = &*held {
            match wanted.take(attachment) {
                Ok(hold) => *held = OwnHold::Taken(hold),
                Err(error) => {
                    *held = OwnHold::Failed(error.clone());
                    return Err(error);
                }
            }
        }
        let begun = attachment.begin(self.access)?;
        if let OwnHold::Taken(hold) | OwnHold::Beside(hold) = &*held {
            begun.go_under(hold.number());
        }
        Ok(begun)
    }

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
        let begun = self.begin_attached(&**attachment)?;
        Ok(Arc::clone(attached.insert(begun)))
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
            !change.table.id().is_temporary()
                && !matches!(change.kind, ChangeKind::Lock | ChangeKind::Void)
        };
        self.has_changed_catalog()
            || self.txn.changes().is_some_and(|undo| undo.changes().any(is_change))
    }

    /// # Errors
    /// 0A000 for a write of the table of this number when attached tables were changed.
    pub(crate) fn check_own_change(&self, table: TableId) -> Result<()> {
        if table.is_temporary() || !self.has_attached_changes() { Ok(()) } else { Err(mixed()) }
    }

    /// The place in the attached part.
    pub(crate) fn attached_mark(&self) -> AttachedMark {
        self.attached.lock().as_ref().map_or(AttachedMark(0), |attached| attached.mark())
    }

    /// Takes back what was changed there since.
    pub(crate) fn attached_go_back(&self, mark: AttachedMark) {
        let mut held = self.hold.lock();
        if matches!(*held, OwnHold::Failed(_)) {
            *held = OwnHold::No;
        }
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
