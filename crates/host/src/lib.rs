//! The machine below the database, behind traits: files that tests can take away, time that they
//! can move.
//!
//! ```text
//! wal, checkpoints -> Io, File -> RealIo (rustix) | SimIo (memory, seed, crash(), faults)
//! sessions         -> Clock    -> RealClock       | SimClock (stands until it is moved)
//! ```
//! Invariant: no crate of the product touches its files in another way.
//! Elsewhere: what files say (`wal`, `txn`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod clock;
mod damage;
mod io;

pub use clock::{Clock, RealClock, SimClock};
pub use damage::{Failure, Finding};
pub use io::{
    Fault, File, FileLock, HeldSyncs, Io, OpenMode, PAGE_BYTES, Pace, RealIo, SimIo, Tear,
    read_file, replace_file, write_file, write_uncached,
};
