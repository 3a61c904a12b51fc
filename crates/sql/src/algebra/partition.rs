//! Partitions of a table: which of them has a row, which of them a condition can find rows in.
//!
//! ```text
//! PartitionTree --root--> PartitionNode (key, parts in the order of their bounds)
//!   parts: bound, and a leaf (a number of `leaves`) or a node below
//! values of the key --route--> leaf          possible values --prune--> leaves
//! ```
//! Invariant: the columns of a partition are those of its table, maybe in another order. Ordinals
//! in a tree are those of its root; a leaf says where it has them ([`Member`]).
//! Elsewhere: definitions (`definition::partition`), trees made of the catalog
//! (`catalog::partitions`), plans over them (`plan::partitions`).
//! Source: PostgreSQL 15, `partbounds.c`, `hashfn.c`.

mod hash;
mod order;
mod prune;

pub use hash::{combine, hash, is_hashed};
pub use order::{Scalar, order};
pub use prune::{Inclusion, Possible};

use std::cmp::Ordering;

use types::{DataType, Value};

use crate::algebra::family::Member;
use crate::algebra::{Expr, TableRef};
use crate::definition::{PartitionStrategy, RangeEnd};

/// All partitions of a table, those of partitions included.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionTree {
    /// The partitioned table.
    pub root: PartitionNode,
    /// Tables that hold rows, in the order of their bounds.
    pub leaves: Vec<Member>,
    /// Partitioned tables below the root, each before those below it.
    pub inner: Vec<TableRef>,
}

/// One partitioned table.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionNode {
    /// Its key in the catalog.
    pub table: String,
    /// How partitions are told apart.
    pub strategy: PartitionStrategy,
    /// Its key over a row of the root, whose column `i` is [`crate::algebra::ColumnId`] `i`.
    pub keys: Vec<Expr>,
    /// The key as messages write it.
    pub key_names: Vec<String>,
    /// Its partitions, in the order of their bounds, that of all others last.
    pub parts: Vec<Part>,
    /// By list: the values and their parts, ascending.
    pub values: Vec<(Value, usize)>,
    /// By list: the part that has NULL.
    pub of_null: Option<usize>,
    /// The part that has all other rows.
    pub default: Option<usize>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its key in the catalog.
    pub table: String,
    /// Its rows.
    pub bound: BoundValues,
    /// Where they are.
    pub below: Below,
}

/// Kinds of partitions.
#[derive(Clone, Debug, PartialEq)]
pub enum Below {
    /// A table with rows: its number among the leaves.
    Leaf(usize),
    /// A partitioned table.
    Node(Box<PartitionNode>),
}

/// Values of [`crate::catalog::PartitionBound`].
#[derive(Clone, Debug, PartialEq)]
pub enum BoundValues {
    /// DEFAULT.
    Default,
    /// IN.
    List(Vec<Value>),
    /// FROM and TO.
    Range {
        /// FROM.
        from: Vec<RangeEnd<Value>>,
        /// TO.
        to: Vec<RangeEnd<Value>>,
    },
    /// WITH (MODULUS, REMAINDER).
    Hash {
        /// MODULUS.
        modulus: u64,
        /// REMAINDER.
        remainder: u64,
    },
}

/// Order of the first columns of an end of a range and a key.
pub fn end_order(end: &[RangeEnd<Value>], key: &[Scalar<'_>], types: &[DataType]) -> Ordering {
    for ((end, key), ty) in end.iter().zip(key).zip(types) {
        let found = match end {
            RangeEnd::Min => Ordering::Less,
            RangeEnd::Max => Ordering::Greater,
            RangeEnd::Value(value) => order(Scalar::from(value), *key, *ty),
        };
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// Order of two ends of ranges.
pub fn ends_order(a: &[RangeEnd<Value>], b: &[RangeEnd<Value>], types: &[DataType]) -> Ordering {
    for ((a, b), ty) in a.iter().zip(b).zip(types) {
        let found = match (a, b) {
            (RangeEnd::Value(a), RangeEnd::Value(b)) => {
                order(Scalar::from(a), Scalar::from(b), *ty)
            }
            // What follows does not count.
            (RangeEnd::Min, RangeEnd::Min) | (RangeEnd::Max, RangeEnd::Max) => {
                return Ordering::Equal;
            }
            (RangeEnd::Min, _) | (_, RangeEnd::Max) => Ordering::Less,
            (_, RangeEnd::Min) | (RangeEnd::Max, _) => Ordering::Greater,
        };
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

impl PartitionTree {
    /// All tables below the root, each before those below it.
    pub fn below(&self) -> impl Iterator<Item = &TableRef> {
        self.inner.iter().chain(self.leaves.iter().map(|leaf| &leaf.table))
    }
}

impl PartitionNode {
    /// A partitioned table with `parts` in any order.
    pub fn new(
        table: String,
        strategy: PartitionStrategy,
        keys: Vec<(Expr, String)>,
        mut parts: Vec<Part>,
    ) -> Self {
        let (keys, key_names): (Vec<Expr>, Vec<String>) = keys.into_iter().unzip();
        let types: Vec<DataType> = keys.iter().map(|key| key.ty).collect();
        parts.sort_by(|a, b| bounds_order(&a.bound, &b.bound, &types));
        let default = parts.iter().position(|part| part.bound == BoundValues::Default);
        let (values, of_null) = (Vec::new(), None);
        let mut node = Self { table, strategy, keys, key_names, parts, values, of_null, default };
        for (number, part) in node.parts.iter().enumerate() {
            let BoundValues::List(values) = &part.bound else { continue };
            for value in values {
                if value.is_null() {
                    node.of_null = Some(number);
                } else {
                    node.values.push((value.clone(), number));
                }
            }
        }
        if let [ty] = types[..] {
            let compare = |a: &Value, b: &Value| order(Scalar::from(a), Scalar::from(b), ty);
            node.values.sort_by(|a, b| compare(&a.0, &b.0));
        }
        node
    }

    /// The types of its key.
    pub fn types(&self) -> Vec<DataType> {
        self.keys.iter().map(|key| key.ty).collect()
    }

    /// The number of the part that has rows with this key; None when there is none.
    pub fn part_of(&self, key: &[Scalar<'_>]) -> Option<usize> {
        let found = match self.strategy {
            PartitionStrategy::List => match key.first() {
                Some(Scalar::Null) => self.of_null,
                Some(value) => {
                    let ty = self.keys.first()?.ty;
                    let at = self
                        .values
                        .binary_search_by(|(known, _)| order(Scalar::from(known), *value, ty));
                    at.ok().map(|at| self.values[at].1)
                }
                None => None,
            },
            PartitionStrategy::Range => self.range_of(key),
            PartitionStrategy::Hash => {
                let types = self.keys.iter().map(|key| key.ty);
                let hash = key.iter().zip(types).fold(0, |found, (value, ty)| match value {
                    Scalar::Null => found,
                    value => combine(found, hash(*value, ty)),
                });
                self.parts.iter().position(|part| match part.bound {
                    BoundValues::Hash { modulus, remainder } => hash % modulus == remainder,
                    _ => false,
                })
            }
        };
        found.or(self.default)
    }

    fn range_of(&self, key: &[Scalar<'_>]) -> Option<usize> {
        if key.iter().any(|value| matches!(value, Scalar::Null)) {
            return None;
        }
        // Keys of one column need no list of types.
        let (one, many);
        let types: &[DataType] = if let [only] = self.keys.as_slice() {
            one = [only.ty];
            &one
        } else {
            many = self.types();
            &many
        };
        let ranges = self.default.unwrap_or(self.parts.len());
        let at = self.parts[..ranges].partition_point(|part| match &part.bound {
            BoundValues::Range { from, .. } => end_order(from, key, types) != Ordering::Greater,
            _ => false,
        });
        let number = at.checked_sub(1)?;
        match &self.parts[number].bound {
            BoundValues::Range { to, .. } if end_order(to, key, types) == Ordering::Greater => {
                Some(number)
            }
            _ => None,
        }
    }

    /// The part that is the table `key`.
    pub fn part(&self, key: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.table == key)
    }
}

/// Order in which partitions are read.
fn bounds_order(a: &BoundValues, b: &BoundValues, types: &[DataType]) -> Ordering {
    match (a, b) {
        (BoundValues::Default, BoundValues::Default) => Ordering::Equal,
        (BoundValues::Default, _) => Ordering::Greater,
        (_, BoundValues::Default) => Ordering::Less,
        (BoundValues::Range { from: a, .. }, BoundValues::Range { from: b, .. }) => {
            ends_order(a, b, types)
        }
        (
            BoundValues::Hash { modulus: a, remainder: first },
            BoundValues::Hash { modulus: b, remainder: second },
        ) => (a, first).cmp(&(b, second)),
        (BoundValues::List(a), BoundValues::List(b)) => {
            let Some(ty) = types.first() else { return Ordering::Equal };
            // A partition of NULL alone comes behind the others.
            let least = |values: &[Value]| {
                let values = values.iter().filter(|value| !value.is_null());
                values.min_by(|a, b| order(Scalar::from(*a), Scalar::from(*b), *ty)).cloned()
            };
            match (least(a), least(b)) {
                (Some(a), Some(b)) => order(Scalar::from(&a), Scalar::from(&b), *ty),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            }
        }
        _ => Ordering::Equal,
    }
}
