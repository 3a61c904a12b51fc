//! Statistics of a table in files: written with checkpoints, so that the first plans after a start
//! are made from what was known before.
//!
//! ```text
//! checkpoint  estimates of all rows -> KeptStatistics -> a file, when they were made anew
//! opening     a source -> read when somebody plans first, as old as the table changed since
//! ```
//! Invariant: estimates decide no answer, so whatever is read, is missing or cannot be read costs
//! time at most.
//! Elsewhere: bytes (`statistics::stored`), who gathers (`gathering`), files (`txn::checkpoint`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Table;
use super::gathering::ROWS_AT_ONCE;
use crate::block::Block;
use crate::statistics::{Estimates, Keepable, StatisticsSource, Stored};

/// Statistics of a table that a checkpoint may keep.
pub struct KeptStatistics<'t> {
    /// Number of these estimates: those that a file has under it are the same.
    pub generation: u64,
    /// Changes of the table since they were made.
    pub changes: u64,
    table: &'t Table,
    estimates: Option<Arc<Estimates>>,
}

impl KeptStatistics<'_> {
    /// As bytes, for [`Table::restore_statistics`]; None when they are stored already, or are too
    /// long to be worth a file.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.table.known.write(self.estimates.as_ref()?, &self.table.all_blocks())
    }
}

impl Table {
    /// Statistics that a checkpoint may keep, gathered now where few rows are to be looked at; None
    /// where little is known, or the table is so small that its rows are looked at whenever it is
    /// planned with.
    pub fn statistics_to_keep(&self) -> Option<KeptStatistics<'_>> {
        if self.live_rows() <= ROWS_AT_ONCE {
            return None;
        }
        self.gather_little();
        let Keepable { generation, changes: before, estimates } = self.known.keepable()?;
        let changes = self.changes.load(Ordering::Relaxed).saturating_sub(before);
        Some(KeptStatistics { generation, changes, table: self, estimates })
    }

    /// Recovery, when the blocks of a checkpoint are there: it kept statistics under the number
    /// `generation`, made so many `changes` of the table before it; `source` is asked when somebody
    /// wants them.
    pub fn restore_statistics(
        &self,
        source: Arc<dyn StatisticsSource>,
        generation: u64,
        changes: u64,
    ) {
        let changes = self.changes.fetch_add(changes, Ordering::Relaxed);
        self.known.store(Stored { source, generation, changes });
    }

    pub(super) fn all_blocks(&self) -> Arc<Vec<Arc<Block>>> {
        Arc::clone(&self.blocks.lock().all)
    }
}
