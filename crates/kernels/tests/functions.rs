//! `testdata/functions.txt` against the function kernels: the answers are PostgreSQL's.
//!
//! Every call is made three times: with one row, with the row among NULLs and repeated, and with
//! the first argument as a column beside constants. All must agree.

use kernels::like::Case;
use kernels::numeric::{self, Operand, Target};
use kernels::text_fn::Side;
use kernels::{Vector, VectorBuilder, cast, math_fn, regexp, text_fn, time_fn, wide};
use types::calendar::{EXTRACT_TYPE, Field};
use types::wide::Wide;
use types::{DataType, NumericType, PhysicalType, Result, SqlState, Value, text};

fn data_type(name: &str) -> DataType {
    if let Some(rest) = name.strip_prefix("numeric(") {
        let (p, s) = rest.trim_end_matches(')').split_once(',').expect("precision and scale");
        return DataType::numeric(p.parse().expect("precision"), s.parse().expect("scale"));
    }
    match name {
        "text" => DataType::Text,
        "bytea" => DataType::Bytea,
        "smallint" => DataType::SmallInt,
        "int" => DataType::Integer,
        "bigint" => DataType::BigInt,
        "float8" => DataType::Double,
        "date" => DataType::Date,
        "time" => DataType::TIME,
        "timestamp" => DataType::TIMESTAMP,
        "timestamptz" => DataType::TIMESTAMPTZ,
        "interval" => DataType::INTERVAL,
        other => panic!("type {other}"),
    }
}

/// A function's name, and its arguments with their types.
fn parse_call(expression: &str) -> (String, Vec<(Value, DataType)>) {
    let (name, rest) = expression.split_once('(').expect("a call");
    let characters: Vec<char> = rest.chars().collect();
    let mut at = 0;
    let mut arguments = Vec::new();
    while characters[at] != ')' {
        let mut literal = String::new();
        let mut ty = None;
        if characters[at] == '\'' {
            at += 1;
            loop {
                match (characters[at], characters.get(at + 1)) {
                    ('\'', Some('\'')) => at += 1,
                    ('\'', _) => break,
                    _ => {}
                }
                literal.push(characters[at]);
                at += 1;
            }
            at += 1;
            ty = Some(DataType::Text);
        } else {
            while !matches!(characters[at], ',' | ')' | ':') {
                literal.push(characters[at]);
                at += 1;
            }
        }
        if characters[at] == ':' {
            at += 2;
            let mut type_name = String::new();
            let mut depth = 0;
            while depth > 0 || !matches!(characters[at], ',' | ')') {
                depth += i32::from(characters[at] == '(') - i32::from(characters[at] == ')');
                type_name.push(characters[at]);
                at += 1;
            }
            ty = Some(data_type(&type_name));
        }
        let ty = ty.unwrap_or(DataType::Integer);
        arguments.push((text::parse(&literal, ty), ty));
        while matches!(characters[at], ',' | ' ') {
            at += 1;
        }
    }
    let arguments = arguments.into_iter().map(|(v, ty)| (v.expect("a literal"), ty)).collect();
    (name.trim_matches('"').to_owned(), arguments)
}

fn numeric_call(name: &str, v: &[&Vector], ty: &[DataType]) -> Option<Result<(Vector, DataType)>> {
    let operand = |i: usize| match ty.get(i) {
        Some(DataType::Numeric(n)) => Some(Operand { vector: v[i], ty: *n }),
        _ => None,
    };
    let a = operand(0)?;
    let widened = |v: Operand<'_>| wide::from_scaled(v).expect("a wide decimal");
    let result = match (name, operand(1)) {
        ("numeric_div", Some(b)) => Some(wide::binary(&widened(a), &widened(b), Wide::divide)),
        ("div", Some(b)) => Some(wide::binary(&widened(a), &widened(b), Wide::divide_integer)),
        ("sqrt", None) => Some(wide::unary(&widened(a), Wide::sqrt)),
        _ => None,
    };
    if let Some(result) = result {
        return Some(result.map(|v| (v, DataType::NUMERIC)));
    }
    let scale = a.ty.scale.max(operand(1).map_or(0, |b| b.ty.scale));
    let fixed = |scale: u8| Target::new(NumericType::fixed(38, scale));
    let (to, result) = match (name, operand(1)) {
        ("numeric_add", Some(b)) => (fixed(scale), numeric::add(a, b, fixed(scale))),
        ("numeric_sub", Some(b)) => (fixed(scale), numeric::subtract(a, b, fixed(scale))),
        ("numeric_mul", Some(b)) => {
            let to = fixed(a.ty.scale + b.ty.scale);
            (to, numeric::multiply(a, b, to))
        }
        ("numeric_mod", Some(b)) => (fixed(scale), numeric::modulo(a, b, fixed(scale))),
        ("abs", None) => (fixed(scale), numeric::abs(a, fixed(scale))),
        ("sign", None) => (fixed(0), numeric::sign(a, fixed(0))),
        ("floor", None) => (fixed(0), numeric::floor(a, fixed(0))),
        ("ceil", None) => (fixed(0), numeric::ceil(a, fixed(0))),
        ("numeric_uminus", None) => (fixed(scale), numeric::negate(a, fixed(scale))),
        ("round" | "trunc", None) => {
            let digits = v[1].value(v[1].len() / 2).as_integer().unwrap_or(0) as i32;
            let to = fixed(digits.max(0) as u8);
            let round = name == "round";
            (to, if round { numeric::round(a, digits, to) } else { numeric::trunc(a, digits, to) })
        }
        _ => return None,
    };
    Some(result.map(|v| (v, DataType::Numeric(to.ty))))
}

fn text_call(name: &str, v: &[&Vector], ty: &[DataType]) -> Option<Result<Vector>> {
    let case = Case::Sensitive;
    Some(match (name, v) {
        ("char_length", [a]) => text_fn::char_length(a),
        ("octet_length", [a]) => text_fn::octet_length(a),
        ("bit_length", [a]) => text_fn::bit_length(a),
        ("upper", [a]) => text_fn::upper(a),
        ("lower", [a]) => text_fn::lower(a),
        ("initcap", [a]) => text_fn::initcap(a),
        ("reverse", [a]) => text_fn::reverse(a),
        ("ascii", [a]) => text_fn::ascii(a),
        ("md5", [a]) => text_fn::md5(a),
        ("quote_literal", [a]) => text_fn::quote_literal(a),
        ("quote_ident", [a]) => text_fn::quote_ident(a),
        ("hashtext", [a]) => text_fn::hash_text(a),
        ("btrim", [a, b]) => text_fn::trim(Side::Both, a, b),
        ("ltrim", [a, b]) => text_fn::trim(Side::Left, a, b),
        ("rtrim", [a, b]) => text_fn::trim(Side::Right, a, b),
        ("lpad", [a, b, c]) => text_fn::pad(Side::Left, a, b, c),
        ("rpad", [a, b, c]) => text_fn::pad(Side::Right, a, b, c),
        ("substring", [a, b, rest @ ..]) if ty[0] == DataType::Bytea => {
            text_fn::substring_bytes(a, b, rest.first().copied())
        }
        ("substring", [a, b, rest @ ..]) => text_fn::substring(a, b, rest.first().copied()),
        ("left", [a, b]) => text_fn::left(a, b),
        ("right", [a, b]) => text_fn::right(a, b),
        ("replace", [a, b, c]) => text_fn::replace(a, b, c),
        ("translate", [a, b, c]) => text_fn::translate(a, b, c),
        ("repeat", [a, b]) => text_fn::repeat(a, b),
        ("strpos", [a, b]) => text_fn::position(a, b),
        ("starts_with", [a, b]) => text_fn::starts_with(a, b),
        ("split_part", [a, b, c]) => text_fn::split_part(a, b, c),
        ("chr", [a]) => text_fn::chr(a),
        ("to_hex", [a]) => text_fn::to_hex(a),
        ("encode", [a, b]) => text_fn::encode(a, b),
        ("decode", [a, b]) => text_fn::decode(a, b),
        ("like", [a, b]) => kernels::like::like_vectors(a, b, Some('\\'), case),
        ("regexp_like", [a, b]) => regexp::matches(a, b, case),
        ("regexp_replace", [a, b, c, rest @ ..]) => {
            regexp::replace([a, b, c], None, None, rest.first().copied())
        }
        _ => return None,
    })
}

fn math_call(name: &str, v: &[&Vector], ty: &[DataType]) -> Option<Result<Vector>> {
    Some(match (name, v) {
        ("abs", [a]) => math_fn::abs(a, ty[0]),
        ("sign", [a]) => math_fn::sign(a),
        ("ceil", [a]) => math_fn::ceil(a),
        ("floor", [a]) => math_fn::floor(a),
        ("round", [a]) => math_fn::round(a),
        ("trunc", [a]) => math_fn::trunc(a),
        ("sqrt", [a]) => math_fn::sqrt(a),
        ("cbrt", [a]) => math_fn::cbrt(a),
        ("exp", [a]) => math_fn::exp(a),
        ("ln", [a]) => math_fn::ln(a),
        ("log10", [a]) => math_fn::log10(a),
        ("degrees", [a]) => math_fn::degrees(a),
        ("radians", [a]) => math_fn::radians(a),
        ("sin", [a]) => math_fn::sin(a),
        ("cos", [a]) => math_fn::cos(a),
        ("tan", [a]) => math_fn::tan(a),
        ("cot", [a]) => math_fn::cot(a),
        ("asin", [a]) => math_fn::asin(a),
        ("acos", [a]) => math_fn::acos(a),
        ("atan", [a]) => math_fn::atan(a),
        ("atan2", [a, b]) => math_fn::atan2(a, b),
        ("power", [a, b]) => math_fn::power(a, b),
        ("gcd", [a, b]) => math_fn::gcd(a, b, ty[0]),
        ("lcm", [a, b]) => math_fn::lcm(a, b, ty[0]),
        ("factorial", [a]) => wide::factorial(a),
        ("width_bucket", [a, b, c, d]) => math_fn::width_bucket(a, b, c, d),
        _ => return None,
    })
}

fn time_call(name: &str, v: &[&Vector], ty: &[DataType]) -> Option<Result<Vector>> {
    let field = || match v[0].value(v[0].len() / 2) {
        Value::Str(bytes) => Field::parse(&String::from_utf8_lossy(&bytes)),
        other => panic!("field {other:?}"),
    };
    Some(match (name, v) {
        ("extract", [_, b]) => field().and_then(|f| time_fn::extract(f, b, ty[1])),
        ("date_trunc", [_, b]) => field().and_then(|f| time_fn::date_trunc(f, b, ty[1])),
        ("justify_days", [a]) => time_fn::justify_days(a),
        ("justify_hours", [a]) => time_fn::justify_hours(a),
        ("justify_interval", [a]) => time_fn::justify_interval(a),
        ("age", [a, b]) => time_fn::age(a, b),
        ("timestamp_mi", [a, b]) => time_fn::timestamp_difference(a, b),
        ("timestamp_pl_interval", [a, b]) => time_fn::timestamp_add(a, b),
        ("timestamp_mi_interval", [a, b]) => time_fn::timestamp_subtract(a, b),
        ("interval_mul", [a, b]) => time_fn::interval_multiply(a, b),
        ("interval_div", [a, b]) => time_fn::interval_divide(a, b),
        ("time_pl_interval", [a, b]) => time_fn::time_add(a, b),
        ("time_mi_interval", [a, b]) => time_fn::time_subtract(a, b),
        ("time_mi_time", [a, b]) => time_fn::time_difference(a, b),
        ("datetime_pl", [a, b]) => time_fn::date_time_add(a, b),
        ("date_pli", [a, b]) => time_fn::date_add_days(a, b),
        ("date_mii", [a, b]) => time_fn::date_subtract_days(a, b),
        ("date_mi", [a, b]) => time_fn::date_difference(a, b),
        ("make_date", [a, b, c]) => time_fn::make_date(a, b, c),
        ("make_timestamp", [a, b, c, d, e, f]) => time_fn::make_timestamp([a, b, c, d, e, f]),
        ("make_interval", [a, b, c, d, e, f, g]) => time_fn::make_interval([a, b, c, d, e, f, g]),
        ("to_timestamp", [a]) => time_fn::to_timestamp_epoch(a),
        ("to_timestamp", [a, b]) => time_fn::to_timestamp(a, b),
        ("to_date", [a, b]) => time_fn::to_date(a, b),
        ("to_number", [a, b]) => time_fn::to_number(a, b),
        ("timezone", [a, b]) => time_fn::at_time_zone(a, b, ty[1]),
        ("to_char", [a, b]) => time_fn::to_char(a, ty[0], b, &types::calendar::TimeZone::UTC),
        _ => return None,
    })
}

/// The type of a call's result, but for numeric ones.
fn result_type(name: &str, ty: &[DataType], physical: PhysicalType) -> DataType {
    match name {
        "extract" => DataType::Numeric(EXTRACT_TYPE),
        "to_number" => DataType::NUMERIC,
        "factorial" => DataType::NUMERIC,
        "decode" => DataType::Bytea,
        "substring" => ty[0],
        "make_date" | "to_date" | "date_pli" | "date_mii" => DataType::Date,
        "date_trunc" => ty[1],
        "timezone" if ty[1] == DataType::TIMESTAMP => DataType::TIMESTAMPTZ,
        "to_timestamp" => DataType::TIMESTAMPTZ,
        "timezone"
        | "timestamp_pl_interval"
        | "timestamp_mi_interval"
        | "datetime_pl"
        | "make_timestamp" => DataType::TIMESTAMP,
        "time_pl_interval" | "time_mi_interval" => DataType::TIME,
        _ => match physical {
            PhysicalType::Bool => DataType::Boolean,
            PhysicalType::I32 => DataType::Integer,
            PhysicalType::I64 => DataType::BigInt,
            PhysicalType::F64 => DataType::Double,
            PhysicalType::Interval => DataType::INTERVAL,
            _ => DataType::Text,
        },
    }
}

fn call(name: &str, v: &[&Vector], ty: &[DataType]) -> Result<(Vector, DataType)> {
    if let Some(result) = numeric_call(name, v, ty) {
        return result;
    }
    let result = text_call(name, v, ty)
        .or_else(|| math_call(name, v, ty))
        .or_else(|| time_call(name, v, ty))
        .unwrap_or_else(|| panic!("function {name}"))?;
    let ty = result_type(name, ty, result.physical());
    Ok((result, ty))
}

fn column(value: &Value, ty: DataType, nulls_around: bool) -> Vector {
    let mut builder = VectorBuilder::new(ty.physical());
    if nulls_around {
        builder.push_null();
    }
    builder.push_value(value);
    if nulls_around {
        builder.push_null();
    }
    builder.finish()
}

/// Row `row` of a call as text.
fn shown(result: Result<(Vector, DataType)>, row: usize) -> String {
    match result {
        Ok((vector, ty)) => match vector.value(row) {
            Value::Null => "NULL".to_owned(),
            value => text::format(&value, ty),
        },
        Err(error) => format!("!{}", error.state()),
    }
}

fn evaluate(expression: &str) -> String {
    let (name, arguments) = parse_call(expression);
    let types: Vec<DataType> = arguments.iter().map(|(_, ty)| *ty).collect();
    let run = |nulls: &dyn Fn(usize) -> bool, row: usize| {
        let columns: Vec<Vector> =
            arguments.iter().enumerate().map(|(i, (v, ty))| column(v, *ty, nulls(i))).collect();
        shown(call(&name, &columns.iter().collect::<Vec<_>>(), &types), row)
    };
    let one = run(&|_| false, 0);
    assert_eq!(run(&|_| true, 1), one, "{expression} among NULLs");
    // The field of extract is no column.
    let column = usize::from(matches!(name.as_str(), "extract" | "date_trunc"));
    assert_eq!(run(&|i| i == column, 1), one, "{expression} beside constants");
    one
}

/// Trailing zeros after the point mean nothing: our result types have scales of their own.
fn trimmed(answer: &str) -> &str {
    let number = answer.contains('.')
        && answer.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
    if number { answer.trim_end_matches('0').trim_end_matches('.') } else { answer }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, c == '\\') {
            (_, true) => match characters.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => panic!("lone backslash"),
            },
            (c, _) => out.push(c),
        }
    }
    out
}

#[test]
fn functions_answer_as_postgresql_does() {
    let path = format!("{}/testdata/functions.txt", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(&path).expect("the golden file is there");
    let mut failures = String::new();
    for (number, line) in lines.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<String> = line.split('\t').map(unescape).collect();
        let got = std::panic::catch_unwind(|| evaluate(&fields[1]));
        let got = got.unwrap_or_else(|_| "panic".to_owned());
        let exact = fields[1].starts_with("to_char");
        let same = if exact { got == fields[2] } else { trimmed(&got) == trimmed(&fields[2]) };
        if !same {
            failures += &format!("functions.txt:{}: {line}\n    got {got}\n", number + 1);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn random_numbers_are_in_range_and_differ() {
    let vector = math_fn::random(1000);
    let kernels::VectorData::F64(values) = &vector.data else { panic!("doubles") };
    assert!(values.iter().all(|v| (0.0..1.0).contains(v)));
    assert!(values.windows(2).any(|w| w[0] != w[1]));
    let uuid = text::format(&math_fn::random_uuid(1).value(0), DataType::Uuid);
    assert_eq!(&uuid[14..15], "4", "{uuid}");
    assert!("89ab".contains(&uuid[19..20]), "{uuid}");
}

#[test]
fn concatenation_and_nulls() {
    let mut builder = VectorBuilder::new(PhysicalType::Str);
    builder.push_str(b"a");
    builder.push_null();
    let column = builder.finish();
    let comma = column_of(&["-"]);
    let joined = text_fn::concat(&[&column, &comma, &column]).expect("no errors");
    assert_eq!((joined.as_str().get(0), joined.as_str().get(1)), (&b"a-a"[..], &b"-"[..]));
    let joined = text_fn::concat_ws(&comma, &[&column, &comma, &column]).expect("no errors");
    assert_eq!((joined.as_str().get(0), joined.as_str().get(1)), (&b"a---a"[..], &b"-"[..]));
    let joined = text_fn::concat_operator(&column, &comma).expect("no errors");
    assert!(joined.is_null(1));
}

fn column_of(values: &[&str]) -> Vector {
    Vector::new(kernels::VectorData::Str(values.iter().map(|v| v.as_bytes()).collect()))
}

#[test]
fn extraction_converts_to_double() {
    let date = column(&Value::I32(18_321), DataType::Date, false);
    let year = time_fn::extract(Field::Year, &date, DataType::Date).expect("a year");
    let double = cast::cast(&year, DataType::Numeric(EXTRACT_TYPE), DataType::Double);
    assert_eq!(double.map(|v| v.value(0)), Ok(Value::F64(2020.0)));
    let none = Field::parse("parsec").map_err(|e| e.state());
    assert_eq!(none, Err(SqlState::INVALID_PARAMETER));
}
