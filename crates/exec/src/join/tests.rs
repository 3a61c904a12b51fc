//! Every kind of join against the same join done by looking at every pair.

use std::sync::Arc;

use kernels::{Batch, Column, VectorBuilder};
use plan::physical::{
    BuildKeys, CteSource, Expr, ExprKind, JoinKey, JoinKind, JoinMethod, Node, NullKeys, Operator,
    OperatorId, OutputColumn,
};
use sched::{Priority, Scheduler, Ticket};
use storage::BufferPool;
use testkit::Random;
use types::{CompareOp, DataType, SqlState, Value};

use crate::context::QueryContext;
use crate::expr::column;
use crate::opener::Opener;
use crate::result::{LastRound, ResultSet, StoredRows};

const KINDS: [JoinKind; 10] = [
    JoinKind::Inner,
    JoinKind::ProbeOuter,
    JoinKind::BuildOuter,
    JoinKind::FullOuter,
    JoinKind::ProbeSemi,
    JoinKind::ProbeAnti,
    JoinKind::BuildSemi,
    JoinKind::BuildAnti,
    JoinKind::ProbeMark,
    JoinKind::ProbeSingle,
];

type Row = Vec<Value>;

/// A table of the test: types and rows.
#[derive(Clone)]
struct Rows {
    types: Vec<DataType>,
    rows: Vec<Row>,
}

fn context(bytes: u64) -> Arc<QueryContext> {
    let pool = BufferPool::new(bytes);
    Arc::new(QueryContext::new(pool, Scheduler::new(2), Ticket::new(Priority(1)), 4))
}

impl Rows {
    fn stored(&self) -> Arc<StoredRows> {
        let build = |(i, ty): (usize, &DataType)| {
            let mut builder = VectorBuilder::new(ty.physical());
            self.rows.iter().for_each(|row| builder.push_value(&row[i]));
            Column::plain(builder.finish_pinned())
        };
        let columns = self.types.iter().enumerate().map(build).collect();
        Arc::new(StoredRows::from_batch(Batch::new(columns, self.rows.len()), Vec::new()))
    }

    fn node(&self, number: usize) -> Node {
        let operator = Operator::CteScan {
            source: CteSource::Recursive(number),
            columns: (0..self.types.len()).collect(),
            name: Arc::from("rows"),
        };
        let output = self.types.iter().map(|&ty| output(ty)).collect();
        Node { id: OperatorId(number), operator, output, rows: self.rows.len() as f64 }
    }
}

fn output(ty: DataType) -> OutputColumn {
    OutputColumn { name: Arc::from("c"), ty, physical: ty.physical() }
}

fn rows_of(result: &ResultSet) -> Vec<Row> {
    let row = |batch: &Batch, i| batch.columns.iter().map(|c| c.value(i)).collect::<Row>();
    result.batches.iter().flat_map(|b| (0..b.rows).map(move |i| row(b, i))).collect()
}

fn assert_same(found: Vec<Row>, expected: Vec<Row>, name: &str) {
    let sorted = |rows: Vec<Row>| {
        let mut rows: Vec<String> = rows.iter().map(|r| format!("{r:?}")).collect();
        rows.sort();
        rows
    };
    let (found, expected) = (sorted(found), sorted(expected));
    assert!(found == expected, "{name}\n{found:?}\n{expected:?}");
}

/// One join of the test.
#[derive(Clone)]
struct Case {
    probe: Rows,
    build: Rows,
    kind: JoinKind,
    /// Both sides' ordinals and how NULLs compare; none for nested loops.
    keys: Vec<(usize, usize, NullKeys)>,
    /// Compares the last columns: probe < build.
    residual: bool,
    output_columns: Vec<usize>,
}

impl Case {
    fn width(&self) -> usize {
        let (p, b) = (self.probe.types.len(), self.build.types.len());
        match self.kind {
            JoinKind::ProbeSemi | JoinKind::ProbeAnti => p,
            JoinKind::BuildSemi | JoinKind::BuildAnti => b,
            JoinKind::ProbeMark => p + 1,
            _ => p + b,
        }
    }

    fn condition(&self) -> Option<Expr> {
        let (p, b) = (self.probe.types.len(), self.build.types.len());
        let at = |c: usize, ty: DataType| Box::new(column(c, ty, ty.physical()));
        let left = at(p - 1, self.probe.types[p - 1]);
        let right = at(p + b - 1, self.build.types[b - 1]);
        let ty = DataType::Boolean;
        let kind = ExprKind::Compare(CompareOp::Less, left, right);
        self.residual.then_some(Expr { kind, ty, physical: ty.physical() })
    }

    fn node(&self) -> Node {
        let (probe, build) = (Box::new(self.probe.node(0)), Box::new(self.build.node(1)));
        let types = match self.kind {
            JoinKind::BuildSemi | JoinKind::BuildAnti => self.build.types.clone(),
            JoinKind::ProbeMark => [&self.probe.types[..], &[DataType::Boolean]].concat(),
            _ => [&self.probe.types[..], &self.build.types[..]].concat(),
        };
        let outputs = self.output_columns.iter().map(|&c| output(types[c])).collect();
        let key = |&(p, b, nulls): &(usize, usize, NullKeys)| {
            let ty = self.probe.types[p];
            let (probe, build) = (column(p, ty, ty.physical()), column(b, ty, ty.physical()));
            JoinKey { probe, build, nulls }
        };
        let (kind, output_columns) = (self.kind, self.output_columns.clone());
        let condition = self.condition();
        let operator = if self.keys.is_empty() {
            Operator::NestedLoopJoin { probe, build, kind, condition, output_columns }
        } else {
            let keys = self.keys.iter().map(key).collect();
            let (method, build_keys) = (JoinMethod::Hash, BuildKeys::Any);
            let residual = condition;
            Operator::HashJoin {
                probe,
                build,
                kind,
                keys,
                residual,
                method,
                build_keys,
                output_columns,
            }
        };
        Node { id: OperatorId(2), operator, output: outputs, rows: 1.0 }
    }

    fn run(&self) -> types::Result<Vec<Row>> {
        self.run_in(&context(1 << 30))
    }

    fn run_in(&self, context: &Arc<QueryContext>) -> types::Result<Vec<Row>> {
        let mut opener = Opener::new(Arc::clone(context));
        opener.recursive.push((0, LastRound::of(self.probe.stored())));
        opener.recursive.push((1, LastRound::of(self.build.stored())));
        let node = self.node();
        let stream = opener.open(&node, Vec::new())?;
        let result = ResultSet::collect(context, &stream, &node.output)?;
        Ok(rows_of(&result))
    }

    /// The condition by SQL's rules; None is unknown.
    fn truth(&self, p: &Row, b: &Row) -> Option<bool> {
        let mut unknown = false;
        for &(i, j, nulls) in &self.keys {
            let (x, y) = (&p[i], &b[j]);
            match (x.is_null() || y.is_null(), nulls) {
                (true, NullKeys::Differ) => unknown = true,
                (true, NullKeys::Match) if x.is_null() && y.is_null() => {}
                (false, _) if x == y => {}
                _ => return Some(false),
            }
        }
        if self.residual {
            let less = match (&p[p.len() - 1], &b[b.len() - 1]) {
                (Value::I32(x), Value::I32(y)) => Some(x < y),
                _ => None,
            };
            match less {
                Some(true) => {}
                // With keys a residual restricts: what is not true is no candidate.
                None if self.keys.is_empty() => unknown = true,
                _ => return Some(false),
            }
        }
        if unknown { None } else { Some(true) }
    }

    fn expected(&self) -> Option<Vec<Row>> {
        use JoinKind as K;
        let (probe, build) = (&self.probe.rows, &self.build.rows);
        let null = |types: &[DataType]| vec![Value::Null; types.len()];
        let mut rows: Vec<Row> = Vec::new();
        let mut build_matched = vec![false; build.len()];
        for p in probe {
            let (mut matches, mut unknown) = (0, false);
            for (j, b) in build.iter().enumerate() {
                match self.truth(p, b) {
                    Some(true) => {
                        matches += 1;
                        build_matched[j] = true;
                        if matches!(
                            self.kind,
                            K::Inner
                                | K::ProbeOuter
                                | K::BuildOuter
                                | K::FullOuter
                                | K::ProbeSingle
                        ) {
                            rows.push([&p[..], &b[..]].concat());
                        }
                    }
                    None => unknown = true,
                    Some(false) => {}
                }
            }
            match self.kind {
                K::ProbeSingle if matches > 1 => return None,
                K::ProbeOuter | K::FullOuter | K::ProbeSingle if matches == 0 => {
                    rows.push([&p[..], &null(&self.build.types)].concat());
                }
                K::ProbeSemi if matches > 0 => rows.push(p.clone()),
                K::ProbeAnti if matches == 0 => rows.push(p.clone()),
                K::ProbeMark => {
                    let mark = match (matches > 0, unknown) {
                        (true, _) => Value::Bool(true),
                        (false, true) => Value::Null,
                        (false, false) => Value::Bool(false),
                    };
                    rows.push([&p[..], &[mark]].concat());
                }
                _ => {}
            }
        }
        for (b, matched) in build.iter().zip(build_matched) {
            match self.kind {
                K::BuildOuter | K::FullOuter if !matched => {
                    rows.push([&null(&self.probe.types), &b[..]].concat());
                }
                K::BuildSemi if matched => rows.push(b.clone()),
                K::BuildAnti if !matched => rows.push(b.clone()),
                _ => {}
            }
        }
        let pick = |row: Row| self.output_columns.iter().map(|&c| row[c].clone()).collect();
        Some(rows.into_iter().map(pick).collect())
    }

    fn check(&self, name: &str) {
        let found = self.run();
        let Some(expected) = self.expected() else {
            let error = found.expect_err("a second match is an error");
            assert_eq!(error.state(), SqlState::CARDINALITY_VIOLATION);
            return;
        };
        let found = found.unwrap_or_else(|e| panic!("{name} {:?}: {e:?}", self.kind));
        assert_same(found, expected, &format!("{name} {:?}", self.kind));
    }
}

/// Forms of keys: types, and the value made from a small number.
#[derive(Clone, Copy, Debug)]
enum Form {
    Int,
    Sparse,
    Wide,
    Text,
    Float,
}

impl Form {
    fn ty(self) -> DataType {
        match self {
            Self::Int => DataType::Integer,
            Self::Sparse => DataType::BigInt,
            Self::Wide => DataType::numeric(38, 0),
            Self::Text => DataType::Text,
            Self::Float => DataType::Double,
        }
    }

    fn value(self, n: i64) -> Value {
        match self {
            Self::Int => Value::I32(n as i32 - 3),
            Self::Sparse => Value::I64((n - 5) * 7_919_000_000_000_003),
            Self::Wide => Value::I128((i128::from(n) - 4) << 90),
            Self::Text if n % 2 == 0 => Value::text(&format!("{n}")),
            Self::Text => Value::text(&format!("a string beyond a view, {n}")),
            Self::Float => Value::F64(n as f64 / 3.0),
        }
    }
}

/// `count` rows: key columns by `forms`, then an INTEGER; `distinct` key values, NULLs in `nulls`
/// of 100.
fn rows(random: &mut Random, forms: &[Form], count: usize, distinct: u64, nulls: u32) -> Rows {
    let mut types: Vec<DataType> = forms.iter().map(|f| f.ty()).collect();
    types.push(DataType::Integer);
    let row = |_| {
        let mut row: Row = forms
            .iter()
            .map(|f| {
                let value = f.value(random.below(distinct) as i64);
                if random.chance(nulls) { Value::Null } else { value }
            })
            .collect();
        let last = Value::I32(random.below(10) as i32);
        row.push(if random.chance(nulls) { Value::Null } else { last });
        row
    };
    Rows { types, rows: (0..count).map(row).collect() }
}

/// The same, without repeated values in the first column.
fn unique(mut rows: Rows, form: Form) -> Rows {
    for (i, row) in rows.rows.iter_mut().enumerate() {
        if !row[0].is_null() {
            row[0] = form.value(i as i64 * 5 % 64);
        }
    }
    rows.rows.truncate(64);
    rows
}

fn check_forms(forms: &[Form], seed: u64) {
    let mut random = Random::new(seed);
    for kind in KINDS {
        for (round, nulls) in [0, 0, 15, 15].into_iter().enumerate() {
            let (count, distinct) = (random.below(40) as usize, 1 + random.below(30));
            let probe_count = 1 + random.below(60) as usize;
            let probe = rows(&mut random, forms, probe_count, distinct + 3, nulls);
            let mut build = rows(&mut random, forms, count, distinct, nulls);
            if round % 2 == 1 && !forms.is_empty() {
                build = unique(build, forms[0]);
            }
            for residual in [false, true] {
                for matching in 0..=usize::from(!forms.is_empty()) * forms.len() {
                    let nulls = |k| {
                        if k < matching { NullKeys::Match } else { NullKeys::Differ }
                    };
                    let keys = (0..forms.len()).map(|k| (k, k, nulls(k))).collect();
                    let (probe, build) = (probe.clone(), build.clone());
                    let mut case =
                        Case { probe, build, kind, keys, residual, output_columns: Vec::new() };
                    case.output_columns = (0..case.width()).collect();
                    if random.chance(50) {
                        case.output_columns.retain(|_| random.chance(60));
                        case.output_columns.reverse();
                    }
                    case.check(&format!("{forms:?} seed {seed} residual {residual} {matching}"));
                }
            }
        }
    }
}

#[test]
fn integer_keys() {
    (0..6).for_each(|seed| check_forms(&[Form::Int], seed));
    (0..6).for_each(|seed| check_forms(&[Form::Sparse], seed));
}

#[test]
fn other_keys() {
    (0..4).for_each(|seed| check_forms(&[Form::Text], seed));
    (0..4).for_each(|seed| check_forms(&[Form::Wide], seed));
    (0..4).for_each(|seed| check_forms(&[Form::Float], seed));
}

#[test]
fn several_keys() {
    (0..4).for_each(|seed| check_forms(&[Form::Int, Form::Int], seed));
    (0..4).for_each(|seed| check_forms(&[Form::Int, Form::Sparse], seed));
    (0..4).for_each(|seed| check_forms(&[Form::Text, Form::Wide, Form::Int], seed));
}

#[test]
fn nested_loops() {
    (0..6).for_each(|seed| check_forms(&[], seed));
}

fn large(kind: JoinKind, probe: Rows, build: Rows, columns: &[usize]) -> Case {
    let keys = vec![(0, 0, NullKeys::Differ)];
    Case { probe, build, kind, keys, residual: false, output_columns: columns.to_vec() }
}

fn numbers(count: i64, key: impl Fn(i64) -> i64) -> Rows {
    let types = vec![DataType::BigInt, DataType::Integer];
    let row = |i: i64| vec![Value::I64(key(i)), Value::I32((i % 1000) as i32)];
    Rows { types, rows: (0..count).map(row).collect() }
}

#[test]
fn large_sides_dense_and_hashed() {
    for factor in [1i64, 1_000_003] {
        let build = numbers(90_000, |i| (i * 7919 % 90_000) * 2 * factor);
        let probe = numbers(150_000, |i| (i * 31 % 180_000) * factor);
        let matches = (0..150_000i64).filter(|i| i * 31 % 180_000 % 2 == 0).count();
        for (kind, expected) in [
            (JoinKind::Inner, matches),
            (JoinKind::ProbeSemi, matches),
            (JoinKind::ProbeAnti, 150_000 - matches),
            (JoinKind::ProbeOuter, 150_000),
            (JoinKind::BuildSemi, matches),
            (JoinKind::BuildAnti, 90_000 - matches),
            (JoinKind::FullOuter, 150_000 + 90_000 - matches),
        ] {
            let case = large(kind, probe.clone(), build.clone(), &[0]);
            assert_eq!(case.run().expect("runs").len(), expected, "{kind:?} {factor}");
        }
        let case = large(JoinKind::Inner, probe, build, &[0, 2, 3]);
        assert!(case.run().expect("runs").iter().all(|row| row[0] == row[1] && !row[2].is_null()));
    }
}

#[test]
fn a_skewed_key_gives_all_its_pairs() {
    let build = numbers(30_000, |i| if i % 3 == 0 { i } else { 7 });
    let probe = numbers(50, |i| if i == 20 { 7 } else { i * 3 });
    let heavy = build.rows.iter().filter(|r| r[0] == Value::I64(7)).count();
    let case = large(JoinKind::Inner, probe, build, &[0, 2, 3]);
    assert_eq!(case.run().expect("runs").len(), heavy + 49);
}

#[test]
fn joins_of_joins_keep_missing_rows_null() {
    let mut random = Random::new(3);
    for kind in [JoinKind::ProbeOuter, JoinKind::FullOuter, JoinKind::BuildOuter] {
        let (a, b) = (numbers(40, |i| i % 25), numbers(30, |i| i + 10));
        let inner = large(kind, a, b, &[0, 1, 2, 3]);
        let middle = inner.expected().expect("has rows");
        let c = rows(&mut random, &[Form::Int], 30, 40, 10);
        let types = vec![DataType::BigInt, DataType::Integer, DataType::BigInt, DataType::Integer];
        for (above, nulls) in [
            (JoinKind::Inner, NullKeys::Differ),
            (JoinKind::ProbeOuter, NullKeys::Match),
            (JoinKind::ProbeAnti, NullKeys::Match),
        ] {
            let probe = Rows { types: types.clone(), rows: middle.clone() };
            let mut outer = large(above, probe, c.clone(), &[]);
            outer.keys = vec![(3, 0, nulls)];
            outer.output_columns = (0..outer.width()).rev().collect();
            let expected = outer.expected().expect("has rows");
            let mut node = outer.node();
            let Operator::HashJoin { probe, build, .. } = &mut node.operator else { panic!() };
            **probe = inner.node();
            **build = outer.build.node(3);
            node.id = OperatorId(0);
            let context = context(1 << 30);
            let mut opener = Opener::new(Arc::clone(&context));
            let inputs = [(0, &inner.probe), (1, &inner.build), (3, &outer.build)];
            opener
                .recursive
                .extend(inputs.map(|(number, rows)| (number, LastRound::of(rows.stored()))));
            let stream = opener.open(&node, Vec::new()).expect("opens");
            let found = ResultSet::collect(&context, &stream, &node.output).expect("runs");
            assert_same(rows_of(&found), expected, &format!("{kind:?} {above:?}"));
        }
    }
}

#[test]
fn too_little_memory_is_an_error_that_leaves_nothing() {
    let context = context(200_000);
    let case = large(JoinKind::Inner, numbers(10, |i| i), numbers(50_000, |i| i * 99), &[0, 2]);
    let error = case.run_in(&context).expect_err("does not fit");
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert_eq!(context.pool.total(), 0);
}

#[test]
fn a_cancel_ends_nested_loops() {
    let context = context(1 << 30);
    context.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut case = large(JoinKind::Inner, numbers(10_000, |i| i), numbers(50_000, |i| i), &[0, 2]);
    case.keys.clear();
    assert_eq!(case.run_in(&context).expect_err("cancelled").state(), SqlState::QUERY_CANCELED);
}
