//! CREATE, ALTER and DROP SCHEMA; relations that move to another.
//!
//! A schema is a part of what the catalog calls its relations (`RelationName::key`): to rename one
//! is to rename all that is in it. Views are text, so what they read keeps its name.

use std::collections::BTreeSet;

use catalog::comments::Commented;
use catalog::materialized::KIND;
use catalog::rights::{DefaultsOf, Object, Rights, SCHEMA_NAME};
use catalog::who::{Who, denied};
use catalog::{State, undefined_schema, undefined_table};
use sql::statement::{
    DropBehaviour, DropRelations, IfExists, IfMissing, ObjectKind, Persistence, Privilege,
    Privileges, RelationName, RoleName, SchemaStatement,
};
use types::{Error, Result, SqlState};

use super::missing::skipped;
use super::{
    alter, collation, drop, extension, large_object, materialized, names, routine, sequence,
    user_type, view,
};
use crate::define::privilege::{one_role, schema_named, wanted_kind};
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Runs a statement about schemas; the catalog is locked.
pub(super) fn run(session: &mut Session, statement: SchemaStatement) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        SchemaStatement::Create { name, owner, if_exists } => {
            create(session, name, owner.as_ref(), if_exists)?;
        }
        SchemaStatement::Drop { names, if_missing, behaviour } => {
            drop_all(session, &names, if_missing, behaviour)?;
        }
        SchemaStatement::Rename { name, to } => rename(session, &name, &to)?,
        SchemaStatement::Move { kind, name, if_missing, to } => {
            set_schema(session, kind, &name, if_missing, &to)?;
        }
    }
    Ok(QueryResult::command(command))
}

/// Refuses names that a schema may not have.
fn check_name(state: &State, name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let message = format!("unacceptable schema name \"{name}\"");
        return Err(Error::new(SqlState::RESERVED_NAME, message)
            .with_detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    if state.has_schema(name) || matches!(name, "information_schema" | "main") {
        let message = format!("schema \"{name}\" already exists");
        return Err(Error::new(SqlState::DUPLICATE_SCHEMA, message));
    }
    if name.contains('.') {
        Err(Error::unsupported("a point in the name of a schema"))
    } else {
        Ok(())
    }
}

fn create(
    session: &mut Session,
    name: Option<String>,
    owner: Option<&RoleName>,
    if_exists: IfExists,
) -> Result<()> {
    let (state, who) = (session.state(), session.who());
    let owner = owner.map(|owner| one_role(session, &state, owner)).transpose()?;
    let name = match (name, &owner) {
        (Some(name), _) => name,
        (None, Some(owner)) => owner.clone(),
        (None, None) => return Err(Error::internal("CREATE SCHEMA has a name or an owner")),
    };
    let creates = Privileges::of(&[Privilege::Create]);
    state
        .check(&who, &Object::Database, creates)
        .map_err(|_| denied(format!("permission denied for database {}", state.database.0)))?;
    if let (Some(owner), Who::Role(own)) = (&owner, &who)
        && !state.is_superuser(&who)
        && !state.is_member(own, owner)
    {
        return Err(denied(format!("must be member of role \"{owner}\"")));
    }
    if let Err(error) = check_name(&state, &name) {
        if error.state() == SqlState::DUPLICATE_SCHEMA && if_exists == IfExists::Skip {
            session.notice(SqlState::DUPLICATE_SCHEMA, format!("{}, skipping", error.message()));
            return Ok(());
        }
        return Err(error);
    }
    session.change_catalog(|state| {
        if let Some(owner) = owner {
            let rights = state.new_schema_rights(&owner);
            state.rights.insert(Object::Schema(name.clone()), rights);
        }
        state.add_schema(&name);
        Ok(())
    })
}

/// Catalog keys of objects, by kind.
pub(super) struct Content {
    tables: Vec<String>,
    materialized: Vec<String>,
    views: Vec<String>,
    sequences: Vec<String>,
    types: Vec<String>,
    collations: Vec<String>,
    extensions: Vec<String>,
    routines: Vec<String>,
}

impl Content {
    /// Objects in a schema.
    pub(super) fn of_schema(state: &State, schema: &str) -> Self {
        let is_in = |key: &&String| RelationName::schema_of_key(key) == schema;
        Self {
            tables: state.plain_tables().map(|(key, _)| key).filter(is_in).cloned().collect(),
            materialized: state.materialized().filter(is_in).cloned().collect(),
            views: state.views.keys().filter(is_in).cloned().collect(),
            sequences: state.sequences.keys().filter(is_in).cloned().collect(),
            types: state.types.keys().filter(is_in).cloned().collect(),
            collations: state.collations.keys().filter(is_in).cloned().collect(),
            extensions: state.extensions_in(schema),
            routines: state
                .routines
                .iter()
                .filter(|(_, routine)| is_in(&&routine.name))
                .map(|(key, _)| key.clone())
                .collect(),
        }
    }

    /// Objects of roles, but schemas and the database.
    pub(super) fn of_owners(state: &State, owners: &BTreeSet<String>) -> Self {
        let is_theirs = |object: Object| {
            state.rights.get(&object).is_some_and(|rights| owners.contains(&rights.owner))
        };
        let is_relation = |key: &&String| is_theirs(Object::Relation((*key).clone()));
        let extensions = state.extensions.iter();
        let extensions = extensions.filter(|(_, extension)| owners.contains(&extension.owner));
        Self {
            tables: state.plain_tables().map(|(key, _)| key).filter(is_relation).cloned().collect(),
            materialized: state.materialized().filter(is_relation).cloned().collect(),
            views: state.views.keys().filter(is_relation).cloned().collect(),
            sequences: state.sequences.keys().filter(is_relation).cloned().collect(),
            types: state
                .types
                .keys()
                .filter(|key| is_theirs(Object::Type((*key).clone())))
                .cloned()
                .collect(),
            collations: state
                .collations
                .iter()
                .filter(|(_, collation)| owners.contains(&collation.owner))
                .map(|(key, _)| key.clone())
                .collect(),
            extensions: extensions.map(|(name, _)| name.clone()).collect(),
            routines: state
                .routines
                .keys()
                .filter(|key| is_theirs(Object::Routine((*key).clone())))
                .cloned()
                .collect(),
        }
    }

    /// # Errors
    /// 2BP01 when there is something in the schema `name`.
    pub(super) fn refuse(&self, name: &str) -> Result<()> {
        let kinds = [
            ("table", &self.tables),
            ("view", &self.views),
            (KIND, &self.materialized),
            ("sequence", &self.sequences),
            ("type", &self.types),
            ("collation", &self.collations),
            ("extension", &self.extensions),
            ("function", &self.routines),
        ];
        let lines = kinds.iter().flat_map(|(kind, keys)| {
            keys.iter().map(move |key| format!("{kind} {key} depends on schema {name}"))
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            return Ok(());
        }
        let message = format!("cannot drop schema {name} because other objects depend on it");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
            .with_detail(lines.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    /// Drops all of it; others that need some of it go, or are an error.
    ///
    /// # Errors
    /// 2BP01.
    pub(super) fn drop(self, running: &mut Running<'_>, behaviour: DropBehaviour) -> Result<()> {
        let session = &mut *running.session;
        extension::drop_named(&mut Running::own(session), &self.extensions, behaviour)?;
        let drop = |keys: Vec<String>| DropRelations {
            names: keys.iter().map(|key| RelationName::of_key(key)).collect(),
            if_missing: IfMissing::Skip,
            behaviour,
        };
        // Some may have gone with others.
        let state = session.state();
        let left = self.views.into_iter().filter(|key| state.views.contains_key(key));
        view::drop_all(&mut session.definer(), &drop(left.collect()))?;
        let state = session.state();
        let left = self.materialized.into_iter().filter(|key| state.tables.contains_key(key));
        materialized::drop_all(&mut Running::own(session), &drop(left.collect()))?;
        let state = session.state();
        let left = self.tables.into_iter().filter(|key| state.tables.contains_key(key));
        drop::tables(session, &drop(left.collect()))?;
        // Those of columns went with their tables.
        let state = session.state();
        let left = self.sequences.into_iter().filter(|key| state.sequences.contains_key(key));
        sequence::drop_all(&mut session.definer(), &drop(left.collect()))?;
        for key in self.routines {
            routine::drop_one(&mut Running::own(session), &key, behaviour)?;
        }
        for key in self.types {
            user_type::drop_one(session, &key, behaviour)?;
        }
        // Some may have gone with others.
        let state = session.state();
        let left = self.collations.into_iter().filter(|key| state.collations.contains_key(key));
        for key in left.collect::<Vec<_>>() {
            collation::drop_one(&mut Running::own(session), &key, behaviour)?;
        }
        Ok(())
    }
}

fn drop_all(
    session: &mut Session,
    names: &[String],
    if_missing: IfMissing,
    behaviour: DropBehaviour,
) -> Result<()> {
    for name in names {
        let name = if name == "main" { SCHEMA_NAME } else { name.as_str() };
        let state = session.state();
        let object = match schema_named(&state, name) {
            Ok(object) => object,
            Err(error) => {
                session.notice(SqlState::SUCCESSFUL_COMPLETION, skipped(error, if_missing)?);
                continue;
            }
        };
        if name == large_object::SCHEMA {
            let message =
                format!("cannot drop schema {name} because it is required by the database system");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message));
        }
        if !state.owns(&session.who(), &object) {
            return Err(denied(format!("must be owner of schema {name}")));
        }
        let content = Content::of_schema(&state, name);
        if behaviour == DropBehaviour::Restrict {
            content.refuse(name)?;
        }
        content.drop(&mut Running::own(session), DropBehaviour::Cascade)?;
        session.change_catalog(|state| {
            state.remove_schema(name);
            Ok(())
        })?;
    }
    Ok(())
}

/// Drops schemas that belong to roles whose objects go.
///
/// # Errors
/// 2BP01 for what is in them and stays.
pub(super) fn drop_owned(
    running: &mut Running<'_>,
    names: &[String],
    behaviour: DropBehaviour,
) -> Result<()> {
    let session = &mut *running.session;
    let is_there = |name: &&String| session.state().schemas.contains_key(*name);
    let names: Vec<String> = names.iter().filter(is_there).cloned().collect();
    drop_all(session, &names, IfMissing::Skip, behaviour)
}

fn rename(session: &mut Session, name: &str, to: &str) -> Result<()> {
    let (state, who) = (session.state(), session.who());
    let name = if name == "main" { SCHEMA_NAME } else { name };
    let object = schema_named(&state, name)?;
    if name == large_object::SCHEMA {
        return Err(Error::unsupported("another name of a schema of the system"));
    }
    if !state.owns(&who, &object) {
        return Err(denied(format!("must be owner of schema {name}")));
    }
    state.check(&who, &Object::Database, Privileges::of(&[Privilege::Create]))?;
    check_name(&state, to)?;
    let content = Content::of_schema(&state, name);
    routine::move_all(&mut Running::own(session), &content.routines, to)?;
    let opened = opened(&state, &object);
    session.change_catalog(|state| {
        state.remove_schema(name);
        state.add_schema(to);
        for extension in &content.extensions {
            if let Some(extension) = state.extensions.get_mut(extension) {
                to.clone_into(&mut extension.schema);
            }
        }
        state.move_rights(&object, Object::Schema(to.to_owned()));
        if let Some(rights) = opened {
            state.rights.insert(Object::Schema(to.to_owned()), rights);
        }
        let defaults = std::mem::take(&mut state.default_privileges);
        state.default_privileges = defaults
            .into_iter()
            .map(|(of, grants)| {
                if of.schema.as_deref() == Some(name) {
                    (DefaultsOf { schema: Some(to.to_owned()), ..of }, grants)
                } else {
                    (of, grants)
                }
            })
            .collect();
        state.move_comments(|on| match on {
            Commented::Schema(schema) if schema == name => Some(Commented::Schema(to.to_owned())),
            _ => None,
        });
        Ok(())
    })?;
    for key in content.types {
        let schema = Some(to.to_owned());
        let name = RelationName::name_of_key(&key).to_owned();
        user_type::move_type(session, &key, &RelationName { schema, name })?;
    }
    for key in content.collations {
        let schema = Some(to.to_owned());
        let name = RelationName::name_of_key(&key).to_owned();
        let to = RelationName { schema, name }.key();
        collation::move_one(&mut Running::own(session), &key, &to)?;
    }
    let all = content.tables.into_iter().chain(content.views).chain(content.materialized);
    let all = all.chain(content.sequences);
    for key in all.collect::<Vec<_>>() {
        // Sequences may have followed their tables.
        if session.state().contains(&key) {
            move_one(session, &key, to)?;
        }
    }
    Ok(())
}

/// The rights on the first `public`, which everybody may use, and so what it becomes.
fn opened(state: &State, object: &Object) -> Option<Rights> {
    let is_first = *object == Object::Schema(SCHEMA_NAME.to_owned()) && state.has_first_public();
    is_first.then(|| Rights {
        owner: state.owner_of(object).to_owned(),
        grants: Some(state.grants_of(object)),
        columns: Vec::new(),
    })
}

fn set_schema(
    session: &mut Session,
    kind: ObjectKind,
    name: &RelationName,
    if_missing: IfMissing,
    to: &str,
) -> Result<()> {
    let (state, who) = (session.state(), session.who());
    let key = state.key_of(name)?;
    let wanted = wanted_kind(kind);
    match state.kind_of(&key) {
        None if if_missing == IfMissing::Skip => {
            session.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("relation \"{name}\" does not exist, skipping"),
            );
            return Ok(());
        }
        None => return Err(undefined_table(&name.to_string())),
        Some(found) if found == wanted || wanted == "table" && found != "index" => {
            state.check_owner(&who, found, &key)?;
        }
        Some(_) => {
            let message = format!("\"{}\" is not a {wanted}", name.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
    }
    if state.persistence_of(&key) == Some(Persistence::Temporary) {
        let message = "cannot move objects into or out of temporary schemas";
        return Err(Error::unsupported(message));
    }
    let to = if to == "main" { SCHEMA_NAME } else { to };
    if !state.has_schema(to) {
        return Err(undefined_schema(to));
    }
    let creates = Privileges::of(&[Privilege::Create]);
    state.check(&who, &Object::Schema(to.to_owned()), creates)?;
    let owned = state.sequences.get(&key).and_then(|sequence| sequence.owner.clone());
    if let Some((table, _)) = owned {
        let message = "cannot move an owned sequence into another schema";
        let detail = format!(
            "Sequence \"{}\" is linked to table \"{}\".",
            name.name,
            RelationName::name_of_key(&table)
        );
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
    }
    if RelationName::schema_of_key(&key) == to { Ok(()) } else { move_one(session, &key, to) }
}

/// Gives a relation, and the sequences that belong to it, their names in another schema.
fn move_one(session: &mut Session, key: &str, to: &str) -> Result<()> {
    let schema = Some(to.to_owned());
    let name = RelationName { schema, ..RelationName::public(RelationName::name_of_key(key)) };
    let new = name.key();
    let state = session.state();
    if state.contains(&new) {
        let message = format!("relation \"{}\" already exists in schema \"{to}\"", name.name);
        return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
    }
    if let Some(table) = state.tables.get(key) {
        let mut indexes = table.def.visible_indexes().map(|index| index.name.as_str());
        let is_taken = |index: &&str| state.contains(&RelationName::key_beside(&new, index));
        if let Some(index) = indexes.find(is_taken) {
            return Err(names::taken(index));
        }
        let owned = sequence::owned(&state, key);
        alter::rename_table(session, key, &new)?;
        for sequence in owned {
            move_one(session, &sequence.name, to)?;
        }
        return Ok(());
    }
    if state.views.contains_key(key) {
        return view::move_to(session, key, &new);
    }
    session.change_catalog(|state| match state.sequences.get(key).cloned() {
        Some(sequence) => sequence::rename(state, sequence.again(), key, new),
        None => Ok(()),
    })
}
