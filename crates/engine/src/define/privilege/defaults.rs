//! ALTER DEFAULT PRIVILEGES.
//!
//! Entries for all schemas take the place of what is usual, those for one are added: so the first
//! begin with what is usual, and are not kept when they come to that again.

use catalog::State;
use catalog::rights::{DefaultsOf, Object, ROUTINE, SCHEMA, SEQUENCE, TABLE, public_first};
use catalog::who::{Who, denied};
use sql::statement::{
    DefaultKind, DropBehaviour, GrantAction, PrivilegeStatement, Privileges, RoleName,
};
use types::{Error, Result, SqlState};

use super::{Change, Loser, invalid, role_of, schema_named};
use crate::Session;

/// Runs the statement, which is [`PrivilegeStatement::Defaults`].
pub(super) fn change(session: &mut Session, statement: PrivilegeStatement) -> Result<()> {
    use PrivilegeStatement as S;
    let S::Defaults { roles, schemas, action, privileges, kind, grantees, option } = statement
    else {
        return Err(Error::internal("default privileges"));
    };
    let state = session.state();
    let schemas: Vec<String> =
        schemas.iter().map(|name| place_of(&state, name)).collect::<Result<_>>()?;
    if !schemas.is_empty() && kind == DefaultKind::Schemas {
        let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
        return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    let (known, what) = match kind {
        DefaultKind::Tables => (TABLE, "relation"),
        DefaultKind::Sequences => (SEQUENCE, "sequence"),
        DefaultKind::Schemas => (SCHEMA, "schema"),
        DefaultKind::Routines => (ROUTINE, "function"),
    };
    let wrong = privileges.and_then(|some| some.without(known).iter().next());
    if let Some(privilege) = wrong {
        return Err(invalid(what, privilege));
    }
    let change = Change { action, privileges, option, behaviour: DropBehaviour::Cascade };
    let grantees = change.grantees(session, &state, &grantees)?;
    let roles = makers(session, &state, &roles)?;
    for role in roles {
        let anywhere = schemas.is_empty().then_some(None);
        for schema in anywhere.into_iter().chain(schemas.iter().cloned().map(Some)) {
            let of = DefaultsOf { role: role.clone(), schema, kind };
            change_one(session, &change, of, privileges.unwrap_or(known), &grantees)?;
        }
    }
    Ok(())
}

/// The name of a schema that is there.
fn place_of(state: &State, name: &str) -> Result<String> {
    match schema_named(state, name)? {
        Object::Schema(name) => Ok(name),
        _ => Err(Error::internal("a schema")),
    }
}

/// The roles whose objects are meant; nothing stands for the superusers.
fn makers(session: &Session, state: &State, names: &[RoleName]) -> Result<Vec<String>> {
    let who = session.who();
    if names.is_empty() {
        return Ok(vec![match &who {
            Who::All => String::new(),
            Who::Role(role) => role.to_string(),
        }]);
    }
    let mut roles = Vec::with_capacity(names.len());
    for name in names {
        let role = role_of(session, state, name)?;
        let role = role.ok_or_else(|| crate::define::role::undefined("public"))?;
        if let Who::Role(own) = &who
            && !state.is_superuser(&who)
            && !state.is_member(own, &role)
        {
            return Err(denied(format!("must be member of role \"{role}\"")));
        }
        roles.push(role);
    }
    Ok(roles)
}

fn change_one(
    session: &mut Session,
    change: &Change,
    of: DefaultsOf,
    privileges: Privileges,
    grantees: &[Option<String>],
) -> Result<()> {
    let first = match of.schema {
        Some(_) => Vec::new(),
        None => State::usual_grants(&of.role, of.kind),
    };
    let state = session.state();
    let known = state.default_privileges.get(&of);
    let mut grants = known.cloned().unwrap_or_else(|| first.clone());
    for grantee in grantees {
        match change.action {
            GrantAction::Grant => change.add(&mut grants, grantee, &of.role, privileges),
            GrantAction::Revoke => {
                let is_owner = grantee.as_deref() == Some(of.role.as_str());
                let from = Loser { grantee, grantor: &of.role, is_owner };
                change.take(&mut grants, from, privileges)?;
            }
        }
    }
    grants.retain(|grant| !grant.privileges.is_empty());
    public_first(&mut grants);
    session.change_catalog(|state| {
        if grants == first {
            drop(state.default_privileges.remove(&of))
        } else {
            drop(state.default_privileges.insert(of, grants))
        }
        Ok(())
    })
}
