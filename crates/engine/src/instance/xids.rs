//! Numbers of transactions as users see them: `txid_current()` and its kin.
//!
//! ```text
//! somebody asks -> next number (running) -- commit at ts --> committed, with ts
//!                                         '-- rolled back --> neither: aborted
//! snapshot at ts: running numbers, and those committed after ts, are in progress
//! ```
//! A transaction has a number when somebody asked for it. Numbers grow, and none is used twice: the
//! log has a bound that no number reaches, which moves in steps ([`STEP`]). After a restart the
//! next number is that bound.
//! Invariant: a number moves from running to committed under the commit latch, before its timestamp
//! is published; so a snapshot has either both the rows and the number, or neither.
//! Elsewhere: what the log says (`durable::marks`), the functions (`statement::identity`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use durable::{COMMITTED_MAX, Named};
use parking_lot::Mutex;
use storage::Timestamp;
use types::Result;

/// The first number; those below have other meanings in PostgreSQL.
pub(crate) const FIRST: u64 = 3;

/// Numbers for which the log is written once.
const STEP: u64 = 1 << 12;

/// Fate of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InProgress,
    Committed,
    Aborted,
    /// Too old to be known.
    Forgotten,
    /// No transaction has the number yet.
    Future,
}

/// Transactions that one snapshot sees, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedSnapshot {
    /// All below have ended.
    pub(crate) xmin: u64,
    /// This one and all above have not.
    pub(crate) xmax: u64,
    /// Numbers between whose transactions have not, in order.
    pub(crate) running: Vec<u64>,
}

/// The numbers of a database.
pub(crate) struct Xids {
    known: Mutex<Known>,
    /// Held while the bound moves.
    moving: Mutex<()>,
}

struct Known {
    next: u64,
    /// The log has this bound.
    below: u64,
    running: BTreeSet<u64>,
    committed: BTreeMap<u64, Timestamp>,
    /// Smaller numbers may have committed or not.
    oldest: u64,
}

impl Xids {
    /// The numbers of a database whose files name `named`.
    pub(crate) fn new(named: &Named) -> Self {
        let next = named.numbers_below.max(FIRST);
        let committed: BTreeMap<u64, Timestamp> =
            named.committed.iter().map(|&number| (number, Timestamp(0))).collect();
        let is_full = committed.len() >= COMMITTED_MAX;
        let oldest = committed.keys().next().filter(|_| is_full).copied().unwrap_or(FIRST);
        let running = BTreeSet::new();
        let known = Known { next, below: next, running, committed, oldest };
        Self { known: Mutex::new(known), moving: Mutex::default() }
    }

    /// A new number; `reserve` writes a bound to the log where that is due.
    ///
    /// # Errors
    /// Errors of `reserve`.
    pub(crate) fn assign(&self, reserve: impl Fn(u64) -> Result<()>) -> Result<u64> {
        loop {
            if let Some(number) = self.next() {
                return Ok(number);
            }
            let _moving = self.moving.lock();
            let (next, below) = {
                let known = self.known.lock();
                (known.next, known.below)
            };
            if next >= below {
                reserve(below + STEP)?;
                self.known.lock().below = below + STEP;
            }
        }
    }

    /// The next number below the bound.
    fn next(&self) -> Option<u64> {
        let mut known = self.known.lock();
        let number = Some(known.next).filter(|next| *next < known.below)?;
        known.next += 1;
        known.running.insert(number);
        Some(number)
    }

    /// The number that the next transaction will have.
    pub(crate) fn upcoming(&self) -> u64 {
        self.known.lock().next
    }

    /// The transaction commits at `ts`, under the commit latch; no snapshot is older than `mark`.
    pub(crate) fn commit(&self, number: u64, ts: Timestamp, mark: impl Fn() -> Timestamp) {
        let mut known = self.known.lock();
        known.running.remove(&number);
        known.committed.insert(number, ts);
        if known.committed.len() < 2 * COMMITTED_MAX {
            return;
        }
        let mark = mark();
        while known.committed.len() > COMMITTED_MAX
            && let Some((&number, &ts)) = known.committed.first_key_value()
            && ts <= mark
        {
            known.committed.pop_first();
            known.oldest = number + 1;
        }
    }

    /// Takes a number that did not commit from those that run.
    fn end(&self, number: u64) {
        self.known.lock().running.remove(&number);
    }

    pub(crate) fn fate(&self, number: u64) -> Fate {
        let known = self.known.lock();
        match number {
            // Numbers with other meanings: PostgreSQL's bootstrap, and rows that are frozen.
            1 | 2 => Fate::Committed,
            0 => Fate::Forgotten,
            _ if number >= known.next => Fate::Future,
            _ if known.running.contains(&number) => Fate::InProgress,
            _ if known.committed.contains_key(&number) => Fate::Committed,
            _ if number < known.oldest => Fate::Forgotten,
            _ => Fate::Aborted,
        }
    }

    /// Transactions that a snapshot of the commits up to `base` sees, for the transaction `own`,
    /// which is not among those that run.
    pub(crate) fn snapshot(&self, base: Timestamp, own: Option<u64>) -> NumberedSnapshot {
        let known = self.known.lock();
        let later = known.committed.iter().filter(|(_, ts)| **ts > base).map(|(number, _)| *number);
        let mut running: BTreeSet<u64> = known.running.iter().copied().chain(later).collect();
        let mut xmax = known.next;
        while running.remove(&(xmax - 1)) {
            xmax -= 1;
        }
        let xmin = running.first().copied().unwrap_or(xmax);
        let running = running.into_iter().filter(|number| Some(*number) != own).collect();
        NumberedSnapshot { xmin, xmax, running }
    }
}

/// The number of one transaction, made when somebody asks for it; its end when dropped.
#[derive(Default)]
pub(crate) struct OwnNumber(OnceLock<NumberCell>);

/// The number of a transaction, for its queries.
#[derive(Clone, Default)]
pub(crate) struct NumberCell(Arc<Numbered>);

#[derive(Default)]
struct Numbered {
    /// 0 while it has none.
    number: AtomicU64,
    /// Set before it has one: whoever never asks does not touch what all sessions share.
    xids: OnceLock<Arc<Xids>>,
}

impl OwnNumber {
    /// The number, if it has one.
    pub(crate) fn get(&self) -> Option<u64> {
        self.0.get()?.get()
    }

    /// Where the number is, or will be.
    pub(crate) fn cell(&self) -> &NumberCell {
        self.0.get_or_init(NumberCell::default)
    }
}

impl NumberCell {
    /// The number, if it has one.
    pub(crate) fn get(&self) -> Option<u64> {
        Some(self.0.number.load(Ordering::Acquire)).filter(|number| *number > 0)
    }

    /// The number of a prepared transaction that files name.
    pub(crate) fn set_again(&self, xids: &Arc<Xids>, number: u64) {
        let xids = self.0.xids.get_or_init(|| Arc::clone(xids));
        xids.known.lock().running.insert(number);
        self.0.number.store(number, Ordering::Release);
    }

    /// The number, which is given now if it has none: workers of one query may ask at once.
    ///
    /// # Errors
    /// Errors of `assign`.
    pub(crate) fn get_or_assign(
        &self,
        xids: &Arc<Xids>,
        assign: impl Fn() -> Result<u64>,
    ) -> Result<u64> {
        if let Some(number) = self.get() {
            return Ok(number);
        }
        let xids = self.0.xids.get_or_init(|| Arc::clone(xids));
        let number = assign()?;
        match self.0.number.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(number),
            Err(other) => {
                xids.end(number);
                Ok(other)
            }
        }
    }
}

impl Drop for OwnNumber {
    fn drop(&mut self) {
        if let Some(cell) = self.0.get()
            && let (Some(number), Some(xids)) = (cell.get(), cell.0.xids.get())
        {
            xids.end(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xids() -> Arc<Xids> {
        Arc::new(Xids::new(&Named::default()))
    }

    fn assign(xids: &Xids) -> u64 {
        xids.assign(|_| Ok(())).expect("nothing is written")
    }

    #[test]
    fn snapshots_have_numbers_as_of_their_time() {
        let xids = xids();
        let [a, b, c] = [assign(&xids), assign(&xids), assign(&xids)];
        assert_eq!([a, b, c], [3, 4, 5]);
        let none = NumberedSnapshot { xmin: 3, xmax: 3, running: Vec::new() };
        assert_eq!(xids.snapshot(Timestamp(1), None), none);
        xids.commit(b, Timestamp(10), || Timestamp(0));
        assert_eq!(xids.snapshot(Timestamp(9), None), none);
        let after = NumberedSnapshot { xmin: 3, xmax: 5, running: vec![3] };
        assert_eq!(xids.snapshot(Timestamp(10), None), after);
        xids.end(c);
        let all = NumberedSnapshot { xmin: 3, xmax: 6, running: vec![3] };
        assert_eq!(xids.snapshot(Timestamp(10), None), all);
        let own = NumberedSnapshot { xmin: 3, xmax: 6, running: Vec::new() };
        assert_eq!(xids.snapshot(Timestamp(10), Some(a)), own);
        assert_eq!(
            [a, b, c].map(|n| xids.fate(n)),
            [Fate::InProgress, Fate::Committed, Fate::Aborted]
        );
        assert_eq!(xids.fate(6), Fate::Future);
    }

    #[test]
    fn numbers_go_on_behind_the_bound_of_the_log() {
        let named = Named {
            numbers_below: 4099,
            committed: [7, 9].into_iter().collect(),
            ..Named::default()
        };
        let xids = Xids::new(&named);
        assert_eq!(
            [7, 8, 9, 4098].map(|n| xids.fate(n)),
            [Fate::Committed, Fate::Aborted, Fate::Committed, Fate::Aborted]
        );
        assert_eq!(xids.fate(4099), Fate::Future);
        assert_eq!(assign(&xids), 4099);
    }

    #[test]
    fn old_commits_are_forgotten_once_no_snapshot_asks_for_their_time() {
        let xids = xids();
        for n in 0..3 * COMMITTED_MAX as u64 {
            let number = assign(&xids);
            xids.commit(number, Timestamp(n + 1), || Timestamp(100));
        }
        assert_eq!(xids.fate(FIRST), Fate::Forgotten);
        assert_eq!(xids.fate(FIRST + 100), Fate::Committed);
        assert_eq!(xids.fate(99), Fate::Forgotten);
    }
}
