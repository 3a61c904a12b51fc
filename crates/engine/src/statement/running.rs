//! The running statement: what one run needs, handed down to whatever carries it out.
//!
//! ```text
//! run (dispatch) --Running--> write, define --Running--> queries: plan, context, rows
//! ```
//! Invariant: nothing of a run is kept in the session, so a statement inside of another (EXECUTE,
//! parts of a script) has its own parameters, plans and view.

use std::sync::Arc;

use exec::Recheck;
use kernels::Batch;
use plan::PathsTold;
use storage::{Snapshot, TableId};
use types::Value;

use super::at_end::AtEnd;
use super::explaining::Explaining;
use super::parts::Parts;
use super::trigger::AfterTriggers;
use crate::Session;
use crate::session::compiled::{Compiled, OwnQuery};

/// How a query is run.
#[derive(Default)]
pub(crate) struct Run {
    /// Rows of `Input` operators, by slot.
    pub(crate) inputs: Vec<Vec<Batch>>,
    pub(crate) recheck: Option<Recheck>,
    /// Which query of the statement it is, if it is one of its own.
    pub(crate) own: Option<OwnQuery>,
    /// Snapshot that the statement reads, when it is not the transaction's.
    pub(crate) at: Option<Snapshot>,
    pub(crate) purpose: Purpose,
}

/// Purpose of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its query runs.
    #[default]
    Rows,
    /// EXPLAIN shows it.
    Shown,
}

impl Run {
    /// A run of one of the statement's own queries.
    pub(crate) fn of(own: OwnQuery) -> Self {
        Self { own: Some(own), ..Self::default() }
    }
}

/// One statement while it runs.
pub(crate) struct Running<'s> {
    pub(crate) session: &'s mut Session,
    /// Values of `$1`...
    pub(crate) parameters: Vec<Value>,
    /// The prepared statement that runs: it keeps the plans of its queries.
    pub(crate) compiled: Option<Arc<Compiled>>,
    /// Results and changed rows of the parts of WITH, if one of them changes rows.
    pub(crate) parts: Option<Parts>,
    /// Number of the part that runs; None for the statement itself.
    pub(crate) part: Option<usize>,
    /// The snapshot of its queries, when it writes and so may not see its own rows.
    pub(crate) view: Option<Snapshot>,
    /// Rows whose foreign keys are looked at when all is written.
    pub(crate) at_end: Option<AtEnd>,
    /// Triggers that fire when all is written.
    pub(crate) after: AfterTriggers,
    /// The queries that ran so far, under EXPLAIN ANALYZE.
    pub(crate) explaining: Option<Explaining>,
    /// Paths that its plans are to tell of, for EXPLAIN.
    pub(crate) paths_told: PathsTold,
    /// Storages of the tables that its last query reads, if that calls routines.
    pub(crate) open: Vec<TableId>,
}

impl<'s> Running<'s> {
    /// A statement of the session with these values of its parameters.
    pub(crate) fn new(session: &'s mut Session, parameters: Vec<Value>) -> Self {
        Self {
            session,
            parameters,
            compiled: None,
            parts: None,
            part: None,
            view: None,
            at_end: None,
            after: AfterTriggers::default(),
            explaining: None,
            paths_told: PathsTold::Chosen,
            open: Vec::new(),
        }
    }

    /// A run for the session itself, which has no parameters.
    pub(crate) fn own(session: &'s mut Session) -> Self {
        Self::new(session, Vec::new())
    }

    /// Sees what was committed meanwhile, also in the parts of the statement that are to run.
    pub(crate) fn refresh_view(&mut self) {
        let work = self.session.work_mut();
        work.txn.refresh();
        let now = work.txn.snapshot();
        self.view = self.view.map(|view| view.with_commits_of(now));
    }
}
