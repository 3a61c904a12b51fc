//! COMMENT ON: which object is meant, and who may comment on it.

use catalog::comments::Commented;
use catalog::rights::{Object, SCHEMA_NAME};
use catalog::who::{Who, denied};
use catalog::{State, undefined_schema, undefined_table};
use sql::statement::{Comment, CommentTarget, Persistence, RelationName};
use types::{Error, Result, SqlState};

use super::large_object::LargeObjects;
use crate::{QueryResult, Session};

/// Runs COMMENT ON.
///
/// # Errors
/// 42P01, 42703, 3F000, 3D000, 42704 for what is not there, 42809 for another kind of relation,
/// 42501, 0A000 for what is temporary.
pub(crate) fn run(session: &mut Session, comment: Comment) -> Result<QueryResult> {
    if let CommentTarget::LargeObject(number) = comment.on {
        LargeObjects { session }.check_owner(number)?;
    }
    let on = target(session, &comment.on)?;
    session.change_catalog(|state| {
        match comment.text {
            Some(text) => drop(state.comments.insert(on, text)),
            None => drop(state.comments.remove(&on)),
        }
        Ok(())
    })?;
    Ok(QueryResult::command("COMMENT"))
}

/// The object that is meant, after a look at the rights of the session.
fn target(session: &Session, on: &CommentTarget) -> Result<Commented> {
    let (state, who) = (session.state(), session.who());
    Ok(match on {
        CommentTarget::Relation { kind, name } => {
            let name = &state.key_of(name)?;
            match state.kind_of(name) {
                None => return Err(undefined_table(name)),
                Some(found) if found != *kind => {
                    let article = if *kind == "index" { "an" } else { "a" };
                    let message = format!("\"{name}\" is not {article} {kind}");
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                Some(_) => {}
            }
            check_permanent(&state, name)?;
            state.check_owner(&who, kind, name)?;
            Commented::Relation(name.to_owned())
        }
        CommentTarget::Column { relation, column } => {
            let relation = &state.key_of(relation)?;
            let Some(kind) = state.kind_of(relation) else {
                return Err(undefined_table(relation));
            };
            if state.column_place(relation, column).is_none() {
                let message =
                    format!("column \"{column}\" of relation \"{relation}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            }
            check_permanent(&state, relation)?;
            state.check_owner(&who, kind, relation)?;
            Commented::Column(relation.to_owned(), column.clone())
        }
        CommentTarget::Constraint { table, name } => constraint(&state, &who, table, name)?,
        CommentTarget::Schema(name) => schema(&state, &who, name)?,
        CommentTarget::Database(name) => {
            if *name != *state.database.0 {
                let message = format!("database \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_DATABASE, message));
            }
            if !state.owns(&who, &Object::Database) {
                return Err(denied(format!("must be owner of database {name}")));
            }
            Commented::Database
        }
        CommentTarget::Type { kind, name } => {
            let key = super::user_type::existing(&state, *kind, name)?;
            super::user_type::check_owner(&state, &who, &key)?;
            Commented::Type(key)
        }
        CommentTarget::Collation(name) => {
            let key = super::collation::existing(&state, name, "comment on")?;
            super::collation::check_owner(&state, &who, &key)?;
            Commented::Collation(key)
        }
        CommentTarget::LargeObject(number) => Commented::LargeObject(*number),
        CommentTarget::Trigger { table, name } => trigger(&state, &who, table, name)?,
        CommentTarget::Routine(key) => {
            super::routine::check_owner(session, key)?;
            Commented::Routine(key.clone())
        }
        CommentTarget::Extension(name) => {
            super::extension::check_owner(&state, &who, name)?;
            Commented::Extension(name.clone())
        }
        CommentTarget::Role(name) => role(&state, &who, name)?,
    })
}

/// A schema that is meant.
fn schema(state: &State, who: &Who, name: &str) -> Result<Commented> {
    let name = if name == "main" { SCHEMA_NAME } else { name };
    if !state.has_schema(name) {
        return Err(undefined_schema(name));
    }
    if !state.owns(who, &Object::Schema(name.to_owned())) {
        return Err(denied(format!("must be owner of schema {name}")));
    }
    Ok(Commented::Schema(name.to_owned()))
}

/// A trigger that is meant.
fn trigger(state: &State, who: &Who, table: &str, name: &str) -> Result<Commented> {
    if !state.triggers_of(table).iter().any(|def| def.name == name) {
        let bare = RelationName::name_of_key(table);
        let message = format!("trigger \"{name}\" for table \"{bare}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    check_permanent(state, table)?;
    state.check_owner(who, state.kind_of(table).unwrap_or("table"), table)?;
    Ok(Commented::Trigger(table.to_owned(), name.to_owned()))
}

/// A role that is meant.
fn role(state: &State, who: &Who, name: &str) -> Result<Commented> {
    if !state.roles.contains_key(name) {
        let message = format!("role \"{name}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    if !state.is_superuser(who) {
        return Err(denied("permission denied to comment on a role".to_owned()));
    }
    Ok(Commented::Role(name.to_owned()))
}

/// A constraint that is meant.
fn constraint(state: &State, who: &Who, table: &RelationName, name: &str) -> Result<Commented> {
    let key = state.key_of(table)?;
    if !state.tables.contains_key(&key) {
        return Err(undefined_table(&key));
    }
    if !state.has_constraint(&key, name) {
        let message = format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    check_permanent(state, &key)?;
    state.check_owner(who, "table", &key)?;
    Ok(Commented::Constraint(key, name.to_owned()))
}

fn check_permanent(state: &State, relation: &str) -> Result<()> {
    match state.persistence_of(relation) {
        Some(Persistence::Temporary) => {
            Err(Error::unsupported("a comment on a temporary relation"))
        }
        _ => Ok(()),
    }
}
