//! Shared scans: one pass over the rows answers all queries of a batch.
//!
//! ```text
//! requests -> Plan       literals by type, equal conjuncts once
//! thread   -> Worker     reads pages; rows of each query to its sink, aggregates kept
//! end      -> ScanEnd    partial aggregates of all workers, made one
//! ```
//! Invariants: a row is given to each query at most once, in the version that the query's snapshot
//! sees; a worker's memory does not grow with the rows.
//! Elsewhere: which rows there are (`log_store`, `delta_main`), queues and threads (`server`).
//! Source: Pilman 2017, sections 4.1.9 and 4.6.2. Departure: evaluators are loops over columns and
//! rows whose types are fixed, not generated code.

mod check;
mod total;
mod rows;
mod plan;
mod vectors;
mod worker;

pub(crate) use plan::{Plan, run_parts};
pub use rows::{FieldValue, Flow, Rows, ScanEnd, ScanRequest, Sink};
pub(crate) use total::Total;
pub(crate) use vectors::{Bounds, Cell, Columns, FixedColumn, TextColumn, TextMeta, copy_cell};
pub(crate) use worker::Worker;
