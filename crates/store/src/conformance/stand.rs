//! Common parts of the rows: tables to try, a commit manager of a few lines, rows to write.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use types::Value;

use crate::query::Query;
use crate::scan::{Flow, Rows, ScanEnd, ScanRequest, Sink};
use crate::schema::{Field, FieldType, Key, Schema, TableKind};
use crate::snapshot::{Snapshot, Version};
use crate::table::Table;
use crate::tuple::Tuple;

/// How long a row may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As long as the tests of every change may take.
    Short,
    /// Longer.
    Long,
}

impl Effort {
    /// `count`, or a share of it.
    pub fn of(self, count: usize) -> usize {
        if self == Self::Long { count } else { count.div_ceil(10) }
    }
}

/// Makes tables of one kind.
pub trait Stack: Sync {
    /// An empty table.
    fn table(&self, schema: Schema) -> Arc<dyn Table>;

    /// How long to try.
    fn effort(&self) -> Effort {
        Effort::Short
    }
}

/// A schema with a field of each type, with and without NULLs.
pub fn schema(kind: TableKind) -> Schema {
    let fields = vec![
        Field::new("a", FieldType::I64),
        Field::nullable("b", FieldType::I32),
        Field::nullable("c", FieldType::F64),
        Field::nullable("d", FieldType::Bytes),
        Field::new("e", FieldType::I16),
        Field::nullable("f", FieldType::F32),
        Field::new("g", FieldType::Bytes),
    ];
    Schema::new(kind, fields).expect("fits")
}

/// Row of [`schema`] whose fields all say `n`; every third one has NULLs.
pub fn row(n: i64) -> Vec<Value> {
    let or_null = |value| if n % 3 == 0 { Value::Null } else { value };
    vec![
        Value::I64(n),
        or_null(Value::I32(n as i32)),
        or_null(Value::F64(n as f64 / 4.0)),
        or_null(Value::text(&format!("text {n}"))),
        Value::I32(i32::from(n as i16)),
        or_null(Value::F64((n % 1000) as f64 / 2.0)),
        Value::text(&"x".repeat((n % 40).unsigned_abs() as usize)),
    ]
}

pub(super) fn tuple(table: &dyn Table, n: i64) -> Tuple {
    Tuple::encode(table.schema(), &row(n)).expect("fits")
}

/// The number that a row was made of; panics where its fields disagree.
pub(super) fn number(table: &dyn Table, tuple: &Tuple) -> i64 {
    let values = tuple.decode(table.schema());
    let Value::I64(n) = values[0] else { panic!("no number: {values:?}") };
    assert_eq!(values, row(n), "a torn row");
    n
}

#[derive(Debug, Default)]
struct Transactions {
    last: u64,
    base: u64,
    finished: BTreeSet<u64>,
    /// Bases of those that run.
    bases: Vec<u64>,
}

/// A commit manager behind a lock.
#[derive(Debug, Default)]
pub struct Manager(Mutex<Transactions>);

impl Manager {
    /// The snapshot of a new transaction.
    pub fn begin(&self) -> Snapshot {
        let mut all = self.0.lock();
        all.last += 1;
        let base = all.base;
        all.bases.push(base);
        let lowest = all.bases.iter().min().copied().unwrap_or(base);
        let finished: Vec<Version> = all.finished.iter().map(|v| Version(*v)).collect();
        let version = Version(all.last);
        Snapshot::read_write(Version(lowest), Version(base), version, &finished)
            .expect("the manager's numbers are in order")
    }

    /// Ends the transaction of `snapshot`: what it wrote is seen by those that begin now.
    pub fn finish(&self, snapshot: &Snapshot) {
        let mut all = self.0.lock();
        let place = all.bases.iter().position(|base| *base == snapshot.base().0);
        all.bases.swap_remove(place.expect("a transaction ends once"));
        all.finished.insert(snapshot.version().0);
        loop {
            let next = all.base + 1;
            if !all.finished.remove(&next) {
                break;
            }
            all.base = next;
        }
    }

    /// Smallest base of those that run.
    pub fn lowest_active(&self) -> Version {
        let all = self.0.lock();
        Version(all.bases.iter().min().copied().unwrap_or(all.base))
    }

    /// Runs `work` in a transaction of its own.
    pub fn run<T>(&self, work: impl FnOnce(&Snapshot) -> T) -> T {
        let snapshot = self.begin();
        let result = work(&snapshot);
        self.finish(&snapshot);
        result
    }
}

/// Keeps all rows of a query.
#[derive(Debug)]
pub(super) struct Collector {
    schema: Schema,
    rows: Mutex<Vec<(Key, Vec<Value>)>>,
}

impl Sink for Collector {
    fn rows(&self, rows: &Rows) -> Flow {
        let values = (0..rows.len()).map(|i| (rows.key(i), rows.values(&self.schema, i)));
        self.rows.lock().extend(values);
        Flow::Continue
    }
}

/// Rows of `query` in the order of their keys, and its end.
pub fn collected(
    table: &dyn Table,
    query: &Query,
    snapshot: &Snapshot,
) -> (Vec<(Key, Vec<Value>)>, ScanEnd) {
    let schema = match &query.output {
        crate::Output::Fields(fields) => table.schema().project(fields).expect("known fields"),
        crate::Output::Aggregates(_) => table.schema().project(&[]).expect("no field"),
    };
    let sink = Collector { schema, rows: Mutex::default() };
    let request = ScanRequest { query, snapshot, sink: &sink };
    let mut ends = table.scan(&[request], 2).expect("scans");
    let mut rows = sink.rows.into_inner();
    rows.sort_by_key(|row| row.0);
    let end = ends.pop().expect("one end for one request");
    (rows, end)
}

pub(super) fn all_fields(table: &dyn Table) -> Query {
    let count = table.schema().fields().len() as u16;
    Query::fields((0..count).map(crate::FieldId).collect())
}

/// Writes rows `0..count`, each under its number as key.
pub(super) fn fill(table: &dyn Table, manager: &Manager, count: i64) {
    manager.run(|snapshot| {
        for n in 0..count {
            table.insert(snapshot, n as Key, &tuple(table, n)).expect("inserts");
        }
    });
}
