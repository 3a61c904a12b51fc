//! UNION, INTERSECT, EXCEPT.

use sqlparser::ast;
use types::{DataType, Result, SqlState, Value};

use super::coerce::mismatch;
use super::comparable::{ComparedFor, comparable, has_key};
use super::types::{Candidate, Context, common_type};
use super::{Binder, BoundColumn, BoundQuery, Unknowns, fail, place, unsupported};
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

    /// Both sides with the columns of either, those of `left` first, matched by their names: NULL
    /// where one side has none of a name.
    ///
    /// # Errors
    /// 42702 when two columns of one side have the same name.
    fn matched_by_name(
        &mut self,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<(BoundQuery, BoundQuery)> {
        let mut names: Vec<String> = Vec::new();
        for side in [&left, &right] {
            for (at_idx, column) in side.columns.iter().enumerate() {
                if side.columns[..at_idx].iter().any(|other| other.name == column.name) {
                    let message = format!("column reference \"{}\" is ambiguous", column.name);
                    return fail(SqlState::AMBIGUOUS_COLUMN, message, column.at);
                }
                if !names.contains(&column.name) {
                    names.push(column.name.clone());
                }
            }
        }
        Ok((self.with_columns(left, &names), self.with_columns(right, &names)))
    }

    /// `query` with the columns called `names`, in this order; others than its own are NULL.
    fn with_columns(&mut self, query: BoundQuery, names: &[String]) -> BoundQuery {
        let mut projected = Vec::with_capacity(names.len());
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let known = query.columns.iter().find(|column| column.name == *name).cloned();
            let column = known.unwrap_or_else(|| BoundColumn {
                name: name.clone(),
                ty: DataType::Unknown,
                id: self.fresh(),
                at: None,
            });
            let is_known = query.columns.iter().any(|known| known.id == column.id);
            let expr = if is_known {
                Expr::column(column.id, column.ty)
            } else {
                Expr::literal(Value::Null, DataType::Unknown)
            };
            projected.push((column.id, expr));
            columns.push(column);
        }
        let plan = Plan::Project { input: Box::new(query.plan), columns: projected };
        BoundQuery { plan, columns }
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
        use ast::SetQuantifier as Q;
        let duplicates = match quantifier {
            Q::All | Q::AllByName => Duplicates::Keep,
            Q::None | Q::Distinct | Q::ByName | Q::DistinctByName => Duplicates::Remove,
        };
        let by_name = matches!(quantifier, Q::AllByName | Q::ByName | Q::DistinctByName);
        let (left, right) = match (by_name, operator) {
            (false, _) => (left, right),
            (true, SetOperator::Union) => self.matched_by_name(left, right)?,
            (true, _) => return unsupported(format!("{name} BY NAME"), None),
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

fn column_type(name: &'static str, a: &BoundColumn, b: &BoundColumn) -> Result<DataType> {
    let candidate = |column: &BoundColumn| Candidate { ty: column.ty };
    let ty = common_type(&[candidate(a), candidate(b)]);
    ty.map_err(|(a, other)| place(mismatch(name, a, other), b.at))
}
