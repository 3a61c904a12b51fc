//! Statements about schemas; names are case-folded.

use super::{DropBehaviour, IfExists, IfMissing, ObjectKind, RelationName, RoleName};

/// CREATE, ALTER and DROP SCHEMA, and relations that move to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaStatement {
    /// CREATE SCHEMA.
    Create {
        /// Its name; None is that of its owner.
        name: Option<String>,
        /// AUTHORIZATION; None is who asks.
        owner: Option<RoleName>,
        /// IF NOT EXISTS.
        if_exists: IfExists,
    },
    /// DROP SCHEMA.
    Drop {
        /// The schemas.
        names: Vec<String>,
        /// IF EXISTS.
        if_missing: IfMissing,
        /// Treatment of the objects in them.
        behaviour: DropBehaviour,
    },
    /// ALTER SCHEMA ... RENAME TO.
    Rename {
        /// Its name.
        name: String,
        /// The new one.
        to: String,
    },
    /// ALTER TABLE, VIEW or SEQUENCE ... SET SCHEMA.
    Move {
        /// Kind of the relation.
        kind: ObjectKind,
        /// Its name.
        name: RelationName,
        /// Choice when it does not exist.
        if_missing: IfMissing,
        /// The schema it moves to.
        to: String,
    },
}

impl SchemaStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE SCHEMA",
            Self::Drop { .. } => "DROP SCHEMA",
            Self::Rename { .. } => "ALTER SCHEMA",
            Self::Move { kind: ObjectKind::View, .. } => "ALTER VIEW",
            Self::Move { kind: ObjectKind::MaterializedView, .. } => "ALTER MATERIALIZED VIEW",
            Self::Move { kind: ObjectKind::Sequence, .. } => "ALTER SEQUENCE",
            Self::Move { .. } => "ALTER TABLE",
        }
    }
}
