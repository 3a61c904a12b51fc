//! Tests whether rows that satisfy some conditions satisfy another: those that a partial index has.
//!
//! ```text
//! a > 10            implies  a > 5, a <> 7, a IS NOT NULL
//! status = 'new'    implies  status IN ('new', 'old')
//! ```
//! Nothing is guessed: what is not seen to follow does not. Expressions are equal when they are
//! bound to the same tree.
//!
//! Source: PostgreSQL 15, `predtest.c`; fewer forms.

use std::cmp::Ordering;

use types::{CompareOp, DataType, Value};

use crate::algebra::{Expr, ExprKind};

/// True when `wanted` is true where all of `given` are.
pub fn implies(given: &[Expr], wanted: &Expr) -> bool {
    let given: Vec<Expr> = given.iter().map(normalised).collect();
    let mut parts = Vec::new();
    given.iter().for_each(|expr| conjuncts(expr, &mut parts));
    follows(&parts, &normalised(wanted))
}

/// `expr` with TEXT for VARCHAR, whose values are the same, and without the casts between them that
/// change no value: for comparisons of trees.
pub fn normalised(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    normalise(&mut expr);
    expr
}

fn normalise(expr: &mut Expr) {
    let is_text = |ty: DataType| ty.is_plain_text() || matches!(ty, DataType::Varchar(_));
    expr.each_child_mut(&mut normalise);
    match &mut expr.kind {
        ExprKind::Cast(inner) => {
            let keeps = matches!(expr.ty, DataType::Text | DataType::Varchar(None));
            if keeps && is_text(inner.ty) {
                let inner = inner.as_ref().clone();
                *expr = inner;
            }
        }
        _ if is_text(expr.ty) => expr.ty = DataType::Text,
        _ => {}
    }
}

fn conjuncts<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().for_each(|part| conjuncts(part, out)),
        _ => out.push(expr),
    }
}

fn follows(given: &[&Expr], wanted: &Expr) -> bool {
    match &wanted.kind {
        ExprKind::Literal(Value::Bool(true)) => true,
        ExprKind::And(parts) => parts.iter().all(|part| follows(given, part)),
        _ => {
            let term = |term: &Expr| given.iter().any(|part| one_implies(part, term));
            let of_terms = match &wanted.kind {
                ExprKind::Or(terms) => terms.iter().any(|wanted| follows(given, wanted)),
                _ => false,
            };
            term(wanted) || of_terms
        }
    }
}

/// True when `wanted` is true where `given` is.
fn one_implies(given: &Expr, wanted: &Expr) -> bool {
    if given == wanted {
        return true;
    }
    if let ExprKind::Or(terms) = &given.kind {
        return terms.iter().all(|term| {
            let mut parts = Vec::new();
            conjuncts(term, &mut parts);
            follows(&parts, wanted)
        });
    }
    match &wanted.kind {
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(operand) => is_null_rejecting(given, operand),
            _ => false,
        },
        _ => match (test(given), test(wanted)) {
            (Some(given), Some(wanted)) => given.implies(&wanted),
            _ => false,
        },
    }
}

/// True when `given` is not true where `operand` is NULL, as far as it is seen at once.
fn is_null_rejecting(given: &Expr, operand: &Expr) -> bool {
    let is_it = |expr: &Expr| {
        let mut expr = expr;
        loop {
            if expr == operand {
                return true;
            }
            match &expr.kind {
                ExprKind::Cast(inner) => expr = inner,
                _ => return false,
            }
        }
    };
    match &given.kind {
        ExprKind::Compare(CompareOp::Distinct | CompareOp::NotDistinct, ..) => false,
        ExprKind::Compare(_, left, right) => is_it(left) || is_it(right),
        ExprKind::InList(left, _) => is_it(left),
        ExprKind::Like { operand: text, pattern, .. } => is_it(text) || is_it(pattern),
        ExprKind::Not(inner) if !matches!(inner.kind, ExprKind::IsNull(_)) => {
            is_it(inner) || is_null_rejecting(inner, operand)
        }
        _ => is_it(given),
    }
}

/// A comparison of something with constants.
struct Test<'e> {
    operand: &'e Expr,
    kind: TestKind<'e>,
}

enum TestKind<'e> {
    Compare(CompareOp, &'e Value),
    InList(Vec<&'e Value>),
}

/// `expr` as a test of values whose order is known here.
fn test(expr: &Expr) -> Option<Test<'_>> {
    match &expr.kind {
        ExprKind::Compare(op, left, right) => match (constant(left), constant(right)) {
            (None, Some(value)) if left.ty == right.ty || is_of_bytes(left.ty, right.ty) => {
                Some(Test { operand: left, kind: TestKind::Compare(*op, value) })
            }
            (Some(value), None) if left.ty == right.ty => {
                Some(Test { operand: right, kind: TestKind::Compare(op.exchanged(), value) })
            }
            _ => None,
        },
        ExprKind::InList(operand, list) => {
            if list.iter().any(|item| item.ty != operand.ty) {
                return None;
            }
            let values = list.iter().map(constant).collect::<Option<Vec<_>>>()?;
            Some(Test { operand, kind: TestKind::InList(values) })
        }
        _ => None,
    }
}

/// True for wide numerics beside a bound of their bytes, which is how folding leaves comparisons.
fn is_of_bytes(operand: DataType, bound: DataType) -> bool {
    matches!(operand, DataType::WideNumeric(_)) && bound == DataType::Bytea
}

/// The value of a literal that is not NULL, of a type whose order is known here.
fn constant(expr: &Expr) -> Option<&Value> {
    let ordered = match expr.ty {
        DataType::Text | DataType::Name | DataType::Varchar(_) | DataType::Boolean => true,
        DataType::Date
        | DataType::Timestamp(_)
        | DataType::TimestampTz(_)
        | DataType::Enum(_)
        | DataType::Real
        | DataType::Double
        | DataType::Numeric(_) => true,
        // The keys by which wide numerics, JSONB and texts of a language are compared.
        DataType::Bytea => true,
        ty => ty.is_integer(),
    };
    expr.as_literal().filter(|value| ordered && !value.is_null())
}

/// The order of two values of one type.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => {
            Some(a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())))
        }
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => Some(a.as_integer()?.cmp(&b.as_integer()?)),
    }
}

impl Test<'_> {
    fn implies(&self, wanted: &Test<'_>) -> bool {
        if self.operand != wanted.operand {
            return false;
        }
        match (&self.kind, &wanted.kind) {
            (TestKind::Compare(op, value), TestKind::Compare(other, bound)) => {
                order(value, bound).is_some_and(|order| bounds(*op, order, *other))
            }
            (TestKind::InList(values), wanted) => values.iter().all(|value| wanted.takes(value)),
            (TestKind::Compare(CompareOp::Equal, value), wanted) => wanted.takes(value),
            _ => false,
        }
    }
}

impl TestKind<'_> {
    /// True when the test is true of `value`.
    fn takes(&self, value: &Value) -> bool {
        let equal = Some(Ordering::Equal);
        match self {
            Self::Compare(op, bound) => {
                order(value, bound).is_some_and(|order| bounds(CompareOp::Equal, order, *op))
            }
            Self::InList(values) => values.iter().any(|other| order(value, other) == equal),
        }
    }
}

/// True when `x op value` implies `x wanted bound`, where `order` is that of `value` and `bound`.
fn bounds(op: CompareOp, order: Ordering, wanted: CompareOp) -> bool {
    use CompareOp as C;
    let (below, equal, above) = (order.is_lt(), order.is_eq(), order.is_gt());
    match (op, wanted) {
        (C::Equal, C::Equal) | (C::NotEqual, C::NotEqual) => equal,
        (C::Equal, C::NotEqual) => !equal,
        (C::Equal | C::LessEqual, C::Less) => below,
        (C::Equal | C::LessEqual, C::LessEqual) => below || equal,
        (C::Equal | C::GreaterEqual, C::Greater) => above,
        (C::Equal | C::GreaterEqual, C::GreaterEqual) => above || equal,
        (C::Less, C::Less | C::LessEqual | C::NotEqual) => below || equal,
        (C::Greater, C::Greater | C::GreaterEqual | C::NotEqual) => above || equal,
        (C::LessEqual, C::NotEqual) => below,
        (C::GreaterEqual, C::NotEqual) => above,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::ColumnId;

    const OPS: [CompareOp; 6] = [
        CompareOp::Equal,
        CompareOp::NotEqual,
        CompareOp::Less,
        CompareOp::LessEqual,
        CompareOp::Greater,
        CompareOp::GreaterEqual,
    ];

    fn compare(op: CompareOp, value: i32) -> Expr {
        let column = Expr::column(ColumnId(0), DataType::Integer);
        let literal = Expr { kind: ExprKind::Literal(Value::I32(value)), ty: DataType::Integer };
        Expr::compare(op, column, literal)
    }

    fn holds(op: CompareOp, x: i32, value: i32) -> bool {
        match op {
            CompareOp::Equal => x == value,
            CompareOp::NotEqual => x != value,
            CompareOp::Less => x < value,
            CompareOp::LessEqual => x <= value,
            CompareOp::Greater => x > value,
            _ => x >= value,
        }
    }

    #[test]
    fn what_follows_is_true_of_every_value() {
        for (given, wanted) in OPS.iter().flat_map(|a| OPS.iter().map(move |b| (*a, *b))) {
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                let always = (-9..9).all(|x| !holds(given, x, a) || holds(wanted, x, b));
                let seen = implies(&[compare(given, a)], &compare(wanted, b));
                assert!(always || !seen, "x {given:?} {a} does not imply x {wanted:?} {b}");
                // Between integers more follows: x > 1 is x >= 2.
                if a == b {
                    assert_eq!(always, seen, "x {given:?} {a} and x {wanted:?} {b}");
                }
            }
        }
    }

    #[test]
    fn casts_that_change_nothing_count_for_nothing() {
        let column = || Expr::column(ColumnId(0), DataType::Varchar(Some(20)));
        let cast = |ty| Expr { kind: ExprKind::Cast(Box::new(column())), ty };
        let equal = |left: Expr, ty| {
            let literal = Expr { kind: ExprKind::Literal(Value::text("x")), ty };
            Expr::compare(CompareOp::Equal, left, literal)
        };
        let bare = equal(column(), DataType::Varchar(Some(20)));
        assert!(implies(&[equal(cast(DataType::Text), DataType::Text)], &bare));
        let short = DataType::Varchar(Some(1));
        assert!(!implies(&[equal(cast(short), short)], &bare));
    }

    #[test]
    fn conjuncts_disjuncts_and_nulls() {
        let both = Expr {
            kind: ExprKind::And(vec![compare(CompareOp::Greater, 3), compare(CompareOp::Less, 9)]),
            ty: DataType::Boolean,
        };
        let either = Expr {
            kind: ExprKind::Or(vec![compare(CompareOp::Equal, 4), compare(CompareOp::Equal, 5)]),
            ty: DataType::Boolean,
        };
        let null = |operand: Expr| Expr {
            kind: ExprKind::IsNull(Box::new(operand)),
            ty: DataType::Boolean,
        };
        let column = || Expr::column(ColumnId(0), DataType::Integer);
        let not_null =
            Expr { kind: ExprKind::Not(Box::new(null(column()))), ty: DataType::Boolean };
        assert!(implies(std::slice::from_ref(&both), &compare(CompareOp::Greater, 2)));
        assert!(implies(std::slice::from_ref(&either), &both));
        assert!(!implies(std::slice::from_ref(&both), &either));
        assert!(implies(&[compare(CompareOp::NotEqual, 1)], &not_null));
        assert!(!implies(&[null(column())], &not_null));
        assert!(!implies(&[], &compare(CompareOp::Equal, 1)));
    }
}
