//! Statistics of a table: what who plans gets at once, and what others gather for the next plan.
//!
//! ```text
//! asked    kept by a checkpoint -> read, once
//!          little to look at -> gathered now
//!          nothing known     -> a few rows are read      `-> wanted
//!          old               -> told as they are           `-> wanted
//! gather   by ANALYZE, or by a thread of the database where they are wanted
//! ```
//! Invariant: bounds and the number of rows are those of now, however old the estimates are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use kernels::{Vector, VectorBuilder};
use types::Result;

use super::Table;
use crate::block::Block;
use crate::datum::{Datum, RowBuffer};
use crate::statistics::{Estimates, Grade, Kept, Looks, TableStatistics};
use crate::tid::Tid;
use crate::version::Snapshot;

/// Rows that a statement looks at, all of them, before it is planned: as many as a sample has.
pub(super) const ROWS_AT_ONCE: u64 = 4096;

/// Rows read where there are more, and nothing is known.
const PEEK_ROWS: u64 = 1024;

/// Blocks that are read for a peek where they are not in memory.
const PEEK_LOADS: usize = 16;

/// Bytes of strings from which on a peek has seen enough.
const PEEK_BYTES: usize = 1 << 20;

impl Table {
    /// Statistics, in a time that does not grow with the table: estimates may be old or those of a
    /// few rows, bounds never are. Where estimates should be better, [`Self::wants_statistics`]
    /// says so.
    pub fn statistics(&self) -> Arc<TableStatistics> {
        let estimates = self.estimates();
        let bounds = self.bounds.read(&epoch::pin());
        let statistics = TableStatistics::new(self.live_rows(), bounds, Arc::clone(&estimates));
        self.known.told(&estimates, statistics)
    }

    /// True when somebody has planned with estimates that [`Self::gather`] would make better.
    pub fn wants_statistics(&self) -> bool {
        self.known.is_wanted()
    }

    /// True when estimates are of a few rows only: a plan that is kept should be made again when
    /// this ends.
    pub fn has_peeked_statistics(&self) -> bool {
        self.known.is_peeked()
    }

    /// Reads all rows of blocks of which a tenth changed, and makes estimates of all blocks, beside
    /// others who read, write and plan. `go_on` is asked before each block.
    ///
    /// # Errors
    /// Errors of `go_on`; blocks read until then are not read again.
    pub fn gather(&self, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
        self.known.recall(|| self.all_blocks());
        self.gather_by(&mut self.known.looks.lock(), go_on).map(|_| ())
    }

    /// Gathers where estimates are old and few rows are to be looked at.
    pub(super) fn gather_little(&self) {
        let changes = self.changes.load(Ordering::Relaxed);
        if !self.known.is_stored() && !matches!(self.known.kept(changes), Kept::Fresh(_)) {
            let _ = self.gathered_at_once(&self.all_blocks());
        }
    }

    /// Estimates made now, if few rows are to be looked at and nobody else looks at them.
    fn gathered_at_once(&self, blocks: &[Arc<Block>]) -> Option<Arc<Estimates>> {
        // Who gathers now is not waited for.
        let mut looks = self.known.looks.try_lock()?;
        if self.known.work(&looks, blocks) > ROWS_AT_ONCE {
            return None;
        }
        self.gather_by(&mut looks, &|| Ok(())).ok()
    }

    fn gather_by(
        &self,
        looks: &mut Looks,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Arc<Estimates>> {
        self.known.set_wanted(false);
        let changes = self.changes.load(Ordering::Relaxed);
        let snapshot = self.snapshot(Snapshot::ALL);
        let found = self.known.look(looks, &snapshot, go_on);
        let (summaries, mut sample) = found.inspect_err(|_| self.known.set_wanted(true))?;
        let blocks = Arc::clone(&self.blocks.lock().all);
        let made = Estimates::gathered(self.live_rows(), &blocks, &summaries, &mut sample);
        let made = Arc::new(made);
        self.known.keep(changes, Grade::Gathered, &made);
        Ok(made)
    }

    fn estimates(&self) -> Arc<Estimates> {
        self.known.recall(|| self.all_blocks());
        let changes = self.changes.load(Ordering::Relaxed);
        let kept = self.known.kept(changes);
        if let Kept::Fresh(estimates) = kept {
            return estimates;
        }
        let blocks = Arc::clone(&self.blocks.lock().all);
        if let Some(estimates) = self.gathered_at_once(&blocks) {
            return estimates;
        }
        self.known.set_wanted(true);
        if let Kept::Old(estimates) = kept {
            return estimates;
        }
        let estimates = Estimates::peeked(self.live_rows(), &blocks, &self.peek(&blocks));
        let estimates = Arc::new(estimates);
        self.known.keep(changes, Grade::Peeked, &estimates);
        estimates
    }

    /// A few rows of `blocks`, as columns: each of a part of the table as large as the others.
    fn peek(&self, blocks: &[Arc<Block>]) -> Vec<Vector> {
        let columns: Vec<usize> = (0..self.types.len()).collect();
        let mut builders: Vec<_> = self.types.iter().map(|t| VectorBuilder::new(*t)).collect();
        let total: u64 = blocks.iter().map(|block| block.rows() as u64).sum();
        // Rows that are dead say nothing.
        let dead = total / self.live_rows().max(1);
        let tries = (PEEK_ROWS * dead.clamp(1, 4)).min(total);
        let stride = blocks.len().div_ceil(PEEK_LOADS).max(1);
        let (mut row, mut bytes) = (RowBuffer::new(), 0);
        let (mut block, mut before) = (0, 0);
        for i in 0..tries {
            let at = spread(i, tries, total);
            while at >= before + blocks[block].rows() as u64 && block + 1 < blocks.len() {
                before += blocks[block].rows() as u64;
                block += 1;
            }
            if !blocks[block].is_resident() && block % stride != 0 {
                continue;
            }
            let tid = Tid::new(blocks[block].id(), (at - before) as u32);
            // A block that cannot be read says nothing: who needs its rows is told.
            if !self.read(Snapshot::ALL, tid, &columns, &mut row).unwrap_or(false) {
                continue;
            }
            for (builder, datum) in builders.iter_mut().zip(row.iter()) {
                if let Datum::Str(text) = datum {
                    bytes += text.len();
                }
                builder.push_value(&datum.to_value());
            }
            if bytes > PEEK_BYTES {
                break;
            }
        }
        builders.into_iter().map(VectorBuilder::finish).collect()
    }
}

/// A row of the part `i` of `parts` of `total` rows, at a place in it that differs from part to
/// part, so that rows at regular distances are not all that is seen.
fn spread(i: u64, parts: u64, total: u64) -> u64 {
    let at = |i: u64| (u128::from(i) * u128::from(total) / u128::from(parts)) as u64;
    let (from, to) = (at(i), at(i + 1));
    from + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % (to - from).max(1)
}
