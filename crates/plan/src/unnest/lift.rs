//! Sub-query expressions become joins below the operator that reads them.
//!
//! | expression            | join                        | value                    |
//! | scalar sub-query      | Single                      | its column               |
//! | EXISTS                | Mark on TRUE                | the mark                 |
//! | x op ANY (q)          | Mark on x op q              | the mark                 |
//! | x op ALL (q)          | Mark on the inverse         | NOT the mark             |
//! | as conjunct           | Semi, Anti where NULL-free  | none                     |
//! | uncorrelated          | none: computed once         | a constant of the query  |

use std::sync::Arc;

use sql::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr, ExprKind, Function, JoinKind,
    Plan, Quantifier, SetOperator,
};
use types::{CompareOp, DataType, Error, Result, Value};

use super::nullability::never_null;
use crate::cardinality::nullable_by;
use crate::context::Context;
use crate::guard::{may_fail, plan_may_fail};
use crate::tree;

/// Lifts every sub-query of `plan`.
pub(crate) fn lift(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    types::stack::deep(|| lift_here(context, plan))
}

fn lift_here(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    let mut result = Ok(());
    tree::inputs_mut(plan, &mut |input| {
        if result.is_ok() {
            result = lift(context, input);
        }
    });
    result?;
    if let Plan::Join { left, right, kind: kind @ JoinKind::Right, .. } = plan {
        std::mem::swap(left, right);
        *kind = JoinKind::Left;
    }
    let mut computed = false;
    let mut free = false;
    tree::exprs(plan, &mut |e| {
        computed |= tree::has_sub_query(e);
        free |= !tree::is_constant(e);
    });
    match plan {
        Plan::Values { .. } if computed || free => lift_values(context, plan),
        _ if !computed => Ok(()),
        Plan::Filter { .. } => lift_filter(context, plan),
        Plan::Join { .. } => lift_join(context, plan),
        Plan::Limit { .. } => {
            let mut host = tree::one_row();
            lift_all(context, plan, &mut host)?;
            match host {
                Plan::Values { .. } => Ok(()),
                _ => Err(Error::unsupported("a correlated sub-query in LIMIT")),
            }
        }
        Plan::Series { .. } => {
            let columns = tree::output(plan);
            let mut host = tree::one_row();
            lift_all(context, plan, &mut host)?;
            if !matches!(host, Plan::Values { .. }) {
                let (left, right) = (Box::new(host), Box::new(tree::take(plan)));
                let (kind, condition) = (JoinKind::Inner, tree::truth(true));
                let join = Plan::Join { left, right, kind, condition };
                *plan = tree::narrowed(join, &columns);
            }
            Ok(())
        }
        Plan::Project { input, .. } | Plan::Aggregate { input, .. } => {
            let mut host = tree::take(input);
            lift_all(context, plan, &mut host)?;
            replace_input(plan, host);
            Ok(())
        }
        Plan::Sort { input, .. } | Plan::Distinct { input, .. } | Plan::Window { input, .. } => {
            let columns = {
                let mut host = tree::take(input);
                let columns = tree::output(&host);
                lift_all(context, plan, &mut host)?;
                replace_input(plan, host);
                columns
            };
            let mut columns = columns;
            if let Plan::Window { calls, .. } = plan {
                columns.extend(calls.iter().map(|(id, call)| (*id, call.ty)));
            }
            *plan = tree::narrowed(tree::take(plan), &columns);
            Ok(())
        }
        _ => Err(Error::internal("a sub-query in an operator without expressions")),
    }
}

fn replace_input(plan: &mut Plan, host: Plan) {
    let mut host = Some(host);
    tree::inputs_mut(plan, &mut |input| {
        if let Some(host) = host.take() {
            *input = host;
        }
    });
}

/// Lifts the sub-queries of all expressions of the operator `plan` onto `host`.
fn lift_all(context: &mut Context<'_>, plan: &mut Plan, host: &mut Plan) -> Result<()> {
    let mut result = Ok(());
    tree::exprs_mut(plan, &mut |expr| {
        if result.is_ok() {
            result = lift_expr(context, expr, host);
        }
    });
    result
}

/// Replaces the sub-queries in `expr` by columns that joins on top of `host` compute.
fn lift_expr(context: &mut Context<'_>, expr: &mut Expr, host: &mut Plan) -> Result<()> {
    lift_guarded(context, expr, host, &[])
}

/// As [`lift_expr`], for an expression that is evaluated only for rows of `host` where all of
/// `guards` are true: what a sub-query raises is no error for the others.
fn lift_guarded(
    context: &mut Context<'_>,
    expr: &mut Expr,
    host: &mut Plan,
    guards: &[Expr],
) -> Result<()> {
    if !tree::has_sub_query(expr) {
        return Ok(());
    }
    match &mut expr.kind {
        ExprKind::Case { branches, otherwise } => {
            return lift_case(context, branches, otherwise, host, guards);
        }
        ExprKind::Call(Function::Coalesce, list) => {
            let next = |part: Expr| tree::is_null(part);
            return lift_in_order(context, list, host, guards, &next);
        }
        ExprKind::And(list) => {
            let next = |part: Expr| tree::coalesce(part, tree::truth(true));
            return lift_in_order(context, list, host, guards, &next);
        }
        ExprKind::Or(list) => {
            let next = |part: Expr| tree::negate(tree::coalesce(part, tree::truth(false)));
            return lift_in_order(context, list, host, guards, &next);
        }
        _ => {}
    }
    let mut result = Ok(());
    tree::operands_mut(expr, &mut |operand| {
        if result.is_ok() {
            result = lift_guarded(context, operand, host, guards);
        }
    });
    result?;
    match tree::sub_plan(expr) {
        Some(_) => lift_sub_query(context, expr, host, guards),
        None => Ok(()),
    }
}

/// Replaces a sub-query, whose left-hand expressions are lifted, by the column of a join.
fn lift_sub_query(
    context: &mut Context<'_>,
    expr: &mut Expr,
    host: &mut Plan,
    guards: &[Expr],
) -> Result<()> {
    let ty = expr.ty;
    match tree::take_expr(expr).kind {
        ExprKind::ScalarSubquery(mut plan) => {
            lift(context, &mut plan)?;
            // What it raises waits for a row that reads its value.
            if context.is_closed(&plan) {
                *expr = context.add_scalar(*plan, ty);
                return Ok(());
            }
            let id = first_column(&plan)?;
            let raises = !gives_one_row(&plan) || is_guarded(&plan);
            let guards = if raises { guards.to_vec() } else { Vec::new() };
            join_onto(host, *plan, JoinKind::Single, tree::and_all(guards));
            *expr = tree::column(id, ty);
        }
        ExprKind::Exists(mut plan) => {
            lift(context, &mut plan)?;
            if context.is_closed(&plan) {
                *expr = exists_scalar(context, *plan);
                return Ok(());
            }
            let mark = context.fresh();
            let guards = if is_guarded(&plan) { guards.to_vec() } else { Vec::new() };
            join_onto(host, *plan, JoinKind::Mark(mark), tree::and_all(guards));
            *expr = tree::column(mark, DataType::Boolean);
        }
        ExprKind::Quantified { left, op, quantifier, mut plan } => {
            lift(context, &mut plan)?;
            let raises = is_guarded(&plan) || left.iter().any(may_fail);
            let condition = quantified_condition(left, op, quantifier, &plan)?;
            let mut parts = if raises { guards.to_vec() } else { Vec::new() };
            tree::split_conjuncts(condition, &mut parts);
            let mark = context.fresh();
            join_onto(host, *plan, JoinKind::Mark(mark), tree::and_all(parts));
            let mark = tree::column(mark, DataType::Boolean);
            *expr = if quantifier == Quantifier::Any { mark } else { tree::negate(mark) };
        }
        kind => expr.kind = kind,
    }
    Ok(())
}

/// CASE: what a branch computes is guarded by its condition and by those before it.
fn lift_case(
    context: &mut Context<'_>,
    branches: &mut [(Expr, Expr)],
    otherwise: &mut Expr,
    host: &mut Plan,
    guards: &[Expr],
) -> Result<()> {
    let mut guards = guards.to_vec();
    for (condition, result) in branches {
        lift_guarded(context, condition, host, &guards)?;
        if tree::is_volatile(condition) {
            lift_guarded(context, result, host, &guards)?;
            continue;
        }
        guards.push(condition.clone());
        lift_guarded(context, result, host, &guards)?;
        guards.pop();
        guards.push(tree::negate(tree::coalesce(condition.clone(), tree::truth(false))));
    }
    lift_guarded(context, otherwise, host, &guards)
}

/// Operands of which one is evaluated where `next` holds of those before it.
fn lift_in_order(
    context: &mut Context<'_>,
    list: &mut [Expr],
    host: &mut Plan,
    guards: &[Expr],
    next: &dyn Fn(Expr) -> Expr,
) -> Result<()> {
    let last = list.iter().rposition(tree::has_sub_query).unwrap_or(0);
    let mut guards = guards.to_vec();
    for (i, part) in list.iter_mut().enumerate() {
        lift_guarded(context, part, host, &guards)?;
        if i < last && !tree::is_volatile(part) {
            guards.push(next(part.clone()));
        }
    }
    Ok(())
}

/// True when rows that do not read the value of `plan` may notice that it is computed for them.
fn is_guarded(plan: &Plan) -> bool {
    plan_may_fail(plan) || plan.is_volatile()
}

/// True when `plan` cannot have two rows: one group over everything.
fn gives_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { keys, grouping_sets, .. } => keys.is_empty() && grouping_sets.is_none(),
        Plan::Values { rows, .. } => rows.len() <= 1,
        Plan::Project { input, .. } | Plan::Filter { input, .. } | Plan::Sort { input, .. } => {
            gives_one_row(input)
        }
        _ => false,
    }
}

fn first_column(plan: &Plan) -> Result<ColumnId> {
    let first = tree::output(plan).first().map(|(id, _)| *id);
    first.ok_or_else(|| Error::internal("a scalar sub-query has one column"))
}

fn join_onto(host: &mut Plan, right: Plan, kind: JoinKind, condition: Expr) {
    let left = Box::new(tree::take(host));
    *host = Plan::Join { left, right: Box::new(right), kind, condition };
}

/// `count(*) > 0` over at most one row of an uncorrelated sub-query.
fn exists_scalar(context: &mut Context<'_>, plan: Plan) -> Expr {
    let one = tree::literal(Value::I64(1), DataType::BigInt);
    let limited = Plan::Limit { input: Box::new(plan), limit: Some(one), offset: None };
    let (count, result) = (context.fresh(), context.fresh());
    let call = AggregateCall {
        function: AggregateFunction::CountRows,
        arguments: Vec::new(),
        duplicates: Duplicates::Keep,
        filter: None,
        order_by: Vec::new(),
        ty: DataType::BigInt,
    };
    let counted = Plan::Aggregate {
        input: Box::new(limited),
        keys: Vec::new(),
        aggregates: vec![(count, call)],
        grouping_sets: None,
        set_column: None,
    };
    let zero = tree::literal(Value::I64(0), DataType::BigInt);
    let count = tree::column(count, DataType::BigInt);
    let test = tree::compare(CompareOp::Greater, count, zero);
    let plan = Plan::Project { input: Box::new(counted), columns: vec![(result, test)] };
    context.add_scalar(plan, DataType::Boolean)
}

/// Condition that one row of the sub-query must satisfy: for ALL the inverse of the comparison.
fn quantified_condition(
    left: Vec<Expr>,
    op: CompareOp,
    quantifier: Quantifier,
    plan: &Plan,
) -> Result<Expr> {
    let op = match quantifier {
        Quantifier::Any => op,
        Quantifier::All => op.inverse(),
    };
    let columns = tree::output(plan);
    if columns.len() < left.len() {
        return Err(Error::internal("a quantified comparison has as many columns as expressions"));
    }
    let single = left.len() == 1;
    let parts: Vec<Expr> = left
        .into_iter()
        .zip(columns)
        .map(|(e, (id, ty))| tree::compare(op, e, tree::column(id, ty)))
        .collect();
    match op {
        _ if single => Ok(tree::and_all(parts)),
        CompareOp::Equal | CompareOp::NotDistinct => Ok(tree::and_all(parts)),
        CompareOp::NotEqual | CompareOp::Distinct => Ok(tree::or_all(parts)),
        _ => Err(Error::unsupported("an ordered comparison of rows with a sub-query")),
    }
}

/// Sub-queries in WHERE: conjuncts become semi- and anti-joins where they can.
fn lift_filter(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    let Plan::Filter { input, predicate } = tree::take(plan) else {
        return Err(Error::internal("a filter was expected"));
    };
    let columns = tree::output(&input);
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for part in tree::conjuncts(predicate) {
        if tree::has_sub_query(&part) { last.push(part) } else { first.push(part) }
    }
    let mut host = tree::filtered(*input, first);
    let mut rest = Vec::new();
    for mut part in last {
        if lift_conjunct(context, &mut part, &mut host)? {
            continue;
        }
        lift_expr(context, &mut part, &mut host)?;
        rest.push(part);
    }
    *plan =
        if rest.is_empty() { host } else { tree::narrowed(tree::filtered(host, rest), &columns) };
    Ok(())
}

/// Turns a conjunct into a semi- or anti-join on `host`; false when it needs a mark.
fn lift_conjunct(context: &mut Context<'_>, part: &mut Expr, host: &mut Plan) -> Result<bool> {
    let (inner, negated) = match &mut part.kind {
        ExprKind::Not(inner) => (&mut **inner, true),
        _ => (part, false),
    };
    match &mut inner.kind {
        ExprKind::Exists(sub) => {
            lift(context, sub)?;
            if context.is_closed(sub) {
                return Ok(false);
            }
            let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
            join_onto(host, tree::take(sub), kind, tree::truth(true));
            Ok(true)
        }
        ExprKind::Quantified { left, op, quantifier, plan: sub } if !negated => {
            if left.iter().any(tree::has_sub_query) {
                return Ok(false);
            }
            lift(context, sub)?;
            let kind = match quantifier {
                Quantifier::Any => JoinKind::Semi,
                Quantifier::All => JoinKind::Anti,
            };
            if kind == JoinKind::Anti && !comparable_without_nulls(context, left, host, sub) {
                return Ok(false);
            }
            let left = std::mem::take(left);
            let condition = quantified_condition(left, *op, *quantifier, sub)?;
            join_onto(host, tree::take(sub), kind, condition);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// True when no comparison of `left` with a row of `sub` is NULL.
fn comparable_without_nulls(context: &Context<'_>, left: &[Expr], host: &Plan, sub: &Plan) -> bool {
    let host_null = |id: ColumnId| !never_null(context, host, id);
    let columns = tree::output(sub);
    left.iter().all(|e| !nullable_by(e, &host_null))
        && columns.iter().take(left.len()).all(|(id, _)| never_null(context, sub, *id))
}

/// Sub-queries in a join condition.
fn lift_join(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    let columns = tree::output(plan);
    let Plan::Join { mut left, mut right, kind, condition } = tree::take(plan) else {
        return Err(Error::internal("a join was expected"));
    };
    let (mut plain, mut nested) = (Vec::new(), Vec::new());
    for part in tree::conjuncts(condition) {
        if tree::has_sub_query(&part) { nested.push(part) } else { plain.push(part) }
    }
    if kind == JoinKind::Inner {
        let condition = tree::and_all(plain);
        *plan = tree::filtered(Plan::Join { left, right, kind, condition }, nested);
        return lift_filter(context, plan);
    }
    let (in_left, in_right) = (tree::output_set(&left), tree::output_set(&right));
    let mut both = Vec::new();
    for mut part in nested {
        let mentioned = tree::mentioned(&part);
        if !mentioned.intersects(&in_right) {
            lift_expr(context, &mut part, &mut left)?;
            plain.push(part);
        } else if !mentioned.intersects(&in_left) {
            lift_expr(context, &mut part, &mut right)?;
            plain.push(part);
        } else {
            both.push(part);
        }
    }
    if !both.is_empty() {
        if matches!(kind, JoinKind::Full | JoinKind::Mark(_)) {
            return Err(Error::unsupported(
                "a sub-query in the condition of a FULL JOIN that depends on both sides",
            ));
        }
        // The condition filters the right side once for each left row: a lateral join.
        both.append(&mut plain);
        *right = tree::filtered(tree::take(&mut right), both);
        lift_filter(context, &mut right)?;
    }
    let join = Plan::Join { left, right, kind, condition: tree::and_all(plain) };
    *plan = tree::narrowed(join, &columns);
    Ok(())
}

/// VALUES whose expressions depend on something: one projection for each row.
fn lift_values(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    let Plan::Values { columns, rows } = tree::take(plan) else {
        return Err(Error::internal("VALUES was expected"));
    };
    let mut whole: Option<Plan> = None;
    let count = rows.len();
    for (i, row) in rows.into_iter().enumerate() {
        let mut host = tree::one_row();
        let mut outputs = Vec::with_capacity(columns.len());
        for (mut expr, (id, _)) in row.into_iter().zip(&columns) {
            lift_expr(context, &mut expr, &mut host)?;
            outputs.push((if count == 1 { *id } else { context.fresh() }, expr));
        }
        let next = Plan::Project { input: Box::new(host), columns: outputs };
        whole = Some(match whole {
            None => next,
            Some(before) => {
                let last = i + 1 == count;
                union_all(context, before, next, last.then_some(&columns[..]))
            }
        });
    }
    if let Some(whole) = whole {
        *plan = whole;
    }
    Ok(())
}

/// UNION ALL of two plans, under the given or new column ids.
fn union_all(
    context: &mut Context<'_>,
    left: Plan,
    right: Plan,
    columns: Option<&[(ColumnId, DataType)]>,
) -> Plan {
    let columns = match columns {
        Some(columns) => columns.to_vec(),
        None => tree::output(&left).into_iter().map(|(_, ty)| (context.fresh(), ty)).collect(),
    };
    let fix = |plan: Plan| match plan {
        Plan::Project { .. } => Box::new(plan),
        _ => {
            let columns = tree::output(&plan);
            Box::new(tree::narrowed(plan, &columns))
        }
    };
    Plan::SetOperation {
        operator: SetOperator::Union,
        duplicates: Duplicates::Keep,
        left: fix(left),
        right: fix(right),
        columns,
    }
}

/// The name of what unnesting computes once.
pub(super) fn domain_name() -> Arc<str> {
    "domain".into()
}
