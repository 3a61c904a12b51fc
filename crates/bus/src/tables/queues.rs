//! The tables, and what calls do with them: a statement each, whatever the number of rows.

use std::sync::Arc;

use types::codec::Input;
use types::{Error, SqlState};

use super::link::Parameter::{Bytes, Number, Numbers, Small};
use super::link::{Link, Parameter, Row};
use crate::semantics::{
    Address, BusError, ClientId, ClientInfo, Delivery, Message, MessageId, MessageType, Priority,
    QueueKey, ReceiveOptions, Result, SendOptions, Sent, Time, Token, put_clients, read_clients,
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
pub(super) struct Tables<'l> {
    pub(super) link: &'l mut dyn Link,
    wakes: bool,
}

impl<'l> Tables<'l> {
    /// The tables behind a link.
    pub(super) fn of(link: &'l mut dyn Link) -> Self {
        Self { link, wakes: false }
    }

    /// The rows of a statement.
    pub(super) fn rows(
        &mut self,
        text: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.link.each_row(text, parameters, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// True when somebody who waits would find another answer now.
    pub(super) fn is_worth_waking(&self) -> bool {
        self.wakes
    }

    /// Has those who wait look.
    pub(super) fn wake(&mut self) {
        self.wakes = true;
    }

    pub(super) fn check_connected(&mut self, client: ClientId) -> Result<()> {
        const FOUND: &str = "SELECT 1 FROM client WHERE id = $1";
        let found = self.rows(FOUND, &[Number(number(client))])?;
        if found.is_empty() { Err(BusError::NotConnected(client)) } else { Ok(()) }
    }

    pub(super) fn add_client(&mut self, now: Time) -> Result<ClientId> {
        const ADD: &str = "INSERT INTO client (connected) VALUES ($1) RETURNING id";
        let rows = self.rows(ADD, &[Number(now.0)])?;
        let row = rows.first().ok_or_else(|| damaged("a client without a number"))?;
        client_at(row, 0)
    }

    pub(super) fn remove_client(&mut self, client: ClientId) -> Result<()> {
        const QUEUE: &str = "DELETE FROM queued_message WHERE receiver = $1 RETURNING message";
        const SENDABLE: &str = "DELETE FROM sendable WHERE client = $1";
        const RECEIVABLE: &str = "DELETE FROM receivable WHERE client = $1";
        const CLIENT: &str = "DELETE FROM client WHERE id = $1";
        self.wakes = true;
        let id = [Number(number(client))];
        let rows = self.rows(QUEUE, &id)?;
        self.remove_messages(&rows)?;
        for text in [SENDABLE, RECEIVABLE, CLIENT] {
            self.rows(text, &id)?;
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
        self.rows(to.insert, &registration(client, message_type))?;
        Ok(())
    }

    /// The clients that a message may go to, sorted, each once.
    pub(super) fn candidates(&mut self, options: &SendOptions<'_>) -> Result<Vec<ClientId>> {
        const ANY: &str = "SELECT client FROM receivable WHERE message_type = $1";
        let (sender, message_type) = (options.sender, options.message_type);
        let rows = self.rows(SENDER, &registration(sender, message_type))?;
        let row = rows.first().ok_or_else(|| damaged("no answer about a sender"))?;
        if !row.truth(0)? {
            return Err(BusError::SenderNotConnected(sender));
        }
        if !row.truth(1)? {
            return Err(BusError::SenderNotRegistered(sender, message_type));
        }
        let mut candidates: Vec<ClientId> = match options.address {
            Address::Any => {
                let rows = self.rows(ANY, &[type_number(message_type)])?;
                rows.iter().map(|row| client_at(row, 0)).collect::<Result<_>>()?
            }
            Address::Clients(named) => {
                let ids: Vec<i64> = named.iter().map(|client| number(*client)).collect();
                let mut rows = self.rows(NAMED, &[Numbers(&ids), type_number(message_type)])?;
                rows.sort_by_key(|row| ids.iter().position(|id| row.number(0) == Ok(*id)));
                for row in &rows {
                    let receiver = client_at(row, 0)?;
                    if !row.truth(1)? {
                        return Err(BusError::ReceiverNotConnected(receiver));
                    }
                    if !row.truth(2)? {
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
        let rows = self.rows(
            INSERT,
            &[
                Bytes(Some(&options.body)),
                Number(number(options.sender)),
                Number(sent.0),
                Number(deadline.0),
                Small(options.priority.0),
                type_number(options.message_type),
                Bytes(list.as_deref()),
            ],
        )?;
        let row = rows.first().ok_or_else(|| damaged("a message without a number"))?;
        let id = MessageId(row.id(0)?);
        let key = QueueKey { priority: options.priority, deadline, id };
        let ids: Vec<i64> = receivers.iter().map(|receiver| number(*receiver)).collect();
        let [urgency, deadline, message] = place(&key).map(Number);
        self.wakes = true;
        self.rows(QUEUE, &[Numbers(&ids), urgency, deadline, message])?;
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
        let numbers = [number(options.client), urgency(options.priority_min), now.0, limit];
        let rows = self.rows(RECEIVE, &numbers.map(Number))?;
        rows.iter().map(message_of).collect()
    }

    /// Removes copies, and messages that no queue has any more; returns how many copies went.
    pub(super) fn remove<'a>(
        &mut self,
        copies: impl Iterator<Item = (ClientId, &'a QueueKey)>,
    ) -> Result<usize> {
        let gone = columns(copies);
        if gone[0].is_empty() {
            return Ok(0);
        }
        let rows = self.rows(REMOVE, &gone.each_ref().map(|column| Numbers(column)))?;
        self.remove_messages(&rows)?;
        Ok(rows.len())
    }

    /// Throws away what nobody will receive any more.
    pub(super) fn purge(&mut self, now: Time) -> Result<()> {
        let rows = self.rows(PURGE, &[Number(now.0)])?;
        self.remove_messages(&rows)
    }

    /// Removes those of the messages, the first column of the rows, that no queue has any more.
    fn remove_messages(&mut self, rows: &[Row]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let messages: Vec<i64> = rows.iter().map(|row| row.number(0)).collect::<Result<_>>()?;
        self.rows(REMOVE_MESSAGES, &[Numbers(&messages)])?;
        Ok(())
    }

    pub(super) fn clients(&mut self, now: Time) -> Result<Vec<ClientInfo>> {
        let info = |row: &Row| {
            Ok(ClientInfo {
                client: client_at(row, 0)?,
                connected: Time(row.number(1)?),
                sends: Vec::new(),
                receives: Vec::new(),
                messages: usize::try_from(row.number(2)?).unwrap_or(0),
                body_bytes: row.id(3)?,
            })
        };
        let rows = self.rows(CLIENTS, &[Number(now.0)])?;
        let mut infos: Vec<ClientInfo> = rows.iter().map(info).collect::<Result<_>>()?;
        let kinds: [(&Registrations, fn(&mut ClientInfo) -> &mut Vec<MessageType>); 2] =
            [(SENDS, |info| &mut info.sends), (RECEIVES, |info| &mut info.receives)];
        for (table, types_of) in kinds {
            for row in self.rows(table.types, &[])? {
                let client = client_at(&row, 0)?;
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

/// The columns of a queue's order, as the tables have them.
fn place(key: &QueueKey) -> [i64; 3] {
    [urgency(key.priority), key.deadline.0, key.id.0.cast_signed()]
}

/// The columns of `queued_message` for copies: a value for each.
pub(super) fn columns<'a>(copies: impl Iterator<Item = (ClientId, &'a QueueKey)>) -> [Vec<i64>; 4] {
    let mut columns: [Vec<i64>; 4] = Default::default();
    for (receiver, key) in copies {
        let [urgency, deadline, message] = place(key);
        let row = [number(receiver), urgency, deadline, message];
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    columns
}

/// The parameters of a registration.
pub(super) fn registration(client: ClientId, message_type: MessageType) -> [Parameter<'static>; 2] {
    [Number(number(client)), type_number(message_type)]
}

fn type_number(message_type: MessageType) -> Parameter<'static> {
    Number(i64::from(message_type.0))
}

pub(super) fn client_at(row: &Row, column: usize) -> Result<ClientId> {
    row.id(column).map(ClientId)
}

pub(super) fn type_at(row: &Row, column: usize) -> Result<MessageType> {
    let number = u32::try_from(row.number(column)?);
    Ok(MessageType(number.map_err(|_| damaged("a type that is no number of 32 bits"))?))
}

pub(super) fn message_of(row: &Row) -> Result<Delivery> {
    let receivers = match row.bytes(7)? {
        None => None,
        Some(list) => {
            let clients = read_clients(&mut Input::new(list));
            Some(Arc::from(clients.map_err(|_| damaged("a list that is none of clients"))?))
        }
    };
    let body = row.bytes(1)?.ok_or_else(|| damaged("a message without a body"))?;
    Ok(Arc::new(Message {
        key: QueueKey {
            priority: Priority(priority_at(row, 5)?),
            deadline: Time(row.number(4)?),
            id: MessageId(row.id(0)?),
        },
        sender: client_at(row, 2)?,
        sent: Time(row.number(3)?),
        message_type: type_at(row, 6)?,
        body: Arc::clone(body),
        receivers,
    }))
}

fn priority_at(row: &Row, column: usize) -> Result<i32> {
    let number = i32::try_from(row.number(column)?);
    number.map_err(|_| damaged("a priority that is no number of 32 bits"))
}

/// An error for rows that this module did not write.
pub(super) fn damaged(what: &str) -> BusError {
    Error::new(SqlState::DATA_CORRUPTED, format!("the tables of the bus hold {what}")).into()
}
