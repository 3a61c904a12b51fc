//! Owners: who has an object, and who gets it.

use catalog::materialized::KIND;
use catalog::rights::{Grant, Object};
use catalog::who::{Who, denied};
use catalog::{State, undefined_table};
use sql::statement::{
    IfMissing, ObjectKind, Objects, Persistence, Privileges, RelationName, RoleName,
};
use types::{Error, Result, SqlState};

use super::{CREATE, Ledger, named, one_role, schema_named};
use crate::define::large_object::LargeObjects;

/// ALTER ... OWNER TO.
///
/// # Errors
/// 42501, 42P01, 42704, 42809.
pub(super) fn change_owner(
    ledger: &mut Ledger<'_>,
    kind: ObjectKind,
    name: &RelationName,
    if_missing: IfMissing,
    to: &RoleName,
) -> Result<()> {
    let state = ledger.state();
    let (object, word) = match kind {
        ObjectKind::LargeObject => {
            let to = one_role(ledger.session, &state, to)?;
            return LargeObjects { session: &mut *ledger.session }.set_owner(name, &to);
        }
        ObjectKind::Schema => (schema_named(&state, &name.name)?, "schema"),
        ObjectKind::Database => {
            (named(&state, &Objects::Databases(vec![name.name.clone()]))?.remove(0), "database")
        }
        ObjectKind::Type => (named(&state, &Objects::Types(vec![name.clone()]))?.remove(0), "type"),
        ObjectKind::Table
        | ObjectKind::View
        | ObjectKind::MaterializedView
        | ObjectKind::Sequence => {
            let key = state.key_of(name)?;
            let local = name.name.as_str();
            let found = state.kind_of(&key);
            let wanted = wanted_kind(kind);
            match found {
                None if if_missing == IfMissing::Skip => {
                    ledger.session.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("relation \"{local}\" does not exist, skipping"),
                    );
                    return Ok(());
                }
                None => return Err(undefined_table(local)),
                Some(found) if found == wanted || kind == ObjectKind::Table && found != "index" => {
                    (Object::Relation(key), found)
                }
                Some(_) => {
                    let message = format!("\"{local}\" is not a {wanted}");
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
            }
        }
    };
    if let Object::Relation(key) = &object
        && state.persistence_of(key) == Some(Persistence::Temporary)
    {
        return Err(Error::unsupported("an owner of a temporary relation"));
    }
    let who = ledger.session.who();
    if !state.owns(&who, &object) {
        let (_, name) = state.described(&object);
        return Err(denied(format!("must be owner of {word} {name}")));
    }
    let to = one_role(ledger.session, &state, to)?;
    check_new_owner(&state, &who, &object, &to)?;
    ledger.change(|state| {
        set_owner(state, &object, &to);
        Ok(())
    })
}

/// # Errors
/// 42501 when `who` is no member of `to`, or `to` may not create in the schema of the object.
pub(in crate::define) fn check_new_owner(
    state: &State,
    who: &Who,
    object: &Object,
    to: &str,
) -> Result<()> {
    if state.is_superuser(who) {
        return Ok(());
    }
    if let Who::Role(own) = who
        && !state.is_member(own, to)
    {
        return Err(denied(format!("must be member of role \"{to}\"")));
    }
    let key = match object {
        Object::Relation(key) | Object::Type(key) => key,
        Object::Routine(key) => key.split('(').next().unwrap_or(key),
        Object::Schema(_) | Object::Database => return Ok(()),
    };
    state.check(&Who::Role(to.into()), &Object::schema_of(key), CREATE)
}

/// How messages name the relations that a statement about `kind` is for.
pub(in crate::define) fn wanted_kind(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Sequence => "sequence",
        ObjectKind::View => "view",
        ObjectKind::MaterializedView => KIND,
        _ => "table",
    }
}

/// Gives an object, and the sequences of a table's columns, to another owner: grants of and to the
/// old one are then the new one's.
pub(in crate::define) fn set_owner(state: &mut State, object: &Object, to: &str) {
    let mut objects = vec![object.clone()];
    if let Object::Relation(name) = object {
        let is_owned = |(_, s): &(&String, &std::sync::Arc<catalog::Sequence>)| {
            s.owner.as_ref().is_some_and(|(table, _)| table == name)
        };
        let owned = state.sequences.iter().filter(is_owned);
        objects.extend(owned.map(|(name, _)| Object::Relation(name.clone())));
    }
    for object in objects {
        let privileges = state.privileges_of(&object);
        let rights = state.rights.entry(object).or_default();
        let from = std::mem::replace(&mut rights.owner, to.to_owned());
        if let (Some(grants), true) = (&mut rights.grants, from.is_empty()) {
            // Superusers need no grant to do everything; an owner does.
            let (grantee, grantor) = (Some(to.to_owned()), to.to_owned());
            grants.insert(0, Grant { grantee, grantor, privileges, grantable: Privileges::NONE });
        }
        for grant in rights.all_grants_mut() {
            if grant.grantor == from {
                to.clone_into(&mut grant.grantor);
            }
            if grant.grantee.as_deref() == Some(from.as_str()) {
                grant.grantee = Some(to.to_owned());
            }
        }
    }
}

/// REASSIGN OWNED.
///
/// # Errors
/// 42501, 42704.
pub(super) fn reassign(ledger: &mut Ledger<'_>, from: &[RoleName], to: &RoleName) -> Result<()> {
    let state = ledger.state();
    let to = one_role(ledger.session, &state, to)?;
    let who = ledger.session.who();
    let mut objects = Vec::new();
    for name in from {
        let name = one_role(ledger.session, &state, name)?;
        if !(state.has_rights_of(&who, &name) && state.has_rights_of(&who, &to)) {
            return Err(denied("permission denied to reassign objects"));
        }
        let owned = state.rights.iter().filter(|(_, rights)| rights.owner == name);
        objects.extend(owned.map(|(object, _)| object.clone()));
    }
    for name in from {
        let name = one_role(ledger.session, &state, name)?;
        LargeObjects { session: &mut *ledger.session }.reassign(&name, &to)?;
    }
    ledger.change(|state| {
        objects.iter().for_each(|object| set_owner(state, object, &to));
        Ok(())
    })
}
