//! The extension module `tessera._tessera`: sessions, results, and Arrow streams for Python.
//!
//! ```text
//! tessera (python/tessera: DB-API, DataFrames) -> _tessera.Session -> engine::Session
//!                                                 _tessera.Result  -> engine::QueryResult
//! ```
//! Invariants: whoever waits (for a statement, a lock, a file) waits detached from the interpreter;
//! what is locked is never locked by a thread that is attached. A process made by fork does not
//! touch the database of its parent.
//!
//! `unsafe` is the hand-over of an Arrow stream out of a capsule (`stream`), nothing else.
#![deny(unsafe_op_in_unsafe_fn)]

// Floors: lowest first.
mod error;
mod handle;
mod interrupt;
mod placeholder;
mod parameter;
mod stream;
mod value;
mod result;
mod session;

#[pyo3::pymodule]
#[pyo3(name = "_tessera")]
mod module {
    #[pymodule_export]
    use crate::result::{Durations, Result};
    #[pymodule_export]
    use crate::session::Session;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
