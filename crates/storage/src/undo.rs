//! What a transaction changed, so that readers find older versions and the change can be undone.

use std::sync::Arc;

use crate::datum::{Datum, RowBuffer};
use crate::table::Table;
use crate::tid::Tid;
use crate::version::{Timestamp, TxnId};

/// The changes of one transaction, in order. Append only by its owner; readers reach its records
/// from the rows.
#[derive(Debug)]
pub struct UndoBuffer {
    txn: TxnId,
}

/// A place between two changes of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndoMark(usize);

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Insert,
    /// It is gone.
    Delete,
    /// Some columns have other values.
    Update,
    /// A whole block of rows is new (a bulk load): the TID is that of its first row.
    Block,
    /// It was locked, not changed.
    Lock,
    /// An insert that was undone: the row never existed.
    Void,
}

/// One change.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table.
    pub table: &'a Arc<Table>,
    /// The row.
    pub tid: Tid,
    /// What happened.
    pub kind: ChangeKind,
    /// Where the row went on, for a Delete that is half of a move.
    pub moved_to: Option<Tid>,
    columns: &'a [u16],
}

impl<'a> Change<'a> {
    /// The changed columns of an Update, each once.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = usize> + 'a {
        self.columns.iter().map(|&c| usize::from(c))
    }

    /// The value of `column` before this change.
    pub fn before<'b>(&self, _column: usize, _buffer: &'b mut RowBuffer) -> Datum<'b> {
        todo!()
    }

    /// The value of `column` now, with all changes of the transaction.
    pub fn after<'b>(&self, _column: usize, _buffer: &'b mut RowBuffer) -> Datum<'b> {
        todo!()
    }
}

impl UndoBuffer {
    /// No changes yet; `txn` stamps them.
    pub fn new(txn: TxnId) -> Self {
        Self { txn }
    }

    /// The transaction.
    pub fn txn(&self) -> TxnId {
        self.txn
    }

    /// True when nothing was written.
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Records.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        todo!()
    }

    /// The place after the newest change.
    pub fn mark(&self) -> UndoMark {
        todo!()
    }

    /// Undoes all changes after `mark`: values are as before, index entries of undone keys gone.
    pub fn rollback_to(&mut self, _mark: UndoMark) {
        todo!()
    }

    /// Gives all changes their timestamp, at commit or after a roll-back of everything: for
    /// snapshots at or above it they are there. The caller publishes the timestamp afterwards.
    pub fn stamp(&mut self, _at: Timestamp) {
        todo!()
    }

    /// The changes in order of writing, undone ones left out.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.changes_since(UndoMark(0))
    }

    /// The changes after `mark`.
    pub fn changes_since(&self, _mark: UndoMark) -> impl Iterator<Item = Change<'_>> {
        [].into_iter()
    }

    /// Unlinks the records from their rows and gives their memory back once no reader is on them.
    /// To be called when every active snapshot is at or above the timestamp they were stamped with.
    pub fn collect(self) {
        todo!()
    }
}
