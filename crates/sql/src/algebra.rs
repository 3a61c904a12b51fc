//! The bound logical algebra: what the binder makes and the planner rewrites.
//!
//! Columns have query-wide unique ids: every operator that computes a column gives it a fresh
//! [`ColumnId`]; a reference names the id alone, so moving operators never renumbers anything. A
//! sub-query is a plan whose free ids come from its surroundings (a correlated one); the planner
//! unnests it. All coercions are explicit casts: operand types always fit their operator.
//!
//! Elsewhere: names and scopes (`bind`), rewriting (`plan`).

mod bus;
mod collation;
mod domain;
mod function;
mod extension;
pub mod family;
mod json;
mod large_object;
mod null_rule;
pub mod partition;
mod routine;
mod session;
mod table;

pub use crate::definition::{Direction, NullsOrder};
pub use bus::{BusArgument, BusFunction, BusParameter};
pub use collation::{Derived, is_collatable};
pub use domain::{DomainTest, DomainTests, Tested};
pub use extension::ExtensionFunction;
pub use function::Function;
pub use json::JsonFunction;
pub use large_object::LargeObject;
pub use null_rule::NullRule;
pub use routine::RoutineCall;
pub use session::{
    Advisory, AdvisoryMode, AdvisorySpan, Identity, NumberForm, ObjectKey, SessionFunction,
};
pub use table::{
    BoundTableFunction, BoundTerms, FunctionIndex, MaterializedRows, SourcePart, TableFunctionRef,
    TableMeta, TableRef, TakesRestrictions,
};

use std::sync::Arc;

use types::{CompareOp, DataType, Position, Value};

/// A column of the query, unique in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// A common table expression, unique in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CteId(pub u32);

/// A typed scalar expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Computation.
    pub kind: ExprKind,
    /// The type of the result.
    pub ty: DataType,
}

/// `op ANY` or `op ALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// True when one row makes it true; `IN` is `= ANY`.
    Any,
    /// True when no row makes it false; `NOT IN` is `<> ALL`.
    All,
}

/// The forms of scalar expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A column.
    Column(ColumnId),
    /// A constant.
    Literal(Value),
    /// `$n` of a prepared statement, from 0.
    Parameter(u32),
    /// A function or arithmetic operator; arguments have exactly the types that [`Function`] says.
    Call(Function, Vec<Expr>),
    /// A comparison of two operands of one type.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// Conjunction, two or more.
    And(Vec<Expr>),
    /// Disjunction, two or more.
    Or(Vec<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// IS NULL.
    IsNull(Box<Expr>),
    /// CASE WHEN c THEN r ... ELSE e END; the operand form is bound to comparisons.
    Case {
        /// Conditions and results, in order.
        branches: Vec<(Expr, Expr)>,
        /// The result when no condition is true; a NULL literal when absent.
        otherwise: Box<Expr>,
    },
    /// Conversion to the expression's type, by PostgreSQL's rules.
    Cast(Box<Expr>),
    /// `operand IN (list)` over expressions of one type; NULL semantics as SQL has them.
    InList(Box<Expr>, Vec<Expr>),
    /// LIKE and ILIKE.
    Like {
        /// Text matched.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// Escape character; None when there is none (`ESCAPE ''`).
        escape: Option<char>,
        /// LIKE or ILIKE.
        case: LikeCase,
    },
    /// A sub-query of one column and at most one row: 21000 when it has more, NULL when none.
    ScalarSubquery(Box<Plan>),
    /// EXISTS.
    Exists(Box<Plan>),
    /// `left op ANY/ALL (subquery)`; several columns for row comparisons with `=` or `<>`.
    Quantified {
        /// Left-hand expressions, as many as the sub-query has columns.
        left: Vec<Expr>,
        /// The comparison.
        op: CompareOp,
        /// ANY or ALL.
        quantifier: Quantifier,
        /// The right-hand side.
        plan: Box<Plan>,
    },
}

/// Use of case in LIKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LikeCase {
    /// LIKE
    Sensitive,
    /// ILIKE
    Insensitive,
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// count(*) -> BIGINT.
    CountRows,
    /// count(x) -> BIGINT.
    Count,
    /// sum: BIGINT for SMALLINT and INTEGER, NUMERIC(38,0) for BIGINT, NUMERIC(38,s), REAL, DOUBLE,
    /// INTERVAL.
    Sum,
    /// avg: NUMERIC (see DESIGN) for integers and NUMERIC, DOUBLE, INTERVAL.
    Avg,
    /// min of any ordered type.
    Min,
    /// max of any ordered type.
    Max,
    /// bool_and, every.
    BoolAnd,
    /// bool_or.
    BoolOr,
    /// bit_and.
    BitAnd,
    /// bit_or.
    BitOr,
    /// bit_xor.
    BitXor,
    /// string_agg(TEXT, TEXT separator).
    StringAgg,
    /// array_agg(x) -> x[], NULLs included.
    ArrayAgg,
    /// stddev_pop -> DOUBLE (NUMERIC for exact types).
    StddevPop,
    /// stddev_samp, stddev.
    StddevSamp,
    /// var_pop.
    VarPop,
    /// var_samp, variance.
    VarSamp,
    /// covar_pop(DOUBLE, DOUBLE).
    CovarPop,
    /// covar_samp(DOUBLE, DOUBLE).
    CovarSamp,
    /// corr(DOUBLE, DOUBLE).
    Corr,
    /// regr_slope(DOUBLE y, DOUBLE x), as its kin.
    RegrSlope,
    /// regr_intercept.
    RegrIntercept,
    /// regr_r2.
    RegrR2,
    /// regr_avgx.
    RegrAvgX,
    /// regr_avgy.
    RegrAvgY,
    /// regr_sxx.
    RegrSxx,
    /// regr_syy.
    RegrSyy,
    /// regr_sxy.
    RegrSxy,
    /// any_value; also what single-row scalar sub-queries use after unnesting.
    AnyValue,
    /// As [`Self::AnyValue`], but 21000 at the second row: made by unnesting, never by the binder.
    Single,
    /// percentile_cont(fraction) WITHIN GROUP (ORDER BY DOUBLE); the fraction is the first
    /// argument.
    PercentileCont,
    /// percentile_disc(fraction) WITHIN GROUP (ORDER BY x).
    PercentileDisc,
    /// mode() WITHIN GROUP (ORDER BY x).
    Mode,
}

/// Direction and place of NULLs.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// Value to order by.
    pub expr: Expr,
    /// ASC or DESC.
    pub direction: Direction,
    /// NULLS FIRST or LAST; PostgreSQL's default (last when ascending) is already applied.
    pub nulls: NullsOrder,
}

/// One aggregate of an [`Plan::Aggregate`].
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// The function.
    pub function: AggregateFunction,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// DISTINCT or not.
    pub duplicates: Duplicates,
    /// FILTER (WHERE ...).
    pub filter: Option<Expr>,
    /// ORDER BY inside the call, for string_agg and ordered-set aggregates.
    pub order_by: Vec<SortKey>,
    /// The result's type.
    pub ty: DataType,
}

/// ALL or DISTINCT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// ALL
    Keep,
    /// DISTINCT
    Remove,
}

/// Join kinds. The right side of [`JoinKind::Semi`], [`JoinKind::Anti`] and mark joins is not
/// visible above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// INNER; CROSS when the condition is TRUE.
    Inner,
    /// LEFT OUTER.
    Left,
    /// RIGHT OUTER; the planner turns it into [`JoinKind::Left`].
    Right,
    /// FULL OUTER.
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows whose condition is true for no right row (false or NULL for all).
    Anti,
    /// All left rows and a BOOLEAN column: true with a match; NULL when none is true but some
    /// condition is NULL; else false. Made by unnesting of EXISTS and quantified comparisons.
    Mark(ColumnId),
    /// As Left, but 21000 when a left row has two matches: made by unnesting of scalar sub-queries.
    Single,
    /// Left rows, in their order, each with the rows of the [`Plan::Series`] on the right, whose
    /// arguments may read the left row: functions that give rows in a select list.
    Each,
}

/// UNION, INTERSECT or EXCEPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// One window function of a [`Plan::Window`].
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// Function to compute.
    pub function: WindowFunction,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// The frame.
    pub frame: WindowFrame,
    /// FILTER (WHERE ...), for aggregates.
    pub filter: Option<Expr>,
    /// The result's type.
    pub ty: DataType,
}

/// Window functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowFunction {
    /// row_number()
    RowNumber,
    /// rank()
    Rank,
    /// dense_rank()
    DenseRank,
    /// percent_rank()
    PercentRank,
    /// cume_dist()
    CumeDist,
    /// ntile(INTEGER)
    Ntile,
    /// lag(x, INTEGER offset, default)
    Lag,
    /// lead(x, INTEGER offset, default)
    Lead,
    /// first_value(x)
    FirstValue,
    /// last_value(x)
    LastValue,
    /// nth_value(x, INTEGER)
    NthValue,
    /// An aggregate over the frame.
    Aggregate(AggregateFunction),
}

/// ROWS, RANGE or GROUPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnits {
    /// ROWS
    Rows,
    /// RANGE
    Range,
    /// GROUPS
    Groups,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING
    Preceding(Expr),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(Expr),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
    /// RANGE n PRECEDING or FOLLOWING where each row's key tells how far away that is: the key at
    /// the end, computed of the row.
    Key(Expr),
}

/// EXCLUDE: rows of a frame that a function does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FrameExclusion {
    /// EXCLUDE NO OTHERS
    #[default]
    NoOthers,
    /// EXCLUDE CURRENT ROW
    CurrentRow,
    /// EXCLUDE GROUP: the row and its peers.
    Group,
    /// EXCLUDE TIES: its peers.
    Ties,
}

/// Which rows of its partition a window function sees.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// ROWS, RANGE or GROUPS.
    pub units: FrameUnits,
    /// First row.
    pub start: FrameBound,
    /// Last row.
    pub end: FrameBound,
    /// Rows in between that do not count.
    pub exclusion: FrameExclusion,
}

/// A logical plan. Its output is a list of column ids in order: [`Plan::output`].
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Rows of a table.
    Scan {
        /// The table.
        table: TableRef,
        /// Column ids and the ordinals of the table's columns they stand for.
        columns: Vec<(ColumnId, usize)>,
        /// Alias or name, for EXPLAIN.
        alias: Arc<str>,
    },
    /// Rows of a table function: generate_series, read_csv, read_parquet.
    FunctionScan {
        /// The function, bound to its constant arguments, with its result columns.
        function: TableFunctionRef,
        /// Column ids and ordinals.
        columns: Vec<(ColumnId, usize)>,
    },
    /// Rows that the caller supplies when the plan runs (`exec::QueryContext::inputs`): the rows
    /// that a statement changed, say.
    Input {
        /// Which input.
        slot: usize,
        /// The columns read.
        columns: Vec<InputColumn>,
        /// Name of the input, for EXPLAIN.
        name: Arc<str>,
    },
    /// A function that gives rows, over expressions, possibly correlated (lateral).
    Series {
        /// Which.
        function: SeriesFunction,
        /// Arguments: of generate_series start, stop, step of one type (INTEGER, BIGINT, NUMERIC or
        /// TIMESTAMP with INTERVAL step), of unnest an array.
        arguments: Vec<Expr>,
        /// The result column and type.
        column: (ColumnId, DataType),
    },
    /// Literal rows; `VALUES`, and the one row without columns of a SELECT without FROM.
    Values {
        /// Column ids and types.
        columns: Vec<(ColumnId, DataType)>,
        /// Rows of expressions, possibly correlated.
        rows: Vec<Vec<Expr>>,
    },
    /// Rows whose predicate is true.
    Filter {
        /// Input.
        input: Box<Plan>,
        /// A BOOLEAN expression.
        predicate: Expr,
    },
    /// Exactly these columns; a pass-through column is `(id, Column(id))`.
    Project {
        /// Input.
        input: Box<Plan>,
        /// Output columns and what they are.
        columns: Vec<(ColumnId, Expr)>,
    },
    /// A join. With correlated references from right to left it is a lateral join.
    Join {
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// The kind.
        kind: JoinKind,
        /// A BOOLEAN expression over both sides; a TRUE literal when none.
        condition: Expr,
    },
    /// GROUP BY. Output: keys, then aggregates (then the grouping-set number when there are sets).
    Aggregate {
        /// Input.
        input: Box<Plan>,
        /// Key columns and what they are; none for one group over everything.
        keys: Vec<(ColumnId, Expr)>,
        /// Result columns and aggregates.
        aggregates: Vec<(ColumnId, AggregateCall)>,
        /// Grouping sets as indexes into `keys`; None is one set of all keys. Keys not in a row's
        /// set are NULL.
        grouping_sets: Option<Vec<Vec<usize>>>,
        /// With grouping sets: BIGINT column whose value is the index of the set, for GROUPING().
        set_column: Option<ColumnId>,
    },
    /// Rows that differ in all output columns.
    Distinct {
        /// Input.
        input: Box<Plan>,
        /// DISTINCT ON expressions; empty for plain DISTINCT. Of equal rows the first in the order
        /// of the input stays, so a Sort below decides.
        on: Vec<Expr>,
    },
    /// Window functions: output is the input's columns, then these.
    Window {
        /// Input.
        input: Box<Plan>,
        /// Result columns and calls.
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// ORDER BY.
    Sort {
        /// Input.
        input: Box<Plan>,
        /// Keys, most significant first.
        keys: Vec<SortKey>,
    },
    /// LIMIT and OFFSET, expressions without columns of BIGINT type.
    Limit {
        /// Input.
        input: Box<Plan>,
        /// At most so many rows.
        limit: Option<Expr>,
        /// After so many rows.
        offset: Option<Expr>,
    },
    /// UNION, INTERSECT, EXCEPT. Inputs have the types of `columns`, by position.
    SetOperation {
        /// Which.
        operator: SetOperator,
        /// ALL or not.
        duplicates: Duplicates,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Output columns.
        columns: Vec<(ColumnId, DataType)>,
    },
    /// `definition` computed once, read by [`Plan::CteScan`]s in `body`. The binder makes this for
    /// every CTE; the planner inlines those read once.
    With {
        /// The CTE.
        cte: CteId,
        /// Its name, for EXPLAIN.
        name: Arc<str>,
        /// Its plan.
        definition: Box<Plan>,
        /// Plan that reads it.
        body: Box<Plan>,
    },
    /// WITH RECURSIVE: `base`, then `step` over the rows of the last round until it gives none.
    RecursiveWith {
        /// The CTE; scanned inside `step` (the last round's rows) and in `body` (all rows).
        cte: CteId,
        /// Its name.
        name: Arc<str>,
        /// UNION ALL or UNION.
        duplicates: Duplicates,
        /// First rows.
        base: Box<Plan>,
        /// Further rows; output types as `base`.
        step: Box<Plan>,
        /// Plan that reads it.
        body: Box<Plan>,
    },
    /// Rows of a CTE.
    CteScan {
        /// Which.
        cte: CteId,
        /// Fresh ids and types, by position of the definition's output.
        columns: Vec<(ColumnId, DataType)>,
        /// Name, for EXPLAIN.
        name: Arc<str>,
    },
}

/// The functions of [`Plan::Series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeriesFunction {
    /// generate_series.
    Generate,
    /// unnest: the elements of an array in order.
    Unnest,
}

impl SeriesFunction {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generate => "generate_series",
            Self::Unnest => "unnest",
        }
    }
}

/// A column of [`Plan::Input`].
#[derive(Clone, Debug, PartialEq)]
pub struct InputColumn {
    /// Its id in the plan.
    pub id: ColumnId,
    /// Its position in the batches supplied.
    pub ordinal: usize,
    /// Its type.
    pub ty: DataType,
}

/// Name, type and id of a result column.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// As the user sees it.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Its id in the plan.
    pub id: ColumnId,
    /// Collation of its values.
    pub collation: Derived,
    /// The relation that the query reads it from, if it is a column of one.
    pub origin: Option<Origin>,
}

/// A column of a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The relation's name as the catalog has it.
    pub relation: Arc<str>,
    /// The column's ordinal.
    pub ordinal: usize,
}

/// A bound query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The plan.
    pub plan: Plan,
    /// Result columns, a permutation or subset (with repeats) of the plan's output.
    pub columns: Vec<OutputColumn>,
    /// Types of parameters `$1`...
    pub parameters: Vec<DataType>,
    /// The next free column id: the planner makes further ones from here.
    pub next_column: u32,
    /// The next free CTE id.
    pub next_cte: u32,
}

/// Where an expression stands in the text, kept by the binder for errors at bind time only.
pub type Place = Option<Position>;
