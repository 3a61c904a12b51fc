//! Arithmetic against wide or checked models, with extremes, ties and NULLs.

use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Extremes, values, with_gaps};
use types::{DataType, PhysicalType, SqlState, Value};

use super::*;
use crate::level::at_every_level;
use crate::{Bitmap, VectorData};

const OPS: [Arithmetic; 8] = [
    Arithmetic::Add,
    Arithmetic::Subtract,
    Arithmetic::Multiply,
    Arithmetic::Divide,
    Arithmetic::Modulo,
    Arithmetic::BitAnd,
    Arithmetic::BitOr,
    Arithmetic::BitXor,
];

/// The value in 128 bits, or the error.
fn model(op: Arithmetic, a: i128, b: i128, ty: DataType) -> Result<i128, SqlState> {
    let value = match op {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Modulo if b == 0 => {
            return Err(SqlState::DIVISION_BY_ZERO);
        }
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
        Arithmetic::BitAnd => a & b,
        Arithmetic::BitOr => a | b,
        Arithmetic::BitXor => a ^ b,
    };
    let (min, max) = match ty {
        DataType::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
        DataType::Integer => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    if (min..=max).contains(&value) { Ok(value) } else { Err(SqlState::NUMERIC_OUT_OF_RANGE) }
}

fn column<T: Copy + Default>(
    rows: &[Option<T>],
    data: fn(Vec<T>) -> VectorData,
    under: T,
) -> Vector {
    let values = rows.iter().map(|v| v.unwrap_or(under)).collect();
    Vector::with_validity(data(values), Some(Bitmap::from_fn(rows.len(), |i| rows[i].is_some())))
}

/// Whole columns and, so that one failing row does not hide the others, each row alone.
fn check<T: Extremes + Default + Into<i128>>(
    pairs: &[(Option<T>, Option<T>)],
    data: fn(Vec<T>) -> VectorData,
    ty: DataType,
) {
    let extreme = T::extremes()[0];
    for op in OPS {
        let run = |pairs: &[(Option<T>, Option<T>)]| {
            let a: Vec<_> = pairs.iter().map(|p| p.0).collect();
            let b: Vec<_> = pairs.iter().map(|p| p.1).collect();
            // What is under a NULL would fail if it were looked at.
            integer(op, &column(&a, data, extreme), &column(&b, data, T::default()), ty)
        };
        let expect = |pair: &(Option<T>, Option<T>)| {
            pair.0.zip(pair.1).map(|(a, b)| model(op, a.into(), b.into(), ty)).transpose()
        };
        let first_error = pairs.iter().find_map(|p| expect(p).err());
        match (run(pairs), first_error) {
            (Ok(vector), None) => {
                for (i, pair) in pairs.iter().enumerate() {
                    let expected = expect(pair).ok().flatten();
                    assert_eq!(vector.value(i).as_integer(), expected, "{op:?} {pair:?}");
                }
            }
            (got, Some(state)) => assert_eq!(got.map(|_| ()).map_err(|e| e.state()), Err(state)),
            (got, None) => panic!("{op:?} {got:?}"),
        }
        for pair in pairs {
            let got = run(std::slice::from_ref(pair)).map(|v| v.value(0).as_integer());
            assert_eq!(got.map_err(|e| e.state()), expect(pair), "{op:?} {pair:?}");
        }
    }
}

fn pairs<T: Extremes>() -> impl Strategy<Value = Vec<(Option<T>, Option<T>)>> {
    vec((with_gaps(values::<T>()), with_gaps(values::<T>())), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn integers_equal_the_wide_model(
        small in pairs::<i16>(), medium in pairs::<i32>(), big in pairs::<i64>(),
    ) {
        let small: Vec<_> =
            small.into_iter().map(|(a, b)| (a.map(i32::from), b.map(i32::from))).collect();
        // Values under NULL stay in range for SMALLINT: column() puts i32::MIN there, harmlessly.
        at_every_level(|_| {
            check(&small, VectorData::I32, DataType::SmallInt);
            check(&medium, VectorData::I32, DataType::Integer);
            check(&big, VectorData::I64, DataType::BigInt);
        });
    }

    #[test]
    fn quotients_by_double_are_exact(a in values::<i32>(), b in values::<i32>()) {
        prop_assume!(b != 0 && !(a == i32::MIN && b == -1));
        let x = Vector::new(VectorData::I32(vec![a]));
        let y = Vector::new(VectorData::I32(vec![b]));
        let run = |op| integer(op, &x, &y, DataType::Integer).map(|v| v.value(0));
        prop_assert_eq!(run(Arithmetic::Divide), Ok(Value::I32(a / b)));
        prop_assert_eq!(run(Arithmetic::Modulo), Ok(Value::I32(a % b)));
    }

    #[test]
    fn floats_follow_postgres(pairs in pairs::<f64>()) {
        use Arithmetic as Op;
        for op in [Op::Add, Op::Subtract, Op::Multiply, Op::Divide] {
            for pair in &pairs {
                let a = column(&[pair.0], VectorData::F64, 0.0);
                let b = column(&[pair.1], VectorData::F64, 0.0);
                let got = float(op, &a, &b, DataType::Double);
                let (Some(x), Some(y)) = *pair else {
                    prop_assert_eq!(got.map(|v| v.value(0)), Ok(Value::Null));
                    continue;
                };
                let value = match op {
                    Arithmetic::Add => x + y,
                    Arithmetic::Subtract => x - y,
                    Arithmetic::Multiply => x * y,
                    _ => x / y,
                };
                match got {
                    Ok(v) => match v.value(0) {
                        Value::F64(v) => prop_assert_eq!(v.to_bits(), value.to_bits()),
                        other => prop_assert!(false, "{:?}", other),
                    },
                    Err(e) if e.state() == SqlState::DIVISION_BY_ZERO => {
                        prop_assert!(y == 0.0 && op == Arithmetic::Divide && !x.is_nan());
                    }
                    Err(_) => prop_assert!(
                        value.is_infinite() && x.is_finite() && y.is_finite() || value == 0.0
                    ),
                }
            }
        }
    }

    #[test]
    fn scaled_results_that_fit_are_exact(
        a in values::<i64>(), b in values::<i64>(), digits in 0u8..19,
    ) {
        let (x, y) = (i128::from(a), i128::from(b));
        let factor = power_of_ten(digits);
        let column = |v: i64| Vector::new(VectorData::I64(vec![v]));
        for (op, exact) in [
            (Arithmetic::Add, x * factor + y),
            (Arithmetic::Subtract, x * factor - y),
            (Arithmetic::Multiply, x * y),
        ] {
            let wide = scaled(op, &column(a), &column(b), (factor, 1), PhysicalType::I128);
            prop_assert_eq!(wide.value(0), Value::I128(exact));
            if let Ok(exact) = i64::try_from(exact) {
                let narrow = scaled(op, &column(a), &column(b), (factor, 1), PhysicalType::I64);
                prop_assert_eq!(narrow.value(0), Value::I64(exact));
            }
        }
    }
}

#[test]
fn real_is_rounded_and_overflows_at_its_own_range() {
    let column = |v: f64| Vector::new(VectorData::F64(vec![v]));
    let sum = float(Arithmetic::Add, &column(1.0), &column(1e-9), DataType::Real);
    assert_eq!(sum.map(|v| v.value(0)), Ok(Value::F64(1.0)));
    let product = float(Arithmetic::Multiply, &column(1e30), &column(1e30), DataType::Real);
    assert_eq!(
        product.map(|_| ()).map_err(|e| e.message().to_owned()),
        Err("value out of range: overflow".to_owned())
    );
}

#[test]
fn negation_and_abs_refuse_the_smallest_number() {
    let rows = Vector::new(VectorData::I32(vec![1, -32768]));
    assert!(negate(&rows, DataType::Integer).is_ok());
    assert!(negate(&rows, DataType::SmallInt).is_err());
    assert!(abs(&rows, DataType::SmallInt).is_err());
    let null = Vector::with_validity(
        VectorData::I64(vec![5, i64::MIN]),
        Some(Bitmap::from_fn(2, |i| i == 0)),
    );
    assert_eq!(negate(&null, DataType::BigInt).map(|v| v.value(0)), Ok(Value::I64(-5)));
    assert_eq!(abs(&null, DataType::BigInt).map(|v| v.value(1)), Ok(Value::Null));
    assert_eq!(bit_not(&rows).value(0), Value::I32(-2));
}

#[test]
fn shifts_wrap_as_the_machine_does() {
    let rows = Vector::new(VectorData::I32(vec![1, -8]));
    let by = |n| Vector::new(VectorData::I32(vec![n]));
    let run = |direction, n, ty| {
        let v = shift(direction, &rows, &by(n), ty);
        (v.value(0), v.value(1))
    };
    let of = |a, b| (Value::I32(a), Value::I32(b));
    assert_eq!(run(Shift::Left, 33, DataType::Integer), of(2, -16));
    assert_eq!(run(Shift::Right, 2, DataType::Integer), of(0, -2));
    assert_eq!(run(Shift::Left, 15, DataType::SmallInt), of(-32768, 0));
}
