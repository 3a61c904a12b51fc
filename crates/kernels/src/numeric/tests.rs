use proptest::prelude::*;
use types::{SqlState, Value};

use super::*;
use crate::VectorBuilder;

/// Numbers of every size that NUMERIC(18, s) holds.
fn narrow_values() -> impl Strategy<Value = i64> {
    let bound = 10i64.pow(18) - 1;
    prop_oneof![
        -20i64..=20,
        (0u32..62, any::<i64>()).prop_map(move |(shift, v)| (v >> shift).clamp(-bound, bound)),
        Just(bound),
        Just(-bound),
    ]
}

/// The column in one of the two forms, NULL where `valid` says so.
fn column(values: &[i64], valid: &[bool], physical: PhysicalType) -> Vector {
    let mut builder = VectorBuilder::new(physical);
    for (&value, &valid) in values.iter().zip(valid) {
        builder.push_value(&if valid { Value::I64(value) } else { Value::Null });
    }
    builder.finish()
}

type Binary = fn(Operand<'_>, Operand<'_>, Target) -> Result<Vector>;
type Twin = fn(i128, u8, i128, u8, u8) -> Option<i128>;

const OPERATORS: [(Binary, Twin); 4] = [
    (add, |a, s, b, t, r| {
        let scale = s.max(t);
        let sum = decimal::rescale(a, s, scale)? + decimal::rescale(b, t, scale)?;
        decimal::rescale(sum, scale, r)
    }),
    (subtract, |a, s, b, t, r| {
        let scale = s.max(t);
        let difference = decimal::rescale(a, s, scale)? - decimal::rescale(b, t, scale)?;
        decimal::rescale(difference, scale, r)
    }),
    (multiply, |a, s, b, t, r| decimal::rescale(a.checked_mul(b)?, s + t, r)),
    (modulo, |a, s, b, t, r| {
        let rest = if b == 0 { None } else { decimal::modulo(a, s, b, t) };
        decimal::rescale(rest?, s.max(t), r)
    }),
];

proptest! {
    /// Each operator on each pair of forms and each form of result equals single values; a failing
    /// row counts unless it is NULL.
    #[test]
    fn columns_equal_single_values(
        rows in prop::collection::vec((narrow_values(), narrow_values(), any::<bool>()), 1..20),
        s in 0u8..=6,
        t in 0u8..=6,
        r in 0u8..=12,
        constant: bool,
    ) {
        let forms = &[PhysicalType::I64, PhysicalType::I128];
        let valid: Vec<bool> = rows.iter().map(|row| row.2).collect();
        let a: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let count = if constant { 1 } else { rows.len() };
        let b: Vec<i64> = rows.iter().map(|row| row.1).take(count).collect();
        for (operator, twin) in OPERATORS {
            for (first, second, result) in forms.iter().flat_map(|&f| {
                forms.iter().flat_map(move |&g| forms.iter().map(move |&h| (f, g, h)))
            }) {
                let x = column(&a, &valid, first);
                let y = column(&b, &vec![true; b.len()], second);
                let precision = if result == PhysicalType::I64 { 18 } else { 38 };
                let to = Target { ty: NumericType::fixed(precision, r), physical: result };
                let got = operator(
                    Operand { vector: &x, ty: NumericType::fixed(38, s) },
                    Operand { vector: &y, ty: NumericType::fixed(38, t) },
                    to,
                );
                let expected: Vec<Option<i128>> = (0..a.len())
                    .filter(|&i| valid[i])
                    .map(|i| twin(a[i].into(), s, b[row(b.len(), i)].into(), t, r))
                    .map(|v| v.filter(|&v| decimal::fits(v, precision)))
                    .collect();
                match got {
                    Ok(vector) => {
                        prop_assert_eq!(vector.physical(), result);
                        let values = (0..a.len()).filter(|&i| valid[i]);
                        let got: Vec<_> = values.map(|i| vector.value(i).as_integer()).collect();
                        prop_assert_eq!(got, expected);
                        prop_assert!((0..a.len()).all(|i| vector.is_null(i) != valid[i]));
                    }
                    Err(_) => prop_assert!(expected.contains(&None)),
                }
            }
        }
    }

    #[test]
    fn comparison_across_scales(
        a in narrow_values(),
        b in narrow_values(),
        s in 0u8..=38,
        t in 0u8..=38,
    ) {
        let x = column(&[a], &[true], PhysicalType::I64);
        let y = column(&[b], &[true], PhysicalType::I128);
        let (p, q) = (NumericType::fixed(38, s), NumericType::fixed(38, t));
        let (left, right) = (Operand { vector: &x, ty: p }, Operand { vector: &y, ty: q });
        let less = compare(left, right, Ordering::is_lt);
        // Both as fractions of 10^76, in two halves.
        let shown = |v: i64, scale: u8| {
            let unit = decimal::pow10(u32::from(scale));
            let (whole, rest) = (i128::from(v).div_euclid(unit), i128::from(v).rem_euclid(unit));
            (whole, rest * decimal::pow10(38 - u32::from(scale)))
        };
        prop_assert_eq!(less.get(0), shown(a, s) < shown(b, t));
    }
}

#[test]
fn errors_name_their_reason() {
    let a = column(&[1, 2], &[true, true], PhysicalType::I64);
    let b = column(&[0, 1], &[true, true], PhysicalType::I64);
    let ty = NumericType::fixed(18, 0);
    let (x, y) = (Operand { vector: &a, ty }, Operand { vector: &b, ty });
    let state = |result: Result<Vector>| result.map(|v| v.len()).map_err(|e| e.state());
    assert_eq!(state(modulo(x, y, Target::new(ty))), Err(SqlState::DIVISION_BY_ZERO));
    let large = column(&[10i64.pow(17)], &[true], PhysicalType::I64);
    let x = Operand { vector: &large, ty };
    assert_eq!(state(multiply(x, x, Target::new(ty))), Err(SqlState::NUMERIC_OUT_OF_RANGE));
    let narrow = Target::new(NumericType::fixed(4, 2));
    let error = rescale(x, narrow).map(|v| v.len()).map_err(|e| e.detail().map(str::to_owned));
    let detail =
        "A field with precision 4, scale 2 must round to an absolute value less than 10^2.";
    assert_eq!(error, Err(Some(detail.to_owned())));
}
