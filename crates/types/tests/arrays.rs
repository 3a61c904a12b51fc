//! Arrays as bytes: what goes in comes out, and bytes are in the order of the arrays.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use types::array::{self, ArrayBuilder, Elements};
use types::{DataType, ElementType, Interval, NumericType, Value, text};

fn of(values: &[Value], element: ElementType) -> Vec<u8> {
    match array::from_values(values, element).expect("it is small") {
        Value::Str(bytes) => bytes.to_vec(),
        other => panic!("{other:?} is no array"),
    }
}

fn column<T: std::fmt::Debug + Clone + 'static>(
    values: impl Strategy<Value = T> + 'static,
    make: fn(T) -> Value,
) -> BoxedStrategy<Vec<Value>> {
    let value = option::weighted(0.8, values).prop_map(move |v| v.map_or(Value::Null, make));
    vec(value, 0..6).boxed()
}

/// Values of a type and the type.
fn typed() -> impl Strategy<Value = (ElementType, Vec<Value>, Vec<Value>)> {
    let wide = || {
        prop_oneof![
            -3i128..=3,
            any::<i64>().prop_map(i128::from),
            (0u32..=126, any::<i128>())
                .prop_map(|(shift, v)| (v >> shift).clamp(-10i128.pow(37), 10i128.pow(37)))
        ]
    };
    let words = || vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..5);
    let floats = || {
        prop_oneof![
            Just(0.0),
            Just(-1.5),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            any::<f64>()
        ]
        .prop_filter("a NaN is one of many", |v| !v.is_nan())
        .prop_map(|v| v + 0.0)
    };
    let numeric = ElementType::Numeric(NumericType::fixed(38, 4));
    let pair = |ty: ElementType, a: BoxedStrategy<Vec<Value>>| (Just(ty), a.clone(), a);
    prop_oneof![
        pair(ElementType::Integer, column(any::<i32>(), Value::I32)),
        pair(ElementType::SmallInt, column(-2i32..=2, Value::I32)),
        pair(ElementType::BigInt, column(any::<i64>(), Value::I64)),
        pair(ElementType::Boolean, column(any::<bool>(), Value::Bool)),
        pair(ElementType::Uuid, column(any::<i128>(), Value::I128)),
        pair(numeric, column(wide(), Value::I128)),
        pair(ElementType::Double, column(floats(), Value::F64)),
        pair(ElementType::Bytea, column(words(), |v| Value::Str(v.into()))),
    ]
}

/// Text with all that an array's text has to quote.
fn word() -> &'static str {
    "[a-z \\\\\"{},NULnul\t\u{e4}]{0,6}"
}

/// PostgreSQL's array_cmp: elements one after the other, NULL last; then the shorter one first.
fn order(a: &[Value], b: &[Value]) -> Ordering {
    for pair in a.iter().zip(b) {
        let order = match pair {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (Value::F64(a), Value::F64(b)) => a.partial_cmp(b).expect("no NaN"),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Str(a), Value::Str(b)) => a.cmp(b),
            (a, b) => a.as_integer().cmp(&b.as_integer()),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn values_come_back_and_bytes_are_in_order((ty, a, b) in typed()) {
        let (x, y) = (of(&a, ty), of(&b, ty));
        prop_assert_eq!(&array::values(&x, ty), &a);
        prop_assert_eq!(array::cardinality(&x, ty), a.len());
        prop_assert_eq!(x.cmp(&y), order(&a, &b));
        let both = array::concatenated(&x, &y, ty).expect("it is small");
        let joined: Vec<Value> = a.iter().chain(&b).cloned().collect();
        prop_assert_eq!(array::values(&both, ty), joined);
    }

    #[test]
    fn texts_come_back(words in vec(option::of(word()), 0..6), low in -3i32..4) {
        let mut builder = ArrayBuilder::new();
        for word in &words {
            match word {
                Some(word) => builder.push_text(word.as_bytes()),
                None => builder.push_null(),
            }
        }
        let ty = DataType::Array(ElementType::Text);
        let array = Value::Str(builder.finish_from(low).expect("it is small").into());
        let shown = text::format(&array, ty);
        prop_assert_eq!(text::parse(&shown, ty).expect("it was printed"), array, "{}", shown);
    }

    #[test]
    fn no_text_makes_it_panic(input in "[\\[\\]{}:=,\"\\\\0-9a N]{0,12}") {
        let _ = text::parse(&input, DataType::Array(ElementType::Integer));
        let _ = text::parse(&input, DataType::Array(ElementType::Text));
    }
}

#[test]
fn subscripts_and_the_ends_of_types() {
    let ty = ElementType::Integer;
    let mut builder = ArrayBuilder::new();
    [i32::MIN, -1, 0, i32::MAX].iter().for_each(|v| builder.push_i32(*v));
    let array = builder.finish_from(-1).expect("it is small");
    assert_eq!(array::bounds(&array, ty), Some((-1, 2)));
    let at = |subscript| array::decode(array::element_at(&array, ty, &[subscript]), ty);
    assert_eq!(
        [at(-2), at(-1), at(2), at(3)].map(|v| v.as_integer()),
        [None, Some(i128::from(i32::MIN)), Some(i128::from(i32::MAX)), None]
    );
    assert!(ArrayBuilder::new().finish_from(i32::MAX).is_ok(), "an empty one has no subscripts");
    let month = Interval { months: 1, days: 0, micros: 0 };
    let array = of(&[Value::Interval(month), Value::Null], ElementType::Interval(None));
    let shown = text::format(
        &Value::Str(array.clone().into()),
        DataType::Array(ElementType::Interval(None)),
    );
    assert_eq!(shown, "{\"1 mon\",NULL}");
    assert_eq!(Elements::new(&array, ElementType::Interval(None)).count(), 2);
}

#[test]
fn shapes_come_back_and_are_compared_last() {
    let ty = DataType::Array(ElementType::Integer);
    let bytes = |shown: &str| match text::parse(shown, ty) {
        Ok(Value::Str(bytes)) => bytes,
        other => panic!("{shown}: {other:?}"),
    };
    // As PostgreSQL orders them.
    let ascending = [
        "{1,2,3}",
        "{1,2,3,4}",
        "[3:6]={1,2,3,4}",
        "{{1,2,3,4}}",
        "{{1,2},{3,4}}",
        "[2:3][1:2]={{1,2},{3,4}}",
        "{{1},{2},{3},{4}}",
        "{{{1,2}},{{3,4}}}",
        "{1,2,3,4,5}",
        "{{1,2},{3,5}}",
    ];
    for shown in ascending {
        assert_eq!(text::format(&Value::Str(bytes(shown)), ty), shown);
    }
    for pair in ascending.windows(2) {
        assert!(bytes(pair[0]) < bytes(pair[1]), "{} < {}", pair[0], pair[1]);
    }
    let matrix = bytes("[0:1][2:4]={{1,2,3},{4,5,6}}");
    let at = |subscripts: &[i32]| {
        array::decode(
            array::element_at(&matrix, ElementType::Integer, subscripts),
            ElementType::Integer,
        )
    };
    assert_eq!(at(&[1, 2]).as_integer(), Some(4));
    assert_eq!([at(&[1]), at(&[1, 5]), at(&[1, 2, 3])].map(|value| value.is_null()), [true; 3]);
}
