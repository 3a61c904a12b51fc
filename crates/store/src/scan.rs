//! Shared scans: one pass over the rows answers all queries of a batch.
//!
//! ```text
//! requests -> Plan       literals by type, equal conjuncts once
//! thread   -> Worker     reads pages; rows of each query to its sink, aggregates kept
//! end      -> ScanEnd    partial aggregates of all workers, made one
//! ```
//! Invariants: a row is given to each query at most once, in the version that the query's snapshot
//! sees; a worker's memory does not grow with the rows. Three evaluators give the same: row by row
//! (`worker`), loops over columns (`vectors`), and code that is made for the pass (`coded`).
//! Elsewhere: which rows there are (`log_store`, `delta_main`), queues and threads (`server`), who
//! makes code (crate `codegen`; without it there is none).
//! Source: Pilman 2017, sections 4.1.9 and 4.6.2.

mod check;
mod total;
mod columns;
pub mod code;
mod rows;
mod plan;
mod aside;
mod vectors;
mod worker;
mod coded;

pub(crate) use aside::Coding;
pub(crate) use coded::Share;
pub(crate) use columns::{Bounds, Columns, FixedColumn, TextColumn, TextMeta};
pub(crate) use plan::{Plan, run_parts};
pub use rows::{FieldValue, Flow, Rows, ScanEnd, ScanRequest, Sink};
pub(crate) use total::Total;
pub(crate) use vectors::{Cell, copy_cell};
pub(crate) use worker::Worker;
