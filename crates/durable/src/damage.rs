//! Files whose checksums are right and whose contents are not.

use types::{Error, SqlState};

/// XX001 for what the files say and cannot be.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("the database is damaged: {what}"))
}
