//! CREATE and ALTER DOMAIN.

use sqlparser::ast;
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::grant::relation;
use super::reader::{Parsed, drop_behaviour, expect, if_exists, name, peek_word, word, words};
use crate::definition::Validity;
use crate::words::{IfMissing, RelationName};

/// A clause of CREATE DOMAIN behind its type.
#[derive(Clone, Debug)]
pub(crate) enum DomainClause {
    Default(ast::Expr),
    NotNull,
    Null,
    Check {
        name: Option<String>,
        expr: ast::Expr,
    },
    Collation(ast::ObjectName),
    /// A constraint that only tables have.
    OfTables(&'static str),
}

/// A statement about a domain.
#[derive(Clone, Debug)]
pub(crate) enum DomainTree {
    Create { name: RelationName, ty: ast::DataType, clauses: Vec<DomainClause> },
    Alter { name: RelationName, action: DomainAction },
}

/// Action of ALTER DOMAIN.
#[derive(Clone, Debug)]
pub(crate) enum DomainAction {
    /// SET DEFAULT, DROP DEFAULT.
    Default(Option<ast::Expr>),
    SetNotNull,
    DropNotNull,
    Add {
        clause: DomainClause,
        validity: Validity,
    },
    Drop {
        name: String,
        if_missing: IfMissing,
    },
    Validate(String),
    Rename {
        from: String,
        to: String,
    },
}

/// The statement, when it is about a domain and not one that types have, too.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = if words(parser, &["create", "domain"]) {
        Some(create(parser)?)
    } else if peek_word(parser, 0, "alter") && peek_word(parser, 1, "domain") {
        parser.maybe_parse(alter)?
    } else {
        None
    };
    Ok(tree.map(|tree| SessionTree::Domain(Box::new(tree))))
}

fn create(parser: &mut Parser<'_>) -> Parsed<DomainTree> {
    let name = relation(parser)?;
    word(parser, "as");
    let ty = parser.parse_data_type()?;
    let mut clauses = Vec::new();
    while let Some(clause) = clause(parser)? {
        clauses.push(clause);
    }
    Ok(DomainTree::Create { name, ty, clauses })
}

fn clause(parser: &mut Parser<'_>) -> Parsed<Option<DomainClause>> {
    if word(parser, "collate") {
        return Ok(Some(DomainClause::Collation(parser.parse_object_name(false)?)));
    }
    if word(parser, "default") {
        // NOT NULL behind it is none of it.
        let above = super::DIALECT.prec_value(Precedence::Is);
        return Ok(Some(DomainClause::Default(parser.parse_subexpr(above)?)));
    }
    let constraint = if word(parser, "constraint") { Some(name(parser)?) } else { None };
    if words(parser, &["not", "null"]) {
        return Ok(Some(DomainClause::NotNull));
    }
    if word(parser, "null") {
        return Ok(Some(DomainClause::Null));
    }
    if parser.parse_keyword(Keyword::CHECK) {
        parser.expect_token(&Token::LParen)?;
        let expr = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        return Ok(Some(DomainClause::Check { name: constraint, expr }));
    }
    for (text, what) in
        [("primary", "primary key"), ("unique", "unique"), ("references", "foreign key")]
    {
        if word(parser, text) {
            word(parser, "key");
            if text == "references" {
                parser.parse_object_name(false)?;
                if parser.consume_token(&Token::LParen) {
                    parser.parse_comma_separated(Parser::parse_identifier)?;
                    parser.expect_token(&Token::RParen)?;
                }
            }
            return Ok(Some(DomainClause::OfTables(what)));
        }
    }
    match constraint {
        None => Ok(None),
        Some(_) => parser.expected_ref("CHECK, NOT NULL or NULL", parser.peek_token_ref()),
    }
}

fn alter(parser: &mut Parser<'_>) -> Parsed<DomainTree> {
    words(parser, &["alter", "domain"]);
    let domain = relation(parser)?;
    let action = if words(parser, &["set", "default"]) {
        DomainAction::Default(Some(parser.parse_expr()?))
    } else if words(parser, &["drop", "default"]) {
        DomainAction::Default(None)
    } else if words(parser, &["set", "not", "null"]) {
        DomainAction::SetNotNull
    } else if words(parser, &["drop", "not", "null"]) {
        DomainAction::DropNotNull
    } else if word(parser, "add") {
        let Some(clause) = clause(parser)? else {
            return parser.expected_ref("a constraint", parser.peek_token_ref());
        };
        let is_later = words(parser, &["not", "valid"]);
        let validity = if is_later { Validity::NotValid } else { Validity::Valid };
        DomainAction::Add { clause, validity }
    } else if words(parser, &["drop", "constraint"]) {
        let if_missing = if_exists(parser);
        let name = name(parser)?;
        // Nothing needs a condition of a domain.
        drop_behaviour(parser);
        DomainAction::Drop { name, if_missing }
    } else if words(parser, &["validate", "constraint"]) {
        DomainAction::Validate(name(parser)?)
    } else {
        expect(parser, "rename")?;
        expect(parser, "constraint")?;
        let from = name(parser)?;
        expect(parser, "to")?;
        DomainAction::Rename { from, to: name(parser)? }
    };
    Ok(DomainTree::Alter { name: domain, action })
}
