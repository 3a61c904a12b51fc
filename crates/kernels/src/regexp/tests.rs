use types::SqlState;

use super::*;
use crate::VectorData;

fn text(values: &[&str]) -> Vector {
    Vector::new(VectorData::Str(values.iter().map(|v| v.as_bytes()).collect()))
}

#[test]
fn matching() {
    let found = matches(&text(&["abc", "xyz", "ABC"]), &text(&["^a.c$"]), Case::Sensitive);
    assert_eq!(found.map(|v| v.as_bool().to_vec()), Ok(vec![1, 0, 0]));
    let found = matches(&text(&["abc", "xyz", "ABC"]), &text(&["^a.c$"]), Case::Insensitive);
    assert_eq!(found.map(|v| v.as_bool().to_vec()), Ok(vec![1, 0, 1]));
    let refused = matches(&text(&["a"]), &text(&["("]), Case::Sensitive).map(|_| ());
    assert_eq!(refused.map_err(|e| e.state()), Err(SqlState::INVALID_REGEX));
}

#[test]
fn more_patterns_than_the_cache_holds() {
    for round in 0..3 {
        for i in 0..CACHE_ENTRIES * 2 {
            let found =
                matches(&text(&[&format!("a{i}b")]), &text(&[&format!("a{i}b")]), Case::Sensitive);
            assert_eq!(found.map(|v| v.as_bool().to_vec()), Ok(vec![1]), "{round}");
        }
    }
}

#[test]
fn parts_of_text() {
    let subject = text(&["foobar"]);
    for (pattern, expected) in [("o.b", "oob"), ("o(.)b", "o"), ("z", "NULL"), ("(z)?f", "NULL")] {
        let part = substring(&subject, &text(&[pattern])).expect("well formed");
        let part = if part.is_null(0) {
            "NULL".into()
        } else {
            String::from_utf8_lossy(part.as_str().get(0)).into_owned()
        };
        assert_eq!(part, expected, "{pattern}");
    }
}
