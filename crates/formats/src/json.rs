//! JSON: one object per line (or any space between them), or an array of objects.
//!
//! Reading is parallel: a first pass finds places between records about every 4 MiB, then each part
//! is a work order. Columns and their types are those of the first 4 MiB. Objects and arrays as
//! values are of type JSON.

mod read;
mod records;
mod shape;

use std::sync::Arc;

use engine::registry::{FileFormat, FileOptions, FileWriter, OpenedFile};
use kernels::{Batch, Column, Vector};
use types::calendar::TimeZone;
use types::json::push_quoted;
use types::{DataType, Error, Result, SqlState, to_json};

use crate::output::Output;
use crate::rows::OnError;

/// The format.
pub(crate) struct JsonFiles;

/// Options, which COPY TO and reading share.
struct JsonOptions {
    on_error: OnError,
    /// Written as an array.
    is_array: bool,
}

impl JsonOptions {
    fn new(given: &[(String, String)]) -> Result<Self> {
        let mut options = Self { on_error: OnError::Stop, is_array: false };
        for (name, value) in given {
            let value = value.to_ascii_lowercase();
            let truth = match value.as_str() {
                "true" | "on" | "t" | "1" => Some(true),
                "false" | "off" | "f" | "0" => Some(false),
                _ => None,
            };
            match (name.as_str(), truth, value.as_str()) {
                ("ignore_errors", Some(true), _) => options.on_error = OnError::Ignore,
                ("ignore_errors", Some(false), _) => options.on_error = OnError::Stop,
                ("array", Some(truth), _) => options.is_array = truth,
                // How records are apart is seen.
                ("format", _, "auto" | "array" | "newline_delimited" | "nd" | "unstructured") => {}
                ("ignore_errors" | "array" | "format", ..) => {
                    let message = format!("invalid value for JSON option \"{name}\": \"{value}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
                _ => {
                    let message = format!("option \"{name}\" not recognized for JSON");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
            }
        }
        Ok(options)
    }
}

impl FileFormat for JsonFiles {
    fn open(
        &self,
        path: &str,
        options: FileOptions<'_>,
        target: Option<&[(String, DataType)]>,
    ) -> Result<OpenedFile> {
        let on_error = JsonOptions::new(options.given)?.on_error;
        read::open(path, target, on_error, options.zone)
    }

    fn create(
        &self,
        path: &str,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn FileWriter>> {
        let is_array = JsonOptions::new(options.given)?.is_array;
        let key = |(at, (name, ty)): (usize, &(String, DataType))| {
            let mut text = if at == 0 { b"{".to_vec() } else { b",".to_vec() };
            push_quoted(&mut text, name.as_bytes());
            text.push(b':');
            (text, *ty)
        };
        let columns = columns.iter().enumerate().map(key).collect();
        let (output, zone) = (Output::create(path)?, options.zone.clone());
        Ok(Box::new(JsonWriter { output, columns, zone, is_array, rows: 0, text: Vec::new() }))
    }
}

/// Writes a line for each row.
struct JsonWriter {
    output: Output,
    /// Text before each value, and its type.
    columns: Vec<(Vec<u8>, DataType)>,
    zone: TimeZone,
    is_array: bool,
    rows: u64,
    text: Vec<u8>,
}

impl FileWriter for JsonWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns: Vec<Arc<Vector>> = batch.columns.iter().map(Column::to_plain).collect();
        for row in 0..batch.rows {
            let before: &[u8] = match (self.is_array, self.rows) {
                (false, 0) => b"",
                (true, 0) => b"[\n",
                (false, _) => b"\n",
                (true, _) => b",\n",
            };
            self.text.extend_from_slice(before);
            self.rows += 1;
            for ((key, ty), column) in self.columns.iter().zip(&columns) {
                self.text.extend_from_slice(key);
                to_json::append_value(&mut self.text, &column.value(row), *ty, &self.zone);
            }
            self.text.extend_from_slice(if self.columns.is_empty() { b"{}" } else { b"}" });
        }
        self.output.take(&mut self.text)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let end: &[u8] = match (self.is_array, self.rows) {
            (false, 0) => b"",
            (false, _) => b"\n",
            (true, 0) => b"[]\n",
            (true, _) => b"\n]\n",
        };
        self.text.extend_from_slice(end);
        self.output.take(&mut self.text)?;
        self.output.finish()
    }
}
