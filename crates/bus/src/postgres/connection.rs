//! A connection: transactions, statements that are prepared once, and errors as the bus has them.

use std::collections::HashMap;

use ::postgres::error::SqlState as ServerState;
use ::postgres::types::ToSql;
use ::postgres::{Client, NoTls, Row, Statement};
use types::{Error, SqlState};

use super::Place;
use super::tables::{SCHEMA, Tables};
use crate::semantics::{BusError, Result};

/// One connection to the server.
pub(super) struct Connection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    /// Begin of a change: its transaction, and the lock that all changes of the schema take.
    begin: String,
    /// End of a change of which other processes are to know.
    tell: String,
}

/// An error of the network when the connection ended, else one of the server:
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
        let lock = lock_of(schema);
        let begin =
            format!("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({lock})");
        let tell = format!("NOTIFY {schema}; COMMIT");
        Ok(Self { client, prepared: HashMap::new(), begin, tell })
    }

    /// Makes the tables that are not there.
    pub(super) fn make_tables(&mut self, place: &Place) -> Result<()> {
        self.client.batch_execute(&self.begin)?;
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
        self.client.batch_execute(&self.begin)?;
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
        let statement = match self.prepared.get(text) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.client.prepare(text)?;
                self.prepared.entry(text).or_insert(statement).clone()
            }
        };
        Ok(self.client.query(&statement, parameters)?)
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("begin", &self.begin).finish_non_exhaustive()
    }
}

/// Number of the advisory lock of a schema, the same in each process: FNV-1a of its name.
fn lock_of(schema: &str) -> i64 {
    let hash = schema.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}
