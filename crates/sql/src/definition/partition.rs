//! Partitioned tables and their partitions, as the catalog keeps them.

use super::{IndexColumn, IndexTerms};

/// How the rows of a partitioned table find their partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionStrategy {
    /// PARTITION BY RANGE.
    Range,
    /// PARTITION BY LIST.
    List,
    /// PARTITION BY HASH.
    Hash,
}

impl PartitionStrategy {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "RANGE",
            Self::List => "LIST",
            Self::Hash => "HASH",
        }
    }
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionKey {
    /// How partitions are told apart.
    pub strategy: PartitionStrategy,
    /// Its columns, as those of an index.
    pub columns: Vec<IndexColumn>,
    /// Its expressions.
    pub terms: IndexTerms,
}

/// Place of a table among the partitions of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOf {
    /// Key in the catalog of the partitioned table.
    pub parent: String,
    /// Rows that it has.
    pub bound: PartitionBound,
    /// Its indexes that are parts of indexes of the partitioned table: the name there, and here.
    pub indexes: Vec<(String, String)>,
}

/// FOR VALUES. Values are texts of the type of their column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionBound {
    /// DEFAULT: all rows that no other partition has.
    Default,
    /// IN: these values, None for NULL.
    List(Vec<Option<String>>),
    /// FROM, inclusive, TO, exclusive.
    Range {
        /// FROM.
        from: Vec<RangeEnd<String>>,
        /// TO.
        to: Vec<RangeEnd<String>>,
    },
    /// WITH (MODULUS, REMAINDER).
    Hash {
        /// MODULUS.
        modulus: u32,
        /// REMAINDER.
        remainder: u32,
    },
}

/// End of a range in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeEnd<V> {
    /// MINVALUE.
    Min,
    /// A value.
    Value(V),
    /// MAXVALUE.
    Max,
}
