//! Rights on attached tables, on their sequences and on their schema: GRANT and REVOKE, owners, and
//! what definitions need of them.
//!
//! ```text
//! statement -> copy of the catalog with the attached relations -> `privilege` changes the copy
//!           -> objects whose rights are others now -> the transaction of the attached database
//! ```
//! Roles are those of this database alone: rights name them, whether others know them or not.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::State;
use catalog::codec::{decode_sequence, decode_table, encode_rights};
use catalog::rights::{Grant, Object, Rights};
use catalog::who::{Who, denied};
use sql::statement::{
    ObjectKind, Objects, Privilege, PrivilegeStatement, Privileges, RelationName, Statement,
};
use types::{Error, Result};

use super::{Ran, hold};
use crate::QueryResult;
use crate::define::large_object::LargeObjects;
use crate::define::owned::forget;
use crate::define::privilege::{self, Ledger, one_role};
use crate::instance::attached::{AttachedRights, AttachedTableId};
use crate::session::Session;
use crate::statement::attached::described;
use crate::statement::running::Running;
use crate::transaction::holds::Needs;

/// Runs a statement about privileges if it is about the schema, or relations in it.
///
/// # Errors
/// 0A000 for a statement about these and others at once; errors of the statement.
pub(super) fn run(
    running: &mut Running<'_>,
    statement: PrivilegeStatement,
    schema: &str,
) -> Result<Ran> {
    let about = match &statement {
        PrivilegeStatement::Reassign { from, .. }
        | PrivilegeStatement::DropOwned { roles: from, .. } => {
            let (session, from) = (&*running.session, from.clone());
            let state = session.state();
            let names = from.iter().filter_map(|role| one_role(session, &state, role).ok());
            let names: BTreeSet<String> = names.collect();
            let about = About::of_roles(session, &statement, &names)?;
            if about == About::Attached {
                about.beside_large_objects(running, &names)?
            } else {
                about
            }
        }
        statement => About::of(statement, schema),
    };
    match about {
        About::Others => return Ok(Ran::NotOne(Statement::Privilege(Box::new(statement)))),
        About::Both => {
            let what = format!("{} of shared objects and others at once", statement.command());
            return Err(Error::unsupported(what).with_hint(apart(&statement)));
        }
        About::Attached => {}
    }
    running.session.work().check_writable(statement.command())?;
    let before = now(running.session)?;
    let (result, after) = changed(running.session, Arc::clone(&before), statement)?;
    keep(running, &before, &after)?;
    Ok(Ran::Done(result))
}

/// How to do in two steps what no transaction does in one.
fn apart(statement: &PrivilegeStatement) -> &'static str {
    match statement {
        PrivilegeStatement::Reassign { .. } => {
            "Give each shared object to the other role by ALTER ... OWNER TO first."
        }
        PrivilegeStatement::DropOwned { .. } => {
            "Revoke the privileges on shared objects by REVOKE first."
        }
        _ => "Use a statement for the shared objects, and one for the others.",
    }
}

/// Objects that a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Attached,
    Others,
    Both,
}

impl About {
    fn among(are_there: impl Iterator<Item = bool>) -> Self {
        let found: Vec<bool> = are_there.collect();
        match (found.contains(&true), found.contains(&false)) {
            (true, true) => Self::Both,
            (true, false) => Self::Attached,
            (false, _) => Self::Others,
        }
    }

    /// The same when one of `roles`, which have attached objects, has large objects, too.
    fn beside_large_objects(
        self,
        running: &mut Running<'_>,
        roles: &BTreeSet<String>,
    ) -> Result<Self> {
        for role in roles {
            let mut objects = LargeObjects { session: &mut *running.session };
            if !objects.objects_of(role)?.is_empty() {
                return Ok(Self::Both);
            }
        }
        Ok(self)
    }

    fn of(statement: &PrivilegeStatement, schema: &str) -> Self {
        let is_there = |name: &RelationName| name.schema.as_deref() == Some(schema);
        match statement {
            PrivilegeStatement::Objects { objects, .. } => match objects {
                Objects::Tables(names) | Objects::Sequences(names) => {
                    Self::among(names.iter().map(is_there))
                }
                Objects::AllTables(names)
                | Objects::AllSequences(names)
                | Objects::Schemas(names) => Self::among(names.iter().map(|name| name == schema)),
                _ => Self::Others,
            },
            PrivilegeStatement::Owner { kind: ObjectKind::Schema, name, .. } => {
                Self::among(std::iter::once(name.name == schema))
            }
            PrivilegeStatement::Owner { kind, name, .. }
                if !matches!(kind, ObjectKind::Type | ObjectKind::Database) =>
            {
                Self::among(std::iter::once(is_there(name)))
            }
            _ => Self::Others,
        }
    }

    /// Where what a statement takes from `roles` is.
    fn of_roles(
        session: &Session,
        statement: &PrivilegeStatement,
        roles: &BTreeSet<String>,
    ) -> Result<Self> {
        let owns_only = matches!(statement, PrivilegeStatement::Reassign { .. });
        let is_meant = |rights: &Rights| {
            let names = |grant: &Grant| {
                grant.grantee.as_ref().is_some_and(|grantee| roles.contains(grantee))
                    || roles.contains(&grant.grantor)
            };
            let mut rights = rights.clone();
            let is_granted = !owns_only && rights.all_grants_mut().any(|grant| names(grant));
            is_granted || roles.contains(&rights.owner)
        };
        let (own, all) = (session.state(), now(session)?);
        let meant = all.rights.iter().filter(|(_, rights)| is_meant(rights));
        let about = Self::among(meant.map(|(object, _)| !own.rights.contains_key(object)));
        let owns = |(object, rights): (&Object, &Rights)| {
            !own.rights.contains_key(object) && roles.contains(&rights.owner)
        };
        if !owns_only && all.rights.iter().any(owns) {
            let what = "DROP OWNED of a role that owns shared objects";
            return Err(Error::unsupported(what)
                .with_hint("Drop them first, or give them away by ALTER ... OWNER TO."));
        }
        Ok(about)
    }
}

/// The catalog with the rights after the statement.
fn changed(
    session: &mut Session,
    before: Arc<State>,
    statement: PrivilegeStatement,
) -> Result<(QueryResult, Arc<State>)> {
    if let PrivilegeStatement::DropOwned { roles, .. } = &statement {
        let mut names = BTreeSet::new();
        for role in roles {
            let name = one_role(session, &before, role)?;
            if !before.has_rights_of(&session.who(), &name) {
                return Err(denied("permission denied to drop objects"));
            }
            names.insert(name);
        }
        let mut after = State::clone(&before);
        forget(&mut after, &names);
        return Ok((QueryResult::command("DROP OWNED"), Arc::new(after)));
    }
    let mut ledger = Ledger::of_copy(session, before);
    let result = privilege::run(&mut ledger, statement)?;
    Ok((result, ledger.state()))
}

/// The catalog with the attached relations and their rights.
///
/// # Errors
/// As [`described`].
pub(super) fn now(session: &Session) -> Result<Arc<State>> {
    let transaction = session.work().attached(session.database().registry())?;
    described(&session.state(), session.database(), &*transaction).map(Arc::new)
}

/// Objects of the attached database that have other rights, with these.
fn differing(
    session: &Session,
    before: &State,
    after: &State,
) -> Result<Vec<(AttachedRights, Vec<u8>)>> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let schema = session.database().attached_schema().unwrap_or_default();
    let in_schema =
        |name: &str| RelationName { schema: Some(schema.to_owned()), name: name.to_owned() }.key();
    let mut found = Vec::new();
    let mut look = |object: &Object, on: AttachedRights| {
        let now = after.rights.get(object);
        if before.rights.get(object) != now {
            let mut bytes = Vec::new();
            now.iter().for_each(|rights| encode_rights(rights, &mut bytes));
            found.push((on, bytes));
        }
    };
    for known in transaction.all()? {
        let (def, _) = decode_table(&known.definition)?;
        let key = in_schema(def.bare_name());
        look(&Object::Relation(key), AttachedRights::Table(known.id));
    }
    for known in transaction.sequences()? {
        let key = decode_sequence(&known.definition)?.name;
        look(&Object::Relation(key), AttachedRights::Sequence(known.counter));
    }
    look(&Object::Schema(schema.to_owned()), AttachedRights::Schema);
    Ok(found)
}

/// Has the attached database keep the rights in `after` that are others than in `before`.
fn keep(running: &mut Running<'_>, before: &State, after: &State) -> Result<()> {
    let changes = differing(running.session, before, after)?;
    let table = |(on, _): &(AttachedRights, Vec<u8>)| match on {
        AttachedRights::Table(id) => Some(*id),
        _ => None,
    };
    let tables: Vec<AttachedTableId> = changes.iter().filter_map(table).collect();
    hold(running, &tables, Needs::Nothing)?;
    set(running.session, &changes)
}

fn set(session: &Session, changes: &[(AttachedRights, Vec<u8>)]) -> Result<()> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    changes.iter().try_for_each(|(on, bytes)| transaction.set_rights(*on, bytes))
}

/// Gives what is new since `before` its owner and the rights that new objects have, and lets rights
/// follow the columns of a table that the statement renamed or dropped, in its order.
///
/// # Errors
/// 40001 when others define tables at the same time.
pub(super) fn settle(
    session: &Session,
    before: &State,
    columns: Option<(&str, &[(String, Option<String>)])>,
) -> Result<()> {
    let now = now(session)?;
    let mut after = State::clone(&now);
    if let Some((table, changed)) = columns {
        for (from, to) in changed {
            match to {
                Some(to) => after.rename_column_rights(table, &[(from.clone(), to.clone())]),
                None => after.forget_column(table, from),
            }
        }
    }
    after.settle_rights(before, &session.who());
    set(session, &differing(session, &now, &after)?)
}

/// The catalog with the attached relations; None for who may do everything.
fn limits(session: &Session) -> Result<Option<(Arc<State>, Who)>> {
    let who = session.who();
    if session.state().is_superuser(&who) {
        return Ok(None);
    }
    Ok(Some((now(session)?, who)))
}

/// # Errors
/// 42501 for a role that makes nothing in the schema.
pub(super) fn check_creates(session: &Session, schema: &str) -> Result<()> {
    let Some((state, who)) = limits(session)? else { return Ok(()) };
    let create = Privileges::of(&[Privilege::Create]);
    state.check(&who, &Object::Schema(schema.to_owned()), create)
}

/// # Errors
/// 42501 for a role that does not own the relation `key`, a `kind`; nothing when there is none.
pub(super) fn check_owns(session: &Session, kind: &str, key: &str) -> Result<()> {
    let Some((state, who)) = limits(session)? else { return Ok(()) };
    if state.contains(key) { state.check_owner(&who, kind, key) } else { Ok(()) }
}

/// # Errors
/// As [`check_owns`]; the owner of the schema may drop what is in it.
pub(super) fn check_drops(session: &Session, kind: &str, key: &str) -> Result<()> {
    let Some((state, who)) = limits(session)? else { return Ok(()) };
    if state.owns(&who, &Object::schema_of(key)) { Ok(()) } else { check_owns(session, kind, key) }
}

/// # Errors
/// 42501 for a role that does not own the sequences of the table `key`.
pub(super) fn check_restarts(session: &Session, key: &str) -> Result<()> {
    let Some((state, who)) = limits(session)? else { return Ok(()) };
    crate::define::sequence::check_owned(&state, key, &who)
}

/// # Errors
/// 42501 for a role that may not empty the table `key`.
pub(super) fn check_truncates(session: &Session, key: &str) -> Result<()> {
    let Some((state, who)) = limits(session)? else { return Ok(()) };
    let truncate = Privileges::of(&[Privilege::Truncate]);
    state.check(&who, &Object::Relation(key.to_owned()), truncate)
}
