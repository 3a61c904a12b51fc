//! Common parts of the benches of files: databases on the disk of the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Config, Database};
use storage::Layout;
use workloads::LoadProgress;
use workloads::tpcc::{self, Scale};

use crate::{Outcome, peers_home, text};

/// A directory for a database, removed with its owner.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A directory that does not exist yet, with `name` in its name.
    ///
    /// # Errors
    /// When the directory around it cannot be made.
    pub fn new(name: &str) -> Result<Self, String> {
        fs::create_dir_all(peers_home()).map_err(text)?;
        Ok(Self(peers_home().join(format!("{name}-{}", std::process::id()))))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what remains is in the target directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Bytes of the files below `path`.
///
/// # Errors
/// When a directory cannot be read.
pub fn bytes_below(path: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    for entry in fs::read_dir(path).map_err(text)? {
        let entry = entry.map_err(text)?;
        let metadata = entry.metadata().map_err(text)?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Opens the database in `folder` with row stores.
///
/// # Errors
/// Errors of the database.
pub fn open(folder: &Path, threads: usize) -> types::Result<Database> {
    Database::open(folder, Config { threads, layout: Layout::Row, ..Config::default() })
}

/// Loads a population of TPC-C with its secondary indexes.
///
/// # Errors
/// Errors of the database.
pub fn load_tpcc(database: &Database, scale: &Scale) -> types::Result<()> {
    let mut session = database.session();
    let silent: LoadProgress = Arc::new(|_, _, _| {});
    tpcc::load(database, scale, tpcc::SEED, &session.cancel_handle(), &silent)?;
    let point = tpcc::tessera::point_indexes();
    let indexes = tpcc::create_indexes().into_iter().chain(point);
    indexes.into_iter().try_for_each(|sql| session.execute(&sql).map(drop))
}

/// Fails unless the twelve conditions hold and indexes agree with tables.
///
/// # Errors
/// Conditions that are broken.
pub fn audit_tpcc(database: &Database, scale: &Scale) -> Outcome {
    let mut session = database.session();
    let integer = |sql: &str| {
        let rows = session.execute(sql).map_err(text)?.text_rows();
        let cell = rows.first().and_then(|row| row.first().cloned().flatten());
        cell.and_then(|cell| cell.parse().ok()).ok_or(format!("{sql} gives no number"))
    };
    if let Some(broken) = tpcc::violations(scale, integer)?.first() {
        return Err(broken.to_string());
    }
    database.check_indexes().problems.first().map_or(Ok(()), |problem| Err(problem.clone()))
}
