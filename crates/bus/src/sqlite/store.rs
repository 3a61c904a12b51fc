//! The tables behind the native bus, which has the file alone from [`Store::load`] on: SQLite's
//! exclusive mode keeps others out of it until the connection ends.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use types::{Error, Result as Outcome, SqlState};

use super::{
    INSERT_CLIENT, INSERT_MESSAGE, Sqlite, list_of, purge, queue, read_message, register, remove,
    remove_client,
};
use crate::record::{NextIds, Placed, Record};
use crate::semantics::{ClientId, MessageId, MessageType, Result, Time};
use crate::store::Store;

/// The most bytes of a body: a row of SQLite has 10^9, the other columns among them.
const BODY_BYTES_MAX: usize = 999_000_000;

const NEXT_IDS: &str = "
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'client'), 0) + 1,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0) + 1";
const MESSAGES: &str = "
SELECT id, body, sender, sent, deadline, priority, message_type, receivers FROM message";

impl Store for Sqlite {
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()> {
        let mut connection = self.connection.lock();
        // The next transaction that may write takes the lock, and the connection keeps it.
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
        let behaviour = TransactionBehavior::Immediate;
        let transaction = connection.transaction_with_behavior(behaviour)?;
        load(&transaction, each)?;
        Ok(transaction.commit()?)
    }

    fn check(&self, call: &[Record]) -> Outcome<()> {
        let is_too_large = |record: &Record| {
            matches!(record, Record::Message(placed)
            if placed.message.body.len() > BODY_BYTES_MAX)
        };
        if call.iter().any(is_too_large) {
            let message = format!("a body in SQLite has at most {BODY_BYTES_MAX} bytes");
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        Ok(())
    }

    fn apply(&self, calls: Vec<Vec<Record>>) -> Result<()> {
        let now = self.now();
        self.change(|transaction| {
            calls.into_iter().flatten().try_for_each(|record| apply(transaction, record))?;
            purge(transaction, now)
        })
    }
}

fn load(connection: &Connection, each: &mut dyn FnMut(Record)) -> Result<()> {
    pairs(connection, NEXT_IDS, |client, message| {
        each(Record::Ids(NextIds { client, message: message as u64 }));
    })?;
    pairs(connection, "SELECT id, connected FROM client", |client, connected| {
        each(Record::Connect(ClientId(client), Time(connected)));
    })?;
    pairs(connection, "SELECT client, message_type FROM sendable", |client, what| {
        each(Record::Sender(ClientId(client), MessageType(what as u32)));
    })?;
    pairs(connection, "SELECT client, message_type FROM receivable", |client, what| {
        each(Record::Receiver(ClientId(client), MessageType(what as u32)));
    })?;
    let mut messages = connection.prepare(MESSAGES)?;
    for message in messages.query_map([], read_message)? {
        each(Record::without_holders(message?));
    }
    pairs(connection, "SELECT message, receiver FROM queued_message", |message, receiver| {
        each(Record::Again(MessageId(message), ClientId(receiver as u64)));
    })
}

/// Calls `each` with the two numbers of each row.
fn pairs(connection: &Connection, query: &str, mut each: impl FnMut(u64, i64)) -> Result<()> {
    let mut query = connection.prepare(query)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        each(row.get::<_, i64>(0)? as u64, row.get(1)?);
    }
    Ok(())
}

fn apply(transaction: &Transaction<'_>, record: Record) -> Result<()> {
    match record {
        Record::Connect(client, connected) => {
            transaction.execute(INSERT_CLIENT, params![client.0 as i64, connected.0])?;
        }
        Record::Disconnect(client) => remove_client(transaction, client)?,
        Record::Sender(client, what) => register(transaction, "sendable", client, what)?,
        Record::Receiver(client, what) => register(transaction, "receivable", client, what)?,
        Record::Message(placed) => place(transaction, &placed)?,
        Record::Delete(client, keys) => {
            remove(transaction, keys.iter().map(|key| (client, key)))?;
        }
        Record::Cancel(key, receivers) => {
            remove(transaction, receivers.iter().map(|receiver| (*receiver, &key)))?;
        }
        // Of snapshots and asynchronous logs.
        Record::Again(..) | Record::Ids(_) => {}
    }
    Ok(())
}

fn place(transaction: &Transaction<'_>, placed: &Placed) -> Result<()> {
    let message = &*placed.message;
    let key = &message.key;
    let list = message.receivers.as_deref().map(list_of);
    transaction.prepare(INSERT_MESSAGE)?.execute(params![
        key.id.0 as i64,
        &message.body[..],
        message.sender.0 as i64,
        message.sent.0,
        key.deadline.0,
        key.priority.0,
        message.message_type.0,
        list
    ])?;
    queue(transaction, &placed.holders, key)
}
