//! Running aggregates of one query: a state for each, which adds rows, columns and other states.

use std::cmp::Ordering;

use types::Value;

use super::check::{float, integer};
use crate::query::{Aggregate, order};
use crate::schema::{FieldType, Schema};
use crate::tuple::{TupleRef, Words};

/// State of one aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// Its meaning.
    pub aggregate: Aggregate,
    /// Type of its field, if it looks at one.
    pub field_type: Option<FieldType>,
    /// Rows or values so far.
    pub count: i64,
    /// Their sum, if it is one of integers.
    pub sum: i128,
    /// Their sum, if it is one of floats.
    pub float_sum: f64,
    /// The best of them; NULL for none.
    pub best: Value,
}

impl Total {
    /// The state before the first row.
    pub fn new(aggregate: Aggregate, schema: &Schema) -> Self {
        let field_type = aggregate.field().and_then(|field| schema.type_of(field));
        Self { aggregate, field_type, count: 0, sum: 0, float_sum: 0.0, best: Value::Null }
    }

    /// Adds one row.
    pub(crate) fn add_row<W: Words + ?Sized>(&mut self, row: &TupleRef<'_, W>) {
        let Some(field) = self.aggregate.field().map(|field| field.idx()) else {
            self.count += 1;
            return;
        };
        if row.is_null(field) {
            return;
        }
        self.count += 1;
        match self.aggregate {
            Aggregate::Sum(_) if self.is_of_integers() => {
                self.sum += i128::from(integer(row.schema, field, row.bits(field)));
            }
            Aggregate::Sum(_) => self.float_sum += float(row.schema, field, row.bits(field)),
            Aggregate::Min(_) | Aggregate::Max(_) => self.improve(row.value(field)),
            Aggregate::Rows | Aggregate::Count(_) => (),
        }
    }

    /// True when its field has integers.
    pub fn is_of_integers(&self) -> bool {
        self.field_type.is_some_and(FieldType::is_integer)
    }

    /// Takes `value` for the best if it is better.
    pub fn improve(&mut self, value: Value) {
        let better = match self.aggregate {
            Aggregate::Max(_) => Ordering::Greater,
            _ => Ordering::Less,
        };
        let ordering = order(&value, &self.best);
        if ordering.map_or(!value.is_null(), |ordering| ordering == better) {
            self.best = value;
        }
    }

    /// Adds what another thread found.
    pub(crate) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.float_sum += other.float_sum;
        self.improve(other.best);
    }

    /// The result.
    pub fn value(&self) -> Value {
        match self.aggregate {
            Aggregate::Rows | Aggregate::Count(_) => Value::I64(self.count),
            Aggregate::Sum(_) if self.count == 0 => Value::Null,
            Aggregate::Sum(_) if self.is_of_integers() => Value::I128(self.sum),
            Aggregate::Sum(_) => Value::F64(self.float_sum),
            Aggregate::Min(_) | Aggregate::Max(_) => self.best.clone(),
        }
    }
}
