//! Prepared statements made ready: bound, planned, and run without either as long as nothing that
//! they rely on changes.
//!
//! ```text
//! Compiled   bound statement -- catalog version, settings
//!    Planned    plan of one of its queries -- ranges and sizes of the tables asked about
//!    Point      one row by key, without a plan's pipelines
//! ```
//! Invariants: what binding reads besides the catalog (files, the value of a sequence) makes a
//! statement one that is bound each time. So does the time where a plan is better for knowing it;
//! elsewhere it is a parameter behind the statement's own. Plans are kept of the own queries of
//! the statement and of its parts only ([`PartQuery`]).

use std::sync::{Arc, Weak};

use catalog::TableEntry;
use catalog::locks::TableLock;
use catalog::policies::Enforcement;
use catalog::who::Who;
use parking_lot::Mutex;
use plan::PlanOptions;
use plan::physical::PhysicalPlan;
use sql::algebra::Plan;
use sql::statement::Statement;
use storage::Table;
use types::calendar::TimeZone;
use types::stack::Deep;
use types::text::TextStyle;

use crate::instance::info::SessionInfo;
use crate::session::point::Point;

/// A table that a plan was made for, as it was then.
#[derive(Clone)]
pub(crate) struct Reliance {
    pub(crate) table: Arc<Table>,
    /// [`Table::range_epoch`] before its statistics were read.
    pub(crate) epoch: u64,
    pub(crate) rows: u64,
    /// Indexes that it had: those that were put off may be there now.
    pub(crate) indexes: usize,
    /// [`Table::has_peeked_statistics`]: a plan made with those is made anew with better ones.
    pub(crate) peeked: bool,
    /// Its lock, if it is a table that others know.
    pub(crate) lock: Option<Arc<TableLock>>,
    /// Its name, if it is a materialized view without rows: nobody may read it.
    pub(crate) unfilled: Option<Arc<str>>,
}

/// Rows by which a table may grow or shrink, besides twofold, before plans are made anew.
const ROWS_SLACK: u64 = 1000;

impl Reliance {
    /// `table` as it is now.
    pub(crate) fn on(table: Arc<Table>) -> Self {
        let (epoch, rows) = (table.range_epoch(), table.live_rows());
        let indexes = table.indexes().len();
        let peeked = table.has_peeked_statistics();
        Self { table, epoch, rows, indexes, peeked, lock: None, unfilled: None }
    }

    /// To be asked after the snapshot of the query was taken.
    pub(crate) fn holds(&self) -> bool {
        let now = self.table.live_rows();
        let (few, many) = (self.rows.min(now), self.rows.max(now));
        self.table.range_epoch() == self.epoch
            && many <= few * 2 + ROWS_SLACK
            && self.table.indexes().len() == self.indexes
            && (!self.peeked || self.table.has_peeked_statistics())
    }
}

/// Time that a statement is bound with when it asks for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// A parameter, if its plan is good at any time.
    AnyTime,
    /// The time it is: planning with it is better.
    Now,
}

/// A prepared statement, ready to run.
pub(crate) enum Ready {
    /// This time only: binding read more than the catalog.
    Once(Box<Statement>),
    /// As before, and always so: its plan is one for this time.
    Now(Box<Statement>),
    /// The same plan until it is not current.
    Again(Arc<Compiled>),
}

/// Which of the own queries of a statement, or of a part of it, one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnQuery {
    /// Its rows: those given, inserted, changed or deleted.
    Source,
    /// The assignments of ON CONFLICT DO UPDATE.
    Assignments,
    Returning,
    /// The test of this number of the rows that it writes.
    Test(usize),
    /// The first of the rows that it locks.
    First,
    /// The number after LIMIT of the rows that it locks.
    Limit,
    /// The number after OFFSET of the rows that it locks.
    Offset,
}

/// A query of a statement with parts: the key of its kept plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartQuery {
    /// Number of the part of WITH; None for the statement itself.
    pub(crate) part: Option<usize>,
    pub(crate) query: OwnQuery,
}

/// The plan of one query.
pub(crate) struct Planned {
    query: PartQuery,
    plan: Arc<PhysicalPlan>,
    relies_on: Arc<[Reliance]>,
}

/// A bound statement and what was made of it.
pub(crate) struct Compiled {
    pub(crate) statement: Deep<Statement>,
    /// The session that bound it: what it sees may not be what another one does.
    pub(crate) owner: Weak<SessionInfo>,
    pub(crate) version: u64,
    pub(crate) options: PlanOptions,
    /// Literals were read in it, and its clocks are a part of expressions.
    pub(crate) zone: TimeZone,
    /// How it wrote values: not all can be written otherwise.
    pub(crate) style: TextStyle,
    /// Schemas that names without a schema were looked up in.
    pub(crate) path: Option<Arc<[String]>>,
    /// True when wide tables could be read at all.
    pub(crate) reads_wide: bool,
    /// Treatment of policies of rows.
    pub(crate) enforcement: Enforcement,
    /// Role whose rights were looked at when it was bound.
    pub(crate) who: Who,
    pub(crate) plans: Deep<Mutex<Vec<Planned>>>,
    pub(crate) point: Option<Point>,
    /// The time is a parameter behind its own.
    pub(crate) asks_time: bool,
    /// Tables whose indexes were put off: when they are there, other plans may be better.
    pub(crate) unindexed: Vec<Arc<TableEntry>>,
}

impl Compiled {
    /// True when the plan would be the same at any time: rows are found by key, or
    /// come from VALUES.
    pub(crate) fn is_good_at_any_time(&self) -> bool {
        fn are_values(plan: &Plan) -> bool {
            match plan {
                Plan::Values { .. } => true,
                Plan::Project { input, .. } => are_values(input),
                _ => false,
            }
        }
        let inserts_values = match &*self.statement {
            Statement::Insert(insert) => are_values(&insert.source.plan),
            _ => false,
        };
        self.point.is_some() || inserts_values
    }

    /// The plan of this query, if there is one that still holds.
    pub(crate) fn plan(&self, query: PartQuery) -> Option<(Arc<PhysicalPlan>, Arc<[Reliance]>)> {
        let mut plans = self.plans.lock();
        let at = plans.iter().position(|planned| planned.query == query)?;
        if plans[at].relies_on.iter().all(Reliance::holds) {
            return Some((Arc::clone(&plans[at].plan), Arc::clone(&plans[at].relies_on)));
        }
        plans.swap_remove(at);
        None
    }

    /// Keeps the plan of this query.
    pub(crate) fn keep(
        &self,
        query: PartQuery,
        plan: &Arc<PhysicalPlan>,
        relies_on: &Arc<[Reliance]>,
    ) {
        let (plan, relies_on) = (Arc::clone(plan), Arc::clone(relies_on));
        self.plans.lock().push(Planned { query, plan, relies_on });
    }
}
