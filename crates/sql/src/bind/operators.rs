//! Arithmetic, comparison, logic, text and bit operators.

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast, UnaryOperator};
use types::{CompareOp, DataType, Error, Interval, Result, SqlState, Value};

use super::comparable::refuse_json;
use super::types::{
    Category, Context, as_numeric, category, computed, number_union, operand_union,
};
use super::unmatched::{compare_text, no_operator, no_prefix};
use super::{Binder, Bound, place, unsupported};
use crate::algebra::{Expr, ExprKind, Function, LikeCase, Place};

/// AND or OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connective {
    And,
    Or,
}

impl Connective {
    fn as_str(self) -> &'static str {
        match self {
            Self::And => "AND",
            Self::Or => "OR",
        }
    }

    /// The terms, connected.
    pub(super) fn of(self, terms: Vec<Expr>) -> Expr {
        let kind = match self {
            Self::And => ExprKind::And(terms),
            Self::Or => ExprKind::Or(terms),
        };
        Expr { kind, ty: DataType::Boolean }
    }
}

/// The comparison of texts that an operator of the classes for patterns is.
fn compared_by_bytes(op: &Op) -> Option<Op> {
    let Op::Custom(symbol) = op else { return None };
    match symbol.as_str() {
        "~<~" => Some(Op::Lt),
        "~<=~" => Some(Op::LtEq),
        "~>~" => Some(Op::Gt),
        "~>=~" => Some(Op::GtEq),
        _ => None,
    }
}

/// True for a CITEXT.
pub(super) fn is_caseless(bound: &Bound) -> bool {
    bound.ty() == DataType::Packed(types::PackedType::CiText)
}

impl Binder<'_> {
    /// `a ~<~ b` and its like of texts, which are compared byte by byte.
    fn pattern_order(&mut self, op: &Op, left: &Bound, right: &Bound) -> Result<Option<Expr>> {
        let is_text = |bound: &Bound| bound.is_unknown() || bound.ty().is_text();
        let Some(op) = compared_by_bytes(op).filter(|_| is_text(left) && is_text(right)) else {
            return Ok(None);
        };
        let (left, right) = (self.by_bytes(left.clone())?, self.by_bytes(right.clone())?);
        self.comparison(&op, left, right).map(Some)
    }

    /// `left op right`, operands bound.
    pub(super) fn bind_binary(
        &mut self,
        op: &Op,
        mut left: Bound,
        mut right: Bound,
    ) -> Result<Bound> {
        let at = super::first(left.at, || right.at);
        if let Some(expr) = self.pattern_order(op, &left, &right)? {
            return Ok(Bound::new(expr, at));
        }
        if let Some(expr) = self.json_operator(op, &mut left, &mut right)? {
            return Ok(Bound::new(expr, at));
        }
        if let Some(expr) = self.extension_operator(op, [&left, &right])? {
            return Ok(Bound::new(expr, at));
        }
        if let Some(expr) = self.packed_operator(op, &left, &right)? {
            return Ok(Bound::new(expr, at));
        }
        let expr = match op {
            Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => {
                self.comparison(op, left, right)?
            }
            Op::Plus | Op::Minus | Op::Multiply | Op::Divide | Op::Modulo => {
                self.arithmetic(op, left, right)?
            }
            Op::StringConcat => self.concatenation(left, right)?,
            Op::PGExp => return self.call("power", vec![left, right], at),
            Op::BitwiseAnd => self.bits(op, Function::BitAnd, left, right)?,
            Op::BitwiseOr => self.bits(op, Function::BitOr, left, right)?,
            Op::PGBitwiseXor => self.bits(op, Function::BitXor, left, right)?,
            Op::PGBitwiseShiftLeft => self.shift(op, Function::ShiftLeft, left, right)?,
            Op::PGBitwiseShiftRight => self.shift(op, Function::ShiftRight, left, right)?,
            Op::PGRegexMatch | Op::PGRegexIMatch => self.regex(op, left, right)?,
            Op::PGRegexNotMatch | Op::PGRegexNotIMatch => self.regex(op, left, right)?.negated(),
            Op::PGLikeMatch => self.like(left, right, Some('\\'), LikeCase::Sensitive)?,
            Op::PGILikeMatch => self.like(left, right, Some('\\'), LikeCase::Insensitive)?,
            Op::PGNotLikeMatch => {
                self.like(left, right, Some('\\'), LikeCase::Sensitive)?.negated()
            }
            Op::PGNotILikeMatch => {
                self.like(left, right, Some('\\'), LikeCase::Insensitive)?.negated()
            }
            Op::AtArrow | Op::ArrowAt | Op::PGOverlap => self.array_comparison(op, left, right)?,
            Op::PGStartsWith => return self.call("starts_with", vec![left, right], at),
            Op::Arrow
            | Op::LongArrow
            | Op::HashArrow
            | Op::HashLongArrow
            | Op::Question
            | Op::QuestionAnd
            | Op::QuestionPipe
            | Op::HashMinus
            | Op::AtQuestion
            | Op::AtAt
            | Op::LtDashGt
            | Op::AndLt
            | Op::AndGt
            | Op::Custom(_) => {
                let (a, b) = (self.retyped(left).ty(), self.retyped(right).ty());
                if a == DataType::Unknown && b == DataType::Unknown {
                    return Err(ambiguous_operator(&format!("unknown {op} unknown"), at));
                }
                return Err(no_operator(&op.to_string(), a, b, at));
            }
            other => return unsupported(format!("operator {other}"), at),
        };
        Ok(Bound::new(expr, at))
    }

    /// `left AND right`, or OR, operands bound. What is such a connection only by meaning, as
    /// BETWEEN is, stays an operand: expressions of GROUP BY and ORDER BY are found by their form,
    /// as in PostgreSQL.
    pub(super) fn bind_logic(
        &mut self,
        by: Connective,
        left: Bound,
        right: Bound,
    ) -> Result<Bound> {
        let at = super::first(left.at, || right.at);
        let left = self.coerce_clause(left, DataType::Boolean, by.as_str())?;
        let right = self.coerce_clause(right, DataType::Boolean, by.as_str())?;
        Ok(Bound::new(by.of(vec![left, right]), at))
    }

    /// `left AND right`, or OR, where `left` was written as such a connection itself: it takes one
    /// more term.
    pub(super) fn extend_logic(
        &mut self,
        by: Connective,
        left: Bound,
        right: Bound,
    ) -> Result<Bound> {
        let at = super::first(left.at, || right.at);
        let left = self.coerce_clause(left, DataType::Boolean, by.as_str())?;
        let right = self.coerce_clause(right, DataType::Boolean, by.as_str())?;
        // Literal TRUE and FALSE stay for the planner: folding them is not the binder's business.
        let mut terms = match (left.kind, by) {
            (ExprKind::And(list), Connective::And) | (ExprKind::Or(list), Connective::Or) => list,
            (kind, _) => vec![Expr { kind, ty: left.ty }],
        };
        terms.push(right);
        Ok(Bound::new(by.of(terms), at))
    }

    /// A comparison of two bound operands.
    pub(super) fn comparison(&mut self, op: &Op, left: Bound, right: Bound) -> Result<Expr> {
        let compare = compare_op(op).ok_or_else(|| Error::internal("not a comparison"))?;
        self.compare(compare, left, right)
    }

    /// As [`Self::comparison`], for IS DISTINCT FROM too.
    pub(super) fn compare(&mut self, op: CompareOp, left: Bound, right: Bound) -> Result<Expr> {
        let (a, b) = (self.type_now(&left), self.type_now(&right));
        let at = super::first(left.at, || right.at);
        if let Some(expr) = self.compare_shapes(op, &left, &right)? {
            return Ok(expr);
        }
        refuse_json(compare_text(op), a, b, at)?;
        if let (DataType::Record(_), DataType::Record(_)) = (a, b)
            && let Some(expr) = self.compare_records(op, &left, &right)?
        {
            return Ok(expr);
        }
        match self.unite_operands(left, right)? {
            Some((left, right)) => {
                let (left, right) = self.compared_pair(op, left, right, at)?;
                Ok(Expr::compare(op, left, right))
            }
            None => Err(no_operator(compare_text(op), a, b, at)),
        }
    }

    /// `+ - * / %` on numbers, dates and intervals.
    fn arithmetic(&mut self, op: &Op, left: Bound, right: Bound) -> Result<Expr> {
        let (left, right) = (self.retyped(left), self.retyped(right));
        let at = super::first(left.at, || right.at);
        let (left, right) = self.guess_operands(op, left, right)?;
        let (a, b) = (left.ty(), right.ty());
        if a.is_number() && b.is_number() {
            return self.number_arithmetic(op, left, right);
        }
        match self.time_arithmetic(op, left, right)? {
            Some(expr) => Ok(expr),
            None => Err(no_operator(&op.to_string(), a, b, at)),
        }
    }

    /// Gives an untyped operand of arithmetic the type that the other one suggests.
    fn guess_operands(&mut self, op: &Op, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        let (a, b) = (left.ty(), right.ty());
        let at = super::first(left.at, || right.at);
        let guess = |other: DataType| match (op, category(other)) {
            (Op::Multiply | Op::Divide, Category::Span) => DataType::Double,
            (Op::Plus, Category::Time) => DataType::INTERVAL,
            (_, _) => other,
        };
        let typed = |binder: &mut Self, bound: Bound, other: DataType| -> Result<Bound> {
            let ty = match guess(other) {
                DataType::Numeric(_) | DataType::WideNumeric(_) => {
                    super::coerce::literal_target(&bound, other)
                }
                ty => ty,
            };
            let at = bound.at;
            Ok(Bound::new(binder.coerce(bound, ty, Context::Implicit)?, at))
        };
        match (left.is_unknown(), right.is_unknown()) {
            (true, true) => Err(ambiguous_operator(&format!("unknown {op} unknown"), at)),
            (true, false) => Ok((typed(self, left, b)?, right)),
            (false, true) => Ok((left, typed(self, right, a)?)),
            (false, false) => Ok((left, right)),
        }
    }

    fn number_arithmetic(&mut self, op: &Op, left: Bound, right: Bound) -> Result<Expr> {
        let function = match op {
            Op::Plus => Function::Add,
            Op::Minus => Function::Subtract,
            Op::Multiply => Function::Multiply,
            Op::Divide => Function::Divide,
            _ => Function::Modulo,
        };
        let Some(common) = operand_union(self.digits, left.ty(), right.ty()) else {
            return Err(Error::internal("arithmetic on something that is no number"));
        };
        if common.is_numeric() {
            let (left, right) = (self.as_numeric_operand(left)?, self.as_numeric_operand(right)?);
            let digits = self.digits;
            let ty = match (function, as_numeric(left.ty), as_numeric(right.ty)) {
                // A quotient has as many digits as its value needs.
                (Function::Divide, ..) | (_, None, _) | (_, _, None) => DataType::NUMERIC,
                (Function::Multiply, Some(a), Some(b)) => digits.product(a, b),
                (Function::Modulo, Some(a), Some(b)) => digits.modulo(a, b),
                (_, Some(a), Some(b)) => digits.sum(a, b),
            };
            let list = vec![left, right];
            let list =
                if ty == DataType::NUMERIC { list.into_iter().map(wide).collect() } else { list };
            return Ok(Expr::call(function, list, ty));
        }
        let at = super::first(left.at, || right.at);
        if function == Function::Modulo && !common.is_integer() {
            return Err(no_operator("%", left.ty(), right.ty(), at));
        }
        let left = self.coerce(left, common, Context::Implicit)?;
        let right = self.coerce(right, common, Context::Implicit)?;
        Ok(Expr::call(function, vec![left, right], common))
    }

    /// The operand as NUMERIC: an integer constant has the digits it is written with.
    pub(super) fn as_numeric_operand(&mut self, bound: Bound) -> Result<Expr> {
        let integer = match (&bound.expr.kind, bound.ty().is_integer()) {
            (ExprKind::Literal(value), true) => value.as_integer(),
            _ => None,
        };
        if let Some(value) = integer {
            return Ok(super::literal::numeric(value, 0));
        }
        match as_numeric(bound.ty()) {
            Some(ty) => self.coerce(bound, DataType::Numeric(ty), Context::Implicit),
            None => self.coerce(bound, DataType::NUMERIC, Context::Implicit),
        }
    }

    /// Arithmetic with dates, times and intervals; None when there is no such operator.
    fn time_arithmetic(&mut self, op: &Op, left: Bound, right: Bound) -> Result<Option<Expr>> {
        use DataType as T;
        let (a, b) = (left.ty(), right.ty());
        // Commuted forms: the operand with the point in time comes first.
        let swap = matches!(op, Op::Plus)
            && matches!(
                (a, b),
                (T::SmallInt | T::Integer | T::Time(_), T::Date)
                    | (T::Interval(_), T::Date | T::Time(_) | T::Timestamp(_) | T::TimestampTz(_))
            )
            || matches!(op, Op::Multiply) && category(a) == Category::Number;
        let (left, right) = if swap { (right, left) } else { (left, right) };
        let (a, b) = (left.ty(), right.ty());
        let Some((function, first, second, result)) = time_operator(op, a, b) else {
            return Ok(None);
        };
        let left = self.coerce(left, first, Context::Implicit)?;
        let right = self.coerce(right, second, Context::Implicit)?;
        Ok(Some(self.call_in_zone(function, vec![left, right], result)))
    }

    /// `||`: BYTEA with BYTEA, otherwise text with anything.
    fn concatenation(&mut self, left: Bound, right: Bound) -> Result<Expr> {
        let (left, right) = (self.retyped(left), self.retyped(right));
        let (a, b) = (left.ty(), right.ty());
        let at = super::first(left.at, || right.at);
        let (x, y) = (category(a), category(b));
        if x == Category::Array || y == Category::Array {
            return self.array_concatenation(left, right);
        }
        let ty = match (x, y) {
            (Category::Json, Category::Json) => return Err(no_operator("||", a, b, at)),
            (Category::Bytes, Category::Bytes | Category::Unknown)
            | (Category::Unknown, Category::Bytes) => DataType::Bytea,
            (Category::Text | Category::Unknown, _) | (_, Category::Text | Category::Unknown) => {
                DataType::Text
            }
            _ => return Err(no_operator("||", a, b, at)),
        };
        let left = self.as_text(left, ty)?;
        let right = self.as_text(right, ty)?;
        Ok(Expr::call(Function::ConcatOperator, vec![left, right], ty))
    }

    /// The operand as TEXT (or BYTEA), by the cast that concatenation applies to any type.
    pub(super) fn as_text(&mut self, bound: Bound, ty: DataType) -> Result<Expr> {
        match category(bound.ty()) {
            Category::Text | Category::Unknown => self.coerce(bound, ty, Context::Implicit),
            _ => self.coerce(bound, ty, Context::Explicit),
        }
    }

    /// As [`Self::as_text`] the way output functions show values: CHAR with its padding, BOOLEAN as
    /// `t` and `f`.
    pub(super) fn as_shown(&mut self, bound: Bound) -> Result<Expr> {
        match bound.ty() {
            DataType::Char(_) => self.padded_text(bound),
            // Its bits only where there are fewer than all.
            DataType::Packed(types::PackedType::Inet) => {
                let at = bound.at;
                Ok(self.call("abbrev", vec![bound], at)?.expr)
            }
            DataType::Boolean => {
                let text = self.as_text(bound, DataType::Text)?;
                let list = vec![text, Expr::integer(1)];
                Ok(Expr::call(Function::Left, list, DataType::Text))
            }
            _ => self.as_text(bound, DataType::Text),
        }
    }

    /// Text as TEXT, where a CHAR keeps the blanks that it is held without.
    pub(super) fn padded_text(&mut self, bound: Bound) -> Result<Expr> {
        let DataType::Char(length) = bound.ty() else {
            return self.coerce(bound, DataType::Text, Context::Implicit);
        };
        if length == 0 {
            return Ok(Expr::call(Function::HeldText, vec![bound.expr], DataType::Text));
        }
        let text = self.coerce(bound, DataType::Text, Context::Implicit)?;
        let length = Expr::integer(i32::try_from(length).unwrap_or(i32::MAX));
        let list = vec![text, length, Expr::text(" ")];
        Ok(Expr::call(Function::PadRight, list, DataType::Text))
    }

    fn bits(&mut self, op: &Op, function: Function, left: Bound, right: Bound) -> Result<Expr> {
        let (a, b) = (self.type_now(&left), self.type_now(&right));
        let at = super::first(left.at, || right.at);
        let ty = match (a, b) {
            (DataType::Unknown, ty) | (ty, DataType::Unknown) if ty.is_integer() => ty,
            (a, b) if a.is_integer() && b.is_integer() => {
                number_union(self.digits, a, b).unwrap_or(a)
            }
            _ => return Err(no_operator(&op.to_string(), a, b, at)),
        };
        let left = self.coerce(left, ty, Context::Implicit)?;
        let right = self.coerce(right, ty, Context::Implicit)?;
        Ok(Expr::call(function, vec![left, right], ty))
    }

    fn shift(&mut self, op: &Op, function: Function, left: Bound, right: Bound) -> Result<Expr> {
        let (mut left, right) = (self.retyped(left), self.retyped(right));
        let at = super::first(left.at, || right.at);
        // As in PostgreSQL, an untyped operand has the type of the other one.
        match right.ty() {
            DataType::Integer if left.is_unknown() => {
                left = Bound::new(self.coerce(left, DataType::Integer, Context::Implicit)?, at);
            }
            DataType::SmallInt | DataType::Unknown if left.is_unknown() => {
                let types = format!("unknown {op} {}", right.ty().name());
                return Err(ambiguous_operator(&types, at));
            }
            _ => {}
        }
        let (a, b) = (left.ty(), right.ty());
        let count = matches!(b, DataType::SmallInt | DataType::Integer | DataType::Unknown);
        if !a.is_integer() || !count {
            return Err(no_operator(&op.to_string(), a, b, at));
        }
        let right = self.coerce(right, DataType::Integer, Context::Implicit)?;
        Ok(Expr::call(function, vec![left.expr, right], a))
    }

    fn regex(&mut self, op: &Op, left: Bound, right: Bound) -> Result<Expr> {
        let at = super::first(left.at, || right.at);
        let is_caseless = is_caseless(&left);
        let (left, right) = (self.cased(left)?, self.cased(right)?);
        let (a, b) = (left.ty(), right.ty());
        if !a.is_text() || !b.is_text() {
            return Err(no_operator(&op.to_string(), a, b, at));
        }
        let function = match op {
            Op::PGRegexMatch | Op::PGRegexNotMatch if !is_caseless => Function::RegexpMatch,
            _ => Function::RegexpMatchInsensitive,
        };
        let at = super::first(left.at, || right.at);
        let left = self.padded_text(left)?;
        let right = self.coerce(right, DataType::Text, Context::Implicit)?;
        self.refuse_own_equality("regular expressions", &[&left, &right], at)?;
        Ok(Expr::call(function, vec![left, right], DataType::Boolean))
    }

    /// A CITEXT as TEXT; any other operand as it is.
    pub(super) fn cased(&mut self, bound: Bound) -> Result<Bound> {
        if !is_caseless(&bound) {
            return Ok(bound);
        }
        let at = bound.at;
        Ok(Bound::new(self.coerce(bound, DataType::Text, Context::Implicit)?, at))
    }

    /// `op operand`.
    pub(super) fn bind_unary(&mut self, op: UnaryOperator, operand: &Ast) -> Result<Bound> {
        let bound = self.bind_expr(operand)?;
        match (op, integer_constant(operand, &bound.expr)) {
            (UnaryOperator::Minus, Some(value)) => {
                Ok(Bound::new(super::literal::integer(-value), bound.at))
            }
            _ => self.unary(op, bound),
        }
    }

    /// `op bound`.
    pub(super) fn unary(&mut self, op: UnaryOperator, bound: Bound) -> Result<Bound> {
        let at = bound.at;
        if let Some(expr) = self.packed_prefix(op, &bound)? {
            return Ok(Bound::new(expr, at));
        }
        match op {
            UnaryOperator::Not => {
                let expr = self.coerce_clause(bound, DataType::Boolean, "NOT")?;
                Ok(Bound::new(expr.negated(), at))
            }
            UnaryOperator::Plus => match bound.ty() {
                DataType::Unknown => {
                    let expr = self.coerce(bound, DataType::Double, Context::Implicit)?;
                    Ok(Bound::new(expr, at))
                }
                ty if ty.is_number() => Ok(bound),
                ty => Err(no_prefix("+", ty, at)),
            },
            UnaryOperator::Minus => self.negate(bound),
            UnaryOperator::BitwiseNot => match bound.ty() {
                ty if ty.is_integer() => {
                    Ok(Bound::new(Expr::call(Function::BitNot, vec![bound.expr], ty), at))
                }
                ty => Err(no_prefix("~", ty, at)),
            },
            UnaryOperator::PGSquareRoot => self.call("sqrt", vec![bound], at),
            UnaryOperator::PGCubeRoot => self.call("cbrt", vec![bound], at),
            UnaryOperator::PGAbs => self.call("abs", vec![bound], at),
            other => unsupported(format!("operator {other}"), at),
        }
    }

    /// `- operand`; a constant is negated at once.
    fn negate(&mut self, bound: Bound) -> Result<Bound> {
        let at = bound.at;
        let bound = match (bound.ty(), &bound.expr.kind) {
            (DataType::Unknown, ExprKind::Literal(_)) => {
                return Err(ambiguous_operator("- unknown", at));
            }
            (DataType::Unknown, _) => {
                Bound::new(self.coerce(bound, DataType::Double, Context::Implicit)?, at)
            }
            (ty, _) if ty.is_number() || matches!(ty, DataType::Interval(_)) => bound,
            (ty, _) => return Err(no_prefix("-", ty, at)),
        };
        let ty = bound.ty();
        if let ExprKind::Literal(value) = &bound.expr.kind
            && let Some(value) = negated(value, ty)
        {
            return Ok(Bound::new(Expr::literal(value, ty), at));
        }
        Ok(Bound::new(Expr::call(Function::Negate, vec![bound.expr], computed(ty)), at))
    }
}

/// The value of an integer constant as it is written, with signs and parentheses: `-2147483648` is
/// an INTEGER, though its digits alone are not.
fn integer_constant(operand: &Ast, bound: &Expr) -> Option<i128> {
    match operand {
        Ast::Nested(inner) => integer_constant(inner, bound),
        Ast::UnaryOp { op, expr } if *op == UnaryOperator::Minus => integer_constant(expr, bound),
        Ast::Value(value) => match (&value.value, &bound.kind) {
            (ast::Value::Number(digits, _), ExprKind::Literal(value))
                if !digits.contains(['.', 'e', 'E']) =>
            {
                value.as_integer()
            }
            _ => None,
        },
        _ => None,
    }
}

/// The constant with the other sign; None when its type has no such value.
fn negated(value: &Value, ty: DataType) -> Option<Value> {
    Some(match value {
        Value::I32(-32_768) if ty == DataType::SmallInt => return None,
        Value::I32(v) => Value::I32(v.checked_neg()?),
        Value::I64(v) => Value::I64(v.checked_neg()?),
        Value::I128(v) => Value::I128(v.checked_neg()?),
        Value::F64(v) => Value::F64(-v),
        Value::Interval(v) => Value::Interval(Interval {
            months: v.months.checked_neg()?,
            days: v.days.checked_neg()?,
            micros: v.micros.checked_neg()?,
        }),
        _ => return None,
    })
}

/// Function, operand types and result of an operator on dates, times and intervals.
fn time_operator(
    op: &Op,
    a: DataType,
    b: DataType,
) -> Option<(Function, DataType, DataType, DataType)> {
    use DataType as T;
    use Function as F;
    Some(match (op, a, b) {
        (Op::Plus, T::Date, T::SmallInt | T::Integer) => {
            (F::DateAddDays, T::Date, T::Integer, T::Date)
        }
        (Op::Minus, T::Date, T::SmallInt | T::Integer) => {
            (F::DateSubtractDays, T::Date, T::Integer, T::Date)
        }
        (Op::Minus, T::Date, T::Date) => (F::DateDifference, T::Date, T::Date, T::Integer),
        (Op::Plus, T::Date, T::Time(_)) => (F::DateTimeAdd, T::Date, T::TIME, T::TIMESTAMP),
        (Op::Plus, T::Date | T::Timestamp(_), T::Interval(_)) => {
            (F::TimestampAdd, T::TIMESTAMP, T::INTERVAL, T::TIMESTAMP)
        }
        (Op::Minus, T::Date | T::Timestamp(_), T::Interval(_))
        | (Op::Minus, T::Date, T::Time(_)) => {
            (F::TimestampSubtract, T::TIMESTAMP, T::INTERVAL, T::TIMESTAMP)
        }
        (Op::Plus, T::TimestampTz(_), T::Interval(_)) => {
            (F::TimestampAdd, T::TIMESTAMPTZ, T::INTERVAL, T::TIMESTAMPTZ)
        }
        (Op::Minus, T::TimestampTz(_), T::Interval(_)) => {
            (F::TimestampSubtract, T::TIMESTAMPTZ, T::INTERVAL, T::TIMESTAMPTZ)
        }
        (Op::Minus, T::Date | T::Timestamp(_), T::Date | T::Timestamp(_)) => {
            (F::TimestampDifference, T::TIMESTAMP, T::TIMESTAMP, T::INTERVAL)
        }
        (Op::Minus, T::Date | T::Timestamp(_) | T::TimestampTz(_), T::TimestampTz(_))
        | (Op::Minus, T::TimestampTz(_), T::Date | T::Timestamp(_)) => {
            (F::TimestampDifference, T::TIMESTAMPTZ, T::TIMESTAMPTZ, T::INTERVAL)
        }
        (Op::Plus, T::Time(_), T::Interval(_)) => (F::TimeAdd, T::TIME, T::INTERVAL, T::TIME),
        (Op::Minus, T::Time(_), T::Interval(_)) => (F::TimeSubtract, T::TIME, T::INTERVAL, T::TIME),
        (Op::Minus, T::Time(_), T::Time(_)) => (F::TimeDifference, T::TIME, T::TIME, T::INTERVAL),
        (Op::Plus, T::Interval(_), T::Interval(_)) => {
            (F::IntervalAdd, T::INTERVAL, T::INTERVAL, T::INTERVAL)
        }
        (Op::Minus, T::Interval(_), T::Interval(_)) => {
            (F::IntervalSubtract, T::INTERVAL, T::INTERVAL, T::INTERVAL)
        }
        (Op::Multiply, T::Interval(_), number) if number.is_number() => {
            (F::IntervalMultiply, T::INTERVAL, T::Double, T::INTERVAL)
        }
        (Op::Divide, T::Interval(_), number) if number.is_number() => {
            (F::IntervalDivide, T::INTERVAL, T::Double, T::INTERVAL)
        }
        _ => return None,
    })
}

/// The comparison that an operator is.
pub(super) fn compare_op(op: &Op) -> Option<CompareOp> {
    Some(match op {
        Op::Eq => CompareOp::Equal,
        Op::NotEq => CompareOp::NotEqual,
        Op::Lt => CompareOp::Less,
        Op::LtEq => CompareOp::LessEqual,
        Op::Gt => CompareOp::Greater,
        Op::GtEq => CompareOp::GreaterEqual,
        _ => return None,
    })
}

/// 42725.
fn ambiguous_operator(shown: &str, at: Place) -> Error {
    let message = format!("operator is not unique: {shown}");
    let error = Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
        "Could not choose a best candidate operator. You might need to add explicit type casts.",
    );
    place(error, at)
}

/// An exact number as a wide decimal.
pub(super) fn wide(expr: Expr) -> Expr {
    if expr.ty == DataType::NUMERIC { expr } else { expr.cast(DataType::NUMERIC) }
}
