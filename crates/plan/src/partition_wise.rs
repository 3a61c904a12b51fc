//! Grouping and joins partition by partition.
//!
//! ```text
//! group by k          Union All               a.k = b.k          Union All
//!     |         ->    /       \                /     \     ->     /      \
//!  t (by k)      group t1   group t2          a       b       a1 = b1   a2 = b2
//! ```
//! Rows of one key of a table are in one partition. Where that key is among the grouping keys, the
//! groups of a partition are final; where it is joined with the key of a table whose partitions
//! have the same bounds, rows meet in partitions of one number. What a partition needs is in memory
//! while it runs, and its tables of keys are as small as it is.
//!
//! Invariants: no two parts of a [`Split`] have rows that agree in its keys; columns above keep
//! their ids. Runs when joins are ordered; what costs more than the whole stays whole.
//! Elsewhere: which partitions a scan reads (`partitions`), part after part (`exec::set`).
//! Source: PostgreSQL 15, `README` of its optimizer, "Partitionwise joins". Departures: only the
//! partitions of the table itself count, not those below them; the cost decides, not a setting.

mod work;

use sql::algebra::partition::{Below, PartitionNode};
use sql::algebra::{AggregateCall, ColumnId, Duplicates, Expr, ExprKind, JoinKind, Plan};
use sql::algebra::{SetOperator, TableRef};
use types::DataType;

use crate::cardinality::{Estimator, split_condition};
use crate::context::{Context, Expansion};
use crate::tree::{self, Renaming};
use crate::{AggregatePlace, Technique};

/// A plan as the union of parts, one for each partition.
struct Split {
    /// The table that is partitioned, or one whose partitions have the same bounds.
    table: TableRef,
    /// For each column of the table's key the expressions, over columns of the whole, that have its
    /// value.
    keys: Vec<Vec<Expr>>,
    parts: Vec<Part>,
}

/// The rows of one partition.
struct Part {
    /// Its number among those of the table.
    number: usize,
    plan: Plan,
    /// Columns of the whole, and what they are called here.
    names: Renaming,
}

/// Makes unions over partitions of the groupings and joins of `root`, and of what it computes
/// first, where that costs less.
pub(crate) fn split_all(context: &mut Context<'_>, estimator: &mut Estimator, root: &mut Plan) {
    if context.expansions.is_empty() || !context.options.switches.has(Technique::PartitionWise) {
        return;
    }
    let mut splitting = Splitting { context, estimator };
    let mut scalars = std::mem::take(&mut splitting.context.scalars);
    scalars.iter_mut().for_each(|plan| splitting.improve(plan));
    splitting.context.scalars = scalars;
    let mut ctes = std::mem::take(&mut splitting.context.ctes);
    for cte in &mut ctes {
        cte.body.plans_mut(&mut |plan| splitting.improve(plan));
    }
    splitting.context.ctes = ctes;
    splitting.improve(root);
}

struct Splitting<'a, 'b> {
    context: &'a mut Context<'b>,
    estimator: &'a mut Estimator,
}

/// True for an expression that gives the same wherever and however often it is computed.
fn is_plain(expr: &Expr) -> bool {
    !tree::is_volatile(expr) && !tree::has_effects(expr) && !tree::has_sub_query(expr)
}

/// The expression without a cast that changes no value.
fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(inner)
            if expr.ty == DataType::Text && matches!(inner.ty, DataType::Varchar(_)) =>
        {
            inner
        }
        _ => expr,
    }
}

fn renamed(expr: &Expr, names: &Renaming) -> Expr {
    let mut expr = expr.clone();
    tree::rename_expr(&mut expr, names);
    expr
}

/// `keys` over the columns that are made of `columns`; those that are lost are left out.
fn keys_above(keys: &[Vec<Expr>], columns: &[(ColumnId, Expr)]) -> Vec<Vec<Expr>> {
    let above = |key: &Expr| -> Option<Expr> {
        if let Some((id, _)) = columns.iter().find(|(_, expr)| bare(expr) == key) {
            return Some(tree::column(*id, key.ty));
        }
        let mut names = Renaming::new();
        for id in tree::mentioned(key).iter() {
            let passed = columns.iter().find(|(_, expr)| tree::as_column(bare(expr)) == Some(id));
            names.insert(id, passed?.0);
        }
        (!names.is_empty()).then(|| renamed(key, &names))
    };
    keys.iter().map(|same| same.iter().filter_map(above).collect()).collect()
}

/// True when partitions of one number have the same bounds.
fn is_alike(a: &PartitionNode, b: &PartitionNode) -> bool {
    let bounds = |node: &PartitionNode| node.parts.iter().map(|p| p.bound.clone()).collect();
    let (first, second): (Vec<_>, Vec<_>) = (bounds(a), bounds(b));
    a.strategy == b.strategy && a.types() == b.types() && first == second
}

/// The tables with rows below a partition, by number.
fn leaves_of(below: &Below, out: &mut Vec<usize>) {
    match below {
        Below::Leaf(number) => out.push(*number),
        Below::Node(node) => node.parts.iter().for_each(|part| leaves_of(&part.below, out)),
    }
}

/// The plans under unions.
fn members<'p>(plan: &'p Plan, out: &mut Vec<&'p Plan>) {
    match plan {
        Plan::SetOperation {
            operator: SetOperator::Union,
            duplicates: Duplicates::Keep,
            left,
            right,
            ..
        } => {
            members(left, out);
            members(right, out);
        }
        plan => out.push(plan),
    }
}

impl Splitting<'_, '_> {
    /// Splits what costs less in parts, the outermost first.
    fn improve(&mut self, plan: &mut Plan) {
        types::stack::deep(|| self.improve_here(plan));
    }

    fn improve_here(&mut self, plan: &mut Plan) {
        let may_gain = matches!(plan, Plan::Aggregate { .. } | Plan::Distinct { .. })
            || matches!(plan, Plan::Join { .. });
        if may_gain
            && let Some(split) = self.split(plan)
            && let Some(union) = self.union(&tree::output(plan), split)
        {
            let early = self.context.options.aggregate_place == AggregatePlace::Early;
            if early || self.work(&union) < self.work(plan) {
                *plan = union;
                return;
            }
        }
        tree::inputs_mut(plan, &mut |input| self.improve(input));
    }

    /// The rows of `plan` by partitions.
    fn split(&mut self, plan: &Plan) -> Option<Split> {
        match plan {
            Plan::SetOperation { .. } => self.expanded(plan),
            Plan::Filter { input, predicate } if is_plain(predicate) => {
                let mut split = self.split(input)?;
                for part in &mut split.parts {
                    let predicate = renamed(predicate, &part.names);
                    part.plan =
                        Plan::Filter { input: Box::new(tree::take(&mut part.plan)), predicate };
                }
                Some(split)
            }
            Plan::Project { input, columns } if columns.iter().all(|(_, e)| is_plain(e)) => {
                let split = self.split(input)?;
                let keys = keys_above(&split.keys, columns);
                let parts = split.parts.into_iter().map(|part| {
                    let own = self.own(columns, &part.names);
                    let names = columns.iter().zip(&own).map(|((id, _), (own, _))| (*id, *own));
                    let names = names.collect();
                    let plan = Plan::Project { input: Box::new(part.plan), columns: own };
                    Part { plan, names, ..part }
                });
                Some(Split { table: split.table, keys, parts: parts.collect() })
            }
            Plan::Join { .. } => self.joined(plan),
            Plan::Aggregate { .. } => self.grouped(plan),
            Plan::Distinct { input, on } if on.is_empty() => {
                let mut split = self.split(input)?;
                let is_column = |key: &Expr| tree::as_column(key).is_some();
                let has_keys = split.keys.iter().all(|same| same.iter().any(is_column));
                let columns = tree::output(input);
                for part in &mut split.parts {
                    let own = |&(id, ty): &(ColumnId, DataType)| Some((*part.names.get(&id)?, ty));
                    let own: Vec<_> = columns.iter().map(own).collect::<Option<_>>()?;
                    let input = Box::new(tree::narrowed(tree::take(&mut part.plan), &own));
                    part.plan = Plan::Distinct { input, on: Vec::new() };
                }
                has_keys.then_some(split)
            }
            _ => None,
        }
    }

    /// The table along whose partitions [`Self::split`] may split `plan`; copies nothing.
    fn divided(&self, plan: &Plan) -> Option<&TableRef> {
        match plan {
            Plan::SetOperation { .. } => self.expansion_of(plan).map(|of| &of.table),
            Plan::Filter { input, .. }
            | Plan::Project { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Distinct { input, .. } => self.divided(input),
            Plan::Join { left, right, .. } => self.divided(right).and_then(|_| self.divided(left)),
            _ => None,
        }
    }

    /// The partitioned table that `plan` scans.
    fn expansion_of(&self, plan: &Plan) -> Option<&Expansion> {
        let Plan::SetOperation { columns, .. } = plan else { return None };
        let is_of = |id: &ColumnId| columns.iter().any(|(own, _)| own == id);
        self.context.expansions.iter().find(|e| e.columns.iter().any(|(id, _)| is_of(id)))
    }

    /// Columns of a part that are made as `columns` are of the whole, under new ids.
    fn own(&mut self, columns: &[(ColumnId, Expr)], names: &Renaming) -> Vec<(ColumnId, Expr)> {
        columns.iter().map(|(_, expr)| (self.context.fresh(), renamed(expr, names))).collect()
    }

    /// The scan of a partitioned table.
    fn expanded(&mut self, plan: &Plan) -> Option<Split> {
        let Plan::SetOperation { columns, .. } = plan else { return None };
        let is_of = |id: &ColumnId| columns.iter().any(|(own, _)| own == id);
        let expansion = self.expansion_of(plan)?;
        let (table, leaves) = (expansion.table.clone(), expansion.leaves.clone());
        let ordinals: Renaming = expansion
            .columns
            .iter()
            .filter(|(id, _)| is_of(id))
            .map(|(id, ordinal)| (ColumnId(*ordinal as u32), *id))
            .collect();
        let root = &table.partitions()?.root;
        let has_all = |key: &Expr| tree::mentioned(key).iter().all(|id| ordinals.contains_key(&id));
        if !root.keys.iter().all(has_all) {
            return None;
        }
        let keys = root.keys.iter().map(|key| vec![renamed(key, &ordinals)]).collect();
        let mut plans = Vec::new();
        members(plan, &mut plans);
        if plans.len() != leaves.len() {
            return None;
        }
        let mut parts = Vec::new();
        for (number, part) in root.parts.iter().enumerate() {
            let mut below = Vec::new();
            leaves_of(&part.below, &mut below);
            let own = leaves.iter().zip(&plans).filter(|(leaf, _)| below.contains(leaf));
            let own: Vec<Plan> = own.map(|(_, plan)| (*plan).clone()).collect();
            if own.is_empty() {
                continue;
            }
            let plan = self.all(own, columns);
            let inner = tree::output(&plan);
            let names = columns.iter().zip(inner).map(|((id, _), (own, _))| (*id, own)).collect();
            parts.push(Part { number, plan, names });
        }
        Some(Split { table, keys, parts })
    }

    /// The rows of `plans`, whose columns are those of `columns` in order, under ids of its own.
    fn all(&mut self, mut plans: Vec<Plan>, columns: &[(ColumnId, DataType)]) -> Plan {
        if plans.len() < 2 {
            return plans.pop().unwrap_or_else(tree::one_row);
        }
        // Halves keep the tree of unions low.
        let rest = plans.split_off(plans.len() / 2);
        let left = Box::new(self.all(plans, columns));
        let right = Box::new(self.all(rest, columns));
        let columns = columns.iter().map(|(_, ty)| (self.context.fresh(), *ty)).collect();
        let (operator, duplicates) = (SetOperator::Union, Duplicates::Keep);
        Plan::SetOperation { operator, duplicates, left, right, columns }
    }

    /// A join along the keys of both sides.
    fn joined(&mut self, plan: &Plan) -> Option<Split> {
        let Plan::Join { left, right, kind, condition } = plan else { return None };
        let is_meant = matches!(
            kind,
            JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Semi | JoinKind::Anti
        );
        if !is_meant || !is_plain(condition) || tree::is_lateral(left, right) {
            return None;
        }
        if !is_alike(
            &self.divided(left)?.partitions()?.root,
            &self.divided(right)?.partitions()?.root,
        ) {
            return None;
        }
        let (a, b) = (self.split(left)?, self.split(right)?);
        let (in_left, in_right) = (tree::output_set(left), tree::output_set(right));
        let (pairs, _) = split_condition(condition, &in_left, &in_right);
        let is_joined = |(a, b): (&Vec<Expr>, &Vec<Expr>)| {
            let are = |left: &Expr, right: &Expr| a.contains(left) && b.contains(right);
            pairs.iter().any(|pair| are(bare(pair.left), bare(pair.right)))
        };
        if !a.keys.iter().zip(&b.keys).all(is_joined) {
            return None;
        }
        let has = |split: &Split, number| split.parts.iter().any(|part| part.number == number);
        let covers = |a: &Split, b: &Split| a.parts.iter().all(|part| has(b, part.number));
        let is_whole = match kind {
            JoinKind::Inner => true,
            JoinKind::Full => covers(&a, &b) && covers(&b, &a),
            _ => covers(&a, &b),
        };
        if !is_whole {
            return None;
        }
        let keys = match kind {
            JoinKind::Inner => {
                a.keys.into_iter().zip(b.keys).map(|(a, b)| [a, b].concat()).collect()
            }
            // Rows without a partner have NULL on the other side.
            JoinKind::Full => vec![Vec::new(); a.keys.len()],
            _ => a.keys,
        };
        let mut others = b.parts;
        let mut parts = Vec::new();
        for part in a.parts {
            let Some(at) = others.iter().position(|other| other.number == part.number) else {
                continue;
            };
            let other = others.swap_remove(at);
            let mut names = part.names;
            names.extend(other.names);
            let condition = renamed(condition, &names);
            let (left, right) = (Box::new(part.plan), Box::new(other.plan));
            let plan = Plan::Join { left, right, kind: *kind, condition };
            parts.push(Part { number: part.number, plan, names });
        }
        Some(Split { table: a.table, keys, parts })
    }

    /// A grouping by the keys of its input, and maybe others.
    fn grouped(&mut self, plan: &Plan) -> Option<Split> {
        let Plan::Aggregate { input, keys, aggregates, grouping_sets: None, .. } = plan else {
            return None;
        };
        let is_plain_call = |call: &AggregateCall| {
            let mut plain = true;
            tree::aggregate_exprs(call, &mut |expr| plain &= is_plain(expr));
            plain
        };
        let plain = keys.iter().all(|(_, expr)| is_plain(expr));
        if keys.is_empty() || !plain || !aggregates.iter().all(|(_, call)| is_plain_call(call)) {
            return None;
        }
        let split = self.split(input)?;
        // Values that are equal may differ in what an expression makes of them.
        let is_key = |key: &Expr| keys.iter().any(|(_, expr)| bare(expr) == key);
        if !split.keys.iter().all(|same| same.iter().any(is_key)) {
            return None;
        }
        let above = keys_above(&split.keys, keys);
        let parts = split.parts.into_iter().map(|part| {
            let own = self.own(keys, &part.names);
            let calls: Vec<(ColumnId, AggregateCall)> = aggregates
                .iter()
                .map(|(_, call)| {
                    let mut call = call.clone();
                    let rename = &mut |expr: &mut Expr| tree::rename_expr(expr, &part.names);
                    tree::aggregate_exprs_mut(&mut call, rename);
                    (self.context.fresh(), call)
                })
                .collect();
            let ids = keys.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id));
            let inner = own.iter().map(|(id, _)| *id).chain(calls.iter().map(|(id, _)| *id));
            let names = ids.zip(inner).collect();
            let plan = Plan::Aggregate {
                input: Box::new(part.plan),
                keys: own,
                aggregates: calls,
                grouping_sets: None,
                set_column: None,
            };
            Part { number: part.number, plan, names }
        });
        Some(Split { table: split.table, keys: above, parts: parts.collect() })
    }

    /// The rows of all parts, under the ids `columns` of the whole; None when a part lacks one, or
    /// there is no part.
    fn union(&mut self, columns: &[(ColumnId, DataType)], split: Split) -> Option<Plan> {
        let mut plans = Vec::with_capacity(split.parts.len());
        for part in split.parts {
            let mut own = Vec::with_capacity(columns.len());
            for (id, ty) in columns {
                own.push((self.context.fresh(), tree::column(*part.names.get(id)?, *ty)));
            }
            plans.push(Plan::Project { input: Box::new(part.plan), columns: own });
        }
        if plans.is_empty() {
            return None;
        }
        let mut plan = self.all(plans, columns);
        match &mut plan {
            Plan::SetOperation { columns: own, .. } => *own = columns.to_vec(),
            Plan::Project { columns: own, .. } => {
                own.iter_mut().zip(columns).for_each(|((own, _), (id, _))| *own = *id);
            }
            _ => {}
        }
        Some(plan)
    }
}
