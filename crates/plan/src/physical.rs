//! The physical plan: what the executor turns into pipelines.
//!
//! Columns are ordinals into the output of the input operator (for a join's residual: probe
//! columns, then build columns). Every expression carries its physical type: a NUMERIC wider than
//! 18 digits is held in 64 bits where the planner proved from exact value ranges that no value
//! needs more. Common sub-expressions are columns of a projection below, never recomputed.
//! Uncorrelated scalar sub-queries are computed before the query and read as [`ExprKind::Scalar`].

mod elements;
mod instead;
mod near;
mod offer;

use std::sync::Arc;

pub use elements::ElementCondition;
pub use instead::HashInstead;
pub use near::NearVector;
pub use offer::FunctionOffer;
use sql::algebra::{
    AggregateFunction, Direction, Duplicates, FrameExclusion, FrameUnits, Function, LikeCase,
    NullsOrder, SeriesFunction, SetOperator, WindowFunction,
};
use sql::catalog::{SequencesRef, TableFunctionRef, TableRef};
use types::{CompareOp, DataType, PhysicalType, Value};

/// An expression over the columns of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Computation.
    pub kind: ExprKind,
    /// SQL type of the result.
    pub ty: DataType,
    /// How the result is held.
    pub physical: PhysicalType,
}

/// The forms of [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Column of the input, by ordinal.
    Column(usize),
    /// A constant, in the expression's physical type.
    Literal(Value),
    /// A parameter of a prepared statement, from 0.
    Parameter(u32),
    /// Result of the uncorrelated scalar sub-query with this index in [`PhysicalPlan::preludes`].
    Scalar(usize),
    /// A function; see [`Function`] for the types of arguments. NUMERIC operands of arithmetic may
    /// be held as I64 or I128 independently of each other and of the result.
    Call(Function, Vec<Expr>),
    /// A function of sequences and whom it asks: made of [`ExprKind::Call`] by the executor, never
    /// by the planner.
    Sequence(SequencesRef, Function, Vec<Expr>),
    /// Raises the error for each row that reaches it: what a scalar sub-query that failed became.
    /// Made by the executor, never by the planner.
    Failure(types::Error),
    /// Comparison of operands of one type (NUMERIC: one scale, possibly different physical types).
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// Conjunction.
    And(Vec<Expr>),
    /// Disjunction.
    Or(Vec<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// IS NULL.
    IsNull(Box<Expr>),
    /// CASE.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result when no condition is true.
        otherwise: Box<Expr>,
    },
    /// Conversion to `ty`, held as `physical`.
    Cast(Box<Expr>),
    /// IN over a list of expressions, usually literals.
    InList(Box<Expr>, Vec<Expr>),
    /// LIKE and ILIKE.
    Like {
        /// Text matched.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character, if any.
        escape: Option<char>,
        /// LIKE or ILIKE.
        case: LikeCase,
    },
}

/// A column of an operator's output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// Name, for EXPLAIN and results.
    pub name: Arc<str>,
    /// SQL type.
    pub ty: DataType,
    /// How it is held.
    pub physical: PhysicalType,
}

/// Id of an operator, unique in the plan: the index of its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperatorId(pub usize);

/// An operator with its output and estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its id.
    pub id: OperatorId,
    /// Operation and its operands.
    pub operator: Operator,
    /// Its output columns.
    pub output: Vec<OutputColumn>,
    /// Estimated output rows.
    pub rows: f64,
}

impl Node {
    /// Direct inputs, in the order in which EXPLAIN shows them.
    pub fn inputs(&self) -> Vec<&Node> {
        match &self.operator {
            Operator::Scan { .. }
            | Operator::FunctionScan { .. }
            | Operator::IndexScan { .. }
            | Operator::Input { .. }
            | Operator::Values { .. }
            | Operator::CteScan { .. } => Vec::new(),
            Operator::Series { input, .. } => input.iter().map(|node| &**node).collect(),
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::DistinctOn { input, .. }
            | Operator::Window { input, .. }
            | Operator::Sort { input, .. }
            | Operator::Limit { input, .. } => vec![input],
            Operator::HashJoin { probe, build, .. }
            | Operator::NestedLoopJoin { probe, build, .. } => {
                vec![probe, build]
            }
            Operator::IndexJoin { outer, .. } => vec![outer],
            Operator::Choice { few, many, .. } => vec![few, many],
            Operator::Walk { index, sort, .. } => vec![index, sort],
            Operator::UnionAll { inputs } => inputs.iter().collect(),
            Operator::SetOperation { left, right, .. } => vec![left, right],
            Operator::Recursive { base, step, .. } => vec![base, step],
        }
    }
}

/// Rows that who reads a scan asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanRows {
    /// Every row.
    #[default]
    All,
    /// The smallest and the largest value of each column, which other rows may stand for: two rows
    /// of these values instead of a block.
    Ends,
}

/// A predicate that a scan evaluates on the stored form. NULL never satisfies one except `IsNull`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanRestriction {
    /// Index into the scan's `columns`.
    pub column: usize,
    /// The condition.
    pub kind: ScanRestrictionKind,
}

/// The conditions a scan evaluates. Constants are literals, parameters or scalar sub-queries,
/// already of the column's type (the planner rewrote constants that do not fit, or left a
/// `Predicate`).
#[derive(Clone, Debug, PartialEq)]
pub enum ScanRestrictionKind {
    /// IS NULL
    IsNull,
    /// IS NOT NULL
    IsNotNull,
    /// Comparison with a constant; not Distinct or NotDistinct.
    Compare(CompareOp, Expr),
    /// Both bounds, each `(constant, inclusive)`.
    Between {
        /// Lower bound.
        low: (Expr, BoundKind),
        /// Upper bound.
        high: (Expr, BoundKind),
    },
    /// IN over constants.
    InList(Vec<Expr>),
    /// `= ANY` over a constant array, of the column's type or of a wider integer type: what the
    /// column cannot hold matches nothing.
    InArray(Expr),
    /// Any predicate over this one column, which is `Column(0)` in it: decided once per dictionary
    /// entry.
    Predicate(Expr),
}

/// Membership of a bound in the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// The bound belongs to it.
    Inclusive,
    /// The bound does not.
    Exclusive,
}

/// Bounds of a column of an index; NULLs are never within. Bounds are constants of the column's
/// type and physical form; with a NULL bound no row is within. Without bounds every value is.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRange {
    /// Lower bound by SQL's order of values, whatever the direction of the index.
    pub low: Option<(Expr, BoundKind)>,
    /// Upper bound.
    pub high: Option<(Expr, BoundKind)>,
}

/// Values that one column of an index may have: the keys are looked up with each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexList {
    /// Position of the column in the index, at most as many as there are keys.
    pub at: usize,
    /// [`ScanRestrictionKind::InList`] or [`ScanRestrictionKind::InArray`].
    pub values: ScanRestrictionKind,
}

/// A conjunction that one index answers.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexWay {
    /// Position in [`sql::catalog::TableMeta::indexes`].
    pub index: usize,
    /// Values of the first columns of the index, constants of the columns' types and physical
    /// forms: rows are equal to them in these columns. A NULL matches nothing. For a hash index all
    /// its columns.
    pub keys: Vec<Expr>,
    /// A column before, between or behind those of `keys` that may have several values. There is
    /// no range beside it.
    pub list: Option<IndexList>,
    /// Bounds of the next column of an ordered index.
    pub range: Option<IndexRange>,
    /// Conditions on columns of an inverted index, which has none of the above: at least one. They
    /// are tested again of the rows that are found.
    pub elements: Vec<ElementCondition>,
    /// The vector whose nearest a near index finds; it has none of the above.
    pub near: Option<NearVector>,
}

/// The order in which an index scan gives rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexOrder {
    /// Any order: nobody relies on it, and work may be split.
    Any,
    /// The order of the index.
    Forward,
    /// The reverse.
    Backward,
}

/// Join kinds by side: the build side is stored, the probe side streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Pairs that match. Output: probe, build.
    Inner,
    /// Pairs, and probe rows without a match with NULLs. Output: probe, build.
    ProbeOuter,
    /// Pairs, and build rows without a match with NULLs. Output: probe, build.
    BuildOuter,
    /// Both. Output: probe, build.
    FullOuter,
    /// Probe rows with a match. Output: probe.
    ProbeSemi,
    /// Probe rows without. Output: probe.
    ProbeAnti,
    /// Build rows with a match. Output: build.
    BuildSemi,
    /// Build rows without. Output: build.
    BuildAnti,
    /// Probe rows and a BOOLEAN: true with a match, NULL when unknown, else false. Output: probe,
    /// mark. With a hash join: the mark is NULL without a match if a NULL was in the probe key (and
    /// the build side, restricted by the other keys that are NotDistinct, is not empty) or in a
    /// build key; key comparisons that are `NullKeys::Match` never make it unknown.
    ProbeMark,
    /// As ProbeOuter, 21000 at a second match. Output: probe, build.
    ProbeSingle,
}

impl JoinKind {
    /// True when every row of the result comes from one probe row, as it is met: nothing is noted
    /// about build rows until the end.
    pub fn gives_probe_rows(self) -> bool {
        match self {
            Self::Inner
            | Self::ProbeOuter
            | Self::ProbeSemi
            | Self::ProbeAnti
            | Self::ProbeMark
            | Self::ProbeSingle => true,
            Self::BuildOuter | Self::FullOuter | Self::BuildSemi | Self::BuildAnti => false,
        }
    }
}

/// How NULLs in a join key compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NullKeys {
    /// `=`: NULL matches nothing.
    Differ,
    /// IS NOT DISTINCT FROM: NULL matches NULL.
    Match,
}

/// One key pair of a hash join, of one type and one physical type.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinKey {
    /// Over the probe side.
    pub probe: Expr,
    /// Over the build side.
    pub build: Expr,
    /// How NULLs compare.
    pub nulls: NullKeys,
}

/// How matches are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JoinMethod {
    /// Hash table with tagged directory.
    Hash,
    /// Direct array over one integer key whose values statistics put in `min..=max`. Values outside
    /// at run time (stale statistics) make the executor fall back to `Hash`.
    Dense {
        /// Smallest build key.
        min: i64,
        /// Largest build key.
        max: i64,
    },
}

/// Repetition of build keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildKeys {
    /// At most one build row per key (a declared or derived key): a hint, checked at build.
    Unique,
    /// Any number.
    Any,
}

/// A sort key over the input's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// Value to order by.
    pub expr: Expr,
    /// Direction.
    pub direction: Direction,
    /// Place of NULLs.
    pub nulls: NullsOrder,
}

/// An aggregate over the input's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The function; AVG stays AVG.
    pub function: AggregateFunction,
    /// Arguments, columns or literals after projection.
    pub arguments: Vec<Expr>,
    /// DISTINCT.
    pub duplicates: Duplicates,
    /// FILTER.
    pub filter: Option<Expr>,
    /// ORDER BY inside the call.
    pub order_by: Vec<SortKey>,
    /// Result type.
    pub ty: DataType,
    /// How the result is held.
    pub physical: PhysicalType,
}

/// How groups are found.
#[derive(Clone, Debug, PartialEq)]
pub enum AggregateMode {
    /// One group over everything.
    Scalar,
    /// One integer key with values in `min..=max`: states in an array. Values outside fall back to
    /// hash.
    Dense {
        /// Smallest key.
        min: i64,
        /// Largest key.
        max: i64,
    },
    /// Thread-local hash tables, merged by partition.
    Hash,
    /// By the build row of the join below ([`crate::JoinBelow`]): states in an array over the
    /// numbers of build rows. By this mode where they have no numbers.
    GroupJoin(Box<AggregateMode>),
}

/// A window function over the input's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Function to compute.
    pub function: WindowFunction,
    /// Arguments.
    pub arguments: Vec<Expr>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// Frame units.
    pub units: FrameUnits,
    /// Start of the frame.
    pub start: FrameBound,
    /// End of the frame.
    pub end: FrameBound,
    /// Rows of the frame that do not count.
    pub exclusion: FrameExclusion,
    /// FILTER.
    pub filter: Option<Expr>,
    /// Result type.
    pub ty: DataType,
    /// How the result is held.
    pub physical: PhysicalType,
}

/// One end of a window frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING, a constant.
    Preceding(Expr),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING, a constant.
    Following(Expr),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
    /// The key at the end, of each row.
    Key(Expr),
    /// n PRECEDING, the same in all rows of a partition: those of one row of a query around it.
    OuterPreceding(Expr),
    /// n FOLLOWING, likewise.
    OuterFollowing(Expr),
}

/// The operators.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    /// Blocks of a table. Output: exactly `columns`. Columns are unpacked when first needed, so
    /// those that only restrictions use cost nothing above.
    Scan {
        /// The table.
        table: TableRef,
        /// Table ordinals; [`sql::catalog::TID_COLUMN`] for the rows' TIDs.
        columns: Vec<usize>,
        /// All must hold.
        restrictions: Vec<ScanRestriction>,
        /// Further predicate over the output columns, in order of evaluation.
        residual: Option<Expr>,
        /// Which rows are asked for.
        rows: ScanRows,
        /// Alias, for EXPLAIN.
        alias: Arc<str>,
    },
    /// A table function. Output: `columns` of its result.
    FunctionScan {
        /// The function.
        function: TableFunctionRef,
        /// Ordinals of its result columns.
        columns: Vec<usize>,
        /// Rows for which one of them does not hold may be left out: nobody above needs them.
        restrictions: Vec<ScanRestriction>,
        /// Indexes that have all rows that are needed.
        offers: Vec<FunctionOffer>,
    },
    /// Rows of a table that an index finds. Output: exactly `columns`.
    IndexScan {
        /// The table.
        table: TableRef,
        /// Table ordinals; [`sql::catalog::TID_COLUMN`] for the rows' TIDs.
        columns: Vec<usize>,
        /// How rows are found, at least one: those of any way, each once.
        ways: Vec<IndexWay>,
        /// Further restrictions, as in a scan.
        restrictions: Vec<ScanRestriction>,
        /// Further predicate over the output columns.
        residual: Option<Expr>,
        /// In which order rows come: that of an index when it is the only one.
        order: IndexOrder,
        /// The scan with the same rows.
        scan: Box<Node>,
        /// So many entries are worth that scan, which runs instead if there are more in the ways;
        /// None when it never does.
        entries_max: Option<u64>,
        /// Alias, for EXPLAIN.
        alias: Arc<str>,
    },
    /// One of two plans for the same rows, by the number of rows that a prelude left.
    Choice {
        /// Position in [`PhysicalPlan::preludes`].
        prelude: usize,
        /// The most rows with which `few` is run.
        rows_max: u64,
        /// For few rows.
        few: Box<Node>,
        /// For more.
        many: Box<Node>,
    },
    /// For each outer row the rows of a table that an index finds. Output by kind (Inner,
    /// ProbeOuter, ProbeSemi, ProbeAnti or ProbeSingle, the outer side being the probe), narrowed
    /// to `output_columns`.
    IndexJoin {
        /// Streams.
        outer: Box<Node>,
        /// The inner table.
        table: TableRef,
        /// Position in [`sql::catalog::TableMeta::indexes`].
        index: usize,
        /// Over outer columns: values of the first columns of the index, in the columns' physical
        /// forms. A NULL matches nothing. For a hash index all its columns.
        keys: Vec<Expr>,
        /// Table ordinals of the inner columns.
        columns: Vec<usize>,
        /// Further restrictions of an inner row, by position in `columns`.
        restrictions: Vec<ScanRestriction>,
        /// The kind.
        kind: JoinKind,
        /// Further condition over outer columns, then inner columns; part of the join condition.
        residual: Option<Expr>,
        /// Ordinals into the kind's full output.
        output_columns: Vec<usize>,
        /// The hash join that it goes over to; None when it never does.
        instead: Option<Arc<HashInstead>>,
        /// Alias of the inner table, for EXPLAIN.
        alias: Arc<str>,
    },
    /// Rows that the caller supplies (`exec::QueryContext::inputs`), NUMERIC held as their type
    /// says or narrower.
    Input {
        /// Which input.
        slot: usize,
        /// Ordinals of its columns.
        columns: Vec<usize>,
        /// Name of the input, for EXPLAIN.
        name: Arc<str>,
    },
    /// A function that gives rows. Without input: constant arguments, output one column. With input
    /// (lateral): arguments over the input's columns, output is the input's columns and the series.
    Series {
        /// Lateral input.
        input: Option<Box<Node>>,
        /// Which function.
        function: SeriesFunction,
        /// start, stop, step; of unnest the array.
        arguments: Vec<Expr>,
    },
    /// Literal rows.
    Values {
        /// Expressions without columns.
        rows: Vec<Vec<Expr>>,
    },
    /// Rows of a materialised prelude, or of a recursive CTE's last round.
    CteScan {
        /// Index into [`PhysicalPlan::preludes`], or a recursive CTE's number.
        source: CteSource,
        /// Ordinals of its output.
        columns: Vec<usize>,
        /// Name, for EXPLAIN.
        name: Arc<str>,
    },
    /// Rows whose predicate is true. Output: the input's columns.
    Filter {
        /// Input.
        input: Box<Node>,
        /// BOOLEAN.
        predicate: Expr,
    },
    /// Exactly these expressions.
    Project {
        /// Input.
        input: Box<Node>,
        /// Expressions.
        exprs: Vec<Expr>,
    },
    /// Join on equal keys. Output by kind, narrowed to `output_columns`.
    HashJoin {
        /// Streams.
        probe: Box<Node>,
        /// Input that is stored.
        build: Box<Node>,
        /// The kind.
        kind: JoinKind,
        /// One or more.
        keys: Vec<JoinKey>,
        /// Further condition over probe columns, then build columns; part of the join condition, so
        /// it decides what counts as a match.
        residual: Option<Expr>,
        /// How matches are found.
        method: JoinMethod,
        /// Repetition of build keys.
        build_keys: BuildKeys,
        /// Ordinals into the kind's full output.
        output_columns: Vec<usize>,
    },
    /// Join on any condition; the build side is stored, each probe row meets all of it.
    NestedLoopJoin {
        /// Streams.
        probe: Box<Node>,
        /// Input that is stored.
        build: Box<Node>,
        /// The kind.
        kind: JoinKind,
        /// Over probe columns, then build columns; None is TRUE.
        condition: Option<Expr>,
        /// Ordinals into the kind's full output.
        output_columns: Vec<usize>,
    },
    /// GROUP BY. Output: keys, aggregates, and with grouping sets the BIGINT index of the set.
    Aggregate {
        /// Input.
        input: Box<Node>,
        /// Keys.
        keys: Vec<Expr>,
        /// Aggregates.
        aggregates: Vec<Aggregate>,
        /// Sets as ordinals into `keys`.
        grouping_sets: Option<Vec<Vec<usize>>>,
        /// How groups are found.
        mode: AggregateMode,
    },
    /// First row of each group of equal `on` in input order. Output: the input's columns.
    DistinctOn {
        /// Input, ordered.
        input: Box<Node>,
        /// Expressions.
        on: Vec<Expr>,
    },
    /// Window functions. Output: the input's columns, then results.
    Window {
        /// Input.
        input: Box<Node>,
        /// Functions.
        calls: Vec<Window>,
    },
    /// ORDER BY, with LIMIT when known (top-k). Output: the input's columns, in order.
    Sort {
        /// Input.
        input: Box<Node>,
        /// Keys.
        keys: Vec<SortKey>,
        /// LIMIT: a constant BIGINT expression.
        limit: Option<Expr>,
        /// OFFSET: a constant BIGINT expression.
        offset: Option<Expr>,
    },
    /// The first rows in an order: of those that an index finds in it, or of the sort, when many
    /// entries are read and few rows have what the index does not know. Output: that of either.
    Walk {
        /// An [`Operator::IndexScan`] whose rows come in the order of the sort, or one by a near
        /// index under projections, whose first rows are then sorted.
        index: Box<Node>,
        /// So many entries are read before the sort runs in its place.
        entries_max: u64,
        /// The [`Operator::Sort`] with the same LIMIT and OFFSET.
        sort: Box<Node>,
    },
    /// LIMIT and OFFSET in input order.
    Limit {
        /// Input.
        input: Box<Node>,
        /// LIMIT: a constant BIGINT expression; NULL is no limit.
        limit: Option<Expr>,
        /// OFFSET: a constant BIGINT expression.
        offset: Option<Expr>,
    },
    /// Concatenation; inputs agree in physical types.
    UnionAll {
        /// Inputs, in order.
        inputs: Vec<Node>,
    },
    /// INTERSECT or EXCEPT; UNION is an aggregate over UnionAll.
    SetOperation {
        /// Intersect or Except.
        operator: SetOperator,
        /// ALL or not.
        duplicates: Duplicates,
        /// Left.
        left: Box<Node>,
        /// Right.
        right: Box<Node>,
    },
    /// WITH RECURSIVE; output: all rows.
    Recursive {
        /// Its number, which CteScans inside `step` name.
        number: usize,
        /// UNION or UNION ALL.
        duplicates: Duplicates,
        /// First rows.
        base: Box<Node>,
        /// Rows from the last round's rows.
        step: Box<Node>,
    },
}

/// Where a CTE scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CteSource {
    /// A prelude.
    Prelude(usize),
    /// The last round of the recursive CTE of this number.
    Recursive(usize),
}

/// Computed before the main plan, in order; later ones may read earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Prelude {
    /// Its plan.
    pub node: Node,
    /// Use of its rows.
    pub kind: PreludeKind,
}

/// Kind of a prelude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreludeKind {
    /// A CTE read more than once: its rows are kept.
    Materialized,
    /// As [`PreludeKind::Materialized`], a recursion that gives the same rows whenever it is run:
    /// where all who read it stop it, each runs it, since it may have no end of its own.
    Recursive,
    /// A scalar sub-query: column 0 of its at most one row (21000 when more), NULL when none.
    Scalar,
}

/// A whole plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PhysicalPlan {
    /// Computed first.
    pub preludes: Vec<Prelude>,
    /// The query.
    pub root: Node,
    /// Operators in all: profiles have this many entries.
    pub operator_count: usize,
    /// Bytes that its operators are estimated to hold at once; see [`crate::result_bytes`] for the
    /// rows that come of it.
    pub memory_bytes: u64,
    /// Bytes of them that each worker holds for itself and that cannot spill.
    pub array_bytes: u64,
    /// True when it calls routines that users made: they run on the thread of its session.
    pub calls_routines: bool,
    /// Ways to rows that were weighed, by the operator that came of it, where the planner was to
    /// tell: lines for EXPLAIN (VERBOSE).
    pub considered: Vec<(OperatorId, String)>,
}

/// Look-ups of one operator in one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookUps {
    /// Position in [`sql::catalog::TableMeta::indexes`].
    pub index: usize,
    /// Keys and ranges looked for.
    pub count: u64,
    /// Rows there that the snapshot sees, before conditions that the index does not answer.
    pub rows: u64,
}

/// Measurements of one operator in EXPLAIN ANALYZE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorProfile {
    /// Rows out.
    pub rows: u64,
    /// Time in the operator itself, summed over workers, in nanoseconds.
    pub nanos: u64,
    /// Blocks a scan looked into.
    pub blocks_scanned: u64,
    /// Blocks a scan skipped by SMA, lookup table or dictionary.
    pub blocks_skipped: u64,
    /// Bytes of column values that a scan read: of restricted columns those of all rows that were
    /// looked at, of others those of rows that were asked for.
    pub bytes_read: u64,
    /// Blocks by the path to their rows, where index sub-blocks were one.
    pub paths: Vec<(&'static str, u64)>,
    /// Look-ups of an operator that reads indexes, by index.
    pub look_ups: Vec<LookUps>,
    /// Outer rows of an index join that a hash join joined in its place.
    pub hashed_rows: u64,
    /// Bytes of hash tables, sort runs and stored rows at their largest.
    pub memory_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
}

impl Expr {
    /// True for a literal, a parameter or a scalar sub-query.
    pub fn is_constant(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Scalar(_))
    }
}
