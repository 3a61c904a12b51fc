//! Ground of the servers of gRPC: connections, TLS, tasks that end together.
//!
//! ```text
//! bus_server (the bus), flight (Arrow Flight) -> rpc
//! ```
//! Elsewhere: which calls there are, and who may make them (the servers).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod connection;
mod listening;
mod tasks;

pub use connection::{Connection, Kept};
pub use listening::{identity_of, io_error, listening};
pub use tasks::Tasks;
