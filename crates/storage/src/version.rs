//! Times of commits, and what a transaction may see.
//!
//! ```text
//! stamp:  0 .. 2^63   committed at this timestamp; 0 = before everything
//!         2^63 ..     written by this transaction, which runs
//! ```
//! Invariant: a stamp changes once, from its transaction to a timestamp above that of every
//! snapshot taken before. What a transaction writes carries the number of its statement, too, so
//! that the queries of a statement that writes see what was there before it.
//! Elsewhere: chains of versions (`record`, `row`), who may still see what (crate `txn`).

use types::Error;

use crate::tid::Tid;

/// A moment in the order of commits, from 1; 0 is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// A running transaction: bit 63 is set, so that it is above all timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnId(pub u64);

impl TxnId {
    /// No transaction: for readers that write nothing.
    pub const NONE: Self = Self(0);
    /// Set in every other id.
    pub const BIT: u64 = 1 << 63;
}

/// A statement that writes, within its transaction, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementNumber(pub u32);

impl StatementNumber {
    /// Beyond all statements.
    pub const END: Self = Self(u32::MAX);
}

/// View of a statement: everything committed up to its base, and what `txn` wrote. Only methods
/// here decide what is visible, so that a form with a set of commits above the base can stand
/// beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    base: Timestamp,
    /// Whose own writes are seen.
    pub txn: TxnId,
    /// Own writes of this statement, and of later ones, are not seen.
    pub until: StatementNumber,
}

impl Snapshot {
    /// Sees every commit and nothing of running transactions. It has no place in the order of
    /// commits, so it is for tables that nobody writes at the time: recovery, loads, tests.
    pub const ALL: Self = Self::new(Timestamp(1 << 62), TxnId::NONE);

    /// Everything committed up to `base`, and all that `txn` wrote.
    #[inline]
    pub const fn new(base: Timestamp, txn: TxnId) -> Self {
        Self { base, txn, until: StatementNumber::END }
    }

    /// The newest commit up to which everything is seen.
    #[inline]
    pub const fn base(self) -> Timestamp {
        self.base
    }

    /// This snapshot with the commits of `other`.
    #[must_use]
    pub const fn with_commits_of(self, other: Self) -> Self {
        Self { base: other.base, ..self }
    }

    /// This snapshot without what its transaction wrote from the statement `until` on.
    #[must_use]
    pub const fn before(self, until: StatementNumber) -> Self {
        Self { until, ..self }
    }

    /// True when what was committed at `ts` is seen.
    #[inline]
    pub const fn sees_commit(self, ts: Timestamp) -> bool {
        ts.0 <= self.base.0
    }

    /// True when `stamp` is a commit that is seen; stamps of running transactions are none.
    #[inline]
    pub(crate) fn sees_stamp(self, stamp: u64) -> bool {
        stamp <= self.base.0
    }

    /// True when what carries `stamp` is part of this snapshot; `statement` tells which one of the
    /// transaction wrote it, and is asked for own writes alone.
    #[inline]
    pub(crate) fn sees(self, stamp: u64, statement: impl FnOnce() -> StatementNumber) -> bool {
        self.sees_stamp(stamp) || stamp == self.txn.0 && statement() < self.until
    }
}

/// True when `stamp` is a running transaction's.
#[inline]
pub(crate) fn is_running(stamp: u64) -> bool {
    stamp & TxnId::BIT != 0
}

/// Why a row was not written. Nothing was changed by the call.
#[derive(Debug)]
pub enum WriteError {
    /// This transaction has the row (or a row of the same key): wait for its end and call again.
    Wait(TxnId),
    /// Another transaction committed a change of the row after the snapshot (40001), or it is gone.
    Conflict {
        /// Where it is now, if it moved.
        moved_to: Option<Tid>,
    },
    /// The row `tid` has the same key (23505).
    Duplicate {
        /// Number of the index in [`Table::indexes`](crate::Table::indexes).
        index: usize,
        /// The other row.
        tid: Tid,
    },
    /// NULL for a NOT NULL column (23502).
    Null {
        /// Ordinal of the column.
        column: usize,
        /// The values of the row as text, with commas between.
        row: Box<str>,
    },
    /// Any other failure.
    Failed(Error),
}

impl WriteError {
    /// The error of a write that neither NULLs nor other transactions can hinder: another outcome
    /// than [`Self::Failed`] is our own mistake.
    pub fn into_failure(self) -> Error {
        match self {
            Self::Failed(error) => error,
            other => Error::internal(format!("{other:?} in a write that nothing hinders")),
        }
    }
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
