//! Queries: WITH, body, ORDER BY, LIMIT.

use sqlparser::ast;
use types::{CompareOp, DataType, Result, SqlState, Value};

use super::scope::{Clause, Level};
use super::types::Context;
use super::{Binder, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{Expr, Function, JoinKind, Plan, SortKey, WindowFunction};

impl Binder<'_> {
    /// Binds a query; nested ones are free to refer to the levels around them.
    pub(super) fn bind_query(
        &mut self,
        query: &ast::Query,
        unknowns: Unknowns,
    ) -> Result<BoundQuery> {
        self.nested(|binder| binder.bind_query_here(query, unknowns))
    }

    fn bind_query_here(&mut self, query: &ast::Query, unknowns: Unknowns) -> Result<BoundQuery> {
        let locks = self.locks_of(query);
        if !locks.is_empty() {
            return self.bind_locked(query, locks);
        }
        if self.calls_bus
            && let Some(bound) = self.bind_calls(query)?
        {
            return Ok(bound);
        }
        refuse_extensions(query)?;
        let ctes_before = self.ctes.len();
        let definitions = match &query.with {
            Some(with) => self.bind_with(with)?,
            None => Vec::new(),
        };
        let order_by = order_list(query)?;
        let mut bound = match &*query.body {
            ast::SetExpr::Select(select) => self.bind_select(select, order_by, unknowns)?,
            ast::SetExpr::Query(inner) if order_by.is_empty() => {
                self.bind_query(inner, unknowns)?
            }
            body => {
                let unknowns = if order_by.is_empty() { unknowns } else { Unknowns::Text };
                let bound = self.bind_set_expr(body, unknowns)?;
                self.order_output(bound, order_by)?
            }
        };
        bound = self.bind_limit(query, bound)?;
        self.ctes.truncate(ctes_before);
        for definition in definitions.into_iter().rev() {
            bound.plan = definition.around(bound.plan);
        }
        Ok(bound)
    }

    /// One operand of a set operation, or the body of a query that is no SELECT.
    pub(super) fn bind_set_expr(
        &mut self,
        body: &ast::SetExpr,
        unknowns: Unknowns,
    ) -> Result<BoundQuery> {
        match body {
            ast::SetExpr::Select(select) => {
                self.nested(|binder| binder.bind_select(select, &[], unknowns))
            }
            ast::SetExpr::Query(query) => self.bind_query(query, unknowns),
            ast::SetExpr::SetOperation { .. } => {
                self.nested(|binder| binder.bind_set_operation(body))
            }
            ast::SetExpr::Values(values) => self.bind_values(values, unknowns),
            ast::SetExpr::Table(table) => self.bind_table_command(table),
            ast::SetExpr::Insert(_) => unsupported("INSERT inside a query", None),
            ast::SetExpr::Update(_) => unsupported("UPDATE inside a query", None),
            ast::SetExpr::Delete(_) => unsupported("DELETE inside a query", None),
            ast::SetExpr::Merge(_) => unsupported("MERGE inside a query", None),
        }
    }

    /// ORDER BY over a set operation or VALUES: names and ordinals of the output only.
    fn order_output(
        &mut self,
        bound: BoundQuery,
        order_by: &[ast::OrderByExpr],
    ) -> Result<BoundQuery> {
        if order_by.is_empty() {
            return Ok(bound);
        }
        let mut keys: Vec<SortKey> = Vec::new();
        for item in order_by {
            if super::clauses::is_all_items(&item.expr) {
                for column in &bound.columns {
                    let expr = self.ordered(Expr::column(column.id, column.ty), column.at)?;
                    keys.push(super::order::sort_key(expr, &item.options, column.at)?);
                }
                continue;
            }
            let column =
                match self.output_ordinal(&item.expr, bound.columns.len(), Clause::OrderBy)? {
                    Some(ordinal) => bound.columns.get(ordinal),
                    None => self.output_name(&item.expr, &bound)?,
                };
            let Some(column) = column else {
                let error = types::Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                )
                .with_detail("Only result column names can be used, not expressions or functions.")
                .with_hint(
                    "Add the expression/function to every SELECT, or move the UNION into a FROM \
                     clause.",
                );
                return Err(super::place(error, super::name::expr_at(&item.expr)));
            };
            let expr = self.ordered(Expr::column(column.id, column.ty), column.at)?;
            keys.push(super::order::sort_key(
                expr,
                &item.options,
                super::name::expr_at(&item.expr),
            )?);
        }
        let plan = Plan::Sort { input: Box::new(bound.plan), keys };
        Ok(BoundQuery { plan, columns: bound.columns })
    }

    fn output_name<'b>(
        &self,
        expr: &ast::Expr,
        bound: &'b BoundQuery,
    ) -> Result<Option<&'b super::BoundColumn>> {
        let ast::Expr::Identifier(ident) = expr else {
            return Ok(None);
        };
        let (name, at) = (crate::parse::folded(ident), super::name::ident_at(ident));
        let mut found = bound.columns.iter().filter(|column| column.name == name);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => {
                let message = format!("ORDER BY \"{name}\" is ambiguous");
                fail(SqlState::AMBIGUOUS_COLUMN, message, at)
            }
            (Some(column), None) => Ok(Some(column)),
            (None, _) => {
                let message = format!("column \"{name}\" does not exist");
                fail(SqlState::UNDEFINED_COLUMN, message, at)
            }
        }
    }

    /// LIMIT (or FETCH) and OFFSET.
    pub(super) fn count_clauses(
        &mut self,
        query: &ast::Query,
    ) -> Result<(Option<Expr>, Option<Expr>)> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return unsupported("LIMIT BY", None);
                }
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
                (Some(limit), Some(offset))
            }
        };
        let mut fetch_one = false;
        let limit = match (&query.fetch, limit) {
            (None, limit) => limit,
            (Some(_), Some(_)) => {
                return fail(SqlState::SYNTAX_ERROR, "multiple LIMIT clauses not allowed", None);
            }
            (Some(fetch), None) if fetch.percent => return unsupported("FETCH ... PERCENT", None),
            (Some(fetch), None) => {
                fetch_one = fetch.quantity.is_none();
                fetch.quantity.as_ref()
            }
        };
        let limit = match (limit, fetch_one) {
            (None, true) => Some(Expr::literal(Value::I64(1), DataType::BigInt)),
            (None, false) => None,
            (Some(expr), _) => self.bind_count(expr, "LIMIT", SqlState::INVALID_LIMIT)?,
        };
        let offset = match offset {
            None => None,
            Some(expr) => self.bind_count(expr, "OFFSET", SqlState::INVALID_OFFSET)?,
        };
        Ok((limit, offset))
    }

    fn bind_limit(&mut self, query: &ast::Query, bound: BoundQuery) -> Result<BoundQuery> {
        let (limit, offset) = self.count_clauses(query)?;
        let with_ties = query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties);
        if let (true, Some(limit)) = (with_ties, &limit) {
            return self.limit_with_ties(bound, limit.clone(), offset);
        }
        if limit.is_none() && offset.is_none() {
            return Ok(bound);
        }
        let plan = Plan::Limit { input: Box::new(bound.plan), limit, offset };
        Ok(BoundQuery { plan, columns: bound.columns })
    }

    /// FETCH FIRST ... WITH TIES: rows whose rank in the order is within the limit, after those
    /// that OFFSET skips by number.
    fn limit_with_ties(
        &mut self,
        bound: BoundQuery,
        limit: Expr,
        offset: Option<Expr>,
    ) -> Result<BoundQuery> {
        // What is computed in the order of the rows stays above them.
        let (sorted, last) = match bound.plan {
            Plan::Project { input, columns } => (*input, Some(columns)),
            plan => (plan, None),
        };
        let Some(keys) = sort_keys(&sorted).cloned() else {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return fail(SqlState::SYNTAX_ERROR, message, None);
        };
        let input = match sorted {
            Plan::Sort { input, .. } => input,
            expanded => Box::new(expanded),
        };
        let mut calls = Vec::new();
        let mut position = |binder: &mut Self, function: WindowFunction| {
            let id = binder.fresh();
            calls.push((id, super::window::over_order(function, &keys)));
            Expr::column(id, DataType::BigInt)
        };
        let rank = position(self, WindowFunction::Rank);
        let predicate = match offset {
            None => Expr::compare(CompareOp::LessEqual, rank, limit),
            Some(offset) => {
                let number = position(self, WindowFunction::RowNumber);
                let end = vec![limit, offset.clone()];
                let end = Expr::call(Function::Add, end, DataType::BigInt);
                Expr::and(vec![
                    Expr::compare(CompareOp::LessEqual, rank, end),
                    Expr::compare(CompareOp::Greater, number, offset),
                ])
            }
        };
        let input = super::select::filter(Plan::Window { input, calls }, predicate);
        let mut plan = Plan::Sort { input: Box::new(input), keys };
        if let Some(columns) = last {
            plan = Plan::Project { input: Box::new(plan), columns };
        }
        Ok(BoundQuery { plan, columns: bound.columns })
    }

    /// A row count: BIGINT without columns; None for NULL and ALL, which mean no limit.
    fn bind_count(
        &mut self,
        expr: &ast::Expr,
        clause: &str,
        negative: SqlState,
    ) -> Result<Option<Expr>> {
        if let ast::Expr::Identifier(ident) = expr
            && ident.quote_style.is_none()
            && ident.value.eq_ignore_ascii_case("all")
        {
            return Ok(None);
        }
        // Columns of the query itself are out of sight; those of queries around it are not.
        self.levels.push(Level::new(Clause::Limit));
        let bound = self.bind_expr(expr);
        self.levels.pop();
        let bound = bound.map_err(|error| match error.state() {
            SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE => {
                let message = format!("argument of {clause} must not contain variables");
                let moved = types::Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
                super::place(moved, error.position())
            }
            _ => error,
        })?;
        let at = bound.at;
        let bound = match bound.ty() {
            DataType::Numeric(_) | DataType::WideNumeric(_) | DataType::Double | DataType::Real => {
                let expr = self.coerce(bound, DataType::BigInt, Context::Assignment)?;
                super::Bound::new(expr, at)
            }
            _ => bound,
        };
        let expr = self.coerce_clause(bound, DataType::BigInt, clause)?;
        match expr.as_literal() {
            Some(Value::Null) => Ok(None),
            Some(Value::I64(count)) if *count < 0 => {
                fail(negative, format!("{clause} must not be negative"), at)
            }
            _ => Ok(Some(expr)),
        }
    }
}

/// The keys by which `plan` is sorted, below functions that give rows.
fn sort_keys(plan: &Plan) -> Option<&Vec<SortKey>> {
    match plan {
        Plan::Sort { keys, .. } => Some(keys),
        Plan::Project { input, .. } => sort_keys(input),
        Plan::Join { left, kind: JoinKind::Each, .. } => sort_keys(left),
        _ => None,
    }
}

/// The items of ORDER BY.
pub(super) fn order_list(query: &ast::Query) -> Result<&[ast::OrderByExpr]> {
    let Some(order_by) = &query.order_by else {
        return Ok(&[]);
    };
    if order_by.interpolate.is_some() {
        return unsupported("INTERPOLATE", None);
    }
    match &order_by.kind {
        ast::OrderByKind::Expressions(list) => Ok(list),
        // What it becomes is a name, see `parse::shorthand`.
        ast::OrderByKind::All(_) => unsupported("this form of ORDER BY", None),
    }
}

fn refuse_extensions(query: &ast::Query) -> Result<()> {
    if let Some(lock) = query.locks.first() {
        return unsupported(format!("FOR {}", lock.lock_type), None);
    }
    if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
        return unsupported("this clause of a query", None);
    }
    if !query.pipe_operators.is_empty() {
        return unsupported("pipe syntax", None);
    }
    Ok(())
}
