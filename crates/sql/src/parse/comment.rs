//! COMMENT ON, of objects of every kind.

use sqlparser::ast;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, expect, peek_word, word, words};

/// Object of a comment.
#[derive(Clone, Debug)]
pub(crate) enum Commented {
    /// A table, view, index, sequence, column, schema, database, role or type.
    Object(&'static str, ast::ObjectName),
    /// A constraint of a table.
    Constraint(ast::Ident, ast::ObjectName),
    /// An object of a kind that `parse::absent` knows.
    Absent(super::Absent),
    /// A large object, by its number.
    LargeObject(u32),
    /// A kind that no object here is of: as DROP would name it.
    Other(&'static str),
}

/// COMMENT ON.
#[derive(Clone, Debug)]
pub(crate) struct CommentTree {
    pub(crate) on: Commented,
    /// None for NULL.
    pub(crate) text: Option<String>,
}

const OBJECTS: [&str; 12] = [
    "table",
    "view",
    "index",
    "sequence",
    "column",
    "schema",
    "database",
    "role",
    "type",
    "domain",
    "extension",
    "collation",
];

/// Kinds of objects whose names are more than a name.
const OTHERS: [(&[&str], &str); 6] = [
    (&["access", "method"], "ACCESS METHOD"),
    (&["cast"], "CAST"),
    (&["operator", "class"], "OPERATOR CLASS"),
    (&["operator", "family"], "OPERATOR FAMILY"),
    (&["operator"], "OPERATOR"),
    (&["transform"], "TRANSFORM"),
];

/// The statement, when it is this one.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if !words(parser, &["comment", "on"]) {
        return Ok(None);
    }
    let on = object(parser)?;
    if let Commented::Other(_) = on {
        while !peek_word(parser, 0, "is") && parser.peek_token_ref().token != Token::EOF {
            parser.next_token();
        }
    }
    expect(parser, "is")?;
    let text = if word(parser, "null") { None } else { Some(text(parser)?) };
    Ok(Some(SessionTree::Comment(Box::new(CommentTree { on, text }))))
}

/// The number of a large object.
pub(super) fn object_number(parser: &mut Parser<'_>) -> Parsed<u32> {
    let number = parser.parse_literal_uint()?;
    u32::try_from(number).map_err(|_| {
        ParserError::ParserError(format!("value \"{number}\" is out of range for type oid"))
    })
}

/// A string in quotes of any kind.
fn text(parser: &mut Parser<'_>) -> Parsed<String> {
    if let Token::DollarQuotedString(quoted) = &parser.peek_token_ref().token {
        let text = quoted.value.clone();
        parser.next_token();
        return Ok(text);
    }
    parser.parse_literal_string()
}

fn object(parser: &mut Parser<'_>) -> Parsed<Commented> {
    if word(parser, "constraint") {
        let name = parser.parse_identifier()?;
        expect(parser, "on")?;
        let is_of_domain = peek_word(parser, 0, "domain") && !peek_word(parser, 1, "is");
        if is_of_domain {
            return Ok(Commented::Other("CONSTRAINT ON DOMAIN"));
        }
        return Ok(Commented::Constraint(name, parser.parse_object_name(false)?));
    }
    if words(parser, &["materialized", "view"]) {
        return Ok(Commented::Object("materialized view", parser.parse_object_name(false)?));
    }
    if words(parser, &["large", "object"]) {
        return Ok(Commented::LargeObject(object_number(parser)?));
    }
    if let Some(kind) = OBJECTS.iter().find(|kind| word(parser, kind)) {
        return Ok(Commented::Object(kind, parser.parse_object_name(false)?));
    }
    if let Some((_, kind)) = OTHERS.iter().find(|(phrase, _)| words(parser, phrase)) {
        return Ok(Commented::Other(kind));
    }
    match super::absent::named(parser)? {
        Some(absent) => Ok(Commented::Absent(absent)),
        None => parser.expected_ref("a kind of object", parser.peek_token_ref()),
    }
}
