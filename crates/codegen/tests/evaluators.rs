//! Row by row, loops over columns, and code: on random schemas, rows, conditions and outputs all
//! give what the model gives.

use std::sync::{Arc, LazyLock};

use codegen::{Compiler, When};
use parking_lot::Mutex;
use proptest::prelude::*;
use store::conformance::Manager;
use store::delta_main::{ColumnStore, RowStore};
use store::model::Model;
use store::{
    Aggregate, Field, FieldId, FieldType, Flow, HashRange, Output, Partition, Predicate, Query,
    Ranges, Rows, ScanEnd, ScanRequest, Schema, Selection, Sink, Snapshot, Table, TableKind,
    TableOptions, Test, Tuple,
};
use types::{CompareOp, Value};

static COMPILER: LazyLock<Arc<Compiler>> =
    LazyLock::new(|| Compiler::new(When::Always).expect("there is code for this processor"));

const TYPES: [FieldType; 6] = [
    FieldType::I16,
    FieldType::I32,
    FieldType::I64,
    FieldType::F32,
    FieldType::F64,
    FieldType::Bytes,
];

const OPS: [CompareOp; 6] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessEqual,
    CompareOp::Greater,
    CompareOp::GreaterEqual,
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let letter = prop_oneof![Just(b'a'), Just(b'b'), Just(0), Just(0xff)];
    proptest::collection::vec(letter, 0..9)
}

/// A value of a field; narrow ones tie, wide ones reach the ends.
fn value(field_type: FieldType) -> BoxedStrategy<Value> {
    match field_type {
        FieldType::I16 => testkit::values::<i16>().prop_map(|v| Value::I32(v.into())).boxed(),
        FieldType::I32 => testkit::values::<i32>().prop_map(Value::I32).boxed(),
        FieldType::I64 => testkit::values::<i64>().prop_map(Value::I64).boxed(),
        FieldType::F32 => testkit::values::<f32>().prop_map(|v| Value::F64(v.into())).boxed(),
        FieldType::F64 => testkit::values::<f64>().prop_map(Value::F64).boxed(),
        FieldType::Bytes => bytes().prop_map(|v| Value::Str(v.into())).boxed(),
    }
}

/// A literal for a field, which may lie outside of its type.
fn literal(field_type: FieldType) -> BoxedStrategy<Value> {
    match field_type {
        FieldType::I16 => prop_oneof![
            3 => value(FieldType::I16),
            1 => value(FieldType::I32),
        ]
        .boxed(),
        FieldType::F32 => prop_oneof![
            3 => value(FieldType::F32),
            1 => value(FieldType::F64),
        ]
        .boxed(),
        other => value(other),
    }
}

#[derive(Clone, Debug)]
struct Picked {
    field_type: FieldType,
    is_nullable: bool,
}

fn test(field_type: FieldType) -> BoxedStrategy<Test> {
    let compare = (proptest::sample::select(&OPS[..]), literal(field_type))
        .prop_map(|(op, literal)| Test::Compare(op, literal));
    let null = prop_oneof![Just(Test::IsNull), Just(Test::IsNotNull)];
    if field_type != FieldType::Bytes {
        return prop_oneof![6 => compare, 1 => null].boxed();
    }
    let part = (bytes(), 0..4).prop_map(|(part, kind)| {
        let part: Arc<[u8]> = part.into();
        match kind {
            0 => Test::StartsWith(part),
            1 => Test::StartsNotWith(part),
            2 => Test::EndsWith(part),
            _ => Test::EndsNotWith(part),
        }
    });
    prop_oneof![3 => compare, 3 => part, 1 => null].boxed()
}

fn selection(fields: Vec<Picked>) -> BoxedStrategy<Selection> {
    let predicate = (0..fields.len()).prop_flat_map(move |field| {
        let test = test(fields[field].field_type);
        test.prop_map(move |test| Predicate { field: FieldId(field as u16), test })
    });
    let conjunct = proptest::collection::vec(predicate, 0..4);
    let conjuncts = prop_oneof![
        1 => Just(Vec::new()),
        6 => proptest::collection::vec(conjunct, 1..4),
    ];
    conjuncts.prop_map(|conjuncts| Selection { conjuncts }).boxed()
}

fn output(fields: Vec<Picked>) -> BoxedStrategy<Output> {
    let count = fields.len();
    let projected = Just((0..count as u16).map(FieldId).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_flat_map(move |all| (Just(all), 0..=count))
        .prop_map(|(mut all, count)| {
            all.truncate(count);
            Output::Fields(all)
        });
    let aggregate = (0..count, 0..5).prop_map(move |(field, kind)| {
        let id = FieldId(field as u16);
        match kind {
            0 => Aggregate::Rows,
            1 => Aggregate::Count(id),
            2 if fields[field].field_type != FieldType::Bytes => Aggregate::Sum(id),
            3 => Aggregate::Max(id),
            _ => Aggregate::Min(id),
        }
    });
    let totals = proptest::collection::vec(aggregate, 0..5).prop_map(Output::Aggregates);
    prop_oneof![2 => totals, 1 => projected].boxed()
}

fn query(fields: Vec<Picked>) -> impl Strategy<Value = Query> {
    let partition = prop_oneof![
        4 => Just(None),
        1 => (0..3u64).prop_map(|number| Some(Partition { count: 3, number })),
    ];
    let half = HashRange { first: 0, last: u64::MAX / 2 };
    let within = prop_oneof![4 => Just(None), 1 => Just(Some(Ranges::of(vec![half])))];
    (selection(fields.clone()), output(fields), partition, within).prop_map(
        |(selection, output, partition, within)| Query { selection, output, partition, within },
    )
}

#[derive(Clone, Debug)]
struct Case {
    fields: Vec<Picked>,
    rows: Vec<Vec<Value>>,
    queries: Vec<Query>,
    /// Keys that are written again, or removed when even, behind the first snapshot.
    changed: Vec<usize>,
    page_bytes: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let picked = (proptest::sample::select(&TYPES[..]), any::<bool>())
        .prop_map(|(field_type, is_nullable)| Picked { field_type, is_nullable });
    let fields = proptest::collection::vec(picked, 1..7);
    fields.prop_flat_map(|fields| {
        let row: Vec<_> = fields
            .iter()
            .map(|field| {
                let some = value(field.field_type);
                if field.is_nullable {
                    prop_oneof![1 => Just(Value::Null), 3 => some].boxed()
                } else {
                    some
                }
            })
            .collect();
        // Sizes around groups of 16 and words of 64.
        let count = prop_oneof![0..70usize, Just(16), Just(64), Just(128), 100..300usize];
        let rows = count.prop_flat_map(move |count| proptest::collection::vec(row.clone(), count));
        let queries = proptest::collection::vec(query(fields.clone()), 1..8);
        let changed = proptest::collection::vec(0..300usize, 0..20);
        let page_bytes = prop_oneof![Just(2 << 10), Just(64 << 10)];
        (Just(fields), rows, queries, changed, page_bytes).prop_map(
            |(fields, rows, queries, changed, page_bytes)| Case {
                fields,
                rows,
                queries,
                changed,
                page_bytes,
            },
        )
    })
}

/// Keeps the rows of a query.
struct Kept {
    schema: Schema,
    rows: Mutex<Vec<(u64, Vec<Value>)>>,
}

impl Sink for Kept {
    fn rows(&self, rows: &Rows) -> Flow {
        let values = (0..rows.len()).map(|i| (rows.key(i), rows.values(&self.schema, i)));
        self.rows.lock().extend(values);
        Flow::Continue
    }
}

type Answer = (Vec<(u64, Vec<Value>)>, ScanEnd);

/// Answers of all queries, each for both snapshots, in one pass of one thread.
fn answers(table: &dyn Table, queries: &[Query], snapshots: &[&Snapshot]) -> Vec<Answer> {
    let pairs: Vec<_> =
        queries.iter().flat_map(|query| snapshots.iter().map(move |s| (query, *s))).collect();
    let sinks: Vec<Kept> = pairs
        .iter()
        .map(|(query, _)| {
            let fields: &[FieldId] = match &query.output {
                Output::Fields(fields) => fields,
                Output::Aggregates(_) => &[],
            };
            let schema = table.schema().project(fields).expect("known fields");
            Kept { schema, rows: Mutex::default() }
        })
        .collect();
    let requests: Vec<_> = pairs
        .iter()
        .zip(&sinks)
        .map(|((query, snapshot), sink)| ScanRequest { query, snapshot, sink })
        .collect();
    let ends = table.scan(&requests, 1).expect("scans");
    let rows = sinks.into_iter().map(|sink| {
        let mut rows = sink.rows.into_inner();
        rows.sort_by_key(|row| row.0);
        rows
    });
    rows.zip(ends).collect()
}

/// How floats that a query gives are compared.
#[derive(Clone, Copy, PartialEq)]
enum Floats {
    /// NaN is NaN; all others bit by bit.
    Exact,
    /// Sums in any order, and so not compared; zeros of both signs are one.
    Loose,
}

fn told(answer: &Answer, query: &Query, floats: Floats) -> String {
    let sums: Vec<bool> = match &query.output {
        Output::Aggregates(list) => list.iter().map(|a| matches!(a, Aggregate::Sum(_))).collect(),
        Output::Fields(_) => Vec::new(),
    };
    let values = answer.1.values.iter().zip(sums).map(|(value, is_sum)| match (value, floats) {
        (Value::F64(_), Floats::Loose) if is_sum => "a sum".into(),
        (Value::F64(v), _) if v.is_nan() => "NaN".into(),
        (Value::F64(v), Floats::Loose) => format!("{:?}", v + 0.0),
        (value, _) => format!("{value:?}"),
    });
    let values: Vec<String> = values.collect();
    format!("{:?} {values:?} {} {:?}", answer.0, answer.1.rows, answer.1.flow)
}

fn write(case: &Case, table: &dyn Table) -> (Snapshot, Snapshot) {
    let manager = Manager::default();
    let encode = |row: &[Value]| Tuple::encode(table.schema(), row).expect("fits");
    manager.run(|snapshot| {
        for (key, row) in case.rows.iter().enumerate() {
            table.insert(snapshot, key as u64, &encode(row)).expect("inserts");
        }
    });
    let old = manager.begin();
    let mut changed = case.changed.clone();
    changed.sort_unstable();
    changed.dedup();
    changed.retain(|key| *key < case.rows.len());
    let (merged, written) = changed.split_at(changed.len() / 2);
    let change = |keys: &[usize]| {
        manager.run(|snapshot| {
            for key in keys {
                let outcome = match key % 2 {
                    0 => table.remove(snapshot, *key as u64),
                    _ => {
                        let row = &case.rows[case.rows.len() - 1 - key];
                        table.update(snapshot, *key as u64, &encode(row))
                    }
                };
                outcome.expect("nobody else writes");
            }
        });
    };
    change(merged);
    table.collect(manager.lowest_active()).expect("collects");
    change(written);
    (old, manager.begin())
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let fields = case.fields.iter().enumerate().map(|(i, field)| {
        let name = format!("f{i}");
        if field.is_nullable {
            Field::nullable(&name, field.field_type)
        } else {
            Field::new(&name, field.field_type)
        }
    });
    let schema = Arc::new(Schema::new(TableKind::Transactional, fields.collect()).expect("fits"));
    let loops = TableOptions { page_bytes: case.page_bytes, ..TableOptions::default() };
    let compiler = Some(COMPILER.clone() as Arc<_>);
    let coded = TableOptions { compiler, ..loops.clone() };
    let room = "there is room";
    let tables: Vec<(&str, Floats, Arc<dyn Table>)> = vec![
        ("row by row", Floats::Exact, Arc::new(RowStore::new(schema.clone(), &loops).expect(room))),
        ("model", Floats::Loose, Arc::new(Model::new(schema.clone()))),
        ("loops", Floats::Loose, Arc::new(ColumnStore::new(schema.clone(), &loops).expect(room))),
        ("rows", Floats::Exact, Arc::new(RowStore::new(schema.clone(), &coded).expect(room))),
        ("columns", Floats::Exact, Arc::new(ColumnStore::new(schema, &coded).expect(room))),
    ];
    let mut all = Vec::new();
    for (name, floats, table) in &tables {
        let (old, young) = write(case, &**table);
        all.push((name, *floats, answers(&**table, &case.queries, &[&old, &young])));
    }
    let (first, rest) = all.split_first().expect("tables");
    for (name, floats, answers) in rest {
        for (i, (answer, wanted)) in answers.iter().zip(&first.2).enumerate() {
            let query = &case.queries[i / 2];
            let (answer, wanted) = (told(answer, query, *floats), told(wanted, query, *floats));
            prop_assert_eq!(answer, wanted, "{}: {:?}", name, query);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test] // Rows 32 and 33: code equals the evaluation row by row, and so do loops.
    fn evaluators_agree(case in case()) {
        check(&case)?;
    }
}
