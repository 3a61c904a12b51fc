//! The bus for other processes: a server over gRPC, and a client that is a bus itself.
//!
//! ```text
//! Remote (a Bus) -> exchange -> codec -> network -> grpc -> service -> a Bus
//!                   repeats               |  door, limits    requests: done once, however often
//!                   within one run        '- /metrics, /health, reflection    it comes
//! ```
//! Invariants: `service` and `exchange` know no network and no clock but the one they are given,
//! so that a simulation runs them; a call that was sent to one run is never sent to another of
//! the server.
//! Elsewhere: what calls mean (`bus`), the command line (`server`), the published protocol
//! (`proto/bus.proto`).
//! Source: Chasseur 2015, section 4.4, "Networking". Departures: calls name themselves, so that
//! one that is repeated is done once; replies come in pieces.
#![forbid(unsafe_code)]

// Floors: lowest first.
pub mod proto;
mod call;
mod limits;
mod codec;
mod status;
mod requests;
mod metrics;
mod service;
mod exchange;
mod connection;
mod grpc;
mod http;
mod server;
mod remote;

pub use call::{Call, Failure, Receive, Reply, Retry, Send};
pub use exchange::{Exchange, Next, Numbers};
pub use limits::Limits;
pub use remote::{Remote, RemoteOptions};
pub use server::{Server, ServerOptions, TlsFiles};
pub use service::Service;
