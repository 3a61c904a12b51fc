//! Several databases of one server: opening them, sessions of one by its name, and CREATE, ALTER,
//! DROP DATABASE.
//!
//! ```text
//! create: folder, empty database, roles -> list replaced -> there
//! drop:   no sessions -> list replaced -> gone -> files removed
//! ```
//! A process that dies before the list is replaced leaves a folder that the next start empties.

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::databases::{DatabaseDef, DatabaseName, FIRST_NAME};
use catalog::rights::{Object, Rights};
use catalog::who::{Who, denied};
use catalog::{Role, State};
use durable::{Named, Stores};
use host::RealClock;
use sql::statement::{DatabaseOptions, DatabaseStatement, IfMissing, InUse, RoleName};
use storage::Timestamp;
use types::{Error, Result, SqlState};

use super::open::{opened_beside, spill_in, started};
use crate::instance::cluster::{Cluster, Member, Place, ToCluster, position, undefined_database};
use crate::instance::database::Beginning;
use crate::transaction::work::Begun;
use crate::{Config, Database, Files, QueryResult, Session};

/// Time in which sessions end that FORCE ends, as in PostgreSQL.
const PATIENCE: Duration = Duration::from_secs(5);

/// Roles that came or changed, and those that went.
type RoleChanges = Vec<(String, Option<Role>)>;

/// The first database of a server becomes one of several: those of its directory are opened.
///
/// # Errors
/// Errors of opening each; XX001 for a damaged list.
pub(super) fn begin_cluster(
    first: &Database,
    config: &Config,
    place: Option<(&std::path::Path, &Files)>,
) -> Result<()> {
    let place = place.map(|(path, files)| Place { path: path.to_owned(), files: files.clone() });
    let cluster = Cluster::new(first, config.clone(), place);
    first.inner().join(ToCluster::Keeps(Arc::clone(&cluster)));
    let Some(defs) = cluster.saved()? else {
        cluster.sweep(&cluster.members());
        return Ok(());
    };
    let mut members = cluster.members();
    members.clear();
    for def in defs {
        let database = match def.id {
            0 => None,
            _ => Some(open_member(&cluster, first, &def)?),
        };
        members.push(Member { def, database });
    }
    cluster.sweep(&members);
    let others: Vec<Database> = members.iter().filter_map(|m| m.database.clone()).collect();
    drop(members);
    let roles = first.inner().stores.relations.snapshot();
    for database in others {
        database.inner().join(ToCluster::Knows(Arc::downgrade(&cluster)));
        let old = database.inner().stores.relations.snapshot();
        put_roles(&database, role_changes(&old, &roles))?;
    }
    Ok(())
}

/// Opens the database of a member, which is made when there is none.
fn open_member(cluster: &Arc<Cluster>, first: &Database, def: &DatabaseDef) -> Result<Database> {
    let config = &cluster.config;
    let database = match (&cluster.place, cluster.folder(def.id)) {
        (Some(place), Some(folder)) => opened_beside(&folder, config, &place.files, Some(first))?,
        _ => {
            let pool = Arc::clone(first.pool());
            let stores = Stores::new(State::default(), Named::default(), Timestamp(1));
            let spill = spill_in(Arc::new(host::RealIo), std::env::temp_dir());
            let clock = Arc::new(RealClock);
            let beside = Some(first.clone());
            let durable = None;
            let beginning =
                Beginning { pool, stores, last_object: 0, clock, spill, durable, beside };
            let database = started(config, beginning);
            database.inner().start_background();
            database
        }
    };
    name(&database, &def.name);
    cluster.set_up(&database);
    Ok(database)
}

/// Gives a database without sessions its name.
fn name(database: &Database, name: &str) {
    let relations = &database.inner().stores.relations;
    let mut state = State::clone(&relations.snapshot());
    state.database = DatabaseName(name.into());
    relations.publish(Arc::new(state));
}

/// Changes that make the roles of `old` those of `new`.
fn role_changes(old: &State, new: &State) -> RoleChanges {
    let gone = old.roles.keys().filter(|name| !new.roles.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), None));
    let changed = new.roles.iter().filter(|(name, role)| old.roles.get(*name) != Some(*role));
    gone.chain(changed.map(|(name, role)| (name.clone(), Some(role.clone())))).collect()
}

/// Makes the changes in another database, as a transaction of its own.
fn put_roles(database: &Database, changes: RoleChanges) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut session = database.session();
    session.statement_by(&mut |session| {
        session.lock_catalog()?;
        session.change_catalog(|state| {
            for (name, role) in &changes {
                match role {
                    Some(role) => drop(state.roles.insert(name.clone(), role.clone())),
                    None => drop(state.roles.remove(name)),
                }
            }
            Ok(())
        })?;
        Ok(QueryResult::command("ALTER ROLE"))
    })?;
    Ok(())
}

/// The roles of all databases follow those of `database`, whose catalog was `before`: a commit
/// changed it. The first database has them for good: when a server starts, its roles count.
///
/// # Errors
/// Errors of a commit in another database.
pub(super) fn roles_follow(database: &Database, before: &State) -> Result<()> {
    let Some(cluster) = database.inner().cluster() else { return Ok(()) };
    let now = database.inner().stores.relations.snapshot();
    let changes = role_changes(before, &now);
    if changes.is_empty() {
        return Ok(());
    }
    for (_, other) in cluster.all().into_iter().filter(|(_, other)| !other.is(database)) {
        put_roles(&other, changes.clone())?;
    }
    Ok(())
}

impl Database {
    /// Its name.
    pub fn name(&self) -> String {
        self.inner().stores.relations.snapshot().database.0.to_string()
    }

    /// A session of the server's database `name`. What a client may do there is for the session to
    /// say (`Session::check_connect`).
    ///
    /// # Errors
    /// 3D000 when there is none; 55000 when it takes no sessions, 53300 when it has as many as it
    /// may.
    pub fn connect(&self, name: &str) -> Result<Session> {
        let Some(cluster) = self.inner().cluster() else { return Ok(self.session()) };
        let members = cluster.members();
        let place = position(&members, name).ok_or_else(|| undefined_database(name))?;
        let member = &members[place];
        let database = cluster.opened(member).ok_or_else(|| undefined_database(name))?;
        if !member.def.allows_connections {
            let message = format!("database \"{name}\" is not currently accepting connections");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let limit = usize::try_from(member.def.connections_max).ok();
        if limit.is_some_and(|limit| database.sessions().len() >= limit) {
            let message = format!("too many connections for database \"{name}\"");
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message));
        }
        Ok(database.session())
    }

    /// Settings that sessions of this database begin with.
    pub fn own_settings(&self) -> Vec<(String, String)> {
        let Some(cluster) = self.inner().cluster() else { return Vec::new() };
        let members = cluster.members();
        let name = self.name();
        position(&members, &name).map(|at| members[at].def.settings.clone()).unwrap_or_default()
    }

    /// Runs `setup` for this database and all others of its server, those to come, too.
    pub fn for_each_database(&self, setup: impl Fn(&Self) + Send + Sync + 'static) {
        let Some(cluster) = self.inner().cluster() else { return setup(self) };
        for (_, database) in cluster.all() {
            setup(&database);
        }
        cluster.add_setup(Arc::new(setup));
    }
}

impl Session {
    /// Runs a statement about databases.
    ///
    /// # Errors
    /// 25001 inside of a transaction; 42501; 3D000, 42P04, 55006.
    pub(super) fn run_databases(&mut self, statement: DatabaseStatement) -> Result<QueryResult> {
        let command = statement.command();
        let is_apart =
            matches!(statement, DatabaseStatement::Create { .. } | DatabaseStatement::Drop { .. });
        if is_apart && self.work().begun != Begun::ForOneStatement {
            let message = format!("{command} cannot run inside a transaction block");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let Some(cluster) = self.inner().cluster() else {
            return Err(Error::unsupported(command));
        };
        let asking = Asking { state: self.state(), who: self.who() };
        let own = self.state().database.0.to_string();
        let user = self.settings.current_user().to_owned();
        self.end_statement()?;
        match statement {
            DatabaseStatement::Create { name, options } => {
                asking.check_creates("create")?;
                let owner = asking.owner(options.owner.as_ref(), &user)?;
                let beside = self.database.clone();
                let creating = Creating { asking, beside, name, options, owner };
                create(&cluster, &creating)?;
            }
            DatabaseStatement::Drop { name, if_missing, in_use } => {
                if position(&cluster.members(), &name).is_none() && if_missing == IfMissing::Skip {
                    let message = format!("database \"{name}\" does not exist, skipping");
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                } else {
                    drop_database(&cluster, &asking, &Dropping { name, in_use, own })?;
                }
            }
            DatabaseStatement::Rename { name, to } => {
                rename(&cluster, &asking, &Renaming { name, to, own })?;
            }
            DatabaseStatement::Alter { name, options } => {
                alter(&cluster, &asking, &name, |def| apply(def, &options))?;
            }
            DatabaseStatement::Set { name, setting, value } => {
                if let (Some(setting), Some(value)) = (&setting, &value) {
                    // What cannot be set now hinders every session to come.
                    self.settings.clone().set(setting, Some(value))?;
                }
                alter(&cluster, &asking, &name, |def| {
                    def.settings.retain(|(known, _)| Some(known) != setting.as_ref());
                    match (&setting, value) {
                        (None, _) => def.settings.clear(),
                        (Some(setting), Some(value)) => {
                            def.settings.push((setting.clone(), value));
                        }
                        (Some(_), None) => {}
                    }
                    Ok(())
                })?;
            }
        }
        Ok(QueryResult::command(command))
    }
}

/// Whoever asks, and the roles that there are.
struct Asking {
    state: Arc<State>,
    who: Who,
}

impl Asking {
    /// # Errors
    /// 42501 without CREATEDB.
    fn check_creates(&self, verb: &str) -> Result<()> {
        let may = match &self.who {
            _ if self.state.is_superuser(&self.who) => true,
            Who::All => true,
            Who::Role(role) => {
                self.state.roles.get(&**role).is_some_and(|role| role.can_create_databases)
            }
        };
        if may { Ok(()) } else { Err(denied(format!("permission denied to {verb} database"))) }
    }

    /// # Errors
    /// 42501 unless it is theirs.
    fn check_owns(&self, database: &Database, name: &str) -> Result<()> {
        let state = database.inner().stores.relations.snapshot();
        if self.state.has_rights_of(&self.who, state.owner_of(&Object::Database)) {
            Ok(())
        } else {
            Err(denied(format!("must be owner of database {name}")))
        }
    }

    /// The owner of a new database: the one that is named, or who asks.
    ///
    /// # Errors
    /// 42704, 42501.
    fn owner(&self, named: Option<&RoleName>, user: &str) -> Result<String> {
        let owner = match named {
            Some(RoleName::Named(name)) => {
                if !self.state.roles.contains_key(name) && name != user {
                    let message = format!("role \"{name}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                if !self.state.is_superuser(&self.who) && !self.state.is_member(user, name) {
                    return Err(denied(format!("must be member of role \"{name}\"")));
                }
                name.clone()
            }
            _ => user.to_owned(),
        };
        Ok(if self.state.roles.contains_key(&owner) { owner } else { String::new() })
    }
}

/// # Errors
/// 22023, 0A000 for what the options ask that there is none of.
fn check_options(options: &DatabaseOptions) -> Result<()> {
    if let Some(option) = &options.unsupported {
        return Err(Error::unsupported(format!("option \"{option}\" of a database")));
    }
    let is_utf8 = |name: &String| {
        matches!(name.to_ascii_lowercase().as_str(), "utf8" | "utf-8" | "unicode" | "6")
    };
    if let Some(encoding) = options.encoding.as_ref().filter(|name| !is_utf8(name)) {
        return Err(Error::unsupported(format!("encoding \"{encoding}\"")));
    }
    let is_known = |name: &String| {
        let name = name.to_ascii_lowercase().replace('-', "");
        matches!(name.as_str(), "c" | "posix" | "c.utf8" | "en_us.utf8" | "default")
    };
    match options.locales.iter().find(|name| !is_known(name)) {
        Some(locale) => Err(Error::unsupported(format!("locale \"{locale}\""))),
        None => Ok(()),
    }
}

fn apply(def: &mut DatabaseDef, options: &DatabaseOptions) -> Result<()> {
    check_options(options)?;
    if let Some(limit) = options.connections_max {
        if limit < -1 {
            let message = format!("invalid connection limit: {limit}");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        def.connections_max = limit;
    }
    def.allows_connections = options.allows_connections.unwrap_or(def.allows_connections);
    def.is_template = options.is_template.unwrap_or(def.is_template);
    Ok(())
}

/// # Errors
/// 42P04.
fn check_free(members: &[Member], name: &str) -> Result<()> {
    if position(members, name).is_none() {
        return Ok(());
    }
    let message = format!("database \"{name}\" already exists");
    Err(Error::new(SqlState::DUPLICATE_DATABASE, message))
}

/// A database to make.
struct Creating {
    asking: Asking,
    /// The database of the session.
    beside: Database,
    name: String,
    options: DatabaseOptions,
    /// Its owner; nothing for the superusers.
    owner: String,
}

fn create(cluster: &Arc<Cluster>, creating: &Creating) -> Result<()> {
    let mut members = cluster.members();
    check_free(&members, &creating.name)?;
    let mut def = DatabaseDef::new(cluster.next_id(&members)?, &creating.name);
    apply(&mut def, &creating.options)?;
    let made = made(cluster, &members, creating, &def).and_then(|database| {
        let mut all = members.clone();
        all.push(Member { def: def.clone(), database: Some(database.clone()) });
        cluster.save(&all).map(|()| (all, database))
    });
    match made {
        Ok((all, database)) => {
            // From here on its roles are those of the others: none of them waits for this lock.
            database.inner().join(ToCluster::Knows(Arc::downgrade(cluster)));
            *members = all;
            Ok(())
        }
        Err(error) => {
            cluster.remove_folder(def.id);
            Err(error)
        }
    }
}

/// A database that no list has yet.
fn made(
    cluster: &Arc<Cluster>,
    members: &[Member],
    creating: &Creating,
    def: &DatabaseDef,
) -> Result<Database> {
    let Creating { beside, options, owner, .. } = creating;
    if let Some(template) = &options.template {
        copy_template(cluster, members, creating, template, def.id)?;
    }
    let database = open_member(cluster, beside, def)?;
    let roles = beside.inner().stores.relations.snapshot();
    let old = database.inner().stores.relations.snapshot();
    put_roles(&database, role_changes(&old, &roles))?;
    own(&database, owner)?;
    Ok(database)
}

/// Copies the files of a template to the folder of a new database; an empty one needs none.
///
/// # Errors
/// 3D000; 42501; 55006 while others use it; 0A000 in memory.
fn copy_template(
    cluster: &Cluster,
    members: &[Member],
    creating: &Creating,
    template: &str,
    id: u64,
) -> Result<()> {
    if ["template0", "template1"].contains(&template) {
        return Ok(());
    }
    let (at, source) = found(cluster, members, template).map_err(|_| {
        let message = format!("template database \"{template}\" does not exist");
        Error::new(SqlState::UNDEFINED_DATABASE, message)
    })?;
    if !members[at].def.is_template {
        let copying = |_| denied(format!("permission denied to copy database \"{template}\""));
        creating.asking.check_owns(&source, template).map_err(copying)?;
    }
    let own = usize::from(source.is(&creating.beside));
    if let Some(detail) = users(&source, own) {
        let message = format!("source database \"{template}\" is being accessed by other users");
        return Err(Error::new(SqlState::OBJECT_IN_USE, message).with_detail(detail));
    }
    match (&source.inner().durable, cluster.folder(id)) {
        (Some(durable), Some(folder)) => durable.copy_to(&folder, &|| Ok(())).map(drop),
        _ => Err(Error::unsupported("a copy of a database in memory")),
    }
}

/// Gives a new database its owner.
fn own(database: &Database, owner: &str) -> Result<()> {
    if owner.is_empty() {
        return Ok(());
    }
    let mut session = database.session();
    session.statement_by(&mut |session| {
        session.lock_catalog()?;
        let rights = Rights { owner: owner.to_owned(), ..Rights::default() };
        session.change_catalog(|state| {
            state.rights.insert(Object::Database, rights);
            Ok(())
        })?;
        Ok(QueryResult::command("ALTER DATABASE"))
    })?;
    Ok(())
}

/// A database to drop.
struct Dropping {
    name: String,
    in_use: InUse,
    /// The database of the session.
    own: String,
}

fn drop_database(cluster: &Cluster, asking: &Asking, dropping: &Dropping) -> Result<()> {
    let Dropping { name, in_use, own } = dropping;
    let mut members = cluster.members();
    let (at, database) = found(cluster, &members, name)?;
    asking.check_owns(&database, name)?;
    if members[at].def.is_template {
        let message = "cannot drop a template database";
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if members[at].def.name == *own {
        let message = "cannot drop the currently open database";
        return Err(Error::new(SqlState::OBJECT_IN_USE, message));
    }
    if at == 0 {
        return Err(Error::unsupported(format!("DROP DATABASE {FIRST_NAME}, the first")));
    }
    if *in_use == InUse::End {
        check_unprepared(&database, name)?;
        end_sessions(&database);
    }
    check_unused(&database, name)?;
    let mut left = members.clone();
    let gone = left.remove(at);
    cluster.save(&left)?;
    *members = left;
    drop(members);
    let id = gone.def.id;
    drop((gone, database));
    cluster.remove_folder(id);
    Ok(())
}

/// The place of a database, and itself.
///
/// # Errors
/// 3D000.
fn found(cluster: &Cluster, members: &[Member], name: &str) -> Result<(usize, Database)> {
    let at = position(members, name).ok_or_else(|| undefined_database(name))?;
    let database = cluster.opened(&members[at]).ok_or_else(|| undefined_database(name))?;
    Ok((at, database))
}

/// Sessions, but for `own` of them, and prepared transactions of the database; None for none.
fn users(database: &Database, own: usize) -> Option<String> {
    let sessions = database.sessions().len().saturating_sub(own);
    let prepared = database.inner().prepared.of(database.inner()).len();
    let (are, what) = match (sessions, prepared) {
        (0, 0) => return None,
        (1, 0) => ("is", "1 other session".to_owned()),
        (count, 0) => ("are", format!("{count} other sessions")),
        (0, 1) => ("is", "1 prepared transaction".to_owned()),
        (0, count) => ("are", format!("{count} prepared transactions")),
        (sessions, prepared) => {
            let both =
                format!("{sessions} other session(s) and {prepared} prepared transaction(s)");
            ("are", both)
        }
    };
    Some(format!("There {are} {what} using the database."))
}

/// # Errors
/// 55006 while sessions, or prepared transactions, are there.
fn check_unused(database: &Database, name: &str) -> Result<()> {
    let Some(detail) = users(database, 0) else { return Ok(()) };
    let message = format!("database \"{name}\" is being accessed by other users");
    Err(Error::new(SqlState::OBJECT_IN_USE, message).with_detail(detail))
}

/// # Errors
/// 55006 while prepared transactions are there, which no FORCE ends.
fn check_unprepared(database: &Database, name: &str) -> Result<()> {
    let count = database.inner().prepared.of(database.inner()).len();
    let detail = match count {
        0 => return Ok(()),
        1 => "There is 1 prepared transaction using the database.".to_owned(),
        _ => format!("There are {count} prepared transactions using the database."),
    };
    let message = format!("database \"{name}\" is being used by prepared transactions");
    Err(Error::new(SqlState::OBJECT_IN_USE, message).with_detail(detail))
}

/// Ends all sessions of a database, as far as they end in time.
fn end_sessions(database: &Database) {
    let Some(terminate) = database.registry().terminator() else { return };
    for (id, _) in database.sessions() {
        let _ = i32::try_from(id).map(|id| terminate(id));
    }
    let begun = Instant::now();
    while !database.sessions().is_empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A database that gets another name.
struct Renaming {
    name: String,
    to: String,
    /// The database of the session.
    own: String,
}

fn rename(cluster: &Cluster, asking: &Asking, renaming: &Renaming) -> Result<()> {
    let Renaming { name: from, to, own } = renaming;
    let mut members = cluster.members();
    let (at, database) = found(cluster, &members, from)?;
    asking.check_owns(&database, from)?;
    asking.check_creates("rename")?;
    check_free(&members, to)?;
    if members[at].def.name == *own {
        return Err(Error::unsupported("the current database cannot be renamed"));
    }
    if at == 0 {
        return Err(Error::unsupported(format!("another name of database {FIRST_NAME}")));
    }
    check_unused(&database, from)?;
    let mut all = members.clone();
    all[at].def.name.clone_from(to);
    cluster.save(&all)?;
    *members = all;
    name(&database, to);
    Ok(())
}

fn alter(
    cluster: &Cluster,
    asking: &Asking,
    name: &str,
    change: impl FnOnce(&mut DatabaseDef) -> Result<()>,
) -> Result<()> {
    let mut members = cluster.members();
    let (at, database) = found(cluster, &members, name)?;
    asking.check_owns(&database, name)?;
    let mut all = members.clone();
    change(&mut all[at].def)?;
    cluster.save(&all)?;
    *members = all;
    Ok(())
}
