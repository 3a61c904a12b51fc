//! Sessions of users that were let in: which database, whose limits, with which settings.
//!
//! Called by `shared`, and by servers of other protocols over the same database.

use std::time::Duration;

use engine::{Database, Session};
use types::{Error, Result, SqlState};

/// Limits that sessions begin with, unless the user or the database says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionLimits {
    /// How long a statement may run.
    pub statement: Option<Duration>,
    /// How long a client may be silent.
    pub idle: Option<Duration>,
}

/// A session for `user` of the database `name`; without a name, or with the user's own, of the
/// first database where none is called so.
///
/// # Errors
/// 3D000 for an unknown database, 28000 for a role that does not log in, 53300 for one that has as
/// many sessions as it may, 42501 where it may not connect.
pub fn session_for(
    database: &Database,
    user: &str,
    name: &str,
    limits: SessionLimits,
) -> Result<Session> {
    let mut session = match database.connect(if name.is_empty() { user } else { name }) {
        Err(error)
            if error.state() == SqlState::UNDEFINED_DATABASE
                && (name.is_empty() || name == user) =>
        {
            database.session()
        }
        session => session?,
    };
    let role = database.role(user);
    if role.as_ref().is_some_and(|role| !role.can_login) {
        let message = format!("role \"{user}\" is not permitted to log in");
        return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    if let Some(role) = role.as_ref().filter(|role| !role.is_superuser)
        && let Some(most) = role.connections_max
        && database.session_count(user) as i64 >= most
    {
        let message = format!("too many connections for role \"{user}\"");
        return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message));
    }
    session.set_user(user);
    session.check_connect()?;
    // What clients of PostgreSQL expect; no statement of theirs fails for being late.
    session.configure("default_transaction_isolation", "read committed")?;
    for (name, limit) in
        [("statement_timeout", limits.statement), ("idle_session_timeout", limits.idle)]
    {
        if let Some(limit) = limit {
            session.configure(name, &limit.as_millis().to_string())?;
        }
    }
    let of_database = session.database().own_settings();
    for (name, value) in of_database.iter().chain(role.iter().flat_map(|r| &r.settings)) {
        // Checked when it was said; what no longer is one hinders nobody.
        let _ = session.configure(name, value);
    }
    Ok(session)
}
