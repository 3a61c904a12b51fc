//! On whose behalf something is done, and the refusal of what is not allowed.

use std::sync::Arc;

use types::{Error, SqlState};

/// On whose behalf something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The library, or a user who was let in unasked: everything is allowed.
    All,
    /// A role.
    Role(Arc<str>),
}

/// 42501.
pub(crate) fn denied(message: impl Into<String>) -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}
