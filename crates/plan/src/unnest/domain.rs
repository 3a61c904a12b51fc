//! The general way: the right side of a dependent join is computed once for its whole domain.
//!
//! The domain is the distinct values of the outer columns that the right side refers to. It is
//! joined in at the leaves that refer to it, and its columns travel up through every operator:
//!
//! ```text
//! L dependent-join R(f)   ->   L join attach(D, R) on L.f is not distinct from d
//! attach: Filter, Project     d is one more column
//!         Aggregate           group by d; without keys D left join, counts to 0
//!         Limit, Sort         row_number() over (partition by d ...) <= n
//!         Window              partition by d ...
//!         set operation       d on both sides
//! ```

use hashbrown::HashMap;
use sql::algebra::{
    AggregateCall, AggregateFunction, ColumnId, CteId, Duplicates, Expr, FrameBound,
    FrameExclusion, FrameUnits, Function, JoinKind, Plan, SetOperator, SortKey, WindowCall,
    WindowFrame, WindowFunction,
};
use types::{CompareOp, DataType, Error, Result, Value};

use super::lift::domain_name;
use super::nullability::never_null;
use crate::column_set::ColumnSet;
use crate::context::{Context, Cte, CteBody};
use crate::cte;
use crate::guard::plan_may_fail;
use crate::tree::{self, Renaming};

/// The values that a right side depends on.
struct Domain {
    /// Outer columns, in order.
    columns: Vec<(ColumnId, DataType)>,
    set: ColumnSet,
    source: Source,
    /// Recursive CTEs whose scans carry the domain's columns after their own.
    carriers: Vec<CteId>,
    evaluation: Evaluation,
}

/// How often the right side is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evaluation {
    /// Once for all rows that agree in what it depends on.
    PerValue,
    /// Once for each row: it is volatile. The domain has the number of the row.
    PerRow,
}

/// Where the domain's rows come from.
enum Source {
    /// A CTE whose columns are the domain.
    Shared(CteId),
    /// A plan whose output has the outer columns, copied at each use.
    Copied(Plan),
}

/// An ordinary join, with the same rows as the dependent one.
pub(crate) fn decorrelate(
    context: &mut Context<'_>,
    left: Plan,
    right: Plan,
    kind: JoinKind,
    condition: Expr,
) -> Result<Plan> {
    if kind == JoinKind::Full {
        return Err(Error::unsupported("a lateral FULL JOIN"));
    }
    let shown = shown(&left, &right, kind);
    let (left, number) = if right.is_volatile() && context.is_closed(&left) {
        numbered(context, left)
    } else {
        (left, None)
    };
    let evaluation = if number.is_some() { Evaluation::PerRow } else { Evaluation::PerValue };
    let outputs = tree::output(&left);
    let free = tree::free(&right);
    let depends = |id: ColumnId| free.contains(id) || Some(id) == number;
    let columns: Vec<_> = outputs.iter().filter(|(id, _)| depends(*id)).copied().collect();
    let not_null: Vec<bool> =
        columns.iter().map(|(id, _)| never_null(context, &left, *id)).collect();
    let set = columns.iter().map(|(id, _)| *id).collect();
    let only = guards(&condition, &outputs, &right);
    let (left, source) =
        share(context, left, &Shares { outputs, columns: &columns, only, evaluation });
    let mut domain = Domain { columns, set, source, carriers: Vec::new(), evaluation };
    let (right, names) = domain.attach(context, right)?;
    let mut parts = tree::conjuncts(condition);
    for (&(id, ty), not_null) in domain.columns.iter().zip(not_null) {
        let op = if not_null { CompareOp::Equal } else { CompareOp::NotDistinct };
        parts.push(tree::compare(op, tree::column(id, ty), tree::column(names[&id], ty)));
    }
    let (left, right) = (Box::new(left), Box::new(right));
    let join = Plan::Join { left, right, kind, condition: tree::and_all(parts) };
    Ok(if number.is_some() { tree::narrowed(join, &shown) } else { join })
}

/// The columns of the dependent join.
fn shown(left: &Plan, right: &Plan, kind: JoinKind) -> Vec<(ColumnId, DataType)> {
    let mut shown = tree::output(left);
    match kind {
        JoinKind::Semi | JoinKind::Anti => {}
        JoinKind::Mark(mark) => shown.push((mark, DataType::Boolean)),
        _ => shown.extend(tree::output(right)),
    }
    shown
}

/// `left` with the number of each row.
fn numbered(context: &mut Context<'_>, left: Plan) -> (Plan, Option<ColumnId>) {
    let number = context.fresh();
    let calls = vec![(number, row_number(Vec::new(), Vec::new()))];
    (Plan::Window { input: Box::new(left), calls }, Some(number))
}

/// Conditions of the join on left rows alone: no other row has a match, so that the right
/// side, where that may be noticed, is not computed for it.
fn guards(condition: &Expr, left: &[(ColumnId, DataType)], right: &Plan) -> Vec<Expr> {
    if tree::is_true(condition) || !(right.is_volatile() || plan_may_fail(right)) {
        return Vec::new();
    }
    let left: ColumnSet = left.iter().map(|(id, _)| *id).collect();
    let is_guard = |e: &Expr| tree::mentioned(e).is_subset(&left) && !tree::is_volatile(e);
    tree::conjuncts(condition.clone()).into_iter().filter(is_guard).collect()
}

/// How a left side is read.
struct Shares<'c> {
    /// All its columns.
    outputs: Vec<(ColumnId, DataType)>,
    /// Columns of the domain.
    columns: &'c [(ColumnId, DataType)],
    /// Conditions that all rows of the domain satisfy.
    only: Vec<Expr>,
    evaluation: Evaluation,
}

/// Makes the left side readable twice: as it is, and as the source of the domain.
fn share(context: &mut Context<'_>, left: Plan, shares: &Shares<'_>) -> (Plan, Source) {
    let Shares { outputs, columns, only, evaluation } = shares;
    let per_row = *evaluation == Evaluation::PerRow;
    if !per_row && (!context.is_closed(&left) || cte::is_cheap(&left)) {
        let source = Source::Copied(tree::filtered(left.clone(), only.clone()));
        return (left, source);
    }
    let id = context.fresh_cte();
    let read = |names: Vec<(ColumnId, DataType)>| Plan::CteScan {
        cte: id,
        columns: names,
        name: "outer".into(),
    };
    let inner: Vec<_> = outputs.iter().map(|&(_, ty)| (context.fresh(), ty)).collect();
    let map: Renaming = outputs.iter().map(|c| c.0).zip(inner.iter().map(|c| c.0)).collect();
    let values = columns.iter().map(|&(id, ty)| (map[&id], ty)).collect::<Vec<_>>();
    let columns_of_left =
        outputs.iter().map(|&(id, ty)| (context.fresh(), tree::column(id, ty))).collect();
    let definition = Plan::Project { input: Box::new(left), columns: columns_of_left };
    context.ctes.push(Cte { id, body: CteBody::Plain(definition), is_narrowed: false });
    let domain = context.fresh_cte();
    let mut only = only.clone();
    only.iter_mut().for_each(|e| tree::rename_expr(e, &map));
    let mut rows = tree::narrowed(tree::filtered(read(inner), only), &values);
    if !per_row {
        rows = tree::narrowed(distinct(rows), &values);
    }
    context.ctes.push(Cte { id: domain, body: CteBody::Plain(rows), is_narrowed: false });
    (read(outputs.to_vec()), Source::Shared(domain))
}

fn distinct(input: Plan) -> Plan {
    Plan::Distinct { input: Box::new(input), on: Vec::new() }
}

/// A plan that carries the domain's columns, and their names in it.
type Attached = (Plan, Renaming);

impl Domain {
    /// The domain itself, under new names.
    fn scan(&self, context: &mut Context<'_>) -> Attached {
        match &self.source {
            Source::Shared(cte) => {
                let columns: Vec<_> =
                    self.columns.iter().map(|&(_, ty)| (context.fresh(), ty)).collect();
                let names = self.columns.iter().zip(&columns).map(|(a, b)| (a.0, b.0)).collect();
                (Plan::CteScan { cte: *cte, columns, name: domain_name() }, names)
            }
            Source::Copied(plan) => {
                let (copy, names) = context.copy(plan);
                let names: Renaming = self
                    .columns
                    .iter()
                    .map(|(id, _)| (*id, *names.get(id).unwrap_or(id)))
                    .collect();
                let columns: Vec<_> =
                    self.columns.iter().map(|&(id, ty)| (names[&id], ty)).collect();
                (distinct(tree::narrowed(copy, &columns)), names)
            }
        }
    }

    /// True when `plan` depends on the domain.
    fn touches(&self, plan: &Plan) -> bool {
        tree::free(plan).intersects(&self.set)
            || self.carriers.iter().any(|cte| tree::cte_scans(plan, *cte) > 0)
            || (self.evaluation == Evaluation::PerRow && plan.is_volatile())
    }

    /// The domain's columns under `names`.
    fn named(&self, names: &Renaming) -> Vec<(ColumnId, DataType)> {
        self.columns.iter().map(|&(id, ty)| (names[&id], ty)).collect()
    }

    fn pass(&self, names: &Renaming) -> Vec<(ColumnId, Expr)> {
        self.named(names).into_iter().map(|(id, ty)| (id, tree::column(id, ty))).collect()
    }

    fn references(&self, names: &Renaming) -> Vec<Expr> {
        self.named(names).into_iter().map(|(id, ty)| tree::column(id, ty)).collect()
    }

    /// `plan` for every value of the domain, with the domain's columns in the output.
    fn attach(&mut self, context: &mut Context<'_>, plan: Plan) -> Result<Attached> {
        if !self.touches(&plan) {
            let (scan, names) = self.scan(context);
            return Ok((cross(scan, plan), names));
        }
        match plan {
            Plan::Filter { input, mut predicate } => {
                let (input, names) = self.attach(context, *input)?;
                tree::rename_expr(&mut predicate, &names);
                Ok((Plan::Filter { input: Box::new(input), predicate }, names))
            }
            Plan::Project { input, mut columns } => {
                let (input, names) = self.attach(context, *input)?;
                columns.iter_mut().for_each(|(_, e)| tree::rename_expr(e, &names));
                columns.extend(self.pass(&names));
                Ok((Plan::Project { input: Box::new(input), columns }, names))
            }
            Plan::Sort { input, mut keys } => {
                let (input, names) = self.attach(context, *input)?;
                tree::rename_keys(&mut keys, &names);
                Ok((Plan::Sort { input: Box::new(input), keys }, names))
            }
            Plan::Distinct { input, mut on } => {
                let (input, names) = self.attach(context, *input)?;
                if !on.is_empty() {
                    on.iter_mut().for_each(|e| tree::rename_expr(e, &names));
                    on.extend(self.references(&names));
                }
                Ok((Plan::Distinct { input: Box::new(input), on }, names))
            }
            Plan::Aggregate { .. } => self.attach_aggregate(context, plan),
            Plan::Window { input, mut calls } => {
                let (input, names) = self.attach(context, *input)?;
                for (_, call) in &mut calls {
                    tree::window_exprs_mut(call, &mut |e| tree::rename_expr(e, &names));
                    call.partition_by.extend(self.references(&names));
                }
                Ok((Plan::Window { input: Box::new(input), calls }, names))
            }
            Plan::Limit { input, limit, offset } => {
                self.attach_limit(context, *input, limit, offset)
            }
            Plan::SetOperation { .. } => self.attach_set_operation(context, plan),
            Plan::Join { .. } => self.attach_join(context, plan),
            Plan::Series { function, mut arguments, column } => {
                let (scan, names) = self.scan(context);
                arguments.iter_mut().for_each(|e| tree::rename_expr(e, &names));
                Ok((cross(scan, Plan::Series { function, arguments, column }), names))
            }
            Plan::CteScan { cte, mut columns, name } => {
                let mut names = Renaming::new();
                for &(id, ty) in &self.columns {
                    let own = context.fresh();
                    names.insert(id, own);
                    columns.push((own, ty));
                }
                Ok((Plan::CteScan { cte, columns, name }, names))
            }
            Plan::RecursiveWith { .. } => self.attach_recursive(context, plan),
            Plan::Values { .. } => Err(Error::internal("correlated VALUES were not lifted")),
            _ => Err(Error::internal("an operator that cannot be correlated is")),
        }
    }

    fn attach_aggregate(&mut self, context: &mut Context<'_>, plan: Plan) -> Result<Attached> {
        let Plan::Aggregate { input, mut keys, mut aggregates, grouping_sets, set_column } = plan
        else {
            return Err(Error::internal("an aggregation was expected"));
        };
        let (input, names) = self.attach(context, *input)?;
        keys.iter_mut().for_each(|(_, e)| tree::rename_expr(e, &names));
        for (_, call) in &mut aggregates {
            tree::aggregate_exprs_mut(call, &mut |e| tree::rename_expr(e, &names));
        }
        let scalar = match &grouping_sets {
            None => keys.is_empty(),
            Some(sets) => sets.iter().any(Vec::is_empty),
        };
        let first = keys.len();
        let own: Vec<(ColumnId, DataType)> = keys.iter().map(|(id, e)| (*id, e.ty)).collect();
        keys.extend(self.pass(&names));
        let mut sets = grouping_sets.clone();
        for set in sets.iter_mut().flatten() {
            set.extend(first..keys.len());
        }
        let calls: Vec<_> = aggregates.iter().map(|(id, call)| (*id, call.clone())).collect();
        let grouped = Plan::Aggregate {
            input: Box::new(input),
            keys,
            aggregates,
            grouping_sets: sets,
            set_column,
        };
        if !scalar {
            return Ok((grouped, names));
        }
        if let Some(sets) = grouping_sets {
            let parts = (grouped, names, own, calls, set_column);
            return self.empty_sets(context, parts, sets);
        }
        Ok(self.one_row_each(context, grouped, &names, &calls))
    }

    /// A row for each value of the domain, also where the aggregation had no input.
    fn one_row_each(
        &mut self,
        context: &mut Context<'_>,
        grouped: Plan,
        names: &Renaming,
        calls: &[(ColumnId, AggregateCall)],
    ) -> Attached {
        let (scan, outer) = self.scan(context);
        let condition = self.same(&outer, names);
        let mut columns = self.pass(&outer);
        let mut renewed = grouped;
        // The counts get new names below, so that their old ones can be never NULL above.
        let mut counts = Renaming::new();
        for (id, call) in calls {
            if is_count(call) {
                counts.insert(*id, context.fresh());
            }
        }
        if let Plan::Aggregate { aggregates, .. } = &mut renewed {
            for (id, _) in aggregates.iter_mut() {
                *id = *counts.get(id).unwrap_or(id);
            }
        }
        let outputs = tree::output(&renewed);
        for (id, call) in calls {
            let value = match counts.get(id) {
                Some(inner) => {
                    let zero = tree::literal(Value::I64(0), DataType::BigInt);
                    tree::coalesce(tree::column(*inner, call.ty), zero)
                }
                None => tree::column(*id, call.ty),
            };
            columns.push((*id, value));
        }
        let known: ColumnSet = columns.iter().map(|(id, _)| *id).collect();
        for (id, ty) in outputs {
            let domain = self.columns.iter().any(|(c, _)| names[c] == id);
            let hidden = domain || counts.values().any(|inner| *inner == id);
            if !known.contains(id) && !hidden {
                columns.push((id, tree::column(id, ty)));
            }
        }
        let (left, right) = (Box::new(scan), Box::new(renewed));
        let join = Plan::Join { left, right, kind: JoinKind::Left, condition };
        (Plan::Project { input: Box::new(join), columns }, outer)
    }

    /// Several grouping sets, one of them empty: that one has a row for each value of the domain.
    fn empty_sets(
        &mut self,
        context: &mut Context<'_>,
        (grouped, names, own, calls, set_column): Grouped,
        sets: Vec<Vec<usize>>,
    ) -> Result<Attached> {
        let set_id = set_column.unwrap_or_else(|| context.fresh());
        let mut grouped = grouped;
        if let Plan::Aggregate { set_column, .. } = &mut grouped {
            *set_column = Some(set_id);
        }
        let mut columns = own.clone();
        columns.extend(calls.iter().map(|(id, call)| (*id, call.ty)));
        columns.push((set_id, DataType::BigInt));
        let number = |i: usize| tree::literal(Value::I64(i as i64), DataType::BigInt);
        let mut whole: Option<Attached> = None;
        let all: Vec<Option<usize>> = std::iter::once(None)
            .chain((0..sets.len()).filter(|i| sets[*i].is_empty()).map(Some))
            .collect();
        for part in all {
            let (copy, map) = context.copy(&grouped);
            let renamed = |id: ColumnId| *map.get(&id).unwrap_or(&id);
            let set = tree::column(renamed(set_id), DataType::BigInt);
            let inner: Renaming =
                self.columns.iter().map(|(id, _)| (*id, renamed(names[id]))).collect();
            let (plan, outer, outputs) = match part {
                None => {
                    let empty = (0..sets.len()).filter(|i| sets[*i].is_empty());
                    let tests =
                        empty.map(|i| tree::compare(CompareOp::NotEqual, set.clone(), number(i)));
                    let outputs: Vec<_> =
                        columns.iter().map(|&(id, ty)| tree::column(renamed(id), ty)).collect();
                    (tree::filtered(copy, tests.collect()), inner, outputs)
                }
                Some(i) => {
                    let only = vec![tree::compare(CompareOp::Equal, set.clone(), number(i))];
                    let (scan, outer) = self.scan(context);
                    let condition = self.same(&outer, &inner);
                    let (left, right) = (Box::new(scan), Box::new(tree::filtered(copy, only)));
                    let join = Plan::Join { left, right, kind: JoinKind::Left, condition };
                    let value = |&(id, ty): &(ColumnId, DataType)| {
                        let column = tree::column(renamed(id), ty);
                        let zero = calls.iter().any(|(c, call)| *c == id && is_count(call));
                        match id {
                            _ if id == set_id => number(i),
                            _ if zero => tree::coalesce(column, number(0)),
                            _ => column,
                        }
                    };
                    (join, outer, columns.iter().map(value).collect())
                }
            };
            let mut list: Vec<_> = outputs.into_iter().map(|e| (context.fresh(), e)).collect();
            let mut fresh = Renaming::new();
            for (&(id, ty), own) in self.columns.iter().zip(self.named(&outer)) {
                let new = context.fresh();
                fresh.insert(id, new);
                list.push((new, tree::column(own.0, ty)));
            }
            let next = Plan::Project { input: Box::new(plan), columns: list };
            whole = Some(match whole {
                None => (next, fresh),
                Some((before, before_names)) => {
                    self.union_all(context, (before, before_names), next, &columns)
                }
            });
        }
        let whole = whole.ok_or_else(|| Error::internal("grouping sets without a set"))?;
        Ok(self.named_as(whole, &columns))
    }

    /// A union with new names of its own under the names `columns`, by position.
    fn named_as(&self, (plan, fresh): Attached, columns: &[(ColumnId, DataType)]) -> Attached {
        let outputs = tree::output(&plan);
        let mut list: Vec<_> = columns
            .iter()
            .zip(&outputs)
            .map(|(&(id, ty), (inner, _))| (id, tree::column(*inner, ty)))
            .collect();
        list.extend(self.pass(&fresh));
        (Plan::Project { input: Box::new(plan), columns: list }, fresh)
    }

    fn union_all(
        &self,
        context: &mut Context<'_>,
        (before, _): Attached,
        next: Plan,
        columns: &[(ColumnId, DataType)],
    ) -> Attached {
        let mut list: Vec<_> = columns.iter().map(|&(_, ty)| (context.fresh(), ty)).collect();
        let mut names = Renaming::new();
        for &(id, ty) in &self.columns {
            let own = context.fresh();
            names.insert(id, own);
            list.push((own, ty));
        }
        let fixed = match before {
            Plan::Project { .. } => before,
            _ => {
                let outputs = tree::output(&before);
                tree::narrowed(before, &outputs)
            }
        };
        let plan = Plan::SetOperation {
            operator: SetOperator::Union,
            duplicates: Duplicates::Keep,
            left: Box::new(fixed),
            right: Box::new(next),
            columns: list,
        };
        (plan, names)
    }

    /// Equality of the domain's columns under two names, NULLs being equal.
    fn same(&self, a: &Renaming, b: &Renaming) -> Expr {
        let part = |&(id, ty): &(ColumnId, DataType)| {
            let (a, b) = (tree::column(a[&id], ty), tree::column(b[&id], ty));
            tree::compare(CompareOp::NotDistinct, a, b)
        };
        tree::and_all(self.columns.iter().map(part).collect())
    }

    fn attach_limit(
        &mut self,
        context: &mut Context<'_>,
        input: Plan,
        mut limit: Option<Expr>,
        mut offset: Option<Expr>,
    ) -> Result<Attached> {
        let outputs = tree::output(&input);
        // What orders the rows stays above the domain's.
        let (input, mut order) = take_order(input);
        let (input, names) = self.attach(context, input)?;
        tree::rename_keys(&mut order, &names);
        let input = if order.is_empty() {
            input
        } else {
            Plan::Sort { input: Box::new(input), keys: order }
        };
        limit.iter_mut().chain(&mut offset).for_each(|e| tree::rename_expr(e, &names));
        let keys = self.references(&names);
        let limited = limit_each(context, input, keys, limit, offset);
        let mut columns = outputs;
        columns.extend(self.named(&names));
        Ok((tree::narrowed(limited, &columns), names))
    }

    fn attach_set_operation(&mut self, context: &mut Context<'_>, plan: Plan) -> Result<Attached> {
        let Plan::SetOperation { operator, duplicates, left, right, mut columns } = plan else {
            return Err(Error::internal("a set operation was expected"));
        };
        let [left, right] = [left, right].map(|side| {
            let outputs = tree::output(&side);
            let (side, names) = self.attach(context, *side)?;
            let mut outputs: Vec<_> =
                outputs.into_iter().map(|(id, ty)| (id, tree::column(id, ty))).collect();
            outputs.extend(self.pass(&names));
            Ok(Box::new(Plan::Project { input: Box::new(side), columns: outputs }))
        });
        let mut names = Renaming::new();
        for &(id, ty) in &self.columns {
            let own = context.fresh();
            names.insert(id, own);
            columns.push((own, ty));
        }
        let (left, right): (Result<_>, Result<_>) = (left, right);
        let (left, right) = (left?, right?);
        Ok((Plan::SetOperation { operator, duplicates, left, right, columns }, names))
    }

    fn attach_join(&mut self, context: &mut Context<'_>, plan: Plan) -> Result<Attached> {
        let Plan::Join { left, right, kind, mut condition } = plan else {
            return Err(Error::internal("a join was expected"));
        };
        let lateral = kind == JoinKind::Each || tree::is_lateral(&left, &right);
        let in_right = self.touches(&right);
        if kind == JoinKind::Inner && !lateral && in_right && !self.touches(&left) {
            let (right, names) = self.attach(context, *right)?;
            tree::rename_expr(&mut condition, &names);
            return Ok((Plan::Join { left, right: Box::new(right), kind, condition }, names));
        }
        let (left, names) = self.attach(context, *left)?;
        tree::rename_expr(&mut condition, &names);
        let left = Box::new(left);
        if !in_right && kind != JoinKind::Full {
            return Ok((Plan::Join { left, right, kind, condition }, names));
        }
        if lateral {
            // The nested dependent join reads the outer columns from its left side from now on.
            let mut right = right;
            let map: HashMap<ColumnId, Expr> =
                self.columns.iter().map(|&(id, ty)| (id, tree::column(names[&id], ty))).collect();
            tree::substitute_in_plan(&mut right, &map);
            return Ok((Plan::Join { left, right, kind, condition }, names));
        }
        let (right, right_names) = self.attach(context, *right)?;
        let mut parts = tree::conjuncts(condition);
        tree::split_conjuncts(self.same(&names, &right_names), &mut parts);
        let condition = tree::and_all(parts);
        let join = Plan::Join { left, right: Box::new(right), kind, condition };
        if kind != JoinKind::Full {
            return Ok((join, names));
        }
        let hidden: ColumnSet =
            self.columns.iter().flat_map(|(id, _)| [names[id], right_names[id]]).collect();
        let mut columns: Vec<(ColumnId, Expr)> = tree::output(&join)
            .into_iter()
            .filter(|(id, _)| !hidden.contains(*id))
            .map(|(id, ty)| (id, tree::column(id, ty)))
            .collect();
        let mut merged = Renaming::new();
        for &(id, ty) in &self.columns {
            let own = context.fresh();
            let (a, b) = (tree::column(names[&id], ty), tree::column(right_names[&id], ty));
            columns.push((own, tree::coalesce(a, b)));
            merged.insert(id, own);
        }
        Ok((Plan::Project { input: Box::new(join), columns }, merged))
    }

    /// The recursion runs for all values at once: its rows carry the domain's columns.
    fn attach_recursive(&mut self, context: &mut Context<'_>, plan: Plan) -> Result<Attached> {
        let Plan::RecursiveWith { cte, name, duplicates, base, step, body } = plan else {
            return Err(Error::internal("a recursive CTE was expected"));
        };
        let correlated = self.touches(&base) || self.touches(&step);
        let (mut base, mut step) = (base, step);
        if correlated {
            let outputs = tree::output(&base);
            base = Box::new(self.positional(context, *base, &outputs)?);
            self.carriers.push(cte);
            let outputs = tree::output(&step);
            step = Box::new(self.positional(context, *step, &outputs)?);
        }
        let (body, names) = self.attach(context, *body)?;
        let body = Box::new(body);
        Ok((Plan::RecursiveWith { cte, name, duplicates, base, step, body }, names))
    }

    /// `plan` with its own columns in order, then the domain's.
    fn positional(
        &mut self,
        context: &mut Context<'_>,
        plan: Plan,
        outputs: &[(ColumnId, DataType)],
    ) -> Result<Plan> {
        let (plan, names) = self.attach(context, plan)?;
        let mut columns: Vec<_> =
            outputs.iter().map(|&(id, ty)| (id, tree::column(id, ty))).collect();
        columns.extend(self.pass(&names));
        Ok(Plan::Project { input: Box::new(plan), columns })
    }
}

/// An aggregation over the domain: plan, names of the domain, keys, calls, number of the set.
type Grouped =
    (Plan, Renaming, Vec<(ColumnId, DataType)>, Vec<(ColumnId, AggregateCall)>, Option<ColumnId>);

/// True for aggregates that are 0 and not NULL without rows.
pub(super) fn is_count(call: &AggregateCall) -> bool {
    matches!(call.function, AggregateFunction::Count | AggregateFunction::CountRows)
}

fn cross(left: Plan, right: Plan) -> Plan {
    let (left, right) = (Box::new(left), Box::new(right));
    Plan::Join { left, right, kind: JoinKind::Inner, condition: tree::truth(true) }
}

/// row_number() OVER (PARTITION BY `keys` ORDER BY `order_by`).
fn row_number(keys: Vec<Expr>, order_by: Vec<SortKey>) -> WindowCall {
    WindowCall {
        function: WindowFunction::RowNumber,
        arguments: Vec::new(),
        partition_by: keys,
        order_by,
        frame: WindowFrame {
            units: FrameUnits::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: FrameExclusion::NoOthers,
        },
        filter: None,
        ty: DataType::BigInt,
    }
}

/// LIMIT and OFFSET for each value of `keys`, in the order of a sort on top of `input`.
pub(super) fn limit_each(
    context: &mut Context<'_>,
    input: Plan,
    keys: Vec<Expr>,
    limit: Option<Expr>,
    offset: Option<Expr>,
) -> Plan {
    let outputs = tree::output(&input);
    let (input, order_by) = take_order(input);
    let number = context.fresh();
    let call = row_number(keys, order_by);
    let window = Plan::Window { input: Box::new(input), calls: vec![(number, call)] };
    let number = tree::column(number, DataType::BigInt);
    let zero = || tree::literal(Value::I64(0), DataType::BigInt);
    let start = offset.map(|e| tree::coalesce(e, zero()));
    let mut parts = Vec::new();
    if let Some(start) = &start {
        parts.push(tree::compare(CompareOp::Greater, number.clone(), start.clone()));
    }
    if let Some(limit) = limit {
        let last = match start {
            Some(start) => Expr {
                kind: sql::algebra::ExprKind::Call(Function::Add, vec![start, limit]),
                ty: DataType::BigInt,
            },
            None => limit,
        };
        // LIMIT NULL is no limit.
        let within = tree::compare(CompareOp::LessEqual, number, last.clone());
        parts.push(match last.kind {
            sql::algebra::ExprKind::Literal(ref value) if !value.is_null() => within,
            _ => tree::or_all(vec![tree::is_null(last), within]),
        });
    }
    tree::narrowed(tree::filtered(window, parts), &outputs)
}

/// The plan without the sort on top of it, which may stand below projections, and its keys.
fn take_order(plan: Plan) -> (Plan, Vec<SortKey>) {
    match plan {
        Plan::Sort { input, keys } => (*input, keys),
        Plan::Project { input, mut columns } => {
            let (input, keys) = take_order(*input);
            let kept: ColumnSet = columns.iter().map(|(id, _)| *id).collect();
            let mut read = ColumnSet::default();
            keys.iter().for_each(|key| tree::mention(&key.expr, &mut read));
            for (id, ty) in tree::output(&input) {
                if read.contains(id) && !kept.contains(id) {
                    columns.push((id, tree::column(id, ty)));
                }
            }
            (Plan::Project { input: Box::new(input), columns }, keys)
        }
        other => (other, Vec::new()),
    }
}
