//! Commits whose session goes on before they are on disk: a server acknowledges many at once, by a
//! thread that waits for all of them.

use std::sync::atomic::{AtomicU64, Ordering};

use durable::Lsn;
use types::Result;

use crate::Database;

/// The last commit of a session, which may not be on disk yet.
pub struct Commits {
    database: Database,
    /// The log has to be written up to here; 0 before the first commit.
    lsn: AtomicU64,
}

impl Commits {
    /// The commits of a session of `database`, none so far.
    pub(crate) fn new(database: Database) -> Self {
        Self { database, lsn: AtomicU64::new(0) }
    }

    pub(crate) fn note(&self, lsn: Lsn) {
        self.lsn.store(lsn.0, Ordering::Release);
    }

    /// True when all commits of the session are on disk.
    pub fn are_durable(&self) -> bool {
        let lsn = Lsn(self.lsn.load(Ordering::Acquire));
        self.database.inner().durable.as_ref().is_none_or(|durable| durable.is_durable(lsn))
    }

    /// Waits until they are.
    ///
    /// # Errors
    /// 58030 or 53100 when the log cannot be written: whether they survive is unknown.
    pub fn wait(&self) -> Result<()> {
        let lsn = Lsn(self.lsn.load(Ordering::Acquire));
        self.database.inner().durable.as_ref().map_or(Ok(()), |durable| durable.wait_durable(lsn))
    }
}
