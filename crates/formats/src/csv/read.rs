//! Reading: parts as work orders, fields as values.

use std::sync::Arc;

use engine::registry::{FileOptions, OpenedFile};
use exec::BatchSource;
use kernels::Batch;
use types::{DataType, Error, Result, SqlState};

use crate::compressed::open_text;
use crate::csv::options::{CsvOptions, Dialect, Header, Way};
use crate::csv::parse::CsvRecords;
use crate::csv::sniff::{self, Extent};
use crate::csv::split;
use crate::output::io_error;
use crate::rows::{Blank, OnError, Origin, Records as _, Rows, read_full};

/// Bytes at the beginning of a file from which delimiter, names and types are guessed.
const SNIFF_BYTES: usize = 4 << 20;

/// Bytes that files in UTF-8 may begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens `path`.
pub(crate) fn open(
    path: &str,
    options: FileOptions<'_>,
    target: Option<&[(String, DataType)]>,
) -> Result<OpenedFile> {
    let file = open_text(path, options.charset)?;
    let options = CsvOptions::new(options)?;
    let mut beginning = vec![0; SNIFF_BYTES];
    let read = read_full(&file, &mut beginning, 0).map_err(|e| io_error(path, "read", &e))?;
    beginning.truncate(read);
    let extent = if read < SNIFF_BYTES { Extent::Whole } else { Extent::Cut };
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
    let (path, columns_read) = (path.to_owned(), columns.clone());
    let origin = Origin { path, file, newline: dialect.newline, columns: columns_read };
    let source = CsvSource { origin, dialect, bounds, on_error: options.on_error };
    Ok(OpenedFile { columns, rows, source: Arc::new(source) })
}

/// Rows of a file of `bytes` whose lines are as long as those of its beginning.
fn estimated_rows(beginning: &[u8], bytes: u64) -> u64 {
    let lines = memchr::memchr_iter(b'\n', beginning).count() as u64;
    (lines.max(1) as f64 * bytes as f64 / beginning.len().max(1) as f64) as u64
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
    origin: Origin,
    dialect: Dialect,
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
        let text = self.origin.text(start, end)?;
        let rows = Rows::new(&self.origin.columns, columns, Blank::Skip, &self.dialect.zone);
        let located = |reject, at: usize| self.origin.located(reject, start, &text[..at]);
        let mut records = CsvRecords::new(&text, &self.dialect);
        rows.push_all(&mut records, self.on_error, &located, push)
    }
}
