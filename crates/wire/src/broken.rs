//! Why a connection ends before its client says so.
//!
//! Made where a socket is read or written (`link`) and where a server ends (`activity`).

use types::{Error, SqlState};

/// Why the connection ends.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The client is gone.
    Gone,
    /// The client is told.
    Fatal(Error),
    /// The client lacks a character of an answer: the statement ends, and the connection goes on.
    Statement(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

impl Broken {
    /// The error that a statement ends with.
    pub(crate) fn to_error(&self) -> Error {
        match self {
            Self::Gone => Error::new(SqlState::CONNECTION_FAILURE, "connection to client lost"),
            Self::Fatal(error) | Self::Statement(error) => error.clone(),
        }
    }
}
