//! CREATE, ALTER and DROP TYPE.
//!
//! ```text
//! ADD VALUE, RENAME ...  -> a type of another content -> State::replace_enum: columns, views
//! RENAME TO, SET SCHEMA  -> texts of definitions name it by its new name
//! RENAME VALUE           -> their literals have the label's new name
//! ```
//! No row is looked at: a value is the position of its label, which it keeps.
//! Departures from PostgreSQL: a label may be used by the transaction that adds it. Temporary
//! tables of other sessions keep the labels that the type had.

use catalog::comments::Commented;
use catalog::names::{quoted, quoted_relation};
use catalog::rights::Object;
use catalog::user_types::{composite_in, enum_in, range_in};
use catalog::who::{Who, denied};
use catalog::{State, View, undefined_schema};
use sql::catalog::{ColumnDef, Domain, DomainDef, DomainUse, RoutineType, UserType};
use sql::statement::{
    AlterAction, DomainStatement, DropBehaviour, IfExists, IfMissing, NewLabel, Privilege,
    Privileges, RelationName, Statement, TypeKind, TypeStatement,
};
use types::{Attribute, DataType, EnumType, Error, LabelPlace, RecordType, Result, SqlState};

use super::missing::skipped;
use super::texts::{self, Renamed};
use super::{alter, attribute, policy, range_type, routine, view};
use crate::session::definer::Definer;
use crate::show::pg_catalog;
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Runs a statement about types; the catalog is locked.
pub(super) fn run_statement(
    session: &mut Session,
    statement: TypeStatement,
) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        TypeStatement::CreateEnum { name, labels } => {
            create_enum(&mut session.definer(), &name, &labels)?
        }
        TypeStatement::AddLabel { name, label, place, if_exists } => {
            add_label(&mut session.definer(), &name, &label, &place, if_exists)?;
        }
        TypeStatement::RenameLabel { name, from, to } => {
            let old = own_enum(&session.definer(), &name)?;
            let new = old.with_renamed_label(&from, &to)?;
            texts::rename_label(session, old, Renamed { from: &from, to: &to })?;
            replace(&mut session.definer(), old, new)?;
        }
        TypeStatement::Rename { kind, name, to } => {
            let key = existing(&session.state(), kind, &name)?;
            let to = RelationName::of_key(&RelationName::key_beside(&key, &to));
            move_type(session, &key, &to)?;
        }
        TypeStatement::Move { kind, name, to } => {
            let key = existing(&session.state(), kind, &name)?;
            let schema = if to == "main" { "public" } else { to.as_str() };
            if !session.state().has_schema(schema) {
                return Err(undefined_schema(schema));
            }
            let to = RelationName {
                schema: Some(schema.to_owned()),
                name: RelationName::name_of_key(&key).to_owned(),
            };
            let (state, who) = (session.state(), session.who());
            let creates = Privileges::of(&[Privilege::Create]);
            state.check(&who, &Object::Schema(schema.to_owned()), creates)?;
            move_type(session, &key, &RelationName::of_key(&to.key()))?;
        }
        TypeStatement::Drop { kind, names, if_missing, behaviour } => {
            drop_all(session, kind, &names, if_missing, behaviour)?;
        }
        TypeStatement::Unsupported(what) => return Err(Error::unsupported(what)),
    }
    Ok(QueryResult::command(command))
}

/// 42710 for a relation that is called as a type is.
pub(super) fn taken_by_type(key: &str) -> Error {
    taken(RelationName::name_of_key(key)).with_hint(
        "A relation has an associated type of the same name, so you must use a name that doesn't \
         conflict with any existing type.",
    )
}

/// 42710.
fn taken(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))
}

/// A type of the system by its name in the catalog, as it is shown.
fn system_type(name: &RelationName) -> Option<&'static str> {
    match name.schema.as_deref() {
        None | Some("pg_catalog") => pg_catalog::type_shown(&name.name),
        Some(_) => None,
    }
}

/// Key in the catalog of the type `name`.
///
/// # Errors
/// 42704 when there is none, 3F000 for its schema, 42809 for a type of another kind, 2BP01 for one
/// of the system.
pub(super) fn existing(state: &State, kind: TypeKind, name: &RelationName) -> Result<String> {
    let key = state.key_of(name)?;
    let found = state.types.get(&key);
    if found.is_some_and(|ty| kind == TypeKind::Type || ty.domain().is_some()) {
        return Ok(key);
    }
    let is_row = state.tables.contains_key(&key) || state.views.contains_key(&key);
    if kind == TypeKind::Domain && (found.is_some() || system_type(name).is_some() || is_row) {
        let message = format!("\"{}\" is not a domain", name.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if let Some(ty) = system_type(name) {
        let message =
            format!("cannot drop type {ty} because it is required by the database system");
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message));
    }
    if is_row {
        let name = &name.name;
        let kind = state.kind_of(&key).unwrap_or("table");
        let message = format!("cannot drop type {name} because {kind} {name} requires it");
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
            .with_hint(format!("You can drop {kind} {name} instead.")));
    }
    Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")))
}

/// Checks the privileges that definitions need on types and their schemas.
///
/// # Errors
/// 42501.
pub(super) fn check_statement(state: &State, who: &Who, statement: &Statement) -> Result<()> {
    let uses = |ty: DataType, domain: Option<Domain>| {
        let key = match domain {
            Some(domain) => Some(domain.key.clone()),
            None => {
                let composite = composite_in(ty).and_then(RecordType::key);
                let other = composite.or(range_in(ty).map(|ty| ty.range().key.as_str()));
                enum_in(ty).map(EnumType::key).or(other).map(str::to_owned)
            }
        };
        let usage = Privileges::of(&[Privilege::Usage]);
        key.map_or(Ok(()), |key| state.check(who, &Object::Type(key), usage))
    };
    let of = |used: Option<DomainUse>| used.map(|used| used.domain);
    match statement {
        Statement::CreateTable(create) => {
            create.columns.iter().try_for_each(|c| uses(c.ty, of(c.domain)))
        }
        Statement::Domain(statement) => match &**statement {
            DomainStatement::Create { name, content } => {
                let creates = Privileges::of(&[Privilege::Create]);
                state.check(who, &Object::schema_of(&state.key_of(name)?), creates)?;
                uses(content.ty, content.over)
            }
            DomainStatement::Alter { .. } => Ok(()),
        },
        Statement::AlterTable(Some(alter)) => {
            alter.actions.iter().try_for_each(|action| match action {
                AlterAction::AddColumn { column, .. } => uses(column.ty, of(column.domain)),
                AlterAction::SetType { ty, domain, .. } => uses(*ty, of(*domain)),
                _ => Ok(()),
            })
        }
        Statement::CreateRange(new) => {
            let creates = Privileges::of(&[Privilege::Create]);
            state.check(who, &Object::schema_of(&state.key_of(&new.name)?), creates)
        }
        Statement::CreateComposite { name, attributes } => {
            let creates = Privileges::of(&[Privilege::Create]);
            state.check(who, &Object::schema_of(&state.key_of(name)?), creates)?;
            attributes.iter().try_for_each(|attribute| {
                let used = attribute.domain.and_then(|number| state.domain_numbered(number));
                uses(attribute.field.ty, of(used))
            })
        }
        Statement::Type(statement) => match &**statement {
            TypeStatement::CreateEnum { name, .. } => {
                let creates = Privileges::of(&[Privilege::Create]);
                state.check(who, &Object::schema_of(&state.key_of(name)?), creates)
            }
            // Each looks for itself.
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// # Errors
/// 42501 unless `who` owns the type, or everything.
pub(super) fn check_owner(state: &State, who: &Who, key: &str) -> Result<()> {
    if state.owns(who, &Object::Type(key.to_owned())) {
        return Ok(());
    }
    Err(denied(format!("must be owner of type {}", RelationName::name_of_key(key))))
}

/// The enumerated type `name`, which the session owns.
///
/// # Errors
/// As [`existing`], and 42809 for a type of another kind.
fn own_enum(definer: &Definer<'_>, name: &RelationName) -> Result<EnumType> {
    let state = definer.state();
    let key = state.key_of(name)?;
    match state.types.get(&key) {
        Some(UserType::Enum(ty)) => {
            check_owner(&state, &definer.who(), &key)?;
            Ok(*ty)
        }
        found => {
            let system = system_type(name);
            let is_row = found.is_some()
                || state.tables.contains_key(&key)
                || state.views.contains_key(&key);
            if system.is_none() && !is_row {
                let message = format!("type \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            }
            let shown = system.map_or_else(|| name.name.clone(), str::to_owned);
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{shown} is not an enum")))
        }
    }
}

/// # Errors
/// 42710 when a type or a relation has the name.
pub(super) fn check_free(state: &State, key: &str) -> Result<()> {
    let is_taken = state.types.contains_key(key)
        || state.tables.contains_key(key)
        || state.views.contains_key(key);
    if is_taken { Err(taken(RelationName::name_of_key(key))) } else { Ok(()) }
}

fn create_enum(definer: &mut Definer<'_>, name: &RelationName, labels: &[String]) -> Result<()> {
    let state = definer.state();
    let key = state.key_of(name)?;
    check_free(&state, &key)?;
    let number = state.new_type_number(&key);
    let ty = EnumType::declared(&key, &RelationName::of_key(&key).quoted(), number, labels)?;
    definer.change_catalog(|state| {
        state.types.insert(key, UserType::Enum(ty));
        Ok(())
    })
}

/// CREATE TYPE ... AS (...).
pub(super) fn create_composite(
    running: &mut Running<'_>,
    name: &RelationName,
    attributes: Vec<Attribute>,
) -> Result<QueryResult> {
    let state = running.session.state();
    let key = state.key_of(name)?;
    check_free(&state, &key)?;
    let number = state.new_type_number(&key);
    let shown = RelationName::of_key(&key).quoted();
    let ty = RecordType::composite(&key, &shown, number, attributes)?;
    running.session.change_catalog(|state| {
        state.types.insert(key, UserType::Composite(ty));
        Ok(())
    })?;
    Ok(QueryResult::command("CREATE TYPE"))
}

fn add_label(
    definer: &mut Definer<'_>,
    name: &RelationName,
    label: &str,
    place: &NewLabel,
    if_exists: IfExists,
) -> Result<()> {
    let old = own_enum(definer, name)?;
    if old.position(label).is_some() && if_exists == IfExists::Skip {
        let message = format!("enum label \"{label}\" already exists, skipping");
        definer.notice(SqlState::DUPLICATE_OBJECT, message);
        return Ok(());
    }
    let place = match place {
        NewLabel::Last => LabelPlace::End,
        NewLabel::Before(label) => LabelPlace::Before(label),
        NewLabel::After(label) => LabelPlace::After(label),
    };
    replace(definer, old, old.with_label(label, place)?)
}

fn replace(definer: &mut Definer<'_>, old: EnumType, new: EnumType) -> Result<()> {
    definer.change_catalog(|state| state.replace_enum(old, new))
}

/// Gives the type that the catalog calls `key` another name, in another schema perhaps.
pub(super) fn move_type(session: &mut Session, key: &str, to: &RelationName) -> Result<()> {
    let state = session.state();
    check_owner(&state, &session.who(), key)?;
    let new_key = to.key();
    if new_key == key {
        return Ok(());
    }
    check_free(&state, &new_key)?;
    let Some(old) = state.types.get(key).copied() else { return Ok(()) };
    let keeps_name = matches!(old, UserType::Range(_) | UserType::Multirange(_));
    if keeps_name && !users_of(session, old).is_empty() {
        return Err(Error::unsupported("another name of a range type that is used"));
    }
    let users = texts::users_of(session, texts::Naming::Types, key);
    session.change_catalog(|state| {
        match old {
            UserType::Enum(old) => {
                let new = old.renamed(&new_key, &RelationName::of_key(&new_key).quoted())?;
                state.replace_enum(old, new)?;
            }
            UserType::Domain(old) => {
                let def = DomainDef { key: new_key.clone(), ..DomainDef::clone(&old) };
                state.replace_domain(old, Domain::new(def)?)?;
            }
            UserType::Composite(old) => {
                let new = old.renamed(&new_key, &RelationName::of_key(&new_key).quoted())?;
                state.replace_composite(old, new)?;
            }
            UserType::Range(_) | UserType::Multirange(_) => {
                range_type::rename(state, old, &new_key)?;
            }
        }
        state.move_rights(&Object::Type(key.to_owned()), Object::Type(new_key.clone()));
        state.move_comments(|on| match on {
            Commented::Type(known) if known == key => Some(Commented::Type(new_key.clone())),
            _ => None,
        });
        Ok(())
    })?;
    texts::rename(
        &mut session.definer(),
        &users,
        texts::Naming::Types,
        Renamed { from: key, to: &new_key },
    )
}

fn drop_all(
    session: &mut Session,
    kind: TypeKind,
    names: &[RelationName],
    if_missing: IfMissing,
    behaviour: DropBehaviour,
) -> Result<()> {
    for name in names {
        let state = session.state();
        let key = match existing(&state, kind, name) {
            Ok(key) => key,
            Err(error) => {
                session.notice(SqlState::SUCCESSFUL_COMPLETION, skipped(error, if_missing)?);
                continue;
            }
        };
        range_type::refuse_multirange(state.types.get(&key))?;
        if !state.owns(&session.who(), &Object::schema_of(&key)) {
            check_owner(&state, &session.who(), &key)?;
        }
        drop_one(session, &key, behaviour)?;
    }
    Ok(())
}

/// Something that needs a type or a collation.
pub(super) enum User {
    /// A function or procedure, by its key.
    Routine(String),
    /// A column, by its table and name, and its type as it is shown.
    Column(String, String, String),
    /// A view.
    View(String),
    /// A default of a column, which has another type.
    Default(String, String),
    /// A constraint of a table, by its name.
    Check(String, String),
    /// An index, by its table and name.
    Index(String, String),
    /// A domain that is made of it, by its key.
    Domain(String),
    /// An attribute of a composite type, by its key and name.
    Attribute(String, String),
    /// A condition of a domain, which is not made of it, by its name.
    DomainCheck(String, String),
    /// A policy of a table, by its name.
    Policy(String, String),
}

impl User {
    /// Its name in messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Column(table, column, _) => format!("column {column} of table {table}"),
            Self::View(view) => format!("view {view}"),
            Self::Routine(key) => format!("function {key}"),
            Self::Default(table, column) => {
                format!("default value for column {column} of table {table}")
            }
            Self::Check(table, name) => format!("constraint {name} on table {table}"),
            Self::Index(_, name) => format!("index {name}"),
            Self::Policy(table, name) => policy::shown(table, name),
            Self::Domain(key) => format!("type {}", RelationName::of_key(key).quoted()),
            Self::DomainCheck(_, name) => format!("constraint {name}"),
            Self::Attribute(key, name) => {
                let ty = RelationName::of_key(key).quoted();
                format!("column {name} of composite type {ty}")
            }
        }
    }
}

/// Drops the type that the catalog calls `key`, with what needs it under CASCADE.
///
/// # Errors
/// 2BP01.
pub(super) fn drop_one(session: &mut Session, key: &str, behaviour: DropBehaviour) -> Result<()> {
    let state = session.state();
    let Some(mut ty) = state.types.get(key).copied() else { return Ok(()) };
    if let UserType::Multirange(range) = ty {
        ty = UserType::Range(range);
    }
    let multirange = match ty {
        UserType::Range(range) => Some(range.multirange().key.as_str()),
        _ => None,
    };
    let mut found = Vec::new();
    all_users(session, ty, &mut found);
    if !found.is_empty() && behaviour == DropBehaviour::Restrict {
        let line = |(user, of): &(User, String)| format!("{} depends on type {of}", user.shown());
        let lines: Vec<String> = found.iter().map(line).collect();
        let message = format!("cannot drop type {} because other objects depend on it", ty.name());
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
            .with_detail(lines.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let users: Vec<User> = found.into_iter().map(|(user, _)| user).collect();
    tell_cascade(&mut session.definer(), &users);
    for user in &users {
        drop_user(session, user)?;
    }
    let domains = users.iter().filter_map(|user| match user {
        User::Domain(key) => Some(key.as_str()),
        _ => None,
    });
    session.change_catalog(|state| {
        domains.chain([ty.key()]).chain(multirange).for_each(|key| {
            state.types.remove(key);
        });
        Ok(())
    })
}

/// Drops something that needs a type; a domain goes when all have gone.
pub(super) fn drop_user(session: &mut Session, user: &User) -> Result<()> {
    match user {
        User::Column(table, column, _) => drop_column(session, table, column),
        User::View(view) => session.change_catalog(|state| {
            let kind = state.remove_query(view);
            view::drop_dependents(state, kind, view, DropBehaviour::Cascade)
        }),
        User::Default(table, column) => {
            let table = quoted_relation(table);
            let column = quoted(column);
            run(session, &format!("ALTER TABLE {table} ALTER {column} DROP DEFAULT"))
        }
        User::Check(table, name) => {
            let (table, name) = (quoted_relation(table), quoted(name));
            run(session, &format!("ALTER TABLE {table} DROP CONSTRAINT {name}"))
        }
        User::Index(table, name) => {
            let name = quoted_relation(&RelationName::key_beside(table, name));
            run(session, &format!("DROP INDEX IF EXISTS {name}"))
        }
        User::Domain(_) => Ok(()),
        User::Policy(table, name) => session.change_catalog(|state| {
            policy::drop_one(state, table, name);
            Ok(())
        }),
        User::Attribute(key, name) => attribute::drop_one(&mut Running::own(session), key, name),
        User::Routine(key) => {
            routine::drop_one(&mut Running::own(session), key, DropBehaviour::Cascade)
        }
        User::DomainCheck(domain, name) => session.change_catalog(|state| {
            let Some(old) = state.types.get(domain).and_then(UserType::domain) else {
                return Ok(());
            };
            let mut def = DomainDef::clone(&old);
            def.checks.retain(|check| check.name != *name);
            state.replace_domain(old, Domain::new(def)?)
        }),
    }
}

/// Drops what has its text in one of `places`, defaults of domains apart, and says so.
pub(super) fn drop_places(running: &mut Running<'_>, places: &[&texts::Place]) -> Result<()> {
    let users: Vec<User> = places.iter().filter_map(|place| of_text(place, "", &[])).collect();
    tell_cascade(&mut running.session.definer(), &users);
    users.iter().try_for_each(|user| drop_user(running.session, user))
}

/// Notices of what goes with a type.
pub(super) fn tell_cascade(definer: &mut Definer<'_>, users: &[User]) {
    let lines: Vec<String> =
        users.iter().map(|user| format!("drop cascades to {}", user.shown())).collect();
    match lines.as_slice() {
        [] => {}
        [line] => definer.notice(SqlState::SUCCESSFUL_COMPLETION, line.clone()),
        lines => {
            let message = format!("drop cascades to {} other objects", lines.len());
            definer.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
    }
}

/// Objects that need the type, each with the type of which messages say that it needs it; those of
/// a domain that is made of it follow the domain.
fn all_users(session: &Session, ty: UserType, found: &mut Vec<(User, String)>) {
    for user in users_of(session, ty) {
        let of = match &user {
            User::Column(_, _, shown) => shown.clone(),
            _ => ty.name().to_owned(),
        };
        let is_known = |(known, _): &(User, String)| known.shown() == user.shown();
        if found.iter().any(is_known) {
            continue;
        }
        let domain = match &user {
            User::Domain(key) => session.state().types.get(key).copied(),
            _ => None,
        };
        found.push((user, of));
        if let Some(domain) = domain {
            all_users(session, domain, found);
        }
    }
}

/// An object that holds values of the type or has them in its definition, as messages name it.
/// Routines are none: their bodies are bound when they run.
pub(super) fn user_of(session: &Session, ty: UserType) -> Option<String> {
    let users = users_of(session, ty).into_iter();
    let mut users = users.filter(|user| !matches!(user, User::Routine(_)));
    users.next().map(|user| match user {
        User::Column(table, column, _) => {
            format!("column \"{}.{column}\"", RelationName::name_of_key(&table))
        }
        other => other.shown(),
    })
}

/// An object that needs the composite type as it is, as messages name it: routines follow its
/// attributes, and so do other composite types that nothing holds values of.
pub(super) fn holder_of(session: &Session, ty: RecordType) -> Option<String> {
    let ty = UserType::Composite(ty);
    let is_needed = |user: &User| match user {
        User::Routine(_) => false,
        User::Attribute(key, _) => match session.state().types.get(key) {
            Some(UserType::Composite(of)) => holder_of(session, *of).is_some(),
            _ => false,
        },
        _ => true,
    };
    users_of(session, ty).iter().any(is_needed).then(|| user_of(session, ty)).flatten()
}

/// True for the type, and for arrays of it; no type is a domain.
fn holds(known: DataType, ty: UserType) -> bool {
    match ty {
        UserType::Enum(ty) => enum_in(known).is_some_and(|known| known.is_same_object(ty)),
        UserType::Domain(_) => false,
        UserType::Composite(ty) => composite_in(known) == Some(ty),
        UserType::Range(ty) | UserType::Multirange(ty) => range_in(known) == Some(ty),
    }
}

/// True for an attribute of the type or domain, or of arrays of it.
fn is_of(attribute: &Attribute, ty: UserType) -> bool {
    match (attribute.domain, ty) {
        (Some(used), UserType::Domain(ty)) => used == ty.number || used == ty.array_number(),
        (None, _) => holds(attribute.field.ty, ty),
        (Some(_), _) => false,
    }
}

/// Objects that need the type: columns first, then domains, defaults and views.
fn users_of(session: &Session, ty: UserType) -> Vec<User> {
    let state = session.state();
    let is_it = |known: DataType| holds(known, ty);
    let shown = |column: &ColumnDef| match (column.domain, ty) {
        (Some(used), UserType::Domain(ty)) => {
            used.domain.is_same_object(ty).then(|| used.name().to_owned())
        }
        (None, _) => is_it(column.ty).then(|| column.ty.to_string()),
        (Some(_), _) => None,
    };
    let mut users = Vec::new();
    // Of materialized views the query counts.
    for (_, entry) in state.plain_tables() {
        for column in &entry.def.columns {
            if let Some(shown) = shown(column) {
                users.push(User::Column(entry.def.name.clone(), column.name.clone(), shown));
            }
        }
    }
    for (key, known) in &state.types {
        let is_made = known.domain().is_some_and(|domain| match (domain.over, ty) {
            (Some(over), UserType::Domain(ty)) => over.is_same_object(ty),
            (None, _) => is_it(domain.ty),
            (Some(_), _) => false,
        });
        if is_made {
            users.push(User::Domain(key.clone()));
        }
        if let UserType::Composite(record) = known {
            let used = record.attributes().into_iter().filter(|of| is_of(of, ty));
            users.extend(used.map(|used| User::Attribute(key.clone(), used.field.name)));
        }
    }
    let is_used = |used: &RoutineType| match (used, ty) {
        (RoutineType::Value(_, Some(used)), UserType::Domain(ty)) => used.domain.is_same_object(ty),
        (RoutineType::Value(known, None), _) => is_it(*known),
        _ => false,
    };
    for (key, def) in &state.routines {
        let state = def.aggregate.as_ref().map(|of| &of.state);
        let types = def.parameters.iter().map(|of| &of.ty).chain([&def.result]);
        if types.chain(state).any(is_used) {
            users.push(User::Routine(key.clone()));
        }
    }
    let mut named = texts::users_of(session, texts::Naming::Types, ty.key());
    if let UserType::Range(ty) = ty {
        named.extend(texts::users_of(session, texts::Naming::Types, &ty.multirange().key));
    }
    let shown = |view: &View| view.output.iter().any(|(_, ty)| is_it(*ty));
    let of_texts: Vec<User> = named.iter().filter_map(|p| of_text(p, ty.name(), &users)).collect();
    users.extend(of_texts);
    let others = state.queries().filter(|(key, view)| {
        let is_named = |place: &texts::Place| *place == texts::Place::View((*key).clone());
        shown(view) && !named.iter().any(is_named)
    });
    users.extend(others.map(|(key, _)| User::View(key.clone())));
    users
}

/// The object that needs the type because of its text; None for what goes with one of `known`.
pub(super) fn of_text(place: &texts::Place, ty: &str, known: &[User]) -> Option<User> {
    use texts::Place as P;
    let is_column = |table: &str, column: &str| {
        known.iter().any(|user| matches!(user, User::Column(t, c, _) if t == table && c == column))
    };
    let is_domain =
        |key: &str| known.iter().any(|user| matches!(user, User::Domain(domain) if domain == key));
    let is_routine =
        |key: &str| known.iter().any(|user| matches!(user, User::Routine(of) if of == key));
    match place.clone() {
        P::View(view) => Some(User::View(view)),
        P::Default(table, column) if is_column(&table, &column) => None,
        P::Default(table, column) => Some(User::Default(table, column)),
        P::Generated(table, column) if is_column(&table, &column) => None,
        P::Generated(table, column) => Some(User::Column(table, column, ty.to_owned())),
        P::Check(table, name) => Some(User::Check(table, name)),
        P::Index(table, name, _) | P::Predicate(table, name) => Some(User::Index(table, name)),
        P::DomainDefault(domain) | P::DomainCheck(domain, _) if is_domain(&domain) => None,
        P::DomainDefault(domain) => Some(User::Domain(domain)),
        P::DomainCheck(domain, name) => Some(User::DomainCheck(domain, name)),
        P::Policy(text) => Some(User::Policy(text.table, text.name)),
        P::Parameter(of) if is_routine(&of.routine) => None,
        P::Parameter(of) => Some(User::Routine(of.routine)),
    }
}

/// Drops the objects that texts are of, and tells of them.
///
/// # Errors
/// Errors of dropping them.
pub(super) fn drop_texts(running: &mut Running<'_>, places: &[texts::Place]) -> Result<()> {
    use texts::Place as P;
    let user = |place: &texts::Place| match place.clone() {
        P::View(view) => User::View(view),
        P::Default(table, column) => User::Default(table, column),
        P::Generated(table, column) => User::Column(table, column, String::new()),
        P::Check(table, name) => User::Check(table, name),
        P::Index(table, name, _) | P::Predicate(table, name) => User::Index(table, name),
        P::DomainDefault(domain) => User::Domain(domain),
        P::DomainCheck(domain, name) => User::DomainCheck(domain, name),
        P::Policy(text) => User::Policy(text.table, text.name),
        P::Parameter(of) => User::Routine(of.routine),
    };
    let users: Vec<User> = places.iter().map(user).collect();
    tell_cascade(&mut running.session.definer(), &users);
    users.iter().try_for_each(|user| drop_user(running.session, user))
}

/// Drops a column with all that depends on it.
pub(super) fn drop_column(session: &mut Session, table: &str, column: &str) -> Result<()> {
    let (table, column) = (quoted_relation(table), quoted(column));
    run(session, &format!("ALTER TABLE {table} DROP COLUMN IF EXISTS {column} CASCADE"))
}

/// Runs an ALTER TABLE or DROP INDEX of the database's own.
fn run(session: &mut Session, text: &str) -> Result<()> {
    let parsed = sql::parse(text)?.pop();
    let parsed = parsed.ok_or_else(|| Error::internal("the text has a statement"))?;
    let bound = sql::bind(&parsed, &session.definition_catalog(), &[])?;
    match bound {
        Statement::AlterTable(Some(altering)) => alter::alter(session, &altering).map(drop),
        Statement::DropIndex(dropping) => super::drop::indexes(session, &dropping).map(drop),
        _ => Ok(()),
    }
}
