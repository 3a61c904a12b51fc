//! What makes commits survive: their redo in the log, checkpoints, recovery.

use std::sync::Arc;

use storage::{Timestamp, UndoBuffer};
use types::{Error, Result};

use crate::catalog::{Sequence, State};
use crate::database::Inner;

/// A place in the log.
pub(crate) type Lsn = u64;

/// The files of one database.
pub(crate) struct Durable {}

impl Durable {
    /// The redo of a transaction: what it changed, catalog (before and after) and sequences
    /// included.
    pub(crate) fn encode(
        &self,
        _undo: Option<&UndoBuffer>,
        _catalog: Option<(&State, &State)>,
        _sequences: &[Arc<Sequence>],
    ) -> Result<Vec<u8>> {
        Err(Error::unsupported("a database in files"))
    }

    /// Appends redo to the log buffer.
    pub(crate) fn append(&self, _ts: Timestamp, _redo: &[u8]) -> Result<Lsn> {
        Err(Error::unsupported("a database in files"))
    }

    /// Waits until the log is durable up to `lsn`.
    pub(crate) fn wait(&self, _lsn: Lsn) -> Result<()> {
        Err(Error::unsupported("a database in files"))
    }

    /// Writes a checkpoint.
    pub(crate) fn checkpoint(&self, _inner: &Inner) -> Result<()> {
        Err(Error::unsupported("a database in files"))
    }
}
