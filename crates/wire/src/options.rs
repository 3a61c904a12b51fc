//! Options that a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::journal::LogOptions;

/// How clients prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// By their password, which they do not send: SCRAM-SHA-256.
    Scram,
    /// Not at all; from this machine only.
    Trust,
}

/// A certificate and its key, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those that sign it.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// Where and for whom a server is.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// TCP addresses.
    pub listen: Vec<SocketAddr>,
    /// Directory of a Unix socket, which is named after the port as libpq expects.
    pub unix_directory: Option<PathBuf>,
    /// TLS, when it is offered.
    pub tls: Option<TlsFiles>,
    /// How clients prove who they are.
    pub authentication: Authentication,
    /// Most clients at a time.
    pub connections_max: usize,
    /// How long a statement may run, unless its session says otherwise.
    pub statement_limit: Option<Duration>,
    /// How long a client may be silent, unless its session says otherwise.
    pub idle_limit: Option<Duration>,
    /// How long statements may go on when the server is told to end.
    pub grace: Duration,
    /// Options of the log.
    pub log: LogOptions,
    /// Where metrics and health are asked for over HTTP.
    pub metrics: Option<SocketAddr>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 5432))],
            unix_directory: None,
            tls: None,
            authentication: Authentication::Scram,
            connections_max: 1000,
            statement_limit: None,
            idle_limit: None,
            grace: Duration::from_secs(10),
            log: LogOptions::default(),
            metrics: None,
        }
    }
}
