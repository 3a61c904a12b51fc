//! Tests that a column of a logical plan can be NULL.

use sql::algebra::{AggregateFunction, ColumnId, JoinKind, Plan, WindowFunction};
use sql::catalog::{ColumnDef, TableRef};

use crate::cardinality::nullable_by;
use crate::context::{Context, CteBody};
use crate::push_down::nulls;
use crate::tree;

/// True when column `id` of `plan` is proved never NULL.
pub(crate) fn never_null(context: &Context<'_>, plan: &Plan, id: ColumnId) -> bool {
    types::stack::deep(|| never_null_here(context, plan, id))
}

/// True for the TID, and for a column of which no row of `table` has NULL.
fn is_held(table: &TableRef, column: Option<&ColumnDef>) -> bool {
    // Tables that inherit a column may drop its NOT NULL.
    column.is_none_or(|column| column.not_null && table.family().is_none())
}

fn never_null_here(context: &Context<'_>, plan: &Plan, id: ColumnId) -> bool {
    let below = |input: &Plan, id: ColumnId| never_null(context, input, id);
    match plan {
        Plan::Scan { table, columns, .. } => {
            let found = columns.iter().find(|(column, _)| *column == id);
            let definition = found.map(|(_, ordinal)| table.columns().get(*ordinal));
            definition.is_some_and(|definition| is_held(table, definition))
        }
        Plan::Filter { input, predicate } => {
            let only = std::iter::once(id).collect();
            tree::conjuncts(predicate.clone()).iter().any(|e| nulls::rejects(e, &only))
                || below(input, id)
        }
        Plan::Project { input, columns } => {
            let found = columns.iter().find(|(column, _)| *column == id);
            found.is_some_and(|(_, e)| !nullable_by(e, &|id| !below(input, id)))
        }
        Plan::Aggregate { input, keys, aggregates, grouping_sets, .. } => {
            let count = |function| {
                matches!(function, AggregateFunction::Count | AggregateFunction::CountRows)
            };
            let counted = aggregates.iter().any(|(a, call)| *a == id && count(call.function));
            let key = keys.iter().find(|(column, _)| *column == id);
            let kept = grouping_sets.is_none();
            counted || (kept && key.is_some_and(|(_, e)| !nullable_by(e, &|id| !below(input, id))))
        }
        Plan::Join { left, right, kind, .. } => match kind {
            JoinKind::Inner => below(left, id) || below(right, id),
            JoinKind::Right => below(right, id),
            JoinKind::Full => false,
            _ => below(left, id),
        },
        Plan::Distinct { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => {
            below(input, id)
        }
        Plan::Window { input, calls } => match calls.iter().find(|(column, _)| *column == id) {
            Some((_, call)) => {
                use WindowFunction as W;
                matches!(call.function, W::RowNumber | W::Rank | W::DenseRank)
            }
            None => below(input, id),
        },
        Plan::SetOperation { left, right, columns, .. } => {
            let Some(i) = columns.iter().position(|(column, _)| *column == id) else {
                return false;
            };
            let side = |plan: &Plan| {
                tree::output(plan).get(i).is_some_and(|(inner, _)| below(plan, *inner))
            };
            side(left) && side(right)
        }
        Plan::Values { columns, rows } => {
            let at = columns.iter().position(|(column, _)| *column == id);
            at.is_some_and(|i| rows.iter().all(|row| !nullable_by(&row[i], &|_| true)))
        }
        Plan::CteScan { cte, columns, .. } => {
            let Some(i) = columns.iter().position(|(column, _)| *column == id) else {
                return false;
            };
            let found = context.ctes.iter().find(|c| c.id == *cte);
            match found.map(|c| &c.body) {
                Some(CteBody::Plain(plan)) => {
                    tree::output(plan).get(i).is_some_and(|(inner, _)| below(plan, *inner))
                }
                _ => false,
            }
        }
        _ => false,
    }
}
