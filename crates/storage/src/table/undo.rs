//! Changes of a transaction: readers find older versions by them, and rollback undoes them.
//!
//! ```text
//! UndoBuffer | arena: stamp, records | records in order | places: table, block, counts |
//! running --stamp(ts)--> committed --collect--> unlinked --last reader gone--> memory free
//!    '--rollback_to(0), stamp(ts)--> undone --collect--> ...
//! ```
//! Invariants: appended to by its owner alone; a record stays linked to its row until `collect`;
//! memory that rows may lead to is never freed but by `collect`: a buffer dropped before undoes its
//! changes if it was running, and leaves its records.
//! Elsewhere: how readers use records (`row`), index entries (`table::entries`).

mod collect;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use types::{Error, Result, SqlState};

use super::{BlockRef, Table};
use crate::block::{Block, NEVER, Pinned};
use crate::datum::{Datum, RowBuffer};
use crate::record::{Arena, Image, Kind, Record, RecordRef};
use crate::row::{latch, publish};
use crate::sharers::{Holder, LockStrength};
use crate::tid::Tid;
use crate::version::{StatementNumber, Timestamp, TxnId, is_running};

/// The changes of one transaction, in order. Append only by its owner; readers reach its records
/// from the rows.
#[derive(Debug)]
pub struct UndoBuffer {
    txn: TxnId,
    statement: StatementNumber,
    arena: Arena,
    records: Vec<NonNull<Record>>,
    places: Vec<Place>,
    /// True when rows are, or were, shared.
    shares: bool,
    ended: bool,
}

// SAFETY: the records belong to the arena, which is sent along, and are shared by atomics only.
unsafe impl Send for UndoBuffer {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for UndoBuffer {}

/// A block that the transaction wrote, with its table.
#[derive(Debug)]
struct Place {
    table: Arc<Table>,
    /// In memory until the versions are collected: what is undone, logged and collected needs it.
    block: Pinned<Arc<Block>>,
    /// Rows inserted less rows deleted.
    rows: i64,
    changes: u64,
}

/// Records for which memory is taken with the first.
const RECORDS_FIRST: usize = 32;

/// Places looked through for the one of the next record.
const PLACES_SEARCHED: usize = 8;

/// A place between two changes of one transaction; the default is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndoMark(usize);

/// Kind of a change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The row is new.
    Insert,
    /// The row is gone.
    Delete,
    /// Some columns have other values.
    Update,
    /// A whole block of rows is new: the TID is that of its first row.
    Block,
    /// A whole block is new, for rows that were elsewhere: the TID is that of its first row.
    Target,
    /// The rows of a block are in a Target of the same transaction.
    Source,
    /// The row was locked, not changed.
    Lock,
    /// The change was undone, whatever it was.
    Void,
}

/// One change.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table.
    pub table: &'a Arc<Table>,
    /// The row.
    pub tid: Tid,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Where the row went on, for a Delete that is half of a move.
    pub moved_to: Option<Tid>,
    block: &'a Pinned<Arc<Block>>,
    record: RecordRef<'a>,
}

impl<'a> Change<'a> {
    /// The changed columns of an Update, each once; none for other kinds.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = usize> + 'a {
        self.record.images().iter().map(|image| usize::from(image.column))
    }

    /// The rows that go to another block, where they were, for a Source.
    pub fn source_rows(&self) -> Vec<Tid> {
        let id = self.block.id();
        let map = self.block.moves_to();
        let rows = map.iter().flat_map(|map| map.rows_of(id));
        rows.map(|row| Tid::new(id, row)).collect()
    }

    /// How the row is locked, for a Lock.
    pub fn lock_strength(&self) -> LockStrength {
        match self.record.kind() {
            Kind::KeyShared => LockStrength::KeyShare,
            Kind::Shared => LockStrength::Share,
            _ if self.record.keys_stay() => LockStrength::NoKeyUpdate,
            _ => LockStrength::Update,
        }
    }

    /// Rows of the block, for a Block.
    pub fn block_rows(&self) -> usize {
        self.block.rows()
    }

    /// Reads the values that row `row` of the block has now, for a Block: those that the
    /// transaction loaded, with what it did to them afterwards. `buffer` is overwritten.
    pub fn read_block_row(&self, row: u32, buffer: &mut RowBuffer) {
        let columns: Vec<usize> = (0..self.table.schema().len()).collect();
        buffer.clear();
        self.block.push_newest(&columns, row, buffer);
    }

    /// The block as bytes for [`Table::restore_block`], for a Block: all its rows are there; what
    /// the transaction did to them afterwards are changes of their own.
    ///
    /// # Errors
    /// 54000 for a hot block of more than 4 GiB.
    pub fn block_bytes(&self) -> Result<Vec<u8>> {
        self.block.to_bytes()
    }

    /// The value of `column` before this change. `buffer` is overwritten. Good until the buffer of
    /// the transaction is collected.
    pub fn before<'b>(&self, column: usize, buffer: &'b mut RowBuffer) -> Datum<'b> {
        self.value(column, Some(self.record), buffer)
    }

    /// The value of `column` after this change; see [`Self::before`].
    pub fn after<'b>(&self, column: usize, buffer: &'b mut RowBuffer) -> Datum<'b> {
        self.value(column, None, buffer)
    }

    /// Calls `each` with the values of `columns` after this change, in that order. `buffer` is
    /// overwritten.
    pub fn each_after(
        &self,
        columns: impl Iterator<Item = usize>,
        buffer: &mut RowBuffer,
        mut each: impl FnMut(Datum<'_>),
    ) {
        // Nobody but the transaction itself puts records above one of its own while it runs.
        let is_newest = is_running(self.record.stamp()) && self.record.newer().is_none();
        if is_newest && self.block.hot.is_some() {
            self.block.each_value(columns, self.tid.row() as usize, each);
        } else {
            columns.for_each(|column| each(self.after(column, buffer)));
        }
    }

    /// Value of `column` in its first image in `from` or the records above this one, or else the
    /// newest value.
    fn value<'b>(
        &self,
        column: usize,
        from: Option<RecordRef<'a>>,
        buffer: &'b mut RowBuffer,
    ) -> Datum<'b> {
        buffer.clear();
        let word = self.block.word(self.tid.row());
        let found = word.map(latch);
        let above = |record: RecordRef<'a>| match found {
            Some(_) if !record.is_unlinked() => record.newer(),
            _ => None,
        };
        let mut next = from.or_else(|| above(self.record));
        let is_column = |image: &&Image| usize::from(image.column) == column;
        let image = loop {
            match next {
                None => break None,
                Some(record) => {
                    if let Some(image) = record.images().iter().find(is_column) {
                        break Some(*image);
                    }
                    next = above(record);
                }
            }
        };
        match image {
            Some(image) => buffer.push(self.block.image_datum(&image)),
            None => self.block.push_newest(&[column], self.tid.row(), buffer),
        }
        if let (Some(word), Some(found)) = (word, found) {
            publish(word, found);
        }
        buffer.get(0)
    }
}

impl UndoBuffer {
    /// No changes yet; `txn` stamps them. Allocates nothing.
    pub fn new(txn: TxnId) -> Self {
        let arena = Arena::default();
        let statement = StatementNumber::default();
        let (records, places) = (Vec::new(), Vec::new());
        Self { txn, statement, arena, records, places, shares: false, ended: false }
    }

    /// The transaction.
    pub fn txn(&self) -> TxnId {
        self.txn
    }

    /// The statement that writes now.
    pub(crate) fn statement(&self) -> StatementNumber {
        self.statement
    }

    /// Another statement begins, which writes what comes now: its number.
    ///
    /// # Errors
    /// 54000 after 2^32 - 2 others.
    pub fn begin_statement(&mut self) -> Result<StatementNumber> {
        let next = StatementNumber(self.statement.0 + 1);
        if next == StatementNumber::END {
            let message = "cannot have more than 2^32-2 commands in a transaction";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        self.statement = next;
        Ok(next)
    }

    /// True when nothing was written.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Rows changed, counted each time.
    pub fn rows(&self) -> u64 {
        self.places.iter().map(|place| place.changes).sum()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        self.arena.bytes() + (self.records.capacity() * 8) as u64
    }

    /// The place after the newest change.
    pub fn mark(&self) -> UndoMark {
        UndoMark(self.records.len())
    }

    fn record(&self, i: usize) -> RecordRef<'_> {
        // SAFETY: the arena lives as long as the buffer.
        unsafe { RecordRef::new(self.records[i]) }
    }

    /// A record to be linked by the caller and then kept or taken back. It lives as long as the
    /// buffer and, once linked, as long as a reader may be on it.
    ///
    /// # Errors
    /// 53200 without memory; those of reading a frozen block that is not in memory.
    #[inline]
    pub(crate) fn add<'r>(
        &mut self,
        table: &Arc<Table>,
        block: BlockRef<'_>,
        row: u32,
        kind: Kind,
        columns: usize,
    ) -> Result<RecordRef<'r>> {
        debug_assert!(!self.ended, "an ended transaction writes no more");
        let place = self.place_of(table, block)?;
        let stamp = self.txn.0;
        let statement = self.statement;
        let record =
            self.arena.add(stamp, (kind, columns), (place, row), statement, table.pool())?;
        if self.records.capacity() == 0 {
            self.records.reserve(RECORDS_FIRST);
        }
        self.shares |= matches!(kind, Kind::KeyShared | Kind::Shared);
        self.records.push(record);
        // SAFETY: made by the arena; see above for how long it lives.
        Ok(unsafe { RecordRef::new(record) })
    }

    /// The newest record.
    pub(crate) fn newest(&self) -> RecordRef<'_> {
        self.record(self.records.len() - 1)
    }

    /// Takes back the newest record, which nobody knows.
    #[inline]
    pub(crate) fn take_back(&mut self, columns: usize) {
        self.records.pop();
        self.arena.take_back(columns);
    }

    /// Counts what the record did, now that it is linked.
    #[inline]
    pub(crate) fn count(&mut self, record: RecordRef<'_>, rows: i64) {
        let place = &mut self.places[record.place()];
        place.rows += rows;
        place.changes += rows.unsigned_abs().max(1);
    }

    fn place_of(&mut self, table: &Arc<Table>, block: BlockRef<'_>) -> Result<u32> {
        let recent = self.places.len().saturating_sub(PLACES_SEARCHED);
        let same = |p: &Place| std::ptr::eq(&*p.block, &*block);
        if let Some(i) = self.places[recent..].iter().rposition(same) {
            return Ok((recent + i) as u32);
        }
        let (table, block) = (Arc::clone(table), Pinned::new(block.shared())?);
        self.places.push(Place { table, block, rows: 0, changes: 0 });
        Ok(self.places.len() as u32 - 1)
    }

    /// Undoes all changes after `mark`: values are as before, index entries of undone keys gone.
    pub fn rollback_to(&mut self, mark: UndoMark) {
        debug_assert!(!self.ended, "an ended transaction is not undone");
        for i in (mark.0..self.records.len()).rev() {
            let record = self.record(i);
            let place = &self.places[record.place()];
            release(place, record, self.txn);
            let rows = undo(place, record);
            let place = record.place();
            self.places[place].rows -= rows;
        }
    }

    /// Gives all changes their timestamp, at commit or after a roll-back of everything: for
    /// snapshots at or above it they are there. The caller publishes the timestamp afterwards.
    pub fn stamp(&mut self, at: Timestamp) {
        debug_assert!(!self.ended, "a transaction ends once");
        self.ended = true;
        for place in &self.places {
            if place.changes > 0 {
                place.block.note_change(at.0, place.changes);
                place.table.note_commit(place.rows, place.changes);
            }
            // Only blocks that this transaction loaded carry its stamp.
            if place.block.created() == self.txn.0 {
                place.block.set_created(at.0);
                place.block.note_change(at.0, 0);
            }
            // Behind the target of its rows, which stands before it.
            if place.block.ended() == self.txn.0 {
                place.block.set_ended(at.0);
            }
        }
        if let Some(stamp) = self.arena.stamp() {
            stamp.store(at.0, Ordering::Release);
        }
        if self.shares {
            for record in (0..self.records.len()).map(|i| self.record(i)) {
                release(&self.places[record.place()], record, self.txn);
            }
        }
    }

    /// The changes in order of writing, undone ones as [`ChangeKind::Void`].
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.changes_since(UndoMark(0))
    }

    /// The changes after `mark`.
    pub fn changes_since(&self, mark: UndoMark) -> impl Iterator<Item = Change<'_>> {
        (mark.0..self.records.len()).map(|i| {
            let record = self.record(i);
            let Place { table, block, .. } = &self.places[record.place()];
            let kind = match record.kind() {
                Kind::Insert => ChangeKind::Insert,
                Kind::Delete => ChangeKind::Delete,
                Kind::Update => ChangeKind::Update,
                Kind::Block => ChangeKind::Block,
                Kind::Lock | Kind::KeyShared | Kind::Shared => ChangeKind::Lock,
                Kind::Target => ChangeKind::Target,
                Kind::Source => ChangeKind::Source,
                Kind::Void | Kind::Restored | Kind::Echo | Kind::Released => ChangeKind::Void,
            };
            let tid = Tid::new(block.id(), record.row());
            Change { table, tid, kind, moved_to: record.moved_to(), block, record }
        })
    }
}

/// Lets a row go that the transaction shares.
fn release(place: &Place, record: RecordRef<'_>, txn: TxnId) {
    let strength = match record.kind() {
        Kind::KeyShared => LockStrength::KeyShare,
        Kind::Shared => LockStrength::Share,
        _ => return,
    };
    let Place { table, block, .. } = place;
    let row = record.row();
    table.sharers.release(Tid::new(block.id(), row), Holder { txn, strength });
    let zone = block.versions.zone(row).expect("the zone of a row that was shared");
    zone.marks().untouch(1);
    record.set_kind(Kind::Released);
}

/// Undoes one change of a running transaction; returns the rows it had added.
fn undo(place: &Place, record: RecordRef<'_>) -> i64 {
    let Place { table, block, .. } = place;
    let row = record.row();
    let guard = epoch::pin();
    match record.kind() {
        Kind::Insert => {
            table.remove_entries(block, row, &guard);
            record.set_kind(Kind::Void);
            return 1;
        }
        Kind::Update => table.undo_update(block, record, &guard),
        Kind::Delete => {
            record.set_kind(Kind::Restored);
            return -1;
        }
        Kind::Lock | Kind::Echo => record.set_kind(Kind::Restored),
        kind @ (Kind::Block | Kind::Target) => {
            let rows = block.rows();
            (0..rows as u32).for_each(|row| table.remove_entries(block, row, &guard));
            block.set_created(NEVER);
            record.set_kind(Kind::Void);
            table.drop_block(block, &guard);
            // What moves is counted where it was.
            return if kind == Kind::Block { rows as i64 } else { 0 };
        }
        Kind::Source => block.undo_source(),
        Kind::Void | Kind::Restored | Kind::KeyShared | Kind::Shared | Kind::Released => {}
    }
    0
}

impl Drop for UndoBuffer {
    fn drop(&mut self) {
        if self.records.is_empty() {
            return;
        }
        if !self.ended {
            self.rollback_to(UndoMark(0));
        }
        // Rows still lead to the records.
        std::mem::forget(std::mem::take(&mut self.arena));
    }
}
