//! Keys of JSONB against a comparison of trees, as PostgreSQL's `compareJsonbContainers` makes it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use types::calendar::TimeZone;
use types::{DataType, Value, json, text};

/// A document.
#[derive(Clone, Debug)]
enum Doc {
    Null,
    Text(String),
    /// Thousandths, and zeros behind them.
    Number(i64, usize),
    Bool(bool),
    Array(Vec<Doc>),
    Object(BTreeMap<String, Doc>),
}

impl Doc {
    fn text(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Text(text) => format!("\"{text}\""),
            Self::Number(n, zeros) => {
                let sign = if *n < 0 { "-" } else { "" };
                let n = n.unsigned_abs();
                format!("{sign}{}.{:03}{}", n / 1000, n % 1000, "0".repeat(*zeros))
            }
            Self::Bool(value) => value.to_string(),
            Self::Array(list) => {
                let list: Vec<String> = list.iter().map(Self::text).collect();
                format!("[{}]", list.join(","))
            }
            Self::Object(map) => {
                let part = |(key, value): (&String, &Self)| format!("\"{key}\":{}", value.text());
                let list: Vec<String> = map.iter().map(part).collect();
                format!("{{{}}}", list.join(","))
            }
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Text(_) => 1,
            Self::Number(..) => 2,
            Self::Bool(_) => 3,
            Self::Array(_) => 4,
            Self::Object(_) => 5,
        }
    }

    fn compared(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Number(a, _), Self::Number(b, _)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Array(a), Self::Array(b)) => {
                let parts = || a.iter().zip(b).map(|(a, b)| a.compared(b));
                let parts = || parts().find(|part| part.is_ne()).unwrap_or(Ordering::Equal);
                a.len().cmp(&b.len()).then_with(parts)
            }
            (Self::Object(a), Self::Object(b)) => {
                let part = |(a, b): (&(&String, &Self), &(&String, &Self))| {
                    a.0.as_bytes().cmp(b.0.as_bytes()).then_with(|| a.1.compared(b.1))
                };
                let (a, b) = (in_order(a), in_order(b));
                let parts = || a.iter().zip(&b).map(part).find(|part| part.is_ne());
                a.len().cmp(&b.len()).then_with(|| parts().unwrap_or(Ordering::Equal))
            }
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    /// Compared as whole values: a scalar is an array of one element then, before all others.
    fn compared_whole(&self, other: &Self) -> Ordering {
        let size = |doc: &Self| match doc {
            Self::Array(list) => Some((list.len(), 1)),
            Self::Object(_) => None,
            _ => Some((1, 0)),
        };
        match (size(self), size(other)) {
            (Some((a, _)), Some((b, _))) if a != b => a.cmp(&b),
            (Some((_, a)), Some((_, b))) if a != b => a.cmp(&b),
            _ => self.compared(other),
        }
    }
}

/// The pairs by the length of their keys.
fn in_order(map: &BTreeMap<String, Doc>) -> Vec<(&String, &Doc)> {
    let mut list: Vec<(&String, &Doc)> = map.iter().collect();
    list.sort_by_key(|(key, _)| (key.len(), key.as_bytes()));
    list
}

fn docs() -> impl Strategy<Value = Doc> {
    let word = prop::sample::select(vec!["", "a", "b", "ab", "aa", "é", "z", "a a", "ba"]);
    let word = word.prop_map(str::to_owned);
    let number = prop::sample::select(vec![
        0,
        1,
        10,
        999,
        1000,
        1001,
        -1,
        -1000,
        10_000,
        99_999,
        100_000,
        -99_999,
        i64::MAX,
    ]);
    let leaf = prop_oneof![
        Just(Doc::Null),
        word.clone().prop_map(Doc::Text),
        (number, 0..3_usize).prop_map(|(n, zeros)| Doc::Number(n, zeros)),
        any::<bool>().prop_map(Doc::Bool),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Doc::Array),
            prop::collection::btree_map(word.clone(), inner, 0..4).prop_map(Doc::Object),
        ]
    })
}

fn key(doc: &Doc) -> Vec<u8> {
    let held = text::parse_in(&doc.text(), DataType::Jsonb, &TimeZone::UTC).expect("a document");
    let Value::Str(held) = held else { panic!("JSONB is held as text") };
    let mut key = Vec::new();
    json::key(&mut key, &held).expect("a document");
    key
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn keys_are_in_the_order_of_the_documents(a in docs(), b in docs()) {
        let (left, right) = (key(&a), key(&b));
        prop_assert_eq!(left.cmp(&right), a.compared_whole(&b), "{} {}", a.text(), b.text());
    }
}
