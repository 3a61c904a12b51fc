//! Moving rows: those of blocks that are nearly empty, or small, go together to one new block.
//!
//! ```text
//! seal -> copy -> target: in the table, seen by nobody -> its index entries
//!      -> commit latch: retire, log (the target's file, the rows' ends), stamps
//!      -> every snapshot at or above the commit -> sources and their entries go
//! ```
//! The move is a transaction of its own that changes no row. Its commit C is the end of the sources
//! and the beginning of the target, one stamp for each block: a snapshot below C reads the sources,
//! one from C on the target, and indexes have entries for both while both are read. So readers do
//! not notice.
//!
//! Nor do writers: the move waits for none (a seal that is broken ends it), and has no part in
//! conflicts. Who comes with the old TID is led on ([`Table::moved`]), whatever its snapshot. Who
//! does not see the target writes there all the same, since that is where the newest version is,
//! and marks the end of the row also where it sees it (`Echo`), so as to see its own work.
//! Validation, foreign keys and wide tables pass over the move.
//!
//! Recovery does what the log says: a new block, and rows that are gone where they were. No
//! checkpoint is written during a move, so that it has all of it or nothing.
//!
//! Source: Funke 2015, section 5.3.1 (blocks under half full are merged). Departure: there indexes
//! are changed in the same step, between two transactions of the partition.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use kernels::{Vector, VectorBuilder};
use parking_lot::{MutexGuard, RwLock};
use types::{Result, budget};

use super::entries::{encode_known, with_scratch};
use super::seals::Seals;
use super::{BlockRef, Table, UndoBuffer};
use crate::block::{BLOCK_ROWS_MAX, Block, BlockLayout, MoveMap, NEVER};
use crate::freeze::freeze;
use crate::hot;
use crate::memory::MemoryCategory;
use crate::positions::Positions;
use crate::record::Kind;
use crate::row::{newest, settled};
use crate::schema::Layout;
use crate::snapshot::TableSnapshot;
use crate::tid::Tid;
use crate::version::{Snapshot, is_running};

/// Rows between two looks whether to go on.
const LOOK_ROWS: usize = 1 << 12;

/// How much of a block is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockUse {
    /// Number of the block.
    pub id: u64,
    /// How its rows are laid out.
    pub layout: BlockLayout,
    /// Rows claimed.
    pub rows: usize,
    /// Rows that are there, or may be for somebody.
    pub live: usize,
    /// Rows that commits changed so far, each time counted.
    pub changes: u64,
    /// Bytes of memory held, all told.
    pub bytes: u64,
    /// Bytes of it that are words of versions.
    pub version_bytes: u64,
    /// True when it takes new rows.
    pub takes_rows: bool,
}

/// Rows on their way, until the transaction of the undo buffer that names them has ended. Dropped
/// before [`Self::keep`] was called, the rows can be written where they were.
pub struct Moving<'t> {
    seals: Seals,
    blocks: Vec<u64>,
    rows: usize,
    /// Keeps others from building an index over rows that are in two places.
    _latch: MutexGuard<'t, ()>,
}

impl Moving<'_> {
    /// The blocks that they leave.
    pub fn blocks(&self) -> &[u64] {
        &self.blocks
    }

    /// Rows that move.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Locks writers of the rows out, under the commit latch; false when somebody wrote one since
    /// they were copied: nobody is locked out then, and the transaction has to roll back.
    #[must_use]
    pub fn retire(&mut self) -> bool {
        self.seals.retire()
    }

    /// Lets writers in again: the transaction rolls back.
    pub fn give_back(&mut self) {
        self.seals.give_back();
    }

    /// The transaction commits.
    pub fn keep(mut self) {
        self.seals.keep();
    }
}

/// Rows copied out of their blocks.
struct Copied {
    map: MoveMap,
    vectors: Vec<Vector>,
    /// The newest stamp of their blocks.
    born: u64,
}

/// Where rows went, by the number of the block that they were in.
#[derive(Debug, Default)]
pub(super) struct Traces(RwLock<HashMap<u64, Arc<MoveMap>>>);

impl Table {
    /// How its blocks are used, in order; those that are about to go are left out.
    pub fn block_uses(&self) -> Vec<BlockUse> {
        let takers: Vec<u64> =
            self.hot_blocks().iter().filter(|b| b.takes_rows).map(|b| b.id).collect();
        let blocks = Arc::clone(&self.blocks.lock().all);
        let stays = |block: &&Arc<Block>| !block.is_source() && !is_running(block.created());
        let of = |block: &Arc<Block>| BlockUse {
            id: block.id(),
            layout: block.layout(),
            rows: block.rows(),
            live: block.rows() - block.dead().min(block.rows()),
            changes: block.changes(),
            bytes: block.bytes(),
            version_bytes: block.versions.bytes(),
            takes_rows: takers.contains(&block.id()),
        };
        blocks.iter().filter(stays).map(of).collect()
    }

    /// Begins to move the rows of the blocks `ids`, which take no new ones from here on, to one new
    /// block, as part of the transaction of `undo`, which has no other part; its snapshot `at` is
    /// active and younger than every commit in them. None when some row is written at the moment or
    /// has a version that some snapshot still needs, an index is being built, or the rows would
    /// not fit. No checkpoint is written until the transaction has ended, and nobody drops the
    /// table.
    ///
    /// # Errors
    /// 53200 without memory, 54000 when the block would pass 4 GiB, 57014: roll back.
    pub fn move_rows(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        ids: &[u64],
    ) -> Result<Option<Moving<'_>>> {
        let Some(latch) = self.indexes_change.try_lock() else { return Ok(None) };
        let sources = self.sources(at, ids);
        if sources.is_empty() {
            return Ok(None);
        }
        let Some(seals) = self.seal(&sources)? else { return Ok(None) };
        let Some(copied) = self.copy_rows(&sources, at)? else { return Ok(None) };
        let rows = copied.map.rows();
        if !seals.are_whole() {
            return Ok(None);
        }
        let (map, target) = self.target_of(copied)?;
        self.build_sub_blocks(&target)?;
        target.set_creator(undo.txn(), undo.statement());
        self.add_block(Arc::clone(&target));
        self.known.follow(target.id(), ids);
        let guard = epoch::pin();
        let place = self.directory.get(target.id(), &guard).expect("added above");
        undo.add(self, place, 0, Kind::Target, 0)?;
        drop(guard);
        self.enter_moved(&target)?;
        let guard = epoch::pin();
        for source in &sources {
            // Whoever broke the seal and deleted its last rows has let it be dropped.
            let Some(place) = self.directory.get(source.id(), &guard) else { return Ok(None) };
            undo.add(self, place, 0, Kind::Source, 0)?;
            source.begin_source(Arc::clone(&map), undo.txn().0);
        }
        let blocks = sources.iter().map(|block| block.id()).collect();
        let whole = seals.are_whole();
        Ok(whole.then_some(Moving { seals, blocks, rows, _latch: latch }))
    }

    /// The blocks, closed; those without rows are dropped, and those that `at` may not move left
    /// out.
    fn sources(&self, at: Snapshot, ids: &[u64]) -> Vec<Arc<Block>> {
        let guard = epoch::pin();
        let mut sources = Vec::new();
        for &id in ids {
            let Some(block) = self.directory.get(id, &guard) else { continue };
            let created = block.created();
            let is_known = created != NEVER && !is_running(created) && at.sees_stamp(created);
            if !is_known || block.is_source() || block.rows() == 0 {
                continue;
            }
            if block.hot.is_some() {
                block.close();
            }
            if block.dead() == block.rows() {
                self.drop_block(&block, &guard);
            } else {
                sources.push(block.shared());
            }
        }
        sources
    }

    /// The rows of sealed blocks; None when there are none, or too many.
    fn copy_rows(&self, sources: &[Arc<Block>], at: Snapshot) -> Result<Option<Copied>> {
        let snapshot = TableSnapshot::new(self.schema.clone(), at, sources);
        assert_eq!(snapshot.block_count(), sources.len(), "the snapshot sees what moves");
        let visible: Vec<Vec<u32>> = (0..sources.len()).map(|i| snapshot.visible(i)).collect();
        let rows: usize = visible.iter().map(Vec::len).sum();
        if !(1..=BLOCK_ROWS_MAX).contains(&rows) {
            return Ok(None);
        }
        let mut map = MoveMap::new(self.next_block_id(), &self.pool);
        sources.iter().zip(&visible).try_for_each(|(block, rows)| map.add(block.id(), rows))?;
        let visible: Vec<Positions> = visible.into_iter().map(Positions::List).collect();
        let mut reservation = self.pool.reserve(MemoryCategory::Load, 0)?;
        let mut vectors = Vec::with_capacity(self.types.len());
        let mut bytes = 0;
        for (column, &physical) in self.types.iter().enumerate() {
            let mut builder = VectorBuilder::new(physical);
            for (i, positions) in visible.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
                budget::check()?;
                builder.append(&snapshot.unpack(i, column, positions)?.to_vector(), None);
            }
            bytes += builder.bytes() as u64;
            reservation.resize(bytes)?;
            vectors.push(builder.finish());
        }
        let born = sources.iter().map(|block| block.born()).max().unwrap_or(0);
        Ok(Some(Copied { map, vectors, born }))
    }

    /// The block that the rows go to, which nobody knows yet.
    fn target_of(&self, copied: Copied) -> Result<(Arc<MoveMap>, Arc<Block>)> {
        let Copied { map, vectors, born } = copied;
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let (id, rows) = (map.target(), map.rows());
        let mut target = match self.layout {
            Layout::Frozen | Layout::Auto => freeze(id, &vectors, rows, &self.pool)?.0,
            Layout::Row | Layout::Column => {
                hot::build(id, self.hot_layout(), &vectors, rows, &self.pool)?
            }
        };
        let map = Arc::new(map);
        target.begin_target(Arc::clone(&map), born);
        Ok((map, Arc::new(target)))
    }

    /// Makes the index entries of the rows of a target. Their keys are admitted: the rows have them
    /// where they are.
    fn enter_moved(&self, target: &Block) -> Result<()> {
        let indexes = self.indexes();
        if indexes.is_empty() {
            return Ok(());
        }
        let target = target.pin()?;
        for row in 0..target.rows() as u32 {
            if (row as usize).is_multiple_of(LOOK_ROWS) {
                budget::check()?;
            }
            let tid = Tid::new(target.id(), row);
            with_scratch(|scratch| {
                for index in indexes.iter() {
                    scratch.row.clear();
                    for &ordinal in index.ordinals() {
                        target.push_newest(&[ordinal], row, &mut scratch.row);
                    }
                    encode_known(index, &mut scratch.key, &scratch.row);
                    if !scratch.key.is_absent() {
                        index.insert(&scratch.key, tid)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Where the row `tid` is now: blocks that freeze or thin out take their rows elsewhere, also
    /// under a statement that has found them.
    pub fn place_now(&self, tid: Tid) -> Tid {
        self.moved(tid, &epoch::pin())
    }

    /// See [`Self::place_now`].
    #[inline]
    pub(super) fn moved(&self, tid: Tid, guard: &Guard) -> Tid {
        match self.directory.get(tid.block(), guard) {
            Some(block) if !block.is_source() => tid,
            _ => self.led_on(tid, guard),
        }
    }

    #[cold]
    fn led_on(&self, mut tid: Tid, guard: &Guard) -> Tid {
        loop {
            let map = match self.directory.get(tid.block(), guard) {
                Some(block) => block.moved_to(),
                None => self.traces.0.read().get(&tid.block()).cloned(),
            };
            match map.and_then(|map| map.to(tid)) {
                Some(next) => tid = next,
                None => return tid,
            }
        }
    }

    /// Where `at` sees the row that was at `tid` when its transaction found it: others may have
    /// moved it, and so may the transaction, by changing it.
    pub fn found_at(&self, at: Snapshot, tid: Tid) -> Tid {
        let guard = epoch::pin();
        let mut tid = tid;
        loop {
            while self.directory.get(tid.block(), &guard).is_none() {
                let map = self.traces.0.read().get(&tid.block()).cloned();
                let Some(next) = map.and_then(|map| map.to(tid)) else { return tid };
                tid = next;
            }
            // Where the row is now, its last change says more; where it was, there is an echo.
            let Some(next) = self.changed_to(at, self.moved(tid, &guard), &guard) else {
                let place = self.place(at, tid, &guard);
                return place.map_or(tid, |(block, row)| Tid::new(block.id(), row));
            };
            tid = next;
        }
    }

    /// Where a change that `at` sees put the row `tid`, if that was another place.
    fn changed_to(&self, at: Snapshot, tid: Tid, guard: &Guard) -> Option<Tid> {
        let block = self.locate(tid, guard)?;
        let last = newest(settled(block.word(tid.row())?), guard)?;
        let is_end = last.kind() == Kind::Delete && at.sees(last.stamp(), || last.statement());
        if is_end { last.moved_to() } else { None }
    }

    /// The block, whose rows are all elsewhere for everybody, is gone.
    pub(super) fn leave_trace(&self, block: u64, map: Arc<MoveMap>) {
        self.traces.0.write().insert(block, map);
    }

    /// Forgets where the rows of these blocks went: all transactions that were running when they
    /// had moved have ended, so nobody has the old TIDs. True when the blocks were gone.
    pub fn forget_moves(&self, blocks: &[u64]) -> bool {
        let guard = epoch::pin();
        let mut traces = self.traces.0.write();
        let are_gone = blocks.iter().all(|&id| self.directory.get(id, &guard).is_none());
        if are_gone {
            blocks.iter().for_each(|id| drop(traces.remove(id)));
        }
        are_gone
    }

    /// Where `at` sees row `row` of `block`, when it does so in another block, which it was in
    /// before.
    #[inline]
    pub(super) fn origin<'g>(
        &self,
        at: Snapshot,
        block: BlockRef<'g>,
        row: u32,
        guard: &'g Guard,
    ) -> Option<(BlockRef<'g>, u32)> {
        let mut map = block.moved_from(at)?;
        let mut tid = map.from(row);
        loop {
            let block = self.directory.get(tid.block(), guard)?;
            match block.moved_from(at) {
                Some(older) => map = older,
                None => return Some((block, tid.row())),
            }
            tid = map.from(tid.row());
        }
    }

    /// The stamp that a writer with snapshot `at` must see of a row without versions: of the block
    /// where it sees the row. That of a target is the newest of all its sources.
    #[inline]
    pub(super) fn born(&self, at: Snapshot, block: BlockRef<'_>, row: u32, guard: &Guard) -> u64 {
        match self.origin(at, block, row, guard) {
            Some((origin, _)) => origin.created(),
            None => block.born(),
        }
    }

    /// Where `at` sees the row `tid`, if anywhere.
    #[inline]
    pub(super) fn place<'g>(
        &self,
        at: Snapshot,
        tid: Tid,
        guard: &'g Guard,
    ) -> Option<(BlockRef<'g>, u32)> {
        let block = self.locate(tid, guard)?;
        if !block.is_source() && !block.is_target() {
            return Some((block, tid.row()));
        }
        if let Some(origin) = self.origin(at, block, tid.row(), guard) {
            return Some(origin);
        }
        let (mut block, mut tid) = (block, tid);
        // Only as far as the snapshot sees.
        while at.sees_stamp(block.ended())
            && let Some(next) = block.moved_to().and_then(|map| map.to(tid))
        {
            tid = next;
            block = self.locate(tid, guard)?;
        }
        Some((block, tid.row()))
    }
}
