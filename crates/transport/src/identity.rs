//! Databases that processes are of: a number drawn when a database is new, which each of its
//! processes keeps, so that a node never takes the process of another one for its own.
//!
//! ```text
//! manager: draws it, keeps it        node: asks the manager, names it to whom it connects
//! store: none yet -> takes the first that a node names -> refuses all others, for ever
//! ```
//! A store that earlier builds made has none, and takes that of the node that comes first.
//! Elsewhere: when it is looked at (`tcp::handshake`).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Io, read_file, replace_file};
use parking_lot::Mutex;
use types::{Error, Result, SqlState};

/// Bytes of a number.
const BYTES: usize = 16;

/// File in the directory of a store.
const FILE_NAME: &str = "database";

/// Number of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseId(pub u128);

/// Intention of a client that names its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The server becomes one of the database if it is of none.
    Takes,
    /// The server stays as it is.
    Looks,
}

/// A database as a client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The database.
    pub id: DatabaseId,
    /// Fate of a server without one.
    pub claim: Claim,
}

impl Claimed {
    /// The claim as bytes.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = self.id.0.to_le_bytes().to_vec();
        bytes.push(u8::from(self.claim == Claim::Looks));
        bytes
    }

    /// The claim that `bytes` are, if they are one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (id, claim) = bytes.split_first_chunk::<BYTES>()?;
        let claim = match claim {
            [0] => Claim::Takes,
            [1] => Claim::Looks,
            _ => return None,
        };
        Some(Self { id: DatabaseId(u128::from_le_bytes(*id)), claim })
    }
}

/// Place of a store's number.
struct Place {
    io: Arc<dyn Io>,
    path: PathBuf,
}

/// The database that a server is of.
pub struct OwnDatabase {
    place: Option<Place>,
    id: Mutex<Option<DatabaseId>>,
}

impl fmt::Debug for OwnDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnDatabase").field(&*self.id.lock()).finish()
    }
}

impl OwnDatabase {
    /// A server of this database.
    pub fn known(id: DatabaseId) -> Self {
        Self { place: None, id: Mutex::new(Some(id)) }
    }

    /// The store in `directory`, which is there.
    ///
    /// # Errors
    /// Errors of the disk; XX001 for a damaged file.
    pub fn in_directory(io: &Arc<dyn Io>, directory: &Path) -> Result<Self> {
        let path = directory.join(FILE_NAME);
        let mut id = None;
        if io.list(directory)?.iter().any(|name| name == FILE_NAME) {
            let bytes = read_file(&**io, &path)?;
            let bytes: [u8; BYTES] = bytes.as_slice().try_into().map_err(|_| {
                let message = format!("\"{}\" is damaged: expected {BYTES} bytes", path.display());
                Error::new(SqlState::DATA_CORRUPTED, message)
            })?;
            id = Some(DatabaseId(u128::from_le_bytes(bytes)));
        }
        Ok(Self { place: Some(Place { io: Arc::clone(io), path }), id: Mutex::new(id) })
    }

    /// Hears of the database of a client.
    ///
    /// # Errors
    /// `PermissionDenied` when it is another one; errors of the disk.
    pub(crate) fn admit(&self, claimed: Claimed) -> io::Result<()> {
        let mut id = self.id.lock();
        match *id {
            Some(own) if own == claimed.id => {}
            Some(_) => {
                let reason = "the process is one of another database";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
            None if claimed.claim == Claim::Looks => {}
            None => {
                if let Some(Place { io, path }) = &self.place {
                    replace_file(&**io, path, &claimed.id.0.to_le_bytes())
                        .map_err(|error| io::Error::other(error.to_string()))?;
                }
                *id = Some(claimed.id);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use host::{SimIo, Tear};

    use super::*;

    const ONE: DatabaseId = DatabaseId(u128::MAX - 7);
    const OTHER: DatabaseId = DatabaseId(8);

    fn claimed(id: DatabaseId, claim: Claim) -> Claimed {
        Claimed { id, claim }
    }

    #[test]
    fn a_store_is_of_the_database_that_takes_it_first() {
        let disk = SimIo::new(1, Tear::Bytes);
        let io: Arc<dyn Io> = Arc::new(disk.clone());
        let directory = Path::new("/store");
        io.create_directory(directory).expect("a directory");
        let open = || OwnDatabase::in_directory(&io, directory).expect("opens");
        let own = open();
        own.admit(claimed(OTHER, Claim::Looks)).expect("it is of none");
        own.admit(claimed(ONE, Claim::Takes)).expect("it is of none");
        for own in [own, open()] {
            for claim in [Claim::Takes, Claim::Looks] {
                own.admit(claimed(ONE, claim)).expect("its own");
                let error = own.admit(claimed(OTHER, claim)).expect_err("another one");
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            }
        }
        disk.crash();
        assert!(open().admit(claimed(OTHER, Claim::Takes)).is_err());
        replace_file(&*io, &directory.join(FILE_NAME), b"short").expect("written");
        let damaged = OwnDatabase::in_directory(&io, directory).expect_err("5 bytes");
        assert_eq!(damaged.state(), SqlState::DATA_CORRUPTED);
    }

    #[test]
    fn claims_come_back() {
        for claim in [Claim::Takes, Claim::Looks] {
            let bytes = claimed(ONE, claim).bytes();
            assert_eq!(Claimed::read(&bytes), Some(claimed(ONE, claim)));
            for end in 0..bytes.len() {
                assert_eq!(Claimed::read(&bytes[..end]), None);
            }
        }
        assert_eq!(Claimed::read(&[2; BYTES + 1]), None);
    }
}
