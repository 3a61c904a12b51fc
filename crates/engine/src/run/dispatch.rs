//! A statement is bound and handed to the floor that carries it out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use catalog::predefined::CHECKPOINT;
use catalog::who::denied;
use sql::ParsedStatement;
use sql::statement::{SetValue, Skipped, Statement};
use types::budget::{self, Account};
use types::{DataType, Error, Result, SqlState, Value, stack};

use super::{copy, cursor, prepared, program, transaction};
use crate::instance::channels::Pending;
use crate::statement::running::Running;
use crate::transaction::work::Begun;
use crate::{QueryResult, Session, define};

impl Session {
    /// Runs one statement, which `run` binds and runs in the session's transaction.
    pub(crate) fn statement_by(
        &mut self,
        run: &mut dyn FnMut(&mut Self) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        self.inner().scheduler.resume(&self.info.suspension);
        self.info.active.store(true, Ordering::Relaxed);
        self.calls.begin_statement();
        self.account.begin();
        let entry = budget::enter(Arc::clone(&self.account) as Arc<dyn Account>);
        let result = self.try_statement(run);
        drop(entry);
        // What was planned and not run, or ran elsewhere, holds its tables no longer.
        self.end_progress();
        let txn = self.work.as_ref().map_or(0, |work| work.txn.id().0);
        self.info.txn.store(txn, Ordering::Relaxed);
        self.info.active.store(false, Ordering::Relaxed);
        match result {
            Ok(result) if !self.notices.is_empty() => Ok(result.with_notices(self.take_notices())),
            result => result,
        }
    }

    /// Binds a statement and runs it with these values of its parameters.
    pub(crate) fn bind_and_run(
        &mut self,
        parsed: &ParsedStatement,
        types: &[DataType],
        parameters: Vec<Value>,
    ) -> Result<QueryResult> {
        let bound = sql::bind(parsed, &self.catalog_for(parsed), types);
        if self.in_failed_transaction() {
            return transaction::run_in_failed(self, bound);
        }
        let bound = bound?;
        stack::deep(|| Running::new(self, parameters).run(bound))
    }

    fn skipped(&mut self, skipped: Skipped) -> QueryResult {
        for (state, message) in skipped.notices {
            self.notice(state, message);
        }
        QueryResult::command(skipped.command)
    }

    fn backup(&mut self, directory: &str) -> Result<QueryResult> {
        if !self.state().is_superuser(self.settings.who()) {
            return Err(denied("must be superuser to do BACKUP"));
        }
        if self.work().begun != Begun::ForOneStatement {
            let message = "BACKUP cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        // Its snapshot would keep what others delete meanwhile.
        self.end_statement()?;
        let cancel = self.cancel.clone();
        let inner = self.inner();
        let Some(durable) = &inner.durable else {
            return Err(Error::unsupported("BACKUP of a database in memory"));
        };
        let path = std::path::Path::new(directory);
        durable.backup(path, &|| cancel.check())?;
        Ok(QueryResult::command("BACKUP"))
    }

    fn call(&mut self, name: &str, arguments: &sql::catalog::Arguments) -> Result<QueryResult> {
        let procedure = self.database.registry().procedure(name).ok_or_else(|| {
            let message = format!("procedure {name} does not exist");
            Error::new(SqlState::UNDEFINED_FUNCTION, message)
        })?;
        if !self.state().is_superuser(self.settings.who()) {
            return Err(denied(format!("permission denied for procedure {name}")));
        }
        if self.work().begun != Begun::ForOneStatement {
            let message = format!("CALL {name} cannot run inside a transaction block");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        // It has a transaction of its own; this one has nothing in it.
        self.rollback_work();
        procedure.call(&self.database, &self.cancel, arguments)
    }
}

impl Running<'_> {
    /// Runs a statement that was bound.
    pub(crate) fn run(&mut self, statement: Statement) -> Result<QueryResult> {
        match define::attached::run(self, statement)? {
            define::attached::Ran::Done(result) => Ok(result),
            define::attached::Ran::NotOne(statement) => self.run_own(statement),
        }
    }

    /// Runs a statement that is no definition of attached tables.
    fn run_own(&mut self, statement: Statement) -> Result<QueryResult> {
        define::bus::ensure(self.session, &statement)?;
        if let Some(result) = self.run_rows(&statement) {
            return result;
        }
        match statement {
            Statement::Explain { options, statement } => self.explain(options, *statement),
            Statement::Copy(statement) => copy::copy(self, &statement),
            Statement::Call { name, arguments } => self.session.call(&name, &arguments),
            Statement::CallRoutine(call) => program::call(self, &call),
            Statement::Do(block) => program::run_block(self, &block),
            Statement::Set { name, value, scope } => {
                let value = match value {
                    SetValue::Default => None,
                    SetValue::Text(text) => Some(text),
                };
                self.session.set_within(&name, value.as_deref(), scope)?;
                Ok(QueryResult::command("SET"))
            }
            Statement::Show { name } => self.session.show(&name),
            Statement::Reset { name } => self.session.reset(name.as_deref()),
            Statement::Skipped(skipped) => Ok(self.session.skipped(skipped)),
            Statement::SchemaElements(statement) => self.session.schema_with(*statement),
            Statement::Effectless(statement) => self.session.effectless(statement),
            Statement::Analyze { tables } => self.session.analyze(&tables),
            Statement::Vacuum { tables, freezing, analyze } => {
                self.session.vacuum(&tables, freezing, analyze)
            }
            Statement::Checkpoint => self.checkpoint(),
            Statement::Database(statement) => self.session.run_databases(*statement),
            Statement::Backup(directory) => self.session.backup(&directory),
            Statement::Declare(declare) => cursor::declare(self, *declare),
            Statement::Fetch(fetch) => {
                let session = &mut *self.session;
                cursor::fetch(&mut session.cursors, session.database.pool(), &fetch)
            }
            Statement::AtCursor(at) => cursor::run_at(self, *at),
            Statement::CloseCursor(name) => {
                cursor::close(&mut self.session.cursors, name.as_deref())
            }
            Statement::Listen(channel) => {
                self.session.work_mut().pending.push(Pending::Listen(channel));
                Ok(QueryResult::command("LISTEN"))
            }
            Statement::Unlisten(channel) => {
                self.session.work_mut().pending.push(Pending::Unlisten(channel));
                Ok(QueryResult::command("UNLISTEN"))
            }
            Statement::Notify { channel, payload } => {
                let pending = Pending::notify(&channel, &payload)?;
                self.session.work_mut().pending.push(pending);
                Ok(QueryResult::command("NOTIFY"))
            }
            Statement::Prepare(prepare) => prepared::prepare(self.session, *prepare),
            Statement::CreateExecuted(create) => prepared::create_executed(self, &create),
            Statement::Execute(execute) => prepared::execute(self, &execute),
            Statement::Deallocate(name) => {
                prepared::deallocate(&mut self.session.prepared, name.as_deref())
            }
            other => match transaction::run(self.session, other)? {
                transaction::Ran::Done(result) => Ok(result),
                transaction::Ran::NotOne(other) => define::run(self, other),
            },
        }
    }

    /// CHECKPOINT.
    fn checkpoint(&mut self) -> Result<QueryResult> {
        let session = &*self.session;
        if !session.state().acts_as(session.settings.who(), CHECKPOINT) {
            return Err(denied("must be superuser or have privileges of pg_checkpoint"));
        }
        // The statement's snapshot would keep what others delete meanwhile.
        self.session.end_statement()?;
        self.session.inner().checkpoint()?;
        Ok(QueryResult::command("CHECKPOINT"))
    }
}
