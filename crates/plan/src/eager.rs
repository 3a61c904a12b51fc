//! Eager aggregation: GROUP BY goes below joins where that leaves them fewer rows.
//!
//! ```text
//! group by g: sum(a)            group by g: sum(s)        or, where g is unique: no group at all
//!        |                             |
//!      r1.j = r2.j        ->         r1.j = r2.j
//!      /        \                    /        \
//!  r1(j, a)   r2(j, g)    group by j: sum(a) s   r2(j, g)
//! ```
//! Invariants: all rows of a group below agree in every column that an operator on the way up
//! looks at, so they meet the same rows there; no error is made that the query would not raise
//! (`safe`); sums are exact (`split`).
//!
//! Runs when joins are ordered: their order stays, the place on the way down is chosen by cost.
//! Sources: Yan and Larson 1995, "Eager aggregation and lazy aggregation" (eager group-by and its
//! final aggregation); Moerkotte and Neumann 2011, section 3 (outer joins, where the final
//! aggregation goes). Departures: aggregates of one side only, so no counts are multiplied.

mod place;
mod split;

use sql::algebra::{AggregateCall, ColumnId, Expr, Plan};

use crate::cardinality::{self, Estimator};
use crate::column_set::ColumnSet;
use crate::context::Context;
use crate::properties::Properties;
use crate::{AggregatePlace, cost, tree};

use place::{Candidate, Walk};

/// Share of the cost up to which grouping early is worth its risk: estimates of groups are often
/// too low.
const WORTH: f64 = 0.8;

/// Properties of a plan and of its inputs.
pub(crate) struct Known {
    /// Properties of its rows.
    properties: Properties,
    /// Properties of its inputs, in order.
    inputs: Vec<Known>,
}

impl Known {
    fn of(context: &mut Context<'_>, estimator: &mut Estimator, plan: &Plan) -> Self {
        let mut inputs = Vec::new();
        tree::inputs(plan, &mut |input| inputs.push(Self::of(context, estimator, input)));
        let below = inputs.iter().map(|known| known.properties.clone()).collect();
        Self { properties: cardinality::derive(context, estimator, plan, below), inputs }
    }
}

/// Groups early in `plan` wherever that costs less.
pub(crate) fn push_aggregates(
    context: &mut Context<'_>,
    estimator: &mut Estimator,
    plan: &mut Plan,
) {
    tree::every_plan_mut(plan, &mut |plan| {
        if is_over_join(plan) {
            push(context, estimator, plan);
        }
    });
}

/// True for GROUP BY with a join below it that is reached through filters and projections.
fn is_over_join(plan: &Plan) -> bool {
    let Plan::Aggregate { input, grouping_sets: None, .. } = plan else {
        return false;
    };
    let mut below = &**input;
    while let Plan::Filter { input, .. } | Plan::Project { input, .. } = below {
        below = input;
    }
    matches!(below, Plan::Join { .. })
}

fn push(context: &mut Context<'_>, estimator: &mut Estimator, plan: &mut Plan) {
    let Plan::Aggregate { input, keys, aggregates, .. } = plan else {
        return;
    };
    if !aggregates.iter().all(|(_, call)| split::is_splittable(call)) {
        return;
    }
    let known = Known::of(context, estimator, input);
    let mut candidates = Vec::new();
    place::find(input, &known, Walk::new(keys, aggregates), &mut candidates);
    let early = context.options.aggregate_place == AggregatePlace::Early;
    let now = cost::group(&known.properties, keys, aggregates.len());
    let mut best: Option<(f64, Candidate)> = None;
    for candidate in candidates {
        let cost = candidate.cost(keys, aggregates.len(), &known.properties);
        let limit = best.as_ref().map_or(WORTH * (candidate.joins_now() + now), |best| best.0);
        if early || cost < limit {
            best = Some((cost, candidate));
        }
    }
    if let Some((_, candidate)) = best {
        rewrite(context, estimator, plan, candidate);
    }
}

/// Puts the aggregation below at its place and what is left of it above.
fn rewrite(
    context: &mut Context<'_>,
    estimator: &mut Estimator,
    plan: &mut Plan,
    candidate: Candidate,
) {
    let Plan::Aggregate { input, keys, aggregates, .. } = plan else {
        return;
    };
    let names: Vec<ColumnId> = aggregates.iter().map(|(id, _)| *id).collect();
    let calls = candidate.calls.iter().zip(&names).map(|(call, id)| (*id, call.clone()));
    let scalar = keys.is_empty();
    let parts = split::split(context, calls, candidate.padded);
    let mut below = tree::take(input);
    let final_keys = candidate.apply(context, &mut below, keys, parts.below);
    let known = Known::of(context, estimator, &below).properties;
    let columns: Option<ColumnSet> = final_keys.iter().map(|(_, e)| tree::as_column(e)).collect();
    let is_unique = columns.is_some_and(|columns| is_unique(&known, &columns)) && !scalar;
    let mut columns: Vec<(ColumnId, Expr)> = Vec::new();
    if is_unique {
        columns.extend(final_keys);
        columns.extend(parts.results.into_iter().map(|result| (result.id, result.of_one())));
        *plan = Plan::Project { input: Box::new(below), columns };
        return;
    }
    let mut calls: Vec<(ColumnId, AggregateCall)> = Vec::new();
    let passed: Vec<_> = final_keys.iter().map(|(id, e)| (*id, e.ty)).collect();
    columns.extend(passed.into_iter().map(|(id, ty)| (id, tree::column(id, ty))));
    for result in parts.results {
        let id = result.id;
        let expr = result.of_many(context, &mut calls);
        columns.push((id, expr));
    }
    let above = Plan::Aggregate {
        input: Box::new(below),
        keys: final_keys,
        aggregates: calls,
        grouping_sets: None,
        set_column: None,
    };
    *plan = Plan::Project { input: Box::new(above), columns };
}

/// True when no two rows agree in `columns`, which may decide the columns of a key.
fn is_unique(known: &Properties, columns: &ColumnSet) -> bool {
    let decided = known.closure(columns);
    known.is_unique_with_nulls(&decided)
}
