//! Rows of attached tables that a statement writes, one by one.
//!
//! ```text
//! source query -> batches (TID = number of the row, values) -> NOT NULL, CHECK -> the transaction
//!                                                              of the attached database
//! ```
//! Called by INSERT (`insert`), UPDATE and DELETE (`change`).

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use exec::ResultSet;
use kernels::{Batch, Column, VectorBuilder};
use sql::statement::{ConflictAction, ConflictTarget, Delete, Insert, OnConflict, RowTest, Update};
use storage::Tid;
use types::{Error, Result, SqlState, Value, text};

use super::returning::{Written, returning};
use crate::QueryResult;
use crate::catalog::checks::{Checks, Written as Columns, failing_row};
use crate::instance::attached::{AttachedChange, AttachedRow, AttachedTransaction};
use crate::session::compiled::OwnQuery;
use crate::statement::attached::AttachedRows;
use crate::statement::running::{Run, Running};

/// The table that a statement writes.
struct Target<'a> {
    rows: &'a AttachedRows,
    transaction: Arc<dyn AttachedTransaction>,
    checks: Checks,
}

/// INSERT.
///
/// # Errors
/// 0A000 for ON CONFLICT DO UPDATE; 23502, 23505, 23514, 40001.
pub(super) fn insert(
    running: &mut Running<'_>,
    rows: &AttachedRows,
    insert: &Insert,
) -> Result<QueryResult> {
    let skipped = match &insert.on_conflict {
        Some(OnConflict { action: ConflictAction::Update { .. }, .. }) => {
            return Err(Error::unsupported("ON CONFLICT DO UPDATE with shared tables"));
        }
        Some(OnConflict { target, action: ConflictAction::Nothing }) => {
            Skipped::Doubles(target.as_ref())
        }
        None => Skipped::None,
    };
    refuse_tests(insert.all_tests())?;
    let target = Target::of(running, rows, "INSERT")?;
    let source = running.run_query(&insert.source, Run::of(OwnQuery::Source))?;
    let mut written = Written::default();
    for batch in source.batches {
        target.verify(running, &batch, Columns::All)?;
        let (mut tids, mut kept) = (Vec::with_capacity(batch.rows), Vec::new());
        for row in 0..batch.rows {
            running.session.cancel_handle().check()?;
            let values = batch.columns.iter().map(|column| column.value(row)).collect();
            match target.change(&AttachedChange::Insert(values)) {
                Ok(tid) => {
                    tids.push(tid);
                    kept.push(row as u32);
                }
                Err(error) if skipped.has(&error, rows) => {}
                Err(error) => return Err(error),
            }
        }
        let columns = batch.columns.iter().map(|column| column.gather(&kept)).collect();
        written.add(Met { tids, batch: Batch::new(columns, kept.len()) });
    }
    let tag = format!("INSERT 0 {}", written.count);
    returning(running, insert.returning.as_ref(), written, tag)
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
        target.verify(running, &met.batch, Columns::Only(&update.columns))?;
        for (at, tid) in met.tids.iter().enumerate() {
            running.session.cancel_handle().check()?;
            let own = &met.batch.columns[..rows.def.columns.len()];
            let values = own.iter().map(|column| column.value(at)).collect();
            target.change(&AttachedChange::Update(AttachedRow(tid.0), values))?;
        }
        written.add(met);
    }
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
        for tid in &met.tids {
            running.session.cancel_handle().check()?;
            target.change(&AttachedChange::Delete(AttachedRow(tid.0)))?;
        }
        written.add(met);
    }
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
        let checks = Checks::of(&rows.def);
        checks.prepare(&rows.def, &session.own_catalog())?;
        Ok(Self { rows, transaction, checks })
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
        let Some(key) = def.keys.iter().find(|key| Some(key.name.as_str()) == name) else {
            return error;
        };
        let column = |at: &usize| def.columns[*at].name.as_str();
        let value = |at: &usize| text::format(&values[*at], def.columns[*at].ty);
        let columns: Vec<&str> = key.columns.iter().map(column).collect();
        let values: Vec<String> = key.columns.iter().map(value).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        let message = format!("duplicate key value violates unique constraint \"{}\"", key.name);
        Error::new(SqlState::UNIQUE_VIOLATION, message)
            .about_part(def.about_constraint(&key.name))
            .with_detail(format!("Key ({columns})=({values}) already exists."))
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
        let columns = &self.rows.def.columns;
        for batch in &source.batches {
            let physical = columns.iter().map(|column| column.ty.physical());
            let mut builders: Vec<VectorBuilder> = physical.map(VectorBuilder::new).collect();
            let (mut tids, mut kept) = (Vec::new(), Vec::new());
            for row in 0..batch.rows {
                running.session.cancel_handle().check()?;
                let Some(tid) = tid_of(batch, row).filter(|tid| seen.insert(tid.0)) else {
                    continue;
                };
                let found = self.transaction.row(self.rows.id, AttachedRow(tid.0))?;
                let Some(mut values) = found else { continue };
                for (at, column) in assigned.iter().enumerate() {
                    values[*column] = batch.columns[at + 1].value(row);
                }
                for (builder, value) in builders.iter_mut().zip(&values) {
                    builder.push_value(value);
                }
                tids.push(tid);
                kept.push(row as u32);
            }
            let own = builders.into_iter().map(|builder| Column::plain(builder.finish()));
            let extras: Range<usize> = 1 + assigned.len()..batch.columns.len();
            let extras = batch.columns[extras].iter().map(|column| column.gather(&kept));
            let batch = Batch::new(own.chain(extras).collect(), kept.len());
            all.push(Met { tids, batch });
        }
        Ok(all)
    }
}

/// The number of the row in the first column.
fn tid_of(batch: &Batch, row: usize) -> Option<Tid> {
    match batch.columns[0].value(row) {
        Value::I64(number) => Some(Tid(number as u64)),
        _ => None,
    }
}
