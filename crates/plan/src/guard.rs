//! Keeps computations of some rows only behind the test that chooses those rows.
//!
//! ```text
//! f(x) FILTER (WHERE p)      -> f(CASE WHEN p THEN x END) FILTER (WHERE p), p a column below
//! Limit over volatile x      -> Limit over x over Limit: x is computed for the rows that pass
//! ```
//! Elsewhere: sub-queries in branches of CASE and their kin (`unnest::lift`), errors of parts that
//! are computed once (`exec`).

use sql::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind, Function, Plan, WindowCall,
    WindowFunction,
};
use types::{DataType, Value};

use crate::context::Context;
use crate::properties::Properties;
use crate::safe::cannot_fail;
use crate::tree;

/// True when a row may make `expr` raise an error, whatever the ranges of its columns.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    !cannot_fail(expr, &Properties::default())
}

/// True when `plan` may raise an error: an expression of it, or an aggregate over its rows.
pub(crate) fn plan_may_fail(plan: &Plan) -> bool {
    let mut found = false;
    tree::every_plan(plan, &mut |p| found = found || operator_may_fail(p));
    found
}

/// True when `plan` may raise an error over rows that its inputs have made.
pub(crate) fn operator_may_fail(plan: &Plan) -> bool {
    let mut found = false;
    tree::exprs(plan, &mut |e| found = found || may_fail(e));
    match plan {
        Plan::Aggregate { aggregates, .. } => {
            found || aggregates.iter().any(|(_, call)| refuses_rows(call))
        }
        Plan::Window { calls, .. } => found || calls.iter().any(|(_, call)| window_refuses(call)),
        _ => found,
    }
}

/// True for an aggregate that takes not all values of its arguments: arrays of arrays have no
/// NULLs, and one form.
fn refuses_rows(call: &AggregateCall) -> bool {
    call.function == AggregateFunction::ArrayAgg && call.arguments.iter().any(|e| e.ty.is_array())
}

fn window_refuses(call: &WindowCall) -> bool {
    let is_array = call.arguments.iter().any(|e| e.ty.is_array());
    call.function == WindowFunction::Aggregate(AggregateFunction::ArrayAgg) && is_array
}

/// Guards the arguments of aggregates by their filters, and volatile columns by LIMIT.
pub(crate) fn guard(context: &mut Context<'_>, plan: &mut Plan) {
    tree::every_plan_mut(plan, &mut |plan| match plan {
        Plan::Aggregate { .. } => guard_aggregate(context, plan),
        Plan::Window { .. } => guard_window(context, plan),
        Plan::Limit { .. } => limit_first(plan),
        _ => {}
    });
}

/// True when `call`, given its filter and other expressions, computes something for rows that the
/// filter leaves out.
fn needs_guard(filter: Option<&Expr>, others: &[&Expr]) -> bool {
    let matters = |e: &&Expr| tree::as_column(e).is_none() && (may_fail(e) || tree::is_volatile(e));
    filter.is_some() && others.iter().any(matters)
}

/// `expr` where `filter`, a column, is true, else NULL.
fn guarded(expr: &mut Expr, filter: &Expr) {
    // A separator or fraction stays a literal.
    if tree::is_constant(expr) && !may_fail(expr) || tree::as_column(expr).is_some() {
        return;
    }
    let ty = expr.ty;
    let branches = vec![(filter.clone(), tree::take_expr(expr))];
    let otherwise = Box::new(tree::literal(Value::Null, ty));
    *expr = Expr { kind: ExprKind::Case { branches, otherwise }, ty };
}

/// Makes `filter` a column of `added`.
fn as_added(
    context: &mut Context<'_>,
    filter: &mut Expr,
    added: &mut Vec<(ColumnId, Expr)>,
) -> Expr {
    let id = context.fresh();
    let column = tree::column(id, DataType::Boolean);
    added.push((id, std::mem::replace(filter, column.clone())));
    column
}

/// Computes `added` below `plan`, the owner of `input`.
fn compute_below(input: &mut Plan, added: Vec<(ColumnId, Expr)>) {
    let outputs = tree::output(input);
    let mut columns: Vec<_> = outputs.iter().map(|&(id, ty)| (id, tree::column(id, ty))).collect();
    columns.extend(added);
    *input = Plan::Project { input: Box::new(tree::take(input)), columns };
}

fn guard_aggregate(context: &mut Context<'_>, plan: &mut Plan) {
    let Plan::Aggregate { input, aggregates, .. } = plan else {
        return;
    };
    let mut added = Vec::new();
    for (_, call) in aggregates {
        let mut others: Vec<&Expr> = call.arguments.iter().collect();
        others.extend(call.order_by.iter().map(|key| &key.expr));
        if !needs_guard(call.filter.as_ref(), &others) {
            continue;
        }
        let Some(filter) = &mut call.filter else { continue };
        let column = as_added(context, filter, &mut added);
        call.arguments.iter_mut().for_each(|e| guarded(e, &column));
        call.order_by.iter_mut().for_each(|key| guarded(&mut key.expr, &column));
    }
    if !added.is_empty() {
        compute_below(input, added);
    }
}

fn guard_window(context: &mut Context<'_>, plan: &mut Plan) {
    let outputs = tree::output(plan);
    let Plan::Window { input, calls } = plan else {
        return;
    };
    let mut added = Vec::new();
    for (_, call) in calls {
        let others: Vec<&Expr> = call.arguments.iter().collect();
        if !needs_guard(call.filter.as_ref(), &others) {
            continue;
        }
        let Some(filter) = &mut call.filter else { continue };
        let column = as_added(context, filter, &mut added);
        call.arguments.iter_mut().for_each(|e| guarded(e, &column));
    }
    if !added.is_empty() {
        compute_below(input, added);
        *plan = tree::narrowed(tree::take(plan), &outputs);
    }
}

/// Volatile columns are computed for the rows that LIMIT lets through and those that OFFSET skips.
fn limit_first(plan: &mut Plan) {
    let Plan::Limit { input, limit: Some(limit), offset: Some(offset) } = plan else {
        return;
    };
    let Plan::Project { input: below, columns } = &mut **input else {
        return;
    };
    let plain = |e: &Expr| !tree::is_volatile(e) && !tree::has_sub_query(e);
    let computed = columns.iter().any(|(_, e)| tree::is_volatile(e));
    // Joins that sub-queries become keep no order.
    let nested = columns.iter().any(|(_, e)| tree::has_sub_query(e));
    if !computed || nested || !plain(limit) || !plain(offset) {
        return;
    }
    let zero = tree::literal(Value::I64(0), DataType::BigInt);
    let skipped = tree::coalesce(offset.clone(), zero);
    let kind = ExprKind::Call(Function::Add, vec![limit.clone(), skipped]);
    let first = Expr { kind, ty: DataType::BigInt };
    let rows = Box::new(tree::take(below));
    let limited = Plan::Limit { input: rows, limit: Some(first), offset: None };
    **below = limited;
}
