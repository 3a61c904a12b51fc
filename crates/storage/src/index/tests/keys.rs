//! The order of normalised keys against a comparison of values written for itself.

use std::cmp::Ordering;

use kernels::VectorBuilder;
use kernels::keys::{SortDirection, SortKeys, SortNulls};
use prop::sample::select;
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::values;
use types::{Interval, PhysicalType, Value};

use super::*;
use crate::{Datum, KeyBuffer};

#[derive(Clone, Debug)]
struct Column {
    ty: DataType,
    not_null: bool,
    order: SortDirection,
    nulls: SortNulls,
}

fn any_column() -> impl Strategy<Value = Column> {
    let types = vec![
        DataType::Boolean,
        DataType::Integer,
        DataType::BigInt,
        DataType::numeric(38, 0),
        DataType::Double,
        DataType::Text,
        DataType::INTERVAL,
    ];
    let orders = vec![SortDirection::Ascending, SortDirection::Descending];
    let nulls = vec![SortNulls::First, SortNulls::Last];
    (select(types), any::<bool>(), select(orders), select(nulls))
        .prop_map(|(ty, not_null, order, nulls)| Column { ty, not_null, order, nulls })
}

fn any_value(column: &Column) -> BoxedStrategy<Value> {
    let value = match column.ty.physical() {
        PhysicalType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        PhysicalType::I32 => values::<i32>().prop_map(Value::I32).boxed(),
        PhysicalType::I64 => values::<i64>().prop_map(Value::I64).boxed(),
        PhysicalType::I128 => values::<i128>().prop_map(Value::I128).boxed(),
        PhysicalType::F64 => {
            let odd = vec![
                0.0,
                -0.0,
                f64::NAN,
                -f64::NAN,
                f64::from_bits(0x7ff0_0000_0000_0001),
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MIN_POSITIVE,
                -5e-324,
            ];
            prop_oneof![values::<f64>(), select(odd)].prop_map(Value::F64).boxed()
        }
        PhysicalType::Str => {
            let narrow = vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(255)], 0..5);
            let bytes = prop_oneof![3 => narrow, 1 => vec(any::<u8>(), 0..30)];
            bytes.prop_map(|bytes| Value::Str(bytes.into())).boxed()
        }
        PhysicalType::Interval => {
            let near =
                (-2i32..3, -61i32..62, prop_oneof![Just(0i64), Just(86_400_000_000), -5i64..5]);
            let far = (values::<i32>(), values::<i32>(), values::<i64>());
            prop_oneof![near.boxed(), far.boxed()]
                .prop_map(|(months, days, micros)| {
                    Value::Interval(Interval { months, days, micros })
                })
                .boxed()
        }
    };
    if column.not_null { value } else { prop_oneof![4 => value, 1 => Just(Value::Null)].boxed() }
}

/// Columns and rows of values for them.
fn any_rows() -> impl Strategy<Value = (Vec<Column>, Vec<Vec<Value>>)> {
    vec(any_column(), 1..4).prop_flat_map(|columns| {
        let row: Vec<_> = columns.iter().map(any_value).collect();
        (Just(columns), vec(row, 2..12))
    })
}

/// As PostgreSQL orders two values of one type that are not NULL.
fn order_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::I32(a), Value::I32(b)) => a.cmp(b),
        (Value::I64(a), Value::I64(b)) => a.cmp(b),
        (Value::I128(a), Value::I128(b)) => a.cmp(b),
        (Value::F64(a), Value::F64(b)) => match (a.is_nan(), b.is_nan()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => a.partial_cmp(b).expect("numbers are ordered"),
        },
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => {
            // Days first, then what is left of them, as neither fits 64 bits with the other.
            let parts = |v: &Interval| {
                let days = i64::from(v.months) * 30 + i64::from(v.days);
                let day = 86_400_000_000;
                (days + v.micros.div_euclid(day), v.micros.rem_euclid(day))
            };
            parts(a).cmp(&parts(b))
        }
        _ => unreachable!("values of one type"),
    }
}

fn order_rows(columns: &[Column], a: &[Value], b: &[Value]) -> Ordering {
    let fields = columns.iter().zip(a.iter().zip(b));
    let orders = fields.map(|(column, (a, b))| match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if column.nulls == SortNulls::First => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if column.nulls == SortNulls::First => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if column.order == SortDirection::Descending => order_values(b, a),
        (false, false) => order_values(a, b),
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

fn index_of(columns: &[Column]) -> TableIndex {
    let spec = |c: &Column| ColumnSpec { name: "c".into(), ty: c.ty, not_null: c.not_null };
    let schema = Schema::new(columns.iter().map(spec).collect());
    let column =
        |(ordinal, c): (usize, &Column)| IndexColumn { ordinal, order: c.order, nulls: c.nulls };
    let columns = columns.iter().enumerate().map(column).collect();
    let (name, unique, kind) = ("i".into(), Uniqueness::No, IndexKind::Ordered);
    let spec = IndexSpec { id: IndexId(1), name, columns, unique, kind };
    TableIndex::new(spec, &schema, &BufferPool::new(1 << 30)).expect("the pool has room")
}

fn datums(row: &[Value]) -> Vec<Datum<'_>> {
    row.iter().map(Datum::from).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn keys_are_ordered_as_rows((columns, rows) in any_rows()) {
        let index = index_of(&columns);
        let mut buffer = KeyBuffer::new();
        let keys: Vec<Vec<u8>> = rows
            .iter()
            .map(|row| {
                index.encode(&datums(row), &mut buffer);
                assert_eq!(buffer.has_null(), row.iter().any(Value::is_null));
                assert_eq!(index.has_null(&buffer), buffer.has_null());
                buffer.to_vec()
            })
            .collect();
        for (a, key_a) in rows.iter().zip(&keys) {
            for (b, key_b) in rows.iter().zip(&keys) {
                let expected = order_rows(&columns, a, b);
                prop_assert_eq!(key_a.cmp(key_b), expected, "{:?} against {:?}", a, b);
                // No key is the start of another.
                prop_assert_eq!(key_a.starts_with(key_b), expected.is_eq());
            }
            // The key of the first columns is its start, and of no other's.
            for count in 0..=columns.len() {
                index.encode(&datums(&a[..count]), &mut buffer);
                for (b, key_b) in rows.iter().zip(&keys) {
                    let is_equal = order_rows(&columns[..count], a, b).is_eq();
                    prop_assert_eq!(key_b.starts_with(&buffer), is_equal);
                }
            }
        }
    }

    #[test]
    fn keys_are_sort_keys((columns, rows) in any_rows()) {
        let index = index_of(&columns);
        let vectors: Vec<_> = (0..columns.len())
            .map(|c| {
                let mut builder = VectorBuilder::new(columns[c].ty.physical());
                rows.iter().for_each(|row| builder.push_value(&row[c]));
                builder.finish()
            })
            .collect();
        let mut keys = SortKeys::new(index.key_fields().to_vec());
        keys.append(&vectors.iter().collect::<Vec<_>>());
        let mut buffer = KeyBuffer::new();
        for (i, row) in rows.iter().enumerate() {
            index.encode(&datums(row), &mut buffer);
            prop_assert_eq!(&buffer[..], keys.get(i));
        }
    }

    #[test]
    fn a_successor_is_above_all_that_starts_with_the_prefix(
        prefix in vec(prop_oneof![Just(0u8), Just(254), Just(255)], 0..6),
        rest in vec(any::<u8>(), 0..4),
        other in vec(prop_oneof![Just(0u8), Just(1), Just(254), Just(255)], 0..8),
    ) {
        let mut successor = KeyBuffer::new();
        if successor.set_successor(&prefix) {
            prop_assert!([&prefix[..], &rest].concat()[..] < successor[..]);
            let is_between = other >= prefix && other[..] < successor[..];
            prop_assert_eq!(is_between, other.starts_with(&prefix));
        } else {
            prop_assert!(prefix.iter().all(|&b| b == 255));
        }
    }
}
