//! Names and escapes as SQL text writes them: parse_ident, unistr.

use types::array::ArrayBuilder;
use types::{Error, Result, SqlState};

use crate::Vector;
use crate::rows::{Texts, Values, try_write};

/// parse_ident(TEXT, BOOL strict) -> TEXT[]: the parts of a qualified name. Unless it is strict,
/// what follows the name does not count.
///
/// # Errors
/// 22023 when it is no name.
pub fn parse_ident(text: &Vector, strict: &Vector) -> Result<Vector> {
    let (texts, stricts) = (Texts::new(text), Values::<u8>::new(strict));
    try_write(&[text, strict], |i, out| {
        **out = name_parts(texts.str(i)?, stricts.get(i) != 0)?;
        Ok(())
    })
}

fn name_parts(text: &str, strict: bool) -> Result<Vec<u8>> {
    let invalid = |detail: Option<String>| {
        let message = format!("string is not a valid identifier: \"{text}\"");
        let error = Error::new(SqlState::INVALID_PARAMETER, message);
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    };
    let blank = |c: char| c.is_ascii_whitespace();
    let mut parts = ArrayBuilder::new();
    let mut rest = text.trim_start_matches(blank);
    let mut dotted = false;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (part, after) = quoted_part(quoted)
                .ok_or_else(|| invalid(Some("String has unclosed double quotes.".to_owned())))?;
            if part.is_empty() {
                return Err(invalid(Some("Quoted identifier must not be empty.".to_owned())));
            }
            parts.push_text(part.as_bytes());
            rest = after;
        } else {
            let continues =
                |c: char| c.is_ascii_alphanumeric() || "_$".contains(c) || !c.is_ascii();
            let end = rest.find(|c| !continues(c)).unwrap_or(rest.len());
            let begins =
                rest.starts_with(|c: char| continues(c) && !c.is_ascii_digit() && c != '$');
            if !begins {
                return Err(invalid(match (rest.starts_with('.'), dotted) {
                    (true, _) => Some("No valid identifier before \".\".".to_owned()),
                    (false, true) => Some("No valid identifier after \".\".".to_owned()),
                    (false, false) => None,
                }));
            }
            parts.push_text(rest[..end].to_ascii_lowercase().as_bytes());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(after) => (rest, dotted) = (after.trim_start_matches(blank), true),
            None if rest.is_empty() || !strict => return parts.finish(),
            None => return Err(invalid(None)),
        }
    }
}

/// A name in quotes, the first of them taken, and what follows it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                part.push('"');
                rest = after;
            }
            None => return Some((part, after)),
        }
    }
}

/// unistr: `\XXXX`, `\+XXXXXX`, `\uXXXX`, `\UXXXXXXXX` and `\\` in text.
///
/// # Errors
/// 42601 for other escapes, 22023 for what is no character.
pub fn unistr(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        let mut rest = texts.str(i)?;
        let mut high: Option<u32> = None;
        while let Some((before, after)) = rest.split_once('\\') {
            if !before.is_empty() && high.is_some() {
                return Err(half_pair());
            }
            out.extend_from_slice(before.as_bytes());
            if let Some(after) = after.strip_prefix('\\') {
                if high.is_some() {
                    return Err(half_pair());
                }
                out.push(b'\\');
                rest = after;
                continue;
            }
            let (number, after) = escaped(after).ok_or_else(|| {
                let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.";
                Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape").with_hint(hint)
            })?;
            rest = after;
            let number = match (high.take(), number) {
                (Some(high), 0xdc00..=0xdfff) => {
                    0x10000 + ((high & 0x3ff) << 10) + (number & 0x3ff)
                }
                (None, 0xd800..=0xdbff) => {
                    high = Some(number);
                    continue;
                }
                (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(half_pair()),
                (None, number) => number,
            };
            let c = char::from_u32(number).filter(|c| *c != '\0').ok_or_else(|| {
                let message = format!("invalid Unicode code point: {number:04X}");
                Error::new(SqlState::INVALID_PARAMETER, message)
            })?;
            super::push_char(out, c);
        }
        if high.is_some() {
            return Err(half_pair());
        }
        out.extend_from_slice(rest.as_bytes());
        Ok(())
    })
}

/// The number behind a backslash, and what follows it.
fn escaped(text: &str) -> Option<(u32, &str)> {
    let (digits, count) = match text.chars().next()? {
        '+' => (&text[1..], 6),
        'u' => (&text[1..], 4),
        'U' => (&text[1..], 8),
        _ => (text, 4),
    };
    let number = digits.get(..count).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((u32::from_str_radix(number, 16).ok()?, &digits[count..]))
}

#[cold]
fn half_pair() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair")
}
