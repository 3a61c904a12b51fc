//! CREATE, ALTER and DROP COLLATION; names are case-folded.

use types::{CollationProvider, TextEquality};

use super::{DropBehaviour, IfExists, IfMissing, RelationName, RoleName};

/// CREATE, ALTER and DROP COLLATION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollationStatement {
    /// CREATE COLLATION.
    Create {
        /// Its name.
        name: RelationName,
        /// IF NOT EXISTS.
        if_exists: IfExists,
        /// Its order.
        content: CollationContent,
    },
    /// DROP COLLATION.
    Drop {
        /// The collations.
        names: Vec<RelationName>,
        /// IF EXISTS.
        if_missing: IfMissing,
        /// Treatment of what uses them.
        behaviour: DropBehaviour,
    },
    /// ALTER COLLATION.
    Alter {
        /// Its name.
        name: RelationName,
        /// The change.
        action: CollationAction,
    },
}

/// Content of a collation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollationContent {
    /// `provider`.
    pub provider: CollationProvider,
    /// `locale` of ICU.
    pub locale: Option<String>,
    /// `lc_collate` and `lc_ctype` of the C library.
    pub libc: Option<(String, String)>,
    /// `deterministic`.
    pub equality: TextEquality,
    /// `version`.
    pub version: Option<String>,
    /// True when it is for every encoding.
    pub is_of_any_encoding: bool,
}

/// A change of a collation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollationAction {
    /// RENAME TO.
    Rename(String),
    /// SET SCHEMA.
    Move(String),
    /// OWNER TO.
    Own(RoleName),
    /// REFRESH VERSION.
    Refresh,
}

impl CollationStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE COLLATION",
            Self::Drop { .. } => "DROP COLLATION",
            Self::Alter { .. } => "ALTER COLLATION",
        }
    }
}
