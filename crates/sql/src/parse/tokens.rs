//! Tokens of a statement: which words they are, and where those stand that are no blanks.

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::name::folded;
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

/// Beginning of the name of an argument that is given as VARIADIC.
pub(crate) const SPREAD: &str = "\u{1}variadic ";

/// Puts VARIADIC, the token at `at`, and the name behind it, if an arrow follows that, into the
/// form of a named argument. Returns the index after what it read.
pub(super) fn spread(
    tokens: &[TokenWithSpan],
    at: usize,
    prepared: &mut Vec<TokenWithSpan>,
) -> usize {
    let span = tokens[at].span;
    let mut put = |token| prepared.push(TokenWithSpan { token, span });
    let is_blank = |at: &usize| matches!(tokens[*at].token, Token::Whitespace(_));
    let mut rest = (at + 1..tokens.len()).filter(|at| !is_blank(at));
    if let (Some(name), Some(arrow)) = (rest.next(), rest.next())
        && let Token::Word(word) = &tokens[name].token
        && matches!(tokens[arrow].token, Token::RArrow | Token::Assignment)
    {
        let (value, quote_style) = (word.value.clone(), word.quote_style);
        let name_of = folded(&ast::Ident { value, quote_style, span });
        put(Token::make_word(&format!("{SPREAD}{name_of}"), Some('"')));
        return name + 1;
    }
    put(tokens[at].token.clone());
    put(Token::RArrow);
    at + 1
}
