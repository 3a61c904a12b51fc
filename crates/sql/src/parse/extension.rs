//! CREATE, ALTER and DROP EXTENSION.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, at_end, drop_behaviour, expect, if_exists, name, word, words};
use crate::words::{ExtensionStatement, IfExists};

/// The statement, when it is about extensions; ALTER EXTENSION in its other forms is left.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let statement = if words(parser, &["create", "extension"]) {
        create(parser)?
    } else if words(parser, &["drop", "extension"]) {
        let if_missing = if_exists(parser);
        let names = parser.parse_comma_separated(name)?;
        let behaviour = drop_behaviour(parser);
        ExtensionStatement::Drop { names, if_missing, behaviour }
    } else {
        match parser.maybe_parse(alter) {
            Ok(Some(statement)) => statement,
            _ => return Ok(None),
        }
    };
    Ok(Some(SessionTree::Extension(statement)))
}

fn create(parser: &mut Parser<'_>) -> Parsed<ExtensionStatement> {
    let exists = words(parser, &["if", "not", "exists"]);
    let if_exists = if exists { IfExists::Skip } else { IfExists::Fail };
    let extension = name(parser)?;
    word(parser, "with");
    let (mut schema, mut given) = (None, None);
    loop {
        if word(parser, "schema") {
            schema = Some(name(parser)?);
        } else if word(parser, "version") {
            given = Some(version(parser)?);
        } else if !word(parser, "cascade") {
            break;
        }
    }
    Ok(ExtensionStatement::Create { name: extension, schema, version: given, if_exists })
}

fn version(parser: &mut Parser<'_>) -> Parsed<String> {
    match &parser.peek_token_ref().token {
        Token::SingleQuotedString(_) => parser.parse_literal_string(),
        _ => name(parser),
    }
}

fn alter(parser: &mut Parser<'_>) -> Parsed<ExtensionStatement> {
    expect(parser, "alter")?;
    expect(parser, "extension")?;
    let extension = name(parser)?;
    let statement = if words(parser, &["set", "schema"]) {
        ExtensionStatement::Move { name: extension, to: name(parser)? }
    } else {
        expect(parser, "update")?;
        let to = if word(parser, "to") { Some(version(parser)?) } else { None };
        ExtensionStatement::Update { name: extension, to }
    };
    if at_end(parser) {
        Ok(statement)
    } else {
        parser.expected_ref("end of statement", parser.peek_token_ref())
    }
}
