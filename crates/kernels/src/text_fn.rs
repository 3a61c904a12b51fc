//! Functions on text and bytes.
//!
//! Convention of all function kernels: arguments have equal row counts, or one row, which then
//! counts for every row (a constant). NULL in any argument gives NULL and never raises an error.
//! Positions and lengths count characters, not bytes; ASCII text takes a short way. Case follows
//! Unicode, whatever the locale. Parts of text (substring, left, trim ...) share the memory of the
//! whole.

mod bits;
mod bytes;
mod charset;
mod digest;
mod escape;
mod format;
mod join;
mod part;
mod size;

pub use bits::{bit_count, get_bit, get_byte, set_bit, set_byte};
pub use bytes::{decode, encode, hash_text, to_hex};
pub use charset::{
    bytes_as_text, convert, convert_from, convert_to, encoding_bytes, encoding_name,
    encoding_number,
};
pub use digest::{md5, sha224, sha256, sha384, sha512};
pub use escape::{parse_ident, unistr};
pub use format::{format, format_array};
pub use join::{concat, concat_operator, concat_ws, pad, repeat, replace, reverse, translate};
pub use part::{left, right, split_part, substring, substring_bytes, trim, trim_bytes};
pub use size::size_bytes;

use std::borrow::Cow;

use types::budget::value_length;
use types::{Error, Result, SqlState};

use crate::rows::{Fixed, Texts, Values, try_build, try_write, utf8};
use crate::{StrBuilder, Vector, VectorData};

/// Which end of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The start.
    Left,
    /// The end.
    Right,
    /// Both ends: trimming only.
    Both,
}

/// Characters of UTF-8 text: bytes that do not continue one, whose top bits are not 10. Eight at a
/// time: twice as fast as one by one on addresses of 60 bytes.
#[inline]
fn character_count(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = text.as_chunks::<8>();
    let continued = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        // The product's top byte is the sum of all bytes.
        (word >> 7 & !word >> 6 & ONES).wrapping_mul(ONES) >> 56
    };
    let continued: u64 = words.iter().map(continued).sum();
    let last = rest.iter().filter(|&&b| b as i8 >= -0x40).count();
    words.len() * 8 - continued as usize + last
}

/// The byte at which character `at` starts, the length when there are no so many.
#[inline]
fn character_start(text: &[u8], at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    if text[..at].is_ascii() {
        // The first `at` characters are one byte each.
        return at;
    }
    let mut starts = text.iter().enumerate().filter(|&(_, &b)| b as i8 >= -0x40);
    starts.nth(at).map_or(text.len(), |(i, _)| i)
}

fn measure(text: &Vector, f: impl Fn(&[u8]) -> usize) -> Result<Vector> {
    let texts = Texts::new(text);
    // Values are at most 1 GiB.
    try_build(&[text], |i| Ok(f(texts.bytes(i)) as i32))
}

/// char_length(TEXT) -> I32.
///
/// # Errors
/// None.
pub fn char_length(text: &Vector) -> Result<Vector> {
    measure(text, character_count)
}

/// octet_length(TEXT or BYTEA) -> I32.
///
/// # Errors
/// None.
pub fn octet_length(text: &Vector) -> Result<Vector> {
    measure(text, <[u8]>::len)
}

/// bit_length -> I32.
///
/// # Errors
/// None.
pub fn bit_length(text: &Vector) -> Result<Vector> {
    measure(text, |bytes| bytes.len() * 8)
}

/// Text by ASCII bytes, or by characters when there are others.
fn recase(
    text: &Vector,
    ascii: impl Fn(&mut [u8]),
    unicode: impl Fn(&str, &mut Vec<u8>),
) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        let bytes = texts.bytes(i);
        if bytes.is_ascii() {
            out.extend_from_slice(bytes);
            ascii(out);
        } else {
            unicode(utf8(bytes)?, out);
        }
        Ok(())
    })
}

fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The upper-case form of `c` when it is one character, as C's towupper.
fn upper_char(c: char) -> char {
    let mut forms = c.to_uppercase();
    match (forms.next(), forms.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

/// The lower-case form of `c` when it is one character, as C's towlower.
fn lower_char(c: char) -> char {
    let mut forms = c.to_lowercase();
    match (forms.next(), forms.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}

/// upper.
///
/// # Errors
/// 22021 when the text is not UTF-8.
pub fn upper(text: &Vector) -> Result<Vector> {
    recase(text, <[u8]>::make_ascii_uppercase, |text, out| {
        text.chars().for_each(|c| push_char(out, upper_char(c)));
    })
}

/// lower.
///
/// # Errors
/// 22021 when the text is not UTF-8.
pub fn lower(text: &Vector) -> Result<Vector> {
    recase(text, <[u8]>::make_ascii_lowercase, |text, out| {
        text.chars().for_each(|c| push_char(out, lower_char(c)));
    })
}

/// initcap: the first letter of each run of letters and digits in upper case, the others in lower.
///
/// # Errors
/// 22021 when the text is not UTF-8.
pub fn initcap(text: &Vector) -> Result<Vector> {
    let ascii = |bytes: &mut [u8]| {
        let mut inside = false;
        for byte in bytes {
            *byte = if inside { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
            inside = byte.is_ascii_alphanumeric();
        }
    };
    recase(text, ascii, |text, out| {
        let mut inside = false;
        for c in text.chars() {
            push_char(out, if inside { lower_char(c) } else { upper_char(c) });
            inside = c.is_alphanumeric();
        }
    })
}

/// strpos -> I32: the first character at which `needle` starts, from 1; 0 when nowhere.
///
/// # Errors
/// None.
pub fn position(text: &Vector, needle: &Vector) -> Result<Vector> {
    let (texts, needles) = (Texts::new(text), Texts::new(needle));
    try_build(&[text, needle], |i| {
        let bytes = texts.bytes(i);
        // UTF-8 characters never start inside one another, so bytes suffice.
        let found = memchr::memmem::find(bytes, needles.bytes(i));
        Ok(found.map_or(0, |at| character_count(&bytes[..at]) as i32 + 1))
    })
}

/// As [`position`] of BYTEA: counts bytes.
///
/// # Errors
/// None.
pub fn position_bytes(bytes: &Vector, needle: &Vector) -> Result<Vector> {
    let (values, needles) = (Texts::new(bytes), Texts::new(needle));
    try_build(&[bytes, needle], |i| {
        // Values are at most 1 GiB.
        let found = memchr::memmem::find(values.bytes(i), needles.bytes(i));
        Ok(found.map_or(0, |at| at as i32 + 1))
    })
}

/// ascii -> I32: the code point of the first character, 0 for empty text.
///
/// # Errors
/// 22021 when the text is not UTF-8.
pub fn ascii(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_build(&[text], |i| Ok(texts.str(i)?.chars().next().map_or(0, |c| c as i32)))
}

/// chr(I32).
///
/// # Errors
/// 54000 for what is no character, 22023 when negative.
pub fn chr(code: &Vector) -> Result<Vector> {
    let codes = Values::<i32>::new(code);
    let invalid = |message: String| Error::new(SqlState::LIMIT_EXCEEDED, message);
    try_write(&[code], |i, out| {
        let code = codes.get(i);
        let number = u32::try_from(code).map_err(|_| {
            Error::new(SqlState::INVALID_PARAMETER, "character number must be positive")
        })?;
        if number == 0 {
            return Err(invalid("null character not permitted".into()));
        }
        let c = char::from_u32(number).ok_or_else(|| {
            let why = if number > 0x10_ffff { "too large" } else { "not valid" };
            invalid(format!("requested character {why} for encoding: {number}"))
        })?;
        push_char(out, c);
        Ok(())
    })
}

/// starts_with -> Bool.
///
/// # Errors
/// None.
pub fn starts_with(text: &Vector, prefix: &Vector) -> Result<Vector> {
    let (texts, prefixes) = (Texts::new(text), Texts::new(prefix));
    try_build(&[text, prefix], |i| Ok(u8::from(texts.bytes(i).starts_with(prefixes.bytes(i)))))
}

/// quote_literal.
///
/// # Errors
/// None.
pub fn quote_literal(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        push_literal(out, texts.bytes(i));
        Ok(())
    })
}

/// quote_nullable: as [`quote_literal`], `NULL` for NULL.
///
/// # Errors
/// None.
pub fn quote_nullable(text: &Vector) -> Result<Vector> {
    let quoted = quote_literal(text)?;
    let Some(valid) = &quoted.validity else { return Ok(quoted) };
    let mut out = StrBuilder::with_capacity(quoted.len());
    for i in 0..quoted.len() {
        out.push(if valid.get(i) { quoted.as_str().get(i) } else { b"NULL" });
    }
    Ok(Vector::new(VectorData::Str(out.finish())))
}

/// Appends text as a literal of SQL.
fn push_literal(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.contains(&b'\\') {
        out.push(b'E');
    }
    out.push(b'\'');
    for &byte in bytes {
        if matches!(byte, b'\'' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// Words that PostgreSQL 15 takes as names only in quotes, in order.
const QUOTED_WORDS: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// quote_ident.
///
/// # Errors
/// None.
pub fn quote_ident(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        let name = std::str::from_utf8(texts.bytes(i)).unwrap_or_default();
        out.extend_from_slice(quoted(name).as_bytes());
        Ok(())
    })
}

/// A name as SQL text: in quotes unless it means the same without.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let bytes = name.as_bytes();
    let plain = matches!(bytes.first(), Some(b'a'..=b'z' | b'_'))
        && bytes.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && QUOTED_WORDS.binary_search(&name).is_err();
    if plain {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    }
}

/// An I32 argument as a count from 0: negative ones are 0.
fn count_of<T: Fixed + TryInto<usize>>(value: T) -> usize {
    value.try_into().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::character_count;

    proptest! {
        #[test]
        fn characters_are_counted_as_rust_counts_them(text in "[a\u{e9}\u{20ac}\u{1f600}]{0,40}") {
            prop_assert_eq!(character_count(text.as_bytes()), text.chars().count());
        }
    }
}
