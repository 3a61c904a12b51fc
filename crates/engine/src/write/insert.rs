//! INSERT: rows from a query into a table.

use std::sync::Arc;

use exec::flow::Flow;
use exec::pipeline::{Demand, Place, Sink, Stream, drive};
use exec::{Opener, QueryContext, ResultSet};
use host::Clock;
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorData};
use sql::catalog::TableMeta;
use sql::statement::{Insert, Returning, RowPlace};
use storage::{BulkWriter, Datum, TableLoad, Tid};
use types::Result;
use types::calendar::TimeZone;

use super::checks::Clocks;
use super::rows::{Rows, attempt, one_row, push_error};
use super::{conflict, foreign, wide};
use crate::catalog::TableEntry;
use crate::session::Run;
use crate::{QueryResult, Session};

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
        self.load.writer()
    }

    fn consume(&self, local: &mut BulkWriter, flow: Flow, _: Place) -> Result<Demand> {
        let mut batch = flow.into_batch()?;
        self.entry.generated.fill(&mut batch)?;
        let clocks = Clocks { now: self.now, clock: &*self.clock, zone: &self.zone };
        self.entry.checks.verify(&self.entry.def, &batch, clocks)?;
        local.push(&batch).map_err(|error| push_error(&self.entry, error))?;
        Ok(Demand::More)
    }
}

/// Loads the rows of `stream` into the table in parallel, as part of the session's transaction.
/// The rows loaded.
pub(crate) fn load_stream(
    session: &mut Session,
    context: &Arc<QueryContext>,
    stream: &Stream,
    entry: &Arc<TableEntry>,
) -> Result<u64> {
    let load = entry.storage().begin_load();
    let (now, zone) = (session.work().now_micros, session.settings.time_zone().clone());
    let clock = Arc::clone(&session.inner().clock);
    let (target, entry_of) = (Arc::clone(&load), Arc::clone(entry));
    let sink = Arc::new(BulkSink { load: target, entry: entry_of, now, clock, zone });
    for writer in drive(context, stream, &sink)? {
        writer.finish()?;
    }
    let work = session.work_mut();
    attempt(work, &context_cancel(context), |undo| load.commit(undo))
        .map_err(|error| error.into_error(session.work(), entry))
}

/// Loads the rows of a query that turned out to have many, in their order.
pub(crate) fn load_result(
    session: &mut Session,
    entry: &Arc<TableEntry>,
    result: ResultSet,
) -> Result<u64> {
    let load = entry.storage().begin_load();
    let mut writer = load.writer();
    let cancel = session.cancel_handle();
    for mut batch in result.batches {
        cancel.check()?;
        entry.generated.fill(&mut batch)?;
        entry.checks.verify(&entry.def, &batch, session.clocks())?;
        writer.push(&batch).map_err(|error| push_error(entry, error))?;
    }
    writer.finish()?;
    let work = session.work_mut();
    attempt(work, &cancel, |undo| load.commit(undo))
        .map_err(|error| error.into_error(session.work(), entry))
}

fn context_cancel(context: &Arc<QueryContext>) -> crate::CancelHandle {
    crate::CancelHandle::from(Arc::clone(&context.cancel))
}

/// Rows written by a statement, for RETURNING: all columns of the table, then extras.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) batches: Vec<Batch>,
    /// Where the rows of each batch are.
    pub(crate) tids: Vec<Vec<Tid>>,
    pub(crate) count: u64,
}

/// Runs a RETURNING query over the written rows; without one the result has no rows.
pub(crate) fn returning(
    session: &mut Session,
    returning: Option<&Returning>,
    mut written: Written,
    tag: String,
) -> Result<QueryResult> {
    let Some(returning) = returning else { return Ok(QueryResult::command(tag)) };
    if returning.place == RowPlace::Last {
        for (batch, tids) in written.batches.iter_mut().zip(written.tids) {
            let places = tids.iter().map(|tid| tid.0 as i64).collect();
            batch.columns.push(Column::plain(Vector::new(VectorData::I64(places))));
        }
    }
    let inputs = vec![slices(written.batches)];
    let result = session.run_query(&returning.query, Run { inputs, ..Run::default() })?;
    Ok(QueryResult::tagged(tag, result))
}

/// The same rows in batches of at most [`BATCH_ROWS`].
pub(crate) fn slices(batches: Vec<Batch>) -> Vec<Batch> {
    let mut all = Vec::with_capacity(batches.len());
    for batch in batches {
        if batch.rows <= BATCH_ROWS {
            all.push(batch);
            continue;
        }
        for start in (0..batch.rows).step_by(BATCH_ROWS) {
            let len = BATCH_ROWS.min(batch.rows - start);
            let positions: Vec<u32> = (start as u32..(start + len) as u32).collect();
            let columns = batch.columns.iter().map(|c| c.gather(&positions)).collect();
            all.push(Batch::new(columns, len));
        }
    }
    all
}

/// Writes the rows of `batch`, all columns of the table in order, generated ones included, foreign
/// keys apart.
pub(crate) fn write_batch(
    session: &mut Session,
    entry: &Arc<TableEntry>,
    batch: &Batch,
) -> Result<Vec<Tid>> {
    let mut tids = Vec::with_capacity(batch.rows);
    let cancel = session.cancel_handle();
    cancel.check()?;
    let work = session.work_mut();
    let mark = work.txn.mark();
    let written = attempt(work, &cancel, |undo| {
        tids.clear();
        entry.storage().insert_batch(undo, batch, &mut tids).inspect_err(|_| {
            undo.rollback_to(mark);
        })
    });
    written.map_err(|error| error.into_error(session.work(), entry))?;
    Ok(tids)
}

/// Writes one row, all columns of the table in their physical forms, keeping its constraints; what
/// it has for generated columns does not count.
///
/// # Errors
/// Those of INSERT; what was written of the row is taken back with the statement.
pub(crate) fn insert_row(
    session: &mut Session,
    entry: &Arc<TableEntry>,
    row: &[Datum<'_>],
) -> Result<Tid> {
    let storage = entry.storage();
    let is_constrained = !entry.def.checks.is_empty()
        || !entry.def.foreign_keys.is_empty()
        || !entry.generated.is_empty();
    let mut batch = is_constrained.then(|| one_row(storage, row));
    if let Some(batch) = &mut batch {
        entry.generated.fill(batch)?;
        entry.checks.verify(&entry.def, batch, session.clocks())?;
    }
    let filled = batch.as_ref().filter(|_| !entry.generated.is_empty()).map(Rows::new);
    let filled: Option<Vec<Datum<'_>>> =
        filled.as_ref().map(|rows| (0..rows.width()).map(|column| rows.get(column, 0)).collect());
    let row = filled.as_deref().unwrap_or(row);
    let cancel = session.cancel_handle();
    let work = session.work_mut();
    let mark = work.txn.mark();
    let written = attempt(work, &cancel, |undo| {
        storage.insert(undo, row).inspect_err(|_| undo.rollback_to(mark))
    });
    let tid = written.map_err(|error| error.into_error(session.work(), entry))?;
    if let Some(batch) = &batch {
        foreign::check_present(session, entry, batch, None)?;
        wide::inserted(session, entry, batch)?;
    }
    Ok(tid)
}

pub(crate) fn insert(session: &mut Session, insert: &Insert) -> Result<QueryResult> {
    session.work().check_writable("INSERT")?;
    let entry = session.write_table(&insert.table)?;
    let (plan, context) = session.plan_query(&insert.source, Run::default())?;
    let simple = insert.on_conflict.is_none()
        && insert.returning.is_none()
        && entry.foreign_keys().is_empty();
    if simple && plan.root.rows >= BULK_ROWS {
        let mut opener = Opener::new(Arc::clone(&context));
        opener.run_preludes(&plan)?;
        let stream = opener.open(&plan.root, Vec::new())?;
        let rows = load_stream(session, &context, &stream, &entry)?;
        return Ok(QueryResult::command(format!("INSERT 0 {rows}")));
    }
    let mut result = exec::execute(&plan, &context)?;
    if simple && result.rows() as f64 >= BULK_ROWS {
        let rows = load_result(session, &entry, result)?;
        return Ok(QueryResult::command(format!("INSERT 0 {rows}")));
    }
    let written = match &insert.on_conflict {
        Some(on_conflict) => conflict::insert(session, &entry, &mut result, on_conflict)?,
        None => insert_result(session, &entry, result)?,
    };
    let tag = format!("INSERT 0 {}", written.count);
    returning(session, insert.returning.as_ref(), written, tag)
}

/// Writes all rows of a result.
pub(crate) fn insert_result(
    session: &mut Session,
    entry: &Arc<TableEntry>,
    mut result: ResultSet,
) -> Result<Written> {
    let mut written = Written::default();
    for batch in &mut result.batches {
        entry.generated.fill(batch)?;
        entry.checks.verify(&entry.def, batch, session.clocks())?;
        written.tids.push(write_batch(session, entry, batch)?);
        written.count += batch.rows as u64;
    }
    for batch in &result.batches {
        foreign::check_present(session, entry, batch, None)?;
        wide::inserted(session, entry, batch)?;
    }
    written.batches = result.batches;
    Ok(written)
}
