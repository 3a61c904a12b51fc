//! INSERT ... ON CONFLICT.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::generated::Assigned;
use catalog::rows::{Rows, push};
use exec::ResultSet;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use sql::algebra::Expr;
use sql::catalog::TriggerEvent;
use sql::statement::{ConflictAction, ConflictTarget, Insert, OnConflict};
use storage::{Datum, LockStrength, RowBuffer, Snapshot, Tid, Uniqueness};
use types::{Error, PhysicalType, Result, SqlState};

use super::exclusion;
use super::partitioned::{Routes, grouped, in_order, one_by_one, pick, tagged};
use super::returning::{Written, slices, there_before};
use super::rows::{Found, RowError, RowReader, attempt, index_number, index_position, read_rows};
use super::tests_of_rows::{self, Tests};
use super::triggers::RowTriggers;
use super::writer::{Changed, ReadBack, TableWriter};
use crate::CancelHandle;
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};
use crate::statement::statistics::StoredStatistics;
use crate::transaction::work::{Work, lost_update, newest, recheck_snapshot};

/// Rows of the table and of the source that met.
#[derive(Default)]
pub(super) struct Met {
    /// Rows of the table.
    pub(super) tids: Vec<Tid>,
    /// Batch and row of the source.
    pub(super) proposed: Vec<(usize, u32)>,
}

/// DO UPDATE SET: the columns, and the query of their values over the rows that met.
struct DoUpdate<'a> {
    columns: &'a [usize],
    assignments: &'a sql::algebra::Query,
    /// The statement, whose tests the rows have to pass.
    insert: &'a Insert,
    leaf: Option<Leaf<'a>>,
}

/// INSERT with ON CONFLICT.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) insert: &'a Insert,
    pub(crate) on_conflict: &'a OnConflict,
    /// Ways of the rows, and the partition that is written, if it is one.
    pub(crate) leaf: Option<Leaf<'a>>,
}

/// A partition that is written.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    routes: &'a Routes,
    number: usize,
}

/// Rows of a table as the target of the statement has them.
fn in_target(leaf: Option<Leaf<'_>>, rows: Batch) -> Batch {
    match leaf {
        Some(Leaf { routes, number }) => routes.in_target(number, rows),
        None => rows,
    }
}

/// ON CONFLICT with the indexes that it means by the values of parameters; None where they are
/// known without.
///
/// # Errors
/// 42P10 when it means none.
pub(super) fn decided(
    running: &Running<'_>,
    on_conflict: Option<&OnConflict>,
) -> Result<Option<OnConflict>> {
    let target = on_conflict.and_then(|conflict| Some((conflict, conflict.target.as_ref()?)));
    let Some((conflict, ConflictTarget { open: Some(open), .. })) = target else {
        return Ok(None);
    };
    let fold = |expr: &mut Expr| plan::fold(&StoredStatistics::default(), expr);
    let target = Some(open.decide(&running.parameters, &fold)?);
    Ok(Some(OnConflict { target, action: conflict.action.clone() }))
}

/// Writes the rows of `result`; those whose key is taken do what the statement says.
pub(crate) fn insert(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    result: &mut ResultSet,
    asked: Asked<'_>,
) -> Result<Written> {
    let Asked { insert, on_conflict, leaf } = asked;
    let (mut written, mut places) = (Vec::new(), Vec::new());
    // Rows that other parts of the statement wrote are its own, too.
    let parts = running.parts.as_ref();
    let mut touched = parts.map_or_else(HashSet::new, |parts| parts.changed(entry.storage().id()));
    let mut met: Vec<(Tid, (usize, u32))> = Vec::new();
    let updates = matches!(on_conflict.action, ConflictAction::Update { .. });
    let writer = TableWriter::firing(running.session, entry)?;
    if writer.has_before() {
        result.batches = one_by_one(&result.batches);
    }
    for (number, batch) in result.batches.iter_mut().enumerate() {
        let Some(row) = before(running, &writer, batch, leaf)? else { continue };
        *batch = row;
        writer.complete(batch, running.session.clocks())?;
        let rows = Rows::new(batch);
        let mut row_values: Vec<Datum<'_>> = Vec::with_capacity(rows.width());
        for row in 0..rows.count {
            running.session.cancel_handle().check()?;
            row_values.clear();
            row_values.extend((0..rows.width()).map(|column| rows.get(column, row)));
            match insert_one(running, entry, &row_values, on_conflict)? {
                Outcome::Inserted(tid) => {
                    touched.insert(tid);
                    written.push(tid);
                    places.push((number, row as u32));
                }
                Outcome::Met(_) if !updates => {}
                Outcome::Met(tid) if touched.contains(&tid) => return Err(second_time()),
                Outcome::Met(tid) => met.push((tid, (number, row as u32))),
            }
        }
    }
    let now = newest(running.session.work());
    let mut inserted = Batch::new(read_rows(entry.storage(), now, &written)?, written.len());
    if inserted.columns.is_empty() {
        inserted.rows = 0;
    }
    writer.inserted(running, &inserted)?;
    let count = written.len() as u64;
    note(running, entry, &written);
    let mut all = Written { count, batches: vec![inserted], tids: vec![written] };
    if let ConflictAction::Update { columns, assignments } = &on_conflict.action {
        while !met.is_empty() {
            let round = first_of_each(&mut met);
            let how = DoUpdate { columns, assignments, insert, leaf };
            let (updated, changed, numbers) = update(running, entry, result, &round, how)?;
            let tids: HashSet<Tid> = numbers.iter().map(|&n| round.tids[n as usize]).collect();
            if met.iter().any(|(tid, _)| tids.contains(tid)) {
                return Err(second_time());
            }
            places.extend(numbers.iter().map(|&number| round.proposed[number as usize]));
            all.count += updated.rows as u64;
            note(running, entry, tids.iter().chain(&changed));
            all.batches.push(updated);
            all.tids.push(there_before(changed));
        }
    }
    in_places(&mut all, &places);
    Ok(all)
}

/// Tells other parts of the statement of rows that were written.
fn note<'a>(
    running: &mut Running<'_>,
    entry: &TableEntry,
    tids: impl IntoIterator<Item = &'a Tid>,
) {
    if let Some(parts) = &mut running.parts {
        parts.note(entry.storage().id(), tids.into_iter().copied());
    }
}

/// Puts rows into the order of the source, where they have these places.
pub(super) fn in_places(all: &mut Written, places: &[(usize, u32)]) {
    if all.batches.len() > 1 && !places.is_empty() {
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|&row| places[row as usize]);
        all.batches = vec![in_order(&all.batches, &order)];
        let tids = all.tids.concat();
        all.tids = vec![order.iter().map(|&row| tids[row as usize]).collect()];
    }
}

/// The rows of `batch` behind the triggers before them; None when its only row is skipped.
fn before(
    running: &mut Running<'_>,
    writer: &TableWriter<'_>,
    batch: &Batch,
    leaf: Option<Leaf<'_>>,
) -> Result<Option<Batch>> {
    match leaf {
        Some(Leaf { routes, number }) => routes.before(running, writer, batch.clone(), number),
        None => writer.before(running, batch.clone()),
    }
}

/// As [`insert`], each row into its partition.
///
/// # Errors
/// As [`insert`]; 0A000 when DO UPDATE would move a row to another partition.
pub(crate) fn insert_parts(
    running: &mut Running<'_>,
    routes: &mut Routes,
    result: ResultSet,
    Asked { insert: statement, on_conflict, .. }: Asked<'_>,
) -> Result<Written> {
    let mut parts: BTreeMap<usize, Vec<Batch>> = BTreeMap::new();
    for batch in &result.batches {
        for (leaf, rows) in grouped(&routes.leaves(batch)?) {
            parts.entry(leaf).or_default().push(routes.in_part(leaf, pick(batch, &rows)));
        }
    }
    let mut all = Written::default();
    for (leaf, batches) in parts {
        let entry = routes.entry(running, leaf)?;
        let target = match &on_conflict.target {
            Some(target) => {
                Some(ConflictTarget { indexes: routes.indexes(&entry, target)?, open: None })
            }
            None => None,
        };
        let mut own = OnConflict { target, action: on_conflict.action.clone() };
        if let ConflictAction::Update { columns, .. } = &mut own.action {
            *columns = routes.ordinals(leaf, columns);
        }
        let mut rows = ResultSet::from_batches(result.columns.clone(), batches);
        let number = leaf;
        let leaf_of = Some(Leaf { routes: &*routes, number });
        let asked = Asked { insert: statement, on_conflict: &own, leaf: leaf_of };
        let mut written = insert(running, &entry, &mut rows, asked)?;
        let batches = std::mem::take(&mut written.batches).into_iter();
        written.batches = batches.map(|batch| routes.in_target(leaf, batch)).collect();
        if let ConflictAction::Update { columns, .. } = &on_conflict.action
            && routes.depends_on(columns)
        {
            for batch in written.batches.iter().filter(|batch| batch.rows > 0) {
                if routes.leaves(batch)?.iter().any(|now| *now != leaf) {
                    return Err(moves());
                }
            }
        }
        all.count += written.count;
        all.batches.extend(written.batches);
        for tids in written.tids {
            all.tids.push(tids.into_iter().map(|tid| tagged(leaf, tid)).collect());
        }
    }
    Ok(all)
}

fn moves() -> Error {
    let message = "invalid ON UPDATE specification";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(
        "The result tuple would appear in a different partition than the original tuple.",
    )
}

/// Takes the first of those that met the same row; the others have a turn when it was left as it
/// was.
pub(super) fn first_of_each(met: &mut Vec<(Tid, (usize, u32))>) -> Met {
    let mut round = Met::default();
    let mut seen = HashSet::new();
    met.retain(|&(tid, proposed)| {
        let again = !seen.insert(tid);
        if !again {
            round.tids.push(tid);
            round.proposed.push(proposed);
        }
        again
    });
    round
}

enum Outcome {
    Inserted(Tid),
    Met(Tid),
}

fn insert_one(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    row: &[Datum<'_>],
    on_conflict: &OnConflict,
) -> Result<Outcome> {
    let cancel = running.session.cancel_handle();
    let updates = matches!(on_conflict.action, ConflictAction::Update { .. });
    let mut locked = None;
    loop {
        cancel.check()?;
        let outcome = try_insert(running, entry, row, on_conflict)?;
        let tid = match outcome {
            Outcome::Met(tid) if updates && locked != Some(tid) => tid,
            outcome => return Ok(outcome),
        };
        // What is locked keeps its key; what changed before that is found by inserting again.
        let work = running.session.work_mut();
        let again = recheck_snapshot(work);
        let at = again.unwrap_or_else(|| work.txn.snapshot());
        match attempt(work, &cancel, |undo| {
            entry.storage().lock(undo, at, tid, LockStrength::NoKeyUpdate)
        }) {
            Ok(()) => locked = Some(tid),
            Err(RowError::Conflict(_)) if again.is_some() => {}
            Err(error) => return Err(error.into_error(work, entry)),
        }
    }
}

fn try_insert(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    row: &[Datum<'_>],
    on_conflict: &OnConflict,
) -> Result<Outcome> {
    let cancel = running.session.cancel_handle();
    let work = running.session.work_mut();
    let mark = work.txn.mark();
    let inserted = attempt(work, &cancel, |undo| {
        entry.storage().insert(undo, row).inspect_err(|_| undo.rollback_to(mark))
    });
    match inserted {
        Ok(tid) => match exclusion::arbiter(running, entry, row, on_conflict)? {
            Some(other) => {
                running.session.work_mut().txn.rollback_to(mark);
                Ok(Outcome::Met(other))
            }
            None => Ok(Outcome::Inserted(tid)),
        },
        Err(RowError::Duplicate(index, tid)) => {
            let meant = match &on_conflict.target {
                Some(target) if !is_meant(entry, target, index) => {
                    holder(work, &cancel, entry, row, target)?
                }
                _ => Some(tid),
            };
            let Some(tid) = meant else {
                return Err(RowError::Duplicate(index, tid).into_error(work, entry));
            };
            // A snapshot that does not see the row cannot act as if it did.
            let at = work.txn.snapshot();
            let mut buffer = RowBuffer::new();
            let seen = entry.storage().read(at, tid, &[], &mut buffer)?;
            if !seen && recheck_snapshot(work).is_none() {
                return Err(lost_update());
            }
            Ok(Outcome::Met(tid))
        }
        Err(error) => Err(error.into_error(work, entry)),
    }
}

/// True when `target` means the index of this number.
fn is_meant(entry: &TableEntry, target: &ConflictTarget, index: usize) -> bool {
    index_position(entry, index).is_some_and(|position| target.indexes.contains(&position))
}

/// The row that has a key of `row` in one of the indexes that are meant; another row had another
/// key first.
fn holder(
    work: &mut Work,
    cancel: &CancelHandle,
    entry: &Arc<TableEntry>,
    row: &[Datum<'_>],
    target: &ConflictTarget,
) -> Result<Option<Tid>> {
    let (storage, txn) = (entry.storage(), work.txn.id());
    for &position in &target.indexes {
        let (Some(number), Some(index)) =
            (index_number(entry, position), entry.indexes_built().get(position))
        else {
            continue;
        };
        let mut made = RowBuffer::new();
        let key = index.key_values(|ordinal| row[ordinal], &mut made)?;
        let distinct = index.spec().unique == Uniqueness::Distinct;
        let Some(mut key) = key.filter(|key| !distinct || key.iter().all(|v| !v.is_null())) else {
            continue;
        };
        for (value, field) in key.iter_mut().zip(index.key_fields()) {
            *value = value.widened(field.physical).unwrap_or(*value);
        }
        let mut has_it = None;
        let looked = attempt(work, cancel, |_| {
            storage.find(number, &key, txn, |tid| {
                has_it = Some(tid);
                ControlFlow::Break(())
            })
        });
        looked.map_err(|error| error.into_error(work, entry))?;
        if has_it.is_some() {
            return Ok(has_it);
        }
    }
    Ok(None)
}

pub(super) fn second_time() -> Error {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    Error::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate \
         constrained values.",
    )
}

/// Updates the rows that were met; all columns of those changed, and their numbers in `met`.
fn update(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    result: &ResultSet,
    met: &Met,
    DoUpdate { columns, assignments, insert, leaf }: DoUpdate<'_>,
) -> Result<(Batch, Vec<Tid>, Vec<u32>)> {
    let cancel = running.session.cancel_handle();
    let storage = Arc::clone(entry.storage());
    let triggers = RowTriggers::of(running.session, entry, TriggerEvent::Update, columns)?;
    let before_rows = triggers.as_ref().filter(|triggers| triggers.has_before());
    let all = before_rows.map(|_| RowTriggers::all_columns(entry));
    let asked = columns;
    let columns = all.as_deref().unwrap_or(asked);
    let mut assigned = Assigned::new(entry, columns)?;
    let writer = TableWriter::updating(running.session, entry, assigned.all());
    let work = running.session.work_mut();
    let at = recheck_snapshot(work).unwrap_or_else(|| work.txn.snapshot());
    let existing = locked(work, &cancel, entry, &met.tids, at)?;
    let count = met.tids.len();
    let seen = in_target(leaf, Batch::new(existing.clone(), count));
    let mut input = seen.columns.clone();
    input.extend(in_target(leaf, Batch::new(proposed(entry, result, met), count)).columns);
    input.push(Column::plain(Vector::new(VectorData::I64((0..count as i64).collect()))));
    let inputs = vec![slices(vec![Batch::new(input, count)])];
    let mut result =
        running.run_query(assignments, Run { inputs, ..Run::of(OwnQuery::Assignments) })?;
    if let Some(triggers) = before_rows {
        let met = MetRows { existing: &existing, asked, columns };
        result.batches = fired(running, triggers, met, &result.batches)?;
    }
    let (mut changed, mut before) = (Vec::new(), Vec::new());
    test_met(running, entry, insert, Changing { existing: &seen.columns, result: &result })?;
    let work = running.session.work_mut();
    for batch in &result.batches {
        let rows = Rows::new(batch);
        let numbers = row_numbers(&rows)?;
        assigned.compute(entry, &rows, |others| {
            Ok(others.iter().map(|&ordinal| existing[ordinal].gather(&numbers)).collect())
        })?;
        let mut values = Vec::new();
        for (row, &number) in numbers.iter().enumerate() {
            let tid = met.tids[number as usize];
            assigned.values(&rows, row, &mut values);
            let now = attempt(work, &cancel, |undo| storage.update(undo, at, tid, &values));
            changed.push(now.map_err(|error| error.into_error(work, entry))?);
        }
        before.extend(numbers);
    }
    let updated = writer.updated(running.session, &changed, ReadBack::Yes)?;
    let updated = updated.ok_or_else(|| Error::internal("updated rows are read back"))?;
    let first = insert.proposed.len() + insert.met.len();
    let tests = Tests { tests: &insert.updated, first };
    tests_of_rows::verify(running, &entry.def, tests, &[in_target(leaf, updated.clone())])?;
    let needs_rows = triggers.as_ref().is_some_and(RowTriggers::needs_rows);
    let old = (writer.needs_before() || needs_rows).then(|| {
        let columns = existing.iter().map(|column| column.gather(&before)).collect();
        Batch::new(columns, before.len())
    });
    if let Some(triggers) = &triggers {
        triggers.note(running, old.clone(), Some(updated.clone()));
    }
    let changes = vec![Changed { before: old, tids: changed.clone(), elsewhere: None }];
    writer.changed(running, changes)?;
    Ok((updated, changed, before))
}

/// All columns of rows that were met, which are locked.
fn locked(
    work: &mut Work,
    cancel: &CancelHandle,
    entry: &TableEntry,
    tids: &[Tid],
    at: Snapshot,
) -> Result<Vec<Column>> {
    let storage = entry.storage();
    let mut existing = RowReader::new(storage);
    for &tid in tids {
        let locked =
            attempt(work, cancel, |undo| storage.lock(undo, at, tid, LockStrength::NoKeyUpdate));
        locked.map_err(|error| error.into_error(work, entry))?;
        if existing.read(at, tid)? == Found::Nothing {
            return Err(lost_update());
        }
        existing.keep();
    }
    Ok(existing.finish())
}

/// Rows that were met, all columns; those that the statement assigns, and those that are written.
#[derive(Clone, Copy)]
struct MetRows<'a> {
    existing: &'a [Column],
    asked: &'a [usize],
    columns: &'a [usize],
}

/// The assignments behind the triggers before the rows: row numbers, and values of all columns that
/// are written.
fn fired(
    running: &mut Running<'_>,
    triggers: &RowTriggers,
    met: MetRows<'_>,
    batches: &[Batch],
) -> Result<Vec<Batch>> {
    let mut all = Vec::new();
    for batch in batches {
        let rows = Rows::new(batch);
        for (row, &number) in row_numbers(&rows)?.iter().enumerate() {
            let old = triggers.values_of(met.existing, number as usize);
            let mut new = old.clone();
            for (position, &column) in met.asked.iter().enumerate() {
                new[column] = triggers.value(column, rows.get(position + 1, row).to_value());
            }
            let values = triggers.before_met(running, &old, new, met.columns)?;
            if let Some(values) = values {
                let number = Column::plain(Vector::new(VectorData::I64(vec![number.into()])));
                let columns = std::iter::once(number).chain(values).collect();
                all.push(Batch::new(columns, 1));
            }
        }
    }
    Ok(all)
}

/// Rows that were met, all columns, and the assignments to some of them.
#[derive(Clone, Copy)]
struct Changing<'a> {
    existing: &'a [Column],
    result: &'a ResultSet,
}

/// Tests rows that are there and will change.
fn test_met(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    insert: &Insert,
    Changing { existing, result }: Changing<'_>,
) -> Result<()> {
    if insert.met.is_empty() {
        return Ok(());
    }
    let tests = Tests { tests: &insert.met, first: insert.proposed.len() };
    for batch in &result.batches {
        let numbers = row_numbers(&Rows::new(batch))?;
        let columns = existing.iter().map(|column| column.gather(&numbers)).collect();
        let rows = [Batch::new(columns, numbers.len())];
        tests_of_rows::verify(running, &entry.def, tests, &rows)?;
    }
    Ok(())
}

/// Column 0: the numbers of the rows that were met.
pub(super) fn row_numbers(rows: &Rows) -> Result<Vec<u32>> {
    let number = |row| match rows.get(0, row) {
        Datum::I64(number) => Ok(number as u32),
        _ => Err(Error::internal("a row number")),
    };
    (0..rows.count).map(number).collect()
}

/// The source's rows that met others, all columns.
fn proposed(entry: &TableEntry, result: &ResultSet, met: &Met) -> Vec<Column> {
    let physical: Vec<PhysicalType> =
        entry.storage().schema().columns().iter().map(|c| c.physical()).collect();
    let mut builders: Vec<VectorBuilder> =
        physical.iter().map(|&p| VectorBuilder::new(p)).collect();
    for (number, batch) in result.batches.iter().enumerate() {
        let wanted: Vec<u32> =
            met.proposed.iter().filter(|(b, _)| *b == number).map(|(_, row)| *row).collect();
        let rows = Rows::new(batch);
        for (column, builder) in builders.iter_mut().enumerate() {
            for &row in &wanted {
                // The source may have narrower numbers than the table.
                let datum = rows.get(column, row as usize);
                push(builder, datum.widened(physical[column]).unwrap_or(datum));
            }
        }
    }
    builders.into_iter().map(|b| Column::plain(b.finish())).collect()
}
