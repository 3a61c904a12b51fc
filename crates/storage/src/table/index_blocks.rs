//! The index sub-blocks of a table: which its frozen blocks have, now and from now on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use types::Result;

use super::Table;
use crate::block::sub_block::{SubBlock, SubBlockSpec};
use crate::block::{Block, BlockLayout};
use crate::ids::IndexId;

/// Totals of a table's index sub-blocks for one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubBlockInfo {
    /// Blocks that have something.
    pub blocks: u64,
    /// Entries: rows, or distinct values of each block.
    pub entries: u64,
    /// Bytes of memory held.
    pub bytes: u64,
}

impl Table {
    /// Builds index sub-blocks in all frozen blocks, with `threads` threads; blocks made later get
    /// them, too. Queries may run meanwhile.
    ///
    /// # Errors
    /// 53200 without memory; no block then has any.
    pub fn add_sub_blocks(&self, spec: SubBlockSpec, threads: usize) -> Result<()> {
        let _latch = self.indexes_change.lock();
        let id = spec.id;
        {
            // Known first: a block made from here on is built with it.
            let mut specs = self.sub_blocks.lock();
            *specs = specs.iter().cloned().chain([spec]).collect();
        }
        let blocks = Arc::clone(&self.blocks.lock().all);
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let run = || {
            while failure.lock().is_none() {
                let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                if let Err(error) = self.build_sub_blocks(block) {
                    failure.lock().get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads.min(blocks.len())).for_each(|_| drop(scope.spawn(run)));
            run();
        });
        match failure.into_inner() {
            Some(error) => {
                self.remove_sub_blocks(id);
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Recovery: as [`Self::add_sub_blocks`], but blocks that are not in memory get theirs when
    /// they are first read.
    ///
    /// # Errors
    /// As there.
    pub fn recover_sub_blocks(&self, spec: SubBlockSpec, threads: usize) -> Result<()> {
        let blocks = Arc::clone(&self.blocks.lock().all);
        let absent = blocks.iter().filter(|block| !block.is_resident());
        absent.for_each(|block| block.await_sub_block(spec.clone()));
        self.add_sub_blocks(spec, threads)
    }

    /// Builds the index sub-blocks that `block` should have, does not have and does not wait for.
    ///
    /// # Errors
    /// 53200 without memory; those of reading the block.
    pub(crate) fn build_sub_blocks(&self, block: &Block) -> Result<()> {
        if block.layout() != BlockLayout::Frozen {
            return Ok(());
        }
        let specs = Arc::clone(&self.sub_blocks.lock());
        let missing: Vec<&SubBlockSpec> =
            specs.iter().filter(|spec| !block.has_sub_block(spec.id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let pinned = block.pin()?;
        let frozen = pinned.frozen().expect("a frozen block");
        for spec in missing {
            block.add_sub_block(SubBlock::build(frozen, spec, &self.pool)?);
        }
        Ok(())
    }

    /// Drops what blocks have for index `id`. The latch on changes of indexes is held.
    pub(super) fn remove_sub_blocks(&self, id: IndexId) {
        {
            let mut specs = self.sub_blocks.lock();
            *specs = specs.iter().filter(|spec| spec.id != id).cloned().collect();
        }
        let blocks = Arc::clone(&self.blocks.lock().all);
        blocks.iter().for_each(|block| block.remove_sub_block(id));
    }

    /// The index sub-blocks that its frozen blocks have.
    pub fn sub_blocks(&self) -> Arc<[SubBlockSpec]> {
        Arc::clone(&self.sub_blocks.lock())
    }

    /// Totals of its index sub-blocks for index `id`.
    pub fn sub_block_info(&self, id: IndexId) -> SubBlockInfo {
        let blocks = Arc::clone(&self.blocks.lock().all);
        let mut info = SubBlockInfo::default();
        for block in blocks.iter() {
            let all = block.sub_blocks();
            if let Some(found) = all.iter().find(|known| known.id() == id) {
                let entries = found.entries(block);
                info.blocks += u64::from(entries > 0);
                info.entries += entries;
                info.bytes += found.bytes();
            }
        }
        info
    }
}
