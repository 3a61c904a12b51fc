//! Sums of whole numbers and decimals, value by value: `balance + $2`, where `$2` is any decimal
//! with no more digits behind its point than the balance.
//!
//! Invariant: what is not certain to be what the general evaluation says is left to it, errors
//! above all: a value out of range has no result here.

use plan::physical::{Expr, ExprKind};
use sql::algebra::Function;
use storage::{Datum, RowBuffer};
use types::wide::Wide;
use types::{DataType, NumericType, PhysicalType, Value};

/// A sum and the bounds of its type.
pub(crate) struct Simple {
    kind: Kind,
    /// The value is between these.
    bounds: (i128, i128),
}

enum Kind {
    Column(usize),
    Parameter(usize),
    Constant(i128),
    Add(Box<Simple>, Box<Simple>),
    Subtract(Box<Simple>, Box<Simple>),
    /// A conversion that changes nothing within the bounds.
    Same(Box<Simple>),
    /// A parameter that is a wide decimal, at this scale.
    Wide(usize, u32),
    /// An integer at another scale: so many times itself.
    Times(Box<Simple>, i128),
}

/// A value that this way can tell.
pub(crate) enum Told {
    Null,
    Number(i128),
}

impl Simple {
    /// `expr` over the row and the parameters; None when it is something else.
    pub(super) fn new(expr: &Expr) -> Option<Self> {
        let bounds = bounds_of(expr)?;
        let same = |operand: &Expr| scale(operand.ty).is_some_and(|s| Some(s) == scale(expr.ty));
        let kind = match &expr.kind {
            ExprKind::Column(i) => Kind::Column(*i),
            ExprKind::Parameter(i) => Kind::Parameter(*i as usize),
            ExprKind::Literal(value) => Kind::Constant(value.as_integer()?),
            ExprKind::Cast(operand) if same(operand) || is_widened(operand.ty, expr.ty) => {
                Kind::Same(Box::new(Self::new(operand)?))
            }
            ExprKind::Cast(operand) if operand.ty == DataType::NUMERIC => match expr.ty {
                DataType::Numeric(to) => Kind::Same(Box::new(Self::at_scale(operand, to.scale)?)),
                _ => return None,
            },
            ExprKind::Call(function, operands) => {
                let [a, b] = operands.as_slice() else { return None };
                if !same(a) || !same(b) {
                    return None;
                }
                let (a, b) = (Box::new(Self::new(a)?), Box::new(Self::new(b)?));
                match function {
                    Function::Add => Kind::Add(a, b),
                    Function::Subtract => Kind::Subtract(a, b),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Self { kind, bounds })
    }

    /// `expr`, a wide decimal, at a scale at which all its parts are to be integers.
    fn at_scale(expr: &Expr, at: u8) -> Option<Self> {
        let kind = match &expr.kind {
            ExprKind::Parameter(i) => Kind::Wide(*i as usize, at.into()),
            ExprKind::Literal(Value::Str(bytes)) => Kind::Constant(scaled(bytes, at.into())?),
            ExprKind::Cast(operand) => {
                let of = match operand.ty {
                    DataType::Integer | DataType::BigInt => 0,
                    DataType::Numeric(from) => from.scale,
                    _ => return None,
                };
                let times = 10i128.checked_pow(at.checked_sub(of)?.into())?;
                Kind::Times(Box::new(Self::new(operand)?), times)
            }
            ExprKind::Call(function, operands) => {
                let [a, b] = operands.as_slice() else { return None };
                if a.ty != DataType::NUMERIC || b.ty != DataType::NUMERIC {
                    return None;
                }
                let (a, b) = (Box::new(Self::at_scale(a, at)?), Box::new(Self::at_scale(b, at)?));
                match function {
                    Function::Add => Kind::Add(a, b),
                    Function::Subtract => Kind::Subtract(a, b),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Self { kind, bounds: (i128::MIN, i128::MAX) })
    }

    /// The value; None when the general evaluation has to say.
    pub(super) fn value(&self, row: &RowBuffer, parameters: &[Value]) -> Option<Told> {
        let both = |a: &Self, b: &Self| match (a.value(row, parameters)?, b.value(row, parameters)?)
        {
            (Told::Number(a), Told::Number(b)) => Some(Some((a, b))),
            _ => Some(None),
        };
        let of = |datum: Datum<'_>| match datum {
            Datum::Null => Some(None),
            datum => datum.as_integer().map(Some),
        };
        let number = match &self.kind {
            Kind::Column(i) => of(row.get(*i))?,
            Kind::Parameter(i) => of(Datum::from(&parameters[*i]))?,
            Kind::Constant(value) => Some(*value),
            Kind::Wide(i, at) => match &parameters[*i] {
                Value::Null => None,
                Value::Str(bytes) => Some(scaled(bytes, *at)?),
                _ => return None,
            },
            Kind::Times(operand, times) => match operand.value(row, parameters)? {
                Told::Null => None,
                Told::Number(number) => Some(number.checked_mul(*times)?),
            },
            Kind::Same(operand) => match operand.value(row, parameters)? {
                Told::Null => None,
                Told::Number(number) => Some(number),
            },
            Kind::Add(a, b) => match both(a, b)? {
                Some((a, b)) => Some(a.checked_add(b)?),
                None => None,
            },
            Kind::Subtract(a, b) => match both(a, b)? {
                Some((a, b)) => Some(a.checked_sub(b)?),
                None => None,
            },
        };
        let Some(number) = number else { return Some(Told::Null) };
        (number >= self.bounds.0 && number <= self.bounds.1).then_some(Told::Number(number))
    }
}

impl Told {
    /// The value in this form.
    pub(super) fn held(self, physical: PhysicalType) -> Option<Value> {
        Some(match (self, physical) {
            (Self::Null, _) => Value::Null,
            (Self::Number(v), PhysicalType::I32) => Value::I32(i32::try_from(v).ok()?),
            (Self::Number(v), PhysicalType::I64) => Value::I64(i64::try_from(v).ok()?),
            (Self::Number(v), PhysicalType::I128) => Value::I128(v),
            _ => return None,
        })
    }
}

/// A wide decimal as an integer at a scale; None for what has more digits, NaN, the infinities.
fn scaled(bytes: &[u8], at: u32) -> Option<i128> {
    let wide = Wide::decode(bytes);
    let (value, scale) = wide.finite()?.short()?;
    value.checked_mul(10i128.checked_pow(at.checked_sub(scale.into())?)?)
}

fn is_widened(from: DataType, to: DataType) -> bool {
    from == DataType::Integer && to == DataType::BigInt
}

/// Digits after the point of types whose sums are those of their integers; integers have a scale
/// that no NUMERIC has, each its own.
fn scale(ty: DataType) -> Option<u32> {
    match ty {
        DataType::Integer => Some(1000),
        DataType::BigInt => Some(1001),
        DataType::Numeric(numeric) => Some(u32::from(numeric.scale)),
        _ => None,
    }
}

/// The bounds of values of the type, held as they are.
fn bounds_of(expr: &Expr) -> Option<(i128, i128)> {
    match (expr.ty, expr.physical) {
        (DataType::Integer, PhysicalType::I32) => Some((i32::MIN.into(), i32::MAX.into())),
        (DataType::BigInt, PhysicalType::I64) => Some((i64::MIN.into(), i64::MAX.into())),
        (DataType::Numeric(numeric), PhysicalType::I64 | PhysicalType::I128) => {
            let digits = match expr.physical {
                PhysicalType::I64 => numeric.precision.min(NumericType::PRECISION_64),
                _ => numeric.precision,
            };
            let most = 10i128.checked_pow(digits.into())? - 1;
            Some((-most, most))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(i: usize, ty: DataType) -> Expr {
        Expr { kind: ExprKind::Column(i), ty, physical: ty.physical() }
    }

    fn call(function: Function, a: Expr, b: Expr, ty: DataType) -> Expr {
        Expr { kind: ExprKind::Call(function, vec![a, b]), ty, physical: ty.physical() }
    }

    fn told(expr: &Expr, row: &[Datum<'_>]) -> Option<Value> {
        let mut buffer = RowBuffer::new();
        row.iter().for_each(|&datum| buffer.push(datum));
        Simple::new(expr)?.value(&buffer, &[])?.held(expr.physical)
    }

    #[test]
    fn sums_within_bounds_are_told_and_others_are_not() {
        let int = DataType::Integer;
        let sum = call(Function::Add, column(0, int), column(1, int), int);
        let row = |a, b| [Datum::I32(a), Datum::I32(b)];
        assert_eq!(told(&sum, &row(1, -5)), Some(Value::I32(-4)));
        assert_eq!(told(&sum, &row(i32::MAX, 1)), None);
        assert_eq!(told(&sum, &[Datum::Null, Datum::I32(1)]), Some(Value::Null));
        let difference = call(Function::Subtract, column(0, int), column(1, int), int);
        assert_eq!(told(&difference, &row(i32::MIN, 1)), None);
        assert_eq!(told(&difference, &row(i32::MIN, -1)), Some(Value::I32(i32::MIN + 1)));
        let product = call(Function::Multiply, column(0, int), column(1, int), int);
        assert_eq!(told(&product, &row(2, 3)), None);
    }

    #[test]
    fn wide_parameters_are_told_where_they_have_no_more_digits() {
        let money = DataType::numeric(12, 2);
        let cast = |inner: Expr, ty: DataType| Expr {
            kind: ExprKind::Cast(Box::new(inner)),
            ty,
            physical: ty.physical(),
        };
        let wide = DataType::NUMERIC;
        let parameter = Expr { kind: ExprKind::Parameter(0), ty: wide, physical: wide.physical() };
        let sum = call(Function::Subtract, cast(column(0, money), wide), parameter, wide);
        let simple = Simple::new(&cast(sum, money)).expect("a difference");
        let told = |text: &str| {
            let mut row = RowBuffer::new();
            row.push(Datum::I64(1_000));
            let value = Wide::parse(text).expect("a number").value();
            simple.value(&row, &[value])?.held(PhysicalType::I64)
        };
        assert_eq!(told("2.5"), Some(Value::I64(750)));
        assert_eq!(told("-3"), Some(Value::I64(1_300)));
        assert_eq!(told("2.505"), None);
        assert_eq!(told("NaN"), None);
        assert_eq!(told("-99999999999"), None);
    }

    #[test]
    fn decimals_need_one_scale_and_the_room_of_their_precision() {
        let (small, large, other) =
            (DataType::numeric(4, 2), DataType::numeric(5, 2), DataType::numeric(5, 3));
        let sum = |b, ty| call(Function::Add, column(0, small), column(1, b), ty);
        let row = [Datum::I64(9_999), Datum::I64(1)];
        assert_eq!(told(&sum(small, large), &row), Some(Value::I64(10_000)));
        assert_eq!(told(&sum(small, small), &row), None);
        assert_eq!(told(&sum(other, large), &row), None);
        let narrow = Expr {
            kind: ExprKind::Cast(Box::new(sum(small, large))),
            ty: small,
            physical: PhysicalType::I64,
        };
        assert_eq!(told(&narrow, &row), None);
        assert_eq!(told(&narrow, &[Datum::I64(5), Datum::I64(6)]), Some(Value::I64(11)));
    }
}
