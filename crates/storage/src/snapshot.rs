//! The rows of a table as one snapshot sees them.
//!
//! ```text
//! TableSnapshot | at | block, rows | block, rows | ...
//! ```
//! Invariants: what a snapshot sees never changes. Hot blocks are seen up to the rows claimed when
//! it was taken; which of those exist, and their values, say the version words. Blocks of loads
//! that it does not see are not in it. A row that has no word is there and stays there.

use std::ops::{Deref, Range};
use std::sync::Arc;

use crossbeam_epoch as epoch;
use kernels::{Column, HeapRef, Vector, VectorData};
use types::Result;

use crate::block::Block;
use crate::positions::{Positions, with_rows};
use crate::schema::Schema;
use crate::tid::{TID_COLUMN, Tid};
use crate::unpack::unpack;
use crate::version::Snapshot;
use crate::versions::{ZONE_ROWS, Zones};

/// A block up to the rows that a snapshot may see.
#[derive(Debug)]
pub struct BlockView {
    block: Arc<Block>,
    rows: usize,
}

impl BlockView {
    /// Rows, also those that the snapshot does not see.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn shared(&self) -> Arc<Block> {
        Arc::clone(&self.block)
    }
}

impl Deref for BlockView {
    type Target = Block;

    fn deref(&self) -> &Block {
        &self.block
    }
}

/// An immutable view of a table; it keeps the blocks it sees alive.
#[derive(Debug)]
pub struct TableSnapshot {
    schema: Schema,
    at: Snapshot,
    blocks: Vec<BlockView>,
}

impl TableSnapshot {
    pub(crate) fn new(schema: Schema, at: Snapshot, blocks: &[Arc<Block>]) -> Arc<Self> {
        let seen = blocks.iter().filter(|b| b.is_seen(at));
        let view = |block: &Arc<Block>| BlockView { block: Arc::clone(block), rows: block.rows() };
        Arc::new(Self { schema, at, blocks: seen.map(view).collect() })
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Transaction snapshot that it reads.
    pub fn at(&self) -> Snapshot {
        self.at
    }

    /// Rows of all blocks: no fewer than it sees.
    pub fn rows(&self) -> u64 {
        self.blocks.iter().map(|b| b.rows as u64).sum()
    }

    /// How many blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Block number `i`, from 0, in the order in which blocks were added.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn block(&self, i: usize) -> &BlockView {
        &self.blocks[i]
    }

    /// Bytes of memory of all blocks.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|b| b.bytes()).sum()
    }

    /// The rows of block number `block` that it sees.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn visible(&self, block: usize) -> Vec<u32> {
        self.visible_of(block, 0..self.block(block).rows as u32)
    }

    /// As [`Self::visible`], of these rows alone.
    pub(crate) fn visible_of(&self, block: usize, rows: Range<u32>) -> Vec<u32> {
        let view = self.block(block);
        let mut rows = rows.collect();
        self.retain_visible(view, view.versions.zones(), &mut rows);
        rows
    }

    /// Keeps the rows it sees; they ascend. `zones` are as at any moment after the snapshot was
    /// taken.
    pub(crate) fn retain_visible(&self, block: &Block, zones: Zones, rows: &mut Vec<u32>) {
        if zones.is_empty() {
            return;
        }
        let guard = epoch::pin();
        let (mut next, mut kept) = (0, 0);
        while next < rows.len() {
            let number = rows[next] as usize / ZONE_ROWS;
            let limit = (number + 1) * ZONE_ROWS;
            let end = next + rows[next..].partition_point(|&row| (row as usize) < limit);
            let zone = block.versions.zone(rows[next]);
            if let Some(zone) = zone.filter(|_| zones.quiet >> number & 1 == 1) {
                let gone = zone.marks().gone();
                for i in next..end {
                    let row = rows[i];
                    let at = row as usize % ZONE_ROWS;
                    rows[kept] = row;
                    kept += (!gone[at / 64] >> (at % 64) & 1) as usize;
                }
            } else if zones.touched >> number & 1 == 1 {
                for i in next..end {
                    let row = rows[i];
                    rows[kept] = row;
                    kept += usize::from(block.exists(row, self.at, &guard));
                }
            } else {
                rows.copy_within(next..end, kept);
                kept += end - next;
            }
            next = end;
        }
        rows.truncate(kept);
    }

    /// Column `column`, or [`TID_COLUMN`], of rows `positions` of block number `block` (step 4 of a
    /// scan). The values of rows that it does not see are arbitrary. String views point into the
    /// blocks and keep their memory alive; string dictionaries are made once per block.
    ///
    /// # Errors
    /// Errors of reading a frozen block that is not in memory: XX001, 53200, 58030.
    ///
    /// # Panics
    /// If there is no such block, column or row.
    pub fn unpack(
        self: &Arc<Self>,
        block: usize,
        column: usize,
        positions: &Positions,
    ) -> Result<Column> {
        let block = self.block(block);
        assert!(positions.are_below(block.rows), "rows of the block");
        if column == TID_COLUMN {
            let tid = |row: usize| Tid::new(block.id(), row as u32).0 as i64;
            let tids = with_rows!(positions, rows => rows.map(tid).collect());
            return Ok(Column::plain(Vector::new(VectorData::I64(tids))));
        }
        let heap = || HeapRef::pinned(Arc::clone(self) as Arc<_>);
        unpack(block, column, positions, self.at, heap)
    }
}
