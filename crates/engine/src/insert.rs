//! INSERT, CREATE TABLE AS: rows from a query into a table.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use exec::flow::Flow;
use exec::pipeline::{Demand, Place, Sink, Stream, drive};
use exec::{Opener, Profile, QueryContext, ResultSet};
use kernels::Batch;
use plan::physical::PhysicalPlan;
use sql::catalog::{ColumnDef, TableMeta, TableRef};
use sql::statement::{CreateTableAs, IfExists, Insert, WithData};
use storage::{BulkWriter, Table};
use types::{Error, Result, SqlState};

use crate::catalog::TableEntry;
use crate::{QueryResult, Session, ddl};

/// Estimated rows from which INSERT loads blocks in parallel instead of appending batches.
const BULK_ROWS: f64 = 20_000.0;

/// 23502 when a NOT NULL column of `batch` has a NULL.
pub(crate) fn check_not_null(columns: &[ColumnDef], table: &str, batch: &Batch) -> Result<()> {
    for (column, values) in columns.iter().zip(&batch.columns) {
        if column.not_null && values.to_vector().validity.is_some() {
            let name = &column.name;
            let message = format!(
                "null value in column \"{name}\" of relation \"{table}\" violates not-null constraint"
            );
            return Err(Error::new(SqlState::NOT_NULL_VIOLATION, message));
        }
    }
    Ok(())
}

/// Gathers rows into one bulk writer per worker.
struct BulkSink {
    table: Arc<Table>,
    columns: Vec<ColumnDef>,
    rows: AtomicU64,
}

impl Sink for BulkSink {
    type Local = BulkWriter;

    fn local(&self) -> BulkWriter {
        self.table.bulk_writer()
    }

    fn consume(&self, local: &mut BulkWriter, flow: Flow, _: Place) -> Result<Demand> {
        let batch = flow.into_batch()?;
        check_not_null(&self.columns, self.table.name(), &batch)?;
        local.push(&batch)?;
        self.rows.fetch_add(batch.rows as u64, Ordering::Relaxed);
        Ok(Demand::More)
    }
}

/// Loads the rows of `stream` into `table` in parallel; nothing stays when it fails. The rows loaded.
pub(crate) fn load_stream(
    context: &Arc<QueryContext>,
    stream: &Stream,
    table: &Arc<Table>,
    columns: &[ColumnDef],
) -> Result<u64> {
    let columns = columns.to_vec();
    let sink = Arc::new(BulkSink { table: Arc::clone(table), columns, rows: AtomicU64::new(0) });
    let mut writers = drive(context, stream, &sink)?;
    for writer in &mut writers {
        writer.finish()?;
    }
    table.commit_load(writers)?;
    Ok(sink.rows.load(Ordering::Relaxed))
}

/// Runs `plan` into `table`.
fn run_into(
    plan: &PhysicalPlan,
    context: &Arc<QueryContext>,
    table: &Arc<Table>,
    columns: &[ColumnDef],
) -> Result<u64> {
    let mut opener = Opener::new(Arc::clone(context));
    for prelude in &plan.preludes {
        opener.run_prelude(prelude)?;
    }
    let stream = opener.open(&plan.root, Vec::new())?;
    if plan.root.rows >= BULK_ROWS {
        return load_stream(context, &stream, table, columns);
    }
    // Complete before the first row is stored: a failing query inserts nothing, and a query that reads
    // the table does not meet its own rows.
    let result = ResultSet::collect(context, &stream, &plan.root.output)?;
    for batch in &result.batches {
        check_not_null(columns, table.name(), batch)?;
    }
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
    if !entry.declared_keys().is_empty() {
        entry.distrust_keys();
    }
    let rows = run_into(&plan, &context, &storage, insert.table.columns())?;
    Ok(QueryResult::command(format!("INSERT 0 {rows}")))
}

pub(crate) fn create_table_as(
    session: &mut Session,
    create: CreateTableAs,
) -> Result<QueryResult> {
    let name = ddl::local_name(&create.name)?;
    let state = session.database().inner().relations.snapshot();
    if !ddl::may_create(&state, name, create.if_exists)? {
        return Ok(QueryResult::command("CREATE TABLE AS"));
    }
    let entry = ddl::new_entry(session, name, create.columns, Vec::new(), &create.options)?;
    let mut rows = 0;
    if create.data == WithData::Fill {
        let (plan, context) = session.prepare(&create.query, Profile::Off)?;
        rows = run_into(&plan, &context, entry.storage(), entry.columns())?;
    }
    session.database().inner().relations.update(|state| {
        if ddl::may_create(state, name, IfExists::Fail)? {
            state.tables.insert(name.to_owned(), entry);
        }
        Ok(())
    })?;
    Ok(QueryResult::command(format!("SELECT {rows}")))
}
