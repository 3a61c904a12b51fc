//! The databases of a server: what the list of them says of each.

use std::sync::Arc;

/// The name of the first database, which is in the server's own directory.
pub const FIRST_NAME: &str = "tessera";

/// Names that PostgreSQL's clients begin with: they reach the first database, too.
pub const OTHER_NAMES: [&str; 3] = ["postgres", "template0", "template1"];

/// Name of the database that a catalog is of; no record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseName(pub Arc<str>);

impl Default for DatabaseName {
    fn default() -> Self {
        Self(FIRST_NAME.into())
    }
}

/// Description of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseDef {
    /// Its number, which its folder is called by; 0 for the first.
    pub id: u64,
    /// Name, unique in the server.
    pub name: String,
    /// CONNECTION LIMIT; -1 is none.
    pub connections_max: i32,
    /// False when nobody may begin a session in it.
    pub allows_connections: bool,
    /// True when everybody may copy it.
    pub is_template: bool,
    /// Settings that a session begins with.
    pub settings: Vec<(String, String)>,
}

impl DatabaseDef {
    /// A database without limits.
    pub fn new(id: u64, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            connections_max: -1,
            allows_connections: true,
            is_template: false,
            settings: Vec::new(),
        }
    }

    /// Its number in the catalog.
    pub fn number(&self) -> i64 {
        match self.id {
            0 => 5,
            // Below those of what users make.
            id => i64::try_from(16_000 + id).unwrap_or(i64::MAX),
        }
    }
}
