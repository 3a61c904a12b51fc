//! Role that a statement runs as, and the refusal of what is not allowed.

use std::sync::Arc;

use types::{Error, SqlState};

/// Role that a statement runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The library, or a user who was let in unasked: everything is allowed.
    All,
    /// A role.
    Role(Arc<str>),
}

/// 42501.
pub fn denied(message: impl Into<String>) -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}
