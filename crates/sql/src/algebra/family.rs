//! Tables that are read together under the name of one of them: partitions, and a table with those
//! that inherit from it.
//!
//! ```text
//! partitioned table -> its leaves              table with heirs -> itself alone, then each heir
//! ```
//! Invariant: the numbers of members are those that TIDs of the whole have
//! ([`PARTITION_SHIFT`](crate::definition::PARTITION_SHIFT)).

use super::TableRef;

/// A table that inherits from another one, whose rows are read with those of that.
#[derive(Clone, Debug, PartialEq)]
pub struct Heir {
    /// The table.
    pub table: TableRef,
    /// The ordinal here of each column of the table above.
    pub columns: Vec<usize>,
}

/// The tables that inherit from one, also through others, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// The tables, by their distance.
    pub heirs: Vec<Heir>,
}

/// A table that has some of the rows of a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The table, without those below it.
    pub table: TableRef,
    /// The ordinal here of each column of the whole; None where all are in their places.
    pub columns: Option<Vec<usize>>,
}

impl Member {
    /// A table that has the columns of the whole at these ordinals.
    pub fn new(table: TableRef, columns: Vec<usize>) -> Self {
        let is_same = columns.iter().enumerate().all(|(at, column)| at == *column);
        Self { table, columns: (!is_same).then_some(columns) }
    }

    /// The ordinal here of column `ordinal` of the whole.
    pub fn ordinal(&self, ordinal: usize) -> usize {
        let mapped = self.columns.as_ref().and_then(|columns| columns.get(ordinal));
        mapped.copied().unwrap_or(ordinal)
    }

    /// The ordinals here of columns of the whole.
    pub fn ordinals(&self, ordinals: &[usize]) -> Vec<usize> {
        ordinals.iter().map(|ordinal| self.ordinal(*ordinal)).collect()
    }
}

impl TableRef {
    /// The tables that have its rows, by number; None when it has them all itself.
    pub fn members(&self) -> Option<Vec<Member>> {
        if let Some(tree) = self.partitions() {
            return Some(tree.leaves.clone());
        }
        let family = self.family()?;
        let mut members = vec![Member { table: self.clone().alone(), columns: None }];
        members.extend(
            family
                .heirs
                .iter()
                .map(|heir| Member::new(heir.table.clone().alone(), heir.columns.clone())),
        );
        Some(members)
    }
}
