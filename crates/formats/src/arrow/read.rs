//! Arrow arrays as our columns.

use arrow_array::cast::AsArray;
use arrow_array::types as at;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType as Arrow, IntervalUnit, TimeUnit};
use kernels::{Bitmap, StrBuilder, Vector, VectorData, array_fn};
use types::array::ArrayBuilder;
use types::{DataType, Error, Interval, Result, SqlState};

/// The SQL type that a column of Arrow type `ty` is read as.
///
/// # Errors
/// 0A000 for nested and other types without a counterpart.
pub(crate) fn sql_type(name: &str, ty: &Arrow) -> Result<DataType> {
    Ok(match ty {
        Arrow::Boolean => DataType::Boolean,
        Arrow::Int8 | Arrow::Int16 | Arrow::UInt8 => DataType::SmallInt,
        Arrow::Int32 | Arrow::UInt16 => DataType::Integer,
        Arrow::Int64 | Arrow::UInt32 => DataType::BigInt,
        Arrow::UInt64 => DataType::numeric(20, 0),
        Arrow::Float16 | Arrow::Float32 => DataType::Real,
        Arrow::Float64 => DataType::Double,
        Arrow::Decimal32(p, s) | Arrow::Decimal64(p, s) | Arrow::Decimal128(p, s) if *s >= 0 => {
            DataType::numeric(*p, *s as u8)
        }
        // Nothing but NULLs.
        Arrow::Null => DataType::Text,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => DataType::Text,
        Arrow::Dictionary(_, values) => sql_type(name, values)?,
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => {
            DataType::Bytea
        }
        Arrow::Date32 | Arrow::Date64 => DataType::Date,
        Arrow::Time32(_) | Arrow::Time64(_) => DataType::TIME,
        Arrow::Timestamp(_, None) => DataType::TIMESTAMP,
        Arrow::Timestamp(_, Some(_)) => DataType::TIMESTAMPTZ,
        Arrow::Interval(IntervalUnit::MonthDayNano) | Arrow::Duration(_) => DataType::INTERVAL,
        Arrow::List(field) => match DataType::array_of(sql_type(name, field.data_type())?) {
            Some(array) => array,
            None => {
                let what = format!("column \"{name}\", an array of several dimensions");
                return Err(Error::unsupported(what));
            }
        },
        other => {
            return Err(Error::unsupported(format!("column \"{name}\" of Arrow type {other}")));
        }
    })
}

/// XX001: an array that is not what its type says.
fn damaged(name: &str, error: &arrow_schema::ArrowError) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("column \"{name}\" cannot be read: {error}"))
}

fn validity(array: &dyn Array) -> Option<Bitmap> {
    let nulls = array.nulls()?;
    Some(Bitmap::from_fn(array.len(), |i| nulls.is_valid(i)))
}

fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> &PrimitiveArray<T> {
    array.as_primitive::<T>()
}

fn narrow<T: ArrowPrimitiveType>(array: &dyn Array) -> VectorData
where
    i32: From<T::Native>,
{
    VectorData::I32(values::<T>(array).values().iter().map(|&v| i32::from(v)).collect())
}

/// Values times `multiply`, divided by `divide`; overflow of a value that is not NULL is 22008.
fn scaled<T: ArrowPrimitiveType>(
    array: &dyn Array,
    multiply: i64,
    divide: i64,
) -> Result<VectorData>
where
    i64: From<T::Native>,
{
    let scale = |(i, &v): (usize, &T::Native)| match i64::from(v).checked_mul(multiply) {
        Some(v) => Ok(v.div_euclid(divide)),
        None if array.is_null(i) => Ok(0),
        None => Err(Error::new(SqlState::DATETIME_OVERFLOW, "timestamp out of range")),
    };
    Ok(VectorData::I64(
        values::<T>(array).values().iter().enumerate().map(scale).collect::<Result<_>>()?,
    ))
}

fn strings<'a>(items: impl Iterator<Item = Option<&'a [u8]>>, rows: usize) -> VectorData {
    let mut builder = StrBuilder::with_capacity(rows);
    items.for_each(|item| builder.push(item.unwrap_or_default()));
    VectorData::Str(builder.finish())
}

fn text(array: &dyn Array) -> VectorData {
    let rows = array.len();
    match array.data_type() {
        Arrow::Utf8 => strings(array.as_string::<i32>().iter().map(|s| s.map(str::as_bytes)), rows),
        Arrow::LargeUtf8 => {
            strings(array.as_string::<i64>().iter().map(|s| s.map(str::as_bytes)), rows)
        }
        _ => strings(array.as_string_view().iter().map(|s| s.map(str::as_bytes)), rows),
    }
}

fn bytes(array: &dyn Array) -> VectorData {
    let rows = array.len();
    match array.data_type() {
        Arrow::Binary => strings(array.as_binary::<i32>().iter(), rows),
        Arrow::LargeBinary => strings(array.as_binary::<i64>().iter(), rows),
        Arrow::BinaryView => strings(array.as_binary_view().iter(), rows),
        _ => strings(array.as_fixed_size_binary().iter(), rows),
    }
}

fn time(array: &dyn Array, unit: TimeUnit) -> Result<VectorData> {
    match (array.data_type(), unit) {
        (Arrow::Time32(_), TimeUnit::Second) => scaled::<at::Time32SecondType>(array, 1_000_000, 1),
        (Arrow::Time32(_), _) => scaled::<at::Time32MillisecondType>(array, 1_000, 1),
        (_, TimeUnit::Nanosecond) => scaled::<at::Time64NanosecondType>(array, 1, 1_000),
        _ => scaled::<at::Time64MicrosecondType>(array, 1, 1),
    }
}

fn timestamp(array: &dyn Array, unit: TimeUnit) -> Result<VectorData> {
    match unit {
        TimeUnit::Second => scaled::<at::TimestampSecondType>(array, 1_000_000, 1),
        TimeUnit::Millisecond => scaled::<at::TimestampMillisecondType>(array, 1_000, 1),
        TimeUnit::Microsecond => scaled::<at::TimestampMicrosecondType>(array, 1, 1),
        TimeUnit::Nanosecond => scaled::<at::TimestampNanosecondType>(array, 1, 1_000),
    }
}

/// The arrays that an Arrow list column holds.
fn lists(name: &str, array: &dyn Array, ty: DataType) -> Result<VectorData> {
    let (list, element) = (array.as_list::<i32>(), types::array::element_of(ty)?);
    let values = vector_of(name, list.values())?;
    let mut out = StrBuilder::with_capacity(list.len());
    for bounds in list.value_offsets().windows(2) {
        let mut row = ArrayBuilder::new();
        for at in bounds[0]..bounds[1] {
            // Offsets are not negative.
            array_fn::push_row(&mut row, &values, at as usize, element);
        }
        out.push(&row.finish()?);
    }
    Ok(VectorData::Str(out.finish()))
}

/// Elapsed time as intervals without months and days.
fn duration(array: &dyn Array, unit: TimeUnit) -> Result<VectorData> {
    let micros = match unit {
        TimeUnit::Second => scaled::<at::DurationSecondType>(array, 1_000_000, 1),
        TimeUnit::Millisecond => scaled::<at::DurationMillisecondType>(array, 1_000, 1),
        TimeUnit::Microsecond => scaled::<at::DurationMicrosecondType>(array, 1, 1),
        TimeUnit::Nanosecond => scaled::<at::DurationNanosecondType>(array, 1, 1_000),
    };
    let VectorData::I64(micros) = micros? else { return Err(Error::internal("microseconds")) };
    let interval = |&micros: &i64| Interval { months: 0, days: 0, micros };
    Ok(VectorData::Interval(micros.iter().map(interval).collect()))
}

/// Milliseconds as days; a value that is not NULL and beyond 32 bits of days is 22008.
fn days_of_millis(array: &dyn Array) -> Result<VectorData> {
    let day = |(i, &v): (usize, &i64)| match i32::try_from(v.div_euclid(86_400_000)) {
        Ok(day) => Ok(day),
        Err(_) if array.is_null(i) => Ok(0),
        Err(_) => Err(Error::new(SqlState::DATETIME_OVERFLOW, "date out of range")),
    };
    let millis = values::<at::Date64Type>(array).values().iter().enumerate();
    Ok(VectorData::I32(millis.map(day).collect::<Result<_>>()?))
}

fn decimals<T: ArrowPrimitiveType>(array: &dyn Array, ty: DataType) -> VectorData
where
    i128: From<T::Native>,
{
    let wide = values::<T>(array).values().iter().map(|&v| i128::from(v));
    match ty.physical() {
        types::PhysicalType::I64 => VectorData::I64(wide.map(|v| v as i64).collect()),
        _ => VectorData::I128(wide.collect()),
    }
}

/// The column of `array`, held as [`sql_type`] says.
///
/// # Errors
/// 0A000 for types without a counterpart, 22008 for times out of range.
pub(crate) fn vector_of(name: &str, array: &dyn Array) -> Result<Vector> {
    let ty = sql_type(name, array.data_type())?;
    match array.data_type() {
        Arrow::Null => {
            return Ok(Vector::repeat(ty.physical(), &types::Value::Null, array.len()));
        }
        Arrow::Dictionary(..) => {
            let coded = array.as_any_dictionary();
            let plain = arrow_select::take::take(coded.values(), coded.keys(), None)
                .map_err(|e| damaged(name, &e))?;
            return vector_of(name, &*plain);
        }
        _ => {}
    }
    let data = match array.data_type() {
        Arrow::Boolean => {
            let values = array.as_boolean();
            VectorData::Bool((0..values.len()).map(|i| u8::from(values.value(i))).collect())
        }
        Arrow::Int8 => narrow::<at::Int8Type>(array),
        Arrow::UInt8 => narrow::<at::UInt8Type>(array),
        Arrow::Int16 => narrow::<at::Int16Type>(array),
        Arrow::UInt16 => narrow::<at::UInt16Type>(array),
        Arrow::Int32 => VectorData::I32(values::<at::Int32Type>(array).values().to_vec()),
        Arrow::Int64 => VectorData::I64(values::<at::Int64Type>(array).values().to_vec()),
        Arrow::UInt32 => scaled::<at::UInt32Type>(array, 1, 1)?,
        Arrow::UInt64 => {
            let wide = values::<at::UInt64Type>(array).values().iter().map(|&v| v.into());
            VectorData::I128(wide.collect())
        }
        Arrow::Float16 => {
            let wide = values::<at::Float16Type>(array).values().iter().map(|&v| v.into());
            VectorData::F64(wide.collect())
        }
        Arrow::Float32 => {
            let wide = values::<at::Float32Type>(array).values().iter().map(|&v| v.into());
            VectorData::F64(wide.collect())
        }
        Arrow::Float64 => VectorData::F64(values::<at::Float64Type>(array).values().to_vec()),
        Arrow::Decimal32(..) => decimals::<at::Decimal32Type>(array, ty),
        Arrow::Decimal64(..) => decimals::<at::Decimal64Type>(array, ty),
        Arrow::Decimal128(..) => decimals::<at::Decimal128Type>(array, ty),
        Arrow::Date32 => VectorData::I32(values::<at::Date32Type>(array).values().to_vec()),
        Arrow::Date64 => days_of_millis(array)?,
        Arrow::Time32(unit) | Arrow::Time64(unit) => time(array, *unit)?,
        Arrow::Duration(unit) => duration(array, *unit)?,
        Arrow::Timestamp(unit, _) => timestamp(array, *unit)?,
        Arrow::Interval(_) => {
            let interval = |v: &at::IntervalMonthDayNano| Interval {
                months: v.months,
                days: v.days,
                micros: v.nanoseconds / 1_000,
            };
            let months = values::<at::IntervalMonthDayNanoType>(array).values();
            VectorData::Interval(months.iter().map(interval).collect())
        }
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => text(array),
        Arrow::List(_) => lists(name, array, ty)?,
        _ => bytes(array),
    };
    Ok(Vector::with_validity(data, validity(array)))
}
