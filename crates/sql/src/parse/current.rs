//! UPDATE and DELETE of the row that a cursor is on: `... WHERE CURRENT OF name`.
//!
//! The statement is parsed without that clause; `engine` runs it for the one row.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::Result;

use super::{SessionTree, Tree, is_word, parse_tree};

/// The statement; None for others.
pub(super) fn parse(tokens: &[TokenWithSpan]) -> Result<Option<Tree>> {
    let places: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let word = |at: usize, text: &str| {
        let token = places.get(at).map(|at| &tokens[*at].token);
        matches!(token, Some(Token::Word(word)) if is_word(word, text))
    };
    if !word(0, "update") && !word(0, "delete") {
        return Ok(None);
    }
    let begins = |at: &usize| word(*at, "where") && word(at + 1, "current") && word(at + 2, "of");
    let Some(at) = (1..places.len()).find(begins) else { return Ok(None) };
    let Some(Token::Word(name)) = places.get(at + 3).map(|place| &tokens[*place].token) else {
        return Ok(None);
    };
    let name = match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    let mut rest = tokens.to_vec();
    rest.drain(places[at]..=places[at + 3]);
    let tree = Box::new(parse_tree(super::prepare(&rest))?);
    Ok(Some(Tree::Session(Box::new(SessionTree::AtCursor { name, tree }))))
}
