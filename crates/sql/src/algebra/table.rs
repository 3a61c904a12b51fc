//! Tables and table functions as the algebra names them: what is known of them, by trait.
//!
//! `engine` implements the traits; the binder, the planner and the executor ask them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use types::{Collation, DataType};

use super::Expr;
use super::family::Family;
use super::partition::PartitionTree;
use crate::definition::{
    CheckDef, ColumnDef, ForeignKeyDef, Identity, IndexMeta, Inheritance, KeyDef, PartitionKey,
    PartitionOf, WideDef,
};
use crate::words::RelationName;

/// [`IndexTerms`](crate::catalog::IndexTerms) over a row, whose column `i` is
/// [`crate::algebra::ColumnId`] `i`.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundTerms {
    /// The expressions.
    pub expressions: Vec<Expr>,
    /// WHERE.
    pub predicate: Option<Expr>,
}

impl BoundTerms {
    /// Ordinals of the columns that they read, ascending, each once.
    pub fn reads(&self) -> Vec<usize> {
        let mut reads = Vec::new();
        for expr in self.expressions.iter().chain(&self.predicate) {
            expr.each_column(&mut |id| reads.push(id.0 as usize));
        }
        reads.sort_unstable();
        reads.dedup();
        reads
    }
}

/// State of the rows of a materialized view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaterializedRows {
    /// Rows of its query, as it was at the last REFRESH.
    Filled,
    /// WITH NO DATA: nobody may read it until REFRESH.
    Missing,
}

/// A table as the binder and planner see it. The planner reads statistics through
/// `plan::Statistics`, found by downcasting [`TableMeta::object`].
pub trait TableMeta: Send + Sync {
    /// Key in the catalog ([`RelationName::key`](crate::statement::RelationName::key)).
    fn name(&self) -> &str;
    /// Its name in its schema.
    fn bare_name(&self) -> &str {
        RelationName::name_of_key(self.name())
    }
    /// Its columns, by ordinal.
    fn columns(&self) -> &[ColumnDef];
    /// Its declared keys.
    fn keys(&self) -> &[KeyDef];
    /// Keys that are known to hold for the rows: the planner relies on no others.
    fn proven_keys(&self) -> &[KeyDef] {
        self.keys()
    }
    /// Its CHECK constraints.
    fn checks(&self) -> &[CheckDef] {
        &[]
    }
    /// Its FOREIGN KEY constraints.
    fn foreign_keys(&self) -> &[ForeignKeyDef] {
        &[]
    }
    /// True when rows that were written are to be looked at: it has foreign keys, keys that are
    /// DEFERRABLE, or EXCLUDE.
    fn looks_at_keys(&self) -> bool {
        !self.foreign_keys().is_empty()
            || self.keys().iter().any(|key| key.deferral.is_deferrable())
            || self.indexes().iter().any(IndexMeta::excludes)
    }
    /// Definition as a wide table, if it is one: the database alone writes its rows.
    fn wide(&self) -> Option<&WideDef> {
        None
    }
    /// State of its rows, if it is a materialized view: the database alone writes them.
    fn materialized(&self) -> Option<MaterializedRows> {
        None
    }
    /// How it is partitioned, if it is.
    fn partition_key(&self) -> Option<&PartitionKey> {
        None
    }
    /// Its place in the table that it is a partition of.
    fn partition_of(&self) -> Option<&PartitionOf> {
        None
    }
    /// The tables that have its rows, if it is partitioned: it has none itself.
    fn partitions(&self) -> Option<&Arc<PartitionTree>> {
        None
    }
    /// Its parents, and parts that it has from them alone; None when it inherits from none.
    fn inheritance(&self) -> Option<&Inheritance> {
        None
    }
    /// The tables that inherit from it, whose rows are read with its own; None when there are none.
    fn family(&self) -> Option<&Arc<Family>> {
        None
    }
    /// True when other tables have rows that are read under its name.
    fn has_members(&self) -> bool {
        self.partitions().is_some() || self.family().is_some()
    }
    /// The identity of column `ordinal`, if it is an identity column.
    fn identity(&self, ordinal: usize) -> Option<&Identity> {
        let _ = ordinal;
        None
    }
    /// Its indexes, those that enforce keys included, those of blocks not.
    fn indexes(&self) -> &[IndexMeta] {
        &[]
    }
    /// The terms of the index at this position of [`Self::indexes`]; None when it has none.
    fn index_terms(&self, position: usize) -> Option<&BoundTerms> {
        let _ = position;
        None
    }
    /// The index at this position of [`Self::indexes`], for the layers that know it: an
    /// `Arc<storage::TableIndex>` in practice. The list of the storage itself has another order
    /// while transactions add and drop indexes.
    fn index_object(&self, position: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        let _ = position;
        None
    }
    /// The rows, where another database has them: the columns of the table, then a BIGINT, the
    /// number of the row, which stands for its TID.
    fn rows_elsewhere(&self) -> Option<TableFunctionRef> {
        None
    }
    /// True for a view whose rows triggers write.
    fn is_view(&self) -> bool {
        false
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

/// A table without its partitions and heirs: ONLY.
struct Alone(TableRef);

impl TableMeta for Alone {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn columns(&self) -> &[ColumnDef] {
        self.0.columns()
    }
    fn keys(&self) -> &[KeyDef] {
        self.0.keys()
    }
    fn checks(&self) -> &[CheckDef] {
        self.0.checks()
    }
    fn foreign_keys(&self) -> &[ForeignKeyDef] {
        self.0.foreign_keys()
    }
    fn inheritance(&self) -> Option<&Inheritance> {
        self.0.inheritance()
    }
    fn identity(&self, ordinal: usize) -> Option<&Identity> {
        self.0.identity(ordinal)
    }
    fn indexes(&self) -> &[IndexMeta] {
        self.0.indexes()
    }
    fn index_terms(&self, position: usize) -> Option<&BoundTerms> {
        self.0.index_terms(position)
    }
    fn index_object(&self, position: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.index_object(position)
    }
    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        self.0.object()
    }
}

impl TableRef {
    /// The table itself, without its partitions and heirs.
    #[must_use]
    pub fn alone(self) -> Self {
        if self.has_members() { Self(Arc::new(Alone(self))) } else { self }
    }
}

/// Does a table function leave out rows that do not meet restrictions of its columns?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesRestrictions {
    /// All rows come, always.
    No,
    /// Such rows may be left out.
    Yes,
}

/// An index with expressions or WHERE by which a table function finds rows.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionIndex {
    /// Its name.
    pub name: String,
    /// Its position among the indexes that the source knows.
    pub position: usize,
    /// Its terms, over the columns of the result.
    pub terms: BoundTerms,
}

/// A table function bound to its arguments: a source of batches (`exec::BatchSource` by downcast).
pub trait BoundTableFunction: Send + Sync {
    /// Its name with arguments, for EXPLAIN.
    fn name(&self) -> &str;
    /// Result columns.
    fn columns(&self) -> &[(String, DataType)];
    /// Collations of the columns, by position; None, and beyond their end, are the usual one.
    fn collations(&self) -> &[Option<Collation>] {
        &[]
    }
    /// Rows, counted or estimated; None when nothing is known.
    fn rows(&self) -> Option<u64>;
    /// Restrictions that the query above has.
    fn takes(&self) -> TakesRestrictions {
        TakesRestrictions::No
    }
    /// Indexes with expressions or WHERE by which it finds rows.
    fn indexes(&self) -> &[FunctionIndex] {
        &[]
    }
    /// One of parts that have each row once, whoever reads the others; None when there are none.
    fn part(&self, part: SourcePart) -> Option<TableFunctionRef> {
        let _ = part;
        None
    }
    /// The source itself, for `exec`.
    fn object(&self) -> Arc<dyn Any + Send + Sync>;
}

/// A part of the rows of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePart {
    /// Its number, from 0.
    pub number: u64,
    /// Parts in all, more than the number.
    pub count: u64,
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
