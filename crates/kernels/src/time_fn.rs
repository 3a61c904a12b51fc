//! Functions on dates, times, timestamps and intervals. Argument convention: see `text_fn`.
//!
//! TIMESTAMP and TIMESTAMPTZ share their kernels in UTC; those of a session in another time zone
//! take its name behind their other arguments (`zoned`). Infinite dates and timestamps stay what
//! they are under addition.

mod extract;
mod make;
mod number_template;
mod read;
mod template;
mod write;
mod zoned;

pub use extract::{date_trunc, extract};
pub use make::{date_bin, is_finite, make_time, round_seconds, zone_of_time};
pub use number_template::to_number;
pub use read::{to_date, to_timestamp};
pub use write::to_char;
pub use zoned::{
    cast_in, date_trunc_in, extract_in, session_zone, timestamp_add_in, timestamp_subtract_in,
    to_timestamp_in,
};

use types::calendar::{
    self, DAY, SECOND, TimeZone, check_date, check_timestamp, interval_out_of_range, is_finite_date,
};
use types::{DataType, Error, Interval, Result, SqlState};

use crate::Vector;
use crate::rows::{Texts, Values, try_build, try_map, try_zip};

fn shift_date(date: i32, days: Option<i32>) -> Result<i32> {
    if !is_finite_date(date) {
        return Ok(date);
    }
    check_date(days)
}

/// DATE + I32 days.
///
/// # Errors
/// 22008.
pub fn date_add_days(date: &Vector, days: &Vector) -> Result<Vector> {
    try_zip(date, days, |d: i32, n: i32| shift_date(d, d.checked_add(n)))
}

/// DATE - I32 days.
///
/// # Errors
/// 22008.
pub fn date_subtract_days(date: &Vector, days: &Vector) -> Result<Vector> {
    try_zip(date, days, |d: i32, n: i32| shift_date(d, d.checked_sub(n)))
}

/// DATE - DATE -> I32 days.
///
/// # Errors
/// 22008 for infinities.
pub fn date_difference(a: &Vector, b: &Vector) -> Result<Vector> {
    try_zip(a, b, |a: i32, b: i32| {
        if is_finite_date(a) && is_finite_date(b) {
            // Dates span less than 2^31 days.
            return Ok(a - b);
        }
        Err(Error::new(SqlState::DATETIME_OVERFLOW, "cannot subtract infinite dates"))
    })
}

/// TIMESTAMP or TIMESTAMPTZ + INTERVAL: months first, the day clamped to its month, then days, then
/// microseconds.
///
/// # Errors
/// 22008.
pub fn timestamp_add(timestamp: &Vector, interval: &Vector) -> Result<Vector> {
    try_zip(timestamp, interval, |t: i64, i: Interval| i.add_to(t))
}

/// TIMESTAMP or TIMESTAMPTZ - INTERVAL.
///
/// # Errors
/// 22008.
pub fn timestamp_subtract(timestamp: &Vector, interval: &Vector) -> Result<Vector> {
    try_zip(timestamp, interval, |t: i64, i: Interval| i.subtract_from(t))
}

/// TIMESTAMP - TIMESTAMP -> INTERVAL of days and microseconds.
///
/// # Errors
/// 22008 for infinities.
pub fn timestamp_difference(a: &Vector, b: &Vector) -> Result<Vector> {
    try_zip(a, b, Interval::between)
}

/// TIME + INTERVAL, modulo a day; months and days do not count.
///
/// # Errors
/// None.
pub fn time_add(time: &Vector, interval: &Vector) -> Result<Vector> {
    try_zip(time, interval, |t: i64, i: Interval| Ok((t + i.micros % DAY).rem_euclid(DAY)))
}

/// TIME - INTERVAL, modulo a day; months and days do not count.
///
/// # Errors
/// None.
pub fn time_subtract(time: &Vector, interval: &Vector) -> Result<Vector> {
    try_zip(time, interval, |t: i64, i: Interval| Ok((t - i.micros % DAY).rem_euclid(DAY)))
}

/// TIME - TIME -> INTERVAL.
///
/// # Errors
/// None.
pub fn time_difference(a: &Vector, b: &Vector) -> Result<Vector> {
    try_zip(a, b, |a: i64, b: i64| Ok(Interval::new(0, 0, a - b)))
}

/// INTERVAL + INTERVAL.
///
/// # Errors
/// 22008.
pub fn interval_add(a: &Vector, b: &Vector) -> Result<Vector> {
    try_zip(a, b, |a: Interval, b: Interval| a.checked_add(b).ok_or_else(interval_out_of_range))
}

/// INTERVAL - INTERVAL.
///
/// # Errors
/// 22008.
pub fn interval_subtract(a: &Vector, b: &Vector) -> Result<Vector> {
    try_zip(a, b, |a: Interval, b: Interval| a.checked_sub(b).ok_or_else(interval_out_of_range))
}

/// - INTERVAL.
///
/// # Errors
/// 22008.
pub fn interval_negate(interval: &Vector) -> Result<Vector> {
    try_map(interval, |i: Interval| i.checked_neg().ok_or_else(interval_out_of_range))
}

/// INTERVAL * DOUBLE.
///
/// # Errors
/// 22008.
pub fn interval_multiply(interval: &Vector, factor: &Vector) -> Result<Vector> {
    try_zip(interval, factor, Interval::multiply)
}

/// INTERVAL / DOUBLE.
///
/// # Errors
/// 22012, 22008.
pub fn interval_divide(interval: &Vector, divisor: &Vector) -> Result<Vector> {
    try_zip(interval, divisor, Interval::divide)
}

/// DATE + TIME -> TIMESTAMP.
///
/// # Errors
/// 22008.
pub fn date_time_add(date: &Vector, time: &Vector) -> Result<Vector> {
    try_zip(date, time, types::cast::date_and_time)
}

/// age(a, b) -> INTERVAL of years, months, days and time.
///
/// # Errors
/// 22008 for infinities.
pub fn age(a: &Vector, b: &Vector) -> Result<Vector> {
    try_zip(a, b, calendar::age)
}

/// A civil date of make_date and make_timestamp; a negative year is before Christ.
fn civil(year: i32, month: i32, day: i32) -> Result<i32> {
    let out_of_range = || {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        Error::new(SqlState::DATETIME_OVERFLOW, message)
    };
    let shown = if year < 0 { year.saturating_add(1) } else { year };
    let (Ok(month), Ok(day)) = (u32::try_from(month), u32::try_from(day)) else {
        return Err(out_of_range());
    };
    if year == 0 {
        return Err(out_of_range());
    }
    calendar::date_from_civil(shown, month, day).ok_or_else(out_of_range)
}

/// make_date(I32, I32, I32).
///
/// # Errors
/// 22008.
pub fn make_date(year: &Vector, month: &Vector, day: &Vector) -> Result<Vector> {
    let years = Values::<i32>::new(year);
    let (months, days) = (Values::<i32>::new(month), Values::<i32>::new(day));
    try_build(&[year, month, day], |i| civil(years.get(i), months.get(i), days.get(i)))
}

/// make_timestamp(I32 x 5, F64); `fields` in that order.
///
/// # Errors
/// 22008.
pub fn make_timestamp(fields: [&Vector; 6]) -> Result<Vector> {
    let [a, b, c, d, e, last] = fields;
    let parts = [a, b, c, d, e].map(Values::<i32>::new);
    let seconds = Values::<f64>::new(last);
    try_build(&fields, |i| {
        let [year, month, day, hour, minute] = parts.map(|p| p.get(i));
        let days = civil(year, month, day)?;
        let second = seconds.get(i);
        let micros = time_of(hour, minute, second).ok_or_else(|| {
            let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        })?;
        types::cast::date_and_time(days, micros)
    })
}

/// Microseconds of a time of day, 24:00:00 included.
fn time_of(hour: i32, minute: i32, second: f64) -> Option<i64> {
    let whole = (0..=24).contains(&hour) && (0..60).contains(&minute);
    if !whole || !(0.0..=60.0).contains(&second) {
        return None;
    }
    let micros = (second * 1e6).round_ties_even() as i64;
    let total = (i64::from(hour) * 60 + i64::from(minute)) * 60 * SECOND + micros;
    (total <= DAY).then_some(total)
}

/// make_interval(I32 x 6, F64): years, months, weeks, days, hours, minutes, seconds.
///
/// # Errors
/// 22008.
pub fn make_interval(fields: [&Vector; 7]) -> Result<Vector> {
    let [a, b, c, d, e, f, last] = fields;
    let parts = [a, b, c, d, e, f].map(Values::<i32>::new);
    let seconds = Values::<f64>::new(last);
    try_build(&fields, |i| {
        let [years, months, weeks, days, hours, minutes] = parts.map(|p| i64::from(p.get(i)));
        let second = (seconds.get(i) * 1e6).round_ties_even();
        // 2^63 is exact in a double.
        if !(-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&second) {
            return Err(interval_out_of_range());
        }
        // Sums of a few 32-bit numbers times small factors.
        let (months, days) = (years * 12 + months, weeks * 7 + days);
        let micros = ((hours * 60 + minutes) * 60 * SECOND).checked_add(second as i64);
        match (i32::try_from(months), i32::try_from(days), micros) {
            (Ok(months), Ok(days), Some(micros)) => Ok(Interval::new(months, days, micros)),
            _ => Err(interval_out_of_range()),
        }
    })
}

/// to_timestamp(F64 seconds since 1970).
///
/// # Errors
/// 22008.
pub fn to_timestamp_epoch(seconds: &Vector) -> Result<Vector> {
    try_map(seconds, |s: f64| {
        if s.is_nan() {
            return Err(Error::new(SqlState::DATETIME_OVERFLOW, "timestamp cannot be NaN"));
        }
        if s.is_infinite() {
            let sign = s > 0.0;
            return Ok(if sign {
                calendar::TIMESTAMP_INFINITY
            } else {
                calendar::TIMESTAMP_MINUS_INFINITY
            });
        }
        let micros = (s * 1e6).round_ties_even();
        // What exceeds 64 bits saturates, and the ends are out of range.
        check_timestamp(Some(micros as i64)).map_err(|_| {
            let message = format!("timestamp out of range: \"{s}\"");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        })
    })
}

/// `value AT TIME ZONE zone`; `ty` is the value's type: a TIMESTAMP becomes a TIMESTAMPTZ and the
/// reverse.
///
/// # Errors
/// 22023 for an unknown zone, 22008.
pub fn at_time_zone(zone: &Vector, value: &Vector, ty: DataType) -> Result<Vector> {
    let (zones, values) = (Texts::new(zone), Values::<i64>::new(value));
    // Equal names follow one another.
    let mut last: Option<(&str, TimeZone)> = None;
    try_build(&[zone, value], |i| {
        let name = zones.str(i)?;
        let zone = match last.take() {
            Some((known, zone)) if known == name => zone,
            _ => TimeZone::at(name)?,
        };
        let micros = values.get(i);
        let result = match ty {
            DataType::TimestampTz(_) => zone.to_local(micros),
            _ => zone.to_utc(micros),
        };
        last = Some((name, zone));
        result
    })
}

/// justify_days: 30 days become a month.
///
/// # Errors
/// 22008.
pub fn justify_days(interval: &Vector) -> Result<Vector> {
    try_map(interval, Interval::justify_days)
}

/// justify_hours: 24 hours become a day.
///
/// # Errors
/// 22008.
pub fn justify_hours(interval: &Vector) -> Result<Vector> {
    try_map(interval, Interval::justify_hours)
}

/// justify_interval: both, with one sign for all parts.
///
/// # Errors
/// 22008.
pub fn justify_interval(interval: &Vector) -> Result<Vector> {
    try_map(interval, calendar::justify_interval)
}
