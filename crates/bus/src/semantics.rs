//! Meaning of every bus, however it is made: words, calls, the order of queues, status codes.
//!
//! ```text
//! ids, message -> options -> Bus (the trait: each call is one ACID transaction)
//!                 error ---'
//! ```
//! Invariants: a queue's order is [`QueueKey`]'s and nothing else; ids are never given twice.
//! Elsewhere: what is right, executable (`model`, `conformance`); how it is done (`native`, ...).
//! Source: Chasseur 2015, section 4.3. Departures: the last key of the order is the serial number
//! of the message, not its time, so that a clock that steps back reorders nothing; a key of a
//! message is handed back to delete it.

// Floors: lowest first.
mod ids;
mod message;
mod error;
mod interrupt;
mod options;
mod bell;
mod calls;

pub use bell::Bell;
pub use calls::{Bus, ClientInfo};
pub use error::{BusError, Result, Status};
pub use ids::{ClientId, MessageId, MessageType, Priority, QueueKey, Time};
pub use interrupt::{Attached, Interrupt, Ring};
pub use message::{Body, Delivery, Message, Token};
pub use options::{
    Address, Cancellable, Copies, Deadline, Receipt, ReceiveOptions, SendOptions, Sent, Spare, Wait,
};

pub(crate) use bell::{WaitUntil, wait};
pub(crate) use message::{put_clients, put_key, read_clients, read_key};
