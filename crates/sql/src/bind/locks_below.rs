//! Clauses that lock rows, as what stands in FROM sees them.

use crate::parse::{LockTree, folded};

/// Clauses that lock the rows of a sub-query or view in FROM.
#[derive(Debug, Default)]
pub(super) struct LocksBelow {
    pub(super) clauses: Vec<LockTree>,
    /// Its name there.
    pub(super) relation: String,
}

impl LocksBelow {
    /// True when no rows are locked.
    pub(super) const fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }
}

impl LockTree {
    /// True when it locks the rows of `relation`, which is in the FROM that it means.
    pub(super) fn names(&self, relation: &str) -> bool {
        self.of.is_empty() || self.of.iter().any(|ident| folded(ident) == relation)
    }
}
