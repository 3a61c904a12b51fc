//! The calls, on cells, mailboxes and the log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host::{Clock, Io};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use wal::{Background, Lsn};

use super::client::{Client, Mailbox};
use super::compactor::{Compactor, Wish};
use super::concurrency::{Cell, Concurrency};
use super::journal::{Journal, LogSettings};
use super::medium::Medium;
use super::queue::{Entry, Queue, Want};
use super::snapshot::SnapshotWriter;
use super::state::{ClientState, State, Types};
use super::stored::Stored;
use crate::record::{Drawn, NextIds, Placed, Record, put_delete, put_send};
use crate::semantics::{
    Address, ClientId, ClientInfo, Copies, Delivery, Message, MessageId, MessageType, Priority,
    QueueKey, Receipt, ReceiveOptions, Result, SendOptions, Sent, Spare, Time, Token, WaitUntil,
};
use crate::semantics::{Attached, BusError, Ring};
use crate::store::Store;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
type ClientTable<C, Q> = Map<ClientId, Arc<Client<C, Q>>>;
/// The receivers of each type, by id.
type ReceiverIndex<C, Q> = Map<MessageType, Arc<[Arc<Client<C, Q>>]>>;
type Clients<'a, C, Q> = SmallVec<[&'a Client<C, Q>; 4]>;

/// Which registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Sender,
    Receiver,
}

/// Whether a client with messages may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Always,
    IfEmpty,
}

/// All of a native bus.
pub(super) struct Manager<C: Concurrency, Q: Queue> {
    clock: Arc<dyn Clock>,
    concurrency: C,
    clients: C::Cell<ClientTable<C, Q>>,
    receivers: C::Cell<ReceiverIndex<C, Q>>,
    /// The next id of a client. Held while clients come, register and leave.
    membership: Mutex<u64>,
    message_next: AtomicU64,
    medium: Medium,
    wish: Arc<Wish>,
}

impl<C: Concurrency, Q: Queue> fmt::Debug for Manager<C, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").field("medium", &self.medium).finish_non_exhaustive()
    }
}

/// A message on its way, with those who may get it.
struct Draft<'a, C: Concurrency, Q> {
    options: &'a SendOptions<'a>,
    sender: &'a Client<C, Q>,
    /// Sorted by id, not empty.
    candidates: Clients<'a, C, Q>,
}

impl<C: Concurrency, Q: Queue> Manager<C, Q> {
    pub(super) fn in_memory(concurrency: C, clock: Arc<dyn Clock>) -> Self {
        Self::new(concurrency, clock, State::new(), Medium::Memory)
    }

    pub(super) fn open(
        concurrency: C,
        clock: Arc<dyn Clock>,
        io: &Arc<dyn Io>,
        directory: &Path,
        settings: LogSettings,
    ) -> types::Result<Self> {
        let (journal, state) = Journal::open(io, directory, settings)?;
        Ok(Self::new(concurrency, clock, state, Medium::Log(Box::new(journal))))
    }

    pub(super) fn cached(
        concurrency: C,
        clock: Arc<dyn Clock>,
        store: Box<dyn Store>,
    ) -> Result<Self> {
        let (stored, state) = Stored::open(store)?;
        Ok(Self::new(concurrency, clock, state, Medium::Store(stored)))
    }

    fn new(concurrency: C, clock: Arc<dyn Clock>, state: State<Q>, medium: Medium) -> Self {
        let mut clients = ClientTable::<C, Q>::default();
        let mut receivers = Map::<MessageType, Vec<Arc<Client<C, Q>>>>::default();
        for (id, client) in state.clients {
            let client = Arc::new(Client::new(&concurrency, id, client));
            for message_type in client.receives.read().iter() {
                receivers.entry(*message_type).or_default().push(Arc::clone(&client));
            }
            clients.insert(id, client);
        }
        let receivers = receivers.into_iter().map(|(key, clients)| (key, clients.into())).collect();
        Self {
            clock,
            clients: concurrency.cell(clients),
            receivers: concurrency.cell(receivers),
            concurrency,
            membership: Mutex::new(state.next.client),
            message_next: AtomicU64::new(state.next.message),
            medium,
            wish: Arc::default(),
        }
    }

    /// The thread that makes snapshots, if there is something to make them of.
    pub(super) fn compactor(self: &Arc<Self>) -> Option<Compactor> {
        let journal = self.medium.log()?;
        if journal.background() == Background::None {
            return None;
        }
        let manager = Arc::clone(self);
        // A failure leaves the log as it is; the next one is due after as many bytes more.
        let snapshot = move || drop(manager.snapshot());
        Some(Compactor::start(Arc::clone(&self.wish), snapshot))
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    fn client(&self, id: ClientId) -> Result<Arc<Client<C, Q>>> {
        self.clients.read().get(&id).cloned().ok_or(BusError::NotConnected(id))
    }

    /// Writes a record of membership, which somebody holds.
    fn note(&self, record: &Record) -> Result<Lsn> {
        Ok(self.medium.write(record)?)
    }

    /// Waits until a change of membership is durable, whatever the settings: ids of clients are
    /// kept outside of the bus.
    fn settle(&self, lsn: Lsn) -> Result<()> {
        Ok(self.medium.wait_durable(lsn)?)
    }

    /// Waits until a change of queues may be acknowledged.
    fn acknowledge(&self, lsn: Lsn) -> Result<()> {
        if self.medium.log().is_some_and(Journal::is_snapshot_due) {
            self.wish.ask();
        }
        Ok(self.medium.acknowledge(lsn)?)
    }

    pub(super) fn connect(&self) -> Result<ClientId> {
        let mut next = self.membership.lock();
        let (id, connected) = (ClientId(*next), self.now());
        let lsn = self.note(&Record::Connect(id, connected))?;
        *next += 1;
        let (sends, receives, queue) = (Types::default(), Types::default(), Q::default());
        let state = ClientState { connected, sends, receives, queue };
        let client = Arc::new(Client::new(&self.concurrency, id, state));
        self.clients.update(|clients| drop(clients.insert(id, client)));
        drop(next);
        self.settle(lsn)?;
        Ok(id)
    }

    pub(super) fn disconnect(&self, id: ClientId, leave: Leave) -> Result<()> {
        let membership = self.membership.lock();
        let client = self.client(id)?;
        let lsn = {
            let mut mailbox = client.lock_open()?;
            let (limit, priority_min) = (1, Priority(i32::MIN));
            let want = Want { limit, priority_min, now: self.now() };
            if leave == Leave::IfEmpty && !mailbox.queue.first(&want).messages.is_empty() {
                return Err(BusError::QueueNotEmpty(id));
            }
            let lsn = self.note(&Record::Disconnect(id))?;
            client.close(&mut mailbox);
            lsn
        };
        self.clients.update(|clients| drop(clients.remove(&id)));
        self.receivers.update(|receivers| {
            for message_type in client.receives.read().iter() {
                if let Some(found) = receivers.get_mut(message_type) {
                    *found = found.iter().filter(|other| other.id != id).cloned().collect();
                }
            }
            receivers.retain(|_, clients| !clients.is_empty());
        });
        drop(membership);
        self.settle(lsn)
    }

    pub(super) fn register(&self, id: ClientId, role: Role, what: MessageType) -> Result<()> {
        let membership = self.membership.lock();
        let client = self.client(id)?;
        let (types, record) = match role {
            Role::Sender => (&client.sends, Record::Sender(id, what)),
            Role::Receiver => (&client.receives, Record::Receiver(id, what)),
        };
        // Written a second time, too: the first may not be durable yet.
        let lsn = self.note(&record)?;
        if !types.read().contains(&what) {
            types.update(|types| _ = types.insert(what));
            if role == Role::Receiver {
                self.receivers.update(|receivers| add_receiver(receivers, what, &client));
            }
        }
        drop(membership);
        self.settle(lsn)
    }

    pub(super) fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        let message = || self.message_next.load(Ordering::Relaxed);
        self.medium.reserve_ids(|| NextIds { client: 1, message: message() })?;
        let (sent, lsn) = loop {
            match self.try_send(options)? {
                Some(done) => break done,
                // A receiver comes or goes just now.
                None => std::thread::yield_now(),
            }
        };
        self.acknowledge(lsn)?;
        Ok(sent)
    }

    /// Sends, or does nothing because the receivers changed meanwhile.
    fn try_send(&self, options: &SendOptions<'_>) -> Result<Option<(Sent, Lsn)>> {
        let (id, message_type) = (options.sender, options.message_type);
        let clients = self.clients.read();
        let sender = &**clients.get(&id).ok_or(BusError::SenderNotConnected(id))?;
        if !sender.is_sender_of(message_type) {
            return Err(BusError::SenderNotRegistered(id, message_type));
        }
        match options.address {
            Address::Clients(named) => {
                let candidates = find_named(&clients, named, message_type)?;
                self.commit(&Draft { options, sender, candidates }, || true)
            }
            Address::Any => {
                let receivers = self.receivers.read();
                let found = receivers.get(&message_type).map_or(&[][..], |found| &found[..]);
                if found.is_empty() {
                    return Err(BusError::NoReceivers(message_type));
                }
                let candidates = found.iter().map(|client| &**client).collect();
                let draft = Draft { options, sender, candidates };
                self.commit(&draft, || self.receivers.is_current(&receivers))
            }
        }
    }

    /// Puts a message into the queues that it is for, if `is_current` says under their mailboxes
    /// that the candidates still are what they were.
    fn commit(
        &self,
        draft: &Draft<'_, C, Q>,
        is_current: impl Fn() -> bool,
    ) -> Result<Option<(Sent, Lsn)>> {
        let options = draft.options;
        let chosen = match options.copies {
            Copies::Each => &draft.candidates[..],
            Copies::One => {
                let turn = self.message_next.load(Ordering::Relaxed) as usize;
                let turn = turn % draft.candidates.len();
                &draft.candidates[turn..=turn]
            }
        };
        let receivers: SmallVec<[ClientId; 4]> = chosen.iter().map(|client| client.id).collect();
        let mut prepared = self.medium.prepare(|out| put_send(out, options, &receivers))?;
        let mut mailboxes: SmallVec<[MutexGuard<'_, Mailbox<Q>>; 4]> =
            chosen.iter().map(|client| client.lock()).collect();
        // All is held that this message touches: what is true now stays so until it is there, for
        // everybody who can tell.
        let is_any = options.address == Address::Any;
        let must_be_open = if is_any { chosen } else { &draft.candidates[..] };
        if let Some(gone) = must_be_open.iter().find(|client| !client.is_open()) {
            return if is_any { Ok(None) } else { Err(BusError::ReceiverNotConnected(gone.id)) };
        }
        if !draft.sender.is_open() {
            return Err(BusError::SenderNotConnected(options.sender));
        }
        if !is_current() {
            return Ok(None);
        }
        let id = MessageId(self.message_next.fetch_add(1, Ordering::Relaxed));
        let sent = self.now();
        let deadline = options.deadline.moment(sent);
        prepared.fill(Drawn { id, sent, deadline });
        let lsn = prepared.append()?;
        let message = Arc::new(Message {
            key: QueueKey { priority: options.priority, deadline, id },
            sender: options.sender,
            sent,
            message_type: options.message_type,
            body: options.body.clone(),
            receivers: options.is_cancellable().then(|| Arc::from(&receivers[..])),
        });
        let token = message.token();
        for (client, mailbox) in chosen.iter().zip(&mut mailboxes) {
            client.push(mailbox, Entry { message: Delivery::clone(&message), lsn });
        }
        Ok(Some((Sent { id, sent, copies: chosen.len(), token }, lsn)))
    }

    pub(super) fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        let client = self.client(options.client)?;
        let _attached = options.interrupt.map(|interrupt| {
            let listener: Arc<dyn Ring> = Arc::<Client<C, Q>>::clone(&client);
            Attached::new(interrupt, Arc::downgrade(&listener))
        });
        let want = || Want {
            limit: options.limit.max(1),
            priority_min: options.priority_min,
            now: self.now(),
        };
        let mut mailbox = client.lock();
        let until = WaitUntil::of(options.wait);
        let found = client.look(&mut mailbox, want, until, options.interrupt)?;
        if found.messages.is_empty() || options.receipt == Receipt::Keep {
            drop(mailbox);
            self.medium.show(found.lsn)?;
            return Ok(found.messages);
        }
        let keys: Vec<QueueKey> = found.messages.iter().map(|message| message.key).collect();
        let prepared = self.medium.prepare(|out| put_delete(out, client.id, &keys))?;
        let lsn = prepared.append()?;
        keys.iter().for_each(|key| _ = mailbox.queue.remove(key));
        drop(mailbox);
        self.acknowledge(lsn)?;
        Ok(found.messages)
    }

    pub(super) fn delete(&self, id: ClientId, keys: &[QueueKey]) -> Result<usize> {
        let client = self.client(id)?;
        let prepared = self.medium.prepare(|out| put_delete(out, id, keys))?;
        let mut mailbox = client.lock_open()?;
        if keys.is_empty() {
            return Ok(0);
        }
        let lsn = prepared.append()?;
        let count = keys.iter().filter(|key| mailbox.queue.remove(key)).count();
        drop(mailbox);
        self.acknowledge(lsn)?;
        Ok(count)
    }

    pub(super) fn cancel(&self, id: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        let clients = self.clients.read();
        let caller = clients.get(&id).ok_or(BusError::NotConnected(id))?;
        if tokens.iter().any(|token| !token.belongs_to(id)) {
            return Err(BusError::TokenOfOthers(id));
        }
        let is_meant = |receiver: &ClientId| spare == Spare::Nobody || *receiver != id;
        // In the order of ids, as all mailboxes are locked.
        let mut copies: BTreeMap<ClientId, Vec<QueueKey>> = BTreeMap::new();
        for token in tokens {
            for receiver in token.receivers.iter().filter(|receiver| is_meant(receiver)) {
                copies.entry(*receiver).or_default().push(token.key);
            }
        }
        let prepared = self.medium.prepare(|out| {
            for token in tokens {
                let receivers = token.receivers.iter().copied().filter(|id| is_meant(id));
                Record::Cancel(token.key, receivers.collect()).write(out);
            }
        })?;
        let found = copies.iter().filter_map(|(id, keys)| Some((clients.get(id)?, keys)));
        let mut held: Vec<_> = found.map(|(client, keys)| (client.lock(), keys)).collect();
        if !caller.is_open() {
            return Err(BusError::NotConnected(id));
        }
        if copies.is_empty() {
            return Ok(0);
        }
        let lsn = prepared.append()?;
        let mut count = 0;
        for (mailbox, keys) in &mut held {
            count += keys.iter().filter(|key| mailbox.queue.remove(key)).count();
        }
        drop(held);
        drop(clients);
        self.acknowledge(lsn)?;
        Ok(count)
    }

    /// All clients that are there, by id.
    fn all_clients(&self) -> Vec<Arc<Client<C, Q>>> {
        let mut clients: Vec<_> = self.clients.read().values().cloned().collect();
        clients.sort_unstable_by_key(|client| client.id);
        clients
    }

    pub(super) fn infos(&self) -> Vec<ClientInfo> {
        let now = self.now();
        let sorted = |types: &Types| {
            let mut types: Vec<MessageType> = types.iter().copied().collect();
            types.sort_unstable();
            types
        };
        let info = |client: Arc<Client<C, Q>>| {
            let (sends, receives) = (sorted(&client.sends.read()), sorted(&client.receives.read()));
            let mailbox = client.lock_open().ok()?;
            let (client, connected) = (client.id, client.connected);
            let (messages, body_bytes) = (0, 0);
            let mut info = ClientInfo { client, connected, sends, receives, messages, body_bytes };
            let entries = mailbox.queue.entries();
            for entry in entries.filter(|entry| !entry.message.key.is_expired(now)) {
                info.messages += 1;
                info.body_bytes += entry.message.body.len() as u64;
            }
            Some(info)
        };
        self.all_clients().into_iter().filter_map(info).collect()
    }

    /// Writes a snapshot and gives up the log before it. Calls go on meanwhile.
    pub(super) fn snapshot(&self) -> Result<()> {
        match self.medium.log() {
            Some(journal) => Ok(journal.snapshot(|writer| {
                // Later ones are in the log behind the snapshot's beginning.
                let message = self.message_next.load(Ordering::Relaxed);
                self.write_snapshot(writer, message.max(journal.ids_reserved()))
            })?),
            None => Ok(()),
        }
    }

    /// Writes all clients; messages get ids from `message` on afterwards.
    fn write_snapshot(&self, writer: &mut SnapshotWriter, message: u64) -> types::Result<()> {
        let (clients, client) = {
            let next = self.membership.lock();
            (self.all_clients(), *next)
        };
        writer.add(&Record::Ids(NextIds { client, message }))?;
        let mut shared: HashSet<MessageId> = HashSet::new();
        for client in clients {
            let Ok(mailbox) = client.lock_open() else { continue };
            let messages: Vec<Delivery> =
                mailbox.queue.entries().map(|entry| entry.message.clone()).collect();
            drop(mailbox);
            writer.add(&Record::Connect(client.id, client.connected))?;
            for message_type in client.sends.read().iter() {
                writer.add(&Record::Sender(client.id, *message_type))?;
            }
            for message_type in client.receives.read().iter() {
                writer.add(&Record::Receiver(client.id, *message_type))?;
            }
            for message in messages {
                let id = message.key.id;
                if shared.contains(&id) {
                    writer.add(&Record::Again(id, client.id))?;
                    continue;
                }
                // One is here, one in this queue; more may be in other queues.
                let is_shared = Arc::strong_count(&message) > 2;
                let copies = if is_shared { 2 } else { 1 };
                if is_shared {
                    shared.insert(id);
                }
                let holders = vec![client.id];
                writer.add(&Record::Message(Placed { message, holders, copies }))?;
            }
        }
        Ok(())
    }

    pub(super) fn health(&self) -> Result<()> {
        Ok(self.medium.health()?)
    }
}

/// The clients that a message names, sorted, each once.
fn find_named<'a, C: Concurrency, Q: Queue>(
    clients: &'a ClientTable<C, Q>,
    named: &[ClientId],
    message_type: MessageType,
) -> Result<Clients<'a, C, Q>> {
    let mut found = Clients::new();
    for id in named {
        let client = clients.get(id).filter(|client| client.is_open());
        let client = client.ok_or(BusError::ReceiverNotConnected(*id))?;
        if !client.is_receiver_of(message_type) {
            return Err(BusError::ReceiverNotRegistered(*id, message_type));
        }
        found.push(&**client);
    }
    if found.is_empty() {
        return Err(BusError::NoReceivers(message_type));
    }
    found.sort_unstable_by_key(|client| client.id);
    found.dedup_by_key(|client| client.id);
    Ok(found)
}

fn add_receiver<C: Concurrency, Q: Queue>(
    receivers: &mut ReceiverIndex<C, Q>,
    message_type: MessageType,
    client: &Arc<Client<C, Q>>,
) {
    let before = receivers.get(&message_type).map_or(&[][..], |clients| &clients[..]);
    let at = before.partition_point(|other| other.id < client.id);
    let (lower, higher) = before.split_at(at);
    let all = lower.iter().chain([client]).chain(higher).cloned().collect();
    receivers.insert(message_type, all);
}
