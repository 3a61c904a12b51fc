//! to_date and to_timestamp from text.

use types::calendar::{
    self, HOUR, JULIAN_EPOCH, MINUTE, SECOND, date_from_civil, days_from_civil, iso_week_start,
};
use types::{Error, Result, SqlState};

use super::template::{DAYS, Key, MONTHS, Piece, ROMAN, parse};
use crate::Vector;
use crate::rows::{Texts, try_build};

/// Fields read so far.
#[derive(Debug, Default)]
pub(super) struct Fields {
    year: Option<i64>,
    /// Digits that the year had, at most those of its key.
    year_digits: usize,
    century: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    week_of_month: Option<i64>,
    week_of_year: Option<i64>,
    julian: Option<i64>,
    hour24: Option<i64>,
    hour12: Option<i64>,
    afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    micros: Option<i64>,
    second_of_day: Option<i64>,
    zone_negative: bool,
    zone_hour: Option<i64>,
    zone_minute: Option<i64>,
    before_christ: bool,
    /// Digits to which FF rounds.
    fraction_digits: Option<u8>,
    /// Whose calendar the keys so far are of.
    convention: Option<Convention>,
}

/// Two ways to say a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Convention {
    Gregorian,
    Iso,
}

/// Limit of a number: the digits of its key, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Width,
    None,
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_DATETIME, message)
}

#[cold]
fn out_of_range(text: &str) -> Error {
    let message = format!("date/time field value out of range: \"{text}\"");
    Error::new(SqlState::DATETIME_OVERFLOW, message)
}

/// True when the next piece takes digits: then this one takes no more than its own.
fn digits_follow(pieces: &[Piece]) -> bool {
    match pieces.first() {
        Some(Piece::Text(text, _)) => text.starts_with(|c: char| c.is_ascii_digit()),
        Some(Piece::Key { key, .. }) => !matches!(
            key,
            Key::Meridiem(_)
                | Key::Era(_)
                | Key::DayName
                | Key::DayAbbreviation
                | Key::MonthName
                | Key::MonthAbbreviation
                | Key::Roman
                | Key::Zone
                | Key::ZoneHour
                | Key::ZoneOffset
        ),
        None => false,
    }
}

/// The digits that a key has, and its name in messages.
fn width_of(key: Key) -> (usize, &'static str) {
    match key {
        Key::Year(4) => (4, "YYYY"),
        Key::Year(3) => (3, "YYY"),
        Key::Year(2) => (2, "YY"),
        Key::Year(_) => (1, "Y"),
        Key::IsoYear(digits) => (usize::from(digits), "IYYY"),
        Key::Month => (2, "MM"),
        Key::Day => (2, "DD"),
        Key::DayOfYear => (3, "DDD"),
        Key::IsoDayOfYear => (3, "IDDD"),
        Key::Hour24 => (2, "HH24"),
        Key::Hour12 => (2, "HH12"),
        Key::Minute => (2, "MI"),
        Key::Second => (2, "SS"),
        Key::SecondOfDay => (5, "SSSS"),
        Key::Milliseconds => (3, "MS"),
        Key::Fraction(6) => (6, "US"),
        Key::Fraction(digits) => (usize::from(digits), "FF"),
        Key::IsoWeek => (2, "IW"),
        Key::WeekOfYear => (2, "WW"),
        Key::Century => (2, "CC"),
        Key::ZoneHour => (2, "TZH"),
        Key::ZoneMinute => (2, "TZM"),
        Key::Julian => (12, "J"),
        Key::IsoDayOfWeek => (1, "ID"),
        Key::DayOfWeek => (1, "D"),
        Key::Quarter => (1, "Q"),
        _ => (1, "W"),
    }
}

/// The text still to read.
struct Input<'a> {
    text: &'a str,
    rest: &'a str,
    /// Characters skipped beyond those that the template names.
    extra: i64,
}

impl<'a> Input<'a> {
    fn skip_spaces(&mut self) {
        let before = self.rest.len();
        self.rest = self.rest.trim_start();
        self.extra += (before - self.rest.len()) as i64;
    }

    /// The character before the next one.
    fn last(&self) -> Option<char> {
        self.text[..self.text.len() - self.rest.len()].chars().next_back()
    }

    /// A number of `width` digits, or as many as there are; also how many.
    fn number(&mut self, width: usize, limit: Limit, name: &str) -> Result<(i64, usize)> {
        self.skip_spaces();
        let taken: String = match limit {
            Limit::Width => self.rest.chars().take(width).collect(),
            Limit::None => self.rest.to_owned(),
        };
        let count = taken.chars().count();
        if limit == Limit::Width && count < width {
            let message = format!("source string too short for \"{name}\" formatting field");
            let detail = format!("Field requires {width} characters, but only {count} remain.");
            return Err(invalid(message).with_detail(detail));
        }
        let sign = usize::from(taken.starts_with(['-', '+']));
        let digits = taken[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            let shown: String = self.rest.chars().take(width.max(1)).collect();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{name}\""))
                .with_detail("Value must be an integer."));
        }
        let length = sign + digits;
        if limit == Limit::Width && length < width {
            let message = format!("invalid value \"{taken}\" for \"{name}\"");
            let detail =
                format!("Field requires {width} characters, but only {length} could be parsed.");
            return Err(invalid(message).with_detail(detail));
        }
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        let value = number.parse::<i32>().map_err(|_| {
            let message = format!("value for \"{name}\" in source string is out of range");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        })?;
        Ok((i64::from(value), length))
    }

    /// The first of `names` with which the text starts, in any case, longest first.
    fn name(&mut self, names: &[&str], what: &str) -> Result<usize> {
        self.skip_spaces();
        let starts = |name: &&&str| {
            self.rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let best = names.iter().filter(starts).max_by_key(|name| name.len());
        let Some(found) = best.and_then(|best| names.iter().position(|name| name == best)) else {
            let shown = self.rest.split_whitespace().next().unwrap_or("");
            return Err(invalid(format!("invalid value \"{shown}\" for \"{what}\"")).with_detail(
                "The given value did not match any of the allowed values for this field.",
            ));
        };
        self.rest = &self.rest[names[found].len()..];
        Ok(found)
    }
}

impl Fields {
    fn read(text: &str, pieces: &[Piece]) -> Result<Self> {
        let mut fields = Self::default();
        let mut input = Input { text, rest: text, extra: 0 };
        for (at, piece) in pieces.iter().enumerate() {
            if input.rest.is_empty() {
                break;
            }
            match piece {
                Piece::Text(text, quoted) => skip_text(&mut input, text, *quoted, at == 0),
                Piece::Key { key, fill, ordinal, .. } => {
                    input.skip_spaces();
                    fields.note_convention(*key)?;
                    let fixed = digits_follow(&pieces[at + 1..]) && *fill && ordinal.is_none();
                    let limit = if fixed { Limit::Width } else { Limit::None };
                    fields.read_key(*key, limit, &mut input)?;
                    if ordinal.is_some() {
                        input.rest = input.rest.get(2..).unwrap_or("");
                    }
                    input.extra = 0;
                    input.skip_spaces();
                }
            }
        }
        Ok(fields)
    }

    /// Notes whose calendar a key is of.
    fn note_convention(&mut self, key: Key) -> Result<()> {
        let convention = match key {
            Key::IsoDayOfWeek | Key::IsoDayOfYear | Key::IsoWeek | Key::IsoYear(_) => {
                Convention::Iso
            }
            Key::DayOfWeek
            | Key::Day
            | Key::DayOfYear
            | Key::Month
            | Key::MonthName
            | Key::MonthAbbreviation
            | Key::Roman
            | Key::WeekOfYear
            | Key::WeekOfMonth
            | Key::YearComma
            | Key::Year(_) => Convention::Gregorian,
            _ => return Ok(()),
        };
        match self.convention.replace(convention) {
            Some(before) if before != convention => {
                let hint = "Do not mix Gregorian and ISO week date conventions in a formatting \
                            template.";
                Err(invalid("invalid combination of date conventions".to_owned()).with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    fn read_key(&mut self, key: Key, limit: Limit, input: &mut Input<'_>) -> Result<()> {
        if self.read_name(key, input)? {
            return Ok(());
        }
        let (width, name) = width_of(key);
        if key == Key::YearComma {
            let (thousands, _) = input.number(1, Limit::None, "Y,YYY")?;
            input.rest = input.rest.strip_prefix(',').unwrap_or(input.rest);
            let (rest, _) = input.number(3, Limit::Width, "Y,YYY")?;
            (self.year, self.year_digits) = (Some(thousands * 1000 + rest), 4);
            return Ok(());
        }
        if key == Key::ZoneHour {
            // A minus may have been skipped as what separates it from the field before.
            let begins_sign = input.rest.starts_with(['+', '-', ' ']);
            self.zone_negative = if begins_sign {
                input.rest.starts_with('-')
            } else {
                input.extra > 0 && input.last() == Some('-')
            };
            if begins_sign {
                input.rest = &input.rest[1..];
            }
        }
        let (value, digits) = input.number(width, limit, name)?;
        self.set(key, value, digits)
    }

    /// Reads keys that are words; false when `key` is a number.
    fn read_name(&mut self, key: Key, input: &mut Input<'_>) -> Result<bool> {
        let short = |names: &[&'static str]| -> Vec<&'static str> {
            names.iter().map(|name| &name[..3]).collect()
        };
        match key {
            Key::Meridiem(_) => {
                let found = input.name(&["AM", "PM", "A.M.", "P.M."], "AM")?;
                self.afternoon = Some(found % 2 == 1);
            }
            Key::Era(_) => {
                let found = input.name(&["BC", "AD", "B.C.", "A.D."], "BC")?;
                self.before_christ = found % 2 == 0;
            }
            Key::MonthName => {
                let month = input.name(&MONTHS, "Month")? as i64 + 1;
                put(&mut self.month, month, "Month")?;
            }
            Key::MonthAbbreviation => {
                let month = input.name(&short(&MONTHS), "Mon")? as i64 + 1;
                put(&mut self.month, month, "Mon")?;
            }
            Key::DayName => drop(input.name(&DAYS, "Day")?),
            Key::DayAbbreviation => drop(input.name(&short(&DAYS), "Dy")?),
            Key::Roman => {
                let month = input.name(&ROMAN, "RM")? as i64 + 1;
                put(&mut self.month, month, "RM")?;
            }
            Key::Zone | Key::ZoneOffset => {
                let name = if key == Key::Zone { "TZ" } else { "OF" };
                return Err(Error::unsupported(format!(
                    "formatting field \"{name}\" in to_timestamp"
                )));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set(&mut self, key: Key, value: i64, digits: usize) -> Result<()> {
        let place = match key {
            Key::Year(width) => {
                self.year_digits = if width == 4 { 4 } else { digits };
                &mut self.year
            }
            Key::IsoYear(width) => {
                self.year_digits = if width == 4 { 4 } else { digits };
                &mut self.iso_year
            }
            Key::Century => &mut self.century,
            Key::Month => &mut self.month,
            Key::Day => &mut self.day,
            Key::DayOfYear | Key::IsoDayOfYear => &mut self.day_of_year,
            Key::IsoWeek => &mut self.iso_week,
            Key::IsoDayOfWeek => &mut self.iso_day,
            Key::WeekOfMonth => &mut self.week_of_month,
            Key::WeekOfYear => &mut self.week_of_year,
            Key::Julian => &mut self.julian,
            Key::Hour24 => &mut self.hour24,
            Key::Hour12 => &mut self.hour12,
            Key::Minute => &mut self.minute,
            Key::Second => &mut self.second,
            Key::SecondOfDay => &mut self.second_of_day,
            Key::ZoneHour => &mut self.zone_hour,
            Key::ZoneMinute => &mut self.zone_minute,
            Key::Fraction(_) | Key::Milliseconds => {
                // Digits of a fraction: 5 is half a second.
                let most = if key == Key::Milliseconds { 3u32 } else { 6 };
                let least = 10i64.pow(6 - most);
                let micros = value * 10i64.pow(most.saturating_sub(digits as u32)) * least;
                self.micros = Some(self.micros.unwrap_or(0) + micros);
                if let Key::Fraction(digits) = key {
                    self.fraction_digits = Some(digits);
                }
                return Ok(());
            }
            // Read and ignored, as in PostgreSQL: Q, D.
            _ => return Ok(()),
        };
        put(place, value, width_of(key).1)
    }

    /// A year of fewer than four digits is the one nearest to 2020.
    fn full_year(&self, year: i64) -> i64 {
        let full = match (year, self.year_digits) {
            (_, 4..) => year,
            (0..=69, _) => year + 2000,
            (70..=99, _) => year + 1900,
            (100..=519, _) => year + 2000,
            (520..=999, _) => year + 1000,
            _ => year,
        };
        let full = if self.before_christ { -full } else { full };
        // There is no year 0 in texts.
        if full < 0 { full + 1 } else { full }
    }

    pub(super) fn date(&self, text: &str) -> Result<i32> {
        let range = || out_of_range(text);
        if let Some(julian) = self.julian {
            let days = julian - i64::from(JULIAN_EPOCH);
            return calendar::check_date(i32::try_from(days).ok());
        }
        let small = |value: i64| i32::try_from(value).map_err(|_| range());
        if let (Some(year), Some(day)) = (self.iso_year, self.day_of_year) {
            let monday = iso_week_start(small(self.full_year(year))?, 1);
            return calendar::check_date(monday.checked_add(small(day - 1)?));
        }
        if let Some(year) = self.iso_year {
            let week = self.iso_week.unwrap_or(1);
            if !(1..=53).contains(&week) {
                return Err(range());
            }
            let monday = iso_week_start(small(self.full_year(year))?, week as u32);
            return Ok(monday + small(self.iso_day.unwrap_or(1) - 1)?);
        }
        let year = match (self.year, self.century) {
            (Some(year), Some(century)) if self.year_digits <= 2 => {
                let century = if century > 0 { century - 1 } else { century };
                century * 100 + if year == 0 { 100 } else { year }
            }
            (Some(year), _) => self.full_year(year),
            (None, Some(century)) => (century - 1) * 100 + 1,
            // No year is 1 BC.
            (None, None) => 0,
        };
        let year = small(year)?;
        let in_year = self.day_of_year.or(self.week_of_year.map(|week| (week - 1) * 7 + 1));
        if let (Some(day), None, None) = (in_year, self.month, self.day) {
            let last = if calendar::is_leap_year(year) { 366 } else { 365 };
            if !(1..=last).contains(&day) {
                return Err(range());
            }
            return Ok(days_from_civil(year, 1, 1) + day as i32 - 1);
        }
        let month = self.month.unwrap_or(1);
        let day = self.day.or(self.week_of_month.map(|week| (week - 1) * 7 + 1)).unwrap_or(1);
        match (u32::try_from(month), u32::try_from(day)) {
            (Ok(month), Ok(day)) => date_from_civil(year, month, day).ok_or_else(range),
            _ => Err(range()),
        }
    }

    pub(super) fn time(&self, text: &str) -> Result<i64> {
        let mut hour = self.hour24.unwrap_or(0);
        if let Some(twelve) = self.hour12 {
            if !(1..=12).contains(&twelve) {
                let message = format!("hour \"{twelve}\" is invalid for the 12-hour clock");
                return Err(invalid(message)
                    .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            hour = match self.afternoon {
                Some(true) if twelve < 12 => twelve + 12,
                Some(false) if twelve == 12 => 0,
                _ => twelve,
            };
        }
        let (minute, second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        let good =
            (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        if !good {
            return Err(out_of_range(text));
        }
        let clock = match self.second_of_day {
            Some(seconds) if seconds < 86_400 => seconds * SECOND,
            Some(_) => return Err(out_of_range(text)),
            None => hour * HOUR + minute * MINUTE + second * SECOND,
        };
        let zone = self.zone_hour.unwrap_or(0) * HOUR + self.zone_minute.unwrap_or(0) * MINUTE;
        let zone = if self.zone_negative { -zone } else { zone };
        let micros = self.micros.unwrap_or(0);
        if !(0..=SECOND).contains(&micros) {
            return Err(out_of_range(text));
        }
        let clock = clock + micros;
        let digits = self.fraction_digits.map(u32::from);
        let rounded = digits.and_then(|digits| calendar::rounded_micros(clock, digits));
        Ok(rounded.unwrap_or(clock) - zone)
    }

    /// True when an offset from UTC was among them.
    pub(super) fn has_zone(&self) -> bool {
        self.zone_hour.is_some() || self.zone_minute.is_some()
    }
}

/// Skips what stands for template text: a separator or nothing for a separator; else a character,
/// unless more than enough were skipped before.
fn skip_text(input: &mut Input<'_>, text: &str, quoted: bool, is_first: bool) {
    let is_separator = |c: char| c.is_ascii_punctuation() || c.is_whitespace();
    if !quoted && text.chars().all(is_separator) {
        if is_first {
            input.skip_spaces();
        }
        input.extra -= 1;
        if let Some(c) = input.rest.chars().next().filter(|c| is_separator(*c)) {
            input.rest = &input.rest[c.len_utf8()..];
            input.extra += 1;
        }
        return;
    }
    input.skip_spaces();
    for _ in text.chars() {
        if input.extra > 0 {
            input.extra -= 1;
            continue;
        }
        let mut characters = input.rest.chars();
        characters.next();
        input.rest = characters.as_str();
    }
}

/// Keeps a value that the template may name once only, unless it is the same.
fn put(place: &mut Option<i64>, value: i64, name: &str) -> Result<()> {
    match place.replace(value) {
        Some(before) if before != value && before != 0 => {
            let message = format!("conflicting values for \"{name}\" field in formatting string");
            let detail = "This value contradicts a previous setting for the same field type.";
            Err(invalid(message).with_detail(detail))
        }
        _ => Ok(()),
    }
}

pub(super) fn with_fields<R: crate::rows::Fixed>(
    text: &Vector,
    format: &Vector,
    f: impl Fn(&Fields, &str) -> Result<R>,
) -> Result<Vector> {
    let (texts, formats) = (Texts::new(text), Texts::new(format));
    let mut last: Option<(&str, Vec<Piece>)> = None;
    try_build(&[text, format], |i| {
        let (text, format) = (texts.str(i)?, formats.str(i)?);
        if last.as_ref().is_none_or(|(t, _)| *t != format) {
            last = Some((format, parse(format)));
        }
        let pieces = last.as_ref().map_or(&[][..], |(_, pieces)| pieces);
        f(&Fields::read(text, pieces)?, text)
    })
}

/// to_date(TEXT, format).
///
/// # Errors
/// 22007, 22008.
pub fn to_date(text: &Vector, format: &Vector) -> Result<Vector> {
    with_fields(text, format, |fields, text| {
        fields.time(text)?;
        fields.date(text)
    })
}

/// to_timestamp(TEXT, format) -> TIMESTAMPTZ.
///
/// # Errors
/// 22007, 22008.
pub fn to_timestamp(text: &Vector, format: &Vector) -> Result<Vector> {
    with_fields(text, format, |fields, text| {
        types::cast::date_and_time(fields.date(text)?, fields.time(text)?)
    })
}
