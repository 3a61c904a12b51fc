//! Locks of rows that several transactions hold at once: FOR SHARE and FOR KEY SHARE.
//!
//! ```text
//! FOR UPDATE, FOR NO KEY UPDATE, writes:   a record in the chain of the row, of one transaction
//! FOR SHARE, FOR KEY SHARE:                here, of any number of transactions; nothing is written
//!
//!              | key share | share | no key update | update
//! key share    |           |       |               |   x
//! share        |           |       |       x       |   x
//! no key update|           |   x   |       x       |   x
//! update       |     x     |   x   |       x       |   x
//! ```
//! Both sides hold the latch of the row while they look at the other one, so that one of two sees
//! the other. A row that a change of its other columns moves (frozen rows do) leads back to where
//! it was shared.
//!
//! Invariants: `count` is that of the holders, so that writers of tables without any load one word;
//! a holder has touched the zone of its row, which so is neither frozen nor moved with others.
//! Elsewhere: who holds what (`table::undo`: a record that no row has), chains (`row`), the steps
//! (`table::write::share`).
//! Source of the table: PostgreSQL 15, 13.3.2.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use parking_lot::Mutex;

use crate::tid::Tid;
use crate::version::TxnId;

/// Strength of a lock of a row, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockStrength {
    /// The row stays, and so do the columns by which it is referred to.
    KeyShare,
    /// The row stays as it is.
    Share,
    /// The row is to be changed, but for its keys.
    NoKeyUpdate,
    /// The row is to be changed or deleted.
    Update,
}

impl LockStrength {
    /// True when two transactions cannot have these locks of one row.
    pub fn excludes(self, other: Self) -> bool {
        use LockStrength as L;
        match self {
            L::KeyShare => other == L::Update,
            L::Share => other >= L::NoKeyUpdate,
            L::NoKeyUpdate => other >= L::Share,
            L::Update => true,
        }
    }

    /// True when several transactions may have it.
    pub fn is_shared(self) -> bool {
        self <= Self::Share
    }
}

/// A transaction, and the lock that it has or wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) txn: TxnId,
    pub(crate) strength: LockStrength,
}

/// The rows of a table that are shared.
#[derive(Debug, Default)]
pub(crate) struct Sharers {
    count: AtomicUsize,
    rows: Mutex<HashMap<Tid, Shared>>,
}

/// A row.
#[derive(Debug, Default)]
struct Shared {
    holders: Vec<Holder>,
    /// Where the row was before its writer moved it.
    origin: Option<Tid>,
    /// Where it went.
    next: Option<Tid>,
}

impl Sharers {
    /// Another transaction whose lock excludes that of `wanted`. For who has the row latched.
    #[inline]
    pub(crate) fn against(&self, tid: Tid, wanted: Holder) -> Option<TxnId> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let is_other = |known: &Holder| known.txn != wanted.txn;
        self.find(tid, |known| is_other(known) && known.strength.excludes(wanted.strength))
    }

    /// True when the transaction has a lock of the row that is as strong.
    pub(crate) fn has(&self, tid: Tid, wanted: Holder) -> bool {
        let is_own = |known: &Holder| known.txn == wanted.txn;
        let is_it = |known: &Holder| is_own(known) && known.strength >= wanted.strength;
        self.count.load(Ordering::Acquire) != 0 && self.find(tid, is_it).is_some()
    }

    fn find(&self, tid: Tid, is_it: impl Fn(&Holder) -> bool) -> Option<TxnId> {
        let rows = self.rows.lock();
        let mut next = Some(tid);
        while let Some(row) = next.and_then(|tid| rows.get(&tid)) {
            if let Some(holder) = row.holders.iter().find(|holder| is_it(holder)) {
                return Some(holder.txn);
            }
            next = row.origin;
        }
        None
    }

    /// Adds a holder, who has the row latched; `path` are the places that the row has gone to
    /// since, told again once others see the holder.
    pub(crate) fn add(&self, tid: Tid, holder: Holder, path: impl FnOnce() -> Vec<Tid>) {
        self.count.fetch_add(1, Ordering::SeqCst);
        let mut rows = self.rows.lock();
        rows.entry(tid).or_default().holders.push(holder);
        fence(Ordering::SeqCst);
        let mut from = tid;
        for to in path() {
            lead(&mut rows, from, to);
            from = to;
        }
    }

    /// The row goes from `from` to `to`, as its version says by now.
    pub(crate) fn follow(&self, from: Tid, to: Tid) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut rows = self.rows.lock();
        if rows.contains_key(&from) {
            lead(&mut rows, from, to);
        }
    }

    /// Takes back one lock of a transaction.
    pub(crate) fn release(&self, tid: Tid, holder: Holder) {
        let mut rows = self.rows.lock();
        if let Some(row) = rows.get_mut(&tid)
            && let Some(at) = row.holders.iter().position(|known| *known == holder)
        {
            row.holders.swap_remove(at);
            forget(&mut rows, tid);
        }
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Notes that the row at `from` is at `to`.
fn lead(rows: &mut HashMap<Tid, Shared>, from: Tid, to: Tid) {
    rows.entry(from).or_default().next = Some(to);
    rows.entry(to).or_default().origin = Some(from);
}

/// Forgets a row that nobody holds, and places behind it that only led to it.
fn forget(rows: &mut HashMap<Tid, Shared>, tid: Tid) {
    let mut at = Some(tid);
    while let Some(tid) = at {
        let is_unused = |row: &Shared| row.holders.is_empty() && row.origin.is_none();
        if !rows.get(&tid).is_some_and(is_unused) {
            return;
        }
        at = rows.remove(&tid).and_then(|row| row.next);
        if let Some(next) = at.and_then(|next| rows.get_mut(&next)) {
            next.origin = None;
        }
    }
}
