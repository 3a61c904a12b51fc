//! Needs of a bus in tables: statements with parameters, whose transactions are
//! statements, too; rows; a bell that is rung when others commit.

use std::fmt::Debug;
use std::sync::Arc;

use super::queues::damaged;
use crate::semantics::{Bell, Body, Result};

/// Where tables of a bus are: a database that links lead to.
pub trait Place: Debug + Send + Sync {
    /// A way to it.
    type Link: Link;
    /// A way on which it tells of changes.
    type Wakes: Wakes;

    /// A new link that sees the relations of `schema` first, and is in no transaction.
    ///
    /// # Errors
    /// [`crate::BusError::Network`] when the place is not reached, [`crate::BusError::Storage`] for
    /// what the database says.
    fn connect(&self, schema: &str) -> Result<Self::Link>;

    /// Has `bell` rung after each commit of a transaction with `NOTIFY channel`, until the value is
    /// dropped.
    ///
    /// # Errors
    /// See [`Self::connect`].
    fn listen(&self, channel: &str, bell: &Arc<Bell>) -> Result<Self::Wakes>;
}

/// The way on which a place tells of changes.
pub trait Wakes: Debug + Send {
    /// True while the bell is rung. Called before each look of a receive that waits.
    fn are_heard(&mut self) -> bool;
}

/// A session of a database with PostgreSQL's SQL. Transactions are its statements BEGIN, COMMIT
/// and ROLLBACK; without them each call is a transaction.
///
/// # Errors
/// All calls: [`crate::BusError::Network`] when it is not known whether the statement happened,
/// because the way broke; else [`crate::BusError::Storage`] with the database's state, 55006 for a
/// lock that was not had in time (its 55P03).
pub trait Link: Debug + Send {
    /// Runs statements without parameters, one after the other; returns whether the last cell of
    /// the last row is TRUE, which it is not without a row.
    ///
    /// # Errors
    /// See [`Link`].
    fn run(&mut self, statements: &str) -> Result<bool>;

    /// Runs a statement with values of its parameters `$1`... and calls `each` with its rows, in
    /// order. A link may keep what it prepared for a text.
    ///
    /// # Errors
    /// See [`Link`]; the first error of `each`.
    fn each_row(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
        each: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()>;

    /// True when it is of no use any more: the transaction that it had was or will be taken back.
    fn is_broken(&self) -> bool;
}

/// The value of a parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    /// BIGINT.
    Number(i64),
    /// INTEGER.
    Small(i32),
    /// BYTEA or NULL.
    Bytes(Option<&'a [u8]>),
    /// BIGINT\[\].
    Numbers(&'a [i64]),
    /// INTEGER\[\].
    Smalls(&'a [i32]),
    /// BYTEA\[\], with NULLs.
    ManyBytes(&'a [Option<&'a [u8]>]),
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Truth(bool),
    /// BIGINT and INTEGER.
    Number(i64),
    /// BYTEA.
    Bytes(Body),
}

/// A row of a statement, columns from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub Vec<Cell>);

impl Row {
    /// A number.
    ///
    /// # Errors
    /// XX001 for something else, as all below.
    pub(super) fn number(&self, column: usize) -> Result<i64> {
        match self.0.get(column) {
            Some(Cell::Number(number)) => Ok(*number),
            _ => Err(damaged("something in the place of a number")),
        }
    }

    /// A number without a sign, of 64 bits.
    pub(super) fn id(&self, column: usize) -> Result<u64> {
        Ok(self.number(column)?.cast_unsigned())
    }

    /// A boolean.
    pub(super) fn truth(&self, column: usize) -> Result<bool> {
        match self.0.get(column) {
            Some(Cell::Truth(truth)) => Ok(*truth),
            _ => Err(damaged("something in the place of a boolean")),
        }
    }

    /// Bytes, or NULL.
    pub(super) fn bytes(&self, column: usize) -> Result<Option<&Body>> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            Some(Cell::Bytes(bytes)) => Ok(Some(bytes)),
            _ => Err(damaged("something in the place of bytes")),
        }
    }
}
