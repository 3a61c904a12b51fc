//! Statements that define, change and drop objects.

use types::{Collation, DataType, SqlState};

use super::{DropBehaviour, IfExists, IfMissing, Persistence, RelationName, Statement};
use crate::algebra::{Query, TableRef};
use crate::definition::{
    CheckDef, ColumnDef, Deferral, DomainUse, ForeignKeyDef, IdentityKind, IndexColumn, IndexKind,
    IndexMeta, IndexTerms, Inheritance, KeyDef, PartitionBound, PartitionKey, SequenceDef,
    Uniqueness,
};

/// A sequence that belongs to a column: of GENERATED ... AS IDENTITY or `serial`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSequence {
    /// Ordinal of the column.
    pub column: usize,
    /// The kind of identity; None for `serial`, whose column has a default that calls nextval.
    pub identity: Option<IdentityKind>,
    /// Its name, `table_column_seq` unless given, not yet checked to be free (see
    /// [`CreateTable::columns`]).
    pub name: RelationName,
    /// How it counts.
    pub definition: SequenceDef,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: RelationName,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// PRIMARY KEY and UNIQUE constraints.
    pub keys: Vec<KeyDef>,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Sequences to create with it, dropped with their column.
    pub sequences: Vec<ColumnSequence>,
    /// Indexes that serve EXCLUDE, under their names; those that are no constraints, of LIKE, each
    /// under the name that it has elsewhere.
    pub indexes: Vec<IndexMeta>,
    /// Columns with the comments of others, of LIKE: a column's name, the other one's table and
    /// name.
    pub comments: Vec<(String, TableRef, String)>,
    /// When the table exists.
    pub if_exists: IfExists,
    /// WITH (...): names in lower case and values as text, `layout` say.
    pub options: Vec<(String, String)>,
    /// TEMPORARY or not.
    pub persistence: Persistence,
    /// ON COMMIT.
    pub on_commit: OnCommit,
    /// PARTITION BY.
    pub partition_by: Option<PartitionKey>,
    /// PARTITION OF: columns and checks are those of the partitioned table, whose keys and indexes
    /// are to be added.
    pub partition_of: Option<PartitionPlace>,
    /// INHERITS: columns and checks are those of these tables, and of its own.
    pub parents: Vec<TableRef>,
    /// Parts that it has from those alone.
    pub inheritance: Inheritance,
    /// Notices about columns and constraints that are one with those of a parent.
    pub merged: Vec<MergeNotice>,
}

/// A notice about what a table has from several tables, or from itself and another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeNotice {
    /// The notice.
    pub message: String,
    /// Its detail.
    pub detail: Option<&'static str>,
}

/// Place of a table among the partitions of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionPlace {
    /// The partitioned table.
    pub parent: TableRef,
    /// FOR VALUES, with the texts of expressions in the place of values.
    pub bound: PartitionBound,
}

/// ALTER TABLE ... ATTACH and DETACH PARTITION, ALTER INDEX ... ATTACH PARTITION.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionStatement {
    /// ALTER TABLE ... ATTACH PARTITION.
    Attach {
        /// The table that becomes a partition.
        table: TableRef,
        /// Place that it gets.
        place: PartitionPlace,
    },
    /// ALTER TABLE ... DETACH PARTITION.
    Detach {
        /// The partitioned table.
        parent: TableRef,
        /// The partition.
        table: TableRef,
    },
    /// ALTER INDEX ... ATTACH PARTITION.
    AttachIndex {
        /// Index of the partitioned table.
        index: RelationName,
        /// Index of the partition.
        part: RelationName,
    },
}

/// Action of the end of a transaction on a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// Nothing: PRESERVE ROWS.
    #[default]
    Keep,
    /// The table loses its rows.
    DeleteRows,
    /// The table is dropped.
    Drop,
}

/// CREATE TABLE AS.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    /// Its name.
    pub name: RelationName,
    /// Where the rows come from: its result columns are `columns`, by position.
    pub query: Query,
    /// Columns of the new table.
    pub columns: Vec<ColumnDef>,
    /// When the table exists.
    pub if_exists: IfExists,
    /// WITH (...).
    pub options: Vec<(String, String)>,
    /// TEMPORARY or not.
    pub persistence: Persistence,
    /// ON COMMIT.
    pub on_commit: OnCommit,
    /// WITH DATA or WITH NO DATA.
    pub data: WithData,
}

/// WITH DATA or WITH NO DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithData {
    /// The rows are inserted.
    Fill,
    /// The table stays empty.
    Empty,
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// Its name.
    pub name: RelationName,
    /// Column names given after the name; empty when the query's own are used.
    pub columns: Vec<String>,
    /// The query as the user wrote it; it was bound once, so it is valid now.
    pub sql: String,
    /// Names and types of the columns, as bound now.
    pub output: Vec<(String, DataType)>,
    /// When the view exists.
    pub if_exists: IfExists,
    /// TEMPORARY or not.
    pub persistence: Persistence,
    /// Options as `name=value`, in order.
    pub options: Vec<String>,
}

/// CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMaterialized {
    /// Name and query as of a view; its output has the types that the query gives.
    pub view: CreateView,
    /// Columns of its rows.
    pub columns: Vec<ColumnDef>,
    /// Where the rows come from: its result columns are `columns`, by position.
    pub query: Query,
    /// WITH (...) about the rows.
    pub options: Vec<(String, String)>,
    /// WITH DATA or WITH NO DATA.
    pub data: WithData,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshMaterialized {
    /// The view.
    pub name: RelationName,
    /// CONCURRENTLY or not.
    pub mode: RefreshMode,
    /// WITH DATA or WITH NO DATA.
    pub data: WithData,
}

/// How REFRESH MATERIALIZED VIEW brings rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshMode {
    /// All rows are new; readers wait.
    Anew,
    /// CONCURRENTLY: rows that differ are written; readers go on.
    Concurrently,
}

/// ALTER VIEW with options or a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterView {
    /// The view.
    pub name: RelationName,
    /// The change.
    pub change: ViewChange,
}

/// Change of a view that leaves its query as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    /// SET: options as `name=value`.
    Set(Vec<String>),
    /// RESET: names of options.
    Reset(Vec<String>),
    /// SET DEFAULT of a column, an expression as text, or DROP DEFAULT.
    Default(String, Option<String>),
}

/// ALTER VIEW ... RENAME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameView {
    /// The view.
    pub name: RelationName,
    /// The column that gets another name; None for the view itself.
    pub column: Option<String>,
    /// The new name.
    pub to: String,
}

/// A statement that found nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// How PostgreSQL names it.
    pub command: &'static str,
    /// Notices for the client, each with its SQLSTATE.
    pub notices: Vec<(SqlState, String)>,
}

/// A statement that changes nothing here, or ALTER TABLE with actions of that kind.
#[derive(Clone, Debug)]
pub struct Effectless {
    /// How PostgreSQL names it.
    pub command: &'static str,
    /// How an error names it in a transaction block, if it must not stand in one.
    pub apart: Option<&'static str>,
    /// The index that it is about, and what happens when there is none.
    pub index: Option<(RelationName, IfMissing)>,
    /// Notices for the client, each with its SQLSTATE.
    pub notices: Vec<(SqlState, String)>,
    /// The other actions.
    pub rest: Option<Box<Statement>>,
}

/// DROP TABLE, VIEW, INDEX or SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRelations {
    /// Objects to drop.
    pub names: Vec<RelationName>,
    /// When one does not exist.
    pub if_missing: IfMissing,
    /// Treatment of dependent objects.
    pub behaviour: DropBehaviour,
}

/// CREATE WIDE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateWideTable {
    /// Its name.
    pub name: RelationName,
    /// The fact table, whose foreign keys are followed.
    pub fact: RelationName,
    /// When the name is taken.
    pub if_exists: IfExists,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Its name; when `chosen`, another number behind it is as good.
    pub name: String,
    /// Whose the name is.
    pub naming: Naming,
    /// The table.
    pub table: TableRef,
    /// Its columns, most significant first.
    pub columns: Vec<IndexColumn>,
    /// UNIQUE.
    pub unique: Uniqueness,
    /// USING.
    pub kind: IndexKind,
    /// Its expressions, and WHERE.
    pub terms: IndexTerms,
    /// When a relation of this name exists.
    pub if_exists: IfExists,
    /// The partitions of the table that get one, too, each before those below it.
    pub partitions: Vec<TableRef>,
}

/// Origin of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The user: 42P07 when it is taken.
    Given,
    /// The binder: `t_a_idx` becomes `t_a_idx1` and so on when it is taken.
    Chosen,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// Its name.
    pub name: RelationName,
    /// How it counts.
    pub definition: SequenceDef,
    /// OWNED BY: table and ordinal of the column.
    pub owner: Option<(TableRef, usize)>,
    /// When a relation of this name exists.
    pub if_exists: IfExists,
    /// TEMPORARY or not.
    pub persistence: Persistence,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    /// Its name.
    pub name: RelationName,
    /// When it does not exist.
    pub if_missing: IfMissing,
    /// Change to make.
    pub change: SequenceChange,
}

/// Change that ALTER SEQUENCE makes.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceChange {
    /// Options.
    Options {
        /// The definition as it becomes.
        definition: SequenceDef,
        /// RESTART: the next value.
        restart: Option<i64>,
        /// OWNED BY: the new owner, None inside for OWNED BY NONE.
        owner: Option<Option<(TableRef, usize)>>,
    },
    /// RENAME TO.
    Rename(String),
}

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The table as it is.
    pub table: TableRef,
    /// The changes, in order; ordinals and names count after the changes before.
    pub actions: Vec<AlterAction>,
    /// When values change (a column is added or gets another type): all rows with the columns
    /// that the table has after all actions, in order. None when the rows stay as they are but
    /// for dropped columns.
    pub rewrite: Option<Box<Query>>,
    /// The same of its partitions, each before those below it.
    pub partitions: Vec<AlterTable>,
}

/// Inheritance of a table from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct SetInheritance {
    /// The whole of it.
    pub inheritance: Inheritance,
    /// A parent that is new.
    pub joins: Option<TableRef>,
    /// Notices about what is one with a parent's.
    pub merged: Vec<MergeNotice>,
}

/// One change of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// INHERIT, NO INHERIT, and what follows from other changes for tables below others.
    SetInheritance(Box<SetInheritance>),
    /// ADD COLUMN, at the end; its constraints follow as further actions.
    AddColumn {
        /// The column.
        column: ColumnDef,
        /// Its sequence, for `serial` and identity columns.
        sequence: Option<Box<ColumnSequence>>,
    },
    /// DROP COLUMN. Constraints that involve the column were dropped by actions before.
    DropColumn {
        /// Its ordinal.
        column: usize,
        /// Its name.
        name: String,
        /// Indexes whose expressions or predicates read it: they go with it.
        indexes: Vec<String>,
        /// Treatment of dependent objects.
        behaviour: DropBehaviour,
    },
    /// RENAME COLUMN.
    RenameColumn(Box<RenamedColumn>),
    /// RENAME TO.
    Rename(String),
    /// RENAME CONSTRAINT.
    RenameConstraint {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// SET DEFAULT; None for DROP DEFAULT.
    SetDefault {
        /// Ordinal of the column.
        column: usize,
        /// SQL text.
        default: Option<String>,
    },
    /// DROP EXPRESSION: a generated column keeps its values and is one no longer.
    DropExpression {
        /// Ordinal of the column.
        column: usize,
    },
    /// SET NOT NULL or DROP NOT NULL.
    SetNullable {
        /// Ordinal of the column.
        column: usize,
        /// NULLs that it may hold from now on.
        nulls: Nullability,
    },
    /// TYPE.
    SetType {
        /// Ordinal of the column.
        column: usize,
        /// The new type.
        ty: DataType,
        /// The domain that was named as the type.
        domain: Option<DomainUse>,
        /// COLLATE behind the type.
        collation: Option<Collation>,
    },
    /// ADD GENERATED ... AS IDENTITY.
    AddIdentity(Box<ColumnSequence>),
    /// SET GENERATED, SET of options of the sequence, RESTART.
    SetIdentity {
        /// Ordinal of the column.
        column: usize,
        /// The kind that it is from now on.
        kind: IdentityKind,
        /// How the sequence counts from now on.
        definition: SequenceDef,
        /// RESTART: the next value.
        restart: Option<i64>,
    },
    /// DROP IDENTITY: the column keeps its values, the sequence goes.
    DropIdentity {
        /// Ordinal of the column.
        column: usize,
    },
    /// ADD PRIMARY KEY or UNIQUE. Columns of a primary key become NOT NULL.
    AddKey(KeyDef),
    /// ADD EXCLUDE: the index that serves it.
    AddExclusion(Box<IndexMeta>),
    /// ADD PRIMARY KEY or UNIQUE USING INDEX: the index gets the name of the key.
    AdoptIndex {
        /// Its name until then.
        index: String,
        /// The key that it serves.
        key: KeyDef,
    },
    /// ADD CHECK.
    AddCheck(CheckDef),
    /// ADD FOREIGN KEY.
    AddForeignKey(Box<ForeignKeyDef>),
    /// ALTER CONSTRAINT of a foreign key.
    SetDeferral {
        /// Its name.
        name: String,
        /// When it is tested from now on.
        deferral: Deferral,
    },
    /// SET (order_by = ...); RESET (order_by) for None.
    SetOrder {
        /// Ordinal of the column by which loads sort the rows of each block.
        column: Option<usize>,
    },
    /// VALIDATE CONSTRAINT of a check or a foreign key.
    ValidateConstraint {
        /// Its name.
        name: String,
    },
    /// DROP CONSTRAINT, one that exists.
    DropConstraint {
        /// Its name.
        name: String,
        /// CASCADE drops foreign keys that rely on it.
        behaviour: DropBehaviour,
    },
}

/// A column with a new name, and what names it.
#[derive(Clone, Debug, PartialEq)]
pub struct RenamedColumn {
    /// Its ordinal.
    pub column: usize,
    /// The new name.
    pub name: String,
    /// All CHECK constraints of the table as they are then.
    pub checks: Vec<CheckDef>,
    /// Expressions of generated columns that name it, by ordinal, as they are then.
    pub generated: Vec<(usize, String)>,
    /// Terms of indexes, by the name of the index, as they are then.
    pub terms: Vec<(String, IndexTerms)>,
    /// Terms of the partition key as they are then, if it has some.
    pub key: Option<IndexTerms>,
}

/// Treatment of NULLs by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nullability {
    /// DROP NOT NULL.
    Nullable,
    /// SET NOT NULL: 23502 when a row has NULL.
    NotNull,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// The tables.
    pub tables: Vec<TableRef>,
    /// RESTART IDENTITY or not.
    pub identity: TruncateIdentity,
    /// CASCADE also empties tables whose foreign keys refer to these.
    pub behaviour: DropBehaviour,
}

/// Treatment of the columns' sequences by TRUNCATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncateIdentity {
    /// CONTINUE IDENTITY.
    Continue,
    /// RESTART IDENTITY.
    Restart,
}
