//! CREATE, ALTER and DROP EXTENSION.
//!
//! An extension is a name and a schema: what it has is built in, and is found where the catalog has
//! the name. Who calls its functions is known by texts of definitions.

use catalog::comments::Commented;
use catalog::rights::{Object, SCHEMA_NAME};
use catalog::who::{Who, denied};
use catalog::{Extension, State, undefined_schema};
use sql::catalog::{Catalog, Domain, DomainDef, IndexColumn, RoutineType, UserType};
use sql::statement::{
    ALWAYS_THERE, DropBehaviour, ExtensionInfo, ExtensionStatement, IfExists, IfMissing, Privilege,
    Privileges,
};
use types::{DataType, Error, PackedType, Result, SqlState};

use super::missing::skipped;
use super::{texts, user_type};
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Runs a statement about extensions; the catalog is locked.
pub(super) fn run(running: &mut Running<'_>, statement: ExtensionStatement) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        ExtensionStatement::Create { name, schema, version, if_exists } => {
            if !may_create(running, &name, version.as_deref(), if_exists)? {
                return Ok(QueryResult::command(command));
            }
            let schema = match schema {
                Some(schema) => schema,
                None => {
                    let first = running.session.catalog().schema_of_new()?;
                    first.unwrap_or_else(|| SCHEMA_NAME.to_owned())
                }
            };
            create(running, &name, schema)?;
        }
        ExtensionStatement::Drop { names, if_missing, behaviour } => {
            drop_all(running, &names, if_missing, behaviour)?;
        }
        ExtensionStatement::Move { name, to } => set_schema(running, &name, &to)?,
        ExtensionStatement::Update { name, to } => update(running, &name, to)?,
    }
    Ok(QueryResult::command(command))
}

fn undefined(name: &str) -> Error {
    let message = format!("extension \"{name}\" does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// # Errors
/// 42704 when it was not created, 42501 unless `who` owns it.
pub(super) fn check_owner(state: &State, who: &Who, name: &str) -> Result<()> {
    let owner = match state.extensions.get(name) {
        Some(extension) => extension.owner.as_str(),
        None if name == ALWAYS_THERE => "",
        None => return Err(undefined(name)),
    };
    if state.has_rights_of(who, owner) {
        Ok(())
    } else {
        Err(denied(format!("must be owner of extension {name}")))
    }
}

/// False when IF NOT EXISTS skips it.
fn may_create(
    running: &mut Running<'_>,
    name: &str,
    version: Option<&str>,
    if_exists: IfExists,
) -> Result<bool> {
    let state = running.session.state();
    if name == ALWAYS_THERE || state.extensions.contains_key(name) {
        let message = format!("extension \"{name}\" already exists");
        if if_exists != IfExists::Skip {
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        running.session.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
        return Ok(false);
    }
    let Some(info) = ExtensionInfo::named(name) else {
        let message = format!("extension \"{name}\" is not available");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .with_hint("pg_available_extensions lists those that are built in."));
    };
    match version {
        Some(wanted) if wanted != info.version => {
            let message = format!(
                "extension \"{name}\" has no installation script nor update path for version \
                 \"{wanted}\""
            );
            Err(Error::new(SqlState::INVALID_PARAMETER, message))
        }
        _ => Ok(true),
    }
}

fn create(running: &mut Running<'_>, name: &str, schema: String) -> Result<()> {
    let (state, who) = (running.session.state(), running.session.who());
    let schema = if schema == "main" { SCHEMA_NAME.to_owned() } else { schema };
    if !state.has_schema(&schema) {
        return Err(undefined_schema(&schema));
    }
    let creates = Privileges::of(&[Privilege::Create]);
    state.check(&who, &Object::Database, creates).map_err(|_| {
        denied(format!("permission denied to create extension \"{name}\""))
            .with_hint("Must have CREATE privilege on current database to create this extension.")
    })?;
    state.check(&who, &Object::Schema(schema.clone()), creates)?;
    let Some(info) = ExtensionInfo::named(name) else { return Err(undefined(name)) };
    let owner = match &who {
        Who::Role(owner) => owner.to_string(),
        Who::All => String::new(),
    };
    running.session.change_catalog(|state| {
        let version = info.version.to_owned();
        state.extensions.insert(name.to_owned(), Extension { schema, owner, version });
        state.comments.insert(Commented::Extension(name.to_owned()), info.comment.to_owned());
        Ok(())
    })
}

fn drop_all(
    running: &mut Running<'_>,
    names: &[String],
    if_missing: IfMissing,
    behaviour: DropBehaviour,
) -> Result<()> {
    let (state, who) = (running.session.state(), running.session.who());
    let mut found = Vec::new();
    for name in names {
        if name == ALWAYS_THERE {
            return Err(Error::unsupported("DROP EXTENSION plpgsql"));
        }
        match check_owner(&state, &who, name) {
            Ok(()) => found.push(name.clone()),
            Err(error) => {
                let text = skipped(error, if_missing)?;
                running.session.notice(SqlState::SUCCESSFUL_COMPLETION, text);
            }
        }
    }
    drop_named(running, &found, behaviour)
}

/// Drops extensions that there are, with what calls their functions under CASCADE.
///
/// # Errors
/// 2BP01.
pub(super) fn drop_named(
    running: &mut Running<'_>,
    names: &[String],
    behaviour: DropBehaviour,
) -> Result<()> {
    let mut users: Vec<(texts::Place, String)> = Vec::new();
    for name in names {
        drop_columns(running, name, behaviour)?;
        let found = texts::users_of_functions(running.session, &sql::extension_functions(name));
        let called = |(place, name): (texts::Place, String)| (place, format!("function {name}"));
        let found = found.into_iter().map(called);
        let is_new = |place: &texts::Place| !users.iter().any(|(known, _)| known == place);
        let all = found.chain(users_of_classes(running.session, name));
        let found: Vec<_> = all.filter(|(place, _)| is_new(place)).collect();
        if behaviour == DropBehaviour::Restrict && !found.is_empty() {
            let line = |(place, needed): &(texts::Place, String)| {
                format!("{} depends on {needed}", place.shown())
            };
            let lines: Vec<String> = found.iter().map(line).collect();
            return Err(in_use(name, &lines));
        }
        users.extend(found);
    }
    let places: Vec<&texts::Place> = users.iter().map(|(place, _)| place).collect();
    let (defaults, others): (Vec<_>, Vec<_>) =
        places.into_iter().partition(|place| matches!(place, texts::Place::DomainDefault(_)));
    for place in defaults {
        if let texts::Place::DomainDefault(domain) = place {
            drop_default(running, domain)?;
        }
    }
    user_type::drop_places(running, &others)?;
    running.session.change_catalog(|state| {
        names.iter().for_each(|name| drop(state.extensions.remove(name)));
        Ok(())
    })
}

/// The inverted and near indexes that have an operator class of an extension, with that.
fn users_of_classes(session: &Session, extension: &str) -> Vec<(texts::Place, String)> {
    let mut found = Vec::new();
    for (table, entry) in session.state().plain_tables() {
        let def = &entry.def;
        for index in def.indexes.iter().filter(|index| !index.kind.has_keys()) {
            let place = || texts::Place::Predicate(table.to_owned(), index.name.clone());
            if let Some(form) = index.near_form().filter(|_| extension == "vector") {
                let class = form.metric.class();
                found.push((place(), format!("operator class {class} for access method hnsw")));
                continue;
            }
            let class = |(position, column): (usize, &IndexColumn)| {
                let ty = match column.expression() {
                    Some(number) => index.terms.expressions.get(number)?.ty,
                    None => def.columns.get(column.ordinal)?.ty,
                };
                let class = index.element_class(position, ty)?;
                (class.extension() == Some(extension)).then(|| class.name(ty))
            };
            if let Some(class) = index.columns.iter().enumerate().find_map(class) {
                found.push((place(), format!("operator class {class} for access method gin")));
            }
        }
    }
    found
}

/// Drops the columns of an extension's type.
///
/// # Errors
/// 2BP01 under RESTRICT; 0A000 where other objects than columns use the type.
fn drop_columns(running: &mut Running<'_>, name: &str, behaviour: DropBehaviour) -> Result<()> {
    let Some(ty) = PackedType::of_extension(name) else { return Ok(()) };
    let state = running.session.state();
    let is_it =
        |known: DataType| known.element().unwrap_or(known).of_all_digits() == DataType::Packed(ty);
    let (mut columns, mut others) = (Vec::new(), Vec::new());
    for (table, entry) in state.plain_tables() {
        let used = entry.def.columns.iter().filter(|column| is_it(column.ty));
        columns.extend(used.map(|column| (table.to_owned(), column.name.clone())));
    }
    for (key, known) in &state.types {
        let is_user = match known {
            UserType::Domain(domain) => is_it(domain.ty),
            UserType::Composite(record) => record.fields().iter().any(|field| is_it(field.ty)),
            UserType::Enum(_) | UserType::Range(_) | UserType::Multirange(_) => false,
        };
        others.extend(is_user.then(|| format!("type {key}")));
    }
    let is_used =
        |used: &RoutineType| matches!(used, RoutineType::Value(known, _) if is_it(*known));
    for (key, def) in &state.routines {
        let mut types = def.parameters.iter().map(|of| &of.ty).chain([&def.result]);
        others.extend(types.any(is_used).then(|| format!("function {key}")));
    }
    if behaviour == DropBehaviour::Restrict && !(columns.is_empty() && others.is_empty()) {
        let column =
            |(table, column): &(String, String)| format!("column {column} of table {table}");
        let users = columns.iter().map(column).chain(others);
        let lines: Vec<String> =
            users.map(|user| format!("{user} depends on type {name}")).collect();
        return Err(in_use(name, &lines));
    }
    if let Some(first) = others.first() {
        return Err(Error::unsupported(format!("DROP EXTENSION whose type {first} uses")));
    }
    columns
        .iter()
        .try_for_each(|(table, column)| user_type::drop_column(running.session, table, column))
}

/// 2BP01.
#[cold]
fn in_use(name: &str, lines: &[String]) -> Error {
    let message = format!("cannot drop extension {name} because other objects depend on it");
    Error::new(SqlState::DEPENDENT_OBJECTS, message)
        .with_detail(lines.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// A domain loses its default.
fn drop_default(running: &mut Running<'_>, domain: &str) -> Result<()> {
    running.session.change_catalog(|state| {
        let Some(old) = state.types.get(domain).and_then(UserType::domain) else { return Ok(()) };
        let new = DomainDef { default: None, ..DomainDef::clone(&old) };
        state.replace_domain(old, Domain::new(new)?)
    })
}

fn set_schema(running: &mut Running<'_>, name: &str, to: &str) -> Result<()> {
    let (state, who) = (running.session.state(), running.session.who());
    let to = if to == "main" { SCHEMA_NAME } else { to };
    if !state.has_schema(to) {
        check_owner(&state, &who, name)?;
        return Err(undefined_schema(to));
    }
    check_owner(&state, &who, name)?;
    if name == ALWAYS_THERE {
        let message = "extension \"plpgsql\" does not support SET SCHEMA";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    state.check(&who, &Object::Schema(to.to_owned()), Privileges::of(&[Privilege::Create]))?;
    running.session.change_catalog(|state| {
        if let Some(extension) = state.extensions.get_mut(name) {
            to.clone_into(&mut extension.schema);
        }
        Ok(())
    })
}

/// There is one version of each: what is built in.
fn update(running: &mut Running<'_>, name: &str, to: Option<String>) -> Result<()> {
    let (state, who) = (running.session.state(), running.session.who());
    check_owner(&state, &who, name)?;
    let Some(info) = ExtensionInfo::named(name) else { return Ok(()) };
    match to {
        Some(to) if to != info.version => {
            let message = format!(
                "extension \"{name}\" has no update path from version \"{}\" to version \"{to}\"",
                info.version
            );
            Err(Error::new(SqlState::INVALID_PARAMETER, message))
        }
        _ => {
            let message = format!(
                "version \"{}\" of extension \"{name}\" is already installed",
                info.version
            );
            running.session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            Ok(())
        }
    }
}
