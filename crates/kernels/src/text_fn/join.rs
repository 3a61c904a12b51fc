//! New text from parts.

use types::Result;

use super::{Side, character_count, character_start, count_of, push_char, value_length};
use crate::rows::{Texts, Values, Written, count, try_write, utf8, validity};
use crate::{StrBuilder, Vector, VectorData};

/// lpad, rpad: exactly `length` characters, filled up with `fill` or cut at the end.
///
/// # Errors
/// 54000 when the result would exceed 1 GiB.
pub fn pad(side: Side, text: &Vector, length: &Vector, fill: &Vector) -> Result<Vector> {
    let (texts, fills) = (Texts::new(text), Texts::new(fill));
    let lengths = Values::<i32>::new(length);
    try_write(&[text, length, fill], |i, out| {
        let (text, fill) = (texts.bytes(i), fills.bytes(i));
        let wanted = count_of(lengths.get(i));
        value_length(wanted.checked_mul(4))?;
        let have = character_count(text);
        if have >= wanted || fill.is_empty() {
            out.extend_from_slice(&text[..character_start(text, wanted)]);
            return Ok(());
        }
        if side == Side::Right {
            out.extend_from_slice(text);
        }
        let (missing, per_fill) = (wanted - have, character_count(fill));
        out.make(text.len() + (missing / per_fill + 1) * fill.len())?;
        for _ in 0..missing / per_fill {
            out.extend_from_slice(fill);
        }
        out.extend_from_slice(&fill[..character_start(fill, missing % per_fill)]);
        if side != Side::Right {
            out.extend_from_slice(text);
        }
        Ok(())
    })
}

/// replace: every occurrence of `from`; text without any stays.
///
/// # Errors
/// 54000 when the result would exceed 1 GiB.
pub fn replace(text: &Vector, from: &Vector, to: &Vector) -> Result<Vector> {
    let (texts, froms, tos) = (Texts::new(text), Texts::new(from), Texts::new(to));
    try_write(&[text, from, to], |i, out| {
        let (text, from, to) = (texts.bytes(i), froms.bytes(i), tos.bytes(i));
        let mut start = 0;
        if !from.is_empty() {
            if to.len() > from.len() {
                // Known before anything is written: a text of 10 GB must not be begun.
                let found = memchr::memmem::find_iter(text, from).count();
                let longer = found.checked_mul(to.len() - from.len());
                out.make(value_length(longer.and_then(|n| n.checked_add(text.len())))?)?;
            }
            for at in memchr::memmem::find_iter(text, from) {
                out.extend_from_slice(&text[start..at]);
                out.extend_from_slice(to);
                start = at + from.len();
            }
        }
        out.extend_from_slice(&text[start..]);
        Ok(())
    })
}

/// repeat; a count below 1 gives empty text.
///
/// # Errors
/// 54000 when the result would exceed 1 GiB.
pub fn repeat(text: &Vector, count: &Vector) -> Result<Vector> {
    let (texts, counts) = (Texts::new(text), Values::<i32>::new(count));
    try_write(&[text, count], |i, out| {
        let (text, count) = (texts.bytes(i), count_of(counts.get(i)));
        out.make(value_length(text.len().checked_mul(count))?)?;
        let bytes = text.len() * count;
        if bytes > 0 {
            out.extend_from_slice(text);
        }
        // What is written is written again, twice as much each time.
        while out.len() < bytes {
            let more = out.len().min(bytes - out.len());
            out.extend_from_within(..more);
        }
        Ok(())
    })
}

/// reverse, by characters.
///
/// # Errors
/// 22021 when the text is not UTF-8.
pub fn reverse(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_write(&[text], |i, out| {
        let bytes = texts.bytes(i);
        if bytes.is_ascii() {
            out.extend(bytes.iter().rev());
        } else {
            utf8(bytes)?.chars().rev().for_each(|c| push_char(out, c));
        }
        Ok(())
    })
}

/// translate: each character of `from` becomes the one of `to` at the same place, or nothing.
///
/// # Errors
/// 22021 when an argument is not UTF-8.
pub fn translate(text: &Vector, from: &Vector, to: &Vector) -> Result<Vector> {
    let (texts, froms, tos) = (Texts::new(text), Texts::new(from), Texts::new(to));
    try_write(&[text, from, to], |i, out| {
        let (from, to) = (froms.str(i)?, tos.str(i)?);
        for c in texts.str(i)?.chars() {
            match from.chars().position(|f| f == c) {
                None => push_char(out, c),
                Some(at) => {
                    if let Some(replacement) = to.chars().nth(at) {
                        push_char(out, replacement);
                    }
                }
            }
        }
        Ok(())
    })
}

/// `a || b`.
///
/// # Errors
/// None.
pub fn concat_operator(a: &Vector, b: &Vector) -> Result<Vector> {
    let (x, y) = (Texts::new(a), Texts::new(b));
    try_write(&[a, b], |i, out| {
        let (x, y) = (x.bytes(i), y.bytes(i));
        out.make(x.len() + y.len())?;
        out.extend_from_slice(x);
        out.extend_from_slice(y);
        Ok(())
    })
}

/// True when row `i` of an argument, or its one row, is NULL.
fn is_null(vector: &Vector, i: usize) -> bool {
    vector.is_null(crate::broadcast::row(vector.len(), i))
}

/// concat: NULL counts as empty; no arguments give one row.
///
/// # Errors
/// None.
pub fn concat(arguments: &[&Vector]) -> Result<Vector> {
    let rows = count(arguments);
    let mut out = StrBuilder::with_capacity(rows);
    let mut written = Written::default();
    for i in 0..rows {
        written.clear();
        for argument in arguments {
            if !is_null(argument, i) {
                written.push_bytes(Texts::new(argument).bytes(i))?;
            }
        }
        written.end(&mut out)?;
    }
    Ok(Vector::new(VectorData::Str(out.finish())))
}

/// concat_ws: values that are not NULL with the separator between them; NULL when that is NULL.
///
/// # Errors
/// None.
pub fn concat_ws(separator: &Vector, arguments: &[&Vector]) -> Result<Vector> {
    let separators = Texts::new(separator);
    let mut all = vec![separator];
    all.extend_from_slice(arguments);
    let rows = count(&all);
    let valid = validity(&[separator], rows);
    let mut out = StrBuilder::with_capacity(rows);
    let mut written = Written::default();
    for i in 0..rows {
        written.clear();
        let mut first = true;
        let values = arguments.iter().filter(|a| !is_null(a, i) && !is_null(separator, i));
        for argument in values {
            if !first {
                written.push_bytes(separators.bytes(i))?;
            }
            first = false;
            written.push_bytes(Texts::new(argument).bytes(i))?;
        }
        written.end(&mut out)?;
    }
    Ok(Vector::with_validity(VectorData::Str(out.finish()), valid))
}
