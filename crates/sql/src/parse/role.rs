//! CREATE, ALTER and DROP ROLE, USER and GROUP.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::session::{Parsed, at_end, expect, name, word, words};
use crate::statement::{IfMissing, PasswordChange, RoleOptions, RoleStatement, Secret};

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
            let exists = words(parser, &["if", "exists"]);
            let if_missing = if exists { IfMissing::Skip } else { IfMissing::Fail };
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
    let options = options(parser)?;
    if options == RoleOptions::default() {
        return parser.expected_ref("role options", parser.peek_token_ref());
    }
    Ok(RoleStatement::Alter { name: role, options })
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
            // Only what changes nothing.
            parser.expect_token(&Token::Minus)?;
            parser.expect_token(&Token::Number("1".to_owned(), false))?;
        } else {
            flag(parser, &mut options)?;
        }
    }
    Ok(options)
}

/// An option without a value.
fn flag(parser: &mut Parser<'_>, options: &mut RoleOptions) -> Parsed<()> {
    let flags = [
        ("superuser", "nosuperuser", Some(&mut options.superuser)),
        ("createrole", "nocreaterole", Some(&mut options.create_role)),
        ("login", "nologin", Some(&mut options.login)),
        ("inherit", "noinherit", Some(&mut options.inherit)),
    ];
    for (on, off, target) in flags {
        let value = if word(parser, on) { Some(true) } else { word(parser, off).then_some(false) };
        if let (Some(value), Some(target)) = (value, target) {
            *target = Some(value);
            return Ok(());
        }
    }
    // There is one database, no replication, no policies of rows: nothing that these allow.
    let without_effect = [
        ["createdb", "nocreatedb"],
        ["replication", "noreplication"],
        ["bypassrls", "nobypassrls"],
    ];
    if without_effect.iter().flatten().any(|name| word(parser, name)) {
        return Ok(());
    }
    expect(parser, "role option")
}
