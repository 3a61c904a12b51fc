//! The simple way: correlated predicates come out of the right side into the join condition.
//!
//! Works when outer columns stand in filters only. Under GROUP BY, DISTINCT, windows and LIMIT the
//! predicates must be equalities `outer = inner`: then the inner side becomes one more key, and
//! nothing is computed for rows of the domain. Aggregation without GROUP BY becomes aggregation by
//! that key, with an outer join that gives the one row of empty groups (counts are 0 there).

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, JoinKind, Plan, SortKey};
use types::{CompareOp, DataType, Value};

use super::domain::{is_count, limit_each};
use crate::column_set::ColumnSet;
use crate::context::Context;
use crate::guard::{may_fail, operator_may_fail};
use crate::tree;

/// A plan without outer columns, and what must hold of its rows.
struct Pulled {
    plan: Plan,
    conditions: Vec<Expr>,
}

/// Rows of the right side that are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Rows,
    /// Only whether a row matches.
    Existence,
}

/// An ordinary join with the same rows as the dependent one, where the simple way is open.
pub(crate) fn decorrelate(
    context: &mut Context<'_>,
    left: &Plan,
    right: &Plan,
    kind: JoinKind,
    condition: &Expr,
) -> Option<Plan> {
    if kind == JoinKind::Full {
        return None;
    }
    let outer = tree::output_set(left);
    let dependent = Dependent { left, right, kind, condition };
    if let Some(plan) = scalar_aggregate(context, dependent, &outer) {
        return Some(plan);
    }
    let need = match kind {
        JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => Need::Existence,
        _ => Need::Rows,
    };
    let is_bare = tree::is_true(condition);
    let right = if need == Need::Existence && is_bare { rows_of(right) } else { right };
    // What is compared would be a key of the join, which all rows have.
    if need == Need::Existence && !is_bare && fails_beyond(right, &outer) {
        return None;
    }
    let Pulled { mut plan, mut conditions } = pull(context, right, &outer, need)?;
    guard_outside(&mut conditions, condition, &outer);
    let mut parts = tree::conjuncts(condition.clone());
    if matches!(kind, JoinKind::Mark(_)) {
        let mut not_null = Vec::new();
        for part in conditions {
            parts.push(two_valued(part, &outer, &mut not_null));
        }
        plan = tree::filtered(plan, not_null);
    } else {
        parts.extend(conditions);
    }
    let (left, right) = (Box::new(left.clone()), Box::new(plan));
    Some(Plan::Join { left, right, kind, condition: tree::and_all(parts) })
}

/// Guards the outer sides of `pulled` that may fail by what the join's condition says of left rows:
/// they may become keys, which are computed for every row.
fn guard_outside(pulled: &mut [Expr], condition: &Expr, outer: &ColumnSet) {
    let is_outer = |e: &Expr| tree::mentioned(e).is_subset(outer) && !tree::is_volatile(e);
    let guards: Vec<Expr> =
        tree::conjuncts(condition.clone()).into_iter().filter(is_outer).collect();
    if guards.is_empty() {
        return;
    }
    for part in pulled {
        let ExprKind::Compare(_, a, b) = &mut part.kind else { continue };
        for side in [a, b] {
            if is_outer(side) && may_fail(side) {
                let value = tree::take_expr(side);
                let null = tree::literal(Value::Null, value.ty);
                **side = guarded(guards.clone(), value, null);
            }
        }
    }
}

/// The part of `plan` that decides whether it has a row.
fn rows_of(plan: &Plan) -> &Plan {
    match plan {
        Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Distinct { input, .. }
        | Plan::Window { input, .. } => rows_of(input),
        Plan::Aggregate { input, keys, grouping_sets: None, .. } if !keys.is_empty() => {
            rows_of(input)
        }
        Plan::Limit { input, limit, offset: None } => match limit.as_ref().map(|e| &e.kind) {
            None => rows_of(input),
            Some(ExprKind::Literal(value)) if value.as_integer().is_none_or(|n| n >= 1) => {
                rows_of(input)
            }
            _ => plan,
        },
        _ => plan,
    }
}

/// A filter's predicate as part of a mark's condition: never unknown.
fn two_valued(part: Expr, outer: &ColumnSet, not_null: &mut Vec<Expr>) -> Expr {
    if let ExprKind::Compare(CompareOp::Equal, a, b) = &part.kind {
        let sides = [(a, b), (b, a)];
        let split = sides.into_iter().find(|(x, y)| is_split(x, y, outer));
        if let Some((x, y)) = split {
            not_null.push(tree::negate(tree::is_null((**y).clone())));
            return tree::compare(CompareOp::NotDistinct, (**x).clone(), (**y).clone());
        }
    }
    tree::coalesce(part, tree::truth(false))
}

/// True when `x` is over outer columns only, and `y` over inner ones only.
fn is_split(x: &Expr, y: &Expr, outer: &ColumnSet) -> bool {
    let (x, y) = (tree::mentioned(x), tree::mentioned(y));
    !x.is_empty() && x.is_subset(outer) && !y.is_empty() && !y.intersects(outer)
}

/// The outer and the inner side of an equality.
fn equality<'e>(part: &'e Expr, outer: &ColumnSet) -> Option<(CompareOp, &'e Expr, &'e Expr)> {
    let ExprKind::Compare(op @ (CompareOp::Equal | CompareOp::NotDistinct), a, b) = &part.kind
    else {
        return None;
    };
    if tree::is_volatile(part) {
        return None;
    }
    if is_split(a, b, outer) {
        Some((*op, a, b))
    } else if is_split(b, a, outer) {
        Some((*op, b, a))
    } else {
        None
    }
}

/// True when `plan` may raise an error over rows that predicates over outer columns leave out, once
/// these are pulled out of it.
fn fails_beyond(plan: &Plan, outer: &ColumnSet) -> bool {
    if !tree::free(plan).intersects(outer) {
        return false;
    }
    let fails = !matches!(plan, Plan::Filter { .. }) && operator_may_fail(plan);
    fails || plan.inputs().iter().any(|input| fails_beyond(input, outer)) || joins_failing(plan)
}

/// True for a join that chooses among rows of which a side without outer columns computes what may
/// fail: it is to be computed for what is chosen.
fn joins_failing(plan: &Plan) -> bool {
    match plan {
        Plan::Join { left, right, kind, .. } => {
            let reads_right = matches!(kind, JoinKind::Inner | JoinKind::Left);
            computes_failing(left) || reads_right && computes_failing(right)
        }
        _ => false,
    }
}

/// True when a projection of `plan`, above all that makes rows of several, may raise an error.
fn computes_failing(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } => operator_may_fail(plan) || computes_failing(input),
        Plan::Filter { input, .. } | Plan::Sort { input, .. } => computes_failing(input),
        Plan::Join { .. } => joins_failing(plan),
        _ => false,
    }
}

fn pull(context: &mut Context<'_>, plan: &Plan, outer: &ColumnSet, need: Need) -> Option<Pulled> {
    if !tree::free(plan).intersects(outer) {
        return Some(Pulled { plan: plan.clone(), conditions: Vec::new() });
    }
    match plan {
        Plan::Filter { input, predicate } => {
            let Pulled { plan, mut conditions } = pull(context, input, outer, need)?;
            let (out, stay) = tree::conjuncts(predicate.clone())
                .into_iter()
                .partition::<Vec<_>, _>(|e| tree::mentioned(e).intersects(outer));
            if out.iter().any(tree::is_volatile) {
                return None;
            }
            conditions.extend(out);
            Some(Pulled { plan: tree::filtered(plan, stay), conditions })
        }
        Plan::Project { input, columns } => {
            if columns.iter().any(|(_, e)| tree::mentioned(e).intersects(outer)) {
                return None;
            }
            let Pulled { plan, conditions } = pull(context, input, outer, need)?;
            let columns = with_conditions(columns.clone(), &plan, &conditions);
            Some(Pulled { plan: Plan::Project { input: Box::new(plan), columns }, conditions })
        }
        Plan::Sort { input, .. } => pull(context, input, outer, need),
        Plan::Distinct { input, on } if on.is_empty() && need == Need::Existence => {
            pull(context, input, outer, need)
        }
        Plan::Distinct { input, on } if on.is_empty() && !fails_beyond(input, outer) => {
            let pulled = pull(context, input, outer, need)?;
            let (plan, keys, conditions) = keyed(context, pulled, outer)?;
            let mut columns: Vec<_> = tree::output(input)
                .into_iter()
                .map(|(id, ty)| (id, tree::column(id, ty)))
                .collect();
            for (id, e) in keys {
                if !columns.iter().any(|(own, _)| *own == id) {
                    columns.push((id, e));
                }
            }
            let input = Plan::Project { input: Box::new(plan), columns };
            let plan = Plan::Distinct { input: Box::new(input), on: Vec::new() };
            Some(Pulled { plan, conditions })
        }
        Plan::Aggregate { .. } => pull_aggregate(context, plan, outer),
        Plan::Window { input, calls } => {
            let mut plain = !fails_beyond(plan, outer);
            for (_, call) in calls {
                tree::window_exprs(call, &mut |e| plain &= !tree::mentioned(e).intersects(outer));
            }
            let pulled = pull(context, input, outer, Need::Rows).filter(|_| plain)?;
            let (plan, keys, conditions) = keyed(context, pulled, outer)?;
            let plan = with_keys(plan, &keys);
            let mut calls = calls.clone();
            for (_, call) in &mut calls {
                call.partition_by.extend(keys.iter().map(|(id, e)| tree::column(*id, e.ty)));
            }
            Some(Pulled { plan: Plan::Window { input: Box::new(plan), calls }, conditions })
        }
        Plan::Limit { input, limit, offset } => {
            pull_limit(context, input, limit.as_ref(), offset.as_ref(), outer)
        }
        Plan::Join { .. } => pull_join(context, plan, outer, need),
        _ => None,
    }
}

/// `columns`, and what `conditions` read from `plan` beside them.
fn with_conditions(
    mut columns: Vec<(ColumnId, Expr)>,
    plan: &Plan,
    conditions: &[Expr],
) -> Vec<(ColumnId, Expr)> {
    let mut read = ColumnSet::default();
    conditions.iter().for_each(|e| tree::mention(e, &mut read));
    for (id, ty) in tree::output(plan) {
        if read.contains(id) && !columns.iter().any(|(own, _)| *own == id) {
            columns.push((id, tree::column(id, ty)));
        }
    }
    columns
}

/// Columns that hold the inner sides of equalities.
type Keys = Vec<(ColumnId, Expr)>;

/// The inner sides of the conditions, which must all be equalities, as key columns, and the
/// conditions over those.
fn keyed(
    context: &mut Context<'_>,
    pulled: Pulled,
    outer: &ColumnSet,
) -> Option<(Plan, Keys, Vec<Expr>)> {
    let mut keys: Keys = Vec::new();
    let mut conditions = Vec::with_capacity(pulled.conditions.len());
    for part in &pulled.conditions {
        let (op, outside, inside) = equality(part, outer)?;
        let known = keys.iter().find(|(_, e)| e == inside).map(|(id, _)| *id);
        let id = known.or(tree::as_column(inside)).unwrap_or_else(|| context.fresh());
        if known.is_none() {
            keys.push((id, inside.clone()));
        }
        conditions.push(tree::compare(op, outside.clone(), tree::column(id, inside.ty)));
    }
    Some((pulled.plan, keys, conditions))
}

/// `plan` with the keys among its columns.
fn with_keys(plan: Plan, keys: &Keys) -> Plan {
    let outputs = tree::output(&plan);
    let missing = |id: &ColumnId| !outputs.iter().any(|(own, _)| own == id);
    if !keys.iter().any(|(id, _)| missing(id)) {
        return plan;
    }
    let mut columns: Vec<_> = outputs.iter().map(|&(id, ty)| (id, tree::column(id, ty))).collect();
    columns.extend(keys.iter().filter(|(id, _)| missing(id)).cloned());
    Plan::Project { input: Box::new(plan), columns }
}

fn pull_aggregate(context: &mut Context<'_>, plan: &Plan, outer: &ColumnSet) -> Option<Pulled> {
    let Plan::Aggregate { input, keys, aggregates, grouping_sets: None, set_column } = plan else {
        return None;
    };
    let mut plain = !keys.is_empty() && !fails_beyond(plan, outer);
    keys.iter().for_each(|(_, e)| plain &= !tree::mentioned(e).intersects(outer));
    for (_, call) in aggregates {
        tree::aggregate_exprs(call, &mut |e| plain &= !tree::mentioned(e).intersects(outer));
    }
    let pulled = pull(context, input, outer, Need::Rows).filter(|_| plain)?;
    let (plan, more, conditions) = regrouped(context, pulled, keys, outer)?;
    let plan = Plan::Aggregate {
        input: Box::new(plan),
        keys: more,
        aggregates: aggregates.clone(),
        grouping_sets: None,
        set_column: *set_column,
    };
    Some(Pulled { plan, conditions })
}

/// The group keys with those that the conditions need, which then read the keys.
fn regrouped(
    context: &mut Context<'_>,
    pulled: Pulled,
    keys: &[(ColumnId, Expr)],
    outer: &ColumnSet,
) -> Option<(Plan, Keys, Vec<Expr>)> {
    let mut keys = keys.to_vec();
    let mut conditions = Vec::with_capacity(pulled.conditions.len());
    for part in &pulled.conditions {
        let (op, outside, inside) = equality(part, outer)?;
        let known = keys.iter().find(|(_, e)| e == inside).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| context.fresh());
        if known.is_none() {
            keys.push((id, inside.clone()));
        }
        conditions.push(tree::compare(op, outside.clone(), tree::column(id, inside.ty)));
    }
    Some((pulled.plan, keys, conditions))
}

fn pull_limit(
    context: &mut Context<'_>,
    input: &Plan,
    limit: Option<&Expr>,
    offset: Option<&Expr>,
    outer: &ColumnSet,
) -> Option<Pulled> {
    let constant = |e: Option<&Expr>| e.is_none_or(tree::is_constant);
    if !constant(limit) || !constant(offset) || fails_beyond(input, outer) {
        return None;
    }
    let order = sort_below(input);
    if order.iter().any(|key| tree::mentioned(&key.expr).intersects(outer)) {
        return None;
    }
    let pulled = pull(context, input, outer, Need::Rows)?;
    let (plan, keys, conditions) = keyed(context, pulled, outer)?;
    let mut read = ColumnSet::default();
    order.iter().for_each(|key| tree::mention(&key.expr, &mut read));
    if !read.is_subset(&tree::output_set(&plan)) {
        return None;
    }
    let plan = with_keys(plan, &keys);
    let sorted =
        if order.is_empty() { plan } else { Plan::Sort { input: Box::new(plan), keys: order } };
    let references = keys.iter().map(|(id, e)| tree::column(*id, e.ty)).collect();
    let plan = limit_each(context, sorted, references, limit.cloned(), offset.cloned());
    Some(Pulled { plan, conditions })
}

/// The keys of the sort that orders `plan`.
fn sort_below(plan: &Plan) -> Vec<SortKey> {
    match plan {
        Plan::Sort { keys, .. } => keys.clone(),
        Plan::Project { input, .. } => sort_below(input),
        _ => Vec::new(),
    }
}

fn pull_join(
    context: &mut Context<'_>,
    plan: &Plan,
    outer: &ColumnSet,
    need: Need,
) -> Option<Pulled> {
    let Plan::Join { left, right, kind, condition } = plan else {
        return None;
    };
    let right_outer = tree::free(right).intersects(outer);
    let condition_outer = tree::mentioned(condition).intersects(outer);
    let lateral = tree::is_lateral(left, right);
    match kind {
        JoinKind::Inner => {
            if right_outer && lateral {
                return None;
            }
            let a = pull(context, left, outer, need)?;
            let b = pull(context, right, outer, need)?;
            let (out, stay) = tree::conjuncts(condition.clone())
                .into_iter()
                .partition::<Vec<_>, _>(|e| tree::mentioned(e).intersects(outer));
            let mut conditions = a.conditions;
            conditions.extend(b.conditions);
            conditions.extend(out);
            let plan = Plan::Join {
                left: Box::new(a.plan),
                right: Box::new(b.plan),
                kind: *kind,
                condition: tree::and_all(stay),
            };
            Some(Pulled { plan, conditions })
        }
        JoinKind::Left
        | JoinKind::Semi
        | JoinKind::Anti
        | JoinKind::Mark(_)
        | JoinKind::Single
        | JoinKind::Each
            if !right_outer && !condition_outer =>
        {
            let counts = matches!(kind, JoinKind::Single | JoinKind::Each);
            let need = if counts { Need::Rows } else { need };
            let Pulled { plan, conditions } = pull(context, left, outer, need)?;
            let (left, right) = (Box::new(plan), right.clone());
            let plan = Plan::Join { left, right, kind: *kind, condition: condition.clone() };
            Some(Pulled { plan, conditions })
        }
        _ => None,
    }
}

/// Expressions above an aggregation without GROUP BY: its columns over the join, and
/// tests that keep the one row.
struct Above {
    columns: HashMap<ColumnId, Expr>,
    tests: Vec<Expr>,
}

/// A join whose right side reads columns of the left one.
#[derive(Clone, Copy)]
struct Dependent<'a> {
    left: &'a Plan,
    right: &'a Plan,
    kind: JoinKind,
    condition: &'a Expr,
}

/// The right side is one aggregated row: aggregation by the correlation's keys, outer join.
fn scalar_aggregate(
    context: &mut Context<'_>,
    dependent: Dependent<'_>,
    outer: &ColumnSet,
) -> Option<Plan> {
    let Dependent { left, right, condition, .. } = dependent;
    let grouped = bottom(right)?;
    let Plan::Aggregate { input, keys, aggregates, grouping_sets: None, .. } = grouped else {
        return None;
    };
    let mut plain = keys.is_empty() && !fails_beyond(grouped, outer);
    for (_, call) in aggregates {
        tree::aggregate_exprs(call, &mut |e| plain &= !tree::mentioned(e).intersects(outer));
    }
    let pulled = pull(context, input, outer, Need::Rows).filter(|_| plain)?;
    if pulled.conditions.is_empty() {
        return None;
    }
    let (plan, keys, mut conditions) = regrouped(context, pulled, &[], outer)?;
    guard_outside(&mut conditions, condition, outer);
    let mut above = Above { columns: HashMap::new(), tests: Vec::new() };
    let mut renamed = Vec::with_capacity(aggregates.len());
    for (id, call) in aggregates {
        let inner = if is_count(call) { context.fresh() } else { *id };
        let value = tree::column(inner, call.ty);
        if is_count(call) {
            let zero = tree::literal(Value::I64(0), DataType::BigInt);
            above.columns.insert(*id, tree::coalesce(value, zero));
        }
        renamed.push((inner, call.clone()));
    }
    compose(right, &mut above);
    let grouped = Plan::Aggregate {
        input: Box::new(plan),
        keys,
        aggregates: renamed,
        grouping_sets: None,
        set_column: None,
    };
    let join = Plan::Join {
        left: Box::new(left.clone()),
        right: Box::new(grouped),
        kind: JoinKind::Left,
        condition: tree::and_all(conditions),
    };
    Some(finish(dependent, join, above))
}

/// The aggregation under operators that keep one row one row.
fn bottom(plan: &Plan) -> Option<&Plan> {
    match plan {
        Plan::Aggregate { .. } => Some(plan),
        Plan::Project { input, columns } => {
            if columns.iter().any(|(_, e)| tree::is_volatile(e)) {
                return None;
            }
            bottom(input)
        }
        Plan::Filter { input, .. } | Plan::Sort { input, .. } => bottom(input),
        Plan::Distinct { input, .. } => bottom(input),
        Plan::Limit { input, limit, offset: None } => match limit.as_ref().map(|e| &e.kind) {
            Some(ExprKind::Literal(value)) if value.as_integer().is_some_and(|n| n >= 1) => {
                bottom(input)
            }
            None => bottom(input),
            _ => None,
        },
        _ => None,
    }
}

/// Follows the operators above the aggregation, from below.
fn compose(plan: &Plan, above: &mut Above) {
    match plan {
        Plan::Project { input, columns } => {
            compose(input, above);
            let mut next = above.columns.clone();
            for (id, expr) in columns {
                let mut expr = expr.clone();
                tree::substitute(&mut expr, &above.columns);
                if tree::as_column(&expr) != Some(*id) {
                    next.insert(*id, expr);
                }
            }
            above.columns = next;
        }
        Plan::Filter { input, predicate } => {
            compose(input, above);
            let mut predicate = predicate.clone();
            tree::substitute(&mut predicate, &above.columns);
            tree::split_conjuncts(predicate, &mut above.tests);
        }
        Plan::Sort { input, .. } | Plan::Distinct { input, .. } | Plan::Limit { input, .. } => {
            compose(input, above);
        }
        _ => {}
    }
}

/// The dependent join's result from the outer join with the groups.
fn finish(dependent: Dependent<'_>, join: Plan, above: Above) -> Plan {
    let Dependent { left, right, kind, condition } = dependent;
    let mut columns: Vec<(ColumnId, Expr)> =
        tree::output(left).into_iter().map(|(id, ty)| (id, tree::column(id, ty))).collect();
    let mut condition = condition.clone();
    tree::substitute(&mut condition, &above.columns);
    let value = |id: ColumnId, ty: DataType| {
        above.columns.get(&id).cloned().unwrap_or_else(|| tree::column(id, ty))
    };
    let tests = above.tests.clone();
    let mut all = tests.clone();
    tree::split_conjuncts(condition.clone(), &mut all);
    match kind {
        JoinKind::Inner | JoinKind::Semi => {
            if kind == JoinKind::Inner {
                columns.extend(tree::output(right).into_iter().map(|(id, ty)| (id, value(id, ty))));
            }
            Plan::Project { input: Box::new(tree::filtered(join, all)), columns }
        }
        JoinKind::Anti => {
            let matched = tree::coalesce(tree::and_all(all), tree::truth(false));
            let kept = tree::filtered(join, vec![tree::negate(matched)]);
            Plan::Project { input: Box::new(kept), columns }
        }
        JoinKind::Mark(mark) => {
            let result = guarded(tests, condition, tree::truth(false));
            columns.push((mark, result));
            Plan::Project { input: Box::new(join), columns }
        }
        _ => {
            for (id, ty) in tree::output(right) {
                let null = tree::literal(Value::Null, ty);
                columns.push((id, guarded(all.clone(), value(id, ty), null)));
            }
            Plan::Project { input: Box::new(join), columns }
        }
    }
}

/// CASE WHEN tests THEN value ELSE otherwise END.
fn guarded(tests: Vec<Expr>, value: Expr, otherwise: Expr) -> Expr {
    if tests.is_empty() {
        return value;
    }
    let ty = value.ty;
    let branches = vec![(tree::and_all(tests), value)];
    Expr { kind: ExprKind::Case { branches, otherwise: Box::new(otherwise) }, ty }
}
