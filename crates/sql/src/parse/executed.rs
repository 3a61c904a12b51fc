//! `CREATE TABLE t AS EXECUTE name (arguments)`: a table of what a prepared statement gives.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::Result;

use super::{LineIndex, SessionTree, Tree, is_word, session, syntax_error};

/// The statement, or one at a cursor; None for others.
pub(super) fn parse(
    text: &str,
    index: &LineIndex<'_>,
    tokens: &[TokenWithSpan],
) -> Result<Option<Tree>> {
    let places: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let word = |at: usize, text: &str| {
        let token = places.get(at).map(|at| &tokens[*at].token);
        matches!(token, Some(Token::Word(word)) if is_word(word, text))
    };
    if !(word(0, "create") && (1..4).any(|at| word(at, "table"))) {
        return super::current::parse(tokens);
    }
    let begins = |at: &usize| word(*at, "as") && word(at + 1, "execute");
    let Some(at) = (2..places.len()).find(begins) else { return Ok(None) };
    let (first, begin) = (places[0], places[at + 1]);
    let mut parser = super::parser(tokens[begin..].to_vec());
    let SessionTree::Execute { name, arguments } =
        session::execute(&mut parser).map_err(syntax_error)?
    else {
        return Ok(None);
    };
    let rest = tokens.get(begin + parser.index()..).unwrap_or_default();
    let offset = |token: &TokenWithSpan| index.offset(token.span.start);
    let tail = rest.iter().find(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF));
    let end = |token: &TokenWithSpan| index.offset(token.span.end);
    let last = places.last().map_or(begin, |last| *last);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    Ok(Some(Tree::Session(Box::new(SessionTree::CreateExecuted {
        head: part(offset(&tokens[first]), offset(&tokens[begin])),
        name,
        arguments,
        tail: tail.map(|tail| part(offset(tail), end(&tokens[last]))).unwrap_or_default(),
    }))))
}
