//! The Transactional Message Bus: durable queues with groups, priority, deadlines and cancellation.
//!
//! ```text
//! semantics (Bus, words, order, codes) < model (the oracle) < conformance (one suite for all)
//!        '---------------------------------------------------< native (in memory, with a log)
//!                                                             < kv (five kinds of keys; a feature)
//!                                                             < sqlite (five tables; a feature)
//! ```
//! Invariant: no table, no SQL and no thread pool is known here; whoever wants queues links this
//! crate alone.
//! Elsewhere: files and clocks (`host`), the log's segments (`wal`).
//! Source: Chasseur 2015, chapter 4.

// Floors: lowest first.
mod semantics;
mod model;
pub mod conformance;
mod record;
pub mod native;
#[cfg(feature = "kv")]
pub mod kv;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use model::{Model, ModelBus};
pub use semantics::{
    Address, Bell, Body, Bus, BusError, Cancellable, ClientId, ClientInfo, Copies, Deadline,
    Delivery, Interrupt, Message, MessageId, MessageType, Priority, QueueKey, Receipt,
    ReceiveOptions, Result, Ring, SendOptions, Sent, Spare, Status, Time, Token, Wait,
};
