//! date_trunc.

use super::{
    DAY, Field, HOUR, MINUTE, SECOND, check_timestamp, civil_from_days, date_from_civil,
    day_of_week, is_finite_timestamp, split_timestamp,
};
use crate::{Error, Interval, Result, SqlState};

/// The start of the unit `field` that `micros` lies in; infinities stay. `type_name` is for
/// messages.
///
/// # Errors
/// 22023 when timestamps are not truncated to that field, 22008 when the start is out of range.
pub fn truncate_timestamp(field: Field, micros: i64, type_name: &str) -> Result<i64> {
    if !is_finite_timestamp(micros) {
        return Ok(micros);
    }
    let unit = match field {
        Field::Microseconds => 1,
        Field::Milliseconds => 1000,
        Field::Second => SECOND,
        Field::Minute => MINUTE,
        Field::Hour => HOUR,
        Field::Day => DAY,
        _ => {
            let days = truncate_date(field, split_timestamp(micros).0, type_name)?;
            return check_timestamp(days.and_then(|d| i64::from(d).checked_mul(DAY)));
        }
    };
    check_timestamp(Some(micros - micros.rem_euclid(unit)))
}

fn truncate_date(field: Field, days: i32, type_name: &str) -> Result<Option<i32>> {
    let (year, month, _) = civil_from_days(days);
    Ok(match field {
        Field::Week => Some(days - (day_of_week(days) as i32 + 6) % 7),
        Field::Month => date_from_civil(year, month, 1),
        Field::Quarter => date_from_civil(year, (month - 1) / 3 * 3 + 1, 1),
        Field::Year => date_from_civil(year, 1, 1),
        Field::Decade => date_from_civil(year.div_euclid(10) * 10, 1, 1),
        // There is no year 0: centuries begin with year 1 of a hundred.
        Field::Century => date_from_civil((year - 1).div_euclid(100) * 100 + 1, 1, 1),
        Field::Millennium => date_from_civil((year - 1).div_euclid(1000) * 1000 + 1, 1, 1),
        _ => {
            let message = format!("unit \"{}\" not recognized for type {type_name}", field.name());
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
    })
}

/// `interval` without what is smaller than `field`.
///
/// # Errors
/// 0A000 when intervals are not truncated to that field.
pub fn truncate_interval(field: Field, interval: Interval) -> Result<Interval> {
    let Interval { months, days, micros } = interval;
    let months_to = |unit: i32| Interval { months: months / unit * unit, days: 0, micros: 0 };
    let micros_to = |unit: i64| Interval { months, days, micros: micros / unit * unit };
    Ok(match field {
        Field::Millennium => months_to(12_000),
        Field::Century => months_to(1200),
        Field::Decade => months_to(120),
        Field::Year => months_to(12),
        Field::Quarter => months_to(3),
        Field::Month => months_to(1),
        Field::Day => Interval { months, days, micros: 0 },
        Field::Hour => micros_to(HOUR),
        Field::Minute => micros_to(MINUTE),
        Field::Second => micros_to(SECOND),
        Field::Milliseconds => micros_to(1000),
        Field::Microseconds => micros_to(1),
        Field::Week => {
            let detail = "Months usually have fractional weeks.";
            return Err(field.not_supported("interval").with_detail(detail));
        }
        _ => return Err(field.not_supported("interval")),
    })
}
