//! The proleptic Gregorian calendar: days, civil dates, fields, truncation.

use crate::{Error, NumericDisplay, NumericType, Result};

/// The type that extraction gives: microsecond resolution, held in 64 bits.
pub const EXTRACT_TYPE: NumericType = NumericType {
    precision: 18,
    scale: 6,
    display: NumericDisplay::Trimmed,
};

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

impl Field {
    /// The field that `name` denotes, with PostgreSQL's abbreviations, in any case.
    ///
    /// # Errors
    /// 22023 when there is none.
    pub fn parse(name: &str) -> Result<Self> {
        Err(Error::internal(name))
    }
}
