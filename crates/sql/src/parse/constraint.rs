//! SET CONSTRAINTS, and ALTER CONSTRAINT of ALTER TABLE.

use sqlparser::parser::Parser;

use super::SessionTree;
use super::session::{Parsed, expect, peek_word, word, words};
use crate::statement::{ConstraintMode, IfMissing};

/// The statement, when it is about when constraints are tested.
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
        true => parser.maybe_parse(alter_constraints),
        false => Ok(None),
    }
}

/// ALTER TABLE whose actions are ALTER CONSTRAINT.
fn alter_constraints(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    words(parser, &["alter", "table"]);
    let missing = words(parser, &["if", "exists"]);
    word(parser, "only");
    let table = parser.parse_object_name(false)?;
    let changes = parser.parse_comma_separated(|parser| {
        expect(parser, "alter")?;
        expect(parser, "constraint")?;
        Ok((parser.parse_identifier()?, parser.parse_constraint_characteristics()?))
    })?;
    let if_missing = if missing { IfMissing::Skip } else { IfMissing::Fail };
    Ok(SessionTree::AlterConstraints { table, if_missing, changes })
}
