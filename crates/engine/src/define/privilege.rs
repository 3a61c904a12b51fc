//! GRANT, REVOKE, membership in roles, owners; what definitions need.

mod defaults;
mod ledger;
mod owner;

use catalog::materialized::KIND;
use catalog::rights::{COLUMN, Grant, Membership, Object, SCHEMA_NAME, SEQUENCE, Spot, TABLE};
use catalog::who::{Who, denied};
use catalog::{State, predefined, undefined_schema, undefined_table};
use sql::catalog::{RoutineDef, RoutineKind};
use sql::statement::{
    DropBehaviour, DropRelations, GrantAction, GrantOption, IfExists, IfMissing, Objects,
    Persistence, Privilege, PrivilegeStatement, Privileges, RelationName, RoleName, RoutineWord,
    Statement, TypeKind,
};
use types::{Error, Result, SqlState};

use crate::define::large_object;
use crate::define::role::undefined;
use crate::{QueryResult, Session};
use owner::{change_owner, reassign};

pub(super) use ledger::Ledger;
pub(super) use owner::{check_new_owner, set_owner, wanted_kind};

const CREATE: Privileges = Privileges::of(&[Privilege::Create]);

/// Runs a statement about privileges; the catalog is locked, if it is the database's.
pub(crate) fn run(ledger: &mut Ledger<'_>, statement: PrivilegeStatement) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        PrivilegeStatement::Objects {
            action,
            privileges,
            columns,
            objects,
            grantees,
            option,
            behaviour,
        } => {
            let change = Change { action, privileges, option, behaviour };
            change.run(ledger, &objects, &columns, &grantees)?;
        }
        PrivilegeStatement::Defaults { .. } => defaults::change(ledger.session, statement)?,
        PrivilegeStatement::Roles { action, roles, members, option } => {
            for role in &roles {
                for member in &members {
                    change_member(ledger.session, action, role, member, option)?;
                }
            }
        }
        PrivilegeStatement::Owner { kind, name, if_missing, to } => {
            change_owner(ledger, kind, &name, if_missing, &to)?;
        }
        PrivilegeStatement::Reassign { from, to } => reassign(ledger, &from, &to)?,
        PrivilegeStatement::DropOwned { .. } => {
            return Err(Error::internal("DROP OWNED goes to a place of its own"));
        }
        PrivilegeStatement::Unsupported(what) => return Err(Error::unsupported(what)),
    }
    Ok(QueryResult::command(command))
}

/// The role that a name stands for; None for PUBLIC.
fn role_of(session: &Session, state: &State, name: &RoleName) -> Result<Option<String>> {
    let name = match name {
        RoleName::Public => return Ok(None),
        RoleName::Named(name) => name.clone(),
        RoleName::Current => session.settings.current_user().to_owned(),
        RoleName::Session => session.settings.session_user().to_owned(),
    };
    if state.has_role(&name) { Ok(Some(name)) } else { Err(undefined(&name)) }
}

/// A role that is not PUBLIC.
pub(crate) fn one_role(session: &Session, state: &State, name: &RoleName) -> Result<String> {
    role_of(session, state, name)?.ok_or_else(|| undefined("public"))
}

/// A change of grants.
#[derive(Clone, Copy)]
struct Change {
    action: GrantAction,
    privileges: Option<Privileges>,
    option: GrantOption,
    behaviour: DropBehaviour,
}

/// Whom privileges are taken from.
#[derive(Clone, Copy)]
struct Loser<'a> {
    grantee: &'a Option<String>,
    grantor: &'a str,
    /// True for the owner, who keeps the right to grant.
    is_owner: bool,
}

/// Privileges on columns, None for ALL.
type OnColumns = (Option<Privileges>, Vec<String>);

fn invalid(what: &str, privilege: Privilege) -> Error {
    let message = format!("invalid privilege type {} for {what}", privilege.name());
    Error::new(SqlState::INVALID_GRANT_OPERATION, message)
}

/// # Errors
/// 3F000.
pub(crate) fn schema_named(state: &State, name: &str) -> Result<Object> {
    let name = if name == "main" { SCHEMA_NAME } else { name };
    if state.has_schema(name) {
        Ok(Object::Schema(name.to_owned()))
    } else {
        Err(undefined_schema(name))
    }
}

/// The objects that a statement names.
fn named(state: &State, objects: &Objects) -> Result<Vec<Object>> {
    let relation = |name: &RelationName, wanted: Option<&str>| {
        let key = state.key_of(name)?;
        let name = name.name.as_str();
        match (state.kind_of(&key), wanted) {
            (None, _) => Err(undefined_table(name)),
            (Some("index"), _) => {
                let message = format!("\"{name}\" is an index");
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            (Some(kind), Some(wanted)) if kind != wanted => {
                let message = format!("\"{name}\" is not a {wanted}");
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            _ => Ok(Object::Relation(key)),
        }
    };
    let permanent = |name: &&String| state.persistence_of(name) == Some(Persistence::Permanent);
    let all = |schemas: &[String], names: Vec<&String>| -> Result<Vec<Object>> {
        schemas.iter().try_for_each(|name| schema_named(state, name).map(drop))?;
        let is_in = |name: &&String| {
            let schema = RelationName::schema_of_key(name);
            schemas.iter().any(|s| s == schema || s == "main" && schema == SCHEMA_NAME)
        };
        let names = names.into_iter().filter(permanent).filter(is_in);
        Ok(names.map(|name| Object::Relation(name.clone())).collect())
    };
    Ok(match objects {
        Objects::Tables(names) => names.iter().map(|n| relation(n, None)).collect::<Result<_>>()?,
        Objects::Sequences(names) => {
            names.iter().map(|n| relation(n, Some("sequence"))).collect::<Result<_>>()?
        }
        Objects::AllTables(schemas) => {
            all(schemas, state.tables.keys().chain(state.views.keys()).collect())?
        }
        Objects::AllSequences(schemas) => all(schemas, state.sequences.keys().collect())?,
        Objects::Schemas(names) => {
            names.iter().map(|name| schema_named(state, name)).collect::<Result<_>>()?
        }
        Objects::Types(names) => {
            let of = |name| super::user_type::existing(state, TypeKind::Type, name);
            names.iter().map(|name| of(name).map(Object::Type)).collect::<Result<_>>()?
        }
        Objects::Routines(keys) => keys.iter().cloned().map(Object::Routine).collect(),
        Objects::AllRoutines(word, schemas) => routines_in(state, *word, schemas)?,
        Objects::Databases(names) => match names.iter().find(|name| **name != *state.database.0) {
            Some(name) => {
                let message = format!("database \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_DATABASE, message));
            }
            None => vec![Object::Database],
        },
    })
}

/// The functions, procedures or both of schemas.
///
/// # Errors
/// 3F000.
fn routines_in(state: &State, word: RoutineWord, schemas: &[String]) -> Result<Vec<Object>> {
    schemas.iter().try_for_each(|name| schema_named(state, name).map(drop))?;
    let is_meant = |(_, def): &(&String, &std::sync::Arc<RoutineDef>)| {
        let schema = RelationName::schema_of_key(&def.name);
        let is_there = schemas.iter().any(|s| s == schema || s == "main" && schema == SCHEMA_NAME);
        let is_kind = match word {
            RoutineWord::Function => def.kind != RoutineKind::Procedure,
            RoutineWord::Procedure => def.kind == RoutineKind::Procedure,
            RoutineWord::Routine => true,
        };
        is_there && is_kind
    };
    let found = state.routines.iter().filter(is_meant);
    Ok(found.map(|(key, _)| Object::Routine(key.clone())).collect())
}

/// The columns of an object that a statement names, each once with its privileges.
///
/// # Errors
/// 0LP01 for privileges that columns do not have, and objects without columns; 42703.
fn columns_named(
    state: &State,
    objects: &Objects,
    object: &Object,
    columns: &[OnColumns],
) -> Result<Vec<(String, Option<Privileges>)>> {
    let mut found: Vec<(String, Option<Privileges>)> = Vec::new();
    for (privileges, names) in columns {
        let Object::Relation(relation) = object else {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        };
        if !matches!(objects, Objects::Tables(_)) || state.sequences.contains_key(relation) {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        let wrong = privileges.and_then(|some| some.without(COLUMN).iter().next());
        if let Some(privilege) = wrong {
            return Err(invalid("column", privilege));
        }
        for name in names {
            if state.column_place(relation, name).is_none() {
                let relation = RelationName::name_of_key(relation);
                let message =
                    format!("column \"{name}\" of relation \"{relation}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            }
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => *all = all.zip(*privileges).map(|(all, more)| all.with(more)),
                None => found.push((name.clone(), *privileges)),
            }
        }
    }
    Ok(found)
}

impl Change {
    fn run(
        &self,
        ledger: &mut Ledger<'_>,
        objects: &Objects,
        columns: &[OnColumns],
        grantees: &[RoleName],
    ) -> Result<()> {
        let state = ledger.state();
        let grantees = self.grantees(ledger.session, &state, grantees)?;
        for object in named(&state, objects)? {
            let all = self.all(&state, objects, &object)?;
            let on_columns = columns_named(&state, objects, &object, columns)?;
            if self.privileges != Some(Privileges::NONE) {
                self.run_on(ledger, Spot { object: &object, column: None }, all, &grantees)?;
                self.revoke_on_columns(ledger, &object, all, &grantees)?;
            }
            for (column, privileges) in on_columns {
                let change = Self { privileges, ..*self };
                let meant = privileges.unwrap_or(COLUMN);
                let spot = Spot { object: &object, column: Some(&column) };
                change.run_on(ledger, spot, meant, &grantees)?;
            }
        }
        Ok(())
    }

    /// The roles that privileges are granted to or taken from.
    fn grantees(
        &self,
        session: &Session,
        state: &State,
        names: &[RoleName],
    ) -> Result<Vec<Option<String>>> {
        let grantees: Vec<Option<String>> =
            names.iter().map(|name| role_of(session, state, name)).collect::<Result<_>>()?;
        if self.action == GrantAction::Grant
            && self.option == GrantOption::Yes
            && grantees.contains(&None)
        {
            let message = "grant options can only be granted to roles";
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        Ok(grantees)
    }

    /// Revokes from the columns of a table what the statement revokes from the table.
    fn revoke_on_columns(
        &self,
        ledger: &mut Ledger<'_>,
        object: &Object,
        privileges: Privileges,
        grantees: &[Option<String>],
    ) -> Result<()> {
        let meant = privileges.common(COLUMN);
        if self.action == GrantAction::Grant || meant.is_empty() {
            return Ok(());
        }
        let state = ledger.state();
        let columns = state.rights.get(object).map_or(&[][..], |rights| &rights.columns);
        // Nobody is warned of columns that the statement does not name.
        let change = Self { privileges: None, ..*self };
        for (column, _) in columns {
            let spot = Spot { object, column: Some(column) };
            change.run_on(ledger, spot, meant, grantees)?;
        }
        Ok(())
    }

    /// The privileges that are meant for this object.
    fn all(&self, state: &State, objects: &Objects, object: &Object) -> Result<Privileges> {
        let known = state.privileges_of(object);
        let Some(given) = self.privileges else { return Ok(known) };
        // What is said of tables may be said of sequences, as in PostgreSQL.
        let (taken, what) = match objects {
            Objects::Tables(_) if known == SEQUENCE => (SEQUENCE.with(TABLE), "sequence"),
            Objects::Tables(_) | Objects::AllTables(_) => (known, "relation"),
            Objects::Sequences(_) | Objects::AllSequences(_) => (known, "sequence"),
            Objects::Schemas(_) => (known, "schema"),
            Objects::Databases(_) => (known, "database"),
            Objects::Types(_) => (known, "type"),
            Objects::Routines(_) | Objects::AllRoutines(..) => (known, "function"),
        };
        match given.without(taken).iter().next() {
            Some(privilege) => Err(invalid(what, privilege)),
            None => Ok(given.common(known)),
        }
    }

    fn run_on(
        &self,
        ledger: &mut Ledger<'_>,
        spot: Spot<'_>,
        privileges: Privileges,
        grantees: &[Option<String>],
    ) -> Result<()> {
        let state = ledger.state();
        let who = ledger.session.who();
        let object = spot.object;
        let owner = state.owner_of(object).to_owned();
        let can = state.grantable_on(&who, spot);
        let grantor = match &who {
            // On behalf of the owner, as in PostgreSQL.
            _ if state.owns(&who, object) => owner.clone(),
            Who::Role(role) => state.best_grantor(role, spot, privileges),
            Who::All => owner.clone(),
        };
        let (kind, name) = state.described(object);
        if can.is_empty() && state.allowed_on(&who, spot).is_empty() {
            return Err(denied(match spot.column {
                Some(column) => {
                    format!("permission denied for column \"{column}\" of relation \"{name}\"")
                }
                None => format!("permission denied for {kind} {name}"),
            }));
        }
        let meant = privileges.common(can);
        if meant != privileges {
            let (done, state) = match self.action {
                GrantAction::Grant => ("granted", SqlState::PRIVILEGE_NOT_GRANTED),
                GrantAction::Revoke => ("revoked", SqlState::PRIVILEGE_NOT_REVOKED),
            };
            let some = if meant.is_empty() { "no" } else { "not all" };
            if self.privileges.is_some() || meant.is_empty() {
                let place = match spot.column {
                    Some(column) => format!("column \"{column}\" of relation \"{name}\""),
                    None => format!("\"{name}\""),
                };
                ledger.session.warn(state, format!("{some} privileges were {done} for {place}"));
            }
        }
        let mut grants = state.grants_on(spot);
        for grantee in grantees {
            match self.action {
                GrantAction::Grant => self.add(&mut grants, grantee, &grantor, meant),
                GrantAction::Revoke => {
                    let is_owner = grantee.as_deref() == Some(owner.as_str());
                    let from = Loser { grantee, grantor: &grantor, is_owner };
                    self.take(&mut grants, from, meant)?;
                }
            }
        }
        grants.retain(|grant| !grant.privileges.is_empty());
        let (object, column) = (object.clone(), spot.column.map(str::to_owned));
        ledger.change(|state| {
            let rights = state.rights.entry(object).or_default();
            match column {
                None => rights.grants = Some(grants),
                Some(column) => {
                    rights.columns.retain(|(known, _)| *known != column);
                    if !grants.is_empty() {
                        rights.columns.push((column, grants));
                        rights.columns.sort_by(|a, b| a.0.cmp(&b.0));
                    }
                }
            }
            Ok(())
        })
    }

    fn add(
        &self,
        grants: &mut Vec<Grant>,
        grantee: &Option<String>,
        grantor: &str,
        privileges: Privileges,
    ) {
        let is_meant = |grant: &&mut Grant| grant.grantee == *grantee && grant.grantor == grantor;
        let option = match self.option {
            GrantOption::Yes => privileges,
            GrantOption::No => Privileges::NONE,
        };
        match grants.iter_mut().find(is_meant) {
            Some(grant) => {
                grant.privileges = grant.privileges.with(privileges);
                grant.grantable = grant.grantable.with(option);
            }
            None => grants.push(Grant {
                grantee: grantee.clone(),
                grantor: grantor.to_owned(),
                privileges,
                grantable: option,
            }),
        }
    }

    /// Takes privileges from a grantee, and from those whom it granted them.
    ///
    /// # Errors
    /// 2BP01 when there are such and they may not lose them.
    fn take(
        &self,
        grants: &mut Vec<Grant>,
        Loser { grantee, grantor, is_owner }: Loser<'_>,
        privileges: Privileges,
    ) -> Result<()> {
        let is_meant = |grant: &&mut Grant| grant.grantee == *grantee && grant.grantor == grantor;
        let Some(grant) = grants.iter_mut().find(is_meant) else { return Ok(()) };
        let lost = grant.grantable.common(privileges);
        grant.grantable = grant.grantable.without(privileges);
        if self.option == GrantOption::No {
            grant.privileges = grant.privileges.without(privileges);
        }
        let Some(name) = grantee.as_deref().filter(|_| !is_owner && !lost.is_empty()) else {
            return Ok(());
        };
        let still = |grant: &&Grant| grant.grantee.as_deref() == Some(name);
        let still = grants.iter().filter(still).map(|grant| grant.grantable);
        let lost = lost.without(still.fold(Privileges::NONE, Privileges::with));
        let dependent = |grant: &&Grant| grant.grantor == name && grant.privileges.meets(lost);
        let dependents: Vec<Option<String>> =
            grants.iter().filter(dependent).map(|grant| grant.grantee.clone()).collect();
        if dependents.is_empty() {
            return Ok(());
        }
        if self.behaviour == DropBehaviour::Restrict {
            let error = Error::new(SqlState::DEPENDENT_OBJECTS, "dependent privileges exist");
            return Err(error.with_hint("Use CASCADE to revoke them too."));
        }
        let name = name.to_owned();
        let whole = Self { option: GrantOption::No, privileges: None, ..*self };
        for dependent in dependents {
            let from = Loser { grantee: &dependent, grantor: &name, is_owner: false };
            whole.take(grants, from, lost)?;
        }
        Ok(())
    }
}

fn change_member(
    session: &mut Session,
    action: GrantAction,
    role: &str,
    member: &RoleName,
    option: GrantOption,
) -> Result<()> {
    let state = session.state();
    let known = state.roles.get(role);
    if known.is_none() && predefined::named(role).is_none() {
        return Err(undefined(role));
    }
    let member = one_role(session, &state, member)?;
    check_admin(session, &state, role, known.is_some_and(|known| known.is_superuser))?;
    if role == predefined::DATABASE_OWNER {
        let message = format!("role \"{role}\" cannot have explicit members");
        return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    if action == GrantAction::Grant && state.is_member(role, &member) {
        let message = format!("role \"{role}\" is a member of role \"{member}\"");
        return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    let Some(joining) = state.roles.get(&member) else {
        return Err(Error::unsupported("a predefined role as a member of another role"));
    };
    let existing = joining.member_of.iter().find(|m| m.role == role);
    let admin = option == GrantOption::Yes;
    match (action, existing) {
        (GrantAction::Grant, Some(known)) if known.admin || !admin => {
            let message = format!("role \"{member}\" is already a member of role \"{role}\"");
            session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        (GrantAction::Revoke, None) => {
            session.warn(
                SqlState::WARNING,
                format!("role \"{member}\" is not a member of role \"{role}\""),
            );
            return Ok(());
        }
        _ => {}
    }
    session.change_catalog(|state| {
        let Some(member) = state.roles.get_mut(&member) else { return Ok(()) };
        let position = member.member_of.iter().position(|m| m.role == role);
        match (action, position) {
            (GrantAction::Grant, Some(at)) => member.member_of[at].admin = true,
            (GrantAction::Grant, None) => {
                member.member_of.push(Membership { role: role.to_owned(), admin });
            }
            (GrantAction::Revoke, Some(at)) if option == GrantOption::Yes => {
                member.member_of[at].admin = false;
            }
            (GrantAction::Revoke, Some(at)) => drop(member.member_of.remove(at)),
            (GrantAction::Revoke, None) => {}
        }
        Ok(())
    })
}

/// Refuses when the session may not change the members of `role`.
fn check_admin(session: &Session, state: &State, role: &str, is_superuser: bool) -> Result<()> {
    let who = session.who();
    if state.is_superuser(&who) {
        return Ok(());
    }
    if is_superuser {
        return Err(denied("must be superuser to alter superusers"));
    }
    let Who::Role(own) = &who else { return Ok(()) };
    let is_admin = |name: &str| {
        let known = state.roles.get(name);
        known.is_some_and(|known| known.member_of.iter().any(|m| m.role == role && m.admin))
    };
    let creates = state.roles.get(&**own).is_some_and(|known| known.can_create_roles);
    let admin = state.roles.keys().any(|name| is_admin(name) && state.has_rights_of(&who, name));
    if creates || admin {
        Ok(())
    } else {
        Err(denied(format!("must have admin option on role \"{role}\"")))
    }
}

/// Whoever defines something, and what there is.
struct Definer<'s> {
    state: &'s State,
    who: &'s Who,
}

impl Definer<'_> {
    fn create(&self, name: &RelationName, persistence: Persistence) -> Result<()> {
        let Self { state, who } = self;
        match crate::define::persistence_of(name, persistence) {
            Persistence::Permanent => {
                state.check(who, &Object::schema_of(&state.key_of(name)?), CREATE)
            }
            Persistence::Temporary => {
                let temporary = Privileges::of(&[Privilege::Temporary]);
                state.check(who, &Object::Database, temporary).map_err(|_| {
                    let name = &state.database.0;
                    denied(format!(
                        "permission denied to create temporary tables in database \"{name}\""
                    ))
                })
            }
        }
    }

    fn drop(&self, kind: &str, drop: &DropRelations) -> Result<()> {
        let Self { state, who } = self;
        drop.names.iter().try_for_each(|name| {
            let Ok(name) = state.key_of(name) else { return Ok(()) };
            // The owner of the schema may drop what is in it.
            match state.kind_of(&name) {
                Some(found) if found == kind && !state.owns(who, &Object::schema_of(&name)) => {
                    state.check_owner(who, kind, &name)
                }
                _ => Ok(()),
            }
        })
    }

    /// The owner alone changes what there is.
    fn change(&self, name: &str) -> Result<()> {
        let kind = self.state.kind_of(name);
        kind.map_or(Ok(()), |kind| self.state.check_owner(self.who, kind, name))
    }

    /// CREATE OR REPLACE TABLE drops the table that is there.
    fn replace(&self, name: &RelationName, if_exists: IfExists) -> Result<()> {
        if if_exists != IfExists::Replace {
            return Ok(());
        }
        let (names, if_missing) = (vec![name.clone()], IfMissing::Skip);
        let behaviour = DropBehaviour::Restrict;
        self.drop("table", &DropRelations { names, if_missing, behaviour })
    }
}

/// Checks the privileges that a definition needs, before anything else of it is looked at.
///
/// # Errors
/// 42501.
pub(crate) fn check_definition(session: &Session, statement: &Statement) -> Result<()> {
    large_object::refuse_definition(statement)?;
    let (state, who) = (session.state(), session.who());
    if state.is_superuser(&who) {
        return Ok(());
    }
    super::user_type::check_statement(&state, &who, statement)?;
    let may = Definer { state: &state, who: &who };
    let creates = |name: &RelationName, persistence| may.create(name, persistence);
    let drops = |kind: &str, drop: &DropRelations| may.drop(kind, drop);
    match statement {
        Statement::CreateTable(create) => {
            may.replace(&create.name, create.if_exists)?;
            creates(&create.name, create.persistence)
        }
        Statement::CreateTableAs(create) => {
            may.replace(&create.name, create.if_exists)?;
            creates(&create.name, create.persistence)
        }
        Statement::CreateSequence(create) => creates(&create.name, create.persistence),
        Statement::CreateView(create) => {
            creates(&create.name, create.persistence)?;
            match state.key_of(&create.name)? {
                name if create.if_exists == IfExists::Replace
                    && state.views.contains_key(&name) =>
                {
                    state.check_owner(&who, "view", &name)
                }
                _ => Ok(()),
            }
        }
        Statement::Policy(of) => state.check_owner(&who, "table", &of.table),
        Statement::AlterView(to) => state.check_owner(&who, "view", &state.key_of(&to.name)?),
        Statement::RenameView(to) => state.check_owner(&who, "view", &state.key_of(&to.name)?),
        Statement::CreateMaterialized(create) => creates(&create.view.name, Persistence::Permanent),
        Statement::RefreshMaterialized(refresh) => may.change(&state.key_of(&refresh.name)?),
        Statement::DropMaterialized(drop) => drops(KIND, drop),
        Statement::CreateIndex(create) => may.change(create.table.name()),
        Statement::AlterTable(Some(alter)) => may.change(alter.table.name()),
        Statement::AlterMaterialized(alter) => may.change(alter.table.name()),
        Statement::AlterSequence(Some(alter)) => {
            state.check_owner(&who, "sequence", &state.key_of(&alter.name)?)
        }
        Statement::RenameIndex { name, .. } => {
            let name = &state.key_of(name)?;
            state.table_of_index(name).map_or(Ok(()), |_| state.check_owner(&who, "index", name))
        }
        Statement::CreateWideTable(create) => creates(&create.name, Persistence::Permanent),
        Statement::RefreshWideTable(name) => match &state.key_of(name)? {
            name if state.tables.contains_key(name) => state.check_owner(&who, "table", name),
            _ => Ok(()),
        },
        Statement::DropTable(drop) | Statement::DropWideTable(drop) => drops("table", drop),
        Statement::DropView(drop) => drops("view", drop),
        Statement::DropIndex(drop) => drops("index", drop),
        Statement::DropSequence(drop) => drops("sequence", drop),
        _ => Ok(()),
    }
}
