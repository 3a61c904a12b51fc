//! Blocks as bytes: for the log and for checkpoints.
//!
//! ```text
//! Block --to_bytes--> bytes of a frozen block, or the image of a hot one (`hot`) --from_bytes-->
//! ```
//! Invariant: bytes from outside are checked before anything else looks at them (`validate`).

mod validate;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kernels::Vector;
use types::Result;

pub(crate) use validate::validate;

use crate::block::{Block, BlockLayout, Header, corrupt};
use crate::hot;
use crate::memory::{BufferPool, MemoryCategory};
use crate::positions::Positions;
use crate::unpack::load_vector;

impl Block {
    /// Opens a copy of `bytes`, which [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// XX001 when the bytes are not a whole, consistent block; 53200 without memory.
    pub fn from_bytes(id: u64, bytes: &[u8], pool: &Arc<BufferPool>) -> Result<Self> {
        let header = Header::read(bytes)?;
        if header.bytes != bytes.len() as u64 {
            let message = format!("{} bytes where it has {}", bytes.len(), header.bytes);
            return Err(corrupt(24, message));
        }
        let category = match header.layout {
            BlockLayout::Frozen => MemoryCategory::FrozenBlocks,
            BlockLayout::Row | BlockLayout::Column => MemoryCategory::HotBlocks,
        };
        let mut memory = pool.allocate(category, bytes.len() as u64)?;
        memory.as_mut_slice().copy_from_slice(bytes);
        validate(&header, &memory)?;
        if header.layout == BlockLayout::Frozen {
            return Ok(Self::frozen_in(id, memory, header));
        }
        let vectors = hot::open_image(&header, &memory);
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let (rows, capacity) = (header.rows as usize, header.capacity as usize);
        hot::create_filled(id, header.layout, &vectors, rows, capacity, pool)
    }

    /// The block as bytes that [`Self::from_bytes`] opens: for a hot block its rows as they are,
    /// whatever their versions; nobody may write meanwhile.
    ///
    /// # Errors
    /// 54000 for a hot block of more than 4 GiB; those of reading a frozen one that is not in
    /// memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self.layout() {
            BlockLayout::Frozen => {
                let pinned = self.pin()?;
                Ok(pinned.frozen().expect("frozen").memory().as_slice().to_vec())
            }
            layout @ (BlockLayout::Row | BlockLayout::Column) => {
                let all = Positions::Range { start: 0, len: self.rows() as u32 };
                let columns = 0..self.header.segments.len();
                let vectors: Vec<Vector> = columns.map(|c| load_vector(self, c, &all)).collect();
                let mut image = self.image_writer(layout)?;
                image.put(&vectors, None);
                image.finish()
            }
        }
    }
}
