//! Reading: parts as work orders, fields as values.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use engine::registry::{FileOptions, OpenedFile};
use exec::BatchSource;
use kernels::Batch;
use types::{DataType, Error, Result, SqlState};

use crate::csv::options::{CsvOptions, Dialect, Header, OnError, Way};
use crate::csv::parse::CsvRecords;
use crate::csv::{sniff, split};
use crate::output::io_error;
use crate::rows::{Blank, Records as _, Reject, Rows, Taken};

/// Bytes at the beginning of a file from which delimiter, names and types are guessed.
const SNIFF_BYTES: usize = 4 << 20;

/// Opens `path`.
pub(crate) fn open(
    path: &str,
    options: FileOptions<'_>,
    target: Option<&[(String, DataType)]>,
) -> Result<OpenedFile> {
    let options = CsvOptions::new(options)?;
    let file = File::open(path).map_err(|e| io_error(path, "open", &e))?;
    let mut beginning = vec![0; SNIFF_BYTES];
    let read = read_full(&file, &mut beginning, 0).map_err(|e| io_error(path, "read", &e))?;
    beginning.truncate(read);
    let (dialect, header, columns) = match target {
        Some(columns) => {
            let header = options.header.unwrap_or(Header::Absent);
            (options.dialect_of(columns, Way::In)?, header, columns.to_vec())
        }
        None => {
            let dialect = options.dialect(sniff::delimiter(&beginning))?;
            let found = sniff::sniff(&beginning, &options, dialect);
            (found.dialect, found.header, found.columns)
        }
    };
    let start = if header == Header::Absent {
        0
    } else {
        let expected = (header == Header::Match).then_some(columns.as_slice());
        skip_header(path, &beginning, &dialect, expected)?
    };
    let bounds = split::parts(&file, path, start, &dialect)?;
    let bytes = bounds.last().copied().unwrap_or(0);
    let rows = Some(estimated_rows(&beginning, bytes));
    let source = CsvSource {
        path: path.to_owned(),
        file,
        dialect,
        columns: columns.clone(),
        bounds,
        on_error: options.on_error,
    };
    Ok(OpenedFile { columns, rows, source: Arc::new(source) })
}

/// Rows of a file of `bytes` whose lines are as long as those of its beginning.
fn estimated_rows(beginning: &[u8], bytes: u64) -> u64 {
    let lines = memchr::memchr_iter(b'\n', beginning).count() as u64;
    (lines.max(1) as f64 * bytes as f64 / beginning.len().max(1) as f64) as u64
}

/// Reads until `buffer` is full or the file ends.
fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Offset after the header; its names are compared with `expected`.
fn skip_header(
    path: &str,
    text: &[u8],
    dialect: &Dialect,
    expected: Option<&[(String, DataType)]>,
) -> Result<u64> {
    let mut records = CsvRecords::new(text, dialect);
    let bad = |message: String| Error::new(SqlState::BAD_COPY_FORMAT, message);
    if !records.next().map_err(|_| bad(format!("{path}: line 1: unterminated CSV quoted field")))? {
        return Ok(0);
    }
    if let Some(expected) = expected {
        let found: Vec<_> =
            records.fields().iter().map(|f| String::from_utf8_lossy(records.bytes(*f))).collect();
        let same = found.len() == expected.len()
            && found.iter().zip(expected).all(|(name, (wanted, _))| name == wanted);
        if !same {
            let wanted: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("{path}: line 1: the header does not match the columns");
            let detail = format!("It should be {}, it is {}.", wanted.join(","), found.join(","));
            return Err(bad(message).with_detail(detail));
        }
    }
    Ok(records.offset().min(text.len()) as u64)
}

struct CsvSource {
    path: String,
    file: File,
    dialect: Dialect,
    columns: Vec<(String, DataType)>,
    bounds: Vec<u64>,
    on_error: OnError,
}

impl BatchSource for CsvSource {
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
        let mut text = vec![0; (end - start) as usize];
        let read = read_full(&self.file, &mut text, start);
        text.truncate(read.map_err(|e| io_error(&self.path, "read", &e))?);
        if let Err(error) = std::str::from_utf8(&text) {
            let error_at = error.valid_up_to();
            let message = "invalid byte sequence for encoding \"UTF8\"";
            let error = Error::new(SqlState::INVALID_ENCODING, message);
            return Err(self.located(Reject::Record(error), start, &text[..error_at]));
        }
        let mut rows = Rows::new(&self.columns, columns, Blank::Skip, &self.dialect.zone);
        let mut records = CsvRecords::new(&text, &self.dialect);
        loop {
            let at = records.offset();
            match rows.take(&mut records) {
                Ok(Taken::Row) => {}
                Ok(Taken::End) => break,
                Err(_) if self.on_error == OnError::Ignore => {}
                Err(reject) => return Err(self.located(reject, start, &text[..at])),
            }
            if rows.is_full() && !push(rows.batch())? {
                return Ok(());
            }
        }
        if !rows.is_empty() {
            push(rows.batch())?;
        }
        Ok(())
    }
}

impl CsvSource {
    /// The error with file, line and column; `before` is what precedes the record in its part,
    /// which begins at `start`.
    fn located(&self, reject: Reject, start: u64, before: &[u8]) -> Error {
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let mut line = 1 + lines(before);
        let mut buffer = vec![0; 1 << 20];
        let mut offset = 0;
        while offset < start {
            let wanted = buffer.len().min((start - offset) as usize);
            // An unreadable beginning only makes the line number too small.
            match read_full(&self.file, &mut buffer[..wanted], offset) {
                Ok(read) if read > 0 => {
                    line += lines(&buffer[..read]);
                    offset += read as u64;
                }
                _ => break,
            }
        }
        reject.located(&self.path, line, &self.columns)
    }
}
