//! Partitions that can have rows for which something is known of the key.
//!
//! Nothing is guessed: a partition is left out only when none of its rows fits.
//! Source: PostgreSQL 15, `partprune.c`; fewer forms.

use std::cmp::Ordering;

use types::{DataType, Value};

use super::order::{Scalar, order};
use super::{Below, BoundValues, PartitionNode, PartitionTree};
use crate::algebra::Expr;
use crate::definition::RangeEnd;

/// Combinations of values of a key that are looked up one by one.
const KEYS_MAX: usize = 1024;

/// Values that a column of a key may have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Possible {
    /// These and no others, NULL among them only if it is possible.
    pub values: Option<Vec<Value>>,
    /// Not below this.
    pub low: Option<(Value, Inclusion)>,
    /// Not above this.
    pub high: Option<(Value, Inclusion)>,
    /// Set when NULL is not possible.
    pub is_not_null: bool,
}

/// Whether a bound is a possible value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// The bound is one.
    Inclusive,
    /// The bound is none.
    Exclusive,
}

/// Values of one column of a range.
struct ColumnRange<'a> {
    from: &'a RangeEnd<Value>,
    to: &'a RangeEnd<Value>,
    /// Whether the second end is one of them.
    inclusion: Inclusion,
}

impl Possible {
    /// Narrows to these values.
    pub fn among(&mut self, values: Vec<Value>, ty: DataType) {
        self.values = Some(match self.values.take() {
            None => values,
            Some(known) => known.into_iter().filter(|v| contains(&values, v, ty)).collect(),
        });
    }

    /// Narrows to values not below this one.
    pub fn from(&mut self, value: Value, inclusion: Inclusion, ty: DataType) {
        self.is_not_null = true;
        let replaces = self.low.as_ref().is_none_or(|(known, _)| {
            order(Scalar::from(known), Scalar::from(&value), ty) == Ordering::Less
        });
        if replaces {
            self.low = Some((value, inclusion));
        }
    }

    /// Narrows to values not above this one.
    pub fn to(&mut self, value: Value, inclusion: Inclusion, ty: DataType) {
        self.is_not_null = true;
        let replaces = self.high.as_ref().is_none_or(|(known, _)| {
            order(Scalar::from(known), Scalar::from(&value), ty) == Ordering::Greater
        });
        if replaces {
            self.high = Some((value, inclusion));
        }
    }

    /// True when nothing is known.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// True for a value that may be there.
    fn allows(&self, value: &Value, ty: DataType) -> bool {
        if value.is_null() {
            let is_listed = |values: &Vec<Value>| values.iter().any(Value::is_null);
            return !self.is_not_null && self.values.as_ref().is_none_or(is_listed);
        }
        let above = |(low, inclusion): &(Value, Inclusion)| {
            let found = order(Scalar::from(value), Scalar::from(low), ty);
            found == Ordering::Greater
                || found == Ordering::Equal && *inclusion == Inclusion::Inclusive
        };
        let below = |(high, inclusion): &(Value, Inclusion)| {
            let found = order(Scalar::from(value), Scalar::from(high), ty);
            found == Ordering::Less
                || found == Ordering::Equal && *inclusion == Inclusion::Inclusive
        };
        self.low.as_ref().is_none_or(above)
            && self.high.as_ref().is_none_or(below)
            && self.values.as_ref().is_none_or(|values| contains(values, value, ty))
    }

    /// True when a value between two ends may be there, the second excluded when it is the last of
    /// its range.
    fn meets(&self, range: &ColumnRange<'_>, ty: DataType) -> bool {
        let ColumnRange { from, to, inclusion } = *range;
        let within = |value: &Value| {
            let value = Scalar::from(value);
            let above = match from {
                RangeEnd::Min => true,
                RangeEnd::Max => false,
                RangeEnd::Value(from) => order(Scalar::from(from), value, ty) != Ordering::Greater,
            };
            let below = match to {
                RangeEnd::Min => false,
                RangeEnd::Max => true,
                RangeEnd::Value(to) => match order(value, Scalar::from(to), ty) {
                    Ordering::Less => true,
                    Ordering::Equal => inclusion == Inclusion::Inclusive,
                    Ordering::Greater => false,
                },
            };
            above && below
        };
        if let Some(values) = &self.values {
            return values.iter().any(|v| !v.is_null() && self.allows(v, ty) && within(v));
        }
        if let (Some((low, known)), RangeEnd::Value(to)) = (&self.low, to) {
            let found = order(Scalar::from(low), Scalar::from(to), ty);
            let is_open = inclusion == Inclusion::Exclusive || *known == Inclusion::Exclusive;
            if found == Ordering::Greater || found == Ordering::Equal && is_open {
                return false;
            }
        }
        if let (Some((high, known)), RangeEnd::Value(from)) = (&self.high, from) {
            let found = order(Scalar::from(high), Scalar::from(from), ty);
            let is_open = *known == Inclusion::Exclusive;
            if found == Ordering::Less || found == Ordering::Equal && is_open {
                return false;
            }
        }
        true
    }
}

fn contains(values: &[Value], value: &Value, ty: DataType) -> bool {
    let is_it = |known: &Value| order(Scalar::from(known), Scalar::from(value), ty).is_eq();
    values.iter().any(is_it)
}

impl PartitionTree {
    /// The numbers of the leaves, ascending, that can have rows for which `possible` holds: it
    /// tells what is known of an expression of a key.
    pub fn prune(&self, possible: &dyn Fn(&Expr) -> Possible) -> Vec<usize> {
        let mut leaves = Vec::new();
        self.root.prune(possible, &mut leaves);
        leaves.sort_unstable();
        leaves
    }
}

impl PartitionNode {
    fn prune(&self, possible: &dyn Fn(&Expr) -> Possible, leaves: &mut Vec<usize>) {
        let known: Vec<Possible> = self.keys.iter().map(possible).collect();
        for number in self.parts_for(&known) {
            match &self.parts[number].below {
                Below::Leaf(leaf) => leaves.push(*leaf),
                Below::Node(node) => node.prune(possible, leaves),
            }
        }
    }

    fn parts_for(&self, known: &[Possible]) -> Vec<usize> {
        let all = 0..self.parts.len();
        if known.iter().all(Possible::is_any) {
            return all.collect();
        }
        if let Some(numbers) = self.looked_up(known) {
            return numbers;
        }
        let types = self.types();
        all.filter(|&number| match &self.parts[number].bound {
            BoundValues::Default | BoundValues::Hash { .. } => true,
            BoundValues::List(values) => values.iter().any(|v| known[0].allows(v, types[0])),
            BoundValues::Range { from, to } => {
                let last = types.len() - 1;
                for (at, (possible, ty)) in known.iter().zip(&types).enumerate() {
                    let (low, high) = (&from[at], &to[at]);
                    let is_last = at == last;
                    let inclusion =
                        if is_last { Inclusion::Exclusive } else { Inclusion::Inclusive };
                    if !possible.meets(&ColumnRange { from: low, to: high, inclusion }, *ty) {
                        return false;
                    }
                    let is_one = match (low, high) {
                        (RangeEnd::Value(a), RangeEnd::Value(b)) => {
                            order(Scalar::from(a), Scalar::from(b), *ty).is_eq()
                        }
                        _ => false,
                    };
                    if !is_one {
                        break;
                    }
                }
                true
            }
        })
        .collect()
    }

    /// The parts of all keys there can be, if they are few.
    fn looked_up(&self, known: &[Possible]) -> Option<Vec<usize>> {
        let mut count = 1_usize;
        for possible in known {
            count = count.saturating_mul(possible.values.as_ref()?.len());
        }
        if count > KEYS_MAX {
            return None;
        }
        let types = self.types();
        let mut numbers = Vec::new();
        let mut key = vec![Scalar::Null; known.len()];
        for combination in 0..count {
            let mut rest = combination;
            let mut is_possible = true;
            for (at, possible) in known.iter().enumerate() {
                let values = possible.values.as_deref().unwrap_or_default();
                let value = &values[rest % values.len()];
                rest /= values.len();
                is_possible &= possible.allows(value, types[at]);
                key[at] = Scalar::from(value);
            }
            if is_possible {
                numbers.extend(self.part_of(&key));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers)
    }
}
