//! `cargo xtask slt --shared STORES`: SQL tests on shared tables, with real processes.
//!
//! ```text
//! file -> manager, stores and a node of its own -> sessions through the node's socket
//! ```
//! `tests/shared.txt` names the files that hold there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use testkit::postgres::Wire;
use testkit::slt::{Backend, Connection, Database, SqlError};

use crate::cluster::{Cluster, Sizes, built};
use crate::root;

/// Databases of shared tables, each of processes of its own.
pub(super) struct Shared {
    program: PathBuf,
    stores: usize,
    /// Directories of the databases.
    home: PathBuf,
    made: AtomicU64,
}

impl Shared {
    /// Databases with so many stores, whose processes run `program`, or what cargo built last.
    pub(super) fn new(program: Option<&Path>, stores: usize) -> Self {
        let program = program.map_or_else(built, Path::to_owned);
        let home = std::env::temp_dir().join(format!("tessera-shared-{}", std::process::id()));
        Self { program, stores, home, made: AtomicU64::new(0) }
    }

    /// The files that hold there.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(super) fn files() -> Result<Vec<PathBuf>, String> {
        let list = root().join("tests/shared.txt");
        let text = fs::read_to_string(&list);
        let text = text.map_err(|error| format!("{}: {error}", list.display()))?;
        let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let names = names.filter(|line| !line.starts_with('#'));
        Ok(names.map(|name| root().join("tests/slt").join(name)).collect())
    }
}

impl Backend for Shared {
    fn name(&self) -> &str {
        "tessera"
    }

    fn create(&self) -> Result<Box<dyn Database>, SqlError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let home = self.home.join(number.to_string());
        let sizes = Sizes { stores: self.stores, nodes: 1 };
        let cluster = Cluster::start(&self.program, home, sizes).map_err(SqlError::internal)?;
        Ok(Box::new(OneDatabase(cluster)))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.home));
    }
}

struct OneDatabase(Cluster);

impl Database for OneDatabase {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        Ok(Box::new(Wire::connect(&self.0.socket(0), "tessera", "tessera")?))
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        // Shared tables have no locks that anybody waits for.
        Ok(Vec::new())
    }
}
