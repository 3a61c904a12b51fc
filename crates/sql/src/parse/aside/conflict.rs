//! Targets of ON CONFLICT that the grammar lacks: expressions, and WHERE.
//!
//! ```text
//! ON CONFLICT (lower(a), b) WHERE c > 0 DO ...   ->   ON CONFLICT (target) DO ...
//!             ^ place ... of an Inference                          ^ at the same place
//! ```

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::{Aside, Clause};
use crate::parse::reader::Parsed;
use crate::parse::tokens::{is, significant};

/// Description of the unique indexes that a target of ON CONFLICT means.
#[derive(Clone, Debug)]
pub(crate) struct Inference {
    pub(crate) elements: Vec<ast::Expr>,
    pub(crate) predicate: Option<ast::Expr>,
}

/// Takes targets that are more than names of columns out of `tokens`, and puts a name in the place
/// of each, by which it is kept.
///
/// # Errors
/// When a target is none.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) -> Parsed<()> {
    if !tokens.iter().any(|token| is(token, "conflict")) {
        return Ok(());
    }
    let mut from = 0;
    while let Some((open, close)) = next_target(tokens, from) {
        from = open + 1;
        let inner = &tokens[open + 1..close];
        let is_name = |token: &TokenWithSpan| {
            matches!(token.token, Token::Word(_) | Token::Comma | Token::Whitespace(_))
        };
        let behind = &tokens[close + 1..];
        let first = significant(behind).first().copied();
        let has_where = first.is_some_and(|at| is(&behind[at], "where"));
        if inner.iter().all(is_name) && !has_where {
            continue;
        }
        let mut parser = crate::parse::parser(inner.to_vec());
        let elements = parser.parse_comma_separated(Parser::parse_expr)?;
        expect_end(&parser)?;
        let mut end = close;
        let mut predicate = None;
        if has_where && let Some(at) = first {
            let begin = close + 1 + at + 1;
            end = begin + action(&tokens[begin..]);
            let mut parser = crate::parse::parser(tokens[begin..end].to_vec());
            predicate = Some(parser.parse_expr()?);
            expect_end(&parser)?;
        }
        let span = tokens[open].span;
        let inference = Inference { elements, predicate };
        aside.keep(&tokens[open], Clause::Inference(Box::new(inference)));
        let name = Word {
            value: "target".to_owned(),
            quote_style: Some('"'),
            keyword: sqlparser::keywords::Keyword::NoKeyword,
        };
        let name = TokenWithSpan { token: Token::Word(name), span };
        let last = TokenWithSpan { token: Token::RParen, span };
        tokens.splice(open + 1..end.max(close + 1), [name, last]);
    }
    Ok(())
}

fn expect_end(parser: &Parser<'_>) -> Parsed<()> {
    match parser.peek_token_ref() {
        token if token.token == Token::EOF => Ok(()),
        token => parser.expected_ref("end of the conflict target", token),
    }
}

/// The parentheses of the first `ON CONFLICT (...)` from token `from` on.
fn next_target(tokens: &[TokenWithSpan], from: usize) -> Option<(usize, usize)> {
    let places: Vec<usize> = significant(tokens);
    let found = places.windows(3).find(|three| {
        three[2] >= from
            && is(&tokens[three[0]], "on")
            && is(&tokens[three[1]], "conflict")
            && tokens[three[2]].token == Token::LParen
    })?;
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(found[2]) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((found[2], at));
        }
    }
    None
}

/// Where DO stands, outside of parentheses; the end without it.
fn action(tokens: &[TokenWithSpan]) -> usize {
    let mut depth = 0;
    let found = tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth < 0 || (depth == 0 && is(token, "do"))
    });
    found.unwrap_or(tokens.len())
}
