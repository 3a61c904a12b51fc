//! Changes as bytes: what the log holds, and snapshots.
//!
//! ```text
//! | tag u8 | fields |         numbers are varints, but for those that are drawn under mailboxes:
//! message: | 5 | id u64 | sent i64 | deadline i64 | sender | type | priority | holders |
//!          | copies | 0, or 1 and the receivers of the token | body |
//! ```
//! Invariant: to apply a record again, or to clients that are gone, changes nothing; snapshots
//! are written while the bus works and rely on it.

use std::sync::Arc;

use types::codec::{Input, Malformed, put_bytes, put_i64, put_u64};

use crate::semantics::{
    ClientId, Delivery, Message, MessageId, MessageType, Priority, QueueKey, SendOptions, Time,
    put_clients, put_key, read_clients, read_key,
};

/// A change of a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A client came, at this time.
    Connect(ClientId, Time),
    /// A client left, with its registrations and its queue.
    Disconnect(ClientId),
    /// A client may send a type.
    Sender(ClientId, MessageType),
    /// A client may receive a type.
    Receiver(ClientId, MessageType),
    /// A message came into queues.
    Message(Placed),
    /// A message that came before has another holder; of snapshots only.
    Again(MessageId, ClientId),
    /// Copies went from a client's queue, as far as they were there.
    Delete(ClientId, Vec<QueueKey>),
    /// Copies of a message went from the queues of clients, as far as they were there.
    Cancel(QueueKey, Vec<ClientId>),
    /// Ids from these on were never given.
    Ids(NextIds),
}

/// A message in queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The message.
    pub message: Delivery,
    /// Whose queues hold it.
    pub holders: Vec<ClientId>,
    /// Holders that it has or will have had.
    pub copies: usize,
}

/// The next ids to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextIds {
    /// Next id of a client.
    pub client: u64,
    /// Next id of a message.
    pub message: u64,
}

const CONNECT: u8 = 1;
const DISCONNECT: u8 = 2;
const SENDER: u8 = 3;
const RECEIVER: u8 = 4;
const MESSAGE: u8 = 5;
const AGAIN: u8 = 6;
const DELETE: u8 = 7;
const CANCEL: u8 = 8;
const IDS: u8 = 9;

/// Values drawn under the mailboxes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    pub(crate) id: MessageId,
    pub(crate) sent: Time,
    pub(crate) deadline: Time,
}

impl Drawn {
    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.id.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sent.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.deadline.0.to_le_bytes());
        bytes
    }

    fn read(from: &mut Input<'_>) -> Result<Self, Malformed> {
        let mut next = || {
            let bytes = from.take(8)?;
            Ok(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
        };
        Ok(Self {
            id: MessageId(next()?),
            sent: Time(next()? as i64),
            deadline: Time(next()? as i64),
        })
    }
}

/// Appends the record of a message that is to be sent, all but what is drawn later.
pub(crate) fn put_send(out: &mut Vec<u8>, options: &SendOptions<'_>, receivers: &[ClientId]) {
    out.push(MESSAGE);
    out.extend_from_slice(&[0; 24]);
    put_u64(out, options.sender.0);
    put_u64(out, u64::from(options.message_type.0));
    put_i64(out, i64::from(options.priority.0));
    put_clients(out, receivers);
    put_u64(out, receivers.len() as u64);
    put_token(out, options.is_cancellable().then_some(receivers));
    put_bytes(out, &options.body);
}

/// Fills in what was drawn, into a payload that begins with a record of [`put_send`].
pub(crate) fn fill_send(payload: &mut [u8], drawn: Drawn) {
    payload[1..25].copy_from_slice(&drawn.bytes());
}

fn put_token(out: &mut Vec<u8>, receivers: Option<&[ClientId]>) {
    out.push(u8::from(receivers.is_some()));
    if let Some(receivers) = receivers {
        put_clients(out, receivers);
    }
}

/// Appends the record of a delete.
pub(crate) fn put_delete(out: &mut Vec<u8>, client: ClientId, keys: &[QueueKey]) {
    out.push(DELETE);
    put_u64(out, client.0);
    put_u64(out, keys.len() as u64);
    keys.iter().for_each(|key| put_key(out, key));
}

impl Record {
    /// Appends the record.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let ids = |out: &mut Vec<u8>, tag, ids: [u64; 2]| {
            out.push(tag);
            ids.iter().for_each(|id| put_u64(out, *id));
        };
        match self {
            Self::Connect(client, connected) => {
                ids(out, CONNECT, [client.0, connected.0 as u64]);
            }
            Self::Disconnect(client) => {
                out.push(DISCONNECT);
                put_u64(out, client.0);
            }
            Self::Sender(client, kind) => ids(out, SENDER, [client.0, u64::from(kind.0)]),
            Self::Receiver(client, kind) => ids(out, RECEIVER, [client.0, u64::from(kind.0)]),
            Self::Message(placed) => placed.write(out),
            Self::Again(message, client) => ids(out, AGAIN, [message.0, client.0]),
            Self::Delete(client, keys) => put_delete(out, *client, keys),
            Self::Cancel(key, receivers) => {
                out.push(CANCEL);
                put_key(out, key);
                put_clients(out, receivers);
            }
            Self::Ids(next) => ids(out, IDS, [next.client, next.message]),
        }
    }

    /// Reads one record.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub(crate) fn read(from: &mut Input<'_>) -> Result<Self, Malformed> {
        let at = from.clone();
        Ok(match from.u8()? {
            CONNECT => Self::Connect(ClientId(from.u64()?), Time(from.u64()? as i64)),
            DISCONNECT => Self::Disconnect(ClientId(from.u64()?)),
            SENDER => Self::Sender(ClientId(from.u64()?), read_type(from)?),
            RECEIVER => Self::Receiver(ClientId(from.u64()?), read_type(from)?),
            MESSAGE => Self::Message(Placed::read(from)?),
            AGAIN => Self::Again(MessageId(from.u64()?), ClientId(from.u64()?)),
            DELETE => {
                let client = ClientId(from.u64()?);
                let count = from.count(3)?;
                Self::Delete(client, (0..count).map(|_| read_key(from)).collect::<Result<_, _>>()?)
            }
            CANCEL => Self::Cancel(read_key(from)?, read_clients(from)?),
            IDS => Self::Ids(NextIds { client: from.u64()?, message: from.u64()? }),
            tag => return Err(at.malformed(format!("a kind of record, found {tag}"))),
        })
    }
}

impl Record {
    /// Fills in what was drawn, into the change of a send that nobody else has.
    pub(crate) fn fill(&mut self, drawn: Drawn) {
        if let Self::Message(placed) = self
            && let Some(message) = Arc::get_mut(&mut placed.message)
        {
            message.key.id = drawn.id;
            message.key.deadline = drawn.deadline;
            message.sent = drawn.sent;
        }
    }

    /// A message of a store whose holders come later, as [`Self::Again`].
    #[cfg(any(feature = "kv", feature = "sqlite", feature = "tables", feature = "zookeeper"))]
    pub(crate) fn without_holders(message: Delivery) -> Self {
        Self::Message(Placed { message, holders: Vec::new(), copies: usize::MAX })
    }
}

fn read_type(from: &mut Input<'_>) -> Result<MessageType, Malformed> {
    let number = from.u64()?;
    let number = u32::try_from(number);
    number.map(MessageType).map_err(|_| from.malformed("a message type of 32 bits before"))
}

impl Placed {
    fn write(&self, out: &mut Vec<u8>) {
        let message = &*self.message;
        let (id, deadline) = (message.key.id, message.key.deadline);
        out.push(MESSAGE);
        out.extend_from_slice(&Drawn { id, sent: message.sent, deadline }.bytes());
        put_u64(out, message.sender.0);
        put_u64(out, u64::from(message.message_type.0));
        put_i64(out, i64::from(message.key.priority.0));
        put_clients(out, &self.holders);
        put_u64(out, self.copies as u64);
        put_token(out, message.receivers.as_deref());
        put_bytes(out, &message.body);
    }

    fn read(from: &mut Input<'_>) -> Result<Self, Malformed> {
        let drawn = Drawn::read(from)?;
        let sender = ClientId(from.u64()?);
        let message_type = read_type(from)?;
        let priority = Priority(from.i32()?);
        let holders = read_clients(from)?;
        let copies = from.u64()? as usize;
        let receivers = match from.u8()? {
            0 => None,
            _ => Some(Arc::from(read_clients(from)?)),
        };
        let key = QueueKey { priority, deadline: drawn.deadline, id: drawn.id };
        let body = Arc::from(from.bytes()?);
        let message = Message { key, sender, sent: drawn.sent, message_type, body, receivers };
        Ok(Self { message: Arc::new(message), holders, copies })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let key =
            |id| QueueKey { priority: Priority(-1), deadline: Time::NEVER, id: MessageId(id) };
        let message = |receivers: Option<Arc<[ClientId]>>| {
            Arc::new(Message {
                key: key(u64::MAX),
                sender: ClientId(1),
                sent: Time(-5),
                message_type: MessageType(u32::MAX),
                body: Arc::from(&b"body"[..]),
                receivers,
            })
        };
        let holders = vec![ClientId(3), ClientId(1 << 60)];
        let token = Some(Arc::from(&holders[..]));
        vec![
            Record::Connect(ClientId(1), Time(-1)),
            Record::Disconnect(ClientId(u64::MAX)),
            Record::Sender(ClientId(1), MessageType(0)),
            Record::Receiver(ClientId(1), MessageType(u32::MAX)),
            Record::Message(Placed { message: message(None), holders: vec![], copies: 0 }),
            Record::Message(Placed {
                message: message(token),
                holders: holders.clone(),
                copies: 9,
            }),
            Record::Again(MessageId(4), ClientId(5)),
            Record::Delete(ClientId(2), vec![key(1), key(2)]),
            Record::Cancel(key(3), holders),
            Record::Ids(NextIds { client: 7, message: 8 }),
        ]
    }

    #[test]
    fn records_survive_as_bytes_and_damage_is_no_panic() {
        for record in records() {
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            let mut input = Input::new(&bytes);
            assert_eq!(Record::read(&mut input).as_ref(), Ok(&record));
            assert!(input.is_empty());
            for end in 0..bytes.len() {
                assert!(Record::read(&mut Input::new(&bytes[..end])).is_err());
            }
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x95;
                // Anything but a panic.
                let _ = Record::read(&mut Input::new(&damaged));
            }
        }
    }
}
