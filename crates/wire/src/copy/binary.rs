//! COPY's binary format.
//!
//! ```text
//! PGCOPY\n 0xff \r\n 0 | flags u32 | extension u32, bytes | row ... | -1 i16
//! row: fields i16, then each: bytes i32 (-1 is NULL), value
//! ```

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{
    Came, FileOptions, Piece, StreamForm, StreamFormat, StreamReader, StreamWriter,
};
use exec::BatchSource;
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder};
use types::calendar::TimeZone;
use types::charset::Charset;
use types::text::TextStyle;
use types::{DataType, Error, Result, SqlState, Value};

use crate::decode;
use crate::encode::{self, Format};
use crate::recode;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// The format.
pub(super) struct Binary;

fn no_options(options: FileOptions<'_>) -> Result<()> {
    match options.given.iter().find(|(name, _)| !matches!(name.as_str(), "freeze" | "encoding")) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("cannot specify {} in BINARY mode", name.to_uppercase());
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}

impl StreamFormat for Binary {
    fn form(&self) -> StreamForm {
        StreamForm::Binary
    }

    fn reader(
        &self,
        options: FileOptions<'_>,
        target: &[(String, DataType)],
    ) -> Result<Box<dyn StreamReader>> {
        no_options(options)?;
        let charset = options.charset;
        Ok(Box::new(Reader { columns: target.into(), head: Head::Expected, rows: 0, charset }))
    }

    fn writer(
        &self,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn StreamWriter>> {
        no_options(options)?;
        let types = columns.iter().map(|(_, ty)| (*ty, Format::Binary)).collect();
        Ok(Box::new(Writer { types, charset: options.charset }))
    }
}

struct Writer {
    types: Vec<(DataType, Format)>,
    /// The encoding of texts.
    charset: Charset,
}

impl StreamWriter for Writer {
    fn begin(&mut self, out: &mut Vec<u8>, _: &mut Vec<usize>) {
        out.extend_from_slice(SIGNATURE);
        out.extend_from_slice(&[0; 8]);
    }

    fn rows(
        &mut self,
        columns: &[Arc<Vector>],
        rows: Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        for row in rows {
            let start = out.len();
            out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
            for (column, (ty, _)) in columns.iter().zip(&self.types) {
                encode::cell(
                    out,
                    column,
                    row,
                    *ty,
                    (Format::Binary, &TimeZone::UTC, TextStyle::default()),
                );
            }
            if !self.charset.is_plain() {
                recode::fields(out, start, &self.types, self.charset)?;
            }
            ends.push(out.len());
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(-1_i16).to_be_bytes());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    Expected,
    Read,
    /// The end of the rows was read.
    Ended,
}

struct Reader {
    columns: Arc<[(String, DataType)]>,
    head: Head,
    /// Rows so far.
    rows: usize,
    /// The encoding of texts.
    charset: Charset,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(SqlState::BAD_COPY_FORMAT, message)
}

/// The number at `at`; None when it is not all there.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Bytes of the head; None when it is not all there.
fn head_bytes(bytes: &[u8]) -> Result<Option<usize>> {
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Err(bad("COPY file signature not recognized"));
    }
    let Some(flags) = number(bytes, 11).map(u32::from_be_bytes) else { return Ok(None) };
    let Some(extension) = number(bytes, 15).map(u32::from_be_bytes) else { return Ok(None) };
    if flags >> 16 != 0 {
        return Err(bad("unrecognized critical flags in COPY file header"));
    }
    let end = 19 + extension as usize;
    Ok((bytes.len() >= end).then_some(end))
}

/// Bytes of the row at the beginning of `bytes`; None when it is not all there.
fn row_bytes(bytes: &[u8], fields: usize) -> Result<Option<usize>> {
    let mut at = 2;
    for _ in 0..fields {
        let Some(length) = number(bytes, at).map(i32::from_be_bytes) else { return Ok(None) };
        at += 4;
        match length {
            -1 => {}
            0.. => at += length as usize,
            _ => return Err(bad("invalid field size")),
        }
    }
    Ok((at <= bytes.len()).then_some(at))
}

impl StreamReader for Reader {
    fn take(&mut self, bytes: &mut Vec<u8>, came: Came) -> Result<Option<Piece>> {
        let mut at = 0;
        if self.head == Head::Expected {
            match head_bytes(bytes)? {
                Some(end) => at = end,
                None if came == Came::All => return Err(bad("invalid COPY file header")),
                None => return Ok(None),
            }
            self.head = Head::Read;
        }
        // A work order for each batch.
        let mut starts = Vec::new();
        let mut count = 0;
        while self.head == Head::Read {
            let Some(fields) = number(bytes, at).map(i16::from_be_bytes) else { break };
            if fields == -1 {
                self.head = Head::Ended;
                at += 2;
                break;
            }
            if usize::try_from(fields).ok() != Some(self.columns.len()) {
                let expected = self.columns.len();
                return Err(bad(format!("row field count is {fields}, expected {expected}")));
            }
            let Some(length) = row_bytes(&bytes[at..], self.columns.len())? else { break };
            if count % BATCH_ROWS == 0 {
                starts.push(at);
            }
            at += length;
            count += 1;
        }
        if self.head == Head::Ended && at < bytes.len() {
            return Err(bad("received copy data after EOF marker"));
        }
        if came == Came::All && at < bytes.len() {
            return Err(bad("unexpected EOF in COPY data"));
        }
        let rest = bytes.split_off(at);
        let whole = std::mem::replace(bytes, rest);
        let before = self.rows;
        self.rows += count;
        let columns = Arc::clone(&self.columns);
        let charset = self.charset;
        let piece = Rows { columns, bytes: whole, starts, count, before, charset };
        Ok((count > 0).then(|| Arc::new(piece) as Piece))
    }
}

/// Whole rows in memory.
struct Rows {
    columns: Arc<[(String, DataType)]>,
    bytes: Vec<u8>,
    /// Offset of the first row of each batch.
    starts: Vec<usize>,
    count: usize,
    /// Rows before the first.
    before: usize,
    /// The encoding of texts.
    charset: Charset,
}

impl Rows {
    fn value(&self, bytes: &[u8], ty: DataType) -> Result<Value> {
        if self.charset.is_plain() {
            return decode::binary_value(bytes, ty);
        }
        let mut recoded = Vec::with_capacity(bytes.len());
        recode::binary::push(&mut recoded, bytes, ty, recode::Way::In(self.charset))?;
        decode::binary_value(&recoded, ty)
    }
}

impl BatchSource for Rows {
    fn orders(&self) -> usize {
        self.starts.len()
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let rows = BATCH_ROWS.min(self.count - order * BATCH_ROWS);
        let physical = |&ordinal: &usize| self.columns[ordinal].1.physical();
        let mut builders: Vec<VectorBuilder> = columns
            .iter()
            .map(|ordinal| VectorBuilder::with_capacity(physical(ordinal), rows))
            .collect();
        let mut at = self.starts[order];
        let mut fields = Vec::with_capacity(self.columns.len());
        for row in 0..rows {
            at += 2;
            fields.clear();
            for _ in 0..self.columns.len() {
                let length = number(&self.bytes, at).map(i32::from_be_bytes);
                let length = length.and_then(|length| usize::try_from(length).ok());
                at += 4;
                fields.push(length.map(|length| at..at + length));
                at += length.unwrap_or(0);
            }
            for (builder, &ordinal) in builders.iter_mut().zip(columns) {
                let Some(range) = fields[ordinal].clone() else {
                    builder.push_null();
                    continue;
                };
                let (name, ty) = &self.columns[ordinal];
                let value = self.value(&self.bytes[range], *ty).map_err(|error| {
                    let row = self.before + order * BATCH_ROWS + row + 1;
                    let message = format!("COPY: row {row}, column {name}: {}", error.message());
                    Error::new(error.state(), message)
                })?;
                builder.push_value(&value);
            }
        }
        let columns = builders.into_iter().map(|b| Column::plain(b.finish())).collect();
        push(Batch::new(columns, rows)).map(|_| ())
    }
}
