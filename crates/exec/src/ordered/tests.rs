//! Sorting, limits and window functions against brute-force twins.

use std::cmp::Ordering;
use std::sync::Arc;

use kernels::{Batch, Column, VectorBuilder};
use plan::physical::{
    CteSource, Expr, ExprKind, FrameBound, Node, Operator, OperatorId, OutputColumn, SortKey,
    Window,
};
use sched::{Priority, Scheduler, Ticket};
use sql::algebra::{
    AggregateFunction, Direction, FrameExclusion, FrameUnits, NullsOrder, WindowFunction as W,
};
use storage::BufferPool;
use testkit::Random;
use types::{DataType, Interval, NumericType, PhysicalType, Result, SqlState, Value};

use crate::context::QueryContext;
use crate::opener::Opener;
use crate::result::{LastRound, ResultSet, StoredRows};

/// Types of the test table's columns; the last numbers the rows.
const COLUMNS: [DataType; 6] = [
    DataType::Integer,
    DataType::BigInt,
    DataType::Text,
    DataType::Double,
    DataType::Date,
    DataType::BigInt,
];
const ID: usize = 5;

fn rows(seed: u64, count: usize, range: u64) -> Vec<Vec<Value>> {
    let mut random = Random::new(seed);
    let mut row = |id: usize| {
        let mut value = |v: Value| if random.chance(8) { Value::Null } else { v };
        let mut next = Random::new(seed ^ (id as u64) << 8);
        vec![
            value(Value::I32(next.below(5) as i32)),
            value(Value::I64(next.below(range) as i64 - 7)),
            value(Value::text(&"ab\0c".repeat(next.below(9) as usize))),
            value(Value::F64([f64::NAN, -0.0, 0.0, 2.5, -1e9][next.below(5) as usize])),
            value(Value::I32(next.below(range) as i32 / 2)),
            Value::I64(id as i64),
        ]
    };
    (0..count).map(&mut row).collect()
}

fn column(c: usize) -> Expr {
    Expr { kind: ExprKind::Column(c), ty: COLUMNS[c], physical: COLUMNS[c].physical() }
}

fn literal(value: Value, ty: DataType) -> Expr {
    Expr { kind: ExprKind::Literal(value), ty, physical: ty.physical() }
}

fn number(value: i64) -> Option<Expr> {
    Some(literal(Value::I64(value), DataType::BigInt))
}

fn key(c: usize, direction: Direction, nulls: NullsOrder) -> SortKey {
    SortKey { expr: column(c), direction, nulls }
}

fn output() -> Vec<OutputColumn> {
    let named = |ty: &DataType| OutputColumn { name: "".into(), ty: *ty, physical: ty.physical() };
    COLUMNS.iter().map(named).collect()
}

/// A scan of the test rows.
fn input() -> Box<Node> {
    let (source, columns) = (CteSource::Recursive(0), (0..COLUMNS.len()).collect());
    let operator = Operator::CteScan { source, columns, name: "t".into() };
    Box::new(Node { id: OperatorId(1), operator, output: output(), rows: 1.0 })
}

fn stored(data: &[Vec<Value>]) -> Arc<StoredRows> {
    let columns = COLUMNS.iter().enumerate().map(|(c, ty)| {
        let mut builder = VectorBuilder::new(ty.physical());
        data.iter().for_each(|row| builder.push_value(&row[c]));
        Column::plain(builder.finish_pinned())
    });
    let batch = Batch::new(columns.collect(), data.len());
    Arc::new(StoredRows::from_batch(batch, Vec::new()))
}

fn context(workers: usize, limit: u64) -> Arc<QueryContext> {
    let ticket = Ticket::new(Priority(1));
    Arc::new(QueryContext::new(BufferPool::new(limit), Scheduler::new(workers), ticket, 4))
}

fn run_in(
    context: &Arc<QueryContext>,
    node: &Node,
    data: &[Vec<Value>],
) -> Result<Vec<Vec<Value>>> {
    let mut opener = Opener::new(Arc::clone(context));
    opener.recursive.push((0, LastRound::of(stored(data))));
    let stream = opener.open(node, Vec::new())?;
    let result = ResultSet::collect(context, &stream, &node.output)?;
    let row = |b: &Batch, i: usize| b.columns.iter().map(|c| c.value(i)).collect();
    Ok(result.batches.iter().flat_map(|b| (0..b.rows).map(move |i| row(b, i))).collect())
}

fn run(node: &Node, data: &[Vec<Value>], workers: usize) -> Vec<Vec<Value>> {
    let context = context(workers, 1 << 30);
    let rows = run_in(&context, node, data).expect("runs");
    assert_eq!(context.pool.total(), 0);
    rows
}

fn node(operator: Operator, extra: &[DataType]) -> Node {
    let mut output = output();
    output.extend(extra.iter().map(|&ty| OutputColumn {
        name: "".into(),
        ty,
        physical: ty.physical(),
    }));
    Node { id: OperatorId(0), operator, output, rows: 10.0 }
}

fn sort(keys: &[SortKey], limit: Option<Expr>, offset: Option<Expr>) -> Node {
    node(Operator::Sort { input: input(), keys: keys.to_vec(), limit, offset }, &[])
}

fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => {
            let key = |x: f64| if x.is_nan() { (1, 0.0) } else { (0, x + 0.0) };
            key(*a).partial_cmp(&key(*b)).expect("no NaN left")
        }
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        _ => a.as_integer().cmp(&b.as_integer()),
    }
}

fn by_keys(a: &[Value], b: &[Value], keys: &[SortKey]) -> Ordering {
    let one = |key: &SortKey| {
        let ExprKind::Column(c) = key.expr.kind else { panic!("a column") };
        let first = |o: Ordering| {
            if key.nulls == NullsOrder::First { o.reverse() } else { o }
        };
        match (a[c].is_null(), b[c].is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => first(Ordering::Greater),
            (false, true) => first(Ordering::Less),
            _ if key.direction == Direction::Descending => order(&b[c], &a[c]),
            _ => order(&a[c], &b[c]),
        }
    };
    keys.iter().map(one).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn text(rows: &[Vec<Value>]) -> Vec<String> {
    rows.iter().map(|r| format!("{r:?}")).collect()
}

/// Checks that `got` are the rows `offset..offset + limit` of `data` in order, ties in any order.
fn check_sorted(
    got: &[Vec<Value>],
    data: &[Vec<Value>],
    keys: &[SortKey],
    limit: usize,
    offset: usize,
) {
    let mut sorted = data.to_vec();
    sorted.sort_by(|a, b| by_keys(a, b, keys));
    let end = (offset.saturating_add(limit)).min(sorted.len());
    let expected = &sorted[offset.min(end)..end];
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(by_keys(got, expected, keys), Ordering::Equal, "{got:?}, not {expected:?}");
        let Value::I64(id) = got[ID] else { panic!("an id") };
        assert_eq!(
            text(std::slice::from_ref(got)),
            text(&[data[id as usize].clone()]),
            "a row of the table"
        );
    }
    let mut ids: Vec<Option<i128>> = got.iter().map(|r| r[ID].as_integer()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), got.len(), "no row twice");
}

fn key_sets() -> Vec<Vec<SortKey>> {
    use Direction::{Ascending, Descending};
    use NullsOrder::{First, Last};
    vec![
        vec![key(1, Ascending, Last)],
        vec![key(1, Descending, First)],
        vec![key(0, Ascending, First), key(3, Descending, Last)],
        vec![key(2, Descending, Last), key(1, Ascending, Last)],
        vec![key(3, Ascending, First), key(2, Ascending, Last), key(4, Descending, Last)],
        vec![key(0, Descending, Last)],
    ]
}

#[test]
fn sorts_with_ties_nulls_and_bounds() {
    let data = rows(1, 5_000, 900);
    for keys in key_sets() {
        for workers in [1, 2] {
            check_sorted(&run(&sort(&keys, None, None), &data, workers), &data, &keys, 5_000, 0);
            for (limit, offset) in [(0, 0), (1, 0), (10, 7), (600, 4_700), (9_000, 0), (5, 9_000)] {
                let plan = sort(&keys, number(limit), number(offset));
                let (limit, offset) = (limit as usize, offset as usize);
                check_sorted(&run(&plan, &data, workers), &data, &keys, limit, offset);
            }
            let plan = sort(&keys, Some(literal(Value::Null, DataType::BigInt)), number(4_990));
            check_sorted(&run(&plan, &data, workers), &data, &keys, 5_000, 4_990);
        }
    }
    assert!(run(&sort(&key_sets()[0], None, None), &[], 2).is_empty());
}

#[test]
fn many_runs_are_merged_and_thresholds_hold() {
    let data = rows(2, 320_000, 250_000);
    for keys in [&key_sets()[0], &key_sets()[3], &key_sets()[5]] {
        check_sorted(&run(&sort(keys, None, None), &data, 2), &data, keys, data.len(), 0);
        let plan = sort(keys, number(150_000), number(100_000));
        check_sorted(&run(&plan, &data, 2), &data, keys, 150_000, 100_000);
        let plan = sort(keys, number(1_000), number(17));
        check_sorted(&run(&plan, &data, 2), &data, keys, 1_000, 17);
    }
}

#[test]
fn limits_keep_the_order_of_the_stream() {
    let data = rows(3, 200_000, 100);
    for workers in [1, 2] {
        for (limit, offset) in [
            (Some(10), None),
            (Some(70_000), Some(5)),
            (Some(3), Some(199_999)),
            (None, Some(1_000)),
        ] {
            let bound = |v: Option<i64>| v.and_then(number);
            let (limit_expr, offset_expr) = (bound(limit), bound(offset));
            let operator =
                Operator::Limit { input: input(), limit: limit_expr, offset: offset_expr };
            let got = run(&node(operator, &[]), &data, workers);
            let start = offset.unwrap_or(0) as usize;
            let end = limit.map_or(data.len(), |l| (start + l as usize).min(data.len()));
            assert_eq!(text(&got), text(&data[start..end]));
        }
    }
}

#[test]
fn negative_bounds_are_refused() {
    let context = context(1, 1 << 30);
    for (limit, offset, state) in [
        (number(-1), None, SqlState::INVALID_LIMIT),
        (number(1), number(-1), SqlState::INVALID_OFFSET),
    ] {
        let plan = sort(&key_sets()[0], limit.clone(), offset.clone());
        assert_eq!(run_in(&context, &plan, &[]).expect_err("fails").state(), state);
        let plan = node(Operator::Limit { input: input(), limit, offset }, &[]);
        assert_eq!(run_in(&context, &plan, &[]).expect_err("fails").state(), state);
    }
}

#[test]
fn out_of_memory_leaves_everything_clean() {
    let data = rows(4, 50_000, 1_000);
    let context = context(2, 100_000);
    let error = run_in(&context, &sort(&key_sets()[3], None, None), &data).expect_err("too little");
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert_eq!(context.pool.total(), 0);
}

#[test]
fn distinct_on_keeps_the_first_row_of_each_group() {
    let data = rows(5, 70_000, 1_000);
    for on in [vec![0], vec![2, 0], vec![1]] {
        let operator =
            Operator::DistinctOn { input: input(), on: on.iter().map(|&c| column(c)).collect() };
        let mut seen = std::collections::HashSet::new();
        let first = |row: &&Vec<Value>| {
            let key: Vec<String> = on.iter().map(|&c| format!("{:?}", row[c])).collect();
            seen.insert(key)
        };
        let expected: Vec<Vec<Value>> = data.iter().filter(first).cloned().collect();
        assert_eq!(text(&run(&node(operator, &[]), &data, 2)), text(&expected));
    }
}

#[test]
fn distinct_on_counts_keys_and_kept_rows() {
    let peak = |groups: u64| {
        let data = rows(6, 50_000, groups);
        let on = vec![column(1), column(4)];
        let context = context(1, 1 << 30);
        let operator = Operator::DistinctOn { input: input(), on };
        run_in(&context, &node(operator, &[]), &data).expect("it fits");
        assert_eq!(context.pool.total(), 0);
        context.pool.peak()
    };
    let (few, many) = (peak(2), peak(1_000_000));
    assert!(many > few + few / 2, "{many} bytes for many groups, {few} for few");
}

fn call(
    function: W,
    arguments: Vec<Expr>,
    ty: DataType,
    frame: (FrameUnits, FrameBound, FrameBound),
) -> Window {
    Window {
        function,
        arguments,
        partition_by: vec![column(0)],
        order_by: vec![key(1, Direction::Ascending, NullsOrder::Last)],
        units: frame.0,
        start: frame.1,
        end: frame.2,
        exclusion: FrameExclusion::NoOthers,
        filter: None,
        ty,
        physical: ty.physical(),
    }
}

/// True when row `b` is in the frame of row `a`, both of one partition at these places; `line`
/// says whether both have a key and how far `b`'s is ahead.
fn within(
    bound: &FrameBound,
    start: bool,
    rows: i64,
    peers: i64,
    groups: i64,
    units: FrameUnits,
    keys: Option<i64>,
) -> bool {
    let offset = |e: &Expr| match &e.kind {
        ExprKind::Literal(v) => v.as_integer().expect("a number") as i64,
        _ => panic!("a literal"),
    };
    let (distance, limit) = match (bound, units) {
        (FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing, _) => return true,
        (FrameBound::Key(_) | FrameBound::OuterPreceding(_) | FrameBound::OuterFollowing(_), _) => {
            panic!("nothing is computed of rows here")
        }
        (FrameBound::CurrentRow, FrameUnits::Rows) => (rows, 0),
        (FrameBound::CurrentRow, _) => (peers, 0),
        (FrameBound::Preceding(e), FrameUnits::Rows) => (rows, -offset(e)),
        (FrameBound::Following(e), FrameUnits::Rows) => (rows, offset(e)),
        (FrameBound::Preceding(e), FrameUnits::Groups) => (groups, -offset(e)),
        (FrameBound::Following(e), FrameUnits::Groups) => (groups, offset(e)),
        (FrameBound::Preceding(e), FrameUnits::Range) => match keys {
            Some(distance) => (distance, -offset(e)),
            None => (peers, 0),
        },
        (FrameBound::Following(e), FrameUnits::Range) => match keys {
            Some(distance) => (distance, offset(e)),
            None => (peers, 0),
        },
    };
    if start { distance >= limit } else { distance <= limit }
}

/// The rows of each row's frame, in order, as indexes into the partition's sorted rows.
fn naive_frames(sorted: &[&Vec<Value>], w: &Window) -> Vec<Vec<usize>> {
    let mut groups = vec![0i64; sorted.len()];
    for i in 1..sorted.len() {
        let differs = by_keys(sorted[i - 1], sorted[i], &w.order_by).is_ne();
        groups[i] = groups[i - 1] + i64::from(differs);
    }
    let sign = if w.order_by[0].direction == Direction::Descending { -1 } else { 1 };
    let key = |i: usize| sorted[i][1].as_integer().map(|v| v as i64 * sign);
    let frame = |i: usize| {
        let inside = |&j: &usize| {
            let keys = match (key(i), key(j)) {
                (Some(a), Some(b)) => Some(b - a),
                (None, None) => None,
                // NULL is beyond everything on its side.
                (a, _) => {
                    let last = w.order_by[0].nulls == NullsOrder::Last;
                    Some(if a.is_some() == last { i64::MAX } else { i64::MIN })
                }
            };
            let group = groups[j] - groups[i];
            let rows = j as i64 - i as i64;
            within(&w.start, true, rows, group, group, w.units, keys)
                && within(&w.end, false, rows, group, group, w.units, keys)
        };
        (0..sorted.len()).filter(inside).collect()
    };
    (0..sorted.len()).map(frame).collect()
}

fn naive(w: &Window, sorted: &[&Vec<Value>], i: usize, frame: &[usize]) -> Value {
    let integers = || frame.iter().filter_map(|&j| sorted[j][1].as_integer());
    let peer = |a: usize, b: usize| by_keys(sorted[a], sorted[b], &w.order_by).is_eq();
    let at = |j: Option<&usize>| j.map_or(Value::Null, |&j| sorted[j][2].clone());
    let first_peer = (0..sorted.len()).find(|&j| peer(i, j)).unwrap_or(i);
    match w.function {
        W::RowNumber => Value::I64(i as i64 + 1),
        W::Rank => Value::I64(first_peer as i64 + 1),
        W::DenseRank => {
            Value::I64((1..=first_peer).filter(|&j| !peer(j - 1, j)).count() as i64 + 1)
        }
        W::PercentRank if sorted.len() == 1 => Value::F64(0.0),
        W::PercentRank => Value::F64(first_peer as f64 / (sorted.len() - 1) as f64),
        W::CumeDist => {
            let last = (0..sorted.len()).rfind(|&j| peer(i, j)).unwrap_or(i);
            Value::F64((last + 1) as f64 / sorted.len() as f64)
        }
        W::Ntile => {
            let (tiles, count) = (7, sorted.len());
            let mut tile = 0;
            let mut end = 0;
            while end <= i {
                end += count / tiles + usize::from(tile < count % tiles);
                tile += 1;
            }
            Value::I32(tile as i32)
        }
        W::Lag => i.checked_sub(2).map_or(Value::text("none"), |j| sorted[j][2].clone()),
        W::Lead => sorted.get(i + 2).map_or(Value::text("none"), |r| r[2].clone()),
        W::FirstValue => at(frame.first()),
        W::LastValue => at(frame.last()),
        W::NthValue => at(frame.get(1)),
        W::Aggregate(AggregateFunction::CountRows) => Value::I64(frame.len() as i64),
        W::Aggregate(AggregateFunction::Count) => Value::I64(integers().count() as i64),
        W::Aggregate(AggregateFunction::Sum) => match integers().count() {
            0 => Value::Null,
            _ => Value::I128(integers().sum()),
        },
        W::Aggregate(AggregateFunction::Min) => {
            integers().min().map_or(Value::Null, |v| Value::I64(v as i64))
        }
        W::Aggregate(AggregateFunction::Max) => {
            let best = frame.iter().map(|&j| &sorted[j][2]).filter(|v| !v.is_null());
            best.max_by(|a, b| order(a, b)).cloned().unwrap_or(Value::Null)
        }
        W::Aggregate(AggregateFunction::StringAgg) => {
            let words: Vec<Vec<u8>> = frame
                .iter()
                .filter_map(|&j| match &sorted[j][2] {
                    Value::Str(s) => Some(s.to_vec()),
                    _ => None,
                })
                .collect();
            if words.is_empty() { Value::Null } else { Value::Str(words.join(&b","[..]).into()) }
        }
        other => panic!("no twin of {other:?}"),
    }
}

fn functions(frame: &(FrameUnits, FrameBound, FrameBound)) -> Vec<Window> {
    use AggregateFunction as A;
    let text = || column(2);
    let two = || literal(Value::I32(2), DataType::Integer);
    let none = || literal(Value::text("none"), DataType::Text);
    let sum = DataType::Numeric(NumericType::fixed(38, 0));
    let comma = literal(Value::text(","), DataType::Text);
    let big = DataType::BigInt;
    [
        (W::RowNumber, vec![], big),
        (W::Rank, vec![], big),
        (W::DenseRank, vec![], big),
        (W::PercentRank, vec![], DataType::Double),
        (W::CumeDist, vec![], DataType::Double),
        (W::Ntile, vec![literal(Value::I32(7), DataType::Integer)], DataType::Integer),
        (W::Lag, vec![text(), two(), none()], DataType::Text),
        (W::Lead, vec![text(), two(), none()], DataType::Text),
        (W::FirstValue, vec![text()], DataType::Text),
        (W::LastValue, vec![text()], DataType::Text),
        (W::NthValue, vec![text(), two()], DataType::Text),
        (W::Aggregate(A::CountRows), vec![], big),
        (W::Aggregate(A::Count), vec![column(1)], big),
        (W::Aggregate(A::Sum), vec![column(1)], sum),
        (W::Aggregate(A::Min), vec![column(1)], big),
        (W::Aggregate(A::Max), vec![text()], DataType::Text),
        (W::Aggregate(A::StringAgg), vec![text(), comma], DataType::Text),
    ]
    .into_iter()
    .map(|(function, arguments, ty)| call(function, arguments, ty, frame.clone()))
    .collect()
}

/// Rows in the order of the input: windows give them in their own.
fn by_id(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by_key(|row| row[ID].as_integer());
    rows
}

#[test]
fn window_functions_equal_their_twins() {
    use FrameBound as B;
    use FrameUnits::{Groups, Range, Rows};
    let n = |v: i64| literal(Value::I64(v), DataType::BigInt);
    // Ids break ties, so that the order of peers is known.
    let data = rows(6, 700, 60);
    let frames = [
        (Range, B::UnboundedPreceding, B::CurrentRow),
        (Rows, B::UnboundedPreceding, B::UnboundedFollowing),
        (Rows, B::Preceding(n(3)), B::Following(n(2))),
        (Rows, B::Following(n(2)), B::Following(n(4))),
        (Rows, B::Preceding(n(2)), B::Preceding(n(5))),
        (Range, B::Preceding(n(4)), B::Following(n(6))),
        (Range, B::Following(n(1)), B::UnboundedFollowing),
        (Range, B::Preceding(n(9)), B::Preceding(n(3))),
        (Groups, B::Preceding(n(1)), B::Following(n(1))),
        (Groups, B::CurrentRow, B::Following(n(2))),
    ];
    for (number, frame) in frames.iter().enumerate() {
        let mut calls = functions(frame);
        let direction = if number % 2 == 1 { Direction::Descending } else { Direction::Ascending };
        let nulls = if number % 3 == 1 { NullsOrder::First } else { NullsOrder::Last };
        calls.iter_mut().for_each(|c| c.order_by = vec![key(1, direction, nulls)]);
        let types: Vec<DataType> = calls.iter().map(|c| c.ty).collect();
        let plan = node(Operator::Window { input: input(), calls: calls.clone() }, &types);
        let got = by_id(run(&plan, &data, 2));
        assert_eq!(text(&got.iter().map(|r| r[..6].to_vec()).collect::<Vec<_>>()), text(&data));
        for partition in (0..5).map(Value::I32).chain([Value::Null]) {
            let mut sorted: Vec<&Vec<Value>> = data.iter().filter(|r| r[0] == partition).collect();
            sorted.sort_by(|a, b| by_keys(a, b, &calls[0].order_by));
            let frames = naive_frames(&sorted, &calls[0]);
            for (i, row) in sorted.iter().enumerate() {
                let Value::I64(id) = row[ID] else { panic!("an id") };
                for (c, call) in calls.iter().enumerate() {
                    let expected = naive(call, &sorted, i, &frames[i]);
                    let got = &got[id as usize][COLUMNS.len() + c];
                    assert_eq!(*got, expected, "{:?} over {frame:?} at {row:?}", call.function);
                }
            }
        }
    }
}

#[test]
fn windows_over_dates_and_everything() {
    let data = rows(7, 40_000, 3_000);
    let day = |days: i32| literal(Value::Interval(Interval::new(0, days, 0)), DataType::INTERVAL);
    let units = FrameUnits::Range;
    let frame = (units, FrameBound::Preceding(day(3)), FrameBound::CurrentRow);
    let count = W::Aggregate(AggregateFunction::CountRows);
    let mut by_date = call(count, vec![], DataType::BigInt, frame);
    by_date.partition_by.clear();
    by_date.order_by = vec![key(4, Direction::Ascending, NullsOrder::Last)];
    let whole = (units, FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
    let mut all = call(count, vec![], DataType::BigInt, whole);
    all.partition_by.clear();
    all.order_by.clear();
    let calls = vec![by_date, all];
    let plan = node(Operator::Window { input: input(), calls }, &[DataType::BigInt; 2]);
    let got = run(&plan, &data, 2);
    let mut per_day = std::collections::BTreeMap::<Option<i128>, i64>::new();
    data.iter().for_each(|r| *per_day.entry(r[4].as_integer()).or_default() += 1);
    for row in &got {
        let expected = match row[4].as_integer() {
            None => per_day[&None],
            Some(day) => per_day.range(Some(day - 3)..=Some(day)).map(|(_, n)| n).sum(),
        };
        assert_eq!(row[6], Value::I64(expected));
        assert_eq!(row[7], Value::I64(40_000));
    }
    assert!(run(&plan, &[], 2).is_empty());
}

#[test]
fn bad_offsets_are_refused() {
    let context = context(1, 1 << 30);
    let data = rows(8, 10, 10);
    for (value, state) in [
        (Value::I64(-1), SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE),
        (Value::Null, SqlState::NULL_NOT_ALLOWED),
    ] {
        let start = FrameBound::Preceding(literal(value, DataType::BigInt));
        let frame = (FrameUnits::Rows, start, FrameBound::CurrentRow);
        let call = call(W::FirstValue, vec![column(2)], DataType::Text, frame);
        let plan = node(Operator::Window { input: input(), calls: vec![call] }, &[DataType::Text]);
        let error = run_in(&context, &plan, &data).expect_err("fails");
        assert_eq!(error.state(), state);
    }
    let frame = (FrameUnits::Rows, FrameBound::CurrentRow, FrameBound::CurrentRow);
    let zero = literal(Value::I32(0), DataType::Integer);
    let call = call(W::Ntile, vec![zero], DataType::Integer, frame);
    let plan = node(Operator::Window { input: input(), calls: vec![call] }, &[DataType::Integer]);
    let error = run_in(&context, &plan, &data).expect_err("fails");
    assert_eq!(error.state(), SqlState::INVALID_ARGUMENT_FOR_NTILE);
    assert_eq!(PhysicalType::I32, DataType::Integer.physical());
}
