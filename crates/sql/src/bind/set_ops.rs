//! UNION, INTERSECT, EXCEPT.

use sqlparser::ast;
use types::{CompareOp, DataType, Result, SqlState, Value};

use super::coerce::mismatch;
use super::types::{Candidate, Context, common_type};
use super::{Binder, BoundColumn, BoundQuery, Unknowns, fail, place, unsupported};
use crate::algebra::{
    ColumnId, Duplicates, Expr, JoinKind, Plan, SetOperator, WindowCall, WindowFunction,
};

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
            let ty = column_type(name, a, b)?;
            let has_literal = has_literal(&left, a) || has_literal(&right, b);
            types.push(if has_literal { without_limits(ty) } else { ty });
        }
        let left = self.coerce_columns(left, &types, Context::Implicit)?;
        let right = self.coerce_columns(right, &types, Context::Implicit)?;
        let (left, names) = self.exact(left);
        let (right, right_names) = self.exact(right);
        let columns: Vec<_> = types.iter().map(|ty| (self.fresh(), *ty)).collect();
        let whole = operator == SetOperator::Union && duplicates == Duplicates::Keep;
        self.note_united(&names, &right_names, &columns)?;
        if !whole {
            for ((id, ty), column) in columns.iter().zip(&right_names) {
                self.refuse_conflict(&Expr::column(*id, *ty), column.at)?;
            }
        }
        let output = names
            .into_iter()
            .zip(&columns)
            .map(|(column, (id, ty))| BoundColumn { id: *id, ty: *ty, ..column })
            .collect();
        let has_key = |(id, ty): &(ColumnId, DataType)| self.has_key(&Expr::column(*id, *ty));
        if !whole && columns.iter().any(has_key) {
            let sides = Sides { operator, duplicates, left, right, columns };
            return Ok(BoundQuery { plan: self.by_keys(sides)?, columns: output });
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let plan = Plan::SetOperation { operator, duplicates, left, right, columns };
        Ok(BoundQuery { plan, columns: output })
    }

    /// A set operation over values that are compared by keys, but UNION ALL: rows with values of
    /// the left side, of equal ones any.
    ///
    /// INTERSECT and EXCEPT are joins of the left rows that find, or miss, an equal right one; with
    /// ALL the rows that are equal are numbered on each side, and numbers belong to what is equal.
    ///
    /// # Errors
    /// 42883 for JSON, 0A000 for arrays of JSONB.
    fn by_keys(&mut self, sides: Sides) -> Result<Plan> {
        let Sides { operator, duplicates, left, right, columns } = sides;
        if operator == SetOperator::Union {
            let on = self.keys_of(&columns)?;
            let (left, right) = (Box::new(left), Box::new(right));
            let duplicates = Duplicates::Keep;
            let all = Plan::SetOperation { operator, duplicates, left, right, columns };
            return Ok(Plan::Distinct { input: Box::new(all), on });
        }
        let others: Vec<_> = columns.iter().map(|(_, ty)| (self.fresh(), *ty)).collect();
        let (left, mut left_keys) = (renamed(left, &columns), self.keys_of(&columns)?);
        for ((id, ty), (other, _)) in columns.iter().zip(&others) {
            self.note_collation(*other, &Expr::column(*id, *ty))?;
        }
        let (right, mut right_keys) = (renamed(right, &others), self.keys_of(&others)?);
        let left = match duplicates {
            Duplicates::Remove => Plan::Distinct { input: Box::new(left), on: left_keys.clone() },
            Duplicates::Keep => self.numbered(left, &mut left_keys),
        };
        let right = match duplicates {
            Duplicates::Remove => right,
            Duplicates::Keep => self.numbered(right, &mut right_keys),
        };
        let pairs = left_keys.into_iter().zip(right_keys);
        let equal = pairs.map(|(a, b)| Expr::compare(CompareOp::NotDistinct, a, b));
        let condition = Expr::and(equal.collect());
        let kept = operator == SetOperator::Intersect;
        let kind = if kept { JoinKind::Semi } else { JoinKind::Anti };
        let (left, right) = (Box::new(left), Box::new(right));
        let join = Plan::Join { left, right, kind, condition };
        let columns = columns.into_iter().map(|(id, ty)| (id, Expr::column(id, ty))).collect();
        Ok(Plan::Project { input: Box::new(join), columns })
    }

    /// `input` with the number of each row among those of equal `keys`, which becomes a key.
    fn numbered(&mut self, input: Plan, keys: &mut Vec<Expr>) -> Plan {
        let call = WindowCall {
            partition_by: keys.clone(),
            ..super::window::over_order(WindowFunction::RowNumber, &[])
        };
        let id = self.fresh();
        keys.push(Expr::column(id, DataType::BigInt));
        Plan::Window { input: Box::new(input), calls: vec![(id, call)] }
    }
}

/// Both sides of a set operation, whose columns have the types of `columns`.
struct Sides {
    operator: SetOperator,
    duplicates: Duplicates,
    left: Plan,
    right: Plan,
    columns: Vec<(ColumnId, DataType)>,
}

/// True for a column of untyped literals other than NULL.
fn has_literal(query: &BoundQuery, column: &BoundColumn) -> bool {
    let Plan::Project { columns, .. } = &query.plan else {
        return column.ty == DataType::Unknown;
    };
    let mut exprs = columns.iter().filter(|(id, _)| *id == column.id).map(|(_, expr)| expr);
    column.ty == DataType::Unknown && !exprs.any(|expr| expr.as_literal() == Some(&Value::Null))
}

/// The type of any length and digits: what untyped literals become beside values of `ty`.
fn without_limits(ty: DataType) -> DataType {
    match ty {
        DataType::Numeric(_) | DataType::WideNumeric(_) => DataType::NUMERIC,
        DataType::Varchar(_) => DataType::Varchar(None),
        DataType::Char(_) => DataType::Char(0),
        other => other.of_all_digits(),
    }
}

/// `plan` with its columns, by position, as `columns`.
fn renamed(plan: Plan, columns: &[(ColumnId, DataType)]) -> Plan {
    let output = plan.output();
    let pairs = columns.iter().zip(output);
    let columns = pairs.map(|((id, ty), old)| (*id, Expr::column(old, *ty))).collect();
    Plan::Project { input: Box::new(plan), columns }
}

impl Binder<'_> {
    /// Expressions that stand for the columns where rows are compared.
    fn keys_of(&self, columns: &[(ColumnId, DataType)]) -> Result<Vec<Expr>> {
        let key = |(id, ty): &(ColumnId, DataType)| self.equated(Expr::column(*id, *ty), None);
        columns.iter().map(key).collect()
    }

    /// Notes that `columns` have the values of both sides.
    fn note_united(
        &mut self,
        left: &[BoundColumn],
        right: &[BoundColumn],
        columns: &[(ColumnId, DataType)],
    ) -> Result<()> {
        let sides = left.iter().zip(right).map(|(a, b)| (a.id, b.id, b.at));
        for ((a, b, at), (id, ty)) in sides.zip(columns) {
            let sides = [Expr::column(a, *ty), Expr::column(b, *ty)];
            self.note_made_of(*id, &sides).map_err(|error| place(error, at))?;
        }
        Ok(())
    }
}

fn column_type(name: &'static str, a: &BoundColumn, b: &BoundColumn) -> Result<DataType> {
    let candidate = |column: &BoundColumn| Candidate { ty: column.ty };
    let ty = common_type(&[candidate(a), candidate(b)]);
    ty.map_err(|(a, other)| place(mismatch(name, a, other), b.at))
}
