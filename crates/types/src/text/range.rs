//! Ranges and multiranges from and to text: `[1,5)`, `{[1,3),[7,)}`.

use super::packed::shown;
use super::parse_in;
use crate::calendar::TimeZone;
use crate::characters::is_space;
use crate::packed::{Bound, Span, merged, push_multirange, push_span, range_of, spans};
use crate::{Error, RangeKind, Result, SqlState, Value};

/// 22P02 in PostgreSQL's words.
#[cold]
fn malformed(what: &str, text: &str, detail: &str) -> Error {
    let message = format!("malformed {what} literal: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT, message).with_detail(detail)
}

fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// The texts of a range's ends, None where there is none, and whether they are in it.
struct Ends<'t> {
    lower: Option<String>,
    lower_in: bool,
    upper: Option<String>,
    upper_in: bool,
    /// The text behind the range.
    rest: &'t str,
}

/// Reads an end, up to the comma or the bracket behind it.
fn end<'t>(whole: &str, text: &'t str) -> Result<(Option<String>, &'t str)> {
    if text.starts_with([',', ')', ']']) {
        return Ok((None, text));
    }
    let mut word = String::new();
    let mut is_quoted = false;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            ',' | ')' | ']' if !is_quoted => return Ok((Some(word), &text[at..])),
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
    Err(malformed("range", whole, "Unexpected end of input."))
}

/// Reads a range that is not written as `empty`.
fn ends<'t>(whole: &str, text: &'t str) -> Result<Ends<'t>> {
    let lower_in = text.starts_with('[');
    let Some(rest) = text.strip_prefix(['[', '(']) else {
        return Err(malformed("range", whole, "Missing left parenthesis or bracket."));
    };
    let (lower, rest) = end(whole, rest)?;
    let Some(rest) = rest.strip_prefix(',') else {
        return Err(malformed("range", whole, "Missing comma after lower bound."));
    };
    let (upper, rest) = end(whole, rest)?;
    let upper_in = rest.starts_with(']');
    let Some(rest) = rest.strip_prefix([']', ')']) else {
        return Err(malformed("range", whole, "Too many commas."));
    };
    Ok(Ends { lower, lower_in, upper, upper_in, rest })
}

/// The range of ends that were read; None when it is empty.
fn span(ends: Ends<'_>, kind: RangeKind, zone: &TimeZone) -> Result<Option<Span<'static>>> {
    let bound = |word: Option<String>, inclusive: bool| -> Result<Bound<'static>> {
        let value = match word {
            Some(word) => parse_in(&word, kind.bound(), zone)?,
            None => Value::Null,
        };
        Ok(Bound::of(&value, inclusive, kind))
    };
    let lower = bound(ends.lower, ends.lower_in)?;
    range_of(lower, bound(ends.upper, ends.upper_in)?, kind)
}

/// The text behind the word `empty`, when that stands first.
fn behind_empty(text: &str) -> Option<&str> {
    let word = text.get(..5)?;
    word.eq_ignore_ascii_case("empty").then(|| &text[5..])
}

/// The range that `text` denotes.
///
/// # Errors
/// 22P02, 22000, and those of the bounds.
pub(super) fn parse_range(text: &str, kind: RangeKind, zone: &TimeZone) -> Result<Vec<u8>> {
    let inner = without_blanks(text);
    if let Some(rest) = behind_empty(inner) {
        if !without_blanks(rest).is_empty() {
            return Err(malformed("range", text, "Junk after \"empty\" key word."));
        }
        return Ok(vec![0]);
    }
    let found = ends(text, inner)?;
    if !without_blanks(found.rest).is_empty() {
        let detail = "Junk after right parenthesis or bracket.";
        return Err(malformed("range", text, detail));
    }
    let mut out = Vec::new();
    match span(found, kind, zone)? {
        Some(span) => push_span(&mut out, &span, kind),
        None => out.push(0),
    }
    Ok(out)
}

/// The multirange that `text` denotes.
///
/// # Errors
/// As [`parse_range`].
pub(super) fn parse_multirange(text: &str, kind: RangeKind, zone: &TimeZone) -> Result<Vec<u8>> {
    let wrong = |detail| malformed("multirange", text, detail);
    let inner = without_blanks(text).strip_prefix('{');
    let mut rest = without_blanks(inner.ok_or_else(|| wrong("Missing left brace."))?);
    let mut found = Vec::new();
    let mut is_open = !rest.starts_with('}');
    if !is_open {
        rest = &rest[1..];
    }
    while is_open {
        if let Some(after) = behind_empty(rest) {
            rest = after;
        } else if rest.starts_with(['[', '(']) {
            let read = ends(text, rest)?;
            rest = read.rest;
            found.extend(span(read, kind, zone)?);
        } else if rest.is_empty() {
            return Err(wrong("Unexpected end of input."));
        } else {
            return Err(wrong("Expected range start."));
        }
        rest = without_blanks(rest);
        is_open = rest.starts_with(',');
        if !is_open && !rest.starts_with('}') {
            let detail = match rest {
                "" => "Unexpected end of input.",
                _ => "Expected comma or end of multirange.",
            };
            return Err(wrong(detail));
        }
        rest = without_blanks(&rest[1..]);
    }
    if !without_blanks(rest).is_empty() {
        return Err(wrong("Junk after closing right brace."));
    }
    let mut out = Vec::new();
    push_multirange(&mut out, &merged(found, kind), kind);
    Ok(out)
}

/// Appends an end, between quotes where it needs them.
fn push_end(out: &mut Vec<u8>, bound: &Bound<'_>, kind: RangeKind, zone: &TimeZone) {
    if bound.value.is_none() {
        return;
    }
    let word = shown(&bound.decoded(kind), kind.bound(), zone);
    let special = |b: u8| b"\"\\()[],".contains(&b) || is_space(b);
    if !word.is_empty() && !word.iter().any(|byte| special(*byte)) {
        return out.extend_from_slice(&word);
    }
    out.push(b'"');
    for byte in word {
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}

fn push_range(out: &mut Vec<u8>, span: &Span<'_>, kind: RangeKind, zone: &TimeZone) {
    out.push(if span.lower.inclusive { b'[' } else { b'(' });
    push_end(out, &span.lower, kind, zone);
    out.push(b',');
    push_end(out, &span.upper, kind, zone);
    out.push(if span.upper.inclusive { b']' } else { b')' });
}

/// Appends a range as PostgreSQL prints it.
pub(super) fn format_range(out: &mut Vec<u8>, bytes: &[u8], kind: RangeKind, zone: &TimeZone) {
    match spans(bytes, kind).first() {
        Some(span) => push_range(out, span, kind, zone),
        None => out.extend_from_slice(b"empty"),
    }
}

/// Appends a multirange as PostgreSQL prints it.
pub(super) fn format_multirange(out: &mut Vec<u8>, bytes: &[u8], kind: RangeKind, zone: &TimeZone) {
    out.push(b'{');
    for (at, span) in spans(bytes, kind).iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_range(out, span, kind, zone);
    }
    out.push(b'}');
}
