//! Records of text as rows: fields to values, values to batches.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use kernels::{BATCH_ROWS, Batch, Column, VectorBuilder};
use types::calendar::TimeZone;
use types::{DataType, Error, Result, SqlState, Value, text};

use crate::output::io_error;

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// NULL.
    Null,
    /// `text[start..end]` of the part.
    Slice(usize, usize),
    /// `scratch[start..end]`: quotes and escapes were removed.
    Scratch(usize, usize),
}

/// Reads records one after the other.
pub(crate) trait Records {
    /// Reads the next record; false at the end.
    ///
    /// # Errors
    /// Description of the record's wrong form.
    fn next(&mut self) -> Result<bool, &'static str>;

    /// Offset of the next record.
    fn offset(&self) -> usize;

    /// Fields of the current record.
    fn fields(&self) -> &[Field];

    /// The part's text, and what was made of it: the bytes that fields lie in.
    fn sources(&self) -> (&[u8], &[u8]);

    /// Bytes of a field; empty for NULL.
    fn bytes(&self, field: Field) -> &[u8] {
        let (text, scratch) = self.sources();
        match field {
            Field::Null => &[],
            Field::Slice(start, end) => &text[start..end],
            Field::Scratch(start, end) => &scratch[start..end],
        }
    }

    /// True when the current record is an empty line.
    fn is_blank(&self) -> bool;
}

/// Treatment of an empty line where several columns are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blank {
    /// The line is passed over.
    Skip,
    /// The line is a record like any other.
    Record,
}

/// Treatment of a record that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    /// The load fails.
    Stop,
    /// The record is skipped.
    Ignore,
}

/// Why a record cannot be a row.
pub(crate) enum Reject {
    /// A field: its ordinal and the reason.
    Field(usize, Error),
    /// The record as a whole.
    Record(Error),
}

impl Reject {
    /// The error with its place: `what`, a line, and a column of `columns`.
    pub(crate) fn located(self, what: &str, line: usize, columns: &[(String, DataType)]) -> Error {
        let (place, error) = match self {
            Self::Field(ordinal, error) => {
                (format!(", column {} ({})", ordinal + 1, columns[ordinal].0), error)
            }
            Self::Record(error) => (String::new(), error),
        };
        let message = format!("{what}: line {line}{place}: {}", error.message());
        let located = Error::new(error.state(), message);
        match error.detail() {
            Some(detail) => located.with_detail(detail),
            None => located,
        }
    }
}

/// A file of records of text, for errors.
pub(crate) struct Origin {
    pub(crate) path: String,
    pub(crate) file: File,
    /// Byte that ends lines.
    pub(crate) newline: u8,
    pub(crate) columns: Vec<(String, DataType)>,
}

impl Origin {
    /// The bytes from `start` to `end`, which are UTF-8 without zero bytes.
    ///
    /// # Errors
    /// 58030, 22021.
    pub(crate) fn text(&self, start: u64, end: u64) -> Result<Vec<u8>> {
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
        Ok(text)
    }

    /// The error with file, line and column; `before` is what precedes the record in its part,
    /// which begins at `start`.
    pub(crate) fn located(&self, reject: Reject, start: u64, before: &[u8]) -> Error {
        let lines = |bytes: &[u8]| memchr::memchr_iter(self.newline, bytes).count();
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

/// Reads until `buffer` is full or the file ends.
pub(crate) fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Outcome of reading a record.
pub(crate) enum Taken {
    Row,
    End,
}

/// The rows of a part on their way into batches.
pub(crate) struct Rows<'a> {
    columns: &'a [(String, DataType)],
    wanted: &'a [usize],
    blank: Blank,
    zone: &'a TimeZone,
    builders: Vec<VectorBuilder>,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Rows of records with `columns`, of which those of the ordinals `wanted` are kept. Times
    /// without a zone are those of clocks in `zone`.
    pub(crate) fn new(
        columns: &'a [(String, DataType)],
        wanted: &'a [usize],
        blank: Blank,
        zone: &'a TimeZone,
    ) -> Self {
        let mut rows = Self { columns, wanted, blank, zone, builders: Vec::new(), count: 0 };
        rows.start();
        rows
    }

    fn start(&mut self) {
        let types = self.wanted.iter().map(|&c| self.columns[c].1.physical());
        self.builders = types.map(|p| VectorBuilder::with_capacity(p, BATCH_ROWS)).collect();
        self.count = 0;
    }

    /// True when a batch is full.
    pub(crate) fn is_full(&self) -> bool {
        self.count == BATCH_ROWS
    }

    /// True when there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rows so far.
    pub(crate) fn batch(&mut self) -> Batch {
        let builders = std::mem::take(&mut self.builders);
        let columns = builders.into_iter().map(|b| Column::plain(b.finish())).collect();
        let batch = Batch::new(columns, self.count);
        self.start();
        batch
    }

    /// Gives all rows of `records` to `push`, in batches, until it returns false. `located` makes
    /// the error of a record that does not fit, of which it gets the offset in the part.
    ///
    /// # Errors
    /// The error of the first record that does not fit, unless such are ignored; errors of `push`.
    pub(crate) fn push_all(
        mut self,
        records: &mut impl Records,
        on_error: OnError,
        located: &dyn Fn(Reject, usize) -> Error,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        loop {
            let at = records.offset();
            match self.take(records) {
                Ok(Taken::Row) => {}
                Ok(Taken::End) => break,
                Err(_) if on_error == OnError::Ignore => {}
                Err(reject) => return Err(located(reject, at)),
            }
            if self.is_full() && !push(self.batch())? {
                return Ok(());
            }
        }
        if !self.is_empty() {
            push(self.batch())?;
        }
        Ok(())
    }

    /// Takes the next record. A record that is rejected leaves nothing behind.
    pub(crate) fn take(&mut self, records: &mut impl Records) -> Result<Taken, Reject> {
        let bad = |message: String| Reject::Record(Error::new(SqlState::BAD_COPY_FORMAT, message));
        if !records.next().map_err(|message| bad(message.to_owned()))? {
            return Ok(Taken::End);
        }
        let columns = self.columns;
        if self.blank == Blank::Skip && columns.len() != 1 && records.is_blank() {
            return Ok(Taken::Row);
        }
        let count = records.fields().len();
        if count < columns.len() {
            let name = &columns[count].0;
            return Err(bad(format!("missing data for column \"{name}\"")));
        }
        if count > columns.len() {
            return Err(bad("extra data after last expected column".to_owned()));
        }
        for i in 0..self.wanted.len() {
            let ordinal = self.wanted[i];
            let field = records.fields()[ordinal];
            let ty = columns[ordinal].1;
            let pushed = push_field(&mut self.builders[i], records, field, (ty, self.zone));
            if let Err(error) = pushed {
                self.undo(i);
                return Err(Reject::Field(ordinal, error));
            }
        }
        self.count += 1;
        Ok(Taken::Row)
    }

    /// Takes back the first `count` fields of the current record.
    fn undo(&mut self, count: usize) {
        for builder in &mut self.builders[..count] {
            builder.truncate(self.count);
        }
    }
}

fn push_field(
    builder: &mut VectorBuilder,
    records: &impl Records,
    field: Field,
    (ty, zone): (DataType, &TimeZone),
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
            _ => push_parsed(builder, bytes, ty, zone)?,
        },
        _ => push_parsed(builder, bytes, ty, zone)?,
    }
    Ok(())
}

fn push_parsed(
    builder: &mut VectorBuilder,
    bytes: &[u8],
    ty: DataType,
    zone: &TimeZone,
) -> Result<()> {
    // The part was checked to be UTF-8, and quotes are ASCII, so fields are UTF-8 too, unless
    // escapes put other bytes into one.
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::new(SqlState::INVALID_ENCODING, "field is not valid UTF-8"))?;
    builder.push_value(&text::parse_in(text, ty, zone)?);
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
