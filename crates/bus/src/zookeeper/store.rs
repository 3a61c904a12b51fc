//! The tree behind the native bus, which alone changes it from [`Store::load`] on.
//!
//! ```text
//! calls -> writes, from what is known of the tree without a question
//!       -> requests of REQUEST_BYTES, in order, each on condition of the version after the last
//! ```
//! Invariants: all that the tree holds, but for the messages' contents, is known here as it will be
//! once the collected writes are there; a call is never parted, so a failure leaves whole calls.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::change::{Write, check_bytes, count_bytes, write_all};
use super::names::{self, ClientNode};
use super::session::{Base, Owner, Session, damaged, message_bytes};
use super::{PURGED, REQUEST_BYTES, ZooKeeper};
use crate::record::{Placed, Record};
use crate::semantics::{BusError, ClientId, MessageId, MessageType, QueueKey, Result, Time};
use crate::store::Store;

/// Messages that are asked for before the first answer is waited for.
const ASKED: usize = 1000;
/// Bytes that a client in a list takes at most, and a call besides its lists.
const LISTED_BYTES: usize = 10;
const CALL_BYTES: usize = 500;
/// Bytes at most of the write that makes a copy, and of those that remove one.
const COPY_BYTES: usize = 140;
const REMOVAL_BYTES: usize = 320;

impl Store for ZooKeeper {
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()> {
        let (owner, base) = self.session()?.take_bus()?;
        *self.owned.lock() = Some(Owned::load(owner, base, each)?);
        Ok(())
    }

    fn check(&self, call: &[Record]) -> types::Result<()> {
        check_bytes(CALL_BYTES + call.iter().map(bytes_max).sum::<usize>())
    }

    fn apply(&self, calls: Vec<Vec<Record>>) -> Result<()> {
        let now = self.now();
        let mut owned = self.owned.lock();
        let owned = owned.as_mut().ok_or_else(|| damaged("an owner"))?;
        for call in calls {
            let mut writes = Vec::new();
            let mut left = Vec::new();
            for record in call {
                if let Record::Disconnect(client) = &record {
                    left.push(*client);
                }
                owned.add(record, &mut writes);
            }
            owned.put(writes)?;
            left.into_iter().try_for_each(|client| owned.sweep(client))?;
        }
        owned.purge(now)?;
        owned.commit()
    }
}

/// Bytes that the writes of a record take at most.
fn bytes_max(record: &Record) -> usize {
    match record {
        Record::Message(Placed { message, holders, .. }) => {
            let listed = message.receivers.as_ref().map_or(0, |list| list.len());
            message.body.len() + listed * LISTED_BYTES + holders.len() * COPY_BYTES
        }
        Record::Delete(_, keys) => keys.len() * REMOVAL_BYTES,
        Record::Cancel(_, receivers) => receivers.len() * REMOVAL_BYTES,
        _ => 0,
    }
}

/// Copies of a message.
#[derive(Clone, Copy, Debug)]
struct Count {
    copies: usize,
    /// The tree has a node for it.
    is_written: bool,
}

/// Contents of the tree.
#[derive(Debug)]
pub(super) struct Owned {
    owner: Owner,
    base: Base,
    clients: BTreeMap<ClientId, ClientNode>,
    /// Types that have a node.
    types: BTreeSet<MessageType>,
    queues: HashMap<ClientId, BTreeSet<QueueKey>>,
    counts: HashMap<MessageId, Count>,
    /// Copies that expire, those that do so first in front.
    expiring: BTreeSet<(Time, ClientId, QueueKey)>,
    /// Writes of the next request.
    writes: Vec<Write>,
    bytes: usize,
}

impl Owned {
    /// Reads the tree.
    fn load(owner: Owner, base: Base, each: &mut dyn FnMut(Record)) -> Result<Self> {
        let mut owned = Self {
            owner,
            base,
            clients: BTreeMap::new(),
            types: BTreeSet::new(),
            queues: HashMap::new(),
            counts: HashMap::new(),
            expiring: BTreeSet::new(),
            writes: Vec::new(),
            bytes: 0,
        };
        each(Record::Ids(base.ids));
        owned.load_clients(each)?;
        owned.load_queues(each)?;
        Ok(owned)
    }

    fn load_clients(&mut self, each: &mut dyn FnMut(Record)) -> Result<()> {
        let session = self.owner.session();
        let types = session.children(names::RECEIVERS)?.unwrap_or_default();
        self.types = types.iter().filter_map(|name| name.parse().ok().map(MessageType)).collect();
        for client in session.clients_in(names::CLIENTS)? {
            let node = session.client(client)?.ok_or_else(|| damaged("a client"))?;
            each(Record::Connect(client, node.connected));
            node.sends.iter().for_each(|what| each(Record::Sender(client, *what)));
            node.receives.iter().for_each(|what| each(Record::Receiver(client, *what)));
            self.clients.insert(client, node);
        }
        Ok(())
    }

    fn load_queues(&mut self, each: &mut dyn FnMut(Record)) -> Result<()> {
        let counted = self.owner.session().children(names::COUNTS)?.unwrap_or_default();
        let counted: BTreeSet<MessageId> =
            counted.iter().filter_map(|name| name.parse().ok().map(MessageId)).collect();
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        let mut read: BTreeSet<MessageId> = BTreeSet::new();
        for client in clients {
            let queue = self.owner.session().queue(client)?;
            let new: Vec<QueueKey> =
                queue.iter().filter(|copy| read.insert(copy.id)).copied().collect();
            for part in new.chunks(ASKED) {
                for message in self.owner.session().messages(part)? {
                    let message = message.ok_or_else(|| damaged("a message of a queue"))?;
                    each(Record::without_holders(message));
                }
            }
            self.queues.insert(client, BTreeSet::new());
            for copy in queue {
                each(Record::Again(copy.id, client));
                let is_written = counted.contains(&copy.id);
                self.know(client, copy);
                self.counts.entry(copy.id).or_insert(Count { copies: 0, is_written }).copies += 1;
            }
        }
        Ok(())
    }

    fn know(&mut self, client: ClientId, copy: QueueKey) {
        self.queues.entry(client).or_default().insert(copy);
        if copy.deadline != Time::NEVER {
            self.expiring.insert((copy.deadline, client, copy));
        }
    }

    /// Adds the writes of a record. The queue of a client that leaves is left to be swept.
    fn add(&mut self, record: Record, writes: &mut Vec<Write>) {
        match record {
            Record::Connect(client, connected) => {
                let node = ClientNode::new(connected);
                self.base.ids.client = self.base.ids.client.max(client.0 + 1);
                writes.push(Write::Create(names::client(client), node.to_bytes()));
                writes.push(Write::Create(names::queue(client), Vec::new()));
                self.clients.insert(client, node);
                self.queues.insert(client, BTreeSet::new());
            }
            Record::Disconnect(client) => {
                let Some(node) = self.clients.remove(&client) else { return };
                let receivers = node.receives.iter().map(|what| names::receiver(*what, client));
                writes.extend(receivers.map(Write::Delete));
                writes.push(Write::Delete(names::client(client)));
            }
            Record::Sender(client, what) => {
                if let Some(node) = self.clients.get_mut(&client)
                    && node.sends.insert(what)
                {
                    writes.push(Write::Set(names::client(client), node.to_bytes()));
                }
            }
            Record::Receiver(client, what) => self.add_receiver(client, what, writes),
            Record::Message(placed) => self.add_message(&placed, writes),
            Record::Delete(client, keys) => {
                keys.into_iter().for_each(|key| self.remove_copy(client, key, writes));
            }
            Record::Cancel(key, receivers) => {
                receivers.into_iter().for_each(|client| self.remove_copy(client, key, writes));
            }
            // Of snapshots and asynchronous logs.
            Record::Again(..) | Record::Ids(_) => {}
        }
    }

    fn add_receiver(&mut self, client: ClientId, what: MessageType, writes: &mut Vec<Write>) {
        let Some(node) = self.clients.get_mut(&client) else { return };
        if !node.receives.insert(what) {
            return;
        }
        writes.push(Write::Set(names::client(client), node.to_bytes()));
        if self.types.insert(what) {
            writes.push(Write::Create(names::message_type(what), Vec::new()));
        }
        writes.push(Write::Create(names::receiver(what, client), Vec::new()));
    }

    fn add_message(&mut self, placed: &Placed, writes: &mut Vec<Write>) {
        let (key, copies) = (placed.message.key, placed.holders.len());
        let is_written = copies > 1;
        self.base.ids.message = self.base.ids.message.max(key.id.0 + 1);
        let bytes = message_bytes(&placed.message, copies);
        writes.push(Write::Create(names::message(key.id), bytes));
        if is_written {
            writes.push(Write::Create(names::count(key.id), count_bytes(copies)));
        }
        self.counts.insert(key.id, Count { copies, is_written });
        for holder in &placed.holders {
            writes.push(Write::Create(names::copy(*holder, &key), Vec::new()));
            self.know(*holder, key);
        }
    }

    /// Adds the writes that remove a copy, if it is there, and its message with the last one.
    fn remove_copy(&mut self, client: ClientId, key: QueueKey, writes: &mut Vec<Write>) {
        if !self.queues.get_mut(&client).is_some_and(|queue| queue.remove(&key)) {
            return;
        }
        self.expiring.remove(&(key.deadline, client, key));
        writes.push(Write::Delete(names::copy(client, &key)));
        let Some(count) = self.counts.get_mut(&key.id) else { return };
        count.copies -= 1;
        if count.copies > 0 {
            writes.push(Write::Set(names::count(key.id), count_bytes(count.copies)));
            return;
        }
        writes.push(Write::Delete(names::message(key.id)));
        if count.is_written {
            writes.push(Write::Delete(names::count(key.id)));
        }
        self.counts.remove(&key.id);
    }

    /// Removes the queue of a client that left, copy by copy.
    fn sweep(&mut self, client: ClientId) -> Result<()> {
        let queue = self.queues.get(&client).cloned().unwrap_or_default();
        for copy in queue {
            let mut writes = Vec::new();
            self.remove_copy(client, copy, &mut writes);
            self.put(writes)?;
        }
        self.queues.remove(&client);
        self.put(vec![Write::Delete(names::queue(client))])
    }

    /// Throws away some of what nobody will receive any more.
    fn purge(&mut self, now: Time) -> Result<()> {
        let is_over = |(_, _, copy): &&(Time, ClientId, QueueKey)| copy.is_expired(now);
        let expired: Vec<_> =
            self.expiring.iter().take_while(is_over).take(PURGED).copied().collect();
        for (_, client, copy) in expired {
            let mut writes = Vec::new();
            self.remove_copy(client, copy, &mut writes);
            self.put(writes)?;
        }
        Ok(())
    }

    /// Adds writes that happen together; what was added before is written first where there is no
    /// room for both.
    fn put(&mut self, writes: Vec<Write>) -> Result<()> {
        let bytes: usize = writes.iter().map(Write::bytes).sum();
        if self.bytes + bytes > REQUEST_BYTES {
            self.commit()?;
        }
        self.bytes += bytes;
        self.writes.extend(writes);
        Ok(())
    }

    /// Makes the collected writes at once.
    fn commit(&mut self) -> Result<()> {
        if self.writes.is_empty() {
            return Ok(());
        }
        let session: &Session = self.owner.session();
        let version = write_all(session, self.base, &self.writes)?;
        // The session ended, with it the right to the bus, and another process took it.
        self.base.version = version
            .ok_or_else(|| BusError::Network("another process changed the bus".to_owned()))?;
        self.writes.clear();
        self.bytes = 0;
        Ok(())
    }
}
