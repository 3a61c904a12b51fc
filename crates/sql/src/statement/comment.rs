//! COMMENT ON.

use super::{RelationName, TypeKind};

/// COMMENT ON: what a comment says of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Object of the comment.
    pub on: CommentTarget,
    /// The comment; None takes it away.
    pub text: Option<String>,
}

/// Objects that can have a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    /// A table, view, index or sequence.
    Relation {
        /// "table", "view", "materialized view", "index" or "sequence".
        kind: &'static str,
        /// Its name.
        name: RelationName,
    },
    /// A column of a table or view.
    Column {
        /// The table or view.
        relation: RelationName,
        /// The column.
        column: String,
    },
    /// A constraint of a table.
    Constraint {
        /// The table.
        table: RelationName,
        /// Its name.
        name: String,
    },
    /// A schema.
    Schema(String),
    /// A database.
    Database(String),
    /// A role.
    Role(String),
    /// A trigger of a table or view, which goes by its key.
    Trigger {
        /// The table or view.
        table: String,
        /// The trigger.
        name: String,
    },
    /// A function or procedure, by its key.
    Routine(String),
    /// An extension.
    Extension(String),
    /// A collation that users made.
    Collation(RelationName),
    /// A large object, by its number.
    LargeObject(u32),
    /// A type that users made.
    Type {
        /// As which kind the statement names it.
        kind: TypeKind,
        /// The type.
        name: RelationName,
    },
}
