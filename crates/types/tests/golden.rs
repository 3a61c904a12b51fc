//! `testdata/*.txt` against `types::text` and `types::cast`: the answers are PostgreSQL's.

use types::{DataType, Result, Value, cast, text};

fn data_type(name: &str) -> DataType {
    let (base, arguments) = match name.split_once('(') {
        Some((base, rest)) => (base, rest.trim_end_matches(')')),
        None => (name, ""),
    };
    let number = |i: usize| arguments.split(',').nth(i).and_then(|a| a.trim().parse().ok());
    match base {
        "boolean" => DataType::Boolean,
        "smallint" => DataType::SmallInt,
        "integer" => DataType::Integer,
        "bigint" => DataType::BigInt,
        "real" => DataType::Real,
        "double precision" => DataType::Double,
        "numeric" => match number(0) {
            Some(p) => DataType::numeric(p as u8, number(1).unwrap_or(0u32) as u8),
            None => DataType::NUMERIC,
        },
        "char" => DataType::Char(number(0).expect("a length")),
        "varchar" => DataType::Varchar(number(0)),
        "text" => DataType::Text,
        "bytea" => DataType::Bytea,
        "date" => DataType::Date,
        "time" => DataType::TIME,
        "timestamp" => DataType::TIMESTAMP,
        "timestamptz" => DataType::TIMESTAMPTZ,
        "interval" => DataType::INTERVAL,
        "uuid" => DataType::Uuid,
        other => panic!("type {other}"),
    }
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

fn shown(result: Result<Value>, ty: DataType) -> String {
    match result {
        Ok(Value::Null) => "NULL".to_owned(),
        Ok(value) => text::format(&value, ty),
        Err(error) => format!("!{}", error.state()),
    }
}

fn check(file: &str) {
    let path = format!("{}/testdata/{file}", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(&path).expect("the golden file is there");
    let mut failures = String::new();
    for (number, line) in lines.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<String> = line.split('\t').map(unescape).collect();
        let (result, expected) = match fields[0].as_str() {
            "parse" => {
                let ty = data_type(&fields[1]);
                (shown(text::parse(&fields[2], ty), ty), &fields[3])
            }
            "cast" => {
                let (from, to) = (data_type(&fields[1]), data_type(&fields[2]));
                let cast =
                    text::parse(&fields[3], from).and_then(|v| cast::cast_value(&v, from, to));
                (shown(cast, to), &fields[4])
            }
            other => panic!("line kind {other}"),
        };
        if result != *expected {
            failures += &format!("{file}:{}: {line}\n    got {result}\n", number + 1);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn text_is_read_and_printed_as_postgresql_does() {
    check("text.txt");
}

#[test]
fn casts_are_postgresqls() {
    check("cast.txt");
}
