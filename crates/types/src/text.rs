//! Values from and to text, by PostgreSQL's rules.
//!
//! `parse` is the input function of a type: what COPY and untyped literals go through. `format` is
//! its output function: what a client sees. The usual settings count: `DateStyle` ISO,
//! `IntervalStyle` postgres, `bytea_output` hex; others are in `style`. The session's `TimeZone`,
//! which knows its order of day and month, too, is a parameter of `parse_in` and `append_in`, and
//! UTC of those that take none.
//!
//! Elsewhere: conversions between types (`cast`).

mod array;
mod bytes;
mod datetime;
mod interval;
mod interval_style;
mod number;
mod packed;
mod print;
mod range;
mod record;
mod style;
mod tokens;
mod zone;

pub(crate) use array::Braces;
pub use array::joined;
pub use interval_style::IntervalStyle;
pub use style::{BytesForm, DateForm, TextStyle, append_styled};

pub use crate::characters::Excess;

use crate::calendar::TimeZone;
use crate::characters::{syntax_error, trim};
use crate::json_path::JsonPath;
use crate::wide::Wide;
use crate::{
    DataType, Error, PackedType, RegKind, Result, SqlState, Value, catalog_type, decimal, json,
};

pub use bytes::{parse_escaped, parse_hex, push_escaped, push_hex};
pub use interval::parse_interval_as;
pub use print::{format_date, format_decimal, format_integer, format_timestamp};

/// The value of type `ty` that `text` denotes, by PostgreSQL's input rules. Text longer than
/// CHAR(n) or VARCHAR(n) is an error unless the excess is blank.
///
/// # Errors
/// 22P02, 22003, 22007, 22008, 22001 with PostgreSQL's messages.
pub fn parse(text: &str, ty: DataType) -> Result<Value> {
    parse_in(text, ty, &TimeZone::UTC)
}

/// As [`parse`], in a session of time zone `zone`.
///
/// # Errors
/// As [`parse`].
pub fn parse_in(text: &str, ty: DataType, zone: &TimeZone) -> Result<Value> {
    Ok(match ty {
        DataType::Boolean => Value::Bool(parse_boolean(text)?),
        DataType::SmallInt => {
            Value::I32(i32::from(number::parse_integer::<i16>(text, "smallint")?))
        }
        DataType::Integer => Value::I32(number::parse_integer::<i32>(text, "integer")?),
        DataType::BigInt => Value::I64(number::parse_integer::<i64>(text, "bigint")?),
        DataType::Oid => Value::I64(number::parse_oid(text, "oid")?),
        DataType::Xid => Value::I64(number::parse_oid(text, "xid")?),
        DataType::Tid => catalog_type::parse_tid(text)?,
        DataType::Reg(kind) => parse_object(text, kind)?,
        DataType::Real => Value::F64(number::parse_f32(text)?),
        DataType::Double => Value::F64(number::parse_f64(text)?),
        DataType::Numeric(n) => decimal::numeric_value(decimal::parse_decimal(text, n)?, n),
        DataType::WideNumeric(digits) => Wide::parse(text)?.declared(digits)?.value(),
        DataType::Unknown
        | DataType::Text
        | DataType::Varchar(None)
        | DataType::AclItem
        | DataType::RefCursor => Value::text(text),
        DataType::Name => Value::text(catalog_type::truncated_name(text)),
        DataType::InternalChar => catalog_type::one_byte(text),
        DataType::Char(n) => Value::text(fit_char(text, n, Excess::Error)?),
        DataType::Varchar(Some(n)) => Value::text(fit_varchar(text, n, Excess::Error)?),
        DataType::Bytea => Value::Str(bytes::parse_bytea(text)?.into()),
        DataType::Uuid => Value::I128(bytes::parse_uuid(text)?),
        DataType::Enum(ty) => Value::I32(ty.parse(text)?),
        DataType::Date => Value::I32(datetime::parse_date(text, zone)?),
        DataType::Time(_) => {
            let micros = datetime::parse_time(text, zone)?;
            Value::I64(crate::calendar::rounded_to(micros, ty)?)
        }
        DataType::Timestamp(_) | DataType::TimestampTz(_) => {
            let micros = datetime::parse_timestamp(text, ty, zone)?;
            Value::I64(crate::calendar::rounded_to(micros, ty)?)
        }
        DataType::Interval(form) => Value::Interval(interval::parse_interval_as(text, form)?),
        DataType::Json => {
            json::check(text.as_bytes())?;
            Value::text(text)
        }
        DataType::Jsonb => Value::Str(json::canonical(text.as_bytes())?.into()),
        DataType::JsonPath => Value::Str(JsonPath::parse(text)?.text().into()),
        DataType::Array(element) => Value::Str(array::parse_array(text, element, zone)?.into()),
        DataType::Record(ty) => Value::Str(record::parse_record(text, ty, zone)?.into()),
        DataType::Packed(ty) => Value::Str(packed::parse_packed(text, ty, zone)?.into()),
    })
}

/// `value` of type `ty` as PostgreSQL prints it; NULL is the empty string.
pub fn format(value: &Value, ty: DataType) -> String {
    let mut out = String::new();
    format_into(&mut out, value, ty);
    out
}

/// As [`format()`], in a session of time zone `zone`.
pub fn format_in(value: &Value, ty: DataType, zone: &TimeZone) -> String {
    let mut out = Vec::new();
    append_in(&mut out, value, ty, zone);
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// As [`format_in`] the way a cast to text shows values: an INET always with its bits.
pub fn format_cast(value: &Value, ty: DataType, zone: &TimeZone) -> String {
    let shown = if ty == DataType::Packed(PackedType::Inet) {
        DataType::Packed(PackedType::Cidr)
    } else {
        ty
    };
    format_in(value, shown, zone)
}

/// As [`format()`], appended to `out`.
pub fn format_into(out: &mut String, value: &Value, ty: DataType) {
    if out.is_empty() {
        let mut bytes = std::mem::take(out).into_bytes();
        append(&mut bytes, value, ty);
        *out = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    } else {
        // What is there is not looked through again.
        out.push_str(&format(value, ty));
    }
}

/// As [`format()`], appended to `out`, with the bytes of a text as they are.
pub fn append(out: &mut Vec<u8>, value: &Value, ty: DataType) {
    append_in(out, value, ty, &TimeZone::UTC);
}

/// As [`append`], in a session of time zone `zone`.
pub fn append_in(out: &mut Vec<u8>, value: &Value, ty: DataType, zone: &TimeZone) {
    match (value, ty) {
        (Value::Null, _) => {}
        (Value::Bool(v), _) => out.push(if *v { b't' } else { b'f' }),
        (Value::F64(v), DataType::Real) => print::format_f32(out, *v),
        (Value::F64(v), _) => print::format_f64(out, *v),
        (Value::I32(v), DataType::Date) => print::format_date(out, *v),
        (Value::I32(v), DataType::Enum(ty)) => {
            out.extend_from_slice(ty.label(*v).unwrap_or_default().as_bytes());
        }
        (Value::I64(v), DataType::Time(_)) => print::format_time(out, *v),
        (Value::I64(v), DataType::Timestamp(_)) => print::format_timestamp(out, *v, ""),
        (Value::I64(v), DataType::TimestampTz(_)) => print::format_instant(out, *v, zone),
        (Value::I128(v), DataType::Uuid) => bytes::format_uuid(out, *v),
        (Value::I32(v), DataType::Numeric(n)) => print::format_decimal(out, i128::from(*v), n),
        (Value::I64(v), DataType::Numeric(n)) => print::format_decimal(out, i128::from(*v), n),
        (Value::I128(v), DataType::Numeric(n)) => print::format_decimal(out, *v, n),
        (Value::I64(v), DataType::Tid) => catalog_type::format_tid(out, *v),
        (Value::I32(v), _) => print::format_integer(out, i64::from(*v)),
        (Value::I64(v), _) => print::format_integer(out, *v),
        (Value::I128(v), _) => out.extend_from_slice(v.to_string().as_bytes()),
        (Value::Interval(v), _) => interval::format_interval(out, *v),
        (Value::Str(v), DataType::Reg(_)) => {
            out.extend_from_slice(catalog_type::object_name(v));
        }
        (Value::Str(v), DataType::WideNumeric(_)) => Wide::decode(v).format(out),
        (Value::Str(v), DataType::Bytea) => bytes::format_bytea(out, v),
        (Value::Str(v), DataType::Array(element)) => array::format_array(out, v, element, zone),
        (Value::Str(v), DataType::Record(ty)) => record::format_record(out, v, ty, zone),
        (Value::Str(v), DataType::Packed(ty)) => packed::format_packed(out, v, ty, zone),
        (Value::Str(v), ty) => append_text(out, v, ty),
    }
}

/// Appends a text of type `ty`: CHAR(n) has blanks up to its length.
pub fn append_text(out: &mut Vec<u8>, text: &[u8], ty: DataType) {
    out.extend_from_slice(text);
    if let DataType::Char(n) = ty {
        // Bytes that begin a character.
        let length = text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        out.extend(std::iter::repeat_n(b' ', (n as usize).saturating_sub(length)));
    }
}

/// The byte at which character `count` starts, None when there are no more than `count` characters.
fn character_start(text: &str, count: u32) -> Option<usize> {
    let count = count as usize;
    if text.len() <= count {
        return None;
    }
    if text.is_ascii() { Some(count) } else { text.char_indices().nth(count).map(|(at, _)| at) }
}

/// `text` as VARCHAR(`count`).
///
/// # Errors
/// 22001.
pub fn fit_varchar(text: &str, count: u32, excess: Excess) -> Result<&str> {
    fit(text, count, excess, "character varying")
}

/// `text` as CHAR(`count`) is stored: without trailing blanks; 0 is any length.
///
/// # Errors
/// 22001.
pub fn fit_char(text: &str, count: u32, excess: Excess) -> Result<&str> {
    if count == 0 {
        return Ok(text);
    }
    fit(text, count, excess, "character").map(|text| text.trim_end_matches(' '))
}

fn fit<'a>(text: &'a str, count: u32, excess: Excess, name: &str) -> Result<&'a str> {
    match character_start(text, count) {
        None => Ok(text),
        Some(at) if excess == Excess::Cut || text[at..].bytes().all(|b| b == b' ') => {
            Ok(&text[..at])
        }
        Some(_) => {
            let message = format!("value too long for type {name}({count})");
            Err(Error::new(SqlState::STRING_TOO_LONG, message))
        }
    }
}

/// A number of an object without a catalog: digits, or what stands for none.
fn parse_object(text: &str, kind: RegKind) -> Result<Value> {
    if text == kind.nothing() {
        return Ok(catalog_type::object_value(0, text));
    }
    match text.parse::<u32>() {
        Ok(number) => Ok(catalog_type::object_value(number, text)),
        Err(_) => Err(catalog_type::no_catalog(kind)),
    }
}

/// The BOOLEAN that a text says: `true`, `yes`, `on`, `1` and their opposites, shortened or not.
///
/// # Errors
/// 22P02.
pub fn parse_boolean(text: &str) -> Result<bool> {
    let word = trim(text).to_ascii_lowercase();
    let prefix = |of: &str, least: usize| word.len() >= least && of.starts_with(word.as_str());
    if prefix("true", 1) || prefix("yes", 1) || word == "on" || word == "1" {
        Ok(true)
    } else if prefix("false", 1) || prefix("no", 1) || prefix("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(syntax_error("boolean", text))
    }
}
