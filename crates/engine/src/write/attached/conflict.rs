//! INSERT ... ON CONFLICT DO UPDATE into an attached table.
//!
//! ```text
//! rows of the source -> inserted, or the row that has the key -> assignments, in rounds in which
//!                                                                each row is met once
//! ```

use std::collections::HashSet;

use catalog::rows::Rows;
use exec::ResultSet;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use sql::algebra::Query;
use sql::catalog::ColumnDef;
use sql::statement::ConflictTarget;
use storage::Tid;
use types::{Result, SqlState, Value};

use super::super::conflict::{self as own, first_of_each, in_places, row_numbers, second_time};
use super::super::returning::{Written, slices};
use super::{Columns, Target, Wanted, values_of};
use crate::instance::attached::{AttachedChange, AttachedRow};
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};
use crate::transaction::work::lost_update;

/// DO UPDATE: keys whose conflicts count, columns that are assigned, and the query of their values.
pub(super) struct DoUpdate<'a> {
    pub(super) keys: &'a ConflictTarget,
    pub(super) columns: &'a [usize],
    pub(super) assignments: &'a Query,
}

/// Rows that were met, each once, and those of the source that met them.
struct Round<'a> {
    source: &'a ResultSet,
    met: &'a own::Met,
}

/// Writes the rows of `source`, or changes those that have their keys.
///
/// # Errors
/// 21000 for a row that is met twice; errors of the rows.
pub(super) fn insert(
    running: &mut Running<'_>,
    target: &Target<'_>,
    mut source: ResultSet,
    how: DoUpdate<'_>,
) -> Result<Written> {
    let (mut written, mut places) = (Written::default(), Vec::new());
    let (mut touched, mut met) = (HashSet::new(), Vec::new());
    for (number, batch) in source.batches.iter_mut().enumerate() {
        // The source may have narrower numbers than the table.
        let wide = columns_of(target, &values_of(batch, target.rows.def.columns.len()));
        *batch = Batch::new(wide, batch.rows);
        target.generated.fill(batch)?;
        target.verify(running, batch, Columns::All)?;
        let rows = values_of(batch, target.rows.def.columns.len());
        target.look_ahead(running, &rows)?;
        let (mut tids, mut kept) = (Vec::new(), Vec::new());
        for (row, values) in rows.into_iter().enumerate() {
            running.session.cancel_handle().check()?;
            let place = (number, row as u32);
            match insert_one(target, values, how.keys)? {
                Outcome::Inserted(tid) => {
                    touched.insert(tid);
                    tids.push(tid);
                    kept.push(row as u32);
                    places.push(place);
                }
                Outcome::Met(tid) if touched.contains(&tid) => return Err(second_time()),
                Outcome::Met(tid) => met.push((tid, place)),
            }
        }
        written.add(super::Met { tids, batch: batch.gather(&kept) });
    }
    while !met.is_empty() {
        let round = Round { source: &source, met: &first_of_each(&mut met) };
        for (changed, numbers) in update(running, target, &round, &how)? {
            if met.iter().any(|(tid, _)| changed.tids.contains(tid)) {
                return Err(second_time());
            }
            places.extend(numbers.iter().map(|number| round.met.proposed[*number as usize]));
            written.add(changed);
        }
    }
    in_places(&mut written, &places);
    Ok(written)
}

enum Outcome {
    Inserted(Tid),
    Met(Tid),
}

fn insert_one(target: &Target<'_>, values: Vec<Value>, keys: &ConflictTarget) -> Result<Outcome> {
    let change = AttachedChange::Insert(values);
    let error = match target.change(&change) {
        Ok(tid) => {
            target.note_new(tid, None);
            return Ok(Outcome::Inserted(tid));
        }
        Err(error) if error.state() == SqlState::UNIQUE_VIOLATION => error,
        Err(error) => return Err(error),
    };
    let AttachedChange::Insert(values) = change else { return Err(error) };
    for key in &keys.indexes {
        if let Some(row) = target.transaction.holder(target.rows.id, *key, &values)? {
            return Ok(Outcome::Met(Tid(row.0)));
        }
    }
    // A key that ON CONFLICT does not name.
    Err(error)
}

/// Updates the rows that were met, and tells the numbers in `met` of those changed.
fn update(
    running: &mut Running<'_>,
    target: &Target<'_>,
    round: &Round<'_>,
    how: &DoUpdate<'_>,
) -> Result<Vec<(super::Met, Vec<u32>)>> {
    let Round { source, met } = round;
    let numbers: Vec<AttachedRow> = met.tids.iter().map(|tid| AttachedRow(tid.0)).collect();
    let existing = target.transaction.rows(target.rows.id, &numbers)?;
    let existing = existing.into_iter().map(|row| row.ok_or_else(lost_update));
    let existing = existing.collect::<Result<Vec<_>>>()?;
    let proposed = met.proposed.iter().map(|(batch, row)| {
        let columns = &source.batches[*batch].columns;
        columns.iter().map(|column| column.value(*row as usize)).collect()
    });
    let mut input = columns_of(target, &existing);
    input.extend(columns_of(target, &proposed.collect::<Vec<Vec<Value>>>()));
    let places = (0..met.tids.len() as i64).collect();
    input.push(Column::plain(Vector::new(VectorData::I64(places))));
    let inputs = vec![slices(vec![Batch::new(input, met.tids.len())])];
    let run = Run { inputs, ..Run::of(OwnQuery::Assignments) };
    let assigned = running.run_query(how.assignments, run)?;
    let mut all = Vec::new();
    for batch in &assigned.batches {
        let numbers = row_numbers(&Rows::new(batch))?;
        let rows: Vec<(u32, Tid)> =
            (0..).zip(numbers.iter().map(|number| met.tids[*number as usize])).collect();
        let wanted = Wanted { rows: &rows, columns: how.columns, batch, first: 1 };
        let (changed, _) = target.read(running, &wanted)?;
        target.update(running, &changed, how.columns)?;
        all.push((changed, numbers));
    }
    Ok(all)
}

/// The columns of the target for these rows.
fn columns_of(target: &Target<'_>, rows: &[Vec<Value>]) -> Vec<Column> {
    let columns = target.rows.def.columns.iter().enumerate();
    let column = |(at, column): (usize, &ColumnDef)| {
        let mut builder = VectorBuilder::with_capacity(column.ty.physical(), rows.len());
        rows.iter().for_each(|row| builder.push_value(&row[at]));
        Column::plain(builder.finish())
    };
    columns.map(column).collect()
}
