//! Statements about databases; names are case-folded.

use super::{IfMissing, RoleName};

/// Options of CREATE and ALTER DATABASE; None leaves or takes the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// OWNER.
    pub owner: Option<RoleName>,
    /// TEMPLATE.
    pub template: Option<String>,
    /// CONNECTION LIMIT; -1 is none.
    pub connections_max: Option<i32>,
    /// ALLOW_CONNECTIONS.
    pub allows_connections: Option<bool>,
    /// IS_TEMPLATE.
    pub is_template: Option<bool>,
    /// ENCODING.
    pub encoding: Option<String>,
    /// LOCALE, LC_COLLATE, LC_CTYPE.
    pub locales: Vec<String>,
    /// An option that there is none of here.
    pub unsupported: Option<String>,
}

/// Sessions that use a database to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InUse {
    /// 55006.
    Refuse,
    /// WITH (FORCE): they end.
    End,
}

/// CREATE, ALTER and DROP DATABASE; ALTER DATABASE ... OWNER TO is among the rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseStatement {
    /// CREATE DATABASE.
    Create {
        /// Its name.
        name: String,
        /// Its options.
        options: DatabaseOptions,
    },
    /// DROP DATABASE.
    Drop {
        /// Its name.
        name: String,
        /// IF EXISTS.
        if_missing: IfMissing,
        /// WITH (FORCE).
        in_use: InUse,
    },
    /// ALTER DATABASE ... RENAME TO.
    Rename {
        /// Its name.
        name: String,
        /// The new one.
        to: String,
    },
    /// ALTER DATABASE ... with options.
    Alter {
        /// Its name.
        name: String,
        /// Options that change.
        options: DatabaseOptions,
    },
    /// ALTER DATABASE ... SET and RESET.
    Set {
        /// Its name.
        name: String,
        /// The setting; None for RESET ALL.
        setting: Option<String>,
        /// Its value; None resets it.
        value: Option<String>,
    },
}

impl DatabaseStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE DATABASE",
            Self::Drop { .. } => "DROP DATABASE",
            Self::Rename { .. } | Self::Alter { .. } | Self::Set { .. } => "ALTER DATABASE",
        }
    }
}
