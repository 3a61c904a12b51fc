//! Bound statements: what a session is asked to do, names and types resolved.

use types::DataType;

use crate::algebra::Query;
use crate::catalog::{Arguments, ColumnDef, KeyDef, TableRef};

/// Name of a table or view, case-folded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelationName {
    /// The schema, when the name was qualified.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
}

impl std::fmt::Display for RelationName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// EXPLAIN or EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainMode {
    /// Show the plan.
    Plan,
    /// Run it and show what happened.
    Analyze,
}

/// What to do when the object to create exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// 42P07.
    Fail,
    /// IF NOT EXISTS: nothing happens.
    Skip,
    /// OR REPLACE.
    Replace,
}

/// What to do when the object to drop does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// 42P01.
    Fail,
    /// IF EXISTS: nothing happens.
    Skip,
}

/// CASCADE or RESTRICT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBehaviour {
    /// 2BP01 when something depends on it.
    Restrict,
    /// Dependent objects are dropped too.
    Cascade,
}

/// How long a table lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Until dropped.
    Permanent,
    /// Until the session ends.
    Temporary,
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
    /// When the table exists.
    pub if_exists: IfExists,
    /// WITH (...): names in lower case and values as text, `layout` say.
    pub options: Vec<(String, String)>,
    /// TEMPORARY or not.
    pub persistence: Persistence,
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
}

/// DROP TABLE or DROP VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRelations {
    /// What to drop.
    pub names: Vec<RelationName>,
    /// When one does not exist.
    pub if_missing: IfMissing,
    /// What happens to dependent objects.
    pub behaviour: DropBehaviour,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The target.
    pub table: TableRef,
    /// Rows with exactly the table's columns, in table order and of their types.
    pub source: Query,
}

/// What a COPY moves.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyItem {
    /// A table and the ordinals of the columns moved, in the order of the file.
    Table {
        /// The table.
        table: TableRef,
        /// Ordinals of its columns.
        columns: Vec<usize>,
    },
    /// COPY (query) TO.
    Query(Query),
}

/// FROM or TO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// Into the table.
    From,
    /// Out of the database.
    To,
}

/// The other end of a COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyPlace {
    /// A file.
    File(String),
    /// STDIN or STDOUT.
    Standard,
}

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// FROM or TO.
    pub direction: CopyDirection,
    /// What is moved.
    pub item: CopyItem,
    /// Where from or to.
    pub place: CopyPlace,
    /// FORMAT, in lower case, when given.
    pub format: Option<String>,
    /// The other options: names in lower case, values as text; `true` for a name alone. A list of
    /// columns is comma-separated.
    pub options: Vec<(String, String)>,
}

/// The value of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// DEFAULT.
    Default,
    /// Text of the values, comma-separated.
    Text(String),
}

/// For how long SET holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetScope {
    /// Until the session ends.
    Session,
    /// SET LOCAL: until the transaction ends.
    Transaction,
}

/// Isolation level asked for by BEGIN or SET TRANSACTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED, READ COMMITTED and REPEATABLE READ: one snapshot per transaction.
    Snapshot,
    /// SERIALIZABLE.
    Serializable,
}

/// READ WRITE or READ ONLY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// READ WRITE
    ReadWrite,
    /// READ ONLY
    ReadOnly,
}

/// Modes of a transaction; None is the session's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY or READ WRITE.
    pub access: Option<AccessMode>,
}

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT, VALUES, TABLE.
    Query(Query),
    /// EXPLAIN.
    Explain {
        /// Whether it runs.
        mode: ExplainMode,
        /// What is explained.
        statement: Box<Statement>,
    },
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// CREATE TABLE AS.
    CreateTableAs(CreateTableAs),
    /// CREATE VIEW.
    CreateView(CreateView),
    /// DROP TABLE.
    DropTable(DropRelations),
    /// DROP VIEW.
    DropView(DropRelations),
    /// INSERT.
    Insert(Insert),
    /// TRUNCATE.
    Truncate(Vec<TableRef>),
    /// COPY.
    Copy(Copy),
    /// CALL.
    Call {
        /// The procedure, case-folded.
        name: String,
        /// Its arguments, constants.
        arguments: Arguments,
    },
    /// SET.
    Set {
        /// The parameter, case-folded.
        name: String,
        /// Its value.
        value: SetValue,
        /// For how long.
        scope: SetScope,
    },
    /// SHOW; `all` for SHOW ALL.
    Show {
        /// The parameter, case-folded.
        name: String,
    },
    /// RESET; None for RESET ALL.
    Reset {
        /// The parameter, case-folded.
        name: Option<String>,
    },
    /// BEGIN, START TRANSACTION.
    Begin(TransactionModes),
    /// COMMIT, END.
    Commit,
    /// ROLLBACK, ABORT.
    Rollback,
    /// SET TRANSACTION.
    SetTransaction(TransactionModes),
    /// ANALYZE; None for every table.
    Analyze {
        /// The table.
        table: Option<TableRef>,
    },
}
