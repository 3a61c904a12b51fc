//! Evaluates predicates for rows in which some columns are all NULL.

use sql::algebra::{Expr, ExprKind, Function, NullRule};
use types::{CompareOp, Value};

use crate::column_set::ColumnSet;

/// Value of an expression when the columns are NULL, as far as it is known.
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

/// True when `expr` is NULL in a row whose `columns` are all NULL.
pub(crate) fn is_null(expr: &Expr, columns: &ColumnSet) -> bool {
    known(expr, columns) == Known::Null
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
        ExprKind::Call(function, list) => of_call(*function, list, &null),
        _ => Known::Nothing,
    }
}

/// Value of a call, as far as it is known.
fn of_call(function: Function, list: &[Expr], null: &dyn Fn(&Expr) -> bool) -> Known {
    let is_null = |at: usize| list.get(at).is_some_and(null);
    let found = match function.null_rule() {
        NullRule::Any => list.iter().any(null),
        NullRule::All => !list.is_empty() && list.iter().all(null),
        NullRule::First => is_null(0),
        NullRule::FirstTwo => is_null(0) || is_null(1),
        NullRule::SecondOrFalse if !is_null(1) && is_null(0) => return Known::NullOrFalse,
        NullRule::SecondOrFalse | NullRule::Second => is_null(1),
        NullRule::Never => false,
    };
    if found { Known::Null } else { Known::Nothing }
}
