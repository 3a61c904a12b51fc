//! Column map, row pages and log on the same work: `cargo bench -p store --bench layouts`. Run by
//! `cargo test` it checks itself on tiny input.
//!
//! Sum: rows of one double and three texts of 330 bytes, of which the double is summed (Pilman
//! 2017, table 4.1). Mix: fixed fields of each width, two texts; half gets, and inserts, updates,
//! removals in equal parts, so that the size stays (section 5.3, YCSB#). Shared: n queries at once
//! over the same rows, each an average of a part; the time of one query alone is beside it.

#[path = "layouts/wide_row.rs"]
mod wide_row;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use store::conformance::Manager;
use store::delta_main::{ColumnStore, RowStore};
use store::log_store::LogStore;
use store::{
    Aggregate, Field, FieldId, FieldType, Query, ScanRequest, Schema, Selection, Table, TableKind,
    TableOptions, Test, Tuple,
};
use testkit::Random;
use types::{CompareOp, Value};
use wide_row::Nothing;

fn layouts(fields: Vec<Field>) -> Vec<(&'static str, Arc<dyn Table>)> {
    let schema = Arc::new(Schema::new(TableKind::Transactional, fields).expect("fits"));
    let options = TableOptions { keys_expected: 1 << 20, ..TableOptions::default() };
    let room = "there is room";
    vec![
        ("columns", Arc::new(ColumnStore::new(schema.clone(), &options).expect(room))),
        ("rows", Arc::new(RowStore::new(schema.clone(), &options).expect(room))),
        ("log", Arc::new(LogStore::new(schema, &options).expect(room))),
    ]
}

/// The fastest of five, in seconds.
fn best(mut work: impl FnMut()) -> f64 {
    let times = (0..5).map(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn scan(table: &dyn Table, manager: &Manager, queries: &[Query]) -> Vec<Value> {
    let snapshot = manager.begin();
    let requests: Vec<_> = queries
        .iter()
        .map(|query| ScanRequest { query, snapshot: &snapshot, sink: &Nothing })
        .collect();
    let ends = table.scan(&requests, 1).expect("scans");
    manager.finish(&snapshot);
    ends.into_iter().flat_map(|end| end.values).collect()
}

fn sum(rows: i64) {
    let mut fields = vec![Field::new("number", FieldType::F64)];
    fields.extend(["a", "b", "c"].map(|name| Field::new(name, FieldType::Bytes)));
    println!("sum of {rows} rows of 1 kB, ms");
    let text: Arc<[u8]> = vec![b'x'; 330].into();
    for (name, table) in layouts(fields) {
        let manager = Manager::default();
        manager.run(|snapshot| {
            for n in 0..rows {
                let mut row = vec![Value::F64((n % 100) as f64)];
                row.extend((0..3).map(|_| Value::Str(text.clone())));
                let tuple = Tuple::encode(table.schema(), &row).expect("fits");
                table.insert(snapshot, n as u64, &tuple).expect("inserts");
            }
        });
        table.collect(manager.lowest_active()).expect("collects");
        let queries = [Query::aggregates(vec![Aggregate::Sum(FieldId(0))])];
        let expected: i64 = (0..rows).map(|n| n % 100).sum();
        assert_eq!(scan(&*table, &manager, &queries), [Value::F64(expected as f64)]);
        let time = best(|| drop(scan(&*table, &manager, &queries)));
        println!("{name:>8} {:8.2}", time * 1e3);
    }
}

fn load(table: &dyn Table, manager: &Manager, rows: u64) {
    let mut random = Random::new(5);
    manager.run(|snapshot| {
        for key in 0..rows {
            let tuple = wide_row::row(table.schema(), &mut random);
            table.insert(snapshot, key, &tuple).expect("inserts");
        }
    });
    table.collect(manager.lowest_active()).expect("collects");
}

fn mix(rows: u64, calls: u64) {
    println!("gets, then gets and puts of {rows} rows, one thread, M calls/s");
    for (name, table) in layouts(wide_row::fields()) {
        let manager = Manager::default();
        load(&*table, &manager, rows);
        let mut random = Random::new(6);
        let snapshot = manager.begin();
        let gets = best(|| {
            for _ in 0..calls {
                black_box(table.get(&snapshot, random.below(rows)).expect("is there"));
            }
        });
        manager.finish(&snapshot);
        let tuple = wide_row::row(table.schema(), &mut random);
        let (mut first, mut end) = (0, rows);
        let mixed = best(|| {
            let snapshot = manager.begin();
            for call in 0..calls {
                let key = first + random.below(end - first);
                match call % 6 {
                    0 => {
                        table.insert(&snapshot, end, &tuple).expect("inserts");
                        end += 1;
                    }
                    2 => table.update(&snapshot, key, &tuple).expect("updates"),
                    4 => {
                        table.remove(&snapshot, first).expect("removes");
                        first += 1;
                    }
                    _ => drop(black_box(table.get(&snapshot, key).expect("is there"))),
                }
            }
            manager.finish(&snapshot);
            table.collect(manager.lowest_active()).expect("collects");
        });
        let rate = |time: f64| calls as f64 / time / 1e6;
        println!("{name:>8} {:8.2} {:8.2}", rate(gets), rate(mixed));
    }
}

fn shared(rows: u64, counts: &[usize]) {
    println!("n queries of {rows} rows in one pass: n, ms, times as long as one alone");
    for (name, table) in layouts(wide_row::fields()) {
        let manager = Manager::default();
        load(&*table, &manager, rows);
        let mut random = Random::new(7);
        let mut alone = 0.0;
        for count in counts {
            let queries: Vec<Query> = (0..*count)
                .map(|_| {
                    let bound = Value::I32(random.within(0..256) as i32);
                    let part = Test::Compare(CompareOp::Less, bound);
                    let selection = Selection::all().and(FieldId(3), part);
                    Query::aggregates(vec![Aggregate::Rows, Aggregate::Sum(FieldId(0))])
                        .of(selection)
                })
                .collect();
            let time = best(|| drop(black_box(scan(&*table, &manager, &queries))));
            alone = if *count == 1 { time } else { alone };
            println!("{name:>8} {count:4} {:8.2} {:6.1}", time * 1e3, time / alone);
        }
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (wide, narrow, calls) =
        if is_bench { (500_000, 1_000_000, 500_000) } else { (500, 500, 300) };
    sum(wide);
    mix(narrow, calls);
    shared(narrow, if is_bench { &[1, 2, 16, 64] } else { &[1, 3] });
}
