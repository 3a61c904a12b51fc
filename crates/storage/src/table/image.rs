//! Blocks for checkpoints.

use std::ops::Range;
use std::sync::Arc;

use kernels::{Bitmap, Vector};
use types::Result;

use super::Table;
use crate::block::{Block, BlockLayout};
use crate::hot::ImageWriter;
use crate::positions::Positions;
use crate::schema::Schema;
use crate::snapshot::TableSnapshot;
use crate::version::{Snapshot, Timestamp};
use crate::versions::ZONE_ROWS;

/// Rows of a part of a copy: a whole number of words, and few enough for the cache.
const COPY_ROWS: usize = if cfg!(test) { 64 } else { 2 * ZONE_ROWS };

/// A block as a checkpoint writes it: as one snapshot sees it.
#[derive(Debug)]
pub struct BlockImage {
    snapshot: Arc<TableSnapshot>,
    number: usize,
}

impl Table {
    /// The blocks as `at`, which must stay active, sees them.
    pub fn blocks_at(&self, at: Snapshot) -> Vec<BlockImage> {
        let snapshot = self.snapshot(at);
        let image = |number| BlockImage { snapshot: Arc::clone(&snapshot), number };
        (0..snapshot.block_count()).map(image).collect()
    }
}

impl BlockImage {
    pub(super) fn block(&self) -> &Block {
        self.snapshot.block(self.number)
    }

    /// Its number in the table.
    pub fn id(&self) -> u64 {
        self.snapshot.block(self.number).id()
    }

    /// How its rows are laid out.
    pub fn layout(&self) -> BlockLayout {
        self.snapshot.block(self.number).layout()
    }

    /// The newest commit that changed the block: an image taken at or after it is still good. It
    /// may be newer than the snapshot.
    pub fn changed(&self) -> Timestamp {
        let block = self.snapshot.block(self.number);
        Timestamp(block.changed().max(block.created()))
    }

    /// Rows, dead ones included.
    pub fn rows(&self) -> usize {
        self.snapshot.block(self.number).rows()
    }

    /// The rows that do not exist, one bit each (1 = dead), row 0 the lowest of the first word;
    /// empty when there are none.
    pub fn dead(&self) -> Vec<u64> {
        let rows = self.rows();
        let visible = self.snapshot.visible(self.number);
        if visible.len() == rows {
            return Vec::new();
        }
        let mut dead = Bitmap::filled(rows, true);
        visible.iter().for_each(|&row| dead.set(row as usize, false));
        dead.words().to_vec()
    }

    /// Description, smallest and largest values of a frozen block, for
    /// [`Table::restore_evicted`]; nothing for a hot one.
    pub fn identity(&self) -> Vec<u8> {
        self.snapshot.block(self.number).identity()
    }

    /// The block as bytes that describe themselves; of a hot block with `dead` rows as NULL. The
    /// bytes of a frozen block never change, whatever [`Self::changed`].
    ///
    /// # Errors
    /// 54000 for a hot block of more than 4 GiB.
    pub fn write(&self, dead: &[u64]) -> Result<Vec<u8>> {
        let block = self.snapshot.block(self.number);
        if block.layout() == BlockLayout::Frozen {
            return block.to_bytes();
        }
        let mut writer = block.image_writer(block.layout())?;
        let dead = (!dead.is_empty()).then(|| Bitmap::from_words(dead.to_vec(), block.rows()));
        let all = 0..block.rows();
        writer.put(&vectors(&self.snapshot, self.number, all)?, dead.as_ref());
        writer.finish()
    }

    /// Starts a copy of the rows that the block has now, made some rows at a time. `newest` is the
    /// newest commit that is visible, asked for before the call: rows of commits up to it are in
    /// the block by now, those of later ones may be beyond what is copied.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn copy(&self, newest: Timestamp) -> Result<BlockCopy> {
        let block = self.snapshot.block(self.number).shared();
        let rows = block.rows();
        let writer = match block.layout() {
            BlockLayout::Frozen => None,
            layout => Some(block.image_writer(layout)?),
        };
        let schema = self.snapshot.schema().clone();
        Ok(BlockCopy { schema, block, newest, writer, rows, next: 0, dead: Vec::new() })
    }
}

/// Columns of rows of a block as `snapshot` sees them.
fn vectors(
    snapshot: &Arc<TableSnapshot>,
    number: usize,
    rows: Range<usize>,
) -> Result<Vec<Vector>> {
    let positions = Positions::Range { start: rows.start as u32, len: rows.len() as u32 };
    let columns = 0..snapshot.schema().len();
    let vector = |column| snapshot.unpack(number, column, &positions);
    columns.map(|column| Ok(vector(column)?.to_vector().into_owned())).collect()
}

/// A block on its way into a file. Its parts are copied under snapshots of their own, so that none
/// lives long; doing again all commits since the first of them makes the parts agree.
pub struct BlockCopy {
    schema: Schema,
    block: Arc<Block>,
    /// All commits up to it are in the copy.
    newest: Timestamp,
    /// Writer of the image; None for a frozen block.
    writer: Option<ImageWriter>,
    rows: usize,
    /// Rows that were copied.
    next: usize,
    dead: Vec<u64>,
}

impl BlockCopy {
    /// Copies the next rows, if any, as `at` sees them, which is active and no older than what
    /// found the block.
    ///
    /// # Errors
    /// As [`TableSnapshot::unpack`].
    pub fn next(&mut self, at: Snapshot) -> Result<()> {
        let block = std::slice::from_ref(&self.block);
        let snapshot = TableSnapshot::new(self.schema.clone(), at, block);
        assert_eq!(snapshot.block_count(), 1, "who sees a block goes on seeing it");
        let part = self.next..self.rows.min(self.next + COPY_ROWS);
        let visible = snapshot.visible_of(0, part.start as u32..part.end as u32);
        let mut dead = Bitmap::filled(part.len(), true);
        visible.iter().for_each(|&row| dead.set(row as usize - part.start, false));
        // Parts begin at whole words.
        self.dead.extend_from_slice(dead.words());
        if let Some(writer) = &mut self.writer {
            let dead = (visible.len() < part.len()).then_some(&dead);
            writer.put(&vectors(&snapshot, 0, part.clone())?, dead);
        }
        self.next = part.end;
        Ok(())
    }

    /// The copy holds all commits up to this one: after a later change of the block it is stale.
    pub fn newest(&self) -> Timestamp {
        self.newest
    }

    /// True when no rows are left.
    pub fn is_whole(&self) -> bool {
        self.next == self.rows
    }

    /// The rows copied that do not exist, as [`BlockImage::dead`].
    pub fn dead(&self) -> Vec<u64> {
        let any = self.dead.iter().any(|&word| word != 0);
        if any { self.dead.clone() } else { Vec::new() }
    }

    /// The bytes, as [`BlockImage::write`].
    ///
    /// # Errors
    /// As [`BlockImage::write`].
    ///
    /// # Panics
    /// If rows are left.
    pub fn finish(self) -> Result<Vec<u8>> {
        assert!(self.is_whole(), "all rows were copied");
        match self.writer {
            Some(writer) => writer.finish(),
            None => self.block.to_bytes(),
        }
    }
}
