//! The calls.

use std::fmt::Debug;

use super::error::Result;
use super::ids::{ClientId, MessageType, QueueKey, Time};
use super::message::{Delivery, Token};
use super::options::{ReceiveOptions, SendOptions, Sent, Spare};

/// A message bus. Each call is one transaction: it happens whole or not at all, as if alone, and
/// what it returned is durable. Threads share it.
///
/// Clients are kept with their queues until they disconnect, whatever becomes of the process
/// behind them; whoever knows a client's id can go on as that client.
///
/// # Errors
/// All calls: [`super::BusError::Storage`] and [`super::BusError::Network`], of buses that have
/// such; calls for a client [`super::BusError::NotConnected`] unless they say otherwise.
/// Source: Chasseur 2015, section 4.3.
pub trait Bus: Send + Sync + Debug {
    /// Adds a client.
    ///
    /// # Errors
    /// See [`Bus`].
    fn connect(&self) -> Result<ClientId>;

    /// Removes a client, its registrations and its queue with all messages in it. Copies of its
    /// own messages in other queues stay.
    ///
    /// # Errors
    /// See [`Bus`].
    fn disconnect(&self, client: ClientId) -> Result<()>;

    /// As [`Self::disconnect`], if the queue holds no message; expired ones do not count.
    ///
    /// # Errors
    /// [`super::BusError::QueueNotEmpty`]; see [`Bus`].
    fn disconnect_if_empty(&self, client: ClientId) -> Result<()>;

    /// Lets a client send messages of a type. A second time changes nothing.
    ///
    /// # Errors
    /// See [`Bus`].
    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()>;

    /// Lets a client receive messages of a type. A second time changes nothing.
    ///
    /// # Errors
    /// See [`Bus`].
    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()>;

    /// Puts a message into the queues of one or each of the addressed clients.
    ///
    /// # Errors
    /// In this order: [`super::BusError::SenderNotConnected`],
    /// [`super::BusError::SenderNotRegistered`]; for the clients named, from the first on,
    /// [`super::BusError::ReceiverNotConnected`], [`super::BusError::ReceiverNotRegistered`];
    /// [`super::BusError::NoReceivers`]; see [`Bus`].
    fn send(&self, options: &SendOptions<'_>) -> Result<Sent>;

    /// The first messages of a client's queue, in order; never one whose deadline has passed.
    /// Empty only if the call does not wait.
    ///
    /// # Errors
    /// [`super::BusError::Timeout`], [`super::BusError::Interrupted`]; see [`Bus`].
    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>>;

    /// Removes messages from a client's queue; what is not there is no error. Returns how many
    /// were.
    ///
    /// # Errors
    /// See [`Bus`].
    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize>;

    /// Removes the copies of messages from all queues, if they are still there: a second cancel is
    /// no error. Who received one before may be at work on it. Returns how many copies went.
    ///
    /// # Errors
    /// [`super::BusError::TokenOfOthers`], and then nothing is cancelled; see [`Bus`].
    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize>;

    /// All clients, by id, with what is known of them. Each is right, but not all at one moment.
    ///
    /// # Errors
    /// See [`Bus`].
    fn clients(&self) -> Result<Vec<ClientInfo>>;

    /// The messages of a client's queue, for others to look at, as a receive would return them.
    ///
    /// # Errors
    /// See [`Bus`].
    fn peek(&self, client: ClientId) -> Result<Vec<Delivery>> {
        self.receive(&ReceiveOptions::new(client))
    }
}

/// A client and its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// The client.
    pub client: ClientId,
    /// When it connected.
    pub connected: Time,
    /// Types that it may send, sorted.
    pub sends: Vec<MessageType>,
    /// Types that it may receive, sorted.
    pub receives: Vec<MessageType>,
    /// Messages in its queue, expired ones left out.
    pub messages: usize,
    /// Bytes of their bodies.
    pub body_bytes: u64,
}
