//! Functions on text and bytes.
//!
//! Convention of all function kernels: arguments have equal row counts, or one row, which then counts
//! for every row (a constant). NULL in any argument gives NULL and never raises an error.
#![allow(unused_variables)]

use types::{Error, Result};

use crate::Vector;

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

/// char_length(TEXT) -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn char_length(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// octet_length(TEXT or BYTEA) -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn octet_length(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// bit_length -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn bit_length(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// upper.
///
/// # Errors
/// As PostgreSQL.
pub fn upper(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// lower.
///
/// # Errors
/// As PostgreSQL.
pub fn lower(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// initcap.
///
/// # Errors
/// As PostgreSQL.
pub fn initcap(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// btrim, ltrim, rtrim.
///
/// # Errors
/// As PostgreSQL.
pub fn trim(side: Side, text: &Vector, characters: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// lpad, rpad.
///
/// # Errors
/// As PostgreSQL.
pub fn pad(side: Side, text: &Vector, length: &Vector, fill: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// substring of TEXT, from 1.
///
/// # Errors
/// As PostgreSQL.
pub fn substring(text: &Vector, from: &Vector, count: Option<&Vector>) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// substring of BYTEA, from 1.
///
/// # Errors
/// As PostgreSQL.
pub fn substring_bytes(bytes: &Vector, from: &Vector, count: Option<&Vector>) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// left.
///
/// # Errors
/// As PostgreSQL.
pub fn left(text: &Vector, count: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// right.
///
/// # Errors
/// As PostgreSQL.
pub fn right(text: &Vector, count: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// replace.
///
/// # Errors
/// As PostgreSQL.
pub fn replace(text: &Vector, from: &Vector, to: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// repeat.
///
/// # Errors
/// As PostgreSQL.
pub fn repeat(text: &Vector, count: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// reverse.
///
/// # Errors
/// As PostgreSQL.
pub fn reverse(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// strpos -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn position(text: &Vector, needle: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// split_part.
///
/// # Errors
/// As PostgreSQL.
pub fn split_part(text: &Vector, delimiter: &Vector, field: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// `a || b`.
///
/// # Errors
/// As PostgreSQL.
pub fn concat_operator(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// concat: NULL counts as empty; no arguments give one row.
///
/// # Errors
/// As PostgreSQL.
pub fn concat(arguments: &[&Vector]) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// concat_ws.
///
/// # Errors
/// As PostgreSQL.
pub fn concat_ws(separator: &Vector, arguments: &[&Vector]) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// ascii -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn ascii(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// chr(I32).
///
/// # Errors
/// As PostgreSQL.
pub fn chr(code: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// starts_with -> Bool.
///
/// # Errors
/// As PostgreSQL.
pub fn starts_with(text: &Vector, prefix: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// translate.
///
/// # Errors
/// As PostgreSQL.
pub fn translate(text: &Vector, from: &Vector, to: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// md5 of TEXT or BYTEA -> TEXT.
///
/// # Errors
/// As PostgreSQL.
pub fn md5(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// encode(BYTEA, format).
///
/// # Errors
/// As PostgreSQL.
pub fn encode(bytes: &Vector, format: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// decode(TEXT, format).
///
/// # Errors
/// As PostgreSQL.
pub fn decode(text: &Vector, format: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// to_hex(I64).
///
/// # Errors
/// As PostgreSQL.
pub fn to_hex(number: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// quote_literal.
///
/// # Errors
/// As PostgreSQL.
pub fn quote_literal(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// quote_ident.
///
/// # Errors
/// As PostgreSQL.
pub fn quote_ident(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// hashtext -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn hash_text(text: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}
