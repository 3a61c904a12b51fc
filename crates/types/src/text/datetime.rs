//! DATE, TIME, TIMESTAMP and TIMESTAMPTZ from text.
//!
//! The usual ISO forms take a short way without a search; everything else is taken apart into
//! fields by their looks (`split`), whose meaning depends on those before (`decode`).

mod decode;
mod split;
mod words;

use crate::calendar::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAY, SECOND, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY,
    TimeZone, check_date, check_timestamp, date_from_civil, days_from_civil,
};
use crate::packed::ZonedTime;
use crate::{DataType, Error, Result, SqlState};

use decode::{Fields, Subject};
use split::split;

/// Why text is no date or time.
#[derive(Clone, Debug)]
enum Failure {
    /// 22007.
    Format,
    /// 22008.
    Range,
    /// 22008, perhaps because day and month are in another order.
    MonthDay,
    /// 22008, of the date or timestamp as a whole.
    Overflow,
    /// 22009.
    Displacement,
    /// An error of its own: an unknown time zone.
    Other(Error),
}

impl Failure {
    /// The error about `text`; `short_name` is that of the type without its time zone.
    #[cold]
    fn into_error(self, text: &str, type_name: &str, short_name: &str) -> Error {
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
            Self::Overflow => {
                let message = format!("{short_name} out of range: \"{text}\"");
                Error::new(SqlState::DATETIME_OVERFLOW, message)
            }
            Self::Displacement => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT, message)
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

/// A zone that a text names.
#[derive(Clone, Debug)]
enum Zone {
    /// Seconds east of UTC.
    Offset(i64),
    Named(TimeZone),
    /// An abbreviation that had several meanings in a zone.
    Abbreviation(&'static str, String),
}

impl Zone {
    /// The time in UTC at which its clocks show `local`; `summer` seconds are added to its offset.
    fn to_utc(&self, local: i64, summer: i64) -> Result<i64> {
        let seconds = match self {
            Self::Offset(seconds) => *seconds,
            Self::Named(zone) => return zone.to_utc(local),
            Self::Abbreviation(zone, name) => TimeZone::abbreviated(zone, name, local),
        };
        check_timestamp(local.checked_sub((seconds + summer) * SECOND))
    }
}

/// Seconds east of UTC of an offset; true in its place for one that is too far.
pub(crate) fn parse_offset(text: &str) -> std::result::Result<i64, bool> {
    decode::offset(text).map_err(|failure| matches!(failure, Failure::Displacement))
}

/// The fields of a text.
fn read(text: &str, subject: Subject, zone: &TimeZone) -> Parsed<Fields> {
    let fields = Fields::read(&split(text)?, subject, zone.order())?;
    // A full name has its summer time by itself.
    if fields.summer() != 0 && !matches!(fields.zone, Some(Zone::Offset(_))) {
        return Err(Failure::Format);
    }
    Ok(fields)
}

/// Days since 1970-01-01 of the fields, which a date may be too far away for.
fn days_of(fields: &Fields) -> Parsed<i32> {
    if !fields.has_date() {
        return Err(Failure::Format);
    }
    let (year, month, day) = fields.civil();
    Ok(days_from_civil(year, month, day))
}

/// Days since 1970-01-01 of the fields.
fn date_of(fields: &Fields) -> Parsed<i32> {
    check_date(Some(days_of(fields)?)).map_err(|_| Failure::Overflow)
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
    let parsed = read(text, Subject::DateTime, zone).and_then(|fields| match fields.special {
        Some(Special::Infinity) => Ok(DATE_INFINITY),
        Some(Special::MinusInfinity) => Ok(DATE_MINUS_INFINITY),
        Some(Special::Epoch) => Ok(0),
        Some(Special::Now) => Ok((zone.midnight(zone.now(), 0) / DAY) as i32),
        Some(Special::Today(days)) => Ok((zone.midnight(zone.now(), days) / DAY) as i32),
        None => {
            let days = date_of(&fields)?;
            fields.time()?;
            Ok(days)
        }
    });
    parsed.map_err(|f| f.into_error(text, "date", "date"))
}

/// TIME; now is that of `zone`. A date before it and a zone after it are read and ignored.
pub(super) fn parse_time(text: &str, zone: &TimeZone) -> Result<i64> {
    if let Some(micros) = iso_time(text.as_bytes()) {
        return Ok(micros);
    }
    let parsed = read(text, Subject::TimeOnly, zone).and_then(|fields| match fields.special {
        Some(Special::Now) => {
            let now = zone.now();
            Ok((now + zone.offset_at(now) * SECOND).rem_euclid(DAY))
        }
        Some(_) => Err(Failure::Format),
        None if !fields.has_time() => Err(Failure::Format),
        None => {
            // The rules of a zone with summer time depend on the date.
            let needs_date = match &fields.zone {
                Some(Zone::Named(named)) => !named.is_constant(),
                _ => false,
            };
            if needs_date && !fields.has_date() { Err(Failure::Format) } else { fields.time() }
        }
    });
    parsed.map_err(|f| f.into_error(text, "time", "time"))
}

/// TIMETZ; without a zone, or now, it is by clocks of `zone`.
pub(super) fn parse_zoned_time(text: &str, zone: &TimeZone) -> Result<ZonedTime> {
    let today = || zone.midnight(zone.now(), 0);
    let parsed = read(text, Subject::TimeOnly, zone).and_then(|fields| {
        if let Some(Special::Now) = fields.special {
            let now = zone.now();
            let offset = zone.offset_at(now);
            let micros = (now + offset * SECOND).rem_euclid(DAY);
            return Ok((micros, offset));
        }
        if fields.special.is_some() || !fields.has_time() {
            return Err(Failure::Format);
        }
        let named = match &fields.zone {
            Some(Zone::Named(named)) => !named.is_constant(),
            _ => false,
        };
        if named && !fields.has_date() {
            return Err(Failure::Format);
        }
        let time = fields.time()?;
        let midnight = if fields.has_date() { i64::from(days_of(&fields)?) * DAY } else { today() };
        let local = midnight + time;
        let utc = match &fields.zone {
            Some(named) => named.to_utc(local, fields.summer()),
            None => zone.to_utc(local),
        };
        let utc = utc.map_err(|_| Failure::Overflow)?;
        Ok((time, (local - utc) / SECOND))
    });
    let parsed = parsed.map_err(|f| f.into_error(text, "time with time zone", "time"));
    // An offset is below a day.
    parsed.map(|(micros, offset)| ZonedTime { micros, west: -offset as i32 })
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
    let out = |_| Failure::Overflow;
    let parsed = read(text, Subject::DateTime, zone).and_then(|fields| {
        let midnight = match fields.special {
            Some(Special::Infinity) => return Ok(TIMESTAMP_INFINITY),
            Some(Special::MinusInfinity) => return Ok(TIMESTAMP_MINUS_INFINITY),
            Some(Special::Epoch) => return Ok(0),
            Some(Special::Now) => {
                let now = zone.now();
                return Ok(if zoned { now } else { now + zone.offset_at(now) * SECOND });
            }
            Some(Special::Today(days)) => Some(zone.midnight(zone.now(), days)),
            None => i64::from(days_of(&fields)?).checked_mul(DAY),
        };
        let time = fields.time()?;
        let Some(local) = midnight.and_then(|m| m.checked_add(time)) else {
            return Err(Failure::Overflow);
        };
        match &fields.zone {
            Some(named) if zoned => named.to_utc(local, fields.summer()).map_err(out),
            None => in_zone(check_timestamp(Some(local)).map_err(out)?).map_err(out),
            Some(_) => check_timestamp(Some(local)).map_err(out),
        }
    });
    parsed.map_err(|f| f.into_error(text, type_name, "timestamp"))
}
