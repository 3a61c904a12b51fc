//! Words that say nothing here: `CHECK (...) NO INHERIT` and `NATIONAL CHARACTER`; and `FROM ONLY
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
    let Token::Word(word) = &tokens.get(at_idx)?.token else { return None };
    let next = || {
        let mut rest = tokens.iter().enumerate().skip(at_idx + 1);
        rest.find(|(_, token)| !is_blank(token))
    };
    if is_word(word, "national") {
        let is_type = |word| is_keyword(next()?.1, word).then_some(at_idx + 1);
        return is_type(Keyword::CHAR).or_else(|| is_type(Keyword::CHARACTER));
    }
    if !is_word(word, "no") {
        return None;
    }
    let closed = before.iter().rev().find(|token| !is_blank(token))?.token == Token::RParen;
    let (next_idx, next) = next()?;
    let inherits = matches!(&next.token, Token::Word(word) if is_word(word, "inherit"));
    (closed && inherits).then_some(next_idx + 1)
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
