//! INSERT: rows from a query into a table.

use std::sync::Arc;

use catalog::TableEntry;
use catalog::checks::Clocks;
use exec::flow::Flow;
use exec::pipeline::{Demand, Place, Sink, Stream, drive};
use exec::{Opener, QueryContext, ResultSet};
use host::Clock;
use sql::catalog::{TableMeta, TriggerEvent};
use sql::statement::{ConflictAction, Insert, OnConflict};
use storage::{BulkWriter, TableLoad};
use types::Result;
use types::calendar::TimeZone;

use super::conflict::{self, Asked};
use super::partitioned::{self, Routes};
use super::returning::{Written, returning};
use super::rows::{attempt, push_error};
use super::tests_of_rows::{self, Tests};
use super::triggers::{StatementEvent, StatementTriggers};
use super::writer::TableWriter;
use super::{attached, instead};
use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::admission::Rows;
use crate::statement::attached::AttachedRows;
use crate::statement::running::{Run, Running};

/// Rows, estimated or counted, from which INSERT loads blocks instead of appending batches.
pub(crate) const BULK_ROWS: f64 = 20_000.0;

/// Gathers rows into one bulk writer per worker.
struct BulkSink {
    load: Arc<TableLoad>,
    entry: Arc<TableEntry>,
    /// The time of the transaction.
    now: i64,
    clock: Arc<dyn Clock>,
    zone: TimeZone,
}

impl Sink for BulkSink {
    type Local = BulkWriter;

    fn local(&self) -> BulkWriter {
        self.entry.writer_of(&self.load)
    }

    fn consume(&self, local: &mut BulkWriter, flow: Flow, _: Place) -> Result<Demand> {
        let mut batch = flow.into_batch()?;
        let clocks = Clocks { now: self.now, clock: &*self.clock, zone: &self.zone };
        TableWriter::inserting(&self.entry).complete(&mut batch, clocks)?;
        local.push(&batch).map_err(|error| push_error(&self.entry, error))?;
        Ok(Demand::More)
    }
}

/// Loads the rows of `stream` into the table in parallel, as part of the session's transaction.
/// The rows loaded.
pub(crate) fn load_stream(
    running: &mut Running<'_>,
    context: &Arc<QueryContext>,
    stream: &Stream,
    entry: &Arc<TableEntry>,
) -> Result<u64> {
    let load = entry.storage().begin_load();
    let (now, zone) =
        (running.session.work().now_micros, running.session.settings.time_zone().clone());
    let clock = Arc::clone(&running.session.inner().clock);
    let (target, entry_of) = (Arc::clone(&load), Arc::clone(entry));
    let sink = Arc::new(BulkSink { load: target, entry: entry_of, now, clock, zone });
    for writer in drive(context, stream, &sink)? {
        writer.finish()?;
    }
    let work = running.session.work_mut();
    attempt(work, &context_cancel(context), |undo| load.commit(undo))
        .map_err(|error| error.into_error(running.session.work(), entry))
}

/// Loads the rows of a query that turned out to have many, in their order.
pub(crate) fn load_result(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    result: ResultSet,
) -> Result<u64> {
    let load = entry.storage().begin_load();
    let mut writer = entry.writer_of(&load);
    let cancel = running.session.cancel_handle();
    for mut batch in result.batches {
        cancel.check()?;
        TableWriter::inserting(entry).complete(&mut batch, running.session.clocks())?;
        writer.push(&batch).map_err(|error| push_error(entry, error))?;
    }
    writer.finish()?;
    let work = running.session.work_mut();
    attempt(work, &cancel, |undo| load.commit(undo))
        .map_err(|error| error.into_error(running.session.work(), entry))
}

fn context_cancel(context: &Arc<QueryContext>) -> crate::CancelHandle {
    crate::CancelHandle::from(Arc::clone(&context.cancel))
}

pub(crate) fn insert(running: &mut Running<'_>, insert: &Insert) -> Result<QueryResult> {
    if insert.table.is_view() {
        return instead::insert(running, insert);
    }
    let decided = conflict::decided(running, insert.on_conflict.as_ref())?;
    let on_conflict = decided.as_ref().or(insert.on_conflict.as_ref());
    if let Some(rows) = AttachedRows::of(&insert.table) {
        return attached::insert(running, &rows, insert, on_conflict);
    }
    running.session.work().check_writes(insert.table.name(), "INSERT")?;
    let entry = running.session.write_table(&insert.table)?;
    let triggers = StatementTriggers::begin(running, entry.name(), &events(insert))?;
    let result = insert_into(running, &entry, insert, on_conflict);
    triggers.into_iter().for_each(|triggers| triggers.end(running));
    let (written, tag) = result?;
    match written {
        Some(written) => returning(running, insert.returning.as_ref(), written, tag),
        None => Ok(QueryResult::command(tag)),
    }
}

/// Events of triggers of a statement.
fn events(insert: &Insert) -> Vec<StatementEvent<'_>> {
    let mut events: Vec<StatementEvent<'_>> = vec![(TriggerEvent::Insert, &[])];
    if let Some(on_conflict) = &insert.on_conflict
        && let ConflictAction::Update { columns, .. } = &on_conflict.action
    {
        events.push((TriggerEvent::Update, columns));
    }
    events
}

/// Writes the rows; those that RETURNING reads, and the command's tag.
fn insert_into(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    insert: &Insert,
    on_conflict: Option<&OnConflict>,
) -> Result<(Option<Written>, String)> {
    let fires = running.session.state().has_row_triggers(entry.name());
    let (plan, context) = running.plan_query(&insert.source, Run::of(OwnQuery::Source))?;
    let routes = Routes::of(running.session, entry)?;
    let simple = insert.on_conflict.is_none()
        && !notes_new(running)
        && insert.returning.is_none()
        && insert.all_tests().next().is_none()
        && !entry.looks_at_keys()
        && !fires;
    let is_load = simple && routes.is_none() && plan.root.rows >= BULK_ROWS && !plan.calls_routines;
    running.admit(&plan, &context, if is_load { Rows::HandedOn } else { Rows::Kept })?;
    if is_load {
        let mut opener = Opener::new(Arc::clone(&context));
        opener.run_preludes(&plan)?;
        let stream = opener.open(&plan.root, Vec::new())?;
        let rows = load_stream(running, &context, &stream, entry)?;
        return Ok((None, format!("INSERT 0 {rows}")));
    }
    let mut result = running.execute(&plan, &context)?;
    test_proposed(running, entry, insert, &mut result)?;
    let first = insert.proposed.len() + insert.met.len() + insert.updated.len();
    let tests = Tests { tests: &insert.tests, first };
    if let Some(mut routes) = routes {
        let written = insert_parts(running, &mut routes, result, insert, on_conflict)?;
        tests_of_rows::verify(running, &entry.def, tests, &written.batches)?;
        let tag = format!("INSERT 0 {}", written.count);
        return Ok((Some(written), tag));
    }
    if simple && result.rows() as f64 >= BULK_ROWS {
        let rows = load_result(running, entry, result)?;
        return Ok((None, format!("INSERT 0 {rows}")));
    }
    let written = match on_conflict {
        Some(on_conflict) => {
            let asked = Asked { insert, on_conflict, leaf: None };
            conflict::insert(running, entry, &mut result, asked)?
        }
        None => insert_result(running, entry, &mut result)?,
    };
    tests_of_rows::verify(running, &entry.def, tests, &written.batches)?;
    let tag = format!("INSERT 0 {}", written.count);
    Ok((Some(written), tag))
}

/// True when another part of the statement has to know the rows.
fn notes_new(running: &Running<'_>) -> bool {
    running.parts.as_ref().is_some_and(|parts| parts.notes_new)
}

/// Writes all rows of a result into partitions.
fn insert_parts(
    running: &mut Running<'_>,
    routes: &mut Routes,
    result: ResultSet,
    insert: &Insert,
    on_conflict: Option<&OnConflict>,
) -> Result<Written> {
    if let Some(on_conflict) = on_conflict {
        let asked = Asked { insert, on_conflict, leaf: None };
        return conflict::insert_parts(running, routes, result, asked);
    }
    let is_plain = insert.returning.is_none()
        && !notes_new(running)
        && insert.all_tests().next().is_none()
        && !insert.table.looks_at_keys()
        && !running.session.state().has_row_triggers(insert.table.name());
    if is_plain && result.rows() as f64 >= BULK_ROWS {
        let count = partitioned::load(running, routes, result.batches)?;
        return Ok(Written { count, ..Written::default() });
    }
    partitioned::insert(running, routes, result.batches)
}

/// Tests the rows of the source, before others learn of them by what is stored.
fn test_proposed(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    insert: &Insert,
    result: &mut ResultSet,
) -> Result<()> {
    if insert.proposed.is_empty() {
        return Ok(());
    }
    for batch in &mut result.batches {
        entry.generated.fill(batch)?;
    }
    tests_of_rows::verify(running, &entry.def, Tests::all(&insert.proposed), &result.batches)
}

/// Writes all rows of a result, whose memory counts them as long as it lives.
pub(crate) fn insert_result(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    result: &mut ResultSet,
) -> Result<Written> {
    let writer = TableWriter::firing(running.session, entry)?;
    let tids = writer.insert(running, &mut result.batches)?;
    let count = tids.iter().map(|tids| tids.len() as u64).sum();
    Ok(Written { batches: std::mem::take(&mut result.batches), count, tids })
}
