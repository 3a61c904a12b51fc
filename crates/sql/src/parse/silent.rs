//! Tokens that say nothing here: `NATIONAL CHARACTER`, and the star of `FROM t*`; and `FROM ONLY
//! t`, which becomes a part of the name ([`super::ONLY`]).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{is_keyword, is_word};

/// The index behind such words, if they begin at `at_idx` behind the tokens `before`.
pub(super) fn end(
    tokens: &[TokenWithSpan],
    at_idx: usize,
    before: &[TokenWithSpan],
) -> Option<usize> {
    let token = &tokens.get(at_idx)?.token;
    if *token == Token::Mul && follows_relation(before) {
        return Some(at_idx + 1);
    }
    let Token::Word(word) = token else { return None };
    let next = || {
        let mut rest = tokens.iter().enumerate().skip(at_idx + 1);
        rest.find(|(_, token)| !is_blank(token))
    };
    if is_word(word, "national") {
        let is_type = |word| is_keyword(next()?.1, word).then_some(at_idx + 1);
        return is_type(Keyword::CHAR).or_else(|| is_type(Keyword::CHARACTER));
    }
    None
}

/// Words before the name of a relation, which a star may follow.
const BEFORE_RELATION: [&str; 6] = ["from", "join", "table", "update", "into", "only"];

/// Functions whose arguments have FROM among them.
const WITH_FROM: [&str; 5] = ["extract", "substring", "trim", "overlay", "position"];

/// True when the last tokens are the name of a relation behind FROM or its like.
fn follows_relation(before: &[TokenWithSpan]) -> bool {
    let significant: Vec<&TokenWithSpan> =
        before.iter().rev().filter(|token| !is_blank(token)).collect();
    let is_word_at = |at: usize, text: &str| match significant.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => is_word(word, text),
        _ => false,
    };
    let token_at = |at: usize| significant.get(at).map(|token| &token.token);
    let mut at = 0;
    while matches!(token_at(at), Some(Token::Word(_))) && token_at(at + 1) == Some(&Token::Period) {
        at += 2;
    }
    let is_name = matches!(token_at(at), Some(Token::Word(_)));
    if !is_name || !BEFORE_RELATION.iter().any(|text| is_word_at(at + 1, text)) {
        return false;
    }
    // `extract(year FROM a * 2)` has no relation.
    let mut depth = 0_usize;
    for place in at + 2..significant.len() {
        match significant[place].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => {
                return !WITH_FROM.iter().any(|text| is_word_at(place + 1, text));
            }
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    true
}

/// True when ONLY at `at_idx`, behind the tokens `before`, is about the table that follows.
pub(super) fn is_only(tokens: &[TokenWithSpan], at_idx: usize, before: &[TokenWithSpan]) -> bool {
    let Some(Token::Word(word)) = tokens.get(at_idx).map(|token| &token.token) else {
        return false;
    };
    let last = || before.iter().rev().find(|token| !is_blank(token));
    let keywords = [Keyword::FROM, Keyword::JOIN, Keyword::UPDATE];
    is_word(word, "only")
        && last().is_some_and(|last| keywords.iter().any(|keyword| is_keyword(last, *keyword)))
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}
