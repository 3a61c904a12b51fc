//! `tessera serve`: the network server, from the command line to its end.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use flight::FlightOptions;
use types::Result;
use wire::{Authentication, LogFormat, LogOptions, Server, ServerOptions, SessionLimits, TlsFiles};

use crate::arguments::{Auth, Limits, Log, Serve};
use crate::database::open_node;

fn options_of(serve: &Serve) -> ServerOptions {
    let tls = serve.tls_cert.clone().zip(serve.tls_key.clone());
    let seconds = |given: Option<u32>| given.map(|n| Duration::from_secs(n.into()));
    ServerOptions {
        listen: serve.listen.clone(),
        unix_directory: serve.unix_socket.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        authentication: match serve.auth {
            Auth::Scram => Authentication::Scram,
            Auth::Trust => Authentication::Trust,
        },
        connections_max: serve.max_connections as usize,
        statement_limit: seconds(serve.statement_timeout),
        idle_limit: seconds(serve.idle_timeout),
        log: LogOptions {
            format: serve.log_format.map(|format| match format {
                Log::Text => LogFormat::Text,
                Log::Json => LogFormat::Json,
            }),
            duration_min: serve.log_min_duration.map(|ms| Duration::from_millis(ms.into())),
        },
        metrics: serve.metrics,
        ..ServerOptions::default()
    }
}

/// Options of Arrow Flight, if it is served: those of PostgreSQL's protocol.
fn flight_of(serve: &Serve, options: &ServerOptions) -> Option<FlightOptions> {
    let limits = SessionLimits { statement: options.statement_limit, ..SessionLimits::default() };
    Some(FlightOptions {
        listen: serve.flight?,
        tls: options.tls.clone(),
        authentication: options.authentication,
        user: serve.user.clone(),
        sessions_max: options.connections_max,
        limits,
        ..FlightOptions::default()
    })
}

/// Tells the operator, who may have stopped listening: that must not end a server.
pub(crate) fn say(message: &str) {
    let _ = writeln!(std::io::stdout(), "tessera: {message}");
}

/// Serves until a signal says otherwise.
pub(crate) fn run(serve: &Serve, limits: &Limits) -> Result<ExitCode> {
    let database = open_node(serve.path.as_deref(), limits, &serve.shared)?;
    let options = options_of(serve);
    let authentication = options.authentication;
    let flight = flight_of(serve, &options);
    // A server that cannot start should not leave a password that nobody sees again.
    let server = Server::start(database.clone(), options)?;
    let flight =
        flight.map(|options| flight::Server::start(database.clone(), options)).transpose()?;
    if let Some(password) = wire::create_first_user(&database, &serve.user, authentication)? {
        say(&format!("user {} with password {password}", serve.user));
    }
    if let Some(flight) = &flight {
        say(&format!("Arrow Flight on {}", flight.address()));
    }
    for address in server.addresses() {
        say(&format!("listening on {address}"));
    }
    if let Some(path) = server.unix_path() {
        say(&format!("listening on {}", path.display()));
    }
    if let Some(address) = server.metrics_address() {
        say(&format!("metrics at http://{address}/metrics"));
    }
    let ending = server.wait_for_signal()?;
    say("shutting down");
    flight.into_iter().for_each(flight::Server::stop);
    server.stop(ending);
    database.close()?;
    Ok(ExitCode::SUCCESS)
}
