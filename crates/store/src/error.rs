//! Why a call of the store did nothing.

use std::fmt;

use types::{Error, SqlState};

/// The result of a call.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a call did nothing: after any of them but [`Self::Unreachable`] the table is as it was
/// before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The key has no version in the snapshot, and none outside of it; or is deleted there, and
    /// nobody wrote it since.
    NotFound,
    /// The key's newest version is not in the snapshot: whoever writes meets a conflict.
    NotInSnapshot,
    /// The write does not fit the key's state: an insert of what is there, an update or a removal
    /// of what is not.
    InvalidWrite,
    /// The memory limit is reached.
    OutOfMemory,
    /// As many queries wait as the store lets wait.
    Overloaded,
    /// The query does not fit the table's schema; the text says where.
    InvalidScan(String),
    /// No such table, a name that is taken, or a schema that cannot be.
    InvalidTable(String),
    /// The snapshot is older than what the store keeps, or writes without a version of its own.
    InvalidSnapshot,
    /// The row does not fit the table's schema, or is larger than a page holds.
    InvalidTuple(String),
    /// The store does not answer, or its connection broke: whether a write happened is not known.
    Unreachable(String),
    /// The caller's node was declared dead: nothing of it is taken any more.
    Fenced,
    /// The store's disk has no room for the write.
    DiskFull,
    /// The store does not let the caller in, or the caller does not trust the store.
    Refused(String),
    /// Another store has the key, or is about to have it: nothing happened.
    Moved,
    /// Another node moves keys by now, or the store has started again meanwhile: nothing happened.
    Overtaken,
}

/// The kind of outcome of a call, as a number for protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// The call happened.
    Ok = 0,
    /// [`StoreError::NotFound`].
    NotFound = 1,
    /// [`StoreError::NotInSnapshot`].
    NotInSnapshot = 2,
    /// [`StoreError::InvalidWrite`].
    InvalidWrite = 3,
    /// [`StoreError::OutOfMemory`].
    OutOfMemory = 4,
    /// [`StoreError::Overloaded`].
    Overloaded = 5,
    /// [`StoreError::InvalidScan`].
    InvalidScan = 6,
    /// [`StoreError::InvalidTable`].
    InvalidTable = 7,
    /// [`StoreError::InvalidSnapshot`].
    InvalidSnapshot = 8,
    /// [`StoreError::InvalidTuple`].
    InvalidTuple = 9,
    /// [`StoreError::Unreachable`].
    Unreachable = 10,
    /// [`StoreError::Fenced`].
    Fenced = 11,
    /// [`StoreError::DiskFull`].
    DiskFull = 12,
    /// [`StoreError::Refused`].
    Refused = 13,
    /// [`StoreError::Moved`].
    Moved = 14,
    /// [`StoreError::Overtaken`].
    Overtaken = 15,
}

impl Status {
    /// The kind of outcome that `outcome` is.
    pub fn of<T>(outcome: &Result<T>) -> Self {
        outcome.as_ref().err().map_or(Self::Ok, StoreError::status)
    }
}

impl StoreError {
    /// Its kind.
    pub fn status(&self) -> Status {
        match self {
            Self::NotFound => Status::NotFound,
            Self::NotInSnapshot => Status::NotInSnapshot,
            Self::InvalidWrite => Status::InvalidWrite,
            Self::OutOfMemory => Status::OutOfMemory,
            Self::Overloaded => Status::Overloaded,
            Self::InvalidScan(_) => Status::InvalidScan,
            Self::InvalidTable(_) => Status::InvalidTable,
            Self::InvalidSnapshot => Status::InvalidSnapshot,
            Self::InvalidTuple(_) => Status::InvalidTuple,
            Self::Unreachable(_) => Status::Unreachable,
            Self::Fenced => Status::Fenced,
            Self::DiskFull => Status::DiskFull,
            Self::Refused(_) => Status::Refused,
            Self::Moved => Status::Moved,
            Self::Overtaken => Status::Overtaken,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => write!(f, "no such key in the snapshot"),
            Self::NotInSnapshot => write!(f, "another transaction wrote the key"),
            Self::InvalidWrite => write!(f, "the write does not fit the key's state"),
            Self::OutOfMemory => write!(f, "the store's memory limit is reached"),
            Self::Overloaded => write!(f, "too many queries wait for the store"),
            Self::InvalidScan(reason) => write!(f, "the query does not fit the table: {reason}"),
            Self::InvalidTable(reason) => write!(f, "the table cannot be used: {reason}"),
            Self::InvalidSnapshot => write!(f, "the snapshot does not allow the call"),
            Self::InvalidTuple(reason) => write!(f, "the row does not fit the table: {reason}"),
            Self::Unreachable(reason) => write!(f, "the store does not answer: {reason}"),
            Self::Fenced => write!(f, "the node was declared dead and has to start again"),
            Self::DiskFull => write!(f, "the store's disk is full"),
            Self::Refused(reason) => write!(f, "the connection was refused: {reason}"),
            Self::Moved => write!(f, "the key is in another store"),
            Self::Overtaken => write!(f, "another node moves keys of the store"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let state = match &error {
            StoreError::NotInSnapshot | StoreError::InvalidSnapshot => {
                SqlState::SERIALIZATION_FAILURE
            }
            StoreError::OutOfMemory => SqlState::OUT_OF_MEMORY,
            StoreError::Overloaded => SqlState::TOO_MANY_CONNECTIONS,
            StoreError::InvalidTable(_) => SqlState::UNDEFINED_TABLE,
            StoreError::InvalidTuple(_) => SqlState::DATATYPE_MISMATCH,
            StoreError::Unreachable(_) | StoreError::Moved | StoreError::Overtaken => {
                SqlState::CONNECTION_FAILURE
            }
            StoreError::Fenced => SqlState::ADMIN_SHUTDOWN,
            StoreError::DiskFull => SqlState::DISK_FULL,
            StoreError::Refused(_) => SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            StoreError::NotFound | StoreError::InvalidWrite | StoreError::InvalidScan(_) => {
                SqlState::INTERNAL_ERROR
            }
        };
        Error::new(state, error.to_string())
    }
}
