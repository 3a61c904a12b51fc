//! Scalar expressions: which form goes where.

use sqlparser::ast::{self, Expr as Ast};
use types::{DataType, Result, SqlState};

use super::domain::Declared;
use super::name::expr_at;
use super::operators::{Connective, compare_op};
use super::schema::is_current_schema;
use super::types::Context;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, ExprKind};

/// An operator of a chain, and what is right of it.
type Link<'a> = (&'a ast::BinaryOperator, &'a Ast);

impl Binder<'_> {
    /// Binds a scalar expression.
    pub(super) fn bind_expr(&mut self, expr: &Ast) -> Result<Bound> {
        // What shows the scales of single values is no sum.
        let sums = is_coalesce(expr)
            || matches!(
                expr,
                Ast::Nested(_)
                    | Ast::Case { .. }
                    | Ast::UnaryOp { op: ast::UnaryOperator::Minus, .. }
                    | Ast::BinaryOp {
                        op: ast::BinaryOperator::Plus
                            | ast::BinaryOperator::Minus
                            | ast::BinaryOperator::Multiply,
                        ..
                    }
            );
        let outer = self.summed;
        self.summed = outer && sums;
        let bound = self.nested(|binder| binder.bind_form(expr));
        self.summed = outer;
        bound
    }

    fn bind_form(&mut self, expr: &Ast) -> Result<Bound> {
        match expr {
            Ast::Identifier(ident) if is_current_schema(ident) => self.current_schema(ident),
            Ast::Identifier(ident) => self.resolve_name(ident),
            Ast::CompoundIdentifier(parts) => self.resolve_qualified(parts),
            Ast::Value(value) => self.bind_value(value),
            Ast::TypedString(typed) => self.bind_typed_string(typed),
            Ast::Interval(interval) => self.bind_interval(interval),
            Ast::Nested(inner) => self.bind_expr(inner),
            Ast::BinaryOp { .. } => self.bind_chain(expr),
            Ast::UnaryOp { op, expr } => self.bind_unary(*op, expr),
            Ast::Cast { kind, expr, data_type, format } => {
                if *kind == ast::CastKind::TryCast || *kind == ast::CastKind::SafeCast {
                    return unsupported("TRY_CAST", expr_at(expr));
                }
                if format.is_some() {
                    return unsupported("CAST ... FORMAT", expr_at(expr));
                }
                self.bind_cast(expr, data_type)
            }
            Ast::Case { operand, conditions, else_result, .. } => {
                self.bind_case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Ast::Function(function) => self.bind_function(function),
            Ast::Subquery(query) => self.bind_scalar_subquery(query),
            Ast::Exists { subquery, negated } => self.bind_exists(subquery, *negated),
            _ => self.bind_test_or_special(expr),
        }
    }

    fn bind_test_or_special(&mut self, expr: &Ast) -> Result<Bound> {
        match expr {
            Ast::IsNull(_)
            | Ast::IsNotNull(_)
            | Ast::IsTrue(_)
            | Ast::IsNotTrue(_)
            | Ast::IsFalse(_)
            | Ast::IsNotFalse(_)
            | Ast::IsUnknown(_)
            | Ast::IsNotUnknown(_)
            | Ast::IsDistinctFrom(..)
            | Ast::IsNotDistinctFrom(..)
            | Ast::InList { .. }
            | Ast::InSubquery { .. }
            | Ast::Between { .. }
            | Ast::Like { .. }
            | Ast::ILike { .. }
            | Ast::SimilarTo { .. }
            | Ast::AnyOp { .. }
            | Ast::AllOp { .. } => self.bind_predicate(expr),
            Ast::Extract { .. }
            | Ast::Ceil { .. }
            | Ast::Floor { .. }
            | Ast::Position { .. }
            | Ast::Substring { .. }
            | Ast::Trim { .. }
            | Ast::Overlay { .. }
            | Ast::AtTimeZone { .. } => self.bind_special(expr),
            Ast::CompoundFieldAccess { root, access_chain } => self.bind_access(root, access_chain),
            Ast::Collate { expr, collation } => self.bind_collate(expr, collation),
            Ast::Tuple(_) => self.bind_row(expr),
            Ast::Array(array) => self.bind_array(&array.elem, None, expr_at(expr)),
            Ast::QualifiedWildcard(name, _) => self.row_of_name(name),
            Ast::Wildcard(_) => {
                fail(SqlState::SYNTAX_ERROR, "syntax error at or near \"*\"", expr_at(expr))
            }
            other => unsupported(format!("expression {other}"), expr_at(other)),
        }
    }

    /// `a op b op c ...`: the parser nests a chain to the left, as deep as it is long; it is walked
    /// here without recursion.
    fn bind_chain(&mut self, expr: &Ast) -> Result<Bound> {
        let mut chain: Vec<Link> = Vec::new();
        let mut leftmost = expr;
        while let Ast::BinaryOp { left, op, right } = leftmost {
            if super::row::is_row(left) || super::row::is_row(right) {
                break;
            }
            refuse_comparison_chain(left, op, right)?;
            chain.push((op, &**right));
            leftmost = left;
        }
        let bound = match leftmost {
            Ast::BinaryOp { left, op, right } => self.bind_row_comparison(left, op, right)?,
            other => self.bind_expr(other)?,
        };
        let deepening = |(op, _): &&Link| connective(op).is_none();
        let levels = chain.iter().filter(deepening).count();
        self.chained(levels, |binder| binder.bind_links(bound, leftmost, chain))
    }

    fn bind_links(
        &mut self,
        mut bound: Bound,
        leftmost: &Ast,
        chain: Vec<Link<'_>>,
    ) -> Result<Bound> {
        let mut before = match without_parentheses(leftmost) {
            Ast::BinaryOp { op, .. } => connective(op),
            _ => None,
        };
        for (op, right) in chain.into_iter().rev() {
            let connective = connective(op);
            let right = self.bind_expr(right)?;
            bound = match connective {
                Some(by) if before == connective => self.extend_logic(by, bound, right)?,
                Some(by) => self.bind_logic(by, bound, right)?,
                None => self.bind_binary(op, bound, right)?,
            };
            before = connective;
        }
        Ok(bound)
    }

    fn bind_cast(&mut self, expr: &Ast, ty: &ast::DataType) -> Result<Bound> {
        let inner = without_parentheses(expr);
        if let (Ast::Array(array), ast::DataType::Array(_)) = (inner, ty) {
            let at = expr_at(expr);
            let Declared { ty, domain } = self.declared_type(ty, at)?;
            let bound = self.bind_array(&array.elem, ty.element(), at)?;
            return Ok(Bound::new(self.in_domain(bound.expr, domain)?, at));
        }
        let bound = self.bind_expr(expr)?;
        if let Some(row) = self.type_of_relation(ty)? {
            let at = bound.at;
            return Ok(Bound::new(self.coerce(bound, row, Context::Explicit)?, at));
        }
        self.cast_to(bound, ty)
    }

    /// An explicit cast.
    pub(super) fn cast_to(&mut self, bound: Bound, ty: &ast::DataType) -> Result<Bound> {
        let at = bound.at;
        let Declared { ty, domain } = self.declared_type(ty, at)?;
        // `'12.50'::numeric` has the digits that are written.
        if ty == DataType::NUMERIC
            && let Some(text) = super::literal::unknown_text(&bound.expr)
            && let Some((value, scale)) = super::literal::decimal(&text.trim().to_ascii_lowercase())
        {
            let expr = super::literal::numeric(value, scale);
            return Ok(Bound::new(self.in_domain(expr, domain)?, at));
        }
        let expr = self.coerce(bound, ty, Context::Explicit)?;
        Ok(Bound::new(self.in_domain(expr, domain)?, at))
    }

    fn bind_case(
        &mut self,
        operand: Option<&Ast>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Ast>,
    ) -> Result<Bound> {
        let mark = self.series_mark()?;
        let operand = match operand {
            Some(operand) => {
                let mut bound = self.bind_expr(operand)?;
                self.settle(&mut bound)?;
                Some(bound)
            }
            None => None,
        };
        let at = operand.as_ref().and_then(|bound| bound.at);
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        // PostgreSQL considers ELSE first when it looks for the common type.
        match otherwise {
            Some(expr) => results.push(self.bind_expr(expr)?),
            None => results.push(Bound::new(Expr::null(DataType::Unknown), None)),
        }
        for when in conditions {
            let condition = self.bind_expr(&when.condition)?;
            tests.push(match &operand {
                Some(operand) => {
                    let operand = self.refreshed(operand);
                    self.comparison(&ast::BinaryOperator::Eq, operand, condition)?
                }
                None => self.coerce_clause(condition, DataType::Boolean, "CASE/WHEN")?,
            });
            results.push(self.bind_expr(&when.result)?);
        }
        self.refuse_series_since(mark, "set-returning functions are not allowed in CASE")?;
        let (results, ty) = self.unite(results, "CASE")?;
        let mut results = results.into_iter();
        let otherwise = Box::new(results.next().unwrap_or_else(|| Expr::null(ty)));
        let branches = tests.into_iter().zip(results).collect();
        Ok(Bound::new(Expr { kind: ExprKind::Case { branches, otherwise }, ty }, at))
    }
}

fn without_parentheses(mut expr: &Ast) -> &Ast {
    while let Ast::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// AND or OR; None for other operators.
fn connective(op: &ast::BinaryOperator) -> Option<Connective> {
    match op {
        ast::BinaryOperator::And => Some(Connective::And),
        ast::BinaryOperator::Or => Some(Connective::Or),
        _ => None,
    }
}

/// 42601 for `a < b < c`: comparisons do not associate.
fn refuse_comparison_chain(left: &Ast, op: &ast::BinaryOperator, right: &Ast) -> Result<()> {
    let Ast::BinaryOp { op: inner, .. } = left else {
        return Ok(());
    };
    if compare_op(op).is_none() || compare_op(inner).is_none() {
        return Ok(());
    }
    let message = format!("syntax error at or near \"{op}\"");
    fail(SqlState::SYNTAX_ERROR, message, expr_at(right))
}

/// `coalesce(...)`, which gives its values as they are.
fn is_coalesce(expr: &Ast) -> bool {
    match expr {
        Ast::Function(function) => match function.name.0.as_slice() {
            [part] => {
                part.as_ident().is_some_and(|ident| ident.value.eq_ignore_ascii_case("coalesce"))
            }
            _ => false,
        },
        _ => false,
    }
}
