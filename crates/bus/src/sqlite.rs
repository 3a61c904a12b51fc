//! The bus in a SQLite database: five tables, and a transaction for each call.
//!
//! ```text
//! client(id, connected)      sendable(client, message_type)      receivable(client, message_type)
//! message(id, body, sender, sent, deadline, priority, message_type, receivers)
//! queued_message(receiver, priority, deadline, message)          one row per copy, in queue order
//! ```
//! Invariants: a message lives while a queue has it; ids are AUTOINCREMENT, so never given twice;
//! the order of ids is that of commits, because one writer has the database at a time.
//! Limits: a body has 1 GB at most (54000); receives that wait learn of sends of this value, not of
//! those of other processes.
//! Elsewhere: the same tables behind the native bus (`store`).
//! Source: Chasseur 2015, section 4.4. Departures: no deadline is the largest number, so that the
//! primary key of `queued_message` is the order of the queue and no second index is needed; the
//! flag of what can be cancelled is the list of its receivers; a client that leaves has no row.

mod store;

use std::path::Path;
use std::sync::Arc;

use host::Clock;
use parking_lot::Mutex;
use rusqlite::types::Null;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use types::codec::Input;
use types::{Error, SqlState};

use crate::semantics::{
    Address, Bell, Body, Bus, BusError, ClientId, ClientInfo, Copies, Delivery, Message, MessageId,
    MessageType, Priority, QueueKey, Receipt, ReceiveOptions, Result, Ring, SendOptions, Sent,
    Spare, Time, Token, put_clients, read_clients,
};

const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS client (
    id INTEGER PRIMARY KEY AUTOINCREMENT, connected INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sendable (
    client INTEGER NOT NULL, message_type INTEGER NOT NULL,
    PRIMARY KEY (client, message_type)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS receivable (
    client INTEGER NOT NULL, message_type INTEGER NOT NULL,
    PRIMARY KEY (client, message_type)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS receivable_type ON receivable (message_type, client);
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL, sender INTEGER NOT NULL,
    sent INTEGER NOT NULL, deadline INTEGER NOT NULL, priority INTEGER NOT NULL,
    message_type INTEGER NOT NULL, receivers BLOB);
CREATE TABLE IF NOT EXISTS queued_message (
    receiver INTEGER NOT NULL, priority INTEGER NOT NULL, deadline INTEGER NOT NULL,
    message INTEGER NOT NULL,
    PRIMARY KEY (receiver, priority DESC, deadline, message)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS queued_message_message ON queued_message (message);
CREATE INDEX IF NOT EXISTS queued_message_deadline ON queued_message (deadline)
    WHERE deadline < 9223372036854775807;
";

const INSERT_CLIENT: &str = "INSERT INTO client VALUES (?1, ?2)";
const INSERT_MESSAGE: &str = "INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const DELETE_COPY: &str = "DELETE FROM queued_message
    WHERE receiver = ?1 AND priority = ?2 AND deadline = ?3 AND message = ?4";
const DELETE_MESSAGE: &str = "DELETE FROM message WHERE id = ?1
    AND NOT EXISTS (SELECT 1 FROM queued_message WHERE message = ?1)";
const RECEIVE: &str = "
SELECT m.id, m.body, m.sender, m.sent, m.deadline, m.priority, m.message_type, m.receivers
FROM queued_message q JOIN message m ON m.id = q.message
WHERE q.receiver = ?1 AND q.priority >= ?2 AND q.deadline > ?3
ORDER BY q.priority DESC, q.deadline, q.message LIMIT ?4";
const CLIENTS: &str = "
SELECT c.id, c.connected, count(m.id), coalesce(sum(length(m.body)), 0)
FROM client c LEFT JOIN queued_message q ON q.receiver = c.id AND q.deadline > ?1
LEFT JOIN message m ON m.id = q.message
GROUP BY c.id ORDER BY c.id";

/// A bus in a SQLite database. Threads share it, one call at a time.
#[derive(Debug)]
pub struct Sqlite {
    connection: Mutex<Connection>,
    bell: Arc<Bell>,
    clock: Arc<dyn Clock>,
}

/// The errors of SQLite: 53100 on a full disk, 55006 for a database that another process holds,
/// 54000 for too large a body, 58030 for the rest.
impl From<rusqlite::Error> for BusError {
    fn from(error: rusqlite::Error) -> Self {
        let state = match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => SqlState::DISK_FULL,
            Some(rusqlite::ErrorCode::DatabaseBusy) => SqlState::OBJECT_IN_USE,
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => SqlState::DATA_CORRUPTED,
            Some(rusqlite::ErrorCode::TooBig) => SqlState::LIMIT_EXCEEDED,
            _ => SqlState::IO_ERROR,
        };
        Self::Storage(Error::new(state, format!("SQLite: {error}")))
    }
}

impl Sqlite {
    /// The bus in the file `path`, which is made when absent.
    ///
    /// # Errors
    /// [`BusError::Storage`].
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Mutex::new(connection), bell: Arc::default(), clock })
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    /// Runs `call` as a transaction, and has those who wait look if it changed something.
    fn change<T>(&self, call: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let outcome = {
            let mut connection = self.connection.lock();
            let behaviour = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behaviour)?;
            // An error rolls back.
            let outcome = call(&transaction)?;
            transaction.commit()?;
            outcome
        };
        self.bell.ring();
        Ok(outcome)
    }

    fn leave(&self, client: ClientId, only_if_empty: Option<Time>) -> Result<()> {
        self.change(|transaction| {
            check_connected(transaction, client)?;
            if let Some(now) = only_if_empty
                && !find(transaction, &ReceiveOptions::new(client), now)?.is_empty()
            {
                return Err(BusError::QueueNotEmpty(client));
            }
            remove_client(transaction, client)
        })
    }

    fn register(&self, table: &str, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|transaction| {
            check_connected(transaction, client)?;
            register(transaction, table, client, message_type)
        })
    }
}

fn remove_client(transaction: &Transaction<'_>, client: ClientId) -> Result<()> {
    let id = client.0 as i64;
    let messages: Vec<i64> = transaction
        .prepare("DELETE FROM queued_message WHERE receiver = ?1 RETURNING message")?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    delete_unreferenced(transaction, messages.into_iter())?;
    for table in ["sendable", "receivable"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE client = ?1"), [id])?;
    }
    transaction.execute("DELETE FROM client WHERE id = ?1", [id])?;
    Ok(())
}

fn register(
    transaction: &Transaction<'_>,
    table: &str,
    client: ClientId,
    message_type: MessageType,
) -> Result<()> {
    let insert = format!("INSERT OR IGNORE INTO {table} VALUES (?1, ?2)");
    transaction.execute(&insert, params![client.0 as i64, message_type.0])?;
    Ok(())
}

fn exists(transaction: &Transaction<'_>, query: &str, keys: [i64; 2]) -> Result<bool> {
    let found: Option<i64> = transaction.query_row(query, keys, |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

fn is_connected(transaction: &Transaction<'_>, client: ClientId) -> Result<bool> {
    exists(transaction, "SELECT 1 FROM client WHERE id = ?1 AND ?2 = 0", [client.0 as i64, 0])
}

fn check_connected(transaction: &Transaction<'_>, client: ClientId) -> Result<()> {
    if is_connected(transaction, client)? { Ok(()) } else { Err(BusError::NotConnected(client)) }
}

/// The clients that a message may go to, sorted, each once.
fn candidates(transaction: &Transaction<'_>, options: &SendOptions<'_>) -> Result<Vec<ClientId>> {
    const SENDABLE: &str = "SELECT 1 FROM sendable WHERE client = ?1 AND message_type = ?2";
    const RECEIVABLE: &str = "SELECT 1 FROM receivable WHERE client = ?1 AND message_type = ?2";
    let (sender, message_type) = (options.sender, options.message_type);
    let keys = |client: ClientId| [client.0 as i64, i64::from(message_type.0)];
    if !is_connected(transaction, sender)? {
        return Err(BusError::SenderNotConnected(sender));
    }
    if !exists(transaction, SENDABLE, keys(sender))? {
        return Err(BusError::SenderNotRegistered(sender, message_type));
    }
    let mut candidates = match options.address {
        Address::Clients(named) => named.to_vec(),
        Address::Any => transaction
            .prepare("SELECT client FROM receivable WHERE message_type = ?1")?
            .query_map([message_type.0], |row| Ok(ClientId(row.get::<_, i64>(0)? as u64)))?
            .collect::<Result<_, _>>()?,
    };
    if let Address::Clients(named) = options.address {
        for receiver in named {
            if !is_connected(transaction, *receiver)? {
                return Err(BusError::ReceiverNotConnected(*receiver));
            }
            if !exists(transaction, RECEIVABLE, keys(*receiver))? {
                return Err(BusError::ReceiverNotRegistered(*receiver, message_type));
            }
        }
    }
    candidates.sort_unstable();
    candidates.dedup();
    if candidates.is_empty() {
        return Err(BusError::NoReceivers(message_type));
    }
    Ok(candidates)
}

fn insert(
    transaction: &Transaction<'_>,
    options: &SendOptions<'_>,
    receivers: &[ClientId],
    sent: Time,
) -> Result<Sent> {
    let deadline = options.deadline.moment(sent);
    let list = options.is_cancellable().then(|| list_of(receivers));
    transaction.execute(
        INSERT_MESSAGE,
        params![
            Null,
            &options.body[..],
            options.sender.0 as i64,
            sent.0,
            deadline.0,
            options.priority.0,
            options.message_type.0,
            list
        ],
    )?;
    let id = MessageId(transaction.last_insert_rowid() as u64);
    let key = QueueKey { priority: options.priority, deadline, id };
    queue(transaction, receivers, &key)?;
    let (sender, copies) = (options.sender, receivers.len());
    let token =
        options.is_cancellable().then(|| Token { key, sender, receivers: Arc::from(receivers) });
    Ok(Sent { id, sent, copies, token })
}

/// Puts copies of a message into queues.
fn queue(transaction: &Transaction<'_>, receivers: &[ClientId], key: &QueueKey) -> Result<()> {
    let insert = "INSERT INTO queued_message VALUES (?1, ?2, ?3, ?4)";
    let mut insert = transaction.prepare(insert)?;
    for receiver in receivers {
        insert.execute(copy(*receiver, key))?;
    }
    Ok(())
}

/// The receivers of a message that can be cancelled, as a row has them.
fn list_of(receivers: &[ClientId]) -> Vec<u8> {
    let mut list = Vec::new();
    put_clients(&mut list, receivers);
    list
}

/// The columns of a row of `queued_message`.
fn copy(receiver: ClientId, key: &QueueKey) -> [i64; 4] {
    [receiver.0 as i64, i64::from(key.priority.0), key.deadline.0, key.id.0 as i64]
}

/// Removes copies, and messages that no queue has any more; returns how many copies went.
fn remove<'a>(
    transaction: &Transaction<'_>,
    copies: impl Iterator<Item = (ClientId, &'a QueueKey)> + Clone,
) -> Result<usize> {
    let mut delete = transaction.prepare(DELETE_COPY)?;
    let mut count = 0;
    for (receiver, key) in copies.clone() {
        count += delete.execute(copy(receiver, key))?;
    }
    delete_unreferenced(transaction, copies.map(|(_, key)| key.id.0 as i64))?;
    Ok(count)
}

fn delete_unreferenced(
    transaction: &Transaction<'_>,
    messages: impl Iterator<Item = i64>,
) -> Result<()> {
    let mut delete = transaction.prepare(DELETE_MESSAGE)?;
    for message in messages {
        delete.execute([message])?;
    }
    Ok(())
}

/// Throws away what nobody will receive any more.
fn purge(transaction: &Transaction<'_>, now: Time) -> Result<()> {
    const PURGE: &str = "DELETE FROM queued_message
        WHERE deadline <= ?1 AND deadline < 9223372036854775807 RETURNING message";
    let messages: Vec<i64> = transaction
        .prepare(PURGE)?
        .query_map([now.0], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    delete_unreferenced(transaction, messages.into_iter())
}

fn find(connection: &Connection, options: &ReceiveOptions<'_>, now: Time) -> Result<Vec<Delivery>> {
    let limit = i64::try_from(options.limit.max(1)).unwrap_or(i64::MAX);
    let mut receive = connection.prepare(RECEIVE)?;
    let keys = params![options.client.0 as i64, options.priority_min.0, now.0, limit];
    let found = receive.query_map(keys, read_message)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn read_message(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let list: Option<Vec<u8>> = row.get(7)?;
    let receivers = match list {
        None => None,
        Some(list) => {
            let clients = read_clients(&mut Input::new(&list));
            let clients = clients.map_err(|_| rusqlite::Error::InvalidQuery)?;
            Some(Arc::from(clients))
        }
    };
    Ok(Arc::new(Message {
        key: QueueKey {
            priority: Priority(row.get(5)?),
            deadline: Time(row.get(4)?),
            id: MessageId(row.get::<_, i64>(0)? as u64),
        },
        sender: ClientId(row.get::<_, i64>(2)? as u64),
        sent: Time(row.get(3)?),
        message_type: MessageType(row.get(6)?),
        body: Body::from(row.get_ref(1)?.as_blob()?),
        receivers,
    }))
}

fn types_of(connection: &Connection, table: &str, client: ClientId) -> Result<Vec<MessageType>> {
    let query = format!("SELECT message_type FROM {table} WHERE client = ?1 ORDER BY 1");
    let mut query = connection.prepare(&query)?;
    let types = query.query_map([client.0 as i64], |row| Ok(MessageType(row.get(0)?)))?;
    Ok(types.collect::<Result<_, _>>()?)
}

impl Bus for Sqlite {
    fn connect(&self) -> Result<ClientId> {
        self.change(|transaction| {
            transaction.execute(INSERT_CLIENT, params![Null, self.now().0])?;
            Ok(ClientId(transaction.last_insert_rowid() as u64))
        })
    }

    fn disconnect(&self, client: ClientId) -> Result<()> {
        self.leave(client, None)
    }

    fn disconnect_if_empty(&self, client: ClientId) -> Result<()> {
        self.leave(client, Some(self.now()))
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.register("sendable", client, message_type)
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.register("receivable", client, message_type)
    }

    fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        self.change(|transaction| {
            let candidates = candidates(transaction, options)?;
            let now = self.now();
            purge(transaction, now)?;
            let receivers = match options.copies {
                Copies::Each => &candidates[..],
                Copies::One => {
                    let turn = transaction.last_insert_rowid() as usize % candidates.len();
                    &candidates[turn..=turn]
                }
            };
            insert(transaction, options, receivers, now)
        })
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.bell.receive(options, || {
            let mut connection = self.connection.lock();
            let behaviour = match options.receipt {
                Receipt::Keep => TransactionBehavior::Deferred,
                Receipt::Delete => TransactionBehavior::Immediate,
            };
            let transaction = connection.transaction_with_behavior(behaviour)?;
            check_connected(&transaction, options.client)?;
            let found = find(&transaction, options, self.now())?;
            if options.receipt == Receipt::Delete {
                remove(&transaction, found.iter().map(|m| (options.client, &m.key)))?;
            }
            transaction.commit()?;
            Ok(found)
        })
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        self.change(|transaction| {
            check_connected(transaction, client)?;
            remove(transaction, messages.iter().map(|key| (client, key)))
        })
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.change(|transaction| {
            check_connected(transaction, client)?;
            if tokens.iter().any(|token| !token.belongs_to(client)) {
                return Err(BusError::TokenOfOthers(client));
            }
            let copies = tokens
                .iter()
                .flat_map(|token| token.receivers.iter().map(|receiver| (*receiver, &token.key)));
            let is_meant =
                |copy: &(ClientId, &QueueKey)| spare == Spare::Nobody || copy.0 != client;
            remove(transaction, copies.filter(is_meant))
        })
    }

    fn clients(&self) -> Result<Vec<ClientInfo>> {
        let connection = self.connection.lock();
        let mut query = connection.prepare(CLIENTS)?;
        let infos = query.query_map([self.now().0], |row| {
            Ok(ClientInfo {
                client: ClientId(row.get::<_, i64>(0)? as u64),
                connected: Time(row.get(1)?),
                sends: Vec::new(),
                receives: Vec::new(),
                messages: row.get::<_, i64>(2)? as usize,
                body_bytes: row.get::<_, i64>(3)? as u64,
            })
        })?;
        let mut infos: Vec<ClientInfo> = infos.collect::<Result<_, _>>()?;
        for info in &mut infos {
            info.sends = types_of(&connection, "sendable", info.client)?;
            info.receives = types_of(&connection, "receivable", info.client)?;
        }
        Ok(infos)
    }
}
