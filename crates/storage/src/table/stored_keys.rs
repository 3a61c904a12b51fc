//! Keys of frozen blocks in files: written with checkpoints, read in the place of rows when the
//! database is opened.
//!
//! ```text
//! checkpoint  rows of a frozen block -> IndexKeys, one run for each index
//! opening     frozen block with a run: rows that are there -> entries; others: rows are read
//! ```
//! Invariant: the keys of a frozen block depend on its rows and on the definition of the index
//! only, so a run is never stale; rows deleted since are left out when it is read.
//! Elsewhere: runs as bytes (`index::stored`), files (`txn::checkpoint`).

use std::ops::ControlFlow;
use std::sync::Arc;

use types::Result;
use types::budget;

use super::batch::newest_key;
use super::old_keys::OldKeys;
use super::{BlockImage, Table};
use crate::block::Block;
use crate::datum::RowBuffer;
use crate::index::{
    BuiltKeys, IndexKeys, IndexKind, KeyBuffer, RunWriter, StoredRun, TableIndex, Uniqueness,
};
use crate::row::settled;
use crate::tid::Tid;
use crate::version::{TxnId, WriteError};
use crate::versions::DEAD;

/// Reader of the keys of blocks.
pub trait KeySource: Sync {
    /// The [`IndexKeys::run`] of a block for the index of this definition; None when there is none
    /// that can be used.
    fn run(&self, block: u64, definition: &[u8]) -> Option<Vec<u8>>;
}

/// True unless row `row` is dead for everybody.
fn is_there(block: &Block, row: u32) -> bool {
    block.word(row).is_none_or(|word| settled(word) != DEAD)
}

impl BlockImage {
    /// The keys that the rows of a frozen block have in those of `indexes` whose keys can be kept;
    /// none for a hot block.
    ///
    /// # Errors
    /// Errors of reading a block that is not in memory.
    pub fn keys(&self, indexes: &[Arc<TableIndex>]) -> Result<Vec<IndexKeys>> {
        let block = self.block();
        if block.hot.is_some() || indexes.iter().all(|index| index.definition().is_none()) {
            return Ok(Vec::new());
        }
        let pinned = block.pin()?;
        let (mut key, mut row) = (KeyBuffer::new(), RowBuffer::new());
        let mut keys_of = |index: &Arc<TableIndex>| {
            let definition = index.definition()?.to_vec();
            let mut writer = RunWriter::default();
            for number in (0..block.rows() as u32).filter(|&number| is_there(block, number)) {
                let made = newest_key(&pinned, number, index, &mut row, &mut key);
                // A row whose key cannot be computed was refused, or is gone.
                if made.is_ok() && !key.is_absent() {
                    writer.push(&key, number);
                }
            }
            Some(IndexKeys { definition, run: writer.finish(index.key_bytes()) })
        };
        Ok(indexes.iter().filter_map(&mut keys_of).collect())
    }
}

impl Table {
    /// Recovery: as [`Self::add_index`], with the keys of `source` for frozen blocks, whose rows
    /// are read where it has none.
    ///
    /// # Errors
    /// As there; equal keys in a unique index are damage.
    pub fn recover_index(
        &self,
        index: TableIndex,
        threads: usize,
        source: &dyn KeySource,
    ) -> Result<Arc<TableIndex>, WriteError> {
        let _latch = self.indexes_change.lock();
        let blocks = Arc::clone(&self.blocks.lock().all);
        let old_keys = OldKeys::default();
        let keys = index.bulk_build(threads, blocks.len(), |part, run| {
            let block = &blocks[part];
            let bytes = bytes_of(block, &index, source).unwrap_or_default();
            budget::check()?;
            let Some(stored) = StoredRun::read(&bytes, index.key_bytes(), block.rows()) else {
                return self.enter_versions(block, &index, run, &old_keys);
            };
            let mut present = stored.iter().filter(|(row, _)| is_there(block, *row));
            present.try_for_each(|(row, key)| run.push(key, Tid::new(block.id(), row)))
        })?;
        let number = self.indexes().len();
        match (index.spec().unique, index.spec().kind) {
            (Uniqueness::No, _) => {}
            _ if keys == BuiltKeys::Distinct => {}
            (_, IndexKind::Ordered) => self.check_unique_ordered(&index, number, TxnId::NONE)?,
            _ => self.check_recovered(&index, &blocks, number, source)?,
        }
        let index = self.put_index(index);
        old_keys.settle(self, &index);
        Ok(index)
    }

    /// Finds two rows of one key in an index without order.
    fn check_recovered(
        &self,
        index: &TableIndex,
        blocks: &[Arc<Block>],
        number: usize,
        source: &dyn KeySource,
    ) -> Result<(), WriteError> {
        let distinct = index.spec().unique == Uniqueness::Distinct;
        for block in blocks {
            let bytes = bytes_of(block, index, source).unwrap_or_default();
            let Some(stored) = StoredRun::read(&bytes, index.key_bytes(), block.rows()) else {
                self.check_unique_block(index, block, number, TxnId::NONE)?;
                continue;
            };
            budget::check()?;
            let keys = stored.iter().filter(|(row, _)| is_there(block, *row)).map(|(_, key)| key);
            for key in keys.filter(|key| !(distinct && index.has_null(key))) {
                let mut tids = Vec::with_capacity(2);
                let _ = index.lookup(key, |tid| {
                    tids.push(tid);
                    if tids.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                if let [_, tid] = tids[..] {
                    return Err(WriteError::Duplicate { index: number, tid });
                }
            }
        }
        Ok(())
    }
}

/// The keys of a frozen block, if they are kept.
fn bytes_of(block: &Block, index: &TableIndex, source: &dyn KeySource) -> Option<Vec<u8>> {
    if block.hot.is_some() { None } else { source.run(block.id(), index.definition()?) }
}
