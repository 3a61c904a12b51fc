//! DATE, TIME, TIMESTAMP and TIMESTAMPTZ from text.
//!
//! The usual ISO forms take a short way without a search; everything else is taken apart into
//! words, numbers and signs, which fill [`Fields`] in the order in which they come.

use super::tokens::{Cursor, fraction_micros};
use super::trim;
use crate::calendar::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAY, HOUR, JULIAN_EPOCH, MINUTE, SECOND,
    TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY, TimeZone, abbreviation_offset, check_timestamp,
    date_from_civil, days_from_civil, days_in_month,
};
use crate::{DataType, Error, Result, SqlState};

/// Why text is no date or time.
#[derive(Clone, Debug)]
enum Failure {
    /// 22007.
    Format,
    /// 22008.
    Range,
    /// 22008, perhaps because day and month are in another order.
    MonthDay,
    /// 22009.
    Displacement,
    /// An error of its own: an unknown time zone.
    Other(Error),
}

impl Failure {
    #[cold]
    fn into_error(self, text: &str, type_name: &str) -> Error {
        let range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        };
        match self {
            Self::Format => {
                let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
                Error::new(SqlState::INVALID_DATETIME, message)
            }
            Self::Range => range(),
            Self::MonthDay => {
                range().with_hint("Perhaps you need a different \"datestyle\" setting.")
            }
            Self::Displacement => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                Error::new(SqlState(*b"22009"), message)
            }
            Self::Other(error) => error,
        }
    }
}

type Parsed<T> = std::result::Result<T, Failure>;

/// Text with a meaning of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Special {
    Infinity,
    MinusInfinity,
    Epoch,
    Now,
    /// Midnight, so many days from today.
    Today(i32),
}

#[derive(Clone, Debug)]
enum Zone {
    /// Seconds east of UTC.
    Offset(i64),
    Named(TimeZone),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meridiem {
    Am,
    Pm,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Fields {
    year: Option<i64>,
    /// The year had at most two digits.
    short_year: bool,
    month: Option<u32>,
    text_month: bool,
    day: Option<u32>,
    day_of_year: Option<u32>,
    julian: Option<i32>,
    micros: Option<i64>,
    meridiem: Option<Meridiem>,
    before_christ: bool,
    zone: Option<Zone>,
    special: Option<Special>,
    /// `T` stood before what comes next.
    time_follows: bool,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const WEEKDAY_ABBREVIATIONS: [&str; 11] =
    ["sun", "mon", "tue", "tues", "wed", "weds", "thu", "thur", "thurs", "fri", "sat"];

/// The month, from 1, that a lower-case word names.
pub(crate) fn month_number(word: &str) -> Option<u32> {
    let found = MONTHS.iter().position(|m| *m == word || m[..3] == *word);
    found.map(|i| i as u32 + 1).or((word == "sept").then_some(9))
}

impl Fields {
    fn has_date(&self) -> bool {
        self.julian.is_some()
            || self.year.is_some()
                && (self.day_of_year.is_some() || self.month.is_some() && self.day.is_some())
    }

    /// The whole text, token by token. `time_only` for TIME.
    fn read(text: &str, time_only: bool) -> Parsed<Self> {
        let mut fields = Self::default();
        let mut cursor = Cursor::new(text);
        loop {
            cursor.take(|b| super::is_space(b) || b == b',');
            match cursor.peek() {
                None => return Ok(fields),
                Some(b'0'..=b'9') => fields.read_number(&mut cursor, time_only)?,
                Some(b) if b.is_ascii_alphabetic() => fields.read_word(&mut cursor)?,
                Some(b'+' | b'-') => fields.read_sign(&mut cursor)?,
                Some(_) => return Err(Failure::Format),
            }
        }
    }

    fn read_sign(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let negative = cursor.peek() == Some(b'-');
        cursor.skip();
        cursor.spaces();
        if cursor.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
            let word = cursor.letters().to_ascii_lowercase();
            if self.special.is_some() || word != "infinity" {
                return Err(Failure::Format);
            }
            let found = if negative { Special::MinusInfinity } else { Special::Infinity };
            self.special = Some(found);
            return Ok(());
        }
        if self.zone.is_some() || !(self.micros.is_some() || self.has_date()) {
            return Err(Failure::Format);
        }
        let seconds = read_offset(cursor)?;
        self.zone = Some(Zone::Offset(if negative { -seconds } else { seconds }));
        Ok(())
    }

    fn read_word(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let start = *cursor;
        let word = cursor.letters().to_ascii_lowercase();
        if matches!(cursor.peek(), Some(b'/' | b'_')) {
            *cursor = start;
            let accept =
                |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+');
            let name = cursor.take(accept);
            let zone = TimeZone::at(name).map_err(|_| {
                let message = format!("time zone \"{}\" not recognized", name.to_lowercase());
                Failure::Other(Error::new(SqlState::INVALID_PARAMETER, message))
            })?;
            return self.set_zone(Zone::Named(zone));
        }
        if word == "j" && cursor.peek().is_some_and(|b| b.is_ascii_digit()) {
            let day: i64 = cursor.digits().parse().map_err(|_| Failure::Range)?;
            let days = i32::try_from(day - i64::from(JULIAN_EPOCH)).map_err(|_| Failure::Range)?;
            if self.has_date() {
                return Err(Failure::Format);
            }
            self.julian = Some(days);
            return Ok(());
        }
        if word == "t" && cursor.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.time_follows = true;
            return Ok(());
        }
        if let Some(month) = month_number(&word) {
            self.set_text_month(month)?;
            // As in Jan-08-1999.
            if matches!(cursor.peek(), Some(b'-' | b'/' | b'.')) {
                cursor.skip();
            }
            return Ok(());
        }
        self.read_plain_word(&word)
    }

    fn read_plain_word(&mut self, word: &str) -> Parsed<()> {
        let special = match word {
            "infinity" => Some(Special::Infinity),
            "epoch" => Some(Special::Epoch),
            "now" => Some(Special::Now),
            "today" => Some(Special::Today(0)),
            "tomorrow" => Some(Special::Today(1)),
            "yesterday" => Some(Special::Today(-1)),
            _ => None,
        };
        match word {
            _ if special.is_some() => {
                if self.special.is_some() || self.has_date() {
                    return Err(Failure::Format);
                }
                self.special = special;
            }
            "am" | "pm" => {
                let found = if word == "am" { Meridiem::Am } else { Meridiem::Pm };
                if self.meridiem.replace(found).is_some() {
                    return Err(Failure::Format);
                }
            }
            "bc" => self.before_christ = true,
            "allballs" => {
                self.micros = Some(0);
                self.zone = Some(Zone::Offset(0));
            }
            "ad" | "at" | "on" | "dst" => {}
            _ if WEEKDAYS.contains(&word) || WEEKDAY_ABBREVIATIONS.contains(&word) => {}
            _ => match abbreviation_offset(word) {
                Some(seconds) => return self.set_zone(Zone::Offset(i64::from(seconds))),
                None => {
                    let zone = TimeZone::at(word).map_err(|_| Failure::Format)?;
                    return self.set_zone(Zone::Named(zone));
                }
            },
        }
        Ok(())
    }

    fn set_zone(&mut self, zone: Zone) -> Parsed<()> {
        match self.zone.replace(zone) {
            None => Ok(()),
            Some(_) => Err(Failure::Format),
        }
    }

    fn set_text_month(&mut self, month: u32) -> Parsed<()> {
        if let Some(number) = self.month {
            // A number that stood first was taken for the month; with a named month it is the day.
            if self.text_month || self.day.is_some() {
                return Err(Failure::Format);
            }
            self.day = Some(number);
        }
        self.month = Some(month);
        self.text_month = true;
        Ok(())
    }

    fn read_number(&mut self, cursor: &mut Cursor<'_>, time_only: bool) -> Parsed<()> {
        let start = *cursor;
        let digits = cursor.digits();
        let in_time = self.time_follows || (self.has_date() || time_only) && self.micros.is_none();
        match cursor.peek() {
            Some(b':') => {
                *cursor = start;
                return self.read_time(cursor);
            }
            Some(b'.') if in_time && matches!(digits.len(), 4 | 6) => {}
            Some(b'-' | b'/' | b'.') if !self.has_date() && !self.time_follows => {
                return self.read_date(digits, cursor);
            }
            _ => {}
        }
        if in_time && matches!(digits.len(), 2 | 4 | 6) && (digits.len() > 2 || self.time_follows) {
            return self.read_packed_time(digits, cursor);
        }
        if self.has_date() {
            return Err(Failure::Format);
        }
        if digits.len() >= 8 || digits.len() == 6 && self.year.is_none() && self.month.is_none() {
            return self.read_packed_date(digits);
        }
        self.set_number(digits)
    }

    /// hh:mm[:ss[.ffffff]].
    fn read_time(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let part = |text: &str| -> Parsed<i64> { text.parse().map_err(|_| Failure::Format) };
        let hour = part(cursor.digits())?;
        cursor.skip();
        let minute = part(cursor.digits())?;
        let (mut second, mut fraction) = (0, 0.0);
        if cursor.eat(b':') {
            second = part(cursor.digits())?;
            fraction = cursor.fraction();
        } else if cursor.peek() == Some(b'.') {
            return Err(Failure::Format);
        }
        self.set_time(hour, minute, second, fraction)
    }

    /// hhmmss[.ffffff] or hhmm, or hh after a T.
    fn read_packed_time(&mut self, digits: &str, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let part = |from: usize| digits.get(from..from + 2).map_or(Ok(0), str::parse);
        let parts = (part(0), part(2), part(4));
        let (Ok(hour), Ok(minute), Ok(second)) = parts else {
            return Err(Failure::Format);
        };
        let fraction = cursor.fraction();
        self.set_time(hour, minute, second, fraction)
    }

    fn set_time(&mut self, hour: i64, minute: i64, second: i64, fraction: f64) -> Parsed<()> {
        let micros = second.saturating_mul(SECOND).saturating_add(fraction_micros(fraction));
        if minute > 59 || micros > MINUTE || hour > 24 {
            return Err(Failure::Range);
        }
        let total = hour * HOUR + minute * MINUTE + micros;
        if total > DAY {
            return Err(Failure::Range);
        }
        self.time_follows = false;
        match self.micros.replace(total) {
            None => Ok(()),
            Some(_) => Err(Failure::Format),
        }
    }

    /// Parts joined by `-`, `/` or `.`, of which `first` was read.
    fn read_date(&mut self, first: &str, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let separator = cursor.peek().unwrap_or(b'-');
        cursor.skip();
        let second_letters = cursor.letters();
        let second = if second_letters.is_empty() { cursor.digits() } else { second_letters };
        if second.is_empty() {
            return Err(Failure::Format);
        }
        let third = if cursor.eat(separator) { cursor.digits() } else { "" };
        if separator == b'.' && third.is_empty() {
            // yyyy.ddd, the day of the year.
            if first.len() < 4 || second.len() != 3 {
                return Err(Failure::Format);
            }
            self.set_year(first)?;
            self.day_of_year = Some(second.parse().map_err(|_| Failure::Format)?);
            return Ok(());
        }
        // A text month takes its place first, so that the numbers around it are day and year.
        if !second_letters.is_empty() {
            let month = month_number(&second.to_ascii_lowercase()).ok_or(Failure::Format)?;
            self.set_number(first)?;
            self.set_text_month(month)?;
        } else {
            self.set_number(first)?;
            self.set_number(second)?;
        }
        if third.is_empty() { Ok(()) } else { self.set_number(third) }
    }

    /// [yy]yymmdd.
    fn read_packed_date(&mut self, digits: &str) -> Parsed<()> {
        let (rest, day) = digits.split_at(digits.len() - 2);
        let (year, month) = rest.split_at(rest.len() - 2);
        if self.month.is_some() || self.year.is_some() {
            return Err(Failure::Format);
        }
        self.set_year(year)?;
        self.month = Some(month.parse().map_err(|_| Failure::Format)?);
        self.day = Some(day.parse().map_err(|_| Failure::Format)?);
        Ok(())
    }

    fn set_year(&mut self, digits: &str) -> Parsed<()> {
        self.year = Some(digits.parse().map_err(|_| Failure::Range)?);
        self.short_year = digits.len() <= 2;
        Ok(())
    }

    /// A number of a date gets the next free place: a long one the year's, else month, day, year.
    fn set_number(&mut self, digits: &str) -> Parsed<()> {
        let small = || digits.parse::<u32>().map_err(|_| Failure::Range);
        if digits.is_empty() {
            return Err(Failure::Format);
        }
        if self.year.is_none() && (digits.len() >= 3 || self.month.is_some() && self.day.is_some())
        {
            return self.set_year(digits);
        }
        if self.month.is_none() {
            self.month = Some(small()?);
        } else if self.day.is_none() {
            self.day = Some(small()?);
        } else {
            return Err(Failure::Format);
        }
        Ok(())
    }

    /// Days since 1970-01-01 of the date fields.
    fn date(&self) -> Parsed<i32> {
        if let Some(days) = self.julian {
            return Ok(days);
        }
        let year = self.civil_year()?;
        if let Some(day) = self.day_of_year {
            if !(1..=366).contains(&day) {
                return Err(Failure::Range);
            }
            return Ok(days_from_civil(year, 1, 1) + day as i32 - 1);
        }
        let (Some(month), Some(day)) = (self.month, self.day) else {
            return Err(Failure::Format);
        };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Failure::MonthDay);
        }
        if day > days_in_month(year, month) {
            return Err(Failure::Range);
        }
        date_from_civil(year, month, day)
            .ok_or(Failure::Other(Error::new(SqlState::DATETIME_OVERFLOW, "out of range")))
    }

    fn civil_year(&self) -> Parsed<i32> {
        let year = self.year.ok_or(Failure::Format)?;
        let year = match year {
            _ if self.before_christ && year > 0 => 1 - year,
            // There is no year 0, before Christ or after.
            _ if self.before_christ => return Err(Failure::Range),
            0..=69 if self.short_year => year + 2000,
            70..=99 if self.short_year => year + 1900,
            0 => return Err(Failure::Range),
            _ => year,
        };
        // Far beyond every date, so that `date_from_civil` refuses it.
        Ok(i32::try_from(year).unwrap_or(i32::MAX).clamp(-6_000_000, 6_000_000))
    }

    fn time(&self) -> Parsed<i64> {
        let micros = self.micros.unwrap_or(0);
        let hour = micros / HOUR;
        match self.meridiem {
            None => Ok(micros),
            Some(_) if !(0..=12).contains(&hour) => Err(Failure::Range),
            Some(Meridiem::Am) if hour == 12 => Ok(micros - 12 * HOUR),
            Some(Meridiem::Pm) if hour != 12 => Ok(micros + 12 * HOUR),
            Some(_) => Ok(micros),
        }
    }
}

/// hh[:mm[:ss]], hhmm or hmm as seconds.
fn read_offset(cursor: &mut Cursor<'_>) -> Parsed<i64> {
    let first = cursor.digits();
    let part = |text: &str| -> Parsed<i64> { text.parse().map_err(|_| Failure::Format) };
    let (mut hour, mut minute, mut second) = (part(first)?, 0, 0);
    if cursor.eat(b':') {
        minute = part(cursor.digits())?;
        if cursor.eat(b':') {
            second = part(cursor.digits())?;
        }
    } else if first.len() > 2 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    if hour > 15 || minute > 59 || second > 59 {
        return Err(Failure::Displacement);
    }
    Ok(hour * 3600 + minute * 60 + second)
}

/// Microseconds since 1970-01-01 UTC, from the system's clock.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| d.as_micros() as i64)
}

/// Two digits at `at`.
#[inline]
fn two(bytes: &[u8], at: usize) -> Option<u32> {
    let (high, low) = (bytes[at].wrapping_sub(b'0'), bytes[at + 1].wrapping_sub(b'0'));
    (high < 10 && low < 10).then(|| u32::from(high) * 10 + u32::from(low))
}

/// `yyyy-mm-dd` exactly, of a date that exists.
#[inline]
fn iso_date(bytes: &[u8]) -> Option<i32> {
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = two(bytes, 0)? * 100 + two(bytes, 2)?;
    if year == 0 {
        return None;
    }
    date_from_civil(year as i32, two(bytes, 5)?, two(bytes, 8)?)
}

/// `hh:mm:ss[.f]` exactly, with at most six digits of fraction.
#[inline]
fn iso_time(bytes: &[u8]) -> Option<i64> {
    if bytes.len() < 8 || bytes[2] != b':' || bytes[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (two(bytes, 0)?, two(bytes, 3)?, two(bytes, 6)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = 0;
    if bytes.len() > 8 {
        let fraction = &bytes[9..];
        let digits = !fraction.is_empty() && fraction.len() <= 6;
        if bytes[8] != b'.' || !digits || !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        micros = fraction.iter().fold(0, |v, b| v * 10 + i64::from(b - b'0'));
        micros *= 10i64.pow(6 - fraction.len() as u32);
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Some(seconds * SECOND + micros)
}

/// DATE; today is that of `zone`.
pub(super) fn parse_date(text: &str, zone: &TimeZone) -> Result<i32> {
    if let Some(days) = iso_date(text.as_bytes()) {
        return Ok(days);
    }
    let parsed = Fields::read(trim(text), false).and_then(|fields| match fields.special {
        Some(Special::Infinity) => Ok(DATE_INFINITY),
        Some(Special::MinusInfinity) => Ok(DATE_MINUS_INFINITY),
        Some(Special::Epoch) => Ok(0),
        Some(Special::Now) => Ok((zone.midnight(now(), 0) / DAY) as i32),
        Some(Special::Today(days)) => Ok((zone.midnight(now(), days) / DAY) as i32),
        None => {
            let days = fields.date()?;
            fields.time()?;
            Ok(days)
        }
    });
    parsed.map_err(|f| with_type(f, text, "date", "date"))
}

/// TIME; now is that of `zone`. A date before it and a zone after it are read and ignored.
pub(super) fn parse_time(text: &str, zone: &TimeZone) -> Result<i64> {
    if let Some(micros) = iso_time(text.as_bytes()) {
        return Ok(micros);
    }
    let parsed = Fields::read(trim(text), true).and_then(|fields| match fields.special {
        Some(Special::Now) => {
            let now = now();
            Ok((now + zone.offset_at(now) * SECOND).rem_euclid(DAY))
        }
        Some(_) => Err(Failure::Format),
        None if fields.micros.is_none() => Err(Failure::Format),
        // The rules of a named zone depend on the date.
        None if fields.year.is_none() && matches!(fields.zone, Some(Zone::Named(_))) => {
            Err(Failure::Format)
        }
        None => {
            if fields.year.is_some() {
                fields.date()?;
            }
            fields.time()
        }
    });
    parsed.map_err(|f| with_type(f, text, "time", "time"))
}

/// TIMESTAMP, where a zone in the text is ignored, or TIMESTAMPTZ, in `zone` unless it names one.
pub(super) fn parse_timestamp(text: &str, ty: DataType, zone: &TimeZone) -> Result<i64> {
    let bytes = text.as_bytes();
    let zoned = ty.is_timestamptz();
    let in_zone = |local: i64| if zoned { zone.to_utc(local) } else { Ok(local) };
    if bytes.len() >= 19
        && matches!(bytes[10], b' ' | b'T')
        && let (Some(days), Some(time)) = (iso_date(&bytes[..10]), iso_time(&bytes[11..]))
    {
        return in_zone(i64::from(days) * DAY + time);
    }
    let type_name = if zoned { "timestamp with time zone" } else { "timestamp" };
    let out = |_| Failure::Other(Error::new(SqlState::DATETIME_OVERFLOW, "out of range"));
    let parsed = Fields::read(trim(text), false).and_then(|fields| match fields.special {
        Some(Special::Infinity) => Ok(TIMESTAMP_INFINITY),
        Some(Special::MinusInfinity) => Ok(TIMESTAMP_MINUS_INFINITY),
        Some(Special::Epoch) => Ok(0),
        Some(Special::Now) => {
            let now = now();
            Ok(if zoned { now } else { now + zone.offset_at(now) * SECOND })
        }
        Some(Special::Today(days)) => {
            in_zone(zone.midnight(now(), days) + fields.time()?).map_err(out)
        }
        None => {
            let midnight = i64::from(fields.date()?).checked_mul(DAY);
            let time = fields.time()?;
            let local = check_timestamp(midnight.and_then(|m| m.checked_add(time))).map_err(out)?;
            match fields.zone {
                Some(Zone::Offset(seconds)) if zoned => {
                    check_timestamp(local.checked_sub(seconds * SECOND)).map_err(out)
                }
                Some(Zone::Named(named)) if zoned => named.to_utc(local).map_err(out),
                None => in_zone(local).map_err(out),
                Some(_) => Ok(local),
            }
        }
    });
    parsed.map_err(|f| with_type(f, text, type_name, "timestamp"))
}

fn with_type(failure: Failure, text: &str, type_name: &str, short_name: &str) -> Error {
    match failure {
        Failure::Other(error) if error.message() == "out of range" => {
            let message = format!("{short_name} out of range: \"{text}\"");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        }
        failure => failure.into_error(text, type_name),
    }
}
