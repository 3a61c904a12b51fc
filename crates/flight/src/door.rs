//! The door: passwords, the tokens that stand for them, and sessions of those who are in.
//!
//! ```text
//! Handshake or any call: authorization: Basic user:password -> checked, some milliseconds
//! Handshake answers      authorization: Bearer TOKEN        -> looked up
//! any call               database: NAME                     -> else that of the user's name
//! ```
//! A token ends with the password that it stands for, or when it was not used for a day.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use engine::Database;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tonic::metadata::MetadataMap;
use types::{Error, Result, SqlState};
use wire::Authentication;

use crate::options::FlightOptions;
use crate::seat::{Seat, SharedSeat};
use crate::shelf::new_handle;

/// How long a token may be unused.
const TOKEN_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// Tokens that there may be; the one that was unused for longest makes room.
const TOKENS_MAX: usize = 10_000;

/// A client that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) user: String,
    /// Database; nothing for the one that is called as the user.
    database: String,
}

struct Token {
    user: String,
    /// Stored form of the user's password.
    verifier: Option<String>,
    used: Instant,
}

/// The door of one server.
pub(crate) struct Door {
    database: Database,
    options: FlightOptions,
    tokens: Mutex<HashMap<String, Token>>,
    places: Arc<Semaphore>,
}

/// A user and a password of `authorization: Basic`.
struct Basic {
    user: String,
    password: String,
}

fn refused(message: &str) -> Error {
    Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
}

fn header<'m>(metadata: &'m MetadataMap, name: &str) -> Option<&'m str> {
    metadata.get(name).and_then(|value| value.to_str().ok())
}

/// Credentials that `authorization` has after `scheme`, in whatever case that is written.
fn credentials<'m>(metadata: &'m MetadataMap, scheme: &str) -> Option<&'m str> {
    let (given, rest) = header(metadata, "authorization")?.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

fn basic_of(metadata: &MetadataMap) -> Result<Option<Basic>> {
    let Some(encoded) = credentials(metadata, "basic") else { return Ok(None) };
    // Some clients leave the padding out.
    let decoded = STANDARD_NO_PAD
        .decode(encoded.trim_end_matches('='))
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
    let (user, password) = pair.ok_or_else(|| refused("malformed authorization header"))?;
    Ok(Some(Basic { user: user.to_owned(), password: password.to_owned() }))
}

impl Door {
    /// The door to `database`.
    pub(crate) fn new(database: Database, options: FlightOptions) -> Self {
        let places = Arc::new(Semaphore::new(options.sessions_max));
        Self { database, options, tokens: Mutex::default(), places }
    }

    /// Options of the server.
    pub(crate) fn options(&self) -> &FlightOptions {
        &self.options
    }

    fn verifier(&self, user: &str) -> Option<String> {
        self.database.role(user).and_then(|role| role.password)
    }

    /// The user whose token this is.
    fn user_of(&self, token: &str) -> Option<String> {
        let mut tokens = self.tokens.lock();
        let now = Instant::now();
        let known = tokens.get_mut(token)?;
        let is_same = known.verifier.is_some() && known.verifier == self.verifier(&known.user);
        if !is_same || now.duration_since(known.used) > TOKEN_PATIENCE {
            tokens.remove(token);
            return None;
        }
        known.used = now;
        Some(known.user.clone())
    }

    /// The client of a call.
    ///
    /// # Errors
    /// 28P01 for a wrong password or an unknown user, 28000 without credentials, or with a token
    /// that has ended.
    pub(crate) async fn admit(self: &Arc<Self>, metadata: &MetadataMap) -> Result<Caller> {
        let database = header(metadata, "database").unwrap_or_default().to_owned();
        let basic = basic_of(metadata)?;
        if self.options.authentication == Authentication::Trust {
            let user = basic.map(|basic| basic.user).filter(|user| !user.is_empty());
            let user = user.unwrap_or_else(|| self.options.user.clone());
            return Ok(Caller { user, database });
        }
        if let Some(token) = credentials(metadata, "bearer") {
            let user = self.user_of(token).ok_or_else(|| {
                refused("the token is not valid, or no longer")
                    .with_hint("Authenticate again by user and password.")
            })?;
            return Ok(Caller { user, database });
        }
        let Some(Basic { user, password }) = basic else {
            return Err(refused("a user and a password are needed").with_hint(
                "Send \"authorization: Basic ...\", with a Handshake or with each call.",
            ));
        };
        let (door, name) = (Arc::clone(self), user.clone());
        let checked = tokio::task::spawn_blocking(move || {
            wire::check_password(&door.database, &name, &password)
        });
        checked.await.map_err(|_| Error::internal("a password was not checked"))??;
        Ok(Caller { user, database })
    }

    /// A token for a client that was let in.
    ///
    /// # Errors
    /// XX000 when the system has no random numbers.
    pub(crate) fn token_for(&self, caller: &Caller) -> Result<String> {
        let token = URL_SAFE_NO_PAD.encode([new_handle()?, new_handle()?].concat());
        let (user, used) = (caller.user.clone(), Instant::now());
        let verifier = self.verifier(&user);
        let mut tokens = self.tokens.lock();
        if tokens.len() >= TOKENS_MAX {
            let oldest = tokens.iter().min_by_key(|(_, token)| token.used);
            let oldest = oldest.map(|(token, _)| token.clone());
            oldest.into_iter().for_each(|oldest| drop(tokens.remove(&oldest)));
        }
        tokens.insert(token.clone(), Token { user, verifier, used });
        Ok(token)
    }

    /// A session for `caller`.
    ///
    /// # Errors
    /// 53300 when there are as many as may be; errors of [`wire::session_for`].
    pub(crate) fn seat(&self, caller: &Caller) -> Result<SharedSeat> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
        })?;
        let Caller { user, database } = caller;
        let session = wire::session_for(&self.database, user, database, self.options.limits)?;
        Ok(Arc::new(tokio::sync::Mutex::new(Seat::new(session, place))))
    }
}
