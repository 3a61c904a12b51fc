//! BYTEA and UUID from and to text.

use crate::characters::{syntax_error, trim};
use crate::{Error, Result, SqlState};

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|d| d as u8)
}

/// The bytes of hexadecimal text; blanks may stand between pairs.
///
/// # Errors
/// 22023.
pub fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let invalid = |message: String| Error::new(SqlState::INVALID_PARAMETER, message);
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if matches!(c, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let digit = |c: char| {
            c.to_digit(16)
                .map(|d| d as u8)
                .ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))
        };
        let high = digit(c)?;
        let Some(c) = characters.next() else {
            return Err(invalid("invalid hexadecimal data: odd number of digits".to_owned()));
        };
        out.push(high << 4 | digit(c)?);
    }
    Ok(out)
}

/// BYTEA: `\x` and pairs of hexadecimal digits, or text with `\\` and `\ooo`.
pub(super) fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        return parse_hex(hex);
    }
    parse_escaped(text)
        .ok_or_else(|| Error::new(SqlState::INVALID_TEXT, "invalid input syntax for type bytea"))
}

/// Bytes of the escape form; None when a backslash is followed by something else.
pub fn parse_escaped(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
        } else if bytes.get(at + 1) == Some(&b'\\') {
            out.push(b'\\');
            at += 2;
        } else if let Some([a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7']) =
            bytes.get(at + 1..at + 4)
        {
            out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            at += 4;
        } else {
            return None;
        }
    }
    Some(out)
}

/// Appends bytes in the escape form.
pub fn push_escaped(out: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => {
                out.push('\\');
                out.extend([byte >> 6, byte >> 3 & 7, byte & 7].map(|d| char::from(b'0' + d)));
            }
            _ => out.push(char::from(byte)),
        }
    }
}

fn hex_digits(bytes: &[u8]) -> impl Iterator<Item = u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits)
}

/// Appends bytes as hexadecimal digits.
pub fn push_hex(out: &mut String, bytes: &[u8]) {
    out.extend(hex_digits(bytes).map(char::from));
}

pub(super) fn format_bytea(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(2 + bytes.len() * 2);
    out.extend_from_slice(b"\\x");
    out.extend(hex_digits(bytes));
}

/// The sign bit, flipped in memory so that signed order is byte order.
const FLIP: u128 = 1 << 127;

/// UUID: 32 hexadecimal digits, hyphens after groups of four, braces around.
pub(super) fn parse_uuid(text: &str) -> Result<i128> {
    let error = || syntax_error("uuid", text);
    let inner = trim(text);
    if inner.len() != text.len() {
        return Err(error());
    }
    let inner = match inner.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(error)?,
        None => inner,
    };
    let bytes = inner.as_bytes();
    let (mut value, mut at) = (0u128, 0);
    for digit in 0..32 {
        if digit != 0 && digit % 4 == 0 && bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        let next = bytes.get(at).copied().and_then(hex_digit).ok_or_else(error)?;
        value = value << 4 | u128::from(next);
        at += 1;
    }
    if at == bytes.len() { Ok((value ^ FLIP) as i128) } else { Err(error()) }
}

pub(super) fn format_uuid(out: &mut Vec<u8>, value: i128) {
    let bytes = (value as u128 ^ FLIP).to_be_bytes();
    for (i, range) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        if i != 0 {
            out.push(b'-');
        }
        out.extend(hex_digits(&bytes[range]));
    }
}
