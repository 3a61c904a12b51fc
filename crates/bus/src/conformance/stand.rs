//! Needs of the rows: a stack to test, and short words for what they do with it.

use std::sync::Arc;

use host::SimClock;

use crate::semantics::{
    Address, Bus, ClientId, Copies, Delivery, MessageType, QueueKey, ReceiveOptions, SendOptions,
    Sent, Token,
};

/// How much a stack can be asked to do in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Calls take microseconds.
    Full,
    /// Calls take milliseconds: a tenth of the messages or fewer.
    Reduced,
}

impl Effort {
    /// `full`, or a share of it.
    pub(super) fn of(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Reduced => (full / 50).max(8),
        }
    }
}

/// A kind of bus to be tested.
pub trait Stack {
    /// A new bus without clients, on the clock of [`Self::clock`].
    fn start(&mut self) -> Arc<dyn Bus>;

    /// The clock that the buses of this stack go by.
    fn clock(&self) -> &SimClock;

    /// Ends the process of `bus`, which nobody else holds, without warning, and opens what is
    /// left.
    ///
    /// # Errors
    /// The same bus, if it is not durable.
    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        Ok(self.start())
    }

    /// Bytes of the largest message that is tried.
    fn largest_body(&self) -> usize {
        101 << 20
    }

    /// How much it can be asked to do.
    fn effort(&self) -> Effort {
        Effort::Full
    }
}

pub(super) const TYPE: MessageType = MessageType(7);
pub(super) const OTHER: MessageType = MessageType(8);

/// A client that sends [`TYPE`].
pub(super) fn sender(bus: &dyn Bus) -> ClientId {
    let client = bus.connect().expect("connects");
    bus.register_sender(client, TYPE).expect("registers");
    client
}

/// A client that receives [`TYPE`].
pub(super) fn receiver(bus: &dyn Bus) -> ClientId {
    let client = bus.connect().expect("connects");
    bus.register_receiver(client, TYPE).expect("registers");
    client
}

/// `N` clients that receive [`TYPE`].
pub(super) fn receivers<const N: usize>(bus: &dyn Bus) -> [ClientId; N] {
    std::array::from_fn(|_| receiver(bus))
}

/// A message of [`TYPE`] to one of `to`.
pub(super) fn to<'a>(sender: ClientId, to: &'a [ClientId], body: &[u8]) -> SendOptions<'a> {
    SendOptions::new(sender, TYPE, Address::Clients(to), body)
}

/// A message of [`TYPE`] to each of `to`.
pub(super) fn to_each<'a>(sender: ClientId, all: &'a [ClientId], body: &[u8]) -> SendOptions<'a> {
    SendOptions { copies: Copies::Each, ..to(sender, all, body) }
}

pub(super) fn send(bus: &dyn Bus, options: &SendOptions<'_>) -> Sent {
    bus.send(options).expect("sends")
}

/// All messages of a client that are there.
pub(super) fn all(bus: &dyn Bus, client: ClientId) -> Vec<Delivery> {
    bus.receive(&ReceiveOptions::new(client)).expect("receives")
}

/// The bodies of all messages of a client.
pub(super) fn bodies(bus: &dyn Bus, client: ClientId) -> Vec<Vec<u8>> {
    all(bus, client).iter().map(|message| message.body.to_vec()).collect()
}

/// Numbers that were sent as bodies.
pub(super) fn number(message: &Delivery) -> u64 {
    u64::from_le_bytes(message.body[..8].try_into().expect("8 bytes"))
}

pub(super) fn keys(messages: &[Delivery]) -> Vec<QueueKey> {
    messages.iter().map(|message| message.key).collect()
}

pub(super) fn token(sent: &Sent) -> Token {
    sent.token.clone().expect("a token was asked for")
}
