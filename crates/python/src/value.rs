//! Values as objects of Python.

use kernels::{Vector, VectorBuilder, VectorData};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyList, PyString, PyTuple};
use pyo3::types::{PyTime, PyType, PyTzInfo};
use types::array::Shape;
use types::{DataType, ElementType, Error, Interval, RecordType, SqlState, calendar, text};

use crate::error::exception;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Row `row` of a column of type `ty`; None for NULL.
///
/// # Errors
/// DataError for times that Python has not: beyond the years 1 to 9999, 24:00:00.
pub(crate) fn cell<'py>(
    py: Python<'py>,
    column: &Vector,
    row: usize,
    ty: DataType,
) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match (&column.data, ty) {
        (_, DataType::Numeric(_) | DataType::WideNumeric(_)) => {
            decimal(py, &text::format(&column.value(row), ty))?
        }
        (VectorData::Bool(v), _) => (v[row] != 0).into_bound_py_any(py)?,
        (VectorData::I32(v), DataType::Date) => date(py, v[row])?,
        (VectorData::I32(_), DataType::Enum(_)) => {
            PyString::new(py, &text::format(&column.value(row), ty)).into_any()
        }
        (VectorData::I32(v), _) => v[row].into_bound_py_any(py)?,
        (VectorData::I64(v), DataType::Time(_)) => time(py, v[row])?,
        (VectorData::I64(v), DataType::Timestamp(_)) => timestamp(py, v[row], None)?,
        (VectorData::I64(v), DataType::TimestampTz(_)) => {
            let utc = PyTzInfo::utc(py)?;
            timestamp(py, v[row], Some(&utc))?
        }
        (VectorData::I64(v), _) => v[row].into_bound_py_any(py)?,
        (VectorData::F64(v), _) => PyFloat::new(py, v[row]).into_any(),
        (VectorData::Str(v), DataType::Bytea) => PyBytes::new(py, v.get(row)).into_any(),
        (VectorData::Str(_), DataType::Char(_) | DataType::Packed(_)) => {
            PyString::new(py, &text::format(&column.value(row), ty)).into_any()
        }
        (VectorData::Str(v), DataType::Array(element)) => list(py, v.get(row), element)?,
        (VectorData::Str(v), DataType::Record(record)) => tuple(py, v.get(row), record)?,
        (VectorData::Str(v), DataType::Json | DataType::Jsonb) => {
            let text = PyString::from_bytes(py, v.get(row))?;
            py.import("json")?.call_method1("loads", (text,))?
        }
        (VectorData::Str(v), _) => PyString::from_bytes(py, v.get(row))?.into_any(),
        (VectorData::Interval(v), _) => interval(py, v[row])?,
        (VectorData::I128(v), DataType::Uuid) => uuid(py, v[row])?,
        (VectorData::I128(v), _) => v[row].into_bound_py_any(py)?,
    })
}

/// The fields of a record.
fn tuple<'py>(py: Python<'py>, bytes: &[u8], record: RecordType) -> PyResult<Bound<'py, PyAny>> {
    let fields = types::record::Fields::new(bytes, record).zip(record.fields());
    let cells = fields.map(|(value, field)| {
        let mut column = VectorBuilder::new(field.ty.physical());
        column.push_value(&value);
        cell(py, &column.finish(), 0, field.ty)
    });
    Ok(PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// The elements of an array.
fn list<'py>(py: Python<'py>, array: &[u8], element: ElementType) -> PyResult<Bound<'py, PyAny>> {
    let ty = element.data_type();
    let mut elements = VectorBuilder::new(ty.physical());
    types::array::values(array, element).iter().for_each(|value| elements.push_value(value));
    let elements = elements.finish();
    let cells = (0..elements.len()).map(|at| cell(py, &elements, at, ty));
    let mut cells = cells.collect::<PyResult<Vec<_>>>()?;
    // Lists of the innermost dimension first.
    let shape = Shape::of(array, element);
    for dimension in shape.dimensions().iter().skip(1).rev() {
        // An array with elements has some in each dimension.
        let lists = cells.chunks(dimension.length as usize).map(|part| PyList::new(py, part));
        cells = lists.map(|list| Ok(list?.into_any())).collect::<PyResult<Vec<_>>>()?;
    }
    Ok(PyList::new(py, cells)?.into_any())
}

fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    module: &str,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, module, name)
}

fn decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &DECIMAL, "decimal", "Decimal")?.call1((text,))
}

/// Held with the top bit flipped, so that signed order is byte order.
fn uuid(py: Python<'_>, value: i128) -> PyResult<Bound<'_, PyAny>> {
    static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let bytes = (value ^ i128::MIN).to_be_bytes();
    let arguments = (py.None(), PyBytes::new(py, &bytes));
    class(py, &UUID, "uuid", "UUID")?.call1(arguments)
}

/// DataError 22008: Python has no such `what`.
fn beyond(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("{what} is out of the range of Python's");
    let error = Error::new(SqlState::DATETIME_OVERFLOW, message);
    exception(py, &error.with_hint("Cast it to text."))
}

fn date(py: Python<'_>, days: i32) -> PyResult<Bound<'_, PyAny>> {
    let (year, month, day) = civil(py, days, "a date")?;
    Ok(PyDate::new(py, year, month, day)?.into_any())
}

/// Year, month and day that Python has.
fn civil(py: Python<'_>, days: i32, what: &str) -> PyResult<(i32, u8, u8)> {
    if !calendar::is_finite_date(days) {
        return Err(beyond(py, what));
    }
    match calendar::civil_from_days(days) {
        (year @ 1..=9999, month, day) => Ok((year, month as u8, day as u8)),
        _ => Err(beyond(py, what)),
    }
}

/// Hour, minute, second and microsecond of a time of day.
fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let seconds = micros / SECOND;
    let (minutes, second) = (seconds / 60, seconds % 60);
    ((minutes / 60) as u8, (minutes % 60) as u8, second as u8, (micros % SECOND) as u32)
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    if !(0..DAY).contains(&micros) {
        return Err(beyond(py, "the time 24:00:00"));
    }
    let (hour, minute, second, micros) = clock(micros);
    Ok(PyTime::new(py, hour, minute, second, micros, None)?.into_any())
}

fn timestamp<'py>(
    py: Python<'py>,
    micros: i64,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !calendar::is_finite_timestamp(micros) {
        return Err(beyond(py, "an infinite timestamp"));
    }
    let (days, of_day) = calendar::split_timestamp(micros);
    let (year, month, day) = civil(py, days, "a timestamp")?;
    let (hour, minute, second, micros) = clock(of_day);
    let value = PyDateTime::new(py, year, month, day, hour, minute, second, micros, zone)?;
    Ok(value.into_any())
}

/// Elapsed time: a month is 30 days and a year 365, as psycopg has it.
fn interval(py: Python<'_>, value: Interval) -> PyResult<Bound<'_, PyAny>> {
    let (years, months) = (i64::from(value.months / 12), i64::from(value.months % 12));
    let days = years * 365 + months * 30 + i64::from(value.days) + value.micros.div_euclid(DAY);
    let of_day = value.micros.rem_euclid(DAY);
    let (seconds, micros) = ((of_day / SECOND) as i32, (of_day % SECOND) as i32);
    let days = i32::try_from(days).map_err(|_| beyond(py, "an interval"))?;
    match PyDelta::new(py, days, seconds, micros, true) {
        Ok(delta) => Ok(delta.into_any()),
        Err(_) => Err(beyond(py, "an interval")),
    }
}
