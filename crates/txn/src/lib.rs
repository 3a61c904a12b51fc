//! Transactions that survive: who sees what, what commits write, and checkpoints.
//!
//! ```text
//! manager: begin, snapshots, commit order, waits, garbage
//! commit -> redo (changes as bytes) -> `wal` (group commit) --replay--> redo -> storage
//! checkpoint: blocks/, manifest-<n>, CURRENT                 all files through `host`
//! ```
//! Invariants: what the log acknowledged as durable is there after any crash, in order; a damaged
//! file is reported with place and expectation, never skipped; a file that a manifest names is
//! never changed.
//! Elsewhere: versions of rows (`storage`), the log (`wal`), files (`host`), statements and the
//! catalog (`engine`).
#![forbid(unsafe_code)]

// Floors: lowest first.
pub mod manager;
pub mod redo;
pub mod checkpoint;
