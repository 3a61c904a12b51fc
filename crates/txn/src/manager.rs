//! Running transactions, their snapshots, their waits for each other, and the garbage they leave.
//!
//! ```text
//! begin -> slot (snapshot) -> work: undo records -> commit latch: timestamp, log, stamps, publish
//!                               '-> Wait(txn) -> wait until its slot is free, or 40P01
//! ended transactions, oldest first -- every snapshot at or above --> UndoBuffer::collect
//! ```
//! Invariants: a snapshot is in its slot before anything is read with it, and no timestamp above
//! the low-water mark was handed out before; stamps of a transaction are complete before its
//! timestamp is published.
//! Elsewhere: versions (`storage::undo`), the log (`wal`).
//! Source: Neumann, Mühlbauer, Kemper 2015, section 2.

mod behind;
mod garbage;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use storage::{Snapshot, StatementNumber, Timestamp, TxnId, UndoBuffer, UndoMark};
use types::{Error, Result, SqlState};

use behind::Behind;
use garbage::Garbage;
pub use slots::SLOTS;
use slots::{Slots, Waited};

/// How often a waiting transaction looks whether it was cancelled.
const WAIT_SLICE: Duration = Duration::from_millis(5);

/// Changed rows that are taken back in some 20 milliseconds.
const LONG_ROWS: u64 = 1 << 14;

/// Commits during a transaction after which its end collects what all threads left.
const HELD_BACK_MAX: u64 = 16;

/// Isolation of a transaction from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see what was committed before the first of them; the first writer of a row
    /// wins.
    #[default]
    Snapshot,
    /// As if transactions ran one after the other: what was read is validated at commit.
    Serializable,
}

impl Isolation {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::Snapshot => "repeatable read",
            Self::Serializable => "serializable",
        }
    }
}

/// All transactions of one database.
pub struct TransactionManager {
    /// The newest timestamp that snapshots may start from.
    published: AtomicU64,
    /// The commit latch: the newest timestamp handed out.
    last: Mutex<Timestamp>,
    slots: Slots,
    garbage: Garbage,
    behind: Arc<Behind>,
}

/// Steps of a commit while it holds the commit latch.
pub trait CommitWork {
    /// Looks at the undo buffers of the transactions that committed after `snapshot`, newest first,
    /// and refuses to commit if they changed what this transaction read.
    ///
    /// # Errors
    /// 40001.
    fn validate(&mut self, _newer: &mut dyn Iterator<Item = &UndoBuffer>) -> Result<()> {
        Ok(())
    }

    /// Writes the transaction to the log buffer and makes catalog changes visible.
    ///
    /// # Errors
    /// Why the transaction cannot commit; it is rolled back.
    fn publish(&mut self, ts: Timestamp, undo: &UndoBuffer) -> Result<()>;
}

impl TransactionManager {
    /// A manager whose first commit comes after `last`.
    pub fn new(last: Timestamp) -> Arc<Self> {
        Arc::new(Self {
            published: AtomicU64::new(last.0),
            last: Mutex::new(last),
            slots: Slots::new(),
            garbage: Garbage::default(),
            behind: Arc::default(),
        })
    }

    /// The newest commit that is visible.
    pub fn newest(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::SeqCst))
    }

    /// Starts a transaction.
    ///
    /// # Errors
    /// 53300 when too many run.
    pub fn begin(self: &Arc<Self>, isolation: Isolation) -> Result<Transaction> {
        let slot = self.slots.claim().ok_or_else(|| {
            let message = format!("more than {} transactions at once", slots::SLOTS);
            Error::new(SqlState::TOO_MANY_CONNECTIONS, message)
        })?;
        let ts = self.slots.announce(slot, &self.published);
        let id = self.slots.id(slot);
        Ok(Transaction {
            manager: Arc::clone(self),
            slot,
            snapshot: Snapshot::new(ts, id),
            undo: None,
            isolation,
            wait_limit: None,
        })
    }

    /// Runs `work` while no transaction can commit, with the newest timestamp: for checkpoints.
    pub fn with_commits_held<T>(&self, work: impl FnOnce(Timestamp) -> T) -> T {
        let last = self.last.lock();
        work(*last)
    }

    /// The oldest timestamp that a snapshot still reads.
    pub fn low_water_mark(&self) -> Timestamp {
        // Read before the slots: whoever announces itself later starts from here or above.
        let newest = self.published.load(Ordering::SeqCst);
        Timestamp(self.slots.oldest().map_or(newest, |oldest| oldest.min(newest)))
    }

    /// Transactions that ended but are still needed, and their bytes: grows while a snapshot is
    /// held.
    pub fn garbage(&self) -> (usize, u64) {
        self.garbage.size()
    }

    /// Running transactions: id, snapshot, and for whom it waits.
    pub fn running(&self) -> Vec<(TxnId, Timestamp, Option<TxnId>)> {
        self.slots.running()
    }

    /// The place of a transaction among those that run, below [`SLOTS`].
    pub fn slot_of(txn: TxnId) -> usize {
        txn.0 as usize & (SLOTS - 1)
    }

    /// The transaction that has this place now.
    pub fn in_slot(&self, slot: usize) -> Option<TxnId> {
        Some(self.slots.id(slot)).filter(|txn| txn.0 != 0)
    }

    /// Whether `txn` does nothing any more but take back what it did: who waits for it waits for
    /// no client.
    pub fn is_ending(&self, txn: TxnId) -> bool {
        self.slots.is_ending(txn)
    }

    /// Frees what no snapshot needs, and waits, not for long, for what is taken back behind the
    /// back of its session. Cheap when there is nothing.
    pub fn collect(&self) {
        self.behind.wait();
        self.garbage.collect_all(|| self.low_water_mark());
    }

    fn end(&self, slot: usize, snapshot: Timestamp) {
        self.slots.release(slot);
        // Others could not collect while it ran, and nobody may come after it.
        let held_back = self.newest().0.saturating_sub(snapshot.0) > HELD_BACK_MAX;
        let all = held_back || self.slots.oldest().is_none();
        self.garbage.collect_after(all, || self.low_water_mark());
        storage::settle();
    }

    /// Gives the records their timestamp, under the latch held by `last`.
    fn stamp(&self, last: &mut Timestamp, ts: Timestamp, mut undo: UndoBuffer) {
        undo.stamp(ts);
        *last = ts;
        self.garbage.add(ts, undo);
        self.published.store(ts.0, Ordering::SeqCst);
    }
}

/// A running transaction; dropped without a commit it is rolled back.
pub struct Transaction {
    manager: Arc<TransactionManager>,
    slot: usize,
    snapshot: Snapshot,
    undo: Option<UndoBuffer>,
    isolation: Isolation,
    /// How long it waits for another one.
    wait_limit: Option<Duration>,
}

/// 55P03: a lock was waited for longer than allowed.
pub fn lock_timeout() -> Error {
    Error::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
}

impl Transaction {
    /// Its number.
    pub fn id(&self) -> TxnId {
        self.snapshot.txn
    }

    /// Snapshot of the transaction.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Its level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Changes the level; only before the first statement.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// The manager.
    pub fn manager(&self) -> &Arc<TransactionManager> {
        &self.manager
    }

    /// Sees from now on what is committed now: what READ COMMITTED does before each statement.
    pub fn refresh(&mut self) {
        let base = self.manager.slots.announce(self.slot, &self.manager.published);
        self.snapshot = Snapshot::new(base, self.snapshot.txn);
    }

    /// Sees what `other` sees, besides changes of its own: `other` has to last as long as this one,
    /// or what it sees may be collected.
    pub fn see_as(&mut self, other: &Self) {
        self.snapshot = self.snapshot.with_commits_of(other.snapshot);
    }

    /// Where its changes go.
    pub fn undo(&mut self) -> &mut UndoBuffer {
        let id = self.snapshot.txn;
        self.undo.get_or_insert_with(|| UndoBuffer::new(id))
    }

    /// A statement that writes begins: what its queries see, which is not what it writes itself.
    ///
    /// # Errors
    /// 54000 after 2^32 - 2 others.
    pub fn begin_statement(&mut self) -> Result<Snapshot> {
        let until = match &mut self.undo {
            Some(undo) => undo.begin_statement()?,
            None => StatementNumber::default(),
        };
        Ok(self.snapshot.before(until))
    }

    /// Its changes, if it made any.
    pub fn changes(&self) -> Option<&UndoBuffer> {
        self.undo.as_ref().filter(|u| !u.is_empty())
    }

    /// The place from which [`Self::rollback_to`] takes back.
    pub fn mark(&mut self) -> UndoMark {
        self.undo().mark()
    }

    /// Takes back what was done since `mark`.
    pub fn rollback_to(&mut self, mark: UndoMark) {
        self.undo().rollback_to(mark);
    }

    /// How long it waits for each of the others from now on; None for as long as it takes.
    pub fn limit_waits(&mut self, limit: Option<Duration>) {
        self.wait_limit = limit;
    }

    /// Waits until transaction `other` has ended.
    ///
    /// # Errors
    /// 40P01 when it waits, perhaps through others, for this one; 55P03 beyond the limit, but not
    /// for one that only takes back what it did; what `check` returns, which is asked every few
    /// milliseconds.
    pub fn wait(&self, other: TxnId, mut check: impl FnMut() -> Result<()>) -> Result<()> {
        let slots = &self.manager.slots;
        let deadline = self.wait_limit.map(|limit| Instant::now() + limit);
        let outcome = loop {
            match slots.wait(self.slot, other, WAIT_SLICE) {
                Waited::Ended => break Ok(()),
                Waited::Deadlock => {
                    break Err(Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected"));
                }
                Waited::NotYet => {
                    if let Err(error) = check() {
                        break Err(error);
                    }
                    let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if is_late && !slots.is_ending(other) {
                        break Err(lock_timeout());
                    }
                }
            }
        };
        slots.stop_waiting(self.slot);
        outcome
    }

    /// Ends the transaction; its changes become visible together. None without changes.
    ///
    /// # Errors
    /// Errors of `work`; the transaction is then rolled back.
    pub fn commit(mut self, work: &mut dyn CommitWork) -> Result<Option<Timestamp>> {
        let undo = self.undo.take().filter(|u| !u.is_empty());
        let undo = undo.unwrap_or_else(|| UndoBuffer::new(self.snapshot.txn));
        let manager = Arc::clone(&self.manager);
        let mut last = manager.last.lock();
        let ts = Timestamp(last.0 + 1);
        let outcome = manager
            .validate(self.snapshot.base(), self.isolation, work)
            .and_then(|()| work.publish(ts, &undo));
        match outcome {
            Ok(()) => {
                manager.stamp(&mut last, ts, undo);
                Ok(Some(ts))
            }
            Err(error) => {
                drop(last);
                self.undo = Some(undo);
                Err(error)
            }
        }
    }

    /// Validates the transaction, and says what `work` says of it at a timestamp of its own: what
    /// PREPARE TRANSACTION does. Nobody sees its changes yet. From now on it reads nothing, keeps
    /// no versions that others left, and its commit validates nothing.
    ///
    /// # Errors
    /// Errors of `work`; the transaction then is as it was.
    pub fn prepare(&mut self, work: &mut dyn CommitWork) -> Result<Timestamp> {
        let manager = Arc::clone(&self.manager);
        let none = UndoBuffer::new(self.snapshot.txn);
        let mut last = manager.last.lock();
        let ts = Timestamp(last.0 + 1);
        manager.validate(self.snapshot.base(), self.isolation, work)?;
        work.publish(ts, self.undo.as_ref().unwrap_or(&none))?;
        manager.stamp(&mut last, ts, none);
        drop(last);
        self.let_go();
        Ok(ts)
    }

    /// Reads nothing any more: see [`Self::prepare`].
    pub fn let_go(&mut self) {
        self.isolation = Isolation::ReadCommitted;
        self.manager.slots.let_go(self.slot);
    }

    /// Ends the transaction and takes back its changes.
    pub fn rollback(self) {
        drop(self);
    }

    /// True when taking back its changes takes longer than somebody who cancels wants to wait.
    pub fn is_long(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.rows() >= LONG_ROWS)
    }

    /// Notes that it does nothing any more but take back what it did; where that is done.
    pub fn ending(&self) -> Ending {
        self.manager.slots.set_ending(self.slot);
        Ending(Arc::clone(&self.manager.behind))
    }
}

/// The end of a transaction, behind the back of its session.
pub struct Ending(Arc<Behind>);

impl Ending {
    /// Does `rest`, which ends the transaction, in a thread of its own. Until then its rows and
    /// locks are as those of any transaction that runs.
    pub fn run(self, rest: impl FnOnce() + Send + 'static) {
        self.0.run(rest);
    }
}

impl TransactionManager {
    fn validate(
        &self,
        since: Timestamp,
        isolation: Isolation,
        work: &mut dyn CommitWork,
    ) -> Result<()> {
        if isolation != Isolation::Serializable {
            return Ok(());
        }
        let newer = self.garbage.newer(since);
        work.validate(&mut newer.iter().map(|undo| &**undo))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(mut undo) = self.undo.take().filter(|u| !u.is_empty()) {
            let start = UndoBuffer::new(undo.txn()).mark();
            undo.rollback_to(start);
            // Restoring the old values counts as a commit of them: see `storage::undo`.
            let mut last = self.manager.last.lock();
            let ts = Timestamp(last.0 + 1);
            self.manager.stamp(&mut last, ts, undo);
        }
        self.manager.end(self.slot, self.snapshot.base());
    }
}
