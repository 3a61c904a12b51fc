//! Writing one row: insert, update, delete, lock.
//!
//! ```text
//! insert  values -> claimed row -> record -> word
//! update  record with before-images -> values -> word    in place
//!         Delete with `moved_to`, insert elsewhere       frozen row, or no room for new strings
//! delete, lock                      record -> word
//! ```
//! A row that moved (`moving`) is written where it is now. Who does not see it there also marks its
//! end where it was, by an Echo, which nobody else looks at.
//! Invariant: on an error the row is as it was, and what was recorded of it is undone.
//! Elsewhere: why others read the right version meanwhile (`row`), index entries (`entries`).

mod share;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch::{self as epoch, Guard};
use kernels::Batch;
use types::{Error, Result, Value, text};

use super::entries::{Scratch, encode_key, is_affected, with_scratch};
use super::{BlockRef, Table};
use crate::block::Block;
use crate::datum::{Datum, RowBuffer};
use crate::index::TableIndex;
use crate::record::{Image, Kind, RecordRef};
use crate::row::{Held, check_write, excludes_all, latch, newest, order, publish};
use crate::schema::ColumnSpec;
use crate::sharers::{Holder, LockStrength};
use crate::sync;
use crate::table::UndoBuffer;
use crate::tid::Tid;
use crate::version::{Snapshot, WriteError};
use crate::versions::Touch;

const GONE: WriteError = WriteError::Conflict { moved_to: None };

/// Why a row of a block was not written. Nothing was changed by the call.
enum Refused {
    /// The rows are, or are about to be, in another block of the same number.
    Retired,
    Write(WriteError),
}

/// A row in the block that has it, for who is pinned.
#[derive(Clone, Copy)]
struct Found<'g> {
    block: BlockRef<'g>,
    tid: Tid,
    /// Where the writer's snapshot sees the row, if that is another block.
    seen: Option<(BlockRef<'g>, u32)>,
    guard: &'g Guard,
}

/// Whether a change or lock of a row leaves its keys alone, by which others refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Stay,
    Change,
}

impl Keys {
    /// Strength of the lock that the change is.
    fn strength(self) -> LockStrength {
        match self {
            Self::Stay => LockStrength::NoKeyUpdate,
            Self::Change => LockStrength::Update,
        }
    }

    /// Reads what a record says.
    fn of(record: RecordRef<'_>) -> Self {
        if record.keys_stay() { Self::Stay } else { Self::Change }
    }

    /// Says so in a record that nobody knows.
    fn mark(self, record: RecordRef<'_>) {
        if self == Self::Stay {
            record.set_keys_stay();
        }
    }
}

/// Values that a row gets.
#[derive(Clone, Copy)]
struct Written<'a> {
    changes: &'a [(usize, Datum<'a>)],
    /// Bytes of the strings among them.
    heap_bytes: usize,
    keys: Keys,
}

/// A record without images.
#[derive(Clone, Copy)]
struct Mark {
    kind: Kind,
    keys: Keys,
}

impl From<WriteError> for Refused {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Write(error.into())
    }
}

impl Table {
    /// Adds a row, values in schema order, to be seen when the transaction of `undo` commits.
    /// Narrower integers are widened.
    ///
    /// # Errors
    /// [`WriteError::Wait`] and [`WriteError::Duplicate`] by unique indexes; [`WriteError::Null`];
    /// 53200 without memory; 54000 for a row of gigabytes.
    pub fn insert(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        row: &[Datum<'_>],
    ) -> Result<Tid, WriteError> {
        if row.len() != self.types.len() {
            let message = format!("{} values for table {}", row.len(), self.name);
            return Err(Error::internal(message).into());
        }
        let heap_bytes = self
            .check(row.iter().copied().enumerate())
            .map_err(|error| self.with_row(error, row.iter().map(Datum::to_value)))?;
        self.pool.relieve();
        if self.freezes_inserts() {
            return self.insert_frozen_row(undo, row);
        }
        self.insert_hot(undo, row, heap_bytes)
    }

    fn insert_hot(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        row: &[Datum<'_>],
        heap_bytes: usize,
    ) -> Result<Tid, WriteError> {
        let guard = epoch::pin();
        let indexes = self.index_list(&guard);
        if indexes.is_empty() {
            return Ok(self.place_row(undo, row, heap_bytes, &guard)?);
        }
        with_scratch(|scratch| {
            self.encode_keys(indexes, scratch, |column| self.widened(column, row[column]))?;
            let who = (undo.txn(), None);
            let latches = self.admit_keys(indexes, scratch, |_| true, who, &guard)?;
            let mark = undo.mark();
            let tid = self.place_row(undo, row, heap_bytes, &guard)?;
            if let Err(error) = self.add_entries(indexes, (&scratch.keys, &latches), |_| true, tid)
            {
                undo.rollback_to(mark);
                return Err(error);
            }
            Ok(tid)
        })
    }

    /// The value in the type of `column`, which it fits.
    #[inline]
    pub(super) fn widened<'a>(&self, column: usize, datum: Datum<'a>) -> Datum<'a> {
        datum.widened(self.types[column]).expect("checked before")
    }

    /// The keys of a row in all indexes.
    ///
    /// # Errors
    /// Errors that an expression of an index raises.
    pub(super) fn encode_keys<'a>(
        &self,
        indexes: &[Arc<TableIndex>],
        scratch: &mut Scratch,
        mut value: impl FnMut(usize) -> Datum<'a>,
    ) -> Result<()> {
        if scratch.keys.len() < indexes.len() {
            scratch.keys.resize_with(indexes.len(), Default::default);
        }
        for (index, key) in indexes.iter().zip(&mut scratch.keys) {
            encode_key(index, key, &mut value)?;
        }
        Ok(())
    }

    /// Checks types and NULLs of values by column; returns the bytes of their strings. What is
    /// NULL lacks its row, see [`Self::with_row`].
    fn check<'a>(
        &self,
        values: impl Iterator<Item = (usize, Datum<'a>)>,
    ) -> Result<usize, WriteError> {
        let mut heap_bytes = 0;
        for (column, datum) in values {
            let spec = &self.schema.columns()[column];
            match datum {
                Datum::Null if spec.not_null => {
                    return Err(WriteError::Null { column, row: "".into() });
                }
                Datum::Null => {}
                Datum::Str(text) if self.types[column] == types::PhysicalType::Str => {
                    heap_bytes += text.len();
                }
                datum if datum.widened(self.types[column]).is_some() => {}
                datum => {
                    let message = format!("{datum:?} for a column of {:?}", self.types[column]);
                    return Err(Error::internal(message).into());
                }
            }
        }
        Ok(heap_bytes)
    }

    /// The error of the first row of `batch` that has NULL where there may be none.
    #[cold]
    pub(super) fn null_in(&self, batch: &Batch) -> WriteError {
        let specs = self.schema.columns();
        let refused = |&(row, column): &(usize, usize)| {
            specs[column].not_null && batch.columns[column].value(row).is_null()
        };
        let cells = (0..batch.rows).flat_map(|row| (0..specs.len()).map(move |c| (row, c)));
        match cells.into_iter().find(refused) {
            Some((row, column)) => {
                let values = batch.columns.iter().map(|column| column.value(row));
                WriteError::Null { column, row: self.row_text(values) }
            }
            None => Error::internal("a batch with NULLs has one").into(),
        }
    }

    /// An error about a row that was to be written, with its values when one is NULL.
    #[cold]
    fn with_row(&self, error: WriteError, values: impl Iterator<Item = Value>) -> WriteError {
        match error {
            WriteError::Null { column, .. } => {
                WriteError::Null { column, row: self.row_text(values) }
            }
            error => error,
        }
    }

    /// The values of a row as text.
    fn row_text(&self, values: impl Iterator<Item = Value>) -> Box<str> {
        let cell = |(value, spec): (Value, &ColumnSpec)| {
            if value.is_null() { "null".to_owned() } else { text::format(&value, spec.ty) }
        };
        let cells: Vec<String> = values.zip(self.schema.columns()).map(cell).collect();
        cells.join(", ").into()
    }

    /// As [`Self::with_row`], of the row `tid` after `changes`.
    #[cold]
    fn with_changes(
        &self,
        error: WriteError,
        block: BlockRef<'_>,
        tid: Tid,
        changes: &[(usize, Datum<'_>)],
    ) -> WriteError {
        let columns: Vec<usize> = (0..self.types.len()).collect();
        let mut values = RowBuffer::new();
        match block.pin() {
            Ok(block) => block.push_newest(&columns, tid.row(), &mut values),
            Err(error) => return error.into(),
        }
        let mut row: Vec<Datum<'_>> = values.iter().collect();
        changes.iter().for_each(|&(column, datum)| row[column] = datum);
        self.with_row(error, row.iter().map(Datum::to_value))
    }

    /// Writes and publishes a checked row at the end of the table.
    fn place_row(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        row: &[Datum<'_>],
        heap_bytes: usize,
        guard: &Guard,
    ) -> Result<Tid> {
        for (column, &datum) in row.iter().enumerate() {
            self.bounds.admit(column, datum, guard);
        }
        let (block, rows) = self.claim((1, 1), heap_bytes, guard)?;
        let number = rows.start;
        let mut place = || -> Result<RecordRef<'_>> {
            let text_at = block.hot().heap.reserve(heap_bytes)?;
            let values = row.iter().copied().enumerate();
            // SAFETY: `heap_bytes` are those of all strings of the row, reserved for them.
            unsafe { block.store_values(number as usize, values, text_at) };
            undo.add(self, block, number, Kind::Insert, 0)
        };
        match place() {
            Ok(record) => {
                publish_insert(undo, block.get(), record);
                Ok(Tid::new(block.id(), number))
            }
            Err(error) => {
                self.bury(block.get(), rows, guard);
                Err(error)
            }
        }
    }

    /// Claimed rows of one zone that were never published are gone.
    pub(super) fn bury(&self, block: &Block, rows: Range<u32>, guard: &Guard) {
        let count = rows.len();
        if let Some(zone) = block.versions.zone(rows.start) {
            for row in rows {
                zone.set_gone(row);
            }
            zone.marks().untouch(count as u32);
        }
        if block.bury(count) {
            self.drop_block(block, guard);
        }
    }

    /// Changes columns, each named once, of the row `tid`, which `at` sees; returns its TID, a new
    /// one if it moved.
    ///
    /// # Errors
    /// As [`Self::insert`]; [`WriteError::Conflict`] when the row changed after `at`.
    pub fn update(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        tid: Tid,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<Tid, WriteError> {
        self.pool.relieve();
        self.where_it_is(at, tid, |found| self.update_found(undo, at, found, changes))
    }

    /// [`Self::update`] of a row that is where it was found, or else refused.
    fn update_found(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<Tid, Refused> {
        let Found { block, tid, guard, .. } = found;
        let heap_bytes = self
            .check(changes.iter().copied())
            .map_err(|error| self.with_changes(error, block, tid, changes))?;
        let is_elsewhere = block.hot.is_none() || found.seen.is_some();
        if is_elsewhere || heap_bytes > 0 && block.is_heap_full(heap_bytes) {
            return self.move_row(undo, at, found, changes);
        }
        let indexes = self.index_list(guard);
        let affected = |i: usize| is_affected(&indexes[i], changes.iter().map(|c| c.0));
        let written = Written { changes, heap_bytes, keys: Keys::Stay };
        if !(0..indexes.len()).any(affected) {
            self.update_in_place(undo, at, found, written)?;
            return Ok(tid);
        }
        let mark = undo.mark();
        // Nobody else changes the row while its new keys are made, nor is the block retired.
        self.hold(undo, at, found, Keys::Stay)?;
        let keys = self.keys_after(found, changes);
        let written = Written { keys: keys.inspect_err(|_| undo.rollback_to(mark))?, ..written };
        (0..indexes.len()).filter(|&i| affected(i)).for_each(|i| indexes[i].note_rekeyed());
        let result = with_scratch(|scratch| {
            self.encode_changed(indexes, scratch, block.get(), tid.row(), changes)?;
            let who = (undo.txn(), Some(tid));
            let latches = self.admit_keys(indexes, scratch, affected, who, guard)?;
            self.update_in_place(undo, at, found, written)?;
            self.add_entries(indexes, (&scratch.keys, &latches), affected, tid)?;
            Ok(tid)
        });
        if result.is_err() {
            undo.rollback_to(mark);
        }
        result
    }

    /// The keys of a row that the caller holds, after `changes`.
    ///
    /// # Errors
    /// Errors that an expression of an index raises.
    fn encode_changed(
        &self,
        indexes: &[Arc<TableIndex>],
        scratch: &mut Scratch,
        block: &Block,
        row: u32,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<()> {
        let mut values = std::mem::take(&mut scratch.row);
        values.clear();
        let pinned = block.pin()?;
        for &ordinal in indexes.iter().flat_map(|index| index.ordinals()) {
            match changes.iter().find(|c| c.0 == ordinal) {
                Some(&(column, datum)) => values.push(self.widened(column, datum)),
                None => pinned.push_newest(&[ordinal], row, &mut values),
            }
        }
        let mut next = 0;
        let made = self.encode_keys(indexes, scratch, |_| {
            next += 1;
            values.get(next - 1)
        });
        scratch.row = values;
        made
    }

    fn update_in_place(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        written: Written<'_>,
    ) -> Result<(), Refused> {
        let Found { block, tid, guard, .. } = found;
        let Written { changes, heap_bytes, keys } = written;
        let row = tid.row();
        for &(column, datum) in changes {
            self.bounds.admit(column, datum, guard);
        }
        let text_at = block.hot().heap.reserve(heap_bytes)?;
        let record = undo.add(self, block, row, Kind::Update, changes.len())?;
        keys.mark(record);
        let columns = changes.iter().map(|c| c.0);
        let link = self.link(undo, at, block, record, columns, guard);
        let (word, _) = link.inspect_err(|_| undo.take_back(changes.len()))?;
        // Who sees a new value finds the word latched, or the record.
        order();
        // SAFETY: `heap_bytes` are those of all strings among the changes, reserved for them.
        unsafe { block.store_values(row as usize, changes.iter().copied(), text_at) };
        publish(word, record.address());
        undo.count(record, 0);
        Ok(())
    }

    /// Latches the row of `record` if it may be written, fills in before-images of `columns`, and
    /// links older records; storing the record to the word, which is returned, publishes it. On an
    /// error the word is as it was.
    fn link<'b>(
        &self,
        undo: &UndoBuffer,
        at: Snapshot,
        block: BlockRef<'b>,
        record: RecordRef<'_>,
        columns: impl Iterator<Item = usize>,
        guard: &Guard,
    ) -> Result<(&'b AtomicU64, Held), Refused> {
        let row = record.row();
        let (born, block) = (self.born(at, block, row, guard), block.get());
        let zone = block.versions.make_zone(row, || block.rows(), &self.pool)?;
        let word = zone.word(row);
        let found = latch(word);
        let strength = Keys::of(record).strength();
        let held = check_write(found, at, undo.txn(), born, guard);
        let wanted = Holder { txn: undo.txn(), strength };
        let held = match held.and_then(|held| self.alone(Tid::new(block.id(), row), wanted, held)) {
            Ok(held) => held,
            Err(error) => {
                publish(word, found);
                return Err(error.into());
            }
        };
        let older = newest(found, guard);
        if older.is_none() && zone.marks().touch(1) == Touch::Retired {
            zone.marks().untouch(1);
            publish(word, found);
            return Err(Refused::Retired);
        }
        for (i, column) in columns.enumerate() {
            let bits = block.load_bits(column, row as usize);
            let null = block.load_null(column, row as usize);
            // SAFETY: the record was made with room for these images and is not linked yet.
            unsafe { record.set_image(i, Image { bits, column: column as u16, null }) };
        }
        record.set_older(older);
        if let Some(older) = older {
            older.set_newer(record);
        }
        Ok((word, held))
    }

    /// Adds a record without images.
    fn mark_row<'r>(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        Mark { kind, keys }: Mark,
    ) -> Result<RecordRef<'r>, Refused> {
        let Found { block, tid, guard, .. } = found;
        let record = undo.add(self, block, tid.row(), kind, 0)?;
        keys.mark(record);
        let link = self.link(undo, at, block, record, std::iter::empty(), guard);
        let (word, _) = link.inspect_err(|_| undo.take_back(0))?;
        publish(word, record.address());
        undo.count(record, if kind == Kind::Delete { -1 } else { 0 });
        Ok(record)
    }

    /// Locks the row unless the transaction has it.
    fn hold(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        keys: Keys,
    ) -> Result<(), Refused> {
        let Found { block, tid, guard, .. } = found;
        if let Some(word) = block.word(tid.row()) {
            let born = self.born(at, block, tid.row(), guard);
            let wanted = Holder { txn: undo.txn(), strength: keys.strength() };
            let latched = latch(word);
            let held = check_write(latched, at, wanted.txn, born, guard);
            let held = held.and_then(|held| self.alone(tid, wanted, held));
            let is_enough = keys == Keys::Stay || excludes_all(latched, wanted.txn, guard);
            publish(word, latched);
            if held? == Held::Yes && is_enough {
                return Ok(());
            }
        }
        self.mark_row(undo, at, found, Mark { kind: Kind::Lock, keys })?;
        Ok(())
    }

    /// Deletes the row, also where the writer sees it.
    fn end_row<'r>(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        keys: Keys,
    ) -> Result<RecordRef<'r>, Refused> {
        let Found { seen, guard, .. } = found;
        let mark = undo.mark();
        let record = self.mark_row(undo, at, found, Mark { kind: Kind::Delete, keys })?;
        if let Some((block, row)) = seen {
            let echoed = self.echo(undo, block, row, guard);
            echoed.inspect_err(|_| undo.rollback_to(mark))?;
        }
        Ok(record)
    }

    /// Marks for the transaction alone that the row, which has moved, has ended.
    fn echo(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        block: BlockRef<'_>,
        row: u32,
        guard: &Guard,
    ) -> Result<()> {
        let record = undo.add(self, block, row, Kind::Echo, 0)?;
        let zone = block.versions.make_zone(row, || block.rows(), &self.pool);
        let zone = zone.inspect_err(|_| undo.take_back(0))?;
        let word = zone.word(row);
        let found = latch(word);
        let older = newest(found, guard);
        match older {
            Some(older) => older.set_newer(record),
            // The zone is retired: nothing else is written there.
            None => drop(zone.marks().touch(1)),
        }
        record.set_older(older);
        publish(word, record.address());
        Ok(())
    }

    /// Deletes the row and inserts it, changed, as a hot row elsewhere.
    fn move_row(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<Tid, Refused> {
        let Found { block, tid, .. } = found;
        let mark = undo.mark();
        let keys = if self.has_key_in(found, changes) {
            // Nobody else changes the row while its keys are compared.
            self.hold(undo, at, found, Keys::Stay)?;
            self.keys_after(found, changes).inspect_err(|_| undo.rollback_to(mark))?
        } else {
            Keys::Stay
        };
        let record = self.end_row(undo, at, found, keys).inspect_err(|_| undo.rollback_to(mark))?;
        let columns: Vec<usize> = (0..self.types.len()).collect();
        let mut values = RowBuffer::new();
        block.pin_again().push_newest(&columns, tid.row(), &mut values);
        let mut row: Vec<Datum<'_>> = values.iter().collect();
        changes.iter().for_each(|&(column, datum)| row[column] = datum);
        let inserted = match self.check(row.iter().copied().enumerate()) {
            Ok(heap_bytes) => self.insert_hot(undo, &row, heap_bytes),
            Err(error) => Err(error),
        };
        match inserted {
            Ok(target) => {
                // Where it is now it has been changed no more than that.
                keys.mark(undo.newest());
                record.set_moved_to(target);
                self.sharers.follow(tid, target);
            }
            Err(_) => undo.rollback_to(mark),
        }
        Ok(inserted?)
    }

    /// Calls `write` with the block that has the row `tid`, again when the block was retired.
    fn where_it_is<T>(
        &self,
        at: Snapshot,
        tid: Tid,
        mut write: impl FnMut(Found<'_>) -> Result<T, Refused>,
    ) -> Result<T, WriteError> {
        let mut attempt = 0;
        loop {
            let guard = epoch::pin();
            let tid = self.moved(tid, &guard);
            let block = self.locate(tid, &guard).ok_or(GONE)?;
            let seen = self.origin(at, block, tid.row(), &guard);
            match write(Found { block, tid, seen, guard: &guard }) {
                Ok(done) => return Ok(done),
                Err(Refused::Write(error)) => return Err(error),
                Err(Refused::Retired) => {}
            }
            // Between the retirement of a block and its successor lie a few instructions.
            attempt += 1;
            sync::pause(attempt);
        }
    }

    /// Removes the row `tid`, which `at` sees.
    ///
    /// # Errors
    /// [`WriteError::Wait`], [`WriteError::Conflict`]; 53200 without memory.
    pub fn delete(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        tid: Tid,
    ) -> Result<(), WriteError> {
        self.pool.relieve();
        self.where_it_is(at, tid, |found| self.end_row(undo, at, found, Keys::Change).map(|_| ()))
    }

    /// Keeps others from locking the row `tid` in ways that `strength` excludes until the
    /// transaction ends (SELECT FOR UPDATE and its kin).
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn lock(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        tid: Tid,
        strength: LockStrength,
    ) -> Result<(), WriteError> {
        self.pool.relieve();
        self.where_it_is(at, tid, |found| match strength {
            LockStrength::Update => self.hold(undo, at, found, Keys::Change),
            LockStrength::NoKeyUpdate => self.hold(undo, at, found, Keys::Stay),
            shared => self.share(undo, at, found, shared),
        })
    }
}

/// Makes a claimed row, whose values are stored, known.
#[inline]
pub(super) fn publish_insert(undo: &mut UndoBuffer, block: &Block, record: RecordRef<'_>) {
    let word = block.word(record.row()).expect("claiming made the zone");
    publish(word, record.address());
    undo.count(record, 1);
}
