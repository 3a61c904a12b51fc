//! Writing.

use std::borrow::Cow;
use std::sync::Arc;

use engine::registry::{FileOptions, FileWriter};
use kernels::print::append_text;
use kernels::{Batch, Column, Vector};
use types::{DataType, Result};

use crate::csv::options::{CsvOptions, Dialect, Header, Way};
use crate::output::Output;

/// Creates `path`, with a header when asked for.
pub(crate) fn create(
    path: &str,
    options: FileOptions<'_>,
    columns: &[(String, DataType)],
) -> Result<Box<dyn FileWriter>> {
    let charset = options.charset;
    let options = CsvOptions::new(options)?;
    let dialect = options.dialect_of(columns, Way::Out)?;
    let types = columns.iter().map(|(_, ty)| *ty).collect();
    let output = Output::create_text(path, charset)?;
    let mut writer = CsvWriter { output, dialect, types, lines: Vec::new() };
    if matches!(options.header, Some(Header::Present | Header::Match)) {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        write_names(&mut writer.lines, &names, &writer.dialect);
        writer.output.take(&mut writer.lines)?;
    }
    Ok(Box::new(writer))
}

/// Appends a line of names.
pub(crate) fn write_names(out: &mut Vec<u8>, names: &[String], dialect: &Dialect) {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(dialect.delimiter);
        }
        let start = out.len();
        out.extend_from_slice(name.as_bytes());
        quote_from(out, start, (names.len(), false), dialect);
    }
    out.push(b'\n');
}

/// Appends row `row` of `columns`, a line.
pub(crate) fn write_row(
    out: &mut Vec<u8>,
    columns: &[Arc<Vector>],
    row: usize,
    types: &[DataType],
    dialect: &Dialect,
) {
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(dialect.delimiter);
        }
        if column.is_null(row) {
            out.extend_from_slice(dialect.null.as_bytes());
            continue;
        }
        let start = out.len();
        append_text(out, column, row, types[i], &dialect.zone);
        let is_forced = dialect.always_quoted.get(i).copied().unwrap_or(false);
        quote_from(out, start, (columns.len(), is_forced), dialect);
    }
    out.push(b'\n');
}

/// Puts the field `out[start..]`, of a line with `fields` of them, in quotes where it needs them or
/// is to have them: `\.` in a line of its own would be the end.
fn quote_from(
    out: &mut Vec<u8>,
    start: usize,
    (fields, is_forced): (usize, bool),
    dialect: &Dialect,
) {
    let Dialect { delimiter, quote, escape, null, .. } = dialect;
    let special = |&c: &u8| c == *delimiter || c == *quote || c == b'\n' || c == b'\r';
    let value = &out[start..];
    let read = as_read(value, dialect);
    let is_end = fields == 1 && *read == *b"\\.";
    let needs = value == null.as_bytes() || is_end || read.iter().any(special);
    if !needs && !is_forced {
        return;
    }
    let is_escaped = |c: u8| c == *quote || c == *escape;
    let value = out.split_off(start);
    out.push(*quote);
    match std::str::from_utf8(&value) {
        Ok(text) if !dialect.alike.is_empty() && !text.is_ascii() => {
            for c in text.chars() {
                let byte = dialect.alike.iter().find(|(other, _)| *other == c);
                let byte = byte
                    .map(|(_, byte)| *byte)
                    .or_else(|| u8::try_from(c).ok().filter(u8::is_ascii));
                if byte.is_some_and(is_escaped) {
                    out.push(*escape);
                }
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        _ => {
            for c in value {
                if is_escaped(c) {
                    out.push(*escape);
                }
                out.push(c);
            }
        }
    }
    out.push(*quote);
}

/// A value with the bytes in ASCII that readers of the file find in it.
fn as_read<'v>(value: &'v [u8], dialect: &Dialect) -> Cow<'v, [u8]> {
    if dialect.alike.is_empty() || value.is_ascii() {
        return Cow::Borrowed(value);
    }
    let mut text = String::from_utf8_lossy(value).into_owned();
    for (other, byte) in dialect.alike {
        text = text.replace(*other, char::from(*byte).encode_utf8(&mut [0; 4]));
    }
    Cow::Owned(text.into_bytes())
}

struct CsvWriter {
    output: Output,
    dialect: Dialect,
    types: Vec<DataType>,
    lines: Vec<u8>,
}

impl FileWriter for CsvWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
        for row in 0..batch.rows {
            write_row(&mut self.lines, &columns, row, &self.types, &self.dialect);
        }
        self.output.take(&mut self.lines)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.output.finish()
    }
}

#[cfg(test)]
mod tests {
    use types::calendar::TimeZone;
    use types::charset::Charset;

    use super::*;

    /// A field as it is written, in the bytes of the encoding.
    fn written(charset: &str, given: &[(&str, &str)], value: &str) -> Vec<u8> {
        let charset = Charset::named(charset).expect("an encoding");
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let given: Vec<(String, String)> = given.collect();
        let zone = TimeZone::UTC;
        let options = FileOptions::new(&given, &zone, charset).expect("options");
        let columns = [("a".to_owned(), DataType::Text)];
        let options = CsvOptions::new(options).expect("options");
        let dialect = options.dialect_of(&columns, Way::Out).expect("options");
        let mut out = value.as_bytes().to_vec();
        let is_forced = dialect.always_quoted.first().copied().unwrap_or(false);
        quote_from(&mut out, 0, (1, is_forced), &dialect);
        let mut bytes = Vec::new();
        charset.encode(std::str::from_utf8(&out).expect("text"), &mut bytes).expect("it has them");
        bytes
    }

    #[test]
    fn characters_that_become_special_are_quoted_and_escaped() {
        let tilde = [("delimiter", "~")];
        let backslash = [("escape", "\\"), ("force_quote", "*")];
        // As PostgreSQL writes them.
        let check = |given: &[(&str, &str)], value: &str, expected: &[u8]| {
            assert_eq!(written("SJIS", given, value), expected, "{value}");
        };
        check(&[], "¥‾", br"\~");
        check(&[], "¥.", br#""\.""#);
        check(&tilde, "‾", br#""~""#);
        check(&tilde, "a‾b", br#""a~b""#);
        check(&tilde, "¥", br"\");
        check(&backslash, "¥", br#""\\""#);
        check(&backslash, "a\\b\"", br#""a\\b\"""#);
        check(&backslash, "表", b"\"\x95\\\"");
        check(&[("quote", "~")], "‾", b"~~~~");
        check(&[("quote", "\\")], "¥", br"\\\\");
        assert_eq!(written("UTF8", &tilde, "‾¥"), "‾¥".as_bytes());
        assert_eq!(written("UTF8", &backslash, "¥"), "\"¥\"".as_bytes());
    }
}
