//! Writing.

use std::sync::Arc;

use engine::registry::{FileOptions, FileWriter};
use kernels::print::append_text;
use kernels::{Batch, Column, Vector};
use types::{DataType, Result};

use crate::csv::options::{CsvOptions, Dialect, Header, Way};
use crate::output::Output;

/// Creates `path`, with a header when asked for.
pub(crate) fn create(
    path: &str,
    options: FileOptions<'_>,
    columns: &[(String, DataType)],
) -> Result<Box<dyn FileWriter>> {
    let charset = options.charset;
    let options = CsvOptions::new(options)?;
    let dialect = options.dialect_of(columns, Way::Out)?;
    let types = columns.iter().map(|(_, ty)| *ty).collect();
    let output = Output::create_text(path, charset)?;
    let mut writer = CsvWriter { output, dialect, types, lines: Vec::new() };
    if matches!(options.header, Some(Header::Present | Header::Match)) {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        write_names(&mut writer.lines, &names, &writer.dialect);
        writer.output.take(&mut writer.lines)?;
    }
    Ok(Box::new(writer))
}

/// Appends a line of names.
pub(crate) fn write_names(out: &mut Vec<u8>, names: &[String], dialect: &Dialect) {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(dialect.delimiter);
        }
        let start = out.len();
        out.extend_from_slice(name.as_bytes());
        quote_from(out, start, (names.len(), false), dialect);
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
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(dialect.delimiter);
        }
        if column.is_null(row) {
            out.extend_from_slice(dialect.null.as_bytes());
            continue;
        }
        let start = out.len();
        append_text(out, column, row, types[i], &dialect.zone);
        let is_forced = dialect.always_quoted.get(i).copied().unwrap_or(false);
        quote_from(out, start, (columns.len(), is_forced), dialect);
    }
    out.push(b'\n');
}

/// Puts the field `out[start..]`, of a line with `fields` of them, in quotes where it needs them or
/// is to have them: `\.` in a line of its own would be the end.
fn quote_from(
    out: &mut Vec<u8>,
    start: usize,
    (fields, is_forced): (usize, bool),
    dialect: &Dialect,
) {
    let Dialect { delimiter, quote, escape, null, .. } = dialect;
    let special = |&c: &u8| c == *delimiter || c == *quote || c == b'\n' || c == b'\r';
    let value = &out[start..];
    let is_end = fields == 1 && value == b"\\.";
    let needs = value == null.as_bytes() || is_end || value.iter().any(special);
    if !needs && !is_forced {
        return;
    }
    let value = out.split_off(start);
    out.push(*quote);
    for c in value {
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

impl FileWriter for CsvWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
        for row in 0..batch.rows {
            write_row(&mut self.lines, &columns, row, &self.types, &self.dialect);
        }
        self.output.take(&mut self.lines)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.output.finish()
    }
}
