//! PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED.
//!
//! ```text
//! session's work -> looked at as before COMMIT -> log, name -> nobody's work -> commit | roll-back
//! ```
//! Source of the rules and of their order: PostgreSQL 15, PrepareTransaction and
//! FinishPreparedTransaction.
//! Elsewhere: what the work becomes (`transaction::work::prepared`), after a restart (`again`).

mod again;

use std::sync::Arc;

use catalog::who::{Who, denied};
use sql::statement::{Chain, CursorHold, PreparedEnd};
use types::{Error, Result, SqlState};

use super::transaction::rollback;
use crate::Session;
use crate::instance::channels::Pending;
use crate::instance::prepared::{PreparedTransactions, Unfinished};
use crate::statement::running::Running;
use crate::transaction::work::prepared::Preparing;
use crate::transaction::work::{Begun, Durability, Health};
use crate::write::deferred;

pub(crate) use again::restore;

/// Refuses transactions that cannot be prepared.
///
/// # Errors
/// 0A000; 22023 for the name.
fn refuse(session: &Session, gid: &str) -> Result<()> {
    let cannot = |what: &str| {
        let message = format!("cannot PREPARE a transaction that has {what}");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    if session.cursors.holds_of_transaction(CursorHold::Session) {
        return cannot("created a cursor WITH HOLD");
    }
    let work = session.work();
    if !Arc::ptr_eq(&work.temporary, &session.temporary) || work.has_used_temporary() {
        return cannot("operated on temporary objects");
    }
    PreparedTransactions::check_name(gid)?;
    // Who listens to nothing has nothing to give up.
    let counts = |pending: &Pending| {
        let listens = || session.inner().channels.listens(&session.inbox);
        !matches!(pending, Pending::Unlisten(_)) || listens()
    };
    if work.pending.iter().any(counts) {
        return cannot("executed LISTEN, UNLISTEN, or NOTIFY");
    }
    if work.has_attached() {
        return cannot("used tables of a shared database");
    }
    if work.has_defined() {
        return cannot("changed definitions");
    }
    Ok(())
}

/// # Errors
/// 0A000 in a function, procedure or DO.
fn refuse_in_routine(session: &Session) -> Result<()> {
    if session.call_depth == 0 {
        return Ok(());
    }
    let message = "unsupported transaction command in PL/pgSQL";
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

impl Session {
    /// PREPARE TRANSACTION; its tag.
    pub(super) fn prepare_transaction(&mut self, gid: &str) -> Result<&'static str> {
        refuse_in_routine(self)?;
        if self.work().begun == Begun::ForOneStatement || self.work().health == Health::Failed {
            return rollback(self, Chain::No);
        }
        if self.work().begun == Begun::Implicitly {
            let message = "there is no transaction in progress";
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message.to_owned());
        }
        let prepared = deferred::before_commit(&mut Running::own(self))
            .and_then(|()| refuse(self, gid))
            .and_then(|()| self.prepare_work(gid));
        prepared.inspect_err(|_| self.rollback_work())?;
        Ok("PREPARE TRANSACTION")
    }

    /// COMMIT PREPARED and ROLLBACK PREPARED; the tag.
    pub(super) fn end_prepared(&mut self, end: PreparedEnd, gid: &str) -> Result<&'static str> {
        let tag = match end {
            PreparedEnd::Commit => "COMMIT PREPARED",
            PreparedEnd::Rollback => "ROLLBACK PREPARED",
        };
        refuse_in_routine(self)?;
        if self.work().begun != Begun::ForOneStatement {
            let message = format!("{tag} cannot run inside a transaction block");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let (who, user) = (self.settings.who().clone(), self.settings.current_user().to_owned());
        let state = self.state();
        // Its snapshot would keep what others delete meanwhile.
        self.end_statement()?;
        let inner = self.inner();
        let work = inner.prepared.take(inner, gid, |owner| {
            if who == Who::All || owner == user || state.is_superuser(&who) {
                return Ok(());
            }
            let hint = "Must be superuser or the user that prepared the transaction.";
            Err(denied("permission denied to finish prepared transaction").with_hint(hint))
        })?;
        let gid: Arc<str> = gid.into();
        let ended = match end {
            PreparedEnd::Commit => work.commit(inner, &gid, self.commits.as_deref()),
            PreparedEnd::Rollback => work.rollback(inner, &gid),
        };
        match ended {
            Ok(()) => inner.prepared.forget(&gid),
            Err(Unfinished { error, work: Some(work) }) => {
                inner.prepared.keep(&gid, work);
                return Err(error);
            }
            Err(Unfinished { error, work: None }) => {
                inner.prepared.forget(&gid);
                return Err(error);
            }
        }
        Ok(tag)
    }

    /// Gives the work of the transaction a name, under which it lasts without the session.
    ///
    /// # Errors
    /// Errors of [`crate::transaction::work::Work::prepare`], after which it is the session's work
    /// as before; 53100, 58030 when it is prepared, but perhaps not on disk.
    fn prepare_work(&mut self, gid: &str) -> Result<()> {
        let gid: Arc<str> = gid.into();
        let (session, micros) = (self.info().id, self.inner().clock.micros());
        let Some(mut work) = self.work.take() else { return Ok(()) };
        let owner = self.settings.current_user();
        let asked = Preparing { gid: Arc::clone(&gid), owner, micros, session };
        let lsn = match work.prepare(self.database.inner(), &asked) {
            Ok(lsn) => lsn,
            Err(error) => {
                self.work = Some(work);
                return Err(error);
            }
        };
        self.inner().prepared.keep(&gid, Box::new(work));
        self.cursors.end(true);
        self.end_transaction_locks();
        self.settings.end_local();
        let durability = self.commits.as_deref().map_or(Durability::Wait, Durability::Noted);
        durability.of(self.inner(), lsn)
    }
}
