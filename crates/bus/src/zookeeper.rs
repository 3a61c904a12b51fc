//! The bus in a tree of ZooKeeper: any number of processes share it, and with an ensemble it is
//! there as long as a majority of the servers is.
//!
//! ```text
//! /ids             the next ids; its version counts the changes of the bus
//! /clients/C       when it connected, what it sends and receives
//! /receivers/T/C   nothing
//! /queues/C/K      nothing: a copy; K is in hexadecimal digits, whose order is that of the queue
//! /messages/M      the message           /counts/M   how many queues have it, if more than one
//! /turn            nothing: one who was overtaken again and again goes first
//! /owner           nothing: a process has the bus in its memory, and alone changes it
//! ```
//! Invariants: a change reads the tree as it likes and then writes all at once, on condition that
//! `/ids` has the version that it had before the reads; so changes come one after the other, and
//! the order of ids is theirs. A refusal, too, counts only when that version is still the same. A
//! queue is a queue only while its client is there: what a client leaves behind is swept away
//! after it, in parts.
//! Limits: a call writes [`REQUEST_BYTES`] at most, message and copies together (54000).
//! Elsewhere: the same tree behind the native bus (`store`).
//! Source: Chasseur 2015, section 4.4 (ZooKeeper). Departures: one version for the whole bus in
//! the place of anomalies that are found node by node; the types of a client are in its node.

mod names;
mod session;
mod change;
mod store;
mod wakes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use host::Clock;
use parking_lot::Mutex;
use types::SqlState;

use self::change::Change;
pub use self::change::REQUEST_BYTES;
use self::session::{Session, damaged};
use self::store::Owned;
use self::wakes::Wakes;
use crate::semantics::{
    Address, Bell, Bus, BusError, ClientId, ClientInfo, Copies, Delivery, Message, MessageType,
    QueueKey, Receipt, ReceiveOptions, Result, Ring, SendOptions, Sent, Spare, Time, Token, Wait,
};

/// Copies of a client that left, which one request removes.
const SWEPT: usize = 1000;

/// Expired copies that a call throws away besides what it does.
const PURGED: usize = 100;

/// How often others come before a change until it asks for the turn.
const LOST: usize = 2;

/// A bus in a part of ZooKeeper's tree. Threads share it, one change at a time.
#[derive(Debug)]
pub struct ZooKeeper {
    servers: String,
    root: String,
    session: Mutex<Option<Arc<Session>>>,
    /// Held by changes: those of other values are found by versions.
    changing: Mutex<()>,
    bell: Arc<Bell>,
    wakes: Mutex<Option<Wakes>>,
    clock: Arc<dyn Clock>,
    turn: AtomicUsize,
    /// Contents of the tree, once this value alone changes it.
    owned: Mutex<Option<Owned>>,
}

impl ZooKeeper {
    /// The bus below the node `root` (such as `/bus`), which is made when absent, on `servers`
    /// (`host:port`, several with commas).
    ///
    /// # Errors
    /// [`BusError::Network`] when there is no such server; [`BusError::Storage`] for what it says,
    /// 42602 for another name than letters, digits, `_` and `-` behind a `/`.
    pub fn open(servers: &str, root: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        names::check_root(root)?;
        let session = Arc::new(Session::open(servers, root)?);
        session.make_tree()?;
        let bus = Self {
            servers: servers.to_owned(),
            root: root.to_owned(),
            session: Mutex::new(Some(session)),
            changing: Mutex::new(()),
            bell: Arc::default(),
            wakes: Mutex::new(None),
            clock,
            turn: AtomicUsize::new(0),
            owned: Mutex::new(None),
        };
        bus.sweep_all()?;
        Ok(bus)
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    /// The session, which is begun anew if it ended.
    fn session(&self) -> Result<Arc<Session>> {
        let mut slot = self.session.lock();
        if let Some(session) = slot.as_ref().filter(|session| !session.is_over()) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Session::open(&self.servers, &self.root)?);
        *slot = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Runs `call` as one change, again while others come before it, and has those who wait look.
    fn change<T>(&self, call: impl Fn(&mut Change<'_>) -> Result<T>) -> Result<T> {
        let _changing = self.changing.lock();
        let (mut lost, mut turn) = (0, None);
        loop {
            let session = self.session()?;
            if lost >= LOST && turn.is_none() {
                turn = session.take_turn()?;
            }
            lost += 1;
            let mut change = Change::begin(&session, turn.as_ref())?;
            let outcome = match call(&mut change) {
                Ok(value) => change.commit()?.then(|| Ok(value)),
                Err(error @ BusError::Network(_)) => return Err(error),
                // What was read may be of two moments: then nothing follows from it.
                Err(error) => change.is_current()?.then_some(Err(error)),
            };
            if let Some(outcome) = outcome {
                if outcome.is_ok() {
                    self.bell.ring();
                }
                return outcome;
            }
        }
    }

    fn leave(&self, client: ClientId, only_if_empty: Option<Time>) -> Result<()> {
        self.change(|change| {
            let node = change.client(client)?;
            if let Some(now) = only_if_empty
                && change.queue(client)?.iter().any(|copy| !copy.is_expired(now))
            {
                return Err(BusError::QueueNotEmpty(client));
            }
            change.remove_client(client, &node);
            Ok(())
        })?;
        // The client has left, whatever happens to this: what stays is swept when a bus is opened.
        let _ = self.sweep(client);
        Ok(())
    }

    /// Removes the queue of a client that left.
    fn sweep(&self, client: ClientId) -> Result<()> {
        loop {
            let left = self.change(|change| {
                let mut copies = change.queue(client)?;
                let is_last = copies.len() <= SWEPT;
                copies.truncate(SWEPT);
                copies.iter().for_each(|copy| change.remove_copy(client, copy));
                if is_last {
                    change.remove_queue(client);
                }
                Ok(!is_last)
            })?;
            if !left {
                return Ok(());
            }
        }
    }

    /// Removes the queues of clients that left, of which processes that ended left something.
    fn sweep_all(&self) -> Result<()> {
        let session = self.session()?;
        // Queues first: one that comes in between has its client.
        let queues = session.clients_in(names::QUEUES)?;
        let clients: BTreeSet<ClientId> = session.clients_in(names::CLIENTS)?.into_iter().collect();
        for client in queues.into_iter().filter(|client| !clients.contains(client)) {
            match self.sweep(client) {
                // Another process sweeps it, too.
                Ok(()) | Err(BusError::NotConnected(_)) => {}
                // Whoever has the bus in its memory sweeps it.
                Err(BusError::Storage(error)) if error.state() == SqlState::OBJECT_IN_USE => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Has changes of other processes ring the bell from now on.
    fn listen(&self) -> Result<()> {
        let mut wakes = self.wakes.lock();
        if !wakes.as_ref().is_some_and(Wakes::are_heard) {
            let session = self.session()?;
            *wakes = Some(Wakes::start(&session, &self.bell)?);
        }
        Ok(())
    }

    /// The first messages of a queue as they were at one moment; they stay.
    fn look(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        let session = self.session()?;
        session.sync()?;
        loop {
            let queue = session.queue_of(options.client)?;
            let wanted = wanted(queue, options, self.now());
            let messages = session.messages(&wanted)?;
            // One that is not there was deleted since the look at the queue.
            if let Some(messages) = messages.into_iter().collect() {
                return Ok(messages);
            }
        }
    }

    /// The first messages of a queue, which they leave.
    fn take(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.change(|change| {
            change.client(options.client)?;
            let wanted = wanted(change.queue(options.client)?, options, self.now());
            wanted.iter().for_each(|copy| change.remove_copy(options.client, copy));
            let messages = change.session().messages(&wanted)?;
            let all: Option<Vec<Delivery>> = messages.into_iter().collect();
            all.ok_or_else(|| damaged("a message of a queue"))
        })
    }
}

/// The copies of a queue, in its order, that a receive returns.
fn wanted(queue: Vec<QueueKey>, options: &ReceiveOptions<'_>, now: Time) -> Vec<QueueKey> {
    let is_wanted =
        |copy: &QueueKey| copy.priority >= options.priority_min && !copy.is_expired(now);
    queue.into_iter().filter(is_wanted).take(options.limit.max(1)).collect()
}

/// The clients that a message may go to, sorted, each once.
fn candidates(change: &Change<'_>, options: &SendOptions<'_>) -> Result<Vec<ClientId>> {
    let (sender, message_type) = (options.sender, options.message_type);
    let node = change.client_if_there(sender)?.ok_or(BusError::SenderNotConnected(sender))?;
    if !node.sends.contains(&message_type) {
        return Err(BusError::SenderNotRegistered(sender, message_type));
    }
    let mut candidates = BTreeSet::new();
    match options.address {
        Address::Any => candidates.extend(change.session().receivers_of(message_type)?),
        Address::Clients(named) => {
            for receiver in named {
                let node = change.client_if_there(*receiver)?;
                let node = node.ok_or(BusError::ReceiverNotConnected(*receiver))?;
                if !node.receives.contains(&message_type) {
                    return Err(BusError::ReceiverNotRegistered(*receiver, message_type));
                }
                candidates.insert(*receiver);
            }
        }
    }
    if candidates.is_empty() {
        return Err(BusError::NoReceivers(message_type));
    }
    Ok(candidates.into_iter().collect())
}

impl Bus for ZooKeeper {
    fn connect(&self) -> Result<ClientId> {
        self.change(|change| Ok(change.add_client(self.now())))
    }

    fn disconnect(&self, client: ClientId) -> Result<()> {
        self.leave(client, None)
    }

    fn disconnect_if_empty(&self, client: ClientId) -> Result<()> {
        self.leave(client, Some(self.now()))
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|change| {
            let mut node = change.client(client)?;
            if node.sends.insert(message_type) {
                change.set_client(client, &node);
            }
            Ok(())
        })
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|change| {
            let mut node = change.client(client)?;
            if node.receives.insert(message_type) {
                change.set_client(client, &node);
                change.add_receiver(client, message_type)?;
            }
            Ok(())
        })
    }

    fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.change(|change| {
            let candidates = candidates(change, options)?;
            let receivers = match options.copies {
                Copies::Each => &candidates[..],
                Copies::One => {
                    let turn = turn % candidates.len();
                    &candidates[turn..=turn]
                }
            };
            let sent = self.now();
            let (priority, deadline) = (options.priority, options.deadline.moment(sent));
            let message = Arc::new(Message {
                key: QueueKey { priority, deadline, id: change.draw_message() },
                sender: options.sender,
                sent,
                message_type: options.message_type,
                body: options.body.clone(),
                receivers: options.is_cancellable().then(|| Arc::from(receivers)),
            });
            change.add_message(&message, receivers);
            let (id, token, copies) = (message.key.id, message.token(), receivers.len());
            Ok(Sent { id, sent, copies, token })
        })
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.bell.receive(options, || {
            if options.wait != Wait::No {
                self.listen()?;
            }
            let found = self.look(options)?;
            if found.is_empty() || options.receipt == Receipt::Keep {
                return Ok(found);
            }
            // Another call may have taken some since.
            self.take(options)
        })
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        self.change(|change| {
            change.client(client)?;
            let queue = change.queue(client)?;
            let now = self.now();
            let expired = queue.iter().filter(|copy| copy.is_expired(now)).take(PURGED);
            expired.for_each(|copy| change.remove_copy(client, copy));
            let queue: BTreeSet<&QueueKey> = queue.iter().collect();
            let meant: BTreeSet<&QueueKey> = messages.iter().collect();
            let there = meant.intersection(&queue);
            Ok(there.map(|copy| change.remove_copy(client, copy)).count())
        })
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.change(|change| {
            change.client(client)?;
            if tokens.iter().any(|token| !token.belongs_to(client)) {
                return Err(BusError::TokenOfOthers(client));
            }
            let is_meant = |id: &&ClientId| spare == Spare::Nobody || **id != client;
            let copies: BTreeSet<(ClientId, &QueueKey)> = tokens
                .iter()
                .flat_map(|token| token.receivers.iter().map(move |id| (id, &token.key)))
                .filter(|(receiver, _)| is_meant(receiver))
                .map(|(receiver, key)| (*receiver, key))
                .collect();
            let mut count = 0;
            for (receiver, key) in copies {
                if change.has_copy(receiver, key)? {
                    change.remove_copy(receiver, key);
                    count += 1;
                }
            }
            Ok(count)
        })
    }

    fn clients(&self) -> Result<Vec<ClientInfo>> {
        let session = self.session()?;
        session.sync()?;
        let mut infos = Vec::new();
        for client in session.clients_in(names::CLIENTS)? {
            let Some(node) = session.client(client)? else { continue };
            let messages = match self.look(&ReceiveOptions::new(client)) {
                Ok(messages) => messages,
                Err(BusError::NotConnected(_)) => continue,
                Err(error) => return Err(error),
            };
            infos.push(ClientInfo {
                client,
                connected: node.connected,
                sends: node.sends.into_iter().collect(),
                receives: node.receives.into_iter().collect(),
                messages: messages.len(),
                body_bytes: messages.iter().map(|message| message.body.len() as u64).sum(),
            });
        }
        Ok(infos)
    }
}
