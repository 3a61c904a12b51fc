//! Rows of views that triggers write: INSTEAD OF.
//!
//! Each row of the source goes through the triggers, by name; a row that one of them answers with
//! NULL is not counted. What RETURNING gives are the rows as the triggers left them.

use std::ops::Range;
use std::sync::Arc;

use catalog::TableDef;
use catalog::triggers::{Moment, ReplicationRole};
use exec::ResultSet;
use kernels::{Batch, Column, VectorBuilder};
use sql::algebra::Query;
use sql::catalog::{TableRef, TriggerDef, TriggerEvent, TriggerLevel, TriggerTiming};
use sql::statement::{Delete, Insert, Update};
use storage::Layout;
use types::{RecordType, Result, Value, record};

use super::returning::{Written, returning};
use super::tests_of_rows::{self, Tests};
use super::triggers::{StatementTriggers, widened};
use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::row_types::row_type;
use crate::statement::running::{Run, Running};
use crate::statement::sequence::Callee;
use crate::statement::trigger::{Answer, TriggerCall};

/// Places of what the source of a statement gives.
struct Places<'a> {
    event: TriggerEvent,
    /// Columns that get the values behind the first.
    assigned: &'a [usize],
    /// The row as it is; None for new rows.
    old: Option<usize>,
    extras: Range<usize>,
}

/// A view that a statement writes.
struct View<'a> {
    table: &'a TableRef,
    row: RecordType,
    triggers: Vec<Arc<TriggerDef>>,
}

/// INSERT.
///
/// # Errors
/// Errors of the functions.
pub(super) fn insert(running: &mut Running<'_>, insert: &Insert) -> Result<QueryResult> {
    running.session.work().check_writable("INSERT")?;
    let places = Places { event: TriggerEvent::Insert, assigned: &[], old: None, extras: 0..0 };
    let written = write(running, &insert.table, &places, &insert.source)?;
    let first = insert.proposed.len() + insert.met.len() + insert.updated.len();
    test(running, &insert.table, Tests { tests: &insert.tests, first }, &written)?;
    let tag = format!("INSERT 0 {}", written.count);
    returning(running, insert.returning.as_ref(), written, tag)
}

/// UPDATE.
///
/// # Errors
/// As [`insert`].
pub(super) fn update(running: &mut Running<'_>, update: &Update) -> Result<QueryResult> {
    running.session.work().check_writable("UPDATE")?;
    let assigned = update.columns.as_slice();
    let extras = 1 + assigned.len()..update.old.unwrap_or_default();
    let places = Places { event: TriggerEvent::Update, assigned, old: update.old, extras };
    let written = write(running, &update.table, &places, &update.source)?;
    test(running, &update.table, Tests::all(&update.tests), &written)?;
    let tag = format!("UPDATE {}", written.count);
    returning(running, update.returning.as_ref(), written, tag)
}

/// DELETE.
///
/// # Errors
/// As [`insert`].
pub(super) fn delete(running: &mut Running<'_>, delete: &Delete) -> Result<QueryResult> {
    running.session.work().check_writable("DELETE")?;
    let extras = 1..delete.old.unwrap_or_default();
    let places = Places { event: TriggerEvent::Delete, assigned: &[], old: delete.old, extras };
    let written = write(running, &delete.table, &places, &delete.source)?;
    let tag = format!("DELETE {}", written.count);
    returning(running, delete.returning.as_ref(), written, tag)
}

/// Tests the rows as the triggers left them: CHECK OPTION of views above the one that they write.
fn test(
    running: &mut Running<'_>,
    table: &TableRef,
    tests: Tests<'_>,
    written: &Written,
) -> Result<()> {
    if tests.tests.is_empty() {
        return Ok(());
    }
    let def = TableDef::new(table.name(), table.columns().to_vec(), Layout::default());
    tests_of_rows::verify(running, &def, tests, &written.batches)
}

/// Calls the triggers for all rows of the source, between those of the statement.
fn write(
    running: &mut Running<'_>,
    table: &TableRef,
    places: &Places<'_>,
    source: &Query,
) -> Result<Written> {
    let event = (places.event, places.assigned);
    let triggers = StatementTriggers::begin(running, table.name(), &[event])?;
    let result = running.run_query(source, Run::of(OwnQuery::Source))?;
    let written = write_rows(running, table, places, &result)?;
    triggers.into_iter().for_each(|triggers| triggers.end(running));
    Ok(written)
}

/// Calls the triggers for each row.
fn write_rows(
    running: &mut Running<'_>,
    table: &TableRef,
    places: &Places<'_>,
    result: &ResultSet,
) -> Result<Written> {
    let (timing, level) = (TriggerTiming::InsteadOf, TriggerLevel::Row);
    let moment = Moment { timing, level, event: places.event, assigned: &[] };
    let role = ReplicationRole::of(running.session.settings.changed("session_replication_role"));
    let triggers = running.session.state().triggers_at(table.name(), moment, role);
    let view = View { table, row: row_type(running.session, table.name())?, triggers };
    let mut all = Written::default();
    for batch in &result.batches {
        let mut builders: Vec<VectorBuilder> =
            view.row.fields().iter().map(|f| VectorBuilder::new(f.ty.physical())).collect();
        let mut kept = Vec::new();
        for row in 0..batch.rows {
            running.session.cancel_handle().check()?;
            let Some(values) = view.write(running, places, batch, row)? else { continue };
            for (builder, value) in builders.iter_mut().zip(&values) {
                builder.push_value(value);
            }
            kept.push(row as u32);
        }
        let mut columns: Vec<Column> =
            builders.into_iter().map(|builder| Column::plain(builder.finish())).collect();
        let extras = batch.columns.get(places.extras.clone()).unwrap_or_default();
        columns.extend(extras.iter().map(|column| column.gather(&kept)));
        all.count += kept.len() as u64;
        all.batches.push(Batch::new(columns, kept.len()));
    }
    Ok(all)
}

impl View<'_> {
    /// Calls the triggers for a row; its values as they leave it, None when it is skipped.
    fn write(
        &self,
        running: &mut Running<'_>,
        places: &Places<'_>,
        batch: &Batch,
        row: usize,
    ) -> Result<Option<Vec<Value>>> {
        let whole = |from: usize| -> Vec<Value> {
            let columns = batch.columns.iter().skip(from).zip(self.row.fields());
            columns.map(|(column, field)| widened(column.value(row), field.ty)).collect()
        };
        let record = |values: &[Value]| -> Result<Value> {
            Ok(Value::Str(record::from_values(values, self.row)?.into()))
        };
        let (old, new) = match places.old {
            None => (Value::Null, record(&whole(0))?),
            Some(_) if places.event == TriggerEvent::Delete => {
                (record(&whole(places.old.unwrap_or_default()))?, Value::Null)
            }
            Some(from) => {
                let mut values = whole(from);
                let old = record(&values)?;
                for (at, &column) in places.assigned.iter().enumerate() {
                    let value = batch.columns[at + 1].value(row);
                    values[column] = widened(value, self.row.fields()[column].ty);
                }
                (old, record(&values)?)
            }
        };
        let is_gone = new.is_null();
        let mut now = new;
        for def in &self.triggers {
            let (table, event) = (self.table.name(), places.event);
            let call =
                TriggerCall { table, def, event, row: self.row, old: &old, new: &now, tables: &[] };
            match running.session.call_trigger(call)? {
                Answer::Row(Value::Null) => return Ok(None),
                Answer::Row(given) if !is_gone => now = given,
                Answer::Row(_) | Answer::Quiet => {}
            }
        }
        match if is_gone { &old } else { &now } {
            Value::Str(bytes) => Ok(Some(record::Fields::new(bytes, self.row).collect())),
            _ => Ok(None),
        }
    }
}
