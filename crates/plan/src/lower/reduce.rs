//! Moves work of GROUP BY from once per row to once per group.
//!
//! ```text
//! GROUP BY a, a - 1        ->  GROUP BY a, and a - 1 above
//! sum(a + 1), sum(a + 2)   ->  sum(a), count(a), and sum(a) + 1 * count(a), ... above
//! ```
//! Invariant: no error is lost or made: a sum is taken apart only where the ranges of values prove
//! that no addition leaves its type.

use hashbrown::HashMap;
use sql::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr as Logical, ExprKind, Function,
};
use types::{DataType, Value};

use super::aggregate::{Calls, Keys};
use crate::context::Context;
use crate::properties::Properties;
use crate::range::{self, Range};
use crate::{bounds, tree};

/// Columns to be computed from the aggregation's.
pub(super) type Above = Vec<(ColumnId, Logical)>;

/// Takes the keys that follow from others out of `keys`.
pub(super) fn computed_keys(keys: &mut Keys, above: &mut Above) {
    let plain: HashMap<ColumnId, Logical> = keys
        .iter()
        .filter(|(_, expr)| expr.ty.has_one_form())
        .filter_map(|(id, expr)| Some((tree::as_column(expr)?, tree::column(*id, expr.ty))))
        .collect();
    if plain.is_empty() {
        return;
    }
    let known = plain.keys().copied().collect();
    let follows = |expr: &Logical| {
        tree::as_column(expr).is_none()
            && !tree::is_volatile(expr)
            && tree::mentioned(expr).is_subset(&known)
    };
    for (id, mut expr) in keys.extract_if(.., |(_, expr)| follows(expr)) {
        tree::substitute(&mut expr, &plain);
        above.push((id, expr));
    }
}

/// `sum(argument + addend)`.
struct Shifted {
    argument: Logical,
    addend: i64,
}

/// Rewrites `sum(a + c)` as `sum(a) + c * count(a)`.
pub(super) fn shifted_sums(
    context: &mut Context<'_>,
    input: &Properties,
    calls: &mut Calls,
    above: &mut Above,
) {
    let shifted: Vec<Option<Shifted>> =
        calls.iter().map(|(_, call)| shifted(call, input)).collect();
    let sharing = |argument: &Logical| {
        shifted.iter().flatten().filter(|sum| sum.argument == *argument).count()
    };
    // One sum becomes two aggregates: that is less from three sums on.
    let apart: Vec<bool> =
        shifted.iter().map(|sum| sum.as_ref().is_some_and(|s| sharing(&s.argument) > 2)).collect();
    if !apart.contains(&true) {
        return;
    }
    let old = std::mem::take(calls);
    for (((id, call), sum), apart) in old.into_iter().zip(shifted).zip(apart) {
        let Some(Shifted { argument, addend }) = sum.filter(|_| apart) else {
            calls.push((id, call));
            continue;
        };
        let total = of(context, calls, AggregateFunction::Sum, &argument);
        let count = of(context, calls, AggregateFunction::Count, &argument);
        let addend = tree::literal(Value::I64(addend), DataType::BigInt);
        let more = integer(Function::Multiply, [addend, count]);
        above.push((id, integer(Function::Add, [total, more])));
    }
}

/// The parts of `call`, if it is the sum of an INTEGER and a constant that cannot overflow.
fn shifted(call: &AggregateCall, input: &Properties) -> Option<Shifted> {
    let plain = call.function == AggregateFunction::Sum
        && call.ty == DataType::BigInt
        && call.duplicates == Duplicates::Keep
        && call.filter.is_none();
    let [sum] = &call.arguments[..] else {
        return None;
    };
    let plain = plain && !tree::is_volatile(sum);
    let (mut argument, addend) = match &sum.kind {
        _ if !plain => return None,
        ExprKind::Call(function @ (Function::Add | Function::Subtract), parts) => {
            let [left, right] = &parts[..] else {
                return None;
            };
            let addend = constant(right)?;
            (left, if *function == Function::Add { addend } else { addend.checked_neg()? })
        }
        _ => (sum, 0),
    };
    let limits = range::of_type(sum.ty)?;
    let moved = bounds::of(argument, input)?.plus(Range::new(addend.into(), addend.into())?)?;
    if moved.low < limits.low || moved.high > limits.high {
        return None;
    }
    if let ExprKind::Cast(inner) = &argument.kind
        && inner.ty == DataType::SmallInt
    {
        argument = inner;
    }
    Some(Shifted { argument: argument.clone(), addend })
}

fn constant(expr: &Logical) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(value) if expr.ty.is_integer() => {
            value.as_integer().and_then(|v| i64::try_from(v).ok())
        }
        _ => None,
    }
}

/// The column of `function` over `argument`, added when there is none.
fn of(
    context: &mut Context<'_>,
    calls: &mut Calls,
    function: AggregateFunction,
    argument: &Logical,
) -> Logical {
    let call = AggregateCall {
        function,
        arguments: vec![argument.clone()],
        duplicates: Duplicates::Keep,
        filter: None,
        order_by: Vec::new(),
        ty: DataType::BigInt,
    };
    let found = calls.iter().find(|(_, other)| *other == call).map(|(id, _)| *id);
    let id = found.unwrap_or_else(|| {
        let id = context.fresh();
        calls.push((id, call));
        id
    });
    tree::column(id, DataType::BigInt)
}

fn integer(function: Function, arguments: [Logical; 2]) -> Logical {
    Logical { kind: ExprKind::Call(function, arguments.into()), ty: DataType::BigInt }
}
