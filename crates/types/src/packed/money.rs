//! MONEY: hundredths of a currency, shown as `$1,234.56`.

use std::io::Write;

use super::{Call, Given, push_i64, read_i64};
use crate::characters::{is_space, syntax_error};
use crate::decimal::division_by_zero;
use crate::{Error, Result, SqlState};

/// Reads an amount.
///
/// # Errors
/// 22P02, 22003.
///
/// Source: PostgreSQL 15, cash.c: `cash_in`, for the locale C.
pub(crate) fn parse_money(text: &str) -> Result<Vec<u8>> {
    let out_of_range = || {
        let message = format!("value \"{text}\" is out of range for type money");
        Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
    };
    let blank = |c: char| c.is_ascii() && is_space(c as u8);
    let rest = text.trim_start_matches(blank);
    let rest = rest.strip_prefix('$').unwrap_or(rest).trim_start_matches(blank);
    let (mut negative, rest) = match rest.as_bytes().first() {
        Some(b'-' | b'(') => (true, &rest[1..]),
        Some(b'+') => (false, &rest[1..]),
        _ => (false, rest),
    };
    let rest = rest.trim_start_matches(blank);
    let rest = rest.strip_prefix('$').unwrap_or(rest).trim_start_matches(blank);
    // As a negative number, of which there is one more.
    let (mut value, mut decimals, mut at) = (0_i64, None, 0);
    let bytes = rest.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match (byte, decimals) {
            (b'0'..=b'9', None | Some(0 | 1)) => {
                let next = value.checked_mul(10);
                let next = next.and_then(|value| value.checked_sub(i64::from(byte - b'0')));
                value = next.ok_or_else(out_of_range)?;
                decimals = decimals.map(|count| count + 1);
            }
            (b'.', None) => decimals = Some(0),
            (b',', _) => {}
            _ => break,
        }
        at += 1;
    }
    let rounds = matches!(bytes.get(at), Some(b'5'..=b'9'));
    for _ in decimals.unwrap_or(0)..2 {
        value = value.checked_mul(10).ok_or_else(out_of_range)?;
    }
    value = value.checked_sub(i64::from(rounds)).ok_or_else(out_of_range)?;
    let mut digits = true;
    for byte in &bytes[at..] {
        match byte {
            b'0'..=b'9' if digits => continue,
            b'-' => negative = true,
            b')' | b'+' | b'$' => {}
            byte if is_space(*byte) => {}
            _ => return Err(syntax_error("money", text)),
        }
        digits = false;
    }
    let value = if negative { value } else { value.checked_neg().ok_or_else(out_of_range)? };
    let mut out = Vec::with_capacity(8);
    push_i64(&mut out, value);
    Ok(out)
}

/// Appends an amount as PostgreSQL prints it in the locale C.
pub(crate) fn format_money(out: &mut Vec<u8>, bytes: &[u8]) {
    let value = read_i64(bytes);
    if value < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let magnitude = value.unsigned_abs();
    let whole = (magnitude / 100).to_string();
    for (at, digit) in whole.bytes().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    // A Vec takes whatever is written.
    let _ = write!(out, ".{:02}", magnitude % 100);
}

fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "money out of range")
}

type Computed = Result<Given>;

fn at(call: &Call<'_>, argument: usize) -> i64 {
    read_i64(call.bytes(argument))
}

fn given(value: Option<i64>, out: &mut Vec<u8>) -> Computed {
    push_i64(out, value.ok_or_else(out_of_range)?);
    Ok(Given::Bytes)
}

pub(super) fn add(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(at(call, 0).checked_add(at(call, 1)), out)
}

pub(super) fn subtract(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(at(call, 0).checked_sub(at(call, 1)), out)
}

pub(super) fn times_integer(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(at(call, 0).checked_mul(call.int(1)), out)
}

pub(super) fn integer_times(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(at(call, 1).checked_mul(call.int(0)), out)
}

/// A number of hundredths, rounded.
fn rounded(value: f64) -> Option<i64> {
    let value = value.round_ties_even();
    // False for NaN.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    fits.then_some(value as i64)
}

pub(super) fn times_double(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(rounded(at(call, 0) as f64 * call.double(1)), out)
}

pub(super) fn double_times(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(rounded(at(call, 1) as f64 * call.double(0)), out)
}

pub(super) fn by_integer(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    match call.int(1) {
        0 => Err(division_by_zero()),
        divisor => given(at(call, 0).checked_div(divisor), out),
    }
}

pub(super) fn by_double(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let divisor = call.double(1);
    if divisor == 0.0 {
        return Err(division_by_zero());
    }
    given(rounded(at(call, 0) as f64 / divisor), out)
}

pub(super) fn quotient(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    match at(call, 1) {
        0 => Err(division_by_zero()),
        divisor => Ok(Given::Double(at(call, 0) as f64 / divisor as f64)),
    }
}

/// The sum of an array's elements.
pub(super) fn sum(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut total: Option<i64> = None;
    for value in call.elements(0) {
        let next = total.unwrap_or(0).checked_add(read_i64(&value));
        total = Some(next.ok_or_else(out_of_range)?);
    }
    if total.is_none() { Ok(Given::Null) } else { given(total, out) }
}

const SMALL: [&str; 28] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
];

/// A number below 1,000 in words, as PostgreSQL writes it.
fn words(value: u64) -> String {
    let small = |value: u64| SMALL[value as usize];
    let tens = |value: u64| SMALL[(value / 10 + 18) as usize];
    if value <= 20 {
        return small(value).to_owned();
    }
    let below = value % 100;
    if below == 0 {
        return format!("{} hundred", small(value / 100));
    }
    if value > 99 {
        let hundreds = small(value / 100);
        return match below {
            _ if value.is_multiple_of(10) && below > 10 => {
                format!("{hundreds} hundred {}", tens(below))
            }
            0..20 => format!("{hundreds} hundred and {}", small(below)),
            _ => format!("{hundreds} hundred {} {}", tens(below), small(value % 10)),
        };
    }
    match value {
        _ if value.is_multiple_of(10) => tens(value).to_owned(),
        _ => format!("{} {}", tens(value), small(value % 10)),
    }
}

/// The amount in words.
pub(super) fn in_words(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let value = at(call, 0);
    let magnitude = value.unsigned_abs();
    let (dollars, cents) = (magnitude / 100, magnitude % 100);
    let mut text = String::new();
    if value < 0 {
        text.push_str("minus ");
    }
    let scales = [
        (1_000_000_000_000_000, "quadrillion"),
        (1_000_000_000_000, "trillion"),
        (1_000_000_000, "billion"),
        (1_000_000, "million"),
        (1_000, "thousand"),
    ];
    for (scale, name) in scales {
        let part = dollars / scale % 1_000;
        if part > 0 {
            text.push_str(&format!("{} {name} ", words(part)));
        }
    }
    if dollars % 1_000 > 0 {
        text.push_str(&words(dollars % 1_000));
    } else if dollars == 0 {
        text.push_str("zero");
    }
    let unit = if dollars == 1 { "dollar" } else { "dollars" };
    let small_unit = if cents == 1 { "cent" } else { "cents" };
    let all = format!("{text} {unit} and {} {small_unit}", words(cents));
    let mut letters = all.chars();
    if let Some(first) = letters.next() {
        out.extend_from_slice(first.to_ascii_uppercase().to_string().as_bytes());
    }
    out.extend_from_slice(letters.as_str().as_bytes());
    Ok(Given::Bytes)
}
