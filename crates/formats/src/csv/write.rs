//! Writing.

use std::io::Write as _;
use std::sync::Arc;

use engine::registry::{FileOptions, FileWriter};
use kernels::{Batch, Column, Vector, VectorData};
use types::{DataType, Result, text};

use crate::csv::options::{CsvOptions, Dialect, Header};
use crate::output::Output;

/// Creates `path`, with a header when asked for.
pub(crate) fn create(
    path: &str,
    options: &FileOptions,
    columns: &[(String, DataType)],
) -> Result<Box<dyn FileWriter>> {
    let options = CsvOptions::new(options)?;
    let dialect = options.dialect(b',')?;
    let types = columns.iter().map(|(_, ty)| *ty).collect();
    let output = Output::create(path)?;
    let mut writer = CsvWriter { output, dialect, types, lines: Vec::new() };
    if matches!(options.header, Some(Header::Present | Header::Match)) {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        write_names(&mut writer.lines, &names, &writer.dialect);
        writer.write_lines()?;
    }
    Ok(Box::new(writer))
}

/// Appends a line of names.
pub(crate) fn write_names(out: &mut Vec<u8>, names: &[String], dialect: &Dialect) {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(dialect.delimiter);
        }
        push_field(out, name.as_bytes(), dialect);
    }
    out.push(b'\n');
}

/// Appends row `row` of `columns`, a line.
pub(crate) fn write_row(
    out: &mut Vec<u8>,
    columns: &[Arc<Vector>],
    row: usize,
    types: &[DataType],
    dialect: &Dialect,
) {
    let mut value_text = String::new();
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(dialect.delimiter);
        }
        if column.is_null(row) {
            out.extend_from_slice(dialect.null.as_bytes());
            continue;
        }
        match (&column.data, types[i]) {
            (VectorData::Str(strings), DataType::Text | DataType::Varchar(_)) => {
                push_field(out, strings.get(row), dialect);
            }
            _ => {
                value_text.clear();
                text::format_into(&mut value_text, &column.value(row), types[i]);
                push_field(out, value_text.as_bytes(), dialect);
            }
        }
    }
    out.push(b'\n');
}

/// Appends a field, in quotes where it needs them.
fn push_field(out: &mut Vec<u8>, value: &[u8], dialect: &Dialect) {
    let Dialect { delimiter, quote, escape, null } = dialect;
    let special = |&c: &u8| c == *delimiter || c == *quote || c == b'\n' || c == b'\r';
    if value != null.as_bytes() && !value.iter().any(special) {
        out.extend_from_slice(value);
        return;
    }
    out.push(*quote);
    for &c in value {
        if c == *quote || c == *escape {
            out.push(*escape);
        }
        out.push(c);
    }
    out.push(*quote);
}

struct CsvWriter {
    output: Output,
    dialect: Dialect,
    types: Vec<DataType>,
    lines: Vec<u8>,
}

impl CsvWriter {
    fn write_lines(&mut self) -> Result<()> {
        let written = self.output.write_all(&self.lines);
        self.lines.clear();
        written.map_err(|e| self.output.error(&e))
    }
}

impl FileWriter for CsvWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
        for row in 0..batch.rows {
            write_row(&mut self.lines, &columns, row, &self.types, &self.dialect);
        }
        self.write_lines()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.output.finish()
    }
}
