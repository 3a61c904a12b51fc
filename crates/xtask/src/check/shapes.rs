//! Rules about the shapes of code: `check` calls them for each crate.
//!
//! ```text
//! tokens      inline SQLSTATEs, matches on a bool      none is allowed
//! signatures  many parameters, tuples as parameters    as many as a crate had; fewer lower it
//! sessions    signatures of engine with &mut Session   likewise, outside `session` and of tests
//! docs        paragraphs that begin without a subject  none is allowed
//! ```
//! Strings never count, and of comments only doc comments do.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::{crate_name, relative, sources};
use crate::text;

/// Parameters a function may have, `self` included; more are a type with names.
const PARAMETERS_MAX: usize = 5;

/// Words that no paragraph of a doc comment begins with: its subject is left to guess.
const SUBJECTLESS: [&str; 7] = ["It", "They", "That", "Those", "What", "Who", "Of"];

/// Functions left by crate with more parameters than [`PARAMETERS_MAX`], and with tuples as
/// parameters. Crates that are not here have none. Numbers only go down.
const LEFT: &[(&str, Signatures)] = &[
    ("exec", left(1, 17)),
    ("formats", left(0, 2)),
    ("kernels", left(0, 11)),
    ("plan", left(3, 1)),
    ("python", left(2, 0)),
    ("server", left(0, 1)),
    ("storage", left(28, 10)),
    ("types", left(0, 8)),
    ("wire", left(0, 3)),
    ("xtask", left(0, 10)),
];

/// Functions of engine outside `session` that take a whole session to change it, though a statement
/// that runs is a value of its own. The number only goes down.
const LEFT_WITH_SESSION: usize = 86;

/// Functions of a crate whose signatures break a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Signatures {
    long: usize,
    with_tuples: usize,
    with_session: usize,
}

const fn left(long: usize, with_tuples: usize) -> Signatures {
    Signatures { long, with_tuples, with_session: 0 }
}

/// Checks every Rust file of one crate.
pub(super) fn check(folder: &Path, problems: &mut Vec<String>) -> Result<(), String> {
    let mut found = Signatures::default();
    for path in sources::files(folder)? {
        let source = fs::read_to_string(&path).map_err(text)?;
        check_source(&relative(&path), &source, problems);
        check_docs(&relative(&path), &source, problems);
        // What is no Rust is a problem already.
        if let Ok(file) = syn::parse_file(&source) {
            let before = found.with_session;
            found.visit_file(&file);
            if !may_not_hold_session(path.strip_prefix(folder).unwrap_or(&path)) {
                found.with_session = before;
            }
        }
    }
    let name = crate_name(folder);
    let allowed = LEFT.iter().find(|(known, _)| *known == name).map_or(left(0, 0), |known| known.1);
    let with_session = if name == "engine" { LEFT_WITH_SESSION } else { found.with_session };
    check_left(name, found, Signatures { with_session, ..allowed }, problems);
    Ok(())
}

/// Compares what a crate has with what it may have: fewer have to be noted, too.
fn check_left(name: &str, found: Signatures, allowed: Signatures, problems: &mut Vec<String>) {
    let kinds = [
        ("more than 5 parameters", found.long, allowed.long),
        ("tuples as parameters", found.with_tuples, allowed.with_tuples),
        ("&mut Session", found.with_session, allowed.with_session),
    ];
    for (kind, found, allowed) in kinds {
        if found > allowed {
            problems.push(format!("{name}: {found} functions with {kind}, {allowed} are allowed"));
        } else if found < allowed {
            problems
                .push(format!("{name}: {found} functions with {kind}: lower {allowed} in LEFT"));
        }
    }
}

impl<'ast> Visit<'ast> for Signatures {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let has_tuple = |input: &syn::FnArg| match input {
            syn::FnArg::Receiver(_) => false,
            syn::FnArg::Typed(parameter) => is_tuple(&parameter.ty),
        };
        self.long += usize::from(signature.inputs.len() > PARAMETERS_MAX);
        self.with_tuples += usize::from(signature.inputs.iter().any(has_tuple));
        let has_session = |input: &syn::FnArg| match input {
            syn::FnArg::Receiver(_) => false,
            syn::FnArg::Typed(parameter) => is_session(&parameter.ty),
        };
        self.with_session += usize::from(signature.inputs.iter().any(has_session));
        visit::visit_signature(self, signature);
    }
}

/// True for a tuple with fields, or a reference to one.
fn is_tuple(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Tuple(tuple) => !tuple.elems.is_empty(),
        syn::Type::Reference(reference) => is_tuple(&reference.elem),
        _ => false,
    }
}

/// True for `&mut Session`.
fn is_session(ty: &syn::Type) -> bool {
    let syn::Type::Reference(reference) = ty else { return false };
    let syn::Type::Path(path) = &*reference.elem else { return false };
    reference.mutability.is_some()
        && path.path.segments.last().is_some_and(|last| last.ident == "Session")
}

/// True for a file of a crate's sources that neither is the session's nor tests.
fn may_not_hold_session(path: &Path) -> bool {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    let is_source = parts.next() == Some("src");
    is_source && parts.all(|part| !["session", "session.rs", "tests", "tests.rs"].contains(&part))
}

/// Refuses paragraphs of doc comments that begin with one of [`SUBJECTLESS`].
fn check_docs(name: &str, source: &str, problems: &mut Vec<String>) {
    let (mut begins, mut is_fenced) = (true, false);
    for (i, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            (begins, is_fenced) = (true, false);
            continue;
        };
        let text = text.trim();
        let is_fence = text.starts_with("```");
        is_fenced ^= is_fence;
        let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        if begins && !is_fenced && SUBJECTLESS.contains(&first) {
            problems
                .push(format!("{name}:{}: doc line begins with {first}: name its subject", i + 1));
        }
        begins = text.is_empty() || is_fence || text.starts_with("# ");
    }
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

    #[test]
    fn doc_paragraphs_without_a_subject_are_found() {
        let problems_of = |source: &str| {
            let mut problems = Vec::new();
            check_docs("f.rs", source, &mut problems);
            problems
        };
        let found = "f.rs:1: doc line begins with What: name its subject";
        assert_eq!(problems_of("/// What it does.\nfn f() {}"), [found]);
        assert_eq!(problems_of("//! A file.\n//!\n//! It is short.").len(), 1);
        assert_eq!(
            problems_of("    /// Reads.\n    ///\n    /// # Errors\n    /// Those of `io`.").len(),
            1
        );
        assert_eq!(
            problems_of("//! ```text\n//! a -> b\n//! ```\n//! Who waits is told.").len(),
            1
        );
        assert_eq!(problems_of("/// One.\nOne,\n/// Of two.\nTwo,").len(), 1);
    }

    #[test]
    fn doc_lines_that_go_on_and_comments_do_not_count() {
        let problems_of = |source: &str| {
            let mut problems = Vec::new();
            check_docs("f.rs", source, &mut problems);
            problems.len()
        };
        assert_eq!(problems_of("/// Reads a row. The place\n/// It had is kept."), 0);
        assert_eq!(problems_of("//! ```text\n//! Who -> roles\n//!\n//! What\n//! ```"), 0);
        assert_eq!(problems_of("// What follows is sorted.\nlet a = 1; // It is."), 0);
        assert_eq!(problems_of("/// Often none. Whose it is counts.\n/// \n/// Office hours."), 0);
    }

    #[test]
    fn signatures_are_counted() {
        let found = |source: &str| {
            let mut found = Signatures::default();
            found.visit_file(&syn::parse_file(source).expect("Rust"));
            found
        };
        let long = "impl S { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }";
        assert_eq!(found(long), left(1, 0));
        assert_eq!(found("fn f(a: u8, b: u8, c: u8, d: u8, e: u8) {}"), left(0, 0));
        assert_eq!(found("fn f((a, b): (u8, u8), c: &(u8, u8)) {}"), left(0, 1));
        assert_eq!(found("fn f(a: ()) -> (u8, u8) { each(|(a, b)| (a, b)) }"), left(0, 0));
    }

    #[test]
    fn signatures_with_a_session_are_counted() {
        let found = |source: &str| {
            let mut found = Signatures::default();
            found.visit_file(&syn::parse_file(source).expect("Rust"));
            found.with_session
        };
        assert_eq!(found("fn f(a: u8, session: &mut Session) {}"), 1);
        assert_eq!(found("fn f<'s>(session: &'s mut crate::Session) {}"), 1);
        assert_eq!(found("fn f(a: &Session, b: &mut Sessions, c: Session) {}"), 0);
        assert!(may_not_hold_session(Path::new("src/define/alter.rs")));
        assert!(!may_not_hold_session(Path::new("src/session/compiled.rs")));
        assert!(!may_not_hold_session(Path::new("src/session.rs")));
        assert!(!may_not_hold_session(Path::new("src/define/tests.rs")));
        assert!(!may_not_hold_session(Path::new("tests/backup.rs")));
    }

    #[test]
    fn what_is_left_only_shrinks() {
        let problems = |found, allowed| {
            let mut problems = Vec::new();
            check_left("c", found, allowed, &mut problems);
            problems.len()
        };
        assert_eq!(problems(left(2, 1), left(2, 1)), 0);
        assert_eq!(problems(left(3, 1), left(2, 1)), 1);
        assert_eq!(problems(left(1, 0), left(2, 1)), 2);
    }
}
