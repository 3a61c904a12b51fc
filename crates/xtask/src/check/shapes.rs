//! Rules about the shapes of code: `check` calls them for each crate.
//!
//! They read tokens, so that comments and strings never count, and macros do.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::{relative, sources};
use crate::text;

/// Checks every Rust file of one crate.
pub(super) fn check(folder: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    for path in sources::files(folder)? {
        let source = fs::read_to_string(&path).map_err(text)?;
        check_source(&relative(&path), &source, problems);
    }
    Ok(())
}

fn check_source(name: &str, source: &str, problems: &mut Vec<String>) {
    match source.parse() {
        Ok(tokens) => check_tokens(name, tokens, problems),
        Err(error) => problems.push(format!("{name}: {error}")),
    }
}

/// Checks the tokens of a file or of a pair of brackets, and the brackets inside.
fn check_tokens(name: &str, tokens: TokenStream, problems: &mut Vec<String>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, tree) in trees.iter().enumerate() {
        if is_inline_state(&trees[i..]) {
            let line = tree.span().start().line;
            problems.push(format!("{name}:{line}: SQLSTATE without a name of types::SqlState"));
        }
        if is_bool_arm(&trees[..i], &trees[i..]) {
            let line = tree.span().start().line;
            problems.push(format!("{name}:{line}: match on a bool, where `if` is meant"));
        }
        if let TokenTree::Group(group) = tree {
            check_tokens(name, group.stream(), problems);
        }
    }
}

/// True for `SqlState(*b"..")`, and for `state().as_str()` and `state().to_string()` beside the
/// text of a code.
fn is_inline_state(trees: &[TokenTree]) -> bool {
    match trees {
        [TokenTree::Ident(name), TokenTree::Group(bytes), ..] if name == "SqlState" => {
            let is_code = |tree: TokenTree| tree.to_string().starts_with("b\"");
            bytes.delimiter() == Delimiter::Parenthesis && bytes.stream().into_iter().any(is_code)
        }
        [TokenTree::Ident(state), _, _, TokenTree::Ident(form), _, rest @ ..]
            if state == "state" && (form == "as_str" || form == "to_string") =>
        {
            // `== "..."`, `!= "..."` or `, "..."`.
            let is_sign = |tree: &&TokenTree| matches!(tree, TokenTree::Punct(_));
            let beside = rest.iter().find(|tree| !is_sign(tree));
            rest.first().as_ref().is_some_and(is_sign)
                && matches!(beside, Some(TokenTree::Literal(code)) if is_code(&code.to_string()))
        }
        _ => false,
    }
}

/// True for a string literal of five capitals and digits.
fn is_code(literal: &str) -> bool {
    let code = literal.trim_matches('"');
    literal.len() == 7
        && code.len() == 5
        && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// True where an arm begins whose pattern is `true` or `false`, with or without a guard.
fn is_bool_arm(before: &[TokenTree], trees: &[TokenTree]) -> bool {
    let begins_arm = match before.last() {
        None | Some(TokenTree::Group(_)) => true,
        Some(TokenTree::Punct(sign)) => sign.as_char() == ',',
        Some(_) => false,
    };
    let [TokenTree::Ident(pattern), next, ..] = trees else { return false };
    let ends_pattern = match next {
        TokenTree::Ident(guard) => guard == "if",
        TokenTree::Punct(sign) => {
            let arrow = trees.get(2).is_some_and(|tree| tree.to_string() == ">");
            sign.as_char() == '=' && sign.spacing() == Spacing::Joint && arrow
        }
        _ => false,
    };
    begins_arm && (pattern == "true" || pattern == "false") && ends_pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(source: &str) -> usize {
        let mut problems = Vec::new();
        check_source("f.rs", source, &mut problems);
        problems.len()
    }

    #[test]
    fn inline_states_are_found() {
        assert_eq!(problems_of(r#"fn f() { fail(SqlState(*b"42501")) }"#), 1);
        assert_eq!(problems_of(r#"fn f() { error.state().as_str() == "42501" }"#), 1);
        assert_eq!(problems_of(r#"fn f() { assert_eq!(e.state().to_string(), "42501"); }"#), 1);
    }

    #[test]
    fn named_states_and_what_is_no_code_are_not() {
        assert_eq!(problems_of("fn f() { fail(SqlState::INSUFFICIENT_PRIVILEGE) }"), 0);
        assert_eq!(problems_of(r#"/// As `SqlState(*b"42501")`."#.trim_end()), 0);
        assert_eq!(problems_of(r#"const TEXT: &str = "SqlState(*b\"42501\")";"#), 0);
        assert_eq!(problems_of(r#"fn f() { node.state().as_str() == "ready" }"#), 0);
    }

    #[test]
    fn matches_on_a_bool_are_found() {
        assert_eq!(problems_of("fn f() { match a { true => 1, false => 2 } }"), 2);
        assert_eq!(problems_of("fn f() { match a { true if b => {} false => 2, _ => 3 } }"), 2);
        assert_eq!(problems_of("fn f() { assert!(match a { true => 1, _ => 2 } == 1) }"), 1);
    }

    #[test]
    fn patterns_with_a_bool_inside_are_not() {
        assert_eq!(problems_of("fn f() { match (a, b) { (true, X) => 1, _ => 2 } }"), 0);
        assert_eq!(problems_of("fn f() { match a { Some(true) => 1, _ => 2 } }"), 0);
        assert_eq!(problems_of("fn f() { matches!(a, X { b: true } if c) && true }"), 0);
    }
}
