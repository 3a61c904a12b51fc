//! Bound statements: what a session is asked to do, names and types resolved.

mod attribute;
mod comment;
mod cursor;
mod define;
mod domain;
mod routine;
mod policy;
mod range_type;
mod trigger;
mod schema;
mod write;
mod transaction;

pub use attribute::AttributeChange;
pub use comment::{Comment, CommentTarget};
pub use cursor::{AtCursor, CursorRows, Declare};
pub use define::{
    AlterAction, AlterSequence, AlterTable, AlterView, ColumnSequence, CreateIndex,
    CreateMaterialized, CreateSequence, CreateTable, CreateTableAs, CreateView, CreateWideTable,
    DropRelations, Effectless, MergeNotice, Naming, Nullability, OnCommit, PartitionPlace,
    PartitionStatement, RefreshMaterialized, RefreshMode, RenameView, RenamedColumn,
    SequenceChange, SetInheritance, Skipped, Truncate, TruncateIdentity, ViewChange, WithData,
};
pub use domain::{DomainChange, DomainStatement, NewDomain};
pub use policy::{PolicyChange, PolicyStatement, RowSecuritySwitch};
pub use range_type::NewRange;
pub use routine::{CallRoutine, DoBlock, RoutineChange, RoutineStatement};
pub use schema::SchemaElements;
pub use transaction::{CreateExecuted, Execute, LockTable, Prepare, SetConstraints};
pub use trigger::{SwitchedTriggers, TriggerChange, TriggerStatement};
pub use write::{
    ArbiterCandidate, BusCall, BusCalls, ConflictAction, ConflictTarget, Delete, Insert, Matches,
    Merge, MergeAction, MergeTests, OnConflict, OpenTarget, Part, Returning, RowLock, RowPlace,
    RowRule, RowTest, RowVersion, SelectForUpdate, Turn, Update, WithChanges,
};

pub use crate::words::{
    ALWAYS_THERE, Access, AccessMode, Chain, CollationAction, CollationContent, CollationStatement,
    ConstraintMode, CursorForm, CursorHold, CursorOptions, CursorScroll, DatabaseOptions,
    DatabaseStatement, DefaultKind, Deferral, Discard, DropBehaviour, EXTENSIONS, ExtensionInfo,
    ExtensionStatement, Extent, Fetch, FetchAction, FetchTo, GrantAction, GrantOption, IfExists,
    IfMissing, InUse, Isolation, LockWait, NewLabel, ObjectKind, Objects, PasswordChange,
    Persistence, PreparedEnd, Privilege, PrivilegeStatement, Privileges, RelationName, RoleName,
    RoleOptions, RoleStatement, RoutineWord, RowLockStrength, SchemaStatement, Secret, SetScope,
    SetValue, TableLockMode, TransactionModes, TypeKind, TypeStatement, VacuumAnalyze,
    VacuumFreeze, privileges_in,
};

use types::{Attribute, DataType};

use crate::algebra::Query;
use crate::catalog::{Arguments, TableRef};

/// EXPLAIN or EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainMode {
    /// Show the plan.
    Plan,
    /// Run it and show what happened.
    Analyze,
}

/// How EXPLAIN shows plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines, inputs indented.
    Text,
    /// An array with an object for each query.
    Json,
    /// The same as elements.
    Xml,
    /// The same as lines.
    Yaml,
}

/// Rows that a COPY moves.
#[derive(Clone, Debug)]
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
    /// COPY (INSERT, UPDATE or DELETE ... RETURNING) TO.
    Statement(Box<Statement>),
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
#[derive(Clone, Debug)]
pub struct Copy {
    /// FROM or TO.
    pub direction: CopyDirection,
    /// Rows to move.
    pub item: CopyItem,
    /// WHERE of FROM, as SQL text over a row: see [`crate::bind_row_exprs`].
    pub condition: Option<String>,
    /// Where from or to.
    pub place: CopyPlace,
    /// FORMAT, in lower case, when given.
    pub format: Option<String>,
    /// The other options: names in lower case, values as text; `true` for a name alone. A list of
    /// columns is comma-separated.
    pub options: Vec<(String, String)>,
}

/// How much of a plan EXPLAIN shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainDetail {
    /// The plan.
    Chosen,
    /// VERBOSE: the ways to rows that were weighed, too, with their costs.
    Considered,
}

/// The options of EXPLAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// ANALYZE runs the statement.
    pub mode: ExplainMode,
    /// How plans are written.
    pub format: ExplainFormat,
    /// How much of them is shown.
    pub detail: ExplainDetail,
}

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT, VALUES, TABLE.
    Query(Query),
    /// EXPLAIN.
    Explain {
        /// Choices of what is done and shown.
        options: ExplainOptions,
        /// Statement to explain.
        statement: Box<Statement>,
    },
    /// SELECT ... FOR UPDATE and its kin.
    SelectForUpdate(Box<SelectForUpdate>),
    /// Calls of the message bus: always a part of [`Self::WithChanges`].
    BusCalls(Box<BusCalls>),
    /// WITH whose queries change rows, and statements with other parts.
    WithChanges(Box<WithChanges>),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE AS.
    CreateTableAs(Box<CreateTableAs>),
    /// ALTER TABLE; None when IF EXISTS found nothing.
    AlterTable(Option<Box<AlterTable>>),
    /// ATTACH and DETACH PARTITION.
    Partition(Box<PartitionStatement>),
    /// ALTER INDEX ... RENAME TO.
    RenameIndex {
        /// Its name.
        name: RelationName,
        /// The new one.
        to: String,
    },
    /// CREATE, ALTER, DROP POLICY, ALTER TABLE ... ROW LEVEL SECURITY.
    Policy(Box<PolicyStatement>),
    /// CREATE, ALTER, DROP TRIGGER, ALTER TABLE ... ENABLE and DISABLE TRIGGER.
    Trigger(Box<TriggerStatement>),
    /// ALTER VIEW with options or a default.
    AlterView(AlterView),
    /// ALTER VIEW ... RENAME.
    RenameView(RenameView),
    /// Statements that found nothing to do.
    Skipped(Skipped),
    /// CREATE SCHEMA with tables, views and others.
    SchemaElements(Box<SchemaElements>),
    /// Statements that change nothing here.
    Effectless(Effectless),
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
    /// CREATE MATERIALIZED VIEW.
    CreateMaterialized(Box<CreateMaterialized>),
    /// REFRESH MATERIALIZED VIEW.
    RefreshMaterialized(RefreshMaterialized),
    /// ALTER MATERIALIZED VIEW ... RENAME.
    AlterMaterialized(Box<AlterTable>),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// CREATE SEQUENCE.
    CreateSequence(Box<CreateSequence>),
    /// ALTER SEQUENCE; None when IF EXISTS found nothing.
    AlterSequence(Option<Box<AlterSequence>>),
    /// CREATE WIDE TABLE.
    CreateWideTable(CreateWideTable),
    /// REFRESH WIDE TABLE.
    RefreshWideTable(RelationName),
    /// DROP TABLE.
    DropTable(DropRelations),
    /// DROP WIDE TABLE.
    DropWideTable(DropRelations),
    /// DROP VIEW.
    DropView(DropRelations),
    /// DROP MATERIALIZED VIEW.
    DropMaterialized(DropRelations),
    /// DROP INDEX.
    DropIndex(DropRelations),
    /// DROP SEQUENCE.
    DropSequence(DropRelations),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// MERGE.
    Merge(Box<Merge>),
    /// TRUNCATE.
    Truncate(Truncate),
    /// COPY.
    Copy(Box<Copy>),
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
        /// Time for which it holds.
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
    Commit(Chain),
    /// ROLLBACK, ABORT.
    Rollback(Chain),
    /// PREPARE TRANSACTION: the name that the transaction has from then on.
    PrepareTransaction(String),
    /// COMMIT PREPARED, ROLLBACK PREPARED: the name of the transaction.
    EndPrepared(PreparedEnd, String),
    /// SAVEPOINT.
    Savepoint(String),
    /// RELEASE SAVEPOINT.
    Release(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
    /// SET TRANSACTION.
    SetTransaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetSessionTransaction(TransactionModes),
    /// SET CONSTRAINTS.
    SetConstraints(SetConstraints),
    /// LOCK TABLE.
    LockTable(LockTable),
    /// PREPARE.
    Prepare(Box<Prepare>),
    /// EXECUTE.
    Execute(Execute),
    /// UPDATE or DELETE WHERE CURRENT OF.
    AtCursor(Box<AtCursor>),
    /// CREATE TABLE AS EXECUTE.
    CreateExecuted(Box<CreateExecuted>),
    /// DEALLOCATE; None for ALL.
    Deallocate(Option<String>),
    /// DISCARD.
    Discard(Discard),
    /// COMMENT ON.
    Comment(Box<Comment>),
    /// CREATE, ALTER, DROP ROLE.
    Role(Box<RoleStatement>),
    /// GRANT, REVOKE, ALTER ... OWNER TO.
    Privilege(Box<PrivilegeStatement>),
    /// CREATE, ALTER, DROP SCHEMA, ALTER ... SET SCHEMA.
    Schema(Box<SchemaStatement>),
    /// CREATE, ALTER, DROP DATABASE.
    Database(Box<DatabaseStatement>),
    /// CREATE, ALTER, DROP EXTENSION.
    Extension(Box<ExtensionStatement>),
    /// CREATE, ALTER, DROP COLLATION.
    Collation(Box<CollationStatement>),
    /// CREATE, ALTER, DROP TYPE.
    Type(Box<TypeStatement>),
    /// CREATE TYPE ... AS (...).
    CreateComposite {
        /// Its name.
        name: RelationName,
        /// Its attributes.
        attributes: Vec<Attribute>,
    },
    /// ALTER TYPE ... ATTRIBUTE.
    AlterComposite {
        /// The type.
        name: RelationName,
        /// Changes, in order.
        changes: Vec<AttributeChange>,
    },
    /// CREATE TYPE ... AS RANGE.
    CreateRange(Box<NewRange>),
    /// CREATE and ALTER DOMAIN.
    Domain(Box<DomainStatement>),
    /// CREATE, ALTER and DROP of functions and procedures.
    Routine(Box<RoutineStatement>),
    /// CALL of a procedure that users made.
    CallRoutine(Box<CallRoutine>),
    /// DO.
    Do(DoBlock),
    /// LISTEN: the channel.
    Listen(String),
    /// UNLISTEN: the channel; None for all.
    Unlisten(Option<String>),
    /// NOTIFY.
    Notify {
        /// The channel.
        channel: String,
        /// Text of the message.
        payload: String,
    },
    /// DECLARE.
    Declare(Box<Declare>),
    /// FETCH, MOVE.
    Fetch(Fetch),
    /// CLOSE: the cursor; None for all.
    CloseCursor(Option<String>),
    /// BACKUP TO: the directory.
    Backup(String),
    /// CHECKPOINT.
    Checkpoint,
    /// ANALYZE; none for every table.
    Analyze {
        /// The tables.
        tables: Vec<TableRef>,
    },
    /// VACUUM; none for every table.
    Vacuum {
        /// The tables.
        tables: Vec<TableRef>,
        /// Whether their rows are to be frozen.
        freezing: VacuumFreeze,
        /// Whether their statistics are to be gathered.
        analyze: VacuumAnalyze,
    },
}

impl Statement {
    /// The types of its parameters `$1`...: those given to the binder and those inferred.
    pub fn parameters(&self) -> &[DataType] {
        match self {
            Self::Query(query) => &query.parameters,
            Self::SelectForUpdate(select) => &select.query.parameters,
            Self::BusCalls(calls) => &calls.source.parameters,
            Self::Insert(insert) => &insert.source.parameters,
            Self::Update(update) => &update.source.parameters,
            Self::Delete(delete) => &delete.source.parameters,
            Self::Merge(merge) => &merge.source.parameters,
            Self::WithChanges(with) => with.main.parameters(),
            Self::CreateTableAs(create) => &create.query.parameters,
            Self::CallRoutine(call) => &call.arguments.parameters,
            Self::Declare(declare) => &declare.rows.query().parameters,
            Self::AtCursor(at) => at.statement.parameters(),
            Self::Explain { statement, .. } => statement.parameters(),
            Self::Copy(copy) => match &copy.item {
                CopyItem::Query(query) => &query.parameters,
                CopyItem::Statement(statement) => statement.parameters(),
                CopyItem::Table { .. } => &[],
            },
            Self::Execute(execute) => {
                execute.arguments.as_ref().map_or(&[], |query| &query.parameters)
            }
            _ => &[],
        }
    }
}
