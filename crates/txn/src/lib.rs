//! Transactions that survive: who sees what, log, checkpoints, and the files below them.
//!
//! ```text
//! manager: begin, snapshots, commit order, waits, garbage
//! commit -> redo (changes as bytes) -> log (wal/, group commit) --replay--> redo -> storage
//! checkpoint: blocks/, manifest-<n>, CURRENT            all files through io (real | simulated)
//! ```
//! Invariants: what the log acknowledged as durable is there after any crash, in order; a damaged
//! file is reported with place and expectation, never skipped; a file that a manifest names is
//! never changed.
//! Elsewhere: versions of rows (`storage`), statements and the catalog (`engine`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod codec;
mod damage;
pub mod manager;
pub mod io;
pub mod log;
pub mod redo;
pub mod checkpoint;

pub use damage::Finding;
