//! Binds COMMENT ON.

use sqlparser::ast;
use types::{Result, SqlState};

use super::{Binder, fail, name, unsupported};
use crate::catalog::RoutineKind;
use crate::parse::{Absent, CommentTree, Commented};
use crate::statement::{Comment, CommentTarget, RelationName, Skipped, Statement, TypeKind};

impl Binder<'_> {
    /// Binds COMMENT ON; whether the object exists is seen when the statement runs.
    pub(super) fn bind_comment(&mut self, comment: &CommentTree) -> Result<Statement> {
        let on = match &comment.on {
            Commented::Object(kind, object) => self.comment_target(kind, object)?,
            Commented::Constraint(name, table) => CommentTarget::Constraint {
                table: self.relation_name(table)?,
                name: crate::parse::folded(name),
            },
            Commented::Absent(absent) => match self.existing_target(absent)? {
                Some(target) => target,
                None => return self.comment_on_absent(absent),
            },
            Commented::LargeObject(number) => CommentTarget::LargeObject(*number),
            Commented::Other(kind) => return unsupported(format!("COMMENT ON {kind}"), None),
        };
        // An empty comment is none, as in PostgreSQL.
        let text = comment.text.clone().filter(|text| !text.is_empty());
        Ok(Statement::Comment(Box::new(Comment { on, text })))
    }

    fn comment_target(
        &self,
        kind: &'static str,
        object: &ast::ObjectName,
    ) -> Result<CommentTarget> {
        let single = || -> Result<String> {
            match name::object_parts(object)?.as_slice() {
                [name] => Ok(name.clone()),
                _ => {
                    let message = format!("improper qualified name: {object}");
                    fail(SqlState::SYNTAX_ERROR, message, name::object_at(object))
                }
            }
        };
        Ok(match kind {
            "column" => match column_target(object)? {
                CommentTarget::Column { relation, column } => {
                    CommentTarget::Column { relation: self.found(relation), column }
                }
                other => other,
            },
            "schema" => CommentTarget::Schema(single()?),
            "database" => CommentTarget::Database(single()?),
            "role" => CommentTarget::Role(single()?),
            "extension" => CommentTarget::Extension(single()?),
            "collation" => {
                CommentTarget::Collation(self.collation_found(self.written_name(object)?))
            }
            "type" | "domain" => {
                let written = self.written_name(object)?;
                let is_domain = kind == "domain";
                let kind = if is_domain { TypeKind::Domain } else { TypeKind::Type };
                CommentTarget::Type { kind, name: self.type_found(written) }
            }
            kind => CommentTarget::Relation { kind, name: self.relation_name(object)? },
        })
    }

    /// A trigger or routine; None for other kinds.
    fn existing_target(&mut self, absent: &Absent) -> Result<Option<CommentTarget>> {
        let Absent::Drop { kind, objects, .. } = absent;
        let [object] = objects.as_slice() else { return Ok(None) };
        let kind = match (kind.label, &object.table) {
            ("trigger", Some(table)) => {
                let table = self.trigger_table(table)?;
                let name = name::object_parts(&object.name)?.pop().unwrap_or_default();
                return Ok(Some(CommentTarget::Trigger { table, name }));
            }
            ("function", _) => Some(RoutineKind::Function),
            ("procedure", _) => Some(RoutineKind::Procedure),
            ("aggregate", _) => Some(RoutineKind::Aggregate),
            ("routine", _) => None,
            _ => return Ok(None),
        };
        match self.routine_named(kind, object)? {
            Ok(routine) => Ok(Some(CommentTarget::Routine(routine.key()))),
            Err((_, message, state)) => fail(state, message, None),
        }
    }

    /// Binds COMMENT on objects that no database here has; those that every one has keep theirs.
    fn comment_on_absent(&mut self, absent: &Absent) -> Result<Statement> {
        if let Absent::Drop { kind, objects, .. } = absent
            && kind.label == "language"
            && let [object] = objects.as_slice()
            && name::object_parts(&object.name)? == ["plpgsql"]
        {
            return Ok(Statement::Skipped(Skipped { command: "COMMENT", notices: Vec::new() }));
        }
        self.bind_absent(absent)
    }
}

/// `[schema.]relation.column`.
fn column_target(object: &ast::ObjectName) -> Result<CommentTarget> {
    let mut parts = name::object_parts(object)?;
    let column = parts.pop().unwrap_or_default();
    let Some(relation) = parts.pop() else {
        let message = "column name must be qualified";
        return fail(SqlState::SYNTAX_ERROR, message, name::object_at(object));
    };
    let relation = RelationName { schema: parts.pop(), name: relation };
    Ok(CommentTarget::Column { relation, column })
}
