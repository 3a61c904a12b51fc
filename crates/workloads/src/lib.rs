//! Standard benchmarks: their data, generated in process, their queries and
//! transactions.
//!
//! Elsewhere: running and comparing them (`xtask`), showing them (`server`'s demo).
#![forbid(unsafe_code)]

/// The texts of the queries in `folder/queries`, by the numbers in their names.
macro_rules! queries {
    ($folder:literal: $($number:literal)*) => {
        [$(include_str!(concat!($folder, "/queries/q", $number, ".sql"))),*]
    };
}

// Floors: lowest first.
mod load;
mod random;
pub mod tpch;
pub mod ssb;
pub mod tpcc;
pub mod ch;
pub mod job;
pub mod clickbench;
pub mod aim;

use engine::Database;

pub use load::LoadProgress;

/// Adds `CALL tpch(sf => ...)`, `CALL ssb(sf => ...)`, `CALL tpcc(warehouses => ...)`,
/// `CALL ch(warehouses => ...)`, `CALL job(sf => ...)` and `CALL clickbench(rows => ...)` to
/// `database`.
pub fn register(database: &Database) {
    tpch::register(database);
    ssb::register(database);
    tpcc::register(database);
    ch::register(database);
    job::register(database);
    clickbench::register(database);
}
