//! Putting rows back after a restart: the changes of the log, by TID.
//!
//! ```text
//! changes: | 0 ... 31 | 32 ... 63 | 64 ...    of many tables, in the order of commits
//!            apply      fetch ahead
//! ```
//! Changes of one block come from one thread and in order; those of others may come from other
//! threads at the same time. What a row is changed in was used by nobody since the start, so every
//! change would wait for memory: places are fetched a window ahead.
//!
//! Invariants: as in `recover`. Elsewhere: decoding (`txn::redo`), which thread gets what
//! (`durable::recover`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch::{self as epoch, Guard};
use types::{Error, Result};

use super::recover::REPLAYED;
use super::{BlockRef, Table};
use crate::block::Block;
use crate::datum::Datum;
use crate::statistics::Bounds;
use crate::tid::Tid;
use crate::versions::{DEAD, ZONE_ROWS};

/// Changes whose places are fetched together: about as many lines as a core may wait for, and few
/// enough that none is lost before its turn.
const WINDOW: usize = 16;

/// Kind of a change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChangeKind {
    /// The row came, or came back, with a value for each column.
    Insert,
    /// Columns got values.
    Update,
    /// The row went.
    Delete,
}

/// A change of a row, as a log has it.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// Position of its table in the tables of the replay.
    pub table: usize,
    /// Its place.
    pub tid: Tid,
    /// Kind of the change.
    pub kind: RowChangeKind,
    /// Which ordinals of [`RowChanges::columns`] an update names, ascending.
    pub columns: Range<u32>,
    /// Which of [`RowChanges::values`] are the new values.
    pub values: Range<u32>,
}

/// Changes in the order in which they happened.
#[derive(Clone, Debug, Default)]
pub struct RowChanges<'v> {
    /// The changes.
    pub changes: Vec<RowChange>,
    /// Ordinals.
    pub columns: Vec<usize>,
    /// Values; integers may be narrower than their columns.
    pub values: Vec<Datum<'v>>,
}

impl RowChanges<'_> {
    /// Forgets the changes but keeps the memory.
    pub fn clear(&mut self) {
        self.changes.clear();
        self.columns.clear();
        self.values.clear();
    }
}

fn slice<'s, T>(all: &'s [T], range: &Range<u32>) -> &'s [T] {
    &all[range.start as usize..range.end as usize]
}

/// A table that rows are put back into by one thread. What it counts and which values it saw is
/// the table's when it is dropped, so that threads do not take turns at it.
#[derive(Debug)]
pub struct TableReplay {
    table: Arc<Table>,
    bounds: Bounds,
    rows: i64,
    changes: u64,
}

impl Drop for TableReplay {
    fn drop(&mut self) {
        self.table.note_commit(self.rows, self.changes);
        self.table.bounds.admit_bounds(&self.bounds, &epoch::pin());
    }
}

/// Applies `changes` to `tables`.
///
/// # Errors
/// With the position of the change that failed: XX001 when there is no such place, or a value of
/// another type; 53200 without memory.
///
/// # Panics
/// If a change names a table, columns or values that are not there.
pub fn replay_rows(
    tables: &mut [TableReplay],
    changes: &RowChanges<'_>,
) -> Result<(), (usize, Error)> {
    let guard = epoch::pin();
    let mut windows = changes.changes.chunks(WINDOW).peekable();
    let mut done = 0;
    while let Some(window) = windows.next() {
        if done == 0 {
            fetch(tables, window, &guard);
        }
        windows.peek().into_iter().for_each(|next| fetch(tables, next, &guard));
        for change in window {
            let columns = slice(&changes.columns, &change.columns);
            let values = slice(&changes.values, &change.values);
            let table = &mut tables[change.table];
            let applied = match change.kind {
                RowChangeKind::Insert => table.insert(change.tid, values, &guard),
                RowChangeKind::Update => table.update(change.tid, columns, values, &guard),
                RowChangeKind::Delete => table.delete(change.tid, &guard),
            };
            applied.map_err(|error| (done, error))?;
            done += 1;
        }
    }
    Ok(())
}

/// Asks the processor for the places of changes.
fn fetch(tables: &[TableReplay], window: &[RowChange], guard: &Guard) {
    for RowChange { table, tid, .. } in window {
        let block: Option<BlockRef<'_>> = tables[*table].table.directory.get(tid.block(), guard);
        if let Some(block) = block {
            block.fetch_tuple(tid.row() as usize);
        }
    }
}

impl TableReplay {
    /// Replay into `table`, which nobody uses but replays of other blocks.
    pub fn new(table: &Arc<Table>) -> Self {
        let bounds = Bounds::new(&table.types);
        Self { table: Arc::clone(table), bounds, rows: 0, changes: 0 }
    }

    /// Puts the row `tid` in place; makes its block if it is missing. A row that is there gets
    /// these values.
    fn insert(&mut self, tid: Tid, values: &[Datum<'_>], guard: &Guard) -> Result<()> {
        let table = &self.table;
        if values.len() != table.types.len() || tid.block() >= super::directory::BLOCK_ID_END {
            return Err(table.damaged(format!("{} values for row {tid:?}", values.len())));
        }
        let block = table.room_for(tid, guard)?;
        let number = tid.row();
        let rows = block.rows();
        let zone = block.versions.make_zone(number, || rows, &table.pool)?;
        for unborn in rows as u32..number {
            let zone = block.versions.make_zone(unborn, || rows, &table.pool)?;
            zone.set_gone(unborn);
            block.bury(1);
            debug_assert_eq!(zone.word(unborn).load(Ordering::Relaxed), DEAD, "not yet born");
        }
        let is_next = number as usize >= rows;
        if is_next {
            block.set_claimed(number as usize + 1);
        }
        self.put_values(block.get(), number, values.iter().copied().enumerate(), guard)?;
        block.note_change(REPLAYED, 1);
        if zone.word(number).swap(0, Ordering::AcqRel) == DEAD {
            if !is_next {
                zone.marks().set_back(number as usize % ZONE_ROWS);
                block.unbury();
            }
            self.rows += 1;
            self.changes += 1;
        }
        Ok(())
    }

    /// Changes columns of the row `tid`.
    fn update(
        &mut self,
        tid: Tid,
        columns: &[usize],
        values: &[Datum<'_>],
        guard: &Guard,
    ) -> Result<()> {
        let table = &self.table;
        let block = table.locate(tid, guard);
        let block = block.ok_or_else(|| table.damaged(format!("no row {tid:?}")))?;
        if block.hot.is_none() {
            return Err(table.damaged(format!("row {tid:?} updated in a frozen block")));
        }
        let changes = columns.iter().copied().zip(values.iter().copied());
        self.put_values(block.get(), tid.row(), changes, guard)?;
        block.note_change(REPLAYED, 1);
        self.changes += 1;
        Ok(())
    }

    /// Removes the row `tid`. Nothing happens when it is gone.
    fn delete(&mut self, tid: Tid, guard: &Guard) -> Result<()> {
        let table = &self.table;
        let Some(block) = table.directory.get(tid.block(), guard) else {
            // All its rows were dead when the checkpoint was taken, or it had none.
            return Ok(());
        };
        if tid.row() as usize >= block.rows() {
            return Err(table.damaged(format!("no row {tid:?}")));
        }
        let dead = block.dead();
        table.set_dead(block.get(), tid.row())?;
        if block.dead() > dead {
            block.note_change(REPLAYED, 1);
            self.rows -= 1;
            self.changes += 1;
        }
        Ok(())
    }

    /// Stores values of columns in a row that the caller has for itself.
    #[inline]
    fn put_values<'v>(
        &self,
        block: &Block,
        row: u32,
        values: impl Iterator<Item = (usize, Datum<'v>)> + Clone,
        guard: &Guard,
    ) -> Result<()> {
        let mut text_bytes = 0;
        for (column, datum) in values.clone() {
            let Some(&physical) = self.table.types.get(column) else {
                return Err(self.table.damaged(format!("a value in column {column}")));
            };
            if let Datum::Str(text) = datum {
                text_bytes += text.len();
            }
            if datum.widened(physical).is_none() {
                return Err(self.table.damaged(format!("{datum:?} in column {column}")));
            }
            self.bounds.admit(column, datum, guard);
        }
        let text_at = block.hot().heap.reserve(text_bytes)?;
        // SAFETY: `text_bytes` are those of all strings among the values, reserved for them.
        unsafe { block.store_values(row as usize, values, text_at) };
        Ok(())
    }
}
