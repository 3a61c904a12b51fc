//! Why a call did nothing.

use std::fmt;

use super::ids::{ClientId, MessageType};

/// The result of a call.
pub type Result<T, E = BusError> = std::result::Result<T, E>;

/// Why a call did nothing: after any error but [`Self::Storage`] and [`Self::Network`] the bus is
/// as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusError {
    /// The client that calls is not connected, or left.
    NotConnected(ClientId),
    /// The sender is not connected, or left.
    SenderNotConnected(ClientId),
    /// The sender is not registered as one for the type.
    SenderNotRegistered(ClientId, MessageType),
    /// A receiver that was named is not connected, or left.
    ReceiverNotConnected(ClientId),
    /// A receiver that was named is not registered as one for the type.
    ReceiverNotRegistered(ClientId, MessageType),
    /// Nobody is addressed: no client receives the type, or none was named.
    NoReceivers(MessageType),
    /// The client cannot leave on condition: its queue holds messages.
    QueueNotEmpty(ClientId),
    /// The client neither sent the message of the token nor got a copy of it.
    TokenOfOthers(ClientId),
    /// Nothing came in time.
    Timeout,
    /// The [`super::Interrupt`] of the call was triggered.
    Interrupted,
    /// The server of the bus was not reached, or did not answer: whether the call happened is not
    /// known. Worth a retry.
    Network(String),
    /// Files or the database below fail: whether the call happened is not known.
    Storage(types::Error),
}

/// The kind of outcome of a call, as a number for protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// The call happened.
    Ok = 0,
    /// [`BusError::NotConnected`].
    NotConnected = 1,
    /// [`BusError::SenderNotConnected`].
    SenderNotConnected = 2,
    /// [`BusError::SenderNotRegistered`].
    SenderNotRegistered = 3,
    /// [`BusError::ReceiverNotConnected`].
    ReceiverNotConnected = 4,
    /// [`BusError::ReceiverNotRegistered`].
    ReceiverNotRegistered = 5,
    /// [`BusError::NoReceivers`].
    NoReceivers = 6,
    /// [`BusError::QueueNotEmpty`].
    QueueNotEmpty = 7,
    /// [`BusError::TokenOfOthers`].
    TokenOfOthers = 8,
    /// [`BusError::Timeout`].
    Timeout = 9,
    /// [`BusError::Interrupted`].
    Interrupted = 10,
    /// [`BusError::Network`].
    Network = 11,
    /// [`BusError::Storage`].
    Storage = 12,
}

impl Status {
    /// The kind of outcome that `outcome` is.
    pub fn of<T>(outcome: &Result<T>) -> Self {
        outcome.as_ref().err().map_or(Self::Ok, BusError::status)
    }
}

impl BusError {
    /// Its kind.
    pub fn status(&self) -> Status {
        match self {
            Self::NotConnected(_) => Status::NotConnected,
            Self::SenderNotConnected(_) => Status::SenderNotConnected,
            Self::SenderNotRegistered(..) => Status::SenderNotRegistered,
            Self::ReceiverNotConnected(_) => Status::ReceiverNotConnected,
            Self::ReceiverNotRegistered(..) => Status::ReceiverNotRegistered,
            Self::NoReceivers(_) => Status::NoReceivers,
            Self::QueueNotEmpty(_) => Status::QueueNotEmpty,
            Self::TokenOfOthers(_) => Status::TokenOfOthers,
            Self::Timeout => Status::Timeout,
            Self::Interrupted => Status::Interrupted,
            Self::Network(_) => Status::Network,
            Self::Storage(_) => Status::Storage,
        }
    }
}

impl fmt::Display for BusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected(client)
            | Self::SenderNotConnected(client)
            | Self::ReceiverNotConnected(client) => write!(f, "{client} is not connected"),
            Self::SenderNotRegistered(client, message_type) => {
                write!(f, "{client} is not registered as a sender of {message_type}")
            }
            Self::ReceiverNotRegistered(client, message_type) => {
                write!(f, "{client} is not registered as a receiver of {message_type}")
            }
            Self::NoReceivers(message_type) => write!(f, "nobody receives {message_type}"),
            Self::QueueNotEmpty(client) => write!(f, "{client} has messages left"),
            Self::TokenOfOthers(client) => {
                write!(f, "{client} neither sent nor received the message")
            }
            Self::Timeout => write!(f, "no message came in time"),
            Self::Interrupted => write!(f, "the wait for a message was interrupted"),
            Self::Network(reason) => write!(f, "the bus was not reached: {reason}"),
            Self::Storage(error) => write!(f, "the bus's storage failed: {error}"),
        }
    }
}

impl std::error::Error for BusError {}

impl From<types::Error> for BusError {
    fn from(error: types::Error) -> Self {
        Self::Storage(error)
    }
}
