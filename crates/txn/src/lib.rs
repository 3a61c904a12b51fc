//! Transactions that survive: log, checkpoints, and the files below them.
//!
//! ```text
//! manager: begin, snapshots, commit order, waits, garbage
//! ```
//! Elsewhere: versions of rows (`storage`), statements and the catalog (`engine`).
#![forbid(unsafe_code)]

pub mod manager;
