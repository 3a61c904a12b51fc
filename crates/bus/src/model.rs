//! The oracle: a bus as plainly as it can be said, for one thread.
//!
//! Whatever another bus does, this says whether it was right. [`ModelBus`] puts it behind a mutex,
//! which makes it a bus for tests of programs that use one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host::Clock;
use parking_lot::Mutex;

use crate::semantics::{
    Address, Bell, Bus, BusError, Cancellable, ClientId, ClientInfo, Copies, Delivery, Message,
    MessageId, MessageType, QueueKey, Receipt, ReceiveOptions, Result, Ring, SendOptions, Sent,
    Spare, Time, Token,
};

/// A client as the model has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Client {
    connected: Time,
    sends: BTreeSet<MessageType>,
    receives: BTreeSet<MessageType>,
    queue: BTreeMap<QueueKey, Delivery>,
}

/// The state of a bus, and what each call makes of it. Time is a parameter, and so is the choice
/// among clients that may get a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    clients: BTreeMap<ClientId, Client>,
    clients_ever: u64,
    messages_ever: u64,
}

impl Model {
    /// [`Bus::connect`].
    pub fn connect(&mut self, now: Time) -> ClientId {
        self.clients_ever += 1;
        let (sends, receives, queue) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        let client = ClientId(self.clients_ever);
        self.clients.insert(client, Client { connected: now, sends, receives, queue });
        client
    }

    /// [`Bus::disconnect`].
    ///
    /// # Errors
    /// As there.
    pub fn disconnect(&mut self, client: ClientId) -> Result<()> {
        self.clients.remove(&client).map(drop).ok_or(BusError::NotConnected(client))
    }

    /// [`Bus::disconnect_if_empty`].
    ///
    /// # Errors
    /// As there.
    pub fn disconnect_if_empty(&mut self, client: ClientId, now: Time) -> Result<()> {
        if self.client(client)?.queue.keys().any(|key| !key.is_expired(now)) {
            return Err(BusError::QueueNotEmpty(client));
        }
        self.disconnect(client)
    }

    /// [`Bus::register_sender`].
    ///
    /// # Errors
    /// As there.
    pub fn register_sender(&mut self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.client(client)?.sends.insert(message_type);
        Ok(())
    }

    /// [`Bus::register_receiver`].
    ///
    /// # Errors
    /// As there.
    pub fn register_receiver(&mut self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.client(client)?.receives.insert(message_type);
        Ok(())
    }

    /// The clients that a message may go to.
    ///
    /// # Errors
    /// The errors of [`Bus::send`].
    pub fn candidates(&self, options: &SendOptions<'_>) -> Result<Vec<ClientId>> {
        let (sender, message_type) = (options.sender, options.message_type);
        match self.clients.get(&sender) {
            None => return Err(BusError::SenderNotConnected(sender)),
            Some(found) if !found.sends.contains(&message_type) => {
                return Err(BusError::SenderNotRegistered(sender, message_type));
            }
            Some(_) => {}
        }
        let mut candidates = match options.address {
            Address::Any => self.receivers(message_type),
            Address::Clients(named) => self.named(named, message_type)?,
        };
        candidates.sort_unstable();
        candidates.dedup();
        if candidates.is_empty() {
            return Err(BusError::NoReceivers(message_type));
        }
        Ok(candidates)
    }

    fn receivers(&self, message_type: MessageType) -> Vec<ClientId> {
        let receivers = self.clients.iter().filter(|(_, c)| c.receives.contains(&message_type));
        receivers.map(|(id, _)| *id).collect()
    }

    fn named(&self, named: &[ClientId], message_type: MessageType) -> Result<Vec<ClientId>> {
        for receiver in named {
            match self.clients.get(receiver) {
                None => return Err(BusError::ReceiverNotConnected(*receiver)),
                Some(found) if !found.receives.contains(&message_type) => {
                    return Err(BusError::ReceiverNotRegistered(*receiver, message_type));
                }
                Some(_) => {}
            }
        }
        Ok(named.to_vec())
    }

    /// [`Bus::send`]; a message for one goes to candidate `choice`, counted round.
    ///
    /// # Errors
    /// As there.
    pub fn send(&mut self, options: &SendOptions<'_>, now: Time, choice: usize) -> Result<Sent> {
        let candidates = self.candidates(options)?;
        let receivers = match options.copies {
            Copies::Each => candidates,
            Copies::One => vec![candidates[choice % candidates.len()]],
        };
        self.messages_ever += 1;
        let id = MessageId(self.messages_ever);
        let (priority, deadline) = (options.priority, options.deadline.moment(now));
        let shared = || receivers.clone().into();
        let message = Arc::new(Message {
            key: QueueKey { priority, deadline, id },
            sender: options.sender,
            sent: now,
            message_type: options.message_type,
            body: options.body.clone(),
            receivers: (options.cancellable == Cancellable::Yes).then(shared),
        });
        for receiver in &receivers {
            self.client(*receiver)?.queue.insert(message.key, message.clone());
        }
        Ok(Sent { id, sent: now, copies: receivers.len(), token: message.token() })
    }

    /// [`Bus::receive`] that does not wait.
    ///
    /// # Errors
    /// As there.
    pub fn receive(&mut self, options: &ReceiveOptions<'_>, now: Time) -> Result<Vec<Delivery>> {
        let queue = &mut self.client(options.client)?.queue;
        let wanted = queue
            .values()
            .filter(|m| !m.key.is_expired(now) && m.key.priority >= options.priority_min);
        let found: Vec<Delivery> = wanted.take(options.limit.max(1)).cloned().collect();
        if options.receipt == Receipt::Delete {
            found.iter().for_each(|message| drop(queue.remove(&message.key)));
        }
        Ok(found)
    }

    /// [`Bus::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete(&mut self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        let queue = &mut self.client(client)?.queue;
        Ok(messages.iter().filter(|key| queue.remove(key).is_some()).count())
    }

    /// [`Bus::cancel`].
    ///
    /// # Errors
    /// As there.
    pub fn cancel(&mut self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.client(client)?;
        if tokens.iter().any(|token| !token.belongs_to(client)) {
            return Err(BusError::TokenOfOthers(client));
        }
        let mut count = 0;
        for token in tokens {
            for receiver in token.receivers.iter() {
                let is_spared = spare == Spare::Caller && *receiver == client;
                if let (false, Some(found)) = (is_spared, self.clients.get_mut(receiver)) {
                    count += usize::from(found.queue.remove(&token.key).is_some());
                }
            }
        }
        Ok(count)
    }

    /// [`Bus::clients`].
    pub fn clients(&self, now: Time) -> Vec<ClientInfo> {
        let info = |(id, client): (&ClientId, &Client)| {
            let there = || client.queue.values().filter(|m| !m.key.is_expired(now));
            ClientInfo {
                client: *id,
                connected: client.connected,
                sends: client.sends.iter().copied().collect(),
                receives: client.receives.iter().copied().collect(),
                messages: there().count(),
                body_bytes: there().map(|message| message.body.len() as u64).sum(),
            }
        };
        self.clients.iter().map(info).collect()
    }

    fn client(&mut self, client: ClientId) -> Result<&mut Client> {
        self.clients.get_mut(&client).ok_or(BusError::NotConnected(client))
    }
}

/// The model as a bus: one call at a time.
#[derive(Debug)]
pub struct ModelBus {
    model: Mutex<Model>,
    bell: Arc<Bell>,
    clock: Arc<dyn Clock>,
}

impl ModelBus {
    /// A bus without clients.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { model: Mutex::default(), bell: Arc::default(), clock }
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    /// Changes the model and has those who wait look.
    fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        let outcome = change(&mut self.model.lock());
        self.bell.ring();
        outcome
    }
}

impl Bus for ModelBus {
    fn connect(&self) -> Result<ClientId> {
        Ok(self.change(|model| model.connect(self.now())))
    }

    fn disconnect(&self, client: ClientId) -> Result<()> {
        self.change(|model| model.disconnect(client))
    }

    fn disconnect_if_empty(&self, client: ClientId) -> Result<()> {
        self.change(|model| model.disconnect_if_empty(client, self.now()))
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|model| model.register_sender(client, message_type))
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|model| model.register_receiver(client, message_type))
    }

    fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        self.change(|model| {
            let choice = model.messages_ever as usize;
            model.send(options, self.now(), choice)
        })
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.bell.receive(options, || self.model.lock().receive(options, self.now()))
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        self.change(|model| model.delete(client, messages))
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.change(|model| model.cancel(client, tokens, spare))
    }

    fn clients(&self) -> Result<Vec<ClientInfo>> {
        Ok(self.model.lock().clients(self.now()))
    }
}
