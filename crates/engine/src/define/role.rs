//! Roles: who may begin sessions, and who manages them.
//!
//! A session without a user, one of the library, may do everything.
//! Elsewhere: who is a member of which role (`privilege`), what roles may do (`rights`).

use std::sync::Arc;

use catalog::comments::Commented;
use catalog::rights::Membership;
use catalog::who::{Who, denied};
use catalog::{Role, State, predefined};
use sql::statement::{DefaultKind, IfMissing, PasswordChange, RoleOptions, RoleStatement};
use types::{DataType, Error, Result, SqlState, Value};

use super::large_object;
use crate::session::definer::Definer;
use crate::statement::attached::described;
use crate::words::settings::Settings;
use crate::{Database, QueryResult, Session};

/// 42704.
pub(crate) fn undefined(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

impl Database {
    /// The role called `name`.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.inner().stores.relations.snapshot().roles.get(name).cloned()
    }

    /// How many sessions there are of a user.
    pub fn session_count(&self, user: &str) -> usize {
        let sessions = self.sessions();
        let is_of = |info: &crate::instance::info::SessionInfo| {
            info.seen.lock().user.as_deref() == Some(user)
        };
        sessions.iter().filter(|(_, info)| is_of(info)).count()
    }

    /// All roles, by name.
    pub fn roles(&self) -> Vec<(String, Role)> {
        let state = self.inner().stores.relations.snapshot();
        state.roles.iter().map(|(name, role)| (name.clone(), role.clone())).collect()
    }
}

/// A setting's new value; those that say who the session is are looked at first. None resets it.
///
/// # Errors
/// 22023 for a role that does not exist, 42501 for one that the session may not be.
pub(crate) fn checked_identity(
    session: &Session,
    name: &str,
    value: Option<&str>,
) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let (state, settings) = (session.state(), &session.settings);
    let missing = || {
        let message = format!("role \"{value}\" does not exist");
        Error::new(SqlState::INVALID_PARAMETER, message)
    };
    match name {
        "role" if value == "none" => Ok(None),
        "role" => {
            if !state.has_role(value) {
                return Err(missing());
            }
            let is_super = state.roles.get(value).is_some_and(|role| role.is_superuser);
            let session_is = settings.session_who();
            let may = state.is_superuser(&session_is)
                || matches!(&session_is, Who::Role(own) if state.is_member(own, value));
            if may || (is_super && state.is_superuser(&session_is)) {
                Ok(Some(value.to_owned()))
            } else {
                Err(denied(format!("permission denied to set role \"{value}\"")))
            }
        }
        "session_authorization" if settings.user().unwrap_or("tessera") == value => Ok(None),
        "session_authorization" => {
            if !state.roles.contains_key(value) {
                return Err(missing());
            }
            if state.is_superuser(&settings.authenticated_who()) {
                Ok(Some(value.to_owned()))
            } else {
                Err(denied("permission denied to set session authorization"))
            }
        }
        _ => Ok(Some(value.to_owned())),
    }
}

impl Definer<'_> {
    fn check_may_change(&self, state: &State, changed: Option<&Role>) -> Result<()> {
        if state.is_superuser(self.settings.who()) {
            return Ok(());
        }
        if changed.is_some_and(|role| role.is_superuser) {
            return Err(denied("must be superuser to change superusers"));
        }
        let own = state.roles.get(self.settings.current_user());
        if own.is_some_and(|own| own.can_create_roles) {
            Ok(())
        } else {
            Err(denied("permission denied to manage roles"))
        }
    }

    fn kept(&self, password: &str) -> Result<Option<String>> {
        if password.is_empty() {
            return Ok(None);
        }
        let hasher = self.database().registry().password_hasher();
        let hasher = hasher.ok_or_else(|| Error::unsupported("PASSWORD without a server"))?;
        hasher(password).map(Some)
    }

    /// The time that VALID UNTIL gives.
    fn instant(&self, text: &str) -> Result<Option<i64>> {
        let zone = self.settings.time_zone();
        match types::text::parse_in(text, DataType::TIMESTAMPTZ, zone)? {
            Value::I64(micros) => Ok(Some(micros)),
            _ => Ok(None),
        }
    }

    /// # Errors
    /// 42501 for attributes that only superusers give.
    fn check_attributes(&self, state: &State, options: &RoleOptions) -> Result<()> {
        if state.is_superuser(self.settings.who()) {
            return Ok(());
        }
        if options.replication.is_some() {
            return Err(denied("must be superuser to change replication attribute"));
        }
        if options.bypass_policies.is_some() {
            return Err(denied("must be superuser to change bypassrls attribute"));
        }
        Ok(())
    }

    /// `role` with what the options say.
    fn changed(&self, role: Role, options: RoleOptions) -> Result<Role> {
        Ok(Role {
            is_superuser: options.superuser.unwrap_or(role.is_superuser),
            can_create_roles: options.create_role.unwrap_or(role.can_create_roles),
            can_login: options.login.unwrap_or(role.can_login),
            inherits: options.inherit.unwrap_or(role.inherits),
            password: match options.password {
                PasswordChange::Keep => role.password,
                PasswordChange::Remove => None,
                PasswordChange::Set(secret) => self.kept(&secret.0)?,
            },
            member_of: role.member_of,
            can_create_databases: options.create_database.unwrap_or(role.can_create_databases),
            can_replicate: options.replication.unwrap_or(role.can_replicate),
            bypasses_policies: options.bypass_policies.unwrap_or(role.bypasses_policies),
            connections_max: match options.connection_limit {
                Some(limit) if limit < -1 => {
                    let message = format!("invalid connection limit: {limit}");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
                Some(-1) => None,
                Some(limit) => Some(i64::from(limit)),
                None => role.connections_max,
            },
            valid_until: match &options.valid_until {
                Some(text) => self.instant(text)?,
                None => role.valid_until,
            },
            settings: role.settings,
        })
    }
}

/// Runs a statement about roles; the catalog is locked.
pub(crate) fn run(definer: &mut Definer<'_>, statement: RoleStatement) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        RoleStatement::Create { name, options } => create(definer, name, options)?,
        RoleStatement::Alter { name, options } => alter(definer, name, options)?,
        RoleStatement::Rename { name, to } => rename(definer, &name, to)?,
        RoleStatement::Set { name, setting, value } => set(definer, name, setting, value)?,
        RoleStatement::Drop { names, if_missing } => drop_all(definer, &names, if_missing)?,
    }
    Ok(QueryResult::command(command))
}

fn put(definer: &mut Definer<'_>, name: String, role: Role) -> Result<()> {
    definer.change_catalog(|state| {
        state.roles.insert(name, role);
        Ok(())
    })
}

fn create(definer: &mut Definer<'_>, name: String, options: RoleOptions) -> Result<()> {
    let state = definer.state();
    definer.check_attributes(&state, &options)?;
    let groups = options.in_roles.clone();
    let members = options.members.iter().map(|member| (member.clone(), false));
    let admins = options.admins.iter().map(|member| (member.clone(), true));
    let members: Vec<(String, bool)> = members.chain(admins).collect();
    let mut role = definer.changed(Role::default(), options)?;
    definer.check_may_change(&state, Some(&role))?;
    check_free(&state, &name)?;
    for group in groups {
        if !state.has_role(&group) {
            return Err(undefined(&group));
        }
        definer.check_may_change(&state, state.roles.get(&group))?;
        role.member_of.push(Membership { role: group, admin: false });
    }
    put(definer, name.clone(), role)?;
    for (member, admin) in members {
        let state = definer.state();
        let mut known = state.roles.get(&member).cloned().ok_or_else(|| undefined(&member))?;
        definer.check_may_change(&state, Some(&known))?;
        if state.is_member(&name, &member) {
            let message = format!("role \"{name}\" is a member of role \"{member}\"");
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        known.member_of.push(Membership { role: name.clone(), admin });
        put(definer, member, known)?;
    }
    Ok(())
}

/// 42939.
fn reserved(name: &str) -> Error {
    Error::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
}

/// # Errors
/// 42939 for a role that every database has.
fn check_changed(name: &str) -> Result<()> {
    match predefined::named(name) {
        Some(_) => Err(reserved(name).with_detail("Cannot alter reserved roles.")),
        None => Ok(()),
    }
}

fn check_free(state: &State, name: &str) -> Result<()> {
    if name.starts_with("pg_") || matches!(name, "public" | "none") {
        let error = reserved(name);
        return Err(if name.starts_with("pg_") {
            error.with_detail("Role names starting with \"pg_\" are reserved.")
        } else {
            error
        });
    }
    if state.roles.contains_key(name) {
        let message = format!("role \"{name}\" already exists");
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    } else {
        Ok(())
    }
}

fn alter(definer: &mut Definer<'_>, name: String, options: RoleOptions) -> Result<()> {
    check_changed(&name)?;
    let state = definer.state();
    let old = state.roles.get(&name).cloned().ok_or_else(|| undefined(&name))?;
    // Everyone may have another password.
    let own = definer.settings.user() == Some(&name);
    let only_password =
        RoleOptions { password: PasswordChange::Keep, ..options.clone() } == RoleOptions::default();
    if !(own && only_password) {
        definer.check_may_change(&state, Some(&old))?;
        definer.check_attributes(&state, &options)?;
    }
    let new = definer.changed(old, options)?;
    if new.is_superuser {
        definer.check_may_change(&state, Some(&new))?;
    }
    put(definer, name, new)
}

/// ALTER ROLE ... SET, RESET: it counts from the role's next session on.
fn set(
    definer: &mut Definer<'_>,
    name: String,
    setting: Option<String>,
    value: Option<String>,
) -> Result<()> {
    check_changed(&name)?;
    let state = definer.state();
    let mut role = state.roles.get(&name).cloned().ok_or_else(|| undefined(&name))?;
    if definer.settings.user() != Some(&name) {
        definer.check_may_change(&state, Some(&role))?;
    }
    match (setting, value) {
        (None, _) => role.settings.clear(),
        (Some(setting), value) => {
            if let Some(value) = &value {
                Settings::check(&setting, value)?;
            }
            if setting == "priority" {
                definer.check_server_setting(&setting)?;
            }
            role.settings.retain(|(known, _)| *known != setting);
            role.settings.extend(value.map(|value| (setting, value)));
        }
    }
    put(definer, name, role)
}

fn rename(definer: &mut Definer<'_>, name: &str, to: String) -> Result<()> {
    check_changed(name)?;
    let state = definer.state();
    let role = state.roles.get(name).cloned().ok_or_else(|| undefined(name))?;
    definer.check_may_change(&state, Some(&role))?;
    if definer.settings.user() == Some(name) {
        return Err(Error::unsupported("renaming the session's own user"));
    }
    check_free(&state, &to)?;
    if check_unused_elsewhere(definer, name).is_err() {
        return Err(Error::unsupported("another name of a role that other databases know"));
    }
    if definer.has_attached_rights(name)? {
        return Err(Error::unsupported("another name of a role that has rights on shared tables"));
    }
    check_unprepared(definer, name)?;
    definer.change_catalog(|state| {
        state.roles.remove(name);
        rename_everywhere(state, name, &to);
        state.roles.insert(to, role);
        Ok(())
    })
}

fn drop_all(definer: &mut Definer<'_>, names: &[String], if_missing: IfMissing) -> Result<()> {
    let state = definer.state();
    definer.check_may_change(&state, None)?;
    for name in names {
        let role = state.roles.get(name);
        if !state.has_role(name) && if_missing == IfMissing::Skip {
            definer.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("role \"{name}\" does not exist, skipping"),
            );
            continue;
        }
        if predefined::named(name).is_some() {
            let message =
                format!("cannot drop role {name} because it is required by the database system");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message));
        }
        let role = role.ok_or_else(|| undefined(name))?;
        definer.check_may_change(&state, Some(role))?;
        if definer.settings.user() == Some(name) || definer.settings.current_user() == name {
            let message = "current user cannot be dropped";
            return Err(Error::new(SqlState::OBJECT_IN_USE, message));
        }
        check_unused(&*definer.described()?, name)?;
        check_unused_elsewhere(definer, name)?;
        check_unprepared(definer, name)?;
        definer.change_catalog(|state| {
            state.roles.remove(name);
            for other in state.roles.values_mut() {
                other.member_of.retain(|membership| membership.role != *name);
            }
            Ok(())
        })?;
    }
    Ok(())
}

impl Definer<'_> {
    /// The catalog with the relations of the attached database and their rights.
    fn described(&self) -> Result<Arc<State>> {
        match self.attached()? {
            Some(transaction) => {
                described(&self.state(), self.database(), &*transaction).map(Arc::new)
            }
            None => Ok(self.state()),
        }
    }

    /// True when the role owns something of the attached database, or has privileges there.
    fn has_attached_rights(&self, name: &str) -> Result<bool> {
        let (own, all) = (self.state(), self.described()?);
        let mut rights = all.rights.clone();
        rights.retain(|object, _| !own.rights.contains_key(object));
        let names = |grant: &catalog::rights::Grant| {
            grant.grantee.as_deref() == Some(name) || grant.grantor == name
        };
        let mut known = rights.values_mut();
        Ok(known.any(|rights| rights.owner == name || rights.all_grants_mut().any(|g| names(g))))
    }
}

/// # Errors
/// 55006 while prepared transactions belong to the role: they know it by its name.
fn check_unprepared(definer: &Definer<'_>, name: &str) -> Result<()> {
    if !definer.inner().prepared.are_of(name) {
        return Ok(());
    }
    let message = format!("role \"{name}\" is being used by prepared transactions");
    Err(Error::new(SqlState::OBJECT_IN_USE, message))
}

/// A role's memberships, what it owns and what was granted follow its name.
fn rename_everywhere(state: &mut State, from: &str, to: &str) {
    let follow = |name: &mut String| {
        if name == from {
            to.clone_into(name);
        }
    };
    for other in state.roles.values_mut() {
        other.member_of.iter_mut().for_each(|membership| follow(&mut membership.role));
    }
    state.rename_in_policies(from, to);
    state.move_comments(|on| {
        (*on == Commented::Role(from.to_owned())).then(|| Commented::Role(to.to_owned()))
    });
    for rights in state.rights.values_mut() {
        follow(&mut rights.owner);
        for grant in rights.all_grants_mut() {
            follow(&mut grant.grantor);
            grant.grantee.iter_mut().for_each(follow);
        }
    }
    state.extensions.values_mut().for_each(|extension| follow(&mut extension.owner));
    state.collations.values_mut().for_each(|collation| follow(&mut collation.owner));
    for (mut of, mut grants) in std::mem::take(&mut state.default_privileges) {
        follow(&mut of.role);
        for grant in &mut grants {
            follow(&mut grant.grantor);
            grant.grantee.iter_mut().for_each(follow);
        }
        state.default_privileges.insert(of, grants);
    }
}

/// # Errors
/// 2BP01 when something of another database of the server belongs to the role, or it has
/// privileges there.
fn check_unused_elsewhere(definer: &Definer<'_>, name: &str) -> Result<()> {
    let Some(cluster) = definer.inner().cluster() else { return Ok(()) };
    for (_, other) in cluster.all() {
        let state = other.inner().stores.relations.snapshot();
        if other.is(definer.database()) {
            continue;
        }
        let unused = check_unused(&state, name);
        unused.and_then(|()| large_object::refuse_owner_in(&other, name)).map_err(|error| {
            let detail = format!("It is needed in database {}.", state.database.0);
            error.with_detail(detail)
        })?;
    }
    Ok(())
}

/// # Errors
/// 2BP01 when something belongs to the role, or it has privileges.
fn check_unused(state: &State, name: &str) -> Result<()> {
    let mut uses = Vec::new();
    for (object, rights) in &state.rights {
        let (kind, called) = state.described(object);
        let granted = |grant: &catalog::rights::Grant| {
            grant.grantee.as_deref() == Some(name) || grant.grantor == name
        };
        if rights.owner == name {
            uses.push(format!("owner of {kind} {called}"));
        } else if rights.grants.iter().flatten().any(granted) {
            uses.push(format!("privileges for {kind} {called}"));
        }
        for (column, grants) in &rights.columns {
            if grants.iter().any(granted) {
                uses.push(format!("privileges for column {column} of {kind} {called}"));
            }
        }
    }
    uses.extend(state.policy_of_role(name).map(|policy| format!("target of {policy}")));
    let extensions = state.extensions.iter().filter(|(_, extension)| extension.owner == name);
    uses.extend(extensions.map(|(extension, _)| format!("owner of extension {extension}")));
    let collations = state.collations.iter().filter(|(_, collation)| collation.owner == name);
    uses.extend(collations.map(|(key, _)| format!("owner of collation {key}")));
    for (of, grants) in &state.default_privileges {
        let granted = |grant: &catalog::rights::Grant| grant.grantee.as_deref() == Some(name);
        if of.role == name || grants.iter().any(granted) {
            let what = match of.kind {
                DefaultKind::Tables => "relations",
                DefaultKind::Sequences => "sequences",
                DefaultKind::Schemas => "schemas",
                DefaultKind::Routines => "functions",
            };
            let schema = of.schema.as_ref();
            let place = schema.map_or_else(String::new, |schema| format!(" in schema {schema}"));
            let role = if of.role.is_empty() { "tessera" } else { &of.role };
            uses.push(format!(
                "{} default privileges on new {what} belonging to role {role}{place}",
                if of.role == name { "owner of" } else { "privileges for" }
            ));
        }
    }
    if uses.is_empty() {
        return Ok(());
    }
    let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
    Err(Error::new(SqlState::DEPENDENT_OBJECTS, message).with_detail(uses.join("\n")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Config;

    fn run(session: &mut Session, text: &str) -> std::result::Result<(), String> {
        let outcome = session.execute(text);
        outcome.map(|_| ()).map_err(|error| error.state().as_str().to_owned())
    }

    #[test]
    fn roles_come_change_and_go() {
        let database = Database::open_in_memory(Config::default()).expect("in memory");
        database
            .registry()
            .set_password_hasher(Arc::new(|password| Ok(format!("kept {password}"))));
        let mut all = database.session();
        run(&mut all, "create user ann with password 'a'; create role bob createrole")
            .expect("new");
        assert_eq!(database.role("ann").and_then(|r| r.password).as_deref(), Some("kept a"));
        assert!(!database.role("bob").expect("bob").can_login);
        assert_eq!(run(&mut all, "create role ann"), Err("42710".into()));
        assert_eq!(run(&mut all, "drop role nobody"), Err("42704".into()));
        run(&mut all, "drop role if exists nobody").expect("skipped");
        let mut ann = database.session();
        ann.set_user("ann");
        assert_eq!(run(&mut ann, "create role eve"), Err("42501".into()));
        assert_eq!(run(&mut ann, "alter role ann superuser"), Err("42501".into()));
        run(&mut ann, "alter user ann password null").expect("her own");
        assert_eq!(database.role("ann").expect("ann").password, None);
        let mut bob = database.session();
        bob.set_user("bob");
        assert_eq!(run(&mut bob, "create role eve superuser"), Err("42501".into()));
        assert_eq!(run(&mut bob, "drop role bob"), Err("55006".into()));
        run(&mut bob, "alter role ann rename to anne; drop role anne").expect("his right");
        assert_eq!(database.roles().len(), 1);
    }
}
