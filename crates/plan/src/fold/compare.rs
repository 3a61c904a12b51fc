//! Comparisons with constants are brought to the type of the other operand.
//!
//! `cast(x as wider) < constant` becomes `x < constant'`, which a scan can evaluate on stored
//! values. A constant between two values of the narrow type is rounded to the side that keeps the
//! result.

use sql::algebra::{Expr, ExprKind, Function};
use types::wide::Wide;
use types::{CompareOp, DataType, NumericType, Value};

use crate::tree;

/// Microseconds of a day.
const DAY: i128 = 86_400_000_000;

/// Simplifies `left op right`.
pub(crate) fn simplify(expr: &mut Expr) {
    let ExprKind::Compare(op, left, right) = &mut expr.kind else {
        return;
    };
    if matches!(left.kind, ExprKind::Literal(_)) {
        std::mem::swap(left, right);
        *op = op.exchanged();
    }
    let null_rejecting = !matches!(op, CompareOp::Distinct | CompareOp::NotDistinct);
    match &right.kind {
        ExprKind::Literal(Value::Null) if null_rejecting => {
            *expr = tree::literal(Value::Null, DataType::Boolean);
            return;
        }
        ExprKind::Literal(Value::Null) => {
            let test = tree::is_null(tree::take_expr(left));
            *expr = if *op == CompareOp::Distinct { tree::negate(test) } else { test };
            return;
        }
        ExprKind::Literal(Value::Bool(value)) if null_rejecting => {
            let (op, value) = (*op, *value);
            if matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
                let operand = tree::take_expr(left);
                let same = (op == CompareOp::Equal) == value;
                *expr = if same { operand } else { tree::negate(operand) };
            }
            return;
        }
        _ => {}
    }
    while narrow(expr) {}
    wide(expr);
}

/// `key(x) op constant` of wide decimals: `x` is compared in its own type when it was cast to a
/// wide one, otherwise by its bytes, which a scan does on stored values. All values equal to the
/// constant are from `key 00` to `key FF FF FF`.
fn wide(expr: &mut Expr) {
    if scaled(expr) {
        return;
    }
    let ExprKind::Compare(op, left, right) = &mut expr.kind else {
        return;
    };
    let (ExprKind::Call(Function::NumericKey, list), ExprKind::Literal(Value::Str(key))) =
        (&mut left.kind, &right.kind)
    else {
        return;
    };
    let Some(operand) = list.first_mut().filter(|e| matches!(e.ty, DataType::WideNumeric(_)))
    else {
        return;
    };
    let bound =
        |last: &[u8]| tree::literal(Value::Str([&**key, last].concat().into()), DataType::Bytea);
    let (least, greatest) = (bound(&[0]), bound(&[0xff; 3]));
    if let ExprKind::Cast(inner) = &mut operand.kind
        && let Some(scale) = crate::range::scale(inner.ty)
    {
        let value = Wide::decode(&[&**key, &[0]].concat());
        // What 38 digits of the operand's scale hold.
        let rounded = value.round(scale.into()).ok();
        let fits = rounded.is_some_and(|v| v.finite().is_some_and(|n| n.short().is_some()));
        if let Some(constant) = literal_of(&value).filter(|_| fits) {
            *expr = tree::compare(*op, tree::take_expr(inner), constant);
            simplify(expr);
        }
        return;
    }
    let operand = tree::take_expr(operand);
    *expr = match *op {
        CompareOp::Less => tree::compare(CompareOp::Less, operand, least),
        CompareOp::GreaterEqual => tree::compare(CompareOp::GreaterEqual, operand, least),
        CompareOp::Greater => tree::compare(CompareOp::Greater, operand, greatest),
        CompareOp::LessEqual => tree::compare(CompareOp::LessEqual, operand, greatest),
        CompareOp::Equal => {
            let low = tree::compare(CompareOp::GreaterEqual, operand.clone(), least);
            let high = tree::compare(CompareOp::LessEqual, operand, greatest);
            Expr { kind: ExprKind::And(vec![low, high]), ty: DataType::Boolean }
        }
        _ => {
            *list = vec![operand];
            return;
        }
    };
}

/// `key(cast(x)) op key(y)` of scaled integers `x`, which are then compared with those next to the
/// wide decimal `y`; false for other comparisons.
fn scaled(expr: &mut Expr) -> bool {
    let ExprKind::Compare(op, left, right) = &mut expr.kind else {
        return false;
    };
    if !is_cast_scaled(left) && is_cast_scaled(right) {
        std::mem::swap(left, right);
        *op = op.exchanged();
    }
    let ExprKind::Call(Function::NumericKey, list) = &mut right.kind else {
        return false;
    };
    let (true, Some(value)) = (is_cast_scaled(left), list.first_mut()) else {
        return false;
    };
    let is_nearest =
        !matches!(op, CompareOp::NotEqual | CompareOp::Distinct | CompareOp::NotDistinct);
    if !matches!(value.ty, DataType::WideNumeric(_)) || !is_nearest {
        return false;
    }
    let value = tree::take_expr(value);
    let op = *op;
    let ExprKind::Call(_, mut list) = tree::take_expr(left).kind else {
        return false;
    };
    let Some(ExprKind::Cast(operand)) = list.pop().map(|cast| cast.kind) else {
        return false;
    };
    let ty = operand.ty;
    let (op, near) = nearest(op, value, ty);
    *expr = tree::compare(op, *operand, near);
    true
}

/// Comparison of values of type `ty` that stands for the one with `value`.
pub(crate) fn nearest(op: CompareOp, value: Expr, ty: DataType) -> (CompareOp, Expr) {
    let inclusive = match op {
        CompareOp::Less => CompareOp::LessEqual,
        CompareOp::Greater => CompareOp::GreaterEqual,
        op => op,
    };
    (inclusive, Expr { kind: ExprKind::Call(Function::Nearest(op), vec![value]), ty })
}

/// True for `key(cast(x))` of a scaled integer that is cast to a wide decimal.
fn is_cast_scaled(expr: &Expr) -> bool {
    let ExprKind::Call(Function::NumericKey, list) = &expr.kind else {
        return false;
    };
    let cast = list.first().filter(|cast| matches!(cast.ty, DataType::WideNumeric(_)));
    cast.is_some_and(|cast| match &cast.kind {
        ExprKind::Cast(inner) => inner.ty.scale().is_some(),
        _ => false,
    })
}

/// A number of at most 38 digits as a scaled integer.
fn literal_of(value: &Wide) -> Option<Expr> {
    let (value, scale) = value.trimmed().finite()?.short()?;
    let ty = DataType::Numeric(NumericType::computed(NumericType::PRECISION_MAX, scale));
    Some(tree::literal(Value::I128(value), ty))
}

/// Simplifies `cast(x) IN (constants)`.
pub(crate) fn simplify_list(expr: &mut Expr) {
    let ExprKind::InList(operand, list) = &mut expr.kind else {
        return;
    };
    let ExprKind::Cast(inner) = &mut operand.kind else {
        return;
    };
    let mut narrowed = Vec::new();
    for item in &*list {
        match constant(item, inner.ty) {
            Some(Constant { value, side: Side::Exact }) => {
                narrowed.push(tree::literal(value, inner.ty));
            }
            Some(_) => {}
            None => return,
        }
    }
    if narrowed.is_empty() {
        return;
    }
    *list = narrowed;
    let inner = tree::take_expr(inner);
    **operand = inner;
}

/// Removes one cast around the left operand, or fits the literal to the left type; false when
/// neither.
fn narrow(expr: &mut Expr) -> bool {
    let ExprKind::Compare(op, left, right) = &mut expr.kind else {
        return false;
    };
    let target = match &left.kind {
        ExprKind::Cast(inner) => inner.ty,
        _ if left.ty != right.ty => left.ty,
        _ => return false,
    };
    let casted = matches!(left.kind, ExprKind::Cast(_));
    if casted && !widens(target, left.ty) {
        return false;
    }
    let Some(Constant { value, side }) = constant(right, target) else {
        return false;
    };
    let fitting = match (side, *op) {
        (Side::Exact, op) => Some(op),
        (Side::Below, CompareOp::Less | CompareOp::LessEqual) => Some(CompareOp::LessEqual),
        (Side::Below, CompareOp::Greater | CompareOp::GreaterEqual) => Some(CompareOp::Greater),
        _ => None,
    };
    if casted && let ExprKind::Cast(inner) = &mut left.kind {
        let inner = tree::take_expr(inner);
        **left = inner;
    }
    match fitting {
        Some(fitting) => {
            *op = fitting;
            **right = tree::literal(value, target);
            true
        }
        None => {
            let (op, operand) = (*op, tree::take_expr(left));
            *expr = never_equal(op, side, operand);
            false
        }
    }
}

/// The result when no value of the operand's type equals the constant, or all lie on one side of
/// it.
fn never_equal(op: CompareOp, side: Side, operand: Expr) -> Expr {
    let constant_op = match (side, op) {
        (_, CompareOp::Distinct) => return tree::truth(true),
        (_, CompareOp::NotDistinct) => return tree::truth(false),
        (_, CompareOp::Equal) => CompareOp::NotEqual,
        (_, CompareOp::NotEqual) => CompareOp::Equal,
        (Side::AllBelow, CompareOp::Less | CompareOp::LessEqual) => CompareOp::Equal,
        (Side::AllAbove, CompareOp::Greater | CompareOp::GreaterEqual) => CompareOp::Equal,
        _ => CompareOp::NotEqual,
    };
    tree::compare(constant_op, operand.clone(), operand)
}

/// Where the converted constant stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The same value.
    Exact,
    /// The largest value below it.
    Below,
    /// All values of the type are below it.
    AllBelow,
    /// All values of the type are above it.
    AllAbove,
}

struct Constant {
    value: Value,
    side: Side,
}

/// True when every value of `from` has its own value in `to`, in the same order.
pub(crate) fn widens(from: DataType, to: DataType) -> bool {
    let digits = |n: NumericType| n.precision - n.scale;
    match (from, to) {
        (DataType::SmallInt, DataType::Integer | DataType::BigInt)
        | (DataType::Integer, DataType::BigInt)
        | (DataType::Date, DataType::Timestamp(_))
        | (DataType::Oid, DataType::BigInt) => true,
        (from, DataType::Text | DataType::Varchar(None)) => {
            from.is_text() && from != DataType::Unknown
        }
        (DataType::SmallInt, DataType::Numeric(n)) => digits(n) >= 5,
        (DataType::Integer, DataType::Numeric(n)) => digits(n) >= 10,
        (_, DataType::Numeric(n)) if from.is_integer() => digits(n) >= 19,
        (DataType::Numeric(a), DataType::Numeric(b)) => {
            b.scale >= a.scale && digits(b) >= digits(a)
        }
        _ => false,
    }
}

/// The literal `expr` as a value of type `target`.
fn constant(expr: &Expr, target: DataType) -> Option<Constant> {
    let ExprKind::Literal(value) = &expr.kind else {
        return None;
    };
    if value.is_null() {
        return None;
    }
    let numeric = |ty: DataType| crate::range::scale(ty);
    match (expr.ty, target) {
        (DataType::Timestamp(_), DataType::Date) => {
            let micros = value.as_integer()?;
            fit(micros.div_euclid(DAY), micros.rem_euclid(DAY) == 0, target)
        }
        (from, to) if from.is_text() && to.is_text() => {
            // Such a CHAR is held with its blanks.
            if to == DataType::Char(0) {
                return None;
            }
            let Value::Str(bytes) = value else {
                return None;
            };
            let blank = bytes.ends_with(b" ");
            let fits = !blank || !matches!(to, DataType::Char(_));
            fits.then(|| Constant { value: value.clone(), side: Side::Exact })
        }
        (from, to) if numeric(from).is_some() && numeric(to).is_some() => {
            let (from, to) = (numeric(from)?, numeric(to)?);
            let number = value.as_integer()?;
            if to >= from {
                let factor = 10i128.checked_pow(u32::from(to - from))?;
                fit(number.checked_mul(factor)?, true, target)
            } else {
                let factor = 10i128.checked_pow(u32::from(from - to))?;
                fit(number.div_euclid(factor), number.rem_euclid(factor) == 0, target)
            }
        }
        _ => None,
    }
}

/// `floor` as a value of `target`; `exact` when nothing was cut off.
fn fit(floor: i128, exact: bool, target: DataType) -> Option<Constant> {
    let limits = crate::range::of_type(target)?;
    if floor > limits.high {
        return Some(Constant { value: Value::Null, side: Side::AllBelow });
    }
    if floor < limits.low {
        return Some(Constant { value: Value::Null, side: Side::AllAbove });
    }
    let value = crate::range::value_as(floor, target.physical())?;
    Some(Constant { value, side: if exact { Side::Exact } else { Side::Below } })
}
