//! A session of a bus: a link, and the transactions and locks of its calls.
//!
//! ```text
//! advisory lock of the schema: each change has it, so changes come one after the other
//! advisory lock of the owner:  changes share it; whoever has the bus in memory has it alone
//! ```

use types::{Error, SqlState};

use super::link::{Link, Place};
use super::queues::{SCHEMA, Tables};
use crate::semantics::Result;

/// How long the bus of a process that has just ended is waited for.
const OWNER_WAIT: &str = "5s";

/// One session of the database.
#[derive(Debug)]
pub(super) struct Session<L: Link> {
    link: L,
    /// Begin of a change: its transaction, and the locks that all changes of the schema take.
    begin: String,
    /// End of a change of which others are to know.
    tell: String,
    /// Number of the owner's lock.
    owner: i64,
    is_owner: bool,
}

impl<L: Link> Session<L> {
    /// A new session that sees the tables of the schema first.
    pub(super) fn open(place: &impl Place<Link = L>, schema: &str) -> Result<Self> {
        let link = place.connect(schema)?;
        let (lock, owner) = (lock_of(schema), lock_of(&format!("{schema} in memory")));
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
             SELECT pg_advisory_xact_lock({lock}), pg_try_advisory_xact_lock_shared({owner})"
        );
        let tell = format!("NOTIFY {schema}; COMMIT");
        Ok(Self { link, begin, tell, owner, is_owner: false })
    }

    /// Takes the bus for this session alone, until it ends.
    ///
    /// # Errors
    /// 55006 when another session has it for more than a moment.
    pub(super) fn own(&mut self) -> Result<()> {
        let owner = self.owner;
        self.link.run(&format!(
            "SET lock_timeout = '{OWNER_WAIT}';
             SELECT pg_advisory_lock({owner});
             RESET lock_timeout"
        ))?;
        self.is_owner = true;
        Ok(())
    }

    /// True when it has the bus alone.
    pub(super) fn is_owner(&self) -> bool {
        self.is_owner
    }

    /// Begins a change.
    ///
    /// # Errors
    /// 55006 when another session has the bus alone.
    fn begin(&mut self) -> Result<()> {
        if self.link.run(&self.begin)? {
            return Ok(());
        }
        let message = "a process has this bus in its memory, and changes it alone";
        self.end(Err(Error::new(SqlState::OBJECT_IN_USE, message).into()), "COMMIT")
    }

    /// Makes the tables that are not there.
    pub(super) fn make_tables(&mut self, schema: &str) -> Result<()> {
        self.begin()?;
        let text = format!("CREATE SCHEMA IF NOT EXISTS {schema}; {SCHEMA}");
        let outcome = self.link.run(&text).map(drop);
        self.end(outcome, "COMMIT")
    }

    /// True when it ended, or cannot take back what it began.
    pub(super) fn is_broken(&self) -> bool {
        self.link.is_broken()
    }

    /// Runs `call` as a transaction beside which no other change runs.
    pub(super) fn change<T>(
        &mut self,
        call: impl FnOnce(&mut Tables<'_>) -> Result<T>,
    ) -> Result<T> {
        self.begin()?;
        let mut tables = Tables::of(&mut self.link);
        let outcome = call(&mut tables);
        let commit = if tables.is_worth_waking() { self.tell.clone() } else { "COMMIT".to_owned() };
        self.end(outcome, &commit)
    }

    /// Runs `call` on one snapshot.
    pub(super) fn look<T>(&mut self, call: impl FnOnce(&mut Tables<'_>) -> Result<T>) -> Result<T> {
        self.link.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let outcome = call(&mut Tables::of(&mut self.link));
        self.end(outcome, "COMMIT")
    }

    /// Ends the transaction: with `commit` where all went well.
    fn end<T>(&mut self, outcome: Result<T>, commit: &str) -> Result<T> {
        let outcome = outcome.and_then(|value| self.link.run(commit).map(|_| value));
        if outcome.is_err() {
            // A link on which this fails is broken, and its transaction is taken back.
            let _ = self.link.run("ROLLBACK");
        }
        outcome
    }
}

impl<L: Link> Drop for Session<L> {
    fn drop(&mut self) {
        if self.is_owner {
            // The database would find out, too, but perhaps a moment after whoever comes next.
            let _ = self.link.run(&format!("SELECT pg_advisory_unlock({})", self.owner));
        }
    }
}

/// Number of the advisory lock of a name, the same in each process: FNV-1a.
fn lock_of(name: &str) -> i64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}
