//! Which index entries a row needs: made by writes, removed by roll-back and collection.
//!
//! ```text
//! insert   latch unique keys -> nobody has them -> publish the row -> entries -> unlatch
//! update   lock the row -> new keys as above, where a key column changes -> publish -> entries
//! undo     entries of the undone key go, unless another version of the row has that key
//! collect  entries of unlinked versions go, unless a version that stays has the key
//! ```
//! Invariants: an index has an entry for every version of a row that some snapshot may see. Entries
//! are made after the row is published and removed under its latch, so that a key that comes back
//! (A, B, A) is either found in the row by who removes, or its entry made after the removal.
//! Blocks that a transaction wrote stay in memory until its versions are collected, so that what is
//! undone and collected finds the keys.
//! A thread holds key latches in the order of the indexes, and takes latches of rows for an instant
//! while it does; who has a row latched takes no key latch.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use crossbeam_epoch::Guard;
use parking_lot::MutexGuard;
use types::Result;

use super::Table;
use crate::block::{Block, NEVER, Pinned};
use crate::datum::{Datum, RowBuffer};
use crate::index::{KeyBuffer, KeyGap, TableIndex, Uniqueness};
use crate::record::{Image, Kind, RecordRef};
use crate::row::{latch, newest, publish};
use crate::tid::Tid;
use crate::version::WriteError;
use crate::version::{TxnId, is_running};
use crate::versions::DEAD;

/// Memory used again from write to write.
#[derive(Default)]
pub(super) struct Scratch {
    /// Keys by index.
    pub(super) keys: Vec<KeyBuffer>,
    pub(super) row: RowBuffer,
    pub(super) key: KeyBuffer,
    tids: Vec<Tid>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Runs `f` with the thread's scratch memory; inside it with other memory.
pub(super) fn with_scratch<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let result = f(&mut scratch);
    SCRATCH.set(Some(scratch));
    result
}

/// Columns of a key for which no memory is allocated.
const KEY_COLUMNS: usize = 8;

/// The key of a row whose values `value` tells by ordinal, in the order of
/// [`TableIndex::ordinals`].
///
/// # Errors
/// Errors that an expression of the index raises.
#[inline]
pub(super) fn encode_key<'a>(
    index: &TableIndex,
    key: &mut KeyBuffer,
    mut value: impl FnMut(usize) -> Datum<'a>,
) -> Result<()> {
    let ordinals = index.ordinals();
    if ordinals.len() <= KEY_COLUMNS {
        let mut values = [Datum::Null; KEY_COLUMNS];
        for (slot, &ordinal) in values.iter_mut().zip(ordinals) {
            *slot = value(ordinal);
        }
        index.encode_row(&values[..ordinals.len()], key)
    } else {
        let values: Vec<Datum<'_>> = ordinals.iter().map(|&ordinal| value(ordinal)).collect();
        index.encode_row(&values, key)
    }
}

/// The key of a version of a row, whose values `row` are in the order of
/// [`TableIndex::ordinals`]; absent where it cannot be computed, since such a row was refused.
#[inline]
pub(super) fn encode_known(index: &TableIndex, key: &mut KeyBuffer, row: &RowBuffer) {
    let mut next = 0;
    let made = encode_key(index, key, |_| {
        next += 1;
        row.get(next - 1)
    });
    if made.is_err() {
        key.set_absent();
    }
}

/// True when one of `columns` is part of what makes the key.
pub(super) fn is_affected(index: &TableIndex, mut columns: impl Iterator<Item = usize>) -> bool {
    columns.any(|column| index.ordinals().contains(&column))
}

/// Indexes of a table whose gaps are remembered.
const GAPS: usize = 4;

/// Latches of keys, given back together, and where the keys will be.
#[derive(Default)]
pub(super) struct KeyLatches<'i> {
    held: [Option<MutexGuard<'i, ()>>; 4],
    count: usize,
    more: Vec<MutexGuard<'i, ()>>,
    /// Gaps by number of the index.
    gaps: [Option<KeyGap<'i>>; GAPS],
}

impl<'i> KeyLatches<'i> {
    fn hold(&mut self, latch: MutexGuard<'i, ()>) {
        match self.held.get_mut(self.count) {
            Some(slot) => *slot = Some(latch),
            None => self.more.push(latch),
        }
        self.count += 1;
    }
}

/// A version of a row: its newest values with some before-images put over them.
pub(super) struct Version<'b> {
    block: Pinned<&'b Block>,
    row: u32,
    over: Vec<Image>,
}

impl<'b> Version<'b> {
    pub(super) fn newest(block: Pinned<&'b Block>, row: u32) -> Self {
        Self { block, row, over: Vec::new() }
    }

    /// Goes back over `record`. What was undone changed nothing; its images may be of versions
    /// that were undone too.
    pub(super) fn undo(&mut self, record: RecordRef<'_>) {
        if record.kind() == Kind::Restored {
            return;
        }
        for image in record.images() {
            match self.over.iter_mut().find(|o| o.column == image.column) {
                Some(over) => *over = *image,
                None => self.over.push(*image),
            }
        }
    }

    pub(super) fn key(&self, index: &TableIndex, row: &mut RowBuffer, key: &mut KeyBuffer) {
        row.clear();
        for &ordinal in index.ordinals() {
            let over = self.over.iter().find(|o| usize::from(o.column) == ordinal);
            match over {
                Some(image) => row.push(self.block.image_datum(image)),
                None => self.block.push_newest(&[ordinal], self.row, row),
            }
        }
        encode_known(index, key, row);
    }

    fn has_key(&self, index: &TableIndex, wanted: &[u8], scratch: &mut Scratch) -> bool {
        self.key(index, &mut scratch.row, &mut scratch.key);
        scratch.key[..] == *wanted
    }
}

impl Table {
    /// Latches the unique ones of `keys` that `wanted` names by number, and makes sure that no
    /// other row than `own` has them.
    ///
    /// # Errors
    /// [`WriteError::Wait`], [`WriteError::Duplicate`].
    pub(super) fn admit_keys<'i>(
        &self,
        indexes: &'i [Arc<TableIndex>],
        scratch: &mut Scratch,
        wanted: impl Fn(usize) -> bool,
        (txn, own): (TxnId, Option<Tid>),
        guard: &Guard,
    ) -> Result<KeyLatches<'i>, WriteError> {
        let mut latches = KeyLatches::default();
        for (i, index) in indexes.iter().enumerate().filter(|(i, _)| wanted(*i)) {
            let is_unique = match index.spec().unique {
                Uniqueness::No => false,
                Uniqueness::Distinct => !scratch.keys[i].has_null(),
                Uniqueness::NullsNotDistinct => !scratch.keys[i].is_absent(),
            };
            if !is_unique || index.is_dropped_by(txn) {
                continue;
            }
            let key = std::mem::take(&mut scratch.keys[i]);
            latches.hold(index.latch_key(&key));
            let gap = if i < GAPS { index.gap(&key) } else { None };
            if gap.is_some() {
                latches.gaps[i] = gap;
                scratch.keys[i] = key;
                continue;
            }
            let result = self.find_holder(index, &key, txn, own, scratch, guard);
            scratch.keys[i] = key;
            match result? {
                Holder::Nobody => {}
                Holder::Running(txn) => return Err(WriteError::Wait(txn)),
                Holder::Row(tid) => return Err(WriteError::Duplicate { index: i, tid }),
            }
        }
        Ok(latches)
    }

    /// Finds the holder of `key` in a unique index, besides `own`.
    pub(super) fn find_holder(
        &self,
        index: &TableIndex,
        key: &[u8],
        txn: TxnId,
        own: Option<Tid>,
        scratch: &mut Scratch,
        guard: &Guard,
    ) -> Result<Holder> {
        let mut tids = std::mem::take(&mut scratch.tids);
        tids.clear();
        // Rows are looked at outside of the index, which may have latches of its own.
        let _ = index.lookup(key, |tid| {
            tids.push(tid);
            ControlFlow::Continue(())
        });
        let tids_now = tids.iter().map(|&tid| self.moved(tid, guard));
        let others = tids_now.filter(|&tid| Some(tid) != own);
        let mut holders = others.map(|tid| self.holder(index, key, tid, txn, scratch, guard));
        let is_one = |holder: &Result<Holder>| !matches!(holder, Ok(Holder::Nobody));
        let holder = holders.find(is_one).unwrap_or(Ok(Holder::Nobody));
        drop(holders);
        scratch.tids = tids;
        holder
    }

    /// Holder of `key` if row `tid` has it now, or may have it when its writer has ended.
    ///
    /// # Errors
    /// Errors of reading its block.
    pub(super) fn holder(
        &self,
        index: &TableIndex,
        key: &[u8],
        tid: Tid,
        txn: TxnId,
        scratch: &mut Scratch,
        guard: &Guard,
    ) -> Result<Holder> {
        let Some(block) = self.directory.get(tid.block(), guard) else {
            return Ok(Holder::Nobody);
        };
        // Nothing is read from a file while the row is latched.
        let pinned = Pinned::new(block.get())?;
        let Some(word) = block.word(tid.row()) else {
            return Ok(self.holder_at(index, key, (pinned, tid, 0), txn, scratch, guard));
        };
        let found = latch(word);
        let holder = self.holder_at(index, key, (pinned, tid, found), txn, scratch, guard);
        publish(word, found);
        Ok(holder)
    }

    fn holder_at(
        &self,
        index: &TableIndex,
        key: &[u8],
        (pinned, tid, word): (Pinned<&Block>, Tid, u64),
        txn: TxnId,
        scratch: &mut Scratch,
        guard: &Guard,
    ) -> Holder {
        if word == DEAD {
            return Holder::Nobody;
        }
        let created = pinned.created();
        // Rows on their way here are looked for where they are.
        let is_on_its_way = pinned.is_target() && is_running(created);
        let mut version = Version::newest(pinned, tid.row());
        let mut writer = None;
        let mut next = newest(word, guard);
        while let Some(record) = next {
            let (stamp, kind) = (record.stamp(), record.kind());
            next = record.older();
            match (kind, writer) {
                (Kind::Restored | Kind::Lock | Kind::Echo, None) => continue,
                (Kind::Void, _) => return Holder::Nobody,
                // Older than all that the running writer did: what an undo would bring back.
                (_, Some(writer)) if stamp != writer => break,
                (_, None) if is_running(stamp) && stamp != txn.0 => writer = Some(stamp),
                (Kind::Delete, None) => return Holder::Nobody,
                (_, None) => {
                    let has_key = version.has_key(index, key, scratch);
                    return if has_key { Holder::Row(tid) } else { Holder::Nobody };
                }
                _ => {}
            }
            let writer = writer.expect("set above");
            if version.has_key(index, key, scratch) {
                return Holder::Running(TxnId(writer));
            }
            if kind == Kind::Insert {
                return Holder::Nobody;
            }
            version.undo(record);
        }
        if created == NEVER || is_on_its_way || !version.has_key(index, key, scratch) {
            return Holder::Nobody;
        }
        match writer {
            Some(writer) => Holder::Running(TxnId(writer)),
            None if is_running(created) && created != txn.0 => Holder::Running(TxnId(created)),
            None => Holder::Row(tid),
        }
    }

    /// Makes an entry in each index that `wanted` names by number.
    ///
    /// # Errors
    /// 53200 without memory; some entries may have been made.
    pub(super) fn add_entries(
        &self,
        indexes: &[Arc<TableIndex>],
        (keys, latches): (&[KeyBuffer], &KeyLatches<'_>),
        wanted: impl Fn(usize) -> bool,
        tid: Tid,
    ) -> Result<(), WriteError> {
        for (i, index) in indexes.iter().enumerate().filter(|(i, _)| wanted(*i)) {
            if keys[i].is_absent() {
                continue;
            }
            match latches.gaps.get(i).copied().flatten() {
                Some(gap) => index.insert_at(gap, &keys[i], tid)?,
                None => index.insert(&keys[i], tid)?,
            };
        }
        Ok(())
    }

    /// Removes the entries of a row that nobody but its undone writer saw.
    pub(crate) fn remove_entries(&self, block: &Block, row: u32, guard: &Guard) {
        let indexes = self.index_list(guard);
        if indexes.is_empty() {
            return;
        }
        let tid = Tid::new(block.id(), row);
        let version = Version::newest(block.pin_again(), row);
        with_scratch(|scratch| {
            for index in indexes {
                version.key(index, &mut scratch.row, &mut scratch.key);
                remove_entry(index, &scratch.key, tid);
            }
        });
    }

    /// Puts the values before `record`, an Update of a running transaction, back, and removes the
    /// entries of keys that no version has any more.
    pub(crate) fn undo_update(&self, block: &Block, record: RecordRef<'_>, guard: &Guard) {
        let row = record.row();
        let word = block.word(row).expect("the zone of a written row");
        let found = latch(word);
        let changed = || record.images().iter().map(|image| usize::from(image.column));
        let indexes = self.index_list(guard).iter();
        let affected = indexes.filter(|index| is_affected(index, changed()));
        let undone: Vec<(&Arc<TableIndex>, KeyBuffer)> = affected
            .map(|index| {
                let mut key = KeyBuffer::new();
                Version::newest(block.pin_again(), row).key(index, &mut RowBuffer::new(), &mut key);
                (index, key)
            })
            .collect();
        for image in record.images() {
            let column = usize::from(image.column);
            block.store_bits(column, row as usize, image.bits);
            block.store_null(column, row as usize, image.null);
        }
        for (index, mut key) in undone {
            self.leave_out_versions(block, row, found, index, &mut key, guard);
            remove_entry(index, &key, Tid::new(block.id(), row));
        }
        record.set_kind(Kind::Restored);
        publish(word, found);
    }

    /// Leaves in `key` the entries that no version of a row needs, whose version word is known.
    pub(super) fn leave_out_versions(
        &self,
        block: &Block,
        row: u32,
        word: u64,
        index: &TableIndex,
        key: &mut KeyBuffer,
        guard: &Guard,
    ) {
        with_scratch(|scratch| {
            let mut version = Version::newest(block.pin_again(), row);
            let mut next = newest(word, guard);
            while !key.is_absent() {
                version.key(index, &mut scratch.row, &mut scratch.key);
                index.leave_out(key, &scratch.key);
                let Some(record) = next else { return };
                version.undo(record);
                next = record.older();
            }
        });
    }

    /// Before `record` and all older ones are unlinked: removes the entries that only the versions
    /// they lead to need; those of the whole row when `record` ends it. The row is latched, `word`
    /// what it was.
    pub(crate) fn remove_old_entries(
        &self,
        block: &Block,
        record: RecordRef<'_>,
        word: u64,
        guard: &Guard,
    ) {
        let indexes = self.index_list(guard);
        // The entries of an undone insert went when it was undone.
        if indexes.is_empty() || record.kind() == Kind::Void {
            return;
        }
        let ends = record.kind() == Kind::Delete;
        let tid = Tid::new(block.id(), record.row());
        for index in indexes {
            if !ends && !chain_affects(record, index) {
                continue;
            }
            let (mut kept, mut old): (Vec<KeyBuffer>, Vec<KeyBuffer>) = (Vec::new(), Vec::new());
            let mut version = Version::newest(block.pin_again(), record.row());
            let mut is_kept = !ends;
            let mut next = newest(word, guard);
            loop {
                let mut key = KeyBuffer::new();
                version.key(index, &mut RowBuffer::new(), &mut key);
                if is_kept { &mut kept } else { &mut old }.push(key);
                let Some(above) = next else { break };
                is_kept &= above.address() != record.address();
                version.undo(above);
                next = above.older();
            }
            for mut key in old {
                kept.iter().for_each(|kept| index.leave_out(&mut key, kept));
                remove_entry(index, &key, tid);
            }
        }
    }
}

/// Removes the entry of a row with `key`, if rows with it have one.
fn remove_entry(index: &TableIndex, key: &KeyBuffer, tid: Tid) {
    if !key.is_absent() {
        index.remove(key, tid);
    }
}

/// True when `record` or an older one changed a column of the key.
fn chain_affects(record: RecordRef<'_>, index: &TableIndex) -> bool {
    let mut next = Some(record);
    while let Some(record) = next {
        let columns = record.images().iter().map(|image| usize::from(image.column));
        if is_affected(index, columns) {
            return true;
        }
        next = record.older();
    }
    false
}

/// Holder of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Nobody,
    /// This transaction may, depending on how it ends.
    Running(TxnId),
    /// This row.
    Row(Tid),
}
