//! The catalog as the binder sees it during one statement.
//!
//! Elsewhere: the catalog itself (`catalog`), tables of the system (`show::pg_catalog`).

use std::cell::Cell;
use std::sync::Arc;

use catalog::codec::decode_sequence;
use catalog::numbers as catalog_numbers;
use catalog::policies::Enforcement;
use catalog::predefined::READ_SERVER_FILES;
use catalog::rights::{Object, SCHEMA_NAME};
use catalog::who::{Who, denied};
use catalog::wide::WideReader;
use catalog::{SequenceValue, State, View, wide};
use sql::catalog::{
    Arguments, Called, Catalog, Digits, DomainUse, PolicyDef, Relation, RoutineDef, SequenceDef,
    TableFunctionRef, TableMeta, TableRef, TriggerEvent, TriggerTiming, UserType, Variables,
    ViewRights, ViewWrites,
};
use sql::statement::{Access, AccessMode, Persistence, Privilege, Privileges, RelationName};
use types::calendar::TimeZone;
use types::{Collation, DataType, Error, RegKind, Result, SqlState, Value};

use crate::Database;
use crate::instance::attached::AttachedTransaction;
use crate::instance::registry::{Outside, Registry};
use crate::session::cursors::Cursors;
use crate::session::prepared::kept::PreparedStatements;
use crate::show::pg_catalog;
use crate::show::pg_catalog::objects::Seen;
use crate::show::pg_catalog::{Describes, Subject};
use crate::statement::attached::{AttachedRows, described, with_rights, with_schema};
use crate::transaction::work::Work;
use crate::words::settings::Settings;

/// Catalog as the binder sees it during one statement.
pub(crate) struct StatementCatalog<'a> {
    pub(crate) state: Arc<State>,
    pub(crate) registry: &'a Registry,
    /// The session's transaction.
    pub(crate) work: Option<&'a Work>,
    /// The start of the transaction; None when the statement is bound for others too.
    pub(crate) now_micros: Option<i64>,
    /// The time zone in which literals are read.
    pub(crate) literal_zone: TimeZone,
    pub(crate) digits: Digits,
    /// The time was asked for.
    pub(crate) asks_time: Cell<bool>,
    /// Set when the statement names routines that users made.
    pub(crate) names_routines: Cell<bool>,
    /// Meaning of names without a schema.
    pub(crate) names: Names,
    /// The session's prepared statements.
    pub(crate) prepared: &'a PreparedStatements,
    /// The session's number.
    pub(crate) session: u64,
    /// The session's settings, its user among them.
    pub(crate) settings: &'a Settings,
    /// Its cursors.
    pub(crate) cursors: &'a Cursors,
    pub(crate) database: &'a Database,
    /// Mode of the checks of rights.
    pub(crate) checks: Checking,
    pub(crate) outside: Option<&'a dyn Outside>,
    /// Transition tables of the trigger whose function runs, by name.
    pub(crate) transitions: &'a [(String, TableFunctionRef)],
    /// Which wide tables may be read.
    pub(crate) wide: WideReader,
    /// False once binding read something outside the catalog; the plan may then not be kept.
    pub(crate) is_enough: Cell<bool>,
    /// Variables of the program that the statement is a part of.
    pub(crate) variables: Option<&'a dyn Variables>,
    /// The materialized view that the statement brings up to date, by its key.
    pub(crate) maintained: Option<Maintained<'a>>,
}

/// Meaning of the name of a materialized view while it is brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maintained<'a> {
    /// Its query, with the rights of its owner.
    Query(&'a str),
    /// Its rows, which the statement may write.
    Rows(&'a str),
}

impl StatementCatalog<'_> {
    /// A view of the system.
    fn system_relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let text = pg_catalog::view(schema, name)?;
        Some(large_objects(&self.state, schema, name).unwrap_or_else(|| system_view(text)))
    }

    /// True when names without a schema are those of `public`.
    fn is_usual(&self) -> bool {
        let rights = || self.state.rights.contains_key(&Object::Schema(SCHEMA_NAME.to_owned()));
        self.registry.attachment().is_none()
            && self.state.schemas.is_empty()
            && self.settings.path().is_none()
            && !rights()
    }

    /// True for the schema of the attached database.
    fn is_attached(&self, schema: &str) -> bool {
        self.registry.attachment().is_some_and(|attachment| attachment.schema() == schema)
    }

    /// The table of the attached database that is called so.
    pub(crate) fn attached(&self, name: &str) -> Result<Option<TableRef>> {
        let Some(attachment) = self.registry.attachment() else { return Ok(None) };
        self.is_enough.set(false);
        let transaction = match self.work {
            Some(work) => work.attached(self.registry)?,
            None => attachment.begin(AccessMode::ReadOnly)?,
        };
        let Some(found) = transaction.find(name)? else { return Ok(None) };
        let rows = AttachedRows::new(attachment.schema(), &found, &*transaction)?;
        Ok(Some(rows.into_table()))
    }

    /// The transaction of the attached database, if there is one.
    fn attached_transaction(&self) -> Result<Option<Arc<dyn AttachedTransaction>>> {
        let Some(attachment) = self.registry.attachment() else { return Ok(None) };
        let transaction = match self.work {
            Some(work) => work.attached(self.registry)?,
            None => attachment.begin(AccessMode::ReadOnly)?,
        };
        Ok(Some(transaction))
    }

    /// The state with the tables of the attached database.
    fn described(&self) -> Result<Arc<State>> {
        let Some(transaction) = self.attached_transaction()? else {
            return Ok(Arc::clone(&self.state));
        };
        described(&self.state, self.database, &*transaction).map(Arc::new)
    }

    /// The state with the schema of the attached database.
    fn with_attached_schema(&self) -> Result<Arc<State>> {
        let Some(transaction) = self.attached_transaction()? else {
            return Ok(Arc::clone(&self.state));
        };
        let schema = self.database.attached_schema().unwrap_or_default();
        with_schema(&self.state, schema, &*transaction).map(Arc::new)
    }

    /// The state with the rights on what a statement needs of the attached database.
    fn with_attached_rights(&self, needed: &[Access]) -> Result<Arc<State>> {
        let names = needed.iter().map(|access| access.relation.as_str());
        let mut there = names.filter(|name| self.is_attached(RelationName::schema_of_key(name)));
        let asks_all = self.state.is_superuser(self.settings.who())
            && needed.iter().all(|access| access.on_behalf.is_none());
        let Some(first) = there.next().filter(|_| !asks_all) else {
            return Ok(Arc::clone(&self.state));
        };
        let Some(transaction) = self.attached_transaction()? else {
            return Ok(Arc::clone(&self.state));
        };
        let names = std::iter::once(first).chain(there);
        with_rights(&self.state, self.database, &*transaction, names).map(Arc::new)
    }

    /// True when the session may look into a schema.
    fn may_use(&self, schema: &str) -> bool {
        let who = self.settings.who();
        if self.state.is_superuser(who) {
            return true;
        }
        let (usage, object) =
            (Privileges::of(&[Privilege::Usage]), Object::Schema(schema.to_owned()));
        if self.is_attached(schema) {
            let state = self.with_attached_schema();
            return state.is_ok_and(|state| state.check(who, &object, usage).is_ok());
        }
        self.state.check(who, &object, usage).is_ok()
    }

    /// True when the attached database has a relation of this name.
    fn has_attached(&self, name: &str) -> Result<bool> {
        self.is_enough.set(false);
        let Some(transaction) = self.attached_transaction()? else { return Ok(false) };
        transaction.has_name(name)
    }

    /// True when the session finds relations in a schema of its search path.
    fn is_searched(&self, schema: &str) -> bool {
        matches!(schema, "pg_catalog" | "information_schema")
            || (self.state.has_schema(schema) || self.is_attached(schema))
                && (self.checks == Checking::Nothing || self.may_use(schema))
    }

    /// The transition table of this name, which comes before all relations.
    fn transition(&self, name: &str) -> Option<&(String, TableFunctionRef)> {
        self.transitions.iter().find(|(known, _)| known == name)
    }

    /// The rows of the system table that the one argument names.
    fn system_rows(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        self.rows_of(match arguments.positional.as_slice() {
            [(Value::Str(name), _)] => std::str::from_utf8(name).unwrap_or_default(),
            _ => "",
        })
    }

    /// The rows of the system table `name`.
    fn rows_of(&self, name: &str) -> Result<TableFunctionRef> {
        let described = match pg_catalog::describes_relations(name) {
            Some(Describes::Tables) => self.described()?,
            Some(Describes::Schemas) => self.with_attached_schema()?,
            None => Arc::clone(&self.state),
        };
        let (state, settings) = (&*described, self.settings);
        let (cursors, prepared, database) = (self.cursors, self.prepared, self.database);
        pg_catalog::rows(name, &Subject { state, settings, cursors, prepared, database })
    }

    /// `tessera_memory` for `tessera_memory()`: the functions about the database are tables, too.
    fn function_view(&self, name: &str) -> Option<String> {
        let is_meant = name.starts_with("tessera_") && self.registry.function(name).is_some();
        is_meant.then(|| format!("SELECT * FROM {name}()"))
    }
}

/// Meaning of relation names without a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// The first of the search path.
    ByPath,
    /// Relations of `public`: in text of definitions.
    Public,
}

/// Rights that count for what is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checking {
    /// The session's rights.
    Rights,
    /// No rights: the database itself asks.
    Nothing,
}

/// Large objects under PostgreSQL's names, once there are tables of them: contents for whom the
/// table is, and who owns them for everybody.
fn large_objects(state: &State, schema: Option<&str>, name: &str) -> Option<Relation> {
    let (sql, rights) = match (schema, name) {
        (None | Some("pg_catalog"), "pg_largeobject") => {
            ("SELECT loid, pageno, data FROM pg_toast.pg_largeobject", ViewRights::Asker)
        }
        (None | Some("pg_catalog"), "pg_largeobject_metadata") => (
            "SELECT m.oid, COALESCE(r.oid, n.nspowner) AS lomowner, NULL::aclitem[] AS lomacl \
             FROM pg_toast.pg_largeobject_metadata AS m \
             CROSS JOIN pg_catalog.pg_namespace AS n \
             LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = m.owner \
             WHERE n.nspname = 'pg_catalog'",
            ViewRights::System,
        ),
        _ => return None,
    };
    let is_there = state.tables.contains_key("pg_toast.pg_largeobject");
    is_there.then(|| Relation::View { sql: sql.to_owned(), columns: Vec::new(), rights })
}

/// A view of the system.
fn system_view(sql: String) -> Relation {
    Relation::View { sql, columns: Vec::new(), rights: ViewRights::System }
}

/// `bus_queues` for the view `queues` of the message bus, and so on; one without rows while no
/// client has connected.
fn bus_view(state: &State, name: &str) -> Option<Relation> {
    let name = name.strip_prefix("bus_")?;
    let (_, columns) = BUS_VIEWS.iter().find(|(known, _)| *known == name)?;
    let sql = if state.views.contains_key(&format!("bus.{name}")) {
        format!("SELECT * FROM bus.{name}")
    } else {
        format!("SELECT {columns} WHERE false")
    };
    Some(system_view(sql))
}

/// Views of the message bus that are found without their schema, and their columns.
const BUS_VIEWS: [(&str, &str); 4] = [
    (
        "clients",
        "0::bigint AS client, ''::text AS name, ''::text AS owner, now() AS connected, \
         '{}'::integer[] AS sends, '{}'::integer[] AS receives",
    ),
    (
        "queues",
        "0::bigint AS client, ''::text AS name, 0::bigint AS messages, 0::bigint AS ready, \
         0::bigint AS leased, 0::bigint AS delayed, 0 AS highest_priority, now() AS oldest",
    ),
    (
        "messages",
        "0::bigint AS receiver, 0::bigint AS message, 0 AS type, 0::bigint AS sender, \
         now() AS sent, 0 AS priority, now() AS expires, now() AS visible, 0 AS receipts, \
         false AS cancellable, ''::bytea AS body, ''::text AS text",
    ),
    (
        "archived",
        "now() AS archived, ''::text AS reason, 0::bigint AS receiver, 0::bigint AS message, \
         0 AS type, 0::bigint AS sender, now() AS sent, 0 AS priority, 0 AS receipts, \
         ''::bytea AS body, ''::text AS text",
    ),
];

/// 42501 for files of the server, which only superusers read and write.
pub(crate) fn no_files(what: &str) -> Error {
    let privilege = if what == "read" { "pg_read_server_files" } else { "pg_write_server_files" };
    let preposition = if what == "read" { "from" } else { "to" };
    denied(format!(
        "must be superuser or have privileges of the {privilege} role to COPY {preposition} a file"
    ))
    .with_hint(
        "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.",
    )
}

/// True when a relation of the system may have this name, and be meant by it alone.
fn is_system_name(name: &str) -> bool {
    name.starts_with("pg_")
}

/// Key of a relation in the catalog; None for those of the system and of no schema.
fn key_in(schema: Option<&str>, name: &str) -> Option<String> {
    match schema {
        Some("pg_catalog" | "information_schema" | RelationName::NOWHERE) => None,
        schema => {
            let schema = schema.map(str::to_owned);
            Some(RelationName { schema, name: name.to_owned() }.key())
        }
    }
}

impl Catalog for StatementCatalog<'_> {
    fn row_type(&self, name: &str) -> u32 {
        catalog_numbers::row_type(name)
    }

    fn variables(&self) -> Option<&dyn Variables> {
        self.variables
    }

    fn routines(&self, schema: Option<&str>, name: &str) -> Vec<Arc<RoutineDef>> {
        // Text that is kept is everybody's: it has no routines of a session.
        let is_kept_of_session = schema == Some("pg_temp") && self.names == Names::Public;
        if self.state.routines.is_empty() || is_kept_of_session {
            return Vec::new();
        }
        let find = |schema: Option<&str>| -> Vec<Arc<RoutineDef>> {
            let key = key_in(schema, name);
            let found = key.iter().flat_map(|key| self.state.routines_called(key));
            let found: Vec<Arc<RoutineDef>> = found.cloned().collect();
            self.names_routines.set(self.names_routines.get() || !found.is_empty());
            found
        };
        if schema.is_some() || self.names == Names::Public || self.is_usual() {
            return find(schema);
        }
        // Those of the session are found in their schema alone.
        let is_path = |schema: &&str| *schema != "pg_temp" && self.is_searched(schema);
        self.settings.schemas().filter(is_path).flat_map(|schema| find(Some(schema))).collect()
    }

    fn check_execute(&self, routine: &RoutineDef) -> Result<()> {
        if self.checks == Checking::Nothing {
            return Ok(());
        }
        let (who, object) = (self.settings.who(), Object::Routine(routine.key()));
        self.state.check(who, &object, Privileges::of(&[Privilege::Execute]))
    }

    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let fail = |error| Some(Relation::Failed(error));
        if schema.is_none() && self.transition(name).is_some() {
            return None;
        }
        if schema.is_some_and(|schema| self.is_attached(schema)) {
            return self.attached(name).map_or_else(fail, |found| found.map(Relation::Table));
        }
        let Some(key) = key_in(schema, name) else {
            return self.system_relation(schema, name);
        };
        if schema.is_none()
            && is_system_name(name)
            && let Some(found) = self.system_relation(None, name)
        {
            return Some(found);
        }
        let (asked, name) = (name, key.as_str());
        if let Some(entry) = self.state.tables.get(name) {
            let table = TableRef(Arc::clone(entry) as Arc<dyn TableMeta>);
            if let Some(of) = &entry.def.materialized
                && self.maintained == Some(Maintained::Query(name))
            {
                let (sql, columns) = (of.view.sql.clone(), of.view.columns.clone());
                let owner = self.state.owner_of(&Object::Relation(name.to_owned()));
                let rights = ViewRights::Owner(owner.to_owned());
                return Some(Relation::View { sql, columns, rights });
            }
            return match &entry.def.wide {
                Some(def) if !self.wide.may_read(entry) => {
                    self.is_enough.set(false);
                    let sql = wide::query_text(&self.state, def)?;
                    let owner = self.state.owner_of(&Object::Relation(name.to_owned()));
                    let rights = ViewRights::Owner(owner.to_owned());
                    Some(Relation::StaleWide { table, sql, rights })
                }
                _ => Some(Relation::Table(table)),
            };
        }
        if let Some(sequence) = self.state.sequences.get(name) {
            self.is_enough.set(false);
            // Where it stands now: one row, as in PostgreSQL.
            let SequenceValue { last, called } = *sequence.value.lock();
            let sql = format!(
                "SELECT CAST('{last}' AS BIGINT) AS last_value, CAST(0 AS BIGINT) AS log_cnt, \
                 {called} AS is_called"
            );
            let (columns, rights) = (Vec::new(), ViewRights::Asker);
            return Some(Relation::View { sql, columns, rights });
        }
        if let Some(view) = self.state.views.get(name) {
            let (sql, columns) = (view.sql.clone(), view.columns.clone());
            let rights = match view.persistence {
                _ if view.is_on("security_invoker") => ViewRights::Asker,
                Persistence::Temporary => ViewRights::Asker,
                Persistence::Permanent => {
                    let owner = self.state.owner_of(&Object::Relation(name.to_owned()));
                    ViewRights::Owner(owner.to_owned())
                }
            };
            return Some(Relation::View { sql, columns, rights });
        }
        if schema.is_none()
            && let Some(view) = bus_view(&self.state, asked)
        {
            return Some(view);
        }
        let view = || pg_catalog::view(None, asked).or_else(|| self.function_view(asked));
        schema.is_none().then(view).flatten().map(system_view)
    }

    fn maintains(&self, key: &str) -> bool {
        self.maintained == Some(Maintained::Rows(key))
    }

    fn view_writes(&self, name: &str) -> Option<ViewWrites> {
        self.state.views.get(name).map(View::writes)
    }

    fn has_instead(&self, name: &str, event: TriggerEvent) -> bool {
        let mut own = self.state.triggers_of(name).iter();
        own.any(|def| def.timing == TriggerTiming::InsteadOf && def.events.contains(&event))
    }

    fn policies(&self, name: &str, on_behalf: Option<&str>) -> Result<Option<Vec<PolicyDef>>> {
        if self.state.row_security.is_empty() || self.checks == Checking::Nothing {
            return Ok(None);
        }
        let owner = on_behalf.map(|owner| match owner {
            "" => Who::All,
            owner => Who::Role(owner.into()),
        });
        let who = owner.as_ref().unwrap_or_else(|| self.settings.who());
        self.state.policies(who, name, Enforcement::of(self.settings.changed("row_security")))
    }

    fn schema_of(&self, name: &str) -> Option<String> {
        if self.names == Names::Public || self.transition(name).is_some() {
            return None;
        }
        let is_in =
            |schema| key_in(Some(schema), name).is_some_and(|key| self.state.contains(&key));
        let has_temporary = self.state.has_temporary();
        if has_temporary && self.settings.implied_temporary().is_some_and(is_in) {
            return Some("pg_temp".to_owned());
        }
        // Tables of the catalog come before all schemas of a path that does not name theirs.
        let is_system = is_system_name(name) && pg_catalog::view(None, name).is_some();
        if is_system && !self.settings.schemas().any(|schema| schema == "pg_catalog") {
            return Some("pg_catalog".to_owned());
        }
        if self.is_usual() {
            return None;
        }
        let mut has_public = false;
        let is_searched = |schema: &&str| match *schema {
            "pg_temp" => has_temporary,
            schema => self.is_searched(schema),
        };
        for schema in self.settings.schemas().filter(is_searched) {
            has_public |= schema == SCHEMA_NAME;
            let is_here = match schema {
                "pg_catalog" | "information_schema" => {
                    pg_catalog::view(Some(schema), name).is_some()
                }
                // Whether it is there cannot be said: the relation says why.
                schema if self.is_attached(schema) => self.has_attached(name).unwrap_or(true),
                schema => is_in(schema),
            };
            if is_here {
                let is_plain = schema == SCHEMA_NAME && !is_system;
                return (!is_plain).then(|| schema.to_owned());
            }
        }
        if has_public || pg_catalog::view(None, name).is_some() {
            return None;
        }
        let is_view = bus_view(&self.state, name).is_some() || self.function_view(name).is_some();
        (!is_view).then(|| RelationName::NOWHERE.to_owned())
    }

    fn domain_numbered(&self, number: u32) -> Option<DomainUse> {
        self.state.domain_numbered(number)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<UserType> {
        let find = |schema: Option<&str>| {
            if self.state.types.is_empty() {
                return None;
            }
            self.state.types.get(&key_in(schema, name)?).copied()
        };
        if schema.is_some() || self.names == Names::Public || self.is_usual() {
            return find(schema);
        }
        let mut path = self.settings.schemas().filter(|schema| self.is_searched(schema));
        path.find_map(|schema| find(Some(schema)))
    }

    fn collation(&self, schema: Option<&str>, name: &str) -> Option<(String, Collation)> {
        let find = |schema: Option<&str>| {
            if self.state.collations.is_empty() {
                return None;
            }
            let key = key_in(schema, name)?;
            let found = self.state.collations.get(&key)?.collation;
            Some((key, found))
        };
        if schema.is_some() || self.names == Names::Public || self.is_usual() {
            return find(schema);
        }
        let mut path = self.settings.schemas().filter(|schema| self.is_searched(schema));
        path.find_map(|schema| find(Some(schema)))
    }

    fn collation_name(&self, collation: Collation) -> Option<String> {
        let key = self.state.collation_key(collation)?;
        Some(RelationName::name_of_key(key).to_owned())
    }

    fn schema_of_new(&self) -> Result<Option<String>> {
        if self.is_usual() {
            return Ok(None);
        }
        let is_meant = |name: &&str| {
            let is_there = self.state.has_schema(name) || self.is_attached(name);
            *name == "pg_temp" || is_there && self.is_searched(name)
        };
        match self.settings.schemas().find(is_meant) {
            Some(SCHEMA_NAME) => Ok(None),
            Some(schema) => Ok(Some(schema.to_owned())),
            None => {
                let message = "no schema has been selected to create in";
                Err(Error::new(SqlState::UNDEFINED_SCHEMA, message))
            }
        }
    }

    fn finds_extension(&self, name: &str, called: Called<'_>) -> bool {
        let Some(extension) = self.state.extensions.get(name) else { return false };
        let own = extension.schema.as_str();
        match called {
            Called::InKeptText => true,
            _ if self.names == Names::Public => true,
            Called::In(schema) => schema == own,
            Called::ByPath if own == SCHEMA_NAME && self.is_usual() => true,
            Called::ByPath => {
                self.is_enough.set(false);
                self.settings.schemas().any(|known| known == own) && self.is_searched(own)
            }
        }
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.is_enough.set(false);
        self.settings.get(name).ok().filter(|value| !value.is_empty())
    }

    fn text_style(&self) -> types::text::TextStyle {
        self.settings.text_style()
    }

    fn has_schema(&self, name: &str) -> bool {
        self.is_enough.set(false);
        let system = ["pg_catalog", "information_schema", "pg_temp"];
        system.contains(&name) || self.state.has_schema(name) || self.is_attached(name)
    }

    fn search_path(&self) -> Vec<String> {
        self.is_enough.set(false);
        let all = self.settings.schemas().filter(|name| self.is_searched(name));
        all.map(str::to_owned).collect()
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &Arguments,
    ) -> Option<Result<TableFunctionRef>> {
        self.is_enough.set(false);
        if name == pg_catalog::FUNCTION {
            return Some(self.system_rows(arguments));
        }
        if let Some(table) = pg_catalog::as_function(name, arguments) {
            return Some(self.rows_of(&table));
        }
        let seen = Seen { state: &self.state, settings: self.settings };
        if let Some(rows) = pg_catalog::partition_tree::function(name, arguments, &seen) {
            return Some(rows);
        }
        let function = self.registry.function(name)?;
        let may = || self.state.acts_as(self.settings.who(), READ_SERVER_FILES);
        if function.reads_files() && !may() {
            return Some(Err(no_files("read")));
        }
        Some(function.bind(arguments))
    }

    fn outside(&self, name: &str) -> Option<Result<TableFunctionRef>> {
        if let Some((_, rows)) = self.transition(name) {
            self.is_enough.set(false);
            return Some(Ok(rows.clone()));
        }
        let found = self.outside?.find(name)?;
        self.is_enough.set(false);
        Some(found)
    }

    fn object(&self, kind: RegKind, text: &str) -> Result<Value> {
        self.is_enough.set(false);
        let state = match kind {
            RegKind::Class | RegKind::Namespace => self.described()?,
            _ => Arc::clone(&self.state),
        };
        Seen { state: &state, settings: self.settings }.named(kind, text)
    }

    fn type_object(&self, ty: DataType) -> Value {
        Seen { state: &self.state, settings: self.settings }.type_value(ty)
    }

    fn template(&self, name: &str, count: usize) -> Option<&'static str> {
        pg_catalog::template(name, count)
    }

    fn sequence(&self, schema: Option<&str>, name: &str) -> Option<SequenceDef> {
        if schema.is_some_and(|schema| self.is_attached(schema)) {
            let found = self.attached_transaction().ok()??.sequence(name).ok()??;
            return Some(decode_sequence(&found.definition).ok()?.def);
        }
        Some(self.state.sequences.get(&key_in(schema, name)?)?.def.clone())
    }

    fn prepared(&self, name: &str) -> Option<Vec<DataType>> {
        self.is_enough.set(false);
        self.prepared.types(name)
    }

    fn session_id(&self) -> i32 {
        i32::try_from(self.session).unwrap_or(i32::MAX)
    }

    fn database(&self) -> &str {
        &self.state.database.0
    }

    fn user(&self) -> &str {
        self.settings.current_user()
    }

    fn session_user(&self) -> &str {
        self.settings.session_user()
    }

    fn check_access(&self, needed: &[Access]) -> Result<()> {
        match self.checks {
            Checking::Rights => {
                self.with_attached_rights(needed)?.check_access(self.settings.who(), needed)
            }
            Checking::Nothing => Ok(()),
        }
    }

    fn time_zone(&self) -> TimeZone {
        self.settings.time_zone().clone()
    }

    fn digits(&self) -> Digits {
        self.digits
    }

    fn literal_zone(&self) -> TimeZone {
        self.literal_zone.clone()
    }

    fn now_micros(&self) -> Option<i64> {
        self.asks_time.set(true);
        self.now_micros
    }
}
