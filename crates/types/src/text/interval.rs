//! INTERVAL from and to text.
//!
//! As PostgreSQL, text is read from its end to its start: a unit belongs to the number before it,
//! and a number without unit before a time counts days. Source: PostgreSQL 15, datetime.c,
//! `DecodeInterval` and `DecodeISO8601Interval`.

use std::io::Write;

use super::print::push_fraction;
use super::tokens::{Cursor, fraction_micros};
use crate::calendar::{DAY, HOUR, MINUTE, SECOND, fitted_interval, interval_out_of_range};
use crate::characters::{is_space, trim};
use crate::{Error, Interval, IntervalFields, IntervalForm, Result, SqlState};

enum Failure {
    /// 22007.
    Format,
    /// 22015, a field by itself.
    Range,
    /// 22008, all fields together.
    Total,
}

type Parsed<T> = std::result::Result<T, Failure>;

/// Units, smallest first; each may occur once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

fn unit(word: &str) -> Option<Unit> {
    // Words count as far as their tenth letter.
    Some(match word.get(..10).unwrap_or(word) {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
        _ => return None,
    })
}

/// A piece of interval text.
#[derive(Clone, Copy, Debug)]
enum Token<'a> {
    /// A number: whole part and fraction of equal sign.
    Number { whole: i64, fraction: f64 },
    /// `y-m`.
    YearMonth { years: i64, months: i64, negative: bool },
    /// `h:m[:s]` in microseconds, and whether a sign stood before it.
    Time { micros: i64, negative: bool },
    /// A word.
    Word(&'a str),
}

/// The sum so far; decades in years, weeks in days.
#[derive(Default)]
struct Sum {
    years: i64,
    months: i64,
    days: i64,
    micros: i64,
    seen: u16,
}

fn checked(value: Option<i64>) -> Parsed<i64> {
    value.ok_or(Failure::Range)
}

impl Sum {
    fn add_months(&mut self, months: Option<i64>) -> Parsed<()> {
        self.months = checked(months.and_then(|m| self.months.checked_add(m)))?;
        i32::try_from(self.months).map(drop).map_err(|_| Failure::Range)
    }

    fn add_days(&mut self, days: Option<i64>) -> Parsed<()> {
        self.days = checked(days.and_then(|d| self.days.checked_add(d)))?;
        i32::try_from(self.days).map(drop).map_err(|_| Failure::Range)
    }

    fn add_micros(&mut self, micros: Option<i64>) -> Parsed<()> {
        self.micros = checked(micros.and_then(|m| self.micros.checked_add(m)))?;
        Ok(())
    }

    /// A fraction of `unit` microseconds.
    fn add_fraction_micros(&mut self, fraction: f64, unit: i64) -> Parsed<()> {
        let scaled = fraction * unit as f64;
        let whole = scaled.trunc();
        let rest = scaled - whole;
        let up = if rest > 0.5 {
            1
        } else if rest < -0.5 {
            -1
        } else {
            0
        };
        self.add_micros(Some(whole as i64 + up))
    }

    /// A fraction of `unit` days.
    fn add_fraction_days(&mut self, fraction: f64, unit: i64) -> Parsed<()> {
        let scaled = fraction * unit as f64;
        self.add_days(Some(scaled.trunc() as i64))?;
        self.add_fraction_micros(scaled - scaled.trunc(), DAY)
    }

    /// `whole` and `fraction` (of equal sign) of `unit`.
    fn add(&mut self, whole: i64, fraction: f64, unit: Unit) -> Parsed<()> {
        let fraction_months = |count: f64| (fraction * 12.0 * count).round_ties_even() as i64;
        let (count, months) = match unit {
            Unit::Year => (1, true),
            Unit::Decade => (10, true),
            Unit::Century => (100, true),
            Unit::Millennium => (1000, true),
            _ => (0, false),
        };
        if months {
            let years = whole.checked_mul(count).and_then(|y| self.years.checked_add(y));
            self.years = checked(years)?;
            i32::try_from(self.years).map_err(|_| Failure::Range)?;
            return self.add_months(Some(fraction_months(count as f64)));
        }
        match unit {
            Unit::Month => {
                self.add_months(Some(whole))?;
                self.add_fraction_days(fraction, 30)
            }
            Unit::Week => {
                self.add_days(whole.checked_mul(7))?;
                self.add_fraction_days(fraction, 7)
            }
            Unit::Day => {
                self.add_days(Some(whole))?;
                self.add_fraction_micros(fraction, DAY)
            }
            small => {
                let unit = match small {
                    Unit::Hour => HOUR,
                    Unit::Minute => MINUTE,
                    Unit::Second => SECOND,
                    Unit::Millisecond => 1000,
                    _ => 1,
                };
                self.add_micros(whole.checked_mul(unit))?;
                self.add_fraction_micros(fraction, unit)
            }
        }
    }

    /// Notes that `unit` occurred.
    fn note(&mut self, unit: Unit) -> Parsed<()> {
        let bit = 1 << unit as u16;
        if self.seen & bit != 0 {
            return Err(Failure::Format);
        }
        self.seen |= bit;
        Ok(())
    }

    /// Notes that parts of seconds occurred.
    fn note_subseconds(&mut self) -> Parsed<()> {
        self.note(Unit::Millisecond)?;
        self.note(Unit::Microsecond)
    }

    fn finish(self) -> Parsed<Interval> {
        let months = i32::try_from(self.years * 12 + self.months).map_err(|_| Failure::Total)?;
        let days = i32::try_from(self.days).map_err(|_| Failure::Range)?;
        Ok(Interval { months, days, micros: self.micros })
    }
}

fn number(digits: &str) -> Parsed<i64> {
    if digits.is_empty() {
        return Ok(0);
    }
    digits.parse().map_err(|_| Failure::Range)
}

/// As [`number`], with its sign: the least has no opposite.
fn signed(digits: &str, negative: bool) -> Parsed<i64> {
    if !negative || digits.is_empty() {
        return number(digits);
    }
    let magnitude: u64 = digits.parse().map_err(|_| Failure::Range)?;
    checked(0i64.checked_sub_unsigned(magnitude))
}

/// The next token; None at the end.
fn next_token<'a>(cursor: &mut Cursor<'a>) -> Parsed<Option<Token<'a>>> {
    cursor.take(|b| is_space(b) || matches!(b, b',' | b'@'));
    match cursor.peek() {
        None => return Ok(None),
        Some(b) if b.is_ascii_alphabetic() => return Ok(Some(Token::Word(cursor.letters()))),
        _ => {}
    }
    let negative = cursor.peek() == Some(b'-');
    if negative || cursor.peek() == Some(b'+') {
        cursor.skip();
        cursor.spaces();
    }
    let digits = cursor.digits();
    if digits.is_empty() && cursor.peek() != Some(b'.') {
        return Err(Failure::Format);
    }
    match cursor.peek() {
        Some(b':') => read_time(digits, negative, cursor).map(Some),
        Some(b'-') if cursor.peek_at(1).is_some_and(|b| b.is_ascii_digit()) => {
            cursor.skip();
            let months = number(cursor.digits())?;
            if months > 11 {
                return Err(Failure::Range);
            }
            // A date is no interval.
            if matches!(cursor.peek(), Some(b'-' | b'.' | b':')) {
                return Err(Failure::Format);
            }
            Ok(Some(Token::YearMonth { years: number(digits)?, months, negative }))
        }
        _ => {
            let fraction = cursor.fraction();
            let sign = if negative { -1.0 } else { 1.0 };
            let whole = signed(digits, negative)?;
            Ok(Some(Token::Number { whole, fraction: fraction * sign }))
        }
    }
}

/// `h:m[:s[.f]]`, or `m:s.f`.
fn read_time<'a>(first: &str, negative: bool, cursor: &mut Cursor<'a>) -> Parsed<Token<'a>> {
    cursor.skip();
    let (mut hour, mut minute) = (number(first)?, number(cursor.digits())?);
    let (mut second, mut fraction) = (0, 0.0);
    if cursor.peek() == Some(b'.') {
        (hour, minute, second) = (0, hour, minute);
        fraction = cursor.fraction();
    } else if cursor.eat(b':') {
        second = number(cursor.digits())?;
        fraction = cursor.fraction();
    }
    if minute > 59 || second > 60 {
        return Err(Failure::Range);
    }
    let seconds =
        checked(hour.checked_mul(3600).and_then(|h| h.checked_add(minute * 60 + second)))?;
    let micros = checked(
        seconds.checked_mul(SECOND).and_then(|s| s.checked_add(fraction_micros(fraction))),
    )?;
    Ok(Token::Time { micros, negative })
}

fn read(text: &str, last: Unit) -> Parsed<Interval> {
    let mut cursor = Cursor::new(text);
    let mut tokens = Vec::new();
    while let Some(token) = next_token(&mut cursor)? {
        tokens.push(token);
    }
    let mut sum = Sum::default();
    let mut pending = None;
    let mut before = false;
    let mut found = false;
    for token in tokens.iter().rev() {
        match *token {
            Token::Word(word) => {
                let word = word.to_ascii_lowercase();
                if word == "ago" && !found && pending.is_none() {
                    before = true;
                } else {
                    pending = Some(unit(&word).ok_or(Failure::Format)?);
                }
            }
            Token::Time { micros, negative } => {
                sum.note(Unit::Hour)?;
                sum.note(Unit::Minute)?;
                sum.note(Unit::Second)?;
                sum.note_subseconds()?;
                sum.add_micros(Some(if negative { -micros } else { micros }))?;
                (pending, found) = (Some(Unit::Day), true);
            }
            Token::YearMonth { years, months, negative } => {
                sum.note(Unit::Month)?;
                let total = checked(years.checked_mul(12).and_then(|y| y.checked_add(months)))?;
                sum.add_months(Some(if negative { -total } else { total }))?;
                (pending, found) = (None, true);
            }
            Token::Number { whole, fraction } => {
                let unit = pending.unwrap_or(last);
                let is_implied = pending.is_none();
                sum.note(unit)?;
                if unit == Unit::Second && fraction != 0.0 {
                    sum.note_subseconds()?;
                }
                sum.add(whole, fraction, unit)?;
                // As in '1 2' DAY TO HOUR.
                if is_implied && unit == Unit::Hour {
                    pending = Some(Unit::Day);
                }
                found = true;
            }
        }
    }
    if !found || unit_without_number(&tokens) {
        return Err(Failure::Format);
    }
    let interval = sum.finish()?;
    if before { interval.checked_neg().ok_or(Failure::Range) } else { Ok(interval) }
}

/// True when a unit stands first or after another unit.
fn unit_without_number(tokens: &[Token<'_>]) -> bool {
    let is_unit = |t: &Token<'_>| matches!(t, Token::Word(w) if !w.eq_ignore_ascii_case("ago"));
    tokens.first().is_some_and(is_unit)
        || tokens.windows(2).any(|w| is_unit(&w[0]) && is_unit(&w[1]))
}

/// A signed number of ISO 8601 text.
struct IsoNumber {
    whole: i64,
    /// The rest, of equal sign, as exact as a double next to the whole part is.
    fraction: f64,
    /// Digits of the whole part.
    width: usize,
}

fn iso_number(cursor: &mut Cursor<'_>) -> Parsed<IsoNumber> {
    let negative = cursor.eat(b'-');
    if !negative {
        cursor.eat(b'+');
    }
    if !cursor.peek().is_some_and(|b| b.is_ascii_digit() || b == b'.') {
        return Err(Failure::Format);
    }
    let digits = cursor.digits();
    if digits.is_empty() && !cursor.peek_at(1).is_some_and(|b| b.is_ascii_digit()) {
        return Err(Failure::Format);
    }
    let (whole, width) = (signed(digits, negative)?, digits.len());
    let fraction = (whole.unsigned_abs() as f64 + cursor.fraction()) - whole.unsigned_abs() as f64;
    Ok(IsoNumber { whole, fraction: if negative { -fraction } else { fraction }, width })
}

/// The units of the dates and times that ISO 8601 writes without letters.
fn iso_units(in_time: bool) -> [Unit; 3] {
    if in_time {
        [Unit::Hour, Unit::Minute, Unit::Second]
    } else {
        [Unit::Year, Unit::Month, Unit::Day]
    }
}

/// `P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`, `P00010203T040506`.
fn read_iso(text: &str) -> Parsed<Interval> {
    let mut cursor = Cursor::new(text);
    let mut sum = Sum::default();
    // Whether something was found at all, and on this side of T.
    let (mut in_time, mut found, mut found_here) = (false, false, false);
    while let Some(byte) = cursor.peek() {
        if byte == b'T' {
            cursor.skip();
            (in_time, found, found_here) = (true, true, false);
            continue;
        }
        let number = iso_number(&mut cursor)?;
        let unit = match (cursor.peek(), in_time) {
            (Some(b'Y'), false) => Unit::Year,
            (Some(b'M'), false) => Unit::Month,
            (Some(b'W'), false) => Unit::Week,
            (Some(b'D'), false) => Unit::Day,
            (Some(b'H'), true) => Unit::Hour,
            (Some(b'M'), true) => Unit::Minute,
            (Some(b'S'), true) => Unit::Second,
            (Some(b'-'), false) | (Some(b':'), true) => {
                read_iso_alternative(number, in_time, &mut cursor, &mut sum)?;
                (found, found_here) = (true, true);
                continue;
            }
            (None, _) | (Some(b'T'), false) if !found_here => {
                add_iso_basic(&number, in_time, &mut sum)?;
                (found, found_here) = (true, true);
                continue;
            }
            _ => return Err(Failure::Format),
        };
        cursor.skip();
        sum.add(number.whole, number.fraction, unit)?;
        (found, found_here) = (true, true);
    }
    if found { sum.finish() } else { Err(Failure::Format) }
}

/// `yyyymmdd` or `hhmmss`, of which a fraction is not read; a number of another width is years or
/// hours.
fn add_iso_basic(number: &IsoNumber, in_time: bool, sum: &mut Sum) -> Parsed<()> {
    let IsoNumber { whole, fraction, width } = *number;
    let [first, second, third] = iso_units(in_time);
    if width != if in_time { 6 } else { 8 } {
        return sum.add(whole, fraction, first);
    }
    sum.add(whole / 10_000, 0.0, first)?;
    sum.add(whole / 100 % 100, 0.0, second)?;
    sum.add(whole % 100, 0.0, third)
}

/// The rest of `yyyy-mm-dd` or `hh:mm:ss`.
fn read_iso_alternative(
    number: IsoNumber,
    in_time: bool,
    cursor: &mut Cursor<'_>,
    sum: &mut Sum,
) -> Parsed<()> {
    let units = iso_units(in_time);
    let separator = if in_time { b':' } else { b'-' };
    sum.add(number.whole, number.fraction, units[0])?;
    for unit in &units[1..] {
        if !cursor.eat(separator) {
            break;
        }
        let number = iso_number(cursor)?;
        sum.add(number.whole, number.fraction, *unit)?;
    }
    Ok(())
}

/// INTERVAL.
pub(crate) fn parse_interval(text: &str) -> Result<Interval> {
    parse_with(text, Unit::Second)
}

/// INTERVAL with the fields and digits of `form`: a last number without unit counts the last field,
/// and `1:30` are minutes and seconds where these are the fields.
///
/// # Errors
/// 22007, 22015, 22008.
pub fn parse_interval_as(text: &str, form: Option<IntervalForm>) -> Result<Interval> {
    let fields = form.and_then(|form| form.fields);
    let last = fields.and_then(|fields| unit(fields.last().name()));
    let is_short = fields == Some(IntervalFields::MinuteToSecond) && text.matches(':').count() == 1;
    let parsed = if is_short {
        parse_with(&with_hour(text), Unit::Second)
    } else {
        parse_with(text, last.unwrap_or(Unit::Second))
    };
    fitted_interval(parsed?, form)
}

/// `mm:ss` as `00:mm:ss`, behind its sign.
fn with_hour(text: &str) -> String {
    let trimmed = trim(text);
    let at = trimmed.rfind(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'));
    let (before, clock) = trimmed.split_at(at.map_or(0, |at| at + 1));
    format!("{before}00:{clock}")
}

fn parse_with(text: &str, last: Unit) -> Result<Interval> {
    let trimmed = trim(text);
    let parsed = match trimmed.strip_prefix('P') {
        Some(rest) => read_iso(rest),
        None => read(trimmed, last),
    };
    parsed.map_err(|failure| match failure {
        Failure::Format => {
            let message = format!("invalid input syntax for type interval: \"{text}\"");
            Error::new(SqlState::INVALID_DATETIME, message)
        }
        Failure::Range => {
            let message = format!("interval field value out of range: \"{text}\"");
            Error::new(SqlState::INTERVAL_FIELD_OVERFLOW, message)
        }
        Failure::Total => interval_out_of_range(),
    })
}

/// Appends an INTERVAL in `postgres` style.
pub(super) fn format_interval(out: &mut Vec<u8>, interval: Interval) {
    let start = out.len();
    let mut negative_before = false;
    let parts =
        [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")];
    for (value, name) in parts {
        if value != 0 {
            let space = if out.len() == start { "" } else { " " };
            let sign = if negative_before && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            let _ = write!(out, "{space}{sign}{value} {name}{plural}");
            negative_before = value < 0;
        }
    }
    if interval.micros != 0 || out.len() == start {
        let space = if out.len() == start { "" } else { " " };
        let sign = if interval.micros < 0 {
            "-"
        } else if negative_before {
            "+"
        } else {
            ""
        };
        let micros = interval.micros.unsigned_abs();
        let (seconds, fraction) = (micros / SECOND as u64, micros % SECOND as u64);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let _ = write!(out, "{space}{sign}{hours:02}:{minutes:02}:{:02}", seconds % 60);
        push_fraction(out, fraction as i64);
    }
}
