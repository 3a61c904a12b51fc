//! PG_LSN: a place in the log, shown as `16/B374D848`.

use std::io::Write;

use super::{Call, Given};
use crate::characters::syntax_error;
use crate::wide::Wide;
use crate::{DataType, Error, Result, SqlState};

/// Digits of each half at most.
const DIGITS: usize = 8;

/// Reads a place.
///
/// # Errors
/// 22P02.
pub(crate) fn parse_lsn(text: &str) -> Result<Vec<u8>> {
    let half = |digits: &str| {
        let fits = (1..=DIGITS).contains(&digits.len());
        let hexadecimal = fits && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| hexadecimal)
    };
    let halves = text.split_once('/').and_then(|(high, low)| half(high).zip(half(low)));
    let (high, low) = halves.ok_or_else(|| syntax_error("pg_lsn", text))?;
    Ok([high.to_be_bytes(), low.to_be_bytes()].concat())
}

fn read(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight))
}

/// Appends a place as PostgreSQL prints it.
pub(crate) fn format_lsn(out: &mut Vec<u8>, bytes: &[u8]) {
    let place = read(bytes);
    // A Vec takes whatever is written.
    let _ = write!(out, "{:X}/{:X}", place >> 32, place & 0xffff_ffff);
}

type Computed = Result<Given>;

fn place(call: &Call<'_>, argument: usize) -> Wide {
    Wide::new(i128::from(read(call.bytes(argument))), 0)
}

/// Argument `argument`, a number of bytes.
///
/// # Errors
/// 0A000 for NaN.
fn bytes_of(call: &Call<'_>, argument: usize, word: &str) -> Result<Wide> {
    let number = Wide::read(call.bytes(argument))?;
    if number.is_nan() {
        let message = format!("cannot {word} pg_lsn");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(number)
}

/// Appends the place that a number is.
///
/// # Errors
/// 22023 beyond 64 bits, 0A000 for infinities.
fn given(number: &Wide, out: &mut Vec<u8>) -> Computed {
    let out_of_range = || Error::new(SqlState::INVALID_PARAMETER, "pg_lsn out of range");
    if number.finite().is_none() {
        let message = "cannot convert infinity to pg_lsn";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let whole = number.to_scaled(crate::NumericType::fixed(38, 0)).map_err(|_| out_of_range())?;
    let place = u64::try_from(whole).map_err(|_| out_of_range())?;
    out.extend_from_slice(&place.to_be_bytes());
    Ok(Given::Bytes)
}

pub(super) fn difference(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    place(call, 0).subtract(&place(call, 1))?.encode(out);
    Ok(Given::Bytes)
}

pub(super) fn plus(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (at, by) = match call.types.first() {
        Some(DataType::Packed(_)) => (0, 1),
        _ => (1, 0),
    };
    given(&place(call, at).add(&bytes_of(call, by, "add NaN to")?)?, out)
}

pub(super) fn minus(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&place(call, 0).subtract(&bytes_of(call, 1, "subtract NaN from")?)?, out)
}

pub(super) fn of_number(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&bytes_of(call, 0, "convert NaN to")?, out)
}
