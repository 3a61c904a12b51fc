//! PostgreSQL's answers, and properties of the bytes.

use proptest::prelude::*;

use super::{Wide, key, order, scale_of};
use crate::Result;

fn wide(text: &str) -> Wide {
    Wide::parse(text).expect("a number")
}

fn answer(operation: &str, a: &Wide, b: Option<&Wide>) -> Result<Wide> {
    let second = b.cloned().unwrap_or(Wide::NaN);
    match operation {
        "text" => Ok(a.clone()),
        "add" => a.add(&second),
        "sub" => a.subtract(&second),
        "mul" => a.multiply(&second),
        "div" => a.divide(&second),
        "mod" => a.modulo(&second),
        "intdiv" => a.divide_integer(&second),
        "pow" => a.power(&second),
        "log" => second.log(a),
        "exp" => a.exp(),
        "ln" => a.ln(),
        "sqrt" => a.sqrt(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        "trim" => Ok(a.trimmed()),
        other => panic!("operation {other}"),
    }
}

#[test]
fn answers_are_those_of_postgresql() {
    let mut failures = Vec::new();
    for line in include_str!("../../testdata/wide.txt").lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [operation, operands @ .., "=", expected] = words.as_slice() else {
            panic!("malformed line {line}");
        };
        let operands: Vec<Wide> = operands.iter().map(|text| wide(text)).collect();
        let found = match answer(operation, &operands[0], operands.get(1)) {
            Ok(value) => value.to_string(),
            Err(error) => format!("!{}", error.state().as_str()),
        };
        if found != *expected {
            failures.push(format!("{line}\n   found {found}"));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,6}\\.[0-9]{0,4}",
        "-?[0-9]{1,60}\\.[0-9]{0,60}",
        "-?[0-9]{1,3}e-?[0-9]{1,3}",
        Just("NaN".to_owned()),
        Just("Infinity".to_owned()),
        Just("-Infinity".to_owned()),
        Just("0.000".to_owned()),
    ]
}

proptest! {
    #[test]
    fn bytes_keep_value_and_scale(text in texts()) {
        let value = wide(&text);
        let bytes = value.bytes();
        prop_assert_eq!(&Wide::decode(&bytes), &value);
        prop_assert_eq!(scale_of(&bytes), value.scale().unwrap_or(0));
    }

    #[test]
    fn bytes_are_ordered_as_values(a in texts(), b in texts()) {
        let (x, y) = (wide(&a), wide(&b));
        prop_assert_eq!(order(&x.bytes(), &y.bytes()), x.cmp(&y));
        prop_assert_eq!(key(&x.bytes()) == key(&x.trimmed().bytes()), true);
    }

    #[test]
    fn text_and_back(text in texts()) {
        let value = wide(&text);
        prop_assert_eq!(wide(&value.to_string()), value);
    }
}
