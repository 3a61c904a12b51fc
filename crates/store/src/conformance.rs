//! One suite for every table: each row of the checklist is a function that panics where a back end
//! is wrong, and [`conformance!`](crate::conformance!) makes a test of each.
//!
//! Elsewhere: what any single-threaded history must give, at random (`tests/model.rs`).
//! Source: the rows are those of the digest of Pilman 2017, section 27.

mod stand;
mod keys;
mod threads;
mod keeping;
mod scanning;

pub use keeping::*;
pub use keys::*;
pub use scanning::*;
pub use stand::{Effort, Manager, Stack, collected, row, schema};
pub use threads::*;

/// Makes a test of each row for the stack that the expression makes anew for each.
#[macro_export]
macro_rules! conformance {
    ($stack:expr) => {
        $crate::conformance!($stack,
            row_002_memory_of_scans_is_constant
            row_004_keys_and_values
            row_005_versioned_get
            row_006_conditional_write
            row_007_outcomes_of_writes
            row_008_revert
            row_009_non_transactional_tables
            row_011_one_key_is_linearisable
            row_012_no_torn_rows
            row_013_one_of_two_writers_wins
            row_014_scan_equals_gets
            row_015_garbage_goes
            row_017_no_lost_update
            row_018_each_key_once
            row_019_reads_while_collecting
            row_022_retention
            row_029_selection
            row_030_projection
            row_031_aggregates
            row_034_equal_selections
            row_035_scan_sees_what_is_not_merged
            row_036_partitions
        );
    };
    ($stack:expr, $($row:ident)*) => {
        $(
            #[test]
            fn $row() {
                $crate::conformance::$row(&$stack);
            }
        )*
    };
}
