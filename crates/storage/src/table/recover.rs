//! Putting rows back after a restart: blocks of a checkpoint, then the changes of the log by TID.
//!
//! One thread per table, before anybody else uses it; rows get no versions and indexes no entries:
//! they are built afterwards ([`Table::add_index`]). The log does not tell that a hot block was
//! made: one that is missing is made with the first row, and moved to twice the room as rows come.
//! Rows of a block that no insert named stay dead.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use kernels::Vector;
use types::{Error, Result, SqlState};

use super::directory::BLOCK_ID_END;
use super::{BlockRef, Table};
use crate::block::{BLOCK_ROWS_MAX, Block, BlockLayout};
use crate::datum::Datum;
use crate::hot::{self, ROWS_MIN, Span, bits_of};
use crate::positions::Positions;
use crate::tid::Tid;
use crate::unpack::load_vector;
use crate::version::Timestamp;
use crate::versions::{DEAD, ZONE_ROWS};

/// What blocks that were replayed into count as changed at, until the end of the replay.
const REPLAYED: u64 = 1 << 62;

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
        self.add_block(Arc::new(block));
        Ok(layout)
    }

    fn damaged(&self, message: String) -> Error {
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
    fn set_dead(&self, block: &Block, row: u32) -> Result<()> {
        let zone = block.versions.make_zone(row, || block.rows(), &self.pool)?;
        zone.word(row).store(DEAD, Ordering::Release);
        if zone.set_gone(row) {
            block.bury(1);
        }
        Ok(())
    }

    /// Recovery: puts the row `tid` in place; makes its block if it is missing. A row that is there
    /// gets these values.
    ///
    /// # Errors
    /// XX001 when there is no such place; 53200 without memory.
    pub fn recover_insert(&self, tid: Tid, row: &[Datum<'_>]) -> Result<()> {
        if row.len() != self.types.len() || tid.block() >= BLOCK_ID_END {
            return Err(self.damaged(format!("{} values for row {tid:?}", row.len())));
        }
        let guard = epoch::pin();
        let block = self.room_for(tid, &guard)?;
        let number = tid.row();
        let rows = block.rows();
        let zone = block.versions.make_zone(number, || rows, &self.pool)?;
        for unborn in rows as u32..number {
            let zone = block.versions.make_zone(unborn, || rows, &self.pool)?;
            zone.set_gone(unborn);
            block.bury(1);
            debug_assert_eq!(zone.word(unborn).load(Ordering::Relaxed), DEAD, "not yet born");
        }
        let is_next = number as usize >= rows;
        if is_next {
            block.set_claimed(number as usize + 1);
        }
        for (column, &datum) in row.iter().enumerate() {
            self.recover_value(&block, number, column, datum, &guard)?;
        }
        block.note_change(REPLAYED, 1);
        if zone.word(number).swap(0, Ordering::AcqRel) == DEAD {
            if !is_next {
                zone.marks().set_back(number as usize % ZONE_ROWS);
                block.unbury();
            }
            self.note_commit(1, 1);
        }
        Ok(())
    }

    fn recover_value(
        &self,
        block: &Block,
        row: u32,
        column: usize,
        datum: Datum<'_>,
        guard: &epoch::Guard,
    ) -> Result<()> {
        let fits = self.types.get(column).and_then(|&physical| datum.widened(physical));
        let Some(datum) = fits else {
            return Err(self.damaged(format!("{datum:?} in column {column}")));
        };
        self.bounds.admit(column, datum, guard);
        let row = row as usize;
        let bits = match datum {
            Datum::Str(text) => {
                let Span(span) = block.add_string(text)?;
                [span, 0]
            }
            fixed => bits_of(fixed),
        };
        block.store_bits(column, row, bits);
        block.store_null(column, row, datum.is_null());
        Ok(())
    }

    /// The hot block of `tid`, with room for its row.
    fn room_for<'g>(&self, tid: Tid, guard: &'g epoch::Guard) -> Result<BlockRef<'g>> {
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
        let capacity = rows.next_power_of_two().clamp(ROWS_MIN, BLOCK_ROWS_MAX);
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

    /// The block of `tid`, which must have the row.
    fn place_of<'g>(&self, tid: Tid, guard: &'g epoch::Guard) -> Result<BlockRef<'g>> {
        self.locate(tid, guard).ok_or_else(|| self.damaged(format!("no row {tid:?}")))
    }

    /// Recovery: changes columns of the row `tid`.
    ///
    /// # Errors
    /// XX001 when there is no such row; 53200 without memory.
    pub fn recover_update(&self, tid: Tid, changes: &[(usize, Datum<'_>)]) -> Result<()> {
        let guard = epoch::pin();
        let block = self.place_of(tid, &guard)?;
        if block.hot.is_none() {
            return Err(self.damaged(format!("row {tid:?} updated in a frozen block")));
        }
        for &(column, datum) in changes {
            self.recover_value(&block, tid.row(), column, datum, &guard)?;
        }
        block.note_change(REPLAYED, 1);
        self.note_commit(0, 1);
        Ok(())
    }

    /// Recovery: removes the row `tid`. Nothing happens when it is gone.
    ///
    /// # Errors
    /// XX001 when there is no such place; 53200 without memory.
    pub fn recover_delete(&self, tid: Tid) -> Result<()> {
        let guard = epoch::pin();
        let Some(block) = self.directory.get(tid.block(), &guard) else {
            // All its rows were dead when the checkpoint was taken, or it had none.
            return Ok(());
        };
        let block = if (tid.row() as usize) < block.rows() {
            block
        } else {
            return Err(self.damaged(format!("no row {tid:?}")));
        };
        let dead = block.dead();
        self.set_dead(&block, tid.row())?;
        if block.dead() > dead {
            block.note_change(REPLAYED, 1);
            self.note_commit(-1, 1);
        }
        Ok(())
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

    /// The number the next block will get, for the manifest of a checkpoint.
    pub fn next_block(&self) -> u64 {
        self.blocks_made.load(Ordering::Relaxed)
    }

    /// Recovery: block ids below `next` are not given out again.
    pub fn set_next_block(&self, next: u64) {
        self.blocks_made.fetch_max(next, Ordering::Relaxed);
    }
}
