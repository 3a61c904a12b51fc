//! Times of day made from fields, rounding to a precision, bins, finiteness.

use types::calendar::{self, DAY, TimeZone, check_timestamp, is_finite_date, is_finite_timestamp};
use types::{DataType, Error, Interval, Result, SqlState, Value};

use super::time_of;
use crate::rows::{Texts, Values, map, try_build, try_map};
use crate::{Vector, VectorBuilder};

/// make_time(I32, I32, F64).
///
/// # Errors
/// 22008.
pub fn make_time(hour: &Vector, minute: &Vector, second: &Vector) -> Result<Vector> {
    let (hours, minutes) = (Values::<i32>::new(hour), Values::<i32>::new(minute));
    let seconds = Values::<f64>::new(second);
    try_build(&[hour, minute, second], |i| {
        let (hour, minute, second) = (hours.get(i), minutes.get(i), seconds.get(i));
        time_of(hour, minute, second).ok_or_else(|| {
            let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
            Error::new(SqlState::DATETIME_OVERFLOW, message)
        })
    })
}

/// The zone that make_timestamptz names, as AT TIME ZONE takes it: TEXT -> TEXT.
///
/// # Errors
/// 22023.
pub fn zone_of_time(zone: &Vector) -> Result<Vector> {
    let names = Texts::new(zone);
    let mut out = VectorBuilder::with_capacity(DataType::Text.physical(), zone.len());
    for i in 0..zone.len() {
        if zone.is_null(i) {
            out.push_value(&Value::Null)
        } else {
            out.push_value(&Value::text(&TimeZone::of_time(names.str(i)?)?))
        }
    }
    Ok(out.finish())
}

/// isfinite of a DATE, TIMESTAMP, TIMESTAMPTZ or INTERVAL (`ty`) -> Bool.
///
/// # Errors
/// None.
pub fn is_finite(value: &Vector, ty: DataType) -> Result<Vector> {
    Ok(match ty {
        DataType::Date => map(value, |days: i32| u8::from(is_finite_date(days))),
        DataType::Interval(_) => map(value, |_: Interval| 1u8),
        _ => map(value, |t: i64| u8::from(is_finite_timestamp(t))),
    })
}

/// A TIME, TIMESTAMP or TIMESTAMPTZ (`ty`) rounded to `digits` fractional digits of its seconds,
/// 0 to 6.
///
/// # Errors
/// 22008.
pub fn round_seconds(value: &Vector, digits: u32, ty: DataType) -> Result<Vector> {
    if matches!(ty, DataType::Interval(_)) {
        return Ok(map(value, |i: Interval| Interval {
            micros: calendar::rounded_micros(i.micros, digits).unwrap_or(i.micros),
            ..i
        }));
    }
    if matches!(ty, DataType::Time(_)) {
        return Ok(map(value, |t: i64| calendar::rounded_micros(t, digits).unwrap_or(t)));
    }
    try_map(value, |t: i64| calendar::round_timestamp(t, digits))
}

/// date_bin(INTERVAL stride, TIMESTAMP, TIMESTAMP origin): the start of the bin of `stride` with
/// one bin beginning at `origin`. TIMESTAMPTZ is the same.
///
/// # Errors
/// 0A000 for strides of months, 22008 for those that are not positive and out of range.
pub fn date_bin(stride: &Vector, timestamp: &Vector, origin: &Vector) -> Result<Vector> {
    let strides = Values::<Interval>::new(stride);
    let (times, origins) = (Values::<i64>::new(timestamp), Values::<i64>::new(origin));
    try_build(&[stride, timestamp, origin], |i| {
        let (stride, time, origin) = (strides.get(i), times.get(i), origins.get(i));
        if !is_finite_timestamp(time) {
            return Ok(time);
        }
        let failure = |message: &str| Error::new(SqlState::DATETIME_OVERFLOW, message);
        if !is_finite_timestamp(origin) {
            return Err(failure("origin out of range"));
        }
        if stride.months != 0 {
            let what = "timestamps cannot be binned into intervals containing months or years";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what));
        }
        let width = (i64::from(stride.days).checked_mul(DAY))
            .and_then(|days| days.checked_add(stride.micros))
            .ok_or_else(calendar::interval_out_of_range)?;
        if width <= 0 {
            return Err(failure("stride must be greater than zero"));
        }
        let start = (time.checked_sub(origin)).and_then(|distance| {
            origin.checked_add(distance.div_euclid(width).checked_mul(width)?)
        });
        check_timestamp(start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VectorData;

    fn timestamp(text: &str) -> i64 {
        match types::text::parse(text, DataType::TIMESTAMP) {
            Ok(types::Value::I64(micros)) => micros,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn column(text: &str) -> Vector {
        Vector::new(VectorData::I64(vec![timestamp(text)]))
    }

    #[test]
    fn bins() {
        let minutes = Vector::new(VectorData::Interval(vec![Interval::new(
            0,
            0,
            15 * 60 * calendar::SECOND,
        )]));
        for (time, origin, expected) in [
            ("2024-02-11 15:44:17", "2001-01-01", "2024-02-11 15:30"),
            ("2024-02-11 15:44:17", "2030-01-01 00:05", "2024-02-11 15:35"),
            ("2024-02-11 15:35", "2030-01-01 00:05", "2024-02-11 15:35"),
        ] {
            let start = date_bin(&minutes, &column(time), &column(origin)).expect("in range");
            assert_eq!(Values::<i64>::new(&start).get(0), timestamp(expected));
        }
        let none = Vector::new(VectorData::Interval(vec![Interval::new(0, 0, 0)]));
        assert!(date_bin(&none, &column("2024-01-01"), &column("2024-01-01")).is_err());
    }

    #[test]
    fn precisions() {
        for (time, digits, expected) in [
            ("2024-01-01 12:34:56.789", 0, "2024-01-01 12:34:57"),
            ("2024-01-01 12:34:56.789", 2, "2024-01-01 12:34:56.79"),
            ("1999-01-01 00:00:00.5", 0, "1999-01-01 00:00:00"),
            ("2001-01-01 00:00:00.5", 0, "2001-01-01 00:00:01"),
            ("2024-01-01 12:34:56.789123", 6, "2024-01-01 12:34:56.789123"),
        ] {
            let ty = DataType::TIMESTAMP;
            let rounded = round_seconds(&column(time), digits, ty).expect("in range");
            assert_eq!(Values::<i64>::new(&rounded).get(0), timestamp(expected));
        }
    }
}
