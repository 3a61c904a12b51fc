//! Rows of attached tables that a statement writes, one by one.
//!
//! ```text
//! source query -> batches (TID = number of the row, values) -> NOT NULL, CHECK -> the transaction
//!                                                              of the attached database
//! when all rows are written -> foreign keys (`foreign`)
//! ```
//! Called by INSERT (`insert`), UPDATE and DELETE (`change`), MERGE (`merge`), COPY (`run::copy`).

mod conflict;
mod foreign;
mod merge;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use catalog::checks::{Checks, Written as Columns, failing_row};
use catalog::generated::Generated;
use exec::ResultSet;
use kernels::{Batch, Column, VectorBuilder};
use sql::catalog::IndexMeta;
use sql::statement::{ConflictAction, ConflictTarget, Delete, Insert, OnConflict, RowTest, Update};
use storage::Tid;
use types::{Error, Result, SqlState, Value};

use conflict::DoUpdate;
pub(super) use merge::merge;

use super::returning::{Written, returning};
use crate::QueryResult;
use crate::instance::attached::{AttachedChange, AttachedRow, AttachedTransaction, RowKeys};
use crate::session::compiled::OwnQuery;
use crate::statement::attached::{AttachedRows, key_shown};
use crate::statement::running::{Run, Running};

/// The table that a statement writes.
struct Target<'a> {
    rows: &'a AttachedRows,
    transaction: Arc<dyn AttachedTransaction>,
    checks: Checks,
    generated: Generated,
    keys: foreign::Keys,
}

/// INSERT.
///
/// # Errors
/// 23502, 23505, 23514, 40001; 21000 for a row that ON CONFLICT DO UPDATE meets twice.
pub(super) fn insert(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    insert: &Insert,
    on_conflict: Option<&OnConflict>,
) -> Result<QueryResult> {
    refuse_tests(insert.all_tests())?;
    let target = Target::of(running, rows, "INSERT")?;
    let source = running.run_query(&insert.source, Run::of(OwnQuery::Source))?;
    let written = match on_conflict {
        Some(OnConflict {
            target: Some(keys),
            action: ConflictAction::Update { columns, assignments },
        }) => conflict::insert(running, &target, source, DoUpdate { keys, columns, assignments })?,
        Some(OnConflict { target: keys, .. }) => {
            target.add_all(running, &source, Skipped::Doubles(keys.as_ref()))?
        }
        None => target.add_all(running, &source, Skipped::None)?,
    };
    target.settle(running)?;
    let tag = format!("INSERT 0 {}", written.count);
    returning(running, insert.returning.as_ref(), written, tag)
}

/// Rows that were added so far, by COPY say, and whose foreign keys were not looked at yet.
#[derive(Default)]
pub(crate) struct Loaded(foreign::Touched);

/// Adds rows; how many.
///
/// # Errors
/// As [`insert`], but for foreign keys.
pub(crate) fn load(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    result: &ResultSet,
    loaded: &mut Loaded,
) -> Result<u64> {
    let target = Target::of(running, rows, "COPY FROM")?;
    let count = target.add_all(running, result, Skipped::None)?.count;
    target.keys.hand_over(&mut loaded.0);
    Ok(count)
}

/// Looks at the foreign keys of rows that were added.
///
/// # Errors
/// 23503.
pub(crate) fn end_load(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    mut loaded: Loaded,
) -> Result<()> {
    let target = Target::of(running, rows, "COPY FROM")?;
    target.keys.take_over(&mut loaded.0);
    target.settle(running)
}

/// Rows that an INSERT leaves out.
#[derive(Clone, Copy)]
enum Skipped<'a> {
    None,
    /// Rows whose keys are there: of the constraints named, or of any.
    Doubles(Option<&'a ConflictTarget>),
}

impl Skipped<'_> {
    /// True when the row that has this error is left out.
    fn has(self, error: &Error, rows: &AttachedRows) -> bool {
        let Self::Doubles(target) = self else { return false };
        let constraint = error.about().and_then(|about| about.constraint.as_deref());
        let names = |at: &usize| {
            rows.def.indexes.get(*at).is_some_and(|index| Some(index.name.as_str()) == constraint)
        };
        error.state() == SqlState::UNIQUE_VIOLATION
            && target.is_none_or(|target| target.indexes.iter().any(names))
    }
}

/// UPDATE.
///
/// # Errors
/// As [`insert`].
pub(super) fn update(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    update: &Update,
) -> Result<QueryResult> {
    refuse_tests(update.tests.iter())?;
    let target = Target::of(running, rows, "UPDATE")?;
    let source = running.run_query(&update.source, Run::of(OwnQuery::Source))?;
    let mut written = Written::default();
    for met in target.met(running, &source, &update.columns)? {
        target.update(running, &met, &update.columns)?;
        written.add(met);
    }
    target.settle(running)?;
    let tag = format!("UPDATE {}", written.count);
    returning(running, update.returning.as_ref(), written, tag)
}

/// DELETE.
///
/// # Errors
/// As [`insert`].
pub(super) fn delete(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    delete: &Delete,
) -> Result<QueryResult> {
    let target = Target::of(running, rows, "DELETE")?;
    let source = running.run_query(&delete.source, Run::of(OwnQuery::Source))?;
    let mut written = Written::default();
    for met in target.met(running, &source, &[])? {
        target.delete(running, &met.tids)?;
        written.add(met);
    }
    target.settle(running)?;
    let tag = format!("DELETE {}", written.count);
    returning(running, delete.returning.as_ref(), written, tag)
}

/// # Errors
/// 0A000 for conditions that views or policies have.
fn refuse_tests<'t>(mut tests: impl Iterator<Item = &'t RowTest>) -> Result<()> {
    match tests.next() {
        None => Ok(()),
        Some(_) => Err(Error::unsupported("CHECK OPTION and policies with shared tables")),
    }
}

/// Rows of the target that a source names: all columns, those assigned with their new values, then
/// extras.
struct Met {
    tids: Vec<Tid>,
    batch: Batch,
}

impl Written {
    fn add(&mut self, met: Met) {
        self.count += met.tids.len() as u64;
        self.batches.push(met.batch);
        self.tids.push(met.tids);
    }
}

impl<'a> Target<'a> {
    fn of(running: &Running<'_>, rows: &'a AttachedRows, command: &str) -> Result<Self> {
        let session = &*running.session;
        session.work().check_writable(command)?;
        if running.part.is_some() || running.parts.is_some() {
            return Err(Error::unsupported("a change of shared tables under WITH"));
        }
        let transaction = session.work().attached_to_change(session.database().registry())?;
        let (checks, generated) = (Checks::of(&rows.def), Generated::of(&rows.def.columns));
        checks.prepare(&rows.def, &session.own_catalog())?;
        generated.prepare(&rows.def, &session.own_catalog())?;
        Ok(Self { rows, transaction, checks, generated, keys: foreign::Keys::default() })
    }

    /// Adds the rows of `source` that are not `skipped`.
    fn add_all(
        &self,
        running: &Running<'_>,
        source: &ResultSet,
        skipped: Skipped<'_>,
    ) -> Result<Written> {
        let mut written = Written::default();
        for batch in &source.batches {
            written.add(self.add(running, batch.clone(), skipped)?);
        }
        Ok(written)
    }

    /// Adds the rows of `batch`, all columns, that are not `skipped`.
    fn add(&self, running: &Running<'_>, mut batch: Batch, skipped: Skipped<'_>) -> Result<Met> {
        self.generated.fill(&mut batch)?;
        self.verify(running, &batch, Columns::All)?;
        let rows = values_of(&batch, self.rows.def.columns.len());
        self.look_ahead(running, &rows)?;
        let (mut tids, mut kept) = (Vec::with_capacity(batch.rows), Vec::new());
        for (row, values) in rows.into_iter().enumerate() {
            running.session.cancel_handle().check()?;
            match self.change(&AttachedChange::Insert(values)) {
                Ok(tid) => {
                    self.note_new(tid, None);
                    tids.push(tid);
                    kept.push(row as u32);
                }
                Err(error) if skipped.has(&error, self.rows) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Met { tids, batch: batch.gather(&kept) })
    }

    /// Gives rows the values that `met` has; `columns` were assigned.
    fn update(&self, running: &Running<'_>, met: &Met, columns: &[usize]) -> Result<()> {
        let def = &self.rows.def;
        let mut written = columns.to_vec();
        written.extend(self.generated.following(columns)?);
        self.verify(running, &met.batch, Columns::Only(&written))?;
        let all = values_of(&met.batch, def.columns.len());
        let is_met = |index: &IndexMeta| {
            let mut columns = index.columns.iter();
            !index.terms.is_empty() || columns.any(|column| written.contains(&column.ordinal))
        };
        if def.indexes.iter().any(is_met) {
            self.look_ahead(running, &all)?;
        }
        self.note_gone(&met.tids, Some(&written))?;
        for (tid, values) in met.tids.iter().zip(all) {
            running.session.cancel_handle().check()?;
            self.note_new(*tid, Some(&written));
            self.change(&AttachedChange::Update(AttachedRow(tid.0), values))?;
        }
        Ok(())
    }

    /// Takes rows away.
    fn delete(&self, running: &Running<'_>, tids: &[Tid]) -> Result<()> {
        self.note_gone(tids, None)?;
        for tid in tids {
            running.session.cancel_handle().check()?;
            self.change(&AttachedChange::Delete(AttachedRow(tid.0)))?;
        }
        Ok(())
    }

    /// Has what many rows ask for looked up at once.
    fn look_ahead(&self, running: &Running<'_>, rows: &[Vec<Value>]) -> Result<()> {
        running.session.cancel_handle().check()?;
        if rows.len() < 2 || self.rows.def.indexes.is_empty() {
            return Ok(());
        }
        self.transaction.look_ahead(self.rows.id, rows)
    }

    /// Makes a change.
    fn change(&self, change: &AttachedChange) -> Result<Tid> {
        let changed = self.transaction.change(self.rows.id, change);
        changed.map(|row| Tid(row.0)).map_err(|error| self.told(error, change))
    }

    /// The error of a change as the table's own constraints say it.
    fn told(&self, error: Error, change: &AttachedChange) -> Error {
        let def = &self.rows.def;
        let (AttachedChange::Insert(values) | AttachedChange::Update(_, values)) = change else {
            return error;
        };
        let name = error.about().and_then(|about| about.constraint.as_deref());
        let Some(key) = def.indexes.iter().find(|key| Some(key.name.as_str()) == name) else {
            return error;
        };
        let Ok(Some(made)) = self.key_of(key, values) else { return error };
        let shown = key_shown(def, key, &made);
        let message = format!("duplicate key value violates unique constraint \"{}\"", key.name);
        Error::new(SqlState::UNIQUE_VIOLATION, message)
            .about_part(def.about_constraint(&key.name))
            .with_detail(format!("Key {shown} already exists."))
    }

    /// The values of the key of an index that a row has; None for a row that the index leaves out.
    fn key_of(&self, index: &IndexMeta, values: &[Value]) -> Result<Option<Vec<Value>>> {
        if index.terms.is_empty() {
            let columns = index.columns.iter();
            return Ok(Some(columns.map(|column| values[column.ordinal].clone()).collect()));
        }
        RowKeys::new(&self.rows.def.columns, index)?.key(&|at| values[at].clone())
    }

    /// Tests NOT NULL and CHECK of rows as they are to be.
    fn verify(&self, running: &Running<'_>, batch: &Batch, written: Columns<'_>) -> Result<()> {
        let def = &self.rows.def;
        for (column, spec) in batch.columns.iter().zip(&def.columns).filter(|(_, c)| c.not_null) {
            let Some(row) = (0..batch.rows).find(|row| column.value(*row).is_null()) else {
                continue;
            };
            let message = format!(
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                spec.name,
                def.bare_name()
            );
            return Err(Error::new(SqlState::NOT_NULL_VIOLATION, message)
                .about_part(def.about_column(&spec.name))
                .with_detail(failing_row(def, batch, row)));
        }
        let own = Batch::new(batch.columns[..def.columns.len()].to_vec(), batch.rows);
        self.checks.verify(def, &own, written, running.session.clocks())
    }

    /// The rows that `source` names, each once, with the values of the columns `assigned`.
    fn met(
        &self,
        running: &Running<'_>,
        source: &ResultSet,
        assigned: &[usize],
    ) -> Result<Vec<Met>> {
        let (mut seen, mut all) = (HashSet::new(), Vec::new());
        for batch in &source.batches {
            let named = (0..batch.rows).filter_map(|row| Some((row as u32, tid_of(batch, row)?)));
            let rows: Vec<(u32, Tid)> = named.filter(|(_, tid)| seen.insert(tid.0)).collect();
            let wanted = Wanted { rows: &rows, columns: assigned, batch, first: 1 };
            let (mut met, kept) = self.read(running, &wanted)?;
            let extras: Range<usize> = 1 + assigned.len()..batch.columns.len();
            let extras = batch.columns[extras].iter().map(|column| column.gather(&kept));
            met.batch.columns.extend(extras);
            all.push(met);
        }
        Ok(all)
    }

    /// Rows that are there, as they are to be, and their places in the batch of new values.
    fn read(&self, running: &Running<'_>, wanted: &Wanted<'_>) -> Result<(Met, Vec<u32>)> {
        running.session.cancel_handle().check()?;
        let columns = &self.rows.def.columns;
        let physical = columns.iter().map(|column| column.ty.physical());
        let mut builders: Vec<VectorBuilder> = physical.map(VectorBuilder::new).collect();
        let numbers: Vec<AttachedRow> =
            wanted.rows.iter().map(|(_, tid)| AttachedRow(tid.0)).collect();
        let found = self.transaction.rows(self.rows.id, &numbers)?;
        let (mut tids, mut kept) = (Vec::new(), Vec::new());
        for ((row, tid), values) in wanted.rows.iter().zip(found) {
            let Some(mut values) = values else { continue };
            for (at, column) in wanted.columns.iter().enumerate() {
                values[*column] = wanted.batch.columns[wanted.first + at].value(*row as usize);
            }
            for (builder, value) in builders.iter_mut().zip(&values) {
                builder.push_value(value);
            }
            tids.push(*tid);
            kept.push(*row);
        }
        let own = builders.into_iter().map(|builder| Column::plain(builder.finish()));
        let mut batch = Batch::new(own.collect(), kept.len());
        if !wanted.columns.is_empty() {
            self.generated.fill(&mut batch)?;
        }
        Ok((Met { tids, batch }, kept))
    }
}

/// Rows of the target that get new values for some columns.
struct Wanted<'b> {
    /// Places in the batch, with the rows of the target.
    rows: &'b [(u32, Tid)],
    /// Columns that change; their values stand in `batch` from column `first` on.
    columns: &'b [usize],
    batch: &'b Batch,
    first: usize,
}

/// The rows of a batch, so many of its columns.
fn values_of(batch: &Batch, columns: usize) -> Vec<Vec<Value>> {
    let own = &batch.columns[..columns];
    let row = |row| own.iter().map(|column| column.value(row)).collect();
    (0..batch.rows).map(row).collect()
}

/// The number of the row in the first column.
fn tid_of(batch: &Batch, row: usize) -> Option<Tid> {
    match batch.columns[0].value(row) {
        Value::I64(number) => Some(Tid(number as u64)),
        _ => None,
    }
}
