//! Statements that change rows: what their query found, written row by row.
//!
//! ```text
//! source query -> batches (tid, values, extras) -> generated columns, checks -> storage (waits,
//!                                                  conflicts)
//!     '-- READ COMMITTED: rows changed meanwhile are looked at again (recheck) --'
//! written rows -> foreign keys (now, `at_end`, or `deferred`) -> RETURNING query
//! ```
//! Invariants: the source is complete before the first row is written, and what is read later is
//! read as it was then (`Snapshot::until`), so a statement never meets its own rows; any error
//! takes the whole statement back (`Session`).
//! Several such statements are one under WITH (`parts`); calls of the message bus are parts, too
//! (`bus`).
//! Elsewhere: versions and unique keys (`storage`), who waits for whom (`txn::manager`).

pub(crate) mod rows;
pub(crate) mod indexes;
mod tables;
pub(crate) mod writer;

mod fitted;
mod returning;
mod action;
mod instead;
pub(crate) mod attached;
pub(crate) mod triggers;
mod tests_of_rows;
mod parent;
pub(crate) mod foreign;
mod unique;
mod exclusion;
pub(crate) mod deferred;
pub(crate) mod at_end;
pub(crate) mod conflict;
pub(crate) mod partitioned;
pub(crate) mod insert;
pub(crate) mod change;
pub(crate) mod merge;
pub(crate) mod lock;
pub(crate) mod parts;
pub(crate) mod wide;
mod bus;
mod point;
mod kinds;
