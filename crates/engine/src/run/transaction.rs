//! BEGIN, COMMIT, ROLLBACK, savepoints, SET CONSTRAINTS, LOCK TABLE.

use catalog::locks::Asked;
use sql::catalog::TableRef;
use sql::statement::{AccessMode, Chain, LockTable, LockWait, SetScope, Statement};
use sql::statement::{Deferral, TransactionModes};
use types::{Error, Result, SqlState};

use crate::session::boundary::Boundary;
use crate::statement::running::Running;
use crate::transaction::work::{Begun, Health, Work, isolation_of, level_of};
use crate::write::deferred;
use crate::{QueryResult, Session, define};

/// Outcome of a statement that may be one of this module.
pub(crate) enum Ran {
    Done(QueryResult),
    NotOne(Statement),
}

/// Begins or ends a transaction.
pub(crate) fn end_or_begin(session: &mut Session, boundary: Boundary) -> Result<QueryResult> {
    let tag = match boundary {
        Boundary::Begin(modes) => begin(session, modes)?,
        Boundary::Commit(chain) => commit(session, chain)?,
        Boundary::Rollback(chain) => rollback(session, chain)?,
    };
    Ok(QueryResult::command(tag))
}

impl Session {
    /// Ends the transaction, after a look at what it put off.
    ///
    /// # Errors
    /// 23503 from deferred foreign keys, 40001 from validation, or why the log cannot take it:
    /// everything is then rolled back.
    pub(crate) fn commit(&mut self) -> Result<()> {
        if let Err(error) =
            deferred::before_commit(&mut Running::own(self)).and_then(|()| define::on_commit(self))
        {
            self.rollback_work();
            return Err(error);
        }
        // What is committed may change roles, which all databases of the server have.
        let before = self.work.as_ref().is_some_and(|work| !work.sees_committed_catalog());
        let before = before.then(|| self.inner().stores.relations.snapshot());
        self.commit_work()?;
        match before {
            Some(before) => super::databases::roles_follow(&self.database, &before),
            None => Ok(()),
        }
    }

    /// Commits the transaction of a single statement.
    pub(crate) fn end_statement(&mut self) -> Result<()> {
        let Some(work) = &mut self.work else { return Ok(()) };
        match work.begun {
            Begun::Explicitly | Begun::Implicitly => Ok(()),
            Begun::ForOneStatement => self.commit(),
        }
    }
}

/// Runs a statement about transactions.
pub(crate) fn run(session: &mut Session, statement: Statement) -> Result<Ran> {
    if let Some(boundary) = Boundary::of(&statement) {
        return end_or_begin(session, boundary).map(Ran::Done);
    }
    let tag = match statement {
        Statement::PrepareTransaction(gid) => session.prepare_transaction(&gid)?,
        Statement::EndPrepared(end, gid) => session.end_prepared(end, &gid)?,
        Statement::Savepoint(name) => {
            inside(session, "SAVEPOINT")?.savepoint(name);
            "SAVEPOINT"
        }
        Statement::Release(name) => {
            inside(session, "RELEASE SAVEPOINT")?.release(&name)?;
            "RELEASE"
        }
        Statement::RollbackTo(name) => {
            let before = inside(session, "ROLLBACK TO SAVEPOINT")?.rollback_to(&name)?;
            session.go_back(before);
            "ROLLBACK"
        }
        Statement::SetTransaction(modes) => {
            set_modes(session, modes)?;
            "SET"
        }
        Statement::SetSessionTransaction(modes) => {
            set_session_modes(session, modes)?;
            "SET"
        }
        Statement::SetConstraints(set) => {
            if session.work().begun == Begun::ForOneStatement {
                let message = "SET CONSTRAINTS can only be used in transaction blocks";
                session.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message.to_owned());
            }
            deferred::set(&mut Running::own(session), &set)?;
            "SET CONSTRAINTS"
        }
        Statement::LockTable(lock) => {
            lock_tables(session, &lock)?;
            "LOCK TABLE"
        }
        other => return Ok(Ran::NotOne(other)),
    };
    Ok(Ran::Done(QueryResult::command(tag)))
}

/// Runs a statement in a transaction that failed: only its end is possible.
pub(crate) fn run_in_failed(
    session: &mut Session,
    bound: Result<Statement>,
) -> Result<QueryResult> {
    match bound {
        Ok(ending) if is_end(&ending) => match run(session, ending)? {
            Ran::Done(result) => Ok(result),
            Ran::NotOne(_) => Err(Error::internal("an end of a transaction")),
        },
        _ => Err(failed()),
    }
}

/// True when a failed transaction takes it.
pub(crate) fn is_end(statement: &Statement) -> bool {
    use Statement::{Commit, PrepareTransaction, Rollback, RollbackTo};
    matches!(statement, Commit(_) | Rollback(_) | RollbackTo(_) | PrepareTransaction(_))
}

/// 25P02.
pub(crate) fn failed() -> Error {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    Error::new(SqlState::IN_FAILED_TRANSACTION, message)
}

/// The transaction that BEGIN began.
fn inside<'s>(session: &'s mut Session, command: &str) -> Result<&'s mut Work> {
    let work = session.work_mut();
    if work.begun == Begun::Explicitly {
        return Ok(work);
    }
    let message = format!("{command} can only be used in transaction blocks");
    Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message))
}

fn begin(session: &mut Session, modes: TransactionModes) -> Result<&'static str> {
    let defaults = session.modes()?;
    if session.work().begun == Begun::Explicitly {
        let message = "there is already a transaction in progress";
        session.warn(SqlState::ACTIVE_SQL_TRANSACTION, message.to_owned());
    }
    let work = session.work_mut();
    if work.begun != Begun::Explicitly {
        let modes = defaults.with(modes);
        work.begun = Begun::Explicitly;
        work.access = modes.access;
        work.deferral = modes.deferral;
        if work.statements == 0 {
            work.txn.set_isolation(modes.isolation);
            work.level = modes.level;
        }
    }
    Ok("BEGIN")
}

fn commit(session: &mut Session, chain: Chain) -> Result<&'static str> {
    if session.work().health == Health::Failed {
        return rollback(session, chain);
    }
    let explicit = session.work().begun == Begun::Explicitly;
    refuse_chain(explicit, chain, "COMMIT")?;
    if !explicit {
        session.warn(
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            "there is no transaction in progress".to_owned(),
        );
    }
    let modes = session.work().modes();
    session.commit()?;
    if explicit && chain == Chain::Yes {
        session.begin_work(modes, Begun::Explicitly)?;
    }
    Ok("COMMIT")
}

/// AND CHAIN continues a transaction, so there must be one.
fn refuse_chain(explicit: bool, chain: Chain, command: &str) -> Result<()> {
    if explicit || chain == Chain::No {
        return Ok(());
    }
    let message = format!("{command} AND CHAIN can only be used in transaction blocks");
    Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message))
}

pub(super) fn rollback(session: &mut Session, chain: Chain) -> Result<&'static str> {
    let explicit = session.work().begun == Begun::Explicitly;
    refuse_chain(explicit, chain, "ROLLBACK")?;
    if !explicit {
        session.warn(
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            "there is no transaction in progress".to_owned(),
        );
    }
    let Some(work) = &session.work else { return Ok("ROLLBACK") };
    let (modes, explicit) = (work.modes(), work.begun == Begun::Explicitly);
    session.rollback_work();
    if explicit && chain == Chain::Yes {
        session.begin_work(modes, Begun::Explicitly)?;
    }
    Ok("ROLLBACK")
}

fn set_modes(session: &mut Session, modes: TransactionModes) -> Result<()> {
    if session.work().begun == Begun::ForOneStatement {
        let message = "SET TRANSACTION can only be used in transaction blocks";
        session.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message.to_owned());
    }
    let work = session.work_mut();
    let fail = |message: &str| Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
    // Outside a transaction it has no effect, as in PostgreSQL.
    if let Some(isolation) = modes.isolation {
        let level = level_of(isolation);
        if work.statements > 0 && level != work.level {
            return fail("SET TRANSACTION ISOLATION LEVEL must be called before any query");
        }
        if work.has_savepoints() && level != work.level {
            return fail("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
        }
        work.txn.set_isolation(isolation_of(isolation));
        work.level = level;
    }
    if let Some(access) = modes.access {
        if access == AccessMode::ReadWrite && work.access == AccessMode::ReadOnly {
            if work.is_inside_read_only() {
                return fail(
                    "cannot set transaction read-write mode inside a read-only transaction",
                );
            }
            if work.statements > 0 {
                return fail("transaction read-write mode must be set before any query");
            }
        }
        work.access = access;
    }
    if let Some(deferral) = modes.deferral {
        if work.has_savepoints() {
            let message =
                "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction";
            return fail(message);
        }
        if work.statements > 0 {
            return fail("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
        }
        work.deferral = deferral;
    }
    Ok(())
}

fn set_session_modes(session: &mut Session, modes: TransactionModes) -> Result<()> {
    if let Some(isolation) = modes.isolation {
        let name = level_of(isolation);
        session.set_within("default_transaction_isolation", Some(name), SetScope::Session)?;
    }
    if let Some(access) = modes.access {
        let value = if access == AccessMode::ReadOnly { "on" } else { "off" };
        session.set_within("default_transaction_read_only", Some(value), SetScope::Session)?;
    }
    if let Some(deferral) = modes.deferral {
        let value = if deferral == Deferral::Yes { "on" } else { "off" };
        session.set_within("default_transaction_deferrable", Some(value), SetScope::Session)?;
    }
    Ok(())
}

fn lock_tables(session: &mut Session, lock: &LockTable) -> Result<()> {
    inside(session, "LOCK TABLE")?;
    let mut tables: Vec<TableRef> = Vec::with_capacity(lock.tables.len());
    for table in &lock.tables {
        tables.push(table.clone());
        let members = table.members().into_iter().flatten().map(|member| member.table);
        tables.extend(members.filter(|member| member.name() != table.name()));
    }
    for table in &tables {
        let storage = exec::stored_table(table)?;
        let state = session.state();
        let entry = state.tables.get(table.name()).ok_or_else(crate::transaction::work::stale)?;
        if lock.wait == LockWait::Fail
            && let Asked::Wait(_) = session.work_mut().ask(&entry.lock, lock.mode)
        {
            entry.lock.leave(session.work().txn.id());
            let name = entry.def.bare_name();
            let message = format!("could not obtain lock on relation \"{name}\"");
            return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message));
        }
        session.lock_table(table.name(), &storage, lock.mode)?;
    }
    Ok(())
}
