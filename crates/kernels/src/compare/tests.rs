//! Every operator and type against a model on single values.

use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Extremes, values, with_gaps};
use types::{CompareOp, PhysicalType, Value};

use super::*;
use crate::VectorBuilder;
use crate::level::at_every_level;

const ALL: [CompareOp; 8] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessEqual,
    CompareOp::Greater,
    CompareOp::GreaterEqual,
    CompareOp::Distinct,
    CompareOp::NotDistinct,
];

fn vector(physical: PhysicalType, rows: &[Option<Value>]) -> Vector {
    let mut builder = VectorBuilder::new(physical);
    rows.iter().for_each(|v| builder.push_value(v.as_ref().unwrap_or(&Value::Null)));
    builder.finish()
}

fn model(op: CompareOp, order: Option<Ordering>, nulls: (bool, bool)) -> Value {
    match (op, order) {
        (CompareOp::Distinct, None) => Value::Bool(nulls.0 != nulls.1),
        (CompareOp::NotDistinct, None) => Value::Bool(nulls.0 == nulls.1),
        (_, None) => Value::Null,
        (op, Some(order)) => Value::Bool(op.accepts(order)),
    }
}

fn check<T: Clone>(
    physical: PhysicalType,
    pairs: &[(Option<T>, Option<T>)],
    value: impl Fn(&T) -> Value,
    order: impl Fn(&T, &T) -> Ordering,
) {
    let side = |pick: fn(&(Option<T>, Option<T>)) -> &Option<T>| {
        let rows: Vec<_> = pairs.iter().map(|p| pick(p).as_ref().map(&value)).collect();
        vector(physical, &rows)
    };
    let (a, b) = (side(|p| &p.0), side(|p| &p.1));
    let expected = |op, x: &Option<T>, y: &Option<T>| {
        let ordering = x.as_ref().zip(y.as_ref()).map(|(x, y)| order(x, y));
        model(op, ordering, (x.is_none(), y.is_none()))
    };
    at_every_level(|level| {
        for op in ALL {
            let rows = compare(op, &a, &b);
            let constant = (!pairs.is_empty()).then(|| b.slice(0, 1));
            for (i, (x, y)) in pairs.iter().enumerate() {
                assert_eq!(rows.value(i), expected(op, x, y), "{level:?} {op:?} row {i}");
            }
            let Some(constant) = constant else { continue };
            let right = compare(op, &a, &constant);
            let left = compare(op.exchanged(), &constant, &a);
            for (i, (x, _)) in pairs.iter().enumerate() {
                let expected = expected(op, x, &pairs[0].1);
                assert_eq!(right.value(i), expected, "{level:?} {op:?} row {i} right");
                assert_eq!(left.value(i), expected, "{level:?} {op:?} row {i} left");
            }
        }
    });
}

fn pairs<T: Extremes>() -> impl Strategy<Value = Vec<(Option<T>, Option<T>)>> {
    vec((with_gaps(values::<T>()), with_gaps(values::<T>())), 0..80)
}

fn float_order(a: &f64, b: &f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(0u8..3, 0..6),
        vec(0u8..2, 11..15),
        Just(b"the same long string".to_vec()),
        vec(any::<u8>(), 0..30),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn integers_compare_by_value(
        a in pairs::<i32>(), b in pairs::<i64>(), c in pairs::<i128>(),
    ) {
        check(PhysicalType::I32, &a, |v| Value::I32(*v), Ord::cmp);
        check(PhysicalType::I64, &b, |v| Value::I64(*v), Ord::cmp);
        check(PhysicalType::I128, &c, |v| Value::I128(*v), Ord::cmp);
    }

    #[test]
    fn floats_compare_with_nan_greatest(rows in pairs::<f64>()) {
        check(PhysicalType::F64, &rows, |v| Value::F64(*v), float_order);
    }

    #[test]
    fn strings_compare_by_bytes(
        rows in vec((with_gaps(text()), with_gaps(text())), 0..60),
    ) {
        check(PhysicalType::Str, &rows, |v| Value::Str(v.as_slice().into()), |a, b| a.cmp(b));
    }

    #[test]
    fn different_widths_compare_by_value(
        a in vec(values::<i64>(), 1..50), b in values::<i128>(),
    ) {
        let narrow = Vector::new(VectorData::I64(a.clone()));
        let wide = Vector::new(VectorData::I128(vec![b; a.len()]));
        let constant = Vector::new(VectorData::I128(vec![b]));
        for op in ALL {
            let expected: Vec<u8> =
                a.iter().map(|&x| u8::from(op.accepts(i128::from(x).cmp(&b)))).collect();
            let rows = compare(op, &narrow, &wide);
            prop_assert_eq!(rows.as_bool(), &expected[..]);
            let rows = compare(op, &narrow, &constant);
            prop_assert_eq!(rows.as_bool(), &expected[..]);
            let rows = compare(op.exchanged(), &constant, &narrow);
            prop_assert_eq!(rows.as_bool(), &expected[..]);
        }
    }
}

#[test]
fn booleans_and_intervals_compare() {
    let no = Vector::new(VectorData::Bool(vec![0, 1]));
    let yes = Vector::new(VectorData::Bool(vec![1]));
    assert_eq!(compare(CompareOp::Less, &no, &yes).as_bool(), [1, 0]);
    let month = Interval { months: 1, days: 0, micros: 0 };
    let days = Interval { months: 0, days: 30, micros: 0 };
    let a = Vector::new(VectorData::Interval(vec![month]));
    let b = Vector::new(VectorData::Interval(vec![days]));
    assert_eq!(compare(CompareOp::Equal, &a, &b).as_bool(), [1]);
}
