//! Statements around another one: PREPARE and DECLARE.

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::Result;

use super::name::folded;
use super::{
    DeclareTree, LineIndex, PrepareTree, at_location, cursor, is_keyword, near, parse_statement,
    syntax_error,
};

/// Refuses PREPARE and DECLARE inside of each other.
fn refuse_wrapped(tokens: &[TokenWithSpan]) -> Result<()> {
    let first = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    let wraps = |token: &&TokenWithSpan| {
        [Keyword::PREPARE, Keyword::DECLARE].iter().any(|word| is_keyword(token, *word))
    };
    match first.filter(wraps) {
        Some(token) => Err(near(&token.token.to_string(), at_location(token.span.start))),
        None => Ok(()),
    }
}

/// `PREPARE name [(types)] AS statement`.
pub(super) fn prepare(
    text: &str,
    index: &LineIndex<'_>,
    tokens: &[TokenWithSpan],
) -> Result<PrepareTree> {
    let mut parser = super::parser(tokens.to_vec());
    let mut head = || {
        parser.expect_keyword(Keyword::PREPARE)?;
        let name = parser.parse_identifier()?;
        let mut types = Vec::new();
        if parser.consume_token(&Token::LParen) {
            types = parser.parse_comma_separated(Parser::parse_data_type)?;
            parser.expect_token(&Token::RParen)?;
        }
        parser.expect_keyword(Keyword::AS)?;
        Ok((folded(&name), types))
    };
    let (name, types) = head().map_err(syntax_error)?;
    let rest = tokens.get(parser.index()..).unwrap_or_default();
    refuse_wrapped(rest)?;
    match parse_statement(text, index, rest)? {
        Some(statement) => Ok(PrepareTree { name, types, statement }),
        None => Err(near("EOF", None)),
    }
}

/// `DECLARE name [options] CURSOR [WITH HOLD] FOR query`.
pub(super) fn declare(
    text: &str,
    index: &LineIndex<'_>,
    tokens: &[TokenWithSpan],
) -> Result<DeclareTree> {
    let mut parser = super::parser(tokens.to_vec());
    let (name, options) = cursor::head(&mut parser).map_err(syntax_error)?;
    let rest = tokens.get(parser.index()..).unwrap_or_default();
    refuse_wrapped(rest)?;
    match parse_statement(text, index, rest)? {
        Some(statement) => Ok(DeclareTree { name, options, statement }),
        None => Err(near("EOF", None)),
    }
}
