//! Queries that a store answers by itself: a selection, and a projection or aggregates.
//!
//! ```text
//! Query      selection    AND of ORs of tests of one field with a literal
//!            output       fields of each row | sums, counts, extremes of all rows
//!            partition    keys of one part alone, for callers that share the work
//! ```
//! [`Test::accepts`] defines what tests mean: evaluators are compared with it.
//! Source: Pilman 2017, sections 4.1.9 and 4.6.2.

use std::cmp::Ordering;
use std::sync::Arc;

use kernels::compare::Ordered;
use types::{CompareOp, Value};

use crate::error::{Result, StoreError};
use crate::ranges::{HashRange, Ranges, hash_of};
use crate::schema::{FieldId, FieldType, Key, Schema};

/// Condition on one value. NULL satisfies [`Self::IsNull`] alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The value compares so with a literal of the field's type; floats as in SQL, bytes by bytes.
    Compare(CompareOp, Value),
    /// The bytes begin with these.
    StartsWith(Arc<[u8]>),
    /// The bytes do not begin with these.
    StartsNotWith(Arc<[u8]>),
    /// The bytes end with these.
    EndsWith(Arc<[u8]>),
    /// The bytes do not end with these.
    EndsNotWith(Arc<[u8]>),
    /// There is no value.
    IsNull,
    /// There is a value.
    IsNotNull,
}

impl Test {
    /// True when `value` satisfies it.
    pub fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::IsNull, value) => value.is_null(),
            (Self::IsNotNull, value) => !value.is_null(),
            (Self::Compare(op, literal), value) => {
                order(value, literal).is_some_and(|ordering| op.accepts(ordering))
            }
            (Self::StartsWith(part), Value::Str(bytes)) => bytes.starts_with(part),
            (Self::StartsNotWith(part), Value::Str(bytes)) => !bytes.starts_with(part),
            (Self::EndsWith(part), Value::Str(bytes)) => bytes.ends_with(part),
            (Self::EndsNotWith(part), Value::Str(bytes)) => !bytes.ends_with(part),
            _ => false,
        }
    }
}

/// The order of two values of one field; `None` with a NULL.
pub(crate) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::I32(a), Value::I32(b)) => Some(a.cmp(b)),
        (Value::I64(a), Value::I64(b)) => Some(a.cmp(b)),
        (Value::F64(a), Value::F64(b)) => Some(Ordered::order(*a, *b)),
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Test of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// The field.
    pub field: FieldId,
    /// Condition on its value.
    pub test: Test,
}

/// Rows that satisfy every conjunct; a conjunct is satisfied by any of its predicates, and without
/// predicates by no row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// ANDed; each is an OR.
    pub conjuncts: Vec<Vec<Predicate>>,
}

impl Selection {
    /// The selection of all rows.
    pub fn all() -> Self {
        Self::default()
    }

    /// This selection, and `field` satisfies `test`.
    #[must_use]
    pub fn and(mut self, field: FieldId, test: Test) -> Self {
        self.conjuncts.push(vec![Predicate { field, test }]);
        self
    }
}

/// One value for all rows of a query. NULLs change none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// How many rows: an I64.
    Rows,
    /// How many values: an I64.
    Count(FieldId),
    /// Sum of integers, exact: an I128; of floats, in any order: an F64. NULL without values.
    Sum(FieldId),
    /// Smallest value, in SQL's order; NULL without values.
    Min(FieldId),
    /// Largest value, in SQL's order; NULL without values.
    Max(FieldId),
}

impl Aggregate {
    /// The field it looks at.
    pub fn field(self) -> Option<FieldId> {
        match self {
            Self::Rows => None,
            Self::Count(f) | Self::Sum(f) | Self::Min(f) | Self::Max(f) => Some(f),
        }
    }
}

/// Result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Key and these fields of each row, in this order.
    Fields(Vec<FieldId>),
    /// These values.
    Aggregates(Vec<Aggregate>),
}

/// Number of the part that has `key`, of `count` parts of about the same size.
///
/// Parts are neighbouring ranges of hashes: each part of `n * m` lies in one part of `n`.
/// Source: Lemire 2019.
#[inline]
pub fn part_of(key: Key, count: u64) -> u64 {
    ((u128::from(hash_of(key)) * u128::from(count)) >> 64) as u64
}

/// Part of all keys: those with `part_of(key, count) = number`.
///
/// Departure from Pilman 2017, section 4.1.9: hashes in the place of remainders, since keys of
/// transactions have many low bits in common, and so that a part of several stores lies in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Parts in all, from 1.
    pub count: u64,
    /// Number of this part, from 0.
    pub number: u64,
}

impl Partition {
    /// True when the part has `key`.
    #[inline]
    pub fn holds(&self, key: Key) -> bool {
        part_of(key, self.count) == self.number
    }

    /// True when the two have keys in common, or could have.
    pub fn meets(&self, other: &Self) -> bool {
        let [a, b] = [(self, other), (other, self)].map(|(one, two)| {
            let end = u128::from(one.number) + 1;
            u128::from(two.number) * u128::from(one.count) < end * u128::from(two.count)
        });
        a && b
    }
}

impl From<Partition> for HashRange {
    /// The hashes of a part; parts that cannot be have some hash.
    fn from(part: Partition) -> Self {
        let count = u128::from(part.count.max(1));
        let start = |number: u128| (number << 64).div_ceil(count);
        let (first, end) = (start(u128::from(part.number)), start(u128::from(part.number) + 1));
        let whole = u128::from(u64::MAX);
        let first = first.min(whole);
        let last = end.saturating_sub(1).clamp(first, whole);
        Self { first: first as u64, last: last as u64 }
    }
}

/// One query of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Rows that count.
    pub selection: Selection,
    /// Values that are told of them.
    pub output: Output,
    /// Keys that count; `None` for all.
    pub partition: Option<Partition>,
    /// Hashes of keys that count, too; `None` for all: the part of one store.
    pub within: Option<Ranges>,
}

impl Query {
    /// The query of `output` of all rows.
    fn all(output: Output) -> Self {
        Self { selection: Selection::all(), output, partition: None, within: None }
    }

    /// The query of `fields` of all rows.
    pub fn fields(fields: Vec<FieldId>) -> Self {
        Self::all(Output::Fields(fields))
    }

    /// The query of `aggregates` of all rows.
    pub fn aggregates(aggregates: Vec<Aggregate>) -> Self {
        Self::all(Output::Aggregates(aggregates))
    }

    /// The same query of the rows of `selection`.
    #[must_use]
    pub fn of(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// True when some keys do not count.
    #[inline]
    pub fn limits_keys(&self) -> bool {
        self.partition.is_some() || self.within.is_some()
    }

    /// True when `key` counts.
    #[inline]
    pub fn counts(&self, key: Key) -> bool {
        self.partition.is_none_or(|partition| partition.holds(key))
            && self.within.as_ref().is_none_or(|within| within.holds(key))
    }

    /// Looks whether it fits a table of this schema.
    ///
    /// # Errors
    /// [`StoreError::InvalidScan`] for unknown fields, literals and tests that do not fit a field's
    /// type, and partitions that cannot be.
    pub fn check(&self, schema: &Schema) -> Result<()> {
        let type_of = |field: FieldId| {
            let unknown = || StoreError::InvalidScan(format!("no field {}", field.0));
            schema.type_of(field).ok_or_else(unknown)
        };
        for predicate in self.selection.conjuncts.iter().flatten() {
            let field_type = type_of(predicate.field)?;
            if !fits(&predicate.test, field_type) {
                let message = format!("{:?} of a field of {field_type:?}", predicate.test);
                return Err(StoreError::InvalidScan(message));
            }
        }
        match &self.output {
            Output::Fields(fields) => {
                for (i, field) in fields.iter().enumerate() {
                    type_of(*field)?;
                    if fields[..i].contains(field) {
                        let message = format!("field {} comes twice", field.0);
                        return Err(StoreError::InvalidScan(message));
                    }
                }
            }
            Output::Aggregates(aggregates) => {
                for aggregate in aggregates {
                    let field_type = aggregate.field().map(type_of).transpose()?;
                    if let (Aggregate::Sum(_), Some(FieldType::Bytes)) = (aggregate, field_type) {
                        return Err(StoreError::InvalidScan("sum of bytes".into()));
                    }
                }
            }
        }
        match self.partition {
            Some(p) if p.number >= p.count => {
                Err(StoreError::InvalidScan(format!("part {} of {}", p.number, p.count)))
            }
            _ => Ok(()),
        }
    }
}

fn fits(test: &Test, field_type: FieldType) -> bool {
    match test {
        Test::Compare(CompareOp::Distinct | CompareOp::NotDistinct, _) => false,
        Test::Compare(_, literal) => match literal {
            Value::I32(_) => matches!(field_type, FieldType::I16 | FieldType::I32),
            Value::I64(_) => field_type == FieldType::I64,
            Value::F64(_) => matches!(field_type, FieldType::F32 | FieldType::F64),
            Value::Str(_) => field_type == FieldType::Bytes,
            _ => false,
        },
        Test::IsNull | Test::IsNotNull => true,
        _ => field_type == FieldType::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_of_parts_lie_within_them(key: u64, count in 1..100u64, times in 1..100u64) {
            let outer = Partition { count, number: part_of(key, count) };
            let number = part_of(key, count * times);
            let inner = Partition { count: count * times, number };
            prop_assert!(outer.holds(key) && inner.holds(key));
            prop_assert_eq!(number / times, outer.number);
            prop_assert!(outer.meets(&inner) && inner.meets(&outer));
        }

        #[test]
        fn parts_are_ranges(key: u64, count in 1..2000u64) {
            let part = Partition { count, number: part_of(key, count) };
            prop_assert!(HashRange::from(part).holds(hash_of(key)));
            for number in [0, part.number.saturating_sub(1), part.number + 1, count - 1] {
                let other = Partition { count, number };
                let holds = HashRange::from(other).holds(hash_of(key));
                prop_assert_eq!(number < count && holds, number == part.number);
            }
        }

        #[test]
        fn parts_meet_nowhere_and_leave_nothing_out(count in 1..200u64) {
            let all = (0..count).map(|number| HashRange::from(Partition { count, number }));
            let all: Vec<HashRange> = all.collect();
            prop_assert_eq!(all[0].first, 0);
            prop_assert_eq!(all[all.len() - 1].last, u64::MAX);
            prop_assert!(all.windows(2).all(|two| two[0].last + 1 == two[1].first));
        }

        #[test]
        fn parts_that_share_a_key_meet(key: u64, a in 1..1000u64, b in 1..1000u64) {
            let of = |count| Partition { count, number: part_of(key, count) };
            prop_assert!(of(a).meets(&of(b)));
        }
    }

    #[test]
    fn parts_meet_where_their_ranges_do() {
        let part = |number, count| Partition { count, number };
        let meeting = |one: Partition, count: u64| -> Vec<u64> {
            (0..count).filter(|number| one.meets(&part(*number, count))).collect()
        };
        assert_eq!(meeting(part(1, 3), 3), [1]);
        assert_eq!(meeting(part(1, 3), 6), [2, 3]);
        assert_eq!(meeting(part(1, 2), 3), [1, 2]);
        assert_eq!(meeting(part(4, 8), 3), [1]);
        assert_eq!(meeting(part(0, 1), 3), [0, 1, 2]);
    }
}
