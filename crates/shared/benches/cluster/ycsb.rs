//! YCSB#: its table, gets and puts that leave the size as it is, and its three queries.

use std::cell::{Cell, RefCell};
use std::hint::black_box;

use store::conformance::Manager;
use store::server::Layout;
use store::{
    Aggregate, FieldId, Query, ScanRequest, Schema, Selection, Table as _, TableKind, Test,
};
use testkit::Random;
use transport::{Change, Cluster, RemoteTable, block_on};
use types::{CompareOp, Value};

use crate::stand::all;
use crate::wide_row::{self, Nothing};

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

impl Ycsb {
    pub(crate) fn load(cluster: &Cluster, layout: Layout, rows: u64) -> Self {
        let schema = Schema::new(TableKind::Transactional, wide_row::fields()).expect("fits");
        let made = block_on(cluster.create("main", &schema, layout), || cluster.flush());
        let (table, manager) = (made.expect("is new"), Manager::default());
        let random = RefCell::new(Random::new(5));
        manager.run(|snapshot| {
            all(
                64,
                rows,
                || cluster.flush(),
                async |key| {
                    let tuple = wide_row::row(&schema, &mut random.borrow_mut());
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
        let tuple = wide_row::row(self.table.schema(), &mut random.borrow_mut());
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
