//! Steps of the statements that are parsed here and not by sqlparser: words, names, the end.
//!
//! Called by the statements' own files, from `session` down.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::is_word;
use super::name::folded;
use crate::words::{DropBehaviour, IfMissing};

/// Result of reading a part of a statement.
pub(super) type Parsed<T> = std::result::Result<T, ParserError>;

/// True when the unquoted word `text` comes next; it is consumed.
pub(super) fn word(parser: &mut Parser<'_>, text: &str) -> bool {
    let found = peek_word(parser, 0, text);
    if found {
        parser.next_token();
    }
    found
}

/// True when the unquoted word `text` is the one at `at` from here.
pub(super) fn peek_word(parser: &Parser<'_>, at: usize, text: &str) -> bool {
    match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) => is_word(word, text),
        _ => false,
    }
}

/// Consumes all of `texts` if they come next.
pub(super) fn words(parser: &mut Parser<'_>, texts: &[&str]) -> bool {
    let found = texts.iter().enumerate().all(|(at, text)| peek_word(parser, at, text));
    if found {
        texts.iter().for_each(|_| {
            parser.next_token();
        });
    }
    found
}

/// Consumes the unquoted word `text`, which has to come next.
pub(super) fn expect(parser: &mut Parser<'_>, text: &str) -> Parsed<()> {
    if word(parser, text) {
        Ok(())
    } else {
        parser.expected_ref(&text.to_uppercase(), parser.peek_token_ref())
    }
}

/// IF EXISTS, if it comes next: what a statement does where its object is missing.
pub(super) fn if_exists(parser: &mut Parser<'_>) -> IfMissing {
    if words(parser, &["if", "exists"]) { IfMissing::Skip } else { IfMissing::Fail }
}

/// CASCADE or RESTRICT, if it comes next.
pub(super) fn drop_behaviour(parser: &mut Parser<'_>) -> DropBehaviour {
    if word(parser, "cascade") {
        return DropBehaviour::Cascade;
    }
    word(parser, "restrict");
    DropBehaviour::Restrict
}

/// Reads a name, folded as PostgreSQL folds it.
pub(super) fn name(parser: &mut Parser<'_>) -> Parsed<String> {
    Ok(folded(&parser.parse_identifier()?))
}

/// True behind the last token.
pub(super) fn at_end(parser: &Parser<'_>) -> bool {
    parser.peek_token_ref().token == Token::EOF
}
