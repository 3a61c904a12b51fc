//! Extensions that are built in, and statements about them; names are case-folded.

use super::{DropBehaviour, IfExists, IfMissing};

/// An extension that CREATE EXTENSION knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionInfo {
    /// Its name.
    pub name: &'static str,
    /// The version that there is.
    pub version: &'static str,
    /// Description of what it has.
    pub comment: &'static str,
}

const fn info(name: &'static str, version: &'static str, comment: &'static str) -> ExtensionInfo {
    ExtensionInfo { name, version, comment }
}

/// The extensions, by name: those of PostgreSQL 15 and pgvector, with their versions and words.
pub const EXTENSIONS: [ExtensionInfo; 12] = [
    info("bloom", "1.0", "bloom access method - signature file based index"),
    info("btree_gin", "1.3", "support for indexing common datatypes in GIN"),
    info("btree_gist", "1.7", "support for indexing common datatypes in GiST"),
    info("citext", "1.6", "data type for case-insensitive character strings"),
    info("fuzzystrmatch", "1.1", "determine similarities and distance between strings"),
    info("hstore", "1.8", "data type for storing sets of (key, value) pairs"),
    info("pg_trgm", "1.6", "text similarity measurement and index searching based on trigrams"),
    info("pgcrypto", "1.3", "cryptographic functions"),
    info("plpgsql", "1.0", "PL/pgSQL procedural language"),
    info("unaccent", "1.1", "text search dictionary that removes accents"),
    info("uuid-ossp", "1.1", "generate universally unique identifiers (UUIDs)"),
    info("vector", "0.8.6", "vector data type and ivfflat and hnsw access methods"),
];

/// The one that every database has from the start.
pub const ALWAYS_THERE: &str = "plpgsql";

impl ExtensionInfo {
    /// The extension called `name`.
    pub fn named(name: &str) -> Option<Self> {
        EXTENSIONS.iter().find(|known| known.name == name).copied()
    }
}

/// CREATE, ALTER and DROP EXTENSION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionStatement {
    /// CREATE EXTENSION.
    Create {
        /// Its name.
        name: String,
        /// SCHEMA; None is the first of the search path.
        schema: Option<String>,
        /// VERSION.
        version: Option<String>,
        /// IF NOT EXISTS.
        if_exists: IfExists,
    },
    /// DROP EXTENSION.
    Drop {
        /// The extensions.
        names: Vec<String>,
        /// IF EXISTS.
        if_missing: IfMissing,
        /// Treatment of what calls their functions.
        behaviour: DropBehaviour,
    },
    /// ALTER EXTENSION ... SET SCHEMA.
    Move {
        /// Its name.
        name: String,
        /// The schema it moves to.
        to: String,
    },
    /// ALTER EXTENSION ... UPDATE.
    Update {
        /// Its name.
        name: String,
        /// TO; None is the newest version.
        to: Option<String>,
    },
}

impl ExtensionStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE EXTENSION",
            Self::Drop { .. } => "DROP EXTENSION",
            Self::Move { .. } | Self::Update { .. } => "ALTER EXTENSION",
        }
    }
}
