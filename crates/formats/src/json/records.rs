//! Records of a file, found without looking at what they mean; their fields as columns.

use std::collections::HashMap;

use types::DataType;
use types::json::{Json, Kind, check, unescaped};

use crate::rows::{Field, Records};

/// A record that is not JSON.
const MALFORMED: &str = "malformed JSON";

/// How records stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One after the other, with space between them.
    Lines,
    /// Elements of one array.
    Array,
}

impl Layout {
    /// The layout of a file that begins with `text`, and the offset of its first record.
    pub(crate) fn of(text: &[u8]) -> (Self, usize) {
        let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match text.get(blanks) {
            Some(b'[') => (Self::Array, blanks + 1),
            _ => (Self::Lines, blanks),
        }
    }

    /// True for what may stand between two records.
    fn is_between(self, byte: u8) -> bool {
        byte.is_ascii_whitespace() || (self == Self::Array && byte == b',')
    }
}

/// Position in the nesting of values, byte by byte.
#[derive(Clone, Copy, Default)]
pub(crate) struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// Goes over `byte`; true when it stands outside of all values and strings, or closes one.
    pub(crate) fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            match (self.escaped, byte) {
                (true, _) => self.escaped = false,
                (false, b'\\') => self.escaped = true,
                (false, b'"') => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0 && !self.in_string
    }
}

/// The records of a part.
pub(crate) struct Texts<'t> {
    text: &'t [u8],
    at: usize,
    layout: Layout,
}

impl<'t> Texts<'t> {
    pub(crate) fn new(text: &'t [u8], layout: Layout) -> Self {
        Self { text, at: 0, layout }
    }

    /// Offset behind the last record.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The next record's text; None at the end of the part or of the array.
    pub(crate) fn next(&mut self) -> Option<&'t [u8]> {
        let rest = &self.text[self.at..];
        let blanks = rest.iter().take_while(|byte| self.layout.is_between(**byte)).count();
        let start = self.at + blanks;
        self.at = start;
        let first = *self.text.get(start)?;
        if first == b']' && self.layout == Layout::Array {
            return None;
        }
        let mut nesting = Nesting::default();
        let opens = matches!(first, b'{' | b'[');
        for (offset, byte) in self.text[start..].iter().enumerate() {
            let ends_before =
                self.layout.is_between(*byte) || (self.layout == Layout::Array && *byte == b']');
            let was_outside = nesting.depth == 0 && !nesting.in_string;
            if !opens && was_outside && ends_before {
                self.at = start + offset;
                return Some(&self.text[start..self.at]);
            }
            if nesting.step(*byte) && opens {
                self.at = start + offset + 1;
                return Some(&self.text[start..self.at]);
            }
        }
        self.at = self.text.len();
        Some(&self.text[start..])
    }
}

/// The records of a part as rows of columns.
pub(crate) struct JsonRecords<'t> {
    texts: Texts<'t>,
    text: &'t [u8],
    columns: &'t HashMap<Vec<u8>, usize>,
    types: Vec<DataType>,
    fields: Vec<Field>,
    scratch: Vec<u8>,
}

impl<'t> JsonRecords<'t> {
    /// Records of `text`, whose keys are those of `columns`, by ordinal.
    pub(crate) fn new(
        text: &'t [u8],
        layout: Layout,
        columns: &'t HashMap<Vec<u8>, usize>,
        types: Vec<DataType>,
    ) -> Self {
        let texts = Texts::new(text, layout);
        Self { texts, text, columns, types, fields: Vec::new(), scratch: Vec::new() }
    }

    /// The value as a field: text of strings, and of others as they stand.
    fn field(&mut self, value: Json<'t>, ty: DataType) -> Result<Field, &'static str> {
        let bytes = value.bytes();
        // Both are parts of the same text.
        let start = bytes.as_ptr() as usize - self.text.as_ptr() as usize;
        match value.kind() {
            Kind::Null => Ok(Field::Null),
            Kind::String if !is_json(ty) => {
                if !bytes.contains(&b'\\') {
                    return Ok(Field::Slice(start + 1, start + bytes.len() - 1));
                }
                let plain = unescaped(bytes).map_err(|_| MALFORMED)?;
                let from = self.scratch.len();
                self.scratch.extend_from_slice(&plain);
                Ok(Field::Scratch(from, self.scratch.len()))
            }
            _ => Ok(Field::Slice(start, start + bytes.len())),
        }
    }
}

fn is_json(ty: DataType) -> bool {
    matches!(ty, DataType::Json | DataType::Jsonb)
}

impl Records for JsonRecords<'_> {
    fn next(&mut self) -> Result<bool, &'static str> {
        let Some(record) = self.texts.next() else { return Ok(false) };
        check(record).map_err(|_| MALFORMED)?;
        self.fields.clear();
        self.fields.resize(self.types.len(), Field::Null);
        self.scratch.clear();
        let record = Json::new(record);
        if record.kind() != Kind::Object {
            // What is no object is the value of the only column.
            let ([ty], true) = (&self.types[..], self.columns.contains_key(&b"json"[..])) else {
                return Err("a record is no JSON object");
            };
            self.fields[0] = self.field(record, *ty)?;
            return Ok(true);
        }
        for (key, value) in record.fields() {
            let plain = unescaped(key).map_err(|_| MALFORMED)?;
            if let Some(ordinal) = self.columns.get(&*plain).copied() {
                self.fields[ordinal] = self.field(value, self.types[ordinal])?;
            }
        }
        Ok(true)
    }

    fn offset(&self) -> usize {
        self.texts.offset()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn sources(&self) -> (&[u8], &[u8]) {
        (self.text, &self.scratch)
    }

    fn is_blank(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        let (layout, start) = Layout::of(text.as_bytes());
        let mut records = Texts::new(&text.as_bytes()[start..], layout);
        let mut found = Vec::new();
        while let Some(record) = records.next() {
            found.push(std::str::from_utf8(record).unwrap_or_default());
        }
        found
    }

    #[test]
    fn records_are_found_in_lines_and_arrays() {
        let lines = "{\"a\":1}\n\n {\"a\": \"}\\\"{\",\n \"b\":[1,{}]} {}";
        assert_eq!(texts(lines), ["{\"a\":1}", "{\"a\": \"}\\\"{\",\n \"b\":[1,{}]}", "{}"]);
        assert_eq!(
            texts(" [ {\"a\":[1]}, {} ,\n3, \"x,y\" ]\n"),
            ["{\"a\":[1]}", "{}", "3", "\"x,y\""]
        );
        assert_eq!(texts("1 \"a b\" null"), ["1", "\"a b\"", "null"]);
        assert_eq!(texts("[]"), Vec::<&str>::new());
        assert_eq!(texts("  "), Vec::<&str>::new());
        assert_eq!(texts("{\"a\":"), ["{\"a\":"]);
    }
}
