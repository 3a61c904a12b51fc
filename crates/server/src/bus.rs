//! `tessera bus`: a message bus for other processes, from the command line to its end.

use std::process::ExitCode;
use std::sync::Arc;

use ::bus::native::{Durability, Hybrid, LogSettings, Native, Tree};
use bus_server::{Limits as BusLimits, Server, ServerOptions, Service, TlsFiles};
use host::{Clock, Io, RealClock, RealIo};
use types::{Error, Result, SqlState};

use crate::arguments::{Limits, ServeBus, Sync};
use crate::serve::say;
use crate::token;

/// Bytes of the largest message that may be allowed: the protocol has lengths of 32 bits, and the
/// log, too.
const MESSAGE_BYTES_MAX: u64 = 1 << 30;

/// Bytes of a message's request beside its body.
const REQUEST_BYTES: usize = 64 << 10;

fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::CONFIG_FILE_ERROR, message)
}

/// Serves until a signal says otherwise.
pub(crate) fn run(serve: &ServeBus, limits: &Limits) -> Result<ExitCode> {
    if limits.memory.is_some() || limits.threads.is_some() {
        return Err(wrong(
            "--memory and --threads are for databases: a bus has all of its messages \
                          in memory, and --max-calls and --max-waiting threads",
        ));
    }
    let options = options_of(serve)?;
    let bus_limits = limits_of(serve)?;
    let (io, clock): (Arc<dyn Io>, Arc<dyn Clock>) = (Arc::new(RealIo), Arc::new(RealClock));
    let durability = match serve.sync {
        Sync::On => Durability::Synchronous,
        Sync::Off => Durability::Asynchronous,
    };
    let settings = LogSettings { durability, ..LogSettings::default() };
    let bus = Native::<Hybrid, Tree>::open(Hybrid, Arc::clone(&clock), &io, &serve.path, settings)?;
    let bus = Arc::new(bus);
    let health = Arc::clone(&bus);
    let service = Service::new(bus, clock, io.entropy(), bus_limits);
    let service = service.with_health(move || health.health());
    let server = Server::start(Arc::new(service), &options)?;
    for address in server.addresses() {
        say(&format!("bus on {address}"));
    }
    if let Some(address) = server.metrics_address() {
        say(&format!("metrics at http://{address}/metrics"));
    }
    server.wait_for_signal()?;
    say("shutting down");
    server.stop();
    Ok(ExitCode::SUCCESS)
}

fn options_of(serve: &ServeBus) -> Result<ServerOptions> {
    let token = serve.token_file.as_deref().map(token::read).transpose()?;
    let beyond = serve.listen.iter().find(|address| !address.ip().is_loopback());
    if let (None, Some(address)) = (&token, beyond) {
        let message = format!("without a token, the bus is for this machine only, not {address}");
        return Err(wrong(message)
            .with_hint("Put a secret into a file and name it by --token-file; clients send it."));
    }
    let tls = serve.tls_cert.clone().zip(serve.tls_key.clone());
    Ok(ServerOptions {
        listen: serve.listen.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        token,
        metrics: serve.metrics,
    })
}

fn limits_of(serve: &ServeBus) -> Result<BusLimits> {
    let default = BusLimits::default();
    let message = serve.max_message.unwrap_or(default.message_bytes as u64);
    if message > MESSAGE_BYTES_MAX {
        return Err(wrong("--max-message is at most 1GiB"));
    }
    Ok(BusLimits {
        message_bytes: message as usize + REQUEST_BYTES,
        batch: serve.max_batch as usize,
        connections: serve.max_connections as usize,
        calls: serve.max_calls as usize,
        waits: serve.max_waiting as usize,
        ..default
    })
}
