//! Tokens of a statement: which words they are, and where those stand that are no blanks.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{is_keyword, is_word};

/// True for the unquoted word `text`.
pub(super) fn is(token: &TokenWithSpan, text: &str) -> bool {
    matches!(&token.token, Token::Word(word) if is_word(word, text))
}

/// Positions of the tokens that are no blanks.
pub(super) fn significant(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let is_one = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF);
    (0..tokens.len()).filter(is_one).collect()
}

/// Words behind which `TABLE name` is a query.
const BEFORE_QUERY: [&str; 9] =
    ["union", "intersect", "except", "all", "distinct", "as", "explain", "analyze", "verbose"];

/// True when the token at `at` is the TABLE of the query `TABLE name`, which stands wherever a
/// SELECT does.
pub(super) fn begins_table_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_one = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    if !tokens.get(at).is_some_and(|token| is_keyword(token, Keyword::TABLE)) {
        return false;
    }
    let name = tokens[at + 1..].iter().find(is_one);
    if !name.is_some_and(|name| matches!(name.token, Token::Word(_))) {
        return false;
    }
    let Some(before) = tokens[..at].iter().rev().find(is_one) else { return true };
    let first = tokens.iter().find(is_one);
    let begins_with = |word: &str| first.is_some_and(|first| is(first, word));
    match before.token {
        Token::LParen => true,
        Token::RParen => ["with", "insert", "explain"].into_iter().any(begins_with),
        Token::Word(_) if BEFORE_QUERY.iter().any(|word| is(before, word)) => true,
        // INSERT INTO t TABLE u
        Token::Word(_) => begins_with("insert"),
        _ => false,
    }
}
