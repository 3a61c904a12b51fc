//! Functions behind operators, by their names in PostgreSQL: `int4pl(a, b)` is `a + b`. Aggregates
//! name them.

use sqlparser::ast::BinaryOperator as Op;
use types::{DataType, PackedType, Result};

use super::types::{Context, can_cast};
use super::{Binder, Bound};
use crate::algebra::{Expr, ExprKind, Place};

/// Beginnings of names, with the types of both arguments; longer ones come first.
const TYPES: [(&str, DataType, DataType); 20] = [
    ("int24", DataType::SmallInt, DataType::Integer),
    ("int28", DataType::SmallInt, DataType::BigInt),
    ("int42", DataType::Integer, DataType::SmallInt),
    ("int48", DataType::Integer, DataType::BigInt),
    ("int82", DataType::BigInt, DataType::SmallInt),
    ("int84", DataType::BigInt, DataType::Integer),
    ("float48", DataType::Real, DataType::Double),
    ("float84", DataType::Double, DataType::Real),
    ("int2", DataType::SmallInt, DataType::SmallInt),
    ("int4", DataType::Integer, DataType::Integer),
    ("int8", DataType::BigInt, DataType::BigInt),
    ("float4", DataType::Real, DataType::Real),
    ("float8", DataType::Double, DataType::Double),
    ("numeric_", DataType::NUMERIC, DataType::NUMERIC),
    ("text_", DataType::Text, DataType::Text),
    ("text", DataType::Text, DataType::Text),
    ("interval_", DataType::INTERVAL, DataType::INTERVAL),
    ("timestamp_", DataType::TIMESTAMP, DataType::TIMESTAMP),
    ("date_", DataType::Date, DataType::Date),
    ("bool", DataType::Boolean, DataType::Boolean),
];

/// Work of a function on its arguments.
enum Work {
    Operator(Op),
    /// `greatest` or `least`, and NULL where one is.
    Extreme(&'static str),
    /// One more.
    Next,
}

fn work_named(rest: &str) -> Option<Work> {
    Some(Work::Operator(match rest {
        "pl" | "add" => Op::Plus,
        "mi" | "sub" => Op::Minus,
        "mul" => Op::Multiply,
        "div" => Op::Divide,
        "mod" => Op::Modulo,
        "eq" => Op::Eq,
        "ne" => Op::NotEq,
        "lt" => Op::Lt,
        "le" => Op::LtEq,
        "gt" => Op::Gt,
        "ge" => Op::GtEq,
        "and" => Op::BitwiseAnd,
        "or" => Op::BitwiseOr,
        "xor" => Op::BitwiseXor,
        "and_statefunc" => Op::And,
        "or_statefunc" => Op::Or,
        "larger" => return Some(Work::Extreme("greatest")),
        "smaller" => return Some(Work::Extreme("least")),
        "inc" => return Some(Work::Next),
        _ => return None,
    }))
}

/// The function called `name` with the types of its arguments. `booland_statefunc` has no operator
/// of its own: it is AND.
fn named(name: &str) -> Option<(Work, DataType, DataType)> {
    let of = |(begin, left, right): &(&str, DataType, DataType)| {
        let work = work_named(name.strip_prefix(begin)?)?;
        let is_bit =
            matches!(work, Work::Operator(Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor));
        let is_logic = matches!(work, Work::Operator(Op::And | Op::Or));
        let is_known = (!is_bit || left.is_integer()) && is_logic <= (*left == DataType::Boolean);
        is_known.then_some((work, *left, *right))
    };
    TYPES.iter().find_map(of)
}

impl Binder<'_> {
    /// `timestamp(date, time)` and its like: both added up.
    pub(super) fn joined_instant(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let to = match name {
            "timestamp" => DataType::TIMESTAMP,
            "timestamptz" => DataType::TIMESTAMPTZ,
            _ => return Ok(None),
        };
        let [date, time] = arguments else { return Ok(None) };
        let is_time = match time.ty() {
            DataType::Time(_) => true,
            DataType::Packed(PackedType::TimeTz(_)) => to == DataType::TIMESTAMPTZ,
            _ => false,
        };
        if date.ty() != DataType::Date || !is_time {
            return Ok(None);
        }
        let sum = self.bind_binary(&Op::Plus, date.clone(), time.clone())?;
        Ok(Some(Bound::new(self.coerce(sum, to, Context::Explicit)?, at)))
    }

    /// The call of a function behind an operator; None for others.
    pub(super) fn operator_function(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let Some((work, left, right)) = named(name) else { return Ok(None) };
        let types = if matches!(work, Work::Next) { vec![left] } else { vec![left, right] };
        let fits = |(bound, ty): (&Bound, &DataType)| can_cast(bound.ty(), *ty, Context::Implicit);
        if arguments.len() != types.len() || !arguments.iter().zip(&types).all(fits) {
            return Ok(None);
        }
        let mut list = Vec::with_capacity(types.len());
        for (bound, ty) in arguments.iter().zip(&types) {
            let expr = self.coerce(bound.clone(), *ty, Context::Implicit)?;
            list.push(Bound::new(self.cast(expr, *ty), at));
        }
        let second = list.pop();
        let bound = match (work, list.pop(), second) {
            (Work::Next, _, Some(number)) => {
                let one = Bound::new(Expr::integer(1), at);
                self.bind_binary(&Op::Plus, number, one)?
            }
            (work, Some(left), Some(right)) => {
                let operands = [left.expr.clone(), right.expr.clone()];
                match work {
                    Work::Operator(Op::And) => strict(Expr::and(operands.to_vec()), operands),
                    Work::Operator(Op::Or) => strict(Expr::or(operands.to_vec()), operands),
                    Work::Extreme(choice) => {
                        strict(self.call(choice, vec![left, right], at)?.expr, operands)
                    }
                    Work::Operator(op) => self.bind_binary(&op, left, right)?,
                    Work::Next => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(bound))
    }
}

/// `value`, or NULL where one of the operands is.
fn strict(value: Expr, operands: [Expr; 2]) -> Bound {
    let ty = value.ty;
    let branches = operands.map(|operand| (operand.is_null(), Expr::null(ty)));
    let kind = ExprKind::Case { branches: branches.to_vec(), otherwise: Box::new(value) };
    Bound::new(Expr { kind, ty }, None)
}
