//! Bound statements: what a session is asked to do, names and types resolved.

mod comment;
mod cursor;
mod define;
mod privilege;
mod role;
mod schema;
mod write;
mod transaction;

pub use comment::{Comment, CommentTarget};
pub use cursor::{
    AtCursor, CursorForm, CursorHold, CursorOptions, CursorRows, CursorScroll, Declare, Fetch,
    FetchAction, FetchTo,
};
pub use define::{
    AlterAction, AlterSequence, AlterTable, ColumnSequence, CreateIndex, CreateSequence,
    CreateTable, CreateTableAs, CreateView, CreateWideTable, DropRelations, Effectless, Naming,
    Nullability, OnCommit, RenameView, SequenceChange, Skipped, Truncate, TruncateIdentity,
    WithData,
};
pub use privilege::{
    Access, DefaultKind, Extent, GrantAction, GrantOption, ObjectKind, Objects, Privilege,
    PrivilegeStatement, Privileges, RoleName, privileges_in,
};
pub use role::{PasswordChange, RoleOptions, RoleStatement, Secret};
pub use schema::{SchemaElements, SchemaStatement};
pub use transaction::{
    AccessMode, Chain, ConstraintMode, CreateExecuted, Deferral, Discard, Execute, Isolation,
    LockTable, Prepare, SetConstraints, TableLockMode, TransactionModes,
};
pub use write::{
    ConflictAction, ConflictTarget, Delete, Insert, LockWait, Matches, Merge, MergeAction,
    OnConflict, Part, Returning, RowLock, RowLockStrength, SelectForUpdate, Turn, Update,
    WithChanges,
};

use types::{DataType, Error, Result, SqlState};

use crate::algebra::Query;
use crate::catalog::{Arguments, TableRef};

/// Name of a table or view, case-folded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelationName {
    /// The schema, when the name was qualified, or is not `public` by the search path.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
}

impl std::fmt::Display for RelationName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) if schema != Self::NOWHERE => write!(f, "{schema}.{}", self.name),
            _ => f.write_str(&self.name),
        }
    }
}

impl RelationName {
    /// Stands for the schema of a name that no schema of the search path has.
    pub const NOWHERE: &str = "\0";

    /// The name in `public`.
    pub fn public(name: &str) -> Self {
        Self { schema: None, name: name.to_owned() }
    }

    /// Its schema.
    pub fn schema_name(&self) -> &str {
        match self.schema.as_deref() {
            None | Some("main") => "public",
            Some(schema) => schema,
        }
    }

    /// What the catalog calls the relation: its name in `public`, and `schema.name` elsewhere;
    /// those of the session are in `pg_temp`. A name in `public` with a point has another one in
    /// front.
    pub fn key(&self) -> String {
        match self.schema.as_deref() {
            None | Some("public" | "main") if self.name.contains('.') => {
                format!(".{}", self.name)
            }
            None | Some("public" | "main") => self.name.clone(),
            Some(schema) => format!("{schema}.{}", self.name),
        }
    }

    /// The relation that the catalog calls `key`.
    pub fn of_key(key: &str) -> Self {
        match key.split_once('.') {
            None | Some(("", _)) => Self::public(key.strip_prefix('.').unwrap_or(key)),
            Some((schema, name)) => Self { schema: Some(schema.to_owned()), ..Self::public(name) },
        }
    }

    /// What the catalog calls a relation `name` in the schema of the relation that it calls `key`.
    pub fn key_beside(key: &str, name: &str) -> String {
        Self { name: name.to_owned(), ..Self::of_key(key) }.key()
    }

    /// The schema of the relation that the catalog calls `key`.
    pub fn schema_of_key(key: &str) -> &str {
        match key.split_once('.') {
            None | Some(("", _)) => "public",
            Some((schema, _)) => schema,
        }
    }

    /// Its name there.
    pub fn name_of_key(key: &str) -> &str {
        key.split_once('.').map_or(key, |(_, name)| name)
    }

    /// The name that `text` writes by SQL's rules for identifiers, as nextval takes it.
    ///
    /// # Errors
    /// 42602 for text that is no name of one or two parts.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
        let mut parts: Vec<String> = Vec::new();
        let mut rest = text.trim();
        loop {
            let (part, after) = match rest.strip_prefix('"') {
                Some(quoted) => {
                    // Two quotes inside are one.
                    let mut quotes = quoted.match_indices('"').map(|(at, _)| at);
                    let is_end = |at: &usize| !quoted[at + 1..].starts_with('"');
                    let end = loop {
                        let at = quotes.next().ok_or_else(invalid)?;
                        if is_end(&at) {
                            break at;
                        }
                        quotes.next();
                    };
                    (quoted[..end].replace("\"\"", "\""), &quoted[end + 1..])
                }
                None => {
                    let end = rest.find('.').unwrap_or(rest.len());
                    (rest[..end].trim().to_lowercase(), &rest[end..])
                }
            };
            if part.is_empty() {
                return Err(invalid());
            }
            parts.push(part);
            let after = after.trim_start();
            match after.strip_prefix('.') {
                Some(after) => rest = after.trim_start(),
                None if after.is_empty() => break,
                None => return Err(invalid()),
            }
        }
        match <[String; 2]>::try_from(parts) {
            Ok([schema, name]) => Ok(Self { schema: Some(schema), name }),
            Err(mut parts) if parts.len() == 1 => {
                Ok(Self { schema: None, name: parts.swap_remove(0) })
            }
            Err(_) => Err(invalid()),
        }
    }

    /// [`Self::quoted`] with its schema, whatever that is: no search path reads it otherwise.
    pub fn quoted_in_schema(&self) -> String {
        let schema = Some(self.schema_name().to_owned());
        Self { schema, name: self.name.clone() }.quoted()
    }

    /// The name as [`Self::parse`] reads it back.
    pub fn quoted(&self) -> String {
        let part = |part: &String| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if part.chars().all(plain) && !part.starts_with(|c: char| c.is_ascii_digit()) {
                part.clone()
            } else {
                format!("\"{}\"", part.replace('"', "\"\""))
            }
        };
        match &self.schema {
            Some(schema) => format!("{}.{}", part(schema), part(&self.name)),
            None => part(&self.name),
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

/// How EXPLAIN shows plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines, inputs indented.
    Text,
    /// An array with an object for each query.
    Json,
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

/// What a COPY moves.
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

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT, VALUES, TABLE.
    Query(Query),
    /// EXPLAIN.
    Explain {
        /// Whether it runs.
        mode: ExplainMode,
        /// How it is shown.
        format: ExplainFormat,
        /// What is explained.
        statement: Box<Statement>,
    },
    /// SELECT ... FOR UPDATE and its kin.
    SelectForUpdate(Box<SelectForUpdate>),
    /// WITH whose queries change rows.
    WithChanges(Box<WithChanges>),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE AS.
    CreateTableAs(Box<CreateTableAs>),
    /// ALTER TABLE; None when IF EXISTS found nothing.
    AlterTable(Option<Box<AlterTable>>),
    /// ALTER INDEX ... RENAME TO.
    RenameIndex {
        /// Its name.
        name: RelationName,
        /// The new one.
        to: String,
    },
    /// ALTER VIEW ... RENAME.
    RenameView(RenameView),
    /// What found nothing to do.
    Skipped(Skipped),
    /// CREATE SCHEMA with tables, views and others.
    SchemaElements(Box<SchemaElements>),
    /// What changes nothing here.
    Effectless(Effectless),
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
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
    Commit(Chain),
    /// ROLLBACK, ABORT.
    Rollback(Chain),
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
    /// LISTEN: the channel.
    Listen(String),
    /// UNLISTEN: the channel; None for all.
    Unlisten(Option<String>),
    /// NOTIFY.
    Notify {
        /// The channel.
        channel: String,
        /// What is said.
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
    /// ANALYZE; None for every table.
    Analyze {
        /// The table.
        table: Option<TableRef>,
    },
    /// VACUUM, accepted; none for every table.
    Vacuum {
        /// The tables.
        tables: Vec<TableRef>,
    },
}

impl Statement {
    /// The types of its parameters `$1`...: those given to the binder and those inferred.
    pub fn parameters(&self) -> &[DataType] {
        match self {
            Self::Query(query) => &query.parameters,
            Self::SelectForUpdate(select) => &select.query.parameters,
            Self::Insert(insert) => &insert.source.parameters,
            Self::Update(update) => &update.source.parameters,
            Self::Delete(delete) => &delete.source.parameters,
            Self::Merge(merge) => &merge.source.parameters,
            Self::WithChanges(with) => with.main.parameters(),
            Self::CreateTableAs(create) => &create.query.parameters,
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
