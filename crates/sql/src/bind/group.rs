//! GROUP BY, grouping sets, and the rewriting of what stands above an aggregation.

use std::collections::HashSet;

use sqlparser::ast;
use types::{CompareOp, DataType, Error, Result, SqlState, Value};

use super::clauses::{Clauses, Distinct, OrderItem, Target, is_all_items};
use super::name::{expr_at, ident_at};
use super::order::target_named;
use super::recursion::refuse_aggregates;
use super::scope::{Clause, Scope, Series};
use super::series::is_volatile;
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr, ExprKind, Place, Plan, WindowCall,
};
use crate::catalog::{Catalog, TableRef};
use crate::parse::{DISTINCT_SETS, GROUPING_SETS, folded};

/// Grouping sets that one GROUP BY may make.
const SETS_MAX: usize = 4096;

/// Columns that one CUBE may have.
const CUBE_MAX: usize = 12;

/// GROUP BY, bound: the product of its items.
pub(super) struct GroupBy {
    /// Keys of each grouping set.
    sets: Vec<Vec<GroupKey>>,
    kind: GroupKind,
}

/// A grouping expression. Two that are equal are one key, unless each is an item of the select list
/// by itself.
#[derive(Clone, Debug)]
struct GroupKey {
    /// The item of the select list that it is.
    target: Option<usize>,
    expr: Expr,
}

impl GroupKey {
    fn same(&self, other: &Self) -> bool {
        self.target == other.target && (self.target.is_some() || self.expr == other.expr)
    }
}

/// A key of an aggregation: its column and expression, and the item of the select list that it is.
struct Key {
    id: ColumnId,
    expr: Expr,
    target: Option<usize>,
}

/// Form of GROUP BY: grouping sets or one plain list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Plain,
    Sets,
}

/// The keys of an aggregation and the numbers of those in each grouping set.
struct Grouped {
    keys: Vec<Key>,
    sets: Vec<Vec<usize>>,
    /// GROUPING() calls and what they mean.
    groupings: Vec<(ColumnId, Expr)>,
}

/// Keys with their columns, and their numbers in each grouping set.
type FinalKeys = (Vec<(ColumnId, Expr)>, Vec<Vec<usize>>);

/// Replaces the columns below an aggregation in expressions above it.
struct Regrouper<'s> {
    grouped: Grouped,
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
        if items.len() == 1 && items.first().is_some_and(is_all_items) {
            return self.group_by_all(targets);
        }
        let distinct = matches!(
            items.first(),
            Some(ast::Expr::Identifier(ident)) if ident.value == DISTINCT_SETS
        );
        let items = items.get(usize::from(distinct)..).unwrap_or_default();
        let mut group = self.in_clause(Clause::GroupBy, |binder| {
            let mut group = GroupBy { sets: vec![Vec::new()], kind: GroupKind::Plain };
            for item in items {
                let (sets, kind) = binder.group_item(item, targets)?;
                if kind == GroupKind::Sets {
                    group.kind = GroupKind::Sets;
                }
                if group.sets.len() * sets.len() > SETS_MAX {
                    return Err(Error::new(
                        SqlState::STACK_DEPTH,
                        "too many grouping sets present",
                    ));
                }
                let concatenated = |a: &Vec<GroupKey>| -> Vec<Vec<GroupKey>> {
                    sets.iter().map(|b| a.iter().chain(b).cloned().collect()).collect()
                };
                group.sets = group.sets.iter().flat_map(concatenated).collect();
            }
            Ok(group)
        })?;
        if distinct {
            group.sets = distinct_sets(group.sets);
        }
        Ok(Some(group))
    }

    /// GROUP BY ALL: the items of the select list in which no aggregate and no window is.
    fn group_by_all(&mut self, targets: &[Target]) -> Result<Option<GroupBy>> {
        let mut keys = Vec::new();
        for (at_idx, target) in targets.iter().enumerate() {
            let level = self.level()?;
            let mut computed = false;
            target.bound.expr.each_column(&mut |id| {
                computed |= level.aggregates.iter().any(|(known, _)| *known == id)
                    || level.windows.iter().any(|(known, _)| *known == id);
            });
            if computed {
                continue;
            }
            let ordinal = (at_idx + 1).to_string();
            let ordinal = ast::Expr::value(ast::Value::Number(ordinal, false));
            let (sets, _) =
                self.in_clause(Clause::GroupBy, |binder| binder.group_item(&ordinal, targets))?;
            keys.extend(sets.into_iter().flatten());
        }
        if keys.is_empty() {
            return Ok(None);
        }
        Ok(Some(GroupBy { sets: vec![keys], kind: GroupKind::Plain }))
    }

    /// The alternatives that one item of GROUP BY stands for.
    fn group_item(
        &mut self,
        item: &ast::Expr,
        targets: &[Target],
    ) -> Result<(Vec<Vec<GroupKey>>, GroupKind)> {
        self.nested(|binder| binder.group_item_here(item, targets))
    }

    fn group_item_here(
        &mut self,
        item: &ast::Expr,
        targets: &[Target],
    ) -> Result<(Vec<Vec<GroupKey>>, GroupKind)> {
        match item {
            ast::Expr::Function(function) => match sets_of(function) {
                Some((name, elements)) if name == GROUPING_SETS => {
                    let mut sets = Vec::new();
                    for element in elements {
                        sets.extend(self.group_item(element, targets)?.0);
                    }
                    Ok((sets, GroupKind::Sets))
                }
                Some((_, elements)) if elements.is_empty() => {
                    Ok((vec![Vec::new()], GroupKind::Plain))
                }
                Some((name, elements)) => {
                    let list = |binder: &mut Self, element| binder.group_list(element, targets);
                    let lists = elements.into_iter().map(|element| list(self, element));
                    let lists = lists.collect::<Result<Vec<_>>>()?;
                    let sets = if name == "rollup" { rollup(&lists) } else { cube(&lists)? };
                    Ok((sets, GroupKind::Sets))
                }
                None => Ok((vec![vec![self.group_expr(item, targets)?]], GroupKind::Plain)),
            },
            ast::Expr::Nested(inner) => self.group_item(inner, targets),
            _ => Ok((vec![self.group_list(item, targets)?], GroupKind::Plain)),
        }
    }

    /// The keys of one element: those of a list in parentheses, and of lists in it.
    fn group_list(&mut self, item: &ast::Expr, targets: &[Target]) -> Result<Vec<GroupKey>> {
        match item {
            ast::Expr::Tuple(list) => self.nested(|binder| {
                let mut keys = Vec::with_capacity(list.len());
                for item in list {
                    keys.extend(binder.group_list(item, targets)?);
                }
                Ok(keys)
            }),
            ast::Expr::Nested(inner) => self.nested(|binder| binder.group_list(inner, targets)),
            _ => Ok(vec![self.group_expr(item, targets)?]),
        }
    }

    /// A grouping expression: an ordinal, an input column, an output name, or any expression.
    fn group_expr(&mut self, expr: &ast::Expr, targets: &[Target]) -> Result<GroupKey> {
        let mut local = None;
        let target = match self.output_ordinal(expr, targets.len(), Clause::GroupBy)? {
            Some(ordinal) => Some(ordinal),
            None => match expr {
                ast::Expr::Identifier(ident) => {
                    local = self.find_local(&folded(ident), ident_at(ident))?;
                    match local {
                        Some(_) => None,
                        None => target_named(ident, targets, Clause::GroupBy)?,
                    }
                }
                _ => None,
            },
        };
        let mut bound = match (local, target.and_then(|target| targets.get(target))) {
            (Some(column), _) => column,
            (None, Some(target)) => target.bound.clone(),
            (None, None) => self.bind_expr(expr)?,
        };
        self.settle(&mut bound)?;
        self.refuse_calls(&bound, expr)?;
        self.equated(bound.expr.clone(), expr_at(expr))?;
        let same = |target: &Target| target.bound.expr == bound.expr;
        let target = target.or_else(|| targets.iter().position(same));
        Ok(GroupKey { target, expr: bound.expr })
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
        let mut keys: Vec<Key> = Vec::new();
        let mut known: Vec<GroupKey> = Vec::new();
        let mut sets = Vec::with_capacity(group.sets.len());
        for set in group.sets {
            let mut indexes = Vec::with_capacity(set.len());
            for key in set {
                let found = known.iter().position(|known| known.same(&key));
                let index = found.unwrap_or(keys.len());
                if found.is_none() {
                    let id = self.fresh();
                    if let ExprKind::Column(of) = key.expr.kind {
                        self.copy_origin(of, id);
                    }
                    self.note_collation(id, &key.expr)?;
                    keys.push(Key { id, expr: key.expr.clone(), target: key.target });
                    known.push(key);
                }
                if !indexes.contains(&index) {
                    indexes.push(index);
                }
            }
            sets.push(indexes);
        }
        if group.kind == GroupKind::Sets {
            drop_redundant(clauses);
        }
        let set_column = (group.kind == GroupKind::Sets).then(|| self.fresh());
        let groupings = self.grouping_results(&keys, &sets, set_column)?;
        let kind = group.kind;
        if kind == GroupKind::Sets && keys.iter().any(|key| self.has_key(&key.expr)) {
            let what = "a grouping set of jsonb, or under a nondeterministic collation";
            return unsupported(what, None);
        }
        let mut aggregates = std::mem::take(&mut self.level()?.aggregates);
        if self.level()?.reads_itself && !aggregates.is_empty() {
            return refuse_aggregates();
        }
        let series = self.series_of(keys.iter().map(|key| &key.expr))?;
        let grouped = Grouped { keys, sets, groupings };
        let (mut keys, sets) = self.regroup(grouped, clauses)?;
        let plan = self.expand_keys(plan, &mut keys, series)?;
        self.group_by_keys(&mut keys, &mut aggregates)?;
        let grouping_sets = (kind == GroupKind::Sets).then_some(sets);
        Ok(Plan::Aggregate { input: Box::new(plan), keys, aggregates, grouping_sets, set_column })
    }

    /// Groups of JSONB, and of texts under a collation that is not deterministic, are those of one
    /// key; any of their values stands for them. What depends on
    /// other columns of GROUP BY is the same in all rows of a group, too.
    fn group_by_keys(
        &mut self,
        keys: &mut Vec<(ColumnId, Expr)>,
        aggregates: &mut Vec<(ColumnId, AggregateCall)>,
    ) -> Result<()> {
        for (id, key) in std::mem::take(keys) {
            if !self.has_key(&key) {
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
            if key.ty == DataType::Jsonb || self.has_own_equality(&key) {
                keys.push((self.fresh(), self.equated(key, None)?));
            }
        }
        Ok(())
    }

    /// Rewrites everything that stands above the aggregation; gives its final keys and sets.
    fn regroup(&mut self, grouped: Grouped, clauses: &mut Clauses) -> Result<FinalKeys> {
        let next_column = self.next_column;
        let level = self.level()?;
        let scope = std::mem::take(&mut level.scope);
        let references = std::mem::take(&mut level.references);
        let mut windows = std::mem::take(&mut level.windows);
        let mut series = std::mem::take(&mut level.series);
        let direct = std::mem::take(&mut level.direct);
        let mut inputs = HashSet::new();
        for column in scope.relations.iter().flat_map(|r| &r.columns).chain(&scope.columns) {
            column.expr.each_column(&mut |id| {
                inputs.insert(id);
            });
        }
        let mut regrouper = Regrouper {
            grouped,
            inputs,
            scope: &scope,
            references: &references,
            next_column,
            catalog: self.catalog,
        };
        regrouper.clauses(clauses)?;
        for mut expr in direct {
            regrouper.expr(&mut expr)?;
        }
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
        let (grouped, next_column) = (regrouper.grouped, regrouper.next_column);
        self.next_column = next_column;
        let level = self.level()?;
        level.windows = windows;
        level.series = series;
        level.scope = scope;
        let keys = grouped.keys.into_iter().map(|key| (key.id, key.expr)).collect();
        Ok((keys, grouped.sets))
    }

    /// Meaning of each GROUPING(...) of the level: one bit per argument, set where the argument is
    /// not in the row's grouping set.
    fn grouping_results(
        &mut self,
        keys: &[Key],
        sets: &[Vec<usize>],
        set_column: Option<ColumnId>,
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let calls = std::mem::take(&mut self.level()?.groupings);
        let mut results = Vec::with_capacity(calls.len());
        for (id, arguments, at) in calls {
            let mut indexes = Vec::with_capacity(arguments.len());
            for argument in &arguments {
                match keys.iter().position(|key| key.expr == *argument) {
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
        for (number, target) in clauses.targets.iter_mut().enumerate() {
            let own = self.grouped.keys.iter().find(|key| key.target == Some(number));
            match own {
                Some(key) => target.bound.expr = Expr::column(key.id, key.expr.ty),
                None => self.expr(&mut target.bound.expr)?,
            }
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
            && let Some(key) = self.grouped.keys.iter().find(|key| key.expr == *expr)
        {
            *expr = Expr::column(key.id, expr.ty);
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
        if let Some((_, meaning)) = self.grouped.groupings.iter().find(|(known, _)| *known == id) {
            *expr = meaning.clone();
            return Ok(());
        }
        if !self.inputs.contains(&id) {
            return Ok(());
        }
        if let Some(table) = self.depends_on_keys(id) {
            self.catalog.relies_on_key(table.name());
            let key = ColumnId(self.next_column);
            self.next_column += 1;
            let number = self.grouped.keys.len();
            self.grouped.keys.push(Key { id: key, expr: expr.clone(), target: None });
            self.grouped.sets.iter_mut().for_each(|set| set.push(number));
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

    /// The column's table, when all sets have its whole primary key, so that one row is left.
    fn depends_on_keys(&self, id: ColumnId) -> Option<&TableRef> {
        let Grouped { keys, sets, .. } = &self.grouped;
        let grouped = |id: ColumnId| {
            keys.iter().enumerate().any(|(number, key)| {
                key.expr.as_column() == Some(id) && sets.iter().all(|set| set.contains(&number))
            })
        };
        self.scope.relations.iter().find_map(|relation| {
            let table = relation.table.as_ref()?;
            let whole = relation.columns.iter().any(|column| column.expr.as_column() == Some(id))
                && table.keys().iter().any(|key| {
                    key.primary
                        && !key.deferral.is_deferrable()
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

fn rollup(lists: &[Vec<GroupKey>]) -> Vec<Vec<GroupKey>> {
    (0..=lists.len())
        .rev()
        .map(|count| lists.iter().take(count).flatten().cloned().collect())
        .collect()
}

fn cube(lists: &[Vec<GroupKey>]) -> Result<Vec<Vec<GroupKey>>> {
    if lists.len() > CUBE_MAX {
        return Err(types::stack::too_deep().with_detail("CUBE is limited to 12 elements."));
    }
    let subset = |mask: u32| {
        let member =
            |(at_idx, _): &(usize, &Vec<GroupKey>)| mask >> (lists.len() - 1 - at_idx) & 1 == 1;
        lists.iter().enumerate().filter(member).flat_map(|(_, list)| list).cloned().collect()
    };
    Ok((0..1u32 << lists.len()).rev().map(subset).collect())
}

/// Drops the sort keys that would decide nothing without grouping sets, constants and repetitions:
/// PostgreSQL does so even where the sets make NULLs of them.
fn drop_redundant(clauses: &mut Clauses) {
    let Clauses { targets, order, .. } = clauses;
    let mut seen: Vec<Expr> = Vec::new();
    order.retain(|(item, _)| {
        let OrderItem::Target(target) = item else { return true };
        let Some(target) = targets.get(*target) else { return true };
        let expr = &target.bound.expr;
        let decides = !matches!(expr.kind, ExprKind::Literal(_)) && !seen.contains(expr);
        seen.push(expr.clone());
        decides || is_volatile(expr)
    });
}

/// The sets without those that have the keys of one before.
fn distinct_sets(sets: Vec<Vec<GroupKey>>) -> Vec<Vec<GroupKey>> {
    let within =
        |a: &[GroupKey], b: &[GroupKey]| a.iter().all(|key| b.iter().any(|other| key.same(other)));
    let mut left: Vec<Vec<GroupKey>> = Vec::with_capacity(sets.len());
    for set in sets {
        if !left.iter().any(|known| within(known, &set) && within(&set, known)) {
            left.push(set);
        }
    }
    left
}

/// ROLLUP, CUBE or GROUPING SETS, which the parser takes for functions, and their elements.
fn sets_of(function: &ast::Function) -> Option<(String, Vec<&ast::Expr>)> {
    let [ast::ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else {
        return None;
    };
    let name = folded(ident);
    if !["rollup", "cube", GROUPING_SETS].contains(&name.as_str()) {
        return None;
    }
    let ast::FunctionArguments::List(list) = &function.args else {
        return None;
    };
    fn element(arg: &ast::FunctionArg) -> Option<&ast::Expr> {
        match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        }
    }
    let elements: Option<Vec<&ast::Expr>> = list.args.iter().map(element).collect();
    Some((name, elements?))
}

/// True when GROUP BY names grouping sets.
pub(super) fn has_sets(group_by: &ast::GroupByExpr) -> bool {
    fn is_set(item: &ast::Expr) -> bool {
        match item {
            ast::Expr::Function(function) => sets_of(function).is_some(),
            ast::Expr::Nested(inner) => is_set(inner),
            _ => false,
        }
    }
    matches!(group_by, ast::GroupByExpr::Expressions(items, _) if items.iter().any(is_set))
}
