//! Bounds of integer and NUMERIC expressions, by interval arithmetic over proved column bounds.
//!
//! A range is of the scaled integers: NUMERIC 1.50 of scale 2 is 150. Without statistics the type
//! itself bounds its values, so every integer and NUMERIC expression has a range.

use std::cell::Cell;

use sql::algebra::{Expr, ExprKind, Function};
use types::{DataType, NumericType, PhysicalType, Value};

use crate::cardinality::Properties;

/// Values from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Smallest.
    pub(crate) low: i128,
    /// Largest.
    pub(crate) high: i128,
}

/// Values below this in size are held in 64 bits, with room for one more sum or difference.
const NARROW: i128 = 1 << 62;

impl Range {
    /// None when `low` is above `high`.
    pub(crate) fn new(low: i128, high: i128) -> Option<Self> {
        (low <= high).then_some(Self { low, high })
    }

    /// The smallest range with both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The part in both; `self` when there is none, for then no row has such a value.
    fn within(self, other: Self) -> Self {
        Self::new(self.low.max(other.low), self.high.min(other.high)).unwrap_or(self)
    }

    /// Bounds of the sum of two values; None when they are out of bounds.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Self::new(self.low.checked_add(other.low)?, self.high.checked_add(other.high)?)
    }

    fn negated(self) -> Option<Self> {
        Self::new(self.high.checked_neg()?, self.low.checked_neg()?)
    }

    fn multiplied(self, other: Self) -> Option<Self> {
        let products = [
            self.low.checked_mul(other.low)?,
            self.low.checked_mul(other.high)?,
            self.high.checked_mul(other.low)?,
            self.high.checked_mul(other.high)?,
        ];
        let low = products.iter().copied().min()?;
        Self::new(low, products.iter().copied().max()?)
    }

    /// Bounds of the sum of up to `count` such values.
    pub(crate) fn times(self, count: i128) -> Option<Self> {
        let low = self.low.min(0).checked_mul(count)?;
        Self::new(low, self.high.max(0).checked_mul(count)?)
    }

    fn rescaled(self, from: u8, to: u8) -> Option<Self> {
        if to >= from {
            let factor = 10i128.checked_pow(u32::from(to - from))?;
            return Self::new(self.low.checked_mul(factor)?, self.high.checked_mul(factor)?);
        }
        let factor = 10i128.checked_pow(u32::from(from - to))?;
        let low = self.low.div_euclid(factor).checked_sub(1)?;
        Self::new(low, self.high.div_euclid(factor).checked_add(1)?)
    }

    /// True when 64 bits hold all of it.
    pub(crate) fn is_narrow(self) -> bool {
        self.low > -NARROW && self.high < NARROW
    }

    /// How many values there are.
    pub(crate) fn width(self) -> u128 {
        self.high.abs_diff(self.low).saturating_add(1)
    }
}

/// The digits after the point of an integer or NUMERIC type.
pub(crate) fn scale(ty: DataType) -> Option<u8> {
    match ty {
        DataType::Numeric(n) => Some(n.scale),
        _ if ty.is_integer() => Some(0),
        _ => None,
    }
}

/// What the type alone allows.
pub(crate) fn of_type(ty: DataType) -> Option<Range> {
    let bits = |bits: u32| Range::new(-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    match ty {
        DataType::SmallInt => bits(16),
        DataType::Integer | DataType::Date => bits(32),
        DataType::Oid | DataType::Xid => Range::new(0, u32::MAX.into()),
        DataType::BigInt
        | DataType::Time(_)
        | DataType::Timestamp(_)
        | DataType::TimestampTz(_) => bits(64),
        DataType::Numeric(NumericType { precision, .. }) => {
            let limit = 10i128.checked_pow(u32::from(precision))? - 1;
            Range::new(-limit, limit)
        }
        _ => None,
    }
}

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
            if arguments.get(1)?.ty != DataType::Interval =>
        {
            Some(1_000_000)
        }
        _ => None,
    }
}

/// How a value of type `ty` within `range` is held.
pub(crate) fn physical(ty: DataType, range: Option<Range>) -> PhysicalType {
    match ty {
        DataType::Numeric(_) if range.is_some_and(Range::is_narrow) => PhysicalType::I64,
        DataType::Numeric(n) if n.precision > NumericType::PRECISION_64 => PhysicalType::I128,
        _ => ty.physical(),
    }
}
