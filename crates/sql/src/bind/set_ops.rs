//! UNION, INTERSECT, EXCEPT.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::json::{ComparedFor, comparable, has_key};
use super::types::{Candidate, Context, common_type};
use super::{Binder, BoundColumn, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{ColumnId, Duplicates, Expr, Plan, SetOperator};

impl Binder<'_> {
    /// A set operation; the left-leaning chain that the parser makes of `a UNION b UNION c` is
    /// walked without recursion.
    pub(super) fn bind_set_operation(&mut self, body: &ast::SetExpr) -> Result<BoundQuery> {
        let mut chain = Vec::new();
        let mut leftmost = body;
        while let ast::SetExpr::SetOperation { op, set_quantifier, left, right } = leftmost {
            chain.push((op, set_quantifier, &**right));
            leftmost = left;
        }
        let bound = self.bind_set_expr(leftmost, Unknowns::Keep)?;
        self.chained(chain.len(), |binder| binder.bind_branches(bound, chain))
    }

    fn bind_branches(
        &mut self,
        mut bound: BoundQuery,
        chain: Vec<(&ast::SetOperator, &ast::SetQuantifier, &ast::SetExpr)>,
    ) -> Result<BoundQuery> {
        for (op, quantifier, right) in chain.into_iter().rev() {
            let right = self.bind_set_expr(right, Unknowns::Keep)?;
            bound = self.combine(*op, *quantifier, bound, right)?;
        }
        Ok(bound)
    }

    fn combine(
        &mut self,
        op: ast::SetOperator,
        quantifier: ast::SetQuantifier,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery> {
        let (operator, name) = match op {
            ast::SetOperator::Union => (SetOperator::Union, "UNION"),
            ast::SetOperator::Intersect => (SetOperator::Intersect, "INTERSECT"),
            ast::SetOperator::Except | ast::SetOperator::Minus => (SetOperator::Except, "EXCEPT"),
        };
        let duplicates = match quantifier {
            ast::SetQuantifier::All => Duplicates::Keep,
            ast::SetQuantifier::None | ast::SetQuantifier::Distinct => Duplicates::Remove,
            _ => return unsupported(format!("{name} BY NAME"), None),
        };
        if left.columns.len() != right.columns.len() {
            let message = format!("each {name} query must have the same number of columns");
            let at = right.columns.first().and_then(|column| column.at);
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let mut types = Vec::with_capacity(left.columns.len());
        for (a, b) in left.columns.iter().zip(&right.columns) {
            types.push(column_type(name, a, b)?);
        }
        let left = self.coerce_columns(left, &types, Context::Implicit)?;
        let right = self.coerce_columns(right, &types, Context::Implicit)?;
        let (left, names) = self.exact(left);
        let (right, _) = self.exact(right);
        let columns: Vec<_> = types.iter().map(|ty| (self.fresh(), *ty)).collect();
        let output = names
            .into_iter()
            .zip(&columns)
            .map(|(column, (id, ty))| BoundColumn { id: *id, ty: *ty, ..column })
            .collect();
        let (left, right) = (Box::new(left), Box::new(right));
        let whole = operator == SetOperator::Union && duplicates == Duplicates::Keep;
        if whole || !types.iter().any(|ty| has_key(*ty)) {
            let plan = Plan::SetOperation { operator, duplicates, left, right, columns };
            return Ok(BoundQuery { plan, columns: output });
        }
        let key = |(id, ty): &(ColumnId, DataType)| {
            comparable(Expr::column(*id, *ty), ComparedFor::Equality, None)
        };
        let on = columns.iter().map(key).collect::<Result<Vec<_>>>()?;
        if operator != SetOperator::Union {
            return unsupported(format!("{name} of jsonb"), None);
        }
        let duplicates = Duplicates::Keep;
        let all = Plan::SetOperation { operator, duplicates, left, right, columns };
        Ok(BoundQuery { plan: Plan::Distinct { input: Box::new(all), on }, columns: output })
    }
}

fn column_type(name: &str, a: &BoundColumn, b: &BoundColumn) -> Result<DataType> {
    let candidate = |column: &BoundColumn| Candidate { ty: column.ty };
    let ty = common_type(&[candidate(a), candidate(b)]);
    ty.or_else(|(a, other)| {
        let message = format!("{name} types {} and {} cannot be matched", a.name(), other.name());
        fail(SqlState::DATATYPE_MISMATCH, message, b.at)
    })
}
