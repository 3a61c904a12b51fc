//! SET CONSTRAINTS, and actions of ALTER TABLE that the grammar lacks: ALTER CONSTRAINT, and DROP
//! EXPRESSION of a column.

use sqlparser::parser::Parser;

use super::session::{Parsed, expect, peek_word, word, words};
use super::{SessionTree, TableChange};
use crate::statement::{ConstraintMode, IfMissing};

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if words(parser, &["set", "constraints"]) {
        let names = match word(parser, "all") {
            true => None,
            false => Some(parser.parse_comma_separated(|p| p.parse_object_name(false))?),
        };
        let mode = if word(parser, "deferred") {
            ConstraintMode::Deferred
        } else {
            expect(parser, "immediate")?;
            ConstraintMode::Immediate
        };
        return Ok(Some(SessionTree::SetConstraints { names, mode }));
    }
    match peek_word(parser, 0, "alter") && peek_word(parser, 1, "table") {
        true => parser.maybe_parse(alter_table),
        false => Ok(None),
    }
}

/// ALTER TABLE with no other actions than these.
fn alter_table(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    words(parser, &["alter", "table"]);
    let missing = words(parser, &["if", "exists"]);
    word(parser, "only");
    let table = parser.parse_object_name(false)?;
    let changes = parser.parse_comma_separated(change)?;
    let if_missing = if missing { IfMissing::Skip } else { IfMissing::Fail };
    Ok(SessionTree::AlterTable { table, if_missing, changes })
}

fn change(parser: &mut Parser<'_>) -> Parsed<TableChange> {
    expect(parser, "alter")?;
    if word(parser, "constraint") {
        let name = parser.parse_identifier()?;
        return Ok(TableChange::Constraint(name, parser.parse_constraint_characteristics()?));
    }
    word(parser, "column");
    let column = parser.parse_identifier()?;
    expect(parser, "drop")?;
    expect(parser, "expression")?;
    let missing = words(parser, &["if", "exists"]);
    let if_missing = if missing { IfMissing::Skip } else { IfMissing::Fail };
    Ok(TableChange::DropExpression(column, if_missing))
}
