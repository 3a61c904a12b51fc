//! Arrow Flight over a database: SQL for clients of Flight SQL, and scans of one snapshot in parts.
//!
//! ```text
//! Basic, Bearer -> door (who) -> service: GetFlightInfo -> seat (a session, a thread) -> shelf
//!                                         DoGet         <- stream of record batches   <-'
//! ```
//! A statement runs when its FlightInfo is asked for; its rows wait under a ticket until they are
//! read or the time for it is over. Transactions and prepared statements have handles, which end
//! when they are not used for long; a transaction also ends with the connection that began it.
//!
//! Invariants: nobody reaches a session without authentication, and a handle is of use to the user
//! alone who got it; a statement that nobody waits for any more is cancelled; at most as many
//! sessions as allowed.
//!
//! Elsewhere: SQL and transactions (`engine`), Arrow's arrays (`formats`), passwords and what
//! sessions begin with (`wire`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod options;
mod status;
mod client;
mod shelf;
mod connection;
mod seat;
mod door;
mod stream;
mod parameters;
mod lists;
mod asked;
mod places;
mod told;
mod scan;
mod flights;
mod statements;
mod transactions;
mod parts;
mod ingest;
mod service;
mod server;

pub use client::{Client, Part};
pub use options::FlightOptions;
pub use server::Server;
