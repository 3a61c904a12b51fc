//! Arrow streams through capsules, and objects of Python that have one in FROM.
//!
//! Source: the Arrow PyCapsule interface, <https://arrow.apache.org/docs/format/CDataInterface/>.

use std::collections::HashMap;

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchReader};
use engine::registry::Outside;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sql::catalog::TableFunctionRef;
use types::{Error, Result, SqlState};

/// The name that a capsule with a stream has.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A capsule that gives out `reader`.
///
/// # Errors
/// Errors of Python.
pub(crate) fn export<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Takes the stream out of what `object.__arrow_c_stream__()` gives.
fn import(
    object: &Bound<'_, PyAny>,
) -> PyResult<std::result::Result<ArrowArrayStreamReader, Error>> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid stream (the interface's contract, checked by
    // name above), alive as long as `capsule`; nobody else uses it while this thread is attached.
    // The stream is moved out, and what stays behind is marked as released.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    Ok(reader.map_err(|error| unreadable(&error)))
}

/// 42809: a stream that is no table.
fn unreadable(error: &arrow_schema::ArrowError) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("the Arrow stream is no table: {error}"))
}

type Found = Option<Result<TableFunctionRef>>;

/// Python's objects by the names that a statement reads; each is asked for its stream once.
pub(crate) struct Objects {
    /// Called with a name; gives an object with `__arrow_c_stream__`, or None.
    find: Py<PyAny>,
    found: Mutex<HashMap<String, Found>>,
    raised: Mutex<Option<PyErr>>,
}

impl Objects {
    pub(crate) fn new(find: Py<PyAny>) -> Self {
        Self { find, found: Mutex::default(), raised: Mutex::default() }
    }

    /// Exception that Python raised when it was asked.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().take()
    }

    fn look_up(&self, name: &str) -> Found {
        let reader = Python::attach(|py| {
            let object = self.find.bind(py).call1((name,))?;
            if object.is_none() { Ok(None) } else { import(&object).map(Some) }
        });
        match reader {
            Ok(None) => None,
            Ok(Some(reader)) => Some(reader.and_then(|reader| read(name, reader))),
            Err(raised) => {
                *self.raised.lock() = Some(raised);
                Some(Err(Error::new(SqlState::UNDEFINED_TABLE, format!("\"{name}\" failed"))))
            }
        }
    }
}

/// All batches of `reader`; their memory is shared with whoever made them.
fn read(name: &str, reader: ArrowArrayStreamReader) -> Result<TableFunctionRef> {
    let schema = reader.schema();
    let failed = |error| {
        let message = format!("the Arrow stream of \"{name}\" failed: {error}");
        Error::new(SqlState::IO_ERROR, message)
    };
    let batches = reader.collect::<std::result::Result<Vec<RecordBatch>, _>>().map_err(failed)?;
    formats::arrow_table(name, &schema, batches)
}

impl Outside for Objects {
    fn find(&self, name: &str) -> Found {
        let mut found = self.found.lock();
        if let Some(found) = found.get(name) {
            return found.clone();
        }
        let object = self.look_up(name);
        found.insert(name.to_owned(), object.clone());
        object
    }
}
