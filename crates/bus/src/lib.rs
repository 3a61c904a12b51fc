//! The Transactional Message Bus: durable queues with groups, priority, deadlines and cancellation.
//!
//! ```text
//! semantics (Bus, words, order, codes) < model (the oracle) < conformance (one suite for all)
//!        '-------- record (changes as bytes) < native (in memory; a log or a store below)
//!                        '------ store (what may be below it) < kv (five kinds of keys; a feature)
//!                                         < sqlite, postgres (five tables; features)
//!                                         < zookeeper (a tree; a feature)
//! ```
//! Invariant: no table, no SQL and no thread pool is known here; whoever wants queues links this
//! crate alone.
//! Elsewhere: `tables` of a database in this process (`bus_embedded`), files and clocks (`host`),
//! the log's segments (`wal`).
//! Source: Chasseur 2015, chapter 4.

// Floors: lowest first.
mod semantics;
mod model;
pub mod conformance;
mod record;
mod store;
pub mod native;
#[cfg(feature = "kv")]
pub mod kv;
#[cfg(feature = "tables")]
pub mod tables;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;

pub use model::{Model, ModelBus};
pub use record::{NextIds, Placed, Record};
pub use semantics::{
    Address, Attached, Bell, Body, Bus, BusError, Cancellable, ClientId, ClientInfo, Copies,
    Deadline, Delivery, Interrupt, Message, MessageId, MessageType, Priority, QueueKey, Receipt,
    ReceiveOptions, Result, Ring, SendOptions, Sent, Spare, Status, Time, Token, Wait,
};
pub use store::Store;
