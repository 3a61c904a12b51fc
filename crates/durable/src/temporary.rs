//! Numbers of temporary tables.

/// Bit of the numbers of temporary tables, whose rows are in no file.
const TEMPORARY_TABLE: u64 = 1 << 62;

/// The number of a temporary table.
pub fn temporary_table(id: u64) -> u64 {
    id | TEMPORARY_TABLE
}

/// True for the number of a temporary table.
pub fn is_temporary(table: u64) -> bool {
    table & TEMPORARY_TABLE != 0
}
