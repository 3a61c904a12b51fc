//! Blocks that are nearly empty, and small ones, become one.
//!
//! ```text
//! uses of blocks -> thin or small, and quiet -> neighbours together, as many as fill a block
//!                -> one transaction for each group: move (`storage`), log, commit
//! ```
//! Invariants: no checkpoint is written during a move, and the table stays: its lock is held as by
//! a writer. A move that meets a writer is given up.
//!
//! Source: Funke 2015, section 5.3.1. Departure: thin is what holds a third more memory than its
//! rows need, since half would let a table be twice its rows.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use catalog::TableEntry;
use catalog::locks::{Asked, LockMode};
use durable::{Durable, Effects, Lsn, Redo};
use parking_lot::Mutex;
use storage::{
    BLOCK_ROWS_MAX, BlockLayout, BlockUse, Moving, Table, TableId, Timestamp, TxnId, UndoBuffer,
};
use txn::manager::{CommitWork, Isolation};
use types::{Error, Result, SqlState};

use super::freezing::Site;

/// A block with fewer rows is small.
const SMALL_ROWS: usize = BLOCK_ROWS_MAX / 16;

/// Small blocks that are worth a move: more than the first ones of a table that grows row by row.
const SMALL_BLOCKS: usize = 8;

/// Bytes of blocks whose rows are moved together at most.
const GROUP_BYTES_MAX: u64 = 256 << 20;

/// True when the memory is a third more than the rows of the block need.
fn is_thin(block: &BlockUse) -> bool {
    let rows = block.rows.max(1) as u64;
    // Hot rows are written, so they have versions.
    let words = if block.layout == BlockLayout::Frozen { block.version_bytes } else { 0 };
    let values = block.bytes - block.version_bytes;
    (values + words) * rows * 3 > values * block.live as u64 * 4
}

/// Groups of blocks to be moved together, of those that are `quiet`.
pub(super) fn groups(blocks: &[BlockUse], quiet: impl Fn(&BlockUse) -> bool) -> Vec<Vec<u64>> {
    let mut groups = Vec::new();
    let mut group: Vec<&BlockUse> = Vec::new();
    let mut end = |group: &mut Vec<&BlockUse>| {
        let is_worth = group.len() >= SMALL_BLOCKS || group.iter().any(|block| is_thin(block));
        if is_worth {
            groups.push(group.iter().map(|block| block.id).collect());
        }
        group.clear();
    };
    let is_wanted = |block: &&BlockUse| {
        let is_small = block.live < SMALL_ROWS;
        !block.takes_rows && (is_small || is_thin(block)) && quiet(block)
    };
    for block in blocks.iter().filter(is_wanted) {
        let rows: usize = group.iter().map(|block| block.live).sum();
        let bytes: u64 = group.iter().map(|block| block.bytes).sum();
        if rows + block.live > BLOCK_ROWS_MAX || bytes + block.bytes > GROUP_BYTES_MAX {
            end(&mut group);
        }
        group.push(block);
    }
    end(&mut group);
    groups
}

/// A block as it was in the last cycle.
#[derive(Clone, Copy, Debug)]
struct Before {
    changes: u64,
    rows: usize,
    /// For how many cycles it was the same.
    cycles: u32,
}

/// Blocks as they were in the last cycle, by table and block.
#[derive(Debug, Default)]
pub(super) struct Quiet(HashMap<(TableId, u64), Before>);

impl Quiet {
    /// Groups of blocks of `tables` that were the same for `cycles` cycles, and one cycle more has
    /// passed.
    pub(super) fn wanted(&mut self, tables: &[Arc<Table>], cycles: u32) -> Vec<Wanted> {
        let mut next = HashMap::new();
        let mut found = Vec::new();
        for table in tables {
            let blocks = table.block_uses();
            for block in &blocks {
                let BlockUse { id, changes, rows, .. } = *block;
                let same = |before: &&Before| (before.changes, before.rows) == (changes, rows);
                let before = self.0.get(&(table.id(), id)).filter(same);
                let cycles = before.map_or(0, |before| before.cycles.saturating_add(1));
                next.insert((table.id(), id), Before { changes, rows, cycles });
            }
            let quiet = |block: &BlockUse| next[&(table.id(), block.id)].cycles >= cycles;
            let groups = groups(&blocks, quiet);
            found.extend(groups.into_iter().map(|blocks| Wanted { table: table.id(), blocks }));
        }
        self.0 = next;
        found
    }

    /// Begins to count anew how long the blocks were the same.
    pub(super) fn put_off(&mut self, wanted: &Wanted) {
        for &block in &wanted.blocks {
            self.0.remove(&(wanted.table, block));
        }
    }
}

/// Blocks of one table whose rows should be together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) table: TableId,
    pub(super) blocks: Vec<u64>,
}

/// Moved rows whose old TIDs somebody may still have: cursors of transactions that look again.
#[derive(Debug, Default)]
pub(crate) struct Traces(Mutex<Vec<Trace>>);

#[derive(Debug)]
struct Trace {
    table: Weak<Table>,
    blocks: Vec<u64>,
    /// Transactions that were running when the rows had moved.
    running: Vec<TxnId>,
}

fn running(site: &Site) -> Vec<TxnId> {
    site.stores.transactions.running().into_iter().map(|(txn, ..)| txn).collect()
}

impl Traces {
    /// The rows of these blocks have moved.
    fn note(&self, site: &Site, table: &Arc<Table>, blocks: &[u64]) {
        let running = running(site);
        let (table, blocks) = (Arc::downgrade(table), blocks.to_vec());
        self.0.lock().push(Trace { table, blocks, running });
    }

    /// Forgets what nobody asks for any more.
    pub(super) fn forget(&self, site: &Site) {
        let mut traces = self.0.lock();
        if traces.is_empty() {
            return;
        }
        let still = running(site);
        traces.retain_mut(|trace| {
            trace.running.retain(|txn| still.contains(txn));
            let Some(table) = trace.table.upgrade() else { return false };
            !trace.running.is_empty() || !table.forget_moves(&trace.blocks)
        });
    }
}

/// Moves the rows of the blocks `ids` of a table to one block, unless somebody writes them, has the
/// table, or defines it anew; where the log tells of it. The latch on checkpoints is held.
///
/// # Errors
/// 53200; 53100 and 58030; 57014.
fn move_blocks(site: &Site, entry: &Arc<TableEntry>, ids: &[u64]) -> Result<Option<Lsn>> {
    let stores = &site.stores;
    let mut mover = stores.transactions.begin(Isolation::Snapshot)?;
    let table = Arc::clone(entry.storage());
    let Some(_lock) = Locked::ask(site, entry, mover.id()) else {
        mover.rollback();
        return Ok(None);
    };
    let at = mover.snapshot();
    let moving = match table.move_rows(mover.undo(), at, ids) {
        Ok(Some(moving)) => moving,
        other => {
            mover.rollback();
            return other.map(|_| None);
        }
    };
    let redo = match &site.durable {
        Some(durable) => durable.encode(mover.changes(), Effects::default()).map(Some),
        None => Ok(None),
    };
    let redo = match redo {
        Ok(redo) => redo.flatten(),
        Err(error) => {
            mover.rollback();
            return Err(error);
        }
    };
    let mut work = Work { durable: site.durable.as_deref(), redo, moving, lsn: None, met: false };
    match mover.commit(&mut work) {
        Ok(_) => {
            site.traces.note(site, &table, work.moving.blocks());
            work.moving.keep();
            Ok(work.lsn)
        }
        Err(_) if work.met => Ok(None),
        Err(error) => Err(error),
    }
}

/// A table's lock, as a writer has it.
struct Locked<'e> {
    entry: &'e TableEntry,
    txn: TxnId,
}

impl<'e> Locked<'e> {
    /// The lock, if nobody is in the way and the table is still what it was.
    fn ask(site: &Site, entry: &'e Arc<TableEntry>, txn: TxnId) -> Option<Self> {
        let asked = entry.lock.ask(&site.stores.transactions, txn, LockMode::RowExclusive);
        let locked = Self { entry, txn };
        let is_there = site.stores.relations.snapshot().entry_of(entry.storage()).is_some();
        (asked == Asked::Granted && is_there).then_some(locked)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.entry.lock.release(self.txn);
    }
}

/// Steps of a move under the commit latch.
struct Work<'a> {
    durable: Option<&'a Durable>,
    redo: Option<Redo<'a>>,
    moving: Moving<'a>,
    lsn: Option<Lsn>,
    /// True when a writer was met.
    met: bool,
}

impl CommitWork for Work<'_> {
    fn publish(&mut self, ts: Timestamp, _: &UndoBuffer) -> Result<()> {
        if !self.moving.retire() {
            self.met = true;
            return Err(Error::internal("rows were written while they moved"));
        }
        if let (Some(durable), Some(redo)) = (self.durable, &mut self.redo) {
            let appended = durable.append(ts, redo, None);
            self.lsn = Some(appended.inspect_err(|_| self.moving.give_back())?);
        }
        Ok(())
    }
}

/// Moves one group, if no checkpoint is being written.
///
/// # Errors
/// As [`move_blocks`].
pub(super) fn try_group(site: &Site, wanted: &Wanted) -> Result<()> {
    let state = site.stores.relations.snapshot();
    let entry = state.tables.values().find(|entry| entry.storage().id() == wanted.table);
    let Some(entry) = entry else { return Ok(()) };
    let lsn = {
        let checkpoints = site.checkpoints();
        let held = checkpoints.as_ref().map(|checkpoints| checkpoints.try_lock());
        if held.as_ref().is_some_and(Option::is_none) {
            return Ok(());
        }
        move_blocks(site, entry, &wanted.blocks)?
    };
    settle(site, lsn);
    Ok(())
}

/// The log is written soon.
fn settle(site: &Site, lsn: Option<Lsn>) {
    if let (Some(durable), Some(lsn)) = (&site.durable, lsn) {
        durable.wait_not(lsn);
    }
}

/// Moves rows of `entry`'s blocks together where that frees memory; for VACUUM.
///
/// # Errors
/// As [`move_blocks`], but for 53200; what `check` says between two groups.
pub(crate) fn compact_table(
    site: &Site,
    entry: &Arc<TableEntry>,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    site.traces.forget(site);
    for ids in groups(&entry.storage().block_uses(), |_| true) {
        check()?;
        let moved = {
            let checkpoints = site.checkpoints();
            let _held = checkpoints.as_ref().map(|checkpoints| checkpoints.lock());
            move_blocks(site, entry, &ids)
        };
        let lsn = match moved {
            // Rows that have no room to move stay where they are: what was freed is free.
            Err(error) if error.state() == SqlState::OUT_OF_MEMORY => continue,
            moved => moved?,
        };
        settle(site, lsn);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frozen block of 10 bytes a row, without versions.
    fn block(id: u64, rows: usize, live: usize) -> BlockUse {
        BlockUse {
            id,
            layout: BlockLayout::Frozen,
            rows,
            live,
            changes: 0,
            bytes: rows as u64 * 10,
            version_bytes: 0,
            takes_rows: false,
        }
    }

    fn wanted(blocks: &[BlockUse]) -> Vec<Vec<u64>> {
        groups(blocks, |_| true)
    }

    #[test]
    fn thin_blocks_go_together_as_far_as_they_fit() {
        let blocks = [
            block(1, 65_536, 40_000),
            block(2, 65_536, 65_000),
            block(3, 65_536, 20_000),
            block(4, 65_536, 10_000),
            block(5, 65_536, 49_151),
            block(6, 65_536, 49_152),
        ];
        assert_eq!(wanted(&blocks), [vec![1, 3], vec![4, 5]], "3/4 of the rows are enough");
        assert!(groups(&blocks, |_| false).is_empty());
        let even = |block: &BlockUse| block.id.is_multiple_of(2);
        assert_eq!(groups(&blocks, even), [vec![4]], "a thin block alone frees memory, too");
    }

    #[test]
    fn a_few_small_blocks_stay() {
        let small: Vec<BlockUse> = (0..8).map(|id| block(id, 100, 100)).collect();
        assert!(wanted(&small[..7]).is_empty());
        assert_eq!(wanted(&small), [(0..8).collect::<Vec<u64>>()]);
        let mut taker = small;
        taker[7].takes_rows = true;
        assert!(wanted(&taker).is_empty(), "rows still come");
    }

    #[test]
    fn words_count_in_frozen_blocks() {
        let words =
            BlockUse { bytes: 20_000 + 8_000, version_bytes: 8_000, ..block(1, 2000, 2000) };
        assert_eq!(wanted(&[words]), [vec![1]]);
        let layout = BlockLayout::Row;
        assert!(wanted(&[BlockUse { layout, ..words }]).is_empty(), "hot rows are written");
        let wide = BlockUse { bytes: 100_000 + 8_000, ..words };
        assert!(wanted(&[wide]).is_empty());
    }
}
