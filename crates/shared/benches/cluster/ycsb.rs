//! YCSB#: its table, gets and puts that leave the size as it is, and its three queries.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use store::conformance::Manager;
use store::server::Layout;
use store::{
    Aggregate, FieldId, Query, ScanRequest, Schema, Selection, Table as _, TableKind, Test,
};
use testkit::Random;
use transport::{Change, Cluster, RemoteTable, block_on};
use types::{CompareOp, Value};

use crate::stand::{NewTable, all, filled};
use crate::wide_row::{self, Nothing};

/// Keys next to both ends that no update takes: others are being removed and inserted there.
const EDGE: u64 = 100;

/// The loaded table.
pub(crate) struct Ycsb {
    reader: Reader,
    /// Keys that are there.
    first: Cell<u64>,
    end: Cell<u64>,
}

/// A client that scans.
pub(crate) struct Reader {
    table: RemoteTable,
    manager: Arc<Manager>,
}

impl Reader {
    pub(crate) fn scan(&self, query: &Query) {
        self.manager.run(|snapshot| {
            let request = ScanRequest { query, snapshot, sink: &Nothing };
            black_box(self.table.scan(&[request], 1).expect("scans"));
        });
    }
}

impl Ycsb {
    pub(crate) fn load(cluster: &Cluster, layout: Layout, rows: u64) -> Self {
        let schema = Schema::new(TableKind::Transactional, wide_row::fields()).expect("fits");
        let random = RefCell::new(Random::new(5));
        let new = NewTable { name: "main", schema, layout };
        let row = |_| wide_row::row(&new.schema, &mut random.borrow_mut());
        let (table, manager) = filled(cluster, &new, rows, row);
        let reader = Reader { table, manager: Arc::new(manager) };
        let all = Self { reader, first: Cell::new(0), end: Cell::new(rows) };
        all.collect();
        all
    }

    pub(crate) fn rows(&self) -> u64 {
        self.end.get() - self.first.get()
    }

    pub(crate) fn collect(&self) {
        self.reader.table.collect(self.reader.manager.lowest_active()).expect("there is room");
    }

    /// A client that scans the table through connections of its own.
    pub(crate) fn reader(&self, cluster: &Cluster) -> Reader {
        let table = block_on(cluster.find("main"), || cluster.flush()).expect("is there");
        Reader { table, manager: Arc::clone(&self.reader.manager) }
    }

    fn key(&self, random: &RefCell<Random>) -> u64 {
        self.first.get() + EDGE + random.borrow_mut().below(self.rows() - 2 * EDGE)
    }

    pub(crate) fn gets(&self, cluster: &Cluster, calls: u64, batch: usize) {
        let random = RefCell::new(Random::new(calls));
        self.reader.manager.run(|snapshot| {
            all(
                batch,
                calls,
                || cluster.flush(),
                async |_| {
                    let read = self.reader.table.get_later(snapshot, self.key(&random));
                    black_box(read.await.expect("is there"));
                },
            );
        });
    }

    /// Gets and puts in turn; the times of the gets in nanoseconds.
    pub(crate) fn mix(&self, cluster: &Cluster, calls: u64, batch: usize) -> Vec<u64> {
        let random = RefCell::new(Random::new(calls + self.end.get()));
        let times = RefCell::new(Vec::new());
        all(
            batch,
            calls,
            || cluster.flush(),
            async |n| {
                let snapshot = self.reader.manager.begin();
                if n % 2 == 0 {
                    let begin = Instant::now();
                    let read = self.reader.table.get_later(&snapshot, self.key(&random));
                    black_box(read.await.expect("is there"));
                    times.borrow_mut().push(begin.elapsed().as_nanos() as u64);
                } else {
                    self.put(n / 2 % 3, &snapshot, &random).await;
                }
                self.reader.manager.finish(&snapshot);
            },
        );
        times.into_inner()
    }

    async fn put(&self, kind: u64, snapshot: &store::Snapshot, random: &RefCell<Random>) {
        let tuple = wide_row::row(self.reader.table.schema(), &mut random.borrow_mut());
        let (key, change) = match kind {
            0 => (self.end.replace(self.end.get() + 1), Change::Insert(&tuple)),
            1 => (self.key(random), Change::Update(&tuple)),
            _ => (self.first.replace(self.first.get() + 1), Change::Remove),
        };
        let outcome = self.reader.table.write_later(snapshot, key, change).await;
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
        self.reader.scan(query);
    }
}
