//! Bytes as text, and hashes.

use std::fmt::Write;

use types::text::{parse_escaped, parse_hex, push_escaped, push_hex};
use types::{Error, Result, SqlState};

use crate::Vector;
use crate::rows::{Texts, Values, try_build, try_format, try_write};

/// How encode and decode write bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Hex,
    Base64,
    Escape,
}

fn encoding(name: &str) -> Result<Encoding> {
    match name.to_ascii_lowercase().as_str() {
        "hex" => Ok(Encoding::Hex),
        "base64" => Ok(Encoding::Base64),
        "escape" => Ok(Encoding::Escape),
        _ => Err(invalid(format!("unrecognized encoding: \"{name}\""))),
    }
}

#[cold]
fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Characters per line, as PostgreSQL breaks them.
const BASE64_LINE: usize = 76;

fn push_base64(out: &mut String, bytes: &[u8]) {
    let mut line = 0;
    for chunk in bytes.chunks(3) {
        if line == BASE64_LINE {
            out.push('\n');
            line = 0;
        }
        let word =
            chunk.iter().fold(0u32, |w, &b| w << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let at = (word >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= chunk.len() { char::from(BASE64[at]) } else { '=' });
        }
        line += 4;
    }
}

fn parse_base64(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut digits, mut padding) = (0u32, 0, 0);
    for &byte in text {
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        let digit = if byte == b'=' {
            if digits < 2 {
                return Err(invalid("unexpected \"=\" while decoding base64 sequence".into()));
            }
            padding += 1;
            0
        } else {
            let value = BASE64.iter().position(|&b| b == byte).filter(|_| padding == 0);
            value.ok_or_else(|| {
                let symbol = char::from(byte);
                invalid(format!("invalid symbol \"{symbol}\" found while decoding base64 sequence"))
            })? as u32
        };
        word = word << 6 | digit;
        digits += 1;
        if digits == 4 {
            let bytes = word.to_be_bytes();
            out.extend_from_slice(&bytes[1..4 - padding.min(2)]);
            (word, digits) = (0, 0);
        }
    }
    if digits != 0 {
        let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
        return Err(invalid("invalid base64 end sequence".into()).with_hint(hint));
    }
    Ok(out)
}

/// encode(BYTEA, format): hex, base64 or escape.
///
/// # Errors
/// 22023 for another format.
pub fn encode(bytes: &Vector, format: &Vector) -> Result<Vector> {
    let (values, formats) = (Texts::new(bytes), Texts::new(format));
    try_format(&[bytes, format], |i, out| {
        match encoding(formats.str(i)?)? {
            Encoding::Hex => push_hex(out, values.bytes(i)),
            Encoding::Base64 => push_base64(out, values.bytes(i)),
            Encoding::Escape => push_escaped(out, values.bytes(i)),
        }
        Ok(())
    })
}

/// decode(TEXT, format) -> BYTEA.
///
/// # Errors
/// 22023 for another format and malformed text, 22P02 for malformed escapes.
pub fn decode(text: &Vector, format: &Vector) -> Result<Vector> {
    let (texts, formats) = (Texts::new(text), Texts::new(format));
    try_write(&[text, format], |i, out| {
        let text = texts.str(i)?;
        **out = match encoding(formats.str(i)?)? {
            Encoding::Hex => parse_hex(text)?,
            Encoding::Base64 => parse_base64(text.as_bytes())?,
            Encoding::Escape => parse_escaped(text).ok_or_else(|| {
                Error::new(SqlState::INVALID_TEXT, "invalid input syntax for type bytea")
            })?,
        };
        Ok(())
    })
}

/// to_hex(I64): negative numbers as 64 bits. An I32 argument is taken as 32 bits.
///
/// # Errors
/// None.
pub fn to_hex(number: &Vector) -> Result<Vector> {
    // A String takes whatever is written.
    if number.physical() == types::PhysicalType::I32 {
        let values = Values::<i32>::new(number);
        return try_format(&[number], |i, out| {
            let _ = write!(out, "{:x}", values.get(i));
            Ok(())
        });
    }
    let values = Values::<i64>::new(number);
    try_format(&[number], |i, out| {
        let _ = write!(out, "{:x}", values.get(i));
        Ok(())
    })
}

/// hashtext -> I32: equals PostgreSQL's on little-endian machines.
///
/// # Errors
/// None.
pub fn hash_text(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_build(&[text], |i| Ok(hash_bytes(texts.bytes(i)) as i32))
}

/// Bob Jenkins' hash of 2006 ("lookup3").
///
/// Source: PostgreSQL 15, hashfn.c, `hash_bytes`.
fn hash_bytes(bytes: &[u8]) -> u32 {
    let start = 0x9e37_79b9u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let mut state = [start; 3];
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        for (word, part) in state.iter_mut().zip(chunk.chunks_exact(4)) {
            let part = u32::from_le_bytes([part[0], part[1], part[2], part[3]]);
            *word = word.wrapping_add(part);
        }
        mix(&mut state);
    }
    for (i, &byte) in chunks.remainder().iter().enumerate() {
        // The lowest byte of the last word is left to the length.
        let shift = if i < 8 { i % 4 } else { i % 4 + 1 } * 8;
        state[i / 4] = state[i / 4].wrapping_add(u32::from(byte) << shift);
    }
    finish(state)
}

fn mix(state: &mut [u32; 3]) {
    let [a, b, c] = state;
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(third);
        *b = b.wrapping_add(*a);
    }
}

fn finish([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
