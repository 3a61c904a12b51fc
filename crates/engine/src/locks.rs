//! Locks on whole tables: writers of rows share one, who changes the table itself has it alone.
//!
//! Readers take none: they read their snapshot. A lock is held until the transaction ends.
//! Departure from PostgreSQL: of its eight modes two are told apart, because readers never wait.

use parking_lot::Mutex;
use storage::TxnId;

/// How a table is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockMode {
    /// Rows are written: any number at once.
    Write,
    /// The table itself changes: nobody else writes.
    Exclusive,
}

/// The lock of one table; it stays the same when the table's definition changes.
#[derive(Debug, Default)]
pub(crate) struct TableLock(Mutex<Holders>);

#[derive(Debug, Default)]
struct Holders {
    writers: Vec<TxnId>,
    exclusive: Option<TxnId>,
}

/// What came of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is held now, for the first time.
    Granted,
    /// It was held before.
    Held,
    /// This transaction has to end first.
    Wait(TxnId),
}

impl TableLock {
    /// Asks for the lock without waiting.
    pub(crate) fn ask(&self, txn: TxnId, mode: LockMode) -> Asked {
        let mut holders = self.0.lock();
        if let Some(other) = holders.exclusive {
            return if other == txn { Asked::Held } else { Asked::Wait(other) };
        }
        let writes = holders.writers.contains(&txn);
        match mode {
            LockMode::Write if writes => Asked::Held,
            LockMode::Write => {
                holders.writers.push(txn);
                Asked::Granted
            }
            LockMode::Exclusive => {
                if let Some(&other) = holders.writers.iter().find(|&&t| t != txn) {
                    return Asked::Wait(other);
                }
                holders.exclusive = Some(txn);
                if writes { Asked::Held } else { Asked::Granted }
            }
        }
    }

    /// Gives up what `txn` holds.
    pub(crate) fn release(&self, txn: TxnId) {
        let mut holders = self.0.lock();
        holders.writers.retain(|&t| t != txn);
        if holders.exclusive == Some(txn) {
            holders.exclusive = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_share_and_exclude_changes() {
        let lock = TableLock::default();
        let (a, b) = (TxnId(TxnId::BIT | 1), TxnId(TxnId::BIT | 2));
        assert_eq!(lock.ask(a, LockMode::Write), Asked::Granted);
        assert_eq!(lock.ask(b, LockMode::Write), Asked::Granted);
        assert_eq!(lock.ask(a, LockMode::Exclusive), Asked::Wait(b));
        lock.release(b);
        assert_eq!(lock.ask(a, LockMode::Exclusive), Asked::Held);
        assert_eq!(lock.ask(b, LockMode::Write), Asked::Wait(a));
        assert_eq!(lock.ask(a, LockMode::Write), Asked::Held);
        lock.release(a);
        assert_eq!(lock.ask(b, LockMode::Exclusive), Asked::Granted);
    }
}
