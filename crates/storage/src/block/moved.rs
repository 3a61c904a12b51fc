//! Rows that went to another block together: where they are now, and where they were.
//!
//! ```text
//! source (ends at C) --to--> MoveMap <--from-- target (begins at C)
//! ```
//! A commit C moves rows without changing them: snapshots below C see the source, those from C on
//! the target. Invariants: nobody writes the source's rows from C on; the target's rows are, for
//! who writes them, as old as the source's were (`born`).
//! Elsewhere: how rows are moved (`table::moving`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use types::Result;

use super::{Block, NEVER};
use crate::memory::{BufferPool, MemoryCategory, Reservation};
use crate::tid::Tid;
use crate::version::{Snapshot, is_running};

/// The rows that went from one block.
#[derive(Debug)]
struct Part {
    source: u64,
    /// Where the first of them is in the target; the others follow.
    first: u32,
    /// Their numbers in the source, ascending.
    rows: Box<[u16]>,
}

/// Where each row of some blocks went, in a block that has no other rows.
#[derive(Debug)]
pub(crate) struct MoveMap {
    target: u64,
    parts: Vec<Part>,
    memory: Reservation,
}

impl MoveMap {
    /// No rows yet.
    pub(crate) fn new(target: u64, pool: &Arc<BufferPool>) -> Self {
        let memory = Reservation::empty(pool, MemoryCategory::Versions);
        Self { target, parts: Vec::new(), memory }
    }

    /// The next rows of the target are these of block `source`, which ascend.
    ///
    /// # Errors
    /// 53200 without memory.
    pub(crate) fn add(&mut self, source: u64, rows: &[u32]) -> Result<()> {
        self.memory.grow((size_of::<Part>() + size_of_val(rows) / 2) as u64)?;
        let first = self.rows() as u32;
        let rows = rows.iter().map(|&row| row as u16).collect();
        self.parts.push(Part { source, first, rows });
        Ok(())
    }

    /// The block that has the rows now.
    pub(crate) fn target(&self) -> u64 {
        self.target
    }

    /// Rows that moved.
    pub(crate) fn rows(&self) -> usize {
        self.parts.last().map_or(0, |part| part.first as usize + part.rows.len())
    }

    /// The rows that went from block `source`, where they were.
    pub(crate) fn rows_of(&self, source: u64) -> impl Iterator<Item = u32> + '_ {
        let part = self.parts.iter().find(|part| part.source == source);
        part.into_iter().flat_map(|part| part.rows.iter().map(|&row| row.into()))
    }

    /// Where the row `tid` went, if it did.
    pub(crate) fn to(&self, tid: Tid) -> Option<Tid> {
        let part = self.parts.iter().find(|part| part.source == tid.block())?;
        let at = part.rows.binary_search(&(tid.row() as u16)).ok()?;
        Some(Tid::new(self.target, part.first + at as u32))
    }

    /// Where row `row` of the target was.
    pub(crate) fn from(&self, row: u32) -> Tid {
        let next = self.parts.partition_point(|part| part.first <= row);
        let part = &self.parts[next - 1];
        Tid::new(part.source, part.rows[(row - part.first) as usize].into())
    }
}

/// A block's part in moves.
#[derive(Debug)]
pub(super) struct Moved {
    /// Stamp of the commit from which on its rows are elsewhere; 0 while they are here.
    ended: AtomicU64,
    /// Stamp of the sources' rows, for a target; [`NEVER`] for others.
    born: u64,
    maps: RwLock<Maps>,
}

#[derive(Debug, Default)]
struct Maps {
    to: Option<Arc<MoveMap>>,
    from: Option<Arc<MoveMap>>,
}

impl Default for Moved {
    fn default() -> Self {
        Self { ended: AtomicU64::new(0), born: NEVER, maps: RwLock::default() }
    }
}

impl Moved {
    /// True when `at` sees the rows elsewhere.
    #[inline]
    pub(super) fn has_ended(&self, at: Snapshot) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        ended != 0 && at.sees_stamp(ended)
    }
}

impl Block {
    /// Makes it a target of rows whose stamps are at most `born`; before anybody else knows it.
    pub(crate) fn begin_target(&mut self, map: Arc<MoveMap>, born: u64) {
        self.moved.born = born;
        self.moved.maps.get_mut().from = Some(map);
    }

    /// Makes it a source: its rows go elsewhere with the transaction of this stamp.
    pub(crate) fn begin_source(&self, map: Arc<MoveMap>, stamp: u64) {
        self.moved.maps.write().to = Some(map);
        self.moved.ended.store(stamp, Ordering::Release);
    }

    /// Takes back [`Self::begin_source`]: its rows stay.
    pub(crate) fn undo_source(&self) {
        self.set_ended(0);
        self.moved.maps.write().to = None;
    }

    /// No snapshot sees the rows where they were.
    pub(crate) fn forget_origin(&self) {
        self.moved.maps.write().from = None;
    }

    /// Stamp of the commit from which on its rows are elsewhere; 0 while they are here.
    #[inline]
    pub(crate) fn ended(&self) -> u64 {
        self.moved.ended.load(Ordering::Acquire)
    }

    pub(crate) fn set_ended(&self, stamp: u64) {
        self.moved.ended.store(stamp, Ordering::Release);
    }

    /// True when its rows have gone, or are about to.
    #[inline]
    pub(crate) fn is_source(&self) -> bool {
        self.ended() != 0
    }

    /// True when its rows are those of others that go, or went, there.
    #[inline]
    pub(crate) fn is_target(&self) -> bool {
        self.moved.born != NEVER
    }

    /// True while some snapshot may see its rows where they were.
    pub(crate) fn has_origin(&self) -> bool {
        self.is_target() && self.moved.maps.read().from.is_some()
    }

    /// The stamp that a writer of a row without versions must see.
    #[inline]
    pub(crate) fn born(&self) -> u64 {
        if self.is_target() { self.moved.born } else { self.created() }
    }

    /// Where the rows went, once they have gone.
    pub(crate) fn moved_to(&self) -> Option<Arc<MoveMap>> {
        let ended = self.ended();
        if ended == 0 || is_running(ended) {
            return None;
        }
        self.moved.maps.read().to.clone()
    }

    /// Where the rows went or go.
    pub(crate) fn moves_to(&self) -> Option<Arc<MoveMap>> {
        self.moved.maps.read().to.clone()
    }

    /// Where the rows were that `at` does not see here.
    pub(crate) fn moved_from(&self, at: Snapshot) -> Option<Arc<MoveMap>> {
        if !self.is_target() || at.sees_stamp(self.created()) {
            return None;
        }
        self.moved.maps.read().from.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_both_ways() {
        let mut map = MoveMap::new(9, &BufferPool::new(1 << 20));
        for (source, rows) in [(3, &[0, 5, 65_535][..]), (4, &[]), (7, &[2])] {
            map.add(source, rows).expect("fits");
        }
        assert_eq!(map.rows(), 4);
        let pairs = [((3, 0), 0), ((3, 5), 1), ((3, 65_535), 2), ((7, 2), 3)];
        for ((block, row), target) in pairs {
            assert_eq!(map.to(Tid::new(block, row)), Some(Tid::new(9, target)));
            assert_eq!(map.from(target), Tid::new(block, row));
        }
        for (block, row) in [(3, 1), (4, 0), (7, 3), (5, 0)] {
            assert_eq!(map.to(Tid::new(block, row)), None);
        }
        assert_eq!(map.rows_of(3).collect::<Vec<_>>(), [0, 5, 65_535]);
        assert_eq!(map.rows_of(5).count(), 0);
    }
}
