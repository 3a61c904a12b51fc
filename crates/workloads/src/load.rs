//! Common parts of the generators: columns being filled, parts of a table, CALL.

use std::sync::Arc;

use engine::registry::Procedure;
use engine::{BulkLoad, CancelHandle, Database, Parts, QueryResult};
use kernels::{Batch, Bitmap, Column, StrBuilder, Vector, VectorData};
use sql::catalog::{Arguments, KeyDef};
use storage::{BulkWriter, WriteError};
use types::{DataType, Error, Result, SqlState, Value};

/// Told about progress: table, parts done, parts in all. Called from worker threads.
pub type LoadProgress = Arc<dyn Fn(&str, usize, usize) + Send + Sync>;

/// Rows pushed to the storage at a time.
const PUSH_ROWS: usize = 8192;

/// Rows of a table per part: a few blocks, so that the last, partly filled one weighs little.
const PART_ROWS: f64 = 600_000.0;

/// Parts into which a table of `rows` rows is generated.
pub(crate) fn part_count(rows: f64) -> usize {
    ((rows / PART_ROWS).ceil() as usize).max(1)
}

/// One column being filled.
pub(crate) struct Fill {
    values: FillValues,
    /// Made with the first NULL.
    validity: Option<Bitmap>,
}

enum FillValues {
    /// INTEGER and DATE.
    I32(Vec<i32>),
    /// BIGINT, NUMERIC and TIMESTAMP.
    I64(Vec<i64>),
    /// Text.
    Str(StrBuilder),
}

impl Fill {
    fn new(ty: DataType) -> Self {
        let values = match ty.physical() {
            types::PhysicalType::I32 => FillValues::I32(Vec::with_capacity(PUSH_ROWS)),
            types::PhysicalType::I64 => FillValues::I64(Vec::with_capacity(PUSH_ROWS)),
            _ => FillValues::Str(StrBuilder::with_capacity(PUSH_ROWS)),
        };
        Self { values, validity: None }
    }

    /// Makes the value that comes next, row `row`, a NULL or none.
    fn mark(&mut self, row: usize, valid: bool) {
        match &mut self.validity {
            Some(bits) => bits.push(valid),
            None if valid => {}
            none => none.insert(Bitmap::filled(row, true)).push(false),
        }
    }

    fn take(&mut self) -> Column {
        let data = match &mut self.values {
            FillValues::I32(v) => VectorData::I32(std::mem::take(v)),
            FillValues::I64(v) => VectorData::I64(std::mem::take(v)),
            FillValues::Str(v) => VectorData::Str(std::mem::take(v).finish()),
        };
        Column::plain(Vector::with_validity(data, self.validity.take()))
    }
}

/// Rows on their way into a writer.
pub(crate) struct Rows<'a> {
    columns: Vec<Fill>,
    rows: usize,
    next: usize,
    text: String,
    writer: &'a mut BulkWriter,
}

impl<'a> Rows<'a> {
    /// Rows of `columns` for `writer`.
    pub(crate) fn new(columns: &[(&str, DataType)], writer: &'a mut BulkWriter) -> Self {
        let columns = columns.iter().map(|(_, ty)| Fill::new(*ty)).collect();
        Self { columns, rows: 0, next: 0, text: String::new(), writer }
    }

    /// The next column's integer.
    pub(crate) fn integer(&mut self, value: i64) -> &mut Self {
        let column = &mut self.columns[self.next];
        column.mark(self.rows, true);
        match &mut column.values {
            FillValues::I32(v) => v.push(value as i32),
            FillValues::I64(v) => v.push(value),
            FillValues::Str(_) => panic!("column {} is text", self.next),
        }
        self.next += 1;
        self
    }

    /// The next column's text.
    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        let column = &mut self.columns[self.next];
        column.mark(self.rows, true);
        match &mut column.values {
            FillValues::Str(v) => v.push(value.as_bytes()),
            _ => panic!("column {} is no text", self.next),
        }
        self.next += 1;
        self
    }

    /// The next column's NULL.
    pub(crate) fn null(&mut self) -> &mut Self {
        let column = &mut self.columns[self.next];
        column.mark(self.rows, false);
        match &mut column.values {
            FillValues::I32(v) => v.push(0),
            FillValues::I64(v) => v.push(0),
            FillValues::Str(v) => v.push(b""),
        }
        self.next += 1;
        self
    }

    /// The next column's text, printed.
    pub(crate) fn print(&mut self, value: impl std::fmt::Display) -> &mut Self {
        use std::fmt::Write as _;
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        // Writing to a String cannot fail.
        let _ = write!(text, "{value}");
        self.text(&text);
        self.text = text;
        self
    }

    /// Ends a row.
    pub(crate) fn end(&mut self) -> Result<()> {
        debug_assert_eq!(self.next, self.columns.len());
        self.next = 0;
        self.rows += 1;
        if self.rows == PUSH_ROWS {
            return self.push();
        }
        Ok(())
    }

    fn push(&mut self) -> Result<()> {
        let columns = self.columns.iter_mut().map(Fill::take).collect();
        let rows = std::mem::take(&mut self.rows);
        self.writer.push(&Batch::new(columns, rows)).map_err(WriteError::into_failure)
    }

    /// Hands over the last rows.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.rows > 0 { self.push() } else { Ok(()) }
    }
}

/// Generates part `part` of `parts` into a writer.
pub(crate) type Generate = Arc<dyn Fn(usize, usize, &mut BulkWriter) -> Result<()> + Send + Sync>;

/// A table to generate.
pub(crate) struct TableSpec {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, DataType)],
    /// Ordinals of the columns with NULLs.
    pub(crate) nullable: &'static [usize],
    /// Ordinals of the primary key; none when empty.
    pub(crate) key: &'static [usize],
    pub(crate) parts: usize,
    pub(crate) generate: Generate,
}

/// Things that a table's rows are made from.
pub(crate) struct Things {
    pub(crate) count: u64,
    /// Rows of each, about.
    pub(crate) rows_each: f64,
}

impl Things {
    /// This many, with a row each.
    pub(crate) fn single(count: u64) -> Self {
        Self { count, rows_each: 1.0 }
    }
}

impl TableSpec {
    /// A table of things made one by one, each by its number from 0.
    pub(crate) fn of_things(
        name: &'static str,
        columns: &'static [(&'static str, DataType)],
        key: &'static [usize],
        things: Things,
        make: impl Fn(u64, &mut Rows<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let Things { count: things, rows_each } = things;
        let generate: Generate = Arc::new(move |part, parts, writer: &mut BulkWriter| {
            let mut rows = Rows::new(columns, writer);
            let bound = |part: usize| things * part as u64 / parts as u64;
            for thing in bound(part)..bound(part + 1) {
                make(thing, &mut rows)?;
            }
            rows.finish()
        });
        let parts = part_count(things as f64 * rows_each);
        Self { name, columns, nullable: &[], key, parts, generate }
    }

    /// The same with NULLs in these columns.
    pub(crate) fn with_nulls(self, nullable: &'static [usize]) -> Self {
        Self { nullable, ..self }
    }
}

/// Generates all of `tables`; they appear together.
pub(crate) fn load_all(
    mut load: BulkLoad,
    tables: Vec<TableSpec>,
    cancel: &CancelHandle,
    progress: &LoadProgress,
) -> Result<()> {
    for spec in tables {
        let key = KeyDef {
            name: format!("{}_pkey", spec.name),
            columns: spec.key.to_vec(),
            primary: true,
            nulls: Default::default(),
            deferral: Default::default(),
            included: Vec::new(),
        };
        let keys = if spec.key.is_empty() { Vec::new() } else { vec![key] };
        let table = load.table(spec.name, spec.columns, spec.nullable, keys);
        let (parts, name, generate) = (spec.parts, spec.name, spec.generate);
        let progress = Arc::clone(progress);
        let progress = Arc::new(move |done, all| progress(name, done, all));
        load.fill(
            &table,
            Parts { count: parts, cancel, progress },
            Arc::new(move |part, writer| generate(part, parts, writer)),
        )?;
    }
    load.commit()
}

/// Generates a benchmark's tables at a scale.
pub(crate) type Load = fn(&Database, f64, &CancelHandle, &LoadProgress) -> Result<()>;

/// `CALL procedure(name => scale)`: the scale may also be the only positional argument.
pub(crate) struct Generator {
    pub(crate) procedure: &'static str,
    pub(crate) name: &'static str,
    pub(crate) default: f64,
    pub(crate) max: f64,
    pub(crate) load: Load,
}

impl Generator {
    /// One whose scale is 1 by default.
    pub(crate) fn scaled(procedure: &'static str, name: &'static str, load: Load) -> Self {
        Self { procedure, name, default: 1.0, max: 10_000.0, load }
    }

    /// Adds the procedure to `database`.
    pub(crate) fn register(self, database: &Database) {
        database.registry().add_procedure(self.procedure, Arc::new(self));
    }

    /// The scale that was given, or the default.
    fn scale(&self, arguments: &Arguments) -> Result<f64> {
        let &Self { procedure, name, default, max, .. } = self;
        let positional = arguments.positional.iter().map(|(value, ty)| (name, value, ty));
        let named = arguments.named.iter().map(|(name, value, ty)| (name.as_str(), value, ty));
        let mut scale = default;
        for (i, (given, value, ty)) in positional.chain(named).enumerate() {
            if given != name || i > 0 {
                let message = format!("procedure {procedure} takes one argument, {name}");
                return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
            }
            scale = match types::cast::cast_value(value, *ty, DataType::Double)? {
                Value::F64(number) if number > 0.0 && number <= max => number,
                _ => {
                    let message = format!("{name} must be above 0 and at most {max}");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
            };
        }
        Ok(scale)
    }
}

impl Procedure for Generator {
    fn call(
        &self,
        database: &Database,
        cancel: &CancelHandle,
        arguments: &Arguments,
    ) -> Result<QueryResult> {
        fn ignore(_: &str, _: usize, _: usize) {}
        let scale = self.scale(arguments)?;
        let progress: LoadProgress = Arc::new(ignore);
        (self.load)(database, scale, cancel, &progress)?;
        Ok(QueryResult::command("CALL"))
    }
}
