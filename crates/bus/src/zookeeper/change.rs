//! A change: reads, and writes that are collected and then made at once.

use std::collections::{BTreeMap, BTreeSet};

use futures_lite::future::block_on;
use types::{Error, SqlState};
use zookeeper_client::{MultiWriteError, MultiWriteResult, MultiWriter};

use super::names::{self, ClientNode};
use super::session::{Base, NODE, Session, Turn, damaged, message_bytes};
use crate::semantics::{
    BusError, ClientId, Delivery, MessageId, MessageType, QueueKey, Result, Time,
};

/// Bytes that a call writes at most: servers take requests up to 1 MiB as they come.
pub const REQUEST_BYTES: usize = 1_000_000;

/// Bytes of a write besides its name and its value, generously.
const WRITE_BYTES: usize = 64;

/// A write on a node.
#[derive(Debug)]
pub(super) enum Write {
    Create(String, Vec<u8>),
    Set(String, Vec<u8>),
    Delete(String),
}

impl Write {
    /// Bytes that it takes in a request, at most.
    pub(super) fn bytes(&self) -> usize {
        WRITE_BYTES
            + match self {
                Self::Create(name, value) | Self::Set(name, value) => name.len() + value.len(),
                Self::Delete(name) => name.len(),
            }
    }

    fn add(&self, writer: &mut MultiWriter<'_>) -> Result<()> {
        match self {
            Self::Create(name, value) => writer.add_create(name, value, &NODE)?,
            Self::Set(name, value) => writer.add_set_data(name, value, None)?,
            Self::Delete(name) => writer.add_delete(name, None)?,
        }
        Ok(())
    }
}

/// A change of the bus, as long as nobody else changes it.
pub(super) struct Change<'s> {
    session: &'s Session,
    base: Base,
    writes: Vec<Write>,
    removed: BTreeSet<(ClientId, QueueKey)>,
    /// Queues of clients that left, to be removed when their copies are.
    queues: Vec<ClientId>,
}

impl<'s> Change<'s> {
    /// A change that has the turn, or begins when nobody has it.
    pub(super) fn begin(session: &'s Session, turn: Option<&Turn>) -> Result<Self> {
        let base = if turn.is_some() {
            session.ids_without_owner()?
        } else {
            session.ids_without_turn()?
        };
        let (writes, removed, queues) = (Vec::new(), BTreeSet::new(), Vec::new());
        Ok(Self { session, base, writes, removed, queues })
    }

    /// Reads of the tree, which do not see the writes of the change.
    pub(super) fn session(&self) -> &'s Session {
        self.session
    }

    /// True when nobody else has changed the bus since the change began.
    pub(super) fn is_current(&self) -> Result<bool> {
        self.session.sync()?;
        Ok(self.session.ids()?.version == self.base.version)
    }

    pub(super) fn client_if_there(&self, client: ClientId) -> Result<Option<ClientNode>> {
        self.session.client(client)
    }

    /// # Errors
    /// [`BusError::NotConnected`].
    pub(super) fn client(&self, client: ClientId) -> Result<ClientNode> {
        self.client_if_there(client)?.ok_or(BusError::NotConnected(client))
    }

    pub(super) fn queue(&self, client: ClientId) -> Result<Vec<QueueKey>> {
        self.session.queue(client)
    }

    pub(super) fn has_copy(&self, client: ClientId, key: &QueueKey) -> Result<bool> {
        // Copies of clients that left are nobody's.
        Ok(self.session.has(&names::copy(client, key))?
            && self.session.has(&names::client(client))?)
    }

    pub(super) fn add_client(&mut self, now: Time) -> ClientId {
        let client = ClientId(self.base.ids.client);
        self.base.ids.client += 1;
        self.writes.push(Write::Create(names::client(client), ClientNode::new(now).to_bytes()));
        self.writes.push(Write::Create(names::queue(client), Vec::new()));
        client
    }

    pub(super) fn set_client(&mut self, client: ClientId, node: &ClientNode) {
        self.writes.push(Write::Set(names::client(client), node.to_bytes()));
    }

    pub(super) fn add_receiver(&mut self, client: ClientId, what: MessageType) -> Result<()> {
        let folder = names::message_type(what);
        if !self.session.has(&folder)? {
            self.writes.push(Write::Create(folder, Vec::new()));
        }
        self.writes.push(Write::Create(names::receiver(what, client), Vec::new()));
        Ok(())
    }

    /// Removes a client with its registrations; its queue stays, and is nobody's.
    pub(super) fn remove_client(&mut self, client: ClientId, node: &ClientNode) {
        let receivers = node.receives.iter().map(|what| names::receiver(*what, client));
        self.writes.extend(receivers.map(Write::Delete));
        self.writes.push(Write::Delete(names::client(client)));
    }

    /// Removes the node of a queue, of which all copies are removed.
    pub(super) fn remove_queue(&mut self, client: ClientId) {
        self.queues.push(client);
    }

    pub(super) fn draw_message(&mut self) -> MessageId {
        let id = MessageId(self.base.ids.message);
        self.base.ids.message += 1;
        id
    }

    pub(super) fn add_message(&mut self, message: &Delivery, receivers: &[ClientId]) {
        let (key, copies) = (&message.key, receivers.len());
        self.writes.push(Write::Create(names::message(key.id), message_bytes(message, copies)));
        if copies > 1 {
            self.writes.push(Write::Create(names::count(key.id), count_bytes(copies)));
        }
        let copy = |receiver: &ClientId| Write::Create(names::copy(*receiver, key), Vec::new());
        self.writes.extend(receivers.iter().map(copy));
    }

    /// Removes a copy that is there; the message goes with the last one.
    pub(super) fn remove_copy(&mut self, client: ClientId, key: &QueueKey) {
        self.removed.insert((client, *key));
    }

    /// Writes what becomes of messages whose copies are removed.
    fn settle(&mut self) -> Result<()> {
        let mut gone: BTreeMap<MessageId, usize> = BTreeMap::new();
        for (client, key) in &self.removed {
            self.writes.push(Write::Delete(names::copy(*client, key)));
            *gone.entry(key.id).or_default() += 1;
        }
        for (message, gone) in gone {
            let count = names::count(message);
            let counted = self.session.data(&count)?;
            let is_counted = counted.is_some();
            let copies = counted.map_or(Ok(1), |bytes| read_count(&bytes))?;
            if gone < copies {
                self.writes.push(Write::Set(count, count_bytes(copies - gone)));
                continue;
            }
            self.writes.push(Write::Delete(names::message(message)));
            if is_counted {
                self.writes.push(Write::Delete(count));
            }
        }
        let queues = self.queues.iter().map(|client| Write::Delete(names::queue(*client)));
        self.writes.extend(queues);
        Ok(())
    }

    /// Writes all at once; false if another change came before it, and nothing is written then.
    ///
    /// # Errors
    /// 54000 for more than [`REQUEST_BYTES`].
    pub(super) fn commit(mut self) -> Result<bool> {
        if let Err(error) = self.settle() {
            return if self.is_current()? { Err(error) } else { Ok(false) };
        }
        if self.writes.is_empty() {
            return self.is_current();
        }
        check_bytes(self.writes.iter().map(Write::bytes).sum())?;
        Ok(write_all(self.session, self.base, &self.writes)?.is_some())
    }
}

/// # Errors
/// 54000 for a call that writes more than [`REQUEST_BYTES`].
pub(super) fn check_bytes(bytes: usize) -> types::Result<()> {
    if bytes <= REQUEST_BYTES {
        return Ok(());
    }
    let message =
        format!("a call writes {bytes} bytes at once, and ZooKeeper takes {REQUEST_BYTES}");
    Err(Error::new(SqlState::LIMIT_EXCEEDED, message))
}

/// Makes all writes at once, and returns the version of the bus afterwards; None if another change
/// came before, and nothing is written then.
pub(super) fn write_all(session: &Session, base: Base, writes: &[Write]) -> Result<Option<i32>> {
    let mut writer = session.client_of_server().new_multi_writer();
    writer.add_set_data(names::IDS, &names::ids_to_bytes(base.ids), Some(base.version))?;
    writes.iter().try_for_each(|write| write.add(&mut writer))?;
    match block_on(writer.commit()).as_deref() {
        Ok([MultiWriteResult::SetData { stat }, ..]) => Ok(Some(stat.version)),
        Ok(_) => Err(damaged("the answer to a change")),
        Err(MultiWriteError::OperationFailed {
            index: 0,
            source: zookeeper_client::Error::BadVersion,
        }) => Ok(None),
        Err(MultiWriteError::OperationFailed { index, source }) => {
            Err(damaged(&format!("what write {index} of a change needs ({source})")))
        }
        Err(MultiWriteError::RequestFailed { source }) => Err(source.clone().into()),
    }
}

pub(super) fn count_bytes(copies: usize) -> Vec<u8> {
    copies.to_string().into_bytes()
}

fn read_count(bytes: &[u8]) -> Result<usize> {
    let text = std::str::from_utf8(bytes).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| damaged("a count that can be read"))
}
