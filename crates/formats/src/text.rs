//! COPY's text format: fields between tabs, `\N` for NULL, backslashes before what is special.

use engine::registry::FileOptions;
use kernels::Vector;
use kernels::print::append_text;
use types::calendar::TimeZone;
use types::{DataType, Error, Result, SqlState};

use crate::rows::{Field, Records};

/// Options of the text format.
#[derive(Clone, Debug)]
pub(crate) struct TextOptions {
    delimiter: u8,
    null: String,
    /// The first line holds names.
    pub(crate) has_header: bool,
    /// Whose clocks show times with a zone.
    pub(crate) zone: TimeZone,
    /// Characters outside of ASCII that become a backslash or the delimiter.
    special: Vec<char>,
}

impl TextOptions {
    /// The options in `given`.
    pub(crate) fn new(given: FileOptions<'_>) -> Result<Self> {
        let (null, zone) = ("\\N".to_owned(), given.zone.clone());
        let special = Vec::new();
        let mut options = Self { delimiter: b'\t', null, has_header: false, zone, special };
        for (name, value) in given.given {
            match (name.as_str(), value.as_bytes()) {
                ("delimiter", [byte]) if byte.is_ascii() && !byte.is_ascii_alphanumeric() => {
                    options.delimiter = *byte;
                }
                ("null", _) if !value.contains(['\r', '\n']) => options.null.clone_from(value),
                ("header", b"true" | b"on" | b"1" | b"match") => options.has_header = true,
                ("header", b"false" | b"off" | b"0") => options.has_header = false,
                // How rows are kept is the table's business; the encoding is known.
                ("freeze" | "encoding", _) => {}
                ("delimiter" | "null" | "header", _) => {
                    let message = format!("invalid value for COPY option \"{name}\": \"{value}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
                _ => {
                    let message = format!("option \"{name}\" not recognized for COPY in text");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
            }
        }
        let alike = given.charset.written_as_ascii().iter();
        let special = alike.filter(|(_, byte)| [b'\\', options.delimiter].contains(byte));
        options.special = special.map(|(other, _)| *other).collect();
        Ok(options)
    }
}

/// Reads records of a part; buffers are reused.
pub(crate) struct TextRecords<'a> {
    text: &'a [u8],
    at: usize,
    options: &'a TextOptions,
    fields: Vec<Field>,
    scratch: Vec<u8>,
}

impl<'a> TextRecords<'a> {
    pub(crate) fn new(text: &'a [u8], options: &'a TextOptions) -> Self {
        Self { text, at: 0, options, fields: Vec::new(), scratch: Vec::new() }
    }

    /// The next field, and whether another follows in the record.
    fn field(&mut self) -> (Field, bool) {
        let start = self.at.min(self.text.len());
        let rest = &self.text[start..];
        let found = memchr::memchr3(self.options.delimiter, b'\n', b'\\', rest);
        let end = start + found.unwrap_or(rest.len());
        if self.text.get(end) == Some(&b'\\') {
            return self.escaped_field(start);
        }
        self.end_field(start, end, Field::Slice)
    }

    /// The field whose bytes are `start..end` of the text, or were copied.
    fn end_field(
        &mut self,
        start: usize,
        end: usize,
        form: fn(usize, usize) -> Field,
    ) -> (Field, bool) {
        let more = self.text.get(end) == Some(&self.options.delimiter);
        self.at = end + 1;
        let cut = !more && end > start && self.text[end - 1] == b'\r';
        let end = if cut { end - 1 } else { end };
        let is_null = &self.text[start..end] == self.options.null.as_bytes();
        (if is_null { Field::Null } else { form(start, end) }, more)
    }

    /// A field with backslashes, copied without them.
    fn escaped_field(&mut self, start: usize) -> (Field, bool) {
        let begin = self.scratch.len();
        let mut at = start;
        while let Some(&byte) = self.text.get(at) {
            if byte == self.options.delimiter || byte == b'\n' {
                break;
            }
            at += 1;
            match byte {
                b'\\' if at < self.text.len() => at += self.unescape(at),
                byte => self.scratch.push(byte),
            }
        }
        let (field, more) = self.end_field(start, at, Field::Slice);
        match field {
            Field::Null => (field, more),
            _ => {
                // A carriage return before the end of the line is part of the end.
                let cut = !more && self.text[start..at].ends_with(b"\r");
                let end = self.scratch.len() - usize::from(cut);
                (Field::Scratch(begin, end), more)
            }
        }
    }

    /// Copies what stands after a backslash; how many bytes that was.
    fn unescape(&mut self, at: usize) -> usize {
        let digits = |most: usize, is_digit: fn(&u8) -> bool, from: usize| {
            self.text[from..].iter().take(most).take_while(|byte| is_digit(byte)).count()
        };
        let (byte, taken) = match self.text[at] {
            b'b' => (8, 1),
            b'f' => (12, 1),
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            b'v' => (11, 1),
            b'0'..=b'7' => {
                let count = digits(3, |byte| (b'0'..=b'7').contains(byte), at);
                let value = |value: u32, byte: &u8| value * 8 + u32::from(byte - b'0');
                (self.text[at..at + count].iter().fold(0, value) as u8, count)
            }
            b'x' if digits(2, u8::is_ascii_hexdigit, at + 1) > 0 => {
                let count = digits(2, u8::is_ascii_hexdigit, at + 1);
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0);
                let value = |value: u32, byte: &u8| value * 16 + digit(byte);
                (self.text[at + 1..at + 1 + count].iter().fold(0, value) as u8, count + 1)
            }
            other => (other, 1),
        };
        self.scratch.push(byte);
        taken
    }
}

impl Records for TextRecords<'_> {
    fn next(&mut self) -> Result<bool, &'static str> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_end = rest == b"\\." || rest.starts_with(b"\\.\n") || rest.starts_with(b"\\.\r\n");
        if rest.is_empty() || is_end {
            return Ok(false);
        }
        self.fields.clear();
        self.scratch.clear();
        let mut more = true;
        while more {
            let (field, another) = self.field();
            self.fields.push(field);
            more = another;
        }
        Ok(true)
    }

    fn offset(&self) -> usize {
        self.at
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn sources(&self) -> (&[u8], &[u8]) {
        (self.text, &self.scratch)
    }

    fn is_blank(&self) -> bool {
        matches!(self.fields.as_slice(), [Field::Slice(start, end)] if start == end)
    }
}

/// The offset after the first line break at or after `wanted` that ends a record.
pub(crate) fn cut(bytes: &[u8], wanted: usize) -> Option<usize> {
    let mut at = wanted.min(bytes.len());
    loop {
        at += memchr::memchr(b'\n', &bytes[at..])?;
        let backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        at += 1;
        if backslashes % 2 == 0 {
            return Some(at);
        }
    }
}

/// Writes rows.
pub(crate) struct TextWriter {
    options: TextOptions,
    types: Vec<DataType>,
}

impl TextWriter {
    pub(crate) fn new(options: TextOptions, types: Vec<DataType>) -> Self {
        Self { options, types }
    }

    /// Appends a line of names.
    pub(crate) fn names(&self, names: impl Iterator<Item = String>, out: &mut Vec<u8>) {
        for (at, name) in names.enumerate() {
            if at > 0 {
                out.push(self.options.delimiter);
            }
            let start = out.len();
            out.extend_from_slice(name.as_bytes());
            self.escape_from(out, start);
        }
        out.push(b'\n');
    }

    /// Appends row `row` of `columns`.
    pub(crate) fn row(&self, columns: &[std::sync::Arc<Vector>], row: usize, out: &mut Vec<u8>) {
        for (at, (column, ty)) in columns.iter().zip(&self.types).enumerate() {
            if at > 0 {
                out.push(self.options.delimiter);
            }
            if column.is_null(row) {
                out.extend_from_slice(self.options.null.as_bytes());
                continue;
            }
            let start = out.len();
            append_text(out, column, row, *ty, &self.options.zone);
            self.escape_from(out, start);
        }
        out.push(b'\n');
    }

    /// Puts backslashes before what is special in `out[start..]`, also once it has the encoding of
    /// the file or client.
    fn escape_from(&self, out: &mut Vec<u8>, start: usize) {
        escape_from(out, start, self.options.delimiter);
        if self.options.special.is_empty() || out[start..].is_ascii() {
            return;
        }
        let plain = String::from_utf8_lossy(&out.split_off(start)).into_owned();
        for character in plain.chars() {
            if self.options.special.contains(&character) {
                out.push(b'\\');
            }
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Puts backslashes before what is special in `out[start..]`.
fn escape_from(out: &mut Vec<u8>, start: usize, delimiter: u8) {
    let is_special = |&byte: &u8| (8..=13).contains(&byte) || byte == b'\\' || byte == delimiter;
    let Some(first) = out[start..].iter().position(is_special) else { return };
    let rest = out.split_off(start + first);
    for byte in rest {
        let escaped = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
}

#[cfg(test)]
mod tests {
    use types::charset::Charset;

    use super::*;

    fn read(text: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
        let zone = TimeZone::UTC;
        let given = FileOptions::new(&[], &zone, Charset::UTF8).expect("none");
        let options = TextOptions::new(given).expect("defaults");
        let mut records = TextRecords::new(text, &options);
        let mut all = Vec::new();
        while records.next().expect("well formed") {
            let bytes = |&f: &Field| (f != Field::Null).then(|| records.bytes(f).to_vec());
            all.push(records.fields().iter().map(bytes).collect());
        }
        all
    }

    fn some(text: &str) -> Option<Vec<u8>> {
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn escapes_nulls_and_line_ends() {
        let text = b"a\t\\N\r\n\\tb\\\\\t\\101\\x42\\q\n\t\nlast\\\nline\t1\n\\.\nrest\n";
        let expected = vec![
            vec![some("a"), None],
            vec![some("\tb\\"), some("ABq")],
            vec![some(""), some("")],
            vec![some("last\nline"), some("1")],
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn cuts_are_after_lines() {
        assert_eq!(cut(b"a\\\nb\nc", 0), Some(5));
        assert_eq!(cut(b"a\nb", 2), None);
    }

    #[test]
    fn what_is_escaped_is_read_back() {
        let all: Vec<u8> = (1..128).collect();
        let mut out = Vec::new();
        out.extend_from_slice(&all);
        escape_from(&mut out, 0, b'\t');
        assert_eq!(read(&out), vec![vec![Some(all)]]);
    }

    #[test]
    fn characters_that_become_a_backslash_are_escaped() {
        let zone = TimeZone::UTC;
        let sjis = Charset::named("SJIS").expect("an encoding");
        let written = |charset, given: &[(String, String)], text: &str| {
            let given = FileOptions::new(given, &zone, charset).expect("options");
            let options = TextOptions::new(given).expect("options");
            let mut out = text.as_bytes().to_vec();
            TextWriter::new(options, Vec::new()).escape_from(&mut out, 0);
            String::from_utf8(out).expect("text")
        };
        let tilde = [("delimiter".to_owned(), "~".to_owned())];
        assert_eq!(written(sjis, &[], "¥n‾ \\"), "\\¥n‾ \\\\");
        assert_eq!(written(sjis, &tilde, "¥‾~"), "\\¥\\‾\\~");
        assert_eq!(written(Charset::UTF8, &[], "¥N"), "¥N");
    }
}
