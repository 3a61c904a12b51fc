//! Writing.

use std::io::Write as _;

use engine::registry::{FileOptions, FileWriter};
use kernels::{Batch, Column};
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
    let mut writer = CsvWriter { output, dialect, types, line: String::new() };
    if matches!(options.header, Some(Header::Present | Header::Match)) {
        for (i, (name, _)) in columns.iter().enumerate() {
            writer.field(i, Some(name));
        }
        writer.end_line()?;
    }
    Ok(Box::new(writer))
}

struct CsvWriter {
    output: Output,
    dialect: Dialect,
    types: Vec<DataType>,
    line: String,
}

impl CsvWriter {
    /// Appends field `i` of a record to the line.
    fn field(&mut self, i: usize, value: Option<&str>) {
        let Dialect { delimiter, quote, escape, null } = &self.dialect;
        let (delimiter, quote, escape) =
            (char::from(*delimiter), char::from(*quote), char::from(*escape));
        if i > 0 {
            self.line.push(delimiter);
        }
        let Some(value) = value else {
            self.line.push_str(null);
            return;
        };
        let special = |c: char| c == delimiter || c == quote || c == '\n' || c == '\r';
        if value != null && !value.contains(special) {
            self.line.push_str(value);
            return;
        }
        self.line.push(quote);
        for c in value.chars() {
            if c == quote || c == escape {
                self.line.push(escape);
            }
            self.line.push(c);
        }
        self.line.push(quote);
    }

    fn end_line(&mut self) -> Result<()> {
        self.line.push('\n');
        let written = self.output.write_all(self.line.as_bytes());
        self.line.clear();
        written.map_err(|e| self.output.error(&e))
    }
}

impl FileWriter for CsvWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
        let mut value_text = String::new();
        for row in 0..batch.rows {
            for (i, column) in columns.iter().enumerate() {
                let value = column.value(row);
                if value.is_null() {
                    self.field(i, None);
                    continue;
                }
                value_text.clear();
                text::format_into(&mut value_text, &value, self.types[i]);
                self.field(i, Some(&value_text));
            }
            self.end_line()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.output.finish()
    }
}
