//! Between our columns and Arrow arrays.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, IntervalMonthDayNanoBuilder, StringBuilder,
};
use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, ListArray, RecordBatch, RecordBatchOptions, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as Arrow, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use engine::QueryResult;
use kernels::{Batch, Vector, VectorBuilder, VectorData, array_fn, record_fn};
use types::RecordField;
use types::array::Shape;
use types::{DataType, ElementType, Error, RecordType, Result, SqlState, text};

mod read;
mod reader;
mod table;

pub(crate) use read::{sql_type, vector_of};
pub use reader::{Intervals, ResultReader};
pub use table::table;

/// The Arrow type of a SQL type. CHAR, UUID and labels become text.
fn arrow_type(ty: DataType) -> Arrow {
    match ty {
        DataType::Boolean => Arrow::Boolean,
        DataType::SmallInt => Arrow::Int16,
        DataType::Integer => Arrow::Int32,
        DataType::BigInt | DataType::Oid | DataType::Xid => Arrow::Int64,
        DataType::Real => Arrow::Float32,
        DataType::Double => Arrow::Float64,
        DataType::Numeric(n) => Arrow::Decimal128(n.precision, n.scale as i8),
        DataType::Bytea => Arrow::Binary,
        DataType::Date => Arrow::Date32,
        DataType::Time(_) => Arrow::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_) => Arrow::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampTz(_) => Arrow::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Interval(_) => Arrow::Interval(IntervalUnit::MonthDayNano),
        DataType::Array(element) => {
            Arrow::List(Arc::new(Field::new_list_field(arrow_type(element.data_type()), true)))
        }
        DataType::Record(record) => Arrow::Struct(struct_fields(record)),
        // The digits of each value are its own.
        DataType::Unknown
        | DataType::WideNumeric(_)
        | DataType::Char(_)
        | DataType::Varchar(_)
        | DataType::Text
        | DataType::Name
        | DataType::InternalChar
        | DataType::AclItem
        | DataType::RefCursor
        | DataType::Reg(_)
        | DataType::Tid
        | DataType::Uuid
        | DataType::Enum(_)
        | DataType::Json
        | DataType::Jsonb
        | DataType::JsonPath
        | DataType::Packed(_) => Arrow::Utf8,
    }
}

fn struct_fields(record: RecordType) -> Fields {
    let field = |field: &RecordField| Field::new(&field.name, arrow_type(field.ty), true);
    record.fields().iter().map(field).collect()
}

/// The Arrow struct of a column of records.
fn struct_array(vector: &Vector, record: RecordType) -> Result<ArrayRef> {
    let mut arrays = Vec::with_capacity(record.fields().len());
    for (at, field) in record.fields().iter().enumerate() {
        let values = record_fn::field(vector, record, at, field.ty.physical());
        arrays.push(array_of(&values, field.ty)?);
    }
    if arrays.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(vector.len(), nulls(vector))));
    }
    let array = StructArray::try_new(struct_fields(record), arrays, nulls(vector));
    Ok(Arc::new(array.map_err(|e| Error::internal(format!("struct: {e}")))?))
}

/// The Arrow schema of these columns, all of which may be NULL.
pub fn arrow_schema(columns: &[(String, DataType)]) -> SchemaRef {
    let field = |(name, ty): &(String, DataType)| Field::new(name, arrow_type(*ty), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The columns of `batch`, each with the SQL type that its Arrow type is read as.
///
/// # Errors
/// 0A000 for types without a counterpart, 22008 for times out of range.
pub fn arrow_columns(batch: &RecordBatch) -> Result<Vec<(DataType, Vector)>> {
    let schema = batch.schema_ref();
    let column = |(field, array): (&Arc<Field>, &ArrayRef)| {
        let ty = sql_type(field.name(), field.data_type())?;
        Ok((ty, vector_of(field.name(), &**array)?))
    };
    schema.fields().iter().zip(batch.columns()).map(column).collect()
}

fn nulls(vector: &Vector) -> Option<NullBuffer> {
    let validity = vector.validity.as_ref()?;
    let bytes: Vec<u8> = validity.words().iter().flat_map(|w| w.to_le_bytes()).collect();
    Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bytes), 0, validity.len())))
}

fn numeric(vector: &Vector, precision: u8, scale: u8) -> Result<ArrayRef> {
    let values: Vec<i128> = match &vector.data {
        VectorData::I128(v) => v.clone(),
        VectorData::I64(v) => v.iter().map(|&x| x.into()).collect(),
        VectorData::I32(v) => v.iter().map(|&x| x.into()).collect(),
        _ => return Err(mismatch()),
    };
    let array = Decimal128Array::new(values.into(), nulls(vector));
    let array = array.with_precision_and_scale(precision, scale as i8);
    Ok(Arc::new(array.map_err(|e| Error::internal(format!("decimal: {e}")))?))
}

fn mismatch() -> Error {
    Error::internal("a column is not held as its type says")
}

fn text_array(vector: &Vector) -> Result<ArrayRef> {
    let strings = vector.as_str();
    let mut builder = StringBuilder::with_capacity(strings.len(), strings.len() * 16);
    for i in 0..strings.len() {
        let text = std::str::from_utf8(strings.get(i))
            .map_err(|_| Error::new(SqlState::INVALID_ENCODING, "text is not valid UTF-8"))?;
        builder.append_option((!vector.is_null(i)).then_some(text));
    }
    Ok(Arc::new(builder.finish()))
}

/// The Arrow list of a column of arrays.
fn list_array(vector: &Vector, element: ElementType) -> Result<ArrayRef> {
    let mut values = VectorBuilder::new(element.data_type().physical());
    let mut lengths = Vec::with_capacity(vector.len());
    for i in 0..vector.len() {
        let before = values.len();
        if !vector.is_null(i) {
            let array = vector.as_str().get(i);
            if Shape::of(array, element).dimensions().len() > 1 {
                return Err(Error::unsupported("an array of several dimensions as an Arrow list"));
            }
            values.append(&array_fn::unnest(array, element), None);
        }
        lengths.push(values.len() - before);
    }
    let values = array_of(&values.finish(), element.data_type())?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::new(field, offsets, values, nulls(vector))))
}

/// The Arrow array of a column of type `ty`.
fn array_of(vector: &Vector, ty: DataType) -> Result<ArrayRef> {
    let nulls = nulls(vector);
    Ok(match (&vector.data, ty) {
        (_, DataType::Numeric(n)) => return numeric(vector, n.precision, n.scale),
        (_, DataType::WideNumeric(_) | DataType::Enum(_) | DataType::Packed(_)) => {
            return text_array(&kernels::cast::cast(vector, ty, DataType::Text)?);
        }
        (VectorData::Bool(v), _) => {
            let mut builder = BooleanBuilder::with_capacity(v.len());
            (0..v.len()).for_each(|i| {
                builder.append_option((!vector.is_null(i)).then_some(v[i] != 0));
            });
            Arc::new(builder.finish())
        }
        (VectorData::I32(v), DataType::SmallInt) => {
            let values: Vec<i16> = v.iter().map(|&x| x as i16).collect();
            Arc::new(Int16Array::new(values.into(), nulls))
        }
        (VectorData::I32(v), DataType::Date) => Arc::new(Date32Array::new(v.clone().into(), nulls)),
        (VectorData::I32(v), _) => Arc::new(Int32Array::new(v.clone().into(), nulls)),
        (VectorData::I64(v), DataType::Time(_)) => {
            Arc::new(Time64MicrosecondArray::new(v.clone().into(), nulls))
        }
        (VectorData::I64(v), DataType::Timestamp(_)) => {
            Arc::new(TimestampMicrosecondArray::new(v.clone().into(), nulls))
        }
        (VectorData::I64(v), DataType::TimestampTz(_)) => {
            let array = TimestampMicrosecondArray::new(v.clone().into(), nulls);
            Arc::new(array.with_timezone("UTC"))
        }
        (VectorData::I64(v), _) => Arc::new(Int64Array::new(v.clone().into(), nulls)),
        (VectorData::F64(v), DataType::Real) => {
            let values: Vec<f32> = v.iter().map(|&x| x as f32).collect();
            Arc::new(Float32Array::new(values.into(), nulls))
        }
        (VectorData::F64(v), _) => Arc::new(Float64Array::new(v.clone().into(), nulls)),
        (VectorData::Str(v), DataType::Bytea) => {
            let mut builder = BinaryBuilder::with_capacity(v.len(), v.len() * 16);
            (0..v.len()).for_each(|i| {
                builder.append_option((!vector.is_null(i)).then_some(v.get(i)));
            });
            Arc::new(builder.finish())
        }
        (VectorData::Str(_), DataType::Array(element)) => return list_array(vector, element),
        (VectorData::Str(_), DataType::Record(record)) => return struct_array(vector, record),
        (VectorData::Str(_), _) => return text_array(vector),
        (VectorData::Interval(v), _) => {
            let mut builder = IntervalMonthDayNanoBuilder::with_capacity(v.len());
            for (i, x) in v.iter().enumerate() {
                let nanos = x.micros.checked_mul(1000).ok_or_else(interval_too_long)?;
                let value = IntervalMonthDayNano::new(x.months, x.days, nanos);
                builder.append_option((!vector.is_null(i)).then_some(value));
            }
            Arc::new(builder.finish())
        }
        (VectorData::I128(v), _) => {
            let mut builder = StringBuilder::with_capacity(v.len(), v.len() * 36);
            for i in 0..v.len() {
                let text = text::format(&vector.value(i), ty);
                builder.append_option((!vector.is_null(i)).then_some(text));
            }
            Arc::new(builder.finish())
        }
    })
}

fn interval_too_long() -> Error {
    Error::new(SqlState::DATETIME_OVERFLOW, "an interval is too long for nanoseconds")
}

/// The Arrow batch of `batch`, whose columns are `columns`.
pub(crate) fn record_batch(
    batch: &Batch,
    columns: &[(String, DataType)],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let array = |(column, (_, ty)): (&kernels::Column, &(String, DataType))| {
        array_of(&column.to_vector(), *ty)
    };
    let arrays = batch.columns.iter().zip(columns).map(array).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|e| Error::internal(format!("Arrow batch: {e}")))
}

/// Writes `result` as an Arrow IPC stream.
///
/// # Errors
/// 58030 when `out` cannot be written.
pub fn write_stream(result: &QueryResult, out: &mut dyn Write) -> Result<()> {
    let failed = |e: arrow_schema::ArrowError| {
        Error::new(SqlState::IO_ERROR, format!("could not write the Arrow stream: {e}"))
    };
    let schema = arrow_schema(result.columns());
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(out, &schema).map_err(failed)?;
    for batch in result.batches() {
        writer.write(&record_batch(batch, result.columns(), &schema)?).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}
