//! Strings and names in quotes that the tokenizer reads otherwise than PostgreSQL: Unicode escapes,
//! and strings under `standard_conforming_strings = off`.
//!
//! ```text
//! U&'d\0061t!' || U&"d!0061" UESCAPE '!'  ->  'dat!'  ... || "da"      (blanks in the gaps)
//! 'a\\b'                                  ->  E'a\\b'                  (strings that escape)
//! ```
//! Invariant: what Unicode escapes leave keeps the places of all other characters.
//! Elsewhere: blanks for comments that follow operators (`operator`).

use std::borrow::Cow;

use types::{Error, Position, Result, SqlState};

use super::operator::dollar_quoted;

/// Meaning of a backslash in a string without prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backslash {
    Itself,
    Escape,
}

/// Letters before a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    None,
    /// `U&`.
    Unicode,
    /// `E`, `B`, `X`, `N`.
    Other,
}

/// A string or a name in quotes; bytes of the text.
#[derive(Clone, Copy, Debug)]
struct Quoted {
    prefix: Prefix,
    /// Where its prefix begins.
    start: usize,
    /// Where its first quote is.
    open: usize,
    /// Behind its last quote; the text's end where that is missing.
    end: usize,
}

/// The text with each string that has no prefix as one in which backslashes escape, as under
/// `standard_conforming_strings = off`.
///
/// # Errors
/// 0A000 for Unicode escapes, which PostgreSQL refuses there.
pub fn with_escapes(text: &str) -> Result<Cow<'_, str>> {
    if !text.contains(['\\', '&']) {
        return Ok(Cow::Borrowed(text));
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut done = 0;
    for found in all_quoted(text, Backslash::Escape) {
        match (found.prefix, text.as_bytes().get(found.open)) {
            (Prefix::None, Some(b'\'')) => {
                escaped.push_str(&text[done..found.open]);
                escaped.push('E');
                done = found.open;
            }
            (Prefix::Unicode, Some(b'\'')) => {
                let message = "unsafe use of string constant with Unicode escapes";
                let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(error.at(position_of(text, found.start)));
            }
            _ => {}
        }
    }
    escaped.push_str(&text[done..]);
    Ok(Cow::Owned(escaped))
}

/// The text with strings and names of Unicode escapes as plain ones; all other characters keep
/// their places.
///
/// # Errors
/// 42601 for an escape that means no character.
pub(super) fn without_unicode(text: &str) -> Result<Cow<'_, str>> {
    let begins = |three: &[u8]| {
        three[0].eq_ignore_ascii_case(&b'u') && three[1] == b'&' && matches!(three[2], b'\'' | b'"')
    };
    if !text.as_bytes().windows(3).any(begins) {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = String::with_capacity(text.len());
    let mut done = 0;
    for found in all_quoted(text, Backslash::Itself) {
        let closed = found.end > found.open + 1 && found.end <= text.len();
        if found.prefix != Prefix::Unicode || found.start < done || !closed {
            continue;
        }
        plain.push_str(&text[done..found.start]);
        let escape = escape_behind(text, found.end)?;
        let (character, end) = escape.unwrap_or(('\\', found.end));
        let quote = char::from(text.as_bytes()[found.open]);
        let body = &text[found.open + 1..found.end - 1];
        let decoded = decoded(body, character, quote)
            .map_err(|error| error.at(position_of(text, found.start)))?;
        plain.push(quote);
        plain.push_str(&decoded);
        plain.push(quote);
        let spare = text[found.start..found.end].chars().count();
        let spare = spare.saturating_sub(decoded.chars().count() + 2);
        plain.extend(std::iter::repeat_n(' ', spare));
        let gap = text[found.end..end].chars();
        plain.extend(gap.map(|ch| if ch == '\n' { ch } else { ' ' }));
        done = end;
    }
    plain.push_str(&text[done..]);
    Ok(Cow::Owned(plain))
}

/// The character that `UESCAPE 'c'` behind byte `at` names, and where that ends.
fn escape_behind(text: &str, at: usize) -> Result<Option<(char, usize)>> {
    const WORD: &str = "uescape";
    let rest = text[at..].trim_start();
    let named = rest.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD));
    if !named {
        return Ok(None);
    }
    let rest = rest[WORD.len()..].trim_start();
    let begin = text.len() - rest.len();
    let refused = |message: &str| {
        Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position_of(text, begin)))
    };
    if !rest.starts_with('\'') {
        return refused("UESCAPE must be followed by a simple string literal");
    }
    let mut chars = rest[1..].chars();
    let (Some(character), Some('\'')) = (chars.next(), chars.next()) else {
        return refused("invalid Unicode escape character");
    };
    let taken = character.is_ascii_hexdigit() || character.is_whitespace();
    if taken || matches!(character, '+' | '\'' | '"') {
        return refused("invalid Unicode escape character");
    }
    Ok(Some((character, begin + 2 + character.len_utf8())))
}

/// The body of a string or name without its escapes, `quote` doubled.
fn decoded(body: &str, escape: char, quote: char) -> Result<String> {
    let refused = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
    let mut decoded = String::with_capacity(body.len());
    let mut high: Option<u32> = None;
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        if first != escape || rest.starts_with(escape) {
            if high.is_some() {
                return refused("invalid Unicode surrogate pair");
            }
            decoded.push(first);
            if first == escape {
                rest = &rest[escape.len_utf8()..];
            }
            continue;
        }
        let digits = if rest.starts_with('+') { 1..7 } else { 0..4 };
        let after = digits.end;
        let number = rest.get(digits).filter(|text| text.chars().all(|c| c.is_ascii_hexdigit()));
        let Some(number) = number.and_then(|text| u32::from_str_radix(text, 16).ok()) else {
            return refused("invalid Unicode escape");
        };
        rest = &rest[after..];
        let number = match (high.take(), number) {
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10 | (number - 0xDC00)),
            (Some(_), _) => return refused("invalid Unicode surrogate pair"),
            (None, 0xD800..=0xDBFF) => {
                high = Some(number);
                continue;
            }
            (None, 0xDC00..=0xDFFF) => return refused("invalid Unicode surrogate pair"),
            (None, number) => number,
        };
        let Some(character) = char::from_u32(number).filter(|&c| c != '\0') else {
            return refused("invalid Unicode escape value");
        };
        decoded.push(character);
        if character == quote {
            decoded.push(quote);
        }
    }
    if high.is_some() {
        return refused("invalid Unicode surrogate pair");
    }
    Ok(decoded)
}

/// All that stands in quotes outside of comments and dollar quotes, in order.
fn all_quoted(text: &str, backslash: Backslash) -> Vec<Quoted> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let named_before = at > 0 && is_named(bytes[at - 1]);
        if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += comment_bytes(rest);
        } else if bytes[at] == b'$' && !named_before {
            at += dollar_quoted(rest).unwrap_or(1);
        } else if matches!(bytes[at], b'\'' | b'"') {
            let quoted = quoted_at(text, at, backslash);
            at = quoted.end;
            found.push(quoted);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

fn is_named(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// The string or name whose first quote is byte `open`.
fn quoted_at(text: &str, open: usize, backslash: Backslash) -> Quoted {
    let bytes = text.as_bytes();
    let alone = |start: usize| start == 0 || !is_named(bytes[start - 1]);
    let letter = |back: usize| open.checked_sub(back).map(|at| bytes[at].to_ascii_lowercase());
    let is_string = bytes[open] == b'\'';
    let (prefix, letters, escapes) = match (letter(1), letter(2)) {
        (Some(b'&'), Some(b'u')) if alone(open - 2) => (Prefix::Unicode, 2, false),
        (Some(b'e'), _) if is_string && alone(open - 1) => (Prefix::Other, 1, true),
        (Some(b'b' | b'x' | b'n'), _) if is_string && alone(open - 1) => (Prefix::Other, 1, false),
        _ => (Prefix::None, 0, is_string && backslash == Backslash::Escape),
    };
    let mut at = open + 1;
    while at < bytes.len() {
        if bytes[at] == bytes[open] {
            if bytes.get(at + 1) != Some(&bytes[open]) {
                return Quoted { prefix, start: open - letters, open, end: at + 1 };
            }
            at += 1;
        } else if escapes && bytes[at] == b'\\' {
            at += 1;
        }
        at += 1;
    }
    Quoted { prefix, start: open - letters, open, end: bytes.len() }
}

/// Bytes of the comment that `text` begins with; comments nest.
fn comment_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The place of byte `at`: line and column in characters, from 1.
fn position_of(text: &str, at: usize) -> Position {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: clamp(line), column: clamp(column) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_escapes_become_characters_and_places_stay() {
        let cases = [
            (r"U&'d\0061t\+000061' || 1", "'data'              || 1"),
            ("U&'d!0061'\nUESCAPE '!', x", "'da'      \n           , x"),
            (r#"x AS u&"d*0061" UESCAPE '*'"#, r#"x AS "da"                  "#),
            (r"U&'a\\b\0027'", r"'a\b'''      "),
            (r"U&'\d83d\de00'", "'😀'           "),
            (r"'U&' || 'U&''' -- U&'\'", r"'U&' || 'U&''' -- U&'\'"),
            (r"$$U&'\'$$ u&' \' uescape '!'", r"$$U&'\'$$ ' \'              "),
        ];
        for (text, expected) in cases {
            assert_eq!(without_unicode(text).expect(text), expected);
        }
    }

    #[test]
    fn escapes_that_mean_nothing_are_errors() {
        let texts = [
            r"U&'\061'",
            r"U&'\+0061'",
            r"U&'a' UESCAPE +",
            r"U&'a' UESCAPE '+'",
            r"U&'\db99'",
            r"U&'\db99xy'",
            r"U&'\db99\0061'",
            r"U&'\+2FFFFF'",
            r"U&'\0000'",
        ];
        for text in texts {
            let error = without_unicode(text).expect_err(text);
            assert_eq!(error.state(), SqlState::SYNTAX_ERROR, "{text}");
        }
    }

    #[test]
    fn plain_strings_get_the_prefix_of_those_that_escape() {
        let cases = [
            (r"select 'a\'b', E'\'', x'\', 'c'", r"select E'a\'b', E'\'', x'\', E'c'"),
            (r#"select "a\" -- '\'"#, r#"select "a\" -- '\'"#),
            ("select 'a'", "select 'a'"),
        ];
        for (text, expected) in cases {
            assert_eq!(with_escapes(text).expect(text), expected);
        }
        let error = with_escapes(r"select U&'\0061'").expect_err("unsafe");
        assert_eq!(error.state(), SqlState::FEATURE_NOT_SUPPORTED);
    }
}
