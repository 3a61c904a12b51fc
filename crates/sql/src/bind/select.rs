//! SELECT: its clauses bound in PostgreSQL's order, then stacked.
//!
//! ```text
//! FROM -> Filter (WHERE) -> Aggregate -> Filter (HAVING) -> Window -> Project -> Distinct -> Sort
//! ```

use std::collections::HashSet;

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::clauses::{Clauses, Distinct, OrderItem, Target, is_all_items};
use super::comparable::{ComparedFor, comparable};
use super::group::has_sets;
use super::name::{column_name, ident_at};
use super::scope::{Clause, Series};
use super::series::has_subquery;
use super::stars::StarOptions;
use super::types::Context;
use super::{Binder, Bound, BoundColumn, BoundQuery, Unknowns, at_span, fail, unsupported};
use crate::algebra::{ColumnId, Direction, Expr, ExprKind, NullsOrder, Plan, SortKey};
use crate::parse::folded;

/// Sorting and deduplication above a projection.
struct Order {
    keys: Vec<SortKey>,
    on: Vec<Expr>,
    distinct_all: bool,
    /// The calls of functions that give rows behind the sort.
    late: Vec<Series>,
}

/// The columns that a projection is to give, as they are asked for.
struct Projection {
    available: HashSet<ColumnId>,
    columns: Vec<(ColumnId, Expr)>,
    computes: bool,
}

impl Binder<'_> {
    /// Binds a SELECT with the ORDER BY that belongs to it.
    pub(super) fn bind_select(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        unknowns: Unknowns,
    ) -> Result<BoundQuery> {
        refuse_extensions(select)?;
        self.in_level(Clause::From, |binder| binder.bind_clauses(select, order_by, unknowns))
    }

    fn bind_clauses(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        unknowns: Unknowns,
    ) -> Result<BoundQuery> {
        let mut plan = self.bind_from(&select.from)?;
        self.note_aliases(&select.projection)?;
        if let Some(expr) = &select.selection {
            let predicate = self.bind_condition(expr, Clause::Where)?;
            plan = filter(plan, predicate);
        }
        self.define_windows(&select.named_window)?;
        self.level()?.has_sets = has_sets(&select.group_by);
        let mut targets =
            self.in_clause(Clause::Select, |binder| binder.bind_items(&select.projection))?;
        let keep =
            unknowns == Unknowns::Keep && !matches!(select.distinct, Some(ast::Distinct::Distinct));
        if !keep {
            for target in &mut targets {
                self.settle(&mut target.bound)?;
            }
        }
        let having = match &select.having {
            Some(expr) => Some(self.bind_condition(expr, Clause::Having)?),
            None => None,
        };
        let order = self.bind_order(order_by, &targets)?;
        let distinct = self.bind_distinct(select.distinct.as_ref(), &targets, &order)?;
        self.settle_compared(&mut targets, &order, &distinct)?;
        let sets = self.bind_group_by(&select.group_by, &targets)?;
        let qualify = self.bind_qualify(select, &mut targets)?;
        targets.extend(self.lock_targets()?);
        self.place_rows(&mut plan);
        let mut clauses = Clauses { targets, having, order, distinct };
        plan = self.aggregate(plan, sets, &mut clauses)?;
        if let Some(having) = clauses.having.take() {
            plan = filter(plan, having);
        }
        plan = self.windows(plan)?;
        if let Some(at_idx) = qualify {
            plan = filter(plan, clauses.targets.remove(at_idx).bound.expr);
        }
        self.project(plan, clauses)
    }

    /// ORDER BY.
    fn bind_order(
        &mut self,
        order_by: &[ast::OrderByExpr],
        targets: &[Target],
    ) -> Result<Vec<(OrderItem, ast::OrderByOptions)>> {
        self.in_clause(Clause::OrderBy, |binder| {
            let mut order = Vec::with_capacity(order_by.len());
            for item in order_by {
                if is_all_items(&item.expr) {
                    let all = (0..targets.len()).map(OrderItem::Target);
                    order.extend(all.map(|target| (target, item.options.clone())));
                    continue;
                }
                let bound = binder.bind_order_item(&item.expr, targets, Clause::OrderBy)?;
                order.push((bound, item.options.clone()));
            }
            Ok(order)
        })
    }

    /// QUALIFY: a condition on rows with the values of their windows. Becomes the last of
    /// `targets`, whose position is returned, until the windows are there.
    fn bind_qualify(
        &mut self,
        select: &ast::Select,
        targets: &mut Vec<Target>,
    ) -> Result<Option<usize>> {
        let Some(qualify) = &select.qualify else { return Ok(None) };
        let bound = self.in_clause(Clause::Select, |binder| {
            let bound = binder.bind_expr(qualify)?;
            let at = bound.at;
            let expr = binder.coerce_clause(bound, DataType::Boolean, "QUALIFY")?;
            Ok(Bound::new(expr, at))
        })?;
        targets.push(Target { name: String::new(), bound });
        Ok(Some(targets.len() - 1))
    }

    /// A BOOLEAN clause.
    pub(super) fn bind_condition(&mut self, expr: &ast::Expr, clause: Clause) -> Result<Expr> {
        self.in_clause(clause, |binder| {
            let bound = binder.bind_expr(expr)?;
            binder.coerce_clause(bound, DataType::Boolean, clause.name())
        })
    }

    /// Gives the type TEXT to untyped items that ORDER BY and DISTINCT ON compare.
    fn settle_compared(
        &mut self,
        targets: &mut [Target],
        order: &[(OrderItem, ast::OrderByOptions)],
        distinct: &Distinct,
    ) -> Result<()> {
        let on: &[OrderItem] = match distinct {
            Distinct::On(items) => items,
            Distinct::No | Distinct::All => &[],
        };
        for item in order.iter().map(|(item, _)| item).chain(on) {
            if let OrderItem::Target(at_idx) = item
                && let Some(target) = targets.get_mut(*at_idx)
            {
                self.settle(&mut target.bound)?;
            }
        }
        Ok(())
    }

    /// Gives an untyped literal or parameter the type TEXT.
    pub(super) fn settle(&mut self, bound: &mut Bound) -> Result<()> {
        bound.expr.ty = self.type_now(bound);
        if bound.is_unknown() {
            bound.expr = self.coerce(bound.clone(), DataType::Text, Context::Implicit)?;
        }
        Ok(())
    }

    /// A select list, or that of RETURNING.
    pub(super) fn bind_items(&mut self, items: &[ast::SelectItem]) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        for item in items {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => {
                    if let Some(record) = super::composite::expanded_record(expr) {
                        targets.extend(self.expanded(&record)?);
                        continue;
                    }
                    let bound = self.bind_expr(expr)?;
                    targets.push(Target { name: column_name(expr), bound });
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    if alias.quote_style == Some('\'') {
                        let message = format!("syntax error at or near \"{alias}\"");
                        return fail(SqlState::SYNTAX_ERROR, message, ident_at(alias));
                    }
                    let bound = self.bind_expr(expr)?;
                    targets.push(Target { name: folded(alias), bound });
                }
                ast::SelectItem::Wildcard(options) => {
                    let at = at_span(options.wildcard_token.0.span);
                    let scope = &self.level()?.scope;
                    if scope.relations.is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        return fail(SqlState::SYNTAX_ERROR, message, at);
                    }
                    let columns = scope.columns.clone();
                    targets.extend(self.wildcard(columns, &StarOptions::of(options)?, at)?);
                }
                ast::SelectItem::QualifiedWildcard(kind, options) => {
                    let options = StarOptions::of(options)?;
                    targets.extend(self.qualified_wildcard(kind, &options)?);
                }
                ast::SelectItem::ExprWithAliases { .. } => {
                    return unsupported("several aliases of one expression", None);
                }
            }
        }
        Ok(targets)
    }

    fn bind_distinct(
        &mut self,
        distinct: Option<&ast::Distinct>,
        targets: &[Target],
        order: &[(OrderItem, ast::OrderByOptions)],
    ) -> Result<Distinct> {
        match distinct {
            None | Some(ast::Distinct::All) => Ok(Distinct::No),
            Some(ast::Distinct::Distinct) => {
                let foreign = order.iter().find_map(|(item, _)| match item {
                    OrderItem::Expr(bound) => Some(bound),
                    OrderItem::Target(_) => None,
                });
                if let Some(bound) = foreign {
                    let message =
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                    return fail(SqlState::INVALID_COLUMN_REFERENCE, message, bound.at);
                }
                Ok(Distinct::All)
            }
            Some(ast::Distinct::On(list)) => {
                let on = self.in_clause(Clause::DistinctOn, |binder| {
                    list.iter()
                        .map(|expr| binder.bind_order_item(expr, targets, Clause::DistinctOn))
                        .collect::<Result<Vec<_>>>()
                })?;
                check_distinct_on(&on, order)?;
                Ok(Distinct::On(on))
            }
        }
    }

    /// Select list, DISTINCT and ORDER BY on top of `plan`.
    fn project(&mut self, mut plan: Plan, clauses: Clauses) -> Result<BoundQuery> {
        let late = self.late_series(&clauses)?;
        if late.is_empty() {
            let calls = std::mem::take(&mut self.level()?.series);
            plan = self.expanded_calls(plan, calls)?;
        }
        let Clauses { targets, order, distinct, .. } = clauses;
        let mut projection = Projection {
            available: plan.output().into_iter().collect(),
            columns: Vec::new(),
            computes: false,
        };
        let mut columns = Vec::with_capacity(targets.len());
        for target in targets {
            let (ty, at) = (target.bound.ty(), target.bound.at);
            let id = self.projected(&mut projection, target.bound.expr)?;
            columns.push(BoundColumn { name: target.name, ty, id, at });
        }
        let mut place = |binder: &mut Self, item: OrderItem| -> Result<Expr> {
            match item {
                OrderItem::Target(target) => match columns.get(target) {
                    Some(column) => Ok(Expr::column(column.id, column.ty)),
                    None => Err(types::Error::internal("ORDER BY target out of range")),
                },
                OrderItem::Expr(bound) => {
                    let ty = bound.ty();
                    let expr = binder.without_mark(bound.expr);
                    Ok(Expr::column(binder.projected(&mut projection, expr)?, ty))
                }
            }
        };
        let mut keys: Vec<SortKey> = Vec::with_capacity(order.len());
        for (item, options) in order {
            let at = item.at();
            let expr = place(self, item)?;
            keys.push(super::order::sort_key(self.ordered(expr, at)?, &options, at)?);
        }
        let mut on = Vec::new();
        let distinct_all = matches!(distinct, Distinct::All);
        if let Distinct::On(items) = distinct {
            for item in items {
                let at = item.at();
                let expr = place(self, item)?;
                on.push(comparable(self.ordered(expr, at)?, ComparedFor::Equality, at)?);
            }
        }
        let keyed = columns.iter().any(|column| self.has_key(&Expr::column(column.id, column.ty)));
        let distinct_all = if distinct_all && keyed {
            for (column, at) in columns.iter().map(|column| (column, column.at)) {
                let expr = Expr::column(column.id, column.ty);
                on.push(self.equated(expr, at)?);
            }
            false
        } else {
            distinct_all
        };
        let plan = self.stack(plan, projection, Order { keys, on, distinct_all, late })?;
        Ok(BoundQuery { plan, columns })
    }

    /// The calls of functions that give rows when they are expanded behind the sort, as PostgreSQL
    /// does where neither a sort key nor DISTINCT reads one of them.
    fn late_series(&mut self, clauses: &Clauses) -> Result<Vec<Series>> {
        let level = self.level()?;
        if level.series.is_empty() || clauses.order.is_empty() {
            return Ok(Vec::new());
        }
        let mut read = false;
        let visit = &mut |id: ColumnId| read |= level.series.iter().any(|call| call.id == id);
        let on: &[OrderItem] = match &clauses.distinct {
            Distinct::On(items) => items,
            Distinct::All => {
                clauses.targets.iter().for_each(|target| target.bound.expr.each_column(visit));
                &[]
            }
            Distinct::No => &[],
        };
        for item in clauses.order.iter().map(|(item, _)| item).chain(on) {
            match item {
                OrderItem::Target(target) => {
                    if let Some(target) = clauses.targets.get(*target) {
                        target.bound.expr.each_column(visit);
                    }
                }
                OrderItem::Expr(bound) => bound.expr.each_column(visit),
            }
        }
        Ok(if read { Vec::new() } else { std::mem::take(&mut level.series) })
    }

    /// The column that gives `expr`: the one it is, or one that the projection computes.
    fn projected(&mut self, projection: &mut Projection, expr: Expr) -> Result<ColumnId> {
        if let Some(id) = expr.as_column()
            && projection.available.contains(&id)
        {
            if !projection.columns.iter().any(|(known, _)| *known == id) {
                projection.columns.push((id, expr));
            }
            return Ok(id);
        }
        projection.computes = true;
        let id = self.fresh();
        // Whoever compares its values hears of two collations that contradict each other.
        self.note_collation(id, &expr)?;
        projection.columns.push((id, expr));
        Ok(id)
    }

    /// Project (when something is computed or DISTINCT needs just these columns), Distinct, Sort.
    fn stack(&mut self, mut plan: Plan, mut projection: Projection, order: Order) -> Result<Plan> {
        let Order { keys, on, distinct_all: distinct, late } = order;
        let narrows = projection.columns.len() != projection.available.len();
        let last = if distinct || keys.is_empty() {
            None
        } else {
            let reads = keys.iter().map(|key| &key.expr).chain(&on);
            postponed(&plan, &mut projection, reads, &late)
        };
        if projection.computes || (distinct && narrows) {
            plan = Plan::Project { input: Box::new(plan), columns: projection.columns };
        }
        if distinct {
            plan = Plan::Distinct { input: Box::new(plan), on: Vec::new() };
        }
        if !on.is_empty() {
            if !keys.is_empty() {
                plan = Plan::Sort { input: Box::new(plan), keys: keys.clone() };
            }
            // The client sees them in the order of what they differ in, as PostgreSQL gives them.
            let order: Vec<SortKey> = match self.levels.len() {
                1 if keys.is_empty() && !on.iter().any(has_subquery) => {
                    on.iter().cloned().map(ascending).collect()
                }
                _ => Vec::new(),
            };
            plan = Plan::Distinct { input: Box::new(plan), on };
            if !order.is_empty() {
                plan = Plan::Sort { input: Box::new(plan), keys: order };
            }
        }
        // A sub-query may become a join, which keeps no order.
        let reorders = late.iter().flat_map(|call| &call.arguments).any(has_subquery);
        if !keys.is_empty() {
            let again = keys.clone();
            plan = Plan::Sort { input: Box::new(plan), keys };
            plan = self.expanded_calls(plan, late)?;
            if reorders {
                plan = Plan::Sort { input: Box::new(plan), keys: again };
            }
        }
        Ok(match last {
            Some(columns) => Plan::Project { input: Box::new(plan), columns },
            None => plan,
        })
    }
}

/// The usual order by `expr`.
fn ascending(expr: Expr) -> SortKey {
    SortKey { expr, direction: Direction::Ascending, nulls: NullsOrder::Last }
}

/// Takes the volatile columns that nothing is ordered by, and those that read `series`, out of
/// `projection`: the columns of one that stands above the sort, where they are computed in its
/// order.
fn postponed<'e>(
    input: &Plan,
    projection: &mut Projection,
    keys: impl Iterator<Item = &'e Expr>,
    series: &[Series],
) -> Option<Vec<(ColumnId, Expr)>> {
    let mut ordering = Vec::new();
    keys.for_each(|key| key.each_column(&mut |id| ordering.push(id)));
    let expands = |e: &Expr| {
        let mut expands = false;
        e.each_column(&mut |id| expands |= series.iter().any(|call| call.id == id));
        expands
    };
    let late =
        |(id, e): &(ColumnId, Expr)| !ordering.contains(id) && (computes_volatile(e) || expands(e));
    if !projection.columns.iter().any(late) {
        return None;
    }
    let mut columns = Vec::with_capacity(projection.columns.len());
    let mut read = Vec::new();
    for column in std::mem::take(&mut projection.columns) {
        if late(&column) {
            column.1.each_column(&mut |id| read.push(id));
            columns.push(column);
        } else {
            columns.push((column.0, Expr::column(column.0, column.1.ty)));
            projection.columns.push(column);
        }
    }
    for argument in series.iter().flat_map(|call| &call.arguments) {
        argument.each_column(&mut |id| read.push(id));
    }
    for (id, ty) in input.output_types() {
        let known = projection.columns.iter().any(|(known, _)| *known == id);
        if read.contains(&id) && !known {
            projection.columns.push((id, Expr::column(id, ty)));
        }
    }
    Some(columns)
}

/// True when two evaluations may differ and no sub-query is read, which may become a join that
/// keeps no order.
fn computes_volatile(expr: &Expr) -> bool {
    fn each<'e>(expr: &'e Expr, test: &mut dyn FnMut(&'e Expr)) {
        test(expr);
        expr.each_child(&mut |child| each(child, test));
    }
    let (mut volatile, mut nested) = (false, false);
    each(expr, &mut |e| {
        volatile |= matches!(&e.kind, ExprKind::Call(function, _) if function.is_volatile());
        nested |= e.subquery().is_some();
    });
    volatile && !nested
}

/// `plan` with only the rows for which `predicate` is true.
pub(super) fn filter(plan: Plan, predicate: Expr) -> Plan {
    if predicate.is_true() { plan } else { Plan::Filter { input: Box::new(plan), predicate } }
}

/// The first ORDER BY items must be the DISTINCT ON expressions, in any order.
fn check_distinct_on(on: &[OrderItem], order: &[(OrderItem, ast::OrderByOptions)]) -> Result<()> {
    let mut left: Vec<&OrderItem> = on.iter().collect();
    for (item, _) in order {
        let before = left.len();
        left.retain(|known| !known.same(item));
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == before && !on.iter().any(|known| known.same(item)) {
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            let at = left.first().and_then(|item| item.at());
            return fail(SqlState::INVALID_COLUMN_REFERENCE, message, at);
        }
    }
    Ok(())
}

fn refuse_extensions(select: &ast::Select) -> Result<()> {
    let at = at_span(select.select_token.0.span);
    if select.into.is_some() {
        return unsupported("SELECT INTO (use CREATE TABLE AS)", at);
    }
    let named = [
        (select.top.is_some(), "TOP"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.value_table_mode.is_some(), "SELECT AS VALUE"),
        (select.exclude.is_some(), "EXCLUDE"),
    ];
    match named.iter().find(|(present, _)| *present) {
        Some((_, what)) => unsupported(what, at),
        None => Ok(()),
    }
}
