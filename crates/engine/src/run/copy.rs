//! COPY between tables or queries and files.

mod condition;
mod stream;

use std::path::Path;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::predefined::{READ_SERVER_FILES, WRITE_SERVER_FILES};
use exec::pipeline::Stream;
use exec::{BatchSource, QueryContext, Receiver, ResultSet, RowColumn, SharedBatchSource};
use kernels::{Batch, Column, VectorBuilder};
use plan::physical::OutputColumn;
use sql::algebra::Query;
use sql::catalog::{ColumnDef, TableMeta, TableRef, TriggerEvent};
use sql::statement::{Copy, CopyDirection, CopyItem, CopyPlace, Statement};
use types::{DataType, Error, Result, SqlState, Value};

use condition::{Condition, Filtered};

use crate::instance::registry::{FileFormat, FileOptions, FileWriter};
use crate::statement::admission::Rows as Passing;
use crate::statement::attached::AttachedRows;
use crate::statement::catalog::no_files;
use crate::statement::defaults::{default_of, query_of};
use crate::statement::running::{Run, Running};
use crate::write::attached;
use crate::write::insert::{insert_result, load_stream};
use crate::write::partitioned::{self, Routes};
use crate::write::triggers::{self, StatementTriggers};
use crate::{QueryResult, Session};

/// Endings of compressed files, behind which stands that of what they hold.
const COMPRESSED: [&str; 3] = ["gz", "gzip", "zst"];

/// The format that FORMAT or the file's ending names; what is read without either is text, or CSV
/// when it is compressed.
fn format_of(session: &Session, copy: &Copy, path: &str) -> Result<Arc<dyn FileFormat>> {
    let ending_of = |path: &Path| path.extension().and_then(|e| e.to_str()).map(str::to_lowercase);
    let given = ending_of(Path::new(path));
    let compressed = given.as_deref().is_some_and(|given| COMPRESSED.contains(&given));
    let inner = if compressed { Path::new(path).file_stem().map(Path::new) } else { None };
    let ending = inner.and_then(ending_of).or(given.clone()).unwrap_or_else(|| "csv".to_owned());
    let registry = session.database().registry();
    match &copy.format {
        Some(name) => registry.format(name).ok_or_else(|| {
            let message = format!("COPY format \"{name}\" not recognized");
            Error::new(SqlState::INVALID_PARAMETER, message)
        }),
        None if copy.direction == CopyDirection::To
            && (compressed || registry.format(&ending).is_none()) =>
        {
            let given = given.unwrap_or_default();
            let message = format!("no format of files has names that end in \".{given}\"");
            let hint = "Say which one to write: COPY ... TO ... (FORMAT csv).";
            Err(Error::new(SqlState::INVALID_PARAMETER, message).with_hint(hint))
        }
        None => registry
            .format(&ending)
            .or_else(|| registry.format(if compressed { "csv" } else { "text" }))
            .ok_or_else(|| Error::unsupported("COPY without file formats")),
    }
}

pub(crate) fn copy(running: &mut Running<'_>, copy: &Copy) -> Result<QueryResult> {
    let CopyPlace::File(path) = &copy.place else {
        return stream::copy(running, copy);
    };
    let (role, what) = match copy.direction {
        CopyDirection::From => (READ_SERVER_FILES, "read"),
        CopyDirection::To => (WRITE_SERVER_FILES, "write"),
    };
    if !running.session.state().acts_as(running.session.settings.who(), role) {
        return Err(no_files(what));
    }
    let format = format_of(running.session, copy, path)?;
    match (&copy.item, copy.direction) {
        (CopyItem::Table { table, columns }, CopyDirection::From) => {
            copy_from(running, &*format, path, copy, Target { table, columns })
        }
        (CopyItem::Query(query), CopyDirection::To) => {
            write_query(running, &*format, path, copy, query)
        }
        (CopyItem::Statement(statement), CopyDirection::To) => {
            let result = returned(running, statement)?;
            write(&*format, path, copy, &result, running.session)
        }
        (CopyItem::Table { table, columns }, CopyDirection::To) => {
            write_table(running, &*format, path, copy, &TableColumns::new(table, columns)?)
        }
        (CopyItem::Query(_) | CopyItem::Statement(_), CopyDirection::From) => {
            Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM needs a table"))
        }
    }
}

impl Session {
    /// The options of a COPY of the session; without ENCODING texts are in that of its client.
    ///
    /// # Errors
    /// 22023 and 0A000 for the encoding.
    fn file_options<'a>(&'a self, given: &'a [(String, String)]) -> Result<FileOptions<'a>> {
        FileOptions::new(given, self.settings.time_zone(), self.settings.charset())
    }
}

/// # Errors
/// 0A000 for values in another style than files have.
fn check_style(session: &Session, columns: &[(String, DataType)]) -> Result<()> {
    let style = session.settings.text_style();
    if columns.iter().any(|(_, ty)| style.changes(*ty)) {
        let what = "COPY of values while datestyle, intervalstyle, bytea_output or \
                        extra_float_digits has them written in another form than usual";
        Err(Error::unsupported(what))
    } else {
        Ok(())
    }
}

/// The rows that a statement returns.
fn returned(running: &mut Running<'_>, statement: &Statement) -> Result<ResultSet> {
    let result = running.run_rows(statement).transpose()?.and_then(QueryResult::into_rows);
    result.ok_or_else(|| Error::internal("RETURNING has rows"))
}

/// These columns of all rows of a table.
fn table_rows(running: &Running<'_>, table: &TableRef, columns: &[usize]) -> Result<ResultSet> {
    let context = running.context(None, Run::default());
    TableColumns::new(table, columns)?.read(&context)
}

/// A new file for rows of `columns`.
fn create(
    session: &Session,
    format: &dyn FileFormat,
    path: &str,
    copy: &Copy,
    columns: &[(String, DataType)],
) -> Result<Box<dyn FileWriter>> {
    check_style(session, columns)?;
    format.create(path, session.file_options(&copy.options)?, columns)
}

fn write(
    format: &dyn FileFormat,
    path: &str,
    copy: &Copy,
    result: &ResultSet,
    session: &Session,
) -> Result<QueryResult> {
    let mut writer = create(session, format, path, copy, &result.columns)?;
    for batch in &result.batches {
        session.cancel_handle().check()?;
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(QueryResult::command(format!("COPY {}", result.rows())))
}

/// Writes the rows of a query while it makes them.
fn write_query(
    running: &mut Running<'_>,
    format: &dyn FileFormat,
    path: &str,
    copy: &Copy,
    query: &Query,
) -> Result<QueryResult> {
    let (plan, context) = running.plan_query(query, Run::default())?;
    running.admit(&plan, &context, Passing::HandedOn)?;
    let output = plan.root.output.iter();
    let columns: Vec<_> = output.map(|column| (column.name.to_string(), column.ty)).collect();
    let file = FileRows { writer: create(running.session, format, path, copy, &columns)?, rows: 0 };
    let file = running.session.lend(&plan, || exec::execute_into(&plan, &context, file));
    running.session.end_progress();
    let FileRows { writer, rows } = file?;
    writer.finish()?;
    Ok(QueryResult::command(format!("COPY {rows}")))
}

/// A file being written, and the rows in it.
struct FileRows {
    writer: Box<dyn FileWriter>,
    rows: usize,
}

impl Receiver for FileRows {
    fn take(&mut self, batch: &Batch) -> Result<()> {
        self.rows += batch.rows;
        self.writer.write(batch)
    }
}

/// Writes the rows of a table, block by block.
fn write_table(
    running: &Running<'_>,
    format: &dyn FileFormat,
    path: &str,
    copy: &Copy,
    table: &TableColumns,
) -> Result<QueryResult> {
    let mut writer = create(running.session, format, path, copy, &table.names)?;
    let context = running.context(None, Run::default());
    let mut rows = 0;
    table.each(&context, |batch| {
        rows += batch.rows;
        writer.write(&batch)
    })?;
    writer.finish()?;
    Ok(QueryResult::command(format!("COPY {rows}")))
}

/// Rows to be read whole.
enum Rows {
    Stored(Arc<storage::Table>),
    Elsewhere(SharedBatchSource),
}

/// Columns of a table, to be read whole.
struct TableColumns {
    rows: Rows,
    columns: Vec<usize>,
    names: Vec<(String, DataType)>,
}

impl TableColumns {
    fn new(table: &TableRef, columns: &[usize]) -> Result<Self> {
        if table.partitions().is_some() {
            let name = table.bare_name();
            let message = format!("cannot copy from partitioned table \"{name}\"");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_hint("Try the COPY (SELECT ...) TO variant."));
        }
        let rows = match AttachedRows::of(table) {
            Some(attached) => Rows::Elsewhere(attached.source()),
            None => Rows::Stored(exec::stored_table(table)?),
        };
        let name = |&c: &usize| (table.columns()[c].name.clone(), table.columns()[c].ty);
        let names = columns.iter().map(name).collect();
        Ok(Self { rows, columns: columns.to_vec(), names })
    }

    /// Hands over all rows, those of this database in the order of the blocks.
    fn each(
        &self,
        context: &Arc<QueryContext>,
        mut take: impl FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let storage = match &self.rows {
            Rows::Stored(storage) => storage,
            Rows::Elsewhere(source) => return read_source(&**source, &self.columns, &mut take),
        };
        let snapshot = context.snapshot(storage);
        for block in 0..snapshot.block_count() {
            context.check()?;
            exec::read_block(&snapshot, block, &self.columns)?
                .into_iter()
                .try_for_each(&mut take)?;
        }
        Ok(())
    }

    fn read(&self, context: &Arc<QueryContext>) -> Result<ResultSet> {
        let mut batches = Vec::new();
        self.each(context, |batch| {
            batches.push(batch);
            Ok(())
        })?;
        Ok(ResultSet::from_batches(self.names.clone(), batches))
    }
}

/// Hands over these columns of all rows of a source.
fn read_source(
    source: &dyn BatchSource,
    columns: &[usize],
    take: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<()> {
    for order in 0..source.orders() {
        source.run(order, columns, &mut |batch| take(batch).map(|()| true))?;
    }
    Ok(())
}

fn copy_from(
    running: &mut Running<'_>,
    format: &dyn FileFormat,
    path: &str,
    copy: &Copy,
    into: Target<'_>,
) -> Result<QueryResult> {
    let Target { table, columns } = into;
    let all = table.columns();
    let target: Vec<(String, DataType)> =
        columns.iter().map(|&c| (all[c].name.clone(), all[c].ty)).collect();
    let file = format.open(path, running.session.file_options(&copy.options)?, Some(&target))?;
    if file.columns.len() != columns.len() {
        let message =
            format!("{path} has {} columns, {} are expected", file.columns.len(), columns.len());
        return Err(Error::new(SqlState::BAD_COPY_FORMAT, message));
    }
    let mut load = Load::begin(running, copy, into)?;
    load.add(running, file.source, Size::Large)?;
    Ok(QueryResult::command(format!("COPY {}", load.finish(running)?)))
}

/// Table that rows are loaded into, and the columns that they have.
#[derive(Clone, Copy)]
struct Target<'a> {
    table: &'a TableRef,
    columns: &'a [usize],
}

/// Size of a load: large ones get blocks of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

/// Rows on their way into a table, in one statement.
struct Load<'a> {
    table: &'a TableRef,
    columns: &'a [usize],
    place: Place,
    full: Vec<RowColumn>,
    /// See [`counted_defaults`].
    counted: Vec<(usize, String)>,
    /// Rows that it is not true for are left out.
    condition: Option<Arc<Condition>>,
    rows: u64,
}

/// Place of the rows of a table.
enum Place {
    Stored(Box<Stored>),
    /// The attached database, which has got some rows.
    Elsewhere(Arc<AttachedRows>, attached::Loaded),
}

/// A table of this database that is loaded.
struct Stored {
    entry: Arc<TableEntry>,
    /// Ways into partitions, if the table has some or is one.
    routes: Option<Routes>,
    /// True when triggers fire for the rows.
    fires: bool,
    triggers: Option<StatementTriggers>,
}

impl Stored {
    fn begin(running: &mut Running<'_>, table: &TableRef) -> Result<Self> {
        let entry = running.session.write_table(table)?;
        let routes = Routes::of(running.session, &entry)?;
        let fires = running.session.state().has_row_triggers(entry.name());
        let events = [(TriggerEvent::Insert, &[][..])];
        let triggers = StatementTriggers::begin(running, entry.name(), &events)?;
        Ok(Self { entry, routes, fires, triggers })
    }

    /// True when nothing looks at single rows.
    fn is_plain(&self) -> bool {
        !self.entry.looks_at_keys() && self.routes.is_none() && !self.fires
    }

    fn insert(
        &mut self,
        running: &mut Running<'_>,
        mut result: ResultSet,
        size: Size,
    ) -> Result<u64> {
        match &mut self.routes {
            Some(routes) if size == Size::Large && !self.entry.looks_at_keys() && !self.fires => {
                partitioned::load(running, routes, result.batches)
            }
            Some(routes) => Ok(partitioned::insert(running, routes, result.batches)?.count),
            None => Ok(insert_result(running, &self.entry, &mut result)?.count),
        }
    }
}

impl<'a> Load<'a> {
    /// Locks the table, whose `columns` are given; the others get their defaults.
    fn begin(running: &mut Running<'_>, copy: &Copy, into: Target<'a>) -> Result<Self> {
        let Target { table, columns } = into;
        running.session.work().check_writable("COPY FROM")?;
        let place = match AttachedRows::of(table) {
            Some(rows) => Place::Elsewhere(rows, attached::Loaded::default()),
            None => Place::Stored(Box::new(Stored::begin(running, table)?)),
        };
        let full = full_rows(running, table.columns(), columns)?;
        let counted = counted_defaults(table, columns);
        let condition = Condition::of(running.session, table, copy.condition.as_ref())?;
        let condition = condition.map(Arc::new);
        Ok(Self { table, columns, place, full, counted, condition, rows: 0 })
    }

    /// Fires the triggers behind the statement; how many rows were loaded.
    fn finish(self, running: &mut Running<'_>) -> Result<u64> {
        match self.place {
            Place::Stored(stored) => {
                stored.triggers.into_iter().for_each(|triggers| triggers.end(running));
            }
            Place::Elsewhere(rows, loaded) => attached::end_load(running, &rows, loaded)?,
        }
        triggers::settle(running)?;
        Ok(self.rows)
    }

    fn add(
        &mut self,
        running: &mut Running<'_>,
        source: Arc<dyn BatchSource>,
        size: Size,
    ) -> Result<()> {
        let all = self.table.columns();
        let context = running.context(None, Run::default());
        let given = (0..self.columns.len()).collect();
        let mut source = exec::function_source(source, given, self.full.clone());
        let condition = self.condition.as_ref();
        if let Some(condition) = condition.filter(|_| self.counted.is_empty()) {
            source = Arc::new(Filtered { source, condition: Arc::clone(condition) });
        }
        let stream = Stream::new(source, None);
        if let Place::Stored(stored) = &self.place
            && stored.is_plain()
            && self.counted.is_empty()
            && size == Size::Large
        {
            self.rows += load_stream(running, &context, &stream, &stored.entry)?;
            return Ok(());
        }
        let output = table_output(all);
        let mut result = ResultSet::collect(&context, &stream, &output)?;
        for batch in &mut result.batches {
            fill_defaults(running, all, &self.counted, batch)?;
            if let Some(condition) = condition.filter(|_| !self.counted.is_empty()) {
                condition.keep(batch)?;
            }
        }
        self.rows += match &mut self.place {
            Place::Stored(stored) => stored.insert(running, result, size)?,
            Place::Elsewhere(rows, loaded) => attached::load(running, rows, &result, loaded)?,
        };
        Ok(())
    }
}

/// Columns that are not in the file and whose defaults may differ from row to row, with the
/// default: those of sequences, and all others that call functions.
fn counted_defaults(table: &TableRef, columns: &[usize]) -> Vec<(usize, String)> {
    let missing = (0..table.columns().len()).filter(|ordinal| !columns.contains(ordinal));
    let default = |ordinal: usize| match table.identity(ordinal) {
        Some(identity) => {
            let name = identity.sequence.quoted_in_schema().replace('\'', "''");
            Some((ordinal, format!("nextval('{name}')")))
        }
        None => {
            let default = table.columns()[ordinal].default_or_domains();
            default.filter(|text| text.contains('(')).map(|text| (ordinal, text.to_owned()))
        }
    };
    missing.filter_map(default).collect()
}

/// Gives each row of `batch` its own values of these defaults.
fn fill_defaults(
    running: &mut Running<'_>,
    all: &[ColumnDef],
    defaults: &[(usize, String)],
    batch: &mut Batch,
) -> Result<()> {
    if defaults.is_empty() {
        return Ok(());
    }
    let value =
        |(ordinal, text): &(usize, String)| format!("CAST(({text}) AS {})", all[*ordinal].ty);
    let values: Vec<String> = defaults.iter().map(value).collect();
    let rows = batch.rows;
    let text = format!("SELECT {} FROM generate_series(1, {rows})", values.join(", "));
    let result = query_of(running, &text)?;
    for (position, (ordinal, _)) in defaults.iter().enumerate() {
        let mut builder = VectorBuilder::with_capacity(all[*ordinal].ty.physical(), rows);
        for made in &result.batches {
            builder.append(&made.columns[position].to_plain(), None);
        }
        batch.columns[*ordinal] = Column::plain(builder.finish());
    }
    Ok(())
}

/// For each column of the table where its values come from: the file, its default, or NULL.
fn full_rows(
    running: &mut Running<'_>,
    all: &[ColumnDef],
    columns: &[usize],
) -> Result<Vec<RowColumn>> {
    let full = |(ordinal, column): (usize, &ColumnDef)| {
        Ok(match columns.iter().position(|&c| c == ordinal) {
            Some(from) => RowColumn::Source(from),
            None => RowColumn::Constant(
                column.ty,
                match column.default_or_domains() {
                    // Filled in later, with a value for each row.
                    Some(text) if text.contains('(') => Value::Null,
                    _ => default_of(running, column)?,
                },
            ),
        })
    };
    all.iter().enumerate().map(full).collect()
}

/// Columns of a stream of whole rows.
fn table_output(columns: &[ColumnDef]) -> Vec<OutputColumn> {
    let output = |c: &ColumnDef| OutputColumn {
        name: c.name.as_str().into(),
        ty: c.ty,
        physical: c.ty.physical(),
    };
    columns.iter().map(output).collect()
}
