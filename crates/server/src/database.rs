//! Opens the database that a command works on, with everything registered that Tessera ships.
//!
//! Called by the shell, by scripts and by the server.

use std::path::Path;

use engine::{Config, Database};
use types::Result;

use crate::arguments::{Limits, Shared};
use crate::node;

/// The path that means a database in memory, as for SQLite and DuckDB.
const IN_MEMORY: &str = ":memory:";

/// As [`open`]; a node of shared data, where they are given.
pub(crate) fn open_node(path: Option<&Path>, limits: &Limits, shared: &Shared) -> Result<Database> {
    let database = open(path, limits)?;
    if let Some(manager) = shared.manager {
        let (stores, token_file) = (&shared.stores, shared.token_file.as_deref());
        node::attach(&database, node::Place { manager, stores, token_file })?;
    }
    Ok(database)
}

/// A database with formats and workloads registered: that in `path`, or one in memory.
pub(crate) fn open(path: Option<&Path>, limits: &Limits) -> Result<Database> {
    let config = config_of(limits);
    let database = match path.filter(|path| *path != Path::new(IN_MEMORY)) {
        Some(path) => Database::open(path, config)?,
        None => Database::open_in_memory(config)?,
    };
    database.for_each_database(|database| {
        formats::register(database);
        workloads::register(database);
        wire::register(database);
    });
    Ok(database)
}

/// The configuration of a database within `limits`.
pub(crate) fn config_of(limits: &Limits) -> Config {
    let mut config = Config::default();
    if let Some(threads) = limits.threads {
        config.threads = threads.into();
    }
    if let Some(memory) = limits.memory {
        config.memory_bytes = memory;
    }
    config
}
