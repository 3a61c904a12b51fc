//! Files of COPY's text format: lines that `COPY ... (FORMAT text)` writes and reads.
//!
//! ```text
//! file -> parts of about PART_BYTES, cut between records, a work order each -> TextRecords
//! ```
//! Invariant: a line break behind a backslash is a part of its record. Elsewhere: records and
//! lines (`text`), the same with a client (`stream`).

use std::fs::File;
use std::sync::Arc;

use engine::registry::{FileFormat, FileOptions, FileWriter, OpenedFile};
use exec::BatchSource;
use kernels::{Batch, Column};
use types::{DataType, Error, Result, SqlState};

use crate::compressed::open_text;
use crate::output::{Output, io_error};
use crate::rows::{Blank, OnError, Origin, Records as _, Reject, Rows, read_full};
use crate::text::{TextOptions, TextRecords, TextWriter, cut};

/// Bytes of a part, about.
const PART_BYTES: u64 = 4 << 20;

/// Bytes in which the end of a record is looked for.
const WINDOW_BYTES: usize = 1 << 16;

/// Bytes before the place where a part should end: a line break there may follow backslashes.
const BEFORE_BYTES: usize = 1 << 12;

/// The format.
pub(crate) struct TextFiles;

impl FileFormat for TextFiles {
    fn open(
        &self,
        path: &str,
        options: FileOptions<'_>,
        target: Option<&[(String, DataType)]>,
    ) -> Result<OpenedFile> {
        let charset = options.charset;
        let options = TextOptions::new(options)?;
        let Some(columns) = target else {
            return Err(Error::unsupported("a file of COPY's text format without a table"));
        };
        let file = open_text(path, charset)?;
        let start = if options.has_header { end_of_record(&file, path, 0)? } else { 0 };
        let bounds = parts(&file, path, start)?;
        let columns = columns.to_vec();
        let origin =
            Origin { path: path.to_owned(), file, newline: b'\n', columns: columns.clone() };
        let source = Arc::new(Parts { origin, options, bounds });
        Ok(OpenedFile { columns, rows: None, source })
    }

    fn create(
        &self,
        path: &str,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn FileWriter>> {
        let charset = options.charset;
        let options = TextOptions::new(options)?;
        let has_header = options.has_header;
        let types = columns.iter().map(|(_, ty)| *ty).collect();
        let writer = TextWriter::new(options, types);
        let mut lines =
            Lines { output: Output::create_text(path, charset)?, writer, lines: Vec::new() };
        if has_header {
            lines.writer.names(columns.iter().map(|(name, _)| name.clone()), &mut lines.lines);
            lines.output.take(&mut lines.lines)?;
        }
        Ok(Box::new(lines))
    }
}

/// Offsets of parts: the first is `start`, the last the file's length, each begins a record.
fn parts(file: &File, path: &str, start: u64) -> Result<Vec<u64>> {
    let length = file.metadata().map_err(|error| io_error(path, "read", &error))?.len();
    let mut bounds = vec![start.min(length)];
    let mut last = start;
    while last + PART_BYTES < length {
        types::budget::check()?;
        last = end_of_record(file, path, last + PART_BYTES)?;
        if last < length {
            bounds.push(last);
        }
    }
    bounds.push(length);
    Ok(bounds)
}

/// The offset behind the first record that ends at `wanted` or behind it; the file's length when
/// none does.
fn end_of_record(file: &File, path: &str, wanted: u64) -> Result<u64> {
    let mut window = vec![0; WINDOW_BYTES];
    let mut offset = wanted.saturating_sub(BEFORE_BYTES as u64);
    loop {
        let read = read_full(file, &mut window, offset);
        let read = read.map_err(|error| io_error(path, "read", &error))?;
        let bytes = &window[..read];
        let from = usize::try_from(wanted.saturating_sub(offset)).unwrap_or(0).min(read);
        let found = cut(bytes, from);
        // Of a window of backslashes nobody knows how many stand before it.
        let certain = |end: &usize| offset == 0 || bytes[..end - 1].iter().any(|b| *b != b'\\');
        if let Some(end) = found.filter(certain) {
            return Ok(offset + end as u64);
        }
        if read < WINDOW_BYTES {
            return Ok(offset + read as u64);
        }
        offset += (WINDOW_BYTES - BEFORE_BYTES) as u64;
    }
}

/// Parts of a file, whose records are rows.
struct Parts {
    origin: Origin,
    options: TextOptions,
    bounds: Vec<u64>,
}

impl BatchSource for Parts {
    fn orders(&self) -> usize {
        self.bounds.len() - 1
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let (start, end) = (self.bounds[order], self.bounds[order + 1]);
        let text = self.origin.text(start, end)?;
        let rows = Rows::new(&self.origin.columns, columns, Blank::Record, &self.options.zone);
        let located = |reject, at: usize| self.origin.located(reject, start, &text[..at]);
        let mut records = TextRecords::new(&text, &self.options);
        let mut wants_more = true;
        rows.push_all(&mut records, OnError::Stop, &located, &mut |batch| {
            wants_more = push(batch)?;
            Ok(wants_more)
        })?;
        let ended = records.offset().min(text.len());
        if wants_more && ended < text.len() && order + 1 < self.orders() {
            let message = "end-of-copy marker before the end of the file";
            let reject = Reject::Record(Error::new(SqlState::BAD_COPY_FORMAT, message));
            return Err(located(reject, ended));
        }
        Ok(())
    }
}

struct Lines {
    output: Output,
    writer: TextWriter,
    lines: Vec<u8>,
}

impl FileWriter for Lines {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
        for row in 0..batch.rows {
            self.writer.row(&columns, row, &mut self.lines);
        }
        self.output.take(&mut self.lines)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.output.finish()
    }
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[test]
    fn parts_end_between_records() {
        let scratch = Scratch::new("text-files");
        let path = scratch.path().join("t.txt");
        // Lines of 997 bytes, of which each ninth goes on behind a backslash.
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for line in 0..12_000u64 {
            bytes.extend_from_slice(&[b'x'; 995]);
            let goes_on = line % 9 == 3;
            bytes.extend_from_slice(if goes_on { b"\\\n" } else { b"\\\\\n" });
            if !goes_on {
                ends.push(bytes.len() as u64);
            }
        }
        std::fs::write(&path, &bytes).expect("it is written");
        let file = File::open(&path).expect("it is there");
        let bounds = parts(&file, "t.txt", 0).expect("it is cut");
        assert_eq!(bounds.len(), 4);
        assert!(bounds.iter().all(|bound| ends.binary_search(bound).is_ok()), "{bounds:?}");
        assert_eq!(end_of_record(&file, "t.txt", 0).expect("a record"), 998);
        let behind = end_of_record(&file, "t.txt", bytes.len() as u64).expect("the end");
        assert_eq!(behind, bytes.len() as u64);
    }
}
