//! Bodies of functions in SQL in the place of their calls.
//!
//! ```text
//! f(x)           SELECT expression       -> the expression over the arguments
//! FROM f(x)      STABLE, one SELECT      -> the query, with the arguments in it, as if LATERAL
//! ```
//! Invariant: what cannot be inlined is called; nothing is refused here. A call means the same
//! either way, but for volatile arguments, which are computed once, and for effects.
//! Elsewhere: calls (`routine_call`).
//! Source: PostgreSQL 15, `inline_function` and `inline_set_returning_function`. Departure: a body
//! that PL/pgSQL calls with a variable of a parameter's name is called.

use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, Result};

use super::routine_choice::Chosen;
use super::scope::{Clause, Level, Scope, ScopeColumn, ScopeRelation, Whole};
use super::series::{has_subquery, is_volatile};
use super::types::{Context, can_cast};
use super::{Aliases, Binder, Bound, BoundQuery, Unknowns};
use crate::algebra::{ColumnId, Derived, Expr, ExprKind, Function, Plan, is_collatable};
use crate::catalog::{
    Language, NullInput, RoutineDef, RoutineKind, RoutineType, RowCount, Security, Volatility,
};
use crate::parse::{Tree, rewrite_query};

/// Functions inside of each other whose bodies are put in their places.
const DEPTH_MAX: usize = 20;

/// Parts of an argument that the body may repeat, as PostgreSQL counts them.
const REPEATED_MAX: usize = 10;

impl Binder<'_> {
    /// The value of a call as the expression that the body is; None when it has to be called.
    pub(super) fn inlined_value(&mut self, chosen: &Chosen, ty: DataType) -> Option<Expr> {
        let routine = &chosen.routine;
        let is_plain = routine.rows == RowCount::One
            && matches!(routine.result, RoutineType::Value(_, None))
            && chosen.arguments.len() == routine.parameters.len();
        if !is_plain || matches!(ty, DataType::Record(_)) {
            return None;
        }
        let query = self.body(routine)?;
        let places: Vec<ColumnId> = chosen.arguments.iter().map(|_| self.fresh()).collect();
        let derived = self.note_arguments(&places, &chosen.arguments)?;
        let columns = places.iter().zip(&chosen.arguments);
        let columns = columns.map(|(id, argument)| Expr::column(*id, argument.ty)).collect();
        let bound =
            self.in_body(routine, columns, |binder| binder.bind_query(&query, Unknowns::Text))?;
        let mut expr = self.only_value(bound, ty)?;
        let stable = routine.volatility != Volatility::Volatile;
        if has_subquery(&expr) || stable && is_volatile(&expr) {
            return None;
        }
        if routine.nulls == NullInput::Strict && !is_strict(&expr) {
            return None;
        }
        for (place, argument) in places.iter().zip(&chosen.arguments) {
            let count = uses(&expr, *place);
            let is_missing = count == 0 && routine.nulls == NullInput::Strict;
            if is_missing || count > 1 && !is_cheap(argument) {
                return None;
            }
        }
        put(&mut expr, &places, &chosen.arguments);
        // The result has the collation of the arguments, and for the same reason.
        let is_same = !is_collatable(ty) || self.derived(&expr).ok()? == derived;
        is_same.then_some(expr)
    }

    /// Notes that the columns which stand for arguments have the collation of the call, whose is
    /// the result.
    fn note_arguments(&mut self, places: &[ColumnId], arguments: &[Expr]) -> Option<Derived> {
        let derived = self.of_arguments(arguments).ok()?;
        let collation = derived.only();
        for (id, _) in places.iter().zip(arguments).filter(|(_, own)| is_collatable(own.ty)) {
            self.note(*id, Derived::implied(collation));
        }
        Some(derived)
    }

    /// The expression of a query of one row and one column, as a value of type `ty`.
    fn only_value(&mut self, bound: BoundQuery, ty: DataType) -> Option<Expr> {
        let (Plan::Project { input, columns }, [column]) = (bound.plan, bound.columns.as_slice())
        else {
            return None;
        };
        let is_one_row = matches!(
            &*input,
            Plan::Values { columns, rows } if columns.is_empty() && rows.len() == 1
        );
        let found = columns.into_iter().find(|(id, _)| *id == column.id).filter(|_| is_one_row)?;
        self.as_declared(found.1, ty)
    }

    /// A column of a body as the type that the function says.
    fn as_declared(&mut self, expr: Expr, ty: DataType) -> Option<Expr> {
        if !can_cast(expr.ty, ty, Context::Assignment) {
            return None;
        }
        let expr = self.coerce(Bound::new(expr, None), ty, Context::Assignment).ok()?;
        Some(if expr.ty == ty { expr } else { self.cast(expr, ty) })
    }

    /// The rows of a call in FROM as the query that the body is, its columns of `types` and with
    /// the collations `noted`; None when it has to be called.
    pub(super) fn inlined_rows(
        &mut self,
        chosen: &Chosen,
        types: &[DataType],
        noted: &[Derived],
    ) -> Option<(Plan, Vec<Expr>)> {
        let routine = &chosen.routine;
        let is_plain = routine.rows == RowCount::Many
            && routine.volatility != Volatility::Volatile
            && routine.nulls == NullInput::Called
            && !matches!(routine.result, RoutineType::Value(_, Some(_)) | RoutineType::Void);
        let is_fit = |argument: &Expr| !is_volatile(argument) && !has_subquery(argument);
        if !is_plain || !chosen.arguments.iter().all(is_fit) {
            return None;
        }
        let query = self.body(routine)?;
        let collation = self.call_collation(&chosen.arguments, None).ok()?;
        // In the body it is that of a column, and the same for all of them.
        let is_own = |argument: &Expr| {
            let own = self.derived(argument);
            !is_collatable(argument.ty) || own.is_ok_and(|own| own == Derived::implied(collation))
        };
        if !chosen.arguments.iter().all(is_own) {
            return None;
        }
        let bound = self.in_body(routine, chosen.arguments.clone(), |binder| {
            binder.bind_query(&query, Unknowns::Text)
        })?;
        if bound.columns.len() != types.len() || bound.plan.is_volatile() {
            return None;
        }
        let (mut columns, mut exprs) = (Vec::new(), Vec::new());
        for ((column, ty), noted) in bound.columns.iter().zip(types).zip(noted) {
            let expr = self.as_declared(Expr::column(column.id, column.ty), *ty)?;
            let id = self.fresh();
            self.note(id, *noted);
            columns.push((id, expr));
            exprs.push(Expr::column(id, *ty));
        }
        Some((Plan::Project { input: Box::new(bound.plan), columns }, exprs))
    }

    /// The only query of a body, `$1` in the form of a name.
    fn body(&self, routine: &RoutineDef) -> Option<ast::Query> {
        let is_plain = routine.language == Language::Sql
            && routine.kind == RoutineKind::Function
            && routine.security == Security::Invoker
            && routine.settings.is_empty();
        let is_kept = self.levels.is_empty()
            || self.levels.iter().any(|level| level.clause.is_kept())
            || self.stars.is_some();
        let is_open = self.inlined.contains(&routine.number);
        if !is_plain || is_kept || is_open || self.inlined.len() >= DEPTH_MAX {
            return None;
        }
        let mut parsed = crate::parse::parse(&routine.body).ok()?;
        let (statement, None) = (parsed.pop()?, parsed.pop()) else { return None };
        let Tree::Sql(tree) = &*statement.tree else { return None };
        let ast::Statement::Query(query) = &tree.statement else { return None };
        let is_select =
            matches!(&*query.body, ast::SetExpr::Select(select) if select.into.is_none());
        let is_whole = tree.aside.is_empty() && tree.locks.is_empty() && !tree.calls_bus;
        if !is_select || !is_whole || query.with.is_some() {
            return None;
        }
        let mut query = ast::Query::clone(query);
        rewrite_query(
            &mut query,
            &mut |expr| {
                if let ast::Expr::Value(value) = expr
                    && let ast::Value::Placeholder(name) = &value.value
                {
                    *expr = ast::Expr::Identifier(ast::Ident::with_quote('"', name.clone()));
                }
            },
            &mut |_| {},
        );
        Some(query)
    }

    /// Binds a body whose parameters are `values`; None when that fails, and everything is as it
    /// was before.
    fn in_body<T>(
        &mut self,
        routine: &Arc<RoutineDef>,
        values: Vec<Expr>,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Option<T> {
        let mut level = Level::new(Clause::Select);
        level.scope = parameters(routine, values);
        let levels = std::mem::replace(&mut self.levels, vec![level]);
        let ctes = std::mem::take(&mut self.ctes);
        let aside = std::mem::take(&mut self.aside);
        let locks = std::mem::take(&mut self.locks);
        let on_behalf = self.on_behalf.take();
        let placed = std::mem::take(&mut self.placed);
        let aliases = std::mem::replace(&mut self.aliases, Aliases::None);
        let depth = std::mem::replace(&mut self.definition_depth, 0);
        let (summed, has_unplaced) = (std::mem::take(&mut self.summed), self.has_unplaced);
        let calls_bus = std::mem::take(&mut self.calls_bus);
        let required = self.required.len();
        self.inlined.push(routine.number);
        let result = work(self);
        self.inlined.pop();
        // An aggregate of the parameters alone is one of the body.
        let is_own = self.levels.iter().all(Level::is_plain);
        (self.levels, self.ctes, self.aside, self.locks) = (levels, ctes, aside, locks);
        (self.on_behalf, self.placed, self.aliases) = (on_behalf, placed, aliases);
        (self.definition_depth, self.summed, self.has_unplaced) = (depth, summed, has_unplaced);
        self.calls_bus = calls_bus;
        let result = result.ok().filter(|_| is_own);
        if result.is_none() {
            self.required.truncate(required);
        }
        result
    }
}

/// The parameters of a function as columns: by their names, and as `$1`.
fn parameters(routine: &RoutineDef, values: Vec<Expr>) -> Scope {
    let name = routine.bare_name();
    let column = |column: String, expr: &Expr| ScopeColumn {
        name: column,
        expr: expr.clone(),
        relation: name.to_owned(),
        source: None,
    };
    let mut columns = Vec::with_capacity(values.len() * 2);
    for (number, (parameter, value)) in routine.inputs().zip(&values).enumerate() {
        if !parameter.name.is_empty() {
            columns.push(column(parameter.name.clone(), value));
        }
        columns.push(column(format!("${}", number + 1), value));
    }
    Scope::of(ScopeRelation {
        name: name.to_owned(),
        schema: None,
        columns,
        system: Vec::new(),
        table: None,
        whole: Whole::Row,
        at: None,
    })
}

/// How often an expression reads a column.
fn uses(expr: &Expr, column: ColumnId) -> usize {
    let mut count = usize::from(expr.kind == ExprKind::Column(column));
    expr.each_child(&mut |child| count += uses(child, column));
    count
}

/// Puts values in the places of columns.
fn put(expr: &mut Expr, places: &[ColumnId], values: &[Expr]) {
    if let ExprKind::Column(id) = expr.kind
        && let Some(at) = places.iter().position(|place| *place == id)
    {
        expr.clone_from(&values[at]);
        return;
    }
    expr.each_child_mut(&mut |child| put(child, places, values));
}

/// True for an argument that may be computed several times.
fn is_cheap(argument: &Expr) -> bool {
    !is_volatile(argument) && !has_subquery(argument) && size(argument) <= REPEATED_MAX
}

fn size(expr: &Expr) -> usize {
    let mut count = 1;
    expr.each_child(&mut |child| count += size(child));
    count
}

/// True when an expression is NULL wherever a column of it is.
fn is_strict(expr: &Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Compare(..)
        | ExprKind::Not(_)
        | ExprKind::Cast(_)
        | ExprKind::Like { .. } => true,
        ExprKind::Call(function, _) => matches!(
            function,
            Function::Add
                | Function::Subtract
                | Function::Multiply
                | Function::Divide
                | Function::Modulo
                | Function::Negate
                | Function::Abs
                | Function::BitAnd
                | Function::BitOr
                | Function::BitXor
                | Function::Lower
                | Function::Upper
        ),
        _ => false,
    };
    let mut is_all = own;
    expr.each_child(&mut |child| is_all &= is_strict(child));
    is_all
}
