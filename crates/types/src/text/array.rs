//! Arrays from and to text: `{1,NULL,"a b"}`, `[0:1]={5,6}`.

use std::io::Write as _;

use super::{append, append_in, parse_in};
use crate::array::{ArrayBuilder, Elements, bounds, decode};
use crate::budget::Room;
use crate::calendar::TimeZone;
use crate::characters::is_space;
use crate::{ElementType, Error, Result, SqlState};

/// 22P02 in PostgreSQL's words.
#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    let message = format!("malformed array literal: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT, message).with_detail(detail)
}

/// Text being read.
struct Reader<'t> {
    whole: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.whole.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, detail: &str) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(malformed(self.whole, detail));
        }
        self.at += 1;
        Ok(())
    }

    /// `[2:4]=`: the first and the last subscript.
    fn dimension(&mut self) -> Result<Option<(i32, i32)>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        self.at += 1;
        let first = self.subscript()?;
        let bounds = if self.peek() == Some(b':') {
            self.at += 1;
            (first, self.subscript()?)
        } else {
            (1, first)
        };
        self.expect(b']', "Missing \"]\" after array dimensions.")?;
        self.skip_space();
        if self.peek() == Some(b'[') {
            return Err(Error::unsupported("an array of several dimensions"));
        }
        if bounds.1 < bounds.0 {
            let message = "upper bound cannot be less than lower bound";
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
        }
        self.expect(b'=', "Missing \"=\" after array dimensions.")?;
        self.skip_space();
        Ok(Some(bounds))
    }

    fn subscript(&mut self) -> Result<i32> {
        let start = self.at;
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = &self.whole[start..self.at];
        digits.parse().map_err(|_| {
            malformed(self.whole, "\"[\" must introduce explicitly-specified array dimensions.")
        })
    }

    /// The next element without its quotes, and whether it had any.
    fn element(&mut self) -> Result<(String, bool)> {
        let (mut text, mut quoted, mut kept) = (String::new(), false, 0);
        let unended = |whole: &str| malformed(whole, "Unexpected end of input.");
        self.skip_space();
        loop {
            let rest = &self.whole[self.at..];
            let c = rest.chars().next().ok_or_else(|| unended(self.whole))?;
            match c {
                ',' | '}' => break,
                '{' => {
                    return Err(if text.is_empty() && !quoted {
                        Error::unsupported("an array of several dimensions")
                    } else {
                        malformed(self.whole, "Unexpected \"{\" character.")
                    });
                }
                '"' if quoted || !text.is_empty() => {
                    return Err(malformed(self.whole, "Unexpected array element."));
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut text)?;
                    (quoted, kept) = (true, text.len());
                    self.skip_space();
                    if !matches!(self.peek(), None | Some(b',' | b'}')) {
                        return Err(malformed(self.whole, "Unexpected array element."));
                    }
                }
                '\\' => {
                    let next = rest.chars().nth(1).ok_or_else(|| unended(self.whole))?;
                    text.push(next);
                    (quoted, kept) = (true, text.len());
                    self.at += 1 + next.len_utf8();
                }
                c => {
                    text.push(c);
                    if !(c.is_ascii() && is_space(c as u8)) {
                        kept = text.len();
                    }
                    self.at += c.len_utf8();
                }
            }
        }
        // Blanks at the end do not count.
        text.truncate(kept);
        if text.is_empty() && !quoted {
            let found = self.peek().map_or(',', char::from);
            return Err(malformed(self.whole, &format!("Unexpected \"{found}\" character.")));
        }
        Ok((text, quoted))
    }

    /// Reads the text between quotes, of which the first is read.
    fn quoted(&mut self, text: &mut String) -> Result<()> {
        let mut characters = self.whole[self.at..].char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(());
                }
                '\\' => match characters.next() {
                    Some((_, next)) => text.push(next),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(malformed(self.whole, "Unexpected end of input."))
    }
}

/// The array that `text` denotes.
///
/// # Errors
/// 22P02, 0A000 for several dimensions, and those of the elements.
pub(crate) fn parse_array(text: &str, element: ElementType, zone: &TimeZone) -> Result<Vec<u8>> {
    if is_vector(element) {
        return parse_vector(text, element);
    }
    let mut reader = Reader { whole: text, at: 0 };
    reader.skip_space();
    let dimension = reader.dimension()?;
    let expected = match dimension {
        None => "Array value must start with \"{\" or dimension information.",
        Some(_) => "Array contents must start with \"{\".",
    };
    reader.expect(b'{', expected)?;
    let mut builder = ArrayBuilder::new();
    reader.skip_space();
    let mut open = reader.peek() != Some(b'}');
    if !open {
        reader.at += 1;
    }
    while open {
        let (word, quoted) = reader.element()?;
        if !quoted && word.eq_ignore_ascii_case("null") {
            builder.push_null();
        } else {
            builder.push_value(&parse_in(&word, element.data_type(), zone)?, element);
        }
        open = reader.peek() == Some(b',');
        reader.at += 1;
    }
    reader.skip_space();
    if reader.at < text.len() {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    if let Some((first, last)) = dimension {
        let count = i64::try_from(builder.len()).unwrap_or(i64::MAX);
        if i64::from(last) - i64::from(first) + 1 != count {
            return Err(malformed(text, "Specified array dimensions do not match array contents."));
        }
    }
    builder.finish_from(dimension.map_or(1, |(first, _)| first))
}

fn is_vector(element: ElementType) -> bool {
    matches!(element, ElementType::VectorSmallInt | ElementType::VectorOid)
}

/// An `int2vector` or `oidvector`: numbers with blanks between them, from subscript 0.
fn parse_vector(text: &str, element: ElementType) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    for word in text.split_ascii_whitespace() {
        builder.push_value(&super::parse(word, element.data_type())?, element);
    }
    builder.finish_from(0)
}

/// Appends an array as PostgreSQL prints it.
pub(crate) fn format_array(out: &mut Vec<u8>, array: &[u8], element: ElementType, zone: &TimeZone) {
    if is_vector(element) {
        let numbers = Elements::new(array, element).map(|raw| decode(raw, element));
        for (at, number) in numbers.enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            append_in(out, &number, element.data_type(), zone);
        }
        return;
    }
    if let Some((first, last)) = bounds(array, element)
        && first != 1
    {
        // A Vec takes whatever is written.
        let _ = write!(out, "[{first}:{last}]=");
    }
    out.push(b'{');
    let mut word = Vec::new();
    for (at, raw) in Elements::new(array, element).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if raw.is_none() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        word.clear();
        append_in(&mut word, &decode(raw, element), element.data_type(), zone);
        push_element(out, &word);
    }
    out.push(b'}');
}

/// Appends an element, between quotes where it needs them.
fn push_element(out: &mut Vec<u8>, word: &[u8]) {
    let special = |b: u8| matches!(b, b'"' | b'\\' | b'{' | b'}' | b',') || is_space(b);
    if !word.is_empty()
        && !word.eq_ignore_ascii_case(b"null")
        && !word.iter().any(|byte| special(*byte))
    {
        out.extend_from_slice(word);
        return;
    }
    out.push(b'"');
    for &byte in word {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// array_to_string: NULLs as `null`, or left out.
///
/// # Errors
/// As [`Room::make`].
pub fn joined(
    array: &[u8],
    element: ElementType,
    separator: &str,
    null: Option<&str>,
) -> Result<Vec<u8>> {
    let (mut out, mut room) = (Vec::new(), Room::default());
    let mut is_first = true;
    for raw in Elements::new(array, element) {
        if raw.is_none() && null.is_none() {
            continue;
        }
        if !is_first {
            room.push(&mut out, separator.as_bytes())?;
        }
        is_first = false;
        match raw {
            Some(bytes) => {
                room.make(&mut out, bytes.len())?;
                append(&mut out, &decode(raw, element), element.data_type());
            }
            None => room.push(&mut out, null.unwrap_or_default().as_bytes())?,
        }
    }
    Ok(out)
}
