//! COPY FROM STDIN and TO STDOUT: records in memory, as much as came at once.
//!
//! ```text
//! bytes -> whole records | rest of one, for the next time
//! whole records -> pieces of PIECE_BYTES, a work order each
//! ```

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{
    Came, FileOptions, Piece, StreamForm, StreamFormat, StreamReader, StreamWriter,
};
use exec::BatchSource;
use kernels::{Batch, Vector};
use types::charset::{Charset, invalid};
use types::{DataType, Error, Result, SqlState};

use crate::csv::{CsvOptions, CsvRecords, Dialect, Header, Quoted, Way, write_names, write_row};
use crate::rows::{Blank, OnError, Records, Reject, Rows};
use crate::text::{TextOptions, TextRecords, TextWriter, cut};

/// Bytes of a work order: some hundred of microseconds at least.
const PIECE_BYTES: usize = 1 << 20;

/// CSV and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Csv,
    Text,
}

#[derive(Clone)]
enum Form {
    Csv(Dialect),
    Text(TextOptions),
}

impl StreamFormat for Stream {
    fn form(&self) -> StreamForm {
        StreamForm::Text
    }

    fn reader(
        &self,
        options: FileOptions<'_>,
        target: &[(String, DataType)],
    ) -> Result<Box<dyn StreamReader>> {
        let (form, header, on_error) = match self {
            Self::Csv => {
                let options = CsvOptions::new(options)?;
                let header = options.header.unwrap_or(Header::Absent);
                let dialect = options.dialect_of(target, Way::In)?;
                (Form::Csv(dialect), header, options.on_error)
            }
            Self::Text => {
                let options = TextOptions::new(options)?;
                let header = if options.has_header { Header::Present } else { Header::Absent };
                (Form::Text(options), header, OnError::Stop)
            }
        };
        let columns = target.into();
        Ok(Box::new(Reader { form, header, on_error, columns, lines: 0, last: None }))
    }

    fn writer(
        &self,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn StreamWriter>> {
        let types = columns.iter().map(|(_, ty)| *ty).collect();
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        Ok(match self {
            Self::Csv => {
                let options = CsvOptions::new(options)?;
                let has_header = matches!(options.header, Some(Header::Present | Header::Match));
                let names = has_header.then_some(names);
                let dialect = options.dialect_of(columns, Way::Out)?;
                Box::new(CsvLines { dialect, types, names })
            }
            Self::Text => {
                let options = TextOptions::new(options)?;
                let names = options.has_header.then_some(names);
                Box::new(TextLines { writer: TextWriter::new(options, types), names })
            }
        })
    }
}

struct Reader {
    form: Form,
    /// Expectation of a header.
    header: Header,
    on_error: OnError,
    columns: Arc<[(String, DataType)]>,
    /// Lines taken so far.
    lines: usize,
    /// Pieces taken last: their memory is used again once they have been loaded, for memory that is
    /// new has to be cleared by the system.
    last: Option<Arc<Pieces>>,
}

impl Reader {
    /// Offsets of pieces of whole records, from 0 on.
    fn cuts(&self, bytes: &[u8], came: Came) -> Vec<usize> {
        let mut cuts = vec![0];
        let mut from = 0;
        loop {
            let wanted = if bytes.len() - from > PIECE_BYTES { PIECE_BYTES } else { 0 };
            let found = match &self.form {
                Form::Csv(dialect) => Quoted::default().scan(&bytes[from..], wanted, dialect),
                Form::Text(_) => cut(&bytes[from..], wanted),
            };
            let Some(found) = found else { break };
            from += found;
            match wanted {
                // The last lines one by one: they are one piece.
                0 if cuts.len() > 1 => cuts.last_mut().into_iter().for_each(|last| *last = from),
                _ => cuts.push(from),
            }
        }
        if came == Came::All && from < bytes.len() {
            cuts.push(bytes.len());
        }
        cuts
    }

    /// Passes over the header: the bytes that it takes.
    fn skip_header(&mut self, bytes: &[u8]) -> Result<usize> {
        let taken = match &self.form {
            Form::Csv(dialect) => self.header_of(&mut CsvRecords::new(bytes, dialect)),
            Form::Text(options) => self.header_of(&mut TextRecords::new(bytes, options)),
        };
        let taken = taken.map_err(|message| {
            Error::new(SqlState::BAD_COPY_FORMAT, format!("COPY: line 1: {message}"))
        })?;
        let taken = taken.min(bytes.len());
        self.header = Header::Absent;
        self.lines += line_count(&bytes[..taken]);
        Ok(taken)
    }

    /// The offset after the header.
    fn header_of(&self, records: &mut impl Records) -> Result<usize, &'static str> {
        let there = records.next()?;
        let names = records.fields().iter().map(|field| records.bytes(*field));
        let expected = self.columns.iter().map(|(name, _)| name.as_bytes());
        if there && self.header == Header::Match && !names.eq(expected) {
            return Err("the header does not match the columns");
        }
        Ok(records.offset())
    }
}

/// CSV without a last line `\.`, which psql sends with it and PostgreSQL takes as the end.
fn without_end_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.strip_suffix(b"\\.") {
        Some(rest) if rest.is_empty() || rest.ends_with(b"\n") => rest,
        _ => bytes,
    }
}

fn line_count(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

impl StreamReader for Reader {
    fn take(&mut self, bytes: &mut Vec<u8>, came: Came) -> Result<Option<Piece>> {
        if came == Came::All && matches!(self.form, Form::Csv(_)) {
            bytes.truncate(without_end_line(bytes).len());
        }
        let cuts = self.cuts(bytes, came);
        let Some(&end) = cuts.last().filter(|end| **end > 0) else { return Ok(None) };
        let spare = self.last.take().and_then(Arc::into_inner);
        let mut rest = spare.map_or_else(Vec::new, |piece| piece.bytes);
        rest.clear();
        rest.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        let whole = std::mem::replace(bytes, rest);
        let start = if self.header == Header::Absent { 0 } else { self.skip_header(&whole)? };
        let mut bounds = vec![start];
        bounds.extend(cuts.into_iter().filter(|cut| *cut > start));
        let lines = self.lines;
        self.lines += line_count(&whole[start..]);
        let piece = Pieces {
            form: self.form.clone(),
            on_error: self.on_error,
            columns: Arc::clone(&self.columns),
            bytes: whole,
            bounds,
            lines,
        };
        let piece = Arc::new(piece);
        self.last = Some(Arc::clone(&piece));
        Ok(Some(piece))
    }
}

/// Whole records in memory.
struct Pieces {
    form: Form,
    on_error: OnError,
    columns: Arc<[(String, DataType)]>,
    bytes: Vec<u8>,
    bounds: Vec<usize>,
    /// Lines before the first.
    lines: usize,
}

impl Pieces {
    fn located(&self, reject: Reject, at: usize) -> Error {
        let line = self.lines + line_count(&self.bytes[self.bounds[0]..at]) + 1;
        reject.located("COPY", line, &self.columns)
    }
}

impl BatchSource for Pieces {
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
        let text = &self.bytes[start..end];
        if let Err(error) = std::str::from_utf8(text) {
            let from = error.valid_up_to();
            let reject = Reject::Record(invalid(Charset::UTF8, &text[from..]));
            return Err(self.located(reject, start + from));
        }
        let located = |reject, at: usize| self.located(reject, start + at);
        match &self.form {
            Form::Csv(dialect) => {
                let rows = Rows::new(&self.columns, columns, Blank::Skip, &dialect.zone);
                let mut records = CsvRecords::new(text, dialect);
                rows.push_all(&mut records, self.on_error, &located, push)
            }
            Form::Text(options) => {
                let rows = Rows::new(&self.columns, columns, Blank::Record, &options.zone);
                let mut records = TextRecords::new(text, options);
                rows.push_all(&mut records, self.on_error, &located, push)
            }
        }
    }
}

struct CsvLines {
    dialect: Dialect,
    types: Vec<DataType>,
    /// The header, when it is wanted.
    names: Option<Vec<String>>,
}

impl StreamWriter for CsvLines {
    fn begin(&mut self, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
        if let Some(names) = &self.names {
            write_names(out, names, &self.dialect);
            ends.push(out.len());
        }
    }

    fn rows(
        &mut self,
        columns: &[Arc<Vector>],
        rows: Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        for row in rows {
            write_row(out, columns, row, &self.types, &self.dialect);
            ends.push(out.len());
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}

struct TextLines {
    writer: TextWriter,
    names: Option<Vec<String>>,
}

impl StreamWriter for TextLines {
    fn begin(&mut self, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
        if let Some(names) = self.names.take() {
            self.writer.names(names.into_iter(), out);
            ends.push(out.len());
        }
    }

    fn rows(
        &mut self,
        columns: &[Arc<Vector>],
        rows: Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        for row in rows {
            self.writer.row(columns, row, out);
            ends.push(out.len());
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_of_a_backslash_and_a_point_is_no_row() {
        for (bytes, rest) in [
            ("x\n\\.\n", "x\n"),
            ("x\r\n\\.\r\n", "x\r\n"),
            ("x\n\\.", "x\n"),
            ("\\.\n", ""),
            ("a\\.\n", "a\\.\n"),
            ("\\.\nx\n", "\\.\nx\n"),
            ("", ""),
        ] {
            assert_eq!(without_end_line(bytes.as_bytes()), rest.as_bytes(), "{bytes:?}");
        }
    }
}
