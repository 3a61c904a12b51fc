//! What a predicate becomes when some columns are all NULL.

use sql::algebra::{CompareOp, Expr, ExprKind, Function};
use types::Value;

use crate::column_set::ColumnSet;

/// What is known of a value when the columns are NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Null,
    False,
    NullOrFalse,
    Nothing,
}

/// True when `predicate` is not true of a row whose `columns` are all NULL.
pub(crate) fn rejects(predicate: &Expr, columns: &ColumnSet) -> bool {
    known(predicate, columns) != Known::Nothing
}

fn known(expr: &Expr, columns: &ColumnSet) -> Known {
    let null = |e: &Expr| known(e, columns) == Known::Null;
    let strict = |found: bool| if found { Known::Null } else { Known::Nothing };
    match &expr.kind {
        ExprKind::Column(id) => strict(columns.contains(*id)),
        ExprKind::Literal(Value::Null) => Known::Null,
        ExprKind::Literal(Value::Bool(false)) => Known::False,
        ExprKind::Compare(CompareOp::Distinct | CompareOp::NotDistinct, ..) => Known::Nothing,
        ExprKind::Compare(_, a, b) => strict(null(a) || null(b)),
        ExprKind::Not(inner) | ExprKind::Cast(inner) => strict(null(inner)),
        ExprKind::And(parts) => {
            let all: Vec<Known> = parts.iter().map(|e| known(e, columns)).collect();
            if all.contains(&Known::False) {
                Known::False
            } else if all.iter().all(|k| *k == Known::Null) {
                Known::Null
            } else if all.iter().any(|k| *k != Known::Nothing) {
                Known::NullOrFalse
            } else {
                Known::Nothing
            }
        }
        ExprKind::Or(parts) => {
            let all: Vec<Known> = parts.iter().map(|e| known(e, columns)).collect();
            if all.contains(&Known::Nothing) {
                Known::Nothing
            } else if all.iter().all(|k| *k == Known::False) {
                Known::False
            } else if all.iter().all(|k| *k == Known::Null) {
                Known::Null
            } else {
                Known::NullOrFalse
            }
        }
        ExprKind::InList(operand, list) => strict(null(operand) || list.iter().all(null)),
        ExprKind::Like { operand, pattern, .. } => strict(null(operand) || null(pattern)),
        ExprKind::Call(Function::Coalesce | Function::Greatest | Function::Least, list) => {
            strict(list.iter().all(null))
        }
        ExprKind::Call(Function::NullIf, list) => strict(list.first().is_some_and(null)),
        ExprKind::Call(Function::Concat | Function::QuoteLiteral, _) => Known::Nothing,
        ExprKind::Call(Function::ConcatWs, list) => strict(list.first().is_some_and(null)),
        ExprKind::Call(_, list) => strict(list.iter().any(null)),
        _ => Known::Nothing,
    }
}
