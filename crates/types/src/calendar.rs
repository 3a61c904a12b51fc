//! The proleptic Gregorian calendar: days, civil dates, fields, truncation, interval arithmetic.
//!
//! ```text
//! DATE       days since 1970-01-01           i32::MIN = -infinity, i32::MAX = infinity
//! TIMESTAMP  microseconds since 1970-01-01   i64::MIN = -infinity, i64::MAX = infinity
//! ```
//! Invariant: finite dates lie in [`DATE_MIN`]`..=`[`DATE_MAX`], finite timestamps in
//! [`TIMESTAMP_MIN`]`..i64::MAX`. Year 0 is 1 BC. Departure from
//! PostgreSQL: timestamps end in the year 294247, not 294276, because they count from 1970.
//!
//! Elsewhere: text forms (`text`), named time zones (`zone`).

mod abbreviation;
mod arithmetic;
mod extract;
mod truncate;
mod zone;

pub use arithmetic::{age, justify_interval};
pub use extract::{INFINITE_FIELD, MINUS_INFINITE_FIELD, extract, extract_type};
pub use truncate::{truncate_interval, truncate_timestamp};
pub use zone::{DateOrder, TimeZone};

pub(crate) use abbreviation::{Meaning, meaning as zone_meaning};

use crate::{
    DataType, Error, Interval, IntervalFields, IntervalForm, NumericDisplay, NumericType, Result,
    SqlState,
};

/// The type that extraction gives: microsecond resolution, held in 64 bits. Values of the largest
/// timestamps have 19 digits.
pub const EXTRACT_TYPE: NumericType =
    NumericType { precision: 18, scale: 6, display: NumericDisplay::Computed };

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds in a day.
pub const DAY: i64 = 24 * HOUR;

/// The first date, 4714-11-24 BC, Julian day 0.
pub const DATE_MIN: i32 = -2_440_588;
/// The last date, 5874897-12-31.
pub const DATE_MAX: i32 = days_from_civil(5_874_897, 12, 31);
/// DATE infinity.
pub const DATE_INFINITY: i32 = i32::MAX;
/// DATE -infinity.
pub const DATE_MINUS_INFINITY: i32 = i32::MIN;
/// The first timestamp, 4714-11-24 00:00:00 BC.
pub const TIMESTAMP_MIN: i64 = DATE_MIN as i64 * DAY;
/// TIMESTAMP infinity.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// TIMESTAMP -infinity.
pub const TIMESTAMP_MINUS_INFINITY: i64 = i64::MIN;
/// Julian day of 1970-01-01.
pub const JULIAN_EPOCH: i32 = 2_440_588;

/// Days from 1970-01-01 to a civil date; months and days past the end of their year or month are
/// carried over.
///
/// Source: Howard Hinnant, "chrono-compatible low-level date algorithms", 2013.
pub const fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = year - (month <= 2) as i32;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month as i32 + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day as i32 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a count of days from 1970-01-01.
///
/// Source: as [`days_from_civil`].
pub const fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let days = days as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year as i32, month as u32, day as u32)
}

/// True for leap years.
pub const fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month, 1 to 12.
pub const fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The day number of a civil date that exists and is in range.
pub fn date_from_civil(year: i32, month: u32, day: u32) -> Option<i32> {
    let exists = (1..=12).contains(&month)
        && day >= 1
        && (-4713..=5_874_897).contains(&year)
        && day <= days_in_month(year, month);
    let days = if exists {
        days_from_civil(year, month, day)
    } else {
        return None;
    };
    (DATE_MIN..=DATE_MAX).contains(&days).then_some(days)
}

/// 0 = Sunday to 6 = Saturday.
pub const fn day_of_week(days: i32) -> u32 {
    (days as i64 + 4).rem_euclid(7) as u32
}

/// Day of the year, from 1.
pub const fn day_of_year(days: i32) -> u32 {
    let (year, _, _) = civil_from_days(days);
    (days - days_from_civil(year, 1, 1) + 1) as u32
}

/// Year and week by ISO 8601: weeks start on Monday, week 1 has the year's first Thursday.
pub const fn iso_week(days: i32) -> (i32, u32) {
    // The Thursday of the same week decides the year.
    let thursday = days - (day_of_week(days) as i32 + 6) % 7 + 3;
    let (year, _, _) = civil_from_days(thursday);
    (year, ((thursday - days_from_civil(year, 1, 1)) / 7 + 1) as u32)
}

/// Monday of a week by ISO 8601.
pub const fn iso_week_start(year: i32, week: u32) -> i32 {
    let january4 = days_from_civil(year, 1, 4);
    january4 - (day_of_week(january4) as i32 + 6) % 7 + (week as i32 - 1) * 7
}

/// Days since 1970-01-01 and microseconds of the day.
#[inline]
pub const fn split_timestamp(micros: i64) -> (i32, i64) {
    (micros.div_euclid(DAY) as i32, micros.rem_euclid(DAY))
}

/// True unless infinity or -infinity.
#[inline]
pub const fn is_finite_date(days: i32) -> bool {
    days != DATE_INFINITY && days != DATE_MINUS_INFINITY
}

/// True unless infinity or -infinity.
#[inline]
pub const fn is_finite_timestamp(micros: i64) -> bool {
    micros != TIMESTAMP_INFINITY && micros != TIMESTAMP_MINUS_INFINITY
}

/// Midnight of a date; infinities stay.
///
/// # Errors
/// 22008 when timestamps do not reach that far.
#[inline]
pub fn date_to_timestamp(days: i32) -> Result<i64> {
    match days {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_MINUS_INFINITY => Ok(TIMESTAMP_MINUS_INFINITY),
        days => i64::from(days).checked_mul(DAY).ok_or_else(|| {
            Error::new(SqlState::DATETIME_OVERFLOW, "date out of range for timestamp")
        }),
    }
}

/// The date of a timestamp; infinities stay.
#[inline]
pub const fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_MINUS_INFINITY => DATE_MINUS_INFINITY,
        micros => micros.div_euclid(DAY) as i32,
    }
}

/// `micros` if it is a finite timestamp in range.
///
/// # Errors
/// 22008 otherwise.
#[inline]
pub fn check_timestamp(micros: Option<i64>) -> Result<i64> {
    match micros {
        Some(micros) if (TIMESTAMP_MIN..TIMESTAMP_INFINITY).contains(&micros) => Ok(micros),
        _ => Err(timestamp_out_of_range()),
    }
}

/// `days` if it is a finite date in range.
///
/// # Errors
/// 22008 otherwise.
#[inline]
pub fn check_date(days: Option<i32>) -> Result<i32> {
    match days {
        Some(days) if (DATE_MIN..=DATE_MAX).contains(&days) => Ok(days),
        _ => Err(Error::new(SqlState::DATETIME_OVERFLOW, "date out of range")),
    }
}

/// 22008.
#[cold]
pub fn timestamp_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_OVERFLOW, "timestamp out of range")
}

/// 22008.
#[cold]
pub fn interval_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_OVERFLOW, "interval out of range")
}

/// The day `months` later, the day of the month clamped to the new month's length.
pub fn add_months(days: i32, months: i32) -> Option<i32> {
    let (year, month, day) = civil_from_days(days);
    let total = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(months);
    let year = i32::try_from(total.div_euclid(12)).ok()?;
    let month = total.rem_euclid(12) as u32 + 1;
    date_from_civil(year, month, day.min(days_in_month(year, month.clamp(1, 12))))
}

/// A field of a date, time or interval, for extract and date_trunc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// microseconds
    Microseconds,
    /// milliseconds
    Milliseconds,
    /// second
    Second,
    /// minute
    Minute,
    /// hour
    Hour,
    /// day
    Day,
    /// week, ISO 8601
    Week,
    /// month
    Month,
    /// quarter
    Quarter,
    /// year
    Year,
    /// decade
    Decade,
    /// century
    Century,
    /// millennium
    Millennium,
    /// isoyear
    IsoYear,
    /// dow, 0 = Sunday
    DayOfWeek,
    /// isodow, 1 = Monday
    IsoDayOfWeek,
    /// doy
    DayOfYear,
    /// epoch
    Epoch,
    /// julian
    Julian,
    /// timezone
    TimeZone,
    /// timezone_hour
    TimeZoneHour,
    /// timezone_minute
    TimeZoneMinute,
}

/// Names and abbreviations, lower case; the first of a field is the one in messages.
const FIELD_NAMES: &[(Field, &[&str])] = &[
    (Field::Microseconds, &["microseconds", "microsecond", "us", "usec", "usecs", "useconds"]),
    (Field::Milliseconds, &["milliseconds", "millisecond", "ms", "msec", "msecs", "mseconds"]),
    (Field::Second, &["second", "seconds", "s", "sec", "secs"]),
    (Field::Minute, &["minute", "minutes", "m", "min", "mins"]),
    (Field::Hour, &["hour", "hours", "h", "hr", "hrs"]),
    (Field::Day, &["day", "days", "d"]),
    (Field::Week, &["week", "weeks", "w"]),
    (Field::Month, &["month", "months", "mon", "mons"]),
    (Field::Quarter, &["quarter", "qtr"]),
    (Field::Year, &["year", "years", "y", "yr", "yrs"]),
    (Field::Decade, &["decade", "decades", "dec", "decs"]),
    (Field::Century, &["century", "centuries", "c", "cent"]),
    (Field::Millennium, &["millennium", "millennia", "mil", "mils"]),
    (Field::IsoYear, &["isoyear"]),
    (Field::DayOfWeek, &["dow"]),
    (Field::IsoDayOfWeek, &["isodow"]),
    (Field::DayOfYear, &["doy"]),
    (Field::Epoch, &["epoch"]),
    (Field::Julian, &["julian", "jd", "j"]),
    (Field::TimeZone, &["timezone"]),
    (Field::TimeZoneHour, &["timezone_hour", "timezone_h"]),
    (Field::TimeZoneMinute, &["timezone_minute", "timezone_m"]),
];

impl Field {
    /// The field that `name` denotes, with PostgreSQL's abbreviations, in any case.
    ///
    /// # Errors
    /// 22023 when there is none.
    pub fn parse(name: &str) -> Result<Self> {
        Self::lookup(name.trim()).ok_or_else(|| {
            let message = format!("unit \"{}\" not recognized", name.to_lowercase());
            Error::new(SqlState::INVALID_PARAMETER, message)
        })
    }

    /// As [`Self::parse`].
    pub fn lookup(name: &str) -> Option<Self> {
        let found = FIELD_NAMES
            .iter()
            .find(|(_, names)| names.iter().any(|n| n.eq_ignore_ascii_case(name)));
        found.map(|(field, _)| *field)
    }

    /// The usual name, lower case.
    pub fn name(self) -> &'static str {
        FIELD_NAMES.iter().find(|(field, _)| *field == self).map_or("", |(_, names)| names[0])
    }

    /// 0A000 for a field that values of a type do not have.
    pub(crate) fn not_supported(self, type_name: &str) -> Error {
        let message = format!("unit \"{}\" not supported for type {type_name}", self.name());
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }
}

/// Microseconds of 2000-01-01, from which PostgreSQL counts: halves are rounded away from it.
const ROUNDING_ORIGIN: i64 = 10_957 * DAY;

/// `micros` rounded to `digits` fractional digits of a second, 0 to 6, halves away from zero; None
/// when it overflows.
pub fn rounded_micros(micros: i64, digits: u32) -> Option<i64> {
    let unit = SECOND / 10i64.pow(digits.min(6));
    let size = micros.checked_abs()?.checked_add(unit / 2)? / unit * unit;
    size.checked_mul(micros.signum())
}

/// An INTERVAL with the fields and digits of `form`: what lies below the last field is cut off.
///
/// # Errors
/// 22008.
pub fn fitted_interval(value: Interval, form: Option<IntervalForm>) -> Result<Interval> {
    use IntervalFields as F;
    let Some(form) = form else { return Ok(value) };
    let cut = |unit: i64| Interval { micros: value.micros / unit * unit, ..value };
    let value = match form.fields.map(F::last) {
        Some(F::Year) => Interval { months: value.months / 12 * 12, days: 0, micros: 0 },
        Some(F::Month) => Interval { days: 0, micros: 0, ..value },
        Some(F::Day) => Interval { micros: 0, ..value },
        Some(F::Hour) => cut(HOUR),
        Some(F::Minute) => cut(MINUTE),
        _ => value,
    };
    let Some(digits) = form.digits else { return Ok(value) };
    let micros = rounded_micros(value.micros, u32::from(digits));
    Ok(Interval { micros: micros.ok_or_else(interval_out_of_range)?, ..value })
}

/// A TIMESTAMP or TIMESTAMPTZ rounded to `digits` fractional digits of a second, 0 to 6.
///
/// # Errors
/// 22008.
pub fn round_timestamp(micros: i64, digits: u32) -> Result<i64> {
    if !is_finite_timestamp(micros) {
        return Ok(micros);
    }
    let rounded = micros.checked_sub(ROUNDING_ORIGIN).and_then(|m| rounded_micros(m, digits));
    check_timestamp(rounded.and_then(|r| r.checked_add(ROUNDING_ORIGIN)))
}

/// A TIME, TIMESTAMP or TIMESTAMPTZ with the digits of a second that type `ty` has.
///
/// # Errors
/// 22008.
pub fn rounded_to(micros: i64, ty: DataType) -> Result<i64> {
    match ty.second_digits() {
        Some(digits) if matches!(ty, DataType::Time(_)) => {
            Ok(rounded_micros(micros, u32::from(digits)).unwrap_or(micros))
        }
        Some(digits) => round_timestamp(micros, u32::from(digits)),
        None => Ok(micros),
    }
}
