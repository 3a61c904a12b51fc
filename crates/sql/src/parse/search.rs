//! SEARCH and CYCLE of recursive queries, which the grammar lacks.
//!
//! `r (a) AS (...) SEARCH DEPTH FIRST BY a SET o` is read as
//! `r (a, "recursion SEARCH ...") AS (...)`: the clauses are the name of a column behind the
//! others, which the binder takes off again (see `bind::search`).

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use types::Result;

use super::name::folded;
use super::tokens::{is, significant};
use super::{is_keyword, parser, syntax_error, tokens_of};

/// Prefix of the name of a column that stands for such clauses.
pub(super) const MARKER: &str = "recursion ";

/// SEARCH and CYCLE of a recursive query.
#[derive(Clone, Debug)]
pub(crate) struct RecursionClauses {
    pub(crate) search: Option<Search>,
    pub(crate) cycle: Option<Cycle>,
}

/// In which order rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchOrder {
    Depth,
    Breadth,
}

/// SEARCH ... FIRST BY columns SET name.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) order: SearchOrder,
    pub(crate) by: Vec<String>,
    pub(crate) set: String,
}

/// CYCLE columns SET mark TO value DEFAULT value USING path.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) columns: Vec<String>,
    pub(crate) mark: String,
    /// Values of the mark as text: of rows that close a cycle, and of others.
    pub(crate) values: (String, String),
    pub(crate) path: String,
}

/// Moves the clauses of each recursive query of a statement into its list of columns.
pub(super) fn rewrite(tokens: &mut Vec<TokenWithSpan>) {
    let has = |text: &str| tokens.iter().any(|token| is(token, text));
    if !has("recursive") && !has("with") || !(has("search") || has("cycle")) {
        return;
    }
    let mut from = 0;
    while let Some(found) = next_clauses(tokens, from) {
        from = found.end;
        let Some((before, has_list)) = columns_of(tokens, found.close) else { continue };
        let text: Vec<String> =
            found.words.iter().map(|place| tokens[*place].token.to_string()).collect();
        let span = tokens[before].span;
        let marker = Token::Word(Word {
            value: format!("{MARKER}{}", text.join(" ")),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        });
        for place in found.words.iter().rev() {
            tokens.remove(*place);
        }
        let list = if has_list {
            vec![Token::Comma, marker]
        } else {
            vec![Token::LParen, marker, Token::RParen]
        };
        let list = list.into_iter().map(|token| TokenWithSpan { token, span });
        tokens.splice(before..before, list);
        from = found.close;
    }
}

/// Clauses that were found behind a query in parentheses.
struct Found {
    /// The parenthesis that closes the query.
    close: usize,
    /// Tokens of the clause.
    words: Vec<usize>,
    /// One past them.
    end: usize,
}

/// The next clauses from token `from` on.
fn next_clauses(tokens: &[TokenWithSpan], from: usize) -> Option<Found> {
    let places = significant(tokens);
    let word =
        |at: usize, text: &str| places.get(at).is_some_and(|place| is(&tokens[*place], text));
    let until = |start: usize, text: &str| (start..places.len()).find(|at| word(*at, text));
    for at in (0..places.len()).filter(|at| places[*at] >= from) {
        if tokens[places[at]].token != Token::RParen {
            continue;
        }
        let mut end = at + 1;
        if word(end, "search") && word(end + 2, "first") && word(end + 3, "by") {
            end = until(end + 4, "set")? + 2;
        }
        if word(end, "cycle") {
            end = until(end + 1, "using")? + 2;
        }
        if end > at + 1 {
            return Some(Found {
                close: places[at],
                words: places.get(at + 1..end)?.to_vec(),
                end: places[end - 1] + 1,
            });
        }
    }
    None
}

/// Where a column of the query that ends at `close` is added: before this token; and whether there
/// are others. None when it is no query of WITH.
fn columns_of(tokens: &[TokenWithSpan], close: usize) -> Option<(usize, bool)> {
    let places = significant(tokens);
    let mut at = places.iter().position(|place| *place == close)?;
    let mut depth = 0_usize;
    loop {
        match tokens[places[at]].token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at = at.checked_sub(1)?;
    }
    at = at.checked_sub(1)?;
    if is_keyword(&tokens[places[at]], Keyword::MATERIALIZED) {
        at = at.checked_sub(1)?;
        if is_keyword(&tokens[places[at]], Keyword::NOT) {
            at = at.checked_sub(1)?;
        }
    }
    if !is_keyword(&tokens[places[at]], Keyword::AS) {
        return None;
    }
    let before = places[at.checked_sub(1)?];
    match tokens[before].token {
        Token::RParen => Some((before, true)),
        _ => Some((places[at], false)),
    }
}

/// The clauses that the name of a column stands for, if it does.
pub(crate) fn recursion_clauses(name: &str) -> Result<Option<RecursionClauses>> {
    let Some(text) = name.strip_prefix(MARKER) else { return Ok(None) };
    let mut parser = parser(tokens_of(text)?);
    clauses(&mut parser).map(Some).map_err(syntax_error)
}

fn clauses(parser: &mut Parser<'_>) -> std::result::Result<RecursionClauses, ParserError> {
    let names = |parser: &mut Parser<'_>| {
        let list = parser.parse_comma_separated(Parser::parse_identifier)?;
        Ok::<_, ParserError>(list.iter().map(folded).collect::<Vec<_>>())
    };
    let name = |parser: &mut Parser<'_>| parser.parse_identifier().map(|ident| folded(&ident));
    let mut found = RecursionClauses { search: None, cycle: None };
    if parser.parse_keyword(Keyword::SEARCH) {
        let word = name(parser)?;
        let order = match word.as_str() {
            "depth" => SearchOrder::Depth,
            "breadth" => SearchOrder::Breadth,
            _ => return parser.expected_ref("DEPTH or BREADTH", parser.peek_token_ref()),
        };
        parser.expect_keywords(&[Keyword::FIRST, Keyword::BY])?;
        let by = names(parser)?;
        parser.expect_keyword(Keyword::SET)?;
        found.search = Some(Search { order, by, set: name(parser)? });
    }
    if parser.parse_keyword(Keyword::CYCLE) {
        let columns = names(parser)?;
        parser.expect_keyword(Keyword::SET)?;
        let mark = name(parser)?;
        let mut values = ("TRUE".to_owned(), "FALSE".to_owned());
        if parser.parse_keyword(Keyword::TO) {
            let value = parser.parse_expr()?.to_string();
            parser.expect_keyword(Keyword::DEFAULT)?;
            values = (value, parser.parse_expr()?.to_string());
        }
        parser.expect_keyword(Keyword::USING)?;
        found.cycle = Some(Cycle { columns, mark, values, path: name(parser)? });
    }
    match parser.peek_token_ref().token {
        Token::EOF => Ok(found),
        _ => parser.expected_ref("the end of the clauses", parser.peek_token_ref()),
    }
}
