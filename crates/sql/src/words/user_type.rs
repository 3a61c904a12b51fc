//! Statements about types that users make; names are case-folded.

use super::{DropBehaviour, IfExists, IfMissing, RelationName};

/// Kinds of types that users make, as statements name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// TYPE: any of them.
    Type,
    /// DOMAIN: a domain alone.
    Domain,
}

impl TypeKind {
    /// Its word in SQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::Type => "TYPE",
            Self::Domain => "DOMAIN",
        }
    }
}

/// Place of a label that is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewLabel {
    /// Behind all others.
    Last,
    /// BEFORE the label of this name.
    Before(String),
    /// AFTER the label of this name.
    After(String),
}

/// CREATE, ALTER and DROP TYPE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeStatement {
    /// CREATE TYPE ... AS ENUM.
    CreateEnum {
        /// Its name.
        name: RelationName,
        /// Its labels in their order.
        labels: Vec<String>,
    },
    /// ALTER TYPE ... ADD VALUE.
    AddLabel {
        /// The type.
        name: RelationName,
        /// The new label.
        label: String,
        /// Place of it.
        place: NewLabel,
        /// IF NOT EXISTS.
        if_exists: IfExists,
    },
    /// ALTER TYPE ... RENAME VALUE.
    RenameLabel {
        /// The type.
        name: RelationName,
        /// The label.
        from: String,
        /// Its new name.
        to: String,
    },
    /// ALTER TYPE ... RENAME TO.
    Rename {
        /// As which kind the statement names it.
        kind: TypeKind,
        /// The type.
        name: RelationName,
        /// Its new name.
        to: String,
    },
    /// ALTER TYPE ... SET SCHEMA.
    Move {
        /// As which kind the statement names it.
        kind: TypeKind,
        /// The type.
        name: RelationName,
        /// The schema that it moves to.
        to: String,
    },
    /// DROP TYPE, DROP DOMAIN.
    Drop {
        /// As which kind the statement names them.
        kind: TypeKind,
        /// The types.
        names: Vec<RelationName>,
        /// IF EXISTS.
        if_missing: IfMissing,
        /// Treatment of what needs them.
        behaviour: DropBehaviour,
    },
    /// 0A000 for what is named.
    Unsupported(&'static str),
}

impl TypeStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        match self {
            Self::CreateEnum { .. } | Self::Unsupported(_) => "CREATE TYPE",
            Self::AddLabel { .. } | Self::RenameLabel { .. } => "ALTER TYPE",
            Self::Rename { kind, .. } | Self::Move { kind, .. } => match kind {
                TypeKind::Type => "ALTER TYPE",
                TypeKind::Domain => "ALTER DOMAIN",
            },
            Self::Drop { kind: TypeKind::Type, .. } => "DROP TYPE",
            Self::Drop { kind: TypeKind::Domain, .. } => "DROP DOMAIN",
        }
    }

    /// The names of types that have to be there.
    pub(crate) fn known_names(&mut self) -> Vec<&mut RelationName> {
        match self {
            Self::CreateEnum { .. } | Self::Unsupported(_) => Vec::new(),
            Self::AddLabel { name, .. }
            | Self::RenameLabel { name, .. }
            | Self::Rename { name, .. }
            | Self::Move { name, .. } => vec![name],
            Self::Drop { names, .. } => names.iter_mut().collect(),
        }
    }
}
