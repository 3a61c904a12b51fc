//! Calls of the message bus: their names, parameters and results.
//!
//! Calls change what is stored, so they are no expressions: each is a part of its statement
//! ([`crate::statement::BusCalls`]), which runs once.

use types::{DataType, ElementType};

/// A call of the message bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BusFunction {
    /// bus_connect(name, owner) -> BIGINT: the client of this name, new if there is none.
    Connect,
    /// bus_disconnect(client, if_empty) -> BOOLEAN: true when the client is gone.
    Disconnect,
    /// bus_register_sender(client, type): nothing.
    RegisterSender,
    /// bus_register_receiver(client, type, max_receipts, dead_letter): nothing.
    RegisterReceiver,
    /// bus_send(sender, type, body, ...) -> BIGINT: the message.
    Send,
    /// bus_receive(client, ...): rows.
    Receive,
    /// bus_delete(client, messages, archive) -> BIGINT: how many there were.
    Delete,
    /// bus_cancel(client, message, spare) -> BIGINT: how many copies there were.
    Cancel,
    /// bus_extend(client, messages, lease) -> BIGINT: how many leases there were.
    Extend,
}

/// Types that a parameter takes; what is given has one of them when the call is bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BusParameter {
    /// This one.
    Is(DataType),
    /// The number of a client (BIGINT) or its name (TEXT).
    Client,
    /// Clients: one, or an array of numbers or names.
    Clients,
    /// BYTEA, or TEXT, as which anything else goes.
    Body,
    /// BIGINT or BIGINT[].
    Messages,
    /// BOOLEAN, or TEXT: `'archive'`.
    Fate,
}

/// Presence of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusArgument {
    /// Each call has it.
    Required,
    /// NULL stands for it when a call leaves it out.
    Optional,
}

type Parameter = (&'static str, BusParameter, BusArgument);

const CLIENT: Parameter = ("client", BusParameter::Client, BusArgument::Required);
const TYPE: Parameter = required("type", DataType::Integer);
const MESSAGES: Parameter = ("messages", BusParameter::Messages, BusArgument::Required);
const LEASE: Parameter = optional("lease", DataType::INTERVAL);

const SEND: &[Parameter] = &[
    ("sender", BusParameter::Client, BusArgument::Required),
    TYPE,
    ("body", BusParameter::Body, BusArgument::Required),
    ("receivers", BusParameter::Clients, BusArgument::Optional),
    optional("broadcast", DataType::Boolean),
    optional("priority", DataType::Integer),
    optional("expires", DataType::INTERVAL),
    optional("cancellable", DataType::Boolean),
    optional("delay", DataType::INTERVAL),
];

const RECEIVE: &[Parameter] = &[
    CLIENT,
    optional("max", DataType::BigInt),
    optional("min_priority", DataType::Integer),
    ("delete", BusParameter::Fate, BusArgument::Optional),
    LEASE,
    optional("timeout", DataType::INTERVAL),
];

const fn required(name: &'static str, ty: DataType) -> Parameter {
    (name, BusParameter::Is(ty), BusArgument::Required)
}

const fn optional(name: &'static str, ty: DataType) -> Parameter {
    (name, BusParameter::Is(ty), BusArgument::Optional)
}

impl BusFunction {
    /// The call that SQL calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Connect,
            Self::Disconnect,
            Self::RegisterSender,
            Self::RegisterReceiver,
            Self::Send,
            Self::Receive,
            Self::Delete,
            Self::Cancel,
            Self::Extend,
        ];
        all.into_iter().find(|function| function.name() == name)
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "bus_connect",
            Self::Disconnect => "bus_disconnect",
            Self::RegisterSender => "bus_register_sender",
            Self::RegisterReceiver => "bus_register_receiver",
            Self::Send => "bus_send",
            Self::Receive => "bus_receive",
            Self::Delete => "bus_delete",
            Self::Cancel => "bus_cancel",
            Self::Extend => "bus_extend",
        }
    }

    /// Its parameters in order: names, types, and which may be left out.
    pub fn parameters(self) -> &'static [(&'static str, BusParameter, BusArgument)] {
        use DataType::{BigInt, Boolean, Integer, Text};
        match self {
            Self::Connect => const { &[optional("name", Text), optional("owner", Text)] },
            Self::Disconnect => const { &[CLIENT, optional("if_empty", Boolean)] },
            Self::RegisterSender => const { &[CLIENT, TYPE] },
            Self::RegisterReceiver => {
                const {
                    let limit = optional("max_receipts", Integer);
                    &[CLIENT, TYPE, limit, optional("dead_letter", Integer)]
                }
            }
            Self::Send => SEND,
            Self::Receive => RECEIVE,
            Self::Delete => const { &[CLIENT, MESSAGES, optional("archive", Boolean)] },
            Self::Cancel => {
                const { &[CLIENT, required("message", BigInt), optional("spare", Boolean)] }
            }
            Self::Extend => const { &[CLIENT, MESSAGES, required("lease", DataType::INTERVAL)] },
        }
    }

    /// The type of its result; empty text stands for PostgreSQL's void. Unknown for rows.
    pub fn result(self) -> DataType {
        match self {
            Self::Disconnect => DataType::Boolean,
            Self::RegisterSender | Self::RegisterReceiver => DataType::Text,
            Self::Receive => DataType::Unknown,
            _ => DataType::BigInt,
        }
    }

    /// Columns of the rows that bus_receive gives.
    pub fn rows() -> [(&'static str, DataType); 10] {
        [
            ("message", DataType::BigInt),
            ("type", DataType::Integer),
            ("sender", DataType::BigInt),
            ("sent", DataType::TIMESTAMPTZ),
            ("priority", DataType::Integer),
            ("expires", DataType::TIMESTAMPTZ),
            ("cancellable", DataType::Boolean),
            ("receipts", DataType::Integer),
            ("body", DataType::Bytea),
            ("text", DataType::Text),
        ]
    }
}

impl BusParameter {
    /// The type that an argument of type `given` has in the call.
    pub fn taken(self, given: DataType) -> DataType {
        let is_text = |ty| {
            matches!(
                ty,
                DataType::Text
                    | DataType::Name
                    | DataType::Varchar(_)
                    | DataType::Char(_)
                    | DataType::Unknown
            )
        };
        match (self, given) {
            (Self::Is(ty), _) => ty,
            (Self::Body, DataType::Bytea) => DataType::Bytea,
            (Self::Body, _) => DataType::Text,
            (Self::Fate, DataType::Boolean) => DataType::Boolean,
            (Self::Fate, _) => DataType::Text,
            (Self::Clients, DataType::Array(of)) if is_text(of.data_type()) => {
                DataType::Array(ElementType::Text)
            }
            (Self::Clients | Self::Messages, DataType::Array(_)) => {
                DataType::Array(ElementType::BigInt)
            }
            (Self::Client | Self::Clients, ty) if is_text(ty) => DataType::Text,
            (Self::Client | Self::Clients | Self::Messages, _) => DataType::BigInt,
        }
    }

    /// The type of an argument that is a parameter of the statement.
    pub fn placeholder(self) -> Option<DataType> {
        match self {
            Self::Is(ty) => Some(ty),
            Self::Client | Self::Messages => Some(DataType::BigInt),
            Self::Clients => Some(DataType::Array(ElementType::BigInt)),
            Self::Body | Self::Fate => None,
        }
    }
}
