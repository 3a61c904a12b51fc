//! Steps before the first statement: TLS, the startup message, proof of who it is.
//!
//! ```text
//! SSLRequest -> 'S', TLS | 'N'    CancelRequest -> nothing    StartupMessage -> authentication
//! ```
//! Nobody is trusted here: a client has [`PATIENCE`] for all of it, messages are short, and each
//! waits as a future, without a thread.

use std::sync::Arc;
use std::time::Duration;

use engine::Session;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use types::{Error, Result, SqlState};

use crate::message::{self, Fields, violation};
use crate::newcomer::{Newcomer, gone};
use crate::shared::Shared;

/// How long a client may take until it is let in.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longest startup message, as in PostgreSQL.
const STARTUP_BYTES_MAX: usize = 10_000;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// Contents of the startup message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Startup {
    pub(crate) user: String,
    /// Database; nothing for the one that is called as the user.
    pub(crate) database: String,
    /// Settings, in order.
    pub(crate) settings: Vec<(String, String)>,
    /// Options of the protocol that are not known.
    unknown: Vec<String>,
    minor: u16,
}

/// How a newcomer begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    Tls,
    Gss,
    /// Session and secret.
    Cancel(i32, i32),
    Startup(Startup),
}

/// Reads the body of a first message.
pub(crate) fn opening(body: &[u8]) -> Result<Opening> {
    let mut fields = Fields::new(body);
    match fields.u32()? {
        SSL_REQUEST => fields.end().map(|()| Opening::Tls),
        GSS_REQUEST => fields.end().map(|()| Opening::Gss),
        CANCEL_REQUEST => {
            let (session, secret) = (fields.i32()?, fields.i32()?);
            fields.end()?;
            Ok(Opening::Cancel(session, secret))
        }
        version if version >> 16 == 3 => {
            let minor = (version & 0xffff) as u16;
            startup(fields, minor).map(Opening::Startup)
        }
        version => {
            let message = format!(
                "unsupported frontend protocol {}.{}: server supports 3.0 to 3.0",
                version >> 16,
                version & 0xffff
            );
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}

fn startup(mut fields: Fields<'_>, minor: u16) -> Result<Startup> {
    let mut startup = Startup { minor, ..Startup::default() };
    loop {
        let name = fields.text()?;
        if name.is_empty() {
            break;
        }
        let value = fields.text()?.to_owned();
        match name {
            "user" => startup.user = value,
            "database" => startup.database = value,
            "replication" if value == "false" => {}
            "replication" => return Err(Error::unsupported("replication")),
            "options" => startup.settings.extend(options(&value)?),
            name if name.starts_with("_pq_.") => startup.unknown.push(name.to_owned()),
            name => startup.settings.push((name.to_ascii_lowercase(), value)),
        }
    }
    fields.end()?;
    if startup.user.is_empty() {
        let message = "no PostgreSQL user name specified in startup packet";
        return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    Ok(startup)
}

/// `-c name=value` and `--name=value`; a backslash keeps a blank.
fn options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            ' ' if !escaped => words.push(String::new()),
            c => {
                words.last_mut().into_iter().for_each(|word| word.push(c));
                escaped = false;
            }
        }
    }
    let mut settings = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c") {
            Some("") => words.next().unwrap_or_default(),
            Some(rest) => rest.to_owned(),
            None => word.strip_prefix("--").unwrap_or_default().to_owned(),
        };
        let Some((name, value)) = setting.split_once('=') else {
            let message = format!("invalid command-line argument for server process: {word}");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        settings.push((name.replace('-', "_").to_ascii_lowercase(), value.to_owned()));
    }
    Ok(settings)
}

/// Leads a newcomer to a session.
pub(crate) async fn admit(shared: &Arc<Shared>, newcomer: Newcomer) {
    let all = begin(shared, newcomer);
    if let Ok(Some((newcomer, session, secret))) = tokio::time::timeout(PATIENCE, all).await {
        shared.seat(newcomer, session, secret);
    }
}

/// The session of a newcomer that is let in, and the secret of its cancels.
async fn begin(shared: &Shared, newcomer: Newcomer) -> Option<(Newcomer, Session, i32)> {
    let (mut newcomer, startup) = greet(shared, newcomer).await?;
    match welcome(shared, &mut newcomer, &startup).await {
        Ok((session, secret)) => Some((newcomer, session, secret)),
        Err(error) => {
            newcomer.refuse(&error).await;
            None
        }
    }
}

/// Reads messages up to the startup message.
async fn greet(shared: &Shared, mut newcomer: Newcomer) -> Option<(Newcomer, Startup)> {
    // TLS and GSS are asked for once each.
    for _ in 0..3 {
        let mut length = [0; 4];
        newcomer.read(&mut length).await.ok()?;
        let length = u32::from_be_bytes(length) as usize;
        let opened = if (8..=STARTUP_BYTES_MAX).contains(&length) {
            let mut body = vec![0; length - 4];
            newcomer.read(&mut body).await.ok()?;
            opening(&body)
        } else {
            Err(violation("invalid length of startup packet"))
        };
        match opened {
            Ok(Opening::Startup(startup)) => return Some((newcomer, startup)),
            Ok(Opening::Cancel(session, secret)) => {
                shared.activities.cancel(session, secret);
                return None;
            }
            Ok(Opening::Tls) => newcomer = secure(shared.tls.as_ref(), newcomer).await?,
            Ok(Opening::Gss) => newcomer.write(b"N").await.ok()?,
            Err(error) => {
                newcomer.refuse(&error).await;
                return None;
            }
        }
    }
    None
}

/// Answers SSLRequest.
async fn secure(tls: Option<&TlsAcceptor>, mut newcomer: Newcomer) -> Option<Newcomer> {
    match (tls, newcomer) {
        (Some(tls), Newcomer::Tcp(mut stream)) => {
            stream.write_all(b"S").await.ok()?;
            let stream = tls.accept(stream).await.ok()?;
            Some(Newcomer::Tls(Box::new(stream)))
        }
        (_, other) => {
            newcomer = other;
            newcomer.write(b"N").await.ok()?;
            Some(newcomer)
        }
    }
}

async fn welcome(
    shared: &Shared,
    newcomer: &mut Newcomer,
    startup: &Startup,
) -> Result<(Session, i32)> {
    if startup.minor > 0 || !startup.unknown.is_empty() {
        let mut out = Vec::new();
        message::message(&mut out, b'v', |out| {
            out.extend_from_slice(&(3_u32 << 16).to_be_bytes());
            out.extend_from_slice(&(startup.unknown.len() as u32).to_be_bytes());
            startup.unknown.iter().for_each(|name| message::push_text(out, name));
        });
        newcomer.write(&out).await.map_err(|error| gone(&error))?;
    }
    shared.authenticate(newcomer, &startup.user).await?;
    let mut session = shared.session(&startup.user, &startup.database)?;
    for (name, value) in &startup.settings {
        session.configure(name, value)?;
    }
    session.keep_settings();
    let secret = crate::random::secret()?;
    let mut out = Vec::new();
    message::message(&mut out, b'R', |out| out.extend_from_slice(&[0; 4]));
    message::message(&mut out, b'K', |out| {
        out.extend_from_slice(&session.id().to_be_bytes());
        out.extend_from_slice(&secret.to_be_bytes());
    });
    newcomer.write(&out).await.map_err(|error| gone(&error))?;
    Ok((session, secret))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_in_options() {
        let read = options("-c geqo=off -cdatestyle=iso --search-path=a\\ b").expect("options");
        let expected = [("geqo", "off"), ("datestyle", "iso"), ("search_path", "a b")];
        let expected: Vec<_> = expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        assert_eq!(read, expected);
        assert!(options("-x").is_err());
    }

    proptest! {
        #[test]
        fn no_first_bytes_panic(
            version in prop_oneof![
                Just(3_u32 << 16), Just(SSL_REQUEST), Just(CANCEL_REQUEST), any::<u32>()
            ],
            rest in proptest::collection::vec(prop_oneof![Just(0), Just(b'-'), any::<u8>()], 0..64),
        ) {
            let body = [&version.to_be_bytes()[..], &rest].concat();
            let _ = opening(&body);
            let _ = opening(&rest);
        }
    }
}
