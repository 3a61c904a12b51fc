//! A session: takes SQL text, runs it statement by statement, each in a transaction.
//!
//! ```text
//! text -> statements -> Work (BEGIN's, or one of its own) -> bind -> run -> commit | go back
//! ```

mod attempts;
mod binding;
mod configure;
mod elements;
pub(crate) mod explain;
mod queries;
mod texts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use exec::context::Progress;
use exec::{Recheck, StatementAccount};
use kernels::Batch;
use parking_lot::Mutex;
use plan::physical::PhysicalPlan;
use sched::Ticket;
use sql::ParsedStatement;
use sql::catalog::{Digits, TableRef};
use sql::statement::{AccessMode, Deferral, SetValue, Skipped, Statement};
use storage::Snapshot;
use txn::manager::Isolation;
use types::budget::{self, Account};
use types::{DataType, Error, Result, SqlState, Value, stack};

use crate::calls::SessionCalls;
use crate::catalog::{State, TableEntry, TableInfo};
use crate::channels::{Inbox, Pending};
use crate::compiled::Compiled;
use crate::cursor::Cursors;
use crate::database::Inner;
use crate::locks::LockMode;
use crate::notice::Notice;
use crate::prepared::PreparedStatements;
use crate::registry::{CopyClient, Outside};
use crate::rights::denied;
use crate::sequence::SequenceMemory;
use crate::settings::Settings;
use crate::work::{Before, Begun, Durability, Health, Modes, Work, stale};
use crate::write::at_end::AtEnd;
use crate::write::parts::Parts;
use crate::{Commits, Database, QueryResult, copy, cursor, define, prepared, transaction, write};

/// Times a statement is bound again because a table changed while it waited.
const STALE_MAX: usize = 1000;

/// Cancels what a session runs, from another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle(Arc<AtomicBool>);

impl From<Arc<AtomicBool>> for CancelHandle {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

impl CancelHandle {
    /// Cancels the running statement; without one nothing happens.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after a cancel, until the next statement begins.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// 57014 after a cancel.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            let message = "canceling statement due to user request";
            return Err(Error::new(SqlState::QUERY_CANCELED, message));
        }
        Ok(())
    }

    fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Shows how far the running statement is: work orders done and known.
#[derive(Clone, Debug, Default)]
pub struct ProgressHandle(Arc<Mutex<Option<RunningQuery>>>);

/// A query that runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningQuery {
    /// None for rows that come without a plan: those of COPY.
    pub(crate) plan: Option<Arc<PhysicalPlan>>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) ticket: Arc<Ticket>,
}

impl ProgressHandle {
    /// The query that runs, if one does.
    pub(crate) fn running(&self) -> Option<RunningQuery> {
        self.0.lock().clone()
    }

    /// Work orders done and known of the query that runs, if one does.
    pub fn get(&self) -> Option<(u64, u64)> {
        let progress = self.running()?.progress;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Some((read(&progress.done), read(&progress.total)))
    }
}

/// How a query is run.
#[derive(Default)]
pub(crate) struct Run {
    /// Rows of `Input` operators, by slot.
    pub(crate) inputs: Vec<Vec<Batch>>,
    pub(crate) recheck: Option<Recheck>,
    /// What it sees, when not what the transaction does.
    pub(crate) at: Option<Snapshot>,
}

/// One user of a database. A session runs one statement at a time.
pub struct Session {
    database: Database,
    pub(crate) settings: Settings,
    cancel: CancelHandle,
    /// What its statements cost besides what operators reserve.
    pub(crate) account: Arc<StatementAccount>,
    /// The transaction that runs; always there while a statement does.
    pub(crate) work: Option<Work>,
    pub(crate) prepared: PreparedStatements,
    /// How exact results are typed: as wide decimals once 38 digits did not do for the statement.
    pub(crate) digits: Digits,
    /// The prepared statement that runs: it keeps the plans of its queries.
    pub(crate) compiled: Option<Arc<Compiled>>,
    /// Values of `$1`... of the statement that runs.
    pub(crate) parameters: Vec<Value>,
    /// Those of the WITH that runs, if it changes rows.
    pub(crate) parts: Option<Parts>,
    /// What the queries of the statement that runs see, where it writes.
    view: Option<Snapshot>,
    /// What EXPLAIN ANALYZE is told of it.
    explaining: Option<explain::Explaining>,
    /// Foreign keys that it looks at when it has written all.
    pub(crate) at_end: Option<AtEnd>,
    /// Its temporary relations, as committed: nobody else sees them, and they end with it.
    temporary: Arc<State>,
    /// What it got from sequences.
    pub(crate) sequences: Arc<Mutex<SequenceMemory>>,
    /// What others may know of it.
    info: Arc<SessionInfo>,
    /// What its queries ask of it.
    pub(crate) calls: Arc<SessionCalls>,
    pub(crate) cursors: Cursors,
    /// What came for it by NOTIFY.
    pub(crate) inbox: Arc<Inbox>,
    /// What the client is told besides results, not yet taken.
    pub(crate) notices: Vec<Notice>,
    /// Who is behind STDIN and STDOUT.
    pub(crate) client: Option<Box<dyn CopyClient>>,
    /// Where commits are noted that somebody else waits for.
    pub(crate) commits: Option<Arc<Commits>>,
    /// Where names are looked up that no relation has.
    pub(crate) outside: Option<Arc<dyn Outside>>,
}

/// What a session does, for `tessera_sessions()` and `tessera_queries`.
#[derive(Debug, Default)]
pub(crate) struct SessionInfo {
    /// Its number.
    pub(crate) id: u64,
    /// When it began: microseconds since 1970.
    pub(crate) began_micros: i64,
    /// A statement runs.
    pub(crate) active: AtomicBool,
    /// Its transaction; 0 without one.
    pub(crate) txn: AtomicU64,
    /// Cancels its statements.
    pub(crate) cancel: CancelHandle,
    /// How far its statement is.
    pub(crate) progress: ProgressHandle,
    /// What is shown of it.
    pub(crate) seen: Mutex<Seen>,
}

/// What others see of a session: pg_stat_activity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Who began it; nobody in particular when it is the library's.
    pub(crate) user: Option<String>,
    /// Its application_name.
    pub(crate) application: String,
    /// The statement that runs, or ran last, and when it began: microseconds since 1970.
    pub(crate) query: Option<(Arc<str>, i64)>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.rollback_work();
        self.end_locks();
        self.inner().channels.commit(self.id(), &self.inbox, &[Pending::Unlisten(None)]);
    }
}

impl Session {
    pub(crate) fn new(database: Database, info: Arc<SessionInfo>) -> Self {
        let cancel = info.cancel.clone();
        let calls = SessionCalls::new(Arc::clone(&info), &database);
        let account = StatementAccount::new(&database.inner().pool, Arc::clone(&cancel.0));
        Self {
            database,
            settings: Settings::default(),
            account: Arc::new(account),
            cancel,
            calls: Arc::new(calls),
            cursors: Cursors::default(),
            inbox: Arc::default(),
            work: None,
            prepared: PreparedStatements::default(),
            digits: Digits::Likely,
            compiled: None,
            parameters: Vec::new(),
            parts: None,
            view: None,
            at_end: None,
            explaining: None,
            temporary: Arc::default(),
            sequences: Arc::default(),
            info,
            notices: Vec::new(),
            client: None,
            commits: None,
            outside: None,
        }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn info(&self) -> &Arc<SessionInfo> {
        &self.info
    }

    pub(crate) fn inner(&self) -> &Inner {
        self.database.inner()
    }

    /// A handle to cancel this session's statements.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// A handle to watch this session's queries.
    pub fn progress_handle(&self) -> ProgressHandle {
        self.info.progress.clone()
    }

    /// True inside BEGIN ... COMMIT.
    pub fn in_transaction(&self) -> bool {
        self.work.is_some()
    }

    /// True when a statement of the transaction failed, so that it can only be rolled back.
    pub fn in_failed_transaction(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.health == Health::Failed)
    }

    /// Runs one statement, which `run` binds and runs in the session's transaction.
    pub(crate) fn statement_by(
        &mut self,
        run: &mut dyn FnMut(&mut Self) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        self.info.active.store(true, Ordering::Relaxed);
        self.calls.begin_statement();
        self.account.begin();
        let entry = budget::enter(Arc::clone(&self.account) as Arc<dyn Account>);
        let result = self.try_statement(run);
        drop(entry);
        let txn = self.work.as_ref().map_or(0, |work| work.txn.id().0);
        self.info.txn.store(txn, Ordering::Relaxed);
        self.info.active.store(false, Ordering::Relaxed);
        match result {
            Ok(result) if !self.notices.is_empty() => Ok(result.with_notices(self.take_notices())),
            result => result,
        }
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
            }
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

    /// Commits the transaction of a single statement.
    pub(crate) fn end_statement(&mut self) -> Result<()> {
        let Some(work) = &mut self.work else { return Ok(()) };
        match work.begun {
            Begun::Explicitly | Begun::Implicitly => Ok(()),
            Begun::ForOneStatement => self.commit_work(),
        }
    }

    /// Ends the transaction.
    pub(crate) fn commit_work(&mut self) -> Result<()> {
        if self.temporary.is_empty() && self.work.as_ref().is_some_and(Work::has_only_read) {
            self.work = None;
            self.cursors.end(true);
            self.end_transaction_locks();
            self.settings.end_local();
            return Ok(());
        }
        let checked = write::deferred::before_commit(self);
        if let Err(error) = checked.and_then(|()| define::on_commit(self)) {
            self.rollback_work();
            return Err(error);
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
                let outcome = work.commit(self.database.inner(), durability);
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

    /// Takes back the transaction, if there is one, and what it said of settings.
    pub(crate) fn rollback_work(&mut self) {
        if let Some(mut work) = self.work.take() {
            if !work.settings.is_empty() {
                self.settings.go_back(work.settings.swap_remove(0));
            }
            if self.cancel.is_cancelled() {
                work.rollback_behind();
            } else {
                work.rollback();
            }
            self.inner().aborted.fetch_add(1, Ordering::Relaxed);
            self.cursors.end(false);
            self.end_transaction_locks();
        }
    }

    /// What the transaction took back of the session.
    pub(crate) fn go_back(&mut self, before: Before) {
        if let Some(settings) = before.settings {
            self.settings.go_back(settings);
        }
        self.cursors.go_back(before.cursors);
    }

    /// What a transaction is without modes of its own.
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

    /// The transaction.
    pub(crate) fn work(&self) -> &Work {
        self.work.as_ref().expect("a statement runs in a transaction")
    }

    /// The transaction.
    pub(crate) fn work_mut(&mut self) -> &mut Work {
        self.work.as_mut().expect("a statement runs in a transaction")
    }

    /// The transaction, and what stops its waits.
    pub(crate) fn work_and_cancel(&mut self) -> (&mut Work, &CancelHandle) {
        (self.work.as_mut().expect("a statement runs in a transaction"), &self.cancel)
    }

    /// The catalog as the transaction sees it.
    pub(crate) fn state(&self) -> Arc<State> {
        match &self.work {
            Some(work) => work.catalog(self.inner()),
            None if self.temporary.is_empty() => self.inner().relations.snapshot(),
            None => Arc::new(self.inner().relations.snapshot().with_temporary(&self.temporary)),
        }
    }

    /// Tables, views and sequences that the session sees, by name: its temporary ones, too.
    pub fn relations(&self) -> Vec<TableInfo> {
        self.state().infos()
    }

    /// Changes the catalog in the transaction.
    pub(crate) fn change_catalog<T>(
        &mut self,
        change: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        let work = self.work.as_mut().expect("a statement runs in a transaction");
        let who = self.settings.who();
        work.change_catalog(self.database.inner(), &self.cancel, who, change)
    }

    /// Makes this transaction the only one that changes the catalog.
    ///
    /// # Errors
    /// [`stale`] when it had to wait; 40P01, 57014 from waiting.
    pub(crate) fn lock_catalog(&mut self) -> Result<()> {
        let inner = self.database.inner();
        let work = self.work.as_mut().expect("a statement runs in a transaction");
        let waited = work.lock(&inner.catalog_lock, LockMode::AccessExclusive, &self.cancel)?;
        if waited { Err(stale()) } else { Ok(()) }
    }

    /// The table of a statement that writes its rows: locked against changes of the table itself,
    /// its indexes built, its CHECK constraints and generated columns compiled.
    ///
    /// # Errors
    /// [`stale`] when the table changed since the statement was bound; 40P01, 57014 from waiting.
    pub(crate) fn write_table(&mut self, table: &TableRef) -> Result<Arc<TableEntry>> {
        let storage = table.object().downcast::<storage::Table>();
        let storage = storage.map_err(|_| Error::internal("a table has storage"))?;
        self.lock_table(table.name(), &storage, LockMode::RowExclusive)
    }

    /// As [`Self::write_table`], of a statement that only locks rows.
    pub(crate) fn row_share_table(&mut self, table: &TableRef) -> Result<Arc<TableEntry>> {
        let storage = table.object().downcast::<storage::Table>();
        let storage = storage.map_err(|_| Error::internal("a table has storage"))?;
        self.lock_table(table.name(), &storage, LockMode::RowShare)
    }

    /// A table whose keys are looked for.
    pub(crate) fn referenced_table(&mut self, name: &str) -> Result<Arc<TableEntry>> {
        let entry = self.state().tables.get(name).cloned().ok_or_else(stale)?;
        self.lock_table(name, entry.storage(), LockMode::RowShare)
    }

    /// As [`Self::write_table`], for a table found through another one.
    pub(crate) fn write_table_named(&mut self, name: &str) -> Result<Arc<TableEntry>> {
        let entry = self.state().tables.get(name).cloned().ok_or_else(stale)?;
        self.lock_table(name, entry.storage(), LockMode::RowExclusive)
    }

    pub(crate) fn lock_table(
        &mut self,
        name: &str,
        storage: &Arc<storage::Table>,
        mode: LockMode,
    ) -> Result<Arc<TableEntry>> {
        let work = self.work.as_mut().expect("a statement runs in a transaction");
        let entry = work.lock_table(self.database.inner(), &self.cancel, name, storage, mode)?;
        self.prepare_table(&entry)?;
        Ok(entry)
    }

    /// Builds the indexes of a locked table, and compiles its CHECK constraints and generated
    /// columns.
    pub(crate) fn prepare_table(&mut self, entry: &Arc<TableEntry>) -> Result<()> {
        define::index::ensure_built(self, entry)?;
        if !entry.def.checks.is_empty() {
            entry.checks.prepare(&entry.def, &self.own_catalog())?;
        }
        if !entry.generated.is_empty() {
            entry.generated.prepare(&entry.def, &self.own_catalog())?;
        }
        Ok(())
    }

    pub(crate) fn bind_and_run(
        &mut self,
        parsed: &ParsedStatement,
        types: &[DataType],
    ) -> Result<QueryResult> {
        let bound = sql::bind(parsed, &self.catalog_for(parsed), types);
        if self.in_failed_transaction() {
            return transaction::run_in_failed(self, bound);
        }
        let bound = bound?;
        stack::deep(|| self.run(bound))
    }

    /// What was committed meanwhile is seen, also by the parts of the statement that are to run.
    pub(crate) fn refresh_view(&mut self) {
        let work = self.work_mut();
        work.txn.refresh();
        let now = work.txn.snapshot();
        self.view = self.view.map(|view| view.with_commits_of(now));
    }

    /// Runs a statement that reads or writes rows; None for another one.
    pub(crate) fn run_rows(&mut self, statement: &Statement) -> Option<Result<QueryResult>> {
        let writes = matches!(
            statement,
            Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
                | Statement::WithChanges(_)
        );
        self.parts = None;
        self.view = match writes.then(|| self.work_mut().txn.begin_statement()).transpose() {
            Ok(view) => view,
            Err(error) => return Some(Err(error)),
        };
        self.at_end = AtEnd::of(statement);
        let result = self.run_part(statement);
        self.view = None;
        let result = match result {
            Some(Ok(result)) => Some(write::at_end::settle(self).map(|()| result)),
            other => other,
        };
        self.at_end = None;
        result
    }

    /// As [`Self::run_rows`], of a part of the statement, which sees what that does.
    pub(crate) fn run_part(&mut self, statement: &Statement) -> Option<Result<QueryResult>> {
        Some(match statement {
            Statement::Query(query) => {
                self.run_query(query, Run::default()).map(QueryResult::from_rows)
            }
            Statement::SelectForUpdate(select) => write::lock::select(self, select),
            Statement::Insert(insert) => write::insert::insert(self, insert),
            Statement::Update(update) => write::change::update(self, update),
            Statement::Delete(delete) => write::change::delete(self, delete),
            Statement::Merge(merge) => write::merge::merge(self, merge),
            Statement::WithChanges(with) => write::parts::run(self, with),
            _ => return None,
        })
    }

    pub(crate) fn run(&mut self, statement: Statement) -> Result<QueryResult> {
        if let Some(result) = self.run_rows(&statement) {
            return result;
        }
        match statement {
            Statement::Explain { mode, format, statement } => {
                self.explain((mode, format), *statement)
            }
            Statement::Copy(statement) => copy::copy(self, &statement),
            Statement::Call { name, arguments } => self.call(&name, &arguments),
            Statement::Set { name, value, scope } => {
                let value = match value {
                    SetValue::Default => None,
                    SetValue::Text(text) => Some(text),
                };
                self.set_within(&name, value.as_deref(), scope)?;
                Ok(QueryResult::command("SET"))
            }
            Statement::Show { name } => self.show(&name),
            Statement::Reset { name } => self.reset(name.as_deref()),
            Statement::Skipped(skipped) => Ok(self.skipped(skipped)),
            Statement::SchemaElements(statement) => self.schema_with(*statement),
            Statement::Effectless(statement) => self.effectless(statement),
            Statement::Analyze { .. } => Ok(QueryResult::command("ANALYZE")),
            Statement::Vacuum { .. } => self.vacuum(),
            Statement::Checkpoint => {
                if !self.state().is_superuser(self.settings.who()) {
                    let message = "must be superuser or have privileges of pg_checkpoint";
                    return Err(denied(message));
                }
                // Its snapshot would keep what others delete meanwhile.
                self.end_statement()?;
                self.inner().checkpoint()?;
                Ok(QueryResult::command("CHECKPOINT"))
            }
            Statement::Backup(directory) => self.backup(&directory),
            Statement::Declare(declare) => cursor::declare(self, *declare),
            Statement::Fetch(fetch) => cursor::fetch(self, &fetch),
            Statement::AtCursor(at) => cursor::run_at(self, *at),
            Statement::CloseCursor(name) => cursor::close(self, name.as_deref()),
            Statement::Listen(channel) => {
                self.work_mut().pending.push(Pending::Listen(channel));
                Ok(QueryResult::command("LISTEN"))
            }
            Statement::Unlisten(channel) => {
                self.work_mut().pending.push(Pending::Unlisten(channel));
                Ok(QueryResult::command("UNLISTEN"))
            }
            Statement::Notify { channel, payload } => {
                let pending = Pending::notify(&channel, &payload)?;
                self.work_mut().pending.push(pending);
                Ok(QueryResult::command("NOTIFY"))
            }
            Statement::Prepare(prepare) => prepared::prepare(self, *prepare),
            Statement::Execute(execute) => prepared::execute(self, &execute),
            Statement::Deallocate(name) => prepared::deallocate(self, name.as_deref()),
            other => match transaction::run(self, other)? {
                transaction::Ran::Done(result) => Ok(result),
                transaction::Ran::NotOne(other) => define::run(self, other),
            },
        }
    }

    fn skipped(&mut self, skipped: Skipped) -> QueryResult {
        for (state, message) in skipped.notices {
            self.notice(state, message);
        }
        QueryResult::command(skipped.command)
    }

    fn vacuum(&mut self) -> Result<QueryResult> {
        if self.work().begun != Begun::ForOneStatement {
            let message = "VACUUM cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        // Its snapshot would keep what others delete meanwhile.
        self.end_statement()?;
        self.inner().pool.reclaim();
        Ok(QueryResult::command("VACUUM"))
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
        durable.backup(inner, path, &|| cancel.check())?;
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
        procedure.call(self, arguments)
    }
}
