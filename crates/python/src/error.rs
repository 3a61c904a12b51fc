//! Errors as exceptions of `tessera`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use types::{Error, SqlState};

/// The exception of `error`: of the class that DB-API has for its SQLSTATE, with `sqlstate`,
/// `position`, `detail`, `hint`, and the names of what it is about.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    match build(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// An exception of class `name` with SQLSTATE `state`.
pub(crate) fn raise(py: Python<'_>, name: &str, state: SqlState, message: &str) -> PyErr {
    let built = make(py, name, message).and_then(|exception| {
        exception.setattr("sqlstate", state.as_str())?;
        Ok(exception)
    });
    built.map_or_else(|failure| failure, PyErr::from_value)
}

fn make<'py>(py: Python<'py>, name: &str, message: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("tessera._errors")?.unbind()))?;
    module.bind(py).getattr(name)?.call1((message,))
}

fn build<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let mut message = error.message().to_owned();
    if let Some(place) = error.position() {
        message.push_str(&format!(" at line {} column {}", place.line, place.column));
    }
    for (label, text) in [("DETAIL", error.detail()), ("HINT", error.hint())] {
        text.into_iter().for_each(|text| message.push_str(&format!("\n{label}: {text}")));
    }
    let exception = make(py, class(error.state().as_str()), &message)?;
    exception.setattr("sqlstate", error.state().as_str())?;
    exception.setattr("position", error.position().map(|place| (place.line, place.column)))?;
    exception.setattr("detail", error.detail())?;
    exception.setattr("hint", error.hint())?;
    if let Some(about) = error.about() {
        exception.setattr("schema_name", &about.schema)?;
        exception.setattr("table_name", &about.table)?;
        exception.setattr("column_name", about.column.as_ref())?;
        exception.setattr("constraint_name", about.constraint.as_ref())?;
    }
    Ok(exception)
}

/// The class of DB-API for a SQLSTATE, as psycopg has them.
fn class(state: &str) -> &'static str {
    match (state, &state[..2]) {
        ("08P01", _) => "ProgrammingError",
        (_, "0A") => "NotSupportedError",
        (_, "20" | "21" | "3D" | "3F" | "42" | "44") => "ProgrammingError",
        (_, "22") => "DataError",
        (_, "23") => "IntegrityError",
        (_, "24" | "25" | "2B" | "2D" | "2F" | "38" | "39" | "3B" | "P0" | "XX") => "InternalError",
        _ => "OperationalError",
    }
}
