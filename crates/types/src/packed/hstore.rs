//! HSTORE: pairs of a key and a text or NULL, of which no two have one key.
//!
//! ```text
//! { bytes of the key 4, key, 00 (NULL) | 01 bytes of the value 4, value }*
//! ```
//! The pairs are ordered by the length of their keys, then by the keys, as PostgreSQL orders them;
//! so equal values are equal bytes.

use super::{Call, Given};
use crate::array::ArrayBuilder;
use crate::{DataType, Error, Result, SqlState, array, json};

type Computed = Result<Given>;

/// A pair; None is NULL.
pub(crate) type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

/// A pair that was read of text.
type OwnPair = (Vec<u8>, Option<Vec<u8>>);

/// The text that begins `bytes`, behind its length.
fn word<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (word, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *bytes = rest;
    Some(word)
}

fn push_word(out: &mut Vec<u8>, word: &[u8]) {
    // A value has less than 1 GiB.
    out.extend_from_slice(&(word.len() as u32).to_be_bytes());
    out.extend_from_slice(word);
}

/// The pairs of a value, in order.
pub(crate) fn pairs(mut bytes: &[u8]) -> Vec<Pair<'_>> {
    let mut pairs = Vec::new();
    while let Some(key) = word(&mut bytes) {
        let Some((is_there, rest)) = bytes.split_first() else { break };
        bytes = rest;
        let value = if *is_there == 0 { None } else { word(&mut bytes) };
        pairs.push((key, value));
    }
    pairs
}

/// Appends a value of pairs in any order; of several with one key the first counts.
fn push_pairs(out: &mut Vec<u8>, mut pairs: Vec<Pair<'_>>) {
    pairs.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    pairs.dedup_by(|(next, _), (kept, _)| next == kept);
    for (key, value) in pairs {
        push_word(out, key);
        match value {
            None => out.push(0),
            Some(value) => {
                out.push(1);
                push_word(out, value);
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// A value from its text, byte by byte.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// XX000, as PostgreSQL has it, at the character that does not fit.
    #[cold]
    fn error(&self) -> Error {
        let Some(first) = self.peek() else {
            return Error::new(SqlState::INTERNAL_ERROR, "Unexpected end of string");
        };
        let rest = String::from_utf8_lossy(&self.text[self.at..]);
        let near = rest.chars().next().unwrap_or(char::from(first));
        let message = format!("Syntax error near \"{near}\" at position {}", self.at);
        Error::new(SqlState::INTERNAL_ERROR, message)
    }

    /// The byte behind a backslash.
    fn escaped(&mut self) -> Result<u8> {
        self.at += 1;
        let byte = self.peek().ok_or_else(|| self.error())?;
        self.at += 1;
        Ok(byte)
    }

    /// A word, and true when it has quotes; `end` ends one without.
    fn word(&mut self, end: u8) -> Result<(Vec<u8>, bool)> {
        let mut word = Vec::new();
        if self.peek() == Some(b'"') {
            self.at += 1;
            loop {
                match self.peek() {
                    Some(b'"') => break,
                    Some(b'\\') => word.push(self.escaped()?),
                    Some(byte) => {
                        word.push(byte);
                        self.at += 1;
                    }
                    None => return Err(self.error()),
                }
            }
            self.at += 1;
            return Ok((word, true));
        }
        if self.peek() == Some(b'=') && end == b'=' {
            return Err(self.error());
        }
        loop {
            match self.peek() {
                Some(b'\\') => word.push(self.escaped()?),
                // A comma may begin a value.
                Some(byte) if byte == end && (end == b'=' || !word.is_empty()) => break,
                Some(byte) if !is_space(byte) => {
                    word.push(byte);
                    self.at += 1;
                }
                _ => break,
            }
        }
        Ok((word, false))
    }

    fn pair(&mut self) -> Result<OwnPair> {
        let (key, _) = self.word(b'=')?;
        self.skip_space();
        for byte in *b"=>" {
            if self.peek() != Some(byte) {
                return Err(self.error());
            }
            self.at += 1;
        }
        self.skip_space();
        if self.peek().is_none() {
            return Err(self.error());
        }
        let (value, is_quoted) = self.word(b',')?;
        let is_null = !is_quoted && value.eq_ignore_ascii_case(b"null");
        Ok((key, (!is_null).then_some(value)))
    }
}

/// The value that `text` denotes.
///
/// # Errors
/// XX000 for text that is none, as in PostgreSQL.
pub(crate) fn parse_hstore(text: &str) -> Result<Vec<u8>> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let mut read = Vec::new();
    loop {
        reader.skip_space();
        if reader.peek().is_none() {
            break;
        }
        read.push(reader.pair()?);
        reader.skip_space();
        match reader.peek() {
            None => break,
            Some(b',') => reader.at += 1,
            Some(_) => return Err(reader.error()),
        }
    }
    Ok(value_of(&read))
}

fn value_of(read: &[OwnPair]) -> Vec<u8> {
    let mut out = Vec::new();
    push_pairs(&mut out, read.iter().map(|(key, value)| (&key[..], value.as_deref())).collect());
    out
}

/// Appends a value as PostgreSQL prints it.
pub(crate) fn format_hstore(out: &mut Vec<u8>, bytes: &[u8]) {
    let quoted = |out: &mut Vec<u8>, word: &[u8]| {
        out.push(b'"');
        for byte in word {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        out.push(b'"');
    };
    for (number, (key, value)) in pairs(bytes).into_iter().enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        quoted(out, key);
        out.extend_from_slice(b"=>");
        match value {
            Some(value) => quoted(out, value),
            None => out.extend_from_slice(b"NULL"),
        }
    }
}

/// Numbers of the loose conversion to JSON are not texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looseness {
    Strict,
    Loose,
}

fn push_json(out: &mut Vec<u8>, bytes: &[u8], looseness: Looseness) {
    out.push(b'{');
    for (number, (key, value)) in pairs(bytes).into_iter().enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        json::push_quoted(out, key);
        out.extend_from_slice(b": ");
        match value {
            None => out.extend_from_slice(b"null"),
            Some(b"t") if looseness == Looseness::Loose => out.extend_from_slice(b"true"),
            Some(b"f") if looseness == Looseness::Loose => out.extend_from_slice(b"false"),
            Some(value) if looseness == Looseness::Loose && is_number(value) => {
                out.extend_from_slice(value);
            }
            Some(value) => json::push_quoted(out, value),
        }
    }
    out.push(b'}');
}

/// True for what JSON has as a number.
fn is_number(text: &[u8]) -> bool {
    let begins = text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
    begins && json::check(text).is_ok()
}

/// A value as JSON; JSONB is in its canonical form.
pub(super) fn json_of(bytes: &[u8], to: DataType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    push_json(&mut out, bytes, Looseness::Strict);
    if to == DataType::Jsonb { json::canonical(&out) } else { Ok(out) }
}

/// The value of an array of keys and values, by turns or in pairs.
///
/// # Errors
/// 2202E for an odd count, or rows that are no pairs; 22004 for a key that is NULL.
pub(super) fn of_array(bytes: &[u8], element: crate::ElementType) -> Result<Vec<u8>> {
    let shape = array::Shape::of(bytes, element);
    let wrong = |message: &str| Err(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
    match shape.dimensions() {
        [] => return Ok(Vec::new()),
        [one] if one.length % 2 != 0 => {
            return wrong("array must have even number of elements");
        }
        [_, two] if two.length != 2 => return wrong("array must have two columns"),
        [_] | [_, _] => {}
        _ => return wrong("wrong number of array subscripts"),
    }
    let all: Vec<_> =
        array::Elements::new(bytes, element).map(|raw| raw.map(array::text_bytes)).collect();
    let mut found = Vec::with_capacity(all.len() / 2);
    for pair in all.chunks_exact(2) {
        found.push((key_of(pair[0].as_deref())?, pair[1].as_deref()));
    }
    let mut out = Vec::new();
    push_pairs(&mut out, found);
    Ok(out)
}

/// # Errors
/// 22004 for NULL.
fn key_of(key: Option<&[u8]>) -> Result<&[u8]> {
    let null = || Error::new(SqlState::NULL_NOT_ALLOWED, "null value not allowed for hstore key");
    key.ok_or_else(null)
}

/// `hstore(text[])`.
pub(super) fn from_array(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let Some(DataType::Array(element)) = call.types.first().copied() else {
        return Err(Error::internal("an array expected"));
    };
    *out = of_array(call.bytes(0), element)?;
    Ok(Given::Bytes)
}

/// `hstore(text, text)`: NULL without a key.
pub(super) fn from_pair(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    if call.is_null(0) {
        return Ok(Given::Null);
    }
    let value = (!call.is_null(1)).then(|| call.bytes(1));
    push_pairs(out, vec![(call.bytes(0), value)]);
    Ok(Given::Bytes)
}

/// `hstore(text[], text[])`: keys, and their values, which may be NULL as a whole.
pub(super) fn from_arrays(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    if call.is_null(0) {
        return Ok(Given::Null);
    }
    let (keys, values) = (call.texts(0), call.texts(1));
    if !call.is_null(1) && keys.len() != values.len() {
        let message = "arrays must have same bounds";
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
    }
    let mut found = Vec::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        let value = values.get(at).and_then(|value| value.as_deref());
        found.push((key_of(key.as_deref())?, value));
    }
    push_pairs(out, found);
    Ok(Given::Bytes)
}

fn lookup<'a>(pairs: &[Pair<'a>], key: &[u8]) -> Option<Option<&'a [u8]>> {
    pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
}

/// `->`.
pub(super) fn fetch(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    match lookup(&pairs(call.bytes(0)), call.bytes(1)).flatten() {
        Some(value) => {
            out.extend_from_slice(value);
            Ok(Given::Bytes)
        }
        None => Ok(Given::Null),
    }
}

/// `-> text[]`: the values of keys, NULL where there is none.
pub(super) fn fetch_all(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let pairs = pairs(call.bytes(0));
    let mut builder = ArrayBuilder::new();
    for key in call.texts(1) {
        match key.and_then(|key| lookup(&pairs, &key)).flatten() {
            Some(value) => builder.push_text(value),
            None => builder.push_null(),
        }
    }
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

/// `slice`: the pairs of these keys.
pub(super) fn slice(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let keys = call.elements(1);
    let mut kept = pairs(call.bytes(0));
    kept.retain(|(key, _)| keys.iter().any(|wanted| **wanted == **key));
    push_pairs(out, kept);
    Ok(Given::Bytes)
}

/// `||`: of two pairs with one key the second counts.
pub(super) fn concatenate(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut all = pairs(call.bytes(1));
    all.extend(pairs(call.bytes(0)));
    push_pairs(out, all);
    Ok(Given::Bytes)
}

/// `?`.
pub(super) fn exists(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(lookup(&pairs(call.bytes(0)), call.bytes(1)).is_some()))
}

/// `?|`.
pub(super) fn exists_any(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let pairs = pairs(call.bytes(0));
    Ok(Given::Bool(call.elements(1).iter().any(|key| lookup(&pairs, key).is_some())))
}

/// `?&`.
pub(super) fn exists_all(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let pairs = pairs(call.bytes(0));
    Ok(Given::Bool(call.elements(1).iter().all(|key| lookup(&pairs, key).is_some())))
}

/// `defined`: a value that is not NULL.
pub(super) fn defined(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(lookup(&pairs(call.bytes(0)), call.bytes(1)).flatten().is_some()))
}

fn holds(whole: &[u8], part: &[u8]) -> bool {
    let whole = pairs(whole);
    pairs(part).into_iter().all(|(key, value)| lookup(&whole, key) == Some(value))
}

/// `@>`.
pub(super) fn contains(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(holds(call.bytes(0), call.bytes(1))))
}

/// `<@`.
pub(super) fn contained(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(holds(call.bytes(1), call.bytes(0))))
}

/// `- text`.
pub(super) fn without_key(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut kept = pairs(call.bytes(0));
    kept.retain(|(key, _)| *key != call.bytes(1));
    push_pairs(out, kept);
    Ok(Given::Bytes)
}

/// `- text[]`.
pub(super) fn without_keys(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let keys = call.elements(1);
    let mut kept = pairs(call.bytes(0));
    kept.retain(|(key, _)| !keys.iter().any(|gone| **gone == **key));
    push_pairs(out, kept);
    Ok(Given::Bytes)
}

/// `- hstore`: pairs that are equal go.
pub(super) fn without_pairs(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let gone = pairs(call.bytes(1));
    let mut kept = pairs(call.bytes(0));
    kept.retain(|pair| !gone.contains(pair));
    push_pairs(out, kept);
    Ok(Given::Bytes)
}

/// `akeys`.
pub(super) fn keys(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut builder = ArrayBuilder::new();
    pairs(call.bytes(0)).into_iter().for_each(|(key, _)| builder.push_text(key));
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

fn push_value(builder: &mut ArrayBuilder, value: Option<&[u8]>) {
    match value {
        Some(value) => builder.push_text(value),
        None => builder.push_null(),
    }
}

/// `avals`.
pub(super) fn values(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut builder = ArrayBuilder::new();
    pairs(call.bytes(0)).into_iter().for_each(|(_, value)| push_value(&mut builder, value));
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

fn by_turns(bytes: &[u8]) -> ArrayBuilder {
    let mut builder = ArrayBuilder::new();
    for (key, value) in pairs(bytes) {
        builder.push_text(key);
        push_value(&mut builder, value);
    }
    builder
}

/// `hstore_to_array`: keys and values by turns.
pub(super) fn to_array(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    out.extend_from_slice(&by_turns(call.bytes(0)).finish()?);
    Ok(Given::Bytes)
}

/// `hstore_to_matrix`: a row for each pair.
pub(super) fn to_matrix(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let builder = by_turns(call.bytes(0));
    if builder.is_empty() {
        out.extend_from_slice(&builder.finish()?);
        return Ok(Given::Bytes);
    }
    let rows = i32::try_from(builder.len() / 2).unwrap_or(i32::MAX);
    let dimensions = [array::Dimension::between(1, rows)?, array::Dimension::between(1, 2)?];
    out.extend_from_slice(&builder.finish_shaped(&array::Shape::new(&dimensions)?)?);
    Ok(Given::Bytes)
}

/// `hstore_to_json` and `hstore_to_jsonb`.
pub(super) fn to_json(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    *out = json_of(call.bytes(0), call.ty)?;
    Ok(Given::Bytes)
}

/// `hstore_to_json_loose` and `hstore_to_jsonb_loose`.
pub(super) fn to_json_loose(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    push_json(out, call.bytes(0), Looseness::Loose);
    if call.ty == DataType::Jsonb {
        *out = json::canonical(out)?;
    }
    Ok(Given::Bytes)
}

/// Appends the binary form: the count, then keys and values behind their lengths, -1 for NULL.
pub(super) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    let pairs = pairs(bytes);
    out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
    for (key, value) in pairs {
        push_word(out, key);
        match value {
            Some(value) => push_word(out, value),
            None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
    }
}

/// The value of a binary form; None when it is none.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    bytes = rest;
    let mut found = Vec::new();
    for _ in 0..u32::from_be_bytes(*count) {
        let key = word(&mut bytes)?;
        let value = match bytes.split_first_chunk::<4>() {
            Some((length, rest)) if i32::from_be_bytes(*length) == -1 => {
                bytes = rest;
                None
            }
            _ => Some(word(&mut bytes)?),
        };
        let is_text = |word: &[u8]| std::str::from_utf8(word).is_ok();
        if !is_text(key) || !value.is_none_or(is_text) {
            return None;
        }
        found.push((key, value));
    }
    let mut out = Vec::new();
    push_pairs(&mut out, found);
    bytes.is_empty().then_some(out)
}
