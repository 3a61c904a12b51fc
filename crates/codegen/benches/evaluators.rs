//! Loops and code on the same queries: `cargo bench -p codegen --bench evaluators`. Run by
//! `cargo test` it checks itself on tiny input.
//!
//! Rows have fixed fields of each width twice and two texts. Query kinds: `one` (an integer below a
//! literal; rows, a sum), `three` (an integer, a float and an OR of two; a sum, two extremes),
//! `text` (a beginning of a text), `fields` (one row in a hundred, three of its fields). Of `mixed`
//! each query has a kind of its own, up to 64.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use codegen::{Compiler, When};
use store::code::{Code, Compile, Pass, Start};
use store::conformance::Manager;
use store::delta_main::{ColumnStore, RowStore};
use store::{
    Aggregate, Field, FieldId, FieldType, Flow, Predicate, Query, Rows, ScanRequest, Schema,
    Selection, Sink, Table, TableKind, TableOptions, Test, Tuple,
};
use testkit::Random;
use types::{CompareOp, Value};

/// Takes rows and keeps none.
struct Nothing;

impl Sink for Nothing {
    fn rows(&self, rows: &Rows) -> Flow {
        black_box(rows.len());
        Flow::Continue
    }
}

fn schema() -> Arc<Schema> {
    let fixed = [FieldType::F64, FieldType::I64, FieldType::I32, FieldType::I16];
    let twice = fixed.iter().chain(&fixed).enumerate();
    let mut fields: Vec<Field> = twice
        .map(|(i, field_type)| match i {
            0..4 => Field::new(&format!("f{i}"), *field_type),
            _ => Field::nullable(&format!("f{i}"), *field_type),
        })
        .collect();
    fields.extend(["i", "j"].map(|name| Field::new(name, FieldType::Bytes)));
    Arc::new(Schema::new(TableKind::Transactional, fields).expect("fits"))
}

fn row(random: &mut Random) -> Vec<Value> {
    let mut row = Vec::new();
    for half in 0..2 {
        let values = [
            Value::F64(random.unit()),
            Value::I64(random.within(-1000..1000)),
            Value::I32(random.within(0..10_000) as i32),
            Value::I32(random.within(0..256) as i32),
        ];
        row.extend(values.map(|value| {
            let is_null = half == 1 && random.chance(5);
            if is_null { Value::Null } else { value }
        }));
    }
    row.push(Value::text(&format!("{:02} OUGHTABLEPRI", random.within(0..100))));
    row.push(Value::text("PRESESEANTICALLY"));
    row
}

fn below(field: u16, literal: Value) -> Predicate {
    Predicate { field: FieldId(field), test: Test::Compare(CompareOp::Less, literal) }
}

fn of(conjuncts: Vec<Vec<Predicate>>, query: Query) -> Query {
    query.of(Selection { conjuncts })
}

/// Kinds of queries, by name.
const KINDS: [&str; 5] = ["one", "three", "text", "fields", "mixed"];

fn query(kind: &str, number: usize, random: &mut Random) -> Query {
    let number16 = |random: &mut Random| Value::I32(random.within(0..256) as i32);
    match kind {
        "one" => of(
            vec![vec![below(3, number16(random))]],
            Query::aggregates(vec![Aggregate::Rows, Aggregate::Sum(FieldId(0))]),
        ),
        "three" => of(
            vec![
                vec![below(2, Value::I32(random.within(0..10_000) as i32))],
                vec![below(4, Value::F64(random.unit()))],
                vec![below(7, number16(random)), below(5, Value::I64(random.within(-1000..1000)))],
            ],
            Query::aggregates(vec![
                Aggregate::Sum(FieldId(1)),
                Aggregate::Min(FieldId(4)),
                Aggregate::Max(FieldId(6)),
            ]),
        ),
        "text" => {
            let part: Arc<[u8]> = format!("{:02} OU", random.within(0..100)).into_bytes().into();
            let test = Test::StartsWith(part);
            of(
                vec![vec![Predicate { field: FieldId(8), test }]],
                Query::aggregates(vec![Aggregate::Rows, Aggregate::Sum(FieldId(5))]),
            )
        }
        "fields" => of(
            vec![vec![below(2, Value::I32(100))]],
            Query::fields(vec![FieldId(0), FieldId(5), FieldId(3)]),
        ),
        _ => mixed(number, random),
    }
}

/// A query whose fields and aggregates are those of its number.
fn mixed(number: usize, random: &mut Random) -> Query {
    let literals = |field: usize, random: &mut Random| match field % 4 {
        0 => Value::F64(random.unit()),
        1 => Value::I64(random.within(-1000..1000)),
        2 => Value::I32(random.within(0..10_000) as i32),
        _ => Value::I32(random.within(0..256) as i32),
    };
    let (first, second) = (number % 8, number / 8 % 8);
    let conjuncts = [first, second].map(|field| vec![below(field as u16, literals(field, random))]);
    let [a, b] = [first, second].map(|field| FieldId(field as u16));
    of(
        conjuncts.into(),
        Query::aggregates(vec![Aggregate::Sum(a), Aggregate::Max(b), Aggregate::Count(b)]),
    )
}

/// The compiler, and how long it took.
#[derive(Debug)]
struct Timed {
    compiler: Arc<Compiler>,
    seconds: parking_lot::Mutex<f64>,
}

impl Compile for Timed {
    fn start(&self, pass: &Pass) -> Start {
        self.compiler.start(pass)
    }

    fn compile(&self, pass: &Pass) -> Option<Arc<dyn Code>> {
        let begin = Instant::now();
        let code = self.compiler.compile(pass);
        *self.seconds.lock() = begin.elapsed().as_secs_f64();
        code
    }
}

fn timed() -> Arc<Timed> {
    let compiler = Compiler::new(When::Always).expect("there is code for this processor");
    Arc::new(Timed { compiler, seconds: parking_lot::Mutex::new(0.0) })
}

/// A table of each layout, with loops and with code.
fn tables(compiler: &Arc<Timed>) -> Vec<[Arc<dyn Table>; 2]> {
    let loops = TableOptions { keys_expected: 1 << 20, ..TableOptions::default() };
    let coded = TableOptions { compiler: Some(compiler.clone()), ..loops.clone() };
    let room = "there is room";
    let both = [loops, coded];
    let columns = both.each_ref().map(|options| {
        Arc::new(ColumnStore::new(schema(), options).expect(room)) as Arc<dyn Table>
    });
    let rows = both
        .each_ref()
        .map(|options| Arc::new(RowStore::new(schema(), options).expect(room)) as Arc<dyn Table>);
    vec![columns, rows]
}

fn load(table: &dyn Table, manager: &Manager, rows: u64) {
    let mut random = Random::new(5);
    manager.run(|snapshot| {
        for key in 0..rows {
            let tuple = Tuple::encode(table.schema(), &row(&mut random)).expect("fits");
            table.insert(snapshot, key, &tuple).expect("inserts");
        }
    });
    table.collect(manager.lowest_active()).expect("collects");
}

fn scan(table: &dyn Table, manager: &Manager, queries: &[Query]) -> Vec<(u64, Vec<Value>)> {
    let snapshot = manager.begin();
    let requests: Vec<_> = queries
        .iter()
        .map(|query| ScanRequest { query, snapshot: &snapshot, sink: &Nothing })
        .collect();
    let ends = table.scan(&requests, 1).expect("scans");
    manager.finish(&snapshot);
    ends.into_iter().map(|end| (end.rows, end.values)).collect()
}

/// The fastest of five, in milliseconds.
fn best(mut work: impl FnMut()) -> f64 {
    let times = (0..5).map(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Equal but for sums of floats, whose order differs.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => (a - b).abs() <= a.abs() * 1e-9,
        _ => a == b,
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rows, counts): (u64, &[usize]) =
        if is_bench { (2_000_000, &[1, 8, 64]) } else { (3000, &[1, 64]) };
    println!("{rows} rows, one thread, ms: loops, code, loops / code; code made anew, kept");
    let compiler = timed();
    for (layout, number) in [("columns", 0), ("rows", 1)] {
        let manager = Manager::default();
        let [loops, coded] = tables(&compiler).swap_remove(number);
        for table in [&loops, &coded] {
            load(&**table, &manager, rows);
        }
        for kind in KINDS {
            for count in counts {
                let mut random = Random::new(7);
                let queries: Vec<Query> =
                    (0..*count).map(|i| query(kind, i, &mut random)).collect();
                compiler.compiler.forget();
                let answers = scan(&*coded, &manager, &queries);
                let fresh = *compiler.seconds.lock() * 1e3;
                let expected = scan(&*loops, &manager, &queries);
                for (a, b) in answers.iter().zip(&expected) {
                    assert_eq!(a.0, b.0, "{layout} {kind}");
                    assert!(a.1.iter().zip(&b.1).all(|(a, b)| same(a, b)), "{a:?} {b:?}");
                }
                let a = best(|| drop(black_box(scan(&*loops, &manager, &queries))));
                let b = best(|| drop(black_box(scan(&*coded, &manager, &queries))));
                let kept = *compiler.seconds.lock() * 1e3;
                let code = format!("{fresh:7.2} {kept:6.2}");
                let ratio = a / b;
                println!("{layout:>8} {kind:>7} {count:3} {a:9.2} {b:9.2} {ratio:6.2}  {code}");
            }
        }
    }
}
