//! The session's transaction: begun, committed, taken back.
//!
//! Elsewhere: statements about transactions, and what is looked at before a commit
//! (`run::transaction`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sql::statement::{AccessMode, Deferral};
use txn::manager::Isolation;
use types::{Error, Result, SqlState};

use super::Session;
use crate::Commits;
use crate::transaction::held::HeldSnapshot;
use crate::transaction::work::{Before, Begun, Durability, Health, Modes, Work};

impl Session {
    /// True inside BEGIN ... COMMIT.
    pub fn in_transaction(&self) -> bool {
        self.work.is_some()
    }

    /// True when a statement of the transaction failed, so that it can only be rolled back.
    pub fn in_failed_transaction(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.health == Health::Failed)
    }

    /// The transaction fails, if there is one: without savepoints nobody has to wait for it any
    /// longer, so that its changes and locks go at once.
    pub(crate) fn fail(&mut self) -> Result<()> {
        let Some(work) = &mut self.work else { return Ok(()) };
        if work.begun == Begun::Implicitly {
            self.rollback_work();
            return Ok(());
        }
        if work.ends_when_it_fails() {
            let modes = work.modes();
            self.rollback_work();
            self.begin_work(modes, Begun::Explicitly)?;
        }
        self.work_mut().health = Health::Failed;
        Ok(())
    }

    /// Begins a transaction for one statement unless there is one, and takes the snapshot.
    pub(crate) fn begin_statement(&mut self) -> Result<Begun> {
        if let Some(work) = &mut self.work {
            let first = work.statements == 0;
            let each = work.txn.isolation() == Isolation::ReadCommitted;
            let again = work.begun == Begun::ForOneStatement;
            if work.health == Health::Good && (first || each || again) {
                work.txn.refresh();
                work.renew_attached();
            }
            work.attached_before = work.has_attached();
            return Ok(if again { Begun::ForOneStatement } else { Begun::Explicitly });
        }
        let modes = self.modes()?;
        self.begin_work(modes, Begun::ForOneStatement)?;
        Ok(Begun::ForOneStatement)
    }

    /// Begins a transaction that sees the session's temporary relations; its time is that of the
    /// statement it begins with.
    pub(crate) fn begin_work(&mut self, modes: Modes, begun: Begun) -> Result<()> {
        let (temporary, now) = (Arc::clone(&self.temporary), self.calls.statement_micros());
        self.work = Some(Work::begin(self.database.inner(), modes, begun, temporary, now)?);
        Ok(())
    }

    /// Begins a transaction that reads the state of `held`, and writes nothing.
    ///
    /// # Errors
    /// 25001 in a transaction, 22023 for the state of another database; 53300 when too many run.
    pub fn begin_at(&mut self, held: &Arc<HeldSnapshot>) -> Result<()> {
        if self.work.is_some() {
            let message = "there is already a transaction in progress";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        if !Arc::ptr_eq(&self.inner().stores.transactions, held.txn.manager()) {
            let message = "the snapshot is one of another database";
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        self.calls.begin_statement();
        let modes = Modes::new(Isolation::Snapshot, AccessMode::ReadOnly);
        self.begin_work(modes, Begun::Explicitly)?;
        self.work_mut().see(held);
        Ok(())
    }

    /// Takes back the transaction, if there is one, and what it said of settings.
    pub(crate) fn rollback_work(&mut self) {
        if let Some(mut work) = self.work.take() {
            if !work.settings.is_empty() {
                self.settings.go_back(work.settings.swap_remove(0));
            }
            let arrivals = std::mem::take(&mut work.arrivals);
            if self.cancel.is_cancelled() {
                work.rollback_behind();
            } else {
                work.rollback();
            }
            self.inner().arrivals.ring(&arrivals);
            self.inner().aborted.fetch_add(1, Ordering::Relaxed);
            self.cursors.end(false);
            self.end_transaction_locks();
        }
    }

    /// Restores session state that the transaction changed.
    pub(crate) fn go_back(&mut self, before: Before) {
        if let Some(settings) = before.settings {
            self.settings.go_back(settings);
        }
        self.cursors.go_back(before.cursors);
    }

    /// Modes of a transaction that names none.
    pub(crate) fn modes(&self) -> Result<Modes> {
        let (isolation, level) = match self.settings.changed("default_transaction_isolation") {
            Some("serializable") => (Isolation::Serializable, Isolation::Serializable.name()),
            Some("read committed") => (Isolation::ReadCommitted, Isolation::ReadCommitted.name()),
            Some("read uncommitted") => (Isolation::ReadCommitted, "read uncommitted"),
            _ => (Isolation::Snapshot, Isolation::Snapshot.name()),
        };
        let deferral = match self.settings.changed("default_transaction_deferrable") {
            Some("on") => Deferral::Yes,
            _ => Deferral::No,
        };
        let access = match self.settings.changed("default_transaction_read_only") {
            Some("on") => AccessMode::ReadOnly,
            _ => AccessMode::ReadWrite,
        };
        Ok(Modes { isolation, access, level, deferral })
    }

    /// Ends the transaction; what has to be looked at before was.
    pub(crate) fn commit_work(&mut self) -> Result<()> {
        if self.temporary.is_empty() && self.work.as_ref().is_some_and(Work::has_only_read) {
            self.work = None;
            self.cursors.end(true);
            self.end_transaction_locks();
            self.settings.end_local();
            return Ok(());
        }
        let durability = match (self.settings.changed("synchronous_commit"), &self.commits) {
            (Some("off"), _) => Durability::Later,
            (_, Some(commits)) => Durability::Noted(commits),
            (_, None) => Durability::Wait,
        };
        match self.work.take() {
            Some(mut work) => {
                let temporary = Arc::clone(&work.temporary);
                let mut settings = std::mem::take(&mut work.settings);
                let pending = std::mem::take(&mut work.pending);
                let arrivals = std::mem::take(&mut work.arrivals);
                let outcome = work.commit(self.database.inner(), durability);
                self.database.inner().arrivals.ring(&arrivals);
                self.cursors.end(outcome.is_ok());
                self.end_transaction_locks();
                if let Err(error) = outcome {
                    if !settings.is_empty() {
                        self.settings.go_back(settings.swap_remove(0));
                    }
                    return Err(error);
                }
                self.temporary = temporary;
                self.settings.end_local();
                if !pending.is_empty() {
                    let channels = &self.database.inner().channels;
                    channels.commit(self.id(), &self.inbox, &pending);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Commits of this session no longer wait for the disk: who acknowledges them waits for what
    /// this returns. With `synchronous_commit = off` there is nothing to wait for.
    pub fn defer_commits(&mut self) -> Arc<Commits> {
        let database = self.database().clone();
        let commits = Arc::new(Commits::new(database));
        self.commits = Some(Arc::clone(&commits));
        commits
    }
}
