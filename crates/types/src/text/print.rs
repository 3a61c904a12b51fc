//! Numbers, dates and times to text.

use std::fmt::LowerExp;
use std::io::Write;
use std::ops::RangeInclusive;

use crate::calendar::{
    DATE_INFINITY, DATE_MINUS_INFINITY, HOUR, MINUTE, SECOND, TIMESTAMP_INFINITY,
    TIMESTAMP_MINUS_INFINITY, TimeZone, civil_from_days, is_finite_timestamp, split_timestamp,
};
use crate::characters::Buffer;
use crate::{NumericDisplay, NumericType};

/// Appends a DOUBLE: the fewest digits that read back as the same number, exponent form from 1e15
/// and below 1e-4.
pub(super) fn format_f64(out: &mut Vec<u8>, value: f64) {
    if format_special(out, value) {
        return;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52 & 0x7ff) as i32).max(1) - 1075;
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if bits >> 52 & 0x7ff == 0 { fraction } else { fraction | 1 << 52 };
    let text = shortest(value, 15..=17, |t| t.parse() == Ok(value), mantissa, exponent);
    place_point(out, text.as_str(), 15);
}

/// Appends a REAL: as [`format_f64`], exponent form from 1e6.
pub(super) fn format_f32(out: &mut Vec<u8>, value: f64) {
    if format_special(out, value) {
        return;
    }
    let value = value as f32;
    let bits = value.to_bits();
    let exponent = ((bits >> 23 & 0xff) as i32).max(1) - 150;
    let fraction = bits & ((1 << 23) - 1);
    let mantissa = if bits >> 23 & 0xff == 0 { fraction } else { fraction | 1 << 23 };
    let same = |t: &str| t.parse() == Ok(value);
    let text = shortest(value, 6..=9, same, u64::from(mantissa), exponent);
    place_point(out, text.as_str(), 6);
}

/// The shortest scientific text that reads back as `value`, `mantissa * 2^exponent`. It differs
/// from Rust's in two cases: it is never a tie between two numbers, and of two equally near texts
/// it is the even one. Both occur with `digits` digits or few more only.
fn shortest(
    value: impl LowerExp,
    digits: RangeInclusive<usize>,
    same: impl Fn(&str) -> bool,
    mantissa: u64,
    exponent: i32,
) -> Buffer {
    let mut buffer = Buffer::default();
    buffer.write(format_args!("{value:e}"));
    let (whole, fraction, _) = split_scientific(buffer.as_str());
    let count = whole.len() + fraction.len();
    let tie = is_tie(buffer.as_str(), mantissa, exponent);
    let first = if tie { count + 1 } else { count };
    if tie || count >= *digits.start() {
        for count in first..=*digits.end() {
            // Rust rounds to a given number of digits half to even.
            let mut exact = Buffer::default();
            exact.write(format_args!("{value:.*e}", count - 1));
            if same(exact.as_str()) && !is_tie(exact.as_str(), mantissa, exponent) {
                return exact;
            }
        }
    }
    buffer
}

fn format_special(out: &mut Vec<u8>, value: f64) -> bool {
    if value.is_nan() {
        push(out, "NaN");
    } else if value.is_infinite() {
        push(out, if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    !value.is_finite()
}

/// Digits without point, and the power of ten of the last one.
fn split_scientific(text: &str) -> (&str, &str, i32) {
    let text = text.trim_start_matches('-');
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (whole, fraction, exponent.parse().unwrap_or(0))
}

/// True when `text` lies exactly between two floating-point numbers, `mantissa * 2^exponent` and a
/// neighbour. Readers that do not round half to even misread it, so PostgreSQL prints one more
/// digit.
fn is_tie(text: &str, mantissa: u64, exponent: i32) -> bool {
    if mantissa % 2 == 1 {
        return false;
    }
    let (whole, fraction, ten) = split_scientific(text);
    let digits = whole.bytes().chain(fraction.bytes());
    let value = digits.fold(0u128, |v, b| v * 10 + u128::from(b - b'0'));
    let ten = ten - fraction.len() as i32;
    if value == 0 {
        return false;
    }
    // value * 10^ten = odd * 2^two; a middle is (2 * mantissa +- 1) * 2^(exponent - 1).
    let mut odd = value >> value.trailing_zeros();
    let two = value.trailing_zeros() as i32 + ten;
    for _ in 0..ten.unsigned_abs() {
        if ten > 0 {
            match odd.checked_mul(5) {
                Some(product) => odd = product,
                None => return false,
            }
        } else if odd % 5 == 0 {
            odd /= 5;
        } else {
            return false;
        }
    }
    let middle = u128::from(mantissa) * 2;
    two == exponent - 1 && (odd == middle + 1 || odd == middle.wrapping_sub(1))
}

/// Writes scientific `text` as C's `%g` does, in exponent form from 10^`limit` and below 10^-4.
fn place_point(out: &mut Vec<u8>, text: &str, limit: i32) {
    if text.starts_with('-') {
        out.push(b'-');
    }
    let (whole, fraction, exponent) = split_scientific(text);
    let fraction = fraction.trim_end_matches('0');
    if exponent < -4 || exponent >= limit {
        push(out, whole);
        if !fraction.is_empty() {
            out.push(b'.');
            push(out, fraction);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        push(out, "0.");
        out.extend(std::iter::repeat_n(b'0', exponent.unsigned_abs() as usize - 1));
        push(out, whole);
        push(out, fraction);
    } else {
        let exponent = exponent as usize;
        push(out, whole);
        push(out, &fraction[..exponent.min(fraction.len())]);
        out.extend(std::iter::repeat_n(b'0', exponent.saturating_sub(fraction.len())));
        if fraction.len() > exponent {
            out.push(b'.');
            push(out, &fraction[exponent..]);
        }
    }
}

/// The digits of 0 to 99.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Writes the digits of `rest` before `at`; returns where the first one is. 0 has none.
fn write_digits(digits: &mut [u8], mut at: usize, mut rest: u64) -> usize {
    while rest >= 100 {
        let pair = (rest % 100) as usize * 2;
        rest /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if rest >= 10 {
        let pair = rest as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else if rest > 0 {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    at
}

/// Appends an integer.
pub fn format_integer(out: &mut Vec<u8>, value: i64) {
    let mut digits = [b'0'; 20];
    let at = write_digits(&mut digits, 20, value.unsigned_abs()).min(19);
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends the NUMERIC `value` of type `ty`.
pub fn format_decimal(out: &mut Vec<u8>, value: i128, ty: NumericType) {
    let mut digits = [b'0'; 80];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    let scale = usize::from(ty.scale);
    // 64-bit division is several times faster than 128-bit.
    while rest > u128::from(u64::MAX) {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at = write_digits(&mut digits, at, rest as u64).min(digits.len() - scale - 1);
    let (whole, mut fraction) = digits[at..].split_at(digits.len() - scale - at);
    if ty.display == NumericDisplay::Trimmed {
        let zeros = fraction.iter().rev().take_while(|&&b| b == b'0').count();
        fraction = &fraction[..fraction.len() - zeros];
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(whole);
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn push_two(out: &mut Vec<u8>, value: i64) {
    let pair = (value % 100) as usize * 2;
    out.extend_from_slice(&PAIRS[pair..pair + 2]);
}

/// Appends year, month and day; returns what follows the whole text for years before 1.
fn push_civil(out: &mut Vec<u8>, days: i32) -> &'static str {
    let (_, month, day) = civil_from_days(days);
    let era = push_civil_year(out, days);
    out.push(b'-');
    push_two(out, i64::from(month));
    out.push(b'-');
    push_two(out, i64::from(day));
    era
}

/// Appends the year; returns what follows the whole text for years before 1.
pub(super) fn push_civil_year(out: &mut Vec<u8>, days: i32) -> &'static str {
    let (year, ..) = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    match shown {
        0..=9999 => {
            push_two(out, i64::from(shown / 100));
            push_two(out, i64::from(shown));
        }
        shown => format_integer(out, i64::from(shown)),
    }
    if year > 0 { "" } else { " BC" }
}

/// Appends a DATE.
pub fn format_date(out: &mut Vec<u8>, days: i32) {
    match days {
        DATE_INFINITY => push(out, "infinity"),
        DATE_MINUS_INFINITY => push(out, "-infinity"),
        days => {
            let era = push_civil(out, days);
            push(out, era);
        }
    }
}

/// Appends `.ffffff` without trailing zeros, nothing for 0.
pub(super) fn push_fraction(out: &mut Vec<u8>, micros: i64) {
    if micros != 0 {
        out.push(b'.');
        push_two(out, micros / 10_000);
        push_two(out, micros / 100);
        push_two(out, micros);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// Appends a TIME.
pub(super) fn format_time(out: &mut Vec<u8>, micros: i64) {
    push_two(out, micros / HOUR);
    out.push(b':');
    push_two(out, micros / MINUTE % 60);
    out.push(b':');
    push_two(out, micros / SECOND % 60);
    push_fraction(out, micros % SECOND);
}

/// Appends a TIMESTAMPTZ as clocks in `zone` show it, with their offset from UTC.
pub(crate) fn format_instant(out: &mut Vec<u8>, micros: i64, zone: &TimeZone) {
    if zone.is_utc() {
        return format_timestamp(out, micros, "+00");
    }
    let seconds = if is_finite_timestamp(micros) { zone.offset_at(micros) } else { 0 };
    // The very last microseconds have no local time east of here.
    let (local, seconds) = match micros.checked_add(seconds * SECOND) {
        Some(local) if local < TIMESTAMP_INFINITY || seconds == 0 => (local, seconds),
        _ => (micros, 0),
    };
    format_timestamp(out, local, offset_text(seconds).as_str());
}

/// An offset of `seconds` east of UTC: `+05:30`.
pub(super) fn offset_text(seconds: i64) -> Buffer {
    let (sign, size) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let (hours, minutes, rest) = (size / 3600, size / 60 % 60, size % 60);
    let mut offset = Buffer::default();
    offset.write(format_args!("{sign}{hours:02}"));
    if minutes > 0 || rest > 0 {
        offset.write(format_args!(":{minutes:02}"));
    }
    if rest > 0 {
        offset.write(format_args!(":{rest:02}"));
    }
    offset
}

/// Appends a TIMESTAMP or, with a `zone`, a TIMESTAMPTZ.
pub fn format_timestamp(out: &mut Vec<u8>, micros: i64, zone: &str) {
    match micros {
        TIMESTAMP_INFINITY => push(out, "infinity"),
        TIMESTAMP_MINUS_INFINITY => push(out, "-infinity"),
        micros => {
            let (days, time) = split_timestamp(micros);
            let era = push_civil(out, days);
            out.push(b' ');
            format_time(out, time);
            push(out, zone);
            push(out, era);
        }
    }
}
