//! extract: fields of dates, times, timestamps and intervals.

use super::{
    DAY, EXTRACT_TYPE, Field, HOUR, JULIAN_EPOCH, MINUTE, SECOND, civil_from_days, day_of_week,
    day_of_year, is_finite_date, is_finite_timestamp, iso_week, split_timestamp,
};
use crate::{DataType, Error, Interval, NumericDisplay, NumericType, Result, SqlState, Value};

/// Field `field` of `value` of type `ty`, times 10 to the 6. None (NULL) for fields that an
/// infinity does not have.
///
/// # Errors
/// 0A000 when the type has no such field; 22003 when the result exceeds 64 bits.
pub fn extract(field: Field, value: &Value, ty: DataType) -> Result<Option<i64>> {
    match (value, ty) {
        (Value::I32(days), DataType::Date) => of_date(field, *days),
        (Value::I64(micros), DataType::Time(_)) => of_time(field, *micros).map(Some),
        (Value::I64(micros), DataType::Timestamp(_)) => of_timestamp(field, *micros, false),
        (Value::I64(micros), DataType::TimestampTz(_)) => of_timestamp(field, *micros, true),
        (Value::Interval(interval), _) => of_interval(field, *interval).map(Some),
        (Value::Null, _) => Ok(None),
        _ => Err(Error::internal(format!("extract from {value:?}"))),
    }
}

/// The field of an infinity that grows with time, as [`extract`] gives it.
pub const INFINITE_FIELD: i64 = i64::MAX;
/// The field of the infinity before all times.
pub const MINUS_INFINITE_FIELD: i64 = i64::MIN;

/// The NUMERIC that extract gives of a known field: PostgreSQL shows seconds with six digits and
/// milliseconds with three, whatever they are.
pub fn extract_type(field: Field, of: DataType) -> NumericType {
    let scale = match field {
        Field::Second => 6,
        Field::Epoch if of != DataType::Date => 6,
        Field::Milliseconds => 3,
        // As many digits as it needs.
        Field::Julian => {
            return NumericType { display: NumericDisplay::Trimmed, ..EXTRACT_TYPE };
        }
        _ => 0,
    };
    NumericType::computed(EXTRACT_TYPE.precision, scale)
}

#[cold]
fn too_large() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

fn scaled(value: i64) -> Result<i64> {
    value.checked_mul(SECOND).ok_or_else(too_large)
}

fn of_infinity(field: Field, infinity: i64, type_name: &str) -> Result<Option<i64>> {
    match field {
        Field::Year
        | Field::IsoYear
        | Field::Decade
        | Field::Century
        | Field::Millennium
        | Field::Julian
        | Field::Epoch => Ok(Some(infinity)),
        Field::TimeZone | Field::TimeZoneHour | Field::TimeZoneMinute
            if type_name != "timestamp with time zone" =>
        {
            Err(field.not_supported(type_name))
        }
        _ => Ok(None),
    }
}

fn of_date(field: Field, days: i32) -> Result<Option<i64>> {
    if !is_finite_date(days) {
        let infinity = if days > 0 { INFINITE_FIELD } else { MINUS_INFINITE_FIELD };
        return of_infinity(field, infinity, "date");
    }
    match field {
        Field::Epoch => {
            let epoch = i64::from(days).checked_mul(DAY).ok_or_else(too_large);
            epoch.map(Some)
        }
        _ => match date_field(field, days) {
            Some(v) => scaled(v).map(Some),
            None => Err(field.not_supported("date")),
        },
    }
}

/// Centuries and millennia: years 1 to 100 are the first, 1 BC (year 0) to 100 BC the one before.
fn century(year: i32, unit: i32) -> i64 {
    let century =
        if year > 0 { (year + unit - 1) / unit } else { -((unit - 1 - (year - 1)) / unit) };
    i64::from(century)
}

/// The fields that depend on the date alone.
fn date_field(field: Field, days: i32) -> Option<i64> {
    let (year, month, day) = civil_from_days(days);
    // PostgreSQL counts 1 BC as year -1.
    let shown = |year: i32| i64::from(if year > 0 { year } else { year - 1 });
    Some(match field {
        Field::Day => i64::from(day),
        Field::Month => i64::from(month),
        Field::Quarter => i64::from((month - 1) / 3 + 1),
        Field::Week => i64::from(iso_week(days).1),
        Field::Year => shown(year),
        Field::IsoYear => shown(iso_week(days).0),
        Field::Decade => i64::from(year.div_euclid(10)),
        Field::Century => century(year, 100),
        Field::Millennium => century(year, 1000),
        Field::DayOfWeek => i64::from(day_of_week(days)),
        Field::IsoDayOfWeek => i64::from((day_of_week(days) + 6) % 7 + 1),
        Field::DayOfYear => i64::from(day_of_year(days)),
        Field::Julian => i64::from(days) + i64::from(JULIAN_EPOCH),
        _ => return None,
    })
}

/// The fields of a time of day, times 10 to the 6.
fn time_field(field: Field, micros: i64) -> Option<Result<i64>> {
    Some(match field {
        Field::Microseconds => scaled(micros % MINUTE),
        Field::Milliseconds => Ok(micros % MINUTE * 1000),
        Field::Second => Ok(micros % MINUTE),
        Field::Minute => scaled(micros / MINUTE % 60),
        Field::Hour => scaled(micros / HOUR),
        _ => return None,
    })
}

fn of_time(field: Field, micros: i64) -> Result<i64> {
    match field {
        Field::Epoch => Ok(micros),
        _ => time_field(field, micros)
            .unwrap_or_else(|| Err(field.not_supported("time without time zone"))),
    }
}

fn of_timestamp(field: Field, micros: i64, zoned: bool) -> Result<Option<i64>> {
    let type_name = if zoned { "timestamp with time zone" } else { "timestamp without time zone" };
    if !is_finite_timestamp(micros) {
        let infinity = if micros > 0 { INFINITE_FIELD } else { MINUS_INFINITE_FIELD };
        return of_infinity(field, infinity, type_name);
    }
    let (days, time) = split_timestamp(micros);
    let value = match field {
        Field::Epoch => Ok(micros),
        Field::TimeZone | Field::TimeZoneHour | Field::TimeZoneMinute if zoned => Ok(0),
        Field::Julian => {
            let day = (i64::from(days) + i64::from(JULIAN_EPOCH)) * SECOND;
            // Half a unit in the last place, as the quotient is rounded.
            Ok(day + (time + DAY / SECOND / 2) / (DAY / SECOND))
        }
        _ => match (date_field(field, days), time_field(field, time)) {
            (Some(v), _) => scaled(v),
            (None, Some(v)) => v,
            (None, None) => Err(field.not_supported(type_name)),
        },
    };
    value.map(Some)
}

fn of_interval(field: Field, interval: Interval) -> Result<i64> {
    let Interval { months, days, micros } = interval;
    match field {
        Field::Microseconds => scaled(micros % MINUTE),
        Field::Milliseconds => Ok(micros % MINUTE * 1000),
        Field::Second => Ok(micros % MINUTE),
        Field::Minute => scaled(micros / MINUTE % 60),
        Field::Hour => scaled(micros / HOUR),
        Field::Day => scaled(i64::from(days)),
        Field::Month => scaled(i64::from(months % 12)),
        Field::Quarter => scaled(i64::from(months % 12 / 3 + 1)),
        Field::Year => scaled(i64::from(months / 12)),
        Field::Decade => scaled(i64::from(months / 120)),
        Field::Century => scaled(i64::from(months / 1200)),
        Field::Millennium => scaled(i64::from(months / 12_000)),
        Field::Epoch => {
            // A year counts 365.25 days, a month 30.
            let quarter_days = i128::from(months / 12) * 1461 + i128::from(months % 12) * 120;
            let epoch = quarter_days * i128::from(DAY / 4)
                + i128::from(days) * i128::from(DAY)
                + i128::from(micros);
            i64::try_from(epoch).map_err(|_| too_large())
        }
        _ => Err(field.not_supported("interval")),
    }
}
