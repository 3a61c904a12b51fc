//! Snapshots that are held for sessions to come: several of them read one state of the database,
//! at the same time or one after the other.

use std::sync::Arc;

use sql::statement::AccessMode;
use storage::Snapshot;
use txn::manager::{Isolation, Transaction};
use types::{Error, Result};

use crate::Database;
use crate::instance::attached::{AttachedSize, AttachedTransaction};

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

    /// Bytes that say what it sees of the attached database, for [`Database::hold_attached_at`];
    /// None when it sees nothing of it.
    ///
    /// # Errors
    /// XX000 when it has ended.
    pub fn attached_state(&self) -> Result<Option<Vec<u8>>> {
        self.attached.as_ref().map(|attached| attached.state()).transpose()
    }

    /// The size of the attached table of this name; None when it sees none.
    ///
    /// # Errors
    /// 08006 and others when processes do not answer.
    pub fn attached_size(&self, name: &str) -> Result<Option<AttachedSize>> {
        let Some(attached) = &self.attached else { return Ok(None) };
        let Some(found) = attached.find(name)? else { return Ok(None) };
        attached.size(found.id).map(Some)
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

    /// Holds the state of now, and of the attached database what another process holds: that of
    /// [`HeldSnapshot::attached_state`]. None when nobody holds that any more.
    ///
    /// # Errors
    /// As [`Self::hold_snapshot`]; 0A000 without an attached database, XX001 for other bytes.
    pub fn hold_attached_at(&self, state: &[u8]) -> Result<Option<Arc<HeldSnapshot>>> {
        let inner = self.inner();
        let Some(attachment) = inner.registry.attachment() else {
            return Err(Error::unsupported("a snapshot of a shared database"));
        };
        let Some(attached) = attachment.begin_at(state)? else { return Ok(None) };
        let txn = inner.stores.transactions.begin(Isolation::Snapshot)?;
        Ok(Some(Arc::new(HeldSnapshot { txn, attached: Some(attached) })))
    }
}
