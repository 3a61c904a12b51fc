//! Tables, views and sequences: an immutable state, replaced as a whole by each commit that changes
//! it. A transaction that changes the catalog works on a state of its own until then.

pub(crate) mod locks;
pub(crate) mod stored;
pub(crate) mod derived;
pub(crate) mod checks;
pub(crate) mod generated;
pub(crate) mod numbers;
pub(crate) mod partitions;
pub(crate) mod families;
pub(crate) mod policies;
pub(crate) mod rights;
pub(crate) mod predefined;
pub(crate) mod comments;
pub(crate) mod keys;
pub(crate) mod exclusions;
pub(crate) mod user_types;
pub(crate) mod collations;
mod extensions;
pub(crate) mod routines;
pub(crate) mod triggers;
pub(crate) mod wide;
pub(crate) mod materialized;
pub(crate) mod databases;
pub(crate) mod codec;

pub(crate) use extensions::Extension;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use sql::algebra::family::Family;
use sql::algebra::partition::PartitionTree;
use sql::catalog::{
    BoundTerms, CheckDef, CheckOption, ColumnDef, ForeignKeyDef, Identity, IndexMeta, Inheritance,
    KeyDef, MaterializedRows, PartitionKey, PartitionOf, RoutineDef, RowSecurity, SequenceDef,
    TableMeta, TriggerDef, UserType, ViewWrites, WideDef,
};
use sql::statement::{OnCommit, Persistence, RelationName};
use storage::{BlockShape, BulkWriter, Layout, Table, TableIndex, TableLoad};
use types::{About, DataType, Error, Result, SqlState};

use crate::catalog::checks::Checks;
use crate::catalog::collations::UserCollation;
use crate::catalog::comments::Commented;
use crate::catalog::databases::DatabaseName;
use crate::catalog::derived::Terms;
use crate::catalog::generated::Generated;
use crate::catalog::locks::TableLock;
use crate::catalog::materialized::Materialized;
use crate::catalog::numbers::KnownNumbers;
use crate::catalog::rights::{DefaultsOf, Grant, Membership, Object, Rights, SCHEMA_NAME};
use crate::catalog::wide::Freshness;

/// Definition of a table: everything but its rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableDef {
    /// Key of the table in the catalog ([`RelationName::key`]).
    pub(crate) name: String,
    pub(crate) columns: Vec<ColumnDef>,
    /// PRIMARY KEY and UNIQUE; each has an index of its name.
    pub(crate) keys: Vec<KeyDef>,
    pub(crate) checks: Vec<CheckDef>,
    /// Each has an index of its name over the referring columns, so that a referenced row finds
    /// the rows that refer to it.
    pub(crate) foreign_keys: Vec<ForeignKeyDef>,
    /// Identity columns, by ordinal.
    pub(crate) identities: Vec<(usize, Identity)>,
    /// Indexes by position, as in the storage.
    pub(crate) indexes: Vec<IndexMeta>,
    /// Indexes that each frozen block has for itself; neither planner nor writers know them.
    pub(crate) block_indexes: Vec<IndexMeta>,
    pub(crate) layout: Layout,
    /// Ordinal of the column by which loads sort the rows of each block.
    pub(crate) order_by: Option<usize>,
    pub(crate) persistence: Persistence,
    /// Action of COMMIT on a temporary table.
    pub(crate) on_commit: OnCommit,
    /// Definition of a wide table; None for other tables.
    pub(crate) wide: Option<WideDef>,
    /// Query of a materialized view; None for other tables.
    pub(crate) materialized: Option<Materialized>,
    /// How it is partitioned, if it is.
    pub(crate) partition_by: Option<PartitionKey>,
    /// Its place in the table that it is a partition of.
    pub(crate) partition_of: Option<PartitionOf>,
    /// Parents, and parts that it has from them alone.
    pub(crate) inheritance: Inheritance,
}

impl TableDef {
    /// Its name in its schema.
    pub(crate) fn bare_name(&self) -> &str {
        RelationName::name_of_key(&self.name)
    }

    /// Makes an error name one of the table's constraints.
    pub(crate) fn about_constraint(&self, name: &str) -> About {
        About { constraint: Some(name.to_owned()), ..self.about() }
    }

    /// Makes an error name one of the table's columns.
    pub(crate) fn about_column(&self, name: &str) -> About {
        About { column: Some(name.to_owned()), ..self.about() }
    }

    /// Makes an error name the table.
    pub(crate) fn about_table(&self) -> About {
        self.about()
    }

    fn about(&self) -> About {
        let (schema, table) = (RelationName::schema_of_key(&self.name), self.bare_name());
        let (column, constraint) = (None, None);
        About { schema: schema.to_owned(), table: table.to_owned(), column, constraint }
    }

    /// A permanent table without constraints.
    pub(crate) fn new(name: &str, columns: Vec<ColumnDef>, layout: Layout) -> Self {
        Self {
            name: name.to_owned(),
            columns,
            keys: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            identities: Vec::new(),
            indexes: Vec::new(),
            block_indexes: Vec::new(),
            layout,
            order_by: None,
            persistence: Persistence::Permanent,
            on_commit: OnCommit::Keep,
            wide: None,
            materialized: None,
            partition_by: None,
            partition_of: None,
            inheritance: Inheritance::default(),
        }
    }

    /// All its indexes.
    pub(crate) fn all_indexes(&self) -> impl Iterator<Item = &IndexMeta> {
        self.indexes.iter().chain(&self.block_indexes)
    }

    /// Its indexes that are relations: those that only serve foreign keys are none.
    pub(crate) fn visible_indexes(&self) -> impl Iterator<Item = &IndexMeta> {
        self.all_indexes().filter(|index| !self.serves_foreign_key(&index.name))
    }

    /// True when the index of this name only serves a foreign key.
    pub(crate) fn serves_foreign_key(&self, index: &str) -> bool {
        self.foreign_keys.iter().any(|fk| fk.name == index)
    }
}

/// A table: its definition and its rows.
pub struct TableEntry {
    pub(crate) def: TableDef,
    storage: Arc<Table>,
    pub(crate) lock: Arc<TableLock>,
    /// By position in the definition. Not there while the indexes of a table from a generator are
    /// not built: its keys hold by construction, so they wait for the first writer.
    indexes_built: OnceLock<Built>,
    pub(crate) checks: Checks,
    pub(crate) generated: Generated,
    terms: Terms,
    /// Snapshots for which the rows of a wide table hold.
    pub(crate) freshness: Arc<Freshness>,
    /// The tables that have its rows, if it is partitioned; see [`partitions::settle`].
    partitions: Option<Arc<PartitionTree>>,
    /// The tables that inherit from it; see [`families::settle`].
    family: Option<Arc<Family>>,
}

/// Indexes of a definition as the storage has them.
#[derive(Clone, Default)]
pub(crate) struct Built {
    /// Indexes by position in [`TableDef::indexes`].
    pub(crate) indexes: Vec<Arc<TableIndex>>,
    /// The numbers of those of [`TableDef::block_indexes`], by position.
    pub(crate) of_blocks: Vec<u64>,
}

/// State of the indexes of a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexes {
    /// The storage has them.
    Built,
    /// The first writer builds them.
    Deferred,
}

impl TableEntry {
    /// A table of `storage`, whose lock is `lock`. Indexes that are built have the names of the
    /// definition.
    pub(crate) fn new(
        def: TableDef,
        storage: Arc<Table>,
        lock: Arc<TableLock>,
        indexes: Indexes,
    ) -> Self {
        let indexes_built = OnceLock::new();
        let (terms, freshness) = Default::default();
        let checks = Checks::of(&def);
        let generated = Generated::of(&def.columns);
        let entry = Self {
            def,
            storage,
            lock,
            indexes_built,
            checks,
            generated,
            terms,
            freshness,
            partitions: None,
            family: None,
        };
        if indexes == Indexes::Built {
            entry.set_indexed();
        }
        entry
    }

    /// The same rows under another definition, whose indexes are `built`.
    pub(crate) fn redefined(&self, def: TableDef, built: Built) -> Self {
        debug_assert_eq!(def.indexes.len(), built.indexes.len());
        debug_assert_eq!(def.block_indexes.len(), built.of_blocks.len());
        let (storage, lock) = (Arc::clone(&self.storage), Arc::clone(&self.lock));
        let (freshness, checks) = (Arc::clone(&self.freshness), Checks::of(&def));
        let (indexes_built, terms) = (built.into(), Terms::default());
        let generated = Generated::of(&def.columns);
        Self {
            def,
            storage,
            lock,
            indexes_built,
            checks,
            generated,
            terms,
            freshness,
            partitions: None,
            family: None,
        }
    }

    /// The same partitioned table with these partitions.
    pub(crate) fn with_partitions(&self, partitions: Arc<PartitionTree>) -> Self {
        let same = self.redefined(self.def.clone(), self.built());
        let indexes_built = self.indexes_built.clone();
        Self { partitions: Some(partitions), indexes_built, ..same }
    }

    /// The same table with these that inherit from it.
    pub(crate) fn with_family(&self, family: Option<Arc<Family>>) -> Self {
        let same = self.redefined(self.def.clone(), self.built());
        let indexes_built = self.indexes_built.clone();
        Self { family, indexes_built, ..same }
    }

    /// The same wide table, whose rows hold for other snapshots.
    pub(crate) fn with_freshness(&self, freshness: Freshness) -> Self {
        let built = self.indexes_built.get().cloned().unwrap_or_default();
        let same = self.redefined(self.def.clone(), built);
        Self { freshness: Arc::new(freshness), ..same }
    }

    /// A writer of `load`, which is one of this table.
    pub(crate) fn writer_of(&self, load: &Arc<TableLoad>) -> BulkWriter {
        load.writer_of(BlockShape { sorted_by: self.def.order_by, ..BlockShape::default() })
    }

    /// Its rows.
    pub fn storage(&self) -> &Arc<Table> {
        &self.storage
    }

    /// True when the storage has the indexes of the definition.
    pub(crate) fn is_indexed(&self) -> bool {
        self.indexes_built.get().is_some()
    }

    /// The indexes were built, under the names of the definition.
    pub(crate) fn set_indexed(&self) {
        let built = self.storage.indexes();
        let of = |meta: &IndexMeta| built.iter().find(|i| i.spec().name == meta.name).cloned();
        let indexes: Vec<_> = self.def.indexes.iter().filter_map(of).collect();
        let in_blocks = self.storage.sub_blocks();
        let of = |meta: &IndexMeta| Some(in_blocks.iter().find(|i| i.name == meta.name)?.id);
        let of_blocks: Vec<_> = self.def.block_indexes.iter().filter_map(of).collect();
        let def = &self.def;
        if (indexes.len(), of_blocks.len()) == (def.indexes.len(), def.block_indexes.len()) {
            self.indexes_built.get_or_init(|| Built { indexes, of_blocks });
        }
    }

    /// The indexes by position in the definition; none while they are not built. One that is
    /// dropped meanwhile stays usable for whoever sees this definition: it has all rows that
    /// snapshots from before can see.
    pub(crate) fn indexes_built(&self) -> &[Arc<TableIndex>] {
        self.indexes_built.get().map_or(&[], |built| built.indexes.as_slice())
    }

    /// All that was built for the definition; nothing while that is not.
    pub(crate) fn built(&self) -> Built {
        self.indexes_built.get().cloned().unwrap_or_default()
    }
}

impl TableMeta for TableEntry {
    fn name(&self) -> &str {
        &self.def.name
    }

    fn columns(&self) -> &[ColumnDef] {
        &self.def.columns
    }

    fn keys(&self) -> &[KeyDef] {
        &self.def.keys
    }

    fn checks(&self) -> &[CheckDef] {
        &self.def.checks
    }

    fn foreign_keys(&self) -> &[ForeignKeyDef] {
        &self.def.foreign_keys
    }

    fn wide(&self) -> Option<&WideDef> {
        self.def.wide.as_ref()
    }

    fn materialized(&self) -> Option<MaterializedRows> {
        self.def.materialized.as_ref().map(Materialized::rows)
    }

    fn partition_key(&self) -> Option<&PartitionKey> {
        self.def.partition_by.as_ref()
    }

    fn partition_of(&self) -> Option<&PartitionOf> {
        self.def.partition_of.as_ref()
    }

    fn inheritance(&self) -> Option<&Inheritance> {
        Some(&self.def.inheritance).filter(|of| !of.parents.is_empty())
    }

    fn family(&self) -> Option<&Arc<Family>> {
        self.family.as_ref()
    }

    fn partitions(&self) -> Option<&Arc<PartitionTree>> {
        self.partitions.as_ref()
    }

    fn identity(&self, ordinal: usize) -> Option<&Identity> {
        self.def.identities.iter().find(|(column, _)| *column == ordinal).map(|(_, i)| i)
    }

    fn indexes(&self) -> &[IndexMeta] {
        if self.is_indexed() { &self.def.indexes } else { &[] }
    }

    fn index_terms(&self, position: usize) -> Option<&BoundTerms> {
        self.terms.of(&self.def, position)
    }

    fn index_object(&self, position: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        let index = self.indexes_built.get()?.indexes.get(position)?;
        Some(Arc::clone(index) as Arc<dyn Any + Send + Sync>)
    }

    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.storage) as Arc<dyn Any + Send + Sync>
    }
}

/// A view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) sql: String,
    pub(crate) columns: Vec<String>,
    pub(crate) output: Vec<(String, DataType)>,
    /// Tables and views that the query reads.
    pub(crate) depends_on: Vec<String>,
    pub(crate) persistence: Persistence,
    /// Tables whose primary key its GROUP BY relies on.
    pub(crate) keys: Vec<String>,
    /// Options as `name=value`, in the order in which they were given.
    pub(crate) options: Vec<String>,
    /// Defaults of its columns, by name: expressions as text.
    pub(crate) defaults: Vec<(String, String)>,
}

impl View {
    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// True when an option that is true or false is true.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| matches!(value, "true" | "on" | "yes" | "1"))
    }

    /// Check option and defaults for rows that are written through it.
    pub(crate) fn writes(&self) -> ViewWrites {
        let check = match self.option("check_option") {
            Some("local") => Some(CheckOption::Local),
            Some("cascaded") => Some(CheckOption::Cascaded),
            _ => None,
        };
        let place = |column: &String| self.output.iter().position(|(known, _)| known == column);
        let defaults = self.defaults.iter();
        let defaults = defaults.filter_map(|(c, text)| Some((place(c)?, text.clone()))).collect();
        ViewWrites { check, defaults }
    }
}

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SequenceValue {
    /// The last value given out, or the first to give out.
    pub(crate) last: i64,
    /// True when `last` was given out.
    pub(crate) called: bool,
}

/// A sequence. Its value is outside transactions: it never goes back.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// Its number in the database; it stays when the sequence is renamed or restarted.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) def: SequenceDef,
    /// Table and column it goes with.
    pub(crate) owner: Option<(String, String)>,
    pub(crate) persistence: Persistence,
    /// Shared by all definitions of the sequence until it is restarted.
    pub(crate) value: Arc<Mutex<SequenceValue>>,
}

/// Login and rights of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Everything is allowed.
    pub is_superuser: bool,
    /// True when the role may manage other roles.
    pub can_create_roles: bool,
    /// True when the role may begin sessions.
    pub can_login: bool,
    /// Stored form of the password.
    pub password: Option<String>,
    /// True when it has the rights of the roles that it is a member of without SET ROLE.
    pub inherits: bool,
    /// Roles that it is a member of.
    pub member_of: Vec<Membership>,
    /// CREATEDB.
    pub can_create_databases: bool,
    /// REPLICATION: nothing here asks for it.
    pub can_replicate: bool,
    /// BYPASSRLS: there are no policies of rows.
    pub bypasses_policies: bool,
    /// How many sessions it may have at a time.
    pub connections_max: Option<i64>,
    /// End of the time for which its password counts, in microseconds since 1970.
    pub valid_until: Option<i64>,
    /// Settings that a session of the role starts with.
    pub settings: Vec<(String, String)>,
}

impl Default for Role {
    fn default() -> Self {
        Self {
            is_superuser: false,
            can_create_roles: false,
            can_login: false,
            password: None,
            inherits: true,
            member_of: Vec::new(),
            can_create_databases: false,
            can_replicate: false,
            bypasses_policies: false,
            connections_max: None,
            valid_until: None,
            settings: Vec::new(),
        }
    }
}

/// Prefix of the keys of temporary relations.
const TEMPORARY: &str = "pg_temp.";

/// A schema; who owns it is in the rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schema;

/// One version of the catalog. Relations go by [`RelationName::key`].
#[derive(Clone, Default)]
pub(crate) struct State {
    /// Schemas besides `public` and those of the system.
    pub(crate) schemas: BTreeMap<String, Schema>,
    pub(crate) tables: BTreeMap<String, Arc<TableEntry>>,
    pub(crate) views: BTreeMap<String, View>,
    pub(crate) sequences: BTreeMap<String, Arc<Sequence>>,
    /// Types that users made, under keys as relations have them.
    pub(crate) types: BTreeMap<String, UserType>,
    /// Collations that users made, under keys as relations have them.
    pub(crate) collations: BTreeMap<String, UserCollation>,
    /// Extensions that were created, by name.
    pub(crate) extensions: BTreeMap<String, Extension>,
    /// Functions and procedures that users made, by [`RoutineDef::key`].
    pub(crate) routines: BTreeMap<String, Arc<RoutineDef>>,
    /// None of them is temporary.
    pub(crate) roles: BTreeMap<String, Role>,
    /// Rights on permanent objects.
    pub(crate) rights: BTreeMap<Object, Rights>,
    /// ALTER DEFAULT PRIVILEGES: what objects that are made get.
    pub(crate) default_privileges: BTreeMap<DefaultsOf, Vec<Grant>>,
    /// Row-level security of permanent tables.
    pub(crate) row_security: BTreeMap<String, RowSecurity>,
    /// Triggers of tables and views, by name; those of temporary ones, too.
    pub(crate) triggers: BTreeMap<String, Vec<Arc<TriggerDef>>>,
    /// COMMENT ON; none is about what is temporary.
    pub(crate) comments: BTreeMap<Commented, String>,
    /// Name of the database.
    pub(crate) database: DatabaseName,
    /// The numbers of its relations, once somebody asked for one.
    pub(crate) numbers: KnownNumbers,
}

/// Description of a table or view for clients: `\d`, completion.
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// "table", "view", "materialized view" or "sequence".
    pub kind: &'static str,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// Its keys.
    pub keys: Vec<KeyDef>,
    /// Its indexes, those of blocks included.
    pub indexes: Vec<IndexMeta>,
    /// Its CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// Its FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Its identity columns, by ordinal.
    pub identities: Vec<(usize, Identity)>,
    /// How it counts and the column it goes with, for a sequence.
    pub sequence: Option<(SequenceDef, Option<(String, String)>)>,
    /// Rows, for a table.
    pub rows: u64,
    /// Bytes in memory, for a table.
    pub bytes: u64,
}

impl TableInfo {
    fn new(name: &str, kind: &'static str, columns: Vec<ColumnDef>) -> Self {
        let name = name.to_owned();
        let (keys, indexes, checks, foreign_keys) = Default::default();
        let (identities, sequence) = Default::default();
        Self {
            name,
            kind,
            columns,
            keys,
            indexes,
            checks,
            foreign_keys,
            identities,
            sequence,
            rows: 0,
            bytes: 0,
        }
    }
}

/// The catalog of a database as committed.
#[derive(Default)]
pub(crate) struct Relations {
    state: RwLock<Arc<State>>,
    /// Changes of the catalog so far.
    version: AtomicU64,
}

impl Relations {
    /// The catalog as it is now.
    pub(crate) fn snapshot(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// Makes all bound statements outdated though the catalog is the same: called by a commit under
    /// the commit latch.
    pub(crate) fn outdate(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes of the catalog so far.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Replaces the catalog: by a commit, under the commit latch.
    pub(crate) fn publish(&self, state: Arc<State>) {
        *self.state.write() = state;
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl State {
    /// The table whose rows are in `storage`.
    pub(crate) fn entry_of(&self, storage: &Arc<Table>) -> Option<&Arc<TableEntry>> {
        let is = |entry: &&Arc<TableEntry>| Arc::ptr_eq(entry.storage(), storage);
        self.tables.get(storage.name()).filter(is).or_else(|| self.tables.values().find(is))
    }

    /// The table, view, index or sequence of this name.
    pub(crate) fn kind_of(&self, name: &str) -> Option<&'static str> {
        if let Some(table) = self.tables.get(name) {
            Some(table.def.kind())
        } else if self.views.contains_key(name) {
            Some("view")
        } else if self.sequences.contains_key(name) {
            Some("sequence")
        } else {
            self.table_of_index(name).map(|_| "index")
        }
    }

    /// True when a relation of this name exists: tables, views, indexes and sequences share names.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.kind_of(name).is_some()
    }

    /// The table that has an index of this name; one that blocks have, too.
    pub(crate) fn table_of_index(&self, name: &str) -> Option<&Arc<TableEntry>> {
        let schema = RelationName::schema_of_key(name);
        let name = RelationName::name_of_key(name);
        let is_it = |index: &IndexMeta| index.name == name;
        self.tables.values().find(|table| {
            table.def.all_indexes().any(is_it)
                && table.def.visible_indexes().any(is_it)
                && RelationName::schema_of_key(&table.def.name) == schema
        })
    }

    /// True when there is a schema `name`.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        name == SCHEMA_NAME || self.schemas.contains_key(name)
    }

    /// Key in the catalog of a relation that exists or is to be made.
    ///
    /// # Errors
    /// 3F000 when its schema is not there.
    pub(crate) fn key_of(&self, name: &RelationName) -> Result<String> {
        match name.schema.as_deref() {
            None | Some("main" | "pg_temp" | RelationName::NOWHERE) => Ok(name.key()),
            Some(schema) if self.has_schema(schema) => Ok(name.key()),
            Some(schema) => Err(undefined_schema(schema)),
        }
    }

    /// True when there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
            && self.views.is_empty()
            && self.sequences.is_empty()
            && self.schemas.is_empty()
            && self.types.is_empty()
            && self.collations.is_empty()
            && self.extensions.is_empty()
            && self.routines.is_empty()
    }

    /// True when both have the very same relations.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        fn same<T>(a: &BTreeMap<String, Arc<T>>, b: &BTreeMap<String, Arc<T>>) -> bool {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(a.1, b.1))
        }
        same(&self.tables, &other.tables)
            && same(&self.sequences, &other.sequences)
            && same(&self.routines, &other.routines)
            && self.views == other.views
            && self.schemas == other.schemas
            && self.types == other.types
            && self.collations == other.collations
            && self.extensions == other.extensions
            && self.roles == other.roles
            && self.rights == other.rights
            && self.default_privileges == other.default_privileges
            && self.row_security == other.row_security
            && self.triggers == other.triggers
            && self.comments == other.comments
    }

    /// How long the relation of this name lives, if it exists; an index lives with its table.
    pub(crate) fn persistence_of(&self, name: &str) -> Option<Persistence> {
        if let Some(table) = self.tables.get(name) {
            Some(table.def.persistence)
        } else if let Some(view) = self.views.get(name) {
            Some(view.persistence)
        } else if let Some(sequence) = self.sequences.get(name) {
            Some(sequence.persistence)
        } else {
            self.table_of_index(name).map(|table| table.def.persistence)
        }
    }

    /// These relations and the session's temporary ones.
    pub(crate) fn with_temporary(&self, temporary: &Self) -> Self {
        let mut all = self.clone();
        all.tables.extend(temporary.tables.clone());
        all.views.extend(temporary.views.clone());
        all.sequences.extend(temporary.sequences.clone());
        all.triggers.extend(temporary.triggers.clone());
        all
    }

    fn retain(&mut self, kept: Persistence) {
        self.tables.retain(|_, table| table.def.persistence == kept);
        self.views.retain(|_, view| view.persistence == kept);
        self.sequences.retain(|_, sequence| sequence.persistence == kept);
        self.settle_triggers();
    }

    /// Undoes [`Self::with_temporary`] after `self` was changed: the permanent relations and the
    /// temporary ones.
    pub(crate) fn split(mut self) -> (Self, Self) {
        let (tables, views) = (self.tables.clone(), self.views.clone());
        let (sequences, triggers) = (self.sequences.clone(), self.triggers.clone());
        let mut mine = Self { tables, views, sequences, triggers, ..Self::default() };
        mine.retain(Persistence::Temporary);
        self.retain(Persistence::Permanent);
        (self, mine)
    }

    /// True when there are temporary relations.
    pub(crate) fn has_temporary(&self) -> bool {
        fn has<T>(all: &BTreeMap<String, T>) -> bool {
            let first = all.range(TEMPORARY.to_owned()..).next();
            first.is_some_and(|(key, _)| key.starts_with(TEMPORARY))
        }
        has(&self.tables) || has(&self.views) || has(&self.sequences)
    }

    /// Everything, for `\d`.
    pub(crate) fn infos(&self) -> Vec<TableInfo> {
        let table = |entry: &Arc<TableEntry>| TableInfo {
            keys: entry.def.keys.clone(),
            indexes: entry.def.visible_indexes().cloned().collect(),
            identities: entry.def.identities.clone(),
            checks: entry.def.checks.clone(),
            foreign_keys: entry.def.foreign_keys.clone(),
            rows: entry.storage.live_rows(),
            bytes: entry.storage.block_infos().iter().map(|b| b.bytes).sum(),
            ..TableInfo::new(&entry.def.name, entry.def.kind(), entry.def.columns.clone())
        };
        let view = |(name, view): (&String, &View)| {
            let column = |(name, ty): &(String, DataType)| ColumnDef::new(name, *ty);
            TableInfo::new(name, "view", view.output.iter().map(column).collect())
        };
        let mut all: Vec<TableInfo> = self.tables.values().map(table).collect();
        all.extend(self.views.iter().map(view));
        all.extend(self.sequences.iter().map(|(name, sequence)| TableInfo {
            sequence: Some((sequence.def.clone(), sequence.owner.clone())),
            ..TableInfo::new(name, "sequence", Vec::new())
        }));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

/// 3F000 for a schema.
pub(crate) fn undefined_schema(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{name}\" does not exist"))
}

/// 42P01 for `name`.
pub(crate) fn undefined_table(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}
