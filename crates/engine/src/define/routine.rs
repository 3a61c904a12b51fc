//! CREATE, ALTER and DROP of functions, procedures and aggregates.
//!
//! Texts that call its name depend on a function: views, defaults, conditions, indexes.
//! Departure from PostgreSQL: of several functions of one name, each is needed by all such texts.

use std::sync::Arc;

use catalog::rights::{Object, SCHEMA_NAME};
use catalog::who::denied;
use catalog::{triggers, undefined_schema};
use sql::catalog::{
    BodyForm, Language, NameConflict, ParameterDef, RoutineDef, RoutineKind, RoutineType, Security,
};
use sql::statement::{
    DropBehaviour, IfExists, Privilege, Privileges, RelationName, RoutineChange, RoutineStatement,
};
use types::{DataType, Error, Result, SqlState};

use super::texts::{self, Place};
use super::{aggregate, privilege, user_type};
use crate::session::code::{Code, Meaning, Names, Use};
use crate::statement::catalog::StatementCatalog;
use crate::statement::row_types::type_of;
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Runs a statement about routines; the catalog is locked.
pub(super) fn run_statement(
    running: &mut Running<'_>,
    statement: RoutineStatement,
) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        RoutineStatement::Create { def, if_exists } => create(running, def, if_exists)?,
        RoutineStatement::Drop { keys, notices, behaviour, .. } => {
            for (state, message) in notices {
                running.session.notice(state, message);
            }
            for key in keys {
                drop_one(running, &key, behaviour)?;
            }
        }
        RoutineStatement::Alter { key, change, .. } => alter(running, &key, change)?,
    }
    Ok(QueryResult::command(command))
}

/// # Errors
/// 42501 unless the session owns the routine, or everything.
pub(super) fn check_owner(session: &Session, key: &str) -> Result<()> {
    let state = session.state();
    let object = Object::Routine(key.to_owned());
    if state.owns(&session.who(), &object) {
        return Ok(());
    }
    let (kind, name) = state.described(&object);
    Err(denied(format!("must be owner of {kind} {name}")))
}

fn check_schema(session: &Session, key: &str) -> Result<()> {
    let (state, who) = (session.state(), session.who());
    let schema = RelationName::schema_of_key(key);
    if schema == "pg_temp" {
        return Ok(());
    }
    if !state.has_schema(schema) {
        return Err(undefined_schema(schema));
    }
    let creates = Privileges::of(&[Privilege::Create]);
    state.check(&who, &Object::Schema(schema.to_owned()), creates)
}

/// Routines of a session have no owner whose rights they could have.
///
/// # Errors
/// 0A000 for SECURITY DEFINER in `pg_temp`.
fn refuse_owner_rights(def: &RoutineDef) -> Result<()> {
    if def.security == Security::Definer && RelationName::schema_of_key(&def.name) == "pg_temp" {
        return Err(Error::unsupported("SECURITY DEFINER in pg_temp"));
    }
    Ok(())
}

fn create(running: &mut Running<'_>, mut def: RoutineDef, if_exists: IfExists) -> Result<()> {
    check_schema(running.session, &def.name)?;
    let key = def.key();
    let state = running.session.state();
    let old = state.routines.get(&key).cloned();
    match &old {
        Some(_) if if_exists != IfExists::Replace => {
            let message =
                format!("function \"{}\" already exists with same argument types", def.bare_name());
            return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
        }
        Some(old) => {
            check_owner(running.session, &key)?;
            refuse_other(old, &def)?;
            def.number = old.number;
        }
        None => def.number = state.new_routine_number(&key),
    }
    if def.kind == RoutineKind::Aggregate {
        aggregate::complete(running.session, &mut def)?;
    }
    refuse_owner_rights(&def)?;
    let def = Arc::new(def);
    if running.session.settings.changed("check_function_bodies") != Some("off") {
        check_body(running.session, &def)?;
    }
    running.session.change_catalog(|state| {
        state.routines.insert(key, def);
        Ok(())
    })
}

/// # Errors
/// 42809, 42P13 where OR REPLACE changes what callers rely on.
fn refuse_other(old: &RoutineDef, new: &RoutineDef) -> Result<()> {
    if old.kind != new.kind {
        let message = "cannot change routine kind";
        let kind = match old.kind {
            RoutineKind::Aggregate => "an ordinary aggregate function",
            RoutineKind::Function => "a function",
            RoutineKind::Procedure => "a procedure",
        };
        let detail = format!("\"{}\" is {kind}.", old.bare_name());
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail));
    }
    let word = match old.kind {
        RoutineKind::Function => "FUNCTION",
        RoutineKind::Procedure => "PROCEDURE",
        RoutineKind::Aggregate => "AGGREGATE",
    };
    let hint = format!("Use DROP {word} {} first.", old.shown());
    let invalid = |message: String| {
        Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).with_hint(hint.clone()))
    };
    let columns = |def: &RoutineDef| -> Vec<(String, RoutineType)> {
        def.outputs().map(|output| (output.name.clone(), output.ty.clone())).collect()
    };
    if old.result != new.result || old.rows != new.rows {
        return invalid("cannot change return type of existing function".to_owned());
    }
    if columns(old) != columns(new) && old.result == RoutineType::Record {
        return Err(Error::new(
            SqlState::INVALID_FUNCTION_DEFINITION,
            "cannot change return type of existing function",
        )
        .with_detail("Row type defined by OUT parameters is different.")
        .with_hint(hint));
    }
    for (old, new) in old.inputs().zip(new.inputs()) {
        if !old.name.is_empty() && old.name != new.name {
            return invalid(format!("cannot change name of input parameter \"{}\"", old.name));
        }
        if old.default.is_some() && new.default.is_none() {
            return invalid("cannot remove parameter defaults from existing function".to_owned());
        }
    }
    Ok(())
}

/// Reads the body, and binds the statements of one in SQL.
///
/// # Errors
/// Errors of the body; 42P13 when it gives something else than it says.
fn check_body(session: &Session, def: &Arc<RoutineDef>) -> Result<()> {
    let others: &[&str] = if def.is_trigger() { &crate::session::code::TRIGGER } else { &[] };
    let is_sql = def.language == Language::Sql;
    if is_sql && def.is_trigger() {
        let message = "SQL functions cannot return type trigger";
        return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
    }
    if def.language == Language::PlPgSql {
        return Code::check_program(def, others).map_err(Error::without_position);
    }
    let code = Code::of(def, others).map_err(Error::without_position)?;
    let crate::session::code::Body::Sql(statements) = &code.body else { return Ok(()) };
    // Types of a call are not known yet.
    if def.is_polymorphic() || def.kind == RoutineKind::Aggregate {
        return Ok(());
    }
    let mut columns = None;
    for parsed in statements {
        let names = Names::new(parameters(session, def)?, NameConflict::Column, Arc::from([]));
        let catalog = StatementCatalog { variables: Some(&names), ..session.catalog_for(parsed) };
        let bound = sql::bind(parsed, &catalog, &[]).map_err(Error::without_position)?;
        columns = crate::statement::describe::columns(session, &bound)?;
    }
    if def.form == BodyForm::Return || def.result == RoutineType::Void {
        return Ok(());
    }
    refuse_result(def, columns.as_deref())
}

/// Meaning of names in a body of SQL that does not run.
fn parameters(session: &Session, def: &Arc<RoutineDef>) -> Result<crate::session::code::Find> {
    let def = Arc::clone(def);
    let types: Result<Vec<DataType>> =
        def.parameters.iter().map(|parameter| type_of(session, &parameter.ty)).collect();
    let types = types?;
    Ok(Box::new(move |parts: &[&str]| -> Option<Meaning> {
        let inputs: Vec<(usize, &ParameterDef)> =
            def.parameters.iter().enumerate().filter(|(_, p)| p.mode.goes_in()).collect();
        let find = |name: &str| {
            let numbered = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
            let found = match numbered {
                Some(number) => inputs.get(number.checked_sub(1)?),
                None => inputs.iter().find(|(_, p)| !p.name.is_empty() && p.name == name),
            };
            found.map(|(slot, _)| *slot)
        };
        match parts {
            [name] => {
                let slot = find(name)?;
                Some((Use::Slot(slot), types[slot]))
            }
            [own, name] if *own == def.bare_name() && find(name).is_some() => {
                let slot = find(name)?;
                Some((Use::Slot(slot), types[slot]))
            }
            [root, field] => {
                let slot = find(root)?;
                let DataType::Record(row) = types[slot] else { return None };
                let (ordinal, ty) = row.field(field)?;
                Some((Use::Field(slot, ordinal), ty))
            }
            _ => None,
        }
    }))
}

/// # Errors
/// 42P13 when the last statement gives another number of columns.
fn refuse_result(def: &RoutineDef, columns: Option<&[(String, DataType)]>) -> Result<()> {
    let mismatch = |detail: String| {
        let message =
            format!("return type mismatch in function declared to return {}", def.result.shown());
        Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).with_detail(detail))
    };
    let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
        return mismatch(
            "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."
                .to_owned(),
        );
    };
    match &def.result {
        RoutineType::Value(ty, _) => {
            let [(_, actual)] = columns else {
                return mismatch("Final statement must return exactly one column.".to_owned());
            };
            let is_text = |ty: DataType| ty.is_text() || ty == DataType::Unknown;
            let fits = ty.name() == actual.name()
                || is_text(*ty) == is_text(*actual) && ty.is_array() == actual.is_array();
            if fits {
                return Ok(());
            }
            mismatch(format!("Actual return type is {}.", actual.name()))
        }
        RoutineType::Record if def.outputs().next().is_some() => {
            let wanted = def.outputs().count();
            match columns.len() {
                count if count < wanted => {
                    mismatch("Final statement returns too few columns.".to_owned())
                }
                count if count > wanted => {
                    mismatch("Final statement returns too many columns.".to_owned())
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn alter(running: &mut Running<'_>, key: &str, change: RoutineChange) -> Result<()> {
    check_owner(running.session, key)?;
    let state = running.session.state();
    let Some(old) = state.routines.get(key).cloned() else { return Ok(()) };
    let mut def = RoutineDef::clone(&old);
    match change {
        RoutineChange::Owner(to) => return change_owner(running, key, &to),
        RoutineChange::Rename(to) => {
            def.name = RelationName::key_beside(&old.name, &to);
        }
        RoutineChange::Schema(to) => {
            let schema = if to == "main" { SCHEMA_NAME.to_owned() } else { to };
            let name = RelationName::name_of_key(&old.name).to_owned();
            def.name = RelationName { schema: Some(schema), name }.key();
            check_schema(running.session, &def.name)?;
        }
        RoutineChange::Attributes { volatility, nulls, security, settings, hints } => {
            def.volatility = volatility.unwrap_or(def.volatility);
            def.nulls = nulls.unwrap_or(def.nulls);
            def.security = security.unwrap_or(def.security);
            settings.into_iter().for_each(|change| change.apply(&mut def.settings));
            for (name, value) in hints {
                def.hints.retain(|(known, _)| *known != name);
                def.hints.extend((value != "false").then_some((name, value)));
            }
        }
    }
    refuse_owner_rights(&def)?;
    let new_key = def.key();
    if new_key != key && state.routines.contains_key(&new_key) {
        let message = format!(
            "function {} already exists in schema \"{}\"",
            def.shown(),
            RelationName::schema_of_key(&def.name)
        );
        return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
    }
    running.session.change_catalog(|state| {
        state.replace_routine(key, def);
        Ok(())
    })
}

/// Moves routines to another schema.
///
/// # Errors
/// Errors of changing the catalog.
pub(super) fn move_all(running: &mut Running<'_>, keys: &[String], schema: &str) -> Result<()> {
    running.session.change_catalog(|state| {
        for key in keys {
            let Some(old) = state.routines.get(key).cloned() else { continue };
            let name = old.bare_name().to_owned();
            let name = RelationName { schema: Some(schema.to_owned()), name }.key();
            state.replace_routine(key, RoutineDef { name, ..RoutineDef::clone(&old) });
        }
        Ok(())
    })
}

fn change_owner(running: &mut Running<'_>, key: &str, to: &sql::statement::RoleName) -> Result<()> {
    let state = running.session.state();
    let role = privilege::one_role(running.session, &state, to)?;
    let object = Object::Routine(key.to_owned());
    privilege::check_new_owner(&state, &running.session.who(), &object, &role)?;
    running.session.change_catalog(|state| {
        privilege::set_owner(state, &object, &role);
        Ok(())
    })
}

/// A routine as messages about what depends on it call it.
fn described(def: &RoutineDef) -> String {
    let kind = match def.kind {
        RoutineKind::Function | RoutineKind::Aggregate => "function",
        RoutineKind::Procedure => "procedure",
    };
    format!("{kind} {}", def.shown())
}

/// Refuses what is not the session's alone and calls a routine that is.
///
/// # Errors
/// 0A000.
pub(super) fn refuse_temporary(session: &Session) -> Result<()> {
    let work = session.work();
    if work.temporary.routines.is_empty() {
        return Ok(());
    }
    let kept = work.shared_catalog(session.inner());
    for (key, def) in &work.temporary.routines {
        let users = texts::users_of_routine(&kept, &def.name);
        let triggers = kept.triggers_calling(key);
        let user = users.first().map(Place::shown);
        let fires = || triggers.first().map(|(table, name)| triggers::shown(name, table));
        let folds = || aggregate::calling(&kept, def.number).first().map(|def| described(def));
        if let Some(user) = user.or_else(fires).or_else(folds) {
            return Err(Error::unsupported(format!("temporary {} of {user}", described(def))));
        }
    }
    Ok(())
}

/// Drops the routine that the catalog calls `key`, with what calls it under CASCADE.
///
/// # Errors
/// 2BP01, 42501.
pub(super) fn drop_one(
    running: &mut Running<'_>,
    key: &str,
    behaviour: DropBehaviour,
) -> Result<()> {
    let state = running.session.state();
    let Some(def) = state.routines.get(key).cloned() else { return Ok(()) };
    if !state.owns(&running.session.who(), &Object::schema_of(&def.name)) {
        check_owner(running.session, key)?;
    }
    let mut users = texts::users_of_routine(&state, &def.name);
    users.retain(|place| !place.is_of_routine(def.number));
    let triggers = state.triggers_calling(key);
    let aggregates = aggregate::calling(&state, def.number);
    let shown = described(&def);
    let is_used = !(users.is_empty() && triggers.is_empty() && aggregates.is_empty());
    if is_used && behaviour == DropBehaviour::Restrict {
        let places = users.iter().map(Place::shown);
        let firing = triggers.iter().map(|(table, name)| triggers::shown(name, table));
        let line = |place: String| format!("{place} depends on {shown}");
        let folding = aggregates.iter().map(|aggregate| described(aggregate));
        let lines: Vec<String> = folding.chain(places).chain(firing).map(line).collect();
        let message = format!("cannot drop {shown} because other objects depend on it");
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
            .with_detail(lines.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    user_type::drop_texts(running, &users)?;
    for aggregate in aggregates {
        drop_one(running, &aggregate.key(), behaviour)?;
    }
    running.session.change_catalog(|state| {
        for (table, name) in triggers {
            let own = state.triggers.get_mut(&table);
            own.into_iter().for_each(|own| own.retain(|def| def.name != name));
        }
        state.routines.remove(key);
        Ok(())
    })
}
