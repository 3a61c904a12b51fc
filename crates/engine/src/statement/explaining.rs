//! The queries of a statement that EXPLAIN ANALYZE runs, and what each ran in.

use std::sync::Arc;
use std::time::Duration;

use exec::QueryContext;
use plan::physical::PhysicalPlan;

/// A query that a statement planned, and what it ran in.
pub(crate) struct Explained {
    pub(crate) plan: Arc<PhysicalPlan>,
    pub(crate) context: Arc<QueryContext>,
    pub(crate) planning: Duration,
}

/// The queries of the statement that EXPLAIN ANALYZE runs.
#[derive(Default)]
pub(crate) struct Explaining {
    pub(crate) queries: Vec<Explained>,
}

impl Explaining {
    pub(crate) fn note(
        &mut self,
        plan: &Arc<PhysicalPlan>,
        context: &Arc<QueryContext>,
        planning: Duration,
    ) {
        let (plan, context) = (Arc::clone(plan), Arc::clone(context));
        self.queries.push(Explained { plan, context, planning });
    }
}
