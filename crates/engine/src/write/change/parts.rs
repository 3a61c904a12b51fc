//! UPDATE and DELETE of tables with partitions or heirs, and of partitions: each row is changed
//! where it is, and one whose new values belong elsewhere is deleted there and inserted where it
//! belongs.

use std::sync::Arc;

use catalog::TableEntry;
use catalog::rows::Rows;
use kernels::Batch;
use sql::statement::{Matches, RowPlace};
use storage::Snapshot;
use types::Result;

use super::super::action::{Assign, OwnAction};
use super::super::partitioned::{Routes, Settled, grouped, of_partitions, pick, tagged};
use super::super::rows::columns_at;
use super::super::triggers::{Before, RowTriggers, SourceRow};
use super::super::writer::TableWriter;
use super::{
    Action, Change, Conflicts, Fired, Read, Written, found_at, note_conflicts, settled_columns,
};
use crate::statement::running::Running;
use crate::transaction::work::{recheck_snapshot, stale};

/// A statement while it writes partitions.
pub(super) struct PartsChange<'a> {
    routes: Routes,
    /// The tables that have the rows, by number.
    parts: Parts<'a>,
    action: Action<'a>,
    matches: Matches,
    read: Read<'a>,
    /// True when new values may belong to another partition.
    moves: bool,
    /// Changes of rows that stay, by partition.
    staying: Vec<Option<Change<'a>>>,
    /// Ends of rows that move, by partition.
    leaving: Vec<Option<Change<'a>>>,
    /// Rows that moved, with extras, where they are now.
    moved: Written,
    /// New rows, for which foreign keys are looked at.
    owed: Vec<(usize, Batch)>,
}

/// Tables that have the rows of the target.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    /// The partitions, or the family, by number; the target itself, if it has none.
    pub(super) entries: &'a [Arc<TableEntry>],
    /// The action in each of a family.
    pub(super) owned: &'a [OwnAction],
}

/// A part of the source: rows of one partition.
struct Rest<'b> {
    leaf: usize,
    batch: &'b Batch,
    at: Snapshot,
}

impl<'a> PartsChange<'a> {
    pub(super) fn new(
        routes: Routes,
        parts: Parts<'a>,
        action: Action<'a>,
        matches: Matches,
        read: Read<'a>,
    ) -> Self {
        let moves = match action {
            Action::Update(assign) => routes.depends_on(assign.columns),
            Action::Delete => false,
        };
        let none = || (0..parts.entries.len()).map(|_| None).collect();
        let (staying, leaving) = (none(), none());
        let (moved, owed) = (Written::default(), Vec::new());
        Self { routes, parts, action, matches, read, moves, staying, leaving, moved, owed }
    }

    /// Writes what a batch of the source found.
    ///
    /// # Errors
    /// Errors of UPDATE and DELETE; 23514 for a row that is not one of the target any more.
    pub(super) fn apply(
        &mut self,
        running: &mut Running<'_>,
        at: Snapshot,
        batch: &Batch,
        conflicts: &mut Conflicts,
    ) -> Result<()> {
        let parts =
            if self.routes.is_tagged() { of_partitions(batch) } else { vec![(0, batch.clone())] };
        for (leaf, batch) in parts {
            let rest = Rest { leaf, batch: &batch, at };
            match self.triggers(running, leaf)? {
                Some(triggers) => self.apply_each(running, &triggers, rest, conflicts)?,
                None => self.apply_part(running, rest, conflicts)?,
            }
        }
        Ok(())
    }

    /// Triggers of a partition before rows that an UPDATE changes, wherever these belong then; None
    /// where rows are written as the source has them, or triggers fire later.
    fn triggers(&self, running: &Running<'_>, leaf: usize) -> Result<Option<RowTriggers>> {
        let action = self.action_of(leaf);
        if action.width() == action.asked_width() {
            return Ok(None);
        }
        let (entry, event, asked) = (self.entry(leaf)?, action.event(), action.asked());
        RowTriggers::new(running.session, entry, event, asked).map(Some)
    }

    /// Writes rows one by one, behind their triggers.
    fn apply_each(
        &mut self,
        running: &mut Running<'_>,
        triggers: &RowTriggers,
        Rest { leaf, batch, at }: Rest<'_>,
        conflicts: &mut Conflicts,
    ) -> Result<()> {
        let entry = self.entry(leaf)?;
        let rows = Rows::new(batch);
        for row in 0..rows.count {
            let found = found_at(running, at);
            let source = SourceRow { rows: &rows, row, at, found };
            match triggers.before_change(running, self.action_of(leaf), source)? {
                Before::Skip => {}
                Before::Conflict(tid) => note_conflicts(conflicts, entry, vec![tid]),
                Before::Write(batch) => {
                    let at = recheck_snapshot(running.session.work()).unwrap_or(at);
                    self.apply_part(running, Rest { leaf, batch: &batch, at }, conflicts)?;
                }
            }
        }
        Ok(())
    }

    /// Writes rows of one partition.
    fn apply_part(
        &mut self,
        running: &mut Running<'_>,
        Rest { leaf, batch, at }: Rest<'_>,
        conflicts: &mut Conflicts,
    ) -> Result<()> {
        let moving = match self.action {
            Action::Update(_) if self.moves => self.moving(Rest { leaf, batch, at })?,
            _ => None,
        };
        let Some((rows, new)) = moving else {
            return self.stay(running, Rest { leaf, batch, at }, conflicts);
        };
        let stays = |row: &u32| !rows.contains(row);
        let stay: Vec<u32> = (0..batch.rows as u32).filter(stays).collect();
        let (staying, leaving) = (pick(batch, &stay), pick(batch, &rows));
        self.stay(running, Rest { leaf, batch: &staying, at }, conflicts)?;
        self.go(running, Rest { leaf, batch: &leaving, at }, &new, conflicts)
    }

    fn entry(&self, leaf: usize) -> Result<&'a Arc<TableEntry>> {
        self.parts.entries.get(leaf).ok_or_else(stale)
    }

    fn action_of(&self, leaf: usize) -> Action<'a> {
        self.parts.owned.get(leaf).map_or(self.action, OwnAction::action)
    }

    /// Changes rows that stay in their partition.
    fn stay(
        &mut self,
        running: &mut Running<'_>,
        Rest { leaf, batch, at }: Rest<'_>,
        conflicts: &mut Conflicts,
    ) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        let entry = self.entry(leaf)?;
        let (action, matches) = (self.action_of(leaf), self.matches);
        let shown = self.routes.places(leaf);
        let slot = &mut self.staying[leaf];
        let change = match slot {
            Some(change) => change,
            None => {
                let change = Change::started(running, entry, action, matches, self.read)?;
                let is_wide = action.width() != action.asked_width();
                let fired = if is_wide { Fired::Yes } else { change.fired };
                slot.insert(Change { fired, shown, ..change })
            }
        };
        let mut found = Vec::new();
        change.apply(running, at, &Rows::new(batch), &mut found)?;
        note_conflicts(conflicts, entry, found);
        Ok(())
    }

    /// Rows that belong to another partition with their new values: their numbers, and all columns
    /// of them as the target has them.
    fn moving(&self, Rest { leaf, batch, at }: Rest<'_>) -> Result<Option<(Vec<u32>, Batch)>> {
        let Action::Update(Assign { columns, .. }) = self.action_of(leaf) else { return Ok(None) };
        let entry = self.entry(leaf)?;
        let rows = Rows::new(batch);
        let all: Vec<usize> = (0..entry.def.columns.len()).collect();
        let mut now = columns_at(entry.storage(), at, &rows, &all)?;
        for (position, column) in columns.iter().enumerate() {
            now[*column] = rows.column(position + 1);
        }
        let now = self.routes.in_target(leaf, Batch::new(now, rows.count));
        let leaves = self.routes.leaves(&now)?;
        let moving: Vec<u32> =
            (0..batch.rows as u32).filter(|row| leaves[*row as usize] != leaf).collect();
        if moving.is_empty() {
            return Ok(None);
        }
        let new = pick(&now, &moving);
        Ok(Some((moving, new)))
    }

    /// Moves rows, which become `new`.
    fn go(
        &mut self,
        running: &mut Running<'_>,
        Rest { leaf, batch, at }: Rest<'_>,
        new: &Batch,
        conflicts: &mut Conflicts,
    ) -> Result<()> {
        let entry = self.entry(leaf)?;
        let matches = self.matches;
        let slot = &mut self.leaving[leaf];
        let change = match slot {
            Some(change) => change,
            None => slot.insert(Change::started(
                running,
                entry,
                Action::Delete,
                matches,
                Read::default(),
            )?),
        };
        let mut found = Vec::new();
        let first = change.changed.len();
        let gone = change.apply(running, at, &Rows::new(batch), &mut found)?;
        note_conflicts(conflicts, entry, found);
        let (new, source) = (pick(new, &gone), pick(batch, &gone));
        let mut rows = 0..new.rows as u32;
        for changed in &mut change.changed[first..] {
            let rows: Vec<u32> = rows.by_ref().take(changed.tids.len()).collect();
            changed.elsewhere = Some(self.routes.in_part(leaf, pick(&new, &rows)));
        }
        for (target, rows) in grouped(&self.routes.leaves(&new)?) {
            let entry = self.entry(target)?;
            let writer = TableWriter::firing(running.session, entry)?;
            let each: Vec<Vec<u32>> = if writer.has_before() {
                rows.iter().map(|row| vec![*row]).collect()
            } else {
                vec![rows]
            };
            for rows in each {
                let mut part = self.routes.in_part(target, pick(&new, &rows));
                let tids = writer.write(running, &mut part)?;
                if tids.is_empty() {
                    continue;
                }
                writer.note(running, &part);
                self.owed.push((target, part.clone()));
                self.moved.count += tids.len() as u64;
                if self.read.returning.is_some() || !self.read.tests.is_empty() {
                    let extras = self.action.width()..source.columns.len();
                    let extras = source.columns[extras].iter().map(|c| c.gather(&rows));
                    let mut part = self.routes.in_target(target, part);
                    part.columns.extend(extras);
                    self.moved.batches.push(part);
                    let tids = tids.into_iter().map(|tid| tagged(target, tid)).collect();
                    self.moved.tids.push(tids);
                }
            }
        }
        Ok(())
    }

    /// Finishes the rows when all are written.
    pub(super) fn finish(mut self, running: &mut Running<'_>) -> Result<Written> {
        let is_tagged = self.routes.is_tagged();
        let has_places =
            self.read.returning.is_some_and(|returning| returning.place == RowPlace::Last);
        let mut all = Written::default();
        for (leaf, change) in self.staying.into_iter().enumerate() {
            let Some(change) = change else { continue };
            let written = change.finish(running)?;
            all.count += written.count;
            all.batches.extend(written.batches);
            for mut tids in written.tids {
                if is_tagged {
                    tids.iter_mut().for_each(|tid| *tid = tagged(leaf, *tid));
                }
                all.tids.push(tids);
            }
        }
        for change in self.leaving.into_iter().flatten() {
            change.finish(running)?;
        }
        for (leaf, batch) in &self.owed {
            let entry = self.parts.entries.get(*leaf).ok_or_else(stale)?;
            TableWriter::inserting(entry).inserted(running, batch)?;
        }
        all.count += self.moved.count;
        all.batches.append(&mut self.moved.batches);
        if has_places {
            all.tids.append(&mut self.moved.tids);
        }
        Ok(all)
    }
}

/// Changes or deletes the rows of `batch` (TID, values) as part of a MERGE; how many.
///
/// # Errors
/// 40001 when another transaction changed one of them after the snapshot.
pub(crate) fn apply_parts(
    running: &mut Running<'_>,
    routes: Routes,
    entries: &[Arc<TableEntry>],
    action: Action<'_>,
    batch: &Batch,
) -> Result<u64> {
    let at = running.session.work().txn.snapshot();
    let all = settled_columns(running.session, &entries.iter().collect::<Vec<_>>(), action)?;
    let settled = if all.is_some() { Settled::ByTriggers } else { Settled::BySource };
    let owned = routes.own_actions(entries, action, settled);
    let action = all.as_deref().map_or(action, |all| action.with_all(all));
    let parts = Parts { entries, owned: &owned };
    let mut change = PartsChange::new(routes, parts, action, Matches::Once, Read::default());
    let mut conflicts = Conflicts::new();
    change.apply(running, at, batch, &mut conflicts)?;
    if !conflicts.is_empty() {
        // Only READ COMMITTED collects conflicts: the whole statement looks again.
        return Err(stale());
    }
    change.finish(running).map(|written| written.count)
}
