//! Expressions of FETCH FIRST, where the grammar has numbers only. They go back into the tree as
//! soon as there is one.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Aside, Clause};
use crate::parse::reader::Parsed;
use crate::parse::tokens::{is, significant};
use crate::parse::visit::rewrite_statement;
use crate::parse::{parser, position};

/// Placeholder that stands for an expression of FETCH FIRST.
const FETCHED: &str = "$fetched";

/// Takes expressions in parentheses out of `FETCH FIRST (expression) ROWS`; each is kept by the
/// placeholder in its place.
///
/// # Errors
/// When one is none.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) -> Parsed<()> {
    let places = significant(tokens);
    for at in (0..places.len().saturating_sub(3)).rev() {
        let is_one = |next: usize, word: &str| is(&tokens[places[at + next]], word);
        let open = &tokens[places[at + 2]].token;
        if !is_one(0, "fetch") || !(is_one(1, "first") || is_one(1, "next")) {
            continue;
        }
        if *open != Token::LParen && *open != Token::Minus && *open != Token::Plus {
            continue;
        }
        let mut parser = parser(tokens[places[at + 2]..].to_vec());
        let expr = Parser::parse_expr(&mut parser)?;
        let (from, to) = (places[at + 2], places[at + 2] + parser.index());
        aside.keep(&tokens[from], Clause::Fetched(Box::new(expr)));
        let token = Token::Placeholder(FETCHED.to_owned());
        let placeholder = TokenWithSpan { token, span: tokens[from].span };
        tokens.splice(from..to, std::iter::once(placeholder));
    }
    Ok(())
}

/// Puts the expressions of FETCH FIRST back into `statement`.
pub(super) fn put(statement: &mut ast::Statement, aside: &Aside) {
    if !aside.clauses.values().any(|clause| matches!(clause, Clause::Fetched(_))) {
        return;
    }
    rewrite_statement(statement, &mut |query| {
        let quantity = query.fetch.as_mut().and_then(|fetch| fetch.quantity.as_mut());
        let Some(quantity) = quantity else { return };
        if let ast::Expr::Value(value) = &*quantity
            && let Some(Clause::Fetched(expr)) = aside.at(position(value.span))
        {
            *quantity = ast::Expr::Nested(expr.clone());
        }
    });
}
