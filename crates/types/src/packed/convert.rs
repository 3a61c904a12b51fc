//! Casts from and to packed types, other than those from and to text.

use super::network::Network;
use super::range::{push_multirange, spans};
use super::{Bits, ZonedTime, fit_bits, mac, push_i64, read_i64};
use crate::calendar::{DAY, SECOND, TimeZone, is_finite_timestamp, rounded_to};
use crate::characters::Excess;
use crate::decimal;
use crate::wide::Wide;
use crate::{DataType, ElementType, NumericType, PackedType, Result, Value};

/// `value` as one of type `to`; None when there is no such cast.
///
/// # Errors
/// 22000, 22001, 22003, 22004, 22026, 54000.
pub fn convert(
    value: &Value,
    from: DataType,
    to: DataType,
    excess: Excess,
    zone: &TimeZone,
) -> Result<Option<Value>> {
    let converted = match (value, from, to) {
        (Value::Str(bytes), DataType::Packed(from), DataType::Packed(to)) => {
            between(bytes, from, to, excess)?.map(|bytes| Value::Str(bytes.into()))
        }
        (Value::Str(bytes), DataType::Packed(from), to) => scalar(bytes, from, to)?,
        (Value::Str(bytes), DataType::Array(element), DataType::Packed(PackedType::HStore)) => {
            Some(Value::Str(super::hstore::of_array(bytes, element)?.into()))
        }
        (Value::Str(bytes), DataType::Array(element), DataType::Packed(PackedType::Vector(n))) => {
            Some(Value::Str(super::vector::of_array(bytes, element, n)?.into()))
        }
        // No clock shows the end of time.
        (Value::I64(at), DataType::TimestampTz(_), DataType::Packed(PackedType::TimeTz(_)))
            if !is_finite_timestamp(*at) =>
        {
            Some(Value::Null)
        }
        (value, from, DataType::Packed(to)) => {
            of_scalar(value, from, to, zone)?.map(|bytes| Value::Str(bytes.into()))
        }
        _ => None,
    };
    Ok(converted)
}

fn between(
    bytes: &[u8],
    from: PackedType,
    to: PackedType,
    excess: Excess,
) -> Result<Option<Vec<u8>>> {
    use PackedType as P;
    Ok(Some(match (from, to) {
        (P::Bit(_) | P::VarBit(_), P::Bit(_) | P::VarBit(_)) => fit_bits(bytes, to, excess)?,
        (P::Vector(_), P::Vector(declared)) => super::vector::fitted(bytes, declared)?,
        (P::TimeTz(_), P::TimeTz(digits)) => ZonedTime::read(bytes).rounded(digits).value(),
        (P::Inet, P::Cidr) => {
            let mut out = Vec::new();
            Network::read(bytes).network().write(&mut out);
            out
        }
        (P::MacAddr, P::MacAddr8) => mac::widened(bytes),
        (P::MacAddr8, P::MacAddr) => mac::narrowed(bytes)?,
        (P::Range(x), P::Multirange(y)) if x == y => {
            let mut out = Vec::new();
            push_multirange(&mut out, &spans(bytes, x), x);
            out
        }
        (P::Cidr, P::Inet) => bytes.to_vec(),
        (from, to) if from.is_shape() && to.is_shape() && from != to => {
            return super::functions::cast_of(bytes, from, to).transpose();
        }
        _ if from == to => bytes.to_vec(),
        _ => return Ok(None),
    }))
}

/// A packed value as one of another type.
fn scalar(bytes: &[u8], from: PackedType, to: DataType) -> Result<Option<Value>> {
    Ok(match (from, to) {
        (PackedType::Bit(_) | PackedType::VarBit(_), DataType::Integer) => {
            let value = Bits::read(bytes).to_integer(32);
            let value = value.ok_or_else(|| decimal::integer_out_of_range(to))?;
            // The same bits.
            Some(Value::I32(value as u32 as i32))
        }
        (PackedType::Bit(_) | PackedType::VarBit(_), DataType::BigInt) => {
            let value = Bits::read(bytes).to_integer(64);
            Some(Value::I64(value.ok_or_else(|| decimal::integer_out_of_range(to))? as i64))
        }
        (PackedType::Money, DataType::WideNumeric(digits)) => {
            let value = Wide::new(i128::from(read_i64(bytes)), 2);
            Some(value.declared(digits)?.value())
        }
        (PackedType::Money, DataType::Numeric(ty)) => {
            let value = decimal::rescale(i128::from(read_i64(bytes)), 2, ty.scale);
            Some(decimal::numeric_value(decimal::check(value, ty)?, ty))
        }
        // The lower half.
        (PackedType::Xid8, DataType::Xid) => {
            Some(Value::I64(i64::from(super::xid8_number(bytes) as u32)))
        }
        (PackedType::HStore, DataType::Json | DataType::Jsonb) => {
            Some(Value::Str(super::hstore::json_of(bytes, to)?.into()))
        }
        (PackedType::Vector(_), DataType::Array(ElementType::Real)) => {
            Some(Value::Str(super::vector::to_array(bytes)?.into()))
        }
        (PackedType::TimeTz(_), DataType::Time(_)) => {
            Some(Value::I64(rounded_to(ZonedTime::read(bytes).micros, to)?))
        }
        _ => None,
    })
}

/// A value of another type as a packed one.
fn of_scalar(
    value: &Value,
    from: DataType,
    to: PackedType,
    zone: &TimeZone,
) -> Result<Option<Vec<u8>>> {
    let number = value.as_integer();
    Ok(match (to, from, number) {
        (PackedType::Bit(length), from, Some(number)) if from.is_integer() => {
            // An integer has at most 64 bits.
            let bits = Bits::of_integer(number as i64, length.unwrap_or(1) as usize);
            Some(bits.value())
        }
        (PackedType::Money, from, Some(number)) if from.is_integer() => {
            Some(hundredths(number.checked_mul(100))?)
        }
        (PackedType::Money, DataType::Numeric(ty), Some(number)) => {
            Some(hundredths(decimal::rescale(number, ty.scale, 2))?)
        }
        (PackedType::Money, DataType::WideNumeric(_), _) => match value {
            Value::Str(bytes) => {
                let amount = Wide::read(bytes)?.to_scaled(NumericType::fixed(38, 2))?;
                Some(hundredths(Some(amount))?)
            }
            _ => None,
        },
        (PackedType::TimeTz(digits), DataType::Time(_), Some(micros)) => {
            let offset = zone.offset_at(zone.now());
            // Offsets are below a day, times at most one.
            let time = ZonedTime { micros: micros as i64, west: -offset as i32 };
            Some(time.rounded(digits).value())
        }
        (PackedType::TimeTz(digits), DataType::TimestampTz(_), Some(instant)) => {
            let instant = instant as i64;
            if !is_finite_timestamp(instant) {
                return Ok(None);
            }
            let offset = zone.offset_at(instant);
            let micros = (instant + offset * SECOND).rem_euclid(DAY);
            Some(ZonedTime { micros, west: -offset as i32 }.rounded(digits).value())
        }
        _ => None,
    })
}

fn hundredths(amount: Option<i128>) -> Result<Vec<u8>> {
    let amount = amount.and_then(|amount| i64::try_from(amount).ok());
    let mut out = Vec::with_capacity(8);
    push_i64(&mut out, amount.ok_or_else(|| decimal::integer_out_of_range(DataType::BigInt))?);
    Ok(out)
}
