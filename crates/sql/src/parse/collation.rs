//! CREATE, ALTER and DROP COLLATION.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use types::Position;

use super::SessionTree;
use super::grant::{relation, role_name};
use super::reader::{Parsed, drop_behaviour, expect, if_exists, name, peek_word, word, words};
use crate::words::{CollationAction, CollationStatement, IfExists, RelationName};

/// CREATE COLLATION as it is written.
#[derive(Clone, Debug)]
pub(crate) struct CollationTree {
    pub(crate) name: RelationName,
    pub(crate) if_exists: IfExists,
    pub(crate) source: CollationSource,
}

/// Definition of a collation.
#[derive(Clone, Debug)]
pub(crate) enum CollationSource {
    /// FROM.
    Copy(ast::ObjectName),
    Options(Vec<CollationOption>),
}

/// `name [= value]`.
#[derive(Clone, Debug)]
pub(crate) struct CollationOption {
    pub(crate) name: String,
    /// A name without quotes is folded, a string as it is.
    pub(crate) value: Option<String>,
    pub(crate) at: Option<Position>,
}

/// The statement, when it is about collations.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if words(parser, &["create", "collation"]) {
        return create(parser).map(|tree| Some(SessionTree::CreateCollation(Box::new(tree))));
    }
    let statement = if words(parser, &["drop", "collation"]) {
        let if_missing = if_exists(parser);
        let names = parser.parse_comma_separated(relation)?;
        let behaviour = drop_behaviour(parser);
        CollationStatement::Drop { names, if_missing, behaviour }
    } else if words(parser, &["alter", "collation"]) {
        let name = relation(parser)?;
        CollationStatement::Alter { name, action: action(parser)? }
    } else {
        return Ok(None);
    };
    Ok(Some(SessionTree::Collation(statement)))
}

fn create(parser: &mut Parser<'_>) -> Parsed<CollationTree> {
    let exists = words(parser, &["if", "not", "exists"]);
    let if_exists = if exists { IfExists::Skip } else { IfExists::Fail };
    let name = relation(parser)?;
    let source = if word(parser, "from") {
        CollationSource::Copy(parser.parse_object_name(false)?)
    } else {
        parser.expect_token(&Token::LParen)?;
        let options = parser.parse_comma_separated(option)?;
        parser.expect_token(&Token::RParen)?;
        CollationSource::Options(options)
    };
    Ok(CollationTree { name, if_exists, source })
}

fn option(parser: &mut Parser<'_>) -> Parsed<CollationOption> {
    let at = super::position(parser.peek_token_ref().span);
    let option = name(parser)?;
    let value = if parser.consume_token(&Token::Eq) { Some(value(parser)?) } else { None };
    Ok(CollationOption { name: option, value, at })
}

/// A string, a number, or a name, perhaps with its schema.
fn value(parser: &mut Parser<'_>) -> Parsed<String> {
    match &parser.peek_token_ref().token {
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => {
            parser.parse_literal_string()
        }
        Token::Number(..) => Ok(parser.next_token().token.to_string()),
        _ => {
            let mut value = name(parser)?;
            while parser.consume_token(&Token::Period) {
                value = format!("{value}.{}", name(parser)?);
            }
            Ok(value)
        }
    }
}

fn action(parser: &mut Parser<'_>) -> Parsed<CollationAction> {
    if words(parser, &["rename", "to"]) {
        return Ok(CollationAction::Rename(name(parser)?));
    }
    if words(parser, &["set", "schema"]) {
        return Ok(CollationAction::Move(name(parser)?));
    }
    if words(parser, &["owner", "to"]) {
        return Ok(CollationAction::Own(role_name(parser)?));
    }
    if peek_word(parser, 0, "refresh") {
        expect(parser, "refresh")?;
        expect(parser, "version")?;
        return Ok(CollationAction::Refresh);
    }
    let expected = "RENAME TO, OWNER TO, SET SCHEMA or REFRESH VERSION";
    parser.expected_ref(expected, parser.peek_token_ref())
}
