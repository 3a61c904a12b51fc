use super::*;

/// Every cast between types with loops of their own equals the cast of single values.
#[test]
fn columns_equal_single_values() {
    use DataType as T;
    let numbers = [
        "0",
        "1",
        "-1",
        "0.5",
        "1.5",
        "2.5",
        "-0.5",
        "-2.5",
        "127.49",
        "32767",
        "32767.5",
        "-32768.5",
        "2147483647",
        "2147483648",
        "-2147483649",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999.99",
        "0.01",
        "123456.789",
        "1e18",
        "16777217",
    ];
    let types = [
        T::SmallInt,
        T::Integer,
        T::BigInt,
        T::Real,
        T::Double,
        T::numeric(18, 2),
        T::numeric(38, 10),
        T::numeric(5, 0),
        T::Numeric(NumericType::TRIMMED),
        T::Text,
        T::Varchar(Some(3)),
        T::Char(4),
        T::Boolean,
    ];
    for from in types {
        let values = numbers.iter().filter_map(|n| text::parse(n, from).ok());
        for value in values {
            for to in types {
                let mut column = VectorBuilder::new(from.physical());
                column.push_null();
                column.push_value(&value);
                let expected = cast_value(&value, from, to);
                let got = cast(&column.finish(), from, to);
                match (expected, got) {
                    (Ok(expected), Ok(got)) => {
                        assert!(got.is_null(0), "{from} {value:?} {to}");
                        assert_eq!(got.physical(), to.physical(), "{from} {to}");
                        assert_eq!(got.value(1), expected, "{from} {value:?} {to}");
                    }
                    (Err(expected), Err(got)) => assert_eq!(expected.state(), got.state()),
                    (expected, got) => panic!("{from} {value:?} {to}: {expected:?}, {got:?}"),
                }
            }
        }
    }
}

#[test]
fn numeric_takes_the_asked_form_from_either_form() {
    let wide = NumericType::fixed(30, 2);
    let narrow_held = Vector::new(VectorData::I64(vec![150, -25]));
    let to = DataType::numeric(38, 4);
    let got = cast_as(&narrow_held, DataType::Numeric(wide), to, PhysicalType::I64);
    assert_eq!(got.map(|v| v.as_i64().to_vec()), Ok(vec![15_000, -2500]));
    let got = cast(&narrow_held, DataType::Numeric(wide), to).map(|v| v.value(0));
    assert_eq!(got, Ok(Value::I128(15_000)));
    let large = Vector::new(VectorData::I128(vec![1 << 100]));
    let got = cast_as(&large, DataType::Numeric(wide), DataType::Numeric(wide), PhysicalType::I64);
    assert_eq!(
        got.map(|v| v.len()).map_err(|e| e.state()),
        Err(types::SqlState::NUMERIC_OUT_OF_RANGE)
    );
}

#[test]
fn assignment_refuses_what_a_cast_cuts() {
    let text = Vector::new(VectorData::Str([b"abcd".as_slice(), b"ab   "].into_iter().collect()));
    let to = DataType::Varchar(Some(3));
    let cut = cast(&text, DataType::Text, to).map(|v| v.as_str().get(0).to_vec());
    assert_eq!(cut, Ok(b"abc".to_vec()));
    let refused = assign(&text, DataType::Text, to).map(|v| v.len()).map_err(|e| e.state());
    assert_eq!(refused, Err(types::SqlState::STRING_TOO_LONG));
}
