//! Which types hold their values in the same bytes, so that a cast between them does nothing.

use super::RecordField;
use crate::{DataType, ElementType, RecordType};

/// True when arrays of both types have the same bytes for the same values.
pub fn same_array_form(a: ElementType, b: ElementType) -> bool {
    use ElementType as E;
    match (a, b) {
        (
            E::Varchar(_) | E::Text | E::Name | E::InternalChar,
            E::Varchar(_) | E::Text | E::Name | E::InternalChar,
        )
        | (E::SmallInt | E::VectorSmallInt, E::SmallInt | E::VectorSmallInt)
        | (E::Oid | E::VectorOid, E::Oid | E::VectorOid)
        | (E::Char(1..), E::Char(1..)) => true,
        (E::Numeric(x), E::Numeric(y)) => x.scale == y.scale,
        (E::WideNumeric(_), E::WideNumeric(_)) => true,
        (E::Enum(x), E::Enum(y)) => x.is_same_object(y),
        (E::Record(x), E::Record(y)) => same_record_form(x, y),
        (E::Time(_), E::Time(_))
        | (E::Timestamp(_), E::Timestamp(_))
        | (E::TimestampTz(_), E::TimestampTz(_))
        | (E::Interval(_), E::Interval(_)) => true,
        (E::Packed(x), E::Packed(y)) => x.same_form(y),
        _ => a == b,
    }
}

/// True when records of both types have the same bytes for the same values.
pub fn same_record_form(a: RecordType, b: RecordType) -> bool {
    let same = |(a, b): (&RecordField, &RecordField)| match (a.ty, b.ty) {
        (DataType::Record(a), DataType::Record(b)) => same_record_form(a, b),
        (DataType::Array(a), DataType::Array(b)) => same_array_form(a, b),
        (a, b) => match (ElementType::new(a), ElementType::new(b)) {
            (Some(a), Some(b)) => same_array_form(a, b),
            _ => a == b,
        },
    };
    a == b || a.fields().len() == b.fields().len() && a.fields().iter().zip(b.fields()).all(same)
}
