//! Values of parameters from text or binary.

mod packed;

use types::array::{self, ArrayBuilder, Dimension, Shape};
use types::calendar::TimeZone;
use types::charset::text_of;
use types::{DataType, ElementType, Error, Interval, PackedType, Result, SqlState, Value, text};

use crate::encode::{EPOCH_DAYS, EPOCH_MICROS, Format, JSONB_VERSION};
use crate::{numeric, oid};

/// The value of parameter `number`, from 1; text is read by clocks of `zone`.
///
/// # Errors
/// 22P03 for a binary form that is none of the type's, 22021 for text that is not UTF-8, and what
/// the type says about its text.
pub(crate) fn value(
    bytes: &[u8],
    ty: DataType,
    (format, zone): (Format, &TimeZone),
    number: usize,
) -> Result<Value> {
    match format {
        Format::Text => text::parse_in(text_of(bytes)?, ty, zone),
        Format::Binary => binary_value(bytes, ty).map_err(|error| {
            if error.state() != SqlState::INVALID_BINARY_REPRESENTATION {
                return error;
            }
            let message = format!("incorrect binary data format in bind parameter {number}");
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
        }),
    }
}

/// The value of a binary form.
///
/// # Errors
/// See [`value`].
pub(crate) fn binary_value(bytes: &[u8], ty: DataType) -> Result<Value> {
    binary(bytes, ty).map_err(|failure| match failure {
        Failure::Form => {
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
        }
        Failure::Value(error) => error,
    })
}

enum Failure {
    Form,
    Value(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Value(error)
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Failure> {
    bytes.try_into().map_err(|_| Failure::Form)
}

fn binary(bytes: &[u8], ty: DataType) -> Result<Value, Failure> {
    Ok(match ty {
        DataType::Boolean => Value::Bool(fixed::<1>(bytes)? != [0]),
        DataType::SmallInt => Value::I32(i32::from(i16::from_be_bytes(fixed(bytes)?))),
        DataType::Integer => Value::I32(i32::from_be_bytes(fixed(bytes)?)),
        DataType::Oid | DataType::Xid => Value::I64(i64::from(u32::from_be_bytes(fixed(bytes)?))),
        DataType::BigInt => Value::I64(i64::from_be_bytes(fixed(bytes)?)),
        DataType::Real => Value::F64(f64::from(f32::from_be_bytes(fixed(bytes)?))),
        DataType::Double => Value::F64(f64::from_be_bytes(fixed(bytes)?)),
        DataType::Numeric(n) => types::decimal::numeric_value(numeric::decode(bytes, n)?, n),
        DataType::WideNumeric(digits) => numeric::decode_wide(bytes)?.declared(digits)?.value(),
        ty if ty.is_its_text() => text::parse(text_of(bytes)?, ty)?,
        DataType::Bytea => Value::Str(bytes.into()),
        DataType::Date => {
            let days = i32::from_be_bytes(fixed(bytes)?);
            if days == i32::MAX || days == i32::MIN {
                return Ok(Value::I32(days));
            }
            let days = days.checked_add(EPOCH_DAYS);
            Value::I32(types::calendar::check_date(days)?)
        }
        DataType::Time(_) => match i64::from_be_bytes(fixed(bytes)?) {
            micros @ 0..=86_400_000_000 => Value::I64(types::calendar::rounded_to(micros, ty)?),
            _ => {
                let message = "time out of range";
                return Err(Error::new(SqlState::DATETIME_OVERFLOW, message).into());
            }
        },
        DataType::Timestamp(_) | DataType::TimestampTz(_) => {
            let micros = i64::from_be_bytes(fixed(bytes)?);
            if micros == i64::MAX || micros == i64::MIN {
                return Ok(Value::I64(micros));
            }
            let micros = micros.checked_add(EPOCH_MICROS);
            let micros = types::calendar::check_timestamp(micros)?;
            Value::I64(types::calendar::rounded_to(micros, ty)?)
        }
        DataType::Interval(_) => {
            let bytes: [u8; 16] = fixed(bytes)?;
            Value::Interval(Interval {
                micros: i64::from_be_bytes(fixed(&bytes[..8])?),
                days: i32::from_be_bytes(fixed(&bytes[8..12])?),
                months: i32::from_be_bytes(fixed(&bytes[12..])?),
            })
        }
        DataType::Uuid => Value::I128(i128::from_be_bytes(fixed(bytes)?) ^ i128::MIN),
        DataType::Json | DataType::Enum(_) => text::parse(text_of(bytes)?, ty)?,
        DataType::Jsonb | DataType::JsonPath => match bytes {
            [JSONB_VERSION, text @ ..] => text::parse(text_of(text)?, ty)?,
            [version, ..] => {
                let message = format!("unsupported {} version number {version}", ty.name());
                return Err(Error::new(SqlState::INTERNAL_ERROR, message).into());
            }
            [] => return Err(Failure::Form),
        },
        DataType::Array(element) => Value::Str(array(bytes, element)?.into()),
        DataType::Packed(ty) => Value::Str(packed_value(bytes, ty)?.into()),
        DataType::Tid => {
            let [a, b, c, d, e, f] = fixed::<6>(bytes)?;
            let block = i64::from(u32::from_be_bytes([a, b, c, d]));
            Value::I64(block << 17 | i64::from(u16::from_be_bytes([e, f])))
        }
        // The binder gives parameters other types.
        _ => {
            let message = format!("a parameter of type {} in binary", ty.name());
            return Err(Error::unsupported(message).into());
        }
    })
}

/// A packed value; a BIT of another length is an error of its own.
fn packed_value(bytes: &[u8], ty: PackedType) -> Result<Vec<u8>, Failure> {
    let value = packed::read(bytes, ty)?.ok_or(Failure::Form)?;
    Ok(types::packed::fit_bits(&value, ty, text::Excess::Error)?)
}

/// An array: dimensions, whether it has NULLs, the elements' type, size and first subscript of each
/// dimension, then each element behind its length, which is -1 for NULL.
fn array(bytes: &[u8], element: ElementType) -> Result<Vec<u8>, Failure> {
    let mut rest = bytes;
    let (dimensions, _nulls) = (number(&mut rest)?, number(&mut rest)?);
    let oid = number(&mut rest)?;
    let expected = match element {
        ElementType::Enum(ty) if ty.number() == oid as u32 => element.data_type(),
        _ => oid::parameter(oid as u32).map_err(Failure::Value)?,
    };
    let alike = DataType::array_of(expected).is_some_and(|given| {
        let given = array::element_of(given).unwrap_or(element);
        given == element || types::same_array_form(given, element) || is_text(given, element)
    });
    if !alike && dimensions != 0 {
        let message = format!("wrong element type {oid} in an array of {}", element.data_type());
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).into());
    }
    let count = usize::try_from(dimensions).map_err(|_| Failure::Form)?;
    if count > array::DIMENSIONS_MAX {
        return Err(array::too_many(count).into());
    }
    let mut sides = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, lower) = (number(&mut rest)?, number(&mut rest)?);
        if length < 0 {
            return Err(Failure::Form);
        }
        sides.push(Dimension { lower, length });
    }
    let shape = Shape::new(&sides)?;
    let mut builder = ArrayBuilder::new();
    for _ in 0..shape.size() {
        match usize::try_from(number(&mut rest)?) {
            Ok(length) => {
                let (value, after) = rest.split_at_checked(length).ok_or(Failure::Form)?;
                rest = after;
                builder.push_value(&binary(value, element.data_type())?, element);
            }
            Err(_) => builder.push_null(),
        }
    }
    if !rest.is_empty() {
        return Err(Failure::Form);
    }
    Ok(builder.finish_shaped(&shape)?)
}

/// The next four bytes.
fn number(rest: &mut &[u8]) -> Result<i32, Failure> {
    let (bytes, after) = rest.split_first_chunk::<4>().ok_or(Failure::Form)?;
    *rest = after;
    Ok(i32::from_be_bytes(*bytes))
}

/// True when both are text, or NUMERIC of whatever digits: the value says how it looks.
fn is_text(given: ElementType, element: ElementType) -> bool {
    let (given, element) = (given.data_type(), element.data_type());
    (given.is_text() && element.is_text()) || (given.is_numeric() && element.is_numeric())
}
