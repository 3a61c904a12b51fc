//! Rows 2, 14, 29 to 31, 34 to 36: scans.

use std::collections::BTreeMap;

use types::{CompareOp, Value};

use super::stand::{Manager, Stack, all_fields, collected, fill, row, schema, tuple};
use crate::error::StoreError;
use crate::query::{Aggregate, Partition, Predicate, Query, Selection, Test};
use crate::scan::{Flow, Rows, ScanRequest, Sink};
use crate::schema::{FieldId, Key, TableKind};
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Numbers from a seed: the generator of tests is not for the product's crates.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// Rows that the snapshot sees, by get.
fn by_gets(table: &dyn Table, snapshot: &Snapshot, keys: u64) -> BTreeMap<Key, Vec<Value>> {
    let get = |key| Some((key, table.get(snapshot, key).ok()?.tuple.decode(table.schema())));
    (0..keys).filter_map(get).collect()
}

/// A table in all states: rows that were collected once, were written after, and are being written;
/// and a snapshot of it.
fn mixed(stack: &dyn Stack) -> (std::sync::Arc<dyn Table>, Manager, Snapshot) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    fill(&*table, &manager, 300);
    let long = manager.begin();
    let change = |snapshot: &Snapshot, first: u64, step: usize, by: i64| {
        for key in (first..300).step_by(step) {
            let n = tuple(&*table, key as i64 + by);
            match (table.get(snapshot, key).is_ok(), key % 5) {
                (true, 0) => table.remove(snapshot, key),
                (true, _) => table.update(snapshot, key, &n),
                _ => table.insert(snapshot, key, &n),
            }
            .expect("nobody else writes");
        }
    };
    manager.run(|snapshot| change(snapshot, 3, 7, 1000));
    (0..2).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
    manager.run(|snapshot| change(snapshot, 1, 5, -500));
    let open = manager.begin();
    change(&open, 2, 10, 7);
    manager.run(|snapshot| {
        for key in 300..330 {
            table.insert(snapshot, key, &tuple(&*table, -(key as i64))).expect("inserts");
        }
    });
    manager.finish(&long);
    let snapshot = manager.begin();
    (table, manager, snapshot)
}

/// Counts rows, and how large a chunk was.
#[derive(Debug, Default)]
struct Largest(parking_lot::Mutex<(usize, usize)>);

impl Sink for Largest {
    fn rows(&self, rows: &Rows) -> Flow {
        let mut seen = self.0.lock();
        *seen = (seen.0 + rows.len(), seen.1.max(rows.len()));
        Flow::Continue
    }
}

/// A hundred queries at once get all rows in chunks that do not grow with them; the table's memory
/// stays what it is.
pub fn row_002_memory_of_scans_is_constant(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    fill(&*table, &manager, 5000);
    let (snapshot, query) = (manager.begin(), Query::fields(vec![FieldId(4)]));
    let sinks: Vec<Largest> = (0..100).map(|_| Largest::default()).collect();
    let requests: Vec<_> =
        sinks.iter().map(|sink| ScanRequest { query: &query, snapshot: &snapshot, sink }).collect();
    let before = table.stats().bytes;
    table.scan(&requests, 2).expect("scans");
    assert_eq!(table.stats().bytes, before);
    for sink in &sinks {
        let (count, largest) = *sink.0.lock();
        assert_eq!(count, 5000);
        assert!(largest <= 4096, "{largest} rows in one chunk");
    }
}

/// A scan gives what gets give at the same snapshot.
pub fn row_014_scan_equals_gets(stack: &dyn Stack) {
    let (table, manager, snapshot) = mixed(stack);
    let check = |snapshot: &Snapshot| {
        let scanned = collected(&*table, &all_fields(&*table), snapshot).0;
        let expected: Vec<_> = by_gets(&*table, snapshot, 400).into_iter().collect();
        assert_eq!(scanned, expected);
        assert!(scanned.len() > 200);
    };
    check(&snapshot);
    (0..2).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
    check(&snapshot);
    check(&manager.begin());
}

fn random_test(draw: &mut Draw, field: u16) -> Test {
    let ops = [
        CompareOp::Equal,
        CompareOp::NotEqual,
        CompareOp::Less,
        CompareOp::LessEqual,
        CompareOp::Greater,
        CompareOp::GreaterEqual,
    ];
    let op = ops[draw.below(6) as usize];
    let source = row(draw.below(330) as i64 * 2 - 100);
    let literal = source[usize::from(field)].clone();
    let Value::Str(bytes) = &literal else {
        let is_null_test = literal.is_null() || draw.below(8) == 0;
        return match (is_null_test, draw.below(2)) {
            (true, 0) => Test::IsNull,
            (true, _) => Test::IsNotNull,
            _ => Test::Compare(op, literal),
        };
    };
    let len = draw.below(bytes.len() as u64 + 1) as usize;
    match draw.below(6) {
        0 => Test::StartsWith(bytes[..len].into()),
        1 => Test::StartsNotWith(bytes[..len].into()),
        2 => Test::EndsWith(bytes[len..].into()),
        3 => Test::EndsNotWith(bytes[len..].into()),
        _ => Test::Compare(op, Value::Str(bytes[..bytes.len().min(len + 4)].into())),
    }
}

fn random_selection(draw: &mut Draw) -> Selection {
    let conjuncts = (0..draw.below(4)).map(|_| {
        let count = if draw.below(60) == 0 { 0 } else { [1, 1, 2, 3][draw.below(4) as usize] };
        let predicates = (0..count).map(|_| {
            let field = draw.below(7) as u16;
            Predicate { field: FieldId(field), test: random_test(draw, field) }
        });
        predicates.collect()
    });
    Selection { conjuncts: conjuncts.collect() }
}

fn accepts(selection: &Selection, values: &[Value]) -> bool {
    selection
        .conjuncts
        .iter()
        .all(|conjunct| conjunct.iter().any(|p| p.test.accepts(&values[usize::from(p.field.0)])))
}

/// Random CNFs, many at once, give what their tests mean on each row; what does not fit the schema
/// is refused.
pub fn row_029_selection(stack: &dyn Stack) {
    let (table, manager, snapshot) = mixed(stack);
    let mut draw = Draw(29);
    for round in 0..3 {
        let expected = by_gets(&*table, &snapshot, 400);
        for _ in 0..stack.effort().of(500) {
            let selection = random_selection(&mut draw);
            let query = all_fields(&*table).of(selection);
            let wanted: Vec<_> =
                expected.clone().into_iter().filter(|r| accepts(&query.selection, &r.1)).collect();
            let (rows, end) = collected(&*table, &query, &snapshot);
            assert_eq!(rows, wanted, "round {round}: {:?}", query.selection);
            assert_eq!(end.rows, wanted.len() as u64);
        }
        table.collect(manager.lowest_active()).expect("collects");
    }
    let bad = [
        Selection::all().and(FieldId(7), Test::IsNull),
        Selection::all().and(FieldId(0), Test::Compare(CompareOp::Equal, Value::I32(1))),
        Selection::all().and(FieldId(0), Test::Compare(CompareOp::Distinct, Value::I64(1))),
        Selection::all().and(FieldId(1), Test::Compare(CompareOp::Equal, Value::Null)),
        Selection::all().and(FieldId(2), Test::StartsWith((*b"a").into())),
    ];
    for selection in bad {
        let query = all_fields(&*table).of(selection);
        let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &Largest::default() };
        let outcome = table.scan(&[request], 1);
        assert!(matches!(outcome, Err(StoreError::InvalidScan(_))), "{:?}", query.selection);
    }
}

/// Fields in any order, one, none or all of them.
pub fn row_030_projection(stack: &dyn Stack) {
    let (table, manager, snapshot) = mixed(stack);
    for _ in 0..3 {
        let all = by_gets(&*table, &snapshot, 400);
        for fields in [vec![], vec![6], vec![3, 0], vec![5, 4, 3, 2, 1], vec![1, 6, 2, 3]] {
            let query = Query::fields(fields.iter().map(|f| FieldId(*f)).collect());
            let (rows, _) = collected(&*table, &query, &snapshot);
            let pick = |row: &Vec<Value>| {
                fields.iter().map(|f| row[usize::from(*f)].clone()).collect::<Vec<_>>()
            };
            let wanted: Vec<_> = all.iter().map(|(key, row)| (*key, pick(row))).collect();
            assert_eq!(rows, wanted, "{fields:?}");
        }
        table.collect(manager.lowest_active()).expect("collects");
    }
    for fields in [vec![7], vec![1, 1]] {
        let query = Query::fields(fields.into_iter().map(FieldId).collect());
        let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &Largest::default() };
        assert!(matches!(table.scan(&[request], 1), Err(StoreError::InvalidScan(_))));
    }
}

/// Sums, extremes and counts, of no row, too; floats that are all negative have a maximum.
pub fn row_031_aggregates(stack: &dyn Stack) {
    let (table, manager, snapshot) = mixed(stack);
    let mut list = vec![Aggregate::Rows];
    for field in (0..7).map(FieldId) {
        list.extend([Aggregate::Count(field), Aggregate::Min(field), Aggregate::Max(field)]);
        list.extend((![3, 6].contains(&field.0)).then_some(Aggregate::Sum(field)));
    }
    let mut draw = Draw(31);
    for _ in 0..3 {
        let all = by_gets(&*table, &snapshot, 400);
        for _ in 0..stack.effort().of(200) {
            let selection = random_selection(&mut draw);
            let chosen: Vec<_> = all.values().filter(|row| accepts(&selection, row)).collect();
            let query = Query::aggregates(list.clone()).of(selection);
            let (_, end) = collected(&*table, &query, &snapshot);
            let wanted: Vec<_> = list.iter().map(|a| aggregated(*a, &chosen)).collect();
            assert_eq!(end.values, wanted, "{:?}", query.selection);
        }
        table.collect(manager.lowest_active()).expect("collects");
    }
    let negative =
        Selection::all().and(FieldId(2), Test::Compare(CompareOp::Less, Value::F64(0.0)));
    let query = Query::aggregates(vec![Aggregate::Max(FieldId(2))]).of(negative);
    let (_, end) = collected(&*table, &query, &snapshot);
    assert!(matches!(end.values[0], Value::F64(v) if v < 0.0), "{end:?}");
    let sum = Query::aggregates(vec![Aggregate::Sum(FieldId(3))]);
    let request = ScanRequest { query: &sum, snapshot: &snapshot, sink: &Largest::default() };
    assert!(matches!(table.scan(&[request], 1), Err(StoreError::InvalidScan(_))));
}

/// The aggregate as a loop over values. Sums of these floats are exact in any order.
fn aggregated(aggregate: Aggregate, rows: &[&Vec<Value>]) -> Value {
    let Some(field) = aggregate.field() else { return Value::I64(rows.len() as i64) };
    let values = rows.iter().map(|row| &row[usize::from(field.0)]).filter(|v| !v.is_null());
    let values: Vec<&Value> = values.collect();
    let by = |a: &&&Value, b: &&&Value| crate::query::order(a, b).expect("no NULL");
    let best = match aggregate {
        Aggregate::Count(_) => return Value::I64(values.len() as i64),
        Aggregate::Sum(_) if values.is_empty() => return Value::Null,
        Aggregate::Sum(_) => {
            let integers: Option<i128> = values.iter().map(|v| v.as_integer()).sum();
            return integers
                .map(Value::I128)
                .unwrap_or_else(|| Value::F64(values.iter().map(|v| float(v)).sum()));
        }
        Aggregate::Min(_) => values.iter().min_by(by),
        _ => values.iter().max_by(by),
    };
    best.map_or(Value::Null, |v| (*v).clone())
}

fn float(value: &Value) -> f64 {
    if let Value::F64(v) = value { *v } else { panic!("{value:?}") }
}

/// Queries with equal and overlapping selections, of several snapshots, in one scan: each has what
/// it has alone.
pub fn row_034_equal_selections(stack: &dyn Stack) {
    let (table, manager, snapshot) = mixed(stack);
    let mut draw = Draw(34);
    let young = manager.begin();
    let selections: Vec<_> = (0..8).map(|_| random_selection(&mut draw)).collect();
    let queries: Vec<Query> = (0..64)
        .map(|i| {
            let selection = selections[i % 8].clone();
            let aggregates = vec![Aggregate::Rows, Aggregate::Sum(FieldId(0))];
            Query::aggregates(aggregates).of(selection)
        })
        .collect();
    for _ in 0..3 {
        let sink = Largest::default();
        let of = |i: usize| if i.is_multiple_of(3) { &young } else { &snapshot };
        let requests: Vec<_> = queries
            .iter()
            .enumerate()
            .map(|(i, query)| ScanRequest { query, snapshot: of(i), sink: &sink })
            .collect();
        let together = table.scan(&requests, 2).expect("scans");
        for (i, (query, end)) in queries.iter().zip(&together).enumerate() {
            let alone = collected(&*table, query, of(i)).1;
            assert_eq!(*end, alone, "query {i}");
        }
        table.collect(manager.lowest_active()).expect("collects");
    }
}

/// Writes that no collection has seen are in scans at once: own ones and committed ones, not those
/// of others.
pub fn row_035_scan_sees_what_is_not_merged(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    fill(&*table, &manager, 100);
    (0..2).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
    let other = manager.begin();
    table.update(&other, 50, &tuple(&*table, 7)).expect("updates");
    table.insert(&other, 101, &tuple(&*table, 7)).expect("inserts");
    let own = manager.begin();
    table.update(&own, 10, &tuple(&*table, 1000)).expect("updates");
    table.remove(&own, 11).expect("removes");
    table.insert(&own, 100, &tuple(&*table, 2000)).expect("inserts");
    let mut expected: Vec<_> = (0..100).map(|n| (n as Key, row(n))).collect();
    let rows = |snapshot: &Snapshot| collected(&*table, &all_fields(&*table), snapshot).0;
    assert_eq!(rows(&other).len(), 101);
    expected[10].1 = row(1000);
    expected.remove(11);
    expected.push((100, row(2000)));
    assert_eq!(rows(&own), expected);
    manager.finish(&own);
    assert_eq!(rows(&manager.begin()), expected);
}

/// Parts of a scan are disjoint, and together all of it.
pub fn row_036_partitions(stack: &dyn Stack) {
    let (table, manager, snapshot) = mixed(stack);
    for _ in 0..3 {
        let all = collected(&*table, &all_fields(&*table), &snapshot).0;
        for count in [1, 2, 3, 4, 64] {
            let mut parts = Vec::new();
            for number in 0..count {
                let partition = Some(Partition { count, number });
                let query = Query { partition, ..all_fields(&*table) };
                parts.extend(collected(&*table, &query, &snapshot).0);
            }
            parts.sort_by_key(|row| row.0);
            assert_eq!(parts, all, "{count} parts");
        }
        table.collect(manager.lowest_active()).expect("collects");
    }
    for partition in [Partition { count: 0, number: 0 }, Partition { count: 2, number: 2 }] {
        let query = Query { partition: Some(partition), ..all_fields(&*table) };
        let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &Largest::default() };
        assert!(matches!(table.scan(&[request], 1), Err(StoreError::InvalidScan(_))));
    }
}
