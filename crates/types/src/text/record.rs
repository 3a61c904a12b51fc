//! Records from and to text: `(1,"a b",)`.

use super::{append_in, parse_in};
use crate::array::ArrayBuilder;
use crate::calendar::TimeZone;
use crate::characters::is_space;
use crate::record::{Fields, push_field};
use crate::{Error, RecordType, Result, SqlState};

/// Appends a record as PostgreSQL prints it.
pub(crate) fn format_record(out: &mut Vec<u8>, record: &[u8], ty: RecordType, zone: &TimeZone) {
    out.push(b'(');
    let mut word = Vec::new();
    for (at, (value, field)) in Fields::new(record, ty).zip(ty.fields()).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if value.is_null() {
            continue;
        }
        word.clear();
        append_in(&mut word, &value, field.ty, zone);
        push_field_text(out, &word);
    }
    out.push(b')');
}

/// Appends the text of a field, between quotes where it needs them.
fn push_field_text(out: &mut Vec<u8>, word: &[u8]) {
    let special = |b: u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(b);
    if !word.is_empty() && !word.iter().any(|byte| special(*byte)) {
        out.extend_from_slice(word);
        return;
    }
    out.push(b'"');
    for &byte in word {
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// 22P02 in PostgreSQL's words.
#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    let message = format!("malformed record literal: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT, message).with_detail(detail)
}

/// The record that `text` denotes.
///
/// # Errors
/// 0A000 for a record that is no row of a relation, 22P02, and those of the fields.
pub(crate) fn parse_record(text: &str, ty: RecordType, zone: &TimeZone) -> Result<Vec<u8>> {
    if ty.number().is_none() {
        let message = "input of anonymous composite types is not implemented";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let inner = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let Some(mut rest) = inner.strip_prefix('(') else {
        return Err(malformed(text, "Missing left parenthesis."));
    };
    let mut builder = ArrayBuilder::new();
    for (at, field) in ty.fields().iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed(text, "Too few columns."))?;
        }
        let (word, after) = next_field(text, rest)?;
        rest = after;
        let value = match word {
            Some(word) => parse_in(&word, field.ty, zone)?,
            None => crate::Value::Null,
        };
        push_field(&mut builder, &value, field.ty)?;
    }
    let Some(rest) = rest.strip_prefix(')') else {
        return Err(malformed(text, "Too many columns."));
    };
    if !rest.bytes().all(is_space) {
        return Err(malformed(text, "Junk after right parenthesis."));
    }
    builder.finish()
}

/// The text of the next field, None for NULL, and what stands behind it.
fn next_field<'t>(whole: &str, text: &'t str) -> Result<(Option<String>, &'t str)> {
    if text.starts_with([',', ')']) {
        return Ok((None, text));
    }
    let mut word = String::new();
    let mut is_quoted = false;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            ',' | ')' if !is_quoted => return Ok((Some(word), &text[at..])),
            '\\' => match characters.next() {
                Some((_, next)) => word.push(next),
                None => break,
            },
            '"' if is_quoted && text[at + 1..].starts_with('"') => {
                characters.next();
                word.push('"');
            }
            '"' => is_quoted = !is_quoted,
            c => word.push(c),
        }
    }
    Err(malformed(whole, "Unexpected end of input."))
}
