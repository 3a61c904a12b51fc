//! COPY between tables or queries and files.

use std::path::Path;
use std::sync::Arc;

use exec::pipeline::Stream;
use exec::{Profile, QueryContext, ResultSet};
use sql::catalog::{ColumnDef, TableRef};
use sql::statement::{Copy, CopyDirection, CopyItem, CopyPlace};
use types::{DataType, Error, Result, SqlState};

use crate::registry::FileFormat;
use crate::{QueryResult, Session, insert};

/// The format that FORMAT or the file's ending names; text without either is CSV.
fn format_of(session: &Session, copy: &Copy, path: &str) -> Result<Arc<dyn FileFormat>> {
    let ending = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or("csv");
    let ending = ending.to_ascii_lowercase();
    let registry = session.database().registry();
    match &copy.format {
        Some(name) => registry.format(name).ok_or_else(|| {
            let message = format!("COPY format \"{name}\" not recognized");
            Error::new(SqlState::INVALID_PARAMETER, message)
        }),
        None => registry.format(&ending).or_else(|| registry.format("csv")).ok_or_else(|| {
            Error::unsupported("COPY without file formats")
        }),
    }
}

pub(crate) fn copy(session: &mut Session, copy: &Copy) -> Result<QueryResult> {
    let CopyPlace::File(path) = &copy.place else {
        return Err(Error::unsupported("COPY from STDIN or to STDOUT"));
    };
    let format = format_of(session, copy, path)?;
    match (&copy.item, copy.direction) {
        (CopyItem::Table { table, columns }, CopyDirection::From) => {
            copy_from(session, &*format, path, &copy.options, table, columns)
        }
        (CopyItem::Query(query), CopyDirection::To) => {
            let (plan, context) = session.prepare(query, Profile::Off)?;
            let result = exec::execute(&plan, &context)?;
            write(&*format, path, &copy.options, &result, session)
        }
        (CopyItem::Table { table, columns }, CopyDirection::To) => {
            let context = session.context(0, Profile::Off);
            let source = Arc::new(TableColumns::new(&context, table, columns)?);
            let result = source.read(&context)?;
            write(&*format, path, &copy.options, &result, session)
        }
        (CopyItem::Query(_), CopyDirection::From) => {
            Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM needs a table"))
        }
    }
}

fn write(
    format: &dyn FileFormat,
    path: &str,
    options: &[(String, String)],
    result: &ResultSet,
    session: &Session,
) -> Result<QueryResult> {
    let mut writer = format.create(path, options, &result.columns)?;
    for batch in &result.batches {
        session.cancel_handle().check()?;
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(QueryResult::command(format!("COPY {}", result.rows())))
}

/// Columns of a stored table, to be read whole.
struct TableColumns {
    storage: Arc<storage::Table>,
    columns: Vec<usize>,
    names: Vec<(String, DataType)>,
}

impl TableColumns {
    fn new(_: &Arc<QueryContext>, table: &TableRef, columns: &[usize]) -> Result<Self> {
        let storage = table.object().downcast::<storage::Table>();
        let storage = storage.map_err(|_| Error::internal("a table has storage"))?;
        let name = |&c: &usize| (table.columns()[c].name.clone(), table.columns()[c].ty);
        let names = columns.iter().map(name).collect();
        Ok(Self { storage, columns: columns.to_vec(), names })
    }

    fn read(&self, context: &Arc<QueryContext>) -> Result<ResultSet> {
        let snapshot = context.snapshot(&self.storage);
        let mut batches = Vec::new();
        for block in 0..snapshot.block_count() {
            context.check()?;
            batches.push(exec::read_block(&snapshot, block, &self.columns)?);
        }
        Ok(ResultSet::from_batches(self.names.clone(), batches))
    }
}

fn copy_from(
    session: &mut Session,
    format: &dyn FileFormat,
    path: &str,
    options: &[(String, String)],
    table: &TableRef,
    columns: &[usize],
) -> Result<QueryResult> {
    let all = table.columns();
    let target: Vec<(String, DataType)> =
        columns.iter().map(|&c| (all[c].name.clone(), all[c].ty)).collect();
    let file = format.open(path, options, Some(&target))?;
    if file.columns.len() != columns.len() {
        let message = format!(
            "{path} has {} columns, {} are expected",
            file.columns.len(),
            columns.len()
        );
        return Err(Error::new(SqlState::BAD_COPY_FORMAT, message));
    }
    let storage = table.object().downcast::<storage::Table>();
    let storage = storage.map_err(|_| Error::internal("a table has storage"))?;
    let context = session.context(0, Profile::Off);
    let full = full_rows(all, columns)?;
    let source = exec::function_source(file.source, (0..columns.len()).collect(), full);
    let stream = Stream::new(source, None);
    let entry = insert::entry_of(session, table)?;
    if !entry.declared_keys().is_empty() {
        entry.distrust_keys();
    }
    let rows = insert::load_stream(&context, &stream, &storage)?;
    Ok(QueryResult::command(format!("COPY {rows}")))
}

/// For each column of the table the file's column, or None for NULL; a column with a default that the
/// file does not give is refused.
fn full_rows(all: &[ColumnDef], columns: &[usize]) -> Result<Vec<(Option<usize>, DataType)>> {
    let full = |(ordinal, column): (usize, &ColumnDef)| {
        let from = columns.iter().position(|&c| c == ordinal);
        if from.is_none() && column.default.is_some() {
            let name = &column.name;
            return Err(Error::unsupported(format!("COPY without column {name}, which has a default")));
        }
        Ok((from, column.ty))
    };
    all.iter().enumerate().map(full).collect()
}
