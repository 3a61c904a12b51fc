//! Sub-queries in expressions. They stay where they are, with free columns of the levels around
//! them.

use sqlparser::ast::{self, Expr as Ast};
use types::{CompareOp, DataType, Result, SqlState};

use super::comparable::{ComparedFor, comparable, needs_key};
use super::name::expr_at;
use super::types::{Context, comparison_type, interchangeable};
use super::unmatched::no_operator;
use super::{Binder, Bound, BoundColumn, BoundQuery, Unknowns, at_span, fail};
use crate::algebra::{Expr, ExprKind, Place, Plan, Quantifier};

impl Binder<'_> {
    fn bind_inner(&mut self, query: &ast::Query) -> Result<BoundQuery> {
        self.bind_query(query, Unknowns::Text)
    }

    /// `(SELECT ...)` as a value.
    pub(super) fn bind_scalar_subquery(&mut self, query: &ast::Query) -> Result<Bound> {
        self.bind_subquery_field(query, 0, 1)
    }

    /// One field of `(SELECT ...)` as a value.
    pub(super) fn bind_subquery_field(
        &mut self,
        query: &ast::Query,
        field: usize,
        count: usize,
    ) -> Result<Bound> {
        let at = query_at(query);
        let mut bound = self.bind_inner(query)?;
        if bound.columns.len() != count {
            let message = match (count, bound.columns.len() > count) {
                (1, true) => "subquery must return only one column",
                (_, true) => "subquery has too many columns",
                (_, false) => "subquery has too few columns",
            };
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        bound.columns = bound.columns.into_iter().skip(field).take(1).collect();
        let (plan, columns) = self.exact(bound);
        let ty = columns.first().map_or(DataType::Unknown, |column| column.ty);
        Ok(Bound::new(Expr { kind: ExprKind::ScalarSubquery(Box::new(plan)), ty }, at))
    }

    /// `[NOT] EXISTS (SELECT ...)`.
    pub(super) fn bind_exists(&mut self, query: &ast::Query, negated: bool) -> Result<Bound> {
        let at = query_at(query);
        let bound = self.bind_inner(query)?;
        let kind = ExprKind::Exists(Box::new(bound.plan));
        let expr = Expr { kind, ty: DataType::Boolean };
        Ok(Bound::new(if negated { expr.negated() } else { expr }, at))
    }

    /// `left op ANY/ALL (SELECT ...)`; `left` may be a row value.
    pub(super) fn bind_quantified(
        &mut self,
        left: &Ast,
        op: CompareOp,
        quantifier: Quantifier,
        query: &ast::Query,
    ) -> Result<Bound> {
        let at = expr_at(left);
        let (left, bound) = self.bind_against(left, op, query)?;
        match self.quantified_shapes(&left, op, quantifier, &bound)? {
            Some(expr) => Ok(Bound::new(expr, at)),
            None => self.quantified_plain(left, op, quantifier, bound),
        }
    }

    /// The fields of `left` and the query that they are compared with.
    ///
    /// # Errors
    /// 42601 for another number of columns.
    fn bind_against(
        &mut self,
        left: &Ast,
        op: CompareOp,
        query: &ast::Query,
    ) -> Result<(Vec<Bound>, BoundQuery)> {
        let at = expr_at(left);
        let left = match super::row::row_fields(left) {
            Some(fields) => self.bind_fields(&fields)?,
            None => vec![self.bind_expr(left)?],
        };
        let bound = self.bind_inner(query)?;
        if left.len() != bound.columns.len() {
            let message = if left.len() < bound.columns.len() {
                "subquery has too many columns"
            } else {
                "subquery has too few columns"
            };
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        if left.len() > 1 && !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            return super::unsupported("an ordering comparison of rows with ANY or ALL", at);
        }
        Ok((left, bound))
    }

    /// `left [NOT] IN (query)`: NOT IN is the opposite of IN, also where the type has no `<>`.
    pub(super) fn bind_in_query(
        &mut self,
        left: &Ast,
        query: &ast::Query,
        negated: bool,
    ) -> Result<Bound> {
        let at = expr_at(left);
        let (left, bound) = self.bind_against(left, CompareOp::Equal, query)?;
        let (equal, any) = (CompareOp::Equal, Quantifier::Any);
        match self.quantified_shapes(&left, equal, any, &bound)? {
            Some(expr) if negated => Ok(Bound::new(expr.negated(), at)),
            Some(expr) => Ok(Bound::new(expr, at)),
            None if negated => {
                self.quantified_plain(left, CompareOp::NotEqual, Quantifier::All, bound)
            }
            None => self.quantified_plain(left, equal, any, bound),
        }
    }

    /// As [`Self::bind_quantified`], where no shape is compared.
    fn quantified_plain(
        &mut self,
        left: Vec<Bound>,
        op: CompareOp,
        quantifier: Quantifier,
        bound: BoundQuery,
    ) -> Result<Bound> {
        let at = left.first().and_then(|bound| bound.at);
        let mut list = Vec::with_capacity(left.len());
        let mut types = Vec::with_capacity(left.len());
        for (operand, column) in left.into_iter().zip(&bound.columns) {
            let (expr, ty) = self.quantified_operand(operand, column, at)?;
            list.push(expr);
            types.push(ty);
        }
        let bound = self.coerce_columns(bound, &types, Context::Implicit)?;
        let (plan, _) = self.exact(bound);
        let (list, plan) = self.by_collations(op, list, plan, at)?;
        let (list, plan) = self.compared_by_keys(list, plan, at)?;
        Ok(Bound::new(quantified(list, op, quantifier, plan), at))
    }

    /// Replaces texts of a row and of the rows of `plan` by keys where they are not compared by
    /// their bytes.
    fn by_collations(
        &mut self,
        op: CompareOp,
        left: Vec<Expr>,
        plan: Plan,
        at: Place,
    ) -> Result<(Vec<Expr>, Plan)> {
        if !self.has_collations {
            return Ok((left, plan));
        }
        let mut list = Vec::with_capacity(left.len());
        let mut columns = Vec::with_capacity(left.len());
        for (own, (id, ty)) in left.into_iter().zip(plan.output_types()) {
            let column = Expr::column(id, ty);
            let mut pair = self.compared(op, vec![own, column.clone()], at)?;
            let right = pair.pop().unwrap_or_else(|| column.clone());
            list.extend(pair.pop());
            let kept = if right == column { id } else { self.fresh() };
            columns.push((kept, right));
        }
        let is_same = columns.iter().all(|(id, expr)| expr.as_column() == Some(*id));
        let plan = if is_same { plan } else { Plan::Project { input: Box::new(plan), columns } };
        Ok((list, plan))
    }

    /// Replaces values of a row and of the rows of `plan` by their keys: see [`comparable`].
    fn compared_by_keys(
        &mut self,
        left: Vec<Expr>,
        plan: Plan,
        at: Place,
    ) -> Result<(Vec<Expr>, Plan)> {
        if !left.iter().any(|expr| needs_key(expr.ty)) {
            return Ok((left, plan));
        }
        if let Some(json) = left.iter().find(|expr| expr.ty == DataType::Json) {
            return Err(no_operator("=", json.ty, json.ty, at));
        }
        let key = |expr| comparable(expr, ComparedFor::Equality, at);
        let left = left.into_iter().map(key).collect::<Result<Vec<_>>>()?;
        let mut columns = Vec::with_capacity(left.len());
        for (id, ty) in plan.output_types() {
            columns
                .push((self.fresh(), comparable(Expr::column(id, ty), ComparedFor::Equality, at)?));
        }
        Ok((left, Plan::Project { input: Box::new(plan), columns }))
    }

    /// The left operand in the type of the comparison, and what the sub-query's column must become.
    fn quantified_operand(
        &mut self,
        operand: Bound,
        column: &BoundColumn,
        at: Place,
    ) -> Result<(Expr, DataType)> {
        let operand = self.retyped(operand);
        if operand.is_unknown() {
            let ty = super::coerce::literal_target(&operand, column.ty);
            return Ok((self.coerce(operand, ty, Context::Implicit)?, column.ty));
        }
        let ty = match comparison_type(self.digits, operand.ty(), column.ty) {
            Some(ty) => ty,
            None => return Err(no_operator("=", operand.ty(), column.ty, at)),
        };
        let column_ty = if interchangeable(column.ty, ty) { column.ty } else { ty };
        let expr = if interchangeable(operand.ty(), ty) {
            operand.expr
        } else {
            self.coerce(operand, ty, Context::Implicit)?
        };
        Ok((expr, column_ty))
    }
}

fn quantified(left: Vec<Expr>, op: CompareOp, quantifier: Quantifier, plan: Plan) -> Expr {
    let kind = ExprKind::Quantified { left, op, quantifier, plan: Box::new(plan) };
    Expr { kind, ty: DataType::Boolean }
}

/// The place of a query.
pub(super) fn query_at(query: &ast::Query) -> Place {
    use sqlparser::ast::Spanned;
    match &*query.body {
        ast::SetExpr::Select(select) => at_span(select.select_token.0.span),
        _ => at_span(query.span()),
    }
}
