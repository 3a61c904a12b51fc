//! Opens plan nodes: runs what lies below breakers and gives a stream of the rest.
//!
//! The top floor of the operators: [`Opener`] brings each back here for the nodes below it.

use std::sync::Arc;

use plan::physical::{Node, Operator, PhysicalPlan};
use types::{Error, Result};

use crate::context::QueryContext;
use crate::opener::Opener;
use crate::pipeline::Stream;
use crate::pushed::PushedFilter;
use crate::result::ResultSet;
use crate::{aggregate, function, index, input, join, ordered, scan, series, set, simple};

/// Runs `plan` and gives its rows.
///
/// # Errors
/// Whatever a query can end with.
pub fn execute(plan: &PhysicalPlan, context: &Arc<QueryContext>) -> Result<ResultSet> {
    let mut opener = Opener::new(Arc::clone(context));
    opener.run_preludes(plan)?;
    let stream = opener.open(&plan.root, Vec::new())?;
    ResultSet::collect(context, &stream, &plan.root.output)
}

impl Opener {
    /// An opener without preludes.
    pub fn new(context: Arc<QueryContext>) -> Self {
        Self::by(open_node, context)
    }
}

/// Opens a node of any kind.
fn open_node(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    match &node.operator {
        Operator::Scan { .. } => scan::open(opener, node, filters),
        Operator::FunctionScan { .. } => function::open_function(opener, node),
        Operator::IndexScan { .. } => index::open_scan(opener, node, filters),
        Operator::IndexJoin { .. } => index::open_join(opener, node, filters),
        Operator::Choice { prelude, rows_max, few, many } => {
            let is_few = opener.rows_left(*prelude).is_some_and(|rows| rows <= *rows_max);
            opener.open(if is_few { few } else { many }, filters)
        }
        Operator::Walk { .. } => ordered::open_walk(opener, node),
        Operator::Input { .. } => input::open(opener, node),
        Operator::Series { .. } => series::open_series(opener, node),
        Operator::Values { .. } => simple::open_values(opener, node),
        Operator::CteScan { .. } => open_cte(opener, node, filters),
        Operator::Filter { .. } => simple::open_filter(opener, node, filters),
        Operator::Project { .. } => simple::open_project(opener, node, filters),
        Operator::HashJoin { .. } => join::open_hash_join(opener, node, filters),
        Operator::NestedLoopJoin { .. } => join::open_nested_loop_join(opener, node, filters),
        Operator::Aggregate { .. } => aggregate::open(opener, node, filters),
        Operator::Sort { .. } => ordered::open_sort(opener, node, filters),
        Operator::Window { .. } => ordered::open_window(opener, node, filters),
        Operator::DistinctOn { .. } => ordered::open_distinct_on(opener, node, filters),
        Operator::Limit { .. } => ordered::open_limit(opener, node),
        Operator::UnionAll { .. } => set::open_union_all(opener, node, &filters),
        Operator::SetOperation { .. } => set::open_set_operation(opener, node, &filters),
        Operator::Recursive { .. } => set::open_recursive(opener, node),
    }
}

/// Opens [`Operator::CteScan`].
fn open_cte(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let Operator::CteScan { source, columns, .. } = &node.operator else {
        return Err(Error::internal("not a scan of a CTE"));
    };
    let Some(prelude) = opener.streamed(*source) else {
        return Ok(Stream::new(opener.cte(*source, columns)?, Some(node.id)));
    };
    // Nobody else reads its rows.
    let below = |f: PushedFilter| PushedFilter { column: columns[f.column], ..f };
    let filters = filters.into_iter().map(below).collect();
    let mut stream = opener.open(&prelude, filters)?;
    stream.push_operator(Arc::new(simple::Picked::new(columns, node.id)));
    Ok(stream)
}
