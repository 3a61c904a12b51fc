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
use crate::csv::sniff::{self, Extent};
use crate::csv::split;
use crate::output::{io_error, open_to_read};
use crate::rows::{Blank, Records as _, Reject, Rows, Taken};

/// Bytes at the beginning of a file from which delimiter, names and types are guessed.
const SNIFF_BYTES: usize = 4 << 20;

/// Bytes that files in UTF-8 may begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that compressed files begin with.
const GZIP: &[u8] = b"\x1f\x8b";

/// Opens `path`.
pub(crate) fn open(
    path: &str,
    options: FileOptions<'_>,
    target: Option<&[(String, DataType)]>,
) -> Result<OpenedFile> {
    let options = CsvOptions::new(options)?;
    let file = open_to_read(path)?;
    let mut beginning = vec![0; SNIFF_BYTES];
    let read = read_full(&file, &mut beginning, 0).map_err(|e| io_error(path, "read", &e))?;
    beginning.truncate(read);
    let extent = if read < SNIFF_BYTES { Extent::Whole } else { Extent::Cut };
    if beginning.starts_with(GZIP) {
        return Err(Error::unsupported(format!("reading a compressed file, as \"{path}\" is one")));
    }
    let newline = sniff::newline(&beginning);
    let (dialect, header, columns, begin) = match target {
        Some(columns) => {
            let header = options.header.unwrap_or(Header::Absent);
            let dialect = Dialect { newline, ..options.dialect_of(columns, Way::In)? };
            (dialect, header, columns.to_vec(), 0)
        }
        None => {
            let mark =
                if beginning.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            let shape = sniff::shape(&beginning[mark..], &options)?;
            let begin = mark + shape.start;
            let dialect = Dialect { newline, ..options.dialect(shape.delimiter)? };
            let found = sniff::sniff(&beginning[begin..], extent, &options, dialect);
            (found.dialect, found.header, found.columns, begin)
        }
    };
    let start = if header == Header::Absent {
        begin as u64
    } else {
        let expected = (header == Header::Match).then_some(columns.as_slice());
        begin as u64 + skip_header(path, &beginning[begin..], &dialect, expected)?
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
        let invalid = std::str::from_utf8(&text).err().map(|error| error.valid_up_to());
        let zero = memchr::memchr(0, &text);
        if let Some(error_at) = invalid.into_iter().chain(zero).min() {
            let byte = text.get(error_at).copied().unwrap_or(0);
            let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
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
        let lines = |bytes: &[u8]| memchr::memchr_iter(self.dialect.newline, bytes).count();
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
