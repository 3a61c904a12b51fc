//! The work of a session between BEGIN and COMMIT: its transaction, its catalog, its locks.
//!
//! ```text
//! statement outside BEGIN -> Work of its own -> commit
//! BEGIN -> Work -> statements, savepoints -> COMMIT: deferred foreign keys, validate, log,
//!                                                    publish, wait for the disk
//! ```
//! Invariants: a statement that fails leaves the work as it was before; after it an explicit
//! transaction takes nothing but its end or a savepoint's; locks go when the transaction has ended.

mod commit;
pub(crate) mod prepared;

use std::sync::{Arc, OnceLock};

use catalog::locks::{Asked, LockMode, TableLock};
use catalog::who::Who;
use catalog::wide::{Touch, Touched, WideReader};
use catalog::{Sequence, State, TableEntry, families, partitions, wide};
use exec::context::ReadLog;
use parking_lot::Mutex;
use sql::statement::{AccessMode, Deferral, RelationName, TransactionModes};
use storage::{IndexId, Snapshot};
use storage::{Table, TxnId, UndoMark};
use txn::manager::{Isolation, Transaction};
use types::{Error, Result, SqlState};

use crate::CancelHandle;
use crate::instance::attached::{AttachedMark, AttachedTransaction};
use crate::instance::channels::Pending;
use crate::instance::database::Inner;
use crate::instance::xids::OwnNumber;
use crate::transaction::deferred::{Deferred, DeferredPlace};
use crate::transaction::descriptors::Descriptors;
use crate::transaction::held::HeldSnapshot;
use crate::transaction::holds::OwnHold;
use crate::transaction::reads::Reads;
use crate::words::settings::Settings;

pub(crate) use commit::Durability;

/// How a transaction came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// BEGIN began it: it lasts until COMMIT or ROLLBACK.
    Explicitly,
    /// A statement outside a transaction began it, and ends it.
    ForOneStatement,
    /// Statements sent together began it: it ends with the last of them, or with an error.
    Implicitly,
}

/// Statements that a session's transaction still accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// All statements.
    Good,
    /// The end, or a way back to a savepoint: a statement failed.
    Failed,
}

/// A place to go back to.
struct Savepoint {
    name: String,
    place: Place,
}

/// A table that a statement was bound to, and how it is locked.
#[derive(Clone, Copy)]
pub(crate) struct WantedTable<'a> {
    pub(crate) name: &'a str,
    /// Rows of the table when the statement was bound.
    pub(crate) storage: &'a Arc<Table>,
    pub(crate) mode: LockMode,
}

/// The work at one moment.
#[derive(Clone)]
pub(crate) struct Place {
    mark: UndoMark,
    access: AccessMode,
    catalog: Option<Arc<State>>,
    temporary: Arc<State>,
    index_changes: usize,
    settings: usize,
    cursors: usize,
    descriptors: u64,
    pending: usize,
    wide: usize,
    deferred: DeferredPlace,
    attached: AttachedMark,
}

/// Session state that a rollback restores.
#[must_use]
pub(crate) struct Before {
    /// Its settings, when they changed since.
    pub(crate) settings: Option<Settings>,
    /// Cursors from this number on are gone.
    pub(crate) cursors: usize,
}

/// A change of the indexes of a table that other transactions know.
enum IndexChange {
    /// A new index, taken away again when the work is rolled back.
    Added(Arc<Table>, IndexId),
    /// A dropped index, taken away when the work is committed.
    Dropped(Arc<Table>, IndexId),
}

/// Sequences that a transaction took values of. The functions that take them run anywhere.
pub(crate) type UsedSequences = Arc<Mutex<Vec<Arc<Sequence>>>>;

/// Locks of one transaction, given up when dropped: after the transaction, whose field comes first.
struct HeldLocks {
    txn: TxnId,
    held: Vec<Arc<TableLock>>,
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.held.iter().for_each(|lock| lock.release(self.txn));
    }
}

/// Tables that one transaction reads until it ends.
struct ReadLocks {
    txn: TxnId,
    held: Vec<Arc<TableLock>>,
}

impl Drop for ReadLocks {
    fn drop(&mut self) {
        self.held.iter().for_each(|lock| lock.end_read(self.txn));
    }
}

/// The work of one transaction.
pub(crate) struct Work {
    /// Ends before the transaction does, whose slot it names.
    reading: ReadLocks,
    pub(crate) txn: Transaction,
    pub(crate) begun: Begun,
    pub(crate) health: Health,
    pub(crate) access: AccessMode,
    /// Name of its level in SHOW.
    pub(crate) level: &'static str,
    pub(crate) deferral: Deferral,
    /// Microseconds since 1970 when it began: now().
    pub(crate) now_micros: i64,
    /// Queries run: the first takes the snapshot, and after it the level stays.
    pub(crate) statements: u64,
    /// The catalog as this transaction changed it.
    catalog: Option<Arc<State>>,
    /// The session's temporary relations, as this transaction changed them.
    pub(crate) temporary: Arc<State>,
    index_changes: Vec<IndexChange>,
    locks: HeldLocks,
    savepoints: Vec<Savepoint>,
    /// The session's settings before each change of them.
    pub(crate) settings: Vec<Settings>,
    /// Cursors declared so far.
    pub(crate) cursors: usize,
    /// Large objects that it has open.
    pub(crate) descriptors: Descriptors,
    /// Changes of channels that it makes when it commits.
    pub(crate) pending: Vec<Pending>,
    /// Clients of the bus to whom it sent messages or from whom it took some, perhaps others.
    pub(crate) arrivals: Vec<i64>,
    wide: Touched,
    /// Foreign keys to look at before it commits.
    pub(crate) deferred: Deferred,
    /// Its number for users, once somebody asked.
    pub(crate) number: OwnNumber,
    /// Made with its first query.
    pub(crate) sequences: OnceLock<UsedSequences>,
    pub(crate) reads: Reads,
    /// Reads of its queries that are not yet in `reads`.
    pub(crate) read_log: OnceLock<Arc<ReadLog>>,
    /// True when its statement took input that does not come again.
    pub(crate) runs_once: bool,
    /// Its part in the attached database.
    pub(crate) attached: Mutex<Option<Arc<dyn AttachedTransaction>>>,
    /// Holds the snapshot that it reads; behind the transaction, so that it outlasts it.
    pub(crate) held: Option<Arc<HeldSnapshot>>,
    /// True when that part began before the running statement.
    pub(crate) attached_before: bool,
    /// Its hold on attached tables, which ends behind that part.
    pub(crate) hold: Mutex<OwnHold>,
}

/// The modes of a new transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) isolation: Isolation,
    pub(crate) access: AccessMode,
    /// Name of the level in SHOW.
    pub(crate) level: &'static str,
    pub(crate) deferral: Deferral,
}

impl Modes {
    /// These, and no others than the usual.
    pub(crate) fn new(isolation: Isolation, access: AccessMode) -> Self {
        Self { isolation, access, level: isolation.name(), deferral: Deferral::No }
    }

    /// These modes where `given` says nothing.
    pub(crate) fn with(self, given: TransactionModes) -> Self {
        Self {
            isolation: given.isolation.map_or(self.isolation, isolation_of),
            access: given.access.unwrap_or(self.access),
            level: given.isolation.map_or(self.level, level_of),
            deferral: given.deferral.unwrap_or(self.deferral),
        }
    }
}

/// The level that SQL names.
pub(crate) fn isolation_of(given: sql::statement::Isolation) -> Isolation {
    match given {
        sql::statement::Isolation::ReadUncommitted | sql::statement::Isolation::ReadCommitted => {
            Isolation::ReadCommitted
        }
        sql::statement::Isolation::Snapshot => Isolation::Snapshot,
        sql::statement::Isolation::Serializable => Isolation::Serializable,
    }
}

/// The name of the level that SQL names.
pub(crate) fn level_of(given: sql::statement::Isolation) -> &'static str {
    match given {
        sql::statement::Isolation::ReadUncommitted => "read uncommitted",
        given => isolation_of(given).name(),
    }
}

/// The statement has to be bound again: a table it names changed while it waited.
pub(crate) fn stale() -> Error {
    Error::new(SqlState::STALE_CATALOG, "a table changed while the statement waited for it")
}

impl Work {
    /// Begins a transaction that sees these temporary relations, at `now_micros` since 1970.
    pub(crate) fn begin(
        inner: &Inner,
        modes: Modes,
        begun: Begun,
        temporary: Arc<State>,
        now_micros: i64,
    ) -> Result<Self> {
        let txn = inner.stores.transactions.begin(modes.isolation)?;
        let locks = HeldLocks { txn: txn.id(), held: Vec::new() };
        let reading = ReadLocks { txn: txn.id(), held: Vec::new() };
        Ok(Self {
            reading,
            txn,
            begun,
            health: Health::Good,
            access: modes.access,
            level: modes.level,
            deferral: modes.deferral,
            now_micros,
            statements: 0,
            catalog: None,
            temporary,
            index_changes: Vec::new(),
            locks,
            savepoints: Vec::new(),
            settings: Vec::new(),
            cursors: 0,
            descriptors: Descriptors::default(),
            pending: Vec::new(),
            arrivals: Vec::new(),
            wide: Touched::new(),
            deferred: Deferred::default(),
            number: OwnNumber::default(),
            sequences: OnceLock::new(),
            reads: Reads::default(),
            read_log: OnceLock::new(),
            runs_once: false,
            attached: Mutex::default(),
            held: None,
            attached_before: false,
            hold: Mutex::default(),
        })
    }

    /// Its modes, for AND CHAIN.
    pub(crate) fn modes(&self) -> Modes {
        let Self { access, level, deferral, .. } = *self;
        Modes { isolation: self.txn.isolation(), access, level, deferral }
    }

    /// Refuses to write in a READ ONLY transaction.
    ///
    /// # Errors
    /// 25006.
    pub(crate) fn check_writable(&self, command: &str) -> Result<()> {
        if self.access == AccessMode::ReadWrite {
            return Ok(());
        }
        let message = format!("cannot execute {command} in a read-only transaction");
        Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// As [`Self::check_writable`], for rows of the relation that the catalog calls `key`: those of
    /// temporary ones are the session's own.
    ///
    /// # Errors
    /// 25006.
    pub(crate) fn check_writes(&self, key: &str, command: &str) -> Result<()> {
        if RelationName::schema_of_key(key) == "pg_temp" {
            return Ok(());
        }
        self.check_writable(command)
    }

    /// The catalog as this transaction sees it.
    pub(crate) fn catalog(&self, inner: &Inner) -> Arc<State> {
        let shared = self.shared_catalog(inner);
        if self.temporary.is_empty() {
            shared
        } else {
            Arc::new(shared.with_temporary(&self.temporary))
        }
    }

    /// The catalog without temporary relations.
    pub(crate) fn shared_catalog(&self, inner: &Inner) -> Arc<State> {
        self.catalog.clone().unwrap_or_else(|| inner.stores.relations.snapshot())
    }

    /// True when it sees the relations that everybody does, and no others.
    pub(crate) fn sees_committed_catalog(&self) -> bool {
        self.catalog.is_none()
            && self.temporary.is_empty()
            && self.index_changes.is_empty()
            && self.wide.is_empty()
    }

    /// True when committing would change nothing.
    pub(crate) fn has_only_read(&self) -> bool {
        self.txn.changes().is_none()
            && self.sees_committed_catalog()
            && self.sequences.get().is_none()
            && self.number.get().is_none()
            && self.pending.is_empty()
            && self.deferred.is_empty()
            && !self.has_attached_changes()
    }

    /// True when it has what another statement may wait for while that has a grant of memory: rows,
    /// the catalog, or a lock beyond those of a statement that reads or writes rows.
    pub(crate) fn is_in_the_way(&self) -> bool {
        let id = self.txn.id();
        self.txn.changes().is_some()
            || self.catalog.is_some()
            || !self.index_changes.is_empty()
            || !self.wide.is_empty()
            || self.locks.held.iter().any(|lock| lock.keeps_writers_out(id))
    }

    /// Notes what it did to a wide table.
    pub(crate) fn touch(&mut self, wide: &Arc<TableEntry>, touch: Touch) {
        if !self.has_touched(wide, touch) {
            self.wide.push((Arc::clone(wide), touch));
        }
    }

    /// True when the transaction made this change to the wide table.
    pub(crate) fn has_touched(&self, wide: &TableEntry, touch: Touch) -> bool {
        let is = |known: &TableEntry| known.freshness.is_same(&wide.freshness);
        self.wide.iter().any(|(known, done)| *done == touch && is(known))
    }

    /// Which wide tables its queries may read. Under SERIALIZABLE none: what is read has to be
    /// noted of the tables themselves.
    pub(crate) fn wide_reader(&self) -> WideReader {
        let is_any = self.txn.isolation() != Isolation::Serializable;
        WideReader {
            at: is_any.then(|| self.txn.snapshot().base()),
            touched: self.wide.iter().map(|(wide, _)| Arc::clone(&wide.freshness)).collect(),
        }
    }

    /// An index was added to a table that other transactions know.
    pub(crate) fn index_added(&mut self, table: &Arc<Table>, id: IndexId) {
        self.index_changes.push(IndexChange::Added(Arc::clone(table), id));
    }

    /// An index is no longer needed once this transaction has committed.
    pub(crate) fn index_dropped(&mut self, table: &Arc<Table>, id: IndexId) {
        table.set_index_dropped_by(id, self.txn.id());
        self.index_changes.push(IndexChange::Dropped(Arc::clone(table), id));
    }

    /// Changes the catalog for this transaction, and for all when it commits; one transaction at a
    /// time does. `who` owns what is new. When `change` fails nothing changes.
    ///
    /// # Errors
    /// Errors of `change`; 40P01 or 57014 while waiting for another transaction that changes it.
    pub(crate) fn change_catalog<T>(
        &mut self,
        inner: &Inner,
        cancel: &CancelHandle,
        who: &Who,
        change: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        self.lock(&inner.catalog_lock, LockMode::AccessExclusive, cancel)?;
        let shared = self.shared_catalog(inner);
        let mut state = State::clone(&self.catalog(inner));
        let value = change(&mut state)?;
        partitions::settle(&mut state.tables)?;
        families::settle(&mut state.tables);
        let (mut changed, temporary) = state.split();
        wide::check(&changed)?;
        changed.settle_rights(&shared, who);
        changed.settle_comments();
        changed.settle_row_security();
        changed.settle_triggers();
        if !changed.is_same(&shared) {
            self.catalog = Some(Arc::new(changed));
        }
        if !temporary.is_same(&self.temporary) {
            self.temporary = Arc::new(temporary);
        }
        Ok(value)
    }

    /// True when the lock is among those it holds.
    pub(crate) fn holds(&self, lock: &Arc<TableLock>) -> bool {
        self.locks.held.iter().any(|held| Arc::ptr_eq(held, lock))
    }

    /// Asks for the lock without waiting.
    pub(crate) fn ask(&mut self, lock: &Arc<TableLock>, mode: LockMode) -> Asked {
        let asked = lock.ask(self.txn.manager(), self.txn.id(), mode);
        match (asked, mode) {
            (Asked::Granted, LockMode::AccessShare) => self.reading.held.push(Arc::clone(lock)),
            (Asked::Granted, _) => self.locks.held.push(Arc::clone(lock)),
            _ => {}
        }
        asked
    }

    /// Says that the transaction reads a table, unless somebody has it alone or waits for that:
    /// then false. One statement alone only looks.
    pub(crate) fn try_read(&mut self, lock: &Arc<TableLock>) -> bool {
        if self.begun == Begun::ForOneStatement {
            return !lock.is_closed();
        }
        let txn = self.txn.id();
        if lock.is_read_by(txn) {
            return true;
        }
        let is_read = lock.try_read(txn);
        if is_read {
            self.reading.held.push(Arc::clone(lock));
        }
        is_read
    }

    /// Gives a lock back before the transaction ends: what it guards was not changed.
    pub(crate) fn give_back(&mut self, lock: &Arc<TableLock>) {
        self.locks.held.retain(|held| !Arc::ptr_eq(held, lock));
        lock.release(self.txn.id());
    }

    /// True when the transaction has changed the catalog.
    pub(crate) fn has_changed_catalog(&self) -> bool {
        self.catalog.is_some()
    }

    /// Takes the lock, waiting for others; true when it waited.
    ///
    /// # Errors
    /// 40P01, 57014.
    pub(crate) fn lock(
        &mut self,
        lock: &Arc<TableLock>,
        mode: LockMode,
        cancel: &CancelHandle,
    ) -> Result<bool> {
        let mut waited = false;
        loop {
            match self.ask(lock, mode) {
                Asked::Held | Asked::Granted => return Ok(waited),
                Asked::Wait(other) => {
                    waited = true;
                    let outcome = self.txn.wait(other, || cancel.check());
                    outcome.inspect_err(|_| lock.leave(self.txn.id()))?;
                }
            }
        }
    }

    /// The entry of the wanted table, locked, if its rows are still where they were.
    ///
    /// # Errors
    /// [`stale`] when the table is another one now: the statement has to be bound again.
    pub(crate) fn lock_table(
        &mut self,
        inner: &Inner,
        cancel: &CancelHandle,
        wanted: WantedTable<'_>,
    ) -> Result<Arc<TableEntry>> {
        let WantedTable { name, storage, mode } = wanted;
        let find = |work: &Self| {
            let state = work.catalog(inner);
            let entry = state.tables.get(name).cloned();
            entry.filter(|e| Arc::ptr_eq(e.storage(), storage)).ok_or_else(stale)
        };
        let version = inner.stores.relations.version();
        let entry = find(self)?;
        self.lock(&entry.lock, mode, cancel)?;
        // Whoever changed the table before has committed by now, and it stays from here on.
        if self.catalog.is_none() && inner.stores.relations.version() == version {
            return Ok(entry);
        }
        let locked = find(self)?;
        if Arc::ptr_eq(&locked, &entry) || locked.def == entry.def {
            Ok(locked)
        } else {
            Err(stale())
        }
    }

    /// This place, to come back to.
    pub(crate) fn place(&mut self) -> Place {
        Place {
            mark: self.txn.mark(),
            access: self.access,
            catalog: self.catalog.clone(),
            temporary: Arc::clone(&self.temporary),
            index_changes: self.index_changes.len(),
            settings: self.settings.len(),
            cursors: self.cursors,
            descriptors: self.descriptors.opened(),
            pending: self.pending.len(),
            wide: self.wide.len(),
            deferred: self.deferred.place(),
            attached: self.attached_mark(),
        }
    }

    /// Takes back everything since `place`; says what the session takes back.
    pub(crate) fn go_back(&mut self, place: &Place) -> Before {
        self.txn.rollback_to(place.mark);
        self.access = place.access;
        self.catalog.clone_from(&place.catalog);
        self.temporary = Arc::clone(&place.temporary);
        undo_index_changes(self.index_changes.split_off(place.index_changes));
        let settings = self.settings.get(place.settings).cloned();
        self.settings.truncate(place.settings);
        self.descriptors.go_back(place.descriptors);
        self.pending.truncate(place.pending);
        self.wide.truncate(place.wide);
        self.deferred.go_back(place.deferred);
        self.attached_go_back(place.attached);
        Before { settings, cursors: place.cursors }
    }

    pub(crate) fn has_savepoints(&self) -> bool {
        !self.savepoints.is_empty()
    }

    /// True when nobody can come back to what it did before an error.
    pub(crate) fn ends_when_it_fails(&self) -> bool {
        self.health == Health::Good && self.savepoints.is_empty()
    }

    pub(crate) fn savepoint(&mut self, name: String) {
        let place = self.place();
        self.savepoints.push(Savepoint { name, place });
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|s| s.name == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    /// True when the transaction was READ ONLY before its newest savepoint.
    pub(crate) fn is_inside_read_only(&self) -> bool {
        self.savepoints.last().is_some_and(|s| s.place.access == AccessMode::ReadOnly)
    }

    /// RELEASE: the savepoint and those after it are forgotten. What SET TRANSACTION said ends.
    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        self.access = self.savepoints[at].place.access;
        self.savepoints.truncate(at);
        Ok(())
    }

    /// ROLLBACK TO: the savepoint stays; says what the session takes back.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<Before> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at + 1);
        let place = self.savepoints[at].place.clone();
        let settings = self.go_back(&place);
        self.health = Health::Good;
        Ok(settings)
    }

    /// As [`Self::rollback`], for a session whose statement was cancelled: much is taken back after
    /// its answer.
    pub(crate) fn rollback_behind(self) {
        if self.txn.is_long() {
            let ending = self.txn.ending();
            ending.run(move || self.rollback());
        } else {
            self.rollback();
        }
    }

    /// Ends the transaction and takes back what it did.
    pub(crate) fn rollback(self) {
        drop(self.reading);
        self.txn.rollback();
        undo_index_changes(self.index_changes);
    }
}

/// Takes away the indexes that were added; those that were dropped are there again.
fn undo_index_changes(changes: Vec<IndexChange>) {
    for change in changes.into_iter().rev() {
        match change {
            IndexChange::Added(table, id) => table.remove_index(id),
            IndexChange::Dropped(table, id) => table.set_index_dropped_by(id, TxnId::NONE),
        }
    }
}

/// 40001 for a row that another transaction changed first.
pub(crate) fn lost_update() -> Error {
    let message = "could not serialize access due to concurrent update";
    Error::new(SqlState::SERIALIZATION_FAILURE, message)
}

/// Everything committed, and what the transaction itself wrote.
pub(crate) fn newest(work: &Work) -> Snapshot {
    Snapshot::new(Snapshot::ALL.base(), work.txn.id())
}

/// Snapshot of rows that others changed while a statement ran; None when the level allows no
/// such look.
pub(crate) fn recheck_snapshot(work: &Work) -> Option<Snapshot> {
    let again = work.txn.isolation() == Isolation::ReadCommitted;
    // The transaction stays announced with its older snapshot, so nothing between is collected.
    again.then(|| Snapshot::new(work.txn.manager().newest(), work.txn.id()))
}
