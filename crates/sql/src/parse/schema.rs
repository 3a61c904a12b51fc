//! CREATE, ALTER and DROP SCHEMA, ALTER ... SET SCHEMA.

use sqlparser::parser::Parser;

use super::SessionTree;
use super::grant::{relation, role_name};
use super::reader::{
    Parsed, at_end, drop_behaviour, expect, if_exists, name, peek_word, word, words,
};
use crate::words::{IfExists, ObjectKind, RelationName, SchemaStatement, SetScope};

/// The statement, when it is about schemas.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if words(parser, &["set", "schema"]) {
        let name = parser.parse_literal_string()?;
        let value = Some(RelationName::public(&name).quoted());
        let (name, scope) = ("search_path".to_owned(), SetScope::Session);
        return Ok(Some(SessionTree::SetRole { name, value, scope }));
    }
    let statement = if words(parser, &["create", "schema"]) {
        create(parser)?
    } else if words(parser, &["drop", "schema"]) {
        let if_missing = if_exists(parser);
        let names = parser.parse_comma_separated(name)?;
        let behaviour = drop_behaviour(parser);
        SchemaStatement::Drop { names, if_missing, behaviour }
    } else if peek_word(parser, 0, "alter") && peek_word(parser, 1, "schema") {
        match rename(parser) {
            Some(statement) => statement,
            None => return Ok(None),
        }
    } else {
        return Ok(set_schema(parser).map(SessionTree::Schema));
    };
    Ok(Some(SessionTree::Schema(statement)))
}

fn create(parser: &mut Parser<'_>) -> Parsed<SchemaStatement> {
    let exists = words(parser, &["if", "not", "exists"]);
    let if_exists = if exists { IfExists::Skip } else { IfExists::Fail };
    let mut owner = None;
    let mut schema = None;
    if !peek_word(parser, 0, "authorization") {
        schema = Some(name(parser)?);
    }
    if word(parser, "authorization") {
        owner = Some(role_name(parser)?);
    }
    Ok(SchemaStatement::Create { name: schema, owner, if_exists })
}

/// ALTER SCHEMA ... RENAME TO; None, and nothing is consumed, for any other statement.
fn rename(parser: &mut Parser<'_>) -> Option<SchemaStatement> {
    let parsed = parser.maybe_parse(|parser| {
        expect(parser, "alter")?;
        expect(parser, "schema")?;
        let name_now = name(parser)?;
        expect(parser, "rename")?;
        expect(parser, "to")?;
        Ok(SchemaStatement::Rename { name: name_now, to: name(parser)? })
    });
    parsed.ok().flatten()
}

/// ALTER ... SET SCHEMA; None, and nothing is consumed, for any other statement.
fn set_schema(parser: &mut Parser<'_>) -> Option<SchemaStatement> {
    let kinds = [
        (&["table"][..], ObjectKind::Table),
        (&["view"], ObjectKind::View),
        (&["materialized", "view"], ObjectKind::MaterializedView),
        (&["sequence"], ObjectKind::Sequence),
    ];
    let parsed = parser.maybe_parse(|parser| {
        expect(parser, "alter")?;
        let Some((_, kind)) = kinds.iter().find(|(phrase, _)| words(parser, phrase)) else {
            return parser.expected_ref("a relation", parser.peek_token_ref());
        };
        let if_missing = if_exists(parser);
        word(parser, "only");
        let name_now = relation(parser)?;
        expect(parser, "set")?;
        expect(parser, "schema")?;
        let to = name(parser)?;
        if !at_end(parser) {
            return parser.expected_ref("end of statement", parser.peek_token_ref());
        }
        Ok(SchemaStatement::Move { kind: *kind, name: name_now, if_missing, to })
    });
    parsed.ok().flatten()
}
