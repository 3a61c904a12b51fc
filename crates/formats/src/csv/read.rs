//! Reading: parts as work orders, fields as values.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use engine::registry::{FileOptions, OpenedFile};
use exec::BatchSource;
use kernels::{BATCH_ROWS, Batch, Column, VectorBuilder};
use types::{DataType, Error, Result, SqlState, Value, text};

use crate::csv::options::{CsvOptions, Dialect, Header, OnError};
use crate::csv::parse::{Field, Malformed, Records};
use crate::csv::{sniff, split};
use crate::output::io_error;

/// Bytes at the beginning of a file from which delimiter, names and types are guessed.
const SNIFF_BYTES: usize = 4 << 20;

/// Opens `path`.
pub(crate) fn open(
    path: &str,
    options: &FileOptions,
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
            (options.dialect(b',')?, header, columns.to_vec())
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
    let source = CsvSource {
        path: path.to_owned(),
        file,
        dialect,
        columns: columns.clone(),
        bounds,
        on_error: options.on_error,
    };
    Ok(OpenedFile { columns, rows: None, source: Arc::new(source) })
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
    let mut records = Records::new(text, dialect);
    let bad = |message: String| Error::new(SqlState::BAD_COPY_FORMAT, message);
    if !records.next().map_err(|_| bad(format!("{path}: line 1: unterminated CSV quoted field")))? {
        return Ok(0);
    }
    if let Some(expected) = expected {
        let found: Vec<_> =
            records.fields.iter().map(|f| String::from_utf8_lossy(records.bytes(*f))).collect();
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

/// Why a record cannot be a row.
enum Reject {
    /// A field: its ordinal and the reason.
    Field(usize, Error),
    /// The record as a whole.
    Record(Error),
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
        let mut part = Part { source: self, wanted: columns, builders: Vec::new(), rows: 0 };
        part.start();
        let mut records = Records::new(&text, &self.dialect);
        loop {
            let at = records.offset();
            match part.take(&mut records) {
                Ok(Taken::Row) => {}
                Ok(Taken::End) => break,
                Err(_) if self.on_error == OnError::Ignore => {}
                Err(reject) => return Err(self.located(reject, start, &text[..at])),
            }
            if part.rows == BATCH_ROWS && !push(part.batch())? {
                return Ok(());
            }
        }
        if part.rows > 0 {
            push(part.batch())?;
        }
        Ok(())
    }
}

impl CsvSource {
    /// The error with file, line and column; `before` is what precedes the record in its part,
    /// which begins at `start`.
    fn located(&self, reject: Reject, start: u64, before: &[u8]) -> Error {
        let (place, error) = match reject {
            Reject::Field(ordinal, error) => {
                (format!(", column {} ({})", ordinal + 1, self.columns[ordinal].0), error)
            }
            Reject::Record(error) => (String::new(), error),
        };
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
        let message = format!("{}: line {line}{place}: {}", self.path, error.message());
        let mut located = Error::new(error.state(), message);
        if let Some(detail) = error.detail() {
            located = located.with_detail(detail);
        }
        located
    }
}

enum Taken {
    Row,
    End,
}

/// The rows of a part on their way into batches.
struct Part<'a> {
    source: &'a CsvSource,
    wanted: &'a [usize],
    builders: Vec<VectorBuilder>,
    rows: usize,
}

impl Part<'_> {
    fn start(&mut self) {
        let types = self.wanted.iter().map(|&c| self.source.columns[c].1.physical());
        self.builders = types.map(|p| VectorBuilder::with_capacity(p, BATCH_ROWS)).collect();
        self.rows = 0;
    }

    fn batch(&mut self) -> Batch {
        let builders = std::mem::take(&mut self.builders);
        let columns = builders.into_iter().map(|b| Column::plain(b.finish())).collect();
        let batch = Batch::new(columns, self.rows);
        self.start();
        batch
    }

    /// Takes the next record. A record that is rejected leaves nothing behind.
    fn take(&mut self, records: &mut Records<'_>) -> Result<Taken, Reject> {
        let bad = |message: String| Reject::Record(Error::new(SqlState::BAD_COPY_FORMAT, message));
        let more = records
            .next()
            .map_err(|Malformed::OpenQuote| bad("unterminated CSV quoted field".to_owned()));
        if !more? {
            return Ok(Taken::End);
        }
        let columns = &self.source.columns;
        if columns.len() != 1 && records.is_blank() {
            return Ok(Taken::Row);
        }
        if records.fields.len() < columns.len() {
            let name = &columns[records.fields.len()].0;
            return Err(bad(format!("missing data for column \"{name}\"")));
        }
        if records.fields.len() > columns.len() {
            return Err(bad("extra data after last expected column".to_owned()));
        }
        for i in 0..self.wanted.len() {
            let ordinal = self.wanted[i];
            let field = records.fields[ordinal];
            let pushed = push_field(&mut self.builders[i], records, field, columns[ordinal].1);
            if let Err(error) = pushed {
                self.undo(i);
                return Err(Reject::Field(ordinal, error));
            }
        }
        self.rows += 1;
        Ok(Taken::Row)
    }

    /// Takes back the first `count` fields of the current record.
    fn undo(&mut self, count: usize) {
        for builder in &mut self.builders[..count] {
            builder.truncate(self.rows);
        }
    }
}

fn push_field(
    builder: &mut VectorBuilder,
    records: &Records<'_>,
    field: Field,
    ty: DataType,
) -> Result<()> {
    if field == Field::Null {
        builder.push_null();
        return Ok(());
    }
    let bytes = records.bytes(field);
    match ty {
        DataType::Text | DataType::Varchar(None) => builder.push_str(bytes),
        DataType::Varchar(Some(n)) if bytes.len() <= n as usize => builder.push_str(bytes),
        DataType::Char(n) if bytes.len() <= n as usize => {
            let blanks = bytes.iter().rev().take_while(|b| **b == b' ').count();
            builder.push_str(&bytes[..bytes.len() - blanks]);
        }
        DataType::Integer | DataType::BigInt => match short_integer(bytes) {
            Some(value) if ty == DataType::BigInt => builder.push_value(&Value::I64(value)),
            Some(value) if i32::try_from(value).is_ok() => {
                builder.push_value(&Value::I32(value as i32));
            }
            _ => push_parsed(builder, bytes, ty)?,
        },
        _ => push_parsed(builder, bytes, ty)?,
    }
    Ok(())
}

fn push_parsed(builder: &mut VectorBuilder, bytes: &[u8], ty: DataType) -> Result<()> {
    // The part was checked to be UTF-8, and quotes are ASCII, so fields are UTF-8 too.
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::new(SqlState::INVALID_ENCODING, "field is not valid UTF-8"))?;
    builder.push_value(&text::parse(text, ty)?);
    Ok(())
}

/// An integer of at most 18 digits, without blanks.
fn short_integer(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i64, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(if negative { -value } else { value })
}
