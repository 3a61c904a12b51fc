//! Strings of JSON: escapes taken away and put in.

use std::borrow::Cow;

use super::events::malformed;
use crate::{Error, Result, SqlState};

/// The text between the quotes of `raw`, a string that was checked, without its escapes.
///
/// # Errors
/// 22P05 for `\u0000`, 22P02 for halves of surrogate pairs.
pub fn unescaped(raw: &[u8]) -> Result<Cow<'_, [u8]>> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains(&b'\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut out = Vec::with_capacity(inner.len());
    unescape_into(&mut out, inner)?;
    Ok(Cow::Owned(out))
}

#[cold]
fn surrogate(message: &str) -> Error {
    malformed(message)
}

const LONE: &str = "Unicode low surrogate must follow a high surrogate.";

/// Appends `inner`, what stands between quotes, without its escapes.
pub(super) fn unescape_into(out: &mut Vec<u8>, inner: &[u8]) -> Result<()> {
    let mut rest = inner;
    // The first half of a pair whose second half has to follow.
    let mut high: Option<u32> = None;
    while let Some(&byte) = rest.first() {
        if (byte, rest.get(1)) == (b'\\', Some(&b'u')) {
            let (unit, after) = unit(&rest[2..]);
            rest = after;
            let code = match (unit, high.take()) {
                (0xd800..=0xdbff, Some(_)) => {
                    let message = "Unicode high surrogate must not follow a high surrogate.";
                    return Err(surrogate(message));
                }
                (0xd800..=0xdbff, None) => {
                    high = Some(unit);
                    continue;
                }
                (0xdc00..=0xdfff, Some(high)) => 0x1_0000 + ((high & 0x3ff) << 10 | (unit & 0x3ff)),
                (0xdc00..=0xdfff, None) | (_, Some(_)) => return Err(surrogate(LONE)),
                (0, None) => return Err(zero()),
                (unit, None) => unit,
            };
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        if high.is_some() {
            return Err(surrogate(LONE));
        }
        if byte == b'\\' {
            out.push(match rest.get(1) {
                Some(b'b') => 8,
                Some(b'f') => 12,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(other) => *other,
                None => byte,
            });
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        let plain = rest.iter().position(|&byte| byte == b'\\').unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
    }
    if high.is_some() { Err(surrogate(LONE)) } else { Ok(()) }
}

/// The number of four hexadecimal digits, and what follows them.
fn unit(digits: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = digits.split_at(digits.len().min(4));
    let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0);
    (digits.iter().fold(0, |unit, byte| unit << 4 | digit(byte)), rest)
}

/// 22P05.
#[cold]
fn zero() -> Error {
    Error::new(SqlState::UNTRANSLATABLE, "unsupported Unicode escape sequence")
        .with_detail("\\u0000 cannot be converted to text.")
}

/// Appends `text` as a string of JSON, with quotes and what has to be escaped between them.
pub fn push_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while !rest.is_empty() {
        let is_plain = |&byte: &u8| byte >= 32 && byte != b'"' && byte != b'\\';
        let plain = rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some((&byte, after)) = rest.split_first() else { break };
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..32 => {
                let digit = |n: u8| b"0123456789abcdef"[usize::from(n)];
                out.extend([b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
            _ => out.extend([b'\\', byte]),
        }
        rest = after;
    }
    out.push(b'"');
}
