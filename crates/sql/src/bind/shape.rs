//! Comparisons of shapes: by their operators, which say what is equal, and never by their bytes.
//!
//! ```text
//! a IS DISTINCT FROM b     NOT coalesce(a = b, a IS NULL AND b IS NULL)
//! a IN (b, c)              a = b OR a = c
//! a = ANY (array)          TRUE = ANY (SELECT a = element FROM unnest(array)), NULL for no array
//! a = ANY (SELECT b ...)   TRUE = ANY (SELECT a = b ...)
//! ```
//! Elsewhere: what the operators do (`types::packed::geometry`), types without any (`comparable`).

use sqlparser::ast::BinaryOperator as Op;
use types::{CompareOp, DataType, Error, Result, SqlState};

use super::types::Context;
use super::unmatched::{compare_text, no_operator};
use super::{Binder, Bound, BoundQuery};
use crate::algebra::{Expr, ExprKind, Function, Plan, Quantifier, SeriesFunction};

/// True for shapes.
pub(super) fn is_shape(ty: DataType) -> bool {
    matches!(ty, DataType::Packed(packed) if packed.is_shape())
}

fn operator(op: CompareOp) -> Op {
    match op {
        CompareOp::Equal | CompareOp::Distinct | CompareOp::NotDistinct => Op::Eq,
        CompareOp::NotEqual => Op::NotEq,
        CompareOp::Less => Op::Lt,
        CompareOp::LessEqual => Op::LtEq,
        CompareOp::Greater => Op::Gt,
        CompareOp::GreaterEqual => Op::GtEq,
    }
}

impl Binder<'_> {
    /// True when a shape is compared with others.
    pub(super) fn has_shape(&self, value: &Bound, others: &[Bound]) -> bool {
        others.iter().chain([value]).any(|bound| is_shape(self.type_now(bound)))
    }

    /// A comparison of two operands; None when neither is a shape.
    ///
    /// # Errors
    /// 42883 where the shapes have no such operator.
    pub(super) fn compare_shapes(
        &mut self,
        op: CompareOp,
        left: &Bound,
        right: &Bound,
    ) -> Result<Option<Expr>> {
        let (a, b) = (self.type_now(left), self.type_now(right));
        if !is_shape(a) && !is_shape(b) {
            return Ok(None);
        }
        // A bare NULL asks for no operator.
        let is_null = |bound: &Bound| {
            bound.is_unknown() && bound.expr.as_literal().is_some_and(|value| value.is_null())
        };
        let is_test = matches!(op, CompareOp::Distinct | CompareOp::NotDistinct);
        let beside_null = match (is_null(left), is_null(right)) {
            (true, _) => Some(right),
            (_, true) => Some(left),
            _ => None,
        };
        if let Some(other) = beside_null.filter(|_| is_test) {
            let missing = other.expr.clone().is_null();
            return Ok(Some(if op == CompareOp::Distinct { missing.negated() } else { missing }));
        }
        let Some(compared) = self.packed_operator(&operator(op), left, right)? else {
            let at = super::first(left.at, || right.at);
            return Err(no_operator(compare_text(op), a, b, at));
        };
        if !is_test {
            return Ok(Some(compared));
        }
        // The operator gives NULL for NULL alone.
        let [a, b] = [left, right].map(|bound| self.refreshed(bound).expr.is_null());
        let both = Expr::and(vec![a, b]);
        let same = Expr::call(Function::Coalesce, vec![compared, both], DataType::Boolean);
        Ok(Some(if op == CompareOp::Distinct { same.negated() } else { same }))
    }

    /// Refuses to compare rows of several fields by operators of shapes, of which nobody says that
    /// `=` is the opposite of `<` and `>`.
    ///
    /// # Errors
    /// 0A000; 42883 where the shapes have no such operator.
    pub(super) fn refuse_rows_of_shapes(
        &mut self,
        op: CompareOp,
        pairs: &[(Bound, Bound)],
    ) -> Result<()> {
        let is_test = matches!(op, CompareOp::Distinct | CompareOp::NotDistinct);
        if is_test || pairs.len() < 2 {
            return Ok(());
        }
        for (a, b) in pairs {
            if self.compare_shapes(op, a, b)?.is_some() {
                let op = compare_text(op);
                let message =
                    format!("could not determine interpretation of row comparison operator {op}");
                let hint = "Row comparison operators must be associated with btree operator \
                            families.";
                let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint);
                return Err(super::place(error, a.at));
            }
        }
        Ok(())
    }

    /// NULLIF; None when neither operand is a shape.
    pub(super) fn null_if_shape(&mut self, a: &Bound, b: &Bound) -> Result<Option<Bound>> {
        let Some(same) = self.compare_shapes(CompareOp::Equal, a, b)? else { return Ok(None) };
        let again = self.refreshed(a);
        let ty = if is_shape(again.ty()) { again.ty() } else { self.type_now(b) };
        let again = self.coerce(again, ty, Context::Implicit)?;
        let branches = vec![(same, Expr::null(ty))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(again) };
        Ok(Some(Bound::new(Expr { kind, ty }, a.at)))
    }

    /// `value op ANY/ALL (array)`; None when neither the elements nor the value are shapes.
    pub(super) fn test_shapes(
        &mut self,
        value: &Bound,
        op: &Op,
        array: &Bound,
        quantifier: Quantifier,
    ) -> Result<Option<Expr>> {
        let DataType::Array(element) = array.ty() else { return Ok(None) };
        let element = element.data_type();
        if !is_shape(element) && !is_shape(self.type_now(value)) {
            return Ok(None);
        }
        let id = self.fresh();
        let of_element = Bound::new(Expr::column(id, element), array.at);
        let test = self.bind_binary(op, value.clone(), of_element)?.expr;
        let plan = Plan::Series {
            function: SeriesFunction::Unnest,
            arguments: vec![array.expr.clone()],
            column: (id, element),
        };
        let found = self.test_of_rows(test, quantifier, plan);
        let missing = self.refreshed(array).expr.is_null();
        let branches = vec![(missing, Expr::null(DataType::Boolean))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(found) };
        Ok(Some(Expr { kind, ty: DataType::Boolean }))
    }

    /// `left op ANY/ALL (query)`; None when no shape is compared.
    pub(super) fn quantified_shapes(
        &mut self,
        left: &[Bound],
        op: CompareOp,
        quantifier: Quantifier,
        query: &BoundQuery,
    ) -> Result<Option<Expr>> {
        let any = left.iter().any(|bound| is_shape(self.type_now(bound)))
            || query.columns.iter().any(|column| is_shape(column.ty));
        if !any {
            return Ok(None);
        }
        let at = left.first().and_then(|bound| bound.at);
        let columns = query.columns.iter();
        let right = columns.map(|c| Bound::new(Expr::column(c.id, c.ty), at)).collect();
        let test = self.compare_rows(op, left.to_vec(), right)?;
        Ok(Some(self.test_of_rows(test, quantifier, query.plan.clone())))
    }

    /// True when `test` is true of a row of `plan`, or of all.
    fn test_of_rows(&mut self, test: Expr, quantifier: Quantifier, plan: Plan) -> Expr {
        let columns = vec![(self.fresh(), test)];
        let plan = Box::new(Plan::Project { input: Box::new(plan), columns });
        let (left, op) = (vec![Expr::boolean(true)], CompareOp::Equal);
        let kind = ExprKind::Quantified { left, op, quantifier, plan };
        Expr { kind, ty: DataType::Boolean }
    }
}
