//! GRANT, REVOKE, ALTER DEFAULT PRIVILEGES, ALTER ... OWNER TO, REASSIGN OWNED, SET ROLE.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::absent::{Form, Object, object};
use super::reader::{Parsed, at_end, drop_behaviour, expect, if_exists, name, word, words};
use crate::words::{
    DefaultKind, DropBehaviour, GrantAction, GrantOption, ObjectKind, Objects, Privilege,
    PrivilegeStatement, Privileges, RelationName, RoleName, RoutineWord, SetScope,
};

/// The statement, when it is about privileges.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let statement = if word(parser, "grant") {
        return change(parser, GrantAction::Grant).map(Some);
    } else if word(parser, "revoke") {
        return change(parser, GrantAction::Revoke).map(Some);
    } else if words(parser, &["reassign", "owned", "by"]) {
        let from = parser.parse_comma_separated(role_name)?;
        expect(parser, "to")?;
        PrivilegeStatement::Reassign { from, to: role_name(parser)? }
    } else if words(parser, &["alter", "default", "privileges"]) {
        defaults(parser)?
    } else if words(parser, &["drop", "owned", "by"]) {
        let roles = parser.parse_comma_separated(role_name)?;
        PrivilegeStatement::DropOwned { roles, behaviour: drop_behaviour(parser) }
    } else {
        return Ok(owner(parser).map(SessionTree::Privilege));
    };
    Ok(Some(SessionTree::Privilege(statement)))
}

/// SET and RESET of ROLE and SESSION AUTHORIZATION.
pub(super) fn parse_set(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    for (texts, scope, setting) in SETS {
        if words(parser, texts) {
            let (name, scope) = ((*setting).to_owned(), *scope);
            if !parser.consume_token(&Token::Eq) {
                word(parser, "to");
            }
            if word(parser, "default") {
                return Ok(Some(SessionTree::SetRole { name, value: None, scope }));
            }
            let value = match parser.peek_token_ref().token {
                Token::SingleQuotedString(_) => parser.parse_literal_string()?,
                _ => super::reader::name(parser)?,
            };
            return Ok(Some(SessionTree::SetRole { name, value: Some(value), scope }));
        }
    }
    for (texts, setting) in RESETS {
        if words(parser, texts) {
            let (name, scope) = ((*setting).to_owned(), SetScope::Session);
            return Ok(Some(SessionTree::SetRole { name, value: None, scope }));
        }
    }
    Ok(None)
}

const SETS: &[(&[&str], SetScope, &str)] = &[
    (&["set", "role"], SetScope::Session, "role"),
    (&["set", "session", "role"], SetScope::Session, "role"),
    (&["set", "local", "role"], SetScope::Transaction, "role"),
    (&["set", "session", "authorization"], SetScope::Session, "session_authorization"),
    (&["set", "session", "session", "authorization"], SetScope::Session, "session_authorization"),
    (&["set", "local", "session", "authorization"], SetScope::Transaction, "session_authorization"),
];

const RESETS: &[(&[&str], &str)] = &[
    (&["reset", "role"], "role"),
    (&["reset", "session", "authorization"], "session_authorization"),
];

pub(super) fn role_name(parser: &mut Parser<'_>) -> Parsed<RoleName> {
    word(parser, "group");
    let known = [
        ("public", RoleName::Public),
        ("current_user", RoleName::Current),
        ("current_role", RoleName::Current),
        ("session_user", RoleName::Session),
    ];
    match known.into_iter().find(|(text, _)| word(parser, text)) {
        Some((_, role)) => Ok(role),
        None => name(parser).map(RoleName::Named),
    }
}

pub(super) fn relation(parser: &mut Parser<'_>) -> Parsed<RelationName> {
    let mut parts = vec![name(parser)?];
    while parser.consume_token(&Token::Period) {
        parts.push(name(parser)?);
    }
    let name = parts.pop().unwrap_or_default();
    Ok(RelationName { schema: parts.pop(), name })
}

/// Parses the rest of GRANT or REVOKE.
fn change(parser: &mut Parser<'_>, action: GrantAction) -> Parsed<SessionTree> {
    let mut option = option_for(parser, action);
    let items = parser.parse_comma_separated(item)?;
    let before = if action == GrantAction::Grant { "to" } else { "from" };
    if !word(parser, "on") {
        let role = |item: Item| match item {
            Item { name: Some(name), columns } if columns.is_empty() => Some(name),
            _ => None,
        };
        let listed: Option<Vec<String>> = items.into_iter().map(role).collect();
        let Some(listed) = listed else {
            return parser.expected_ref("ON", parser.peek_token_ref());
        };
        expect(parser, before)?;
        let members = parser.parse_comma_separated(role_name)?;
        if action == GrantAction::Grant && words(parser, &["with", "admin", "option"]) {
            option = GrantOption::Yes;
        }
        tail(parser)?;
        let statement = PrivilegeStatement::Roles { action, roles: listed, members, option };
        return Ok(SessionTree::Privilege(statement));
    }
    let routines = routines(parser)?;
    let objects = match &routines {
        Some(_) => Objects::Routines(Vec::new()),
        None => match objects(parser)? {
            Some(objects) => objects,
            None => {
                let what = "GRANT and REVOKE on other objects than relations";
                return Ok(SessionTree::Privilege(refused(parser, what)));
            }
        },
    };
    expect(parser, before)?;
    let grantees = parser.parse_comma_separated(role_name)?;
    if action == GrantAction::Grant && words(parser, &["with", "grant", "option"]) {
        option = GrantOption::Yes;
    }
    let behaviour = tail(parser)?;
    let mut privileges = Some(Privileges::NONE);
    let mut columns = Vec::new();
    for Item { name, columns: named } in items {
        let meant = name.as_deref().map(privilege).transpose()?;
        if named.is_empty() {
            privileges = privileges.zip(meant).map(|(all, more)| all.with(more))
        } else {
            columns.push((meant, named))
        }
    }
    let statement = PrivilegeStatement::Objects {
        action,
        privileges,
        columns,
        objects,
        grantees,
        option,
        behaviour,
    };
    Ok(match routines {
        Some((word, routines)) => SessionTree::PrivilegeOnRoutines { statement, word, routines },
        None => SessionTree::Privilege(statement),
    })
}

/// `FUNCTION name [(types)], ...` and its kin.
fn routines(parser: &mut Parser<'_>) -> Parsed<Option<(RoutineWord, Vec<Object>)>> {
    let known = [
        ("function", RoutineWord::Function),
        ("procedure", RoutineWord::Procedure),
        ("routine", RoutineWord::Routine),
    ];
    let Some((_, found)) = known.into_iter().find(|(text, _)| word(parser, text)) else {
        return Ok(None);
    };
    let all = parser.parse_comma_separated(|parser| object(parser, Form::Routine))?;
    Ok(Some((found, all)))
}

/// A privilege or role of a list, with the columns behind it; no name for ALL.
struct Item {
    name: Option<String>,
    columns: Vec<String>,
}

fn item(parser: &mut Parser<'_>) -> Parsed<Item> {
    let named = if word(parser, "all") {
        word(parser, "privileges");
        None
    } else {
        Some(name(parser)?)
    };
    let mut columns = Vec::new();
    if parser.consume_token(&Token::LParen) {
        columns = parser.parse_comma_separated(name)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(Item { name: named, columns })
}

fn privilege(text: &str) -> Parsed<Privileges> {
    match Privilege::from_name(text) {
        Some(privilege) => Ok(Privileges::of(&[privilege])),
        None => {
            let message = format!("unrecognized privilege type \"{text}\"");
            Err(ParserError::ParserError(message))
        }
    }
}

/// GRANT OPTION FOR and its kin.
fn option_for(parser: &mut Parser<'_>, action: GrantAction) -> GrantOption {
    let is_said = action == GrantAction::Revoke
        && (words(parser, &["grant", "option", "for"])
            || words(parser, &["admin", "option", "for"]));
    if is_said { GrantOption::Yes } else { GrantOption::No }
}

/// Parses the rest of ALTER DEFAULT PRIVILEGES.
fn defaults(parser: &mut Parser<'_>) -> Parsed<PrivilegeStatement> {
    let (mut roles, mut schemas) = (Vec::new(), Vec::new());
    loop {
        if words(parser, &["for", "role"]) || words(parser, &["for", "user"]) {
            roles.extend(parser.parse_comma_separated(role_name)?);
        } else if words(parser, &["in", "schema"]) {
            schemas.extend(parser.parse_comma_separated(name)?);
        } else {
            break;
        }
    }
    let action = if word(parser, "grant") {
        GrantAction::Grant
    } else {
        expect(parser, "revoke")?;
        GrantAction::Revoke
    };
    let mut option = option_for(parser, action);
    let items = parser.parse_comma_separated(item)?;
    let mut privileges = Some(Privileges::NONE);
    for Item { name, columns } in items {
        if !columns.is_empty() {
            return parser.expected_ref("ON", parser.peek_token_ref());
        }
        let meant = name.as_deref().map(privilege).transpose()?;
        privileges = privileges.zip(meant).map(|(all, more)| all.with(more));
    }
    expect(parser, "on")?;
    let kinds = [
        ("tables", DefaultKind::Tables),
        ("sequences", DefaultKind::Sequences),
        ("schemas", DefaultKind::Schemas),
        ("functions", DefaultKind::Routines),
        ("routines", DefaultKind::Routines),
    ];
    let Some((_, kind)) = kinds.into_iter().find(|(text, _)| word(parser, text)) else {
        if word(parser, "types") {
            return Ok(refused(parser, "default privileges on types"));
        }
        return parser.expected_ref("TABLES", parser.peek_token_ref());
    };
    expect(parser, if action == GrantAction::Grant { "to" } else { "from" })?;
    let grantees = parser.parse_comma_separated(role_name)?;
    if action == GrantAction::Grant && words(parser, &["with", "grant", "option"]) {
        option = GrantOption::Yes;
    }
    tail(parser)?;
    Ok(PrivilegeStatement::Defaults { roles, schemas, action, privileges, kind, grantees, option })
}

/// GRANTED BY, CASCADE, RESTRICT.
fn tail(parser: &mut Parser<'_>) -> Parsed<DropBehaviour> {
    if words(parser, &["granted", "by"]) {
        role_name(parser)?;
    }
    Ok(drop_behaviour(parser))
}

/// None for objects that do not exist here.
fn objects(parser: &mut Parser<'_>) -> Parsed<Option<Objects>> {
    for (kind, make) in [
        ("tables", Objects::AllTables as fn(Vec<String>) -> Objects),
        ("sequences", Objects::AllSequences),
    ] {
        if words(parser, &["all", kind, "in", "schema"]) {
            return parser.parse_comma_separated(name).map(|names| Some(make(names)));
        }
    }
    for (kind, found) in [
        ("functions", RoutineWord::Function),
        ("procedures", RoutineWord::Procedure),
        ("routines", RoutineWord::Routine),
    ] {
        if words(parser, &["all", kind, "in", "schema"]) {
            let names = parser.parse_comma_separated(name)?;
            return Ok(Some(Objects::AllRoutines(found, names)));
        }
    }
    let others = ["language", "tablespace", "foreign", "large"];
    if words(parser, &["all"]) || others.iter().any(|other| word(parser, other)) {
        return Ok(None);
    }
    if word(parser, "schema") {
        return parser.parse_comma_separated(name).map(|names| Some(Objects::Schemas(names)));
    }
    if word(parser, "database") {
        return parser.parse_comma_separated(name).map(|names| Some(Objects::Databases(names)));
    }
    if word(parser, "type") || word(parser, "domain") {
        return parser.parse_comma_separated(relation).map(|names| Some(Objects::Types(names)));
    }
    if word(parser, "sequence") {
        return parser.parse_comma_separated(relation).map(|names| Some(Objects::Sequences(names)));
    }
    word(parser, "table");
    parser.parse_comma_separated(relation).map(|names| Some(Objects::Tables(names)))
}

/// ALTER ... OWNER TO; None, and nothing is consumed, for any other statement.
fn owner(parser: &mut Parser<'_>) -> Option<PrivilegeStatement> {
    let kinds = [
        (&["table"][..], ObjectKind::Table),
        (&["view"], ObjectKind::View),
        (&["materialized", "view"], ObjectKind::MaterializedView),
        (&["sequence"], ObjectKind::Sequence),
        (&["schema"], ObjectKind::Schema),
        (&["database"], ObjectKind::Database),
        (&["type"], ObjectKind::Type),
        (&["domain"], ObjectKind::Type),
        (&["large", "object"], ObjectKind::LargeObject),
    ];
    let found = parser.maybe_parse(|parser| {
        expect(parser, "alter")?;
        let Some((_, kind)) = kinds.iter().find(|(phrase, _)| words(parser, phrase)) else {
            return parser.expected_ref("an object", parser.peek_token_ref());
        };
        let if_missing = if_exists(parser);
        word(parser, "only");
        let name = match kind {
            ObjectKind::LargeObject => {
                RelationName::public(&super::comment::object_number(parser)?.to_string())
            }
            _ => relation(parser)?,
        };
        expect(parser, "owner")?;
        expect(parser, "to")?;
        let to = role_name(parser)?;
        if !at_end(parser) {
            return parser.expected_ref("end of statement", parser.peek_token_ref());
        }
        Ok(PrivilegeStatement::Owner { kind: *kind, name, if_missing, to })
    });
    found.ok().flatten()
}

/// Skips the rest of a statement that is not supported.
fn refused(parser: &mut Parser<'_>, what: &'static str) -> PrivilegeStatement {
    while !at_end(parser) {
        parser.next_token();
    }
    PrivilegeStatement::Unsupported(what)
}
