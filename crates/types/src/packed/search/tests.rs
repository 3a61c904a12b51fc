//! Values of text search go through their text and their binary form; any text has tokens.

use proptest::prelude::*;

use super::scan::Scanner;
use super::{decode, encode, format_query, format_vector, parse_query, parse_vector};
use crate::PackedType;

/// Pieces that texts of documents and queries are made of.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-c]{1,3}",
        "[-./:@~_&<>()|!'\"\\\\ #;?=%+]{1,3}",
        "[0-9]{1,3}",
        Just("é".to_owned()),
        Just("<script>".to_owned()),
        Just("http://a.de/b".to_owned()),
        Just(":1A,2".to_owned()),
        Just(" & ".to_owned()),
        Just(" <-> ".to_owned()),
        Just(" <300> ".to_owned()),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn query_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof!["[a-c]{1,2}", "'x [a-c]'", "[a-c]:\\*AB", "[a-c]:D"];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| format!("!({one})")),
            (inner.clone(), inner, "( & | \\| | <-> | <300> )")
                .prop_map(|(a, b, joint)| format!("({a}){joint}({b})")),
        ]
    })
}

fn query_shown(query: &[u8]) -> String {
    let mut shown = Vec::new();
    format_query(&mut shown, query);
    String::from_utf8(shown).expect("texts are UTF-8")
}

proptest! {
    #[test]
    fn tokens_are_the_whole_text(text in pieces()) {
        let tokens: String = Scanner::new(&text)
            .filter(|token| !matches!(token.kind.number(), 5 | 15..=17))
            .map(|token| token.text)
            .collect();
        prop_assert_eq!(tokens, text);
    }

    #[test]
    fn vectors_go_through_text_and_bytes(text in pieces()) {
        let Ok(vector) = parse_vector(&text) else { return Ok(()) };
        let mut shown = Vec::new();
        format_vector(&mut shown, &vector);
        let shown = String::from_utf8(shown).expect("texts are UTF-8");
        prop_assert_eq!(parse_vector(&shown).expect("what is shown is read"), vector.clone());
        let mut sent = Vec::new();
        encode(&mut sent, &vector, PackedType::TsVector);
        prop_assert_eq!(decode(&sent, PackedType::TsVector), Some(vector));
    }

    #[test]
    fn queries_go_through_text_and_bytes(text in prop_oneof![query_text(), pieces()]) {
        let Ok(query) = parse_query(&text) else { return Ok(()) };
        let shown = query_shown(&query);
        // Brackets that change nothing are not shown: `a | (b | c)` is read as `(a | b) | c`.
        let again = parse_query(&shown).expect("what is shown is read");
        prop_assert_eq!(query_shown(&again), shown);
        let mut sent = Vec::new();
        encode(&mut sent, &query, PackedType::TsQuery);
        prop_assert_eq!(decode(&sent, PackedType::TsQuery), Some(query));
    }
}
