//! Joins along foreign keys become scans of a wide table.
//!
//! ```text
//! fact JOIN d1 ON fk = key JOIN d2 ...  ->  Scan wide, its columns under the ids of fact, d1, d2
//! ```
//! A foreign key leads each row to one row or, where it is NULL, to none: so the join with what it
//! leads to neither drops nor repeats rows but those with NULLs, and any part of the tables behind
//! a wide table can be read from it. A referenced table goes into the scan when the query joins it
//! by the very foreign key; its filters become filters of the scan. Whatever else the query joins
//! stays a join.
//!
//! Invariant: column ids stay, so nothing above the joins changes.
//! Elsewhere: which wide tables the snapshot may read ([`crate::Statistics::wide_tables`]); whether
//! the scan is cheaper (`planner`).
//! Source: Chasseur 2015, section 2.4; Patel et al. 2018, section 6.5.

use std::sync::Arc;

use sql::algebra::{ColumnId, Expr, ExprKind, JoinKind, Plan};
use sql::catalog::{TID_COLUMN, TableRef, WideDef};
use types::{CompareOp, DataType};

use crate::context::Context;
use crate::statistics::WideTable;
use crate::tree;

/// True when `plan` has a scan that a wide table may stand for.
pub(crate) fn has_candidates(context: &Context<'_>, plan: &Plan) -> bool {
    let (mut found, mut joins) = (false, false);
    every_node(plan, &mut |node| match node {
        Plan::Scan { table, .. } => {
            found |= is_fact(table) && !context.statistics.wide_tables(table).is_empty();
        }
        Plan::Join { .. } => joins = true,
        _ => {}
    });
    found && joins
}

/// True when `plan` is a part of a statement that changes or locks rows: what it finds is looked at
/// again in other snapshots, or it sees what the statement itself wrote.
pub(crate) fn is_of_write(plan: &Plan) -> bool {
    let mut found = false;
    every_node(plan, &mut |node| match node {
        Plan::Scan { columns, .. } => {
            found |= columns.iter().any(|(_, ordinal)| *ordinal == TID_COLUMN);
        }
        Plan::Input { .. } => found = true,
        _ => {}
    });
    found
}

/// Reads joins of `plan` from wide tables where that is possible; whether it was.
pub(crate) fn absorb(context: &Context<'_>, plan: &mut Plan) -> bool {
    let (mut any, mut skipped) = (false, 0);
    while let Some(fact) = fact_at(plan, skipped) {
        let mut best: Option<(usize, Plan)> = None;
        for wide in context.statistics.wide_tables(&fact) {
            let mut copy = plan.clone();
            let Some(mut absorbing) = Absorbing::begin(&wide, &mut copy, skipped) else { continue };
            absorbing.absorb(&mut copy);
            let count = absorbing.count();
            if count > best.as_ref().map_or(0, |(count, _)| *count) {
                best = Some((count, copy));
            }
        }
        match best {
            Some((_, read)) => {
                *plan = read;
                any = true;
            }
            None => skipped += 1,
        }
    }
    any
}

/// True when foreign keys lead from the table somewhere.
fn is_fact(table: &TableRef) -> bool {
    !table.foreign_keys().is_empty()
}

/// Calls `f` with each operator, outer ones first.
fn every_node<'p>(plan: &'p Plan, f: &mut dyn FnMut(&'p Plan)) {
    f(plan);
    tree::inputs(plan, &mut |input| every_node(input, f));
}

/// The table of the scan of a table with foreign keys that has `skipped` such scans before it.
fn fact_at(plan: &Plan, skipped: usize) -> Option<TableRef> {
    let (mut found, mut before) = (None, 0);
    every_node(plan, &mut |node| {
        if let Plan::Scan { table, .. } = node
            && is_fact(table)
        {
            if before == skipped {
                found = Some(table.clone());
            }
            before += 1;
        }
    });
    found
}

/// Puts `scan` in the place of the scan that [`fact_at`] finds.
fn replace_fact(plan: &mut Plan, left: &mut usize, scan: &mut dyn FnMut(&Plan) -> Option<Plan>) {
    if let Plan::Scan { table, .. } = plan
        && is_fact(table)
    {
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => {
                *left = usize::MAX;
                if let Some(replaced) = scan(plan) {
                    *plan = replaced;
                }
            }
        }
        return;
    }
    tree::inputs_mut(plan, &mut |input| replace_fact(input, left, scan));
}

/// True when the right side of a join does not depend on the left one.
fn are_apart(left: &Plan, right: &Plan) -> bool {
    !tree::is_lateral(left, right)
}

/// True for an inner join whose sides do not depend on each other.
fn is_inner(plan: &Plan) -> bool {
    match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, .. } => are_apart(left, right),
        _ => false,
    }
}

/// A column, perhaps widened from one integer type to a larger one.
fn key_column(expr: &Expr) -> Option<ColumnId> {
    let is_integer =
        |ty: DataType| matches!(ty, DataType::SmallInt | DataType::Integer | DataType::BigInt);
    match &expr.kind {
        ExprKind::Cast(inner) if is_integer(expr.ty) && is_integer(inner.ty) => {
            tree::as_column(inner)
        }
        _ => tree::as_column(expr),
    }
}

/// A table of the query that may go into the scan.
struct Dimension {
    table: TableRef,
    columns: Vec<(ColumnId, usize)>,
    filters: Vec<Expr>,
}

impl Dimension {
    /// The table that `plan` reads, perhaps through filters.
    fn of(plan: &Plan) -> Option<Self> {
        match plan {
            Plan::Scan { table, columns, .. } => {
                let (table, columns) = (table.clone(), columns.clone());
                Some(Self { table, columns, filters: Vec::new() })
            }
            Plan::Filter { input, predicate } if !tree::is_volatile(predicate) => {
                let mut dimension = Self::of(input)?;
                tree::split_conjuncts(predicate.clone(), &mut dimension.filters);
                Some(dimension)
            }
            _ => None,
        }
    }
}

/// The scan of a wide table while dimensions go into it.
struct Absorbing<'w> {
    wide: &'w WideTable,
    def: &'w WideDef,
    /// The scan's own: by its address it is told from other scans of the table.
    alias: Arc<str>,
    /// Nodes that the scan stands for.
    used: Vec<bool>,
}

impl<'w> Absorbing<'w> {
    /// Makes a scan of the fact table one of `wide`.
    fn begin(wide: &'w WideTable, plan: &mut Plan, skipped: usize) -> Option<Self> {
        let def = wide.table.wide()?;
        let alias: Arc<str> = Arc::from(wide.table.name());
        let mut done = false;
        replace_fact(plan, &mut skipped.clone(), &mut |scan| {
            let Plan::Scan { table, columns, .. } = scan else { return None };
            if wide.nodes.first() != Some(table) {
                return None;
            }
            let column = |&(id, ordinal): &(ColumnId, usize)| Some((id, def.column(0, ordinal)?));
            let columns = columns.iter().map(column).collect::<Option<_>>()?;
            done = true;
            Some(Plan::Scan { table: wide.table.clone(), columns, alias: Arc::clone(&alias) })
        });
        let mut used = vec![false; def.nodes.len()];
        *used.first_mut()? = true;
        done.then_some(Self { wide, def, alias, used })
    }

    /// Dimensions that the scan stands for.
    fn count(&self) -> usize {
        self.used.iter().filter(|used| **used).count() - 1
    }

    fn absorb(&mut self, plan: &mut Plan) {
        if is_inner(plan) {
            return self.absorb_inner(plan);
        }
        tree::inputs_mut(plan, &mut |input| self.absorb(input));
        if let Plan::Join { kind: JoinKind::Left | JoinKind::Semi, .. } = plan {
            self.absorb_right(plan);
        }
    }

    /// Absorbs the inputs of a tree of inner joins.
    fn absorb_inner(&mut self, plan: &mut Plan) {
        let (mut leaves, mut conjuncts) = (Vec::new(), Vec::new());
        self.flatten(tree::take(plan), &mut leaves, &mut conjuncts);
        if let Some(mut at) = leaves.iter_mut().position(|leaf| self.scan_mut(leaf).is_some()) {
            let mut other = 0;
            while other < leaves.len() {
                let dimension = if other == at { None } else { Dimension::of(&leaves[other]) };
                let filters = dimension.and_then(|dimension| {
                    let matched = self.matched(&mut leaves[at], &dimension, &mut conjuncts)?;
                    Some((matched, dimension.filters))
                });
                let Some((present, filters)) = filters else {
                    other += 1;
                    continue;
                };
                conjuncts.extend(present.into_iter().chain(filters));
                leaves.remove(other);
                at -= usize::from(at > other);
                // What was looked at before may be reached through it.
                other = 0;
            }
        }
        let join = |left: Plan, right: Plan| Plan::Join {
            left: Box::new(left),
            right: Box::new(right),
            kind: JoinKind::Inner,
            condition: tree::truth(true),
        };
        let joined = leaves.into_iter().reduce(join).unwrap_or_else(tree::one_row);
        *plan = tree::filtered(joined, conjuncts);
    }

    /// Takes a tree of inner joins apart.
    fn flatten(&mut self, mut plan: Plan, leaves: &mut Vec<Plan>, conjuncts: &mut Vec<Expr>) {
        match plan {
            Plan::Join { left, right, kind: JoinKind::Inner, condition }
                if are_apart(&left, &right) =>
            {
                self.flatten(*left, leaves, conjuncts);
                self.flatten(*right, leaves, conjuncts);
                tree::split_conjuncts(condition, conjuncts);
            }
            _ => {
                self.absorb(&mut plan);
                leaves.push(plan);
            }
        }
    }

    /// Absorbs the right side of a left or semi-join that has no other condition.
    fn absorb_right(&mut self, plan: &mut Plan) {
        let Plan::Join { left, right, kind, condition } = plan else { return };
        let Some(dimension) = Dimension::of(right) else { return };
        let keeps_left = *kind == JoinKind::Left;
        // A filter below a left join gives NULLs where it is false.
        if keeps_left && !dimension.filters.is_empty() {
            return;
        }
        let mut conjuncts = tree::conjuncts(condition.clone());
        let used = self.used.clone();
        let mut copy = left.clone();
        let Some(present) = self.matched(&mut copy, &dimension, &mut conjuncts) else { return };
        if !conjuncts.is_empty() {
            self.used = used;
            return;
        }
        let mut filters = dimension.filters;
        filters.extend(present);
        *plan = if keeps_left { *copy } else { tree::filtered(*copy, filters) };
    }

    /// The scan in `plan`, where each of its rows comes out at most once per row and none is
    /// followed by NULLs in its columns.
    fn scan_mut<'p>(&self, plan: &'p mut Plan) -> Option<&'p mut Vec<(ColumnId, usize)>> {
        match plan {
            Plan::Scan { alias, columns, .. } => Arc::ptr_eq(alias, &self.alias).then_some(columns),
            Plan::Filter { input, .. } => self.scan_mut(input),
            Plan::Join { left, right, kind, .. } => match kind {
                JoinKind::Inner => match self.scan_mut(left) {
                    Some(columns) => Some(columns),
                    None => self.scan_mut(right),
                },
                JoinKind::Left
                | JoinKind::Semi
                | JoinKind::Anti
                | JoinKind::Mark(_)
                | JoinKind::Single
                | JoinKind::Each => self.scan_mut(left),
                JoinKind::Right | JoinKind::Full => None,
            },
            _ => None,
        }
    }

    /// Lets the scan in `plan` stand for `dimension` if `conjuncts` join them by a foreign key:
    /// its equalities are taken out. What must hold of the scan's rows for them to match.
    fn matched(
        &mut self,
        plan: &mut Plan,
        dimension: &Dimension,
        conjuncts: &mut Vec<Expr>,
    ) -> Option<Vec<Expr>> {
        let scan = self.scan_mut(plan)?;
        let nodes = 1..self.def.nodes.len();
        let (node, mut equalities) = nodes
            .into_iter()
            .find_map(|node| Some((node, self.equalities(node, scan, dimension, conjuncts)?)))?;
        let column =
            |&(id, ordinal): &(ColumnId, usize)| Some((id, self.def.column(node, ordinal)?));
        let columns: Vec<_> = dimension.columns.iter().map(column).collect::<Option<_>>()?;
        let mut present = Vec::new();
        for &(_, id, ordinal) in &equalities {
            let column = &self.wide.table.columns()[ordinal];
            if !column.not_null {
                present.push(tree::negate(tree::is_null(tree::column(id, column.ty))));
            }
        }
        scan.extend(columns);
        self.used[node] = true;
        equalities.sort_unstable_by_key(|(at, _, _)| std::cmp::Reverse(*at));
        equalities.dedup_by_key(|(at, _, _)| *at);
        for (at, _, _) in equalities {
            conjuncts.remove(at);
        }
        Some(present)
    }

    /// The conjuncts that join `dimension` as node `node`, for each column of the foreign key one:
    /// its position, the referring column's id, and that column's ordinal in the wide table.
    fn equalities(
        &self,
        node: usize,
        scan: &[(ColumnId, usize)],
        dimension: &Dimension,
        conjuncts: &[Expr],
    ) -> Option<Vec<(usize, ColumnId, usize)>> {
        let link = self.def.nodes[node].link.as_ref()?;
        if self.used[node] || !self.used[link.from] || self.wide.nodes[node] != dimension.table {
            return None;
        }
        let mut found = Vec::new();
        for (&column, &key) in link.columns.iter().zip(&link.references) {
            let wanted = self.def.column(link.from, column)?;
            let is = |columns: &[(ColumnId, usize)], expr: &Expr, ordinal| {
                let id = key_column(expr)?;
                columns.contains(&(id, ordinal)).then_some(id)
            };
            let referring = |part: &Expr| match &part.kind {
                ExprKind::Compare(CompareOp::Equal, a, b) => {
                    let along =
                        is(scan, a, wanted).filter(|_| is(&dimension.columns, b, key).is_some());
                    along.or_else(|| {
                        is(scan, b, wanted).filter(|_| is(&dimension.columns, a, key).is_some())
                    })
                }
                _ => None,
            };
            let equality = conjuncts.iter().enumerate();
            let (at, id) = equality.filter_map(|(at, part)| Some((at, referring(part)?))).next()?;
            found.push((at, id, wanted));
        }
        Some(found)
    }
}
