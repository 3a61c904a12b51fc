//! Tables, views and sequences: an immutable state, replaced as a whole by each commit that changes
//! it. A transaction that changes the catalog works on a state of its own until then.

pub mod derived;
pub mod checks;
pub mod generated;
pub mod numbers;
pub mod partitions;
pub mod families;
pub mod policies;
pub mod rights;
mod schemas;
pub mod predefined;
pub mod comments;
pub mod keys;
pub mod exclusions;
pub mod user_types;
pub mod collations;
mod extensions;
mod routines;
pub mod triggers;
pub mod wide;
pub mod materialized;
mod roles;
mod infos;

pub use extensions::Extension;
pub use infos::TableInfo;
pub use roles::Role;

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
use storage::{BlockShape, BulkWriter, IndexId, Layout, Table, TableIndex, TableLoad};
use types::{About, DataType, Error, Result, SqlState};

use crate::databases::DatabaseName;
use crate::locks::TableLock;
use crate::state::checks::Checks;
use crate::state::collations::UserCollation;
use crate::state::comments::Commented;
use crate::state::derived::Terms;
use crate::state::generated::Generated;
use crate::state::materialized::Materialized;
use crate::state::numbers::KnownNumbers;
use crate::state::rights::{DefaultsOf, Grant, Object, Rights};
use crate::state::wide::Freshness;

/// Definition of a table: everything but its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    /// Key of the table in the catalog ([`RelationName::key`]).
    pub name: String,
    /// Columns by ordinal.
    pub columns: Vec<ColumnDef>,
    /// PRIMARY KEY and UNIQUE; each has an index of its name.
    pub keys: Vec<KeyDef>,
    /// CHECK constraints, by name.
    pub checks: Vec<CheckDef>,
    /// Each has an index of its name over the referring columns, so that a referenced row finds
    /// the rows that refer to it.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Identity columns, by ordinal.
    pub identities: Vec<(usize, Identity)>,
    /// Indexes by position, as in the storage.
    pub indexes: Vec<IndexMeta>,
    /// Indexes that each frozen block has for itself; neither planner nor writers know them.
    pub block_indexes: Vec<IndexMeta>,
    /// Layout of its blocks.
    pub layout: Layout,
    /// Ordinal of the column by which loads sort the rows of each block.
    pub order_by: Option<usize>,
    /// How long it lives.
    pub persistence: Persistence,
    /// Action of COMMIT on a temporary table.
    pub on_commit: OnCommit,
    /// Definition of a wide table; None for other tables.
    pub wide: Option<WideDef>,
    /// Query of a materialized view; None for other tables.
    pub materialized: Option<Materialized>,
    /// How it is partitioned, if it is.
    pub partition_by: Option<PartitionKey>,
    /// Its place in the table that it is a partition of.
    pub partition_of: Option<PartitionOf>,
    /// Parents, and parts that it has from them alone.
    pub inheritance: Inheritance,
}

impl TableDef {
    /// Its name in its schema.
    pub fn bare_name(&self) -> &str {
        RelationName::name_of_key(&self.name)
    }

    /// Makes an error name one of the table's constraints.
    pub fn about_constraint(&self, name: &str) -> About {
        About { constraint: Some(name.to_owned()), ..self.about() }
    }

    /// Makes an error name one of the table's columns.
    pub fn about_column(&self, name: &str) -> About {
        About { column: Some(name.to_owned()), ..self.about() }
    }

    /// Makes an error name the table.
    pub fn about_table(&self) -> About {
        self.about()
    }

    fn about(&self) -> About {
        let (schema, table) = (RelationName::schema_of_key(&self.name), self.bare_name());
        let (column, constraint) = (None, None);
        About { schema: schema.to_owned(), table: table.to_owned(), column, constraint }
    }

    /// A permanent table without constraints.
    pub fn new(name: &str, columns: Vec<ColumnDef>, layout: Layout) -> Self {
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
    pub fn all_indexes(&self) -> impl Iterator<Item = &IndexMeta> {
        self.indexes.iter().chain(&self.block_indexes)
    }

    /// Its indexes that are relations: those that only serve foreign keys are none.
    pub fn visible_indexes(&self) -> impl Iterator<Item = &IndexMeta> {
        self.all_indexes().filter(|index| !self.serves_foreign_key(&index.name))
    }

    /// True when the index of this name only serves a foreign key.
    pub fn serves_foreign_key(&self, index: &str) -> bool {
        self.foreign_keys.iter().any(|fk| fk.name == index)
    }
}

/// A table: its definition and its rows.
pub struct TableEntry {
    /// Its definition.
    pub def: TableDef,
    storage: Arc<Table>,
    /// Its lock, which all definitions of the table share.
    pub lock: Arc<TableLock>,
    /// By position in the definition. Not there while the indexes of a table from a generator are
    /// not built: its keys hold by construction, so they wait for the first writer.
    indexes_built: OnceLock<Built>,
    /// CHECK constraints and domains, ready to be tested.
    pub checks: Checks,
    /// Generated columns, ready to be filled.
    pub generated: Generated,
    terms: Terms,
    /// Snapshots for which the rows of a wide table hold.
    pub freshness: Arc<Freshness>,
    /// The tables that have its rows, if it is partitioned; see [`partitions::settle`].
    partitions: Option<Arc<PartitionTree>>,
    /// The tables that inherit from it; see [`families::settle`].
    family: Option<Arc<Family>>,
}

/// Indexes of a definition as the storage has them.
#[derive(Clone, Default)]
pub struct Built {
    /// Indexes by position in [`TableDef::indexes`].
    pub indexes: Vec<Arc<TableIndex>>,
    /// The numbers of those of [`TableDef::block_indexes`], by position.
    pub of_blocks: Vec<IndexId>,
}

/// State of the indexes of a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// The storage has them.
    Built,
    /// The first writer builds them.
    Deferred,
}

impl TableEntry {
    /// A table of `storage`, whose lock is `lock`. Indexes that are built have the names of the
    /// definition.
    pub fn new(def: TableDef, storage: Arc<Table>, lock: Arc<TableLock>, indexes: Indexes) -> Self {
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
    pub fn redefined(&self, def: TableDef, built: Built) -> Self {
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
    pub fn with_freshness(&self, freshness: Freshness) -> Self {
        let built = self.indexes_built.get().cloned().unwrap_or_default();
        let same = self.redefined(self.def.clone(), built);
        Self { freshness: Arc::new(freshness), ..same }
    }

    /// A writer of `load`, which is one of this table.
    pub fn writer_of(&self, load: &Arc<TableLoad>) -> BulkWriter {
        load.writer_of(BlockShape { sorted_by: self.def.order_by, ..BlockShape::default() })
    }

    /// Its rows.
    pub fn storage(&self) -> &Arc<Table> {
        &self.storage
    }

    /// True when the storage has the indexes of the definition.
    pub fn is_indexed(&self) -> bool {
        self.indexes_built.get().is_some()
    }

    /// The indexes were built, under the names of the definition.
    pub fn set_indexed(&self) {
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
    pub fn indexes_built(&self) -> &[Arc<TableIndex>] {
        self.indexes_built.get().map_or(&[], |built| built.indexes.as_slice())
    }

    /// All that was built for the definition; nothing while that is not.
    pub fn built(&self) -> Built {
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
pub struct View {
    /// Text of its query.
    pub sql: String,
    /// Names of columns as CREATE VIEW gave them; the first few or none.
    pub columns: Vec<String>,
    /// Names and types of its columns.
    pub output: Vec<(String, DataType)>,
    /// Tables and views that the query reads.
    pub depends_on: Vec<String>,
    /// How long it lives.
    pub persistence: Persistence,
    /// Tables whose primary key its GROUP BY relies on.
    pub keys: Vec<String>,
    /// Options as `name=value`, in the order in which they were given.
    pub options: Vec<String>,
    /// Defaults of its columns, by name: expressions as text.
    pub defaults: Vec<(String, String)>,
}

impl View {
    /// The value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// True when an option that is true or false is true.
    pub fn is_on(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| matches!(value, "true" | "on" | "yes" | "1"))
    }

    /// Check option and defaults for rows that are written through it.
    pub fn writes(&self) -> ViewWrites {
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
pub struct SequenceValue {
    /// The last value given out, or the first to give out.
    pub last: i64,
    /// True when `last` was given out.
    pub called: bool,
}

/// A sequence. Its value is outside transactions: it never goes back.
#[derive(Debug)]
pub struct Sequence {
    /// Its number in the database; it stays when the sequence is renamed or restarted.
    pub id: u64,
    /// Key of the sequence in the catalog ([`RelationName::key`]).
    pub name: String,
    /// How it counts.
    pub def: SequenceDef,
    /// Table and column it goes with.
    pub owner: Option<(String, String)>,
    /// How long it lives.
    pub persistence: Persistence,
    /// Shared by all definitions of the sequence until it is restarted.
    pub value: Arc<Mutex<SequenceValue>>,
}

impl Sequence {
    /// The same sequence, with the same value.
    pub fn again(&self) -> Self {
        Self {
            id: self.id,
            name: self.name.clone(),
            def: self.def.clone(),
            owner: self.owner.clone(),
            persistence: self.persistence,
            value: Arc::clone(&self.value),
        }
    }
}

/// Prefix of the keys of temporary relations.
const TEMPORARY: &str = "pg_temp.";

/// A schema; who owns it is in the rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schema;

/// One version of the catalog. Relations go by [`RelationName::key`].
#[derive(Clone, Default)]
pub struct State {
    /// Schemas that were made, and what became of `public` (`state/schemas.rs`).
    pub schemas: BTreeMap<String, Schema>,
    /// Tables and materialized views.
    pub tables: BTreeMap<String, Arc<TableEntry>>,
    /// Views.
    pub views: BTreeMap<String, View>,
    /// Sequences.
    pub sequences: BTreeMap<String, Arc<Sequence>>,
    /// Types that users made, under keys as relations have them.
    pub types: BTreeMap<String, UserType>,
    /// Collations that users made, under keys as relations have them.
    pub collations: BTreeMap<String, UserCollation>,
    /// Extensions that were created, by name.
    pub extensions: BTreeMap<String, Extension>,
    /// Functions and procedures that users made, by [`RoutineDef::key`].
    pub routines: BTreeMap<String, Arc<RoutineDef>>,
    /// None of them is temporary.
    pub roles: BTreeMap<String, Role>,
    /// Rights on permanent objects.
    pub rights: BTreeMap<Object, Rights>,
    /// ALTER DEFAULT PRIVILEGES: what objects that are made get.
    pub default_privileges: BTreeMap<DefaultsOf, Vec<Grant>>,
    /// Row-level security of permanent tables.
    pub row_security: BTreeMap<String, RowSecurity>,
    /// Triggers of tables and views, by name; those of temporary ones, too.
    pub triggers: BTreeMap<String, Vec<Arc<TriggerDef>>>,
    /// COMMENT ON; none is about what is temporary.
    pub comments: BTreeMap<Commented, String>,
    /// Name of the database.
    pub database: DatabaseName,
    /// The numbers of its relations, once somebody asked for one.
    pub(crate) numbers: KnownNumbers,
}

/// The catalog of a database as committed.
#[derive(Default)]
pub struct Relations {
    state: RwLock<Arc<State>>,
    /// Changes of the catalog so far.
    version: AtomicU64,
}

impl Relations {
    /// The catalog as it is now.
    pub fn snapshot(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// Makes all bound statements outdated though the catalog is the same: called by a commit under
    /// the commit latch.
    pub fn outdate(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes of the catalog so far.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Replaces the catalog: by a commit, under the commit latch.
    pub fn publish(&self, state: Arc<State>) {
        *self.state.write() = state;
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl State {
    /// The table whose rows are in `storage`.
    pub fn entry_of(&self, storage: &Arc<Table>) -> Option<&Arc<TableEntry>> {
        let is = |entry: &&Arc<TableEntry>| Arc::ptr_eq(entry.storage(), storage);
        self.tables.get(storage.name()).filter(is).or_else(|| self.tables.values().find(is))
    }

    /// The table, view, index or sequence of this name.
    pub fn kind_of(&self, name: &str) -> Option<&'static str> {
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
    pub fn contains(&self, name: &str) -> bool {
        self.kind_of(name).is_some()
    }

    /// The table that has an index of this name; one that blocks have, too.
    pub fn table_of_index(&self, name: &str) -> Option<&Arc<TableEntry>> {
        let schema = RelationName::schema_of_key(name);
        let name = RelationName::name_of_key(name);
        let is_it = |index: &IndexMeta| index.name == name;
        self.tables.values().find(|table| {
            table.def.all_indexes().any(is_it)
                && table.def.visible_indexes().any(is_it)
                && RelationName::schema_of_key(&table.def.name) == schema
        })
    }

    /// Key in the catalog of a relation that exists or is to be made.
    ///
    /// # Errors
    /// 3F000 when its schema is not there.
    pub fn key_of(&self, name: &RelationName) -> Result<String> {
        match name.schema.as_deref() {
            None | Some("main" | "pg_temp" | RelationName::NOWHERE) => Ok(name.key()),
            Some(schema) if self.has_schema(schema) => Ok(name.key()),
            Some(schema) => Err(undefined_schema(schema)),
        }
    }

    /// True when there is nothing.
    pub fn is_empty(&self) -> bool {
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
    pub fn is_same(&self, other: &Self) -> bool {
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
    pub fn persistence_of(&self, name: &str) -> Option<Persistence> {
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
    pub fn with_temporary(&self, temporary: &Self) -> Self {
        let mut all = self.clone();
        all.tables.extend(temporary.tables.clone());
        all.views.extend(temporary.views.clone());
        all.sequences.extend(temporary.sequences.clone());
        all.triggers.extend(temporary.triggers.clone());
        all.routines.extend(temporary.routines.clone());
        all
    }

    fn retain(&mut self, kept: Persistence) {
        self.tables.retain(|_, table| table.def.persistence == kept);
        self.views.retain(|_, view| view.persistence == kept);
        self.sequences.retain(|_, sequence| sequence.persistence == kept);
        let is_temporary = kept == Persistence::Temporary;
        self.routines.retain(|key, _| key.starts_with(TEMPORARY) == is_temporary);
        self.settle_triggers();
    }

    /// Undoes [`Self::with_temporary`] after `self` was changed: the permanent relations and the
    /// temporary ones.
    pub fn split(mut self) -> (Self, Self) {
        let (tables, views) = (self.tables.clone(), self.views.clone());
        let (sequences, triggers) = (self.sequences.clone(), self.triggers.clone());
        let routines = self.routines.clone();
        let mut mine = Self { tables, views, sequences, triggers, routines, ..Self::default() };
        mine.retain(Persistence::Temporary);
        self.retain(Persistence::Permanent);
        (self, mine)
    }

    /// True when there are temporary relations.
    pub fn has_temporary(&self) -> bool {
        fn has<T>(all: &BTreeMap<String, T>) -> bool {
            let first = all.range(TEMPORARY.to_owned()..).next();
            first.is_some_and(|(key, _)| key.starts_with(TEMPORARY))
        }
        has(&self.tables) || has(&self.views) || has(&self.sequences)
    }
}

/// 3F000 for a schema.
pub fn undefined_schema(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{name}\" does not exist"))
}

/// 42P01 for `name`.
pub fn undefined_table(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}
