//! DROP OWNED: what belongs to roles, and what was granted to them.

use std::collections::BTreeSet;

use catalog::rights::{Grant, Object};
use catalog::who::denied;
use catalog::{State, predefined};
use sql::statement::{DropBehaviour, RoleName};
use types::{Error, Result, SqlState};

use super::large_object::LargeObjects;
use super::privilege::one_role;
use super::schema::{self, Content};
use crate::QueryResult;
use crate::statement::running::Running;

/// Drops what belongs to roles in this database, and takes from them what they may do.
///
/// # Errors
/// 42501, 2BP01.
pub(super) fn drop(
    running: &mut Running<'_>,
    roles: &[RoleName],
    behaviour: DropBehaviour,
) -> Result<QueryResult> {
    let session = &mut *running.session;
    let state = session.state();
    let who = session.who();
    let mut owners = BTreeSet::new();
    for role in roles {
        let name = one_role(session, &state, role)?;
        if !state.has_rights_of(&who, &name) {
            return Err(denied("permission denied to drop objects"));
        }
        // Who began the database.
        let began = name == state.owner_of(&Object::Database)
            && state.roles.get(&name).is_none_or(|role| role.is_superuser);
        if began || name.is_empty() || predefined::named(&name).is_some() {
            let message = format!(
                "cannot drop objects owned by role {name} because they are required by the \
                 database system"
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message));
        }
        owners.insert(name);
    }
    Content::of_owners(&state, &owners).drop(&mut Running::own(session), behaviour)?;
    let is_theirs = |(object, rights): (&Object, &catalog::rights::Rights)| match object {
        Object::Schema(name) if owners.contains(&rights.owner) => Some(name.clone()),
        _ => None,
    };
    let schemas: Vec<String> = session.state().rights.iter().filter_map(is_theirs).collect();
    schema::drop_owned(&mut Running::own(session), &schemas, behaviour)?;
    owners.iter().try_for_each(|owner| LargeObjects { session }.remove_owned(owner))?;
    session.change_catalog(|state| {
        forget(state, &owners);
        Ok(())
    })?;
    Ok(QueryResult::command("DROP OWNED"))
}

/// Takes away grants to the roles and by them, their default privileges, and policies for them
/// alone.
pub(super) fn forget(state: &mut State, owners: &BTreeSet<String>) {
    let is_theirs = |grant: &Grant| {
        grant.grantee.as_ref().is_some_and(|grantee| owners.contains(grantee))
            || owners.contains(&grant.grantor)
    };
    for rights in state.rights.values_mut() {
        // An owner that stays may do what it could.
        let owner = rights.owner.clone();
        let goes = |grant: &Grant| is_theirs(grant) && grant.grantee.as_ref() != Some(&owner);
        rights.grants.iter_mut().for_each(|grants| grants.retain(|grant| !goes(grant)));
        rights.columns.iter_mut().for_each(|(_, grants)| grants.retain(|grant| !goes(grant)));
        rights.columns.retain(|(_, grants)| !grants.is_empty());
    }
    state.default_privileges.retain(|of, _| !owners.contains(&of.role));
    for grants in state.default_privileges.values_mut() {
        grants.retain(|grant| !is_theirs(grant));
    }
    for security in state.row_security.values_mut() {
        security.policies.retain_mut(|policy| {
            let was_for_all = policy.roles.is_empty();
            policy.roles.retain(|role| !owners.contains(role));
            was_for_all || !policy.roles.is_empty()
        });
    }
}
