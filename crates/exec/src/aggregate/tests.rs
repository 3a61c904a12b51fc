//! Aggregation against a brute-force twin.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernels::{Batch, Column, Vector, VectorBuilder};
use plan::physical::{
    Aggregate, AggregateMode, Expr, ExprKind, Node, Operator, OperatorId, OutputColumn, SortKey,
};
use sched::{Priority, Scheduler, Ticket};
use sql::algebra::{AggregateFunction as F, Direction, Duplicates, NullsOrder};
use storage::BufferPool;
use testkit::Random;
use types::wide::Wide;
use types::{DataType, Interval, NumericType, PhysicalType, Result, SqlState, Value};

use crate::context::QueryContext;
use crate::opener::Opener;
use crate::pipeline::Stream;
use crate::result::StoredRows;
use crate::simple::BatchesSource;

const BIG: DataType = DataType::BigInt;
const WIDE: DataType = DataType::Numeric(NumericType::fixed(38, 2));

/// Types of the test table's columns.
const COLUMNS: [DataType; 10] = [
    BIG,
    DataType::Text,
    DataType::Integer,
    DataType::Numeric(NumericType::fixed(15, 2)),
    DataType::Integer,
    DataType::Double,
    DataType::Text,
    DataType::Boolean,
    WIDE,
    DataType::INTERVAL,
];

fn random_value(random: &mut Random, column: usize, groups: u64) -> Value {
    if random.chance(if column == 2 { 0 } else { 10 }) {
        return Value::Null;
    }
    // Small enough that the variance of two extremes still has 16 digits after the point.
    let wide = |random: &mut Random| random.bits() as i64 >> 26;
    match column {
        0 => Value::I64(random.below(groups) as i64 - 5),
        1 => Value::text(["A", "N", "R", "a longer key of text"][random.below(4) as usize]),
        2 => Value::I32(random.below(7) as i32),
        3 => Value::I64(wide(random)),
        4 => Value::I32(random.bits() as i32),
        5 => Value::F64([0.0, -0.0, f64::NAN, 1.5, -2.25][random.below(5) as usize]),
        6 => Value::text(&format!("word number {}", random.below(groups))),
        7 => Value::Bool(random.chance(50)),
        8 => Value::I128(i128::from(wide(random)) << random.below(40)),
        _ => Value::Interval(
            [Interval::new(1, 0, 0), Interval::new(0, 30, 0), Interval::new(0, 0, 7)]
                [random.below(3) as usize],
        ),
    }
}

fn rows(seed: u64, count: usize, groups: u64) -> Vec<Vec<Value>> {
    let mut random = Random::new(seed);
    let row = |_| (0..COLUMNS.len()).map(|c| random_value(&mut random, c, groups)).collect();
    (0..count).map(row).collect()
}

/// The rows as batches whose columns have every form.
fn batches(rows: &[Vec<Value>]) -> Vec<Batch> {
    let column = |part: &[Vec<Value>], c: usize, form: usize| {
        let physical = COLUMNS[c].physical();
        let mut builder = VectorBuilder::new(physical);
        part.iter().for_each(|row| builder.push_value(&row[c]));
        let plain = builder.finish();
        match form {
            1 => {
                let mut distinct: Vec<&Value> = Vec::new();
                let codes: Vec<u32> = part
                    .iter()
                    .map(|row| {
                        let known = distinct.iter().position(|v| identical(v, &row[c]));
                        known.unwrap_or_else(|| {
                            distinct.push(&row[c]);
                            distinct.len() - 1
                        }) as u32
                    })
                    .collect();
                let mut entries = VectorBuilder::new(physical);
                distinct.iter().for_each(|v| entries.push_value(v));
                Column::Dictionary(Arc::new(codes), Arc::new(entries.finish()))
            }
            _ if part.iter().all(|row| identical(&row[c], &part[0][c])) => {
                Column::Constant(Arc::new(Vector::repeat(physical, &part[0][c], 1)), part.len())
            }
            _ => Column::plain(plain),
        }
    };
    let batch = |(i, part): (usize, &[Vec<Value>])| {
        let columns = (0..COLUMNS.len()).map(|c| column(part, c, (i + c) % 2)).collect();
        Batch::new(columns, part.len())
    };
    rows.chunks(700).enumerate().map(batch).collect()
}

/// True when two values are the same also where they compare equal: zeros by sign, intervals
/// by their fields.
fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
        (Value::Interval(_), Value::Interval(_)) => format!("{a:?}") == format!("{b:?}"),
        _ => a == b,
    }
}

fn column(c: usize) -> Expr {
    Expr { kind: ExprKind::Column(c), ty: COLUMNS[c], physical: COLUMNS[c].physical() }
}

fn double(value: f64) -> Expr {
    let kind = ExprKind::Literal(Value::F64(value));
    Expr { kind, ty: DataType::Double, physical: PhysicalType::F64 }
}

fn call(function: F, arguments: &[usize], ty: DataType) -> Aggregate {
    Aggregate {
        function,
        arguments: arguments.iter().map(|&c| column(c)).collect(),
        duplicates: Duplicates::Keep,
        filter: None,
        order_by: Vec::new(),
        ty,
        physical: ty.physical(),
    }
}

fn ascending(c: usize) -> SortKey {
    SortKey { expr: column(c), direction: Direction::Ascending, nulls: NullsOrder::Last }
}

fn context(workers: usize, limit: u64) -> Arc<QueryContext> {
    let scheduler = Scheduler::new(workers);
    let ticket = Ticket::new(Priority(1));
    Arc::new(QueryContext::new(BufferPool::new(limit), scheduler, ticket, 4))
}

fn node(
    keys: &[usize],
    aggregates: Vec<Aggregate>,
    mode: AggregateMode,
    sets: Option<Vec<Vec<usize>>>,
) -> Node {
    let named = |ty: DataType, physical| OutputColumn { name: "".into(), ty, physical };
    let mut output: Vec<OutputColumn> =
        keys.iter().map(|&k| named(COLUMNS[k], COLUMNS[k].physical())).collect();
    output.extend(aggregates.iter().map(|a| named(a.ty, a.physical)));
    if sets.is_some() {
        output.push(named(BIG, PhysicalType::I64));
    }
    let input = Node {
        id: OperatorId(1),
        operator: Operator::Values { rows: Vec::new() },
        output: COLUMNS.iter().map(|&ty| named(ty, ty.physical())).collect(),
        rows: 1.0,
    };
    let operator = Operator::Aggregate {
        input: Box::new(input),
        keys: keys.iter().map(|&k| column(k)).collect(),
        aggregates,
        grouping_sets: sets,
        mode,
    };
    Node { id: OperatorId(0), operator, output, rows: 10.0 }
}

/// Runs `node` over `data`; rows by the text of their keys (and set).
fn run(
    context: &Arc<QueryContext>,
    node: &Node,
    data: &[Vec<Value>],
) -> Result<BTreeMap<String, Vec<Value>>> {
    let opener = Opener::new(Arc::clone(context));
    let stream = Stream::new(Arc::new(BatchesSource::new(batches(data))), None);
    let stream = super::group(&opener, node, stream)?;
    let result = StoredRows::collect(context, &stream, &node.output)?;
    let Operator::Aggregate { keys, aggregates, grouping_sets, .. } = &node.operator else {
        panic!("an aggregation");
    };
    let mut map = BTreeMap::new();
    for row in 0..result.rows() {
        let mut key: Vec<Value> = (0..keys.len()).map(|c| result.value(c, row)).collect();
        if grouping_sets.is_some() {
            key.push(result.value(node.output.len() - 1, row));
        }
        let values = (0..aggregates.len()).map(|a| result.value(keys.len() + a, row)).collect();
        assert!(map.insert(text(&key), values).is_none(), "group {key:?} twice");
    }
    Ok(map)
}

/// Keys as text: equal exactly when keys are one group.
fn text(key: &[Value]) -> String {
    let one = |v: &Value| match v {
        Value::F64(x) => format!("{:?}", if x.is_nan() { f64::NAN } else { x + 0.0 }),
        Value::Interval(i) => format!("{}", i.comparable()),
        other => format!("{other:?}"),
    };
    key.iter().map(one).collect::<Vec<_>>().join("|")
}

fn grouped<'a>(data: &'a [Vec<Value>], keys: &[usize]) -> BTreeMap<String, Vec<&'a Vec<Value>>> {
    let mut groups: BTreeMap<String, Vec<&Vec<Value>>> = BTreeMap::new();
    for row in data {
        let key: Vec<Value> = keys.iter().map(|&k| row[k].clone()).collect();
        groups.entry(text(&key)).or_default().push(row);
    }
    groups
}

fn number(value: &Value) -> f64 {
    match value {
        Value::F64(x) => *x,
        other => other.as_integer().expect("a number") as f64,
    }
}

fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => {
            let key = |x: f64| if x.is_nan() { (1, 0.0) } else { (0, x + 0.0) };
            key(*a).partial_cmp(&key(*b)).expect("no NaN left")
        }
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => a.as_integer().cmp(&b.as_integer()),
    }
}

/// Expected result of `aggregate` for `rows`.
fn twin(aggregate: &Aggregate, rows: &[&Vec<Value>]) -> Value {
    let ExprKind::Column(c) =
        aggregate.arguments.last().map_or(ExprKind::Column(0), |e| e.kind.clone())
    else {
        panic!("a column");
    };
    let passes = |row: &&&Vec<Value>| match &aggregate.filter {
        Some(Expr { kind: ExprKind::Column(f), .. }) => row[*f] == Value::Bool(true),
        _ => true,
    };
    let rows: Vec<&Vec<Value>> = rows.iter().filter(passes).copied().collect();
    let mut values: Vec<&Value> = rows.iter().map(|r| &r[c]).filter(|v| !v.is_null()).collect();
    if aggregate.duplicates == Duplicates::Remove {
        values.sort_by(|a, b| order(a, b));
        values.dedup_by(|a, b| order(a, b).is_eq());
    }
    let sum = || values.iter().filter_map(|v| v.as_integer()).sum::<i128>();
    let held = |v: i128| match aggregate.physical {
        PhysicalType::I64 => Value::I64(v as i64),
        _ => Value::I128(v),
    };
    if aggregate.function == F::CountRows {
        return Value::I64(rows.len() as i64);
    }
    if aggregate.function == F::Count {
        return Value::I64(values.len() as i64);
    }
    if values.is_empty() {
        return Value::Null;
    }
    match aggregate.function {
        F::Sum if c == 5 => Value::F64(values.iter().map(|v| number(v)).sum()),
        F::Sum => held(sum()),
        F::Avg => {
            let scale = if let DataType::Numeric(n) = COLUMNS[c] { n.scale } else { 0 };
            let (sum, count) = (Wide::new(sum(), scale.into()), values.len() as i128);
            sum.divide(&Wide::new(count, 0)).expect("fits").value()
        }
        F::Min | F::BoolAnd => (*values.iter().min_by(|a, b| order(a, b)).expect("some")).clone(),
        F::Max | F::BoolOr => (*values.iter().max_by(|a, b| order(a, b)).expect("some")).clone(),
        F::BitXor => {
            Value::I32(values.iter().fold(0, |x, v| x ^ v.as_integer().expect("int") as i32))
        }
        F::BitAnd => {
            Value::I32(values.iter().fold(-1, |x, v| x & v.as_integer().expect("int") as i32))
        }
        F::VarSamp | F::StddevPop => {
            let numbers: Vec<f64> = values.iter().map(|v| number(v) / 100.0).collect();
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let squares = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            if aggregate.function == F::StddevPop {
                return Value::F64((squares / numbers.len() as f64).sqrt());
            }
            if numbers.len() == 1 {
                return Value::Null;
            }
            Value::F64(squares / (numbers.len() - 1) as f64)
        }
        other => panic!("no twin of {other:?}"),
    }
}

fn close(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::F64(a), Value::F64(b)) => {
            a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
        }
        (Value::Str(a), Value::F64(b)) => {
            let a = Wide::decode(a).to_f64();
            (a - b).abs() <= 1e-6 * b.abs().max(1.0)
        }
        // Of intervals of one length, any is the greatest.
        (Value::Interval(a), Value::Interval(b)) => a == b,
        (a, b) => a == b,
    }
}

fn everything() -> Vec<Aggregate> {
    let mut filtered = call(F::Sum, &[3], WIDE);
    filtered.filter = Some(column(7));
    let mut counted = call(F::Count, &[6], BIG);
    counted.filter = Some(column(7));
    let mut distinct = call(F::Count, &[6], BIG);
    distinct.duplicates = Duplicates::Remove;
    let mut distinct_sum = call(F::Sum, &[2], BIG);
    distinct_sum.duplicates = Duplicates::Remove;
    let variance = call(F::VarSamp, &[3], DataType::NUMERIC);
    let deviation = call(F::StddevPop, &[3], DataType::NUMERIC);
    vec![
        call(F::CountRows, &[], BIG),
        call(F::Count, &[3], BIG),
        call(F::Sum, &[3], WIDE),
        call(F::Sum, &[4], BIG),
        call(F::Sum, &[8], WIDE),
        call(F::Sum, &[5], DataType::Double),
        call(F::Avg, &[3], DataType::NUMERIC),
        call(F::Avg, &[4], DataType::NUMERIC),
        call(F::Min, &[3], COLUMNS[3]),
        call(F::Max, &[5], DataType::Double),
        call(F::Min, &[6], DataType::Text),
        call(F::Max, &[6], DataType::Text),
        call(F::BoolAnd, &[7], DataType::Boolean),
        call(F::BoolOr, &[7], DataType::Boolean),
        call(F::BitXor, &[4], DataType::Integer),
        call(F::BitAnd, &[4], DataType::Integer),
        call(F::Max, &[9], DataType::INTERVAL),
        variance,
        deviation,
        filtered,
        counted,
        distinct,
        distinct_sum,
    ]
}

fn check(data: &[Vec<Value>], node: &Node, keys: &[usize], workers: usize) {
    let context = context(workers, 1 << 30);
    let Operator::Aggregate { aggregates, .. } = &node.operator else { panic!("an aggregation") };
    let got = run(&context, node, data).expect("runs");
    let expected = grouped(data, keys);
    assert_eq!(
        got.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>(),
        "groups of {keys:?}"
    );
    for (key, rows) in &expected {
        for (i, aggregate) in aggregates.iter().enumerate() {
            let (got, expected) = (&got[key][i], twin(aggregate, rows));
            assert!(
                close(got, &expected),
                "{key}: {:?} of {:?}: {got:?}, not {expected:?}",
                aggregate.function,
                aggregate.arguments
            );
        }
    }
    assert_eq!(context.pool.total(), 0, "memory of {keys:?} comes back");
}

#[test]
fn every_function_over_every_kind_of_key() {
    let data = rows(1, 9_000, 300);
    let key_sets: [&[usize]; 11] =
        [&[0], &[1], &[2], &[8], &[9], &[5], &[0, 1], &[1, 6], &[1, 7], &[6, 8, 0], &[2, 4]];
    for keys in key_sets {
        for workers in [1, 3] {
            check(&data, &node(keys, everything(), AggregateMode::Hash, None), keys, workers);
        }
    }
}

#[test]
fn scalar_and_dense_modes() {
    let data = rows(2, 5_000, 100);
    let context = context(2, 1 << 30);
    let scalar = node(&[], everything(), AggregateMode::Scalar, None);
    let got = run(&context, &scalar, &data).expect("runs");
    let all: Vec<&Vec<Value>> = data.iter().collect();
    for (aggregate, got) in everything().iter().zip(&got[""]) {
        assert!(close(got, &twin(aggregate, &all)), "{aggregate:?}: {got:?}");
    }
    let light: Vec<Aggregate> =
        everything().into_iter().filter(|a| a.duplicates == Duplicates::Keep).collect();
    for (min, max) in [(-5, 94), (-5, 50), (0, 94), (7, 7)] {
        for workers in [1, 3] {
            let dense = node(&[0], light.clone(), AggregateMode::Dense { min, max }, None);
            check(&data, &dense, &[0], workers);
        }
        let dense = node(&[2], light.clone(), AggregateMode::Dense { min: 0, max: 6 }, None);
        check(&data, &dense, &[2], 2);
    }
}

#[test]
fn empty_input_gives_one_scalar_row_and_no_groups() {
    let context = context(2, 1 << 30);
    let scalar = node(&[], everything(), AggregateMode::Scalar, None);
    let got = run(&context, &scalar, &[]).expect("runs");
    assert_eq!(got.len(), 1);
    for (aggregate, value) in everything().iter().zip(&got[""]) {
        assert!(close(value, &twin(aggregate, &[])), "{aggregate:?}: {value:?}");
    }
    let grouped = node(&[0], everything(), AggregateMode::Hash, None);
    assert!(run(&context, &grouped, &[]).expect("runs").is_empty());
    let dense = node(&[0], Vec::new(), AggregateMode::Dense { min: 0, max: 9 }, None);
    assert!(run(&context, &dense, &[]).expect("runs").is_empty());
}

#[test]
fn grouping_sets_number_their_rows() {
    let data = rows(3, 3_000, 10);
    let sets = vec![vec![0, 1], vec![1], vec![]];
    let aggregates = vec![call(F::CountRows, &[], BIG), call(F::Sum, &[3], WIDE)];
    let plan = node(&[0, 1], aggregates.clone(), AggregateMode::Hash, Some(sets));
    let got = run(&context(2, 1 << 30), &plan, &data).expect("runs");
    let mut expected = BTreeMap::new();
    for (set, keys) in [[Some(0), Some(1)], [None, Some(1)], [None, None]].iter().enumerate() {
        let mut groups: BTreeMap<String, Vec<&Vec<Value>>> = BTreeMap::new();
        for row in &data {
            let mut key: Vec<Value> =
                keys.iter().map(|k| k.map_or(Value::Null, |k| row[k].clone())).collect();
            key.push(Value::I64(set as i64));
            groups.entry(text(&key)).or_default().push(row);
        }
        for (key, rows) in groups {
            expected.insert(key, aggregates.iter().map(|a| twin(a, &rows)).collect::<Vec<_>>());
        }
    }
    assert_eq!(got, expected);
}

/// Batches of one integer key and one value without the cost of values one by one.
fn numbers(keys: Vec<i64>, values: Vec<i64>) -> Vec<Batch> {
    let column = |v: &[i64]| Column::from(kernels::VectorData::I64(v.to_vec()));
    keys.chunks(2048)
        .zip(values.chunks(2048))
        .map(|(k, v)| Batch::new(vec![column(k), column(v)], k.len()))
        .collect()
}

#[test]
fn many_groups_are_split_and_merged() {
    let count = 600_000;
    let skewed: Vec<i64> = testkit::skewed(9, count, 300_000);
    let uniform: Vec<i64> = testkit::uniform(10, count, 0..400_000);
    let clustered: Vec<i64> = (0..count as i64).map(|i| i / 3).collect();
    for keys in [skewed, uniform, clustered] {
        let values: Vec<i64> = testkit::uniform(11, count, -1_000..1_000);
        let mut expected: std::collections::HashMap<i64, (i64, i64)> = Default::default();
        for (k, v) in keys.iter().zip(&values) {
            let entry = expected.entry(*k).or_default();
            *entry = (entry.0 + 1, entry.1 + v);
        }
        for (workers, mode) in [
            (1, AggregateMode::Hash),
            (2, AggregateMode::Hash),
            (2, AggregateMode::Dense { min: 0, max: 400_000 }),
        ] {
            let context = context(workers, 1 << 30);
            let opener = Opener::new(Arc::clone(&context));
            let source = BatchesSource::new(numbers(keys.clone(), values.clone()));
            let mut sum = call(F::Sum, &[0], WIDE);
            sum.arguments[0].kind = ExprKind::Column(1);
            sum.arguments[0].ty = BIG;
            let plan = node(&[0], vec![call(F::CountRows, &[], BIG), sum], mode, None);
            let stream = super::group(&opener, &plan, Stream::new(Arc::new(source), None));
            let stream = stream.expect("runs");
            let rows = StoredRows::collect(&context, &stream, &plan.output).expect("runs");
            assert_eq!(rows.rows(), expected.len());
            for row in 0..rows.rows() {
                let Value::I64(key) = rows.value(0, row) else { panic!("a key") };
                let (n, sum) = expected[&key];
                assert_eq!(rows.value(1, row), Value::I64(n));
                assert_eq!(rows.value(2, row), Value::I128(i128::from(sum)));
            }
            drop((rows, stream));
            assert_eq!(context.pool.total(), 0);
        }
    }
}

#[test]
fn too_many_strings_become_bytes() {
    let mut data = rows(4, 3_000, 100);
    for i in 0..150_000 {
        let mut row = data[i % 3_000].clone();
        row[6] = Value::text(&format!("string {}", i % 90_000));
        data.push(row);
    }
    let aggregates = vec![call(F::CountRows, &[], BIG), call(F::Sum, &[3], WIDE)];
    for keys in [&[6][..], &[6, 2]] {
        let plan = node(keys, aggregates.clone(), AggregateMode::Hash, None);
        check(&data, &plan, keys, 2);
    }
}

#[test]
fn collected_rows_are_in_order() {
    let data = rows(5, 2_000, 20);
    let mut joined = call(F::StringAgg, &[6, 1], DataType::Text);
    let mut ordered = joined.clone();
    ordered.order_by = vec![ascending(3), ascending(6)];
    let mut distinct = joined.clone();
    distinct.arguments[1] = Expr {
        kind: ExprKind::Literal(Value::text(",")),
        ty: DataType::Text,
        physical: PhysicalType::Str,
    };
    joined.arguments[1] = distinct.arguments[1].clone();
    distinct.duplicates = Duplicates::Remove;
    let mut disc = call(F::PercentileDisc, &[], BIG);
    disc.arguments = vec![double(0.3)];
    disc.order_by = vec![ascending(0)];
    let mut mode = call(F::Mode, &[], DataType::Text);
    mode.order_by = vec![ascending(6)];
    let mut cont = call(F::PercentileCont, &[], DataType::Double);
    cont.arguments = vec![double(0.5)];
    cont.order_by = vec![ascending(5)];
    let plan =
        node(&[2], vec![joined, ordered, distinct, disc, mode, cont], AggregateMode::Hash, None);
    for workers in [1, 3] {
        let got = run(&context(workers, 1 << 30), &plan, &data).expect("runs");
        for (key, rows) in grouped(&data, &[2]) {
            let words = |rows: &[&Vec<Value>]| -> Vec<Vec<u8>> {
                let text = |r: &&Vec<Value>| match &r[6] {
                    Value::Str(s) => Some(s.to_vec()),
                    _ => None,
                };
                rows.iter().filter_map(text).collect()
            };
            let joined = Value::Str(words(&rows).join(&b","[..]).into());
            assert_eq!(got[&key][0], joined);
            let mut distinct = words(&rows);
            distinct.sort();
            let most = distinct.chunk_by(|a, b| a == b).rev().max_by_key(|c| c.len());
            assert_eq!(got[&key][4], Value::Str(most.expect("some")[0].clone().into()));
            distinct.dedup();
            assert_eq!(got[&key][2], Value::Str(distinct.join(&b","[..]).into()));
            let mut numbers: Vec<i64> =
                rows.iter().filter_map(|r| r[0].as_integer()).map(|v| v as i64).collect();
            numbers.sort_unstable();
            let place = (numbers.len() as f64 * 0.3).ceil() as usize - 1;
            assert_eq!(got[&key][3], Value::I64(numbers[place]));
        }
    }
}

#[test]
fn errors_are_those_of_postgres() {
    let mut row = rows(6, 1, 10).remove(0);
    let wide = |v: i128, row: &mut Vec<Value>| row[8] = Value::I128(v);
    let top = 10i128.pow(38) - 1;
    wide(top, &mut row);
    let data = vec![row.clone(), row.clone()];
    let fails = |aggregate: Aggregate, data: &[Vec<Value>]| {
        let plan = node(&[], vec![aggregate], AggregateMode::Scalar, None);
        let context = context(2, 1 << 30);
        let error = run(&context, &plan, data).expect_err("fails");
        assert_eq!(context.pool.total(), 0);
        error.state()
    };
    assert_eq!(fails(call(F::Sum, &[8], WIDE), &data), SqlState::NUMERIC_OUT_OF_RANGE);
    assert_eq!(fails(call(F::Single, &[8], WIDE), &data), SqlState::CARDINALITY_VIOLATION);
    row[3] = Value::I64(i64::MAX);
    let mut sum = call(F::Sum, &[3], BIG);
    sum.ty = BIG;
    assert_eq!(fails(sum, &[row.clone(), row.clone()]), SqlState::NUMERIC_OUT_OF_RANGE);
    let mut percentile = call(F::PercentileDisc, &[], WIDE);
    percentile.arguments = vec![double(1.5)];
    percentile.order_by = vec![ascending(8)];
    assert_eq!(fails(percentile, &data), SqlState::NUMERIC_OUT_OF_RANGE);
}

#[test]
fn out_of_memory_leaves_everything_clean() {
    let data = rows(7, 20_000, 100_000);
    let plan = node(&[0, 6], everything(), AggregateMode::Hash, None);
    let context = context(2, 200_000);
    let error = run(&context, &plan, &data).expect_err("too little memory");
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert_eq!(context.pool.total(), 0);
}

#[test]
fn distinct_alone_is_two_aggregations() {
    let data = rows(8, 400, 20);
    let literal = |v: &Value, c: usize| Expr {
        kind: ExprKind::Literal(v.clone()),
        ty: COLUMNS[c],
        physical: COLUMNS[c].physical(),
    };
    let mut distinct = call(F::Count, &[6], BIG);
    distinct.duplicates = Duplicates::Remove;
    let mut plan = node(&[1], vec![distinct.clone()], AggregateMode::Hash, None);
    let Operator::Aggregate { input, .. } = &mut plan.operator else { panic!("an aggregation") };
    let row = |r: &Vec<Value>| r.iter().enumerate().map(|(c, v)| literal(v, c)).collect();
    input.operator = Operator::Values { rows: data.iter().map(row).collect() };
    let context = context(2, 1 << 30);
    let mut opener = Opener::new(Arc::clone(&context));
    let stream = opener.open(&plan, Vec::new()).expect("runs");
    let result = StoredRows::collect(&context, &stream, &plan.output).expect("runs");
    let expected = grouped(&data, &[1]);
    assert_eq!(result.rows(), expected.len());
    for i in 0..result.rows() {
        let rows = &expected[&text(&[result.value(0, i)])];
        assert_eq!(result.value(1, i), twin(&distinct, rows));
    }
}
