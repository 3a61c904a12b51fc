//! Arrays from and to text: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, `[0:1]={5,6}`.

use std::io::Write as _;

use super::{append, append_in, parse_in};
use crate::array::{ArrayBuilder, DIMENSIONS_MAX, Dimension, Elements, Shape, decode, too_many};
use crate::budget::Room;
use crate::calendar::TimeZone;
use crate::characters::is_space;
use crate::{ElementType, Error, PackedType, Result, SqlState};

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
    /// Character between elements.
    delimiter: u8,
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

    /// `[2:4][0:1]=`: the dimensions in front of an array, none without them.
    fn dimensions(&mut self) -> Result<Vec<Dimension>> {
        let mut dimensions = Vec::new();
        while self.peek() == Some(b'[') {
            if dimensions.len() == DIMENSIONS_MAX {
                return Err(too_many(DIMENSIONS_MAX + 1));
            }
            self.at += 1;
            let first = self.subscript()?;
            let (lower, upper) = if self.peek() == Some(b':') {
                self.at += 1;
                (first, self.subscript()?)
            } else {
                (1, first)
            };
            self.expect(b']', "Missing \"]\" after array dimensions.")?;
            dimensions.push(Dimension::between(lower, upper)?);
            self.skip_space();
        }
        if !dimensions.is_empty() {
            self.expect(b'=', "Missing \"=\" after array dimensions.")?;
            self.skip_space();
        }
        Ok(dimensions)
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
                '}' => break,
                c if c == char::from(self.delimiter) => break,
                '{' => return Err(malformed(self.whole, "Unexpected \"{\" character.")),
                '"' if quoted || !text.is_empty() => {
                    return Err(malformed(self.whole, "Unexpected array element."));
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut text)?;
                    (quoted, kept) = (true, text.len());
                    self.skip_space();
                    if !self.peek().is_none_or(|byte| byte == b'}' || byte == self.delimiter) {
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

/// Braces of an array being read: how many elements each level has.
#[derive(Default)]
struct Levels {
    /// Elements so far in each open level, the outermost first.
    open: Vec<i32>,
    /// Elements of the closed ones of each level.
    lengths: Vec<Option<i32>>,
    /// The number of levels around an element.
    depth: Option<usize>,
}

impl Levels {
    fn enter(&mut self) -> Result<()> {
        if let Some(count) = self.open.last_mut() {
            *count = count.saturating_add(1);
        }
        self.open.push(0);
        if self.open.len() > DIMENSIONS_MAX {
            return Err(too_many(self.open.len()));
        }
        if self.lengths.len() < self.open.len() {
            self.lengths.push(None);
        }
        Ok(())
    }

    /// Closes the innermost level; false when one beside it had another length.
    fn leave(&mut self) -> bool {
        let Some(count) = self.open.pop() else { return false };
        let known = &mut self.lengths[self.open.len()];
        *known.get_or_insert(count) == count
    }

    /// Counts an element; false where there were arrays before.
    fn element(&mut self) -> bool {
        if let Some(count) = self.open.last_mut() {
            *count = count.saturating_add(1);
        }
        *self.depth.get_or_insert(self.open.len()) == self.open.len()
    }

    /// True within the braces where elements stand.
    fn is_innermost(&self) -> bool {
        self.depth == Some(self.open.len())
    }
}

/// The array that `text` denotes.
///
/// # Errors
/// 22P02, 2202E, 54000, and those of the elements.
pub(crate) fn parse_array(text: &str, element: ElementType, zone: &TimeZone) -> Result<Vec<u8>> {
    if is_vector(element) {
        return parse_vector(text, element);
    }
    let mut reader = Reader { whole: text, at: 0, delimiter: delimiter(element) };
    reader.skip_space();
    let mut dimensions = reader.dimensions()?;
    let expected = if dimensions.is_empty() {
        "Array value must start with \"{\" or dimension information."
    } else {
        "Array contents must start with \"{\"."
    };
    if reader.peek() != Some(b'{') {
        return Err(malformed(text, expected));
    }
    let (mut builder, mut levels) = (ArrayBuilder::new(), Levels::default());
    reader.contents(&mut levels, |word| match word {
        Some(word) => {
            builder.push_value(&parse_in(word, element.data_type(), zone)?, element);
            Ok(())
        }
        None => {
            builder.push_null();
            Ok(())
        }
    })?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    let lengths = levels.lengths.iter().map(|length| length.unwrap_or(0));
    if dimensions.is_empty() {
        dimensions = lengths.map(|length| Dimension { lower: 1, length }).collect();
    } else if !lengths.eq(dimensions.iter().map(|dimension| dimension.length)) {
        return Err(malformed(text, "Specified array dimensions do not match array contents."));
    }
    builder.finish_shaped(&Shape::new(&dimensions)?)
}

impl Reader<'_> {
    /// Reads all from the first brace to the last one; `take` gets each element, None for NULL.
    fn contents(
        &mut self,
        levels: &mut Levels,
        mut take: impl FnMut(Option<&str>) -> Result<()>,
    ) -> Result<()> {
        let uneven = "Multidimensional arrays must have sub-arrays with matching dimensions.";
        loop {
            self.skip_space();
            // Only a whole array is empty.
            let is_empty = levels.open.as_slice() == [0];
            match self.peek() {
                Some(b'{') if !levels.is_innermost() => {
                    self.at += 1;
                    levels.enter()?;
                    continue;
                }
                Some(b'}') if is_empty => {}
                _ => {
                    let (word, quoted) = self.element()?;
                    if !levels.element() {
                        return Err(malformed(self.whole, "Unexpected array element."));
                    }
                    let is_null = !quoted && word.eq_ignore_ascii_case("null");
                    take((!is_null).then_some(word.as_str()))?;
                }
            }
            // Behind an element, or at the end of a level without any.
            loop {
                self.skip_space();
                match self.peek() {
                    Some(b'}') => {
                        self.at += 1;
                        if !levels.leave() {
                            return Err(malformed(self.whole, uneven));
                        }
                        if levels.open.is_empty() {
                            return Ok(());
                        }
                    }
                    Some(byte) if byte == self.delimiter => {
                        self.at += 1;
                        break;
                    }
                    Some(_) => return Err(malformed(self.whole, "Unexpected array element.")),
                    None => return Err(malformed(self.whole, "Unexpected end of input.")),
                }
            }
        }
    }
}

/// Character between elements: boxes have commas of their own.
fn delimiter(element: ElementType) -> u8 {
    if element == ElementType::Packed(PackedType::Box) { b';' } else { b',' }
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
    let shape = Shape::of(array, element);
    if !shape.begins_at_one() {
        // A Vec takes whatever is written.
        let _ = write!(out, "{}=", shape.shown());
    }
    let delimiter = delimiter(element);
    let mut braces = Braces { delimiter, ..Braces::curly(&shape) };
    braces.begin(out);
    let mut word = Vec::new();
    for raw in Elements::new(array, element) {
        braces.next(out);
        if raw.is_none() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        word.clear();
        append_in(&mut word, &decode(raw, element), element.data_type(), zone);
        push_element(out, &word, delimiter);
    }
    braces.end(out);
}

/// Writer of the braces and commas around the elements of an array.
pub(crate) struct Braces {
    lengths: Vec<i32>,
    /// Elements written in each open level, the outermost first.
    written: Vec<i32>,
    pair: (u8, u8),
    delimiter: u8,
}

impl Braces {
    /// `{` and `}` of an array of this shape, of which none is written.
    pub(crate) fn curly(shape: &Shape) -> Self {
        Self { pair: (b'{', b'}'), ..Self::square(shape) }
    }

    /// `[` and `]` likewise.
    pub(crate) fn square(shape: &Shape) -> Self {
        let mut lengths: Vec<i32> =
            shape.dimensions().iter().map(|dimension| dimension.length).collect();
        if lengths.is_empty() {
            lengths.push(0);
        }
        Self { written: vec![0; lengths.len()], lengths, pair: (b'[', b']'), delimiter: b',' }
    }

    /// Opens all levels.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        out.extend(self.lengths.iter().map(|_| self.pair.0));
    }

    /// Writes what stands in front of the next element.
    pub(crate) fn next(&mut self, out: &mut Vec<u8>) {
        let innermost = self.lengths.len() - 1;
        let mut level = innermost;
        while level > 0 && self.written[level] == self.lengths[level] {
            out.push(self.pair.1);
            self.written[level] = 0;
            level -= 1;
            self.written[level] += 1;
        }
        if self.written[level] > 0 {
            out.push(self.delimiter);
        }
        out.extend((level..innermost).map(|_| self.pair.0));
        self.written[innermost] += 1;
    }

    /// Closes all levels.
    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        out.extend(self.lengths.iter().map(|_| self.pair.1));
    }
}

/// Appends an element, between quotes where it needs them.
fn push_element(out: &mut Vec<u8>, word: &[u8], delimiter: u8) {
    let special = |b: u8| matches!(b, b'"' | b'\\' | b'{' | b'}') || b == delimiter || is_space(b);
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
