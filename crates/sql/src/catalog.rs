//! What the binder asks of the catalog. `engine` implements it.

mod foreign_key;

pub use foreign_key::{ForeignKeyDef, KeyMatch, ReferentialAction};

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use types::calendar::TimeZone;
use types::text::TextStyle;
use types::{DataType, Error, Position, RegKind, Result, SqlState, Value};

use crate::algebra::{Direction, Expr, NullsOrder, SessionFunction};
use crate::statement::{Access, RelationName};

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
    /// GENERATED ALWAYS AS (...) STORED: the expression as SQL text, see
    /// [`crate::bind_generated`]. Such a column has no default.
    pub generated: Option<String>,
}

impl ColumnDef {
    /// A column that takes NULL and has no default.
    pub fn new(name: impl Into<String>, ty: DataType) -> Self {
        Self { name: name.into(), ty, not_null: false, default: None, generated: None }
    }
}

/// Ordinal that stands for the TID of a row in [`crate::algebra::Plan::Scan`]: a BIGINT, never
/// NULL. It has no name in SQL.
pub const TID_COLUMN: usize = 0xffff;

/// PRIMARY KEY or UNIQUE.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDef {
    /// Constraint name, also of the index that enforces it.
    pub name: String,
    /// Ordinals of the columns.
    pub columns: Vec<usize>,
    /// True for the primary key.
    pub primary: bool,
    /// Whether NULLs count as different from each other.
    pub nulls: KeyNulls,
}

/// NULLS DISTINCT or NULLS NOT DISTINCT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyNulls {
    /// Rows with a NULL in the key are never equal.
    #[default]
    Distinct,
    /// NULL equals NULL.
    NotDistinct,
}

/// CHECK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDef {
    /// Constraint name.
    pub name: String,
    /// The condition as SQL text: see [`crate::bind_row_exprs`].
    pub sql: String,
    /// Whether all rows satisfy it.
    pub validity: Validity,
}

/// Whether a constraint was tested on the rows that were there before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Validity {
    /// It holds for all rows.
    #[default]
    Valid,
    /// NOT VALID: it holds for what was written since, and waits for VALIDATE CONSTRAINT.
    NotValid,
}

impl Validity {
    /// What a definition of the constraint ends with.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Valid => "",
            Self::NotValid => " NOT VALID",
        }
    }
}

/// Whether a constraint can wait for the end of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Deferral {
    /// NOT DEFERRABLE: it holds after each statement.
    #[default]
    Never,
    /// DEFERRABLE INITIALLY IMMEDIATE: it waits where SET CONSTRAINTS says so.
    Immediate,
    /// DEFERRABLE INITIALLY DEFERRED: it waits unless SET CONSTRAINTS says otherwise.
    Deferred,
}

impl Deferral {
    /// Whether SET CONSTRAINTS may change when it is tested.
    pub fn is_deferrable(self) -> bool {
        self != Self::Never
    }

    /// What a definition of the constraint ends with.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::Immediate => " DEFERRABLE",
            Self::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        }
    }
}

/// What a wide table holds: for each row of a fact table, the values of the rows that its foreign
/// keys lead to, as by outer joins.
///
/// Source: Chasseur 2015, section 2.4 (WideTable).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideDef {
    /// The fact table, then those that it leads to; each is reached from one before it. A table
    /// that several ways lead to is there several times.
    pub nodes: Vec<WideNode>,
    /// Where each column comes from: the node, and the ordinal in its table.
    pub columns: Vec<(usize, usize)>,
}

/// One table of a [`WideDef`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideNode {
    /// Its name.
    pub table: String,
    /// How it is reached; None for the fact table.
    pub link: Option<WideLink>,
}

/// The foreign key that leads to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideLink {
    /// The node that refers.
    pub from: usize,
    /// Ordinals of the referring columns.
    pub columns: Vec<usize>,
    /// Ordinals of the referenced key, by position in `columns`.
    pub references: Vec<usize>,
}

impl WideDef {
    /// The ordinal in the wide table of column `ordinal` of node `node`. A key column that the
    /// foreign key repeats is stored once, as the referring column.
    pub fn column(&self, node: usize, ordinal: usize) -> Option<usize> {
        if let Some(found) = self.columns.iter().position(|&c| c == (node, ordinal)) {
            return Some(found);
        }
        let link = self.nodes.get(node)?.link.as_ref()?;
        let at = link.references.iter().position(|&key| key == ordinal)?;
        self.column(link.from, link.columns[at])
    }
}

/// GENERATED ALWAYS or BY DEFAULT AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdentityKind {
    /// 428C9 when a value is given without OVERRIDING SYSTEM VALUE.
    Always,
    /// A given value is used.
    ByDefault,
}

/// The identity of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// ALWAYS or BY DEFAULT.
    pub kind: IdentityKind,
    /// The sequence behind it.
    pub sequence: RelationName,
}

/// How a sequence counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDef {
    /// SMALLINT, INTEGER or BIGINT.
    pub ty: DataType,
    /// INCREMENT, not 0.
    pub increment: i64,
    /// MINVALUE.
    pub min: i64,
    /// MAXVALUE.
    pub max: i64,
    /// START: the first value.
    pub start: i64,
    /// CACHE: values taken at once.
    pub cache: i64,
    /// CYCLE or NO CYCLE.
    pub wrap: SequenceWrap,
}

/// What a sequence does at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceWrap {
    /// NO CYCLE: 2200H.
    Fail,
    /// CYCLE.
    Cycle,
}

/// Whether an index refuses equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniqueness {
    /// It does not.
    No,
    /// UNIQUE: keys with a NULL are never equal.
    Distinct,
    /// UNIQUE NULLS NOT DISTINCT.
    NullsNotDistinct,
}

/// What an index can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// `btree`: equality, prefixes, ranges, order.
    Ordered,
    /// `hash`: equality of all columns.
    Hash,
    /// `csb`: CSB+-tree in each frozen block.
    Csb,
    /// `bitweaving`: woven codes in each frozen block.
    BitWeaving(WeaveForm),
    /// `bloom`: Bloom filter in each frozen block.
    Bloom {
        /// Bits for each distinct value of a block.
        bits_per_key: u32,
    },
}

/// How BitWeaving lays out bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeaveForm {
    /// `type = v`.
    Vertical,
    /// `type = h`.
    Horizontal,
}

impl IndexKind {
    /// The default of `bits_per_key`.
    pub const BITS_PER_KEY: u32 = 10;

    /// Its access method: what USING names.
    pub fn method(self) -> &'static str {
        match self {
            Self::Ordered => "btree",
            Self::Hash => "hash",
            Self::Csb => "csb",
            Self::BitWeaving(_) => "bitweaving",
            Self::Bloom { .. } => "bloom",
        }
    }

    /// What WITH says of it, where that is not the default.
    pub fn option(self) -> Option<(&'static str, String)> {
        match self {
            Self::BitWeaving(WeaveForm::Horizontal) => Some(("type", "h".to_owned())),
            Self::Bloom { bits_per_key } if bits_per_key != Self::BITS_PER_KEY => {
                Some(("bits_per_key", bits_per_key.to_string()))
            }
            _ => None,
        }
    }

    /// Whether it is part of blocks, and no index of the table: the planner knows nothing
    /// of it, scans choose it for each block.
    pub fn is_of_blocks(self) -> bool {
        !matches!(self, Self::Ordered | Self::Hash)
    }
}

/// [`IndexColumn::ordinal`] of the first expression of an index; the others follow.
pub const INDEX_EXPRESSION: usize = 0x1_0000;

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexColumn {
    /// Its ordinal in the table; from [`INDEX_EXPRESSION`] on, which one of
    /// [`IndexTerms::expressions`] it is.
    pub ordinal: usize,
    /// ASC or DESC.
    pub direction: Direction,
    /// NULLS FIRST or LAST.
    pub nulls: NullsOrder,
}

impl IndexColumn {
    /// The position of the expression that it is, if it is no column of the table.
    pub fn expression(&self) -> Option<usize> {
        self.ordinal.checked_sub(INDEX_EXPRESSION)
    }
}

/// An expression that an index has in the place of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexExpression {
    /// Its name as a column of the index.
    pub name: String,
    /// SQL text: see [`crate::bind_index_terms`].
    pub sql: String,
    /// Its type.
    pub ty: DataType,
}

impl IndexExpression {
    /// As a column of a definition: in parentheses unless it is a call.
    pub fn definition(&self) -> String {
        crate::bind::column_text(&self.sql)
    }

    /// As [`Self::definition`], and every operation in parentheses.
    pub fn full_definition(&self) -> String {
        crate::bind::column_text(&self.full_text())
    }

    /// Its text with every operation in parentheses.
    pub fn full_text(&self) -> String {
        crate::bind::full_text(&self.sql)
    }
}

/// What an index is made of beyond columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTerms {
    /// Its expressions.
    pub expressions: Vec<IndexExpression>,
    /// WHERE, as SQL text: only rows for which it is true have entries.
    pub predicate: Option<String>,
    /// Operator classes that were named and are not the usual ones of their columns: the column's
    /// position in the index, the name. Keys are ordered alike in all of them.
    pub classes: Vec<(usize, String)>,
}

impl IndexTerms {
    /// True for an index of columns and of all rows.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.predicate.is_none()
    }
}

/// [`IndexTerms`] over a row, whose column `i` is [`crate::algebra::ColumnId`] `i`.
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

/// An index as the binder and planner see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMeta {
    /// Its name.
    pub name: String,
    /// Its columns, most significant first.
    pub columns: Vec<IndexColumn>,
    /// Whether it refuses equal keys.
    pub unique: Uniqueness,
    /// What it is.
    pub kind: IndexKind,
    /// Its expressions and its predicate.
    pub terms: IndexTerms,
}

impl IndexMeta {
    /// Whether some rows have no entry.
    pub fn is_partial(&self) -> bool {
        self.terms.predicate.is_some()
    }

    /// The text of its predicate with every operation in parentheses.
    pub fn full_predicate(&self) -> Option<String> {
        self.terms.predicate.as_deref().map(crate::bind::full_text)
    }
}

/// A table as the binder and planner see it. The planner reads statistics through
/// `plan::Statistics`, found by downcasting [`TableMeta::object`].
pub trait TableMeta: Send + Sync {
    /// What the catalog calls it ([`RelationName::key`](crate::statement::RelationName::key)).
    fn name(&self) -> &str;
    /// Its name in its schema.
    fn bare_name(&self) -> &str {
        crate::statement::RelationName::name_of_key(self.name())
    }
    /// Its columns, by ordinal.
    fn columns(&self) -> &[ColumnDef];
    /// Its declared keys.
    fn keys(&self) -> &[KeyDef];
    /// Those keys that are known to hold for the rows: the planner relies on no others.
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
    /// What it holds, if it is a wide table: the database alone writes its rows.
    fn wide(&self) -> Option<&WideDef> {
        None
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
    /// Rows, counted or estimated; None when nothing is known.
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

/// What nextval and its kin ask of the session that runs a query. Sequences are named as
/// [`RelationName::parse`] reads them.
pub trait Sequences: Send + Sync {
    /// The next values of `sequence`, as many as `values` has room for, in order.
    ///
    /// # Errors
    /// 42P01 when there is no such sequence, 2200H at its end.
    fn next(&self, sequence: &str, values: &mut [i64]) -> Result<()>;

    /// The value that this session last got from `sequence`.
    ///
    /// # Errors
    /// 42P01; 55000 when it got none yet.
    fn current(&self, sequence: &str) -> Result<i64>;

    /// The value that this session last got from any sequence.
    ///
    /// # Errors
    /// 55000 when it got none yet.
    fn last(&self) -> Result<i64>;

    /// Sets `sequence`; when `called`, the next value is the one after `value`.
    ///
    /// # Errors
    /// 42P01; 22003 when the value is out of bounds.
    fn set(&self, sequence: &str, value: i64, called: SequenceCalled) -> Result<()>;

    /// Carries out a function of the session, whose arguments are of its parameters' types.
    ///
    /// # Errors
    /// What the function says; 0A000 where there is no session.
    fn call(&self, function: SessionFunction, arguments: &[Value]) -> Result<Value> {
        let _ = (function, arguments);
        Err(Error::unsupported("a function of the session in this place"))
    }
}

/// The third argument of setval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCalled {
    /// The next value is the one after.
    Yes,
    /// The next value is this.
    No,
}

/// Shared [`Sequences`].
#[derive(Clone)]
pub struct SequencesRef(pub Arc<dyn Sequences>);

impl fmt::Debug for SequencesRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sequences")
    }
}

impl PartialEq for SequencesRef {
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
        /// Whose rights its query runs with.
        rights: ViewRights,
    },
    /// A wide table whose rows are not those of the snapshot: who reads it computes them.
    StaleWide {
        /// The table.
        table: TableRef,
        /// The query that its rows come from, with its columns in order.
        sql: String,
        /// Whose rights that query runs with.
        rights: ViewRights,
    },
}

/// Whose rights count for what a view reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewRights {
    /// Anybody reads the view, one of the system.
    System,
    /// Those of its owner.
    Owner(String),
    /// Those of who asks.
    Asker,
}

/// Arguments of a table function or procedure: positional ones first, then named.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Values and their types, in order.
    pub positional: Vec<(Value, DataType)>,
    /// `name => value`.
    pub named: Vec<(String, Value, DataType)>,
}

/// How the types of exact results are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// Scaled integers wherever all values have one scale: those of more than 38 digits, which few
    /// programs ever compute, are an error at run time, and the statement is bound anew.
    Likely,
    /// Wide decimals wherever 38 digits may not do.
    All,
}

/// A consistent view of what exists.
pub trait Catalog {
    /// The relation called `name` (already case-folded), `schema` when qualified; without one it is
    /// of `public`, of the session, or of the system.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// The number of the row type of the relation whose key is `name`.
    fn row_type(&self, name: &str) -> u32 {
        let _ = name;
        0
    }

    /// The schema in which the search path finds the relation `name`, an index perhaps: None as in
    /// [`Self::relation`], [`RelationName::NOWHERE`](crate::statement::RelationName::NOWHERE) where
    /// there is none and `public` is not to be looked into.
    fn schema_of(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// The schema of new relations whose names have none; None is `public`.
    ///
    /// # Errors
    /// 3F000 when the search path has none.
    fn schema_of_new(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// How the session's clients get values as text.
    fn text_style(&self) -> TextStyle {
        TextStyle::default()
    }

    /// Whether there is a schema of this name.
    fn has_schema(&self, name: &str) -> bool {
        name == "public"
    }

    /// The schemas of the search path that there are; those of the system only if they are named.
    fn search_path(&self) -> Vec<String> {
        vec!["public".to_owned()]
    }

    /// The table function `name` bound to `arguments`; None when there is none of that name.
    ///
    /// # Errors
    /// Whatever the function finds wrong with the arguments, a missing file say.
    fn table_function(&self, name: &str, arguments: &Arguments)
    -> Option<Result<TableFunctionRef>>;

    /// The rows that `name`, which is no relation, stands for outside of the database: a variable
    /// of the program that runs the statement, say.
    ///
    /// # Errors
    /// Why what is called so cannot be read.
    fn outside(&self, name: &str) -> Option<Result<TableFunctionRef>> {
        let _ = name;
        None
    }

    /// The sequence called `name` (already case-folded), `schema` when qualified.
    fn sequence(&self, schema: Option<&str>, name: &str) -> Option<SequenceDef> {
        let _ = (schema, name);
        None
    }

    /// The parameter types of the session's prepared statement `name`.
    fn prepared(&self, name: &str) -> Option<Vec<DataType>> {
        let _ = name;
        None
    }

    /// The number of the session: pg_backend_pid().
    fn session_id(&self) -> i32 {
        1
    }

    /// The expression that a call of `name` with `count` arguments `$1`... stands for, when it is a
    /// function over the catalog's tables.
    fn template(&self, name: &str, count: usize) -> Option<&'static str> {
        let _ = (name, count);
        None
    }

    /// The object of `kind` that `text` names, as a value of `regclass` or its kin.
    ///
    /// # Errors
    /// 42P01, 42704, 42883, 3F000 when there is none, 42725 when there are several.
    fn object(&self, kind: RegKind, text: &str) -> Result<Value> {
        let message = format!("{} \"{text}\" does not exist", kind.name());
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
    }

    /// A type as a value of `regtype`.
    fn type_object(&self, ty: DataType) -> Value {
        types::object_value(0, ty.name())
    }

    /// Who the session is now: current_user.
    fn user(&self) -> &str {
        "tessera"
    }

    /// Who began the session: session_user.
    fn session_user(&self) -> &str {
        self.user()
    }

    /// Whether the session may do what a statement is about to do, in this order.
    ///
    /// # Errors
    /// 42501 for the first that it may not.
    fn check_access(&self, needed: &[Access]) -> Result<()> {
        let _ = needed;
        Ok(())
    }

    /// The statement means what it means because of the primary key of the table `name`.
    fn relies_on_key(&self, name: &str) {
        let _ = name;
    }

    /// The text that is bound reads the relation that the catalog calls `key` at this place.
    fn reads_at(&self, key: &str, at: Position) {
        let _ = (key, at);
    }

    /// How the types of exact results are chosen.
    fn digits(&self) -> Digits {
        Digits::Likely
    }

    /// The session's time zone.
    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    /// The time zone in which literals are read.
    fn literal_zone(&self) -> TimeZone {
        self.time_zone()
    }

    /// Microseconds since 1970 UTC at the transaction's start: now() and its kin. None when the
    /// statement is bound for more than one transaction: the time is then the value of a parameter
    /// behind those that [`bind`](crate::bind) was given, a TIMESTAMPTZ.
    fn now_micros(&self) -> Option<i64>;
}
