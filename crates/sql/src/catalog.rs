//! Catalog that the binder reads. `engine` implements it.

pub use crate::algebra::{
    BoundTableFunction, BoundTerms, FunctionIndex, MaterializedRows, SourcePart, TableFunctionRef,
    TableMeta, TableRef, TakesRestrictions,
};
pub use crate::definition::{
    AggregateDef, BodyForm, CheckDef, CheckScope, ColumnDef, Deferral, Domain, DomainDef, DomainOf,
    DomainUse, Exclusion, ExclusionElement, ExclusionMethod, ExclusionOperator, Family,
    ForeignKeyDef, INDEX_EXPRESSION, Identity, IdentityKind, IndexColumn, IndexExpression,
    IndexKind, IndexMeta, IndexTerms, Inheritance, Instance, KeyDef, KeyMatch, KeyNulls, Language,
    LastTakes, NamedMethod, NullInput, PARTITION_SHIFT, ParameterDef, ParameterMode,
    PartitionBound, PartitionKey, PartitionOf, PartitionStrategy, PolicyCommand, PolicyDef,
    PolicyKind, Polymorphic, RangeEnd, ReferentialAction, RoutineDef, RoutineKind, RoutineSetting,
    RoutineType, RowCount, RowSecurity, Security, SequenceDef, SequenceWrap, StepFunction,
    TID_COLUMN, TriggerDef, TriggerEvent, TriggerFiring, TriggerLevel, TriggerTiming, Uniqueness,
    Untested, Validity, Volatility, WeaveForm, WideDef, WideLink, WideNode,
    built_in_trigger_function, routine_key,
};
pub use crate::program::NameConflict;

use std::fmt;
use std::sync::Arc;

use types::calendar::TimeZone;
use types::text::TextStyle;
use types::{
    Collation, DataType, EnumType, Error, PackedType, Position, RangeKind, RecordType, RegKind,
    Result, SqlState, UserRange, Value,
};

use crate::algebra::{Derived, RoutineCall, SessionFunction};
use crate::words::Access;

/// Functions of sequences (nextval and its kin) in the session that runs a query. Names are read by
/// [`RelationName::parse`](crate::words::RelationName::parse).
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
    /// Errors of the function; 0A000 where there is no session.
    fn call(&self, function: SessionFunction, arguments: &[Value]) -> Result<Value> {
        let _ = (function, arguments);
        Err(Error::unsupported("a function of the session in this place"))
    }

    /// Calls a routine that users made, once for each of `rows`, in their order; a result of type
    /// `ty` each, an array of records for one that gives rows.
    ///
    /// # Errors
    /// Errors of the routine; 0A000 where there is no session.
    fn routine(
        &self,
        called: RoutineCall,
        ty: DataType,
        rows: &[Vec<Value>],
    ) -> Result<Vec<Value>> {
        let _ = (called, ty, rows);
        Err(Error::unsupported("a call of a routine in this place"))
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

/// Meaning of a name in FROM.
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
    /// Nobody can tell: the database that may have it does not answer.
    Failed(Error),
}

/// Whose rights count for what a view reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewRights {
    /// Anybody reads the view, one of the system.
    System,
    /// The view's owner.
    Owner(String),
    /// The role that reads the view.
    Asker,
}

/// WITH CHECK OPTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOption {
    /// Rows are tested by this view, and by those below it that say so themselves.
    Local,
    /// Rows are tested by this view and all below it.
    Cascaded,
}

/// Properties of a view that count for rows which are written through it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewWrites {
    /// WITH CHECK OPTION.
    pub check: Option<CheckOption>,
    /// Defaults of its columns, by ordinal: expressions as text.
    pub defaults: Vec<(usize, String)>,
}

/// Arguments of a table function or procedure: positional ones first, then named.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Values and their types, in order.
    pub positional: Vec<(Value, DataType)>,
    /// `name => value`.
    pub named: Vec<(String, Value, DataType)>,
}

/// A type that users made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserType {
    /// CREATE TYPE ... AS ENUM.
    Enum(EnumType),
    /// CREATE DOMAIN.
    Domain(Domain),
    /// CREATE TYPE ... AS (...).
    Composite(RecordType),
    /// CREATE TYPE ... AS RANGE.
    Range(UserRange),
    /// Type of the multiranges of such ranges.
    Multirange(UserRange),
}

impl UserType {
    /// Its key in the catalog.
    pub fn key(&self) -> &str {
        match self {
            Self::Enum(ty) => ty.key(),
            Self::Domain(domain) => &domain.key,
            Self::Composite(ty) => ty.key().unwrap_or_default(),
            Self::Range(ty) => &ty.range().key,
            Self::Multirange(ty) => &ty.multirange().key,
        }
    }

    /// Its number in the catalog.
    pub fn number(&self) -> u32 {
        match self {
            Self::Enum(ty) => ty.number(),
            Self::Domain(domain) => domain.number,
            Self::Composite(ty) => ty.number().unwrap_or_default(),
            Self::Range(ty) => ty.range().number,
            Self::Multirange(ty) => ty.multirange().number,
        }
    }

    /// The number in the catalog of arrays of it.
    pub fn array_number(&self) -> u32 {
        match self {
            Self::Enum(ty) => ty.array_number(),
            Self::Domain(domain) => domain.array_number(),
            Self::Composite(ty) => ty.array_number().unwrap_or_default(),
            Self::Range(ty) => ty.range().number + 1,
            Self::Multirange(ty) => ty.multirange().number + 1,
        }
    }

    /// Its name as messages show it.
    pub fn name(&self) -> &str {
        match self {
            Self::Enum(ty) => ty.name(),
            Self::Domain(domain) => domain.name(),
            Self::Composite(ty) => ty.name(),
            Self::Range(ty) => &ty.range().name,
            Self::Multirange(ty) => &ty.multirange().name,
        }
    }

    /// The type of its values: of a domain, what they are held as.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Enum(ty) => DataType::Enum(*ty),
            Self::Domain(domain) => domain.ty,
            Self::Composite(ty) => DataType::Record(*ty),
            Self::Range(ty) => DataType::Packed(PackedType::Range(RangeKind::User(*ty))),
            Self::Multirange(ty) => DataType::Packed(PackedType::Multirange(RangeKind::User(*ty))),
        }
    }

    /// The domain that it is.
    pub fn domain(&self) -> Option<Domain> {
        match self {
            Self::Domain(domain) => Some(*domain),
            Self::Enum(_) | Self::Composite(_) | Self::Range(_) | Self::Multirange(_) => None,
        }
    }
}

/// Where a function is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called<'a> {
    /// In the schemas of the search path.
    ByPath,
    /// In this schema.
    In(&'a str),
    /// In text that is kept, which means what was there when it was written, wherever it moved.
    InKeptText,
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

/// Meaning of the names of a program's variables in its statements.
pub trait Variables {
    /// The number of the parameter, from 0, that stands for the variable, and its type; None when
    /// there is no such variable. `$1` and its kin are names, too.
    fn find(&self, parts: &[&str]) -> Option<(u32, DataType)>;

    /// The collation of the parameter that stands for a variable; of a record that of its fields
    /// which most depends on.
    fn collation(&self, number: u32) -> Derived;

    /// The collation of a field of the parameter that stands for a record, from 0.
    fn field_collation(&self, number: u32, field: usize) -> Derived;

    /// The meaning of a name that is that of a column, too.
    fn conflict(&self) -> NameConflict;
}

/// A consistent view of what exists.
pub trait Catalog {
    /// Variables of the program that the statement is a part of.
    fn variables(&self) -> Option<&dyn Variables> {
        None
    }

    /// The routines called `name` (already case-folded), `schema` when qualified; without one those
    /// of the search path, in its order.
    fn routines(&self, schema: Option<&str>, name: &str) -> Vec<Arc<RoutineDef>> {
        let _ = (schema, name);
        Vec::new()
    }

    /// Checks the right to call a routine.
    ///
    /// # Errors
    /// 42501.
    fn check_execute(&self, routine: &RoutineDef) -> Result<()> {
        let _ = routine;
        Ok(())
    }

    /// The relation called `name` (already case-folded), `schema` when qualified; without one it is
    /// of `public`, of the session, or of the system.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// Properties of the view whose key is `name` for rows that are written through it; None for
    /// what is no view of users.
    fn view_writes(&self, name: &str) -> Option<ViewWrites> {
        let _ = name;
        None
    }

    /// True when the view whose key is `name` has triggers INSTEAD OF an event.
    fn has_instead(&self, name: &str, event: TriggerEvent) -> bool {
        let _ = (name, event);
        false
    }

    /// The policies that decide which rows of the table whose key is `name` count for the role
    /// `on_behalf`, or for the one who asks; None where all rows do.
    ///
    /// # Errors
    /// 42501 where policies would count and the session has them be an error.
    fn policies(&self, name: &str, on_behalf: Option<&str>) -> Result<Option<Vec<PolicyDef>>> {
        let _ = (name, on_behalf);
        Ok(None)
    }

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

    /// The type that users made and called `name` (already case-folded), `schema` when qualified;
    /// without one it is looked for along the search path.
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<UserType> {
        let _ = (schema, name);
        None
    }

    /// The domain with this number in the catalog, or whose arrays have it.
    fn domain_numbered(&self, number: u32) -> Option<DomainUse> {
        let _ = number;
        None
    }

    /// The collation that users made and called `name` (already case-folded), `schema` when
    /// qualified, and its key in the catalog; without a schema it is looked for along the search
    /// path.
    fn collation(&self, schema: Option<&str>, name: &str) -> Option<(String, Collation)> {
        let _ = (schema, name);
        None
    }

    /// The name of a collation that users made.
    fn collation_name(&self, collation: Collation) -> Option<String> {
        let _ = collation;
        None
    }

    /// The text that is bound names the label `position` of `ty` in a literal at this place.
    fn names_label(&self, ty: EnumType, position: i32, at: Position) {
        let _ = (ty, position, at);
    }

    /// True when functions called in this way may be those of the extension `name`, which was
    /// created.
    fn finds_extension(&self, name: &str, called: Called<'_>) -> bool {
        let _ = (name, called);
        false
    }

    /// The session's value of a setting that extensions have; None where nobody set it.
    fn setting(&self, name: &str) -> Option<String> {
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

    /// True when there is a schema of this name.
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
        // Those of text search are the same in every database.
        let bare = text.strip_prefix("pg_catalog.").unwrap_or(text);
        let found = types::packed::search_entries().iter().find_map(|entry| match kind {
            RegKind::Config if entry.name == bare => Some((entry.configuration, entry.name)),
            RegKind::Dictionary if entry.dictionary_name == bare => {
                Some((entry.dictionary, entry.dictionary_name))
            }
            _ => None,
        });
        if let Some((number, name)) = found {
            return Ok(types::object_value(number, name));
        }
        let message = format!("{} \"{text}\" does not exist", kind.name());
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
    }

    /// A type as a value of `regtype`.
    fn type_object(&self, ty: DataType) -> Value {
        types::object_value(0, ty.name())
    }

    /// The name of the database: current_database().
    fn database(&self) -> &str {
        "tessera"
    }

    /// Role that the session acts as: current_user.
    fn user(&self) -> &str {
        "tessera"
    }

    /// Role that began the session: session_user.
    fn session_user(&self) -> &str {
        self.user()
    }

    /// Checks the rights that a statement needs, in this order.
    ///
    /// # Errors
    /// 42501 for the first that it may not.
    fn check_access(&self, needed: &[Access]) -> Result<()> {
        let _ = needed;
        Ok(())
    }

    /// True when the statement that is bound may write the rows of the materialized view that is
    /// called `key`.
    fn maintains(&self, key: &str) -> bool {
        let _ = key;
        false
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
