//! The tables behind the native bus: the owner's lock keeps others from changes, and many
//! calls are a few statements.
//!
//! Invariant: ids are never given again, and a copy never comes back, so the changes of a
//! transaction may be sorted by kind: what comes first, and what goes afterwards.

use types::{Error, SqlState};

use super::TableBus;
use super::link::Parameter::{ManyBytes, Number, Numbers, Smalls};
use super::link::{Place, Row};
use super::queues::{
    RECEIVES, Registrations, SENDS, Tables, client_at, columns, list_of, message_of, number,
    registration, type_at,
};
use crate::record::{NextIds, Placed, Record};
use crate::semantics::{ClientId, Message, MessageId, MessageType, QueueKey, Result, Time};
use crate::store::Store;

/// The most bytes of a body.
const BODY_BYTES_MAX: usize = 448 << 20;

/// Bytes of bodies after which a statement has enough.
const STATEMENT_BYTES: usize = 32 << 20;

// Databases take values of 1 GB, and Tessera's arrays have two bytes for each that is 0.
const _: () = assert!(2 * (BODY_BYTES_MAX + STATEMENT_BYTES) < 1 << 30);

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

impl<P: Place> Store for TableBus<P> {
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()> {
        self.with(|session| {
            session.own()?;
            session.look(|tables| tables.load(each))
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
    fn load(&mut self, each: &mut dyn FnMut(Record)) -> Result<()> {
        let registered = |row: &Row| Ok((client_at(row, 0)?, type_at(row, 1)?));
        let mut all = |text: &'static str, record: &dyn Fn(&Row) -> Result<Record>| {
            self.link.each_row(text, &[], &mut |row| {
                each(record(&row)?);
                Ok(())
            })
        };
        all(NEXT_IDS, &|row| Ok(Record::Ids(NextIds { client: row.id(0)?, message: row.id(1)? })))?;
        all(CLIENTS, &|row| Ok(Record::Connect(client_at(row, 0)?, Time(row.number(1)?))))?;
        all(SENDS.types, &|row| {
            registered(row).map(|(client, what)| Record::Sender(client, what))
        })?;
        all(RECEIVES.types, &|row| {
            registered(row).map(|(client, what)| Record::Receiver(client, what))
        })?;
        all(MESSAGES, &|row| Ok(Record::without_holders(message_of(row)?)))?;
        all(COPIES, &|row| Ok(Record::Again(MessageId(row.id(0)?), client_at(row, 1)?)))
    }

    fn apply(&mut self, batch: Batch) -> Result<()> {
        self.keep_clients(&batch.connects)?;
        self.keep_registrations(SENDS, &batch.senders)?;
        self.keep_registrations(RECEIVES, &batch.receivers)?;
        self.keep_messages(&batch.messages)?;
        self.remove(batch.removed.iter().map(|(receiver, key)| (*receiver, key)))?;
        batch.disconnects.iter().try_for_each(|client| self.remove_client(*client))
    }

    fn keep_registrations(
        &mut self,
        to: &Registrations,
        registrations: &[(ClientId, MessageType)],
    ) -> Result<()> {
        registrations.iter().try_for_each(|(client, what)| {
            self.rows(to.insert, &registration(*client, *what)).map(drop)
        })
    }

    fn keep_clients(&mut self, clients: &[(ClientId, Time)]) -> Result<()> {
        const NEXT: &str = "SELECT setval('client_id_seq', $1)";
        let ids: Vec<i64> = clients.iter().map(|(client, _)| number(*client)).collect();
        let times: Vec<i64> = clients.iter().map(|(_, connected)| connected.0).collect();
        if let Some(last) = ids.iter().max() {
            self.rows(KEEP_CLIENTS, &[Numbers(&ids), Numbers(&times)])?;
            self.rows(NEXT, &[Number(*last)])?;
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
        self.rows(NEXT, &[Number(last)])?;
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
        let bodies: Vec<Option<&[u8]>> =
            placed.iter().map(|placed| Some(&placed.message.body[..])).collect();
        let lists: Vec<Option<Vec<u8>>> =
            placed.iter().map(|p| p.message.receivers.as_deref().map(list_of)).collect();
        let lists: Vec<Option<&[u8]>> = lists.iter().map(Option::as_deref).collect();
        self.rows(
            KEEP_MESSAGES,
            &[
                Numbers(&ids),
                ManyBytes(&bodies),
                Numbers(&senders),
                Numbers(&sent),
                Numbers(&deadlines),
                Smalls(&priorities),
                Numbers(&kinds),
                ManyBytes(&lists),
            ],
        )?;
        let copies =
            placed.iter().flat_map(|p| p.holders.iter().map(|holder| (*holder, &p.message.key)));
        self.rows(KEEP_COPIES, &columns(copies).each_ref().map(|column| Numbers(column)))?;
        Ok(())
    }
}

fn id_of(key: &QueueKey) -> i64 {
    key.id.0.cast_signed()
}
