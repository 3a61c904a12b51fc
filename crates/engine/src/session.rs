//! A session: what one user has open, and its transaction.
//!
//! ```text
//! text -> statements -> Work (BEGIN's, or one of its own) -> bind -> run -> commit | go back
//! ```
//! Elsewhere: how its statements are bound (`statement`) and run (`run`), which need nothing kept
//! here: a run's own state is [`crate::statement::running::Running`].

pub(crate) mod sequence;
pub(crate) mod calls;
pub(crate) mod cursors;
pub(crate) mod boundary;
pub(crate) mod point;
pub(crate) mod compiled;
pub(crate) mod prepared;
pub(crate) mod code;
pub(crate) mod lent;
mod told;
pub(crate) mod definer;
mod transact;

use std::sync::Arc;

use catalog::locks::LockMode;
use catalog::{State, TableInfo};
use exec::StatementAccount;
use parking_lot::Mutex;
use sql::catalog::{Digits, TableFunctionRef};
use storage::TableId;
use types::{DataType, Result};

use crate::instance::channels::{Inbox, Pending};
use crate::instance::database::Inner;
use crate::instance::info::SessionInfo;
use crate::instance::registry::{CopyClient, Outside};
use crate::transaction::work::{Work, stale};
use crate::words::notice::Notice;
use crate::words::settings::Settings;
use crate::{CancelHandle, Commits, Database, ProgressHandle};
use calls::SessionCalls;
use code::CodeCache;
use cursors::Cursors;
use lent::Lent;
use prepared::kept::PreparedStatements;
use sequence::SequenceMemory;

/// One user of a database. A session runs one statement at a time.
pub struct Session {
    pub(crate) database: Database,
    pub(crate) settings: Settings,
    pub(crate) cancel: CancelHandle,
    /// Memory and time of its statements besides what operators reserve.
    pub(crate) account: Arc<StatementAccount>,
    /// The transaction that runs; always there while a statement does.
    pub(crate) work: Option<Work>,
    pub(crate) prepared: PreparedStatements,
    /// How exact results are typed: as wide decimals once 38 digits did not do for the statement.
    pub(crate) digits: Digits,
    /// Its temporary relations, as committed: nobody else sees them, and they end with it.
    pub(crate) temporary: Arc<State>,
    /// Values that the session got from sequences.
    pub(crate) sequences: Arc<Mutex<SequenceMemory>>,
    /// State that other sessions may see.
    pub(crate) info: Arc<SessionInfo>,
    /// Session state that its queries read and change by functions (`current_user`, `nextval`).
    pub(crate) calls: Arc<SessionCalls>,
    pub(crate) cursors: Cursors,
    /// Notifications that came for the session.
    pub(crate) inbox: Arc<Inbox>,
    /// Messages for the client besides results, not yet taken.
    pub(crate) notices: Vec<Notice>,
    /// Client behind STDIN and STDOUT.
    pub(crate) client: Option<Box<dyn CopyClient>>,
    /// Where commits are noted that somebody else waits for.
    pub(crate) commits: Option<Arc<Commits>>,
    /// Where names are looked up that no relation has.
    pub(crate) outside: Option<Arc<dyn Outside>>,
    /// Transition tables of the trigger whose function runs.
    pub(crate) transitions: Vec<(String, TableFunctionRef)>,
    /// Code of the routines that it called.
    pub(crate) code: CodeCache,
    /// Where it is while a query of it runs that calls routines.
    pub(crate) lent: Arc<Lent>,
    /// Session that may stand where it was.
    spare: Option<Box<Session>>,
    /// True for one of those.
    is_spare: bool,
    /// Calls of routines that run inside of each other.
    pub(crate) call_depth: usize,
    /// Storages of the tables of statements that wait for routines which they call.
    pub(crate) in_use: Vec<TableId>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_spare {
            return;
        }
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
            settings: Settings::attached_to(database.attached_schema()),
            database,
            account: Arc::new(account),
            cancel,
            calls: Arc::new(calls),
            cursors: Cursors::default(),
            inbox: Arc::default(),
            work: None,
            prepared: PreparedStatements::default(),
            digits: Digits::Likely,
            temporary: Arc::default(),
            sequences: Arc::default(),
            info,
            notices: Vec::new(),
            client: None,
            commits: None,
            outside: None,
            transitions: Vec::new(),
            code: CodeCache::default(),
            lent: Arc::default(),
            spare: None,
            is_spare: false,
            call_depth: 0,
            in_use: Vec::new(),
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
            None if self.temporary.is_empty() => self.inner().stores.relations.snapshot(),
            None => {
                Arc::new(self.inner().stores.relations.snapshot().with_temporary(&self.temporary))
            }
        }
    }

    /// The type that users made, or arrays of it, with this number in the catalog.
    pub fn type_numbered(&self, number: u32) -> Option<DataType> {
        // Others have the numbers below.
        let is_own = i64::from(number) >= catalog::numbers::FIRST as i64;
        is_own.then(|| self.state().type_numbered(number)).flatten()
    }

    /// Tables, views and sequences that the session sees, by name: its temporary ones, too.
    pub fn relations(&self) -> Vec<TableInfo> {
        self.state().infos()
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
}
