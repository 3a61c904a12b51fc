//! What the generators share: columns being filled, parts of a table, arguments of CALL.

use std::sync::Arc;

use engine::{BulkLoad, CancelHandle};
use kernels::{Batch, Column, StrBuilder, Vector, VectorData};
use sql::catalog::{Arguments, KeyDef};
use storage::BulkWriter;
use types::{DataType, Error, Result, SqlState, Value};

/// Told about progress: table, parts done, parts in all. Called from worker threads.
pub type LoadProgress = Arc<dyn Fn(&str, usize, usize) + Send + Sync>;

/// Progress that nobody watches.
pub(crate) fn quiet() -> LoadProgress {
    fn ignore(_: &str, _: usize, _: usize) {}
    Arc::new(ignore)
}

/// Rows pushed to the storage at a time.
const PUSH_ROWS: usize = 8192;

/// Rows of a table per part: a few blocks, so that the last, partly filled one weighs little.
const PART_ROWS: f64 = 600_000.0;

/// Parts into which a table of `rows` rows is generated.
pub(crate) fn part_count(rows: f64) -> usize {
    ((rows / PART_ROWS).ceil() as usize).max(1)
}

/// One column being filled.
pub(crate) enum Fill {
    /// INTEGER and DATE.
    I32(Vec<i32>),
    /// BIGINT and NUMERIC.
    I64(Vec<i64>),
    /// Text.
    Str(StrBuilder),
}

impl Fill {
    fn new(ty: DataType) -> Self {
        match ty.physical() {
            types::PhysicalType::I32 => Self::I32(Vec::with_capacity(PUSH_ROWS)),
            types::PhysicalType::I64 => Self::I64(Vec::with_capacity(PUSH_ROWS)),
            _ => Self::Str(StrBuilder::with_capacity(PUSH_ROWS)),
        }
    }

    fn take(&mut self) -> Column {
        let data = match self {
            Self::I32(v) => VectorData::I32(std::mem::take(v)),
            Self::I64(v) => VectorData::I64(std::mem::take(v)),
            Self::Str(v) => VectorData::Str(std::mem::take(v).finish()),
        };
        Column::plain(Vector::new(data))
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
        match &mut self.columns[self.next] {
            Fill::I32(v) => v.push(value as i32),
            Fill::I64(v) => v.push(value),
            Fill::Str(_) => panic!("column {} is text", self.next),
        }
        self.next += 1;
        self
    }

    /// The next column's text.
    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        match &mut self.columns[self.next] {
            Fill::Str(v) => v.push(value.as_bytes()),
            _ => panic!("column {} is no text", self.next),
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
        self.writer.push(&Batch::new(columns, rows))
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
    /// Ordinals of the primary key.
    pub(crate) key: &'static [usize],
    pub(crate) parts: usize,
    pub(crate) generate: Generate,
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
        };
        let table = load.table(spec.name, spec.columns, vec![key]);
        let (parts, name, generate) = (spec.parts, spec.name, spec.generate);
        let progress = Arc::clone(progress);
        load.fill(
            &table,
            parts,
            cancel,
            Arc::new(move |done, all| progress(name, done, all)),
            Arc::new(move |part, writer| generate(part, parts, writer)),
        )?;
    }
    load.commit()
}

/// The scale factor among the arguments of CALL: `sf => 1` or the only positional one; 1 by
/// default.
pub(crate) fn scale_factor(procedure: &str, arguments: &Arguments) -> Result<f64> {
    let positional = arguments.positional.iter().map(|(value, ty)| ("sf", value, ty));
    let named = arguments.named.iter().map(|(name, value, ty)| (name.as_str(), value, ty));
    let mut sf = 1.0;
    for (i, (name, value, ty)) in positional.chain(named).enumerate() {
        if name != "sf" || i > 0 {
            let message = format!("procedure {procedure} takes one argument, sf");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let number = types::cast::cast_value(value, *ty, DataType::Double)?;
        sf = match number {
            Value::F64(sf) if sf > 0.0 && sf <= 10_000.0 => sf,
            _ => {
                let message = "scale factor must be above 0 and at most 10000";
                return Err(Error::new(SqlState::INVALID_PARAMETER, message));
            }
        };
    }
    Ok(sf)
}
