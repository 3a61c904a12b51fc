//! Values inside of JSON text that was checked before: parts of the text, found by reading on.

use std::borrow::Cow;

use super::string::unescaped;
use crate::Result;

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{...}`.
    Object,
    /// `[...]`.
    Array,
    /// `"..."`.
    String,
    /// A number.
    Number,
    /// true or false.
    Boolean,
    /// null.
    Null,
}

impl Kind {
    /// As json_typeof calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

/// A value as it stands in the text of a JSON or JSONB, without the space around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<'t>(&'t [u8]);

impl<'t> Json<'t> {
    /// The value that `text`, which was checked, is.
    pub fn new(text: &'t [u8]) -> Self {
        Self(text.trim_ascii())
    }

    /// Its text.
    pub fn bytes(self) -> &'t [u8] {
        self.0
    }

    /// Kind of the value.
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// True for what is neither an object nor an array.
    pub fn is_scalar(self) -> bool {
        !matches!(self.kind(), Kind::Object | Kind::Array)
    }

    /// The fields of an object, in order; none of other values.
    pub fn fields(self) -> Fields<'t> {
        let at = if self.kind() == Kind::Object { 1 } else { self.0.len() };
        Fields(Parts { text: self.0, at })
    }

    /// The elements of an array; none of other values.
    pub fn elements(self) -> Elements<'t> {
        let at = if self.kind() == Kind::Array { 1 } else { self.0.len() };
        Elements(Parts { text: self.0, at })
    }

    /// The field of an object that is called `key`, the last one if there are several.
    ///
    /// # Errors
    /// 22P05, 22P02 for keys that are no text.
    pub fn field(self, key: &[u8]) -> Result<Option<Self>> {
        let mut found = None;
        for (raw, value) in self.fields() {
            if is_text(raw, key)? {
                found = Some(value);
            }
        }
        Ok(found)
    }

    /// Element `index` of an array, from 0; negative ones count from its end.
    pub fn element(self, index: i32) -> Option<Self> {
        match usize::try_from(index) {
            Ok(index) => self.elements().nth(index),
            Err(_) => {
                let back = index.unsigned_abs() as usize;
                let count = self.elements().count();
                self.elements().nth(count.checked_sub(back)?)
            }
        }
    }

    /// Value that a step of a path leads to: the key of a field, or a number as the subscript of an
    /// array.
    ///
    /// # Errors
    /// As [`Self::field`].
    pub fn step(self, step: &[u8]) -> Result<Option<Self>> {
        Ok(match self.kind() {
            Kind::Object => self.field(step)?,
            Kind::Array => index(step).and_then(|index| self.element(index)),
            _ => None,
        })
    }

    /// As `->>` gives it: a string without quotes and escapes, null as None.
    ///
    /// # Errors
    /// 22P05, 22P02 for strings that are no text.
    pub fn text(self) -> Result<Option<Cow<'t, [u8]>>> {
        match self.kind() {
            Kind::Null => Ok(None),
            Kind::String => unescaped(self.0).map(Some),
            _ => Ok(Some(Cow::Borrowed(self.0))),
        }
    }
}

/// True when the string `raw`, with its quotes, is `text`.
pub(super) fn is_text(raw: &[u8], text: &[u8]) -> Result<bool> {
    // Escapes are longer than what they stand for.
    if raw.len() < text.len() + 2 {
        return Ok(false);
    }
    Ok(*unescaped(raw)? == *text)
}

/// The subscript that a step of a path is, as C's strtol reads it.
pub(super) fn index(step: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(step).ok()?;
    text.trim_start_matches(|c: char| c.is_ascii() && crate::characters::is_space(c as u8))
        .parse()
        .ok()
}

/// A text of fields or elements, read to `at`.
#[derive(Clone, Debug)]
struct Parts<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Parts<'t> {
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    /// The next value, a string for a key; None at the end.
    fn next(&mut self) -> Option<&'t [u8]> {
        self.skip_space();
        let start = self.at;
        match self.text.get(start)? {
            b']' | b'}' => return None,
            _ => self.at = value_end(self.text, start),
        }
        Some(&self.text[start..self.at])
    }
}

/// Behind the value that begins at `at`.
fn value_end(text: &[u8], at: usize) -> usize {
    match text[at] {
        b'"' => string_end(text, at),
        b'{' | b'[' => {
            let mut depth = 0usize;
            let mut at = at;
            while let Some(&byte) = text.get(at) {
                match byte {
                    b'"' => {
                        at = string_end(text, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
            at
        }
        _ => {
            let is_end =
                |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
            let rest = &text[at..];
            at + rest.iter().position(is_end).unwrap_or(rest.len())
        }
    }
}

fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The fields of an object: keys as written, with their quotes, and values.
#[derive(Clone, Debug)]
pub struct Fields<'t>(Parts<'t>);

impl<'t> Iterator for Fields<'t> {
    type Item = (&'t [u8], Json<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.0.next()?;
        Some((key, Json(self.0.next()?)))
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'t>(Parts<'t>);

impl<'t> Iterator for Elements<'t> {
    type Item = Json<'t>;

    fn next(&mut self) -> Option<Json<'t>> {
        self.0.next().map(Json)
    }
}
