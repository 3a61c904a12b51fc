//! YCSB#: its table, gets and puts that leave the size as it is, and its three queries.

use std::cell::{Cell, RefCell};
use std::hint::black_box;

use store::conformance::Manager;
use store::server::Layout;
use store::{
    Aggregate, Field, FieldId, FieldType, Flow, Query, Rows, ScanRequest, Schema, Selection, Sink,
    Table as _, TableKind, Test, Tuple,
};
use testkit::Random;
use transport::{Change, Cluster, RemoteTable, block_on};
use types::{CompareOp, Value};

use crate::stand::all;

/// Keys next to both ends that no update takes: others are being removed and inserted there.
const EDGE: u64 = 100;

/// The loaded table.
pub(crate) struct Ycsb {
    table: RemoteTable,
    manager: Manager,
    /// Keys that are there.
    first: Cell<u64>,
    end: Cell<u64>,
}

struct Nothing;

impl Sink for Nothing {
    fn rows(&self, rows: &Rows) -> Flow {
        black_box(rows.len());
        Flow::Continue
    }
}

fn schema() -> Schema {
    let fixed = [FieldType::F64, FieldType::I64, FieldType::I32, FieldType::I16];
    let twice = fixed.iter().chain(&fixed).enumerate();
    let mut fields: Vec<Field> =
        twice.map(|(i, field_type)| Field::new(&format!("f{i}"), *field_type)).collect();
    fields.extend(["i", "j"].map(|name| Field::new(name, FieldType::Bytes)));
    Schema::new(TableKind::Transactional, fields).expect("fits")
}

fn row(schema: &Schema, random: &mut Random) -> Tuple {
    let mut row = Vec::new();
    for _ in 0..2 {
        row.push(Value::F64(random.unit()));
        row.push(Value::I64(random.within(-1000..1000)));
        row.push(Value::I32(random.within(0..10_000) as i32));
        row.push(Value::I32(random.within(0..256) as i32));
    }
    row.extend(["OUGHTABLEPRI", "PRESESEANTICALLY"].map(Value::text));
    Tuple::encode(schema, &row).expect("fits")
}

impl Ycsb {
    pub(crate) fn load(cluster: &Cluster, layout: Layout, rows: u64) -> Self {
        let schema = schema();
        let made = block_on(cluster.create("main", &schema, layout), || cluster.flush());
        let (table, manager) = (made.expect("is new"), Manager::default());
        let random = RefCell::new(Random::new(5));
        manager.run(|snapshot| {
            all(
                64,
                rows,
                || cluster.flush(),
                async |key| {
                    let tuple = row(&schema, &mut random.borrow_mut());
                    let write = table.write_later(snapshot, key, Change::Insert(&tuple));
                    write.await.expect("inserts");
                },
            );
        });
        let all = Self { table, manager, first: Cell::new(0), end: Cell::new(rows) };
        all.collect();
        all
    }

    pub(crate) fn rows(&self) -> u64 {
        self.end.get() - self.first.get()
    }

    pub(crate) fn collect(&self) {
        self.table.collect(self.manager.lowest_active()).expect("there is room");
    }

    fn key(&self, random: &RefCell<Random>) -> u64 {
        self.first.get() + EDGE + random.borrow_mut().below(self.rows() - 2 * EDGE)
    }

    pub(crate) fn gets(&self, cluster: &Cluster, calls: u64, batch: usize) {
        let random = RefCell::new(Random::new(calls));
        self.manager.run(|snapshot| {
            all(
                batch,
                calls,
                || cluster.flush(),
                async |_| {
                    let read = self.table.get_later(snapshot, self.key(&random));
                    black_box(read.await.expect("is there"));
                },
            );
        });
    }

    pub(crate) fn mix(&self, cluster: &Cluster, calls: u64, batch: usize) {
        let random = RefCell::new(Random::new(calls + 1));
        all(
            batch,
            calls,
            || cluster.flush(),
            async |n| {
                let snapshot = self.manager.begin();
                if n % 2 == 0 {
                    let read = self.table.get_later(&snapshot, self.key(&random));
                    black_box(read.await.expect("is there"));
                } else {
                    self.put(n / 2 % 3, &snapshot, &random).await;
                }
                self.manager.finish(&snapshot);
            },
        );
    }

    async fn put(&self, kind: u64, snapshot: &store::Snapshot, random: &RefCell<Random>) {
        let tuple = row(self.table.schema(), &mut random.borrow_mut());
        let (key, change) = match kind {
            0 => (self.end.replace(self.end.get() + 1), Change::Insert(&tuple)),
            1 => (self.key(random), Change::Update(&tuple)),
            _ => (self.first.replace(self.first.get() + 1), Change::Remove),
        };
        let outcome = self.table.write_later(snapshot, key, change).await;
        // Two updates of one key at once: one of them meets a conflict.
        assert!(outcome.is_ok() || kind == 1, "{outcome:?}");
    }

    /// Queries with their names.
    pub(crate) fn queries(&self) -> [(Query, &'static str); 3] {
        let between = |field, low, high| {
            Selection::all()
                .and(FieldId(field), Test::Compare(CompareOp::Greater, low))
                .and(FieldId(field), Test::Compare(CompareOp::Less, high))
        };
        let largest = || Query::aggregates(vec![Aggregate::Max(FieldId(0))]);
        let half = between(4, Value::F64(0.0), Value::F64(0.5));
        let tenth = between(3, Value::I32(0), Value::I32(26));
        [
            (largest(), "Q1: the largest of a field"),
            (largest().of(half), "Q2: of half of the rows"),
            (Query::fields((0..10).map(FieldId).collect()).of(tenth), "Q3: a tenth of the rows"),
        ]
    }

    pub(crate) fn scan(&self, query: &Query) {
        self.manager.run(|snapshot| {
            let request = ScanRequest { query, snapshot, sink: &Nothing };
            black_box(self.table.scan(&[request], 1).expect("scans"));
        });
    }
}
