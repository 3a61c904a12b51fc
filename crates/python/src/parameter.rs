//! Objects of Python as parameters.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict};
use pyo3::types::{
    PyFloat, PyInt, PyList, PyMapping, PyMemoryView, PySequence, PyString, PyTime, PyTuple, PyType,
};
use types::array::{ArrayBuilder, Nested, Nesting};
use types::calendar::TimeZone;
use types::{DataType, ElementType, Error, Interval, NumericType, Result, SqlState, Value, text};

use crate::error::{exception, raise};
use crate::placeholder;

/// A value for `$n`.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// Its type; [`DataType::Unknown`] where the statement decides.
    pub(crate) ty: DataType,
    value: Value,
}

impl Parameter {
    /// The value for a parameter of type `ty`, which the statement has; texts are read by the
    /// clocks of `zone`.
    ///
    /// # Errors
    /// 22P02 and others for a text that is no value of the type.
    pub(crate) fn for_type(&self, ty: DataType, zone: &TimeZone) -> Result<Value> {
        match &self.value {
            Value::Str(bytes) if self.ty == DataType::Unknown && !ty.is_text() => {
                text::parse_in(std::str::from_utf8(bytes).unwrap_or_default(), ty, zone)
            }
            value => Ok(value.clone()),
        }
    }
}

/// `text` with `$1`... and the values for them.
///
/// # Errors
/// ProgrammingError for a missing name, NotSupportedError for an object that is no value.
pub(crate) fn take(
    text: &str,
    parameters: &Bound<'_, PyAny>,
) -> PyResult<(String, Vec<Parameter>)> {
    let py = parameters.py();
    if parameters.cast::<PyMapping>().is_ok() {
        let (text, names) = placeholder::by_name(text);
        return Ok((text, named(parameters, &names)?));
    }
    let (text, count) = placeholder::by_position(text).map_err(|error| exception(py, &error))?;
    Ok((text, in_order(parameters, count)?))
}

/// As [`take`], for each of `rows`.
///
/// # Errors
/// See [`take`].
pub(crate) fn take_many(
    text: &str,
    rows: &Bound<'_, PyAny>,
) -> PyResult<(String, Vec<Vec<Parameter>>)> {
    let mut rows = rows.try_iter()?;
    let Some(first) = rows.next().transpose()? else { return Ok((text.to_owned(), Vec::new())) };
    let mut values = Vec::new();
    if first.cast::<PyMapping>().is_ok() {
        let (text, names) = placeholder::by_name(text);
        values.push(named(&first, &names)?);
        rows.try_for_each(|row| {
            values.push(named(&row?, &names)?);
            PyResult::Ok(())
        })?;
        return Ok((text, values));
    }
    let by_position = placeholder::by_position(text);
    let (text, count) = by_position.map_err(|error| exception(first.py(), &error))?;
    values.push(in_order(&first, count)?);
    rows.try_for_each(|row| {
        values.push(in_order(&row?, count)?);
        PyResult::Ok(())
    })?;
    Ok((text, values))
}

fn named(parameters: &Bound<'_, PyAny>, names: &[String]) -> PyResult<Vec<Parameter>> {
    let value = |name: &String| match parameters.get_item(name) {
        Ok(object) => parameter(&object),
        Err(_) => {
            let message = format!("no value for the parameter :{name}");
            Err(raise(parameters.py(), "ProgrammingError", SqlState::PROTOCOL_VIOLATION, &message))
        }
    };
    names.iter().map(value).collect()
}

/// The values of a sequence, `count` of them when that is known.
fn in_order(parameters: &Bound<'_, PyAny>, count: Option<usize>) -> PyResult<Vec<Parameter>> {
    let values = if let Ok(tuple) = parameters.cast::<PyTuple>() {
        tuple.iter().map(|object| parameter(&object)).collect::<PyResult<Vec<_>>>()?
    } else if let Ok(list) = parameters.cast::<PyList>() {
        list.iter().map(|object| parameter(&object)).collect::<PyResult<Vec<_>>>()?
    } else if parameters.cast::<PyString>().is_ok() || parameters.cast::<PySequence>().is_err() {
        return Err(PyTypeError::new_err("parameters are a sequence or a mapping"));
    } else {
        parameters.try_iter()?.map(|object| parameter(&object?)).collect::<PyResult<Vec<_>>>()?
    };
    match count.filter(|count| *count != values.len()) {
        None => Ok(values),
        Some(count) => {
            let message = format!("{} parameter values for {count}", values.len());
            Err(raise(parameters.py(), "ProgrammingError", SqlState::PROTOCOL_VIOLATION, &message))
        }
    }
}

fn parameter(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    if object.is_none() {
        return Ok(Parameter { ty: DataType::Unknown, value: Value::Null });
    }
    if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_cow()?;
        if text.contains('\0') {
            let error = Error::new(SqlState::INVALID_ENCODING, "text with a zero character");
            return Err(exception(object.py(), &error));
        }
        return Ok(Parameter { ty: DataType::Unknown, value: Value::text(&text) });
    }
    // A bool is an int.
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Parameter { ty: DataType::Boolean, value: Value::Bool(value.is_true()) });
    }
    if object.cast::<PyInt>().is_ok() {
        return integer(object);
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Parameter { ty: DataType::Double, value: Value::F64(value.value()) });
    }
    if let Some(bytes) = bytes(object)? {
        return Ok(Parameter { ty: DataType::Bytea, value: Value::Str(bytes.into()) });
    }
    if object.cast::<PyList>().is_ok() || object.cast::<PyTuple>().is_ok() {
        return list(object);
    }
    if object.cast::<PyDict>().is_ok() {
        return json(object);
    }
    match moment(object)? {
        Some(parameter) => Ok(parameter),
        None => other(object),
    }
}

/// An array as a literal: the statement decides of what.
fn list(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let array = Value::Str(texts(object)?.into());
    let literal = text::format(&array, DataType::Array(ElementType::Text));
    Ok(Parameter { ty: DataType::Unknown, value: Value::text(&literal) })
}

/// An array of texts, of another dimension where its elements are lists.
fn texts(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let failed = |error: Error| exception(object.py(), &error);
    let elements = object.try_iter()?.collect::<PyResult<Vec<Bound<'_, PyAny>>>>()?;
    let is_list = |element: &Bound<'_, PyAny>| {
        element.cast::<PyList>().is_ok() || element.cast::<PyTuple>().is_ok()
    };
    if elements.iter().any(is_list) {
        let mut nested = Nested::new(ElementType::Text, Nesting::Constructor);
        for element in &elements {
            let inner = is_list(element).then(|| texts(element)).transpose()?;
            nested.push(inner.as_deref()).map_err(failed)?;
        }
        return nested.finish().map_err(failed);
    }
    let mut builder = ArrayBuilder::new();
    for element in &elements {
        let Parameter { ty, value } = parameter(element)?;
        if value.is_null() {
            builder.push_null();
        } else {
            builder.push_text(text::format(&value, ty).as_bytes());
        }
    }
    builder.finish().map_err(failed)
}

/// A dict as JSON text: the statement decides whether it is a JSON or a JSONB.
fn json(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let text = object.py().import("json")?.call_method1("dumps", (object,))?;
    let text = text.cast::<PyString>()?.to_cow()?;
    Ok(Parameter { ty: DataType::Unknown, value: Value::text(&text) })
}

/// INTEGER, BIGINT or NUMERIC, by size.
fn integer(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    Ok(match object.extract::<i64>() {
        Ok(value) => match i32::try_from(value) {
            Ok(value) => Parameter { ty: DataType::Integer, value: Value::I32(value) },
            Err(_) => Parameter { ty: DataType::BigInt, value: Value::I64(value) },
        },
        Err(_) => parsed(object, &object.str()?, DataType::NUMERIC)?,
    })
}

fn bytes(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Some(bytes.to_vec()));
    }
    if object.cast::<PyMemoryView>().is_ok() {
        return object.call_method0("tobytes")?.extract().map(Some);
    }
    Ok(None)
}

/// Dates and times.
fn moment(object: &Bound<'_, PyAny>) -> PyResult<Option<Parameter>> {
    let iso = |ty: DataType| {
        let text = object.call_method0("isoformat")?;
        parsed(object, text.cast::<PyString>()?, ty).map(Some)
    };
    // A datetime is a date.
    if object.cast::<PyDateTime>().is_ok() {
        let is_naive = object.getattr("tzinfo")?.is_none();
        return iso(if is_naive { DataType::TIMESTAMP } else { DataType::TIMESTAMPTZ });
    }
    if object.cast::<PyDate>().is_ok() {
        return iso(DataType::Date);
    }
    if object.cast::<PyTime>().is_ok() {
        return iso(DataType::TIME);
    }
    if object.cast::<PyDelta>().is_ok() {
        let part = |name: &str| object.getattr(name)?.extract::<i64>();
        let micros = part("seconds")? * 1_000_000 + part("microseconds")?;
        let days = object.getattr("days")?.extract::<i32>()?;
        let value = Value::Interval(Interval { months: 0, days, micros });
        return Ok(Some(Parameter { ty: DataType::INTERVAL, value }));
    }
    Ok(None)
}

/// Decimals, UUIDs, scalars of NumPy.
fn other(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    if object.is_instance(DECIMAL.import(py, "decimal", "Decimal")?)? {
        return decimal(object);
    }
    if object.is_instance(UUID.import(py, "uuid", "UUID")?)? {
        return parsed(object, &object.str()?, DataType::Uuid);
    }
    let ty = object.get_type();
    if ty.module()?.to_cow()? == "numpy" && ty.hasattr("item")? {
        let item = object.call_method0("item")?;
        // Moments in nanoseconds come as plain numbers.
        let name = ty.name()?;
        let is_moment = name == "datetime64" || name == "timedelta64";
        if item.get_type().module()?.to_cow()? != "numpy"
            && !(is_moment && item.cast::<PyInt>().is_ok())
        {
            return parameter(&item);
        }
    }
    let message = format!("a parameter of type {}", ty.fully_qualified_name()?);
    Err(exception(py, &Error::unsupported(message)))
}

/// NUMERIC with the digits after the point that the decimal has.
fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let parts = object.call_method0("as_tuple")?;
    let count = parts.getattr("digits")?.len()? as i64;
    // NaN and the infinities have a letter.
    let ty = match parts.getattr("exponent")?.extract::<i64>() {
        Ok(exponent @ -38..=0) if count <= 38 => {
            // At most 38.
            let scale = -exponent as u8;
            DataType::Numeric(NumericType::computed(NumericType::PRECISION_MAX, scale))
        }
        _ => DataType::NUMERIC,
    };
    parsed(object, &object.str()?, ty)
}

fn parsed(
    object: &Bound<'_, PyAny>,
    text: &Bound<'_, PyString>,
    ty: DataType,
) -> PyResult<Parameter> {
    let value = text::parse(&text.to_cow()?, ty).map_err(|e| exception(object.py(), &e))?;
    Ok(Parameter { ty, value })
}
