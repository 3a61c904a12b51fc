//! Types of PostgreSQL's catalog that name objects: `regclass` and its kin, `name`, `tid`.
//!
//! ```text
//! regclass...  number, 4 bytes big-endian; then the name as the session shows it
//! tid          block << 17 | offset, which is the row of the block from 1
//! ```
//! A number and its name go together, so printing needs no catalog: the binder's look-ups make such
//! values (`sql::bind::object`). Values of one statement with equal numbers have equal bytes, and
//! their order is that of the numbers.

use crate::{DataType, Error, RegKind, Result, SqlState, Value};

/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 63;

/// The object `number` called `name` as a value of `regclass` or its kin.
pub fn object_value(number: u32, name: &str) -> Value {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend_from_slice(name.as_bytes());
    Value::Str(bytes.into())
}

/// The number in such a value.
pub fn object_number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |number| u32::from_be_bytes(*number))
}

/// The name in such a value.
pub fn object_name(bytes: &[u8]) -> &[u8] {
    bytes.get(4..).unwrap_or_default()
}

/// `text` as a name: at most 63 bytes, cut before a character.
pub fn truncated_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

/// `text` as `"char"` prints it: its first byte, `\ooo` of a byte that is no ASCII.
pub(crate) fn one_byte(text: &str) -> Value {
    let bytes = text.as_bytes();
    match bytes {
        [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7'] => {
            let byte = (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0');
            one_byte_of(byte)
        }
        [] => Value::text(""),
        [first, ..] => one_byte_of(*first),
    }
}

/// A number as `"char"`.
///
/// # Errors
/// 22003 when it has more than eight bits.
pub(crate) fn numbered_byte(number: i32) -> Result<Value> {
    match i8::try_from(number) {
        Ok(byte) => Ok(one_byte_of(byte as u8)),
        Err(_) => Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "\"char\" out of range")),
    }
}

/// The byte as `"char"`.
pub(crate) fn one_byte_of(byte: u8) -> Value {
    match byte {
        0 => Value::text(""),
        1..=0x7f => Value::Str([byte].as_slice().into()),
        _ => Value::text(&format!("\\{byte:03o}")),
    }
}

/// The number of a `"char"`, from -128 to 127.
pub fn byte_number(text: &[u8]) -> i32 {
    let byte = match text {
        [b'\\', high, middle, low] => {
            let digit = |byte: &u8| byte.wrapping_sub(b'0');
            digit(high) << 6 | digit(middle) << 3 | digit(low)
        }
        [] => 0,
        [first, ..] => *first,
    };
    // The same eight bits.
    i32::from(byte as i8)
}

/// A TID from its text, `(block,offset)`.
pub(crate) fn parse_tid(text: &str) -> Result<Value> {
    let parts = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let parts = parts.and_then(|text| text.split_once(','));
    let numbers = parts.and_then(|(block, offset)| {
        // As in C, where a number may have a sign and still be one of 32 bits.
        let block = block.trim().parse::<i64>().ok().filter(|n| u32::try_from(n.abs()).is_ok())?;
        Some((block as u32, offset.trim().parse::<u16>().ok()?))
    });
    match numbers {
        Some((block, offset)) => Ok(Value::I64(i64::from(block) << 17 | i64::from(offset))),
        None => Err(crate::characters::syntax_error("tid", text)),
    }
}

/// The row `tid & 0xffff` of the block `tid >> 16` as a TID.
pub fn tid_of_row(tid: i64) -> i64 {
    tid >> 16 << 17 | ((tid & 0xffff) + 1)
}

/// A hash as the number of a transaction; the first three are never those of one.
pub fn xid_of_hash(hash: i32) -> i64 {
    i64::from(hash.cast_unsigned().max(3))
}

/// Appends a TID.
pub(crate) fn format_tid(out: &mut Vec<u8>, tid: i64) {
    let (block, offset) = (tid >> 17, tid & 0x1_ffff);
    out.extend_from_slice(format!("({block},{offset})").as_bytes());
}

/// 0A000 for text that is to become the number of an object where no catalog is at hand.
#[cold]
pub(crate) fn no_catalog(kind: RegKind) -> Error {
    let message = format!("values of type {} are read in expressions only", kind.name());
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl DataType {
    /// True for OID, `regclass` and its kin, which compare as numbers.
    pub const fn is_object_number(self) -> bool {
        matches!(self, Self::Oid | Self::Reg(_))
    }
}

/// An integer as OID; a negative INTEGER stands for the one 2^32 above it, as in PostgreSQL. None
/// out of range.
pub(crate) fn oid(value: i128) -> Option<i64> {
    match i32::try_from(value) {
        Ok(number) => Some(i64::from(number as u32)),
        Err(_) => u32::try_from(value).ok().map(i64::from),
    }
}
