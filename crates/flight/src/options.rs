//! Options that a server is started with.

use std::net::SocketAddr;
use std::time::Duration;

use wire::{Authentication, SessionLimits, TlsFiles};

/// Where and for whom a server is.
#[derive(Clone, Debug)]
pub struct FlightOptions {
    /// The address; port 0 is any that is free.
    pub listen: SocketAddr,
    /// TLS, which then each client must use.
    pub tls: Option<TlsFiles>,
    /// How clients prove who they are: with [`Authentication::Scram`] by a password, which Flight
    /// sends as it is.
    pub authentication: Authentication,
    /// The user of clients that name none, where nobody is asked.
    pub user: String,
    /// Most sessions at a time: those of statements that run, transactions, prepared statements
    /// and snapshots.
    pub sessions_max: usize,
    /// Limits that sessions begin with.
    pub limits: SessionLimits,
    /// How long rows and snapshots wait to be read.
    pub ticket_patience: Duration,
    /// How long transactions and prepared statements may be unused.
    pub handle_patience: Duration,
}

impl Default for FlightOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            authentication: Authentication::Scram,
            user: "tessera".to_owned(),
            sessions_max: 1000,
            limits: SessionLimits::default(),
            ticket_patience: Duration::from_secs(60),
            handle_patience: Duration::from_secs(600),
        }
    }
}
