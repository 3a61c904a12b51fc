//! The rows of a table at one moment.

use std::sync::Arc;

use kernels::{Column, HeapRef};
use types::Result;

use crate::block::Block;
use crate::positions::Positions;
use crate::schema::Schema;
use crate::unpack::unpack;

/// An immutable view of a table; it keeps the blocks it sees alive.
#[derive(Debug)]
pub struct TableSnapshot {
    schema: Schema,
    blocks: Vec<Arc<Block>>,
    rows: u64,
}

impl TableSnapshot {
    pub(crate) fn new(schema: Schema, blocks: Vec<Arc<Block>>) -> Arc<Self> {
        let rows = blocks.iter().map(|b| b.rows() as u64).sum();
        Arc::new(Self { schema, blocks, rows })
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Rows of all blocks.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Block number `i`, from 0, in the order in which rows were added.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn block(&self, i: usize) -> &Block {
        &self.blocks[i]
    }

    /// Bytes of memory of all blocks.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|b| b.bytes()).sum()
    }

    /// Column `column` of rows `positions` of block number `block` (step 4 of a scan). String views
    /// point into the blocks and keep this snapshot alive; string dictionaries are made once per
    /// block.
    ///
    /// # Errors
    /// None today; blocks that are not in memory will have some.
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
        assert!(positions.are_below(block.rows()), "rows of the block");
        let heap = HeapRef::pinned(Arc::clone(self) as Arc<_>);
        Ok(unpack(block, column, positions, &heap))
    }
}
