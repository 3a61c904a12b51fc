//! Statements that begin or end a transaction, as a prepared statement keeps them.

use sql::statement::{Chain, Statement, TransactionModes};

/// Where a transaction begins or ends. Binding it reads nothing of the catalog.
#[derive(Clone, Copy)]
pub(crate) enum Boundary {
    Begin(TransactionModes),
    Commit(Chain),
    Rollback(Chain),
}

impl Boundary {
    /// None for a statement that is something else.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        Some(match statement {
            Statement::Begin(modes) => Self::Begin(*modes),
            Statement::Commit(chain) => Self::Commit(*chain),
            Statement::Rollback(chain) => Self::Rollback(*chain),
            _ => return None,
        })
    }
}
