//! Makes commits survive: their redo in the log, checkpoints, recovery.
//!
//! ```text
//! commit: encode (redo; files of loaded blocks) -> latch: append -> wait (group commit) -> done
//! checkpoint: latch: snapshot, place in the log -> changed blocks, catalog -> manifest -> clean up
//! open: manifest -> catalog, blocks -> log by TID -> indexes
//! ```
//! Invariants: nothing is written to a file under the commit latch; a file that the log or a
//! manifest names was synced before; temporary tables, views and sequences are in no file; no
//! session and no database is known here, only what a caller hands over ([`Stores`]).
//!
//! Elsewhere: files and their damage (`wal`, `txn::checkpoint`), definitions as bytes
//! (`catalog::codec`), who commits (`engine::transaction`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod damage;
mod marks;
mod objects;
mod files;
mod homes;
mod handed;
mod verify;
mod recover;
mod background;
mod durable;

pub use durable::{Durable, Effects, Opened, Redo, check, open};
pub use handed::{CHECKPOINT_WAL_BYTES, Files, Opening, Stores};
pub use marks::{COMMITTED_MAX, Marks, Named};
pub use recover::RecoveryReport;
pub use verify::{
    CheckReport, tables as check_tables, tables_beside_others as check_beside_others,
};
pub use wal::{Background, Lsn};
