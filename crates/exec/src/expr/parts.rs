//! The parts of an expression: its direct sub-expressions, the columns it uses, how it is made.
//!
//! Read by operators that decide on an expression before it is compiled.

use plan::physical::{Expr, ExprKind};
use types::{DataType, PhysicalType, Value};

/// An integer value in the width that the expression holds.
pub fn fit(value: Value, physical: PhysicalType) -> Value {
    match (value.as_integer(), physical) {
        (Some(v), PhysicalType::I64) => i64::try_from(v).map_or(value, Value::I64),
        (Some(v), PhysicalType::I128) => Value::I128(v),
        _ => value,
    }
}

/// The direct sub-expressions.
pub fn children_mut(kind: &mut ExprKind) -> Vec<&mut Expr> {
    match kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Scalar(_)
        | ExprKind::Failure(_) => Vec::new(),
        ExprKind::Call(_, arguments) | ExprKind::Sequence(_, _, arguments) => {
            arguments.iter_mut().collect()
        }
        ExprKind::And(operands) | ExprKind::Or(operands) => operands.iter_mut().collect(),
        ExprKind::Compare(_, a, b) => vec![a, b],
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) => vec![e],
        ExprKind::Case { branches, otherwise } => {
            let mut all: Vec<&mut Expr> = Vec::with_capacity(branches.len() * 2 + 1);
            for (condition, result) in branches {
                all.push(condition);
                all.push(result);
            }
            all.push(otherwise);
            all
        }
        ExprKind::InList(operand, list) => {
            let mut all: Vec<&mut Expr> = vec![operand];
            all.extend(list);
            all
        }
        ExprKind::Like { operand, pattern, .. } => vec![operand, pattern],
    }
}

pub(super) fn each_child<'e>(kind: &'e ExprKind, visit: &mut dyn FnMut(&'e Expr)) {
    match kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Scalar(_)
        | ExprKind::Failure(_) => {}
        ExprKind::Call(_, list)
        | ExprKind::Sequence(_, _, list)
        | ExprKind::And(list)
        | ExprKind::Or(list) => list.iter().for_each(visit),
        ExprKind::Compare(_, a, b) => {
            visit(a);
            visit(b);
        }
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) => visit(e),
        ExprKind::Case { branches, otherwise } => {
            for (condition, result) in branches {
                visit(condition);
                visit(result);
            }
            visit(otherwise);
        }
        ExprKind::InList(operand, list) => {
            visit(operand);
            list.iter().for_each(visit);
        }
        ExprKind::Like { operand, pattern, .. } => {
            visit(operand);
            visit(pattern);
        }
    }
}

/// The columns that `expr` uses, each once, ascending.
pub fn columns_of(expr: &Expr) -> Vec<usize> {
    fn collect(expr: &Expr, columns: &mut Vec<usize>) {
        if let ExprKind::Column(column) = expr.kind {
            columns.push(column);
        }
        each_child(&expr.kind, &mut |child| collect(child, columns));
    }
    let mut columns = Vec::new();
    collect(expr, &mut columns);
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// True when two evaluations of `expr` may differ: each row counts, also one that a join drops.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Call(function, _) | ExprKind::Sequence(_, function, _) => function.is_volatile(),
        _ => false,
    };
    each_child(&expr.kind, &mut |child| found = found || is_volatile(child));
    found
}

/// A column reference.
pub fn column(ordinal: usize, ty: DataType, physical: PhysicalType) -> Expr {
    Expr { kind: ExprKind::Column(ordinal), ty, physical }
}
