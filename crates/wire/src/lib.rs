//! The network server: PostgreSQL's protocol, version 3, over TCP, TLS and Unix sockets.
//!
//! ```text
//! tokio, one thread: listen, TLS, startup and authentication, idle sockets, time limits, signals
//!         | a client is let in, or an idle one sends something
//! session threads: messages -> engine::Session -> rows, batch by batch, into the socket
//! ```
//! The engine is synchronous and so are its callers: a thread reads, runs and writes without a
//! change of threads in between, as long as its client keeps it busy; see `turns`.
//!
//! Invariants: nobody reaches a session without authentication; no input panics the process; a
//! statement of a client that is gone is cancelled, its transaction rolled back.
//!
//! Elsewhere: SQL and transactions (`engine`), files of COPY (`formats`).
#![forbid(unsafe_code)]

use types::Result;

// Floors: lowest first.
mod broken;
mod random;
mod socket;
mod activity;
mod journal;
mod options;
mod tls;
mod message;
mod numeric;
mod oid;
mod encode;
mod recode;
mod newcomer;
mod scram;
mod password;
mod opening;
mod link;
mod metrics;
mod decode;
mod copy;
mod connection;
mod turns;
mod shared;
mod http;
mod authenticate;
mod startup;
mod server;

/// Adds what a server needs to `database`: COPY's binary format, and what is kept of passwords.
pub fn register(database: &engine::Database) {
    copy::register(database);
    database.registry().set_password_hasher(std::sync::Arc::new(scram::make_verifier));
}

/// Makes `user` a superuser when nobody can log in yet: where passwords are asked for
/// ([`Authentication::Scram`]) with a random one, which is returned.
///
/// # Errors
/// Why the database cannot keep it.
pub fn create_first_user(
    database: &engine::Database,
    user: &str,
    authentication: Authentication,
) -> Result<Option<String>> {
    let asks = authentication == Authentication::Scram;
    let roles = database.roles();
    if roles.iter().any(|(_, role)| role.can_login && (role.password.is_some() || !asks)) {
        return Ok(None);
    }
    let known = roles.iter().find(|(name, _)| name == user).map(|(_, role)| role.is_superuser);
    let what = match known {
        None => "CREATE",
        // It was made when nobody was asked for a password.
        Some(true) => "ALTER",
        Some(false) => return Ok(None),
    };
    let mut text = format!("{what} ROLE \"{}\" SUPERUSER LOGIN", user.replace('"', "\"\""));
    let password = asks.then(random::password).transpose()?;
    if let Some(password) = &password {
        text.push_str(&format!(" PASSWORD '{}'", scram::make_verifier(password)?));
    }
    database.session().execute(&text)?;
    Ok(password)
}

pub use journal::{LogFormat, LogOptions};
pub use opening::{SessionLimits, session_for};
pub use options::{Authentication, ServerOptions, TlsFiles};
pub use password::check_password;
pub use server::{Ending, Server};
