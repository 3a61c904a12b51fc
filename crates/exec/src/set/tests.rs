use std::collections::BTreeMap;

use kernels::{Batch, Column, VectorBuilder};
use plan::physical::{CteSource, Expr, ExprKind, OperatorId, OutputColumn};
use sched::{Priority, Scheduler, Ticket};
use sql::algebra::Function;
use storage::BufferPool;
use testkit::Random;
use types::{DataType, PhysicalType, Value};

use super::*;
use crate::expr::column;
use crate::result::{LastRound, ResultSet};

type Row = Vec<Value>;

const TYPES: [DataType; 2] = [DataType::Integer, DataType::Text];

fn output(types: &[DataType]) -> Vec<plan::physical::OutputColumn> {
    let output =
        |&ty: &DataType| OutputColumn { name: Arc::from("c"), ty, physical: ty.physical() };
    types.iter().map(output).collect()
}

fn stored(rows: &[Row]) -> Arc<StoredRows> {
    let build = |i: usize| {
        let mut builder = VectorBuilder::new(TYPES[i].physical());
        rows.iter().for_each(|row| builder.push_value(&row[i]));
        Column::plain(builder.finish_pinned())
    };
    Arc::new(StoredRows::from_batch(Batch::new(vec![build(0), build(1)], rows.len()), Vec::new()))
}

fn scan(number: usize) -> Node {
    let source = CteSource::Recursive(number);
    let operator = Operator::CteScan { source, columns: vec![0, 1], name: Arc::from("r") };
    Node { id: OperatorId(0), operator, output: output(&TYPES), rows: 1.0 }
}

fn run(operator: Operator, inputs: &[Vec<Row>], types: &[DataType]) -> Vec<Row> {
    let pool = BufferPool::new(1 << 30);
    let ticket = Ticket::new(Priority(1));
    let context = Arc::new(QueryContext::new(pool, Scheduler::new(2), ticket, 2));
    let mut opener = Opener::new(Arc::clone(&context));
    for (number, rows) in inputs.iter().enumerate() {
        opener.recursive.push((number, LastRound::of(stored(rows))));
    }
    let node = Node { id: OperatorId(1), operator, output: output(types), rows: 1.0 };
    let stream = opener.open(&node, Vec::new()).expect("opens");
    let result = ResultSet::collect(&context, &stream, &node.output).expect("runs");
    let row = |batch: &Batch, i| batch.columns.iter().map(|c| c.value(i)).collect::<Row>();
    result.batches.iter().flat_map(|b| (0..b.rows).map(move |i| row(b, i))).collect()
}

fn counts(rows: &[Row]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(format!("{row:?}")).or_default() += 1;
    }
    counts
}

fn random_rows(random: &mut Random, count: u64) -> Vec<Row> {
    let count = random.below(count + 1);
    let row = |_| {
        let number =
            if random.chance(20) { Value::Null } else { Value::I32(random.below(3) as i32) };
        let text = Value::text(["a", "a longer string than a view"][random.below(2) as usize]);
        vec![number, if random.chance(20) { Value::Null } else { text }]
    };
    (0..count).map(row).collect()
}

#[test]
fn set_operations_count_equal_rows() {
    let mut random = Random::new(5);
    for _ in 0..40 {
        let inputs = [random_rows(&mut random, 30), random_rows(&mut random, 30)];
        let (left, right) = (counts(&inputs[0]), counts(&inputs[1]));
        for operator in [SetOperator::Intersect, SetOperator::Except] {
            for duplicates in [Duplicates::Keep, Duplicates::Remove] {
                let mut expected = BTreeMap::new();
                for (row, &l) in &left {
                    let r = right.get(row).copied().unwrap_or(0);
                    let count = match (operator, duplicates) {
                        (SetOperator::Intersect, Duplicates::Keep) => l.min(r),
                        (SetOperator::Intersect, Duplicates::Remove) => l.min(r).min(1),
                        (_, Duplicates::Keep) => l.saturating_sub(r),
                        (_, Duplicates::Remove) => usize::from(r == 0),
                    };
                    if count > 0 {
                        expected.insert(row.clone(), count);
                    }
                }
                let (left, right) = (Box::new(scan(0)), Box::new(scan(1)));
                let node = Operator::SetOperation { operator, duplicates, left, right };
                assert_eq!(
                    counts(&run(node, &inputs, &TYPES)),
                    expected,
                    "{operator:?} {duplicates:?}"
                );
            }
        }
    }
}

#[test]
fn union_all_concatenates_in_order() {
    let mut random = Random::new(6);
    let inputs = [random_rows(&mut random, 50), random_rows(&mut random, 50)];
    let rows = run(Operator::UnionAll { inputs: vec![scan(0), scan(1)] }, &inputs, &TYPES);
    assert_eq!(rows, inputs.concat());
}

/// `n + 1 from last round where n + 1 < limit`, or modulo the limit without a filter.
fn counting(duplicates: Duplicates) -> Operator {
    let ty = DataType::Integer;
    let int = |value| Expr {
        kind: ExprKind::Literal(Value::I32(value)),
        ty,
        physical: PhysicalType::I32,
    };
    let number = || column(0, ty, PhysicalType::I32);
    let scan = |number| Node {
        operator: Operator::CteScan {
            source: CteSource::Recursive(number),
            columns: vec![0],
            name: Arc::from("r"),
        },
        output: output(&[ty]),
        id: OperatorId(0),
        rows: 1.0,
    };
    let call = |f, args| Expr { kind: ExprKind::Call(f, args), ty, physical: PhysicalType::I32 };
    let next = call(Function::Add, vec![number(), int(1)]);
    let (input, expr) = match duplicates {
        Duplicates::Remove => (scan(9), call(Function::Modulo, vec![next, int(100)])),
        Duplicates::Keep => {
            let less =
                ExprKind::Compare(types::CompareOp::Less, Box::new(number()), Box::new(int(99)));
            let ty = DataType::Boolean;
            let predicate = Expr { kind: less, ty, physical: ty.physical() };
            let input = scan(9);
            let output = input.output.clone();
            let operator = Operator::Filter { input: Box::new(input), predicate };
            (Node { operator, output, id: OperatorId(0), rows: 1.0 }, next)
        }
    };
    let output = input.output.clone();
    let operator = Operator::Project { input: Box::new(input), exprs: vec![expr] };
    let step = Box::new(Node { operator, output, id: OperatorId(0), rows: 1.0 });
    Operator::Recursive { number: 9, duplicates, base: Box::new(scan(0)), step }
}

#[test]
fn recursion_ends_when_a_round_is_empty() {
    let base = vec![vec![Value::I32(0), Value::Null]; 3];
    let rows = run(counting(Duplicates::Keep), std::slice::from_ref(&base), &TYPES[..1]);
    assert_eq!(rows.len(), 300);
    let rows = run(counting(Duplicates::Remove), &[base], &TYPES[..1]);
    let expected: Vec<Row> = (0..100).map(|n| vec![Value::I32(n)]).collect();
    assert_eq!(rows, expected);
}
