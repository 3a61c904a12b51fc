//! Damage of files: where, and what should have been there.

use std::fmt;
use std::path::PathBuf;

use types::{Error, SqlState};

/// A place in a file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Offset of the first byte in doubt.
    pub offset: u64,
    /// Description of the bytes that should be there, and of those that are.
    pub expectation: String,
}

impl Finding {
    /// Damage at `offset` of the file `path`.
    pub fn new(path: impl Into<PathBuf>, offset: u64, expectation: impl Into<String>) -> Self {
        Self { path: path.into(), offset, expectation: expectation.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, expectation } = self;
        write!(f, "\"{}\" is damaged at byte {offset}: expected {expectation}", path.display())
    }
}

/// XX001.
impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        Error::new(SqlState::DATA_CORRUPTED, finding.to_string())
            .with_hint("Restore the file from a backup; nothing was changed.")
    }
}

/// Why a file could not be used: a check of all files lists the first kind.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The file is damaged.
    Damage(Finding),
    /// Anything else that the system says.
    Other(Error),
}

impl From<Finding> for Failure {
    fn from(finding: Finding) -> Self {
        Self::Damage(finding)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Damage(finding) => finding.into(),
            Failure::Other(error) => error,
        }
    }
}
