//! Tables and views: an immutable state, replaced as a whole by each change.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use sql::catalog::TableRef;
use sql::catalog::{Arguments, Catalog, ColumnDef, KeyDef, Relation, TableFunctionRef, TableMeta};
use storage::Table;
use types::{DataType, Error, Result, SqlState};

use crate::registry::Registry;

/// A table: its definition and its rows.
pub struct TableEntry {
    name: String,
    columns: Vec<ColumnDef>,
    keys: Vec<KeyDef>,
    storage: Arc<Table>,
    keys_hold: AtomicBool,
}

impl TableEntry {
    pub(crate) fn new(
        name: String,
        columns: Vec<ColumnDef>,
        keys: Vec<KeyDef>,
        storage: Arc<Table>,
    ) -> Self {
        Self { name, columns, keys, storage, keys_hold: AtomicBool::new(true) }
    }

    /// Its rows.
    pub fn storage(&self) -> &Arc<Table> {
        &self.storage
    }

    /// Notes that rows came in whose keys nobody checked: the planner no longer relies on keys.
    pub(crate) fn distrust_keys(&self) {
        self.keys_hold.store(false, Ordering::Release);
    }
}

impl TableMeta for TableEntry {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn keys(&self) -> &[KeyDef] {
        &self.keys
    }

    fn proven_keys(&self) -> &[KeyDef] {
        if self.keys_hold.load(Ordering::Acquire) { &self.keys } else { &[] }
    }

    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.storage) as Arc<dyn Any + Send + Sync>
    }
}

/// A view.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) sql: String,
    pub(crate) columns: Vec<String>,
    pub(crate) output: Vec<(String, DataType)>,
    /// Tables and views that the query reads.
    pub(crate) depends_on: Vec<String>,
}

/// One version of the catalog.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) tables: BTreeMap<String, Arc<TableEntry>>,
    pub(crate) views: BTreeMap<String, View>,
}

/// What a table or view looks like from outside: `\d`, completion.
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// "table" or "view".
    pub kind: &'static str,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// Its keys.
    pub keys: Vec<KeyDef>,
    /// Rows, for a table.
    pub rows: u64,
    /// Bytes in memory, for a table.
    pub bytes: u64,
}

/// The catalog of a database.
#[derive(Default)]
pub(crate) struct Relations {
    state: RwLock<Arc<State>>,
}

impl Relations {
    /// The catalog as it is now.
    pub(crate) fn snapshot(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// Changes the catalog; when `change` fails nothing changes.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let mut guard = self.state.write();
        let mut state = State::clone(&guard);
        let value = change(&mut state)?;
        *guard = Arc::new(state);
        Ok(value)
    }
}

impl State {
    /// Whether a table or view of this name exists.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.tables.contains_key(name) || self.views.contains_key(name)
    }

    /// Everything, for `\d`.
    pub(crate) fn infos(&self) -> Vec<TableInfo> {
        let table = |entry: &Arc<TableEntry>| {
            let snapshot = entry.storage.snapshot();
            TableInfo {
                name: entry.name.clone(),
                kind: "table",
                columns: entry.columns.clone(),
                keys: entry.keys.clone(),
                rows: snapshot.rows(),
                bytes: snapshot.bytes(),
            }
        };
        let view = |(name, view): (&String, &View)| {
            let column = |(name, ty): &(String, DataType)| ColumnDef {
                name: name.clone(),
                ty: *ty,
                not_null: false,
                default: None,
            };
            TableInfo {
                name: name.clone(),
                kind: "view",
                columns: view.output.iter().map(column).collect(),
                keys: Vec::new(),
                rows: 0,
                bytes: 0,
            }
        };
        let mut all: Vec<TableInfo> = self.tables.values().map(table).collect();
        all.extend(self.views.iter().map(view));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

/// What the binder sees during one statement.
pub(crate) struct StatementCatalog<'a> {
    pub(crate) state: Arc<State>,
    pub(crate) registry: &'a Registry,
    pub(crate) now_micros: i64,
}

impl Catalog for StatementCatalog<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        if schema.is_some_and(|s| s != "public" && s != "main") {
            return None;
        }
        if let Some(entry) = self.state.tables.get(name) {
            return Some(Relation::Table(TableRef(Arc::clone(entry) as Arc<dyn TableMeta>)));
        }
        let view = self.state.views.get(name)?;
        Some(Relation::View { sql: view.sql.clone(), columns: view.columns.clone() })
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &Arguments,
    ) -> Option<Result<TableFunctionRef>> {
        Some(self.registry.function(name)?.bind(arguments))
    }

    fn now_micros(&self) -> i64 {
        self.now_micros
    }
}

/// 42P01 for `name`.
pub(crate) fn undefined_table(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}
