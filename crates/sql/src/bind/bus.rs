//! Calls of the message bus: alone in a select list, or in FROM.
//!
//! ```text
//! SELECT a, bus_send(x, y) FROM t ORDER BY a  ->  part: SELECT a, NULL, x, y FROM t ORDER BY a,
//!                                                   with its calls, row by row
//! FROM bus_receive(x)                         ->  part: SELECT x, with its call
//! the query around them                       ->  reads the rows of the part
//! ```
//! A call is made once for each row of its query, after WHERE, GROUP BY, ORDER BY and LIMIT.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::from::named_relation;
use super::name::{expr_at, object_at, object_parts};
use super::scope::Scope;
use super::system::filled;
use super::table_function::named_argument;
use super::types::Context;
use super::unmatched::no_function;
use super::{Binder, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{BusArgument, BusFunction, BusParameter, Place, Plan};
use crate::parse::folded;
use crate::statement::{BusCall, BusCalls, Statement};

/// A call that is not bound: one expression for each parameter.
struct Call {
    function: BusFunction,
    /// Position among the calls of its query: names its column while that is bound.
    number: usize,
    name: String,
    arguments: Vec<ast::Expr>,
}

/// 0A000 for a call inside of an expression.
fn refuse_inside<T>(function: BusFunction, at: Place) -> Result<T> {
    let name = function.name();
    let message = match function {
        BusFunction::Receive => format!("{name} gives rows: it is called in FROM"),
        _ => format!("{name} is called alone in a select list, or in FROM"),
    };
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
}

impl Binder<'_> {
    /// A query with calls in its select list; None for any other.
    pub(super) fn bind_calls(&mut self, query: &ast::Query) -> Result<Option<BoundQuery>> {
        let ast::SetExpr::Select(select) = &*query.body else { return Ok(None) };
        let mut calls = Vec::new();
        let mut items = Vec::with_capacity(select.projection.len());
        for item in &select.projection {
            let (expr, alias) = match item {
                ast::SelectItem::UnnamedExpr(expr) => (expr, None),
                ast::SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
                other => {
                    items.push(other.clone());
                    continue;
                }
            };
            match call_of(expr, calls.len(), alias)? {
                Some(call) => {
                    items.push(stand_in(&call)?);
                    calls.push(call);
                }
                None => items.push(item.clone()),
            }
        }
        let Some(first) = calls.first() else { return Ok(None) };
        if !matches!(select.distinct, None | Some(ast::Distinct::All)) {
            return unsupported(
                format!("DISTINCT with {}", first.function.name()),
                query_at(query),
            );
        }
        let arguments = calls.iter().flat_map(|call| call.arguments.clone());
        items.extend(arguments.map(ast::SelectItem::UnnamedExpr));
        let ctes_before = self.ctes.len();
        // Known to all parts of the statement: the source is put below those that it reads.
        self.definitions(query.with.as_ref())?;
        let mut inner = ast::Query { with: None, ..query.clone() };
        if let ast::SetExpr::Select(select) = &mut *inner.body {
            select.projection = items;
        }
        let bound = self.bind_source(&inner, calls)?;
        self.ctes.truncate(ctes_before);
        Ok(Some(bound))
    }

    /// A call in FROM.
    pub(super) fn bind_call_scan(
        &mut self,
        function: BusFunction,
        args: &[ast::FunctionArg],
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let mut call = call_with(function, args, 0, at)?;
        // The alias of a function with one column names the column, too.
        if let (Some(alias), false) = (alias, function == BusFunction::Receive) {
            call.name = folded(&alias.name);
        }
        let mut items = Vec::with_capacity(call.arguments.len() + 1);
        if function != BusFunction::Receive {
            items.push(stand_in(&call)?);
        }
        items.extend(call.arguments.iter().cloned().map(ast::SelectItem::UnnamedExpr));
        let mut query = empty_query()?;
        if let ast::SetExpr::Select(select) = &mut *query.body {
            select.projection = items;
        }
        let bound =
            self.in_scope(Scope::default(), |binder| binder.bind_source(&query, vec![call]));
        let (bound, _) = bound?;
        let columns = super::from::scope_columns(&bound, function.name());
        let relation = named_relation(function.name().to_owned(), columns, alias, at)?;
        Ok((bound.plan, Scope::of(relation)))
    }

    /// The rows of `query` after its calls, whose arguments are its last columns.
    fn bind_source(&mut self, query: &ast::Query, calls: Vec<Call>) -> Result<BoundQuery> {
        let (first, is_part) = (self.next_column, self.changes.is_part);
        let locking = self.locking.take();
        self.changes.is_part = true;
        let bound = self.bind_query(query, Unknowns::Keep);
        self.changes.is_part = is_part;
        self.locking = locking;
        let bound = bound?;
        let count: usize = calls.iter().map(|call| call.arguments.len()).sum();
        let width = bound.columns.len() - count;
        let bound = self.with_taken_types(bound, width, &calls)?;
        let mut is_correlated = false;
        bound.plan.each_column(&mut |id| is_correlated |= id.0 < first);
        if is_correlated {
            let name = calls.first().map_or("", |call| call.function.name());
            return unsupported(format!("{name} with columns of a query around it"), None);
        }
        let (mut columns, mut bound_calls, mut arguments) = (Vec::new(), Vec::new(), width);
        columns.extend(bound.columns[..width].iter().map(|c| (c.name.clone(), c.ty)));
        for call in calls {
            let own = placeholder(call.number);
            let column = columns.iter().position(|(name, _)| *name == own).unwrap_or(0);
            match columns.get_mut(column) {
                Some(column) if call.function != BusFunction::Receive => column.0 = call.name,
                _ => {
                    columns = BusFunction::rows().map(|(name, ty)| (name.to_owned(), ty)).into();
                }
            }
            bound_calls.push(BusCall { function: call.function, column, arguments });
            arguments += call.arguments.len();
        }
        let (plan, exact) = self.exact(bound);
        let plan = self.with_known(plan);
        self.changes.is_part = true;
        let source = self.finish(BoundQuery { plan, columns: exact });
        self.changes.is_part = is_part;
        let calls = BusCalls { source: source?, width, calls: bound_calls };
        Ok(self.rows_part(Statement::BusCalls(Box::new(calls)), &columns, "calls", None))
    }

    /// The query with the columns behind `width` as the parameters of `calls` take them.
    fn with_taken_types(
        &mut self,
        bound: BoundQuery,
        width: usize,
        calls: &[Call],
    ) -> Result<BoundQuery> {
        let parameters = calls.iter().flat_map(|call| {
            let given = call.function.parameters().iter().map(|(_, parameter, _)| *parameter);
            given.collect::<Vec<_>>()
        });
        let shown = bound.columns[..width].iter().map(|column| match column.ty {
            DataType::Unknown => DataType::Text,
            ty => ty,
        });
        let taken = bound.columns[width..].iter().zip(parameters);
        let taken = taken.map(|(column, parameter)| parameter.taken(column.ty));
        let types: Vec<DataType> = shown.chain(taken).collect();
        self.coerce_columns(bound, &types, Context::Assignment)
    }
}

/// Name of the column of call `number` while its query is bound.
fn placeholder(number: usize) -> String {
    format!("?call {number}?")
}

/// The item of the select list whose column takes the result of the call.
fn stand_in(call: &Call) -> Result<ast::SelectItem> {
    let expr = filled(&format!("NULL::{}", call.function.result()), &[])?;
    let alias = ast::Ident::with_quote('"', placeholder(call.number));
    Ok(ast::SelectItem::ExprWithAlias { expr, alias })
}

fn query_at(query: &ast::Query) -> Place {
    match &*query.body {
        ast::SetExpr::Select(select) => super::at_span(select.select_token.0.span),
        _ => None,
    }
}

/// A SELECT without FROM, whose list is yet to be given.
fn empty_query() -> Result<ast::Query> {
    match crate::parse::parse_expr("(SELECT 1)")? {
        ast::Expr::Subquery(query) => Ok(*query),
        _ => Err(types::Error::internal("a query in parentheses is one")),
    }
}

/// The call that `expr` is; None for any other expression.
fn call_of(expr: &ast::Expr, number: usize, alias: Option<&ast::Ident>) -> Result<Option<Call>> {
    let ast::Expr::Function(function) = expr else { return Ok(None) };
    let name = object_parts(&function.name)?.pop().unwrap_or_default();
    let Some(called) = BusFunction::from_name(&name) else { return Ok(None) };
    let at = object_at(&function.name);
    if called == BusFunction::Receive {
        return refuse_inside(called, at);
    }
    let args = match &function.args {
        ast::FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    let mut call = call_with(called, args, number, at)?;
    if let Some(alias) = alias {
        call.name = folded(alias);
    }
    Ok(Some(call))
}

fn call_with(
    function: BusFunction,
    args: &[ast::FunctionArg],
    number: usize,
    at: Place,
) -> Result<Call> {
    let parameters = function.parameters();
    let missing = |what: String| no_function(format!("function {} {what}", function.name()), at);
    let mut given: Vec<Option<&ast::Expr>> = vec![None; parameters.len()];
    let mut named = None;
    for (position, arg) in args.iter().enumerate() {
        let (slot, expr) = match (named_argument(arg), arg) {
            (Some((name, expr)), _) => {
                let name = folded(name);
                let slot = parameters.iter().position(|(known, ..)| *known == name);
                let slot = slot.ok_or_else(|| missing(format!("has no parameter \"{name}\"")))?;
                named = Some(name);
                (slot, expr)
            }
            (None, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr))) => {
                if let Some(name) = &named {
                    let message =
                        format!("positional argument cannot follow named argument \"{name}\"");
                    return fail(SqlState::SYNTAX_ERROR, message, expr_at(expr));
                }
                (position, expr)
            }
            _ => return unsupported("this form of argument", at),
        };
        match given.get_mut(slot) {
            Some(place @ None) => *place = Some(expr),
            Some(Some(_)) => return Err(missing("has an argument twice".to_owned())),
            None => return Err(missing(format!("takes {} arguments", parameters.len()))),
        }
    }
    let mut arguments = Vec::with_capacity(parameters.len());
    for ((name, parameter, need), expr) in parameters.iter().zip(given) {
        arguments.push(match (expr, need) {
            (Some(expr), _) => typed(*parameter, expr)?,
            (None, BusArgument::Optional) => {
                filled(&format!("NULL::{}", parameter.taken(DataType::Unknown)), &[])?
            }
            (None, BusArgument::Required) => {
                return Err(missing(format!("needs the argument \"{name}\"")));
            }
        });
    }
    Ok(Call { function, number, name: function.name().to_owned(), arguments })
}

/// The argument with its type, where it has none yet.
fn typed(parameter: BusParameter, expr: &ast::Expr) -> Result<ast::Expr> {
    let ast::Expr::Value(value) = expr else { return Ok(expr.clone()) };
    let ty = match (&value.value, parameter) {
        (ast::Value::Placeholder(_), parameter) => parameter.placeholder(),
        (_, BusParameter::Is(ty)) => Some(ty),
        _ => None,
    };
    match ty {
        Some(ty) => filled(&format!("CAST($1 AS {ty})"), &[expr]),
        None => Ok(expr.clone()),
    }
}

/// Refuses `name` inside of an expression when it is a call.
///
/// # Errors
/// 0A000.
pub(super) fn refuse_call(name: &str, at: Place) -> Result<()> {
    BusFunction::from_name(name).map_or(Ok(()), |function| refuse_inside(function, at))
}
