//! Rows of vectors as text, without a [`types::Value`] in between: what results and files are
//! written with.

use types::calendar::TimeZone;
use types::{DataType, text};

use crate::{Vector, VectorData};

/// Appends the value of `row`, of type `ty`, as PostgreSQL prints it in a session of time zone
/// `zone`; nothing for NULL.
#[inline]
pub fn append_text(out: &mut Vec<u8>, column: &Vector, row: usize, ty: DataType, zone: &TimeZone) {
    if column.is_null(row) {
        return;
    }
    match (&column.data, ty) {
        (VectorData::I32(v), DataType::SmallInt | DataType::Integer) => {
            text::format_integer(out, i64::from(v[row]));
        }
        (VectorData::I64(v), DataType::BigInt) => text::format_integer(out, v[row]),
        (VectorData::I32(v), DataType::Numeric(n)) => {
            text::format_decimal(out, i128::from(v[row]), n);
        }
        (VectorData::I64(v), DataType::Numeric(n)) => {
            text::format_decimal(out, i128::from(v[row]), n);
        }
        (VectorData::I128(v), DataType::Numeric(n)) => text::format_decimal(out, v[row], n),
        (VectorData::I32(v), DataType::Date) => text::format_date(out, v[row]),
        (VectorData::I64(v), DataType::Timestamp(_)) => text::format_timestamp(out, v[row], ""),
        (VectorData::Str(v), ty) if ty.is_text() || ty.is_json() => {
            text::append_text(out, v.get(row), ty)
        }
        _ => text::append_in(out, &column.value(row), ty, zone),
    }
}
