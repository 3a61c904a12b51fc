//! TIMETZ: a time of day with an offset.

use super::{Call, Given, push_i64, read_i64};
use crate::calendar::{
    DAY, SECOND, TimeZone, check_timestamp, date_to_timestamp, is_finite_timestamp, rounded_micros,
};
use crate::{Error, Result, SqlState};

/// A time of day, and how far its clock is from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedTime {
    /// Microseconds since midnight.
    pub micros: i64,
    /// Seconds west of UTC.
    pub west: i32,
}

impl ZonedTime {
    /// The time that a value holds.
    pub fn read(value: &[u8]) -> Self {
        let mut west = [0; 4];
        west.copy_from_slice(&value[8..12]);
        let west = (u32::from_be_bytes(west) ^ 1 << 31) as i32;
        Self { micros: read_i64(value) - i64::from(west) * SECOND, west }
    }

    /// Appends the time as a value.
    pub fn write(self, out: &mut Vec<u8>) {
        push_i64(out, self.micros + i64::from(self.west) * SECOND);
        out.extend_from_slice(&(self.west as u32 ^ 1 << 31).to_be_bytes());
    }

    /// The time as a value.
    pub fn value(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12);
        self.write(&mut out);
        out
    }

    /// The time rounded to so many digits of a second.
    pub fn rounded(self, digits: Option<u8>) -> Self {
        let micros = match digits {
            Some(digits @ 0..6) => rounded_micros(self.micros, u32::from(digits)),
            _ => None,
        };
        Self { micros: micros.unwrap_or(self.micros), ..self }
    }

    /// The same instant by a clock so many seconds west of UTC.
    pub(super) fn at(self, west: i32) -> Self {
        let micros = self.micros + i64::from(self.west - west) * SECOND;
        Self { micros: micros.rem_euclid(DAY), west }
    }
}

/// 22009.
fn zone_out_of_range() -> Error {
    Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT, "time zone displacement out of range")
}

fn moved(call: &Call<'_>, at: usize, by: i64, out: &mut Vec<u8>) -> Result<Given> {
    let time = ZonedTime::read(call.bytes(at));
    let micros = time.micros.wrapping_add(by).rem_euclid(DAY);
    ZonedTime { micros, ..time }.write(out);
    Ok(Given::Bytes)
}

pub(super) fn add(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    moved(call, 0, call.interval(1).micros, out)
}

pub(super) fn add_to(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    moved(call, 1, call.interval(0).micros, out)
}

pub(super) fn subtract(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    moved(call, 0, call.interval(1).micros.wrapping_neg(), out)
}

/// `timezone(interval, timetz)`.
pub(super) fn at_offset(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    let offset = call.interval(0);
    if offset.months != 0 || offset.days != 0 {
        let message = "interval time zone must not include months or days";
        return Err(Error::new(SqlState::INVALID_PARAMETER, message));
    }
    let west = i32::try_from(-offset.micros / SECOND).map_err(|_| zone_out_of_range())?;
    ZonedTime::read(call.bytes(1)).at(west).write(out);
    Ok(Given::Bytes)
}

/// `timezone(text, timetz)`.
pub(super) fn at_zone(call: &Call<'_>, out: &mut Vec<u8>) -> Result<Given> {
    let zone = TimeZone::at(&String::from_utf8_lossy(call.bytes(0)))?;
    // Offsets are below a day.
    let west = -zone.offset_at(zone.now()) as i32;
    ZonedTime::read(call.bytes(1)).at(west).write(out);
    Ok(Given::Bytes)
}

/// Seconds east of UTC.
pub(super) fn offset(call: &Call<'_>, _: &mut Vec<u8>) -> Result<Given> {
    Ok(Given::Int(-i64::from(ZonedTime::read(call.bytes(0)).west)))
}

/// Microseconds since midnight in UTC.
pub(super) fn micros(call: &Call<'_>, _: &mut Vec<u8>) -> Result<Given> {
    Ok(Given::Int(read_i64(call.bytes(0))))
}

/// date + timetz, as an instant.
pub(super) fn on_date(call: &Call<'_>, _: &mut Vec<u8>) -> Result<Given> {
    instant(call.int(0), ZonedTime::read(call.bytes(1)))
}

/// timetz + date.
pub(super) fn to_date(call: &Call<'_>, _: &mut Vec<u8>) -> Result<Given> {
    instant(call.int(1), ZonedTime::read(call.bytes(0)))
}

fn instant(days: i64, time: ZonedTime) -> Result<Given> {
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    let micros = time.micros + i64::from(time.west) * SECOND;
    let midnight = date_to_timestamp(days)?;
    if !is_finite_timestamp(midnight) {
        return Ok(Given::Int(midnight));
    }
    check_timestamp(midnight.checked_add(micros)).map(Given::Int)
}
