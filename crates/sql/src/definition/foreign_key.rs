//! Foreign keys: what they refer to, and what follows when it goes. Read by the binder, kept and
//! obeyed by `engine`.

use super::{Deferral, Validity};
use crate::words::RelationName;

/// Action on referring rows when a referenced key goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    /// NO ACTION: 23503 at the end of the statement.
    #[default]
    NoAction,
    /// RESTRICT: 23503 at once.
    Restrict,
    /// CASCADE: they go or change too.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT.
    SetDefault,
}

/// Which keys with NULLs refer to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyMatch {
    /// MATCH SIMPLE: all keys with a NULL.
    #[default]
    Simple,
    /// MATCH FULL: keys of nothing but NULLs; those with some are refused.
    Full,
}

impl KeyMatch {
    /// End of the foreign key's definition, behind the columns that it refers to.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Simple => "",
            Self::Full => " MATCH FULL",
        }
    }
}

/// Keys that nobody looks after, since DISABLE TRIGGER ALL on the table whose rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Untested {
    /// All is tested.
    #[default]
    Nothing,
    /// New keys of referring rows.
    NewKeys,
    /// Keys of referenced rows that are gone; no action follows.
    GoneKeys,
    /// Both.
    Everything,
}

impl Untested {
    /// True when new keys are not looked for.
    pub fn has_new_keys(self) -> bool {
        matches!(self, Self::NewKeys | Self::Everything)
    }

    /// True when nothing follows where referenced keys go.
    pub fn has_gone_keys(self) -> bool {
        matches!(self, Self::GoneKeys | Self::Everything)
    }

    /// As `self`, with new keys, or gone ones, tested or not as `other` has them.
    pub fn taking(self, part: Self, other: Self) -> Self {
        let new = if part.has_new_keys() { other } else { self };
        let gone = if part.has_gone_keys() { other } else { self };
        match (new.has_new_keys(), gone.has_gone_keys()) {
            (false, false) => Self::Nothing,
            (true, false) => Self::NewKeys,
            (false, true) => Self::GoneKeys,
            (true, true) => Self::Everything,
        }
    }
}

/// FOREIGN KEY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// Constraint name.
    pub name: String,
    /// Ordinals of the referring columns.
    pub columns: Vec<usize>,
    /// The referenced table, which may be the referring one, as the catalog calls it
    /// ([`RelationName::key`]).
    pub table: RelationName,
    /// Ordinals there, by position in `columns`; together they are a key of that table.
    pub references: Vec<usize>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
    /// When new keys are looked for, and keys that are gone unless an action follows.
    pub deferral: Deferral,
    /// State of the constraint: tested on all rows, or only on new ones.
    pub validity: Validity,
    /// Which keys with NULLs refer to nothing.
    pub matching: KeyMatch,
    /// Keys that are not looked after for now.
    pub untested: Untested,
}
