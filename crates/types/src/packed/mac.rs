//! MACADDR and MACADDR8.

use std::io::Write;

use super::{Call, Given};
use crate::characters::{syntax_error, trim};
use crate::{Error, Result, SqlState};

/// Reads a MACADDR: six numbers between colons or hyphens, or groups of digits.
///
/// # Errors
/// 22P02, 22003.
pub(crate) fn parse_mac(text: &str) -> Result<Vec<u8>> {
    let word = trim(text);
    let invalid = || syntax_error("macaddr", text);
    for separator in [':', '-'] {
        let parts: Vec<&str> = word.split(separator).collect();
        if parts.len() == 6 {
            return parts.into_iter().map(|part| octet(part, text)).collect();
        }
    }
    let groups: Vec<&str> = word.split([':', '-', '.']).collect();
    let digits = match groups.as_slice() {
        [one] => one.len() == 12,
        [a, b] => a.len() == 6 && b.len() == 6,
        [a, b, c] => [a, b, c].iter().all(|group| group.len() == 4),
        _ => false,
    };
    // Three groups stand between dots or hyphens, two between colons or hyphens.
    let dotted = word.contains('.') && groups.len() != 3 || word.contains(':') && groups.len() != 2;
    if !digits || dotted || mixed(word) {
        return Err(invalid());
    }
    bytes_of(&groups.concat()).ok_or_else(invalid)
}

/// True for text with several separators.
fn mixed(text: &str) -> bool {
    [':', '-', '.'].iter().filter(|separator| text.contains(**separator)).count() > 1
}

/// One number of a MACADDR.
fn octet(part: &str, text: &str) -> Result<u8> {
    if part.is_empty() || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(syntax_error("macaddr", text));
    }
    let number = u64::from_str_radix(part, 16).unwrap_or(u64::MAX);
    u8::try_from(number).map_err(|_| {
        let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
        Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
    })
}

/// Two digits a byte.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

/// Reads a MACADDR8: six or eight bytes, between which one kind of separator may stand.
///
/// # Errors
/// 22P02.
pub(crate) fn parse_mac8(text: &str) -> Result<Vec<u8>> {
    let invalid = || syntax_error("macaddr8", text);
    let word = trim(text);
    let mut digits = String::with_capacity(16);
    let mut separator = None;
    let characters: Vec<char> = word.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let two: String = characters[at..characters.len().min(at + 2)].iter().collect();
        if two.len() != 2 || digits.len() == 16 {
            return Err(invalid());
        }
        digits.push_str(&two);
        at += 2;
        if let Some(next @ (':' | '-' | '.')) = characters.get(at) {
            if separator.get_or_insert(*next) != next || at + 1 == characters.len() {
                return Err(invalid());
            }
            at += 1;
        }
    }
    let mut bytes = bytes_of(&digits).ok_or_else(invalid)?;
    match bytes.len() {
        8 => Ok(bytes),
        6 => {
            bytes.splice(3..3, [0xff, 0xfe]);
            Ok(bytes)
        }
        _ => Err(invalid()),
    }
}

/// Appends an address as PostgreSQL prints it.
pub(crate) fn format_mac(out: &mut Vec<u8>, bytes: &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.push(b':');
        }
        // A Vec takes whatever is written.
        let _ = write!(out, "{byte:02x}");
    }
}

/// A MACADDR as MACADDR8.
pub(super) fn widened(bytes: &[u8]) -> Vec<u8> {
    let mut wide = bytes.to_vec();
    wide.splice(3..3, [0xff, 0xfe]);
    wide
}

/// A MACADDR8 as MACADDR.
///
/// # Errors
/// 22003.
pub(super) fn narrowed(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes[3..5] != [0xff, 0xfe] {
        let message = "macaddr8 data out of range to convert to macaddr";
        let hint = "Only addresses that have FF and FE as values in the 4th and 5th bytes from \
                    the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted \
                    from macaddr8 to macaddr.";
        return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message).with_hint(hint));
    }
    Ok([&bytes[..3], &bytes[5..]].concat())
}

pub(super) fn not(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    out.extend(call.bytes(0).iter().map(|byte| !byte));
    Ok(Given::Bytes)
}

pub(super) fn and(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    out.extend(call.bytes(0).iter().zip(call.bytes(1)).map(|(a, b)| a & b));
    Ok(Given::Bytes)
}

pub(super) fn or(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    out.extend(call.bytes(0).iter().zip(call.bytes(1)).map(|(a, b)| a | b));
    Ok(Given::Bytes)
}

/// The address with all but its first three bytes 0.
pub(super) fn trunc(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    let bytes = call.bytes(0);
    out.extend_from_slice(&bytes[..3]);
    out.resize(bytes.len(), 0);
    Ok(Given::Bytes)
}

pub(super) fn set7bit(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    out.extend_from_slice(call.bytes(0));
    out[0] |= 2;
    Ok(Given::Bytes)
}
