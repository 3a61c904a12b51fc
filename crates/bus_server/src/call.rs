//! Calls of a bus as values, which travel and may be repeated.
//!
//! Made by clients (`exchange`) and by what comes in (`codec`); carried out by `service`.

use std::fmt;
use std::time::Duration;

use bus::{
    Address, Body, Bus, BusError, Cancellable, ClientId, ClientInfo, Copies, Deadline, Delivery,
    Interrupt, MessageType, Priority, QueueKey, Receipt, ReceiveOptions, SendOptions, Sent, Spare,
    Token, Wait,
};

/// One call of [`Bus`].
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// [`Bus::connect`].
    Connect,
    /// [`Bus::disconnect`].
    Disconnect(ClientId),
    /// [`Bus::disconnect_if_empty`].
    DisconnectIfEmpty(ClientId),
    /// [`Bus::register_sender`].
    RegisterSender(ClientId, MessageType),
    /// [`Bus::register_receiver`].
    RegisterReceiver(ClientId, MessageType),
    /// [`Bus::send`].
    Send(Send),
    /// [`Bus::receive`].
    Receive(Receive),
    /// [`Bus::delete`].
    Delete(ClientId, Vec<QueueKey>),
    /// [`Bus::cancel`].
    Cancel(ClientId, Vec<Token>, Spare),
    /// [`Bus::clients`].
    Clients,
}

/// [`SendOptions`] that own their receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Send {
    /// The sender.
    pub sender: ClientId,
    /// Subject.
    pub message_type: MessageType,
    /// The clients that are named; none stands for all who receive the type.
    pub named: Option<Vec<ClientId>>,
    /// The body.
    pub body: Body,
    /// How many of the addressed get it.
    pub copies: Copies,
    /// Urgency.
    pub priority: Priority,
    /// Until when it is worth receiving.
    pub deadline: Deadline,
    /// Whether it can be cancelled.
    pub cancellable: Cancellable,
}

/// [`ReceiveOptions`] without the interrupt.
#[derive(Clone, Debug, PartialEq)]
pub struct Receive {
    /// Whose queue.
    pub client: ClientId,
    /// How many at most.
    pub limit: usize,
    /// The least urgent ones.
    pub priority_min: Priority,
    /// How long to wait for the first.
    pub wait: Wait,
    /// State of the messages afterwards.
    pub receipt: Receipt,
}

/// Values that calls return.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A client.
    Client(ClientId),
    /// Nothing.
    Done,
    /// A message that was sent.
    Sent(Sent),
    /// Messages.
    Messages(Vec<Delivery>),
    /// Numbers of messages and copies.
    Count(usize),
    /// All clients.
    Clients(Vec<ClientInfo>),
}

/// Names a call, so that it is done once however often it comes.
///
/// Source: the completion records of Lee 2015, "Implementing linearizability at large scale and low
/// latency" (RIFL), kept in memory: runs of the server take their place across crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The program that calls, drawn by chance.
    pub caller: u64,
    /// The call, counted from 1.
    pub number: u64,
    /// Calls with numbers below were answered.
    pub answered_below: u64,
    /// The run of the server that the call is for.
    pub run: u64,
}

/// Why a call that came to a server, or went to one, has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The bus says why.
    Bus(BusError),
    /// The server was started again since: it did nothing for this call now.
    OtherRun,
    /// The repetition came too late: it did nothing now.
    Forgotten,
    /// A limit of the server is reached; it did nothing. Worth a retry.
    Busy(&'static str),
    /// The call is above a limit.
    TooLarge(String),
    /// The call makes no sense.
    Malformed(String),
    /// The token is missing or wrong.
    Unauthenticated,
    /// No server was reached, or one that stops: it did nothing. Worth a retry.
    Unreached(String),
    /// No answer came: whether the call happened is not known.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bus(error) => error.fmt(f),
            Self::OtherRun => write!(f, "the server was started again since the call was made"),
            Self::Forgotten => write!(f, "the repetition of the call came too late"),
            Self::Busy(what) => write!(f, "the server is busy: {what}"),
            Self::TooLarge(what) => write!(f, "above a limit of the server: {what}"),
            Self::Malformed(what) => write!(f, "malformed call: {what}"),
            Self::Unauthenticated => write!(f, "the token is missing or wrong"),
            Self::Unreached(why) | Self::Lost(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}

impl From<BusError> for Failure {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

impl Send {
    /// The options, owned.
    pub fn of(options: &SendOptions<'_>) -> Self {
        Self {
            sender: options.sender,
            message_type: options.message_type,
            named: match options.address {
                Address::Any => None,
                Address::Clients(named) => Some(named.to_vec()),
            },
            body: options.body.clone(),
            copies: options.copies,
            priority: options.priority,
            deadline: options.deadline,
            cancellable: options.cancellable,
        }
    }

    fn options(&self) -> SendOptions<'_> {
        SendOptions {
            sender: self.sender,
            message_type: self.message_type,
            address: self.named.as_deref().map_or(Address::Any, Address::Clients),
            body: self.body.clone(),
            copies: self.copies,
            priority: self.priority,
            deadline: self.deadline,
            cancellable: self.cancellable,
        }
    }
}

impl Receive {
    /// The options, without the interrupt.
    pub fn of(options: &ReceiveOptions<'_>) -> Self {
        let ReceiveOptions { client, limit, priority_min, wait, receipt, interrupt: _ } = *options;
        Self { client, limit, priority_min, wait, receipt }
    }
}

impl Call {
    /// Its name, as the service has it.
    pub fn name(&self) -> &'static str {
        NAMES[self.number()]
    }

    /// Place of its name in [`NAMES`].
    pub(crate) fn number(&self) -> usize {
        match self {
            Self::Connect => 0,
            Self::Disconnect(_) | Self::DisconnectIfEmpty(_) => 1,
            Self::RegisterSender(..) => 2,
            Self::RegisterReceiver(..) => 3,
            Self::Send(_) => 4,
            Self::Receive(_) => 5,
            Self::Delete(..) => 6,
            Self::Cancel(..) => 7,
            Self::Clients => 8,
        }
    }

    /// True when doing it twice is not as doing it once.
    pub fn needs_retry(&self) -> bool {
        match self {
            Self::Connect | Self::Disconnect(_) | Self::DisconnectIfEmpty(_) => true,
            Self::Send(_) | Self::Delete(..) | Self::Cancel(..) => true,
            Self::Receive(receive) => receive.receipt == Receipt::Delete,
            Self::RegisterSender(..) | Self::RegisterReceiver(..) | Self::Clients => false,
        }
    }

    /// How long it may wait on purpose.
    pub fn wait(&self) -> Wait {
        if let Self::Receive(receive) = self { receive.wait } else { Wait::No }
    }

    /// True when it may wait for a message.
    pub fn waits(&self) -> bool {
        !matches!(self.wait(), Wait::No | Wait::AtMost(Duration::ZERO))
    }

    /// The same call, which does not wait.
    pub(crate) fn without_wait(mut self) -> Self {
        if let Self::Receive(receive) = &mut self {
            receive.wait = Wait::No;
        }
        self
    }

    /// Carries it out.
    ///
    /// # Errors
    /// The errors of the call.
    pub fn perform(&self, bus: &dyn Bus, interrupt: Option<&Interrupt>) -> bus::Result<Reply> {
        match self {
            Self::Connect => bus.connect().map(Reply::Client),
            Self::Disconnect(client) => bus.disconnect(*client).map(|()| Reply::Done),
            Self::DisconnectIfEmpty(client) => {
                bus.disconnect_if_empty(*client).map(|()| Reply::Done)
            }
            Self::RegisterSender(client, message_type) => {
                bus.register_sender(*client, *message_type).map(|()| Reply::Done)
            }
            Self::RegisterReceiver(client, message_type) => {
                bus.register_receiver(*client, *message_type).map(|()| Reply::Done)
            }
            Self::Send(send) => bus.send(&send.options()).map(Reply::Sent),
            Self::Receive(receive) => {
                let Receive { client, limit, priority_min, wait, receipt } = *receive;
                let options =
                    ReceiveOptions { client, limit, priority_min, wait, receipt, interrupt };
                bus.receive(&options).map(Reply::Messages)
            }
            Self::Delete(client, keys) => bus.delete(*client, keys).map(Reply::Count),
            Self::Cancel(client, tokens, spare) => {
                bus.cancel(*client, tokens, *spare).map(Reply::Count)
            }
            Self::Clients => bus.clients().map(Reply::Clients),
        }
    }
}

/// Names of calls.
pub(crate) const NAMES: [&str; 9] = [
    "connect",
    "disconnect",
    "register_sender",
    "register_receiver",
    "send",
    "receive",
    "delete",
    "cancel",
    "clients",
];

impl Reply {
    /// Bytes of what it holds, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Messages(messages) => {
                messages.iter().map(|message| 128 + message.body.len()).sum::<usize>() + 64
            }
            Self::Sent(sent) => {
                64 + sent.token.as_ref().map_or(0, |token| 8 * token.receivers().len())
            }
            Self::Clients(clients) => 128 * clients.len(),
            Self::Client(_) | Self::Done | Self::Count(_) => 64,
        }
    }
}
