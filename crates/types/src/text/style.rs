//! Values as settings other than the usual ones write them: `datestyle`, `intervalstyle`,
//! `bytea_output`, `extra_float_digits`.

use std::io::Write;

use super::interval_style::{self, IntervalStyle};
use super::print::{format_time, offset_text, push_civil_year};
use crate::calendar::{
    DateOrder, TimeZone, civil_from_days, day_of_week, is_finite_date, is_finite_timestamp,
    split_timestamp,
};
use crate::packed::format_shape;
use crate::{DataType, ElementType, Value, array};

/// How dates are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateForm {
    /// `2024-02-29`.
    #[default]
    Iso,
    /// `02/29/2024`.
    Sql,
    /// `02-29-2024`, and times as `Thu Feb 29 12:00:00 2024`.
    Postgres,
    /// `29.02.2024`.
    German,
}

/// How binary strings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BytesForm {
    /// `\\x00ff`.
    #[default]
    Hex,
    /// `\\000\\377`.
    Escape,
}

/// How values are written that settings have a say in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// INTERVAL.
    pub intervals: IntervalStyle,
    /// DATE, TIMESTAMP and TIMESTAMPTZ.
    pub dates: DateForm,
    /// Which number of a date is first where the form leaves it open.
    pub order: DateOrder,
    /// BYTEA.
    pub bytes: BytesForm,
    /// Digits of REAL and DOUBLE beyond 6 and 15; from 1 on as many as they need.
    pub float_digits: i32,
}

impl Default for TextStyle {
    fn default() -> Self {
        Self {
            intervals: IntervalStyle::default(),
            dates: DateForm::default(),
            order: DateOrder::default(),
            bytes: BytesForm::default(),
            float_digits: 1,
        }
    }
}

impl TextStyle {
    /// True when values of type `ty` are written otherwise than usually.
    pub fn changes(self, ty: DataType) -> bool {
        match ty {
            DataType::Array(element) => self.changes(element.data_type()),
            DataType::Interval(_) => self.intervals != IntervalStyle::Postgres,
            DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_) => {
                self.dates != DateForm::Iso
            }
            DataType::Bytea => self.bytes != BytesForm::Hex,
            DataType::Real | DataType::Double => self.float_digits < 1,
            DataType::Packed(ty) => ty.is_shape() && self.float_digits < 1,
            _ => false,
        }
    }

    /// True when any style of values of type `ty` is another one than the usual.
    pub fn may_change(ty: DataType) -> bool {
        use DataType as T;
        match ty {
            T::Array(element) => Self::may_change(element.data_type()),
            T::Interval(_) | T::Date | T::Timestamp(_) | T::TimestampTz(_) => true,
            T::Bytea | T::Real | T::Double => true,
            T::Packed(ty) => ty.is_shape(),
            _ => false,
        }
    }
}

/// Appends a value of a type that `style` changes, in a session of time zone `zone`.
pub fn append_styled(
    out: &mut Vec<u8>,
    value: &Value,
    ty: DataType,
    style: TextStyle,
    zone: &TimeZone,
) {
    match (value, ty) {
        (Value::Interval(interval), _) => {
            interval_style::append(out, *interval, style.intervals);
        }
        (Value::I32(days), DataType::Date) if is_finite_date(*days) => date(out, *days, style),
        (Value::I64(micros), DataType::Timestamp(_)) if is_finite_timestamp(*micros) => {
            timestamp(out, *micros, style, "");
        }
        (Value::I64(micros), DataType::TimestampTz(_)) if is_finite_timestamp(*micros) => {
            let local = zone.to_local(*micros).unwrap_or(*micros);
            let name = zone.abbreviation_at(*micros);
            let zone = if name.is_empty() {
                format!(" {}", offset_text(zone.offset_at(*micros)).as_str())
            } else {
                format!(" {name}")
            };
            timestamp(out, local, style, &zone);
        }
        (Value::F64(value), DataType::Real) => general(out, *value, 6 + style.float_digits),
        (Value::Str(bytes), DataType::Packed(ty)) if ty.is_shape() => {
            let digits = 15 + style.float_digits;
            format_shape(out, bytes, ty, &|out, value| general(out, value, digits));
        }
        (Value::F64(value), DataType::Double) => general(out, *value, 15 + style.float_digits),
        (Value::Str(bytes), DataType::Bytea) => escaped(out, bytes),
        (Value::Str(bytes), DataType::Array(element)) if !ty.is_vector() => {
            let texts = array::map(bytes, element, ElementType::Text, |value| {
                if value.is_null() {
                    return Ok(value);
                }
                let mut text = Vec::new();
                append_styled(&mut text, &value, element.data_type(), style, zone);
                Ok(Value::Str(text.into()))
            });
            // As long as the values, or a little longer.
            let texts = texts.unwrap_or_default();
            super::array::format_array(out, &texts, ElementType::Text, zone);
        }
        (value, _) => super::append_in(out, value, ty, zone),
    }
}

/// Month and day, or day and month, with what is between them.
fn date(out: &mut Vec<u8>, days: i32, style: TextStyle) {
    let era = civil(out, days, style);
    out.extend_from_slice(era.as_bytes());
}

/// Appends a date without its era, which it gives back.
fn civil(out: &mut Vec<u8>, days: i32, style: TextStyle) -> &'static str {
    let (_, month, day) = civil_from_days(days);
    let is_day_first = style.order == DateOrder::Dmy;
    let (first, second) = if is_day_first { (day, month) } else { (month, day) };
    let _ = match style.dates {
        DateForm::German => write!(out, "{day:02}.{month:02}."),
        DateForm::Sql => write!(out, "{first:02}/{second:02}/"),
        DateForm::Postgres | DateForm::Iso => write!(out, "{first:02}-{second:02}-"),
    };
    push_civil_year(out, days)
}

fn timestamp(out: &mut Vec<u8>, micros: i64, style: TextStyle, zone: &str) {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, time) = split_timestamp(micros);
    let era = if style.dates == DateForm::Postgres {
        let (_, month, day) = civil_from_days(days);
        let weekday = DAYS[day_of_week(days) as usize];
        let month = MONTHS[(month as usize + 11) % 12];
        let _ = match style.order {
            DateOrder::Dmy => write!(out, "{weekday} {day:02} {month} "),
            _ => write!(out, "{weekday} {month} {day:02} "),
        };
        format_time(out, time);
        out.push(b' ');
        push_civil_year(out, days)
    } else {
        let era = civil(out, days, style);
        out.push(b' ');
        format_time(out, time);
        era
    };
    out.extend_from_slice(zone.as_bytes());
    out.extend_from_slice(era.as_bytes());
}

/// As C's `%.*g`.
fn general(out: &mut Vec<u8>, value: f64, digits: i32) {
    if !value.is_finite() {
        return super::print::format_f64(out, value);
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= digits {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
        return;
    }
    let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
    out.extend_from_slice(trimmed(&format!("{value:.places$}")).as_bytes());
}

fn escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x20..=0x7e => out.push(*byte),
            byte => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, ty: DataType, style: TextStyle) -> String {
        let value = super::super::parse(text, ty).expect("a value");
        let mut out = Vec::new();
        append_styled(&mut out, &value, ty, style, &TimeZone::UTC);
        String::from_utf8(out).expect("text")
    }

    /// Answers of PostgreSQL 15.
    #[test]
    fn styles_are_postgresqls() {
        let usual = TextStyle::default();
        let dates = |dates, order| TextStyle { dates, order, ..usual };
        let time = "2024-02-29 12:34:56.789";
        for (style, date, timestamp, zoned) in [
            (
                dates(DateForm::Sql, DateOrder::Mdy),
                "02/29/2024",
                "02/29/2024 12:34:56.789",
                "02/29/2024 12:34:56.789 UTC",
            ),
            (
                dates(DateForm::Postgres, DateOrder::Dmy),
                "29-02-2024",
                "Thu 29 Feb 12:34:56.789 2024",
                "Thu 29 Feb 12:34:56.789 2024 UTC",
            ),
            (
                dates(DateForm::German, DateOrder::Ymd),
                "29.02.2024",
                "29.02.2024 12:34:56.789",
                "29.02.2024 12:34:56.789 UTC",
            ),
        ] {
            assert_eq!(shown(time, DataType::Date, style), date);
            assert_eq!(shown(time, DataType::TIMESTAMP, style), timestamp);
            assert_eq!(shown(time, DataType::TIMESTAMPTZ, style), zoned);
        }
        let escape = TextStyle { bytes: BytesForm::Escape, ..usual };
        assert_eq!(shown("\\x5c00ff41", DataType::Bytea, escape), "\\\\\\000\\377A");
        let short = TextStyle { float_digits: 0, ..usual };
        assert_eq!(shown("0.1", DataType::Double, short), "0.1");
        assert_eq!(shown("123456789012345678", DataType::Double, short), "1.23456789012346e+17");
        assert_eq!(shown("1e-7", DataType::Real, short), "1e-07");
        let shorter = TextStyle { float_digits: -5, ..usual };
        assert_eq!(shown("-34.84", DataType::Real, shorter), "-3e+01");
    }
}
