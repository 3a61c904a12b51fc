//! CREATE, ALTER and DROP TYPE.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use types::Collation;

use super::SessionTree;
use super::grant::relation;
use super::reader::{
    Parsed, at_end, drop_behaviour, expect, if_exists, name, peek_word, word, words,
};
use crate::words::{IfExists, IfMissing, NewLabel, RelationName, TypeKind, TypeStatement};

/// The statement, when it is about types.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let statement = if words(parser, &["create", "type"]) {
        return create(parser).map(Some);
    } else if words(parser, &["drop", "type"]) {
        drop(parser, TypeKind::Type)?
    } else if words(parser, &["drop", "domain"]) {
        drop(parser, TypeKind::Domain)?
    } else if words(parser, &["alter", "type"]) {
        return alter(parser).map(Some);
    } else if words(parser, &["alter", "domain"]) {
        let name = relation(parser)?;
        moved(parser, TypeKind::Domain, name)?
    } else {
        return Ok(None);
    };
    Ok(Some(SessionTree::Type(statement)))
}

/// Skips the rest of a statement that is not supported.
fn refused(parser: &mut Parser<'_>, what: &'static str) -> TypeStatement {
    while !at_end(parser) {
        parser.next_token();
    }
    TypeStatement::Unsupported(what)
}

fn create(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    let name = relation(parser)?;
    if peek_word(parser, 0, "as") && parser.peek_nth_token_ref(1).token == Token::LParen {
        word(parser, "as");
        return composite(parser, name);
    }
    if words(parser, &["as", "range"]) {
        parser.expect_token(&Token::LParen)?;
        let attributes = parser.parse_comma_separated(range_attribute)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(SessionTree::CreateRange(name, attributes));
    }
    if !words(parser, &["as", "enum"]) {
        return Ok(SessionTree::Type(refused(parser, "a base type")));
    }
    parser.expect_token(&Token::LParen)?;
    let mut labels = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        labels = parser.parse_comma_separated(Parser::parse_literal_string)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(SessionTree::Type(TypeStatement::CreateEnum { name, labels }))
}

/// `attribute = value` of CREATE TYPE ... AS RANGE.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RangeAttribute {
    /// The type of the bounds.
    Subtype(ast::DataType),
    /// Name of the operator class.
    Class(String),
    /// Name of the collation.
    Collation(ast::ObjectName),
    /// A function that gives equal ranges one form.
    Canonical,
    /// A function that subtracts bounds.
    Difference(RelationName),
    /// Name of the type of multiranges.
    Multirange(RelationName),
    /// Another attribute.
    Unknown(String),
}

fn range_attribute(parser: &mut Parser<'_>) -> Parsed<RangeAttribute> {
    let attribute = name(parser)?;
    parser.expect_token(&Token::Eq)?;
    Ok(match attribute.as_str() {
        "subtype" => RangeAttribute::Subtype(parser.parse_data_type()?),
        "subtype_opclass" => RangeAttribute::Class(relation(parser)?.name),
        "collation" => RangeAttribute::Collation(parser.parse_object_name(false)?),
        "subtype_diff" => RangeAttribute::Difference(relation(parser)?),
        "multirange_type_name" => RangeAttribute::Multirange(relation(parser)?),
        _ => {
            parser.parse_expr()?;
            match attribute.as_str() {
                "canonical" => RangeAttribute::Canonical,
                _ => RangeAttribute::Unknown(attribute),
            }
        }
    })
}

/// `(attribute type [COLLATE collation], ...)`.
fn composite(parser: &mut Parser<'_>, name: RelationName) -> Parsed<SessionTree> {
    parser.expect_token(&Token::LParen)?;
    let mut attributes = Vec::new();
    let mut has_order = false;
    if !parser.consume_token(&Token::RParen) {
        attributes = parser.parse_comma_separated(|parser| {
            let attribute = (parser.parse_identifier()?, parser.parse_data_type()?);
            if word(parser, "collate") {
                let known = Collation::named(&relation(parser)?.name);
                has_order |= known.is_none_or(|known| !known.is_of_bytes());
            }
            Ok(attribute)
        })?;
        parser.expect_token(&Token::RParen)?;
    }
    if has_order {
        return Ok(SessionTree::Type(TypeStatement::Unsupported("COLLATE of an attribute")));
    }
    Ok(SessionTree::CreateComposite(name, attributes))
}

fn drop(parser: &mut Parser<'_>, kind: TypeKind) -> Parsed<TypeStatement> {
    let if_missing = if_exists(parser);
    let names = parser.parse_comma_separated(relation)?;
    let behaviour = drop_behaviour(parser);
    Ok(TypeStatement::Drop { kind, names, if_missing, behaviour })
}

/// Action of ALTER TYPE ... ATTRIBUTE.
#[derive(Clone, Debug)]
pub(crate) enum AttributeTree {
    Add(ast::Ident, ast::DataType),
    Drop(String, IfMissing),
    SetType(ast::Ident, ast::DataType),
    Rename(String, String),
}

/// The action, when it is one of those.
fn attribute_change(parser: &mut Parser<'_>) -> Parsed<Option<AttributeTree>> {
    let change = if words(parser, &["add", "attribute"]) {
        AttributeTree::Add(parser.parse_identifier()?, parser.parse_data_type()?)
    } else if words(parser, &["drop", "attribute"]) {
        let if_missing = if_exists(parser);
        AttributeTree::Drop(name(parser)?, if_missing)
    } else if words(parser, &["alter", "attribute"]) {
        let attribute = parser.parse_identifier()?;
        words(parser, &["set", "data"]);
        expect(parser, "type")?;
        AttributeTree::SetType(attribute, parser.parse_data_type()?)
    } else if words(parser, &["rename", "attribute"]) {
        let from = name(parser)?;
        expect(parser, "to")?;
        AttributeTree::Rename(from, name(parser)?)
    } else {
        return Ok(None);
    };
    if word(parser, "collate") {
        parser.parse_object_name(false)?;
    }
    // No table is made of the type.
    drop_behaviour(parser);
    Ok(Some(change))
}

fn alter(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    let full = relation(parser)?;
    let mut changes = Vec::new();
    while let Some(change) = attribute_change(parser)? {
        changes.push(change);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    if !changes.is_empty() {
        return Ok(SessionTree::AlterComposite(full, changes));
    }
    alter_enum(parser, full).map(SessionTree::Type)
}

fn alter_enum(parser: &mut Parser<'_>, full: RelationName) -> Parsed<TypeStatement> {
    if words(parser, &["add", "value"]) {
        let exists = words(parser, &["if", "not", "exists"]);
        let if_exists = if exists { IfExists::Skip } else { IfExists::Fail };
        let label = parser.parse_literal_string()?;
        let place = if word(parser, "before") {
            NewLabel::Before(parser.parse_literal_string()?)
        } else if word(parser, "after") {
            NewLabel::After(parser.parse_literal_string()?)
        } else {
            NewLabel::Last
        };
        return Ok(TypeStatement::AddLabel { name: full, label, place, if_exists });
    }
    if words(parser, &["rename", "value"]) {
        let from = parser.parse_literal_string()?;
        expect(parser, "to")?;
        let to = parser.parse_literal_string()?;
        return Ok(TypeStatement::RenameLabel { name: full, from, to });
    }
    moved(parser, TypeKind::Type, full)
}

/// RENAME TO and SET SCHEMA, of a type or domain.
fn moved(
    parser: &mut Parser<'_>,
    kind: TypeKind,
    full: crate::words::RelationName,
) -> Parsed<TypeStatement> {
    if words(parser, &["rename", "to"]) {
        return Ok(TypeStatement::Rename { kind, name: full, to: name(parser)? });
    }
    if words(parser, &["set", "schema"]) {
        return Ok(TypeStatement::Move { kind, name: full, to: name(parser)? });
    }
    let known = ["add", "alter", "drop", "rename", "set"];
    if kind == TypeKind::Type && known.iter().any(|text| peek_word(parser, 0, text)) {
        return Ok(refused(parser, "a change of a composite or base type"));
    }
    parser.expected_ref("ADD VALUE, RENAME, SET SCHEMA or OWNER TO", parser.peek_token_ref())
}
