//! Binds COMMENT ON.

use sqlparser::ast::{self, CommentObject};
use types::{Result, SqlState};

use super::{Binder, fail, name, unsupported};
use crate::statement::{Comment, CommentTarget, RelationName, Statement};

impl Binder<'_> {
    /// Binds COMMENT ON; whether the object exists is seen when the statement runs.
    pub(super) fn bind_comment(
        &self,
        kind: &CommentObject,
        object: &ast::ObjectName,
        text: Option<&String>,
    ) -> Result<Statement> {
        let relation = |kind| -> Result<CommentTarget> {
            Ok(CommentTarget::Relation { kind, name: self.relation_name(object)? })
        };
        let single = || -> Result<String> {
            match name::object_parts(object)?.as_slice() {
                [name] => Ok(name.clone()),
                _ => {
                    let message = format!("improper qualified name: {object}");
                    fail(SqlState::SYNTAX_ERROR, message, name::object_at(object))
                }
            }
        };
        let on = match kind {
            CommentObject::Table => relation("table")?,
            CommentObject::View => relation("view")?,
            CommentObject::Index => relation("index")?,
            CommentObject::Sequence => relation("sequence")?,
            CommentObject::Column => match column_target(object)? {
                CommentTarget::Column { relation, column } => {
                    CommentTarget::Column { relation: self.found(relation), column }
                }
                other => other,
            },
            CommentObject::Schema => CommentTarget::Schema(single()?),
            CommentObject::Database => CommentTarget::Database(single()?),
            CommentObject::Role | CommentObject::User => CommentTarget::Role(single()?),
            other => {
                let what = format!("COMMENT ON {other}");
                return unsupported(what, name::object_at(object));
            }
        };
        // An empty comment is none, as in PostgreSQL.
        let text = text.filter(|text| !text.is_empty()).cloned();
        Ok(Statement::Comment(Box::new(Comment { on, text })))
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
