//! Standard benchmarks: their data, generated in process, and their queries.
//!
//! Elsewhere: running and comparing them (`xtask`), showing them (`server`'s demo).
#![forbid(unsafe_code)]

mod load;
pub mod tpch;
pub mod ssb;

use engine::Database;

pub use load::LoadProgress;

/// Adds `CALL tpch(sf => ...)` and `CALL ssb(sf => ...)` to `database`.
pub fn register(database: &Database) {
    tpch::register(database);
    ssb::register(database);
}
