//! The tables, and what calls do with them: a statement each, whatever the number of rows.

use std::sync::Arc;

use ::postgres::Row;
use types::codec::Input;
use types::{Error, SqlState};

use super::connection::Connection;
use crate::semantics::{
    Address, Body, BusError, ClientId, ClientInfo, Delivery, Message, MessageId, MessageType,
    Priority, QueueKey, ReceiveOptions, Result, SendOptions, Sent, Time, Token, put_clients,
    read_clients,
};

pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS client (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, connected BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS sendable (
    client BIGINT NOT NULL, message_type BIGINT NOT NULL, PRIMARY KEY (client, message_type));
CREATE TABLE IF NOT EXISTS receivable (
    client BIGINT NOT NULL, message_type BIGINT NOT NULL, PRIMARY KEY (client, message_type));
CREATE INDEX IF NOT EXISTS receivable_type ON receivable (message_type, client);
CREATE TABLE IF NOT EXISTS message (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body BYTEA NOT NULL,
    sender BIGINT NOT NULL, sent BIGINT NOT NULL, deadline BIGINT NOT NULL,
    priority INTEGER NOT NULL, message_type BIGINT NOT NULL, receivers BYTEA);
CREATE TABLE IF NOT EXISTS queued_message (
    receiver BIGINT NOT NULL, urgency BIGINT NOT NULL, deadline BIGINT NOT NULL,
    message BIGINT NOT NULL, PRIMARY KEY (receiver, urgency, deadline, message));
CREATE INDEX IF NOT EXISTS queued_message_message ON queued_message (message);
CREATE INDEX IF NOT EXISTS queued_message_deadline ON queued_message (deadline)
    WHERE deadline < 9223372036854775807;
";

/// The two tables of registrations.
pub(super) struct Registrations {
    pub(super) insert: &'static str,
    pub(super) types: &'static str,
}

pub(super) const SENDS: &Registrations = &Registrations {
    insert: "INSERT INTO sendable VALUES ($1, $2) ON CONFLICT DO NOTHING",
    types: "SELECT client, message_type FROM sendable ORDER BY client, message_type",
};

pub(super) const RECEIVES: &Registrations = &Registrations {
    insert: "INSERT INTO receivable VALUES ($1, $2) ON CONFLICT DO NOTHING",
    types: "SELECT client, message_type FROM receivable ORDER BY client, message_type",
};

const SENDER: &str = "
SELECT EXISTS (SELECT 1 FROM client WHERE id = $1),
    EXISTS (SELECT 1 FROM sendable WHERE client = $1 AND message_type = $2)";
const NAMED: &str = "
SELECT named.id, c.id IS NOT NULL, r.client IS NOT NULL
FROM unnest($1::BIGINT[]) AS named (id) LEFT JOIN client c ON c.id = named.id
LEFT JOIN receivable r ON r.client = named.id AND r.message_type = $2";
const INSERT: &str = "
INSERT INTO message (body, sender, sent, deadline, priority, message_type, receivers)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
const QUEUE: &str = "
INSERT INTO queued_message SELECT to_whom.id, $2::BIGINT, $3::BIGINT, $4::BIGINT
FROM unnest($1::BIGINT[]) AS to_whom (id)";
const RECEIVE: &str = "
SELECT m.id, m.body, m.sender, m.sent, m.deadline, m.priority, m.message_type, m.receivers
FROM queued_message q JOIN message m ON m.id = q.message
WHERE q.receiver = $1 AND q.urgency <= $2 AND q.deadline > $3
ORDER BY q.urgency, q.deadline, q.message LIMIT $4";
const REMOVE: &str = "
DELETE FROM queued_message q
USING unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[])
    AS gone (receiver, urgency, deadline, message)
WHERE q.receiver = gone.receiver AND q.urgency = gone.urgency AND q.deadline = gone.deadline
    AND q.message = gone.message
RETURNING q.message";
const REMOVE_MESSAGES: &str = "
DELETE FROM message WHERE id = ANY ($1)
    AND NOT EXISTS (SELECT 1 FROM queued_message q WHERE q.message = message.id)";
const PURGE: &str = "
DELETE FROM queued_message WHERE deadline <= $1 AND deadline < 9223372036854775807
RETURNING message";
const CLIENTS: &str = "
SELECT c.id, c.connected, count(m.id), coalesce(sum(length(m.body)), 0)::BIGINT
FROM client c LEFT JOIN queued_message q ON q.receiver = c.id AND q.deadline > $1
LEFT JOIN message m ON m.id = q.message
GROUP BY c.id, c.connected ORDER BY c.id";

/// The tables within a transaction.
pub(super) struct Tables<'c> {
    pub(super) connection: &'c mut Connection,
    wakes: bool,
}

impl<'c> Tables<'c> {
    /// The tables behind a connection.
    pub(super) fn of(connection: &'c mut Connection) -> Self {
        Self { connection, wakes: false }
    }

    /// Whether somebody who waits would find another answer now.
    pub(super) fn is_worth_waking(&self) -> bool {
        self.wakes
    }

    /// Has those who wait look.
    pub(super) fn wake(&mut self) {
        self.wakes = true;
    }

    pub(super) fn check_connected(&mut self, client: ClientId) -> Result<()> {
        const FOUND: &str = "SELECT 1 FROM client WHERE id = $1";
        let found = self.connection.rows(FOUND, &[&number(client)])?;
        if found.is_empty() { Err(BusError::NotConnected(client)) } else { Ok(()) }
    }

    pub(super) fn add_client(&mut self, now: Time) -> Result<ClientId> {
        const ADD: &str = "INSERT INTO client (connected) VALUES ($1) RETURNING id";
        let rows = self.connection.rows(ADD, &[&now.0])?;
        let row = rows.first().ok_or_else(|| damaged("a client without a number"))?;
        Ok(client_at(row, 0))
    }

    pub(super) fn remove_client(&mut self, client: ClientId) -> Result<()> {
        const QUEUE: &str = "DELETE FROM queued_message WHERE receiver = $1 RETURNING message";
        const SENDABLE: &str = "DELETE FROM sendable WHERE client = $1";
        const RECEIVABLE: &str = "DELETE FROM receivable WHERE client = $1";
        const CLIENT: &str = "DELETE FROM client WHERE id = $1";
        self.wakes = true;
        let id = number(client);
        let rows = self.connection.rows(QUEUE, &[&id])?;
        self.remove_messages(&rows)?;
        for text in [SENDABLE, RECEIVABLE, CLIENT] {
            self.connection.rows(text, &[&id])?;
        }
        Ok(())
    }

    pub(super) fn register(
        &mut self,
        to: &Registrations,
        client: ClientId,
        message_type: MessageType,
    ) -> Result<()> {
        self.check_connected(client)?;
        self.connection.rows(to.insert, &[&number(client), &i64::from(message_type.0)])?;
        Ok(())
    }

    /// The clients that a message may go to, sorted, each once.
    pub(super) fn candidates(&mut self, options: &SendOptions<'_>) -> Result<Vec<ClientId>> {
        const ANY: &str = "SELECT client FROM receivable WHERE message_type = $1";
        let (sender, message_type) = (options.sender, options.message_type);
        let type_number = i64::from(message_type.0);
        let rows = self.connection.rows(SENDER, &[&number(sender), &type_number])?;
        let row = rows.first().ok_or_else(|| damaged("no answer about a sender"))?;
        if !row.get::<_, bool>(0) {
            return Err(BusError::SenderNotConnected(sender));
        }
        if !row.get::<_, bool>(1) {
            return Err(BusError::SenderNotRegistered(sender, message_type));
        }
        let mut candidates: Vec<ClientId> = match options.address {
            Address::Any => {
                let rows = self.connection.rows(ANY, &[&type_number])?;
                rows.iter().map(|row| client_at(row, 0)).collect()
            }
            Address::Clients(named) => {
                let ids: Vec<i64> = named.iter().map(|client| number(*client)).collect();
                let mut rows = self.connection.rows(NAMED, &[&ids, &type_number])?;
                rows.sort_by_key(|row| ids.iter().position(|id| *id == row.get::<_, i64>(0)));
                for row in &rows {
                    let receiver = client_at(row, 0);
                    if !row.get::<_, bool>(1) {
                        return Err(BusError::ReceiverNotConnected(receiver));
                    }
                    if !row.get::<_, bool>(2) {
                        return Err(BusError::ReceiverNotRegistered(receiver, message_type));
                    }
                }
                named.to_vec()
            }
        };
        candidates.sort_unstable();
        candidates.dedup();
        if candidates.is_empty() {
            Err(BusError::NoReceivers(message_type))
        } else {
            Ok(candidates)
        }
    }

    pub(super) fn insert(
        &mut self,
        options: &SendOptions<'_>,
        receivers: &[ClientId],
        sent: Time,
    ) -> Result<Sent> {
        let deadline = options.deadline.moment(sent);
        let list = options.is_cancellable().then(|| list_of(receivers));
        let (sender, type_number) = (number(options.sender), i64::from(options.message_type.0));
        let body = &options.body[..];
        let rows = self.connection.rows(
            INSERT,
            &[&body, &sender, &sent.0, &deadline.0, &options.priority.0, &type_number, &list],
        )?;
        let row = rows.first().ok_or_else(|| damaged("a message without a number"))?;
        let id = MessageId(row.get::<_, i64>(0).cast_unsigned());
        let key = QueueKey { priority: options.priority, deadline, id };
        let ids: Vec<i64> = receivers.iter().map(|receiver| number(*receiver)).collect();
        let message = id.0.cast_signed();
        self.wakes = true;
        self.connection.rows(QUEUE, &[&ids, &urgency(key.priority), &deadline.0, &message])?;
        let (sender, copies) = (options.sender, receivers.len());
        let token = options.is_cancellable().then(|| Token {
            key,
            sender,
            receivers: Arc::from(receivers),
        });
        Ok(Sent { id, sent, copies, token })
    }

    pub(super) fn find(
        &mut self,
        options: &ReceiveOptions<'_>,
        now: Time,
    ) -> Result<Vec<Delivery>> {
        let limit = i64::try_from(options.limit.max(1)).unwrap_or(i64::MAX);
        let (client, most) = (number(options.client), urgency(options.priority_min));
        let rows = self.connection.rows(RECEIVE, &[&client, &most, &now.0, &limit])?;
        rows.iter().map(message_of).collect()
    }

    /// Removes copies, and messages that no queue has any more; returns how many copies went.
    pub(super) fn remove<'a>(
        &mut self,
        copies: impl Iterator<Item = (ClientId, &'a QueueKey)>,
    ) -> Result<usize> {
        let mut gone: [Vec<i64>; 4] = std::array::from_fn(|_| Vec::new());
        for (receiver, key) in copies {
            let row =
                [number(receiver), urgency(key.priority), key.deadline.0, key.id.0.cast_signed()];
            gone.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        let [receivers, urgencies, deadlines, messages] = &gone;
        if receivers.is_empty() {
            return Ok(0);
        }
        let rows = self.connection.rows(REMOVE, &[receivers, urgencies, deadlines, messages])?;
        self.remove_messages(&rows)?;
        Ok(rows.len())
    }

    /// Throws away what nobody will receive any more.
    pub(super) fn purge(&mut self, now: Time) -> Result<()> {
        let rows = self.connection.rows(PURGE, &[&now.0])?;
        self.remove_messages(&rows)
    }

    /// Removes those of the messages, the first column of the rows, that no queue has any more.
    fn remove_messages(&mut self, rows: &[Row]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let messages: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        self.connection.rows(REMOVE_MESSAGES, &[&messages])?;
        Ok(())
    }

    pub(super) fn clients(&mut self, now: Time) -> Result<Vec<ClientInfo>> {
        let rows = self.connection.rows(CLIENTS, &[&now.0])?;
        let mut infos: Vec<ClientInfo> = rows
            .iter()
            .map(|row| ClientInfo {
                client: client_at(row, 0),
                connected: Time(row.get(1)),
                sends: Vec::new(),
                receives: Vec::new(),
                messages: usize::try_from(row.get::<_, i64>(2)).unwrap_or(0),
                body_bytes: row.get::<_, i64>(3).cast_unsigned(),
            })
            .collect();
        let kinds: [(&Registrations, fn(&mut ClientInfo) -> &mut Vec<MessageType>); 2] =
            [(SENDS, |info| &mut info.sends), (RECEIVES, |info| &mut info.receives)];
        for (table, types_of) in kinds {
            for row in self.connection.rows(table.types, &[])? {
                let client = client_at(&row, 0);
                if let Ok(place) = infos.binary_search_by_key(&client, |info| info.client) {
                    types_of(&mut infos[place]).push(type_at(&row, 1)?);
                }
            }
        }
        Ok(infos)
    }
}

/// A client's id as the tables have it.
pub(super) fn number(client: ClientId) -> i64 {
    client.0.cast_signed()
}

/// The receivers of a message that can be cancelled, as a row has them.
pub(super) fn list_of(receivers: &[ClientId]) -> Vec<u8> {
    let mut list = Vec::new();
    put_clients(&mut list, receivers);
    list
}

/// First column of the order of queues: smaller for higher priorities.
pub(super) fn urgency(priority: Priority) -> i64 {
    -i64::from(priority.0)
}

pub(super) fn client_at(row: &Row, column: usize) -> ClientId {
    ClientId(row.get::<_, i64>(column).cast_unsigned())
}

pub(super) fn type_at(row: &Row, column: usize) -> Result<MessageType> {
    let number = u32::try_from(row.get::<_, i64>(column));
    Ok(MessageType(number.map_err(|_| damaged("a type that is no number of 32 bits"))?))
}

pub(super) fn message_of(row: &Row) -> Result<Delivery> {
    let receivers = match row.get::<_, Option<&[u8]>>(7) {
        None => None,
        Some(list) => {
            let clients = read_clients(&mut Input::new(list));
            Some(Arc::from(clients.map_err(|_| damaged("a list that is none of clients"))?))
        }
    };
    Ok(Arc::new(Message {
        key: QueueKey {
            priority: Priority(row.get(5)),
            deadline: Time(row.get(4)),
            id: MessageId(row.get::<_, i64>(0).cast_unsigned()),
        },
        sender: client_at(row, 2),
        sent: Time(row.get(3)),
        message_type: type_at(row, 6)?,
        body: Body::from(row.get::<_, &[u8]>(1)),
        receivers,
    }))
}

/// An error for rows that this module did not write.
pub(super) fn damaged(what: &str) -> BusError {
    Error::new(SqlState::DATA_CORRUPTED, format!("the tables of the bus hold {what}")).into()
}
