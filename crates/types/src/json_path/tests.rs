//! Paths as PostgreSQL 15 prints them.

use super::JsonPath;

fn printed(text: &str) -> String {
    match JsonPath::parse(text) {
        Ok(path) => String::from_utf8_lossy(&path.text()).into_owned(),
        Err(error) => error.state().as_str().to_owned(),
    }
}

#[test]
fn paths_are_printed_as_postgresql_prints_them() {
    for (text, wanted) in [
        ("$", "$"),
        ("strict $.a", "strict $.\"a\""),
        ("$.a.**{2 to last}.b", "$.\"a\".**{2 to last}.\"b\""),
        ("1 + $.a * 2 - -3", "((1 + $.\"a\" * 2) - -3)"),
        ("($.a + 1).abs()", "($.\"a\" + 1).abs()"),
        ("$[last - 1, 0 to 2]", "$[last - 1,0 to 2]"),
        (
            "$ ? (@.a == 1 && !(@.b < 2) || exists(@.c))",
            "$?(@.\"a\" == 1 && !(@.\"b\" < 2) || exists (@.\"c\"))",
        ),
        ("$ ? (@ like_regex \"^a\" flag \"im\")", "$?(@ like_regex \"^a\" flag \"im\")"),
        ("1.5e2", "150"),
        (".1", "0.1"),
        ("", "22P02"),
        ("$.", "42601"),
        ("@ + 1", "42601"),
        ("last", "42601"),
        ("01", "42601"),
    ] {
        assert_eq!(printed(text), wanted, "{text}");
        if !wanted.starts_with(['2', '4']) {
            assert_eq!(printed(wanted), wanted, "{wanted}");
        }
    }
}

#[test]
fn paths_that_nest_without_end_are_refused() {
    let text = format!("{}$", "(".repeat(100_000));
    assert_eq!(printed(&text), "54001");
    let text = format!("{}1", "- $ ".repeat(10) + &"-".repeat(5_000));
    assert_eq!(printed(&text), "54001");
}
