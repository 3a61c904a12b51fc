//! Tokens of a statement: which words they are, and where those stand that are no blanks.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is_word;

/// True for the unquoted word `text`.
pub(super) fn is(token: &TokenWithSpan, text: &str) -> bool {
    matches!(&token.token, Token::Word(word) if is_word(word, text))
}

/// Positions of the tokens that are no blanks.
pub(super) fn significant(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let is_one = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF);
    (0..tokens.len()).filter(is_one).collect()
}
