//! to_char.

use std::fmt::Write;

use types::calendar::{
    self, HOUR, MINUTE, SECOND, TimeZone, civil_from_days, date_to_timestamp, day_of_week,
    day_of_year, is_finite_date, is_finite_timestamp, iso_week, split_timestamp,
};
use types::wide::Wide;
use types::{DataType, Error, Interval, PhysicalType, Result, SqlState, Value, decimal};

use super::number_template::NumberTemplate;
use super::template::{DAYS, Key, Letters, MONTHS, Piece, ROMAN, parse};
use crate::rows::{Texts, Values, try_format};
use crate::{Vector, VectorBuilder, VectorData};

/// to_char of a TIMESTAMP, TIMESTAMPTZ (as clocks in `zone` show it), DATE, INTERVAL, NUMERIC,
/// DOUBLE or integer (`ty`).
///
/// # Errors
/// 22007 for fields that an interval does not have, 42601 for malformed number templates.
pub fn to_char(vector: &Vector, ty: DataType, format: &Vector, zone: &TimeZone) -> Result<Vector> {
    let formats = Texts::new(format);
    if ty.is_number() {
        return number_to_char(vector, ty, format);
    }
    // Equal templates follow one another: a constant one is taken apart once.
    let mut last: Option<(&str, Vec<Piece>)> = None;
    let written = try_format(&[vector, format], |i, out| {
        let text = formats.str(i)?;
        if last.as_ref().is_none_or(|(t, _)| *t != text) {
            last = Some((text, parse(text)));
        }
        let Some((_, pieces)) = &last else {
            return Ok(());
        };
        let moment = match &vector.data {
            VectorData::Interval(_) => Moment::of_interval(Values::<Interval>::new(vector).get(i)),
            VectorData::I32(_) => {
                Moment::of_timestamp(date_to_timestamp(Values::<i32>::new(vector).get(i))?)
            }
            _ if ty.is_timestamptz() => {
                let time = Values::<i64>::new(vector).get(i);
                let local = Moment::of_timestamp(zone.to_local(time)?);
                local.map(|moment| Moment { zone: Some((zone, time)), ..moment })
            }
            _ => Moment::of_timestamp(Values::<i64>::new(vector).get(i)),
        };
        match moment {
            Some(moment) => moment.write(pieces, out),
            None => Ok(()),
        }
    })?;
    Ok(without_infinities(written, vector, &formats))
}

/// The `texts` of `times`; NULL for infinities and by empty templates, as in PostgreSQL.
fn without_infinities(texts: Vector, times: &Vector, formats: &Texts<'_>) -> Vector {
    let is_infinite = |row: usize| match times.value(crate::broadcast::row(times.len(), row)) {
        Value::I32(days) => !is_finite_date(days),
        Value::I64(micros) => !is_finite_timestamp(micros),
        _ => false,
    };
    let is_empty = |row: usize| formats.str(row).is_ok_and(str::is_empty);
    let is_null = |row: usize| is_infinite(row) || is_empty(row);
    if !(0..texts.len()).any(is_null) {
        return texts;
    }
    let mut out = VectorBuilder::with_capacity(PhysicalType::Str, texts.len());
    for row in 0..texts.len() {
        if is_null(row) { out.push_null() } else { out.push_value(&texts.value(row)) }
    }
    out.finish()
}

fn number_to_char(vector: &Vector, ty: DataType, format: &Vector) -> Result<Vector> {
    let formats = Texts::new(format);
    let mut last: Option<(&str, NumberTemplate)> = None;
    try_format(&[vector, format], |i, out| {
        let text = formats.str(i)?;
        if last.as_ref().is_none_or(|(t, _)| *t != text) {
            last = Some((text, NumberTemplate::parse(text)?));
        }
        let Some((_, template)) = &last else {
            return Ok(());
        };
        match (&vector.data, ty) {
            (VectorData::F64(_), _) => {
                let digits = if ty == DataType::Real { 6 } else { 15 };
                template.write_float(Values::<f64>::new(vector).get(i), digits, out)
            }
            (VectorData::Str(values), _) => {
                let row = crate::broadcast::row(vector.len(), i);
                template.write_wide(&Wide::read(values.get(row))?, out)
            }
            (_, ty) => {
                let scale = if let DataType::Numeric(n) = ty { n.scale } else { 0 };
                let value = match vector.value(crate::broadcast::row(vector.len(), i)).as_integer()
                {
                    Some(value) => value,
                    None => return Ok(()),
                };
                match ty {
                    DataType::SmallInt | DataType::Integer => template.write(value, scale, out),
                    _ if template.is_scientific() => {
                        template.write_wide(&Wide::new(value, u32::from(scale)), out)
                    }
                    _ => template.write(value, scale, out),
                }
            }
        }
    })
}

/// A timestamp or interval in its fields.
#[derive(Clone, Copy, Debug)]
struct Moment<'a> {
    year: i64,
    /// 1 to 12; of an interval, months.
    month: i64,
    /// Day of the month; of an interval, days.
    day: i64,
    /// Microseconds of the day, or of the interval.
    time: i64,
    /// Days since 1970-01-01; None for an interval.
    date: Option<i32>,
    /// Zone and UTC time of a TIMESTAMPTZ, whose clocks the fields show.
    zone: Option<(&'a TimeZone, i64)>,
}

impl Moment<'_> {
    fn of_timestamp(micros: i64) -> Option<Self> {
        if !is_finite_timestamp(micros) {
            return None;
        }
        let (days, time) = split_timestamp(micros);
        let (year, month, day) = civil_from_days(days);
        let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
        Some(Self { year, month, day, time, date: Some(days), zone: None })
    }

    fn of_interval(interval: Interval) -> Option<Self> {
        let months = i64::from(interval.months);
        let (year, month, day) = (months / 12, months % 12, i64::from(interval.days));
        Some(Self { year, month, day, time: interval.micros, date: None, zone: None })
    }

    /// Years as shown: 1 BC is year 1.
    fn shown_year(&self) -> i64 {
        if self.date.is_some() && self.year <= 0 { 1 - self.year } else { self.year }
    }

    fn write(&self, pieces: &[Piece], out: &mut String) -> Result<()> {
        for piece in pieces {
            match piece {
                Piece::Text(text, _) => out.push_str(text),
                Piece::Key { key, letters, fill, ordinal } => {
                    let start = out.len();
                    self.write_key(*key, *letters, *fill, out)?;
                    if let Some(letters) = ordinal {
                        push_ordinal(out, start, *letters);
                    }
                }
            }
        }
        Ok(())
    }

    /// The date; an interval has none.
    fn date(&self) -> Result<i32> {
        self.date.ok_or_else(|| {
            let message = "invalid format specification for an interval value";
            Error::new(SqlState::INVALID_DATETIME, message)
                .with_hint("Intervals are not tied to specific calendar dates.")
        })
    }

    fn write_key(&self, key: Key, letters: Letters, fill: bool, out: &mut String) -> Result<()> {
        let hour = self.time / HOUR;
        match key {
            Key::Meridiem(dots) => {
                let pm = hour.rem_euclid(24) >= 12;
                push_cased(out, mark(pm, dots, ["AM", "PM"], ["A.M.", "P.M."]), letters);
            }
            Key::Era(dots) => {
                self.date()?;
                let ad = self.year > 0;
                push_cased(out, mark(ad, dots, ["BC", "AD"], ["B.C.", "A.D."]), letters);
            }
            Key::Hour12 => {
                let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
                push_number(out, twelve, 2, fill);
            }
            Key::Hour24 => push_number(out, hour, 2, fill),
            Key::Minute => push_number(out, self.time / MINUTE % 60, 2, fill),
            Key::Second => push_number(out, self.time / SECOND % 60, 2, fill),
            Key::Fraction(_) | Key::Milliseconds => {
                let digits = if let Key::Fraction(digits) = key { digits } else { 3 };
                let unit = 10i64.pow(6 - u32::from(digits));
                push_number(out, self.time % SECOND / unit, usize::from(digits), true);
            }
            Key::SecondOfDay => push_number(out, self.time / SECOND, 0, false),
            Key::Zone | Key::ZoneHour | Key::ZoneOffset | Key::ZoneMinute => {
                self.date()?;
                self.write_zone(key, letters, fill, out);
            }
            _ => return self.write_date_key(key, letters, fill, out),
        }
        Ok(())
    }

    /// Writes the zone; of a TIMESTAMP without one the offset of UTC, but no name.
    fn write_zone(&self, key: Key, letters: Letters, fill: bool, out: &mut String) {
        let seconds = self.zone.map_or(0, |(zone, time)| zone.offset_at(time));
        let (sign, size) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
        let (hours, minutes) = (size / 3600, size % 3600 / 60);
        match key {
            Key::Zone => {
                if let Some((zone, time)) = self.zone {
                    push_cased(out, &zone.abbreviation_at(time), letters);
                }
            }
            Key::ZoneMinute => push_number(out, minutes, 2, true),
            _ => {
                out.push(sign);
                push_number(out, hours, 2, fill || key == Key::ZoneHour);
                if key == Key::ZoneOffset && minutes != 0 {
                    out.push(':');
                    push_number(out, minutes, 2, true);
                }
            }
        }
    }

    fn write_date_key(
        &self,
        key: Key,
        letters: Letters,
        fill: bool,
        out: &mut String,
    ) -> Result<()> {
        match key {
            Key::Year(4) => push_number(out, self.shown_year(), 4, fill),
            Key::Year(digits) => push_last_digits(out, self.shown_year(), digits, fill),
            Key::YearComma => {
                let year = self.shown_year();
                let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
            }
            Key::Month => push_number(out, self.month, 2, fill),
            Key::Day => push_signed(out, self.day, 2, fill),
            Key::DayOfYear if self.date.is_none() => {
                // Months of an interval have 30 days.
                push_signed(out, (self.year * 12 + self.month) * 30 + self.day, 3, fill);
            }
            Key::Quarter if self.month != 0 => push_number(out, (self.month - 1) / 3 + 1, 0, false),
            Key::Quarter => {}
            Key::Century => {
                let year = self.year;
                let century = if self.date.is_none() || year > 0 {
                    if self.date.is_none() { year / 100 } else { (year + 99) / 100 }
                } else {
                    (year - 100) / 100
                };
                let width = if (-99..=99).contains(&century) { 2 } else { 0 };
                push_number(out, century, width, fill);
            }
            Key::Roman => {
                // Months of an interval count back from the end of a year.
                let month = match (self.month, self.year) {
                    (0, 0) => None,
                    (0, year) => Some(if year > 0 { 11 } else { 0 }),
                    (month, _) if month < 0 => Some(month + 12),
                    (month, _) => Some(month - 1),
                };
                let month = month.and_then(|month| usize::try_from(month).ok());
                let numeral = month.and_then(|month| ROMAN.get(month));
                if let Some(numeral) = numeral {
                    push_padded(out, numeral, letters, if fill { 4 } else { 0 });
                }
            }
            _ => self.write_calendar_key(key, letters, fill, out)?,
        }
        Ok(())
    }

    /// Keys that only a date has.
    fn write_calendar_key(
        &self,
        key: Key,
        letters: Letters,
        fill: bool,
        out: &mut String,
    ) -> Result<()> {
        let date = self.date()?;
        // Present, as there is a date.
        let month = MONTHS[(self.month - 1).clamp(0, 11) as usize];
        let weekday = DAYS[day_of_week(date) as usize];
        let width = if fill { 9 } else { 0 };
        let (iso_year, week) = iso_week(date);
        let iso_day = (i64::from(day_of_week(date)) + 6) % 7 + 1;
        match key {
            Key::MonthName => push_padded(out, month, letters, width),
            Key::MonthAbbreviation => push_padded(out, &month[..3], letters, 0),
            Key::DayName => push_padded(out, weekday, letters, width),
            Key::DayAbbreviation => push_padded(out, &weekday[..3], letters, 0),
            Key::DayOfYear => push_number(out, i64::from(day_of_year(date)), 3, fill),
            Key::DayOfWeek => push_number(out, i64::from(day_of_week(date)) + 1, 0, false),
            Key::IsoDayOfWeek => push_number(out, iso_day, 0, false),
            Key::IsoDayOfYear => push_number(out, i64::from(week - 1) * 7 + iso_day, 3, fill),
            Key::IsoWeek => push_number(out, i64::from(week), 2, fill),
            Key::IsoYear(digits) => {
                let year = i64::from(if iso_year > 0 { iso_year } else { 1 - iso_year });
                match digits {
                    4 => push_number(out, year, 4, fill),
                    digits => push_last_digits(out, year, digits, fill),
                }
            }
            Key::WeekOfYear => {
                push_number(out, (i64::from(day_of_year(date)) - 1) / 7 + 1, 2, fill);
            }
            Key::WeekOfMonth => push_number(out, (self.day - 1) / 7 + 1, 0, false),
            Key::Julian => {
                let julian = i64::from(date) + i64::from(calendar::JULIAN_EPOCH);
                push_number(out, julian, 0, false);
            }
            other => return Err(Error::internal(format!("template key {other:?}"))),
        }
        Ok(())
    }
}

/// One of two marks, with or without dots.
fn mark<'a>(second: bool, dots: bool, plain: [&'a str; 2], dotted: [&'a str; 2]) -> &'a str {
    let marks = if dots { dotted } else { plain };
    marks[usize::from(second)]
}

fn push_cased(out: &mut String, text: &str, letters: Letters) {
    match letters {
        Letters::Upper => out.push_str(&text.to_ascii_uppercase()),
        Letters::Lower => out.push_str(&text.to_ascii_lowercase()),
        Letters::Capital => out.push_str(text),
    }
}

fn push_padded(out: &mut String, text: &str, letters: Letters, width: usize) {
    push_cased(out, text, letters);
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(text.len())));
}

/// A number of at least `width` digits; its sign is beside them.
fn push_number(out: &mut String, value: i64, width: usize, fill: bool) {
    let width = if fill { width } else { 0 };
    let sign = if value < 0 { "-" } else { "" };
    // A String takes whatever is written.
    let _ = write!(out, "{sign}{:0width$}", value.unsigned_abs());
}

/// As [`push_number`]; a minus is one of the places.
fn push_signed(out: &mut String, value: i64, width: usize, fill: bool) {
    let width = if fill { width } else { 0 };
    // A String takes whatever is written.
    let _ = write!(out, "{value:0width$}");
}

fn push_last_digits(out: &mut String, value: i64, digits: u8, fill: bool) {
    push_number(out, value % 10i64.pow(u32::from(digits)), usize::from(digits), fill);
}

/// The ending of the ordinal number that starts at byte `start`.
fn push_ordinal(out: &mut String, start: usize, letters: Letters) {
    let digits = out[start..].trim_end().as_bytes();
    let Some(&last) = digits.last().filter(|b| b.is_ascii_digit()) else {
        return;
    };
    let teen = digits.len() >= 2 && digits[digits.len() - 2] == b'1';
    let ending = match last {
        b'1' if !teen => "st",
        b'2' if !teen => "nd",
        b'3' if !teen => "rd",
        _ => "th",
    };
    push_cased(out, ending, letters);
}

/// For numbers of more digits than a template has.
pub(super) fn scaled_text(value: i128, scale: u8, digits: u8) -> Option<(String, String)> {
    let rounded = decimal::rescale(value.checked_abs()?, scale, digits)?;
    let unit = decimal::pow10(u32::from(digits));
    let fraction = if digits == 0 {
        String::new()
    } else {
        format!("{:0width$}", rounded % unit, width = usize::from(digits))
    };
    Some(((rounded / unit).to_string(), fraction))
}
