//! Order of the rows that aggregates collect, in the calls themselves: what unnests groups rows and
//! keeps no order of them.
//!
//! ```text
//! array_agg(x) over Sort(y)  ->  array_agg(x order by y)
//! ```

use sql::algebra::{AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr, Plan, SortKey};

use crate::tree;

/// Gives the aggregates in `plan`, which depends on another row, the order of what they read.
pub(super) fn keep_order(plan: &mut Plan) {
    tree::every_plan_mut(plan, &mut |plan| {
        let Plan::Aggregate { input, aggregates, .. } = plan else { return };
        if !aggregates.iter().any(|(_, call)| takes_order(call)) {
            return;
        }
        let Some(order) = order_of(input) else { return };
        for (_, call) in aggregates.iter_mut().filter(|(_, call)| takes_order(call)) {
            call.order_by.clone_from(&order);
        }
    });
}

/// True for calls whose value depends on the order of their rows, and that say none.
fn takes_order(call: &AggregateCall) -> bool {
    matches!(call.function, AggregateFunction::ArrayAgg | AggregateFunction::StringAgg)
        && call.duplicates == Duplicates::Keep
        && call.order_by.is_empty()
}

/// The order of the rows of `plan`, over its columns: it gives those that it lacks.
fn order_of(plan: &mut Plan) -> Option<Vec<SortKey>> {
    match plan {
        Plan::Sort { keys, .. } => {
            let is_fixed = keys.iter().all(|key| !tree::is_volatile(&key.expr));
            is_fixed.then(|| keys.clone())
        }
        Plan::Filter { input, .. } => order_of(input),
        Plan::Project { input, columns } => {
            let order = order_of(input)?;
            let (below, known) = (tree::output(input), columns.clone());
            let has = |id: ColumnId| known.iter().any(|(known, _)| *known == id);
            let read: Vec<ColumnId> = order
                .iter()
                .flat_map(|key| tree::mentioned(&key.expr).iter().collect::<Vec<_>>())
                .collect();
            let lacking = below.into_iter().filter(|(id, _)| read.contains(id) && !has(*id));
            let lacking: Vec<(ColumnId, Expr)> =
                lacking.map(|(id, ty)| (id, tree::column(id, ty))).collect();
            columns.extend(lacking);
            Some(order)
        }
        _ => None,
    }
}
