//! Calls of many tasks in few frames: numbered, answered once, over TCP or a simulated network; and
//! tables of stores that are reached so.
//!
//! ```text
//! task -> Channel::call -> entries that wait -> flush -> frame -> Outlet (TCP, simulation)
//!  '- Pending (future; poll, then sleep)    <- receive <- frame <-'
//! frame -> Exchange (sessions: done once) -> Service -> replies, one frame
//!                                              '- StoreService: calls of tables, pushed scans
//! RemoteTable (a store::Table) -> Cluster: key to store by the ring -> Channel of each store
//!                                   '- moving: ranges of keys go from one store to another
//! ```
//! Invariants: a call that changes something happens once, however often its frame arrives, while
//! the server keeps its incarnation; a caller hears of each call once, or that the connection
//! broke; no bytes from outside make anything panic or take memory that they do not fill.
//! At any time one store at most answers for a key.
//! Elsewhere: values as bytes (`store::codec`), transactions (`shared`).
//! Elsewhere here: who is let in (`token`, `identity`, `tcp::handshake`).
//! Source: Pilman 2017, sections 4.6.1 and 8.1; Lee et al. 2015 (RIFL) for calls that happen once.
//! Departures: TCP in the place of RDMA, grants of bytes in the place of registered memory.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod frame;
mod slot;
mod token;
mod identity;
mod channel;
mod task;
mod exchange;
mod placement;
mod ring;
mod message;
mod scans;
mod service;
mod cluster;
mod remote;
mod moving;
mod durable;
mod tcp;

pub use channel::{Channel, Outlet, Part, Patience};
pub use cluster::{Cluster, Guide, store_of};
pub use durable::{DurableOptions, DurableService, SNAPSHOT_BYTES, SnapshotMade};
pub use exchange::{Exchange, Outbox, Request, Service, Sessions};
pub use frame::{Entry, EntryKind, FRAME_BYTES_MAX, Frame, FrameKind, HEADER_BYTES, body_bytes};
pub use identity::{Claim, Claimed, DatabaseId, OwnDatabase};
pub use message::{layout, put_layout};
pub use placement::Attempt;
pub use remote::{Change, RemoteTable};
pub use ring::{Move, MoveOrder, Phase, Ring, RingStore, Stay, StoreId};
pub use service::{StoreService, StoreServiceOptions};
pub use slot::{Broken, Pending};
pub use task::{Tasks, all, block_on};
pub use tcp::{Connection, ConnectionOptions, Listener, ListenerOptions};
pub use token::Token;
