//! Functions on dates, times, timestamps and intervals. Argument convention: see `text_fn`.
//! The session's time zone is UTC, so TIMESTAMP and TIMESTAMPTZ share their kernels.
#![allow(unused_variables)]

use types::calendar::Field;
use types::{DataType, Error, Result};

use crate::Vector;

/// DATE + I32 days.
///
/// # Errors
/// As PostgreSQL.
pub fn date_add_days(date: &Vector, days: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// DATE - I32 days.
///
/// # Errors
/// As PostgreSQL.
pub fn date_subtract_days(date: &Vector, days: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// DATE - DATE -> I32.
///
/// # Errors
/// As PostgreSQL.
pub fn date_difference(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// TIMESTAMP or TIMESTAMPTZ + INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn timestamp_add(timestamp: &Vector, interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// TIMESTAMP or TIMESTAMPTZ - INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn timestamp_subtract(timestamp: &Vector, interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// TIMESTAMP - TIMESTAMP -> INTERVAL of days and microseconds.
///
/// # Errors
/// As PostgreSQL.
pub fn timestamp_difference(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// TIME + INTERVAL, modulo a day.
///
/// # Errors
/// As PostgreSQL.
pub fn time_add(time: &Vector, interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// TIME - INTERVAL, modulo a day.
///
/// # Errors
/// As PostgreSQL.
pub fn time_subtract(time: &Vector, interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// TIME - TIME -> INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn time_difference(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// INTERVAL + INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn interval_add(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// INTERVAL - INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn interval_subtract(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// - INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn interval_negate(interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// INTERVAL * DOUBLE.
///
/// # Errors
/// As PostgreSQL.
pub fn interval_multiply(interval: &Vector, factor: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// INTERVAL / DOUBLE.
///
/// # Errors
/// As PostgreSQL.
pub fn interval_divide(interval: &Vector, divisor: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// DATE + TIME -> TIMESTAMP.
///
/// # Errors
/// As PostgreSQL.
pub fn date_time_add(date: &Vector, time: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// extract of a DATE, TIME, TIMESTAMP, TIMESTAMPTZ or INTERVAL (`ty`): I64 of type [`types::calendar::EXTRACT_TYPE`], scale 6. Convert it with `cast::cast_as`.
///
/// # Errors
/// As PostgreSQL.
pub fn extract(field: Field, vector: &Vector, ty: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// date_trunc of a TIMESTAMP, TIMESTAMPTZ or INTERVAL (`ty`).
///
/// # Errors
/// As PostgreSQL.
pub fn date_trunc(field: Field, vector: &Vector, ty: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// age(a, b) -> INTERVAL.
///
/// # Errors
/// As PostgreSQL.
pub fn age(a: &Vector, b: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// make_date(I32, I32, I32).
///
/// # Errors
/// As PostgreSQL.
pub fn make_date(year: &Vector, month: &Vector, day: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// make_timestamp(I32 x 5, F64); `fields` in that order.
///
/// # Errors
/// As PostgreSQL.
pub fn make_timestamp(fields: [&Vector; 6]) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// make_interval(I32 x 6, F64): years, months, weeks, days, hours, minutes, seconds.
///
/// # Errors
/// As PostgreSQL.
pub fn make_interval(fields: [&Vector; 7]) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// to_char of a TIMESTAMP, TIMESTAMPTZ, DATE, INTERVAL, NUMERIC, DOUBLE or integer (`ty`).
///
/// # Errors
/// As PostgreSQL.
pub fn to_char(vector: &Vector, ty: DataType, format: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// to_date(TEXT, format).
///
/// # Errors
/// As PostgreSQL.
pub fn to_date(text: &Vector, format: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// to_timestamp(TEXT, format).
///
/// # Errors
/// As PostgreSQL.
pub fn to_timestamp(text: &Vector, format: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// to_timestamp(F64 seconds).
///
/// # Errors
/// As PostgreSQL.
pub fn to_timestamp_epoch(seconds: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// to_number(TEXT, format) -> I128 of type [`types::NumericType::UNCONSTRAINED`].
///
/// # Errors
/// As PostgreSQL.
pub fn to_number(text: &Vector, format: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// `value AT TIME ZONE zone`; `ty` is the value's type: a TIMESTAMP becomes a TIMESTAMPTZ and the reverse.
///
/// # Errors
/// As PostgreSQL.
pub fn at_time_zone(zone: &Vector, value: &Vector, ty: DataType) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// justify_days.
///
/// # Errors
/// As PostgreSQL.
pub fn justify_days(interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// justify_hours.
///
/// # Errors
/// As PostgreSQL.
pub fn justify_hours(interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}

/// justify_interval.
///
/// # Errors
/// As PostgreSQL.
pub fn justify_interval(interval: &Vector) -> Result<Vector> {
    Err(Error::internal("not there yet"))
}
