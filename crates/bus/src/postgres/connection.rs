//! A connection: transactions, statements that are prepared once, and errors as the bus has them.
//!
//! ```text
//! advisory lock of the schema: each change has it, so changes come one after the other
//! advisory lock of the owner:  changes share it; whoever has the bus in memory has it alone
//! ```

use std::collections::HashMap;

use ::postgres::error::SqlState as ServerState;
use ::postgres::fallible_iterator::FallibleIterator as _;
use ::postgres::types::ToSql;
use ::postgres::{Client, NoTls, Row, SimpleQueryMessage, Statement};
use types::{Error, SqlState};

use super::Place;
use super::tables::{SCHEMA, Tables};
use crate::semantics::{BusError, Result};

/// How long the bus of a process that has just ended is waited for.
const OWNER_WAIT: &str = "5s";

/// One connection to the server.
pub(super) struct Connection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    /// Begin of a change: its transaction, and the locks that all changes of the schema take.
    begin: String,
    /// End of a change of which other processes are to know.
    tell: String,
    /// Number of the owner's lock.
    owner: i64,
    is_owner: bool,
}

/// An error of the network when the connection ended, else one of the server: 55006 for a lock,
/// 53100 on a full disk, 58030 for what has no state here, with the server's own state in words.
impl From<::postgres::Error> for BusError {
    fn from(error: ::postgres::Error) -> Self {
        let Some(said) = error.as_db_error() else {
            return Self::Network(error.to_string());
        };
        let code = said.code();
        if code.code().starts_with("57P") || code.code().starts_with("08") {
            return Self::Network(said.message().to_owned());
        }
        let state = [
            (ServerState::DISK_FULL, SqlState::DISK_FULL),
            (ServerState::INSUFFICIENT_PRIVILEGE, SqlState::INSUFFICIENT_PRIVILEGE),
            (ServerState::LOCK_NOT_AVAILABLE, SqlState::OBJECT_IN_USE),
            (ServerState::OUT_OF_MEMORY, SqlState::OUT_OF_MEMORY),
            (ServerState::QUERY_CANCELED, SqlState::QUERY_CANCELED),
            (ServerState::DATA_CORRUPTED, SqlState::DATA_CORRUPTED),
        ];
        let state = state.into_iter().find(|(server, _)| server == code);
        let state = state.map_or(SqlState::IO_ERROR, |(_, ours)| ours);
        Self::Storage(Error::new(state, format!("{} ({})", said.message(), code.code())))
    }
}

impl Connection {
    /// A new connection that sees the tables of the place first.
    pub(super) fn open(place: &Place) -> Result<Self> {
        let mut client = place.config.connect(NoTls)?;
        let Place { schema, .. } = place;
        client.batch_execute(&format!(
            "SET search_path = {schema}, pg_catalog; SET client_min_messages = warning"
        ))?;
        let (lock, owner) = (lock_of(schema), lock_of(&format!("{schema} in memory")));
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
             SELECT pg_advisory_xact_lock({lock}), pg_try_advisory_xact_lock_shared({owner})"
        );
        let tell = format!("NOTIFY {schema}; COMMIT");
        Ok(Self { client, prepared: HashMap::new(), begin, tell, owner, is_owner: false })
    }

    /// Takes the bus for this connection alone, until it ends.
    ///
    /// # Errors
    /// 55006 when another connection has it for more than a moment.
    pub(super) fn own(&mut self) -> Result<()> {
        let owner = self.owner;
        self.client.batch_execute(&format!(
            "SET lock_timeout = '{OWNER_WAIT}';
             SELECT pg_advisory_lock({owner});
             RESET lock_timeout"
        ))?;
        self.is_owner = true;
        Ok(())
    }

    /// Whether it has the bus alone.
    pub(super) fn is_owner(&self) -> bool {
        self.is_owner
    }

    /// Begins a change.
    ///
    /// # Errors
    /// 55006 when another connection has the bus alone.
    fn begin(&mut self) -> Result<()> {
        let answer = self.client.simple_query(&self.begin)?;
        let is_free = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(1) == Some("t"),
            _ => false,
        };
        if answer.iter().any(is_free) {
            return Ok(());
        }
        let message = "a process has this bus in its memory, and changes it alone";
        self.end(Err(Error::new(SqlState::OBJECT_IN_USE, message).into()), "COMMIT")
    }

    /// Makes the tables that are not there.
    pub(super) fn make_tables(&mut self, place: &Place) -> Result<()> {
        self.begin()?;
        let text = format!("CREATE SCHEMA IF NOT EXISTS {}; {SCHEMA}", place.schema);
        let outcome = self.client.batch_execute(&text).map_err(BusError::from);
        self.end(outcome, "COMMIT")
    }

    /// Whether it ended, or cannot take back what it began.
    pub(super) fn is_broken(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs `call` as a transaction beside which no other change runs.
    pub(super) fn change<T>(
        &mut self,
        call: impl FnOnce(&mut Tables<'_>) -> Result<T>,
    ) -> Result<T> {
        self.begin()?;
        let mut tables = Tables::of(self);
        let outcome = call(&mut tables);
        let commit = if tables.is_worth_waking() { self.tell.clone() } else { "COMMIT".to_owned() };
        self.end(outcome, &commit)
    }

    /// Runs `call` on one snapshot.
    pub(super) fn look<T>(&mut self, call: impl FnOnce(&mut Tables<'_>) -> Result<T>) -> Result<T> {
        self.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let outcome = call(&mut Tables::of(self));
        self.end(outcome, "COMMIT")
    }

    /// Ends the transaction: with `commit` where all went well.
    fn end<T>(&mut self, outcome: Result<T>, commit: &str) -> Result<T> {
        match outcome {
            Ok(value) => {
                self.client.batch_execute(commit)?;
                Ok(value)
            }
            Err(error) => {
                // A connection on which this fails is closed, and its transaction is taken back.
                let _ = self.client.batch_execute("ROLLBACK");
                Err(error)
            }
        }
    }

    /// The rows of a statement, which is prepared at its first use.
    pub(super) fn rows(
        &mut self,
        text: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let statement = self.statement(text)?;
        Ok(self.client.query(&statement, parameters)?)
    }

    /// Calls `each` with the rows of a statement without parameters, as they come.
    pub(super) fn each_row(
        &mut self,
        text: &'static str,
        mut each: impl FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let statement = self.statement(text)?;
        let none: [&(dyn ToSql + Sync); 0] = [];
        let mut rows = self.client.query_raw(&statement, none)?;
        while let Some(row) = rows.next()? {
            each(&row)?;
        }
        Ok(())
    }

    fn statement(&mut self, text: &'static str) -> Result<Statement> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text)?;
        Ok(self.prepared.entry(text).or_insert(statement).clone())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_owner {
            // The server would find out, too, but a moment after whoever comes next.
            let _ =
                self.client.batch_execute(&format!("SELECT pg_advisory_unlock({})", self.owner));
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("begin", &self.begin).finish_non_exhaustive()
    }
}

/// Number of the advisory lock of a name, the same in each process: FNV-1a.
fn lock_of(name: &str) -> i64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}
