//! Casts of single values. Columns: `kernels::cast`, which agrees with this.

use std::sync::Arc;

use crate::calendar::{
    DAY, TimeZone, check_timestamp, date_to_timestamp, is_finite_timestamp, timestamp_to_date,
};
use crate::decimal;
use crate::json::{Json, Kind};
use crate::text::{self, Excess};
use crate::wide::Wide;
use crate::{
    DataType, ElementType, EnumType, Error, Interval, NumericType, PackedType, Result, SqlState,
    Value, array, catalog_type, json, packed, record,
};

/// `value` of type `from` as `to`, by the rules of an explicit cast: overlong text is cut.
///
/// # Errors
/// 22003, 22P02 and so on; 42846 when there is no such cast.
pub fn cast_value(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    convert(value, (from, to), Excess::Cut, &TimeZone::UTC)
}

/// As [`cast_value`], in a session of time zone `zone`; without, it is UTC.
///
/// # Errors
/// As [`cast_value`].
pub fn cast_value_in(
    value: &Value,
    from: DataType,
    to: DataType,
    zone: &TimeZone,
) -> Result<Value> {
    convert(value, (from, to), Excess::Cut, zone)
}

/// True when the session's time zone decides what a value of type `from` is as `to`.
pub fn depends_on_zone(from: DataType, to: DataType) -> bool {
    use DataType as T;
    let is_text = |ty: DataType| ty.is_text() || ty == T::Unknown;
    match (from, to) {
        (T::Array(from), T::Array(to)) => depends_on_zone(from.data_type(), to.data_type()),
        (T::Array(from), to) => depends_on_zone(from.data_type(), to),
        (from, T::Array(to)) => depends_on_zone(from, to.data_type()),
        (T::Record(from), to) => {
            let text = if is_text(to) { to } else { T::Text };
            from.any_field(&|ty| depends_on_zone(ty, text) || depends_on_zone(text, ty))
        }
        (from, T::Record(to)) => is_text(from) && to.any_field(&|ty| depends_on_zone(from, ty)),
        (T::TimestampTz(_), T::Timestamp(_) | T::Date | T::Time(_)) => true,
        (T::Time(_) | T::TimestampTz(_), T::Packed(PackedType::TimeTz(_))) => true,
        (T::Timestamp(_) | T::Date, T::TimestampTz(_)) => true,
        (T::TimestampTz(_), to) => is_text(to),
        // Those without a zone may be `now` or `today`.
        (from, T::TimestampTz(_) | T::Timestamp(_) | T::Date | T::Time(_)) => is_text(from),
        (T::Packed(ty), to) => is_text(to) && is_zoned(ty),
        (from, T::Packed(ty)) => is_text(from) && (is_zoned(ty) || is_of_time(ty)),
        _ => false,
    }
}

/// True for types whose text goes by the time zone, whichever way.
fn is_zoned(ty: PackedType) -> bool {
    ty.range().is_some_and(|kind| kind.bound().is_timestamptz())
}

/// True for types whose values may be given as `now`, or without a zone.
fn is_of_time(ty: PackedType) -> bool {
    matches!(ty, PackedType::TimeTz(_))
        || ty.range().is_some_and(|kind| depends_on_zone(DataType::Text, kind.bound()))
}

/// As [`cast_value`] by the rules of assignment (INSERT, UPDATE): overlong text is 22001 unless the
/// excess is blank.
///
/// # Errors
/// As [`cast_value`], and 22001.
pub fn assign_value(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    convert(value, (from, to), Excess::Error, &TimeZone::UTC)
}

fn convert(
    value: &Value,
    (from, to): (DataType, DataType),
    excess: Excess,
    zone: &TimeZone,
) -> Result<Value> {
    use DataType as T;
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Str(bytes), T::Integer) if from == T::InternalChar => {
            Ok(Value::I32(catalog_type::byte_number(bytes)))
        }
        (Value::I32(v), T::InternalChar) => catalog_type::numbered_byte(*v),
        (_, to) if to.is_its_text() => to_text(value, (from, to), excess, zone),
        _ if is_packed(from) || is_packed(to) && (!from.is_text() || to.has_packed_length()) => {
            packed_value(value, from, to, excess, zone)
        }
        (Value::Str(bytes), _) if matches!(from, T::Reg(_)) => from_object(bytes, from, to),
        (Value::Str(bytes), T::Bytea) if from == T::Bytea => Ok(Value::Str(bytes.clone())),
        (Value::Str(bytes), T::Array(target)) => match from {
            T::Array(source) => array_value(bytes, (source, target), excess, zone),
            _ if from.is_text() => parse_array(utf8(bytes)?, target, excess, zone),
            _ => Err(no_cast(from, to)),
        },
        (Value::Str(bytes), T::Record(target)) if !from.is_text() => match from {
            T::Record(source) => {
                let types = (source, target);
                let converted = record::map(bytes, types, |value, from, to| {
                    convert(&value, (from, to), excess, zone)
                })?;
                Ok(Value::Str(converted.into()))
            }
            _ => Err(no_cast(from, to)),
        },
        (Value::Str(bytes), T::Json) if from.is_json() => Ok(Value::Str(bytes.clone())),
        (Value::Str(bytes), T::Jsonb) if from == T::Json => {
            Ok(Value::Str(json::canonical(bytes)?.into()))
        }
        (Value::Str(bytes), T::Jsonb) if from == T::Jsonb => Ok(Value::Str(bytes.clone())),
        (Value::Str(bytes), T::JsonPath) if from == T::JsonPath => Ok(Value::Str(bytes.clone())),
        (Value::Str(bytes), _) if from == T::Jsonb => json_scalar(bytes, to),
        (Value::Str(bytes), _) if from.is_text() => text::parse_in(utf8(bytes)?, to, zone),
        (Value::Bool(v), T::Boolean) => Ok(Value::Bool(*v)),
        (Value::Bool(v), T::SmallInt | T::Integer) => Ok(Value::I32(i32::from(*v))),
        (Value::Bool(v), T::BigInt) => Ok(Value::I64(i64::from(*v))),
        (Value::Str(bytes), _) if matches!(from, T::WideNumeric(_)) => {
            from_wide(&Wide::read(bytes)?, from, to)
        }
        (Value::F64(v), _) => from_float(*v, from, to),
        (Value::Interval(v), T::Interval(form)) => {
            Ok(Value::Interval(crate::calendar::fitted_interval(*v, form)?))
        }
        (Value::Interval(v), T::Time(_)) => {
            Ok(Value::I64(crate::calendar::rounded_to(v.micros.rem_euclid(DAY), to)?))
        }
        (Value::I128(v), T::Uuid) if from == T::Uuid => Ok(Value::I128(*v)),
        (Value::I32(v), T::Enum(to)) if is_same_enum(from, to) => Ok(Value::I32(*v)),
        _ => match (from, value.as_integer()) {
            (T::Numeric(n), Some(v)) => from_numeric(v, n, to),
            (T::Date | T::Time(_) | T::Timestamp(_) | T::TimestampTz(_), Some(v)) => {
                // Such values are at most 64 bits wide.
                from_time(v as i64, (from, to), zone)
            }
            // The same 32 bits, as in PostgreSQL.
            (T::Oid, Some(v)) if to == T::Integer => Ok(Value::I32(v as i32)),
            (_, Some(v)) if from.is_integer() || from == T::Oid => from_integer(v, from, to),
            _ => Err(no_cast(from, to)),
        },
    }
}

/// A value of a packed type, or made of one; bits are read whole before they are cut.
fn packed_value(
    value: &Value,
    from: DataType,
    to: DataType,
    excess: Excess,
    zone: &TimeZone,
) -> Result<Value> {
    if let (Value::Str(bytes), DataType::Packed(ty)) = (value, to)
        && from.is_text()
    {
        let plain = DataType::Packed(ty.without_length());
        let bits = text::parse_in(utf8(bytes)?, plain, zone)?;
        return convert(&bits, (plain, to), excess, zone);
    }
    let converted = packed::convert(value, from, to, excess, zone)?;
    converted.ok_or_else(|| no_cast(from, to))
}

fn is_packed(ty: DataType) -> bool {
    matches!(ty, DataType::Packed(_))
}

/// A value of `regclass` or its kin as a number.
fn from_object(bytes: &Arc<[u8]>, from: DataType, to: DataType) -> Result<Value> {
    match to {
        DataType::Reg(_) => Ok(Value::Str(bytes.clone())),
        DataType::Oid | DataType::BigInt | DataType::Integer => {
            let number = Value::I64(i64::from(crate::object_number(bytes)));
            cast_value(&number, DataType::Oid, to)
        }
        _ => Err(no_cast(from, to)),
    }
}

/// An array with the elements of another one converted.
fn array_value(
    array: &[u8],
    (from, to): (ElementType, ElementType),
    excess: Excess,
    zone: &TimeZone,
) -> Result<Value> {
    let types = (from.data_type(), to.data_type());
    let converted = array::map(array, from, to, |value| convert(&value, types, excess, zone))?;
    Ok(Value::Str(converted.into()))
}

/// An array from its text; elements with a length are cut or refused afterwards, as in PostgreSQL.
fn parse_array(text: &str, to: ElementType, excess: Excess, zone: &TimeZone) -> Result<Value> {
    let plain = match to {
        ElementType::Char(_) | ElementType::Varchar(_) => ElementType::Text,
        ElementType::Packed(ty) => ElementType::Packed(ty.without_length()),
        ElementType::Interval(_) => ElementType::Interval(None),
        other => other,
    };
    match text::parse_in(text, DataType::Array(plain), zone)? {
        Value::Str(array) if plain != to => array_value(&array, (plain, to), excess, zone),
        value => Ok(value),
    }
}

/// True when values of type `from` are those of `to`.
fn is_same_enum(from: DataType, to: EnumType) -> bool {
    matches!(from, DataType::Enum(from) if from.is_same_object(to))
}

/// 42846.
#[cold]
pub fn no_cast(from: DataType, to: DataType) -> Error {
    let message = format!("cannot cast type {} to {}", from.name(), to.name());
    Error::new(SqlState::CANNOT_COERCE, message)
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        Error::new(SqlState::INVALID_ENCODING, "invalid byte sequence for encoding \"UTF8\"")
    })
}

fn to_text(
    value: &Value,
    (from, to): (DataType, DataType),
    excess: Excess,
    zone: &TimeZone,
) -> Result<Value> {
    let held;
    let text = match value {
        // Blanks at the end of a CHAR are no part of the text that it becomes.
        Value::Str(bytes) if from == DataType::Char(0) && to != from => {
            utf8(bytes)?.trim_end_matches(' ')
        }
        Value::Str(bytes) if to == DataType::Char(0) && matches!(from, DataType::Char(_)) => {
            let mut padded = Vec::with_capacity(bytes.len());
            text::append_text(&mut padded, bytes, from);
            return Ok(Value::Str(padded.into()));
        }
        Value::Str(bytes) if from.is_text() => utf8(bytes)?,
        Value::Bool(v) => {
            if *v {
                "true"
            } else {
                "false"
            }
        }
        _ => {
            held = text::format_cast(value, from, zone);
            &held
        }
    };
    Ok(match (to, value) {
        (DataType::Char(n), _) => Value::text(text::fit_char(text, n, excess)?),
        (DataType::Varchar(Some(n)), _) => Value::text(text::fit_varchar(text, n, excess)?),
        (DataType::Name, _) => Value::text(catalog_type::truncated_name(text)),
        (DataType::InternalChar, _) => catalog_type::one_byte(text),
        (_, Value::Str(bytes)) if from.is_text() && text.len() == bytes.len() => {
            Value::Str(bytes.clone())
        }
        _ => Value::text(text),
    })
}

/// An integer as SMALLINT, INTEGER or BIGINT.
///
/// # Errors
/// 22003.
#[inline]
fn integer_value(value: i128, to: DataType) -> Result<Value> {
    let fitted = match to {
        DataType::SmallInt => i16::try_from(value).ok().map(|v| Value::I32(i32::from(v))),
        DataType::Integer => i32::try_from(value).ok().map(Value::I32),
        _ => i64::try_from(value).ok().map(Value::I64),
    };
    fitted.ok_or_else(|| decimal::integer_out_of_range(to))
}

/// A wide decimal as a number of another type.
fn from_wide(value: &Wide, from: DataType, to: DataType) -> Result<Value> {
    match to {
        DataType::SmallInt | DataType::Integer => Ok(Value::I32(value.to_integer(to)? as i32)),
        DataType::BigInt => Ok(Value::I64(value.to_integer(to)?)),
        DataType::Real => Ok(Value::F64(value.to_real()?)),
        DataType::Double => Ok(Value::F64(value.to_double()?)),
        DataType::Numeric(n) => Ok(decimal::numeric_value(value.to_scaled(n)?, n)),
        DataType::WideNumeric(digits) => Ok(value.clone().declared(digits)?.value()),
        _ => Err(no_cast(from, to)),
    }
}

fn from_integer(value: i128, from: DataType, to: DataType) -> Result<Value> {
    match to {
        DataType::WideNumeric(digits) => Ok(Wide::new(value, 0).declared(digits)?.value()),
        DataType::SmallInt | DataType::Integer | DataType::BigInt => integer_value(value, to),
        // An INTEGER below zero is the same 32 bits, a BIGINT is not.
        DataType::Oid => match catalog_type::oid(value) {
            Some(number) if value >= 0 || from != DataType::BigInt => Ok(Value::I64(number)),
            _ => Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "OID out of range")),
        },
        DataType::Real => Ok(Value::F64(f64::from(value as f32))),
        DataType::Double => Ok(Value::F64(value as f64)),
        DataType::Boolean => Ok(Value::Bool(value != 0)),
        DataType::Numeric(n) => {
            let scaled = value.checked_mul(decimal::pow10(u32::from(n.scale)));
            Ok(decimal::numeric_value(decimal::check(scaled, n)?, n))
        }
        _ => Err(no_cast(DataType::BigInt, to)),
    }
}

fn from_numeric(value: i128, from: NumericType, to: DataType) -> Result<Value> {
    match to {
        DataType::WideNumeric(digits) => {
            Ok(Wide::from_scaled(value, from).declared(digits)?.value())
        }
        DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            let unit = decimal::pow10(u32::from(from.scale));
            integer_value(decimal::divide_round(value, unit), to)
        }
        DataType::Real => Ok(Value::F64(decimal::to_f32(value, from.scale))),
        DataType::Double => Ok(Value::F64(decimal::to_f64(value, from.scale))),
        DataType::Numeric(n) => {
            let scaled = decimal::rescale(value, from.scale, n.scale);
            Ok(decimal::numeric_value(decimal::check(scaled, n)?, n))
        }
        _ => Err(no_cast(DataType::Numeric(from), to)),
    }
}

/// A floating-point number, rounded half to even, as an integer within `low..high`.
///
/// # Errors
/// 22003.
#[inline]
pub fn float_to_integer(value: f64, to: DataType) -> Result<i64> {
    let (low, high) = match to {
        DataType::SmallInt => (-32_768.0, 32_768.0),
        DataType::Integer => (-2_147_483_648.0, 2_147_483_648.0),
        _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0),
    };
    let rounded = value.round_ties_even();
    // False for NaN.
    if rounded >= low && rounded < high {
        Ok(rounded as i64)
    } else {
        Err(decimal::integer_out_of_range(to))
    }
}

/// A DOUBLE rounded to REAL.
///
/// # Errors
/// 22003 when it becomes infinite or 0.
#[inline]
pub fn double_to_real(value: f64) -> Result<f64> {
    let rounded = value as f32;
    let failure = if rounded.is_infinite() && value.is_finite() {
        "value out of range: overflow"
    } else if rounded == 0.0 && value != 0.0 {
        "value out of range: underflow"
    } else {
        return Ok(f64::from(rounded));
    };
    Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, failure))
}

fn from_float(value: f64, from: DataType, to: DataType) -> Result<Value> {
    match to {
        DataType::SmallInt | DataType::Integer => {
            Ok(Value::I32(float_to_integer(value, to)? as i32))
        }
        DataType::BigInt => Ok(Value::I64(float_to_integer(value, to)?)),
        DataType::Double => Ok(Value::F64(value)),
        DataType::Real => Ok(Value::F64(double_to_real(value)?)),
        DataType::WideNumeric(digits) => {
            let significant = if from == DataType::Real { 6 } else { 15 };
            Ok(Wide::from_f64(value, significant).declared(digits)?.value())
        }
        DataType::Numeric(n) => {
            let digits = match from {
                DataType::Real => decimal::from_f32(value, n)?,
                _ => decimal::from_f64(value, n)?,
            };
            Ok(decimal::numeric_value(digits, n))
        }
        _ => Err(no_cast(from, to)),
    }
}

fn from_time(value: i64, (from, to): (DataType, DataType), zone: &TimeZone) -> Result<Value> {
    use DataType as T;
    let value = match (from, to) {
        (T::TimestampTz(_), T::Timestamp(_) | T::Date | T::Time(_)) => zone.to_local(value)?,
        _ => value,
    };
    Ok(match (from, to) {
        (T::Date, T::TimestampTz(_)) => Value::I64(zone.to_utc(date_to_timestamp(value as i32)?)?),
        (T::Timestamp(_), T::TimestampTz(_)) => {
            Value::I64(crate::calendar::rounded_to(zone.to_utc(value)?, to)?)
        }
        (T::Date, T::Date) => Value::I32(value as i32),
        (T::Date, T::Timestamp(_)) => Value::I64(date_to_timestamp(value as i32)?),
        (T::Time(_), T::Time(_)) => Value::I64(crate::calendar::rounded_to(value, to)?),
        (T::Time(_), T::Interval(form)) => {
            let whole = Interval { months: 0, days: 0, micros: value };
            Value::Interval(crate::calendar::fitted_interval(whole, form)?)
        }
        (T::Timestamp(_) | T::TimestampTz(_), T::Timestamp(_) | T::TimestampTz(_)) => {
            Value::I64(crate::calendar::rounded_to(value, to)?)
        }
        (T::Timestamp(_) | T::TimestampTz(_), T::Date) => Value::I32(timestamp_to_date(value)),
        (T::Timestamp(_) | T::TimestampTz(_), T::Time(_)) if is_finite_timestamp(value) => {
            Value::I64(crate::calendar::rounded_to(value.rem_euclid(DAY), to)?)
        }
        // PostgreSQL: an infinite time is NULL.
        (T::Timestamp(_) | T::TimestampTz(_), T::Time(_)) => Value::Null,
        _ => return Err(no_cast(from, to)),
    })
}

/// `micros` as a timestamp: for sums of dates and times.
///
/// # Errors
/// 22008 when out of range.
pub fn date_and_time(days: i32, micros: i64) -> Result<i64> {
    let midnight = date_to_timestamp(days)?;
    if is_finite_timestamp(midnight) {
        check_timestamp(midnight.checked_add(micros))
    } else {
        Ok(midnight)
    }
}

/// A JSONB that is one BOOLEAN or number, as `to`.
///
/// # Errors
/// 22023 for other values, 22003.
fn json_scalar(json: &[u8], to: DataType) -> Result<Value> {
    let json = Json::new(json);
    let found = match json.kind() {
        Kind::Boolean if to == DataType::Boolean => {
            return Ok(Value::Bool(json.bytes() == b"true"));
        }
        Kind::Number if to.is_number() => {
            let text = String::from_utf8_lossy(json.bytes());
            if let DataType::Real | DataType::Double = to {
                return text::parse(&text, to);
            }
            if to.is_numeric() {
                return text::parse(&text, to);
            }
            let (value, ty) = json::integer_part(&text, to)?;
            return cast_value(&value, ty, to);
        }
        Kind::Boolean => "boolean",
        Kind::Number => "numeric",
        Kind::String => "string",
        Kind::Null => "null",
        Kind::Array => "array",
        Kind::Object => "object",
    };
    Err(json::invalid(&format!("cannot cast jsonb {found} to type {}", to.name())))
}
