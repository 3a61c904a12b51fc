//! State that records make, one after another, to go on with after a start.

use std::collections::{BTreeMap, HashMap, HashSet};

use wal::Lsn;

use super::queue::{Entry, Queue};
use crate::record::{NextIds, Placed, Record};
use crate::semantics::{ClientId, Delivery, MessageId, MessageType, Time};

/// Types that a client registered for.
pub(super) type Types = HashSet<MessageType, foldhash::fast::RandomState>;

/// A client as records made it.
#[derive(Debug)]
pub(super) struct ClientState<Q> {
    pub(super) connected: Time,
    pub(super) sends: Types,
    pub(super) receives: Types,
    pub(super) queue: Q,
}

/// All clients, and the next ids.
#[derive(Debug)]
pub(super) struct State<Q> {
    pub(super) clients: BTreeMap<ClientId, ClientState<Q>>,
    pub(super) next: NextIds,
    /// Messages of the snapshot that more than one client holds.
    shared: HashMap<MessageId, Delivery>,
}

impl<Q: Queue> State<Q> {
    /// State of a new bus.
    pub(super) fn new() -> Self {
        let next = NextIds { client: 1, message: 1 };
        Self { clients: BTreeMap::new(), next, shared: HashMap::new() }
    }

    /// Applies a record of a snapshot.
    pub(super) fn apply_snapshot(&mut self, record: Record) {
        match record {
            Record::Message(placed) if placed.copies > 1 => {
                self.shared.insert(placed.message.key.id, placed.message.clone());
                self.apply(Record::Message(placed));
            }
            Record::Again(id, client) => {
                if let Some(message) = self.shared.get(&id).cloned() {
                    self.place(&message, client);
                }
            }
            other => self.apply(other),
        }
    }

    /// The snapshot is over.
    pub(super) fn end_snapshot(&mut self) {
        self.shared = HashMap::new();
    }

    /// Applies a record of the log. What it says of clients that are gone is passed over.
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            Record::Connect(client, connected) => self.connect(client, connected),
            Record::Disconnect(client) => drop(self.clients.remove(&client)),
            Record::Sender(client, message_type) => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.sends.insert(message_type);
                }
            }
            Record::Receiver(client, message_type) => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.receives.insert(message_type);
                }
            }
            Record::Message(Placed { message, holders, .. }) => {
                self.next.message = self.next.message.max(message.key.id.0.saturating_add(1));
                holders.iter().for_each(|holder| self.place(&message, *holder));
            }
            Record::Again(..) => {}
            Record::Delete(client, keys) => {
                if let Some(client) = self.clients.get_mut(&client) {
                    keys.iter().for_each(|key| _ = client.queue.remove(key));
                }
            }
            Record::Cancel(key, receivers) => {
                for receiver in receivers {
                    if let Some(client) = self.clients.get_mut(&receiver) {
                        client.queue.remove(&key);
                    }
                }
            }
            Record::Ids(next) => {
                self.next.client = self.next.client.max(next.client);
                self.next.message = self.next.message.max(next.message);
            }
        }
    }

    fn connect(&mut self, client: ClientId, connected: Time) {
        self.next.client = self.next.client.max(client.0.saturating_add(1));
        self.clients.entry(client).or_insert_with(|| ClientState {
            connected,
            sends: Types::default(),
            receives: Types::default(),
            queue: Q::default(),
        });
    }

    fn place(&mut self, message: &Delivery, holder: ClientId) {
        if let Some(client) = self.clients.get_mut(&holder) {
            client.queue.push(Entry { message: message.clone(), lsn: Lsn(0) });
        }
    }
}
