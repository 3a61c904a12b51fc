//! Casts of whole columns, as `types::cast` casts one value. One row may stand for all, as
//! everywhere.
//!
//! Numbers, dates and timestamps have loops of their own; text is read and written row by row; the
//! few casts that are left go through single values.

#[cfg(test)]
mod tests;

use std::ops::Range;

use types::calendar::TimeZone;
use types::cast::{assign_value, cast_value, double_to_real, float_to_integer};
use types::text::{self, Excess};
use types::{
    DataType, ElementType, NumericType, PhysicalType, RecordType, Result, Value, calendar, decimal,
};

use crate::json_fn;
use crate::numeric::{Operand, Target, rescale};
use crate::rows::{Fixed, Texts, map, scratch, try_format, try_map, try_narrow, try_write, utf8};
use crate::wide;
use crate::{Vector, VectorBuilder, VectorData};

/// `vector` of type `from` as `to`, by the rules of an explicit cast, in `to.physical()` form. The
/// physical form of a NUMERIC argument is the vector's own.
///
/// # Errors
/// 22003, 22P02 and so on; 42846 when there is no such cast.
pub fn cast(vector: &Vector, from: DataType, to: DataType) -> Result<Vector> {
    cast_as(vector, from, to, to.physical())
}

/// As [`cast`], in the form `physical` (I64 or I128 for NUMERIC, otherwise `to.physical()`).
///
/// # Errors
/// As [`cast`]; 22003 too when a NUMERIC does not fit I64.
pub fn cast_as(
    vector: &Vector,
    from: DataType,
    to: DataType,
    physical: PhysicalType,
) -> Result<Vector> {
    convert(vector, from, to, physical, Excess::Cut)
}

/// As [`cast`] by the rules of assignment (INSERT, UPDATE): overlong text is 22001 unless the
/// excess is blank.
///
/// # Errors
/// As [`cast`], and 22001.
pub fn assign(vector: &Vector, from: DataType, to: DataType) -> Result<Vector> {
    convert(vector, from, to, to.physical(), Excess::Error)
}

fn convert(
    vector: &Vector,
    from: DataType,
    to: DataType,
    physical: PhysicalType,
    excess: Excess,
) -> Result<Vector> {
    use DataType as T;
    match (from, to) {
        (T::Numeric(a), T::Numeric(_)) => to_numeric(vector, a, to, physical),
        _ if from == to => Ok(vector.clone()),
        (T::Numeric(n), T::WideNumeric(None)) => wide::from_scaled(Operand { vector, ty: n }),
        (T::SmallInt | T::Integer | T::BigInt, T::WideNumeric(None)) => wide::from_whole(vector),
        (T::WideNumeric(_), T::WideNumeric(None)) => Ok(vector.clone()),
        (T::SmallInt | T::Integer | T::BigInt, T::Numeric(_)) => {
            to_numeric(vector, NumericType::fixed(19, 0), to, physical)
        }
        (T::SmallInt | T::Integer | T::BigInt, T::SmallInt | T::Integer | T::BigInt) => {
            from_whole(vector, 0, to)
        }
        (T::Numeric(n), T::SmallInt | T::Integer | T::BigInt) => from_whole(vector, n.scale, to),
        (T::Numeric(n), T::Double) => numeric_to_float(vector, |v| decimal::to_f64(v, n.scale)),
        (T::Numeric(n), T::Real) => numeric_to_float(vector, |v| decimal::to_f32(v, n.scale)),
        (T::SmallInt | T::Integer, T::Double) => Ok(map(vector, |v: i32| f64::from(v))),
        (T::SmallInt | T::Integer, T::Real) => Ok(map(vector, |v: i32| f64::from(v as f32))),
        (T::Oid | T::Xid, T::BigInt | T::Oid) => Ok(vector.clone()),
        (T::Integer, T::Xid) | (T::BigInt, T::Tid) => Ok(row_number(vector, to)),
        (T::BigInt, T::Double) => Ok(map(vector, |v: i64| v as f64)),
        (T::BigInt, T::Real) => Ok(map(vector, |v: i64| f64::from(v as f32))),
        (T::Real | T::Double, _) if to.is_number() && !matches!(to, T::WideNumeric(_)) => {
            float_to_number(vector, from, to, physical)
        }
        (T::Date, T::Timestamp(_) | T::TimestampTz(_)) => {
            try_map(vector, calendar::date_to_timestamp)
        }
        (T::Timestamp(_) | T::TimestampTz(_), T::Date) => {
            Ok(map(vector, calendar::timestamp_to_date))
        }
        // The session's time zone is UTC.
        (T::Time(_), T::Time(_))
        | (T::Timestamp(_) | T::TimestampTz(_), T::Timestamp(_) | T::TimestampTz(_)) => {
            match to.second_digits() {
                Some(digits) => crate::time_fn::round_seconds(vector, u32::from(digits), to),
                None => Ok(vector.clone()),
            }
        }
        // The same text.
        (_, T::Json | T::Text | T::Varchar(None)) if is_json_text(from) => Ok(vector.clone()),
        (_, T::Jsonb) if from.is_text() || from == T::Json => json_fn::canonical(vector),
        (T::Array(a), T::Array(b)) if types::same_array_form(a, b) && !has_length(b) => {
            Ok(vector.clone())
        }
        (T::Packed(a), T::Packed(b)) if a.same_form(b) && !has_length(ElementType::Packed(b)) => {
            Ok(vector.clone())
        }
        (T::Record(a), T::Record(b)) if types::same_record_form(a, b) && !record_length(b) => {
            Ok(vector.clone())
        }
        (_, T::Record(_)) if !from.is_text() => one_by_one(vector, from, to, physical, excess),
        _ if to.is_array() || from.is_text() && to.has_packed_length() => {
            one_by_one(vector, from, to, physical, excess)
        }
        (T::InternalChar, T::Integer) => one_by_one(vector, from, to, physical, excess),
        (_, T::InternalChar) => one_by_one(vector, from, to, physical, excess),
        _ if from.is_text() && to.is_text() => text_as(vector, from, to, excess),
        _ if from.is_text() => read_text(vector, to, physical),
        (_, T::Text | T::Varchar(None)) => write_text(vector, from),
        _ => one_by_one(vector, from, to, physical, excess),
    }
}

/// A TID of the place of a row, an XID of its hash.
fn row_number(vector: &Vector, to: DataType) -> Vector {
    match to {
        DataType::Xid => map(vector, types::xid_of_hash),
        _ => map(vector, types::tid_of_row),
    }
}

/// True for types of the text that they are shown as.
fn is_json_text(ty: DataType) -> bool {
    ty.is_json() || ty == DataType::JsonPath
}

/// As [`has_length`], for some field of a record.
fn record_length(record: RecordType) -> bool {
    record.any_field(&|ty| ElementType::new(ty.element().unwrap_or(ty)).is_some_and(has_length))
}

/// True for elements whose text may be too long, or that may have too many digits.
fn has_length(element: ElementType) -> bool {
    matches!(element, ElementType::Char(_) | ElementType::Varchar(Some(_)))
        || matches!(element, ElementType::Name | ElementType::InternalChar)
        || element.data_type().rounds_time()
        || element.data_type().has_packed_length()
}

fn to_numeric(
    vector: &Vector,
    from: NumericType,
    to: DataType,
    physical: PhysicalType,
) -> Result<Vector> {
    let DataType::Numeric(ty) = to else { panic!("{to} is not numeric") };
    rescale(Operand { vector, ty: from }, Target { ty, physical })
}

/// The least and greatest of an integer type.
fn integer_range(to: DataType) -> (i128, i128) {
    match to {
        DataType::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
        DataType::Integer => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    }
}

/// Integers and NUMERIC, rounded, as SMALLINT, INTEGER or BIGINT.
fn from_whole(vector: &Vector, scale: u8, to: DataType) -> Result<Vector> {
    fn narrowed<A: Fixed + Into<i128>, R: Fixed>(
        vector: &Vector,
        scale: u8,
        to: DataType,
        narrow: impl Fn(i128) -> R,
    ) -> Result<Vector> {
        let (low, high) = integer_range(to);
        let unit = decimal::pow10(u32::from(scale));
        try_map(vector, |value: A| {
            let value: i128 = value.into();
            let whole = if scale == 0 { value } else { decimal::divide_round(value, unit) };
            if (low..=high).contains(&whole) {
                Ok(narrow(whole))
            } else {
                Err(types::decimal::integer_out_of_range(to))
            }
        })
    }
    if let (VectorData::I32(_), 0, DataType::BigInt) = (&vector.data, scale, to) {
        return Ok(map(vector, |v: i32| i64::from(v)));
    }
    if let (VectorData::I32(_), 0, DataType::Integer) = (&vector.data, scale, to) {
        return Ok(vector.clone());
    }
    let wide = to == DataType::BigInt;
    match (&vector.data, wide) {
        (VectorData::I32(_), false) => narrowed::<i32, i32>(vector, scale, to, |v| v as i32),
        (VectorData::I64(_), false) => narrowed::<i64, i32>(vector, scale, to, |v| v as i32),
        (VectorData::I128(_), false) => narrowed::<i128, i32>(vector, scale, to, |v| v as i32),
        (VectorData::I32(_), true) => narrowed::<i32, i64>(vector, scale, to, |v| v as i64),
        (VectorData::I64(_), true) => narrowed::<i64, i64>(vector, scale, to, |v| v as i64),
        (VectorData::I128(_), true) => narrowed::<i128, i64>(vector, scale, to, |v| v as i64),
        _ => panic!("integers held as {:?}", vector.physical()),
    }
}

fn numeric_to_float(vector: &Vector, f: impl Fn(i128) -> f64) -> Result<Vector> {
    Ok(match &vector.data {
        VectorData::I32(_) => map(vector, |v: i32| f(i128::from(v))),
        VectorData::I64(_) => map(vector, |v: i64| f(i128::from(v))),
        VectorData::I128(_) => map(vector, f),
        _ => panic!("NUMERIC held as {:?}", vector.physical()),
    })
}

fn float_to_number(
    vector: &Vector,
    from: DataType,
    to: DataType,
    physical: PhysicalType,
) -> Result<Vector> {
    match to {
        DataType::SmallInt | DataType::Integer => {
            // In range after the check.
            try_map(vector, |v| float_to_integer(v, to).map(|v| v as i32))
        }
        DataType::BigInt => try_map(vector, |v| float_to_integer(v, to)),
        DataType::Real => try_map(vector, double_to_real),
        DataType::Numeric(ty) => {
            let digits = if from == DataType::Real { 6 } else { 15 };
            let scaled = |v| decimal::from_f64_rounded(v, digits, ty);
            if physical == PhysicalType::I64 {
                try_map(vector, |v| {
                    i64::try_from(scaled(v)?).map_err(|_| decimal::field_overflow(ty))
                })
            } else {
                try_map(vector, scaled)
            }
        }
        // REAL is held as the double that equals it.
        _ => Ok(vector.clone()),
    }
}

/// Text as another text.
fn text_as(vector: &Vector, from: DataType, to: DataType, excess: Excess) -> Result<Vector> {
    match (from, to) {
        (DataType::Char(_), DataType::Char(0)) => padded_text(vector, from),
        (DataType::Char(0), _) => fit_text(&trimmed_text(vector)?, to, excess),
        _ => fit_text(vector, to, excess),
    }
}

/// CHAR(n) with its blanks.
fn padded_text(vector: &Vector, from: DataType) -> Result<Vector> {
    let texts = Texts::new(vector);
    try_write(&[vector], |i, out| {
        text::append_text(out, texts.bytes(i), from);
        Ok(())
    })
}

/// CHAR of any length without its blanks.
fn trimmed_text(vector: &Vector) -> Result<Vector> {
    try_narrow(vector, &[vector], |_, bytes| Ok(0..types::without_blanks(bytes).len()))
}

fn fit_text(vector: &Vector, to: DataType, excess: Excess) -> Result<Vector> {
    /// The bytes of `bytes` that `part`, a prefix of it, has.
    fn prefix(part: Result<&str>) -> Result<Range<usize>> {
        part.map(|part| 0..part.len())
    }
    match to {
        DataType::Char(n) => try_narrow(vector, &[vector], |_, bytes| {
            prefix(text::fit_char(utf8(bytes)?, n, excess))
        }),
        DataType::Varchar(Some(n)) => try_narrow(vector, &[vector], |_, bytes| {
            // As many bytes are never more characters.
            if bytes.len() <= n as usize {
                return Ok(0..bytes.len());
            }
            prefix(text::fit_varchar(utf8(bytes)?, n, excess))
        }),
        DataType::Name => try_narrow(vector, &[vector], |_, bytes| {
            Ok(0..types::truncated_name(utf8(bytes)?).len())
        }),
        _ => Ok(vector.clone()),
    }
}

fn read_text(vector: &Vector, to: DataType, physical: PhysicalType) -> Result<Vector> {
    let texts = Texts::new(vector);
    let mut out = VectorBuilder::with_capacity(physical, vector.len());
    for i in 0..vector.len() {
        let _scratch = scratch(&[vector], i)?;
        if vector.is_null(i) {
            out.push_null();
        } else {
            out.push_value(&held(text::parse(texts.str(i)?, to)?, to, physical)?);
        }
    }
    Ok(out.finish())
}

fn write_text(vector: &Vector, from: DataType) -> Result<Vector> {
    try_format(&[vector], |i, out| {
        match (&vector.data, from) {
            // A cast spells booleans out; output functions do not.
            (VectorData::Bool(v), _) => out.push_str(if v[i] != 0 { "true" } else { "false" }),
            (VectorData::Str(v), DataType::WideNumeric(_)) => {
                types::wide::look(v.get(i).len())?;
                text::format_into(out, &vector.value(i), from);
            }
            (VectorData::Str(_), DataType::Packed(_)) => {
                out.push_str(&text::format_cast(&vector.value(i), from, &TimeZone::UTC));
            }
            _ => text::format_into(out, &vector.value(i), from),
        }
        Ok(())
    })
}

fn one_by_one(
    vector: &Vector,
    from: DataType,
    to: DataType,
    physical: PhysicalType,
    excess: Excess,
) -> Result<Vector> {
    let mut out = VectorBuilder::with_capacity(physical, vector.len());
    for i in 0..vector.len() {
        let value = match excess {
            Excess::Cut => cast_value(&vector.value(i), from, to)?,
            Excess::Error => assign_value(&vector.value(i), from, to)?,
        };
        out.push_value(&held(value, to, physical)?);
    }
    Ok(out.finish())
}

/// A NUMERIC in the form `physical`.
fn held(value: Value, to: DataType, physical: PhysicalType) -> Result<Value> {
    match (to, value.as_integer()) {
        (DataType::Numeric(_), Some(v)) if physical == PhysicalType::I128 => Ok(Value::I128(v)),
        (DataType::Numeric(n), Some(v)) => {
            i64::try_from(v).map(Value::I64).map_err(|_| decimal::field_overflow(n))
        }
        _ => Ok(value),
    }
}
