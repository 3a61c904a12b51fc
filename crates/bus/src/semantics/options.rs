//! Arguments of calls, and the result of a send.

use std::time::Duration;

use super::ids::{ClientId, MessageId, MessageType, Priority, Time};
use super::interrupt::Interrupt;
use super::message::{Body, Token};

/// Receivers that a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// All who receive its type.
    Any,
    /// These clients; each must receive its type. One that is named twice counts once.
    Clients(&'a [ClientId]),
}

/// Which of the addressed clients get a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// Exactly one, which the bus picks.
    #[default]
    One,
    /// Each of them, or none if the send fails (broadcast).
    Each,
}

/// Until when a message is worth receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deadline {
    /// For ever.
    #[default]
    Never,
    /// So long from the moment at which the bus takes it.
    After(Duration),
    /// Until this moment of the bus's clock.
    At(Time),
}

impl Deadline {
    /// The moment, for a message that is taken at `sent`.
    pub fn moment(self, sent: Time) -> Time {
        match self {
            Self::Never => Time::NEVER,
            Self::After(time) => sent.after(time),
            Self::At(moment) => moment,
        }
    }
}

/// Whether a message can be cancelled, which costs a list of its receivers on each copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cancellable {
    /// Never: the message stays until it is deleted.
    #[default]
    No,
    /// Possible: there is a [`Token`].
    Yes,
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct SendOptions<'a> {
    /// Its sender.
    pub sender: ClientId,
    /// Its subject.
    pub message_type: MessageType,
    /// Its receivers.
    pub address: Address<'a>,
    /// Its body.
    pub body: Body,
    /// How many of them get it.
    pub copies: Copies,
    /// Urgency.
    pub priority: Priority,
    /// Until when it is worth receiving.
    pub deadline: Deadline,
    /// Whether it can be cancelled.
    pub cancellable: Cancellable,
}

impl<'a> SendOptions<'a> {
    /// A message for one of `address`, of priority 0, without a deadline, for good.
    pub fn new(
        sender: ClientId,
        message_type: MessageType,
        address: Address<'a>,
        body: impl Into<Body>,
    ) -> Self {
        Self {
            sender,
            message_type,
            address,
            body: body.into(),
            copies: Copies::One,
            priority: Priority(0),
            deadline: Deadline::Never,
            cancellable: Cancellable::No,
        }
    }

    /// True when it can be cancelled.
    pub(crate) fn is_cancellable(&self) -> bool {
        self.cancellable == Cancellable::Yes
    }
}

/// A message that was sent: durable, unless the bus was told not to wait for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The message.
    pub id: MessageId,
    /// When the bus took it.
    pub sent: Time,
    /// How many queues hold it.
    pub copies: usize,
    /// Token that cancels it, if that was asked for.
    pub token: Option<Token>,
}

/// How long a receive waits for a first message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    #[default]
    No,
    /// So long at most.
    AtMost(Duration),
    /// Until there is one.
    Forever,
}

/// State of messages after they were received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receipt {
    /// All messages: they are received again until they are deleted (at least once).
    #[default]
    Keep,
    /// Nothing of what it returns: a crash of the receiver loses it (at most once).
    Delete,
}

/// Which messages to receive.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions<'a> {
    /// Whose queue.
    pub client: ClientId,
    /// How many at most; 0 counts as 1.
    pub limit: usize,
    /// The least urgent ones worth receiving and waiting for.
    pub priority_min: Priority,
    /// How long to wait for the first.
    pub wait: Wait,
    /// State of the messages afterwards.
    pub receipt: Receipt,
    /// Interrupt that may end the wait.
    pub interrupt: Option<&'a Interrupt>,
}

impl ReceiveOptions<'_> {
    /// All messages of `client` that are there, which stay.
    pub fn new(client: ClientId) -> Self {
        Self {
            client,
            limit: usize::MAX,
            priority_min: Priority(i32::MIN),
            wait: Wait::No,
            receipt: Receipt::Keep,
            interrupt: None,
        }
    }

    /// One message of `client` at most, for which the call waits.
    pub fn next(client: ClientId) -> Self {
        Self { limit: 1, wait: Wait::Forever, ..Self::new(client) }
    }
}

/// Whose copies a cancel spares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spare {
    /// Nobody's: the caller's goes, too, and a caller that crashes has lost the message.
    #[default]
    Nobody,
    /// The caller's, until it deletes it: a caller that crashes receives it again.
    Caller,
}
