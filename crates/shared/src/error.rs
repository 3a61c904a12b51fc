//! Why a transaction on shared data did not do what it should.

use std::fmt;

use store::StoreError;
use types::{Error, SqlState};

/// The result of a call.
pub type Result<T, E = SharedError> = std::result::Result<T, E>;

/// Why a call failed. Only [`Self::Conflict`] is worth another attempt with a new snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedError {
    /// Another transaction wrote a row that this one writes; the first one wins.
    Conflict,
    /// A row with the same key is there in a unique index.
    UniqueViolation,
    /// The key has no row.
    NoRow,
    /// The key has a row already.
    RowExists,
    /// The transaction only reads.
    ReadOnly,
    /// The transaction changes more rows than an undo record names.
    TooManyChanges,
    /// This node was declared dead, or cannot reach the commit manager: it does nothing any more.
    Stopped,
    /// A store or the manager says so.
    Store(StoreError),
    /// Bytes of a record are none that this program wrote.
    Corrupt(String),
    /// Others changed the tree a thousand times in the way of one call.
    Contended,
    /// The commit manager knows no store, not this one, or no other one.
    NoStores,
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => write!(f, "could not serialize access due to concurrent update"),
            Self::UniqueViolation => write!(f, "duplicate key value violates unique constraint"),
            Self::NoRow => write!(f, "the key has no row"),
            Self::RowExists => write!(f, "the key has a row already"),
            Self::ReadOnly => write!(f, "cannot write in a read-only transaction"),
            Self::TooManyChanges => write!(f, "the transaction changes too many rows"),
            Self::Stopped => write!(f, "the node has left the database and has to start again"),
            Self::Store(error) => error.fmt(f),
            Self::Corrupt(what) => write!(f, "a record is damaged: {what}"),
            Self::Contended => write!(f, "too many others changed the index at once"),
            Self::NoStores => write!(f, "the commit manager knows no such store, or no other one"),
        }
    }
}

impl std::error::Error for SharedError {}

impl From<StoreError> for SharedError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotInSnapshot | StoreError::InvalidSnapshot => Self::Conflict,
            StoreError::Fenced => Self::Stopped,
            error => Self::Store(error),
        }
    }
}

impl From<SharedError> for Error {
    fn from(error: SharedError) -> Self {
        let state = match &error {
            SharedError::Conflict | SharedError::Contended => SqlState::SERIALIZATION_FAILURE,
            SharedError::UniqueViolation | SharedError::RowExists => SqlState::UNIQUE_VIOLATION,
            SharedError::NoRow => SqlState::INTERNAL_ERROR,
            SharedError::NoStores => SqlState::INVALID_PARAMETER,
            SharedError::ReadOnly => SqlState::READ_ONLY_SQL_TRANSACTION,
            SharedError::TooManyChanges => SqlState::LIMIT_EXCEEDED,
            SharedError::Stopped => SqlState::ADMIN_SHUTDOWN,
            SharedError::Corrupt(_) => SqlState::DATA_CORRUPTED,
            SharedError::Store(inner) => return Error::from(inner.clone()),
        };
        Error::new(state, error.to_string())
    }
}
