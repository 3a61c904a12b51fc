//! Statements that change rows: a query that says what changes, and what RETURNING gives of it.
//!
//! ```text
//! source query -> rows (tid, values, extras) --engine writes--> affected rows
//! affected rows ++ extras --Input slot 0--> RETURNING query -> rows for the client
//! ```
//! A TID is a non-null BIGINT, the ordinal [`crate::catalog::TID_COLUMN`] of a scan. Extras are
//! columns of other tables (FROM, USING) that RETURNING names; they travel with the source row.

use types::{Error, Result, SqlState, Value};

use super::{LockWait, RowLockStrength, Statement};
use crate::algebra::{BusFunction, Expr, ExprKind, Query};
use crate::catalog::TableRef;
use crate::implication::implies;

/// Treatment of target rows that several rows of a source name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// Each target row at most once.
    Once,
    /// A target row may come several times: any one of its rows counts, the others are skipped.
    Repeated,
}

/// RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    /// Reads [`crate::algebra::Plan::Input`] slot 0: all columns of the target by ordinal, after
    /// the change (before it for DELETE), then the extras of the source in order, then what
    /// [`Self::place`] says. Its columns are the result.
    pub query: Query,
    /// Whether it reads where the rows are.
    pub place: RowPlace,
}

/// Whether rows bring their TIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPlace {
    /// Nobody asks for them.
    Unused,
    /// In their last column; the highest bit is set for rows that were there before, and that the
    /// statement deleted, or updated by ON CONFLICT.
    Last,
}

/// A condition that each row has to meet as a statement writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct RowTest {
    /// Reads [`crate::algebra::Plan::Input`] slot 0: all columns of the target by ordinal, as
    /// written. Gives those rows, all columns, that do not meet the condition.
    pub query: Query,
    /// Rule that such a row breaks.
    pub rule: RowRule,
}

/// Rule for the rows that a statement writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowRule {
    /// WITH CHECK OPTION of the view of this name.
    View(String),
    /// Policies of a table: a restrictive one, or what the permissive ones are together.
    Policy {
        /// The table's name.
        table: String,
        /// The restrictive policy.
        policy: Option<String>,
        /// Version of the row that is tested.
        version: RowVersion,
    },
}

/// Version of a row that policies are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowVersion {
    /// The row as it is written.
    New,
    /// The row that ON CONFLICT DO UPDATE met.
    Met,
    /// The row that MERGE is to change.
    Target,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The target.
    pub table: TableRef,
    /// Rows with exactly the table's columns, in table order and of their types: defaults,
    /// identities and OVERRIDING are part of it.
    pub source: Query,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING, without extras.
    pub returning: Option<Returning>,
    /// Conditions of the rows of the source, before any of them is stored.
    pub proposed: Vec<RowTest>,
    /// Conditions of the rows that ON CONFLICT DO UPDATE changes, before the change.
    pub met: Vec<RowTest>,
    /// Conditions of them behind the change.
    pub updated: Vec<RowTest>,
    /// Conditions of the rows as they are inserted, or updated by ON CONFLICT.
    pub tests: Vec<RowTest>,
}

impl Insert {
    /// The conditions of its rows.
    pub fn all_tests(&self) -> impl Iterator<Item = &RowTest> {
        let Self { proposed, met, updated, tests, .. } = self;
        [proposed, met, updated, tests].into_iter().flatten()
    }
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// The unique indexes whose conflicts count; None: all of them (DO NOTHING only).
    pub target: Option<ConflictTarget>,
    /// Action instead of the insert.
    pub action: ConflictAction,
}

/// The unique indexes that ON CONFLICT names.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictTarget {
    /// Positions in [`crate::catalog::TableMeta::indexes`]: at least one, unless it is open.
    pub indexes: Vec<usize>,
    /// Set where what is known as it runs decides.
    pub open: Option<OpenTarget>,
}

/// Indexes of which a WHERE means some, by its parameters and what its constants come to.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTarget {
    /// WHERE.
    pub given: Expr,
    /// Indexes with the columns and expressions that are named.
    pub candidates: Vec<ArbiterCandidate>,
}

/// An index that ON CONFLICT may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct ArbiterCandidate {
    /// Position in [`crate::catalog::TableMeta::indexes`].
    pub index: usize,
    /// Condition of the rows that it has.
    pub predicate: Option<Expr>,
}

impl ConflictTarget {
    /// Target of these indexes.
    ///
    /// # Errors
    /// 42P10 when there is none.
    pub fn of(indexes: Vec<usize>) -> Result<Self> {
        if indexes.is_empty() {
            let message =
                "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(Self { indexes, open: None })
    }
}

impl OpenTarget {
    /// WHERE with these values in the place of its parameters.
    ///
    /// # Errors
    /// XX000 when there are fewer.
    fn given(&self, parameters: &[Value]) -> Result<Expr> {
        let mut given = self.given.clone();
        fill(&mut given, parameters)?;
        Ok(given)
    }

    /// The indexes that are meant where the parameters of WHERE have these values; `fold` computes
    /// constants.
    ///
    /// # Errors
    /// 42P10 when there is none.
    pub fn decide(&self, parameters: &[Value], fold: &dyn Fn(&mut Expr)) -> Result<ConflictTarget> {
        let mut given = [self.given(parameters)?];
        given.iter_mut().for_each(fold);
        let is_meant = |candidate: &&ArbiterCandidate| {
            let Some(mut wanted) = candidate.predicate.clone() else { return true };
            fold(&mut wanted);
            implies(&given, &wanted)
        };
        let meant = self.candidates.iter().filter(is_meant);
        ConflictTarget::of(meant.map(|candidate| candidate.index).collect())
    }
}

fn fill(expr: &mut Expr, parameters: &[Value]) -> Result<()> {
    if let ExprKind::Parameter(number) = expr.kind {
        let missing = || Error::internal("a parameter without value");
        let value = parameters.get(number as usize).ok_or_else(missing)?;
        expr.kind = ExprKind::Literal(value.clone());
        return Ok(());
    }
    let mut outcome = Ok(());
    expr.each_child_mut(&mut |child| {
        if outcome.is_ok() {
            outcome = fill(child, parameters);
        }
    });
    outcome
}

/// DO NOTHING or DO UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    /// DO NOTHING.
    Nothing,
    /// DO UPDATE SET ... WHERE.
    Update {
        /// Ordinals of the assigned columns.
        columns: Vec<usize>,
        /// Reads Input slot 0: the columns of the row in the table, those of the row proposed
        /// (`excluded`), and a BIGINT row number. Gives the row number and the new values of
        /// `columns`, for the rows that WHERE lets through; the others are locked, not changed.
        assignments: Box<Query>,
    },
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The target.
    pub table: TableRef,
    /// Ordinals of the assigned columns.
    pub columns: Vec<usize>,
    /// TID, new values of `columns` in order and of their types, then extras.
    pub source: Query,
    /// Treatment of TIDs that repeat in the source.
    pub matches: Matches,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Conditions of the rows after the change.
    pub tests: Vec<RowTest>,
    /// Position in the source of the row as it is, of a view whose rows triggers write.
    pub old: Option<usize>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The target.
    pub table: TableRef,
    /// TID, then extras.
    pub source: Query,
    /// Treatment of TIDs that repeat in the source.
    pub matches: Matches,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Position in the source of the row as it is, of a view whose rows triggers write.
    pub old: Option<usize>,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The target.
    pub table: TableRef,
    /// One row for each joined row to which an action other than DO NOTHING applies: TID (NULL
    /// when not matched), INTEGER position in `actions`, then the values of all actions side by
    /// side (those of the others are NULL, and not computed), then extras. A TID that comes twice
    /// is 21000, "MERGE command cannot affect row a second time".
    pub source: Query,
    /// The WHEN clauses in order.
    pub actions: Vec<MergeAction>,
    /// RETURNING; the extras follow the values in `source`.
    pub returning: Option<Returning>,
    /// Position in `source` of the first extra.
    pub extras_from: usize,
    /// Conditions of the rows that it changes.
    pub tests: MergeTests,
}

/// Conditions of the rows that MERGE changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeTests {
    /// Conditions before an UPDATE.
    pub to_update: Vec<RowTest>,
    /// Conditions before a DELETE.
    pub to_delete: Vec<RowTest>,
    /// Conditions behind an UPDATE.
    pub updated: Vec<RowTest>,
    /// Conditions before rows are inserted.
    pub inserted: Vec<RowTest>,
}

impl MergeTests {
    /// All of them, in the order in which they are numbered.
    pub fn iter(&self) -> impl Iterator<Item = &RowTest> {
        let Self { to_update, to_delete, updated, inserted } = self;
        [to_update, to_delete, updated, inserted].into_iter().flatten()
    }
}

/// Action of a WHEN clause of MERGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeAction {
    /// WHEN MATCHED THEN UPDATE SET.
    Update {
        /// Ordinals of the assigned columns.
        columns: Vec<usize>,
        /// Position in the source of their first value; the others follow.
        values_from: usize,
    },
    /// WHEN MATCHED THEN DELETE.
    Delete,
    /// WHEN NOT MATCHED THEN INSERT.
    Insert {
        /// Position in the source of the first column's value; all columns of the table follow.
        values_from: usize,
    },
    /// DO NOTHING: no source row has it.
    Nothing,
}

/// A table whose rows a SELECT locks.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLock {
    /// The table.
    pub table: TableRef,
    /// FOR ...
    pub strength: RowLockStrength,
    /// NOWAIT, SKIP LOCKED or neither.
    pub wait: LockWait,
}

/// SELECT ... FOR UPDATE and its kin.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectForUpdate {
    /// The rows in their order, before LIMIT and OFFSET: the result columns, then a TID for each
    /// of `locks` (NULL where an outer join found no row). LIMIT counts rows after those that
    /// SKIP LOCKED leaves out.
    pub query: Query,
    /// With LIMIT, the same with only some more rows than are wanted, which are enough unless
    /// others hold many of them.
    pub first: Option<Box<Query>>,
    /// How many of its columns are the client's.
    pub width: usize,
    /// Locks to take, by position of the TID column.
    pub locks: Vec<RowLock>,
    /// LIMIT: a query of one row and one BIGINT; NULL is no limit.
    pub limit: Option<Box<Query>>,
    /// OFFSET, likewise.
    pub offset: Option<Box<Query>>,
}

/// Calls of the message bus, for each row of a query in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct BusCalls {
    /// Columns of the result, then the arguments of all calls.
    pub source: Query,
    /// How many of its columns are the result's; 0 when it is the rows of bus_receive.
    pub width: usize,
    /// The calls, in order.
    pub calls: Vec<BusCall>,
}

/// A call of the message bus.
#[derive(Clone, Debug, PartialEq)]
pub struct BusCall {
    /// Function that is called.
    pub function: BusFunction,
    /// The column of the result that takes what the call gives, unless it gives rows.
    pub column: usize,
    /// The column of the source with its first argument; the others follow.
    pub arguments: usize,
}

/// A query under WITH.
#[derive(Clone, Debug)]
pub struct Part {
    /// SELECT, INSERT, UPDATE or DELETE, or calls of the message bus.
    pub statement: Statement,
    /// When it runs.
    pub turn: Turn,
}

/// When a part of WITH runs: as in PostgreSQL, which fetches rows of those that are read and runs
/// all others in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Before the statement itself, which needs its rows.
    First,
    /// Behind it: parts behind it read its rows.
    Behind,
    /// Behind all others, the last first.
    Last,
    /// A SELECT that nobody reads.
    Never,
}

/// WITH whose queries change rows, or are read by several queries of a statement that does.
#[derive(Clone, Debug)]
pub struct WithChanges {
    /// In the order in which they run, as far as they have the same turn. The rows of number `i`
    /// are [`crate::algebra::Plan::Input`] slot `i + 1`.
    pub parts: Vec<Part>,
    /// A query, or a statement as the parts are.
    pub main: Statement,
}

impl Statement {
    /// The queries of a statement that reads or writes rows; none of another one.
    pub fn queries(&self) -> Vec<&Query> {
        match self {
            Self::Query(query) => vec![query],
            Self::SelectForUpdate(select) => vec![&select.query],
            Self::BusCalls(calls) => vec![&calls.source],
            Self::Insert(insert) => {
                let assignments = insert.on_conflict.as_ref().and_then(|on| match &on.action {
                    ConflictAction::Update { assignments, .. } => Some(&**assignments),
                    ConflictAction::Nothing => None,
                });
                let others = assignments.into_iter().chain(returned(&insert.returning));
                let tests = insert.all_tests().map(|test| &test.query);
                std::iter::once(&insert.source).chain(others).chain(tests).collect()
            }
            Self::Update(own) => {
                let tests = own.tests.iter().map(|test| &test.query);
                std::iter::once(&own.source).chain(returned(&own.returning)).chain(tests).collect()
            }
            Self::Delete(own) => {
                std::iter::once(&own.source).chain(returned(&own.returning)).collect()
            }
            Self::Merge(own) => {
                let tests = own.tests.iter().map(|test| &test.query);
                std::iter::once(&own.source).chain(returned(&own.returning)).chain(tests).collect()
            }
            _ => Vec::new(),
        }
    }

    /// True when rows that it writes have to meet conditions of its own.
    pub fn tests_rows(&self) -> bool {
        match self {
            Self::Insert(insert) => insert.all_tests().next().is_some(),
            Self::Update(update) => !update.tests.is_empty(),
            _ => false,
        }
    }
}

fn returned(returning: &Option<Returning>) -> Option<&Query> {
    returning.as_ref().map(|returning| &returning.query)
}
