//! Parts of text: they share the memory of the whole.

use std::ops::Range;

use types::{Error, Result, SqlState};

use super::{Side, character_count, character_start, count_of};
use crate::Vector;
use crate::rows::{Texts, Values, try_narrow, utf8};

/// The bytes of `text` that stay; ASCII characters are compared as bytes.
fn trim_range(side: Side, text: &str, characters: &str) -> Range<usize> {
    let (mut start, mut end) = (0, text.len());
    if characters.is_ascii() {
        let drop = |byte: &u8| characters.as_bytes().contains(byte);
        let bytes = text.as_bytes();
        if side != Side::Right {
            start = bytes.iter().take_while(|b| drop(b)).count();
        }
        if side != Side::Left {
            end = start.max(end - bytes.iter().rev().take_while(|b| drop(b)).count());
        }
        return start..end;
    }
    let drop = |c: char| characters.contains(c);
    if side != Side::Right {
        start = end - text.trim_start_matches(drop).len();
    }
    if side != Side::Left {
        end = start + text[start..].trim_end_matches(drop).len();
    }
    start..end
}

/// btrim, ltrim, rtrim: without the longest start or end of which every character is in
/// `characters`.
///
/// # Errors
/// 22021 when the text is not UTF-8.
pub fn trim(side: Side, text: &Vector, characters: &Vector) -> Result<Vector> {
    let sets = Texts::new(characters);
    try_narrow(text, &[text, characters], |i, bytes| {
        Ok(trim_range(side, utf8(bytes)?, sets.str(i)?))
    })
}

/// btrim, ltrim, rtrim of BYTEA: bytes that are in `set`.
///
/// # Errors
/// None.
pub fn trim_bytes(side: Side, bytes: &Vector, set: &Vector) -> Result<Vector> {
    let sets = Texts::new(set);
    try_narrow(bytes, &[bytes, set], |i, bytes| {
        let set = sets.bytes(i);
        let is_kept = |byte: &u8| !set.contains(byte);
        let start = match side {
            Side::Right => 0,
            _ => bytes.iter().position(is_kept).unwrap_or(bytes.len()),
        };
        let end = match side {
            Side::Left => bytes.len(),
            _ => bytes.iter().rposition(is_kept).map_or(start, |last| last + 1),
        };
        Ok(start..end.max(start))
    })
}

#[cold]
fn negative_length() -> Error {
    Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// Positions from 0 that `from` (counting from 1) and `count` denote.
fn window(from: i32, count: Option<i32>) -> Result<Range<usize>> {
    let start = i64::from(from) - 1;
    let end = match count {
        None => i64::MAX,
        Some(count) if count < 0 => return Err(negative_length()),
        Some(count) => start + i64::from(count),
    };
    let clamp = |at: i64| usize::try_from(at).unwrap_or(0);
    Ok(clamp(start)..clamp(end).max(clamp(start)))
}

fn substring_by(
    text: &Vector,
    from: &Vector,
    count: Option<&Vector>,
    start_of: impl Fn(&[u8], usize) -> usize,
) -> Result<Vector> {
    let starts = Values::<i32>::new(from);
    let counts = count.map(Values::<i32>::new);
    let arguments: &[&Vector] = match count {
        Some(count) => &[text, from, count],
        None => &[text, from],
    };
    try_narrow(text, arguments, |i, bytes| {
        let window = window(starts.get(i), counts.map(|c| c.get(i)))?;
        let start = start_of(bytes, window.start);
        let rest = &bytes[start..];
        let end = start + start_of(rest, window.end - window.start);
        Ok(start..end)
    })
}

/// substring of TEXT: from character `from`, counted from 1, at most `count` characters.
///
/// # Errors
/// 22011 on a negative count.
pub fn substring(text: &Vector, from: &Vector, count: Option<&Vector>) -> Result<Vector> {
    substring_by(text, from, count, character_start)
}

/// substring of BYTEA, by bytes.
///
/// # Errors
/// 22011 on a negative count.
pub fn substring_bytes(bytes: &Vector, from: &Vector, count: Option<&Vector>) -> Result<Vector> {
    substring_by(bytes, from, count, |bytes, at| at.min(bytes.len()))
}

/// left: the first characters; a negative count is how many to leave out at the end.
///
/// # Errors
/// None.
pub fn left(text: &Vector, count: &Vector) -> Result<Vector> {
    let counts = Values::<i32>::new(count);
    try_narrow(text, &[text, count], |i, bytes| {
        let count = counts.get(i);
        let wanted = if count >= 0 {
            count_of(count)
        } else {
            character_count(bytes).saturating_sub(count.unsigned_abs() as usize)
        };
        Ok(0..character_start(bytes, wanted))
    })
}

/// right: the last characters; a negative count is how many to leave out at the start.
///
/// # Errors
/// None.
pub fn right(text: &Vector, count: &Vector) -> Result<Vector> {
    let counts = Values::<i32>::new(count);
    try_narrow(text, &[text, count], |i, bytes| {
        let count = counts.get(i);
        let skipped = if count >= 0 {
            character_count(bytes).saturating_sub(count_of(count))
        } else {
            count.unsigned_abs() as usize
        };
        Ok(character_start(bytes, skipped)..bytes.len())
    })
}

/// Where part `field` (not 0; negative ones count from the end) lies between delimiters.
fn part_range(text: &[u8], delimiter: &[u8], field: i32) -> Range<usize> {
    if delimiter.is_empty() {
        // No delimiter, one part.
        return if field == 1 || field == -1 { 0..text.len() } else { 0..0 };
    }
    let mut wanted = i64::from(field) - 1;
    if field < 0 {
        let parts = memchr::memmem::find_iter(text, delimiter).count() as i64 + 1;
        wanted = parts + i64::from(field);
    }
    if wanted < 0 {
        return 0..0;
    }
    let mut start = 0;
    for end in memchr::memmem::find_iter(text, delimiter) {
        if wanted == 0 {
            return start..end;
        }
        wanted -= 1;
        start = end + delimiter.len();
    }
    if wanted == 0 { start..text.len() } else { 0..0 }
}

/// split_part.
///
/// # Errors
/// 22023 for field 0.
pub fn split_part(text: &Vector, delimiter: &Vector, field: &Vector) -> Result<Vector> {
    let delimiters = Texts::new(delimiter);
    let fields = Values::<i32>::new(field);
    try_narrow(text, &[text, delimiter, field], |i, bytes| match fields.get(i) {
        0 => {
            let message = "field position must not be zero";
            Err(Error::new(SqlState::INVALID_PARAMETER, message))
        }
        field => Ok(part_range(bytes, delimiters.bytes(i), field)),
    })
}
