//! The native manager: clients, types and queues in memory, and a log beside them if they are to
//! last.
//!
//! ```text
//! clients:   Cell { id -> Client { sends: Cell, receives: Cell, mailbox: Mutex { queue } } }
//! receivers: Cell { type -> clients }              Cell: one of three siblings (`concurrency`)
//! send: read cells -> lock the mailboxes, in the order of ids -> look again -> id, log -> push
//! ```
//! Invariants: what changes a queue holds its mailbox, and all mailboxes that it changes at once;
//! a message's id and its place in the log are drawn while they are held, so that all queues and
//! the log have one order. A client that left is closed under its mailbox before it goes from the
//! cells, so a cell that is out of date never decides. What a call returns is durable.
//! Elsewhere: what calls mean (`semantics`); files (`host`, `wal`).
//! Source: Chasseur 2015, section 4.4. Departures: what cells said is looked at again under the
//! mailboxes, which makes calls serialisable where reading versions alone would not; `hybrid`.

// Floors: lowest first.
mod sync;
mod queue;
mod concurrency;
mod state;
mod snapshot;
mod replay;
mod journal;
mod stored;
mod medium;
mod client;
mod compactor;
mod manager;
mod bus;

pub use bus::Native;
pub use concurrency::{Cell, Concurrency, Hybrid, Numa, RwLocks, live_versions, set_thread_node};
pub use journal::{Durability, LogSettings};
pub use queue::{Heap, Queue, Tree};
