//! Putting blocks back after a restart: those of a checkpoint, and those that the log needs.
//!
//! One thread per block, before anybody else uses the table; rows get no versions and indexes no
//! entries: they are built afterwards ([`Table::recover_index`]). Of a frozen block its identity is
//! enough: its rows are read when somebody wants them. The log does not tell that a hot
//! block was made: one that is missing is made with the first row, and moved to twice the room as
//! rows come. Rows of a block that no insert named stay dead.
//!
//! Elsewhere: the rows that the log names (`replay`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use kernels::Vector;
use types::{Error, Result, SqlState};

use super::directory::BLOCK_ID_END;
use super::{BlockRef, Table};
use crate::block::{BLOCK_ROWS_MAX, Block, BlockLayout, Identity, PayloadSource};
use crate::datum::Datum;
use crate::hot::{self, ROWS_MIN};
use crate::positions::Positions;
use crate::tid::Tid;
use crate::unpack::load_vector;
use crate::version::Timestamp;
use crate::versions::DEAD;

/// Timestamp of change of blocks that were replayed into, until the end of the replay.
pub(super) const REPLAYED: u64 = 1 << 62;

/// A frozen block whose rows nobody has read.
pub struct EvictedBlock<'i> {
    /// Its [`BlockImage::identity`].
    ///
    /// [`BlockImage::identity`]: super::BlockImage::identity
    pub identity: &'i [u8],
    /// Reader of its bytes.
    pub home: Arc<dyn PayloadSource>,
}

impl Table {
    /// Recovery: puts back a block of a checkpoint. Bit `i` of `dead` is 1 when row `i` does not
    /// exist (none when empty); snapshots from `created` on see the rest. Returns how its rows are
    /// laid out.
    ///
    /// # Errors
    /// XX001 when the bytes are not a whole block of this table, or the block is there; 53200
    /// without memory.
    pub fn restore_block(
        &self,
        id: u64,
        bytes: &[u8],
        dead: &[u64],
        created: Timestamp,
    ) -> Result<BlockLayout> {
        let block = Block::from_bytes(id, bytes, &self.pool)?;
        self.restore(Arc::new(block), dead, created)
    }

    /// Recovery: as [`Self::restore_block`], of a frozen block of which only the identity
    /// was read.
    ///
    /// # Errors
    /// As [`Self::restore_block`].
    pub fn restore_evicted(
        &self,
        id: u64,
        EvictedBlock { identity, home }: EvictedBlock<'_>,
        dead: &[u64],
        created: Timestamp,
    ) -> Result<BlockLayout> {
        let identity = Identity::read(identity)?;
        let bytes = identity.header.bytes;
        let validate = crate::image::validate;
        let block = Block::evicted(id, identity, &self.pool, Arc::clone(&home), validate);
        if let Some(block) = block {
            return self.restore(block, dead, created);
        }
        // Nothing ever leaves this pool, so it has to come now.
        let bytes = usize::try_from(bytes).map_err(|_| self.damaged(format!("block {id}")))?;
        let mut whole = vec![0; bytes];
        home.read(&mut whole)?;
        self.restore_block(id, &whole, dead, created)
    }

    fn restore(&self, block: Arc<Block>, dead: &[u64], created: Timestamp) -> Result<BlockLayout> {
        let id = block.id();
        let types = block.header.segments.iter().map(|s| s.physical);
        if !types.eq(self.types.iter().copied()) {
            return Err(self.damaged(format!("block {id} has other columns")));
        }
        let rows = block.rows();
        if id >= BLOCK_ID_END || !dead.is_empty() && dead.len() != rows.div_ceil(64) {
            return Err(self.damaged(format!("block {id} of {rows} rows")));
        }
        let guard = epoch::pin();
        if self.directory.get(id, &guard).is_some() {
            return Err(self.damaged(format!("block {id} is there twice")));
        }
        let is_dead = |row: usize| dead.get(row / 64).is_some_and(|w| w >> (row % 64) & 1 == 1);
        for row in (0..rows).filter(|&row| is_dead(row)) {
            self.set_dead(&block, row as u32)?;
        }
        block.set_created(created.0);
        block.note_change(created.0, 0);
        if block.hot.is_some() && rows == block.header.capacity as usize {
            block.close();
        }
        self.admit_block(&block);
        self.note_commit(rows as i64 - block.dead() as i64, rows as u64);
        self.blocks_made.fetch_max(id + 1, Ordering::Relaxed);
        let layout = block.layout();
        self.add_block(block);
        Ok(layout)
    }

    pub(super) fn damaged(&self, message: String) -> Error {
        let message = format!("damaged table {}: {message}", self.name);
        Error::new(SqlState::DATA_CORRUPTED, message)
    }

    /// Widens bounds to those of the block.
    fn admit_block(&self, block: &Block) {
        let guard = epoch::pin();
        for column in 0..self.types.len() {
            if block.hot.is_some() {
                let all = Positions::Range { start: 0, len: block.rows() as u32 };
                self.bounds.admit_vector(column, &load_vector(block, column, &all), &guard);
                continue;
            }
            if block.segment(column).nulls != crate::block::Nulls::None {
                self.bounds.admit(column, Datum::Null, &guard);
            }
            if let Some((least, most)) = block.sma_keys(column) {
                self.bounds.admit_keys(column, least, most, false);
            }
            if let Some((least, most)) = block.sma_strings(column) {
                self.bounds.admit(column, Datum::Str(least), &guard);
                self.bounds.admit(column, Datum::Str(most), &guard);
            }
        }
    }

    /// The word of a claimed row becomes DEAD.
    pub(super) fn set_dead(&self, block: &Block, row: u32) -> Result<()> {
        let zone = block.versions.make_zone(row, || block.rows(), &self.pool)?;
        zone.word(row).store(DEAD, Ordering::Release);
        if zone.set_gone(row) {
            block.bury(1);
        }
        Ok(())
    }

    /// The hot block of `tid`, with room for its row.
    pub(super) fn room_for<'g>(&self, tid: Tid, guard: &'g epoch::Guard) -> Result<BlockRef<'g>> {
        let (id, rows) = (tid.block(), tid.row() as usize + 1);
        let found = self.directory.get(id, guard);
        if let Some(block) = found {
            if block.hot.is_none() {
                return Err(self.damaged(format!("row {tid:?} inserted into a frozen block")));
            }
            if rows <= block.header.capacity as usize {
                return Ok(block);
            }
        }
        let capacity = rows.max(self.usual_capacity()).next_power_of_two();
        let capacity = capacity.clamp(ROWS_MIN, BLOCK_ROWS_MAX);
        let larger = match found {
            Some(block) => self.enlarged(&block, capacity)?,
            None => hot::create(id, self.hot_layout(), &self.types, capacity, &self.pool)?,
        };
        if found.is_some() {
            self.blocks.lock().remove(id);
            self.tail.store(std::ptr::null_mut(), Ordering::Release);
            self.directory.take(id, guard);
        }
        self.blocks_made.fetch_max(id + 1, Ordering::Relaxed);
        self.add_block(Arc::new(larger));
        Ok(self.directory.get(id, guard).expect("added above"))
    }

    /// Rows that a new hot block is likely to get: twice those of the last one.
    fn usual_capacity(&self) -> usize {
        let list = self.blocks.lock();
        let last = list.all.iter().rev().find(|block| block.hot.is_some());
        last.map_or(ROWS_MIN, |block| block.header.capacity as usize * 2)
    }

    /// The same rows in a block with more room.
    fn enlarged(&self, block: &Block, capacity: usize) -> Result<Block> {
        let rows = block.rows();
        let all = Positions::Range { start: 0, len: rows as u32 };
        let vectors = (0..self.types.len()).map(|column| load_vector(block, column, &all));
        let vectors: Vec<Vector> = vectors.collect();
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let id = block.id();
        let layout: BlockLayout = block.layout();
        let larger = hot::create_filled(id, layout, &vectors, rows, capacity, &self.pool)?;
        for row in 0..rows as u32 {
            if block.word(row).is_some_and(|word| word.load(Ordering::Relaxed) == DEAD) {
                self.set_dead(&larger, row)?;
            }
        }
        larger.set_created(block.created());
        larger.note_change(block.changed(), 0);
        Ok(larger)
    }

    /// Recovery: to be called at the end of the replay, whose newest commit is `ts`: blocks
    /// replayed into count as changed then, and blocks without rows are dropped.
    pub fn end_recovery(&self, ts: Timestamp) {
        let guard = epoch::pin();
        let blocks = Arc::clone(&self.blocks.lock().all);
        for block in blocks.iter() {
            if block.changed() == REPLAYED {
                block.set_changed(ts.0);
            }
            let is_closed = block.hot.as_ref().is_none_or(|hot| {
                hot.is_closed() || block.rows() == block.header.capacity as usize
            });
            if is_closed && block.dead() == block.rows() {
                self.drop_block(block, &guard);
            }
        }
    }

    /// The blocks whose rows cannot be read, or are not what is known of them, and why. Reads those
    /// that are not in memory.
    pub fn unreadable_blocks(&self) -> Vec<(u64, Error)> {
        let blocks = Arc::clone(&self.blocks.lock().all);
        let failure = |block: &Arc<Block>| Some((block.id(), block.pin().err()?));
        blocks.iter().filter_map(failure).collect()
    }

    /// The number the next block will get, for the manifest of a checkpoint.
    pub fn next_block(&self) -> u64 {
        self.blocks_made.load(Ordering::Relaxed)
    }

    /// Recovery: block ids below `next` are not given out again.
    pub fn set_next_block(&self, next: u64) {
        self.blocks_made.fetch_max(next, Ordering::Relaxed);
    }
}
