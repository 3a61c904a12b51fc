//! Rows as DataRow messages, in text or binary.

pub(crate) mod packed;

use engine::{ColumnOrigin, QueryResult};
use kernels::Vector;
use kernels::print::append_text;
use types::calendar::TimeZone;
use types::text::TextStyle;
use types::{DataType, ElementType, RecordType, Result, Value, array, calendar, record, text};

use crate::message::{finish, message, push_text};
use crate::{numeric, oid};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As text.
    Text,
    /// As PostgreSQL's send functions write it.
    Binary,
}

/// The format of column `at` by a list of codes: none is text, one is for all columns.
pub(crate) fn format_at(formats: &[Format], at: usize) -> Format {
    match formats {
        [] => Format::Text,
        [one] => *one,
        many => many.get(at).copied().unwrap_or(Format::Text),
    }
}

/// Microseconds from 1970 to 2000, PostgreSQL's epoch.
pub(crate) const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Days from 1970 to 2000.
pub(crate) const EPOCH_DAYS: i32 = 10_957;

/// First byte of the binary form of a JSONB, before its text.
pub(crate) const JSONB_VERSION: u8 = 1;

/// Appends RowDescription.
pub(crate) fn describe(
    out: &mut Vec<u8>,
    columns: &[(String, DataType)],
    origins: &[ColumnOrigin],
    formats: &[Format],
) {
    message(out, b'T', |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (at, (name, ty)) in columns.iter().enumerate() {
            let (oid, length, modifier) = oid::of(*ty);
            push_text(out, name);
            let (relation, number) = origins.get(at).copied().unwrap_or_default();
            out.extend_from_slice(&relation.to_be_bytes());
            out.extend_from_slice(&number.to_be_bytes());
            out.extend_from_slice(&oid.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&modifier.to_be_bytes());
            let format = u16::from(format_at(formats, at) == Format::Binary);
            out.extend_from_slice(&format.to_be_bytes());
        }
    });
}

/// Where a reader of a result is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    batch: usize,
    row: usize,
}

impl Place {
    /// True when it is the first row.
    pub(crate) fn is_first(self) -> bool {
        self.batch == 0 && self.row == 0
    }
}

/// Appends rows of `result` from `place` on, at most `count_max`; `end_row` is called after each.
/// Returns how many, and whether there are more.
pub(crate) fn rows<E>(
    out: &mut dyn Outgoing<Error = E>,
    result: &QueryResult,
    formats: &[Format],
    place: &mut Place,
    count_max: usize,
) -> Result<(usize, bool), E> {
    let types: Vec<(DataType, Format)> = result
        .columns()
        .iter()
        .enumerate()
        .map(|(at, (_, ty))| (*ty, format_at(formats, at)))
        .collect();
    let mut count = 0;
    while let Some(batch) = result.batches().get(place.batch) {
        let columns: Vec<_> = batch.columns.iter().map(kernels::Column::to_plain).collect();
        while place.row < batch.rows {
            if count == count_max {
                return Ok((count, true));
            }
            let bytes = out.bytes();
            bytes.push(b'D');
            let start = bytes.len();
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&(types.len() as u16).to_be_bytes());
            for (column, (ty, format)) in columns.iter().zip(&types) {
                cell(bytes, column, place.row, *ty, (*format, result.zone(), result.style()));
            }
            finish(bytes, start);
            out.end_row(start, &types)?;
            place.row += 1;
            count += 1;
        }
        *place = Place { batch: place.batch + 1, row: 0 };
    }
    Ok((count, false))
}

/// Where rows go.
pub(crate) trait Outgoing {
    /// Why it takes no more.
    type Error;
    /// Bytes that wait to be written.
    fn bytes(&mut self) -> &mut Vec<u8>;
    /// The row that begins at `start`, behind the kind of its message, is whole: writes when enough
    /// waits.
    fn end_row(&mut self, start: usize, columns: &[(DataType, Format)]) -> Result<(), Self::Error>;
}

/// Appends the value of a row with its length before it; as text by clocks of `zone`.
pub(crate) fn cell(
    out: &mut Vec<u8>,
    column: &Vector,
    row: usize,
    ty: DataType,
    (format, zone, style): (Format, &TimeZone, TextStyle),
) {
    if column.is_null(row) {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        return;
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    match format {
        Format::Text if style.changes(ty) => {
            text::append_styled(out, &column.value(row), ty, style, zone);
        }
        Format::Text => append_text(out, column, row, ty, zone),
        Format::Binary => binary_value(out, column, row, ty),
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn binary_value(out: &mut Vec<u8>, column: &Vector, row: usize, ty: DataType) {
    push_binary(out, column.value(row), ty);
}

/// Appends an array: see `decode`.
fn push_array(out: &mut Vec<u8>, array: &[u8], element: ElementType) {
    let ty = element.data_type();
    let shape = array::Shape::of(array, element);
    let dimensions = shape.dimensions();
    let has_null = array::Elements::new(array, element).any(|raw| raw.is_none());
    // At most six.
    let header = [dimensions.len() as i32, i32::from(has_null), oid::of(ty).0 as i32];
    header.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    for dimension in dimensions {
        out.extend_from_slice(&dimension.length.to_be_bytes());
        out.extend_from_slice(&dimension.lower.to_be_bytes());
    }
    for raw in array::Elements::new(array, element) {
        let start = out.len();
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if raw.is_some() {
            push_binary(out, array::decode(raw, element), ty);
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// Appends a record: how many fields, then of each the number of its type and the value behind its
/// length, which is -1 for NULL.
fn push_record(out: &mut Vec<u8>, bytes: &[u8], ty: RecordType) {
    let fields = ty.fields();
    out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
    for (at, (value, field)) in record::Fields::new(bytes, ty).zip(fields).enumerate() {
        let number = ty.domain_of(at).unwrap_or_else(|| oid::of(field.ty).0);
        out.extend_from_slice(&number.to_be_bytes());
        let start = out.len();
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if !value.is_null() {
            push_binary(out, value, field.ty);
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

fn push_binary(out: &mut Vec<u8>, value: Value, ty: DataType) {
    match (value, ty) {
        (Value::I32(v), DataType::Numeric(n)) => numeric::encode(out, i128::from(v), n),
        (Value::I64(v), DataType::Numeric(n)) => numeric::encode(out, i128::from(v), n),
        (Value::I128(v), DataType::Numeric(n)) => numeric::encode(out, v, n),
        (Value::Str(v), DataType::WideNumeric(_)) => numeric::encode_wide(out, &v),
        (Value::Bool(v), _) => out.push(u8::from(v)),
        (Value::I32(v), DataType::SmallInt) => out.extend_from_slice(&(v as i16).to_be_bytes()),
        (Value::I32(v), DataType::Date) => {
            let is_finite = calendar::is_finite_date(v);
            let days = if is_finite { v.wrapping_sub(EPOCH_DAYS) } else { v };
            out.extend_from_slice(&days.to_be_bytes());
        }
        (Value::I32(v), DataType::Enum(ty)) => {
            out.extend_from_slice(ty.label(v).unwrap_or_default().as_bytes());
        }
        (Value::I32(v), _) => out.extend_from_slice(&v.to_be_bytes()),
        (Value::I64(v), DataType::Timestamp(_) | DataType::TimestampTz(_)) => {
            let is_finite = calendar::is_finite_timestamp(v);
            let micros = if is_finite { v.wrapping_sub(EPOCH_MICROS) } else { v };
            out.extend_from_slice(&micros.to_be_bytes());
        }
        // Four bytes without a sign.
        (Value::I64(v), DataType::Tid) => {
            out.extend_from_slice(&((v >> 17) as u32).to_be_bytes());
            out.extend_from_slice(&(v as u16).to_be_bytes());
        }
        (Value::I64(v), DataType::Oid | DataType::Xid) => {
            out.extend_from_slice(&(v as u32).to_be_bytes())
        }
        (Value::I64(v), _) => out.extend_from_slice(&v.to_be_bytes()),
        // The top bit is flipped in memory.
        (Value::I128(v), _) => out.extend_from_slice(&(v ^ i128::MIN).to_be_bytes()),
        (Value::F64(v), DataType::Real) => out.extend_from_slice(&(v as f32).to_be_bytes()),
        (Value::F64(v), _) => out.extend_from_slice(&v.to_be_bytes()),
        (Value::Interval(v), _) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            out.extend_from_slice(&v.days.to_be_bytes());
            out.extend_from_slice(&v.months.to_be_bytes());
        }
        (Value::Str(v), DataType::Array(element)) => push_array(out, &v, element),
        (Value::Str(v), DataType::Record(record)) => push_record(out, &v, record),
        (Value::Str(v), DataType::Packed(ty)) => packed::push(out, &v, ty),
        (Value::Str(v), DataType::Jsonb | DataType::JsonPath) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(&v);
        }
        (Value::Str(v), DataType::Reg(_)) => {
            out.extend_from_slice(&types::object_number(&v).to_be_bytes());
        }
        (Value::Str(v), DataType::InternalChar) => out.push(types::byte_number(&v) as u8),
        (Value::Str(v), DataType::Char(_)) => text::append_text(out, &v, ty),
        (Value::Str(v), _) => out.extend_from_slice(&v),
        (Value::Null, _) => {}
    }
}
