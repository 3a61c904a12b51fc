//! Statements about objects of kinds that no database here has: DROP of them.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, drop_behaviour, expect, if_exists, peek_word, word, words};
use crate::words::IfMissing;

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In no schema.
    Global,
    /// In a schema.
    InSchema,
    /// With the types of its arguments.
    Routine,
    /// On a table: `name ON table`.
    OfTable,
}

/// Description of a kind of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The words behind DROP.
    words: &'static [&'static str],
    /// The command's tag.
    pub(crate) command: &'static str,
    /// How messages name it.
    pub(crate) label: &'static str,
    pub(crate) form: Form,
}

const fn kind(
    words: &'static [&'static str],
    command: &'static str,
    label: &'static str,
    form: Form,
) -> Kind {
    Kind { words, command, label, form }
}

const KINDS: &[Kind] = &[
    kind(&["conversion"], "DROP CONVERSION", "conversion", Form::InSchema),
    kind(&["statistics"], "DROP STATISTICS", "statistics object", Form::InSchema),
    kind(
        &["text", "search", "configuration"],
        "DROP TEXT SEARCH CONFIGURATION",
        "text search configuration",
        Form::InSchema,
    ),
    kind(
        &["text", "search", "dictionary"],
        "DROP TEXT SEARCH DICTIONARY",
        "text search dictionary",
        Form::InSchema,
    ),
    kind(
        &["text", "search", "parser"],
        "DROP TEXT SEARCH PARSER",
        "text search parser",
        Form::InSchema,
    ),
    kind(
        &["text", "search", "template"],
        "DROP TEXT SEARCH TEMPLATE",
        "text search template",
        Form::InSchema,
    ),
    kind(&["access", "method"], "DROP ACCESS METHOD", "access method", Form::Global),
    kind(&["foreign", "table"], "DROP FOREIGN TABLE", "foreign table", Form::InSchema),
    kind(&["language"], "DROP LANGUAGE", "language", Form::Global),
    kind(&["procedural", "language"], "DROP LANGUAGE", "language", Form::Global),
    kind(&["publication"], "DROP PUBLICATION", "publication", Form::Global),
    kind(&["subscription"], "DROP SUBSCRIPTION", "subscription", Form::Global),
    kind(&["event", "trigger"], "DROP EVENT TRIGGER", "event trigger", Form::Global),
    kind(&["tablespace"], "DROP TABLESPACE", "tablespace", Form::Global),
    kind(&["server"], "DROP SERVER", "server", Form::Global),
    kind(
        &["foreign", "data", "wrapper"],
        "DROP FOREIGN DATA WRAPPER",
        "foreign-data wrapper",
        Form::Global,
    ),
    kind(&["function"], "DROP FUNCTION", "function", Form::Routine),
    kind(&["procedure"], "DROP PROCEDURE", "procedure", Form::Routine),
    kind(&["routine"], "DROP ROUTINE", "routine", Form::Routine),
    kind(&["aggregate"], "DROP AGGREGATE", "aggregate", Form::Routine),
    // Of COMMENT alone: there are triggers.
    kind(&["trigger"], "DROP TRIGGER", "trigger", Form::OfTable),
    kind(&["rule"], "DROP RULE", "rule", Form::OfTable),
    // Of COMMENT alone: there are policies.
    kind(&["policy"], "DROP POLICY", "policy", Form::OfTable),
];

/// An object that DROP names.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: ast::ObjectName,
    /// Types of a routine's arguments, when given.
    pub(crate) arguments: Option<Vec<ast::DataType>>,
    /// The table that it is of.
    pub(crate) table: Option<ast::ObjectName>,
}

/// The statement.
#[derive(Clone, Debug)]
pub(crate) enum Absent {
    Drop { kind: Kind, if_missing: IfMissing, objects: Vec<Object> },
}

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let is_named = |kind: &&Kind| {
        let mut named = kind.words.iter().enumerate();
        named.all(|(at, text)| peek_word(parser, at + 1, text))
    };
    if !peek_word(parser, 0, "drop") || peek_word(parser, 1, "policy") {
        return Ok(None);
    }
    let Some(kind) = KINDS.iter().find(is_named).copied() else { return Ok(None) };
    (0..=kind.words.len()).for_each(|_| {
        parser.next_token();
    });
    let if_missing = if_exists(parser);
    let objects = parser.parse_comma_separated(|parser| object(parser, kind.form))?;
    drop_behaviour(parser);
    Ok(Some(SessionTree::Absent(Absent::Drop { kind, if_missing, objects })))
}

/// `kind name`, as COMMENT ON has it, as DROP of it would be.
pub(super) fn named(parser: &mut Parser<'_>) -> Parsed<Option<Absent>> {
    let Some(kind) = KINDS.iter().find(|kind| words(parser, kind.words)).copied() else {
        return Ok(None);
    };
    let objects = vec![object(parser, kind.form)?];
    Ok(Some(Absent::Drop { kind, if_missing: IfMissing::Fail, objects }))
}

pub(super) fn object(parser: &mut Parser<'_>, form: Form) -> Parsed<Object> {
    let mut object =
        Object { name: parser.parse_object_name(false)?, arguments: None, table: None };
    match form {
        Form::Routine if parser.consume_token(&Token::LParen) => {
            object.arguments = Some(arguments(parser)?);
        }
        Form::OfTable => {
            expect(parser, "on")?;
            object.table = Some(parser.parse_object_name(false)?);
        }
        _ => {}
    }
    Ok(object)
}

/// `[mode] [name] type, ...)`: the types of those that go in.
fn arguments(parser: &mut Parser<'_>) -> Parsed<Vec<ast::DataType>> {
    let mut types = Vec::new();
    if parser.consume_token(&Token::RParen) {
        return Ok(types);
    }
    if parser.consume_token(&Token::Mul) {
        parser.expect_token(&Token::RParen)?;
        return Ok(types);
    }
    loop {
        let is_out = word(parser, "out");
        let _ = !is_out && (word(parser, "inout") || word(parser, "in"));
        if word(parser, "variadic") {
            // As calls have it.
            let _ = parser.consume_token(&Token::RArrow);
        }
        let is_type = |parser: &mut Parser<'_>| {
            let ty = parser.parse_data_type()?;
            match parser.peek_token_ref().token {
                Token::Comma | Token::RParen => Ok(ty),
                _ => parser.expected_ref(", or )", parser.peek_token_ref()),
            }
        };
        let ty = match parser.maybe_parse(is_type)? {
            Some(ty) => ty,
            None => {
                parser.parse_identifier()?;
                let _ = word(parser, "variadic") || word(parser, "inout") || word(parser, "in");
                parser.parse_data_type()?
            }
        };
        if !is_out {
            types.push(ty);
        }
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(types);
        }
    }
}
