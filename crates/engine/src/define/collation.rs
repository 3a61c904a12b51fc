//! CREATE, ALTER and DROP COLLATION.
//!
//! Columns keep the rules of their collation, so that rows are compared without the catalog; texts
//! of definitions name it, and follow its name.

use std::sync::Arc;

use catalog::collations::UserCollation;
use catalog::comments::Commented;
use catalog::rights::Object;
use catalog::who::{Who, denied};
use catalog::{State, undefined_schema};
use sql::catalog::IndexMeta;
use sql::statement::{
    CollationAction, CollationContent, CollationStatement, DropBehaviour, IfExists, IfMissing,
    Privilege, Privileges, RelationName,
};
use types::{Collation, CollationProvider, Error, Result, SqlState};

use super::missing::skipped;
use super::privilege::one_role;
use super::texts::{self, Naming, Renamed};
use super::user_type::{self, User};
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Version of the rules of languages that there are.
pub(crate) const RULES_VERSION: &str = kernels::collate::VERSION;

/// Runs a statement about collations; the catalog is locked.
pub(super) fn run(running: &mut Running<'_>, statement: CollationStatement) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        CollationStatement::Create { name, if_exists, content } => {
            create(running, &name, if_exists, content)?;
        }
        CollationStatement::Drop { names, if_missing, behaviour } => {
            for name in &names {
                drop_named(running, name, if_missing, behaviour)?;
            }
        }
        CollationStatement::Alter { name, action } => alter(running, &name, action)?,
    }
    Ok(QueryResult::command(command))
}

fn create(
    running: &mut Running<'_>,
    name: &RelationName,
    if_exists: IfExists,
    content: CollationContent,
) -> Result<()> {
    let session = &mut *running.session;
    let (state, who) = (session.state(), session.who());
    let key = state.key_of(name)?;
    let creates = Privileges::of(&[Privilege::Create]);
    state.check(&who, &Object::schema_of(&key), creates)?;
    if let Some(known) = state.collations.get(&key) {
        let encoding = if known.is_of_any_encoding { "" } else { " for encoding \"UTF8\"" };
        let message = format!("collation \"{}\"{encoding} already exists", name.name);
        if if_exists != IfExists::Skip {
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        session.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
        return Ok(());
    }
    if let Some(locale) = content.locale.as_deref() {
        kernels::collate::check_locale(locale)?;
    }
    let CollationContent { provider, locale, libc, equality, version, is_of_any_encoding } =
        content;
    let place = locale.as_deref().or(libc.as_ref().map(|(collate, _)| collate.as_str()));
    let number = state.new_collation_number(&key);
    let collation = Collation::of_users(number, provider, place.unwrap_or_default(), equality);
    let actual = actual_version(collation);
    if let (Some(given), Some(actual)) = (&version, actual)
        && given != actual
    {
        session.notice(SqlState::WARNING, warning_of(name, given, actual));
    }
    let version = version.or(actual.map(str::to_owned));
    let owner = match &who {
        Who::Role(owner) => owner.to_string(),
        Who::All => String::new(),
    };
    session.change_catalog(|state| {
        let made = UserCollation { collation, owner, libc, version, is_of_any_encoding };
        state.collations.insert(key, made);
        Ok(())
    })
}

/// The version of the rules of a collation; those of bytes have none.
pub(crate) fn actual_version(collation: Collation) -> Option<&'static str> {
    (collation.provider() == CollationProvider::Icu).then_some(RULES_VERSION)
}

/// Warning for rules that are not those that a collation was made with.
fn warning_of(name: &RelationName, given: &str, actual: &str) -> String {
    format!(
        "collation \"{}\" has version mismatch: it was created using version {given}, but the \
         rules here are those of version {actual}",
        name.name
    )
}

/// Key in the catalog of the collation `name`, which the session owns.
///
/// # Errors
/// 42704 when there is none, 3F000 for its schema, 42501, 2BP01 for one of the system.
fn own(session: &Session, name: &RelationName, what: &str) -> Result<String> {
    let state = session.state();
    let key = existing(&state, name, what)?;
    check_owner(&state, &session.who(), &key)?;
    Ok(key)
}

/// Key in the catalog of the collation `name`.
///
/// # Errors
/// 42704 when there is none, 3F000 for its schema, 2BP01 for one of the system.
pub(super) fn existing(state: &State, name: &RelationName, what: &str) -> Result<String> {
    let bare = &name.name;
    if name.schema.as_deref() == Some("pg_catalog") {
        if Collation::named(bare).is_none() {
            return Err(undefined(bare));
        }
        let message = format!(
            "cannot {what} collation \"{bare}\" because it is required by the database system"
        );
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message));
    }
    let key = state.key_of(name)?;
    if state.collations.contains_key(&key) { Ok(key) } else { Err(undefined(bare)) }
}

fn undefined(name: &str) -> Error {
    let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// # Errors
/// 42501 unless `who` owns the collation, or everything.
pub(super) fn check_owner(state: &State, who: &Who, key: &str) -> Result<()> {
    let owner = state.collations.get(key).map_or("", |known| known.owner.as_str());
    if state.has_rights_of(who, owner) {
        return Ok(());
    }
    Err(denied(format!("must be owner of collation {}", RelationName::name_of_key(key))))
}

fn alter(running: &mut Running<'_>, name: &RelationName, action: CollationAction) -> Result<()> {
    if action == CollationAction::Refresh && name.schema.as_deref() == Some("pg_catalog") {
        if Collation::named(&name.name).is_none() {
            return Err(undefined(&name.name));
        }
        running
            .session
            .notice(SqlState::SUCCESSFUL_COMPLETION, "version has not changed".to_owned());
        return Ok(());
    }
    let key = own(running.session, name, "alter")?;
    match action {
        CollationAction::Rename(to) => {
            let to = RelationName::key_beside(&key, &to);
            move_one(running, &key, &to)
        }
        CollationAction::Move(to) => {
            let schema = if to == "main" { "public" } else { to.as_str() };
            let state = running.session.state();
            if !state.has_schema(schema) {
                return Err(undefined_schema(schema));
            }
            let creates = Privileges::of(&[Privilege::Create]);
            state.check(&running.session.who(), &Object::Schema(schema.to_owned()), creates)?;
            let name = RelationName::name_of_key(&key).to_owned();
            let to = RelationName { schema: Some(schema.to_owned()), name }.key();
            move_one(running, &key, &to)
        }
        CollationAction::Own(role) => {
            let owner = one_role(running.session, &running.session.state(), &role)?;
            change(running, &key, |known| known.owner = owner)
        }
        CollationAction::Refresh => refresh(running, &key),
    }
}

fn change(
    running: &mut Running<'_>,
    key: &str,
    work: impl FnOnce(&mut UserCollation),
) -> Result<()> {
    running.session.change_catalog(|state| {
        state.collations.get_mut(key).map(work);
        Ok(())
    })
}

/// REFRESH VERSION.
fn refresh(running: &mut Running<'_>, key: &str) -> Result<()> {
    let state = running.session.state();
    let Some(known) = state.collations.get(key) else { return Ok(()) };
    let actual = actual_version(known.collation).map(str::to_owned);
    if known.version == actual {
        running
            .session
            .notice(SqlState::SUCCESSFUL_COMPLETION, "version has not changed".to_owned());
        return Ok(());
    }
    let shown = |version: &Option<String>| version.clone().unwrap_or_default();
    let message = format!("changing version from {} to {}", shown(&known.version), shown(&actual));
    running.session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
    change(running, key, |known| known.version = actual)
}

/// Gives the collation that the catalog calls `key` another name, in another schema perhaps.
pub(super) fn move_one(running: &mut Running<'_>, key: &str, to: &str) -> Result<()> {
    if key == to {
        return Ok(());
    }
    if running.session.state().collations.contains_key(to) {
        let (name, schema) = (RelationName::name_of_key(to), RelationName::schema_of_key(to));
        let message = format!(
            "collation \"{name}\" for encoding \"UTF8\" already exists in schema \"{schema}\""
        );
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
    }
    let users = texts::users_of(running.session, Naming::Collations, key);
    running.session.change_catalog(|state| {
        if let Some(known) = state.collations.remove(key) {
            state.collations.insert(to.to_owned(), known);
        }
        state.move_comments(|on| match on {
            Commented::Collation(known) if known == key => {
                Some(Commented::Collation(to.to_owned()))
            }
            _ => None,
        });
        Ok(())
    })?;
    texts::rename(
        &mut running.session.definer(),
        &users,
        Naming::Collations,
        Renamed { from: key, to },
    )?;
    running.session.change_catalog(|state| {
        for entry in state.tables.values_mut() {
            let names = |index: &IndexMeta| index.terms.collations.iter().any(|(of, _)| of == key);
            if !entry.def.indexes.iter().any(names) {
                continue;
            }
            let mut def = entry.def.clone();
            let terms = def.indexes.iter_mut().map(|index| &mut index.terms);
            let known = terms.flat_map(|terms| &mut terms.collations);
            known.filter(|(of, _)| of == key).for_each(|(of, _)| to.clone_into(of));
            *entry = Arc::new(entry.redefined(def, entry.built()));
        }
        Ok(())
    })
}

fn drop_named(
    running: &mut Running<'_>,
    name: &RelationName,
    if_missing: IfMissing,
    behaviour: DropBehaviour,
) -> Result<()> {
    let state = running.session.state();
    let key = match existing(&state, name, "drop") {
        Ok(key) => key,
        Err(error) => {
            let is_schema = error.state() == SqlState::UNDEFINED_SCHEMA;
            let mut text = skipped(error, if_missing)?;
            if !is_schema {
                // Unlike the error it says no encoding.
                text = format!("collation \"{}\" does not exist, skipping", name.name);
            }
            running.session.notice(SqlState::SUCCESSFUL_COMPLETION, text);
            return Ok(());
        }
    };
    if !state.owns(&running.session.who(), &Object::schema_of(&key)) {
        check_owner(&state, &running.session.who(), &key)?;
    }
    drop_one(running, &key, behaviour)
}

/// Drops the collation that the catalog calls `key`, with what needs it under CASCADE.
///
/// # Errors
/// 2BP01.
pub(super) fn drop_one(
    running: &mut Running<'_>,
    key: &str,
    behaviour: DropBehaviour,
) -> Result<()> {
    let users = users_of(running.session, key);
    let shown = RelationName::of_key(key).quoted();
    if !users.is_empty() && behaviour == DropBehaviour::Restrict {
        let line = |user: &User| format!("{} depends on collation {shown}", user.shown());
        let lines: Vec<String> = users.iter().map(line).collect();
        let message = format!("cannot drop collation {shown} because other objects depend on it");
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
            .with_detail(lines.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    user_type::tell_cascade(&mut running.session.definer(), &users);
    for user in &users {
        user_type::drop_user(running.session, user)?;
    }
    running.session.change_catalog(|state| {
        state.collations.remove(key);
        Ok(())
    })
}

/// Objects that need the collation: columns, then what names it.
fn users_of(session: &Session, key: &str) -> Vec<User> {
    let state = session.state();
    let Some(known) = state.collations.get(key) else { return Vec::new() };
    let mut users = Vec::new();
    for (_, entry) in state.plain_tables() {
        let own = entry.def.columns.iter();
        let own = own.filter(|column| column.collation == Some(known.collation));
        users.extend(own.map(|column| {
            User::Column(entry.def.name.clone(), column.name.clone(), String::new())
        }));
    }
    for entry in state.tables.values() {
        let own = entry.def.indexes.iter();
        let own =
            own.filter(|index| index.terms.collations.iter().any(|(_, of)| *of == known.collation));
        users.extend(own.map(|index| User::Index(entry.def.name.clone(), index.name.clone())));
    }
    let named = texts::users_of(session, Naming::Collations, key);
    let named = named
        .iter()
        .filter(|place| !matches!(place, texts::Place::Index(..) | texts::Place::Predicate(..)));
    let of_texts = named.filter_map(|place| user_type::of_text(place, "", &users));
    let of_texts: Vec<User> = of_texts.collect();
    users.extend(of_texts);
    users
}
