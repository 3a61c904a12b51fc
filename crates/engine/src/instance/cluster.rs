//! The databases of one server: a catalog and a log each, with one memory, one set of workers.
//!
//! ```text
//! directory            the first database, as if it were alone
//! directory/databases/LIST       which others there are: replaced as a whole
//! directory/databases/7/         one of them, as the first is in the server's directory
//! ```
//! Invariants: a folder that the list does not name is no database, and is emptied when the server
//! starts; a new database gets a number that no folder has. Sessions begin under the lock of the
//! list, so that who holds it and sees none of a database may drop it.
//! Elsewhere: how they are opened, and the statements (`run::databases`).

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use catalog::codec::{decode_databases, encode_databases};
use catalog::databases::{DatabaseDef, FIRST_NAME, OTHER_NAMES};
use parking_lot::{Mutex, MutexGuard};
use types::{Error, Result, SqlState};

use crate::instance::database::{Database, WeakDatabase};
use crate::{Config, Files};

/// The folder of all databases but the first.
pub(crate) const FOLDER_NAME: &str = "databases";
const LIST_NAME: &str = "LIST";

/// Prepares a database: registers functions and formats.
pub(crate) type Setup = Arc<dyn Fn(&Database) + Send + Sync>;

/// Files of a server.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) files: Files,
}

/// A database of the list; the first is held by whoever opened it.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) def: DatabaseDef,
    pub(crate) database: Option<Database>,
}

/// The databases of a server.
pub(crate) struct Cluster {
    /// None in memory.
    pub(crate) place: Option<Place>,
    pub(crate) config: Config,
    first: WeakDatabase,
    members: Mutex<Vec<Member>>,
    setups: Mutex<Vec<Setup>>,
}

/// The way from a database to the others: the first keeps them.
#[derive(Clone)]
pub(crate) enum ToCluster {
    Keeps(Arc<Cluster>),
    Knows(Weak<Cluster>),
}

impl ToCluster {
    pub(crate) fn get(&self) -> Option<Arc<Cluster>> {
        match self {
            Self::Keeps(cluster) => Some(Arc::clone(cluster)),
            Self::Knows(cluster) => cluster.upgrade(),
        }
    }
}

impl Cluster {
    /// The databases beside `first`, which is the only one so far.
    pub(crate) fn new(first: &Database, config: Config, place: Option<Place>) -> Arc<Self> {
        let member = Member { def: DatabaseDef::new(0, FIRST_NAME), database: None };
        Arc::new(Self {
            place,
            config,
            first: first.downgrade(),
            members: Mutex::new(vec![member]),
            setups: Mutex::default(),
        })
    }

    /// All of them; nobody begins or drops one meanwhile.
    pub(crate) fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock()
    }

    /// The databases that there are.
    pub(crate) fn all(&self) -> Vec<(DatabaseDef, Database)> {
        let members = self.members().clone();
        members.into_iter().filter_map(|m| Some((m.def.clone(), self.opened(&m)?))).collect()
    }

    /// The database of a member; None when the server ends.
    pub(crate) fn opened(&self, member: &Member) -> Option<Database> {
        match &member.database {
            Some(database) => Some(database.clone()),
            None => self.first.upgrade().ok(),
        }
    }

    /// Keeps a way to prepare databases that come.
    pub(crate) fn add_setup(&self, setup: Setup) {
        self.setups.lock().push(setup);
    }

    /// Prepares a database.
    pub(crate) fn set_up(&self, database: &Database) {
        let setups = self.setups.lock().clone();
        setups.iter().for_each(|setup| setup(database));
    }

    /// The folder of a database; None in memory.
    pub(crate) fn folder(&self, id: u64) -> Option<PathBuf> {
        Some(self.place.as_ref()?.path.join(FOLDER_NAME).join(id.to_string()))
    }

    /// A number that no database and no folder has.
    pub(crate) fn next_id(&self, members: &[Member]) -> Result<u64> {
        let mut last = members.iter().map(|member| member.def.id).max().unwrap_or(0);
        if let Some(place) = &self.place {
            let names = place.files.io.list(&place.path.join(FOLDER_NAME)).unwrap_or_default();
            last = names.iter().filter_map(|name| name.parse().ok()).fold(last, u64::max);
        }
        Ok(last + 1)
    }

    /// Makes the list durable.
    ///
    /// # Errors
    /// 58030, 53100: the old list counts.
    pub(crate) fn save(&self, members: &[Member]) -> Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        let defs: Vec<DatabaseDef> = members.iter().map(|member| member.def.clone()).collect();
        let mut bytes = Vec::new();
        encode_databases(&defs, &mut bytes);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let folder = place.path.join(FOLDER_NAME);
        place.files.io.create_directory(&folder)?;
        place.files.io.sync_directory(&place.path)?;
        host::replace_file(&*place.files.io, &folder.join(LIST_NAME), &bytes)
    }

    /// The list as it was saved; None when there never was one.
    ///
    /// # Errors
    /// XX001 for a damaged one.
    pub(crate) fn saved(&self) -> Result<Option<Vec<DatabaseDef>>> {
        let Some(place) = &self.place else { return Ok(None) };
        let io = &*place.files.io;
        let folder = place.path.join(FOLDER_NAME);
        let is_there = io.list(&place.path)?.iter().any(|name| name == FOLDER_NAME);
        if !is_there || !io.list(&folder)?.iter().any(|name| name == LIST_NAME) {
            return Ok(None);
        }
        let path = folder.join(LIST_NAME);
        let bytes = host::read_file(io, &path)?;
        let damaged = || {
            let message = format!("\"{}\" is damaged: its checksum is wrong", path.display());
            Error::new(SqlState::DATA_CORRUPTED, message)
        };
        let (bytes, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if checksum(bytes) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        decode_databases(bytes).map(Some)
    }

    /// Removes the files of a database that the list does not have; what cannot be removed harms
    /// nobody.
    pub(crate) fn remove_folder(&self, id: u64) {
        let (Some(place), Some(folder)) = (&self.place, self.folder(id)) else { return };
        let io = &*place.files.io;
        for name in io.list(&folder).unwrap_or_default() {
            let inner = folder.join(name);
            for name in io.list(&inner).unwrap_or_default() {
                let _ = io.remove(&inner.join(name));
            }
            let _ = io.remove(&inner);
        }
        let _ = io.remove(&folder);
    }

    /// Removes the folders of databases that were made or dropped half.
    pub(crate) fn sweep(&self, members: &[Member]) {
        let Some(place) = &self.place else { return };
        let names = place.files.io.list(&place.path.join(FOLDER_NAME)).unwrap_or_default();
        let ids = names.iter().filter_map(|name| name.parse::<u64>().ok());
        let is_known = |id: &u64| members.iter().any(|member| member.def.id == *id);
        ids.filter(|id| !is_known(id)).for_each(|id| self.remove_folder(id));
    }
}

/// The member called `name`; the first has several names.
pub(crate) fn position(members: &[Member], name: &str) -> Option<usize> {
    let found = members.iter().position(|member| member.def.name == name);
    found.or_else(|| OTHER_NAMES.contains(&name).then_some(0))
}

/// 3D000.
pub(crate) fn undefined_database(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_DATABASE, format!("database \"{name}\" does not exist"))
}

/// Checksum of a list: FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
