//! Row values: comparisons of `(a, b)` and `ROW(a, b)`.

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast};
use types::{Result, SqlState};

use super::name::expr_at;
use super::operators::{compare_op, no_row_operator};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{CompareOp, Expr};

/// The fields of a row value; None for other expressions.
pub(super) fn row_fields(expr: &Ast) -> Option<Vec<&Ast>> {
    match expr {
        Ast::Tuple(fields) => Some(fields.iter().collect()),
        Ast::Nested(inner) => row_fields(inner),
        Ast::Function(function) => match function.name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(ident)]
                if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("row") =>
            {
                let ast::FunctionArguments::List(list) = &function.args else {
                    return None;
                };
                let field = |arg| match arg {
                    &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expr)) => Some(expr),
                    _ => None,
                };
                list.args.iter().map(field).collect()
            }
            _ => None,
        },
        _ => None,
    }
}

/// True for a row value.
pub(super) fn is_row(expr: &Ast) -> bool {
    row_fields(expr).is_some()
}

impl Binder<'_> {
    /// `(a, b) op (c, d)` or `(a, b) op (SELECT c, d ...)`.
    pub(super) fn bind_row_comparison(
        &mut self,
        left: &Ast,
        op: &Op,
        right: &Ast,
    ) -> Result<Bound> {
        let at = expr_at(left);
        let Some(compare) = compare_op(op) else {
            return unsupported(format!("operator {op} on row values"), at);
        };
        let (left, right) = match (row_fields(left), row_fields(right)) {
            (Some(left), Some(right)) => (self.bind_fields(&left)?, self.bind_fields(&right)?),
            (Some(left), None) => {
                (self.bind_fields(&left)?, self.bind_row_subquery(compare, right, left.len())?)
            }
            (None, Some(right)) => {
                (self.bind_row_subquery(compare, left, right.len())?, self.bind_fields(&right)?)
            }
            (None, None) => return fail(SqlState::SYNTAX_ERROR, "row value expected", at),
        };
        let expr = self.compare_rows(compare, left, right)?;
        Ok(Bound::new(expr, at))
    }

    pub(super) fn bind_fields(&mut self, fields: &[&Ast]) -> Result<Vec<Bound>> {
        fields.iter().map(|field| self.bind_expr(field)).collect()
    }

    /// The fields of a row sub-query, each as a scalar sub-query of its own.
    fn bind_row_subquery(&mut self, op: CompareOp, expr: &Ast, count: usize) -> Result<Vec<Bound>> {
        let mut inner = expr;
        while let Ast::Nested(nested) = inner {
            inner = nested;
        }
        let Ast::Subquery(query) = inner else {
            let other = self.bind_expr(expr)?;
            return Err(no_row_operator(op, other.ty(), expr_at(expr)));
        };
        (0..count).map(|field| self.bind_subquery_field(query, field, count)).collect()
    }

    /// Field-wise equality, or the lexicographic order of SQL rows.
    pub(super) fn compare_rows(
        &mut self,
        op: CompareOp,
        left: Vec<Bound>,
        right: Vec<Bound>,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            let at = left.first().and_then(|bound| bound.at);
            let message = "unequal number of entries in row expressions";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let pairs: Vec<(Bound, Bound)> = left.into_iter().zip(right).collect();
        let each = |binder: &mut Self, op: CompareOp| -> Result<Vec<Expr>> {
            let compare = |(a, b): &(Bound, Bound)| {
                let (a, b) = (binder.refreshed(a), binder.refreshed(b));
                binder.compare(op, a, b)
            };
            pairs.iter().map(compare).collect()
        };
        let strict = match op {
            CompareOp::Equal | CompareOp::NotDistinct => return Ok(Expr::and(each(self, op)?)),
            CompareOp::NotEqual | CompareOp::Distinct => return Ok(Expr::or(each(self, op)?)),
            CompareOp::Less | CompareOp::LessEqual => CompareOp::Less,
            CompareOp::Greater | CompareOp::GreaterEqual => CompareOp::Greater,
        };
        // (a, b) < (c, d) is a < c OR (a = c AND b < d); the last field decides by `op` itself.
        let equal = each(self, CompareOp::Equal)?;
        let mut less = each(self, strict)?;
        if let (Some(last), Some((a, b))) = (less.last_mut(), pairs.last()) {
            let (a, b) = (self.refreshed(a), self.refreshed(b));
            *last = self.compare(op, a, b)?;
        }
        let term = |(count, less): (usize, Expr)| {
            let prefix = equal.iter().take(count).cloned();
            Expr::and(prefix.chain(std::iter::once(less)).collect())
        };
        Ok(Expr::or(less.into_iter().enumerate().map(term).collect()))
    }
}
