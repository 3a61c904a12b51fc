//! Bounds of integer and NUMERIC expressions, by interval arithmetic over proved column bounds.
//!
//! Without statistics the type itself bounds its values, so every integer and NUMERIC expression
//! has a range.

use std::cell::Cell;

use sql::algebra::{Expr, ExprKind, Function};
use types::{DataType, Value};

use crate::properties::Properties;
use crate::range::{Range, of_type, scale};

/// Levels of an expression that bounds are proved through: those of each operand are asked for
/// again, so that more would take the square of their number.
const LEVELS_MAX: usize = 64;

thread_local! {
    /// Levels above the expression that is looked at.
    static LEVEL: Cell<usize> = const { Cell::new(0) };
}

/// Bounds of `expr`, in its own type.
pub(crate) fn of(expr: &Expr, input: &Properties) -> Option<Range> {
    let limits = of_type(expr.ty)?;
    let level = LEVEL.get();
    if level == LEVELS_MAX {
        return Some(limits);
    }
    LEVEL.set(level + 1);
    let found = bounds(expr, input);
    LEVEL.set(level);
    Some(found.map_or(limits, |range| range.within(limits)))
}

fn bounds(expr: &Expr, input: &Properties) -> Option<Range> {
    match &expr.kind {
        ExprKind::Column(id) => input.column(*id).and_then(|column| column.range),
        ExprKind::Literal(value) => value.as_integer().and_then(|v| Range::new(v, v)),
        ExprKind::Call(function, arguments) => call(*function, arguments, expr.ty, input),
        ExprKind::Case { branches, otherwise } => {
            let results = branches.iter().map(|(_, e)| e).chain(std::iter::once(&**otherwise));
            union(results, expr.ty, input)
        }
        ExprKind::Cast(inner) => of_scaled(inner, expr.ty, input),
        _ => None,
    }
}

/// True when the result of the arithmetic operator `expr` on numbers is proved to fit its type.
pub(crate) fn is_within_type(expr: &Expr, input: &Properties) -> bool {
    let ExprKind::Call(function, arguments) = &expr.kind else {
        return false;
    };
    let found = scale(expr.ty).and_then(|_| call(*function, arguments, expr.ty, input));
    let limits = of_type(expr.ty);
    found.zip(limits).is_some_and(|(v, ty)| ty.low <= v.low && v.high <= ty.high)
}

/// Bounds of `expr` converted to `ty`.
pub(crate) fn of_scaled(expr: &Expr, ty: DataType, input: &Properties) -> Option<Range> {
    let found = of(expr, input)?;
    if expr.ty == ty {
        return Some(found);
    }
    found.rescaled(scale(expr.ty)?, scale(ty)?)
}

fn union<'a>(
    exprs: impl Iterator<Item = &'a Expr>,
    ty: DataType,
    input: &Properties,
) -> Option<Range> {
    let mut whole: Option<Range> = None;
    for expr in exprs {
        if matches!(expr.kind, ExprKind::Literal(Value::Null)) {
            continue;
        }
        let range = of_scaled(expr, ty, input)?;
        whole = Some(whole.map_or(range, |w| w.union(range)));
    }
    whole.or(Range::new(0, 0))
}

fn call(function: Function, arguments: &[Expr], ty: DataType, input: &Properties) -> Option<Range> {
    let scaled = |i: usize| of_scaled(arguments.get(i)?, ty, input);
    match function {
        Function::Add => scaled(0)?.plus(scaled(1)?),
        Function::Subtract => scaled(0)?.plus(scaled(1)?.negated()?),
        Function::Negate => scaled(0)?.negated(),
        Function::Abs => {
            let range = scaled(0)?;
            range.union(range.negated()?).within(Range::new(0, i128::MAX)?).into()
        }
        Function::Multiply => {
            let (a, b) = (arguments.first()?, arguments.get(1)?);
            let product = of(a, input)?.multiplied(of(b, input)?)?;
            product.rescaled(scale(a.ty)?.checked_add(scale(b.ty)?)?, scale(ty)?)
        }
        Function::Coalesce | Function::Greatest | Function::Least => {
            union(arguments.iter(), ty, input)
        }
        Function::NullIf => scaled(0),
        Function::Extract => Range::new(-extract_limit(arguments)?, extract_limit(arguments)?)?
            .rescaled(0, scale(ty)?),
        _ => None,
    }
}

/// No field of a date or time is larger.
fn extract_limit(arguments: &[Expr]) -> Option<i128> {
    let ExprKind::Literal(Value::Str(field)) = &arguments.first()?.kind else {
        return None;
    };
    match &**field {
        b"year" | b"month" | b"day" | b"hour" | b"minute" | b"quarter" | b"week" | b"dow"
        | b"isodow" | b"doy" | b"isoyear" | b"decade" | b"century" | b"millennium"
            if !matches!(arguments.get(1)?.ty, DataType::Interval(_)) =>
        {
            Some(1_000_000)
        }
        _ => None,
    }
}
