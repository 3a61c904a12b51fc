//! Functions of the session's time zone. Its name, as SHOW says it, is the last argument.

use types::calendar::{self, Field, SECOND, TimeZone, is_finite_timestamp};
use types::{DataType, Interval, Result, Value, cast};

use super::read::with_fields;
use crate::rows::{Texts, Values, try_build, try_build_nullable};
use crate::{Vector, VectorBuilder};

/// The zone of a session, of which `name` has the name in each row.
///
/// # Errors
/// 22023 when there is no such zone.
pub fn session_zone(name: &Vector) -> Result<TimeZone> {
    match name.len() {
        0 => Ok(TimeZone::UTC),
        _ => TimeZone::from_specification(Texts::new(name).str(0)?),
    }
}

/// CAST of `value` from type `from` to `to`, of types one of which has a time zone.
///
/// # Errors
/// Errors of the cast.
pub fn cast_in(value: &Vector, from: DataType, to: DataType, zone: &Vector) -> Result<Vector> {
    use DataType as T;
    let zone = session_zone(zone)?;
    let times = || Values::<i64>::new(value);
    match (from, to) {
        (T::Timestamp(_), T::TimestampTz(_)) => {
            try_build(&[value], |i| zone.to_utc(times().get(i)))
        }
        (T::TimestampTz(_), T::Timestamp(_)) => {
            try_build(&[value], |i| zone.to_local(times().get(i)))
        }
        (T::TimestampTz(_), T::Date) => {
            try_build(&[value], |i| Ok(calendar::timestamp_to_date(zone.to_local(times().get(i))?)))
        }
        _ => {
            let mut out = VectorBuilder::with_capacity(to.physical(), value.len());
            for i in 0..value.len() {
                out.push_value(&cast::cast_value_in(&value.value(i), from, to, &zone)?);
            }
            Ok(out.finish())
        }
    }
}

/// TIMESTAMPTZ + INTERVAL: months and days are those of the zone's clocks.
///
/// # Errors
/// 22008.
pub fn timestamp_add_in(time: &Vector, interval: &Vector, zone: &Vector) -> Result<Vector> {
    let zone = session_zone(zone)?;
    let (times, intervals) = (Values::<i64>::new(time), Values::<Interval>::new(interval));
    try_build(&[time, interval], |i| intervals.get(i).add_in(times.get(i), &zone))
}

/// TIMESTAMPTZ - INTERVAL, likewise.
///
/// # Errors
/// 22008.
pub fn timestamp_subtract_in(time: &Vector, interval: &Vector, zone: &Vector) -> Result<Vector> {
    let zone = session_zone(zone)?;
    let (times, intervals) = (Values::<i64>::new(time), Values::<Interval>::new(interval));
    try_build(&[time, interval], |i| {
        let negative = intervals.get(i).checked_neg();
        negative.ok_or_else(calendar::interval_out_of_range)?.add_in(times.get(i), &zone)
    })
}

/// date_trunc of a TIMESTAMPTZ: the start of a unit of the zone's clocks. What is shorter than a
/// day keeps the offset from UTC.
///
/// # Errors
/// As [`super::date_trunc`].
pub fn date_trunc_in(field: Field, time: &Vector, zone: &Vector) -> Result<Vector> {
    let zone = session_zone(zone)?;
    let times = Values::<i64>::new(time);
    let is_short = matches!(
        field,
        Field::Hour | Field::Minute | Field::Second | Field::Milliseconds | Field::Microseconds
    );
    try_build(&[time], |i| {
        let time = times.get(i);
        let local = zone.to_local(time)?;
        let start = calendar::truncate_timestamp(field, local, DataType::TIMESTAMPTZ.name())?;
        if is_short && is_finite_timestamp(time) {
            calendar::check_timestamp(time.checked_sub(local - start))
        } else {
            zone.to_utc(start)
        }
    })
}

/// extract of a TIMESTAMPTZ, as [`super::extract`] gives it.
///
/// # Errors
/// As [`super::extract`].
pub fn extract_in(field: Field, time: &Vector, zone: &Vector) -> Result<Vector> {
    let zone = session_zone(zone)?;
    let times = Values::<i64>::new(time);
    try_build_nullable(&[time], |i| {
        let time = times.get(i);
        let of = |micros| calendar::extract(field, &Value::I64(micros), DataType::TIMESTAMPTZ);
        if !is_finite_timestamp(time) {
            return of(time);
        }
        let offset = zone.offset_at(time);
        match field {
            Field::Epoch => of(time),
            Field::TimeZone => Ok(Some(offset * SECOND)),
            Field::TimeZoneHour => Ok(Some(offset / 3600 * SECOND)),
            Field::TimeZoneMinute => Ok(Some(offset / 60 % 60 * SECOND)),
            _ => of(zone.to_local(time)?),
        }
    })
}

/// to_timestamp(TEXT, format) -> TIMESTAMPTZ: the time of the zone's clocks, unless the text has an
/// offset of its own.
///
/// # Errors
/// 22007, 22008.
pub fn to_timestamp_in(text: &Vector, format: &Vector, zone: &Vector) -> Result<Vector> {
    let zone = session_zone(zone)?;
    with_fields(text, format, |fields, text| {
        let time = types::cast::date_and_time(fields.date(text)?, fields.time(text)?)?;
        if fields.has_zone() { Ok(time) } else { zone.to_utc(time) }
    })
}
