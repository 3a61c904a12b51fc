//! SQLSTATEs that only the binder gives.

use types::SqlState;

/// A GENERATED ALWAYS column was given a value.
pub(super) const GENERATED_ALWAYS: SqlState = SqlState(*b"428C9");
/// The columns that a foreign key refers to are no key.
pub(super) const INVALID_FOREIGN_KEY: SqlState = SqlState(*b"42830");
/// An object of this name exists.
pub(super) const DUPLICATE_OBJECT: SqlState = SqlState(*b"42710");
/// There is no such prepared statement.
pub(super) const INVALID_STATEMENT_NAME: SqlState = SqlState(*b"26000");
/// An object is not in the state that this needs.
pub(super) const OBJECT_STATE: SqlState = SqlState(*b"55000");
/// An expression of a definition is not what it has to be.
pub(super) const INVALID_OBJECT: SqlState = SqlState(*b"42P17");
/// A column is not what is asked of it: by COPY.
pub(super) const INVALID_COLUMN_REFERENCE: SqlState = SqlState(*b"42P10");
/// A statement of definitions names a parameter.
pub(super) const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");
/// A column cannot be defined so.
pub(super) const INVALID_COLUMN: SqlState = SqlState(*b"42611");
