//! Prepared transactions: work that no session has, until somebody ends it by its name.
//!
//! ```text
//! PREPARE TRANSACTION: reserve -> log -> keep       recovery: keep
//! COMMIT, ROLLBACK PREPARED: take -> log -> forget   (keep again when the log cannot be written)
//! ```
//! Invariant: a name is one transaction's from before its record is written until after that of its
//! end is.
//! Elsewhere: what the work is, and how it ends (`transaction::work::prepared`), what the log says
//! of it (`durable::marks`).

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use storage::{TxnId, UndoBuffer};
use types::{Error, Result, SqlState};

use super::commits::Commits;
use super::database::Inner;

/// Prepared transactions at once: `max_prepared_transactions`.
pub(crate) const PREPARED_MAX: usize = 64;

/// Bytes of a name, at most, as in PostgreSQL.
const GID_BYTES_MAX: usize = 199;

/// Work of a prepared transaction.
pub(crate) trait PreparedWork: Send {
    /// Changes that it made, if there are any.
    fn changes(&self) -> Option<&UndoBuffer>;

    /// Makes it visible and durable, or lets `commits` wait for that.
    ///
    /// # Errors
    /// Why the log cannot take it, with the work where it is as it was.
    fn commit(
        self: Box<Self>,
        inner: &Inner,
        gid: &Arc<str>,
        commits: Option<&Commits>,
    ) -> Result<(), Unfinished>;

    /// Takes it back.
    ///
    /// # Errors
    /// As [`Self::commit`].
    fn rollback(self: Box<Self>, inner: &Inner, gid: &Arc<str>) -> Result<(), Unfinished>;
}

/// An end that failed.
pub(crate) struct Unfinished {
    pub(crate) error: Error,
    /// The work, which is prepared still.
    pub(crate) work: Option<Box<dyn PreparedWork>>,
}

/// Tells whether what a transaction wrote is among what a serializable one read.
pub(crate) type Reader = Box<dyn Fn(&UndoBuffer) -> Result<()> + Send + Sync>;

/// Facts of a prepared transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreparedFacts {
    /// Its number for users.
    pub(crate) number: u64,
    /// Its number among those that run.
    pub(crate) txn: TxnId,
    /// Role that prepared it.
    pub(crate) owner: String,
    /// When, microseconds since 1970.
    pub(crate) micros: i64,
}

struct Prepared {
    /// Identity of its database.
    database: usize,
    facts: PreparedFacts,
    stage: Stage,
    /// For a serializable one.
    reader: Option<Reader>,
}

enum Stage {
    /// Its record is being written.
    Preparing,
    Idle(Box<dyn PreparedWork>),
    /// Somebody ends it.
    Ending,
}

/// The prepared transactions of all databases of a server, by their names.
#[derive(Default)]
pub(crate) struct PreparedTransactions(Mutex<BTreeMap<Arc<str>, Prepared>>);

impl PreparedTransactions {
    /// Refuses names that are too long.
    ///
    /// # Errors
    /// 22023.
    pub(crate) fn check_name(gid: &str) -> Result<()> {
        if gid.len() <= GID_BYTES_MAX {
            return Ok(());
        }
        let message = format!("transaction identifier \"{gid}\" is too long");
        Err(Error::new(SqlState::INVALID_PARAMETER, message))
    }

    /// Gives the name to a transaction.
    ///
    /// # Errors
    /// 42710 when another has it, 53200 when there are too many.
    pub(crate) fn reserve(
        &self,
        inner: &Inner,
        gid: &Arc<str>,
        facts: PreparedFacts,
        reader: Option<Reader>,
    ) -> Result<()> {
        let mut all = self.0.lock();
        if all.contains_key(gid) {
            let message = format!("transaction identifier \"{gid}\" is already in use");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if all.len() >= PREPARED_MAX {
            let message = "maximum number of prepared transactions reached";
            let hint = format!("Increase max_prepared_transactions (currently {PREPARED_MAX}).");
            return Err(Error::new(SqlState::OUT_OF_MEMORY, message).with_hint(hint));
        }
        let (database, stage) = (identity(inner), Stage::Preparing);
        all.insert(Arc::clone(gid), Prepared { database, facts, stage, reader });
        Ok(())
    }

    /// Puts the work of a prepared transaction where its name finds it.
    pub(crate) fn keep(&self, gid: &str, work: Box<dyn PreparedWork>) {
        if let Some(prepared) = self.0.lock().get_mut(gid) {
            prepared.stage = Stage::Idle(work);
        }
    }

    /// Frees the name.
    pub(crate) fn forget(&self, gid: &str) {
        self.0.lock().remove(gid);
    }

    /// Takes those of a database that closes out of memory: its files have them.
    pub(crate) fn forget_all_of(&self, inner: &Inner) {
        let database = identity(inner);
        let mut all = self.0.lock();
        let gone: Vec<_> = all.extract_if(.., |_, found| found.database == database).collect();
        // What is taken back in memory takes its time.
        drop(all);
        drop(gone);
    }

    /// Takes the work of a transaction of this database, to end it; `may_end` refuses by its owner.
    ///
    /// # Errors
    /// 42704 for an unknown name, 55000 while somebody else ends it, 0A000 for one of another
    /// database; those of `may_end`.
    pub(crate) fn take(
        &self,
        inner: &Inner,
        gid: &str,
        may_end: impl FnOnce(&str) -> Result<()>,
    ) -> Result<Box<dyn PreparedWork>> {
        let mut all = self.0.lock();
        let found = all.get_mut(gid).filter(|found| !matches!(found.stage, Stage::Preparing));
        let found = found.ok_or_else(|| unknown(gid))?;
        if matches!(found.stage, Stage::Ending) {
            let message = format!("prepared transaction with identifier \"{gid}\" is busy");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        may_end(&found.facts.owner)?;
        if found.database != identity(inner) {
            let message = "prepared transaction belongs to another database";
            let hint = "Connect to the database where the transaction was prepared to finish it.";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint));
        }
        match std::mem::replace(&mut found.stage, Stage::Ending) {
            Stage::Idle(work) => Ok(work),
            Stage::Preparing | Stage::Ending => Err(unknown(gid)),
        }
    }

    /// The transactions of a database that are prepared, by their names.
    pub(crate) fn of(&self, inner: &Inner) -> Vec<(Arc<str>, PreparedFacts)> {
        let database = identity(inner);
        let all = self.0.lock();
        let is_there = |found: &Prepared| {
            found.database == database && !matches!(found.stage, Stage::Preparing)
        };
        let there = all.iter().filter(|(_, found)| is_there(found));
        there.map(|(gid, found)| (Arc::clone(gid), found.facts.clone())).collect()
    }

    /// True when a prepared transaction of some database belongs to the role.
    pub(crate) fn are_of(&self, role: &str) -> bool {
        self.0.lock().values().any(|prepared| prepared.facts.owner == role)
    }

    /// Refuses a serializable transaction that is being prepared as `gid` and wrote `undo`, where
    /// another prepared one read that, or wrote what it read as `test` tells: both commit later,
    /// and must not fail any more. Under the commit latch.
    ///
    /// # Errors
    /// 40001; those of `test`.
    pub(crate) fn validate_new(
        &self,
        gid: &str,
        undo: &UndoBuffer,
        test: impl Fn(&UndoBuffer) -> Result<()>,
    ) -> Result<()> {
        let all = self.0.lock();
        for (_, other) in all.iter().filter(|(name, _)| &***name != gid) {
            let Some(reader) = &other.reader else { continue };
            reader(undo)?;
            match &other.stage {
                Stage::Idle(work) => work.changes().map_or(Ok(()), &test)?,
                // Somebody has its changes: they count as those that were read.
                Stage::Preparing | Stage::Ending => {
                    let message = "could not serialize access due to read/write dependencies \
                                   among transactions";
                    return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message)
                        .with_hint("The transaction might succeed if retried."));
                }
            }
        }
        Ok(())
    }

    /// Refuses a serializable transaction that wrote `undo` where a prepared one read that: it
    /// commits later, and must not fail any more. Under the commit latch.
    ///
    /// # Errors
    /// 40001.
    pub(crate) fn validate(&self, undo: &UndoBuffer) -> Result<()> {
        let all = self.0.lock();
        all.values().filter_map(|prepared| prepared.reader.as_ref()).try_for_each(|r| r(undo))
    }
}

/// A number that no other database of the process has while this one is open.
fn identity(inner: &Inner) -> usize {
    Arc::as_ptr(&inner.stores).addr()
}

/// 42704.
fn unknown(gid: &str) -> Error {
    let message = format!("prepared transaction with identifier \"{gid}\" does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}
