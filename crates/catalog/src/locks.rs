//! Locks on whole tables, in PostgreSQL's eight modes.
//!
//! ```text
//! ask -> nobody in the way, nobody ahead -> held until the transaction ends
//!     '-> queued behind who holds or waits for a mode that excludes it -> Wait(txn) -> ask again
//! readers of transactions: one bit for each slot of a transaction, set without a latch
//! ```
//! Invariants: who reads sets its bit before it looks whether the lock is closed; who wants
//! ACCESS EXCLUSIVE closes the lock before it looks at the bits. So one sees the other.
//! Statements outside of transactions only look whether the lock is closed: their snapshot keeps
//! what they read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use sql::statement::TableLockMode;
use storage::TxnId;
use txn::manager::{SLOTS, TransactionManager};

/// How a table is locked.
pub use sql::statement::TableLockMode as LockMode;

/// The modes, from weak to strong.
pub const MODES: [LockMode; 8] = [
    TableLockMode::AccessShare,
    TableLockMode::RowShare,
    TableLockMode::RowExclusive,
    TableLockMode::ShareUpdateExclusive,
    TableLockMode::Share,
    TableLockMode::ShareRowExclusive,
    TableLockMode::Exclusive,
    TableLockMode::AccessExclusive,
];

/// A set of modes: bit `i` for mode number `i`.
type ModeSet = u8;

fn bit(mode: LockMode) -> ModeSet {
    1 << mode as u8
}

/// The modes that others may not have beside this one.
fn excluded(mode: LockMode) -> ModeSet {
    match mode {
        TableLockMode::AccessShare => 0b1000_0000,
        TableLockMode::RowShare => 0b1100_0000,
        TableLockMode::RowExclusive => 0b1111_0000,
        TableLockMode::ShareUpdateExclusive => 0b1111_1000,
        TableLockMode::Share => 0b1110_1100,
        TableLockMode::ShareRowExclusive => 0b1111_1100,
        TableLockMode::Exclusive => 0b1111_1110,
        TableLockMode::AccessExclusive => 0b1111_1111,
    }
}

/// The lock of one table; it stays the same when the table's definition changes.
#[derive(Debug, Default)]
pub struct TableLock {
    holders: Mutex<Holders>,
    /// True when somebody has, or waits for, ACCESS EXCLUSIVE.
    is_closed: AtomicBool,
    /// Transactions that read, by their slots.
    readers: Readers,
}

#[derive(Debug)]
struct Readers([AtomicU64; SLOTS / 64]);

impl Default for Readers {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; SLOTS / 64])
    }
}

#[derive(Debug, Default)]
struct Holders {
    held: Vec<(TxnId, ModeSet)>,
    /// In the order in which they came.
    waiting: Vec<(TxnId, LockMode)>,
}

impl Holders {
    fn held_by(&self, txn: TxnId) -> ModeSet {
        self.held.iter().find(|(holder, _)| *holder == txn).map_or(0, |(_, modes)| *modes)
    }

    fn is_closed(&self) -> bool {
        let closes = bit(TableLockMode::AccessExclusive);
        self.held.iter().any(|(_, modes)| modes & closes != 0)
            || self.waiting.iter().any(|(_, mode)| bit(*mode) == closes)
    }
}

/// Outcome of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The transaction got the lock, which it did not hold before.
    Granted,
    /// The transaction held the lock already.
    Held,
    /// This transaction has to end first.
    Wait(TxnId),
}

/// One who holds a lock or waits for it.
pub struct LockUser {
    /// Transaction that asked.
    pub txn: TxnId,
    /// Mode that it asked for.
    pub mode: LockMode,
    /// True when it has the lock, false when it waits.
    pub is_granted: bool,
}

impl Readers {
    fn place(&self, txn: TxnId) -> (&AtomicU64, u64) {
        let slot = TransactionManager::slot_of(txn);
        (&self.0[slot / 64], 1 << (slot % 64))
    }

    fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let bits = bits.load(Ordering::SeqCst);
            (0..64).filter(move |slot| bits >> slot & 1 == 1).map(move |slot| word * 64 + slot)
        })
    }
}

impl TableLock {
    /// True when somebody has the table alone, or waits for that.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// True when `txn` has said that it reads.
    pub fn is_read_by(&self, txn: TxnId) -> bool {
        let (word, bit) = self.readers.place(txn);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Takes ACCESS SHARE without a latch; false when it may have to wait.
    pub fn try_read(&self, txn: TxnId) -> bool {
        let (word, bit) = self.readers.place(txn);
        word.fetch_or(bit, Ordering::SeqCst);
        if self.is_closed() {
            word.fetch_and(!bit, Ordering::SeqCst);
            return false;
        }
        true
    }

    /// Gives ACCESS SHARE up, before the slot of `txn` is somebody else's.
    pub fn end_read(&self, txn: TxnId) {
        let (word, bit) = self.readers.place(txn);
        word.fetch_and(!bit, Ordering::SeqCst);
    }

    /// Asks for the lock without waiting; who has to wait is queued until it has the lock, or
    /// leaves.
    pub fn ask(&self, manager: &TransactionManager, txn: TxnId, mode: LockMode) -> Asked {
        let mut holders = self.holders.lock();
        let own = holders.held_by(txn);
        let has = own & bit(mode) != 0
            || mode == TableLockMode::AccessShare && (own != 0 || self.is_read_by(txn));
        if has {
            return Asked::Held;
        }
        if !holders.waiting.iter().any(|(waiter, known)| (*waiter, *known) == (txn, mode)) {
            holders.waiting.push((txn, mode));
        }
        self.is_closed.store(holders.is_closed(), Ordering::SeqCst);
        if let Some(other) = self.in_the_way(&holders, manager, txn, mode) {
            return Asked::Wait(other);
        }
        holders.waiting.retain(|(waiter, _)| *waiter != txn);
        if mode == TableLockMode::AccessShare {
            let (word, bit) = self.readers.place(txn);
            word.fetch_or(bit, Ordering::SeqCst);
        } else {
            match holders.held.iter_mut().find(|(holder, _)| *holder == txn) {
                Some((_, modes)) => *modes |= bit(mode),
                None => holders.held.push((txn, bit(mode))),
            }
        }
        self.is_closed.store(holders.is_closed(), Ordering::SeqCst);
        if own != 0 { Asked::Held } else { Asked::Granted }
    }

    /// One for whom `txn` has to wait. Who has some lock on the table does not queue behind those
    /// who wait for it.
    fn in_the_way(
        &self,
        holders: &Holders,
        manager: &TransactionManager,
        txn: TxnId,
        mode: LockMode,
    ) -> Option<TxnId> {
        let excludes = excluded(mode);
        let others = holders.held.iter().filter(|(holder, _)| *holder != txn);
        let mut others = others.filter(|(_, modes)| modes & excludes != 0);
        if let Some((other, _)) = others.next() {
            return Some(*other);
        }
        if mode == TableLockMode::AccessExclusive {
            let own = TransactionManager::slot_of(txn);
            let reader = self.readers.slots().filter(|slot| *slot != own);
            let reader = reader.filter_map(|slot| manager.in_slot(slot)).next();
            if reader.is_some() {
                return reader;
            }
        }
        if holders.held_by(txn) != 0 || self.is_read_by(txn) {
            return None;
        }
        let ahead = holders.waiting.iter().take_while(|(waiter, _)| *waiter != txn);
        ahead.filter(|(_, wanted)| bit(*wanted) & excludes != 0).map(|(waiter, _)| *waiter).next()
    }

    /// True when `txn` holds a mode in which others cannot write the table.
    pub fn keeps_writers_out(&self, txn: TxnId) -> bool {
        let weak =
            bit(LockMode::AccessShare) | bit(LockMode::RowShare) | bit(LockMode::RowExclusive);
        self.holders.lock().held_by(txn) & !weak != 0
    }

    /// The modes that `txn` holds.
    pub fn held_by(&self, txn: TxnId) -> Vec<LockMode> {
        let mut held = self.holders.lock().held_by(txn);
        if self.is_read_by(txn) {
            held |= bit(LockMode::AccessShare);
        }
        MODES.into_iter().filter(|mode| held & bit(*mode) != 0).collect()
    }

    /// Stops waiting.
    pub fn leave(&self, txn: TxnId) {
        let mut holders = self.holders.lock();
        holders.waiting.retain(|(waiter, _)| *waiter != txn);
        self.is_closed.store(holders.is_closed(), Ordering::SeqCst);
    }

    /// Gives up what `txn` holds but for ACCESS SHARE.
    pub fn release(&self, txn: TxnId) {
        let mut holders = self.holders.lock();
        holders.held.retain(|(holder, _)| *holder != txn);
        holders.waiting.retain(|(waiter, _)| *waiter != txn);
        self.is_closed.store(holders.is_closed(), Ordering::SeqCst);
    }

    /// Lists the holders of the lock and those who wait for it.
    pub fn users(&self, manager: &TransactionManager) -> Vec<LockUser> {
        let holders = self.holders.lock();
        let readers = self.readers.slots().filter_map(|slot| manager.in_slot(slot));
        let reads = TableLockMode::AccessShare;
        let mut all: Vec<LockUser> =
            readers.map(|txn| LockUser { txn, mode: reads, is_granted: true }).collect();
        for &(txn, modes) in &holders.held {
            let held = MODES.into_iter().filter(|mode| modes & bit(*mode) != 0);
            all.extend(held.map(|mode| LockUser { txn, mode, is_granted: true }));
        }
        let waiting = holders.waiting.iter();
        all.extend(waiting.map(|&(txn, mode)| LockUser { txn, mode, is_granted: false }));
        all
    }
}

#[cfg(test)]
mod tests {
    use storage::Timestamp;
    use txn::manager::Isolation;

    use super::*;

    #[test]
    fn modes_exclude_each_other_as_in_postgresql() {
        for a in MODES {
            for b in MODES {
                let (ab, ba) = (excluded(a) & bit(b) != 0, excluded(b) & bit(a) != 0);
                assert_eq!(ab, ba, "{a:?} {b:?}");
            }
        }
        let count = |mode| excluded(mode).count_ones();
        assert_eq!(MODES.map(count), [1, 2, 4, 5, 5, 6, 7, 8]);
    }

    #[test]
    fn readers_wait_behind_who_waits_to_be_alone() {
        let manager = TransactionManager::new(Timestamp(1));
        let begin = || manager.begin(Isolation::Snapshot).expect("a slot");
        let (a, b, c) = (begin(), begin(), begin());
        let lock = TableLock::default();
        assert!(lock.try_read(a.id()));
        assert_eq!(lock.ask(&manager, b.id(), LockMode::RowExclusive), Asked::Granted);
        assert_eq!(lock.ask(&manager, c.id(), LockMode::AccessExclusive), Asked::Wait(b.id()));
        lock.release(b.id());
        assert_eq!(lock.ask(&manager, c.id(), LockMode::AccessExclusive), Asked::Wait(a.id()));
        assert!(!lock.try_read(b.id()));
        assert_eq!(lock.ask(&manager, b.id(), LockMode::AccessShare), Asked::Wait(c.id()));
        // Who holds it goes on.
        assert_eq!(lock.ask(&manager, a.id(), LockMode::RowExclusive), Asked::Granted);
        lock.release(a.id());
        lock.end_read(a.id());
        assert_eq!(lock.ask(&manager, c.id(), LockMode::AccessExclusive), Asked::Granted);
        lock.leave(b.id());
        lock.release(c.id());
        assert!(lock.try_read(b.id()));
        assert!(!lock.is_closed());
    }
}
