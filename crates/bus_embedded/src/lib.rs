//! The bus in five tables of a Tessera that is linked into the process: no server, no wire. The
//! tables, their calls and their order are those of [`bus::tables`]; here is the way to them.
//!
//! ```text
//! bus::tables (calls, transactions, locks) -> Linked -> engine::Session
//!             bell <- Heard <- NOTIFY, in the thread of whoever commits
//! ```
//! Invariant: nothing of the engine is reached but by SQL, so that a bus here and one over the wire
//! are the same tables.
//! Elsewhere: queues in the transaction of other statements (`bus_send` and its kin, `engine`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod link;
mod wakes;
mod place;

pub use link::Linked;
pub use place::{Embedded, InProcess, open};
pub use wakes::Heard;
