//! Columns nobody reads are not computed, and operators that change nothing are removed.
//!
//! Top-down: each operator is told which of its columns are read above, and whether its order
//! matters.
//! Elsewhere: keys of GROUP BY that others decide (`lower::aggregate`).

use hashbrown::HashMap;
use sql::algebra::{AggregateFunction, ColumnId, Duplicates, Expr, JoinKind, Plan, SetOperator};

use crate::column_set::ColumnSet;
use crate::tree;

/// Importance of the order of rows to their reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order matters.
    Matters,
    /// The order does not matter.
    Free,
}

/// Prunes `plan`, of which `needed` columns are read.
pub(crate) fn prune(plan: &mut Plan, needed: &ColumnSet, order: Order) {
    types::stack::deep(|| prune_here(plan, needed, order))
}

fn prune_here(plan: &mut Plan, needed: &ColumnSet, order: Order) {
    match plan {
        Plan::Scan { columns, .. } => columns.retain(|(id, _)| needed.contains(*id)),
        Plan::FunctionScan { columns, .. } => columns.retain(|(id, _)| needed.contains(*id)),
        Plan::Input { columns, .. } => columns.retain(|column| needed.contains(column.id)),
        Plan::Series { .. } | Plan::CteScan { .. } => {}
        Plan::Values { columns, rows } => {
            let keep: Vec<bool> = columns.iter().map(|(id, _)| needed.contains(*id)).collect();
            retain_at(columns, &keep);
            rows.iter_mut().for_each(|row| retain_at(row, &keep));
        }
        Plan::Filter { input, predicate } => {
            let mut below = needed.clone();
            tree::mention(predicate, &mut below);
            prune(input, &below, order);
        }
        Plan::Project { .. } => prune_project(plan, needed, order),
        Plan::Join { .. } => prune_join(plan, needed, order),
        Plan::Aggregate { .. } => prune_aggregate(plan, needed),
        Plan::Distinct { input, on } => {
            let mut below = needed.clone();
            on.iter().for_each(|e| tree::mention(e, &mut below));
            let order = if on.is_empty() { Order::Free } else { Order::Matters };
            if on.is_empty() {
                below = tree::output_set(input);
            }
            prune(input, &below, order);
        }
        Plan::Window { .. } => prune_window(plan, needed, order),
        Plan::Sort { input, keys } => {
            if order == Order::Free {
                *plan = tree::take(input);
                return prune(plan, needed, order);
            }
            let mut below = needed.clone();
            keys.iter().for_each(|key| tree::mention(&key.expr, &mut below));
            prune(input, &below, Order::Free);
        }
        Plan::Limit { input, .. } => prune(input, needed, Order::Matters),
        Plan::SetOperation { .. } => prune_set_operation(plan, needed),
        Plan::With { definition, body, .. } => {
            prune(definition, &tree::output_set(definition), Order::Free);
            prune(body, needed, order);
        }
        Plan::RecursiveWith { base, step, body, .. } => {
            prune(base, &tree::output_set(base), Order::Free);
            prune(step, &tree::output_set(step), Order::Free);
            prune(body, needed, order);
        }
    }
}

fn retain_at<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    items.retain(|_| flags.next().copied().unwrap_or(true));
}

fn prune_project(plan: &mut Plan, needed: &ColumnSet, order: Order) {
    let Plan::Project { input, columns } = plan else {
        return;
    };
    columns.retain(|(id, e)| needed.contains(*id) || tree::has_effects(e));
    merge_projects(input, columns);
    let mut below = ColumnSet::default();
    columns.iter().for_each(|(_, e)| tree::mention(e, &mut below));
    // What a column leaves behind is left in the order of the rows.
    let counts = columns.iter().any(|(_, e)| tree::has_effects(e));
    prune(input, &below, if counts { Order::Matters } else { order });
}

/// Replaces `Project(Project(x))` by one, unless that would compute something twice.
fn merge_projects(input: &mut Box<Plan>, columns: &mut [(ColumnId, Expr)]) {
    while let Plan::Project { input: below, columns: inner } = &mut **input {
        let mut uses: HashMap<ColumnId, usize> = HashMap::new();
        columns.iter().for_each(|(_, e)| count_uses(e, &mut uses));
        let cheap = |(id, e): &(ColumnId, Expr)| {
            let once = uses.get(id).is_none_or(|count| *count <= 1) && !tree::is_volatile(e);
            once || matches!(
                e.kind,
                sql::algebra::ExprKind::Column(_) | sql::algebra::ExprKind::Literal(_)
            )
        };
        if !inner.iter().all(cheap) {
            return;
        }
        let map: HashMap<ColumnId, Expr> = inner.drain(..).collect();
        columns.iter_mut().for_each(|(_, e)| tree::substitute(e, &map));
        let below = tree::take(below);
        **input = below;
    }
}

fn count_uses(expr: &Expr, uses: &mut HashMap<ColumnId, usize>) {
    if let Some(id) = tree::as_column(expr) {
        *uses.entry(id).or_default() += 1;
    }
    tree::operands(expr, &mut |operand| count_uses(operand, uses));
}

fn prune_join(plan: &mut Plan, needed: &ColumnSet, order: Order) {
    let Plan::Join { left, right, kind, condition } = plan else {
        return;
    };
    if let JoinKind::Mark(mark) = kind
        && !needed.contains(*mark)
    {
        *plan = tree::take(left);
        return prune(plan, needed, Order::Free);
    }
    let unread = *kind == JoinKind::Single && !tree::output_set(right).intersects(needed);
    if unread && !right.is_volatile() {
        *plan = tree::take(left);
        return prune(plan, needed, Order::Free);
    }
    let mut below = needed.clone();
    tree::mention(condition, &mut below);
    below.union(&tree::free(right));
    let order = if *kind == JoinKind::Each { order } else { Order::Free };
    prune(left, &below, order);
    if matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_)) {
        remove_distinct(right);
    }
    prune(right, &below, Order::Free);
}

/// Repeats do not matter on the right of a semi-join.
fn remove_distinct(plan: &mut Plan) {
    loop {
        match plan {
            Plan::Distinct { input, on } if on.is_empty() => *plan = tree::take(input),
            Plan::Project { input, .. } | Plan::Sort { input, .. } => {
                return remove_distinct(input);
            }
            _ => return,
        }
    }
}

/// Aggregates whose result depends on the order of rows.
fn ordered(function: AggregateFunction) -> bool {
    matches!(function, AggregateFunction::StringAgg | AggregateFunction::ArrayAgg)
}

fn prune_aggregate(plan: &mut Plan, needed: &ColumnSet) {
    let Plan::Aggregate { input, keys, aggregates, grouping_sets, .. } = plan else {
        return;
    };
    aggregates.retain(|(id, _)| needed.contains(*id));
    if grouping_sets.is_none() {
        // A constant key decides nothing; one key must stay, or an empty input would give a row.
        let mut left = keys.len();
        keys.retain(|(id, e)| {
            let literal = matches!(e.kind, sql::algebra::ExprKind::Literal(_));
            let drop = literal && left > 1 && !needed.contains(*id);
            left -= usize::from(drop);
            !drop
        });
    }
    let mut order = Order::Free;
    let mut below = ColumnSet::default();
    keys.iter().for_each(|(_, e)| tree::mention(e, &mut below));
    for (_, call) in aggregates.iter_mut() {
        let keep = matches!(
            call.function,
            AggregateFunction::Min
                | AggregateFunction::Max
                | AggregateFunction::BoolAnd
                | AggregateFunction::BoolOr
                | AggregateFunction::BitAnd
                | AggregateFunction::BitOr
        );
        if keep {
            call.duplicates = Duplicates::Keep;
        }
        if ordered(call.function) && call.order_by.is_empty() {
            order = Order::Matters;
        }
        tree::aggregate_exprs(call, &mut |e| tree::mention(e, &mut below));
    }
    prune(input, &below, order);
}

fn prune_window(plan: &mut Plan, needed: &ColumnSet, order: Order) {
    let Plan::Window { input, calls } = plan else {
        return;
    };
    calls.retain(|(id, _)| needed.contains(*id));
    if calls.is_empty() {
        *plan = tree::take(input);
        return prune(plan, needed, order);
    }
    let mut below = needed.clone();
    for (_, call) in calls.iter() {
        tree::window_exprs(call, &mut |e| tree::mention(e, &mut below));
    }
    // A window without its own order numbers rows as they come.
    prune(input, &below, Order::Matters);
}

fn prune_set_operation(plan: &mut Plan, needed: &ColumnSet) {
    let Plan::SetOperation { operator, duplicates, left, right, columns } = plan else {
        return;
    };
    let all = *operator == SetOperator::Union && *duplicates == Duplicates::Keep;
    let counts = |side: &Plan, at: usize| match side {
        Plan::Project { columns, .. } => columns.get(at).is_some_and(|(_, e)| tree::has_effects(e)),
        _ => false,
    };
    let stays = |at: usize| counts(left, at) || counts(right, at);
    let keep = columns.iter().enumerate();
    let keep: Vec<bool> =
        keep.map(|(at, (id, _))| !all || needed.contains(*id) || stays(at)).collect();
    retain_at(columns, &keep);
    for side in [left, right] {
        if !matches!(**side, Plan::Project { .. }) {
            let outputs = tree::output(side);
            **side = tree::narrowed(tree::take(side), &outputs);
        }
        if let Plan::Project { columns, .. } = &mut **side {
            retain_at(columns, &keep);
        }
        let needed = tree::output_set(side);
        prune(side, &needed, Order::Free);
    }
}
