//! XID8, CID and snapshots: numbers of transactions and commands, and which transactions one sees.
//!
//! ```text
//! XID8      8 bytes; CID 4: big-endian
//! snapshot  xmin 8, xmax 8, those between that run 8 each, in order
//! ```
//! Source: PostgreSQL 15, xid8funcs.c, xid.c.

use super::{Call, Given};
use crate::array::ArrayBuilder;
use crate::{DataType, ElementType, Error, PackedType, Result, SqlState};

type Computed = Result<Given>;

/// The number at the start of `text`, as C's strtoul reads it: 0 without one, the largest one for
/// those beyond.
fn number(text: &str) -> u64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, text) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (base, digits) = match hexadecimal {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_hexdigit()) => (16, rest),
        _ if text.starts_with('0') => (8, text),
        _ => (10, text),
    };
    let mut value = Some(0_u64);
    for digit in digits.chars().map_while(|c| c.to_digit(base)) {
        value = value.and_then(|v| v.checked_mul(base.into())?.checked_add(digit.into()));
    }
    match value {
        Some(value) if negative => value.wrapping_neg(),
        Some(value) => value,
        None => u64::MAX,
    }
}

/// Reads an XID8.
pub(crate) fn parse_xid8(text: &str) -> Vec<u8> {
    number(text).to_be_bytes().to_vec()
}

/// Reads a CID.
pub(crate) fn parse_cid(text: &str) -> Vec<u8> {
    // The lower half, as PostgreSQL takes it.
    (number(text) as u32).to_be_bytes().to_vec()
}

/// The number that `bytes`, big-endian, are.
fn read(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Appends an XID8 or CID.
pub(crate) fn format_number(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(read(bytes).to_string().as_bytes());
}

/// An XID8 of this number.
pub fn xid8_value(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// The number of an XID8.
pub fn xid8_number(bytes: &[u8]) -> u64 {
    read(bytes)
}

/// A snapshot that sees the transactions below `xmax` but for `running`, which are in order and not
/// below `xmin`.
pub fn snapshot_value(xmin: u64, xmax: u64, running: &[u64]) -> Vec<u8> {
    let all = [xmin, xmax].into_iter().chain(running.iter().copied());
    all.flat_map(u64::to_be_bytes).collect()
}

/// Reads a snapshot.
///
/// # Errors
/// 22P02.
pub(crate) fn parse_snapshot(text: &str) -> Result<Vec<u8>> {
    read_snapshot(text).ok_or_else(|| {
        let message = format!("invalid input syntax for type pg_snapshot: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT, message)
    })
}

fn read_snapshot(text: &str) -> Option<Vec<u8>> {
    let (xmin, rest) = leading(text)?;
    let (xmax, mut rest) = leading(rest.strip_prefix(':')?)?;
    rest = rest.strip_prefix(':')?;
    // Numbers that are valid, the smaller one first.
    if xmin == 0 || xmax == 0 || xmax < xmin {
        return None;
    }
    let (mut running, mut last) = (Vec::new(), 0);
    while !rest.is_empty() {
        let (number, behind) = leading(rest)?;
        if number < xmin || number >= xmax || number < last {
            return None;
        }
        if number != last {
            running.push(number);
        }
        last = number;
        rest = match behind.strip_prefix(',') {
            Some(next) => next,
            None if behind.is_empty() => behind,
            None => return None,
        };
    }
    Some(snapshot_value(xmin, xmax, &running))
}

/// The number before the first character that is no digit, and the rest; 0 without digits.
fn leading(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() { Some((0, rest)) } else { Some((digits.parse().ok()?, rest)) }
}

/// The numbers of a snapshot: xmin, xmax, and those that run.
fn parts(bytes: &[u8]) -> (u64, u64, impl Iterator<Item = u64> + '_) {
    let mut all = bytes.chunks(8).map(read);
    let (xmin, xmax) = (all.next().unwrap_or(0), all.next().unwrap_or(0));
    (xmin, xmax, all)
}

/// Appends a snapshot.
pub(crate) fn format_snapshot(out: &mut Vec<u8>, bytes: &[u8]) {
    let (xmin, xmax, running) = parts(bytes);
    let running: Vec<String> = running.map(|number| number.to_string()).collect();
    out.extend_from_slice(format!("{xmin}:{xmax}:{}", running.join(",")).as_bytes());
}

/// Appends the binary form of a snapshot.
pub(super) fn encode_snapshot(out: &mut Vec<u8>, bytes: &[u8]) {
    let count = (bytes.len() / 8).saturating_sub(2);
    out.extend_from_slice(&i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// The snapshot in the binary form; None for what is none.
pub(super) fn decode_snapshot(bytes: &[u8]) -> Option<Vec<u8>> {
    let (count, rest) = bytes.split_at_checked(4)?;
    let count = usize::try_from(i32::from_be_bytes(count.try_into().ok()?)).ok()?;
    let is_whole = rest.len() == count.checked_add(2)?.checked_mul(8)?;
    let (xmin, xmax, running) = parts(rest);
    let running: Vec<u64> = running.collect();
    let is_valid = xmin > 0
        && xmin <= xmax
        && running.is_sorted()
        && running.iter().all(|number| (xmin..xmax).contains(number));
    (is_whole && is_valid).then(|| rest.to_vec())
}

/// The number as the result has it.
fn given(call: &Call<'_>, number: u64, out: &mut Vec<u8>) -> Computed {
    if call.ty == DataType::BigInt {
        // As in PostgreSQL, where no transaction comes so far.
        return Ok(Given::Int(number as i64));
    }
    out.extend_from_slice(&number.to_be_bytes());
    Ok(Given::Bytes)
}

pub(super) fn xmin(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(call, parts(call.bytes(0)).0, out)
}

pub(super) fn xmax(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(call, parts(call.bytes(0)).1, out)
}

/// Transactions that run, as an array.
pub(super) fn running(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut builder = ArrayBuilder::new();
    for number in parts(call.bytes(0)).2 {
        if call.ty == DataType::Array(ElementType::BigInt) {
            builder.push_i64(number as i64);
        } else {
            builder.push_text(&number.to_be_bytes());
        }
    }
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

/// True when the snapshot sees the transaction.
pub(super) fn is_visible(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let number = match call.types.first() {
        Some(DataType::Packed(PackedType::Xid8)) => read(call.bytes(0)),
        _ => call.int(0) as u64,
    };
    let (xmin, xmax, mut running) = parts(call.bytes(1));
    let sees = number < xmin || number < xmax && !running.any(|other| other == number);
    Ok(Given::Bool(sees))
}

/// -1, 0 or 1: the order of two XID8.
pub(super) fn compare(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(read(call.bytes(0)).cmp(&read(call.bytes(1))) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        format_snapshot(&mut out, bytes);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn numbers_are_read_as_postgresql_reads_them() {
        let read = |text| xid8_number(&parse_xid8(text));
        assert_eq!(["abc", " 12", "12x", "0x10", "010"].map(read), [0, 12, 12, 16, 8]);
        assert_eq!(["-1", "18446744073709551616", "0x"].map(read), [u64::MAX, u64::MAX, 0]);
    }

    #[test]
    fn snapshots_come_back_from_text_and_from_bytes() {
        for text in ["12:15:12,13", "12:13:", "1:1:", "3:9:8"] {
            let value = parse_snapshot(text).expect("a snapshot");
            assert_eq!(shown(&value), text);
            let mut binary = Vec::new();
            encode_snapshot(&mut binary, &value);
            assert_eq!(decode_snapshot(&binary), Some(value), "{text}");
        }
        assert_eq!(shown(&parse_snapshot("12:20:12,12").expect("twice")), "12:20:12");
        for text in ["", "x", "12:10:", "12:20:13,12", "12:20:25", "0:20:", "12:20:12;13", "1:2"] {
            assert!(parse_snapshot(text).is_err(), "{text}");
        }
        for binary in [&[][..], &[0; 4], &[0; 20], &[255; 36]] {
            assert_eq!(decode_snapshot(binary), None);
        }
    }
}
