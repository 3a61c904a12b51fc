//! Constant folding and boolean simplification.
//!
//! All rewrites keep three-valued logic: they hold for NULLs in any position of the query, not only
//! under a filter. What raises an error while folding is left to run time.
//!
//! Elsewhere: comparisons brought to the column's own type (`compare`), disjunctions
//! (`disjunction`).

mod compare;
mod disjunction;

pub(crate) use compare::{nearest, simplify as simplify_comparison, widens};
use sql::algebra::{Expr, ExprKind, Function, Plan, Quantifier};
use types::{CompareOp, DataType, Value};

use crate::Statistics;
use crate::tree;

/// Folds every expression of `plan`, sub-queries included.
pub(crate) fn fold_plan(statistics: &dyn Statistics, plan: &mut Plan) {
    tree::inputs_mut(plan, &mut |input| fold_plan(statistics, input));
    tree::exprs_mut(plan, &mut |expr| fold(statistics, expr));
}

/// Folds `expr`: constants are computed, and comparisons brought to the types of their columns.
pub fn fold(statistics: &dyn Statistics, expr: &mut Expr) {
    tree::operands_mut(expr, &mut |operand| fold(statistics, operand));
    if let Some(plan) = tree::sub_plan_mut(expr) {
        fold_plan(statistics, plan);
    }
    simplify(statistics, expr);
}

fn simplify(statistics: &dyn Statistics, expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::And(_) => simplify_and(expr),
        ExprKind::Or(_) => simplify_or(expr),
        ExprKind::Not(_) => simplify_not(expr),
        ExprKind::Case { .. } => simplify_case(expr),
        ExprKind::Compare(..) => {
            if !fold_constant(statistics, expr) {
                compare::simplify(expr);
            }
        }
        ExprKind::InList(_, list) if list.len() == 1 => {
            if let ExprKind::InList(operand, mut list) = tree::take_expr(expr).kind {
                let item = list.remove(0);
                *expr = tree::compare(CompareOp::Equal, *operand, item);
                simplify(statistics, expr);
            }
        }
        ExprKind::InList(..) => {
            if !fold_constant(statistics, expr) {
                compare::simplify_list(expr);
            }
        }
        ExprKind::Call(Function::AnyElement(CompareOp::Equal), _) => {
            if !fold_constant(statistics, expr) && unfold_array(expr) {
                simplify(statistics, expr);
            }
        }
        ExprKind::Call(Function::Coalesce, _) => {
            simplify_coalesce(expr);
            fold_constant(statistics, expr);
        }
        ExprKind::Cast(inner) if inner.ty == expr.ty => {
            let inner = tree::take_expr(inner);
            *expr = inner;
        }
        ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_) => {}
        _ => {
            fold_constant(statistics, expr);
        }
    }
}

/// `x = ANY (array)` over a known array as `x IN (elements)`; false when the array is not known.
fn unfold_array(expr: &mut Expr) -> bool {
    let ExprKind::Call(_, arguments) = &mut expr.kind else {
        return false;
    };
    let [_, array] = arguments.as_slice() else {
        return false;
    };
    let list = match (&array.kind, array.ty) {
        (ExprKind::Literal(Value::Null), _) => {
            *expr = tree::literal(Value::Null, DataType::Boolean);
            return true;
        }
        (ExprKind::Literal(Value::Str(bytes)), DataType::Array(element)) => {
            let values = types::array::values(bytes, element).into_iter();
            values.map(|value| tree::literal(value, element.data_type())).collect::<Vec<_>>()
        }
        _ => return false,
    };
    *expr = if list.is_empty() {
        tree::truth(false)
    } else {
        tree::boolean(ExprKind::InList(Box::new(arguments.remove(0)), list))
    };
    true
}

/// Evaluates `expr` when all operands are literals; false when it stays.
fn fold_constant(statistics: &dyn Statistics, expr: &mut Expr) -> bool {
    let mut literals = true;
    tree::operands(expr, &mut |e| literals &= matches!(e.kind, ExprKind::Literal(_)));
    let volatile = matches!(&expr.kind, ExprKind::Call(function, _) if function.is_volatile());
    let volatile = volatile
        || matches!(
            expr.kind,
            ExprKind::ScalarSubquery(_) | ExprKind::Exists(_) | ExprKind::Quantified { .. }
        );
    if !literals || volatile {
        return false;
    }
    match statistics.fold(expr) {
        Ok(value) => {
            expr.kind = ExprKind::Literal(value);
            true
        }
        Err(_) => false,
    }
}

fn simplify_and(expr: &mut Expr) {
    let mut parts = tree::conjuncts(tree::take_expr(expr));
    if parts.iter().any(|e| matches!(e.kind, ExprKind::Literal(Value::Bool(false)))) {
        *expr = tree::truth(false);
        return;
    }
    remove_repeats(&mut parts);
    *expr = tree::and_all(parts);
}

fn split_disjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Or(parts) => parts.into_iter().for_each(|part| split_disjuncts(part, out)),
        ExprKind::Literal(Value::Bool(false)) => {}
        _ => out.push(expr),
    }
}

fn simplify_or(expr: &mut Expr) {
    let mut terms = Vec::new();
    split_disjuncts(tree::take_expr(expr), &mut terms);
    if terms.iter().any(tree::is_true) {
        *expr = tree::truth(true);
        return;
    }
    remove_repeats(&mut terms);
    *expr = disjunction::factor(terms);
}

fn remove_repeats(parts: &mut Vec<Expr>) {
    if parts.len() > 64 {
        return;
    }
    let mut i = 1;
    while i < parts.len() {
        if parts[..i].contains(&parts[i]) && !tree::is_volatile(&parts[i]) {
            parts.remove(i);
        } else {
            i += 1;
        }
    }
}

/// NOT over a literal, NOT, comparison, AND, OR and quantified comparison.
fn simplify_not(expr: &mut Expr) {
    let ExprKind::Not(inner) = &mut expr.kind else {
        return;
    };
    let inner = tree::take_expr(inner);
    let rebuilt = match inner.kind {
        ExprKind::Literal(Value::Bool(value)) => tree::truth(!value),
        ExprKind::Literal(Value::Null) => tree::literal(Value::Null, DataType::Boolean),
        ExprKind::Not(innermost) => *innermost,
        ExprKind::Compare(op, left, right) => tree::compare(op.inverse(), *left, *right),
        ExprKind::And(parts) => {
            let mut or = tree::boolean(ExprKind::Or(negated(parts)));
            simplify_or(&mut or);
            or
        }
        ExprKind::Or(terms) => {
            let mut and = tree::boolean(ExprKind::And(negated(terms)));
            simplify_and(&mut and);
            and
        }
        ExprKind::Quantified { left, op, quantifier, plan } => {
            let (op, quantifier) = match quantifier {
                Quantifier::Any => (op.inverse(), Quantifier::All),
                Quantifier::All => (op.inverse(), Quantifier::Any),
            };
            tree::boolean(ExprKind::Quantified { left, op, quantifier, plan })
        }
        _ => tree::negate(inner),
    };
    *expr = rebuilt;
}

fn negated(parts: Vec<Expr>) -> Vec<Expr> {
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let mut not = tree::negate(part);
        simplify_not(&mut not);
        out.push(not);
    }
    out
}

fn simplify_case(expr: &mut Expr) {
    let ExprKind::Case { branches, otherwise } = &mut expr.kind else {
        return;
    };
    branches.retain(|(condition, _)| !tree::is_never(condition));
    if let Some(i) = branches.iter().position(|(condition, _)| tree::is_true(condition)) {
        let (_, result) = branches.swap_remove(i);
        branches.truncate(i);
        **otherwise = result;
    }
    if branches.is_empty() {
        *expr = tree::take_expr(otherwise);
    }
}

fn simplify_coalesce(expr: &mut Expr) {
    let ExprKind::Call(_, arguments) = &mut expr.kind else {
        return;
    };
    arguments.retain(|e| !matches!(e.kind, ExprKind::Literal(Value::Null)));
    if let Some(i) = arguments.iter().position(|e| matches!(e.kind, ExprKind::Literal(_))) {
        arguments.truncate(i + 1);
    }
    match arguments.len() {
        0 => expr.kind = ExprKind::Literal(Value::Null),
        1 if arguments[0].ty == expr.ty => *expr = arguments.remove(0),
        _ => {}
    }
}
