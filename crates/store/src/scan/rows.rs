//! Rows on their way out of a scan.

use std::cmp::Ordering;

use types::Value;

use crate::error::Result;
use crate::query::{Aggregate, Output, Query, order};
use crate::schema::{FieldType, Key, Schema};
use crate::snapshot::Snapshot;
use crate::tuple::{TupleRef, fixed_value};

/// Rows of a chunk.
pub(crate) const ROWS_MAX: usize = 4096;
/// Words of a chunk after which it is given away.
pub(crate) const WORDS_MAX: usize = 1 << 15;

/// Rows of one query, by the schema of its fields.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(crate) keys: Vec<Key>,
    /// Where the words of each row end.
    pub(crate) ends: Vec<usize>,
    pub(crate) words: Vec<u64>,
}

impl Rows {
    /// How many.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Key of row `i`.
    pub fn key(&self, i: usize) -> Key {
        self.keys[i]
    }

    /// Values of row `i`; `schema` is the table's, projected to the query's fields.
    pub fn values(&self, schema: &Schema, i: usize) -> Vec<Value> {
        TupleRef { schema, words: self.words_of(i) }.values()
    }

    /// Gives the values of field `field` of all rows to `take`, in order; `schema` as in
    /// [`Self::values`]. Nothing is allocated for a row.
    pub fn each(&self, schema: &Schema, field: usize, mut take: impl FnMut(FieldValue<'_>)) {
        let field_type = schema.fields()[field].field_type;
        let mut buffer = Vec::new();
        for i in 0..self.len() {
            let row = TupleRef { schema, words: self.words_of(i) };
            if row.is_null(field) {
                take(FieldValue::Null);
            } else if field_type == FieldType::Bytes {
                buffer.clear();
                row.bytes_into(field, &mut buffer);
                take(FieldValue::Bytes(&buffer));
            } else {
                take(FieldValue::Fixed(fixed_value(field_type, row.bits(field))));
            }
        }
    }

    /// Words of row `i`.
    pub(crate) fn words_of(&self, i: usize) -> &[u64] {
        let begin = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.words[begin..self.ends[i]]
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= ROWS_MAX || self.words.len() >= WORDS_MAX
    }

    pub(crate) fn push(&mut self, key: Key, words: &[u64]) {
        self.keys.push(key);
        self.words.extend_from_slice(words);
        self.ends.push(self.words.len());
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.ends.clear();
        self.words.clear();
    }
}

/// A value of a field where it stands.
#[derive(Clone, Debug)]
pub enum FieldValue<'a> {
    /// No value.
    Null,
    /// A value of fixed width.
    Fixed(Value),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Does a query want more?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More rows are welcome.
    Continue,
    /// Nobody reads its rows any more.
    Stop,
}

/// Whoever reads the rows of a query. A sink that waits holds up all queries of the batch.
pub trait Sink: Send + Sync {
    /// Takes rows, in any order; called by all threads of the scan, at most 4,096 rows or about
    /// 256 KiB at a time.
    fn rows(&self, rows: &Rows) -> Flow;

    /// Asked once for each page.
    fn flow(&self) -> Flow {
        Flow::Continue
    }

    /// Told how a query of [`crate::server::Store::scan`] ended, behind its last rows.
    fn ended(&self, _end: &Result<ScanEnd>) {}
}

/// One query of a shared scan.
#[derive(Clone, Copy)]
pub struct ScanRequest<'a> {
    /// The query, which fits the table's schema.
    pub query: &'a Query,
    /// Versions that it reads.
    pub snapshot: &'a Snapshot,
    /// Where its rows go.
    pub sink: &'a dyn Sink,
}

/// How a query ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanEnd {
    /// The values of its aggregates, in order.
    pub values: Vec<Value>,
    /// Rows that its selection accepted.
    pub rows: u64,
    /// [`Flow::Stop`] when its sink ended it before all rows were read.
    pub flow: Flow,
}

impl ScanEnd {
    /// Adds the end of the same query on other rows.
    pub fn add(&mut self, other: &Self, query: &Query) {
        self.rows += other.rows;
        if other.flow == Flow::Stop {
            self.flow = Flow::Stop;
        }
        let Output::Aggregates(aggregates) = &query.output else { return };
        for ((value, more), aggregate) in self.values.iter_mut().zip(&other.values).zip(aggregates)
        {
            let is_better = |wanted| order(more, value) == Some(wanted);
            match (&*value, more, aggregate) {
                (_, Value::Null, _) => (),
                (Value::Null, _, _) => *value = more.clone(),
                (Value::I64(a), Value::I64(b), Aggregate::Rows | Aggregate::Count(_)) => {
                    *value = Value::I64(a + b);
                }
                (Value::I128(a), Value::I128(b), Aggregate::Sum(_)) => *value = Value::I128(a + b),
                (Value::F64(a), Value::F64(b), Aggregate::Sum(_)) => *value = Value::F64(a + b),
                (_, _, Aggregate::Min(_)) if is_better(Ordering::Less) => *value = more.clone(),
                (_, _, Aggregate::Max(_)) if is_better(Ordering::Greater) => *value = more.clone(),
                _ => (),
            }
        }
    }
}
