//! Values of SQL as fields of stores, in the same order wherever stores compare them.
//!
//! ```text
//! BOOLEAN -> 16 bits   INTEGER, DATE ... -> 32   BIGINT, TIMESTAMP, NUMERIC(18) ... -> 64
//! DOUBLE PRECISION -> float   128 bits -> 16 bytes, the highest first, sign flipped
//! texts, BYTEA ... -> bytes   INTERVAL -> months, days, microseconds
//! ```

use kernels::VectorBuilder;
use store::{FieldType, FieldValue};
use types::{Interval, PhysicalType, Value};

/// The type of the field for a column that is held so.
pub(crate) fn field_type(physical: PhysicalType) -> FieldType {
    match physical {
        PhysicalType::Bool => FieldType::I16,
        PhysicalType::I32 => FieldType::I32,
        PhysicalType::I64 => FieldType::I64,
        PhysicalType::F64 => FieldType::F64,
        PhysicalType::I128 | PhysicalType::Str | PhysicalType::Interval => FieldType::Bytes,
    }
}

const SIGN: u128 = 1 << 127;

/// A value of a column as one of its field.
pub(crate) fn to_field(value: &Value) -> Value {
    match value {
        Value::Bool(value) => Value::I32(i32::from(*value)),
        Value::I128(value) => Value::Str((*value as u128 ^ SIGN).to_be_bytes().into()),
        Value::Interval(Interval { months, days, micros }) => {
            let mut bytes = Vec::with_capacity(16);
            bytes.extend(months.to_be_bytes());
            bytes.extend(days.to_be_bytes());
            bytes.extend(micros.to_be_bytes());
            Value::Str(bytes.into())
        }
        value => value.clone(),
    }
}

/// The value of a column that is held so; NULL for bytes that are none.
pub(crate) fn from_field(physical: PhysicalType, value: &Value) -> Value {
    match (physical, value) {
        (PhysicalType::Bool, Value::I32(value)) => Value::Bool(*value != 0),
        (PhysicalType::I128, Value::Str(bytes)) => wide(bytes),
        (PhysicalType::Interval, Value::Str(bytes)) => interval(bytes),
        (_, value) => value.clone(),
    }
}

fn wide(bytes: &[u8]) -> Value {
    let bytes: Result<[u8; 16], _> = bytes.try_into();
    bytes.map_or(Value::Null, |bytes| Value::I128((u128::from_be_bytes(bytes) ^ SIGN) as i128))
}

fn interval(bytes: &[u8]) -> Value {
    let Ok(bytes): Result<[u8; 16], _> = bytes.try_into() else { return Value::Null };
    let [a, b, c, d, e, f, g, h, micros @ ..] = bytes;
    Value::Interval(Interval {
        months: i32::from_be_bytes([a, b, c, d]),
        days: i32::from_be_bytes([e, f, g, h]),
        micros: i64::from_be_bytes(micros),
    })
}

/// Appends a value of a field to a column that is held as `physical`.
pub(crate) fn push_field(
    builder: &mut VectorBuilder,
    physical: PhysicalType,
    value: FieldValue<'_>,
) {
    match (physical, value) {
        (_, FieldValue::Null) => builder.push_null(),
        (PhysicalType::I128, FieldValue::Bytes(bytes)) => builder.push_value(&wide(bytes)),
        (PhysicalType::Interval, FieldValue::Bytes(bytes)) => builder.push_value(&interval(bytes)),
        (_, FieldValue::Bytes(bytes)) => builder.push_str(bytes),
        (PhysicalType::Bool, FieldValue::Fixed(value)) => {
            builder.push_value(&from_field(PhysicalType::Bool, &value));
        }
        (_, FieldValue::Fixed(value)) => builder.push_value(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_values_keep_their_order() {
        let all = [i128::MIN, -(1 << 70), -1, 0, 1, 1 << 70, i128::MAX];
        let fields: Vec<Value> = all.iter().map(|value| to_field(&Value::I128(*value))).collect();
        for (value, field) in all.iter().zip(&fields) {
            assert_eq!(from_field(PhysicalType::I128, field), Value::I128(*value));
        }
        let bytes = |value: &Value| match value {
            Value::Str(bytes) => bytes.to_vec(),
            other => panic!("{other:?}"),
        };
        assert!(fields.windows(2).all(|pair| bytes(&pair[0]) < bytes(&pair[1])));
    }

    #[test]
    fn values_come_back() {
        let interval = Value::Interval(Interval { months: -1, days: 40, micros: i64::MIN });
        assert_eq!(from_field(PhysicalType::Interval, &to_field(&interval)), interval);
        for value in [true, false].map(Value::Bool) {
            assert_eq!(from_field(PhysicalType::Bool, &to_field(&value)), value);
        }
        assert_eq!(from_field(PhysicalType::I128, &Value::text("short")), Value::Null);
    }
}
