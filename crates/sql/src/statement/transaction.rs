//! Statements about transactions, table locks and prepared statements.

use types::DataType;

use super::{LockWait, RelationName};
use crate::algebra::Query;
use crate::catalog::TableRef;
use crate::parse::ParsedStatement;

/// Isolation level asked for by BEGIN or SET TRANSACTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED: as READ COMMITTED, by its own name.
    ReadUncommitted,
    /// READ COMMITTED: one snapshot per statement.
    ReadCommitted,
    /// REPEATABLE READ and SNAPSHOT: one snapshot per transaction.
    Snapshot,
    /// SERIALIZABLE.
    Serializable,
}

/// READ WRITE or READ ONLY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// READ WRITE
    ReadWrite,
    /// READ ONLY
    ReadOnly,
}

/// DEFERRABLE or NOT DEFERRABLE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deferral {
    /// NOT DEFERRABLE
    #[default]
    No,
    /// DEFERRABLE
    Yes,
}

/// Modes of a transaction; None is the session's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY or READ WRITE.
    pub access: Option<AccessMode>,
    /// DEFERRABLE or NOT DEFERRABLE; without effect, as readers never wait for a snapshot.
    pub deferral: Option<Deferral>,
}

/// AND CHAIN or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// The session is outside a transaction afterwards.
    No,
    /// A transaction with the same modes begins.
    Yes,
}

/// Modes of LOCK TABLE, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLockMode {
    /// ACCESS SHARE
    AccessShare,
    /// ROW SHARE
    RowShare,
    /// ROW EXCLUSIVE
    RowExclusive,
    /// SHARE UPDATE EXCLUSIVE
    ShareUpdateExclusive,
    /// SHARE
    Share,
    /// SHARE ROW EXCLUSIVE
    ShareRowExclusive,
    /// EXCLUSIVE
    Exclusive,
    /// ACCESS EXCLUSIVE, the default
    AccessExclusive,
}

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
    /// From now on until the end of the transaction.
    pub mode: ConstraintMode,
}

/// When deferrable constraints are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintMode {
    /// After each statement.
    Immediate,
    /// When the transaction commits.
    Deferred,
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
    /// What gives the rows.
    pub execute: Execute,
    /// The text behind it.
    pub tail: String,
}

/// DISCARD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// ALL
    All,
    /// PLANS
    Plans,
    /// SEQUENCES
    Sequences,
    /// TEMPORARY
    Temporary,
}
