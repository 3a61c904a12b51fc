use super::*;

fn apply(f: fn(&Vector) -> Result<Vector>, value: f64) -> Option<f64> {
    let result = f(&Vector::new(VectorData::F64(vec![value]))).ok()?;
    Some(f64::values(&result)[0])
}

#[test]
fn roots_of_cubes_are_exact() {
    for i in -1000..=1000 {
        let whole = f64::from(i);
        assert_eq!(apply(cbrt, whole * whole * whole), Some(whole));
    }
    for value in [0.1f64, 2.0, 1e-300, 1e305, 5e-324, f64::MAX] {
        let root = apply(cbrt, value).expect("total");
        assert!((root - value.cbrt()).abs() <= root.abs() * 4.0 * f64::EPSILON, "{value}");
    }
    assert_eq!(apply(cbrt, f64::INFINITY), Some(f64::INFINITY));
}

#[test]
fn degrees_are_exact_where_the_functions_are() {
    type Row = (fn(&Vector) -> Result<Vector>, f64, Option<f64>);
    let rows: &[Row] = &[
        (sind, 30.0, Some(0.5)),
        (sind, -150.0, Some(-0.5)),
        (sind, 180.0, Some(0.0)),
        (sind, 450.0, Some(1.0)),
        (cosd, 60.0, Some(0.5)),
        (cosd, 90.0, Some(0.0)),
        (cosd, -240.0, Some(-0.5)),
        (tand, 45.0, Some(1.0)),
        (tand, 135.0, Some(-1.0)),
        (cotd, 45.0, Some(1.0)),
        (asind, 0.5, Some(30.0)),
        (asind, -1.0, Some(-90.0)),
        (acosd, 0.5, Some(60.0)),
        (acosd, -0.5, Some(120.0)),
        (acosd, 1.5, None),
        (atand, 1.0, Some(45.0)),
        (sind, f64::INFINITY, None),
        (acosh, 0.5, None),
        (acosh, 1.0, Some(0.0)),
        (atanh, 2.0, None),
        (atanh, 1.0, Some(f64::INFINITY)),
    ];
    for (i, (f, value, expected)) in rows.iter().enumerate() {
        assert_eq!(apply(*f, *value), *expected, "row {i}");
    }
}
