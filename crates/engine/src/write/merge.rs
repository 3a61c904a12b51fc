//! MERGE.

use std::collections::HashSet;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::rows::Rows;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use sql::catalog::{TableMeta, TableRef, TriggerEvent};
use sql::statement::{Merge, MergeAction, MergeTests};
use storage::{Datum, Tid};
use types::{Error, PhysicalType, Result, SqlState};

use super::attached;
use super::change::{Action, Tested, apply_parts, apply_rows};
use super::partitioned::{self, Routes, tagged};
use super::rows::read_rows;
use super::tests_of_rows::{self, Tests};
use super::triggers::{StatementEvent, StatementTriggers};
use super::writer::TableWriter;
use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::attached::AttachedRows;
use crate::statement::running::{Run, Running};

pub(crate) fn merge(running: &mut Running<'_>, merge: &Merge) -> Result<QueryResult> {
    running.session.work().check_writable("MERGE")?;
    if merge.returning.is_some() {
        return Err(Error::unsupported("RETURNING of MERGE"));
    }
    if let Some(rows) = AttachedRows::of(&merge.table) {
        return attached::merge(running, &rows, merge);
    }
    let entry = running.session.write_table(&merge.table)?;
    let is_routed = Routes::of_table(running.session, &merge.table, &entry)?.is_some();
    if is_routed && merge.tests.iter().next().is_some() {
        let what = "MERGE into a partitioned table with row-level security";
        return Err(Error::unsupported(what));
    }
    let target = MergeTarget { table: &merge.table, entry: &entry, is_routed };
    let triggers = StatementTriggers::begin(running, entry.name(), &events(merge))?;
    let one_by_one = running.session.state().has_row_triggers(entry.name());
    let result = running.run_query(&merge.source, Run::of(OwnQuery::Source))?;
    let mut seen = target.changed_before(running)?;
    let mut count = 0;
    for batch in &result.batches {
        let rows = Rows::new(batch);
        if one_by_one {
            // Functions of triggers meet the rows before theirs, in their order.
            for row in 0..rows.count {
                let tid = rows.tid(row);
                if tid.is_some_and(|tid| seen.contains(&tid)) {
                    return Err(repeated());
                }
                let action = action_of(&rows, row);
                if let Some(action) = action.and_then(|number| merge.actions.get(number)) {
                    let act = Act { action, tests: &merge.tests };
                    let done = act.run(running, &target, &rows, &[row as u32])?;
                    // A row that a trigger kept as it was may be met again.
                    seen.extend(tid.filter(|_| done > 0));
                    count += done;
                }
            }
            continue;
        }
        refuse_repeats(&rows, &mut seen)?;
        for (number, action) in merge.actions.iter().enumerate() {
            let wanted: Vec<u32> = (0..rows.count as u32)
                .filter(|&row| action_of(&rows, row as usize) == Some(number))
                .collect();
            if !wanted.is_empty() {
                let act = Act { action, tests: &merge.tests };
                count += act.run(running, &target, &rows, &wanted)?;
            }
        }
    }
    triggers.into_iter().for_each(|triggers| triggers.end(running));
    Ok(QueryResult::command(format!("MERGE {count}")))
}

/// Events of triggers of a statement.
fn events(merge: &Merge) -> Vec<StatementEvent<'_>> {
    let has = |is: fn(&MergeAction) -> bool| merge.actions.iter().any(is);
    let mut events: Vec<StatementEvent<'_>> = Vec::new();
    if has(|action| matches!(action, MergeAction::Insert { .. })) {
        events.push((TriggerEvent::Insert, &[]));
    }
    let updates = merge.actions.iter().find_map(|action| match action {
        MergeAction::Update { columns, .. } => Some(columns.as_slice()),
        _ => None,
    });
    events.extend(updates.map(|columns| (TriggerEvent::Update, columns)));
    if has(|action| matches!(action, MergeAction::Delete)) {
        events.push((TriggerEvent::Delete, &[]));
    }
    events
}

/// The position of the action that a source row takes.
pub(super) fn action_of(rows: &Rows, row: usize) -> Option<usize> {
    match rows.get(1, row) {
        Datum::I32(action) => usize::try_from(action).ok(),
        _ => None,
    }
}

/// Takes note of the rows that change: the source has no others of the target.
///
/// # Errors
/// 21000 for one that changes twice.
pub(super) fn refuse_repeats(rows: &Rows, seen: &mut HashSet<Tid>) -> Result<()> {
    for row in 0..rows.count {
        if let Some(tid) = rows.tid(row)
            && !seen.insert(tid)
        {
            return Err(repeated());
        }
    }
    Ok(())
}

/// 21000.
fn repeated() -> Error {
    let message = "MERGE command cannot affect row a second time";
    Error::new(SqlState::CARDINALITY_VIOLATION, message)
        .with_hint("Ensure that not more than one source row matches any one target row.")
}

/// The table that MERGE writes.
struct MergeTarget<'a> {
    table: &'a TableRef,
    entry: &'a Arc<TableEntry>,
    /// True when it has partitions or is one.
    is_routed: bool,
}

impl MergeTarget<'_> {
    /// Rows that other parts of the statement changed.
    fn changed_before(&self, running: &mut Running<'_>) -> Result<HashSet<Tid>> {
        if running.parts.is_none() {
            return Ok(HashSet::new());
        }
        let entries = match Routes::of_table(running.session, self.table, self.entry)? {
            Some(routes) => routes.entries(running)?,
            None => vec![Arc::clone(self.entry)],
        };
        let Some(parts) = &running.parts else { return Ok(HashSet::new()) };
        let changed = entries.iter().enumerate().flat_map(|(leaf, entry)| {
            let tids = parts.changed(entry.storage().id()).into_iter();
            tids.map(move |tid| if self.is_routed { tagged(leaf, tid) } else { tid })
        });
        Ok(changed.collect())
    }

    /// Inserts rows.
    fn insert(&self, running: &mut Running<'_>, batch: Batch) -> Result<u64> {
        if self.is_routed
            && self.table.family().is_none()
            && let Some(mut routes) = Routes::of_table(running.session, self.table, self.entry)?
        {
            partitioned::insert(running, &mut routes, vec![batch]).map(|written| written.count)
        } else {
            let writer = TableWriter::firing(running.session, self.entry)?;
            let tids = writer.insert(running, &mut [batch])?;
            Ok(tids.iter().map(|tids| tids.len() as u64).sum())
        }
    }

    /// Changes or deletes rows; how many.
    fn apply(&self, running: &mut Running<'_>, action: Tested<'_>, batch: &Batch) -> Result<u64> {
        if self.is_routed
            && let Some(routes) = Routes::of_table(running.session, self.table, self.entry)?
        {
            let entries = routes.entries(running)?;
            return apply_parts(running, routes, &entries, action.action, batch);
        }
        apply_rows(running, self.entry, action, batch)
    }
}

/// An action, and the tests of rows.
struct Act<'a> {
    action: &'a MergeAction,
    tests: &'a MergeTests,
}

impl Act<'_> {
    /// Runs the action for some rows; how many it changed.
    fn run(
        &self,
        running: &mut Running<'_>,
        target: &MergeTarget<'_>,
        rows: &Rows,
        wanted: &[u32],
    ) -> Result<u64> {
        let entry = target.entry;
        let MergeTests { to_update, to_delete, updated, inserted } = self.tests;
        let deletes = Tests { tests: to_delete, first: to_update.len() };
        let first = deletes.first + to_delete.len();
        match self.action {
            MergeAction::Nothing => Ok(0),
            MergeAction::Insert { values_from } => {
                let range = *values_from..*values_from + entry.def.columns.len();
                let mut batch = Batch::new(rows.pick(range, wanted), wanted.len());
                if !inserted.is_empty() {
                    entry.generated.fill(&mut batch)?;
                    let tests = Tests { tests: inserted, first: first + updated.len() };
                    tests_of_rows::verify(
                        running,
                        &entry.def,
                        tests,
                        std::slice::from_ref(&batch),
                    )?;
                }
                target.insert(running, batch)
            }
            MergeAction::Update { columns, values_from } => {
                test_there(running, entry, Tests::all(to_update), &places(rows, wanted))?;
                let mut source = vec![tids(rows, wanted)];
                source.extend(rows.pick(*values_from..*values_from + columns.len(), wanted));
                let batch = Batch::new(source, wanted.len());
                let tests = Tests { tests: updated, first };
                let action = Tested { action: Action::update(columns), tests };
                target.apply(running, action, &batch)
            }
            MergeAction::Delete => {
                test_there(running, entry, deletes, &places(rows, wanted))?;
                let batch = Batch::new(vec![tids(rows, wanted)], wanted.len());
                target.apply(running, Action::Delete.into(), &batch)
            }
        }
    }
}

/// Tests rows that are there and will change.
fn test_there(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    tests: Tests<'_>,
    places: &[Tid],
) -> Result<()> {
    if tests.tests.is_empty() {
        return Ok(());
    }
    let at = running.session.work().txn.snapshot();
    let columns = read_rows(entry.storage(), at, places)?;
    tests_of_rows::verify(running, &entry.def, tests, &[Batch::new(columns, places.len())])
}

/// The TIDs of some rows.
fn places(rows: &Rows, wanted: &[u32]) -> Vec<Tid> {
    wanted.iter().filter_map(|&row| rows.tid(row as usize)).collect()
}

fn tids(rows: &Rows, wanted: &[u32]) -> Column {
    let mut builder = VectorBuilder::with_capacity(PhysicalType::I64, wanted.len());
    let all: Vec<i64> = places(rows, wanted).iter().map(|tid| tid.0 as i64).collect();
    builder.append(&Vector::new(VectorData::I64(all)), None);
    Column::plain(builder.finish())
}
