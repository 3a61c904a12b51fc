//! Words of CREATE and DROP about storage, which change nothing here: taken out of the tokens.
//!
//! - `TABLESPACE pg_default`, `USING heap`, `WITHOUT OIDS` of CREATE TABLE and CREATE INDEX,
//! - `USING INDEX TABLESPACE pg_default` of constraints,
//! - `COMPRESSION pglz` of columns,
//! - `CONCURRENTLY` of DROP INDEX,
//! - `USING heap`, `TABLESPACE pg_default` and `WITH [NO] DATA` of CREATE MATERIALIZED VIEW.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{Error, Result, SqlState};

use super::tokens::{is, significant};
use super::{at_location, materialized};

/// Where tables and indexes may be.
const TABLESPACES: [&str; 3] = ["pg_default", "pg_global", "\"\""];

/// Clauses of a view that are no words about storage.
#[derive(Debug, Default)]
pub(super) struct ViewClauses {
    /// Options as `name=value`.
    pub(super) options: Vec<String>,
    /// WITH NO DATA.
    pub(super) without_data: bool,
}

/// Takes the words out, and the clauses of a view, which it gives.
///
/// # Errors
/// 42704 for a tablespace or access method that there is none of; errors of options; 0A000 for a
/// materialized view that is not logged.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Result<ViewClauses> {
    let nothing = ViewClauses::default();
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    if word(0, "drop") && word(1, "index") && word(2, "concurrently") {
        tokens.remove(places[2]);
        return Ok(nothing);
    }
    if !word(0, "create") {
        return Ok(nothing);
    }
    let head = (1..6.min(places.len()))
        .find(|at| ["table", "index", "view"].iter().any(|kind| word(*at, kind)));
    match head {
        Some(at) if word(at, "view") && word(at - 1, "materialized") => {
            if (1..at).any(|before| word(before, "unlogged")) {
                return Err(Error::unsupported("an unlogged materialized view"));
            }
            let without_data = materialized::take_data(tokens);
            let is_left = |place: &&usize| **place < tokens.len();
            let places: Vec<usize> = places[at..].iter().filter(is_left).copied().collect();
            take_storage(tokens, &places)?;
            Ok(ViewClauses { without_data, ..nothing })
        }
        Some(at) if word(at, "view") => {
            Ok(ViewClauses { options: super::view::take(tokens, &places[at..])?, ..nothing })
        }
        Some(at) => take_storage(tokens, &places[at..]).map(|()| nothing),
        None => Ok(nothing),
    }
}

fn take_storage(tokens: &mut Vec<TokenWithSpan>, places: &[usize]) -> Result<()> {
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    let is_table = word(0, "table") || word(0, "view");
    let (mut depth, mut at, mut gone) = (0_usize, 0, Vec::new());
    while at < places.len() {
        match tokens[places[at]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        // What follows is a query, or a condition.
        if depth == 0 && (word(at, "as") || word(at, "where")) {
            break;
        }
        let begins_index = word(at, "using") && word(at + 1, "index") && word(at + 2, "tablespace");
        let length = if begins_index {
            3
        } else if depth == 0 && word(at, "tablespace") && at > 1 {
            1
        } else if is_table && depth == 0 && word(at, "using") {
            check_name(
                &tokens[places[at]],
                places.get(at + 1).map(|at| &tokens[*at]),
                "access method",
                &["heap"],
            )?;
            gone.extend([at, at + 1]);
            at += 2;
            continue;
        } else if is_table
            && (depth == 1 && is_compression(tokens, places, at)
                || depth == 0 && word(at, "without") && word(at + 1, "oids"))
        {
            gone.extend([at, at + 1]);
            at += 2;
            continue;
        } else {
            at += 1;
            continue;
        };
        let name = places.get(at + length).map(|at| &tokens[*at]);
        check_name(&tokens[places[at]], name, "tablespace", &TABLESPACES)?;
        gone.extend(at..=at + length);
        at += length + 1;
    }
    for at in gone.iter().rev() {
        tokens.remove(places[*at]);
    }
    Ok(())
}

/// True for `COMPRESSION pglz` and its like behind the type of a column.
fn is_compression(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let token = |at: usize| places.get(at).map(|at| &tokens[*at]);
    let is_word = |at: usize, text: &str| token(at).is_some_and(|token| is(token, text));
    let before = at.checked_sub(1);
    let begins = before.and_then(token).is_none_or(|token| {
        matches!(token.token, Token::LParen | Token::Comma)
            || is(token, "including")
            || is(token, "excluding")
    });
    !begins
        && is_word(at, "compression")
        && ["pglz", "lz4", "default"].iter().any(|method| is_word(at + 1, method))
}

/// 42704 unless `name` is one of `known`.
fn check_name(
    word: &TokenWithSpan,
    name: Option<&TokenWithSpan>,
    kind: &str,
    known: &[&str],
) -> Result<()> {
    let Some(name) = name.filter(|name| matches!(name.token, Token::Word(_))) else {
        return Err(super::near(&word.token.to_string(), at_location(word.span.start)));
    };
    let is_quoted = |known: &str| match &name.token {
        Token::Word(word) => word.quote_style.is_some() && word.value == known,
        _ => false,
    };
    if known.iter().any(|known| is(name, known) || is_quoted(known)) {
        return Ok(());
    }
    let text = name.token.to_string();
    let message = format!("{kind} \"{}\" does not exist", text.trim_matches('"'));
    let error = Error::new(SqlState::UNDEFINED_OBJECT, message);
    Err(match at_location(name.span.start) {
        Some(at) => error.at(at),
        None => error,
    })
}
