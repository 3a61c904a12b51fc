//! SET CONSTRAINTS, ALTER VIEW, and actions of ALTER TABLE that the grammar lacks: INHERIT, ALTER
//! CONSTRAINT, and of a column DROP EXPRESSION and what changes an identity.

use sqlparser::ast;
use sqlparser::parser::Parser;

use super::reader::{Parsed, expect, if_exists, peek_word, word, words};
use super::sequence::sequence_option;
use super::view::Renamed;
use super::{SequenceOption, SessionTree};
use crate::definition::IdentityKind;
use crate::words::{ConstraintMode, IfMissing};

/// An action of ALTER TABLE that is parsed here.
#[derive(Clone, Debug)]
pub(crate) enum TableChange {
    /// INHERIT and NO INHERIT.
    Inherit(InheritTree),
    /// ALTER CONSTRAINT.
    Constraint(ast::Ident, Option<ast::ConstraintCharacteristics>),
    /// ALTER COLUMN ... DROP EXPRESSION.
    DropExpression(ast::Ident, IfMissing),
    /// ALTER COLUMN ... SET GENERATED, SET of an option, RESTART, any number of them.
    Identity(ast::Ident, Vec<IdentityChange>),
    /// ALTER COLUMN ... DROP IDENTITY.
    DropIdentity(ast::Ident, IfMissing),
}

/// INHERIT and NO INHERIT of ALTER TABLE, with the parent.
#[derive(Clone, Debug)]
pub(crate) enum InheritTree {
    From(ast::ObjectName),
    NoMore(ast::ObjectName),
}

/// Change of an identity column by ALTER COLUMN.
#[derive(Clone, Debug)]
pub(crate) enum IdentityChange {
    Kind(IdentityKind),
    Option(SequenceOption),
}

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if words(parser, &["set", "constraints"]) {
        let names = if word(parser, "all") {
            None
        } else {
            Some(parser.parse_comma_separated(|p| p.parse_object_name(false))?)
        };
        let mode = if word(parser, "deferred") {
            ConstraintMode::Deferred
        } else {
            expect(parser, "immediate")?;
            ConstraintMode::Immediate
        };
        return Ok(Some(SessionTree::SetConstraints { names, mode }));
    }
    if peek_word(parser, 0, "alter")
        && peek_word(parser, 1, "view")
        && let Some(tree) = parser.maybe_parse(rename_view)?
    {
        return Ok(Some(tree));
    }
    if peek_word(parser, 0, "alter") && peek_word(parser, 1, "table") {
        parser.maybe_parse(alter_table)
    } else {
        Ok(None)
    }
}

/// ALTER VIEW ... RENAME.
fn rename_view(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    words(parser, &["alter", "view"]);
    Ok(SessionTree::RenameView(Renamed::parse(parser)?))
}

/// ALTER TABLE with no other actions than these.
fn alter_table(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    words(parser, &["alter", "table"]);
    let if_missing = if_exists(parser);
    word(parser, "only");
    let table = parser.parse_object_name(false)?;
    let changes = parser.parse_comma_separated(change)?;
    Ok(SessionTree::AlterTable { table, if_missing, changes })
}

/// INHERIT and NO INHERIT.
fn inherit(parser: &mut Parser<'_>) -> Parsed<InheritTree> {
    if word(parser, "inherit") {
        return Ok(InheritTree::From(parser.parse_object_name(false)?));
    }
    expect(parser, "no")?;
    expect(parser, "inherit")?;
    Ok(InheritTree::NoMore(parser.parse_object_name(false)?))
}

fn change(parser: &mut Parser<'_>) -> Parsed<TableChange> {
    if peek_word(parser, 0, "inherit") || peek_word(parser, 0, "no") {
        return Ok(TableChange::Inherit(inherit(parser)?));
    }
    expect(parser, "alter")?;
    if word(parser, "constraint") {
        let name = parser.parse_identifier()?;
        return Ok(TableChange::Constraint(name, parser.parse_constraint_characteristics()?));
    }
    word(parser, "column");
    let column = parser.parse_identifier()?;
    if peek_word(parser, 0, "set") || peek_word(parser, 0, "restart") {
        return Ok(TableChange::Identity(column, identity_changes(parser)?));
    }
    expect(parser, "drop")?;
    let identity = word(parser, "identity");
    if !identity {
        expect(parser, "expression")?;
    }
    let if_missing = if_exists(parser);
    Ok(if identity {
        TableChange::DropIdentity(column, if_missing)
    } else {
        TableChange::DropExpression(column, if_missing)
    })
}

/// `SET GENERATED ...`, `SET option` and `RESTART`, at least one of them.
fn identity_changes(parser: &mut Parser<'_>) -> Parsed<Vec<IdentityChange>> {
    let mut changes = Vec::new();
    loop {
        if words(parser, &["set", "generated"]) {
            let kind = if words(parser, &["by", "default"]) {
                IdentityKind::ByDefault
            } else {
                expect(parser, "always")?;
                IdentityKind::Always
            };
            changes.push(IdentityChange::Kind(kind));
        } else if word(parser, "set") || peek_word(parser, 0, "restart") {
            changes.push(IdentityChange::Option(sequence_option(parser)?));
        } else if changes.is_empty() {
            return parser.expected_ref("SET or RESTART", parser.peek_token_ref());
        } else {
            return Ok(changes);
        }
    }
}
