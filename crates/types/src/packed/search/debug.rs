//! Tokens of a text and what dictionaries make of them: `ts_parse`, `ts_token_type`, `ts_debug`.

use super::document::{configuration, text};
use super::scan::Scanner;
use super::tokens::Kind;
use crate::array::ArrayBuilder;
use crate::packed::{Call, Given};
use crate::{DataType, Error, Result, SqlState, json};

type Computed = Result<Given>;

/// The number of the only parser.
const PARSER: i64 = 3722;

/// # Errors
/// 42704 for other parsers than the usual one.
fn check_parser(call: &Call<'_>) -> Result<()> {
    let message = if call.types.first() == Some(&DataType::Oid) {
        let number = call.int(0);
        if number == PARSER {
            return Ok(());
        }
        format!("cache lookup failed for text search parser {number}")
    } else {
        let name = text(call, 0)?;
        if matches!(name, "default" | "pg_catalog.default") {
            return Ok(());
        }
        format!("text search parser \"{name}\" does not exist")
    };
    Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
}

fn push_field(row: &mut Vec<u8>, name: &str, value: &str) {
    row.extend_from_slice(if row.is_empty() { b"{" } else { b", " });
    json::push_quoted(row, name.as_bytes());
    row.extend_from_slice(b": ");
    json::push_quoted(row, value.as_bytes());
}

fn finish(builder: ArrayBuilder, out: &mut Vec<u8>) -> Computed {
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

/// `ts_parse(parser, text)`.
pub(super) fn parse(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    check_parser(call)?;
    let mut builder = ArrayBuilder::new();
    for token in Scanner::new(text(call, 1)?) {
        let mut row = Vec::new();
        push_field(&mut row, "tokid", &token.kind.number().to_string());
        push_field(&mut row, "token", token.text);
        row.push(b'}');
        builder.push_text(&row);
    }
    finish(builder, out)
}

/// `ts_token_type(parser)`.
pub(super) fn token_types(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    check_parser(call)?;
    let mut builder = ArrayBuilder::new();
    for kind in Kind::ALL {
        let (alias, description) = kind.names();
        let mut row = Vec::new();
        push_field(&mut row, "tokid", &kind.number().to_string());
        push_field(&mut row, "alias", alias);
        push_field(&mut row, "description", description);
        row.push(b'}');
        builder.push_text(&row);
    }
    finish(builder, out)
}

/// `ts_debug(regconfig, text)`.
pub(super) fn debug(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let configuration = configuration(call, 0)?;
    let mut builder = ArrayBuilder::new();
    for token in Scanner::new(text(call, 1)?) {
        let (alias, description) = token.kind.names();
        let mut row = Vec::new();
        push_field(&mut row, "alias", alias);
        push_field(&mut row, "description", description);
        push_field(&mut row, "token", token.text);
        match configuration.dictionary(token.kind) {
            None => push_field(&mut row, "dictionaries", "{}"),
            Some(dictionary) => {
                push_field(&mut row, "dictionaries", &format!("{{{}}}", dictionary.name()));
                push_field(&mut row, "dictionary", dictionary.name());
                let lexeme = dictionary.lexeme(token.text)?;
                let quoted = lexeme.map(|lexeme| {
                    let escaped = lexeme.replace('\\', "\\\\").replace('"', "\\\"");
                    format!("\"{escaped}\"")
                });
                let lexemes = quoted.unwrap_or_default();
                push_field(&mut row, "lexemes", &format!("{{{lexemes}}}"));
            }
        }
        row.push(b'}');
        builder.push_text(&row);
    }
    finish(builder, out)
}
