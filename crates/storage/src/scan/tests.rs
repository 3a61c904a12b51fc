//! Scans and unpacking against brute force over all layouts, types, shapes of data, and
//! restrictions.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use kernels::{Batch, Bitmap, Column, Vector, VectorBuilder};
use proptest::prelude::*;
use testkit::Random;
use types::{CompareOp, DataType, Interval, PhysicalType, Result, Value};

use crate::manager::Manager;
use crate::{
    BlockPaths, BufferPool, ColumnPredicate, ColumnSpec, IndexId, KeyFilter, Layout, Positions,
    Restriction, RestrictionKind, ScanPlan, ScanTechniques, Scheme, Snapshot, SubBlockKind,
    SubBlockSpec, Table, TableId, WeaveForm,
};

const TYPES: [DataType; 7] = [
    DataType::Boolean,
    DataType::Integer,
    DataType::BigInt,
    DataType::numeric(38, 2),
    DataType::Double,
    DataType::Text,
    DataType::INTERVAL,
];

/// How values of a column are distributed.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Same,
    Narrow,
    Middle,
    Wide,
    FewFarApart,
    Clustered,
    Ascending,
    Extreme,
}

const SHAPES: [Shape; 8] = [
    Shape::Same,
    Shape::Narrow,
    Shape::Middle,
    Shape::Wide,
    Shape::FewFarApart,
    Shape::Clustered,
    Shape::Ascending,
    Shape::Extreme,
];

fn number(random: &mut Random, shape: Shape, row: usize) -> i128 {
    match shape {
        Shape::Same => 7,
        Shape::Narrow => i128::from(random.within(-5..20)),
        Shape::Middle => i128::from(random.within(1000..30_000)),
        Shape::Wide => i128::from(random.bits() as i32),
        Shape::FewFarApart => i128::from(random.below(40)) * 40_000_003 - 700_000_000,
        Shape::Clustered => row as i128 * 3 + i128::from(random.below(9)),
        Shape::Ascending => row as i128 / 3,
        Shape::Extreme => match random.below(6) {
            0 => i128::MIN,
            1 => i128::MAX,
            2 => i128::from(i64::MIN),
            3 => i128::from(i64::MAX),
            4 => i128::from(i32::MIN),
            _ => i128::from(i32::MAX),
        },
    }
}

fn value(random: &mut Random, ty: DataType, shape: Shape, row: usize) -> Value {
    let n = number(random, shape, row);
    match ty.physical() {
        PhysicalType::Bool => Value::Bool(n & 1 == 1),
        PhysicalType::I32 => Value::I32(n.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
        PhysicalType::I64 => Value::I64(n.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
        PhysicalType::I128 => Value::I128(n),
        PhysicalType::F64 => match (shape, random.below(8)) {
            (Shape::Extreme, 0) => Value::F64(f64::NAN),
            (Shape::Extreme, 1) => Value::F64(-0.0),
            (Shape::Extreme, 2) => Value::F64(0.0),
            (Shape::Extreme, 3) => Value::F64(f64::NEG_INFINITY),
            (Shape::Wide, _) => Value::F64(n as f64 / 7.0),
            _ => Value::F64(n as f64),
        },
        PhysicalType::Str => match shape {
            Shape::Extreme if random.chance(30) => Value::text(""),
            Shape::Middle | Shape::Clustered => long_text(random, n),
            Shape::Wide => Value::text(&format!("a longer text about {n}")),
            _ => Value::text(&format!("{n}")),
        },
        PhysicalType::Interval => Value::Interval(Interval {
            months: (n % 3) as i32,
            days: random.below(2) as i32 * 30,
            micros: (n % 1_000_000) as i64,
        }),
    }
}

/// Words, at times none or any bytes: many enough rows of it are compressed.
fn long_text(random: &mut Random, n: i128) -> Value {
    let mut text = Vec::new();
    if !random.chance(5) {
        text =
            format!("{n:09}: the final, \u{fc}ber regular deposits sleep furiously").into_bytes();
        for _ in 0..random.below(8) {
            text.extend([&b" pending"[..], b" ideas", b" nag."][random.below(3) as usize]);
        }
    }
    if random.chance(10) {
        text.extend((0..random.below(5)).map(|_| random.bits() as u8));
    }
    Value::Str(text[..].into())
}

/// SQL order of values of one type.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::F64(a), Value::F64(b)) => {
            a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.cmp(b),
        _ => a.as_integer().cmp(&b.as_integer()),
    }
}

fn passes(kind: &RestrictionKind, value: &Value) -> bool {
    let compare = |op: CompareOp, other: &Value| {
        !value.is_null() && !other.is_null() && op.accepts(order(value, other))
    };
    match kind {
        RestrictionKind::IsNull => value.is_null(),
        RestrictionKind::IsNotNull => !value.is_null(),
        RestrictionKind::Never => false,
        RestrictionKind::Compare(op, other) => compare(*op, other),
        RestrictionKind::Between { low, high } => {
            let low = match low {
                Bound::Unbounded => !value.is_null(),
                Bound::Included(v) => compare(CompareOp::GreaterEqual, v),
                Bound::Excluded(v) => compare(CompareOp::Greater, v),
            };
            low && match high {
                Bound::Unbounded => true,
                Bound::Included(v) => compare(CompareOp::LessEqual, v),
                Bound::Excluded(v) => compare(CompareOp::Less, v),
            }
        }
        RestrictionKind::InList(values) | RestrictionKind::BuildKeys(values) => {
            values.iter().any(|v| compare(CompareOp::Equal, v))
        }
        RestrictionKind::Predicate(predicate) => match predicate.name().as_str() {
            "odd" => is_odd(value),
            _ => value.is_null() || is_odd(value),
        },
        RestrictionKind::KeyFilter(_) if matches!(value, Value::Str(_)) => is_even(&[value]),
        RestrictionKind::KeyFilter(_) => value.as_integer().is_some_and(in_filter),
        RestrictionKind::Joint(..) => unreachable!("it has several values"),
    }
}

/// True when row `row` passes.
fn row_passes(restriction: &Restriction, values: &[Vec<Value>], row: usize) -> bool {
    match &restriction.kind {
        RestrictionKind::Joint(columns, _) => {
            is_even(&columns.iter().map(|&c| &values[c][row]).collect::<Vec<_>>())
        }
        kind => passes(kind, &values[restriction.column][row]),
    }
}

/// True for keys that [`Even`] keeps.
fn is_even(key: &[&Value]) -> bool {
    let bytes = key.iter().flat_map(|value| format!("{value:?}").into_bytes());
    !key.iter().any(|value| value.is_null()) && bytes.map(u32::from).sum::<u32>() % 2 == 0
}

/// A filter over strings, and over several columns.
struct Even;

impl KeyFilter for Even {
    fn retain_i64(&self, _: &[i64], _: &mut Vec<u32>) {
        unreachable!("one column of integers has another filter");
    }

    fn retain_columns(&self, columns: &[&Column], positions: &mut Vec<u32>) {
        assert!(columns.iter().all(|column| column.len() == positions.len()));
        let mut row = 0..;
        positions.retain(|_| {
            let row = row.next().expect("rows go on");
            let key: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
            is_even(&key.iter().collect::<Vec<_>>())
        });
    }

    fn overlaps_strings(&self, min: &[u8], max: &[u8]) -> bool {
        assert!(min <= max);
        min != max || is_even(&[&Value::Str(min.into())])
    }
}

fn is_odd(value: &Value) -> bool {
    let text = format!("{value:?}");
    !value.is_null() && text.bytes().map(u32::from).sum::<u32>() % 3 == 1
}

struct Odd {
    with_null: bool,
}

impl ColumnPredicate for Odd {
    fn select(&self, values: &Vector) -> Result<Bitmap> {
        Ok(Bitmap::from_fn(values.len(), |i| {
            let value = values.value(i);
            if value.is_null() { self.with_null } else { is_odd(&value) }
        }))
    }

    fn name(&self) -> String {
        if self.with_null { "odd or null" } else { "odd" }.into()
    }
}

fn in_filter(key: i128) -> bool {
    i64::try_from(key).is_ok_and(|k| k.rem_euclid(3) == 0)
}

struct Thirds;

impl KeyFilter for Thirds {
    fn retain_i64(&self, values: &[i64], positions: &mut Vec<u32>) {
        assert_eq!(values.len(), positions.len());
        let mut keys = values.iter();
        positions.retain(|_| keys.next().is_some_and(|&k| in_filter(k.into())));
    }

    fn overlaps(&self, min: i64, max: i64) -> bool {
        (min..=max).take(3).any(|k| in_filter(k.into()))
    }
}

fn restriction(
    random: &mut Random,
    ty: DataType,
    shape: Shape,
    values: &[Value],
) -> RestrictionKind {
    let mut constant = || match random.below(10) {
        0 => Value::Null,
        1..=5 => values[random.below(values.len() as u64) as usize].clone(),
        _ => {
            let row = random.below(values.len() as u64) as usize;
            value(random, ty, shape, row)
        }
    };
    let (a, b, c) = (constant(), constant(), constant());
    let kinds = [
        CompareOp::Equal,
        CompareOp::NotEqual,
        CompareOp::Less,
        CompareOp::LessEqual,
        CompareOp::Greater,
        CompareOp::GreaterEqual,
    ];
    let integer =
        matches!(ty.physical(), PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128);
    let bound = |random: &mut Random, v: Value| match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Excluded(v),
        _ => Bound::Included(v),
    };
    match random.below(12) {
        0 => RestrictionKind::IsNull,
        1 => RestrictionKind::IsNotNull,
        2 => RestrictionKind::InList(vec![a, b, c]),
        3 => RestrictionKind::InList(values.iter().step_by(5).take(20).cloned().collect()),
        4 | 5 => {
            let (low, high) = if order(&a, &b).is_le() { (a, b) } else { (b, a) };
            RestrictionKind::Between { low: bound(random, low), high: bound(random, high) }
        }
        6 => RestrictionKind::Predicate(Arc::new(Odd { with_null: random.chance(50) })),
        7 | 8 if integer => RestrictionKind::KeyFilter(Arc::new(Thirds)),
        7 | 8 if ty.physical() == PhysicalType::Str => RestrictionKind::KeyFilter(Arc::new(Even)),
        _ => RestrictionKind::Compare(kinds[random.below(6) as usize], a),
    }
}

struct Made {
    table: Arc<Table>,
    /// By column, then row.
    values: Vec<Vec<Value>>,
    shapes: Vec<(DataType, Shape)>,
}

/// A table of `columns` random columns, loaded in a random way.
fn make(random: &mut Random, rows: usize, layout: Layout, columns: usize) -> Made {
    let mut shapes = Vec::new();
    let mut values = Vec::new();
    for _ in 0..columns {
        let ty = TYPES[random.below(7) as usize];
        let shape = SHAPES[random.below(7) as usize];
        let nulls = [0, 0, 10, 60, 100][random.below(5) as usize];
        let column = (0..rows).map(|row| {
            if random.chance(nulls) { Value::Null } else { value(random, ty, shape, row) }
        });
        values.push(column.collect::<Vec<_>>());
        shapes.push((ty, shape));
    }
    let specs = shapes.iter().enumerate();
    let specs = specs.map(|(i, (ty, _))| ColumnSpec::new(format!("c{i}"), *ty)).collect::<Vec<_>>();
    let table = Table::new(TableId(1), "t", specs.into(), layout, BufferPool::new(1 << 32));
    let manager = Manager::default();
    let columns_count = columns;
    let bulk = random.chance(50);
    // Some blocks are made before there are index sub-blocks, some after.
    let indexed_from = random.below(2 * rows as u64 + 1) as usize;
    let mut writer = table.bulk_writer();
    let mut from = 0;
    while from < rows {
        let len = (random.below(rows as u64) as usize + 1).min(rows - from);
        let columns = values.iter().zip(&shapes).map(|(column, (ty, _))| {
            let mut builder = VectorBuilder::new(ty.physical());
            column[from..from + len].iter().for_each(|v| builder.push_value(v));
            Column::plain(builder.finish())
        });
        let batch = Batch::new(columns.collect(), len);
        if bulk {
            writer.push(&batch).expect("fits");
        } else {
            manager.append(&table, &batch).expect("fits");
        }
        if (from..from + len).contains(&indexed_from) {
            add_sub_blocks(random, &table, columns_count);
        }
        from += len;
    }
    assert_eq!(writer.finish().expect("fits"), if bulk { rows as u64 } else { 0 });
    if indexed_from >= rows && random.chance(80) {
        add_sub_blocks(random, &table, columns_count);
    }
    Made { table, values, shapes }
}

/// Gives some columns index sub-blocks, one at times several.
fn add_sub_blocks(random: &mut Random, table: &Table, columns: usize) {
    let kinds = [
        SubBlockKind::Csb,
        SubBlockKind::BitWeaving(WeaveForm::Vertical),
        SubBlockKind::BitWeaving(WeaveForm::Horizontal),
        SubBlockKind::Bloom { bits_per_key: 10 },
    ];
    for id in 0..random.below(2 * columns as u64 + 1) {
        let column = random.below(columns as u64) as usize;
        let kind = kinds[random.below(4) as usize];
        let spec = SubBlockSpec { id: IndexId(id), name: format!("i{id}"), column, kind };
        table.add_sub_blocks(spec, 1 + random.below(2) as usize).expect("fits");
    }
    if random.chance(10) {
        table.remove_index(IndexId(0));
        assert!(table.sub_blocks().iter().all(|spec| spec.id != IndexId(0)));
    }
}

/// Identical, not only equal: NaN and NaN, 1 month and 1 month, but not 1 month and 30 days.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) if a.is_nan() => b.is_nan(),
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
        (Value::Interval(a), Value::Interval(b)) => {
            (a.months, a.days, a.micros) == (b.months, b.days, b.micros)
        }
        _ => a == b,
    }
}

fn check_round_trip(made: &Made, random: &mut Random) {
    let snapshot = made.table.snapshot(Snapshot::ALL);
    assert_eq!(snapshot.rows() as usize, made.values[0].len());
    let mut first = 0;
    for b in 0..snapshot.block_count() {
        let rows = snapshot.block(b).rows();
        let all = Positions::Range { start: 0, len: rows as u32 };
        let some = Positions::List((0..rows as u32).filter(|_| random.chance(30)).collect());
        let start = random.below(rows as u64) as u32;
        let part = Positions::Range {
            start,
            len: random.below(u64::from(rows as u32 - start) + 1) as u32,
        };
        for (c, values) in made.values.iter().enumerate() {
            for positions in [&all, &some, &part] {
                let column = snapshot.unpack(b, c, positions).expect("in memory");
                assert_eq!(column.len(), positions.len());
                for i in 0..column.len() {
                    let expected = &values[first + positions.get(i) as usize];
                    let found = column.value(i);
                    assert!(same(&found, expected), "{found:?}, not {expected:?}, column {c}");
                }
            }
        }
        first += rows;
    }
}

fn check_scan(made: &Made, random: &mut Random) {
    let count = 1 + random.below(3) as usize;
    let restrictions: Vec<Restriction> = (0..count)
        .map(|_| {
            let column = random.below(made.shapes.len() as u64) as usize;
            let (ty, shape) = made.shapes[column];
            if random.chance(15) {
                let other = random.below(made.shapes.len() as u64) as usize;
                let kind = RestrictionKind::Joint([column, other].into(), Arc::new(Even));
                return Restriction { column, kind };
            }
            let kind = restriction(random, ty, shape, &made.values[column]);
            Restriction { column, kind }
        })
        .collect();
    let rows = made.values[0].len();
    let expected: Vec<usize> = (0..rows)
        .filter(|&row| restrictions.iter().all(|r| row_passes(r, &made.values, row)))
        .collect();
    for paths in [BlockPaths::Avoid, BlockPaths::Consider, BlockPaths::Prefer] {
        let plan = ScanPlan::new(made.table.schema(), restrictions.clone()).expect("well typed");
        let [adaptive, codes, dictionaries, skipping] = [60, 70, 70, 70].map(|p| random.chance(p));
        let techniques = ScanTechniques { adaptive, codes, dictionaries, skipping };
        let plan = plan.with(techniques).with_paths(paths);
        let found = rows_of(made, random, &plan);
        let snapshot = made.table.snapshot(Snapshot::ALL);
        let schemes: Vec<Scheme> = match snapshot.block_count() {
            0 => vec![],
            _ => restrictions.iter().map(|r| snapshot.block(0).scheme(r.column)).collect(),
        };
        assert_eq!(found, expected, "{restrictions:?} on {schemes:?}, {techniques:?}, {paths:?}");
    }
}

/// The rows of a scan in batches of some size.
fn rows_of(made: &Made, random: &mut Random, plan: &ScanPlan) -> Vec<usize> {
    let snapshot = made.table.snapshot(Snapshot::ALL);
    let mut found = Vec::new();
    let mut first = 0;
    let rows_max = [1, 7, 100, 2048][random.below(4) as usize];
    let mut positions = Positions::default();
    for b in 0..snapshot.block_count() {
        if let Some(mut cursor) = plan.open(&snapshot, b).expect("no errors here") {
            while cursor.next(rows_max, &mut positions).expect("no errors here") {
                assert!((1..=rows_max).contains(&positions.len()));
                found.extend(positions.to_list().into_iter().map(|p| first + p as usize));
            }
            assert!(positions.is_empty());
        }
        first += snapshot.block(b).rows();
    }
    found
}

const LAYOUTS: [Layout; 4] = [Layout::Row, Layout::Column, Layout::Frozen, Layout::Auto];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn scans_and_unpacking_equal_brute_force(seed: u64, rows in 1usize..600, layout in 0usize..4) {
        let random = &mut Random::new(seed);
        let made = make(random, rows, LAYOUTS[layout], 3);
        check_round_trip(&made, random);
        for _ in 0..10 {
            check_scan(&made, random);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn large_blocks_with_lookup_tables_equal_brute_force(seed: u64, rows in 4096usize..90_000) {
        let random = &mut Random::new(seed);
        let made = make(random, rows, Layout::Frozen, 2);
        check_round_trip(&made, random);
        for _ in 0..8 {
            check_scan(&made, random);
        }
    }
}

/// Passes keys below `bound`, counts what it is asked, and gives up after some keys.
#[derive(Default)]
struct Below {
    bound: i64,
    tested: std::sync::atomic::AtomicU64,
    tested_max: Option<u64>,
}

impl Below {
    fn tested(&self) -> u64 {
        self.tested.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl KeyFilter for Below {
    fn retain_i64(&self, values: &[i64], positions: &mut Vec<u32>) {
        self.tested.fetch_add(values.len() as u64, std::sync::atomic::Ordering::Relaxed);
        let mut values = values.iter();
        positions.retain(|_| values.next().is_some_and(|&v| v < self.bound));
    }

    fn is_active(&self) -> bool {
        self.tested_max.is_none_or(|max| self.tested() < max)
    }
}

/// Blocks of two columns, each with numbers below a million.
fn two_columns(layout: Layout) -> Arc<Table> {
    let specs = ["a", "b"].map(|name| ColumnSpec::new(name, DataType::BigInt));
    let table =
        Table::new(TableId(1), "t", specs.to_vec().into(), layout, BufferPool::new(1 << 30));
    let mut writer = table.bulk_writer();
    let random = &mut Random::new(11);
    for _ in 0..3 {
        let mut draw = || {
            let values = (0..65_536).map(|_| random.below(1_000_000) as i64).collect();
            Column::plain(Vector::new(kernels::VectorData::I64(values)))
        };
        let batch = Batch::new(vec![draw(), draw()], 65_536);
        writer.push(&batch).expect("fits");
    }
    writer.finish().expect("fits");
    table
}

/// Scans with filters on both columns; gives how many keys each was asked about, and the rows.
fn asked(table: &Table, filters: [Below; 2], techniques: ScanTechniques) -> ([u64; 2], usize) {
    let filters = filters.map(Arc::new);
    let restriction = |column: usize| Restriction {
        column,
        kind: RestrictionKind::KeyFilter(Arc::clone(&filters[column]) as Arc<dyn KeyFilter>),
    };
    let plan = ScanPlan::new(table.schema(), vec![restriction(0), restriction(1)]);
    let plan = plan.expect("well typed").with(techniques);
    let snapshot = table.snapshot(Snapshot::ALL);
    let (mut rows, mut positions) = (0, Positions::default());
    for block in 0..snapshot.block_count() {
        let Some(mut cursor) = plan.open(&snapshot, block).expect("no errors here") else {
            continue;
        };
        while cursor.next(2048, &mut positions).expect("no errors here") {
            rows += positions.len();
        }
    }
    ([filters[0].tested(), filters[1].tested()], rows)
}

#[test]
fn the_filter_that_drops_most_rows_comes_first() {
    let below = |bound: i64| Below { bound, ..Below::default() };
    let fixed = ScanTechniques { adaptive: false, ..ScanTechniques::default() };
    for layout in [Layout::Row, Layout::Column, Layout::Frozen] {
        let table = two_columns(layout);
        let rows = table.live_rows();
        let (both, found) = asked(&table, [below(900_000), below(10_000)], fixed);
        assert_eq!(both[0], rows, "in the order given");
        let (learnt, same) = asked(&table, [below(900_000), below(10_000)], Default::default());
        assert_eq!(found, same);
        // The first window only is tested in the wrong order.
        assert!(learnt[0] < rows / 20, "{layout:?}: {learnt:?} of {rows}");
        assert!(learnt[1] > rows * 9 / 10 && learnt[1] <= rows, "{layout:?}: {learnt:?}");
    }
}

#[test]
fn a_filter_that_has_given_up_is_not_asked() {
    let all = || Below { bound: i64::MAX, ..Below::default() };
    for layout in [Layout::Row, Layout::Frozen] {
        let table = two_columns(layout);
        let rows = table.live_rows();
        let tired = Below { tested_max: Some(5000), ..all() };
        let (asked, found) = asked(&table, [tired, all()], ScanTechniques::default());
        assert_eq!(found as u64, rows);
        assert!(asked[0] < 20_000 && asked[1] == rows, "{layout:?}: {asked:?}");
    }
}

#[test]
fn build_keys_that_nearly_all_rows_have_are_tested_for_a_while() {
    let own = |row: i64| if row % 16 == 0 { format!("other {row}") } else { "own".to_owned() };
    for layout in [Layout::Row, Layout::Column, Layout::Frozen] {
        let specs = vec![ColumnSpec::new("s", DataType::Text)];
        let table = Table::new(TableId(1), "t", specs.into(), layout, BufferPool::new(1 << 30));
        let mut writer = table.bulk_writer();
        let mut texts = VectorBuilder::new(PhysicalType::Str);
        (0..131_072).for_each(|row| texts.push_value(&Value::text(&own(row))));
        writer.push(&Batch::new(vec![Column::plain(texts.finish())], 131_072)).expect("fits");
        writer.finish().expect("fits");
        let rows = |kind: RestrictionKind| {
            let plan = ScanPlan::new(table.schema(), vec![Restriction { column: 0, kind }]);
            let plan = plan.expect("well typed");
            let snapshot = table.snapshot(Snapshot::ALL);
            let (mut rows, mut positions) = (0, Positions::default());
            for block in 0..snapshot.block_count() {
                let cursor = plan.open(&snapshot, block).expect("no errors here");
                let mut cursor = cursor.expect("some rows");
                while cursor.next(2048, &mut positions).expect("no errors here") {
                    rows += positions.len();
                }
            }
            (rows, plan.has_free_filters())
        };
        let keys = || vec![Value::text("own"), Value::text("nobody's")];
        let wanted = 131_072 / 16 * 15;
        assert_eq!(rows(RestrictionKind::InList(keys())), (wanted, false), "{layout:?}");
        let (found, is_tested) = rows(RestrictionKind::BuildKeys(keys()));
        if layout == Layout::Frozen {
            assert_eq!((found, is_tested), (wanted, true), "codes are tested for nothing");
        } else {
            // 32,768 rows are tested, and the window in which they end.
            let passed = 131_072 - (1 << 15) / 16;
            assert!((passed - 128..=passed).contains(&found), "{layout:?}: {found}");
            assert!(!is_tested);
        }
    }
}

#[test]
fn windows_without_filters_have_all_rows_that_other_tests_leave() {
    for layout in [Layout::Row, Layout::Column, Layout::Frozen] {
        let table = two_columns(layout);
        let snapshot = table.snapshot(Snapshot::ALL);
        let bound = RestrictionKind::Compare(CompareOp::Less, Value::I64(900_000));
        let filter = RestrictionKind::KeyFilter(Arc::new(Thirds));
        let plan = |kinds: Vec<(usize, RestrictionKind)>| {
            let restrictions = kinds.into_iter().map(|(column, kind)| Restriction { column, kind });
            ScanPlan::new(table.schema(), restrictions.collect()).expect("well typed")
        };
        let all = plan(vec![(0, bound.clone())]);
        let some = plan(vec![(0, bound), (1, filter)]);
        assert!(some.has_free_filters() && !all.has_free_filters());
        let mut rows = [0; 2];
        for block in 0..snapshot.block_count() {
            let open =
                |plan: &'_ ScanPlan| plan.open(&snapshot, block).expect("no errors").is_some();
            assert!(open(&all) && open(&some));
            let mut expected = Positions::default();
            let mut found = Positions::default();
            let (Some(mut plain), Some(mut cursor)) = (
                all.open(&snapshot, block).expect("no errors"),
                some.open(&snapshot, block).expect("no errors"),
            ) else {
                continue;
            };
            // One window after the other, with the filter and without in turn.
            for window in 0.. {
                let uses = window % 2 == 0;
                cursor.use_filters(uses);
                let before = cursor.rows_left();
                if !cursor.next(64, &mut found).expect("no errors") {
                    break;
                }
                let looked = before - cursor.rows_left();
                let mut wanted = Vec::new();
                let end = snapshot.block(block).rows() - cursor.rows_left();
                while snapshot.block(block).rows() - plain.rows_left() < end {
                    let left = end - (snapshot.block(block).rows() - plain.rows_left());
                    assert!(plain.next(left, &mut expected).expect("no errors"));
                    wanted.extend(expected.to_list());
                }
                if uses {
                    let keys = snapshot.unpack(block, 1, &Positions::List(wanted.clone()));
                    let keys = keys.expect("no errors").to_vector().into_owned();
                    let mut row = 0..;
                    let passes = |_: &u32| {
                        let key = row.next().and_then(|row| keys.value(row).as_integer());
                        key.is_some_and(in_filter)
                    };
                    wanted.retain(passes);
                }
                assert_eq!(found.to_list(), wanted, "{layout:?} {window} of {looked} rows");
                rows[usize::from(uses)] += wanted.len();
            }
        }
        assert!(rows.iter().all(|&rows| rows > 10_000), "{layout:?}: {rows:?}");
    }
}

/// True for odd keys below `bound`; fails for others.
struct Odds {
    bound: i64,
}

impl ColumnPredicate for Odds {
    fn select(&self, values: &Vector) -> Result<Bitmap> {
        let kernels::VectorData::I64(values) = &values.data else {
            return Err(types::Error::internal("numbers were expected"));
        };
        match values.iter().find(|v| **v >= self.bound) {
            Some(v) => Err(types::Error::internal(format!("{v} should not be asked about"))),
            None => Ok(Bitmap::from_fn(values.len(), |i| values[i] % 2 == 1)),
        }
    }

    fn name(&self) -> String {
        "odd".to_owned()
    }
}

#[test]
fn predicates_that_may_fail_keep_their_place() {
    for layout in [Layout::Row, Layout::Frozen] {
        let table = two_columns(layout);
        // The first drops nothing that the second would not, and far less: it stays before it.
        let all = Odds { bound: i64::MAX };
        let odd = |predicate| RestrictionKind::Predicate(Arc::new(predicate));
        let below = RestrictionKind::Compare(CompareOp::Less, Value::I64(900_000));
        let restrictions = vec![
            Restriction { column: 1, kind: odd(all) },
            Restriction { column: 0, kind: odd(Odds { bound: 900_000 }) },
            Restriction { column: 0, kind: below },
        ];
        let plan = ScanPlan::new(table.schema(), restrictions).expect("well typed");
        let snapshot = table.snapshot(Snapshot::ALL);
        let mut positions = Positions::default();
        for block in 0..snapshot.block_count() {
            let cursor = plan.open(&snapshot, block).expect("no errors here");
            let mut cursor = cursor.expect("some rows");
            while cursor.next(2048, &mut positions).expect("no row of 900,000 or more") {}
        }
    }
}
