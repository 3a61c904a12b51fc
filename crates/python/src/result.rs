//! Results of statements.

use std::sync::{Arc, Mutex, PoisonError};

use engine::QueryResult;
use formats::{Intervals, ResultReader};
use kernels::{Column, Vector};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use types::DataType;

use crate::{stream, value};

/// The rows of a statement and how far they were fetched.
#[pyclass(frozen, module = "tessera._tessera")]
pub(crate) struct Result {
    result: Arc<QueryResult>,
    cursor: Mutex<Cursor>,
}

/// The next row: `row` of batch `batch`.
#[derive(Default)]
struct Cursor {
    batch: usize,
    row: usize,
    /// Columns of the batch.
    columns: Vec<Arc<Vector>>,
}

impl Result {
    pub(crate) fn new(result: QueryResult) -> Self {
        Self { result: Arc::new(result), cursor: Mutex::default() }
    }
}

#[pymethods]
impl Result {
    /// The command tag: "SELECT 5", "INSERT 0 3".
    #[getter]
    fn tag(&self) -> &str {
        self.result.tag()
    }

    /// True when the statement has rows, even if there are none of them.
    #[getter]
    fn has_rows(&self) -> bool {
        self.result.has_rows()
    }

    /// Name, type, precision and scale of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, &'static str, Option<u8>, Option<u8>)> {
        let column = |(name, ty): &(String, DataType)| {
            let (precision, scale) = match ty {
                DataType::Numeric(n) => (Some(n.precision), Some(n.scale)),
                _ => (None, None),
            };
            (name.clone(), ty.name(), precision, scale)
        };
        self.result.columns().iter().map(column).collect()
    }

    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.result.row_count()
    }

    /// The next rows, at most `count`, as tuples.
    fn fetch<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let types: Vec<DataType> = self.result.columns().iter().map(|(_, ty)| *ty).collect();
        let mut rows = Vec::new();
        let mut cursor = self.cursor.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        while rows.len() < count
            && let Some(batch) = self.result.batches().get(cursor.batch)
        {
            if cursor.row == batch.rows {
                *cursor = Cursor { batch: cursor.batch + 1, ..Cursor::default() };
                continue;
            }
            if cursor.columns.is_empty() {
                cursor.columns = batch.columns.iter().map(Column::to_plain).collect();
            }
            let end = batch.rows.min(cursor.row.saturating_add(count - rows.len()));
            for row in cursor.row..end {
                let cell =
                    |(column, ty): (&Arc<Vector>, &DataType)| value::cell(py, column, row, *ty);
                let cells =
                    cursor.columns.iter().zip(&types).map(cell).collect::<PyResult<Vec<_>>>()?;
                rows.push(PyTuple::new(py, cells)?);
            }
            cursor.row = end;
        }
        drop(cursor);
        PyList::new(py, rows)
    }

    /// All rows as an Arrow stream, whatever was fetched.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer give its own schema.
        let _ = requested_schema;
        let reader = ResultReader::new(Arc::clone(&self.result), Intervals::Calendar);
        stream::export(py, Box::new(reader))
    }

    /// The result with intervals as durations, for DataFrames.
    fn with_durations(&self) -> Durations {
        Durations(Arc::clone(&self.result))
    }
}

/// A result whose intervals are durations.
#[pyclass(frozen, module = "tessera._tessera")]
pub(crate) struct Durations(Arc<QueryResult>);

#[pymethods]
impl Durations {
    /// All rows as an Arrow stream.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = ResultReader::new(Arc::clone(&self.0), Intervals::Durations);
        stream::export(py, Box::new(reader))
    }
}
