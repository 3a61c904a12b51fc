//! CREATE, ALTER and DROP ROLE, USER and GROUP.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, at_end, expect, if_exists, name, peek_word, word, words};
use super::setting::setting_value;
use crate::words::{PasswordChange, RoleOptions, RoleStatement, Secret};

/// The statement, when it is about roles.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    for kind in ["role", "user", "group"] {
        let statement = if words(parser, &["create", kind]) {
            let name = name(parser)?;
            let login = (kind == "user").then_some(true);
            let given = options(parser)?;
            let options = RoleOptions { login: given.login.or(login), ..given };
            RoleStatement::Create { name, options }
        } else if words(parser, &["alter", kind]) {
            alter(parser)?
        } else if words(parser, &["drop", kind]) {
            let if_missing = if_exists(parser);
            RoleStatement::Drop { names: parser.parse_comma_separated(name)?, if_missing }
        } else {
            continue;
        };
        return Ok(Some(SessionTree::Role(statement)));
    }
    Ok(None)
}

fn alter(parser: &mut Parser<'_>) -> Parsed<RoleStatement> {
    let role = name(parser)?;
    if words(parser, &["rename", "to"]) {
        return Ok(RoleStatement::Rename { name: role, to: name(parser)? });
    }
    if peek_word(parser, 0, "set") || peek_word(parser, 0, "reset") {
        return set(parser, role);
    }
    let options = options(parser)?;
    if options == RoleOptions::default() {
        return parser.expected_ref("role options", parser.peek_token_ref());
    }
    Ok(RoleStatement::Alter { name: role, options })
}

/// `SET name {TO | =} value` and `RESET name`.
pub(super) fn set(parser: &mut Parser<'_>, name: String) -> Parsed<RoleStatement> {
    if words(parser, &["reset", "all"]) {
        return Ok(RoleStatement::Set { name, setting: None, value: None });
    }
    let resets = word(parser, "reset");
    if !resets {
        expect(parser, "set")?;
    }
    let setting = if words(parser, &["time", "zone"]) {
        "timezone".to_owned()
    } else {
        parser.parse_object_name(false)?.to_string().replace('"', "").to_lowercase()
    };
    let mut value = None;
    if !resets {
        if !parser.consume_token(&Token::Eq) && setting != "timezone" {
            expect(parser, "to")?;
        } else {
            word(parser, "to");
        }
        let values = parser.parse_comma_separated(Parser::parse_expr)?;
        let read = setting_value(&setting, &values);
        value = read.map_err(|error| ParserError::ParserError(error.message().to_owned()))?;
    }
    Ok(RoleStatement::Set { name, setting: Some(setting), value })
}

fn options(parser: &mut Parser<'_>) -> Parsed<RoleOptions> {
    let mut options = RoleOptions::default();
    word(parser, "with");
    while !at_end(parser) {
        if words(parser, &["password", "null"]) {
            options.password = PasswordChange::Remove;
        } else if word(parser, "password") || words(parser, &["encrypted", "password"]) {
            options.password = PasswordChange::Set(Secret(parser.parse_literal_string()?));
        } else if words(parser, &["in", "role"]) || words(parser, &["in", "group"]) {
            options.in_roles = parser.parse_comma_separated(name)?;
        } else if words(parser, &["connection", "limit"]) {
            options.connection_limit = Some(limit(parser)?);
        } else if words(parser, &["valid", "until"]) {
            options.valid_until = Some(parser.parse_literal_string()?);
        } else if word(parser, "role") || word(parser, "user") {
            options.members = parser.parse_comma_separated(name)?;
        } else if word(parser, "admin") {
            options.admins = parser.parse_comma_separated(name)?;
        } else if word(parser, "sysid") {
            // Numbers come from names.
            parser.parse_literal_uint()?;
        } else {
            flag(parser, &mut options)?;
        }
    }
    Ok(options)
}

/// The number of CONNECTION LIMIT.
pub(super) fn limit(parser: &mut Parser<'_>) -> Parsed<i32> {
    let is_negative = parser.consume_token(&Token::Minus);
    let number = parser.parse_literal_uint()?;
    match i32::try_from(number) {
        Ok(number) => Ok(if is_negative { -number } else { number }),
        Err(_) => parser.expected_ref("a number of connections", parser.peek_token_ref()),
    }
}

/// An option without a value.
fn flag(parser: &mut Parser<'_>, options: &mut RoleOptions) -> Parsed<()> {
    let flags = [
        ("superuser", "nosuperuser", Some(&mut options.superuser)),
        ("createrole", "nocreaterole", Some(&mut options.create_role)),
        ("login", "nologin", Some(&mut options.login)),
        ("inherit", "noinherit", Some(&mut options.inherit)),
        ("createdb", "nocreatedb", Some(&mut options.create_database)),
        ("replication", "noreplication", Some(&mut options.replication)),
        ("bypassrls", "nobypassrls", Some(&mut options.bypass_policies)),
    ];
    for (on, off, target) in flags {
        let value = if word(parser, on) { Some(true) } else { word(parser, off).then_some(false) };
        if let (Some(value), Some(target)) = (value, target) {
            *target = Some(value);
            return Ok(());
        }
    }
    expect(parser, "role option")
}
