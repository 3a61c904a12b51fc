//! Cost of a whole physical plan, to choose between plans that read different tables.
//!
//! Only work that reads, finds, joins and groups rows counts: the rest above is the same in both.

use crate::cost::{GroupTable, Grouping};
use crate::physical::{AggregateMode, JoinMethod, Node, Operator, PhysicalPlan};
use crate::{Statistics, cost};

/// Bringing one value of a row that a scan found to those above it.
const VALUE: f64 = 0.1;

/// The cost of `plan` in units of [`cost`].
pub(crate) fn plan_cost(plan: &PhysicalPlan, statistics: &dyn Statistics) -> f64 {
    let preludes = plan.preludes.iter().map(|prelude| &prelude.node);
    preludes.chain([&plan.root]).map(|node| node_cost(node, 1.0, statistics)).sum()
}

/// The cost of the operators below and at `node`, of whose rows a `share` is asked for.
fn node_cost(node: &Node, share: f64, statistics: &dyn Statistics) -> f64 {
    types::stack::deep(|| node_cost_here(node, share, statistics))
}

fn node_cost_here(node: &Node, share: f64, statistics: &dyn Statistics) -> f64 {
    let below = |input: &Node, share: f64| node_cost(input, share, statistics);
    let values = node.rows * node.output.len() as f64 * VALUE;
    match &node.operator {
        Operator::Scan { table, restrictions, residual, .. } => {
            let tests = (restrictions.len() + usize::from(residual.is_some())).max(1);
            share * (cost::scan(statistics.table(table).rows) * tests as f64 + values)
        }
        Operator::IndexScan { .. } => share * (cost::index(1.0, node.rows) + values),
        Operator::IndexJoin { outer, .. } => {
            below(outer, share) + share * (cost::index(outer.rows, node.rows) + values)
        }
        Operator::HashJoin { probe, build, method, .. } => {
            let dense = matches!(method, JoinMethod::Dense { .. });
            below(build, 1.0)
                + below(probe, share)
                + share * cost::hash_join(build.rows, probe.rows, dense)
        }
        Operator::NestedLoopJoin { probe, build, .. } => {
            below(build, 1.0)
                + below(probe, share)
                + share * cost::nested_loops(build.rows, probe.rows)
        }
        Operator::Aggregate { input, keys, aggregates, mode, .. } => {
            let table = match mode {
                AggregateMode::Scalar => GroupTable::None,
                AggregateMode::Hash => GroupTable::Hash,
                AggregateMode::Dense { .. } | AggregateMode::GroupJoin(_) => GroupTable::Dense,
            };
            let parts = Grouping { table, keys: keys.len(), calls: aggregates.len() };
            below(input, 1.0) + cost::grouped(input.rows, node.rows, parts)
        }
        Operator::Limit { input, .. } => {
            below(input, share * (node.rows / input.rows.max(1.0)).min(1.0))
        }
        Operator::Filter { input, .. } | Operator::Project { input, .. } => below(input, share),
        Operator::Choice { few, .. } => below(few, share),
        Operator::Walk { entries_max, .. } => share * cost::index(1.0, *entries_max as f64),
        _ => node.inputs().into_iter().map(|input| below(input, 1.0)).sum(),
    }
}
