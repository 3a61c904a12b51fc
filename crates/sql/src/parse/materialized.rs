//! Materialized views: REFRESH, DROP and ALTER ... RENAME, and WITH [NO] DATA of CREATE, which is
//! taken out of the tokens.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::TokenWithSpan;

use super::SessionTree;
use super::reader::{Parsed, at_end, drop_behaviour, expect, if_exists, peek_word, word, words};
use super::tokens::{is, significant};
use super::view::Renamed;

/// Where WITH [NO] DATA begins at the end of `tokens`; true with NO.
pub(crate) fn data_clause(tokens: &[TokenWithSpan]) -> Option<(usize, bool)> {
    let places = significant(tokens);
    let place = |back: usize| places.len().checked_sub(back).and_then(|at| places.get(at)).copied();
    let end = |back: usize, text: &str| place(back).is_some_and(|at| is(&tokens[at], text));
    if !end(1, "data") {
        return None;
    }
    if end(2, "with") {
        return Some((place(2)?, false));
    }
    if end(2, "no") && end(3, "with") { Some((place(3)?, true)) } else { None }
}

/// Takes the clause out; true when it was WITH NO DATA.
pub(super) fn take_data(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let Some((from, is_empty)) = data_clause(tokens) else { return false };
    tokens.truncate(from);
    is_empty
}

/// The statement, when it is about materialized views.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = if words(parser, &["refresh", "materialized", "view"]) {
        let concurrently = word(parser, "concurrently");
        let name = parser.parse_object_name(false)?;
        let mut without_data = false;
        if word(parser, "with") {
            without_data = word(parser, "no");
            expect(parser, "data")?;
        }
        SessionTree::RefreshMaterialized { name, concurrently, without_data }
    } else if words(parser, &["drop", "materialized", "view"]) {
        let if_missing = if_exists(parser);
        let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
        let behaviour = drop_behaviour(parser);
        SessionTree::DropMaterialized { names, if_missing, behaviour }
    } else if peek_word(parser, 0, "alter") && peek_word(parser, 1, "materialized") {
        return parser.maybe_parse(rename);
    } else {
        return Ok(None);
    };
    if at_end(parser) {
        Ok(Some(tree))
    } else {
        parser.expected_ref("end of statement", parser.peek_token_ref())
    }
}

/// `ALTER MATERIALIZED VIEW [IF EXISTS] name RENAME [[COLUMN] column] TO name`.
fn rename(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    words(parser, &["alter", "materialized", "view"]);
    Ok(SessionTree::RenameMaterialized(Renamed::parse(parser)?))
}
