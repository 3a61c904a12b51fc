//! Aggregates as an aggregate of rows below a join and one of its results above.
//!
//! ```text
//! sum(x)   -> sum(x) s            -> sum(s)
//! count(x) -> count(x) n          -> sum(n), 0 where no row came
//! count(*) -> count(*) n          -> sum(n); a row of NULLs for which no group came counts 1
//! avg(x)   -> sum(x) s, count(x) n -> sum(s) / sum(n)
//! min(x)   -> min(x) m            -> min(m); max, bool_and, bit_or, ... likewise
//! ```
//! Not taken apart: DISTINCT, aggregates of ordered rows, deviations, and sums of floating point
//! numbers and intervals, whose results would depend on where rows are added up.

use sql::algebra::{
    AggregateCall, AggregateFunction as A, ColumnId, Duplicates, Expr, ExprKind, Function,
};
use types::{DataType, NumericType, Value};

use crate::context::Context;
use crate::properties::Properties;
use crate::{bounds, range, tree};

/// Effect of outer joins above: NULLs in the place of groups, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padded {
    /// Every row has its group.
    No,
    /// Rows may have NULLs instead.
    Yes,
}

/// Rows assumed at most when nothing is proved.
const ROWS_MAX: i128 = 1 << 63;

/// True when `call` has parts that give its exact result.
pub(super) fn is_splittable(call: &AggregateCall) -> bool {
    if call.duplicates == Duplicates::Remove || !call.order_by.is_empty() {
        return false;
    }
    let exact = |e: &Expr| e.ty.is_integer() || matches!(e.ty, DataType::Numeric(_));
    match call.function {
        A::Sum | A::Avg => call.arguments.iter().all(exact),
        function => function == A::CountRows || function == A::Count || is_own_final(function),
    }
}

/// Functions whose results of parts are combined by themselves.
fn is_own_final(function: A) -> bool {
    matches!(
        function,
        A::Min | A::Max | A::BoolAnd | A::BoolOr | A::BitAnd | A::BitOr | A::BitXor | A::AnyValue
    )
}

/// True when the sums of `call` over any of the rows of `input` are in the range of their type:
/// those of parts may be out of it where the whole is not.
pub(super) fn parts_fit(call: &AggregateCall, input: &Properties) -> bool {
    if !matches!(call.function, A::Sum | A::Avg) {
        return true;
    }
    let Some(argument) = call.arguments.first() else {
        return false;
    };
    let ty = sum_type(call, argument);
    let rows = input.rows_max.map_or(ROWS_MAX, |rows| rows.max(1.0).ceil() as i128);
    let total = bounds::of_scaled(argument, ty, input).and_then(|range| range.times(rows));
    total.zip(range::of_type(ty)).is_some_and(|(t, ty)| ty.low <= t.low && t.high <= ty.high)
}

/// The type of the sum that `call` needs.
fn sum_type(call: &AggregateCall, argument: &Expr) -> DataType {
    match (call.function, argument.ty) {
        (A::Sum, _) => call.ty,
        (_, DataType::Numeric(ty)) => {
            DataType::Numeric(NumericType { precision: NumericType::PRECISION_MAX, ..ty })
        }
        _ => DataType::Numeric(NumericType::fixed(NumericType::PRECISION_MAX, 0)),
    }
}

/// Aggregates below and above.
pub(super) struct Parts {
    /// Below, each once.
    pub(super) below: Vec<(ColumnId, AggregateCall)>,
    /// Results by aggregate.
    pub(super) results: Vec<PartResult>,
}

/// How the result of an aggregate comes from its parts.
pub(super) struct PartResult {
    /// The column that the aggregate was.
    pub(super) id: ColumnId,
    kind: PartKind,
    ty: DataType,
    padded: Padded,
}

/// The parts, as columns.
enum PartKind {
    /// A count; the second is what a row counts for which no group came.
    Count(Expr, i64),
    Sum(Expr),
    Own(A, Expr),
    Avg(Expr, Expr),
}

/// Takes `calls` apart.
pub(super) fn split(
    context: &mut Context<'_>,
    calls: impl Iterator<Item = (ColumnId, AggregateCall)>,
    padded: Padded,
) -> Parts {
    let mut below: Vec<(ColumnId, AggregateCall)> = Vec::new();
    let mut results = Vec::new();
    for (id, call) in calls {
        let ty = call.ty;
        let filtered = call.filter.is_some();
        let mut part = |function: A, ty: DataType| {
            let call = AggregateCall { function, ty, ..call.clone() };
            tree::column(shared(context, &mut below, call), ty)
        };
        let kind = match call.function {
            A::CountRows => PartKind::Count(part(A::CountRows, ty), i64::from(!filtered)),
            A::Count => PartKind::Count(part(A::Count, ty), 0),
            A::Sum => PartKind::Sum(part(A::Sum, ty)),
            A::Avg => {
                let sum = call.arguments.first().map_or(ty, |e| sum_type(&call, e));
                PartKind::Avg(part(A::Sum, sum), part(A::Count, DataType::BigInt))
            }
            function => PartKind::Own(function, part(function, ty)),
        };
        results.push(PartResult { id, kind, ty, padded });
    }
    Parts { below, results }
}

/// The column of `call` among `calls`, added when there is none.
fn shared(
    context: &mut Context<'_>,
    calls: &mut Vec<(ColumnId, AggregateCall)>,
    call: AggregateCall,
) -> ColumnId {
    if let Some((id, _)) = calls.iter().find(|(_, other)| *other == call) {
        return *id;
    }
    let id = context.fresh();
    calls.push((id, call));
    id
}

impl PartResult {
    /// The result of a group that is one row.
    pub(super) fn of_one(self) -> Expr {
        match self.kind {
            PartKind::Count(count, missing) => match self.padded {
                Padded::No => count,
                Padded::Yes => or_count(count, missing),
            },
            PartKind::Sum(part) | PartKind::Own(_, part) => part,
            PartKind::Avg(sum, count) => quotient(sum, count, self.ty),
        }
    }

    /// The result of a group of any rows, whose aggregates are added to `calls`.
    pub(super) fn of_many(
        self,
        context: &mut Context<'_>,
        calls: &mut Vec<(ColumnId, AggregateCall)>,
    ) -> Expr {
        let (ty, padded) = (self.ty, self.padded);
        let mut final_of = |function: A, part: Expr, ty: DataType| {
            let call = AggregateCall {
                function,
                arguments: vec![part],
                duplicates: Duplicates::Keep,
                filter: None,
                order_by: Vec::new(),
                ty,
            };
            tree::column(shared(context, calls, call), ty)
        };
        match self.kind {
            // Without a row there is no count to add up.
            PartKind::Count(count, 0) => or_count(final_of(A::Sum, count, ty), 0),
            PartKind::Count(count, missing) => {
                let count = match padded {
                    Padded::No => count,
                    Padded::Yes => or_count(count, missing),
                };
                or_count(final_of(A::Sum, count, ty), 0)
            }
            PartKind::Sum(part) => final_of(A::Sum, part, ty),
            PartKind::Own(function, part) => final_of(function, part, ty),
            PartKind::Avg(sum, count) => {
                let sum_ty = sum.ty;
                let sum = final_of(A::Sum, sum, sum_ty);
                let count = final_of(A::Sum, count, DataType::BigInt);
                quotient(sum, count, ty)
            }
        }
    }
}

/// `count`, or `missing` where it is NULL.
fn or_count(count: Expr, missing: i64) -> Expr {
    tree::coalesce(count, tree::literal(Value::I64(missing), DataType::BigInt))
}

/// `sum / count` as avg rounds it; the sum is NULL where the count is 0.
fn quotient(sum: Expr, count: Expr, ty: DataType) -> Expr {
    let wide = |e: Expr| Expr { kind: ExprKind::Cast(Box::new(e)), ty: DataType::NUMERIC };
    Expr { kind: ExprKind::Call(Function::Divide, vec![wide(sum), wide(count)]), ty }
}
