//! Rows by key: index entries, and whether their rows have the key in a snapshot.
//!
//! An entry may be of a version that the snapshot does not see: then the row is not there, or has
//! another key. Keys of an index none of whose rows ever changed its key need no second look.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use crossbeam_epoch::Guard;
use types::Result;

use super::Table;
use super::directory::BlockRef;
use super::entries::{Holder, encode_known, with_scratch};
use crate::datum::{Datum, RowBuffer};
use crate::index::{Direction, Entry, KeyBuffer, KeyRange, NearCursor, RangeState, TableIndex};
use crate::tid::Tid;
use crate::version::WriteError;
use crate::version::{Snapshot, TxnId};

thread_local! {
    /// Memory used again from range to range; a range inside of another has its own.
    static RANGE: Cell<Option<Box<RangeState>>> = const { Cell::new(None) };
}

/// Common parts of reads by key: the index, the snapshot, and the columns wanted of each row.
#[derive(Clone, Copy)]
pub struct KeyRead<'a> {
    /// The index; it need not be in [`Table::indexes`] any longer.
    pub index: &'a TableIndex,
    /// The snapshot that rows are seen in.
    pub at: Snapshot,
    /// Ordinals of the columns.
    pub columns: &'a [usize],
}

/// A search for rows in their newest state: committed, or written by `txn` itself.
#[derive(Clone, Copy)]
pub struct KeySearch<'a> {
    /// Number of an index that has an order.
    pub index: usize,
    /// Values of its first columns.
    pub prefix: &'a [Datum<'a>],
    /// Whole key from which the search goes this way, with the key itself; None for all rows that
    /// have the prefix.
    pub from: Option<(&'a [Datum<'a>], Direction)>,
    /// Transaction that searches.
    pub txn: TxnId,
}

/// Receiver of the rows that a [`KeySearch`] meets.
pub trait Seeker {
    /// True when it matters whether the row is there as `at` sees it, which depends on how a
    /// running transaction ends.
    ///
    /// # Errors
    /// As [`Table::read`].
    fn concerns(&mut self, tid: Tid, at: Snapshot) -> Result<bool>;

    /// Takes a row; each comes once. Break ends the search.
    ///
    /// # Errors
    /// As [`Table::read`].
    fn found(&mut self, tid: Tid) -> Result<ControlFlow<()>>;
}

/// Place where a row was read.
enum Place<'a> {
    /// Where its entry says.
    Here(BlockRef<'a>),
    /// Where it moved.
    Elsewhere,
}

/// True when all snapshots see the same values of the row, if they see it.
#[inline]
fn has_no_versions(block: BlockRef<'_>, row: u32) -> bool {
    block.get().word(row).is_none_or(|word| word.load(Ordering::Acquire) == 0)
}

/// A [`KeyRead`] of a table by who is pinned.
pub(super) struct KeyReader<'a> {
    pub(super) table: &'a Table,
    pub(super) read: KeyRead<'a>,
    pub(super) guard: &'a Guard,
}

impl KeyReader<'_> {
    /// [`Table::get`] by the bytes of the key.
    #[inline]
    pub(super) fn get(&self, key: &[u8], out: &mut RowBuffer) -> Result<Option<Tid>> {
        let mut found = None;
        let _ = self.visit(key, out, |tid, _| {
            found = Some(tid);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// [`Table::read_key`].
    #[inline]
    pub(super) fn visit(
        &self,
        key: &[u8],
        out: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut failed = None;
        let removals = self.read.index.removals();
        let flow = self.read.index.lookup(key, |tid| {
            match self.read_entry(Entry { key, tid, removals }, out) {
                Ok(true) => visit(tid, out),
                Ok(false) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        failed.map_or(Ok(flow), Err)
    }

    /// Reads the row of an entry; false when the snapshot does not see the row with this key.
    #[inline]
    pub(super) fn read_entry(&self, entry: Entry<'_>, out: &mut RowBuffer) -> Result<bool> {
        let Entry { key, tid, removals } = entry;
        let Some(place) = self.read_row(tid, out)? else { return Ok(false) };
        // Looked at after the row: a new key that was read was noted before it was written.
        if !self.read.index.is_rekeyed() {
            return Ok(true);
        }
        let is_settled = matches!(place, Place::Here(block) if has_no_versions(block, tid.row()))
            && removals.is_some()
            && self.read.index.removals() == removals;
        if is_settled { Ok(true) } else { self.has_key(key, tid) }
    }

    /// Reads a row; None when the snapshot does not see it.
    #[inline]
    fn read_row(&self, tid: Tid, out: &mut RowBuffer) -> Result<Option<Place<'_>>> {
        let KeyRead { at, columns, .. } = self.read;
        let Some(block) = self.table.locate(tid, self.guard) else { return Ok(None) };
        if block.read(tid.row(), at, columns, out, self.guard)? {
            return Ok(Some(Place::Here(block)));
        }
        let has_moved = self.has_just_moved(tid, columns, out)?;
        Ok(has_moved.then_some(Place::Elsewhere))
    }

    /// True when who reads the newest state missed the row because it is elsewhere now: its new
    /// entry may have been passed before that. Others see it in one place only.
    #[cold]
    fn has_just_moved(&self, tid: Tid, columns: &[usize], out: &mut RowBuffer) -> Result<bool> {
        let at = self.read.at;
        Ok(at.base() == Snapshot::ALL.base()
            && self.table.moved(tid, self.guard) != tid
            && self.table.read(at, tid, columns, out)?)
    }

    /// True when the row has `key` in the snapshot.
    fn has_key(&self, key: &[u8], tid: Tid) -> Result<bool> {
        let KeyRead { index, at, .. } = self.read;
        let Some(block) = self.table.locate(tid, self.guard) else { return Ok(false) };
        with_scratch(|scratch| {
            if !block.read(tid.row(), at, index.ordinals(), &mut scratch.row, self.guard)?
                && !self.has_just_moved(tid, index.ordinals(), &mut scratch.row)?
            {
                return Ok(false);
            }
            encode_known(index, &mut scratch.key, &scratch.row);
            Ok(scratch.key[..] == *key)
        })
    }
}

impl Table {
    /// Puts `columns` of the row that `at` sees with `key` in all columns of the unique index
    /// number `index` into `out`; its TID. `buffer` is memory for the key. When a non-unique index
    /// has several such rows it is one of them.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such index or column, or the key does not fit it.
    pub fn get(
        &self,
        index: usize,
        at: Snapshot,
        key: &[Datum<'_>],
        buffer: &mut KeyBuffer,
        columns: &[usize],
        out: &mut RowBuffer,
    ) -> Result<Option<Tid>> {
        let guard = epoch::pin();
        let index = &self.index_list(&guard)[index];
        index.encode(key, buffer);
        self.reader(KeyRead { index, at, columns }, &guard).get(buffer, out)
    }

    /// Reads by key for who is pinned.
    #[inline]
    pub(super) fn reader<'a>(&'a self, read: KeyRead<'a>, guard: &'a Guard) -> KeyReader<'a> {
        KeyReader { table: self, read, guard }
    }

    /// Visits the rows with `key`, a whole key of the index, with the columns of each in `out`,
    /// until `visit` breaks.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If `key` is not a whole key of the index, or there is no such column.
    pub fn read_key(
        &self,
        read: KeyRead<'_>,
        key: &[u8],
        out: &mut RowBuffer,
        visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        self.reader(read, &epoch::pin()).visit(key, out, visit)
    }

    /// Visits the rows among the next entries of a range of the index that `state` reads, with the
    /// columns of each in `out`, until `visit` breaks: the next call goes on behind that row.
    /// Continues when the range has ended.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such column.
    pub fn read_range(
        &self,
        read: KeyRead<'_>,
        state: &mut RangeState,
        out: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let guard = epoch::pin();
        let reader = self.reader(read, &guard);
        while let Some(entry) = read.index.next_entry(state) {
            if reader.read_entry(entry, out)? && visit(entry.tid, out).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits those of the rows `tids` that the snapshot sees, each once, with the columns of each
    /// in `out`, until `visit` breaks: rows that entries of an inverted index lead to, whatever
    /// elements they have in the snapshot.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such column.
    pub fn read_candidates(
        &self,
        read: KeyRead<'_>,
        tids: &mut Vec<Tid>,
        out: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let guard = epoch::pin();
        let reader = self.reader(read, &guard);
        if read.at.base() == Snapshot::ALL.base() {
            // The newest state is in one place; other snapshots see a row in one of two.
            tids.iter_mut().for_each(|tid| *tid = self.moved(*tid, &guard));
        }
        tids.sort_unstable();
        tids.dedup();
        for &tid in tids.iter() {
            if reader.read_row(tid, out)?.is_some() && visit(tid, out).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits those rows, with the columns of each in `out`, that the entries of a near index lead
    /// to which `near` read last, nearest first, until `visit` breaks.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such column.
    pub fn read_near(
        &self,
        read: KeyRead<'_>,
        near: &NearCursor,
        out: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let guard = epoch::pin();
        let reader = self.reader(read, &guard);
        for (key, tid) in near.entries() {
            if reader.read_entry(Entry::of(key, tid), out)? && visit(tid, out).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits the rows that `at` sees with keys in `range` of the ordered index number `index`, in
    /// `direction`, with `columns` of each in `out`, until `visit` breaks.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such index or column, or the index has no order.
    #[allow(clippy::too_many_arguments)] // Each is a fact of the range; none has a default.
    pub fn range(
        &self,
        index: usize,
        at: Snapshot,
        range: KeyRange<'_>,
        direction: Direction,
        columns: &[usize],
        out: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<()> {
        let guard = epoch::pin();
        let index = &self.index_list(&guard)[index];
        let mut state = RANGE.take().unwrap_or_default();
        let reader = self.reader(KeyRead { index, at, columns }, &guard);
        index.start(range, direction, &mut state);
        while let Some(entry) = index.next_entry(&mut state) {
            if reader.read_entry(entry, out)? && visit(entry.tid, out).is_break() {
                break;
            }
        }
        RANGE.set(Some(state));
        Ok(())
    }

    /// The TIDs, in the order of the index, of rows that `at` sees with keys in `range` of the
    /// ordered index number `index`, into `tids`.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such index, or it has no order.
    pub fn tids_in(
        &self,
        index: usize,
        at: Snapshot,
        range: KeyRange<'_>,
        direction: Direction,
        tids: &mut Vec<Tid>,
    ) -> Result<()> {
        let mut row = RowBuffer::new();
        self.range(index, at, range, direction, &[], &mut row, |tid, _| {
            tids.push(tid);
            ControlFlow::Continue(())
        })
    }

    /// The TIDs of rows that `at` sees with `key` in all columns of index number `index`.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such index, or the key does not fit it.
    pub fn tids_of(
        &self,
        index: usize,
        at: Snapshot,
        key: &[Datum<'_>],
        buffer: &mut KeyBuffer,
        tids: &mut Vec<Tid>,
    ) -> Result<()> {
        let guard = epoch::pin();
        let index = &self.index_list(&guard)[index];
        index.encode(key, buffer);
        let mut row = RowBuffer::new();
        let reader = self.reader(KeyRead { index, at, columns: &[] }, &guard);
        let _ = reader.visit(buffer, &mut row, |tid, _| {
            tids.push(tid);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Visits the rows that begin with `key` in the first columns of index number `index`, in their
    /// newest state: committed, or written by `txn` itself. Each row once.
    ///
    /// # Errors
    /// [`WriteError::Wait`] for a running transaction that makes or unmakes such a row; those of
    /// [`Self::read`].
    ///
    /// # Panics
    /// If there is no such index, the key does not fit it, or is a prefix and the index has no
    /// order.
    pub fn find(
        &self,
        index: usize,
        key: &[Datum<'_>],
        txn: TxnId,
        mut found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> Result<(), WriteError> {
        let guard = epoch::pin();
        let index = &self.index_list(&guard)[index];
        let mut prefix = KeyBuffer::new();
        index.encode(key, &mut prefix);
        let mut entries: Vec<(Vec<u8>, Tid)> = Vec::new();
        if key.len() == index.spec().columns.len() {
            let _ = index.lookup(&prefix, |tid| {
                entries.push((prefix.to_vec(), tid));
                ControlFlow::<()>::Continue(())
            });
        } else {
            let mut successor = KeyBuffer::new();
            let mut cursor =
                index.range(KeyRange::prefix(&prefix, &mut successor), Direction::Forward);
            while let Some((key, tid)) = cursor.next() {
                entries.push((key.to_vec(), tid));
            }
        }
        // A row that moved has an entry for each place until nobody reads it where it was.
        let (mut has_moved, mut visited) = (false, HashSet::new());
        for (_, tid) in &mut entries {
            let now = self.moved(*tid, &guard);
            has_moved |= now != *tid;
            *tid = now;
        }
        for (key, tid) in entries {
            match self.keeper(index, &key, tid, txn, &guard)? {
                Holder::Nobody => {}
                Holder::Running(other) => return Err(WriteError::Wait(other)),
                Holder::Row(tid) => {
                    if has_moved && !visited.insert(tid) {
                        continue;
                    }
                    if found(tid).is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Visits the rows that a search meets, in the order of their keys. A running transaction is in
    /// the way only where the seeker says that its row matters, or nobody can say it.
    ///
    /// # Errors
    /// [`WriteError::Wait`] for such a transaction; those of the seeker.
    ///
    /// # Panics
    /// If there is no such index, or a key does not fit it.
    pub fn seek(&self, search: KeySearch<'_>, seeker: &mut dyn Seeker) -> Result<(), WriteError> {
        let guard = epoch::pin();
        let index = &self.index_list(&guard)[search.index];
        let (mut prefix, mut from) = (KeyBuffer::new(), KeyBuffer::new());
        index.encode(search.prefix, &mut prefix);
        let mut successor = KeyBuffer::new();
        let mut range = KeyRange::prefix(&prefix, &mut successor);
        let mut direction = Direction::Forward;
        if let Some((key, way)) = search.from {
            index.encode(key, &mut from);
            direction = way;
            match way {
                Direction::Forward => range.low = Bound::Included(&from),
                Direction::Backward => range.high = Bound::Included(&from),
            }
        }
        let mut cursor = index.range(range, direction);
        // A row that moved has an entry for each place until nobody reads it where it was.
        let mut visited = HashSet::new();
        while let Some((key, tid)) = cursor.next() {
            let (key, tid) = (key.to_vec(), self.moved(tid, &guard));
            match self.keeper(index, &key, tid, search.txn, &guard)? {
                Holder::Nobody => {}
                Holder::Running(other) => {
                    let ends = [other, search.txn];
                    let mut end = None;
                    for at in ends.map(|txn| Snapshot::new(Snapshot::ALL.base(), txn)) {
                        let reader = self.reader(KeyRead { index, at, columns: &[] }, &guard);
                        if reader.has_key(&key, tid)? {
                            end = Some(at);
                            break;
                        }
                    }
                    // A key between both ends comes back if the other rolls back to a savepoint.
                    let matters = end.map_or(Ok(true), |at| seeker.concerns(tid, at))?;
                    if matters {
                        return Err(WriteError::Wait(other));
                    }
                }
                Holder::Row(tid) => {
                    if visited.insert(tid) && seeker.found(tid)?.is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Holder of `key` if row `tid` has it now, whatever its writer does: a running transaction
    /// that leaves the key as it is does not count.
    fn keeper(
        &self,
        index: &TableIndex,
        key: &[u8],
        tid: Tid,
        txn: TxnId,
        guard: &Guard,
    ) -> Result<Holder> {
        let holder = with_scratch(|scratch| self.holder(index, key, tid, txn, scratch, guard))?;
        let Holder::Running(writer) = holder else { return Ok(holder) };
        // As the row is if the writer commits, and as it is if the writer does not.
        let after = Snapshot::new(Snapshot::ALL.base(), writer);
        let before = Snapshot::new(Snapshot::ALL.base(), txn);
        let keeps = |at| self.reader(KeyRead { index, at, columns: &[] }, guard).has_key(key, tid);
        Ok(if keeps(after)? && keeps(before)? { Holder::Row(tid) } else { holder })
    }
}
