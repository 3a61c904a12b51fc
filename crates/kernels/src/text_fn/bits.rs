//! Single bytes and bits of BYTEA. Bit `n` is the bit of weight `n % 8` of byte `n / 8`.

use types::{Error, Result, SqlState};

use crate::Vector;
use crate::rows::{Texts, Values, try_build, try_write};

/// The place of byte or bit `index` of `count`.
///
/// # Errors
/// 2202E outside.
fn place(index: i64, count: usize) -> Result<usize> {
    usize::try_from(index).ok().filter(|index| *index < count).ok_or_else(|| {
        let last = count as i64 - 1;
        let message = format!("index {index} out of valid range, 0..{last}");
        Error::new(SqlState::ARRAY_SUBSCRIPT, message)
    })
}

/// get_byte(BYTEA, I32) -> I32.
///
/// # Errors
/// 2202E outside.
pub fn get_byte(bytes: &Vector, index: &Vector) -> Result<Vector> {
    let (values, places) = (Texts::new(bytes), Values::<i32>::new(index));
    try_build(&[bytes, index], |i| {
        let bytes = values.bytes(i);
        Ok(i32::from(bytes[place(i64::from(places.get(i)), bytes.len())?]))
    })
}

/// set_byte(BYTEA, I32, I32): the low bits of the last one.
///
/// # Errors
/// 2202E outside.
pub fn set_byte(bytes: &Vector, index: &Vector, new: &Vector) -> Result<Vector> {
    let values = Texts::new(bytes);
    let (places, news) = (Values::<i32>::new(index), Values::<i32>::new(new));
    try_write(&[bytes, index, new], |i, out| {
        let bytes = values.bytes(i);
        let at = place(i64::from(places.get(i)), bytes.len())?;
        out.extend_from_slice(bytes);
        out[at] = news.get(i).to_le_bytes()[0];
        Ok(())
    })
}

/// get_bit(BYTEA, I64) -> I32.
///
/// # Errors
/// 2202E outside.
pub fn get_bit(bytes: &Vector, index: &Vector) -> Result<Vector> {
    let (values, places) = (Texts::new(bytes), Values::<i64>::new(index));
    try_build(&[bytes, index], |i| {
        let bytes = values.bytes(i);
        let at = place(places.get(i), bytes.len() * 8)?;
        Ok(i32::from(bytes[at / 8] >> (at % 8) & 1))
    })
}

/// set_bit(BYTEA, I64, I32).
///
/// # Errors
/// 2202E outside, 22023 for another value than 0 and 1.
pub fn set_bit(bytes: &Vector, index: &Vector, new: &Vector) -> Result<Vector> {
    let values = Texts::new(bytes);
    let (places, news) = (Values::<i64>::new(index), Values::<i32>::new(new));
    try_write(&[bytes, index, new], |i, out| {
        let bytes = values.bytes(i);
        let at = place(places.get(i), bytes.len() * 8)?;
        out.extend_from_slice(bytes);
        match news.get(i) {
            0 => out[at / 8] &= !(1 << (at % 8)),
            1 => out[at / 8] |= 1 << (at % 8),
            _ => return Err(Error::new(SqlState::INVALID_PARAMETER, "new bit must be 0 or 1")),
        }
        Ok(())
    })
}

/// bit_count(BYTEA) -> I64.
///
/// # Errors
/// None.
pub fn bit_count(bytes: &Vector) -> Result<Vector> {
    let values = Texts::new(bytes);
    try_build(&[bytes], |i| {
        Ok(values.bytes(i).iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>())
    })
}
