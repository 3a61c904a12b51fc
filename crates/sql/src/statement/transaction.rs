//! Statements about transactions, table locks and prepared statements.

use types::DataType;

use super::{ConstraintMode, LockWait, RelationName, TableLockMode};
use crate::algebra::Query;
use crate::catalog::TableRef;
use crate::parse::ParsedStatement;

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct LockTable {
    /// The tables.
    pub tables: Vec<TableRef>,
    /// IN ... MODE.
    pub mode: TableLockMode,
    /// NOWAIT or not.
    pub wait: LockWait,
}

/// SET CONSTRAINTS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetConstraints {
    /// The constraints; None for ALL.
    pub names: Option<Vec<RelationName>>,
    /// Mode from now on until the end of the transaction.
    pub mode: ConstraintMode,
}

/// PREPARE.
#[derive(Clone, Debug)]
pub struct Prepare {
    /// Its name.
    pub name: String,
    /// All its parameters' types: those given, the others inferred.
    pub parameters: Vec<DataType>,
    /// The statement, bound once, so it is valid now.
    pub statement: ParsedStatement,
}

/// EXECUTE.
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// The prepared statement.
    pub name: String,
    /// One row: the arguments, of the parameters' types. None when there are no arguments.
    pub arguments: Option<Box<Query>>,
}

/// CREATE TABLE AS EXECUTE.
#[derive(Clone, Debug)]
pub struct CreateExecuted {
    /// The text before EXECUTE.
    pub head: String,
    /// EXECUTE that gives the rows.
    pub execute: Execute,
    /// The text behind it.
    pub tail: String,
}
