//! The tables behind the native bus: the owner's lock keeps other processes from changes, and many
//! calls are a few statements.
//!
//! Invariant: ids are never given again, and a copy never comes back, so the changes of a
//! transaction may be sorted by kind: what comes first, and what goes afterwards.

use types::{Error, SqlState};

use super::Postgres;
use super::tables::{
    RECEIVES, SENDS, Tables, client_at, damaged, list_of, message_of, number, type_at, urgency,
};
use crate::record::{NextIds, Placed, Record};
use crate::semantics::{ClientId, Message, MessageId, MessageType, QueueKey, Result, Time};
use crate::store::Store;

/// The most bytes of a body: a statement with it, and a row, stay below 1 GB.
const BODY_BYTES_MAX: usize = 512 << 20;

/// Bytes of bodies after which a statement has enough: servers take 1 GB.
const STATEMENT_BYTES: usize = 32 << 20;

const NEXT_IDS: &str = "
SELECT c.last_value + c.is_called::INTEGER, m.last_value + m.is_called::INTEGER
FROM client_id_seq c, message_id_seq m";
const CLIENTS: &str = "SELECT id, connected FROM client";
const MESSAGES: &str = "
SELECT id, body, sender, sent, deadline, priority, message_type, receivers FROM message";
const COPIES: &str = "SELECT message, receiver FROM queued_message";

const KEEP_CLIENTS: &str = "
INSERT INTO client (id, connected) OVERRIDING SYSTEM VALUE
SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[])";
const KEEP_MESSAGES: &str = "
INSERT INTO message (id, body, sender, sent, deadline, priority, message_type, receivers)
OVERRIDING SYSTEM VALUE
SELECT * FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[],
    $6::INTEGER[], $7::BIGINT[], $8::BYTEA[])";
const KEEP_COPIES: &str = "
INSERT INTO queued_message
SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[])";

impl Store for Postgres {
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()> {
        self.with(|connection| {
            connection.own()?;
            connection.look(|tables| tables.load(each))
        })
    }

    fn check(&self, call: &[Record]) -> types::Result<()> {
        let is_too_large = |record: &Record| {
            matches!(record, Record::Message(placed)
            if placed.message.body.len() > BODY_BYTES_MAX)
        };
        if call.iter().any(is_too_large) {
            let message =
                format!("a body on its way into tables has at most {BODY_BYTES_MAX} bytes");
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        Ok(())
    }

    fn apply(&self, calls: Vec<Vec<Record>>) -> Result<()> {
        let now = self.now();
        let batch = Batch::of(calls);
        self.change(|tables| {
            tables.apply(batch)?;
            tables.purge(now)
        })
    }
}

/// The changes of a transaction, by kind.
#[derive(Default)]
struct Batch {
    connects: Vec<(ClientId, Time)>,
    senders: Vec<(ClientId, MessageType)>,
    receivers: Vec<(ClientId, MessageType)>,
    messages: Vec<Placed>,
    removed: Vec<(ClientId, QueueKey)>,
    disconnects: Vec<ClientId>,
}

impl Batch {
    fn of(calls: Vec<Vec<Record>>) -> Self {
        let mut batch = Self::default();
        for record in calls.into_iter().flatten() {
            match record {
                Record::Connect(client, connected) => batch.connects.push((client, connected)),
                Record::Disconnect(client) => batch.disconnects.push(client),
                Record::Sender(client, what) => batch.senders.push((client, what)),
                Record::Receiver(client, what) => batch.receivers.push((client, what)),
                Record::Message(placed) => batch.messages.push(placed),
                Record::Delete(client, keys) => {
                    batch.removed.extend(keys.into_iter().map(|key| (client, key)));
                }
                Record::Cancel(key, receivers) => {
                    batch.removed.extend(receivers.into_iter().map(|receiver| (receiver, key)));
                }
                // Of snapshots and asynchronous logs.
                Record::Again(..) | Record::Ids(_) => {}
            }
        }
        batch
    }
}

impl Tables<'_> {
    fn next_ids(&mut self) -> Result<NextIds> {
        let rows = self.connection.rows(NEXT_IDS, &[])?;
        let row = rows.first().ok_or_else(|| damaged("no next ids"))?;
        let id = |column: usize| row.get::<_, i64>(column).cast_unsigned();
        Ok(NextIds { client: id(0), message: id(1) })
    }

    fn load(&mut self, each: &mut dyn FnMut(Record)) -> Result<()> {
        each(Record::Ids(self.next_ids()?));
        let connection = &mut *self.connection;
        connection.each_row(CLIENTS, |row| {
            each(Record::Connect(client_at(row, 0), Time(row.get(1))));
            Ok(())
        })?;
        connection.each_row(SENDS.types, |row| {
            each(Record::Sender(client_at(row, 0), type_at(row, 1)?));
            Ok(())
        })?;
        connection.each_row(RECEIVES.types, |row| {
            each(Record::Receiver(client_at(row, 0), type_at(row, 1)?));
            Ok(())
        })?;
        connection.each_row(MESSAGES, |row| {
            each(Record::without_holders(message_of(row)?));
            Ok(())
        })?;
        connection.each_row(COPIES, |row| {
            let message = MessageId(row.get::<_, i64>(0).cast_unsigned());
            each(Record::Again(message, client_at(row, 1)));
            Ok(())
        })
    }

    fn apply(&mut self, batch: Batch) -> Result<()> {
        self.keep_clients(&batch.connects)?;
        for (kind, registrations) in [(SENDS, &batch.senders), (RECEIVES, &batch.receivers)] {
            for (client, what) in registrations {
                self.connection.rows(kind.insert, &[&number(*client), &i64::from(what.0)])?;
            }
        }
        self.keep_messages(&batch.messages)?;
        self.remove(batch.removed.iter().map(|(receiver, key)| (*receiver, key)))?;
        batch.disconnects.iter().try_for_each(|client| self.remove_client(*client))
    }

    fn keep_clients(&mut self, clients: &[(ClientId, Time)]) -> Result<()> {
        const NEXT: &str = "SELECT setval('client_id_seq', $1)";
        let ids: Vec<i64> = clients.iter().map(|(client, _)| number(*client)).collect();
        let times: Vec<i64> = clients.iter().map(|(_, connected)| connected.0).collect();
        if let Some(last) = ids.iter().max() {
            self.connection.rows(KEEP_CLIENTS, &[&ids, &times])?;
            self.connection.rows(NEXT, &[last])?;
        }
        Ok(())
    }

    fn keep_messages(&mut self, messages: &[Placed]) -> Result<()> {
        const NEXT: &str = "SELECT setval('message_id_seq', $1)";
        let Some(last) = messages.iter().map(|placed| id_of(&placed.message.key)).max() else {
            return Ok(());
        };
        let mut bytes = 0;
        let parts = messages.chunk_by(|placed, _| {
            bytes += placed.message.body.len();
            let has_room = bytes < STATEMENT_BYTES;
            if !has_room {
                bytes = 0;
            }
            has_room
        });
        for part in parts {
            self.insert_all(part)?;
        }
        self.wake();
        self.connection.rows(NEXT, &[&last])?;
        Ok(())
    }

    fn insert_all(&mut self, placed: &[Placed]) -> Result<()> {
        let all = |value: fn(&Message) -> i64| -> Vec<i64> {
            placed.iter().map(|placed| value(&placed.message)).collect()
        };
        let ids = all(|message| id_of(&message.key));
        let senders = all(|message| number(message.sender));
        let (sent, deadlines) = (all(|message| message.sent.0), all(|m| m.key.deadline.0));
        let kinds = all(|message| i64::from(message.message_type.0));
        let priorities: Vec<i32> = placed.iter().map(|p| p.message.key.priority.0).collect();
        let bodies: Vec<&[u8]> = placed.iter().map(|placed| &placed.message.body[..]).collect();
        let lists: Vec<Option<Vec<u8>>> =
            placed.iter().map(|p| p.message.receivers.as_deref().map(list_of)).collect();
        self.connection.rows(
            KEEP_MESSAGES,
            &[&ids, &bodies, &senders, &sent, &deadlines, &priorities, &kinds, &lists],
        )?;
        let mut columns: [Vec<i64>; 4] = Default::default();
        for (key, holder) in
            placed.iter().flat_map(|p| p.holders.iter().map(|holder| (&p.message.key, holder)))
        {
            let row = [number(*holder), urgency(key.priority), key.deadline.0, id_of(key)];
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        let [receivers, urgencies, deadlines, messages] = &columns;
        self.connection.rows(KEEP_COPIES, &[receivers, urgencies, deadlines, messages])?;
        Ok(())
    }
}

fn id_of(key: &QueueKey) -> i64 {
    key.id.0.cast_signed()
}
