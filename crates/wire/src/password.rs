//! Passwords: what is kept of a user's, and whether one that was sent as it is fits.
//!
//! Called by `authenticate`, and by servers of other protocols over the same database.

use engine::Database;
use types::Result;

use crate::scram::{Verifier, wrong_password};

/// Verifier of the password that lets `user` in now, if one does.
pub(crate) fn verifier_of(database: &Database, user: &str) -> Option<Verifier> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    let role = database
        .role(user)
        .filter(|role| role.can_login && role.valid_until.is_none_or(|until| now < until));
    role.and_then(|role| role.password).as_deref().and_then(Verifier::parse)
}

/// Lets `user` in by a password that the client sent as it is. It takes as long for users that
/// there are as for others: some milliseconds.
///
/// # Errors
/// 28P01 for a wrong password or an unknown user.
pub fn check_password(database: &Database, user: &str, password: &str) -> Result<()> {
    let known = verifier_of(database, user);
    let is_known = known.is_some();
    let verifier = known.unwrap_or_else(|| Verifier::of_nobody(user, &[0; 32]));
    if verifier.is_of(password) && is_known { Ok(()) } else { Err(wrong_password(user)) }
}
