//! INSERT, CREATE TABLE AS: rows from a query into a table.

use std::any::Any;
use std::sync::Arc;

use exec::flow::Flow;
use exec::pipeline::{Demand, Place, Sink, Stream, drive};
use exec::{Opener, Profile, QueryContext, ResultSet};
use plan::physical::PhysicalPlan;
use sql::catalog::{TableMeta, TableRef};
use sql::statement::{CreateTableAs, IfExists, Insert, WithData};
use storage::{BulkWriter, Table, TableLoad};
use types::{Error, Result};

use crate::catalog::TableEntry;
use crate::{QueryResult, Session, ddl};

/// Estimated rows from which INSERT loads blocks in parallel instead of appending batches.
const BULK_ROWS: f64 = 20_000.0;

/// Gathers rows into one bulk writer per worker.
struct BulkSink {
    load: Arc<TableLoad>,
}

impl Sink for BulkSink {
    type Local = BulkWriter;

    fn local(&self) -> BulkWriter {
        self.load.writer()
    }

    fn consume(&self, local: &mut BulkWriter, flow: Flow, _: Place) -> Result<Demand> {
        local.push(&flow.into_batch()?)?;
        Ok(Demand::More)
    }
}

/// Loads the rows of `stream` into `table` in parallel; nothing stays when it fails. The rows
/// loaded.
pub(crate) fn load_stream(
    context: &Arc<QueryContext>,
    stream: &Stream,
    table: &Arc<Table>,
) -> Result<u64> {
    let load = table.begin_load();
    let sink = Arc::new(BulkSink { load: Arc::clone(&load) });
    for writer in drive(context, stream, &sink)? {
        writer.finish()?;
    }
    load.commit()
}

/// Runs `plan` into `table`.
fn run_into(plan: &PhysicalPlan, context: &Arc<QueryContext>, table: &Arc<Table>) -> Result<u64> {
    let mut opener = Opener::new(Arc::clone(context));
    opener.run_preludes(plan)?;
    let stream = opener.open(&plan.root, Vec::new())?;
    if plan.root.rows >= BULK_ROWS {
        return load_stream(context, &stream, table);
    }
    // Complete before the first row is stored: a failing query inserts nothing, and a query that
    // reads the table does not meet its own rows.
    let result = ResultSet::collect(context, &stream, &plan.root.output)?;
    for batch in &result.batches {
        table.append(batch)?;
    }
    Ok(result.rows() as u64)
}

/// The engine's entry of a bound table.
pub(crate) fn entry_of(session: &Session, table: &TableRef) -> Result<Arc<TableEntry>> {
    session.database().table(table.name())
}

fn storage_of(table: &TableRef) -> Result<Arc<Table>> {
    let object: Arc<dyn Any + Send + Sync> = table.object();
    object.downcast().map_err(|_| Error::internal("a table has storage"))
}

pub(crate) fn insert(session: &mut Session, insert: &Insert) -> Result<QueryResult> {
    let (plan, context) = session.prepare(&insert.source, Profile::Off)?;
    let storage = storage_of(&insert.table)?;
    let entry = entry_of(session, &insert.table)?;
    if !entry.keys().is_empty() {
        entry.distrust_keys();
    }
    let rows = run_into(&plan, &context, &storage)?;
    Ok(QueryResult::command(format!("INSERT 0 {rows}")))
}

pub(crate) fn create_table_as(session: &mut Session, create: CreateTableAs) -> Result<QueryResult> {
    let name = ddl::local_name(&create.name)?;
    let state = session.database().inner().relations.snapshot();
    if !ddl::may_create(&state, name, create.if_exists)? {
        return Ok(QueryResult::command("CREATE TABLE AS"));
    }
    let entry = ddl::new_entry(session, name, create.columns, Vec::new(), &create.options)?;
    let mut rows = 0;
    if create.data == WithData::Fill {
        let (plan, context) = session.prepare(&create.query, Profile::Off)?;
        rows = run_into(&plan, &context, entry.storage())?;
    }
    session.database().inner().relations.update(|state| {
        if ddl::may_create(state, name, IfExists::Fail)? {
            state.tables.insert(name.to_owned(), entry);
        }
        Ok(())
    })?;
    Ok(QueryResult::command(format!("SELECT {rows}")))
}
