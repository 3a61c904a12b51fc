//! Numbers of what a database has besides rows. Tables, indexes and sequences share one counter, so
//! that no number is given twice.

use std::fmt;

/// Number of a table in its database: that of its rows, which ALTER TABLE may replace by others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

/// Bit of the numbers of temporary tables.
const TEMPORARY: u64 = 1 << 62;

impl TableId {
    /// The number of a temporary table, made of one that nobody else has.
    pub fn temporary(number: u64) -> Self {
        Self(number | TEMPORARY)
    }

    /// True for a temporary table, whose rows are in no file.
    pub fn is_temporary(self) -> bool {
        self.0 & TEMPORARY != 0
    }
}

/// Number of an index in its database: of the table, or one that each frozen block has for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub u64);

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
