//! CREATE and ALTER DOMAIN.

use types::DataType;

use super::{IfMissing, Nullability, RelationName};
use crate::catalog::{CheckDef, Domain};

/// Content of a domain that is made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDomain {
    /// The type below all domains.
    pub ty: DataType,
    /// The domain that it is made of.
    pub over: Option<Domain>,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
    /// NULLs that it allows, whatever the one that it is made of does.
    pub nulls: Nullability,
    /// Conditions.
    pub checks: Vec<CheckDef>,
}

/// A statement about a domain.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainStatement {
    /// CREATE DOMAIN.
    Create {
        /// Its name.
        name: RelationName,
        /// Its content.
        content: NewDomain,
    },
    /// ALTER DOMAIN.
    Alter {
        /// The domain.
        name: RelationName,
        /// The change.
        change: DomainChange,
    },
}

/// Change of a domain.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainChange {
    /// SET DEFAULT, DROP DEFAULT.
    Default(Option<String>),
    /// SET NOT NULL, DROP NOT NULL.
    Nulls(Nullability),
    /// ADD CHECK.
    AddCheck(CheckDef),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// Its name.
        name: String,
        /// IF EXISTS.
        if_missing: IfMissing,
    },
    /// VALIDATE CONSTRAINT.
    Validate(String),
    /// RENAME CONSTRAINT.
    RenameConstraint {
        /// Its name.
        from: String,
        /// Its new name.
        to: String,
    },
}

impl DomainStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE DOMAIN",
            Self::Alter { .. } => "ALTER DOMAIN",
        }
    }
}
