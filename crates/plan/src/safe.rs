//! Which expressions raise no error, whatever the row: only those may be computed for rows that a
//! join above would have dropped.

use sql::algebra::{Expr, ExprKind, Function};
use types::{DataType, PhysicalType, Value};

use crate::properties::Properties;
use crate::{bounds, range, tree};

/// True when `expr` is proved to have a value for each row of `input`.
pub(crate) fn cannot_fail(expr: &Expr, input: &Properties) -> bool {
    types::stack::deep(|| cannot_fail_here(expr, input))
}

fn cannot_fail_here(expr: &Expr, input: &Properties) -> bool {
    let mut safe = match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::InList(..)
        | ExprKind::Case { .. } => true,
        ExprKind::Call(function, _) => match function {
            Function::Add | Function::Subtract | Function::Multiply | Function::Negate => {
                bounds::is_within_type(expr, input)
            }
            Function::Coalesce
            | Function::NullIf
            | Function::Greatest
            | Function::Least
            | Function::CharLength
            | Function::Upper
            | Function::Lower => true,
            Function::Extract => {
                expr_types(expr).all(|ty| matches!(ty, DataType::Date | DataType::Text))
            }
            _ => false,
        },
        ExprKind::Cast(inner) => widens(inner, expr.ty, input),
        ExprKind::Like { pattern, .. } => match &pattern.kind {
            ExprKind::Literal(Value::Str(pattern)) => !pattern.contains(&b'\\'),
            _ => false,
        },
        _ => false,
    };
    tree::operands(expr, &mut |operand| safe = safe && cannot_fail(operand, input));
    safe
}

fn expr_types(expr: &Expr) -> impl Iterator<Item = DataType> {
    let mut types = Vec::new();
    tree::operands(expr, &mut |operand| types.push(operand.ty));
    types.into_iter()
}

/// True for conversions of numbers whose type has room for all values, and of text to TEXT.
fn widens(inner: &Expr, ty: DataType, input: &Properties) -> bool {
    if ty == DataType::Text {
        return inner.ty.is_text() && inner.ty.physical() == PhysicalType::Str;
    }
    let limits = range::of_type(ty).filter(|_| range::scale(ty).is_some());
    let found = bounds::of_scaled(inner, ty, input).filter(|_| range::scale(inner.ty).is_some());
    found.zip(limits).is_some_and(|(v, ty)| ty.low <= v.low && v.high <= ty.high)
}
