//! Freezing in place: a hot block that nobody writes becomes a frozen one of the same number, whose
//! rows have the same numbers.
//!
//! ```text
//! close -> seal each zone -> copy, freeze, sub-blocks -> retire each zone -> put in its place
//!            '- a row has a record: not now                      '- a seal is broken: not now
//! ```
//! TIDs and index entries stay valid, and no transaction has anything to do with it: a writer that
//! meets a seal breaks it, and the copy is thrown away; one that meets a retired zone looks for the
//! block again (`write`). Readers that have the old block go on reading it: its rows have no
//! history, and nobody writes it any more.
//!
//! Recovery knows nothing of it either: the log's records of the rows' writes make a hot block, and
//! a checkpoint that holds the frozen block lies behind all of them. So nothing is frozen while a
//! checkpoint is written.
//!
//! Source: Funke 2015, sections 5.2 and 5.3. Departure: rows keep their places; there a frozen row
//! moves, which would conflict with transactions that write it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use kernels::Vector;
use types::Result;

use super::Table;
use super::seals::Seals;
use crate::block::{Block, NEVER};
use crate::freeze::freeze;
use crate::positions::Positions;
use crate::snapshot::TableSnapshot;
use crate::version::{Snapshot, is_running};

/// A hot block, as who decides about freezing it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotBlock {
    /// Its number.
    pub id: u64,
    /// Rows claimed.
    pub rows: usize,
    /// Rows that commits changed so far, each time counted: while it stays the same, and `rows`,
    /// nobody has written the block.
    pub changes: u64,
    /// True when it takes new rows: to freeze it is to begin another block for them.
    pub takes_rows: bool,
}

impl Table {
    /// Its hot blocks, in order.
    pub fn hot_blocks(&self) -> Vec<HotBlock> {
        let list = self.blocks.lock();
        let tail = self.tail.load(Ordering::Acquire).cast_const();
        let last = list.all.iter().rev().find(|block| block.hot.is_some()).map(|b| b.id());
        let hot = list.all.iter().filter(|block| !block.is_source()).filter_map(|block| {
            let is_full = block.rows() == block.header.capacity as usize;
            let is_closed = block.hot.as_ref()?.is_closed() || is_full;
            let is_tail = std::ptr::eq(tail, Arc::as_ptr(block)) || last == Some(block.id());
            Some(HotBlock {
                id: block.id(),
                rows: block.rows(),
                changes: block.changes(),
                takes_rows: is_tail && !is_closed,
            })
        });
        hot.collect()
    }

    /// Rows of block `id` that commits changed so far, each time counted; None when it is gone.
    pub fn block_changes(&self, id: u64) -> Option<u64> {
        let guard = epoch::pin();
        self.directory.get(id, &guard).map(|block| block.changes())
    }

    /// Freezes the hot block `id` in place, if nobody writes it meanwhile and no row has a version
    /// that some snapshot still needs; false otherwise, when some snapshot may see its rows where
    /// they were before a move, and when there is no such block. `at` is active and younger than
    /// every commit that it may freeze. No checkpoint is written meanwhile.
    ///
    /// # Errors
    /// 53200 without memory for the copy.
    pub fn freeze_block(&self, id: u64, at: Snapshot) -> Result<bool> {
        // Sub-blocks are those of the block, and nobody builds an index over its rows.
        let Some(_latch) = self.indexes_change.try_lock() else { return Ok(false) };
        let guard = epoch::pin();
        let found = self.directory.get(id, &guard).filter(|block| block.hot.is_some());
        let found = found.filter(|block| block.rows() > 0);
        let Some(old) = found.map(|block| block.shared()) else { return Ok(false) };
        old.close();
        if old.dead() == old.rows() {
            self.drop_block(&old, &guard);
            return Ok(false);
        }
        drop(guard);
        let created = old.created();
        let is_settled = created != NEVER && !is_running(created) && at.sees_stamp(created);
        if !is_settled || old.has_origin() {
            return Ok(false);
        }
        let Some(seals) = self.seal(std::slice::from_ref(&old))? else { return Ok(false) };
        let Some(new) = self.frozen_copy(&old, at)? else { return Ok(false) };
        self.build_sub_blocks(&new)?;
        Ok(self.put_in_place(&old, new, seals))
    }

    /// The rows of a sealed block, frozen; None when none is left.
    fn frozen_copy(&self, old: &Arc<Block>, at: Snapshot) -> Result<Option<Block>> {
        let snapshot = TableSnapshot::new(self.schema.clone(), at, std::slice::from_ref(old));
        let rows = old.rows();
        let visible = snapshot.visible(0);
        let Some(&first) = visible.first() else { return Ok(None) };
        // Values of rows that are gone are nobody's: those of a row that is there widen no range.
        let mut source = vec![first; rows];
        visible.iter().for_each(|&row| source[row as usize] = row);
        let positions = Positions::List(source);
        let vector = |column| -> Result<Vector> {
            Ok(snapshot.unpack(0, column, &positions)?.to_vector().into_owned())
        };
        let vectors = (0..self.types.len()).map(vector).collect::<Result<Vec<_>>>()?;
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let (new, _) = freeze(old.id(), &vectors, rows, &self.pool)?;
        let mut next = visible.iter().peekable();
        for row in 0..rows as u32 {
            if next.next_if(|&&there| there == row).is_none() {
                self.set_dead(&new, row)?;
            }
        }
        new.follow(old);
        Ok(Some(new))
    }

    /// Puts `new` in the place of `old` if no seal was broken.
    fn put_in_place(&self, old: &Arc<Block>, new: Block, mut seals: Seals) -> bool {
        let new = Arc::new(new);
        let guard = epoch::pin();
        let mut list = self.blocks.lock();
        if !seals.retire() {
            return false;
        }
        self.directory.replace(Arc::clone(&new), &guard);
        let (pointer, null) = (Arc::as_ptr(old).cast_mut(), std::ptr::null_mut());
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let _ = self.tail.compare_exchange(pointer, null, order.0, order.1);
        list.replace(new);
        seals.keep();
        true
    }
}
