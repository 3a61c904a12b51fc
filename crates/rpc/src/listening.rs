//! TLS of files, and servers that have it.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use tonic::transport::{Identity, Server, ServerTlsConfig};
use types::{Error, Result, SqlState};

/// How often a connection that says nothing is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// 58030 for what the system refused.
pub fn io_error(what: &str, error: impl Display) -> Error {
    Error::new(SqlState::IO_ERROR, format!("{what}: {error}"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let unusable =
        |error| Error::new(SqlState::CONFIG_FILE_ERROR, format!("{}: {error}", path.display()));
    std::fs::read(path).map_err(unusable)
}

/// TLS with a certificate and its key, in PEM files.
///
/// # Errors
/// F0000 for files that cannot be read.
pub fn identity_of(certificate: &Path, key: &Path) -> Result<ServerTlsConfig> {
    let identity = Identity::from_pem(read(certificate)?, read(key)?);
    Ok(ServerTlsConfig::new().identity(identity))
}

/// A server without services, whose streams may have `window` bytes under way before they are
/// read, and connections four times as many.
///
/// # Errors
/// F0000 for TLS that cannot be used.
pub fn listening(tls: Option<ServerTlsConfig>, window: u32) -> Result<Server> {
    let builder = Server::builder()
        .initial_stream_window_size(window)
        .initial_connection_window_size(4 * window)
        .http2_keepalive_interval(Some(KEEPALIVE));
    let Some(tls) = tls else { return Ok(builder) };
    builder.tls_config(tls).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let message = format!("TLS: {}", cause.unwrap_or_else(|| error.to_string()));
        Error::new(SqlState::CONFIG_FILE_ERROR, message)
    })
}
