//! JSON: the canonical form and the order of its values against a model that keeps them as trees,
//! and text that is none.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use types::SqlState;
use types::json::{self, Json, PathChange};

/// A value. Numbers are tenths: few, so that equal ones meet.
#[derive(Clone, Debug)]
enum Tree {
    Null,
    Text(String),
    Number(i32),
    Bool(bool),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let text = prop_oneof!["[ab]{0,2}", "[\"\\\\\n\u{1}é😄]{0,2}"];
    let leaf = prop_oneof![
        Just(Tree::Null),
        text.clone().prop_map(Tree::Text),
        (-20..20).prop_map(Tree::Number),
        any::<bool>().prop_map(Tree::Bool),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let field = (text.clone(), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Tree::Array),
            prop::collection::vec(field, 0..4).prop_map(Tree::Object),
        ]
    })
}

/// The tree as text; `zeros` of its fractions are shown.
fn text(tree: &Tree, zeros: usize) -> String {
    let list = |parts: Vec<String>| parts.join(" ,");
    let quoted = |text: &str| serde(text);
    match tree {
        Tree::Null => "null".to_owned(),
        Tree::Text(text) => quoted(text),
        Tree::Number(n) => {
            let sign = if *n < 0 { "-" } else { "" };
            format!("{sign}{}.{}{}", n.abs() / 10, n.abs() % 10, "0".repeat(zeros))
        }
        Tree::Bool(value) => value.to_string(),
        Tree::Array(parts) => {
            format!("[ {}]", list(parts.iter().map(|part| text(part, zeros)).collect()))
        }
        Tree::Object(fields) => {
            let field =
                |(key, value): &(String, Tree)| format!("{} :{}", quoted(key), text(value, zeros));
            format!("{{{} }}", list(fields.iter().map(field).collect()))
        }
    }
}

/// Every character escaped.
fn serde(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

fn rank(tree: &Tree) -> u8 {
    match tree {
        Tree::Null => 0,
        Tree::Text(_) => 1,
        Tree::Number(_) => 2,
        Tree::Bool(_) => 3,
        Tree::Array(_) => 4,
        Tree::Object(_) => 5,
    }
}

/// The fields in the order of a JSONB, the last of equal keys only.
fn fields(list: &[(String, Tree)]) -> Vec<(&str, &Tree)> {
    let map: BTreeMap<(usize, &str), &Tree> =
        list.iter().map(|(key, value)| ((key.len(), key.as_str()), value)).collect();
    map.into_iter().map(|((_, key), value)| (key, value)).collect()
}

/// PostgreSQL's order.
fn compare(a: &Tree, b: &Tree, top: bool) -> Ordering {
    let is_empty = |tree: &Tree| matches!(tree, Tree::Array(parts) if parts.is_empty());
    if top && is_empty(a) != is_empty(b) {
        return is_empty(b).cmp(&is_empty(a));
    }
    match (a, b) {
        (Tree::Text(a), Tree::Text(b)) => a.cmp(b),
        (Tree::Number(a), Tree::Number(b)) => a.cmp(b),
        (Tree::Bool(a), Tree::Bool(b)) => a.cmp(b),
        (Tree::Array(a), Tree::Array(b)) => {
            let parts = a.iter().zip(b).map(|(a, b)| compare(a, b, false));
            a.len().cmp(&b.len()).then(parts.fold(Ordering::Equal, Ordering::then))
        }
        (Tree::Object(a), Tree::Object(b)) => {
            let (a, b) = (fields(a), fields(b));
            let pair = |(a, b): (&(&str, &Tree), &(&str, &Tree))| {
                a.0.cmp(b.0).then_with(|| compare(a.1, b.1, false))
            };
            let parts = a.iter().zip(&b).map(pair);
            a.len().cmp(&b.len()).then(parts.fold(Ordering::Equal, Ordering::then))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn canonical(tree: &Tree, zeros: usize) -> Vec<u8> {
    json::canonical(text(tree, zeros).as_bytes()).expect("text of a tree")
}

fn key(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    json::key(&mut out, json).expect("a canonical form");
    out
}

proptest! {
    #[test]
    fn keys_are_in_the_order_of_the_values(a in trees(), b in trees(), zeros in 0usize..3) {
        let (x, y) = (key(&canonical(&a, zeros)), key(&canonical(&b, 0)));
        prop_assert_eq!(x.cmp(&y), compare(&a, &b, true));
        prop_assert_eq!(&x, &key(&canonical(&a, 0)), "zeros at the end make no difference");
    }

    #[test]
    fn a_canonical_form_is_its_own(tree in trees()) {
        let once = canonical(&tree, 1);
        prop_assert_eq!(&json::canonical(&once).expect("canonical"), &once);
        json::check(&once).expect("canonical");
        let mut pretty = Vec::new();
        json::pretty(&mut pretty, &once).expect("canonical");
        prop_assert_eq!(&json::canonical(&pretty).expect("pretty"), &once);
    }

    #[test]
    fn a_value_contains_itself_and_its_parts(tree in trees()) {
        let whole = canonical(&tree, 0);
        prop_assert!(json::contains(&whole, &canonical(&tree, 2)).expect("shallow"));
        for element in Json::new(&whole).elements() {
            let mut list = b"[".to_vec();
            list.extend_from_slice(element.bytes());
            list.push(b']');
            prop_assert!(json::contains(&whole, &list).expect("shallow"));
        }
    }

    #[test]
    fn changes_keep_the_form(a in trees(), b in trees(), step in "[ab]{1,2}|-?[0-2]") {
        let (a, b) = (canonical(&a, 0), canonical(&b, 0));
        let steps = [Some(step.as_bytes()), Some(b"a".as_slice())];
        let mut results = Vec::new();
        let mut out = Vec::new();
        json::concatenated(&mut out, &a, &b).expect("two values");
        results.push(out);
        for change in [
            PathChange::Set(&b), PathChange::Replace(&b), PathChange::InsertBefore(&b),
            PathChange::InsertAfter(&b), PathChange::Delete,
        ] {
            for count in 0..=2 {
                let mut out = Vec::new();
                if json::change_path(&mut out, &a, &steps[..count], change).is_ok() {
                    results.push(out);
                }
            }
        }
        let mut out = Vec::new();
        if json::without_key(&mut out, &a, step.as_bytes()).is_ok() {
            results.push(out);
        }
        for result in results {
            prop_assert_eq!(&json::canonical(&result).expect("JSON"), &result);
        }
    }

    #[test]
    fn text_that_is_none_is_refused(text in "[\\[\\]{}:,\"\\\\u0-9a-f .eE+-]{0,24}") {
        // Both agree on what is JSON, but for escapes that no text has and too large numbers.
        if json::check(text.as_bytes()).is_err() {
            prop_assert!(json::canonical(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn numbers_keep_their_value(
        digits in "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,5})?",
        shift in -8i32..8,
    ) {
        let moved = format!("{digits}e{shift}");
        let canonical = json::canonical(moved.as_bytes()).expect("a number");
        let shown = String::from_utf8(canonical).expect("digits");
        prop_assert!(!shown.contains('e'));
        let (x, y): (f64, f64) = (shown.parse().expect("digits"), moved.parse().expect("digits"));
        prop_assert!((x - y).abs() <= y.abs() * 1e-12, "{} is {}", moved, shown);
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json::canonical(nested(json::NESTING_MAX).as_bytes()).is_ok());
    let error = json::canonical(nested(json::NESTING_MAX + 1).as_bytes()).expect_err("too deep");
    assert_eq!(error.state(), SqlState::STACK_DEPTH);
    let deep = nested(5_000);
    let error = json::contains(deep.as_bytes(), deep.as_bytes()).expect_err("too deep");
    assert_eq!(error.state(), SqlState::STACK_DEPTH);
}

#[test]
fn errors_name_what_is_wrong() {
    let detail = |text: &str| {
        let error = json::check(text.as_bytes()).expect_err("not JSON");
        assert_eq!(error.state(), SqlState::INVALID_TEXT);
        error.detail().unwrap_or_default().to_owned()
    };
    assert_eq!(detail(""), "The input string ended unexpectedly.");
    assert_eq!(detail("{\"a\"}"), "Expected \":\", but found \"}\".");
    assert_eq!(detail("{a:1}"), "Token \"a\" is invalid.");
    assert_eq!(detail("[1,]"), "Expected JSON value, but found \"]\".");
    assert_eq!(detail("[1 2]"), "Expected \",\" or \"]\", but found \"2\".");
    assert_eq!(detail("1 2"), "Expected end of input, but found \"2\".");
    assert_eq!(detail("\"abc"), "Token \"\"abc\" is invalid.");
    assert_eq!(detail("\"a\\q\""), "Escape sequence \"\\q\" is invalid.");
    assert_eq!(detail("\"a\\u12\""), "\"\\u\" must be followed by four hexadecimal digits.");
    assert_eq!(detail("\"a\nb\""), "Character with value 0x0a must be escaped.");
    assert_eq!(detail("{\"a\":1,}"), "Expected string, but found \"}\".");
    assert_eq!(detail("{1:2}"), "Expected string or \"}\", but found \"1\".");
    assert_eq!(detail("01"), "Token \"01\" is invalid.");
}
