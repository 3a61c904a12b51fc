//! What the binder asks of the catalog. `engine` implements it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use types::{DataType, Result, Value};

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Its name, as stored (lower case unless quoted).
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// NOT NULL was declared (also by PRIMARY KEY).
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
}

/// PRIMARY KEY or UNIQUE.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDef {
    /// Constraint name.
    pub name: String,
    /// Ordinals of the columns.
    pub columns: Vec<usize>,
    /// True for the primary key.
    pub primary: bool,
}

/// A table as the binder and planner see it. The planner reads statistics through
/// `plan::Statistics`, found by downcasting [`TableMeta::object`].
pub trait TableMeta: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// Its columns, by ordinal.
    fn columns(&self) -> &[ColumnDef];
    /// Its declared keys.
    fn keys(&self) -> &[KeyDef];
    /// Those keys that are known to hold for the rows: the planner relies on no others.
    fn proven_keys(&self) -> &[KeyDef] {
        self.keys()
    }
    /// The table itself, for the layers that know it: an `Arc<storage::Table>` in practice.
    fn object(&self) -> Arc<dyn Any + Send + Sync>;
}

/// A shared table.
#[derive(Clone)]
pub struct TableRef(pub Arc<dyn TableMeta>);

impl fmt::Debug for TableRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.name())
    }
}

impl PartialEq for TableRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for TableRef {
    type Target = dyn TableMeta;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// A table function bound to its arguments: a source of batches (`exec::BatchSource` by downcast).
pub trait BoundTableFunction: Send + Sync {
    /// Its name with arguments, for EXPLAIN.
    fn name(&self) -> &str;
    /// Result columns.
    fn columns(&self) -> &[(String, DataType)];
    /// Rows, when known.
    fn rows(&self) -> Option<u64>;
    /// The source itself, for `exec`.
    fn object(&self) -> Arc<dyn Any + Send + Sync>;
}

/// A shared bound table function.
#[derive(Clone)]
pub struct TableFunctionRef(pub Arc<dyn BoundTableFunction>);

impl fmt::Debug for TableFunctionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.name())
    }
}

impl PartialEq for TableFunctionRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a name in FROM stands for.
pub enum Relation {
    /// A table.
    Table(TableRef),
    /// A view: its query as SQL text and its column names, when given.
    View {
        /// The SELECT.
        sql: String,
        /// Column names; empty when the query's own are used.
        columns: Vec<String>,
    },
}

/// Arguments of a table function or procedure: positional ones first, then named.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Values and their types, in order.
    pub positional: Vec<(Value, DataType)>,
    /// `name => value`.
    pub named: Vec<(String, Value, DataType)>,
}

/// A consistent view of what exists.
pub trait Catalog {
    /// The relation called `name` (already case-folded), `schema` when qualified.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// The table function `name` bound to `arguments`; None when there is none of that name.
    ///
    /// # Errors
    /// Whatever the function finds wrong with the arguments, a missing file say.
    fn table_function(&self, name: &str, arguments: &Arguments)
    -> Option<Result<TableFunctionRef>>;

    /// Seconds and microseconds of the transaction's start since 1970 UTC: now() and its kin.
    fn now_micros(&self) -> i64;
}
