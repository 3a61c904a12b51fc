//! CREATE, ALTER and DROP DATABASE.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::grant::role_name;
use super::reader::{Parsed, at_end, expect, if_exists, name, peek_word, word, words};
use crate::words::{DatabaseOptions, DatabaseStatement, InUse, RoleStatement};

/// The statement, when it is about databases; OWNER TO is left to the rights.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let statement = if words(parser, &["create", "database"]) {
        let name = name(parser)?;
        word(parser, "with");
        DatabaseStatement::Create { name, options: options(parser)? }
    } else if words(parser, &["drop", "database"]) {
        drop_database(parser)?
    } else if peek_word(parser, 0, "alter") && peek_word(parser, 1, "database") {
        if peek_word(parser, 3, "owner") {
            return Ok(None);
        }
        words(parser, &["alter", "database"]);
        alter(parser)?
    } else {
        return Ok(None);
    };
    Ok(Some(SessionTree::Database(Box::new(statement))))
}

fn drop_database(parser: &mut Parser<'_>) -> Parsed<DatabaseStatement> {
    let if_missing = if_exists(parser);
    let name = name(parser)?;
    word(parser, "with");
    let mut in_use = InUse::Refuse;
    if parser.consume_token(&Token::LParen) {
        expect(parser, "force")?;
        parser.expect_token(&Token::RParen)?;
        in_use = InUse::End;
    }
    Ok(DatabaseStatement::Drop { name, if_missing, in_use })
}

fn alter(parser: &mut Parser<'_>) -> Parsed<DatabaseStatement> {
    let name_now = name(parser)?;
    if words(parser, &["rename", "to"]) {
        return Ok(DatabaseStatement::Rename { name: name_now, to: name(parser)? });
    }
    let sets = peek_word(parser, 0, "set") && !peek_word(parser, 1, "tablespace");
    if sets || peek_word(parser, 0, "reset") {
        let (setting, value) = match super::role::set(parser, name_now.clone())? {
            RoleStatement::Set { setting, value, .. } => (setting, value),
            _ => (None, None),
        };
        return Ok(DatabaseStatement::Set { name: name_now, setting, value });
    }
    word(parser, "with");
    Ok(DatabaseStatement::Alter { name: name_now, options: options(parser)? })
}

fn options(parser: &mut Parser<'_>) -> Parsed<DatabaseOptions> {
    let mut options = DatabaseOptions::default();
    while !at_end(parser) {
        if words(parser, &["connection", "limit"]) {
            let _ = parser.consume_token(&Token::Eq);
            options.connections_max = Some(super::role::limit(parser)?);
            continue;
        }
        let option = name(parser)?;
        let _ = parser.consume_token(&Token::Eq);
        if option == "owner" {
            let is_default = word(parser, "default");
            options.owner = if is_default { None } else { Some(role_name(parser)?) };
            continue;
        }
        let value = value(parser)?;
        match option.as_str() {
            "template" => options.template = Some(value).filter(|name| name != "default"),
            "encoding" => options.encoding = Some(value).filter(|name| name != "default"),
            "locale" | "lc_collate" | "lc_ctype" => options.locales.push(value),
            "allow_connections" => options.allows_connections = Some(is_on(&value)),
            "is_template" => options.is_template = Some(is_on(&value)),
            "connection_limit" => options.connections_max = value.parse().ok(),
            "tablespace" if matches!(value.as_str(), "pg_default" | "default") => {}
            "locale_provider" if value == "libc" => {}
            "strategy" => {}
            _ => options.unsupported = Some(option),
        }
    }
    Ok(options)
}

/// A name, text or number.
fn value(parser: &mut Parser<'_>) -> Parsed<String> {
    match &parser.peek_token_ref().token {
        Token::SingleQuotedString(_) => parser.parse_literal_string(),
        Token::Number(digits, _) => {
            let digits = digits.clone();
            parser.next_token();
            Ok(digits)
        }
        _ => name(parser),
    }
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "on" | "1" | "yes")
}
