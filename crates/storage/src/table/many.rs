//! Rows of many keys: what their reads would wait for is asked for in advance.
//!
//! ```text
//! keys -> | bucket, bucket, ...  | row, row, ...       | string, string, ... |  asked for
//!                 hashes of all     one TID for each      spans of the rows     -> one by one
//! ```
//! A read by key waits for memory about four times, each time for what it found before. Keys of a
//! group wait together, so that a group takes little longer than one of them.
//! Invariant: what is found in advance is a hint: a row is read when it is asked for, by the rules
//! of [`Table::get`], and looked up again when the hint does not lead to it.
//! Source: Chen et al. 2007, "Improving Hash Join Performance through Prefetching", group
//! prefetching.

use std::ops::{ControlFlow, Range};

use crossbeam_epoch as epoch;
use types::Result;

use super::Table;
use super::find::{KeyRead, KeyReader};
use crate::datum::{Datum, RowBuffer};
use crate::index::{Entry, KeyBuffer, TableIndex};
use crate::tid::Tid;
use crate::version::Snapshot;

/// Keys that wait together: as many lines as a core has on the way at a time, and some more.
const GROUP_KEYS: usize = 16;

/// Keys of one index whose rows are wanted. Used again and again it does not allocate.
#[derive(Debug, Default)]
pub struct KeyBatch {
    /// The keys, one after the other.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    buffer: KeyBuffer,
    /// Which keys were looked up.
    group: Range<usize>,
    /// The entries of those that have one entry.
    tids: [Option<Tid>; GROUP_KEYS],
    /// `TableIndex::removals` before these were found.
    removals: Option<u64>,
}

impl KeyBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets all keys; keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.group = 0..0;
    }

    /// Adds the key of `values`, those of all columns of `index`, which is that of all keys.
    ///
    /// # Panics
    /// As [`TableIndex::encode`].
    pub fn push(&mut self, index: &TableIndex, values: &[Datum<'_>]) {
        index.encode(values, &mut self.buffer);
        self.bytes.extend_from_slice(&self.buffer);
        self.ends.push(self.bytes.len());
    }

    #[inline]
    fn key(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }
}

impl Table {
    /// As [`Self::get`], for key number `i` of `batch`, which is of index number `index`; cheap
    /// when keys are asked for in order, with the same columns.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such index, column or key.
    pub fn get_nth(
        &self,
        index: usize,
        at: Snapshot,
        batch: &mut KeyBatch,
        i: usize,
        columns: &[usize],
        out: &mut RowBuffer,
    ) -> Result<Option<Tid>> {
        let guard = epoch::pin();
        let index = &self.index_list(&guard)[index];
        let reader = self.reader(KeyRead { index, at, columns }, &guard);
        match reader.read_ahead(batch, i, out)? {
            Some(tid) => Ok(Some(tid)),
            None => reader.get(batch.key(i), out),
        }
    }

    /// As [`Self::read_key`], for key number `i` of `batch`, which is of the index; cheap when keys
    /// are asked for in order, with the same columns.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// If there is no such column or key.
    pub fn read_nth(
        &self,
        read: KeyRead<'_>,
        batch: &mut KeyBatch,
        i: usize,
        out: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let guard = epoch::pin();
        let reader = self.reader(read, &guard);
        match reader.read_ahead(batch, i, out)? {
            Some(tid) => Ok(visit(tid, out)),
            None => reader.visit(batch.key(i), out, visit),
        }
    }
}

impl KeyReader<'_> {
    /// Reads the row of key number `i` if its only entry leads there.
    #[inline]
    fn read_ahead(
        &self,
        batch: &mut KeyBatch,
        i: usize,
        out: &mut RowBuffer,
    ) -> Result<Option<Tid>> {
        if !batch.group.contains(&i) {
            self.look_ahead(batch, i);
        }
        let Some(tid) = batch.tids[i - batch.group.start] else { return Ok(None) };
        let entry = Entry { key: batch.key(i), tid, removals: batch.removals };
        Ok(self.read_entry(entry, out)?.then_some(tid))
    }

    /// Looks up the group of keys that begins with number `first`, and asks the processor for
    /// what reading the columns of their rows needs.
    fn look_ahead(&self, batch: &mut KeyBatch, first: usize) {
        let KeyRead { index, columns, .. } = self.read;
        let group = first..batch.len().min(first + GROUP_KEYS);
        batch.removals = index.removals();
        let mut marks = [0; GROUP_KEYS];
        for (i, mark) in group.clone().zip(&mut marks) {
            *mark = index.fetch(batch.key(i));
        }
        let mut tids = [None; GROUP_KEYS];
        for (n, i) in group.clone().enumerate() {
            tids[n] = only_entry(index, batch.key(i), marks[n]);
            if let Some(tid) = tids[n]
                && let Some(block) = self.table.locate(tid, self.guard)
            {
                block.fetch_row(columns, tid.row());
            }
        }
        for tid in tids.iter().flatten() {
            if let Some(block) = self.table.locate(*tid, self.guard) {
                block.fetch_strings(columns, tid.row() as usize);
            }
        }
        (batch.group, batch.tids) = (group, tids);
    }
}

/// The entry of a key that has one.
fn only_entry(index: &TableIndex, key: &[u8], mark: u64) -> Option<Tid> {
    let mut only = None;
    let more = index.lookup_fetched(key, mark, |tid| match only.replace(tid) {
        None => ControlFlow::Continue(()),
        Some(_) => ControlFlow::Break(()),
    });
    only.filter(|_| more.is_continue())
}
