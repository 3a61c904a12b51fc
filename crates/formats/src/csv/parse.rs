//! Records and fields of a part.

use crate::csv::options::Dialect;
use crate::rows::{Field, Records};

/// A quotation is not closed.
const OPEN_QUOTE: &str = "unterminated CSV quoted field";

/// Reads records one after the other; buffers are reused.
pub(crate) struct CsvRecords<'a> {
    text: &'a [u8],
    at: usize,
    dialect: &'a Dialect,
    fields: Vec<Field>,
    scratch: Vec<u8>,
}

impl<'a> CsvRecords<'a> {
    pub(crate) fn new(text: &'a [u8], dialect: &'a Dialect) -> Self {
        Self { text, at: 0, dialect, fields: Vec::new(), scratch: Vec::new() }
    }

    /// The next field, and whether another follows in the record.
    fn field(&mut self) -> Result<(Field, bool), &'static str> {
        // Past the end after a delimiter that was the file's last byte: an empty field.
        let start = self.at.min(self.text.len());
        let delimiter = self.dialect.delimiter;
        let rest = &self.text[start..];
        let plain = memchr::memchr3(delimiter, self.dialect.newline, self.dialect.quote, rest);
        let end = start + plain.unwrap_or(rest.len());
        if self.text.get(end) == Some(&self.dialect.quote) {
            return self.quoted_field();
        }
        let more = self.text.get(end) == Some(&delimiter);
        self.at = end + 1;
        let end = if !more && end > start && self.text[end - 1] == b'\r' { end - 1 } else { end };
        let is_null = &self.text[start..end] == self.dialect.null.as_bytes()
            && !is_set(&self.dialect.never_null, self.fields.len());
        Ok((if is_null { Field::Null } else { Field::Slice(start, end) }, more))
    }

    /// A field with quotes somewhere in it, copied without them.
    fn quoted_field(&mut self) -> Result<(Field, bool), &'static str> {
        let &Dialect { delimiter, quote, escape, newline, .. } = self.dialect;
        let start = self.scratch.len();
        let mut i = self.at;
        let mut inside = false;
        loop {
            let Some(&byte) = self.text.get(i) else {
                if inside {
                    return Err(OPEN_QUOTE);
                }
                break;
            };
            let next = self.text.get(i + 1).copied();
            if inside {
                if byte == escape
                    && (next == Some(quote) || (next == Some(escape) && escape != quote))
                {
                    self.scratch.push(next.unwrap_or(quote));
                    i += 2;
                    continue;
                }
                if byte == quote {
                    inside = false;
                } else {
                    self.scratch.push(byte);
                }
            } else if byte == quote {
                inside = true;
            } else if byte == delimiter || byte == newline {
                break;
            } else if !(byte == b'\r' && next.is_none_or(|n| n == b'\n')) {
                self.scratch.push(byte);
            }
            i += 1;
        }
        let more = self.text.get(i) == Some(&delimiter);
        self.at = i + 1;
        let is_null = is_set(&self.dialect.quoted_null, self.fields.len())
            && &self.scratch[start..] == self.dialect.null.as_bytes();
        let field = Field::Scratch(start, self.scratch.len());
        Ok((if is_null { Field::Null } else { field }, more))
    }
}

/// True when a column is one of those said.
fn is_set(columns: &[bool], column: usize) -> bool {
    columns.get(column).copied().unwrap_or(false)
}

impl Records for CsvRecords<'_> {
    fn offset(&self) -> usize {
        self.at
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn sources(&self) -> (&[u8], &[u8]) {
        (self.text, &self.scratch)
    }

    fn next(&mut self) -> Result<bool, &'static str> {
        if self.at >= self.text.len() {
            return Ok(false);
        }
        self.fields.clear();
        self.scratch.clear();
        let mut more = true;
        while more {
            let (field, another) = self.field()?;
            self.fields.push(field);
            more = another;
        }
        Ok(true)
    }

    fn is_blank(&self) -> bool {
        match self.fields.as_slice() {
            [Field::Null] => true,
            [Field::Slice(start, end)] => start == end,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use types::calendar::TimeZone;

    use super::*;

    fn dialect() -> Dialect {
        let (quote, escape) = (b'"', b'"');
        Dialect {
            delimiter: b',',
            quote,
            escape,
            newline: b'\n',
            null: String::new(),
            always_quoted: Vec::new(),
            never_null: Vec::new(),
            quoted_null: Vec::new(),
            zone: TimeZone::UTC,
            alike: &[],
        }
    }

    fn records(text: &str) -> Vec<Vec<Option<String>>> {
        let dialect = dialect();
        let mut records = CsvRecords::new(text.as_bytes(), &dialect);
        let mut all = Vec::new();
        while records.next().expect("well formed") {
            let text = |&f: &Field| {
                let bytes = records.bytes(f).to_vec();
                (f != Field::Null).then(|| String::from_utf8(bytes).expect("UTF-8"))
            };
            all.push(records.fields().iter().map(text).collect());
        }
        all
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn quotes_nulls_and_line_ends() {
        let text = "a,b\r\n,\"\"\n\"x,\"\"y\"\"\n\",z\nlast,";
        let expected = vec![
            vec![some("a"), some("b")],
            vec![None, some("")],
            vec![some("x,\"y\"\n"), some("z")],
            vec![some("last"), None],
        ];
        assert_eq!(records(text), expected);
    }

    #[test]
    fn a_quotation_that_never_ends_is_malformed() {
        let dialect = dialect();
        let mut records = CsvRecords::new(b"a,\"b\nc", &dialect);
        assert_eq!(records.next(), Err(OPEN_QUOTE));
    }
}
