//! Writing many rows: batches, frozen blocks, loads; and indexes over the rows that are there.
//!
//! ```text
//! insert_batch -> hot rows, claimed up to 1,024 at a time, each with a record of its own
//!              -> frozen blocks (layout frozen), one record a block
//! TableLoad    -> blocks, one record each
//! ```

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use kernels::{Batch, Vector, VectorBuilder};
use types::Result;
use types::budget;

use super::Table;
use super::entries::{Holder, KeyLatches, Scratch, encode_key, with_scratch};
use super::old_keys::OldKeys;
use super::write::publish_insert;
use crate::block::{BLOCK_ROWS_MAX, Block, Pinned};
use crate::datum::{Datum, RowBuffer};
use crate::freeze::freeze;
use crate::hot::rows_that_fit;
use crate::index::{
    BuiltKeys, Direction, IndexKind, KeyBuffer, KeyRange, KeyRun, TableIndex, Uniqueness,
};
use crate::record::{Kind, RecordRef};
use crate::row::{newest, settled};
use crate::statistics::{ColumnSummary, Sample};
use crate::table::UndoBuffer;
use crate::tid::Tid;
use crate::version::TxnId;
use crate::version::WriteError;
use crate::versions::{DEAD, ZONE_ROWS};

/// Rows between two looks whether to go on.
const LOOK_ROWS: u32 = 1 << 12;

/// Blocks and statistics that a load made.
pub(crate) struct Loaded<'l> {
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) summaries: &'l [ColumnSummary],
    pub(crate) sample: &'l Sample,
}

/// A load on its way into its table: each block first, then the index entries of its rows.
pub(crate) struct Publication {
    /// The blocks that do not have all their entries.
    blocks: VecDeque<Arc<Block>>,
    /// Once the first of them is in the table: how many of its rows have their entries.
    entered: Option<u32>,
}

impl Table {
    /// Adds the rows of `batch`, columns in schema order, and their TIDs to `tids`. Stops at the
    /// first error: the caller rolls back to its mark.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_batch(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        batch: &Batch,
        tids: &mut Vec<Tid>,
    ) -> Result<(), WriteError> {
        let vectors = self.conform(batch)?;
        let vectors: Vec<&Vector> = vectors.iter().map(|v| &**v).collect();
        if batch.rows == 0 {
            return Ok(());
        }
        if self.freezes_inserts() {
            return self.insert_frozen(undo, &vectors, batch.rows, tids);
        }
        let guard = epoch::pin();
        for (column, vector) in vectors.iter().enumerate() {
            self.bounds.admit_vector(column, vector, &guard);
        }
        drop(guard);
        let mut from = 0;
        while from < batch.rows {
            from += self.insert_some(undo, &vectors, from..batch.rows, tids)?;
        }
        Ok(())
    }

    /// Adds the first of `rows` as hot rows; returns how many.
    fn insert_some(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        vectors: &[&Vector],
        rows: Range<usize>,
        tids: &mut Vec<Tid>,
    ) -> Result<usize, WriteError> {
        self.pool.relieve();
        let guard = epoch::pin();
        let string_bytes = |v: &&Vector| match Datum::of(v, rows.start) {
            Datum::Str(text) => text.len(),
            _ => 0,
        };
        let first_bytes = vectors.iter().map(string_bytes).sum();
        let next = rows.start..rows.end.min(rows.start + ZONE_ROWS);
        let fitting = rows_that_fit(vectors, next, self.tail_room(&guard));
        let (block, claimed) = self.claim((fitting, rows.len()), first_bytes, &guard)?;
        let count = claimed.len();
        let from = rows.start..rows.start + count;
        let written = block.write_vectors(vectors, from.clone(), claimed.start as usize);
        if let Err(error) = written {
            self.bury(block.get(), claimed, &guard);
            return Err(error.into());
        }
        let indexes = self.index_list(&guard);
        for (i, row) in from.enumerate() {
            let tid = Tid::new(block.id(), claimed.start + i as u32);
            let published = with_scratch(|scratch| {
                let value = |column: usize| Datum::of(vectors[column], row);
                let latches = self.admit_row(indexes, scratch, value, undo.txn(), &guard)?;
                let record = undo.add(self, block, tid.row(), Kind::Insert, 0)?;
                publish_insert(undo, block.get(), record);
                self.add_entries(indexes, (&scratch.keys, &latches), |_| true, tid)
            });
            if let Err(error) = published {
                let is_published = settled(block.word(tid.row()).expect("claimed")) != DEAD;
                let left = tid.row() + u32::from(is_published)..claimed.end;
                self.bury(block.get(), left, &guard);
                return Err(error);
            }
            tids.push(tid);
        }
        Ok(count)
    }

    /// Makes the keys of a new row and latches the unique ones, which nobody may have.
    fn admit_row<'i, 'a>(
        &self,
        indexes: &'i [Arc<TableIndex>],
        scratch: &mut Scratch,
        value: impl FnMut(usize) -> Datum<'a>,
        txn: TxnId,
        guard: &Guard,
    ) -> Result<KeyLatches<'i>, WriteError> {
        self.encode_keys(indexes, scratch, value)?;
        self.admit_keys(indexes, scratch, |_| true, (txn, None), guard)
    }

    pub(super) fn insert_frozen_row(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        row: &[Datum<'_>],
    ) -> Result<Tid, WriteError> {
        let vectors = row.iter().enumerate().map(|(column, &datum)| {
            let mut builder = VectorBuilder::new(self.types[column]);
            builder.push_value(&datum.to_value());
            builder.finish()
        });
        let vectors: Vec<Vector> = vectors.collect();
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let mark = undo.mark();
        let mut tids = Vec::new();
        match self.insert_frozen(undo, &vectors, 1, &mut tids) {
            Ok(()) => Ok(tids[0]),
            Err(error) => {
                undo.rollback_to(mark);
                Err(error)
            }
        }
    }

    /// Makes frozen blocks of the rows.
    fn insert_frozen(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        vectors: &[&Vector],
        rows: usize,
        tids: &mut Vec<Tid>,
    ) -> Result<(), WriteError> {
        for start in (0..rows).step_by(BLOCK_ROWS_MAX) {
            let len = BLOCK_ROWS_MAX.min(rows - start);
            let part: Vec<Vector> = if len == rows {
                Vec::new()
            } else {
                vectors.iter().map(|v| v.slice(start, len)).collect()
            };
            let part: Vec<&Vector> =
                if len == rows { vectors.to_vec() } else { part.iter().collect() };
            let (block, summaries) = freeze(self.next_block_id(), &part, len, &self.pool)?;
            let mut sample = Sample::new(&self.types, self.known.threshold());
            sample.add(&part, len, block.id());
            let id = block.id();
            let blocks = vec![Arc::new(block)];
            let loaded = Loaded { blocks, summaries: &summaries, sample: &sample };
            self.publish(&mut self.admit(loaded), Some(&mut *undo))?;
            tids.extend((0..len as u32).map(|row| Tid::new(id, row)));
        }
        Ok(())
    }

    /// Takes note of what `loaded` has, before the first of its rows is seen.
    pub(crate) fn admit(&self, loaded: Loaded<'_>) -> Publication {
        let guard = epoch::pin();
        for (column, summary) in loaded.summaries.iter().enumerate() {
            self.bounds.admit_summary(column, summary, &guard);
        }
        self.known.add_loaded(&loaded.blocks, loaded.summaries, loaded.sample);
        Publication { blocks: loaded.blocks.into(), entered: None }
    }

    /// Adds whole blocks, as part of a transaction or for everybody at once. After
    /// [`WriteError::Wait`] the caller calls again, or rolls back as after any other error:
    /// the transaction to before; without one the rows stay.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub(crate) fn publish(
        self: &Arc<Self>,
        publication: &mut Publication,
        mut undo: Option<&mut UndoBuffer>,
    ) -> Result<(), WriteError> {
        let txn = undo.as_ref().map_or(TxnId::NONE, |undo| undo.txn());
        while let Some(block) = publication.blocks.front() {
            if publication.entered.is_none() {
                self.add_loaded(block, undo.as_deref_mut())?;
            }
            self.enter_block(block, publication.entered.get_or_insert(0), txn)?;
            publication.blocks.pop_front();
            publication.entered = None;
        }
        Ok(())
    }

    /// Adds a block without its index entries.
    fn add_loaded(
        self: &Arc<Self>,
        block: &Arc<Block>,
        undo: Option<&mut UndoBuffer>,
    ) -> Result<(), WriteError> {
        let rows = block.rows();
        self.build_sub_blocks(block)?;
        match &undo {
            Some(undo) => block.set_creator(undo.txn(), undo.statement()),
            None => block.set_created(TxnId::NONE.0),
        }
        self.add_block(Arc::clone(block));
        let guard = epoch::pin();
        let Some(undo) = undo else {
            self.note_commit(rows as i64, rows as u64);
            return Ok(());
        };
        let place = self.directory.get(block.id(), &guard).expect("added above");
        let record = undo.add(self, place, 0, Kind::Block, 0)?;
        undo.count(record, rows as i64);
        Ok(())
    }

    /// Makes the index entries of the rows of a new block from row `entered`, which says at any
    /// time how many rows have theirs.
    fn enter_block(&self, block: &Block, entered: &mut u32, txn: TxnId) -> Result<(), WriteError> {
        let block = block.pin()?;
        while *entered < block.rows() as u32 {
            let guard = epoch::pin();
            let indexes = self.index_list(&guard);
            if indexes.is_empty() {
                return Ok(());
            }
            let row = *entered;
            let tid = Tid::new(block.id(), row);
            with_scratch(|scratch| {
                for (i, index) in indexes.iter().enumerate() {
                    if scratch.keys.len() <= i {
                        scratch.keys.push(KeyBuffer::new());
                    }
                    newest_key(&block, row, index, &mut scratch.row, &mut scratch.keys[i])?;
                }
                let who = (txn, Some(tid));
                let latches = self.admit_keys(indexes, scratch, |_| true, who, &guard)?;
                self.add_entries(indexes, (&scratch.keys, &latches), |_| true, tid)
            })?;
            *entered += 1;
        }
        Ok(())
    }

    /// Builds `index` over the rows that are there, with `threads` threads, and maintains it from
    /// then on. Nobody but `txn` may write the table meanwhile; old snapshots find their versions.
    ///
    /// # Errors
    /// [`WriteError::Duplicate`] when two rows have one key of a unique index, with the number the
    /// index would have; 53200 without memory; what an expression raises for a row that is there.
    /// The table is then as before.
    pub fn add_index(
        &self,
        index: TableIndex,
        threads: usize,
        txn: TxnId,
    ) -> Result<Arc<TableIndex>, WriteError> {
        // Its threads are pinned while they ask for memory.
        self.pool.reclaim();
        let _latch = self.indexes_change.lock();
        let blocks = Arc::clone(&self.blocks.lock().all);
        let old_keys = OldKeys::default();
        let keys = index.bulk_build(threads, blocks.len(), |part, run| {
            self.enter_versions(&blocks[part], &index, run, &old_keys)
        })?;
        if index.spec().unique != Uniqueness::No && keys != BuiltKeys::Distinct {
            self.check_unique(&index, &blocks, self.indexes().len(), txn)?;
        }
        let index = self.put_index(index);
        old_keys.settle(self, &index);
        Ok(index)
    }

    /// Adds the entries of all versions of the rows of a block.
    pub(super) fn enter_versions(
        &self,
        block: &Block,
        index: &TableIndex,
        run: &mut KeyRun<'_, '_>,
        old_keys: &OldKeys,
    ) -> Result<()> {
        let block = block.pin()?;
        let guard = epoch::pin();
        let (mut key, mut row) = (KeyBuffer::new(), RowBuffer::new());
        let mut keys: Vec<KeyBuffer> = Vec::new();
        for number in 0..block.rows() as u32 {
            if number.is_multiple_of(LOOK_ROWS) {
                budget::check()?;
            }
            let tid = Tid::new(block.id(), number);
            let word = block.word(number).map_or(0, settled);
            if word == DEAD {
                continue;
            }
            let kind = newest(word, &guard).map(RecordRef::kind);
            // An expression may raise what it likes of a row that is no longer there.
            if !matches!(kind, Some(Kind::Delete | Kind::Void)) {
                newest_key(&block, number, index, &mut row, &mut key)?;
            }
            if word == 0 {
                push_entry(run, &key, tid)?;
            } else {
                keys.clear();
                self.version_keys(&block, number, word, index, &mut keys, &guard);
                // A row that is deleted needs none of its keys once nobody sees it.
                let newest = usize::from(kind != Some(Kind::Delete));
                if let Some(older) = keys.get(newest..).filter(|older| !older.is_empty()) {
                    old_keys.note(index, tid, older);
                }
                keys.iter().try_for_each(|key| push_entry(run, key, tid))?;
            }
        }
        Ok(())
    }

    /// Finds two rows of one key.
    fn check_unique(
        &self,
        index: &TableIndex,
        blocks: &[Arc<Block>],
        number: usize,
        txn: TxnId,
    ) -> Result<(), WriteError> {
        if index.spec().kind == IndexKind::Ordered {
            return self.check_unique_ordered(index, number, txn);
        }
        blocks.iter().try_for_each(|block| self.check_unique_block(index, block, number, txn))
    }

    /// Finds rows of a block whose key another row has, too.
    pub(super) fn check_unique_block(
        &self,
        index: &TableIndex,
        block: &Block,
        number: usize,
        txn: TxnId,
    ) -> Result<(), WriteError> {
        let distinct = index.spec().unique == Uniqueness::Distinct;
        let block = block.pin()?;
        let is_there = |row: &u32| block.word(*row).is_none_or(|word| settled(word) != DEAD);
        for row in (0..block.rows() as u32).filter(is_there) {
            if row.is_multiple_of(LOOK_ROWS) {
                budget::check()?;
            }
            let guard = epoch::pin();
            let tid = Tid::new(block.id(), row);
            with_scratch(|scratch| {
                let mut key = KeyBuffer::new();
                // Rows that are there have a key, or the index would not have been built.
                let made = newest_key(&block, row, index, &mut scratch.row, &mut key);
                if made.is_err()
                    || key.is_absent()
                    || distinct && key.has_null()
                    || !self.has(index, &key, tid, txn, scratch, &guard)?
                {
                    return Ok(());
                }
                match self.find_holder(index, &key, txn, Some(tid), scratch, &guard)? {
                    Holder::Nobody => Ok(()),
                    Holder::Row(tid) => Err(WriteError::Duplicate { index: number, tid }),
                    Holder::Running(txn) => Err(WriteError::Wait(txn)),
                }
            })?;
        }
        Ok(())
    }

    /// As [`Self::check_unique`], by neighbours in the order of keys: rows are looked at only where
    /// keys are equal, which are next to each other here and far apart in the table.
    pub(super) fn check_unique_ordered(
        &self,
        index: &TableIndex,
        number: usize,
        txn: TxnId,
    ) -> Result<(), WriteError> {
        let all = KeyRange { low: std::ops::Bound::Unbounded, high: std::ops::Bound::Unbounded };
        let mut cursor = index.range(all, Direction::Forward);
        let mut last = EqualKeys::default();
        let distinct = index.spec().unique == Uniqueness::Distinct;
        let mut entries = 0;
        while let Some((key, tid)) = cursor.next() {
            if u32::is_multiple_of(entries, LOOK_ROWS) {
                budget::check()?;
            }
            entries = entries.wrapping_add(1);
            if last.entries == 0 || last.key[..] != *key {
                last.begin(key, tid);
                continue;
            }
            last.entries += 1;
            // Such rows are distinct, and may be in blocks that are not in memory.
            if distinct && index.has_null(key) {
                continue;
            }
            let guard = epoch::pin();
            let found = with_scratch(|scratch| -> Result<Option<Tid>> {
                let mut has = |tid: Tid| self.has(index, key, tid, txn, scratch, &guard);
                if let Some(first) = last.first.take() {
                    last.holder = has(first)?.then_some(first);
                }
                Ok(if has(tid)? { last.holder.replace(tid) } else { None })
            })?;
            if let Some(tid) = found {
                return Err(WriteError::Duplicate { index: number, tid });
            }
        }
        Ok(())
    }

    /// True when the newest version of row `tid` has `key`.
    fn has(
        &self,
        index: &TableIndex,
        key: &[u8],
        tid: Tid,
        txn: TxnId,
        scratch: &mut Scratch,
        guard: &Guard,
    ) -> Result<bool> {
        let block = self.directory.get(tid.block(), guard);
        // Rows that have moved are found where they are.
        Ok(block.is_some_and(|block| block.moved_to().is_none())
            && self.holder(index, key, tid, txn, scratch, guard)? != Holder::Nobody)
    }

    /// The keys of all versions of a row, each once.
    fn version_keys(
        &self,
        block: &Block,
        row: u32,
        word: u64,
        index: &TableIndex,
        keys: &mut Vec<KeyBuffer>,
        guard: &Guard,
    ) {
        let mut version = super::entries::Version::newest(block.pin_again(), row);
        let mut buffer = RowBuffer::new();
        let mut next = newest(word, guard);
        loop {
            let mut key = KeyBuffer::new();
            version.key(index, &mut buffer, &mut key);
            if keys.iter().all(|other| other[..] != key[..]) {
                keys.push(key);
            }
            let Some(record) = next else { break };
            if record.kind() == Kind::Void {
                keys.clear();
                break;
            }
            version.undo(record);
            next = record.older();
        }
    }
}

/// Neighbouring entries of one key.
#[derive(Default)]
struct EqualKeys {
    key: Vec<u8>,
    entries: usize,
    /// The first of them, until it is looked at.
    first: Option<Tid>,
    /// A row that has the key.
    holder: Option<Tid>,
}

impl EqualKeys {
    /// The entry `tid` of another key.
    fn begin(&mut self, key: &[u8], tid: Tid) {
        self.key.clear();
        self.key.extend_from_slice(key);
        (self.entries, self.first, self.holder) = (1, Some(tid), None);
    }
}

/// Makes an entry, unless rows with `key` have none.
fn push_entry(run: &mut KeyRun<'_, '_>, key: &KeyBuffer, tid: Tid) -> Result<()> {
    if key.is_absent() { Ok(()) } else { run.push(key, tid) }
}

/// The key of the newest values of a row.
///
/// # Errors
/// Errors that an expression of the index raises.
pub(super) fn newest_key(
    block: &Pinned<&Block>,
    row: u32,
    index: &TableIndex,
    values: &mut RowBuffer,
    key: &mut KeyBuffer,
) -> Result<()> {
    values.clear();
    for &ordinal in index.ordinals() {
        block.push_newest(&[ordinal], row, values);
    }
    let mut next = 0;
    encode_key(index, key, |_| {
        next += 1;
        values.get(next - 1)
    })
}
