use super::*;
use crate::VectorData;

/// Matches by the definition of LIKE.
fn plain(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|i| plain(rest, &text[i..])),
        ['_', rest @ ..] => !text.is_empty() && plain(rest, &text[1..]),
        [c, rest @ ..] => text.first() == Some(c) && plain(rest, &text[1..]),
    }
}

/// All words of up to `length` letters.
fn words(alphabet: &[char], length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last.iter().flat_map(|w| alphabet.iter().map(move |c| format!("{w}{c}"))).collect();
        all.extend_from_slice(&last);
    }
    all
}

#[test]
fn every_small_pattern_matches_by_definition() {
    let texts = words(&['a', 'b', 'ä'], 4);
    for pattern in words(&['a', 'ä', '%', '_'], 4) {
        let compiled =
            LikePattern::new(&pattern, Some('\\'), Case::Sensitive).expect("well formed");
        let characters: Vec<char> = pattern.chars().collect();
        for text in &texts {
            let expected = plain(&characters, &text.chars().collect::<Vec<_>>());
            assert_eq!(compiled.matches(text.as_bytes()), expected, "{text} LIKE {pattern}");
            if let (Some(prefix), true) = (compiled.prefix(), expected) {
                assert!(text.as_bytes().starts_with(prefix), "{text} LIKE {pattern}");
            }
        }
    }
}

#[test]
fn segments_in_order_without_overlap() {
    for (text, pattern, expected) in [
        ("special packages requests", "%special%requests%", true),
        ("requests special", "%special%requests%", false),
        ("aba", "ab%ba", false),
        ("abba", "ab%ba", true),
        ("forest green", "forest%", true),
        ("10%", "10\\%", true),
        ("10x", "10\\%", false),
        ("a_b", "a\\_b", true),
    ] {
        let compiled = LikePattern::new(pattern, Some('\\'), Case::Sensitive).expect("well formed");
        assert_eq!(compiled.matches(text.as_bytes()), expected, "{text} LIKE {pattern}");
    }
}

#[test]
fn escapes() {
    let refused = LikePattern::new("a\\", Some('\\'), Case::Sensitive).map(|_| ());
    assert_eq!(refused.map_err(|e| e.state()), Err(SqlState::INVALID_ESCAPE));
    let none = LikePattern::new("a\\%", None, Case::Sensitive).expect("no escape character");
    assert!(none.matches(b"a\\bc"));
    let other = LikePattern::new("50#%%", Some('#'), Case::Sensitive).expect("well formed");
    assert!(other.matches(b"50% off") && !other.matches(b"50 off"));
}

#[test]
fn case_is_ignored_by_character() {
    let pattern = LikePattern::new("%ÄrGe_", Some('\\'), Case::Insensitive).expect("well formed");
    assert!(pattern.matches("der ÄRGER".as_bytes()));
    assert!(!pattern.matches("arger".as_bytes()));
    assert_eq!(pattern.prefix(), None);
}

#[test]
fn an_escape_at_the_end_counts_when_it_is_reached() {
    let text = |value: &str| Vector::new(VectorData::Str([value.as_bytes()].into_iter().collect()));
    for (value, pattern, expected) in [
        ("abc", "abc\\", Some(0)),
        ("abc", "x\\", Some(0)),
        ("abcd", "abc\\", None),
        ("abc", "%\\", None),
        ("", "%\\", Some(0)),
    ] {
        let found = like_vectors(&text(value), &text(pattern), Some('\\'), Case::Sensitive);
        let found = found.map(|v| v.as_bool()[0]).ok();
        assert_eq!(found, expected, "{value} LIKE {pattern}");
    }
}
