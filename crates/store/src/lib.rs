//! Rows by key and version in main memory, with conditional writes and scans that queries share.
//!
//! ```text
//! Table    get, insert, update, remove, revert by key; scan for many queries at once; collect
//!            |-- model::Model           a map behind a lock: the reference
//!            |-- log_store::LogStore    one log: scans read whole rows, garbage among them
//!            '-- delta_main             a log that is merged into pages:
//!                  RowStore, ColumnStore    scans read whole rows | the fields that they need
//! image    the versions of a table as bytes, for snapshots on disk
//! server   tables by name, a queue of scans, threads that scan and collect
//! ```
//! Invariants: a snapshot is sent with each call, and decides alone what is read; a write fails
//! when the newest version of its key is not in it. No call needs more than linear time and, apart
//! from the rows kept, constant memory.
//! Elsewhere: who gives versions out, transactions over many keys, indexes (`shared`); SQL
//! (`engine`).
//! Source: Pilman 2017, chapters 3 and 4.
#![forbid(unsafe_code)]

// Floors: lowest first.
mod error;
mod schema;
mod tuple;
mod snapshot;
mod ranges;
mod query;
mod scan;
pub mod codec;
mod table;
mod image;
pub mod model;
pub mod conformance;
mod sync;
mod gate;
mod key_map;
mod log;
pub mod log_store;
pub mod delta_main;
pub mod server;

pub use error::{Result, Status, StoreError};
pub use image::{Keep, redo_snapshot};
pub use query::{Aggregate, Output, Partition, Predicate, Query, Selection, Test, part_of};
pub use ranges::{HashRange, Ranges, hash_of};
pub use scan::code;
pub use scan::{FieldValue, Flow, Rows, ScanEnd, ScanRequest, Sink};
pub use schema::{Field, FieldId, FieldType, Key, Nulls, Place, Schema, TableKind};
pub use snapshot::{Access, Snapshot, Version};
pub use table::{Fetched, Memory, Newest, Table, TableOptions, TableStats};
pub use tuple::{TUPLE_BYTES_MAX, Tuple};
