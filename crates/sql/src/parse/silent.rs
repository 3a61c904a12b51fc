//! Words that say nothing here: `FROM ONLY t` and `CHECK (...) NO INHERIT`, as no table has others
//! below it, and `NATIONAL CHARACTER`.

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
    let follows = |keywords: &[Keyword]| {
        let last = before.iter().rev().find(|token| !is_blank(token));
        last.is_some_and(|last| keywords.iter().any(|keyword| is_keyword(last, *keyword)))
    };
    let next = || {
        let mut rest = tokens.iter().enumerate().skip(at_idx + 1);
        rest.find(|(_, token)| !is_blank(token))
    };
    if is_word(word, "only") {
        return follows(&[Keyword::FROM, Keyword::JOIN, Keyword::UPDATE]).then_some(at_idx + 1);
    }
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

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}
