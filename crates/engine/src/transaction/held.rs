//! Snapshots that are held for sessions to come: several of them read one state of the database,
//! at the same time or one after the other.

use std::sync::Arc;

use sql::statement::AccessMode;
use storage::Snapshot;
use txn::manager::{Isolation, Transaction};
use types::Result;

use crate::Database;
use crate::instance::attached::AttachedTransaction;

/// A state of a database, and of the attached one where that is asked for. While this is there, or
/// a session reads it, its rows are kept.
pub struct HeldSnapshot {
    pub(crate) txn: Transaction,
    pub(crate) attached: Option<Arc<dyn AttachedTransaction>>,
}

/// Databases whose state is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The own one.
    Own,
    /// The attached one, too.
    WithAttached,
}

impl HeldSnapshot {
    /// Commits that it sees.
    pub fn snapshot(&self) -> Snapshot {
        self.txn.snapshot()
    }
}

impl Database {
    /// Holds the state of now.
    ///
    /// # Errors
    /// 53300 when too many transactions run; 08006 and others when the processes of the attached
    /// database do not answer.
    pub fn hold_snapshot(&self, held: Held) -> Result<Arc<HeldSnapshot>> {
        let inner = self.inner();
        let attachment = inner.registry.attachment().filter(|_| held == Held::WithAttached);
        let attached = attachment.map(|attachment| attachment.begin(AccessMode::ReadOnly));
        let attached = attached.transpose()?;
        let txn = inner.stores.transactions.begin(Isolation::Snapshot)?;
        Ok(Arc::new(HeldSnapshot { txn, attached }))
    }
}
