//! GROUP BY, grouping sets, and the rewriting of what stands above an aggregation.

use std::collections::HashSet;

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState, Value};

use super::json::{Comparison, comparable, has_key};
use super::name::{expr_at, folded, ident_at};
use super::order::{OrderItem, target_named};
use super::recursion::refuse_aggregates;
use super::scope::{Clause, Scope, Series};
use super::select::{Clauses, Distinct, Target};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{
    AggregateCall, AggregateFunction, ColumnId, CompareOp, Duplicates, Expr, ExprKind, Place, Plan,
    WindowCall,
};
use crate::catalog::{Catalog, TableRef};
use crate::parse::too_deep;

/// Grouping sets that one GROUP BY may make.
const SETS_MAX: usize = 4096;

/// Columns that one CUBE may have.
const CUBE_MAX: usize = 12;

/// GROUP BY, bound: the product of its items.
pub(super) struct GroupBy {
    /// Expressions of each grouping set.
    sets: Vec<Vec<Expr>>,
    kind: GroupKind,
}

/// Whether there are grouping sets or one plain list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Plain,
    Sets,
}

/// What replaces the columns below an aggregation in expressions above it.
struct Regrouper<'s> {
    keys: Vec<(ColumnId, Expr)>,
    kind: GroupKind,
    /// GROUPING() calls and what they mean.
    groupings: Vec<(ColumnId, Expr)>,
    /// Columns that only exist below.
    inputs: HashSet<ColumnId>,
    scope: &'s Scope,
    references: &'s [(ColumnId, Place)],
    next_column: u32,
    catalog: &'s dyn Catalog,
}

impl Binder<'_> {
    /// Binds GROUP BY; None when there is none.
    pub(super) fn bind_group_by(
        &mut self,
        group_by: &ast::GroupByExpr,
        targets: &[Target],
    ) -> Result<Option<GroupBy>> {
        let items = match group_by {
            ast::GroupByExpr::All(_) => return unsupported("GROUP BY ALL", None),
            ast::GroupByExpr::Expressions(_, modifiers) if !modifiers.is_empty() => {
                return unsupported("GROUP BY ... WITH", None);
            }
            ast::GroupByExpr::Expressions(items, _) => items,
        };
        if items.is_empty() {
            return Ok(None);
        }
        self.in_clause(Clause::GroupBy, |binder| {
            let mut group = GroupBy { sets: vec![Vec::new()], kind: GroupKind::Plain };
            for item in items {
                let (sets, kind) = binder.group_item(item, targets)?;
                if kind == GroupKind::Sets {
                    group.kind = GroupKind::Sets;
                }
                if group.sets.len() * sets.len() > SETS_MAX {
                    return Err(Error::new(SqlState(*b"54001"), "too many grouping sets present"));
                }
                let concatenated = |a: &Vec<Expr>| -> Vec<Vec<Expr>> {
                    sets.iter().map(|b| a.iter().chain(b).cloned().collect()).collect()
                };
                group.sets = group.sets.iter().flat_map(concatenated).collect();
            }
            Ok(Some(group))
        })
    }

    /// The alternatives that one item of GROUP BY stands for.
    fn group_item(
        &mut self,
        item: &ast::Expr,
        targets: &[Target],
    ) -> Result<(Vec<Vec<Expr>>, GroupKind)> {
        self.nested(|binder| binder.group_item_here(item, targets))
    }

    fn group_item_here(
        &mut self,
        item: &ast::Expr,
        targets: &[Target],
    ) -> Result<(Vec<Vec<Expr>>, GroupKind)> {
        match item {
            ast::Expr::GroupingSets(list) => {
                let mut sets = Vec::new();
                for set in list {
                    match set.as_slice() {
                        [only] => sets.extend(self.group_item(only, targets)?.0),
                        several => sets.push(self.group_list(several, targets)?),
                    }
                }
                Ok((sets, GroupKind::Sets))
            }
            ast::Expr::Rollup(list) => {
                Ok((rollup(&self.group_lists(list, targets)?), GroupKind::Sets))
            }
            ast::Expr::Cube(list) => {
                Ok((cube(&self.group_lists(list, targets)?)?, GroupKind::Sets))
            }
            // Inside GROUPING SETS the parser takes ROLLUP and CUBE for functions.
            ast::Expr::Function(function) => match nested_sets(function) {
                Some((name, list)) => {
                    let lists = self.group_lists(&list, targets)?;
                    let sets = if name == "rollup" { rollup(&lists) } else { cube(&lists)? };
                    Ok((sets, GroupKind::Sets))
                }
                None => Ok((vec![vec![self.group_expr(item, targets)?]], GroupKind::Plain)),
            },
            ast::Expr::Tuple(list) => Ok((vec![self.group_list(list, targets)?], GroupKind::Plain)),
            ast::Expr::Nested(inner) => self.group_item(inner, targets),
            _ => Ok((vec![vec![self.group_expr(item, targets)?]], GroupKind::Plain)),
        }
    }

    fn group_lists(
        &mut self,
        lists: &[Vec<ast::Expr>],
        targets: &[Target],
    ) -> Result<Vec<Vec<Expr>>> {
        lists.iter().map(|list| self.group_list(list, targets)).collect()
    }

    fn group_list(&mut self, list: &[ast::Expr], targets: &[Target]) -> Result<Vec<Expr>> {
        list.iter().map(|expr| self.group_expr(expr, targets)).collect()
    }

    /// A grouping expression: an ordinal, an input column, an output name, or any expression.
    fn group_expr(&mut self, expr: &ast::Expr, targets: &[Target]) -> Result<Expr> {
        let target = match self.output_ordinal(expr, targets.len(), Clause::GroupBy)? {
            Some(ordinal) => Some(ordinal),
            None => match expr {
                ast::Expr::Identifier(ident) => {
                    if let Some(bound) = self.find_local(&folded(ident), ident_at(ident))? {
                        comparable(bound.expr.clone(), Comparison::Equality, bound.at)?;
                        return Ok(bound.expr);
                    }
                    target_named(ident, targets, Clause::GroupBy)?
                }
                _ => None,
            },
        };
        let mut bound = match target.and_then(|target| targets.get(target)) {
            Some(target) => target.bound.clone(),
            None => self.bind_expr(expr)?,
        };
        self.settle(&mut bound)?;
        self.refuse_calls(&bound, expr)?;
        comparable(bound.expr.clone(), Comparison::Equality, expr_at(expr))?;
        Ok(bound.expr)
    }

    /// An output name may stand for an expression with aggregates or windows: not in GROUP BY.
    fn refuse_calls(&mut self, bound: &Bound, expr: &ast::Expr) -> Result<()> {
        let level = self.level()?;
        let (mut aggregate, mut window) = (false, false);
        bound.expr.each_column(&mut |id| {
            aggregate |= level.aggregates.iter().any(|(known, _)| *known == id);
            window |= level.windows.iter().any(|(known, _)| *known == id);
        });
        let what = match (aggregate, window) {
            (true, _) => "aggregate functions are not allowed in GROUP BY",
            (_, true) => "window functions are not allowed in GROUP BY",
            _ => return Ok(()),
        };
        fail(SqlState::GROUPING_ERROR, what, expr_at(expr))
    }

    /// The aggregation of the level, if it has one, with `clauses` rewritten to stand above it.
    pub(super) fn aggregate(
        &mut self,
        plan: Plan,
        group_by: Option<GroupBy>,
        clauses: &mut Clauses,
    ) -> Result<Plan> {
        let level = self.level()?;
        let wanted = group_by.is_some()
            || clauses.having.is_some()
            || !level.aggregates.is_empty()
            || !level.groupings.is_empty();
        if !wanted {
            return Ok(plan);
        }
        let group = group_by.unwrap_or(GroupBy { sets: vec![Vec::new()], kind: GroupKind::Plain });
        let mut keys: Vec<(ColumnId, Expr)> = Vec::new();
        let mut sets = Vec::with_capacity(group.sets.len());
        for set in group.sets {
            let mut indexes = Vec::with_capacity(set.len());
            for expr in set {
                let known = keys.iter().position(|(_, key)| *key == expr);
                let index = known.unwrap_or(keys.len());
                if known.is_none() {
                    let id = self.fresh();
                    if let ExprKind::Column(of) = expr.kind {
                        self.copy_origin(of, id);
                    }
                    keys.push((id, expr));
                }
                if !indexes.contains(&index) {
                    indexes.push(index);
                }
            }
            sets.push(indexes);
        }
        let set_column = (group.kind == GroupKind::Sets).then(|| self.fresh());
        let groupings = self.grouping_results(&keys, &sets, set_column)?;
        let kind = group.kind;
        if kind == GroupKind::Sets && keys.iter().any(|(_, key)| has_key(key.ty)) {
            return unsupported("a grouping set of jsonb", None);
        }
        let mut aggregates = std::mem::take(&mut self.level()?.aggregates);
        if self.level()?.reads_itself && !aggregates.is_empty() {
            return refuse_aggregates();
        }
        let series = self.series_of_keys(&keys)?;
        let mut keys = self.regroup(keys, kind, groupings, clauses)?;
        let plan = self.expand_keys(plan, &mut keys, series)?;
        self.group_by_keys(&mut keys, &mut aggregates)?;
        let grouping_sets = (kind == GroupKind::Sets).then_some(sets);
        Ok(Plan::Aggregate { input: Box::new(plan), keys, aggregates, grouping_sets, set_column })
    }

    /// Groups of JSONB are those of one key; any of their values stands for them. What depends on
    /// other columns of GROUP BY is the same in all rows of a group, too.
    fn group_by_keys(
        &mut self,
        keys: &mut Vec<(ColumnId, Expr)>,
        aggregates: &mut Vec<(ColumnId, AggregateCall)>,
    ) -> Result<()> {
        for (id, key) in std::mem::take(keys) {
            if !has_key(key.ty) {
                keys.push((id, key));
                continue;
            }
            let call = AggregateCall {
                function: AggregateFunction::AnyValue,
                ty: key.ty,
                arguments: vec![key.clone()],
                duplicates: Duplicates::Keep,
                filter: None,
                order_by: Vec::new(),
            };
            aggregates.push((id, call));
            if key.ty == DataType::Jsonb {
                keys.push((self.fresh(), comparable(key, Comparison::Equality, None)?));
            }
        }
        Ok(())
    }

    /// Rewrites everything that stands above the aggregation; gives its final keys.
    fn regroup(
        &mut self,
        keys: Vec<(ColumnId, Expr)>,
        kind: GroupKind,
        groupings: Vec<(ColumnId, Expr)>,
        clauses: &mut Clauses,
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let next_column = self.next_column;
        let level = self.level()?;
        let scope = std::mem::take(&mut level.scope);
        let references = std::mem::take(&mut level.references);
        let mut windows = std::mem::take(&mut level.windows);
        let mut series = std::mem::take(&mut level.series);
        let mut inputs = HashSet::new();
        for column in scope.relations.iter().flat_map(|r| &r.columns).chain(&scope.columns) {
            column.expr.each_column(&mut |id| {
                inputs.insert(id);
            });
        }
        let mut regrouper = Regrouper {
            keys,
            kind,
            groupings,
            inputs,
            scope: &scope,
            references: &references,
            next_column,
            catalog: self.catalog,
        };
        regrouper.clauses(clauses)?;
        for (_, call) in &mut windows {
            let mut result = Ok(());
            call.each_expr_mut(&mut |expr| {
                if result.is_ok() {
                    result = regrouper.expr(expr);
                }
            });
            result?;
        }
        regrouper.series(clauses, &windows, &mut series)?;
        let (keys, next_column) = (regrouper.keys, regrouper.next_column);
        self.next_column = next_column;
        let level = self.level()?;
        level.windows = windows;
        level.series = series;
        level.scope = scope;
        Ok(keys)
    }

    /// What each GROUPING(...) of the level means: one bit per argument, set where the argument is
    /// not in the row's grouping set.
    fn grouping_results(
        &mut self,
        keys: &[(ColumnId, Expr)],
        sets: &[Vec<usize>],
        set_column: Option<ColumnId>,
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let calls = std::mem::take(&mut self.level()?.groupings);
        let mut results = Vec::with_capacity(calls.len());
        for (id, arguments, at) in calls {
            let mut indexes = Vec::with_capacity(arguments.len());
            for argument in &arguments {
                match keys.iter().position(|(_, key)| key == argument) {
                    Some(index) => indexes.push(index),
                    None => {
                        let message = "arguments to GROUPING must be grouping expressions of the \
                                       associated query level";
                        return fail(SqlState::GROUPING_ERROR, message, at);
                    }
                }
            }
            let bits = |set: &Vec<usize>| {
                let bit = |bits: i32, index: &usize| bits << 1 | i32::from(!set.contains(index));
                Expr::integer(indexes.iter().fold(0, bit))
            };
            let result = match set_column {
                None => Expr::integer(0),
                Some(column) => {
                    let branch = |(number, set): (usize, &Vec<usize>)| {
                        let number = i64::try_from(number).unwrap_or(i64::MAX);
                        let number = Expr::literal(Value::I64(number), DataType::BigInt);
                        let column = Expr::column(column, DataType::BigInt);
                        (Expr::compare(CompareOp::Equal, column, number), bits(set))
                    };
                    Expr {
                        kind: ExprKind::Case {
                            branches: sets.iter().enumerate().map(branch).collect(),
                            otherwise: Box::new(Expr::null(DataType::Integer)),
                        },
                        ty: DataType::Integer,
                    }
                }
            };
            results.push((id, result));
        }
        Ok(results)
    }
}

impl Regrouper<'_> {
    fn clauses(&mut self, clauses: &mut Clauses) -> Result<()> {
        for target in &mut clauses.targets {
            self.expr(&mut target.bound.expr)?;
        }
        if let Some(having) = &mut clauses.having {
            self.expr(having)?;
        }
        let on = match &mut clauses.distinct {
            Distinct::On(items) => items.as_mut_slice(),
            Distinct::No | Distinct::All => &mut [],
        };
        for item in clauses.order.iter_mut().map(|(item, _)| item).chain(on) {
            if let OrderItem::Expr(bound) = item {
                self.expr(&mut bound.expr)?;
            }
        }
        Ok(())
    }

    /// Rewrites the calls of functions that give rows and are still read, and drops the others,
    /// for which keys stand.
    fn series(
        &mut self,
        clauses: &Clauses,
        windows: &[(ColumnId, WindowCall)],
        calls: &mut Vec<Series>,
    ) -> Result<()> {
        let mut read = HashSet::new();
        let mut note = |expr: &Expr| {
            expr.each_column(&mut |id| {
                read.insert(id);
            });
        };
        clauses.targets.iter().for_each(|target| note(&target.bound.expr));
        let on: &[OrderItem] = match &clauses.distinct {
            Distinct::On(items) => items,
            Distinct::No | Distinct::All => &[],
        };
        for item in clauses.order.iter().map(|(item, _)| item).chain(on) {
            if let OrderItem::Expr(bound) = item {
                note(&bound.expr);
            }
        }
        windows.iter().for_each(|(_, call)| call.each_expr(&mut note));
        // A call comes behind those that its arguments read.
        for call in calls.iter_mut().rev() {
            if !read.contains(&call.id) {
                continue;
            }
            for argument in &mut call.arguments {
                self.expr(argument)?;
                argument.each_column(&mut |id| {
                    read.insert(id);
                });
            }
        }
        calls.retain(|call| read.contains(&call.id));
        Ok(())
    }

    /// Replaces keys by their columns; 42803 when a column from below is left.
    fn expr(&mut self, expr: &mut Expr) -> Result<()> {
        if !matches!(expr.kind, ExprKind::Literal(_))
            && let Some((id, _)) = self.keys.iter().find(|(_, key)| key == expr)
        {
            *expr = Expr::column(*id, expr.ty);
            return Ok(());
        }
        if let ExprKind::Column(id) = expr.kind {
            return self.column(id, expr);
        }
        let mut result = Ok(());
        expr.each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.expr(child);
            }
        });
        result?;
        match expr.subquery_mut() {
            Some(plan) => self.plan(plan),
            None => Ok(()),
        }
    }

    /// Outer references inside a sub-query are expressions above the aggregation too.
    fn plan(&mut self, plan: &mut Plan) -> Result<()> {
        let mut result = Ok(());
        plan.each_expr_mut(&mut |expr| {
            if result.is_ok() {
                result = self.expr(expr);
            }
        });
        result?;
        for input in plan.inputs_mut() {
            self.plan(input)?;
        }
        Ok(())
    }

    fn column(&mut self, id: ColumnId, expr: &mut Expr) -> Result<()> {
        if let Some((_, meaning)) = self.groupings.iter().find(|(known, _)| *known == id) {
            *expr = meaning.clone();
            return Ok(());
        }
        if !self.inputs.contains(&id) {
            return Ok(());
        }
        if self.kind == GroupKind::Plain
            && let Some(table) = self.depends_on_keys(id)
        {
            self.catalog.relies_on_key(table.name());
            let key = ColumnId(self.next_column);
            self.next_column += 1;
            self.keys.push((key, expr.clone()));
            *expr = Expr::column(key, expr.ty);
            return Ok(());
        }
        let at = self.references.iter().find(|(known, _)| *known == id).and_then(|(_, at)| *at);
        let message = format!(
            "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function",
            self.shown(id)
        );
        Err(place(Error::new(SqlState::GROUPING_ERROR, message), at))
    }

    /// The column's table, when it is grouped by its whole primary key, so that one row is left.
    fn depends_on_keys(&self, id: ColumnId) -> Option<&TableRef> {
        let grouped = |id: ColumnId| self.keys.iter().any(|(_, key)| key.as_column() == Some(id));
        self.scope.relations.iter().find_map(|relation| {
            let table = relation.table.as_ref()?;
            let whole = relation.columns.iter().any(|column| column.expr.as_column() == Some(id))
                && table.keys().iter().any(|key| {
                    key.primary
                        && key.columns.iter().all(|&ordinal| {
                            let column = relation.columns.get(ordinal);
                            column.and_then(|c| c.expr.as_column()).is_some_and(grouped)
                        })
                });
            whole.then_some(table)
        })
    }

    fn shown(&self, id: ColumnId) -> String {
        let relations = self.scope.relations.iter();
        let column = relations
            .flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)))
            .find(|(_, column)| column.expr.as_column() == Some(id));
        match column {
            Some((relation, column)) if !relation.name.is_empty() => {
                format!("{}.{}", relation.name, column.name)
            }
            Some((_, column)) => column.name.clone(),
            None => "?column?".to_owned(),
        }
    }
}

fn rollup(lists: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=lists.len())
        .rev()
        .map(|count| lists.iter().take(count).flatten().cloned().collect())
        .collect()
}

fn cube(lists: &[Vec<Expr>]) -> Result<Vec<Vec<Expr>>> {
    if lists.len() > CUBE_MAX {
        return Err(too_deep().with_detail("CUBE is limited to 12 elements."));
    }
    let subset = |mask: u32| {
        let member =
            |(at_idx, _): &(usize, &Vec<Expr>)| mask >> (lists.len() - 1 - at_idx) & 1 == 1;
        lists.iter().enumerate().filter(member).flat_map(|(_, list)| list).cloned().collect()
    };
    Ok((0..1u32 << lists.len()).rev().map(subset).collect())
}

/// ROLLUP(...) or CUBE(...) parsed as a function call.
fn nested_sets(function: &ast::Function) -> Option<(String, Vec<Vec<ast::Expr>>)> {
    let [ast::ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else {
        return None;
    };
    let name = folded(ident);
    if name != "rollup" && name != "cube" {
        return None;
    }
    let ast::FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let element = |arg: &ast::FunctionArg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(list))) => {
            Some(list.clone())
        }
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(vec![expr.clone()]),
        _ => None,
    };
    let lists: Option<Vec<Vec<ast::Expr>>> = list.args.iter().map(element).collect();
    Some((name, lists?))
}

/// Whether GROUP BY names grouping sets.
pub(super) fn has_sets(group_by: &ast::GroupByExpr) -> bool {
    fn is_set(item: &ast::Expr) -> bool {
        match item {
            ast::Expr::GroupingSets(_) | ast::Expr::Rollup(_) | ast::Expr::Cube(_) => true,
            ast::Expr::Nested(inner) => is_set(inner),
            _ => false,
        }
    }
    matches!(group_by, ast::GroupByExpr::Expressions(items, _) if items.iter().any(is_set))
}
