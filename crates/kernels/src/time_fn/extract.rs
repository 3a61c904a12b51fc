//! extract and date_trunc.

use types::calendar::{self, Field, SECOND, is_finite_date};
use types::{DataType, Interval, Result, Value};

use crate::Vector;
use crate::rows::{Values, try_build_nullable, try_map};

/// extract of a DATE, TIME, TIMESTAMP, TIMESTAMPTZ or INTERVAL (`ty`): I64 of type
/// [`types::calendar::EXTRACT_TYPE`], scale 6. Convert it with `cast::cast_as`. NULL for fields
/// that an infinity does not have.
///
/// # Errors
/// 0A000 when the type has no such field, 22003 when the value exceeds 64 bits.
pub fn extract(field: Field, vector: &Vector, ty: DataType) -> Result<Vector> {
    match ty {
        DataType::Date => extract_date(field, vector),
        DataType::Interval(_) => {
            let values = Values::<Interval>::new(vector);
            try_build_nullable(&[vector], |i| {
                calendar::extract(field, &Value::Interval(values.get(i)), ty)
            })
        }
        _ => {
            let values = Values::<i64>::new(vector);
            try_build_nullable(&[vector], |i| {
                calendar::extract(field, &Value::I64(values.get(i)), ty)
            })
        }
    }
}

/// Year and month of dates are what queries group by: they skip the general way.
fn extract_date(field: Field, vector: &Vector) -> Result<Vector> {
    let values = Values::<i32>::new(vector);
    try_build_nullable(&[vector], |i| {
        let days = values.get(i);
        let (year, month, _) = calendar::civil_from_days(days);
        match field {
            Field::Year if year > 0 && is_finite_date(days) => Ok(Some(i64::from(year) * SECOND)),
            Field::Month if is_finite_date(days) => Ok(Some(i64::from(month) * SECOND)),
            _ => calendar::extract(field, &Value::I32(days), DataType::Date),
        }
    })
}

/// date_trunc of a TIMESTAMP, TIMESTAMPTZ or INTERVAL (`ty`).
///
/// # Errors
/// 0A000 when the type is not truncated to that field, 22008.
pub fn date_trunc(field: Field, vector: &Vector, ty: DataType) -> Result<Vector> {
    if matches!(ty, DataType::Interval(_)) {
        return try_map(vector, |i: Interval| calendar::truncate_interval(field, i));
    }
    try_map(vector, |t: i64| calendar::truncate_timestamp(field, t, ty.name()))
}
