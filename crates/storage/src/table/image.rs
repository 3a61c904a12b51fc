//! Blocks for checkpoints.

use std::sync::Arc;

use kernels::{Bitmap, Vector, VectorData};
use types::Result;

use super::Table;
use crate::block::BlockLayout;
use crate::hot;
use crate::positions::Positions;
use crate::snapshot::TableSnapshot;
use crate::version::{Snapshot, Timestamp};

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
        let rows = block.rows();
        let all = Positions::Range { start: 0, len: rows as u32 };
        let dead = (!dead.is_empty()).then(|| Bitmap::from_words(dead.to_vec(), rows));
        let columns = (0..self.snapshot.schema().len()).map(|column| {
            let vector = self.snapshot.unpack(self.number, column, &all)?.to_vector().into_owned();
            Ok(match &dead {
                Some(dead) => without(vector, dead),
                None => vector,
            })
        });
        let columns = columns.collect::<Result<Vec<Vector>>>()?;
        let columns: Vec<&Vector> = columns.iter().collect();
        let capacity = block.header.capacity as usize;
        hot::image(block.layout(), &columns, rows, capacity)
    }
}

/// The vector with NULL in the rows of `dead`.
fn without(vector: Vector, dead: &Bitmap) -> Vector {
    let alive = dead.not();
    let validity = match &vector.validity {
        Some(validity) => validity.and(&alive),
        None => alive,
    };
    let data: VectorData = vector.data;
    Vector::with_validity(data, Some(validity))
}
