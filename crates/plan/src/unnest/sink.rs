//! Predicates over outer columns go down before a right side is unnested.
//!
//! ```text
//! Filter b.k = a.k over Project 1 / b.x  ->  Project 1 / b.x over Filter b.k = a.k
//! ```
//! So a sub-query in FROM computes values that may fail for the rows alone that the outer row asks
//! for. Only these predicates move; others stay where they are.
//! Elsewhere: which right sides are computed behind their correlation (`pull::fails_beyond`), the
//! general push-down, which comes later (`push_down`).

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, JoinKind, Plan, SetOperator};

use crate::column_set::ColumnSet;
use crate::guard::{may_fail, plan_may_fail};
use crate::push_down::stronger;
use crate::tree;

/// `plan` with its predicates over `outer` columns as far down as they may go, where something in
/// it may fail.
pub(super) fn sink(plan: Plan, outer: &ColumnSet) -> Plan {
    if !plan_may_fail(&plan) {
        return plan;
    }
    Sink { outer }.go(plan, Vec::new())
}

/// Predicates on their way down.
#[derive(Clone, Copy)]
struct Sink<'a> {
    outer: &'a ColumnSet,
}

impl Sink<'_> {
    fn go(self, plan: Plan, predicates: Vec<Expr>) -> Plan {
        types::stack::deep(|| self.go_here(plan, predicates))
    }

    fn go_here(self, plan: Plan, predicates: Vec<Expr>) -> Plan {
        match plan {
            Plan::Filter { input, predicate } => self.filter(*input, predicate, predicates),
            Plan::Project { input, columns } => self.project(*input, columns, predicates),
            Plan::Sort { input, keys } => {
                Plan::Sort { input: Box::new(self.go(*input, predicates)), keys }
            }
            Plan::Aggregate { .. } => self.aggregate(plan, predicates),
            Plan::Distinct { input, on } => {
                let columns: ColumnSet = on.iter().filter_map(tree::as_column).collect();
                let free = |e: &Expr| on.is_empty() || self.inner(e).is_subset(&columns);
                let (down, stay) = predicates.into_iter().partition(free);
                let input = Box::new(self.go(*input, down));
                tree::filtered(Plan::Distinct { input, on }, stay)
            }
            Plan::Window { input, calls } => {
                let parts = calls.iter().map(|(_, call)| &call.partition_by);
                let keys: Vec<ColumnSet> =
                    parts.map(|part| part.iter().filter_map(tree::as_column).collect()).collect();
                let free = |e: &Expr| keys.iter().all(|set| self.inner(e).is_subset(set));
                let (down, stay) = predicates.into_iter().partition(free);
                let input = Box::new(self.go(*input, down));
                tree::filtered(Plan::Window { input, calls }, stay)
            }
            Plan::SetOperation { .. } => self.set_operation(plan, predicates),
            Plan::Limit { input, limit, offset } => {
                let input = Box::new(self.go(*input, Vec::new()));
                tree::filtered(Plan::Limit { input, limit, offset }, predicates)
            }
            Plan::Join { .. } => self.join(plan, predicates),
            leaf => tree::filtered(leaf, predicates),
        }
    }

    /// Columns of the right side that `expr` reads.
    fn inner(self, expr: &Expr) -> ColumnSet {
        tree::mentioned(expr).iter().filter(|id| !self.outer.contains(*id)).collect()
    }

    /// True for a predicate that may move: it compares with the outer row.
    fn moves(self, expr: &Expr) -> bool {
        tree::mentioned(expr).intersects(self.outer) && !tree::is_volatile(expr)
    }

    /// Keeps predicates that may fail behind the tests that were written below them.
    fn filter(self, input: Plan, predicate: Expr, above: Vec<Expr>) -> Plan {
        let (mut down, mut stay): (Vec<_>, Vec<_>) =
            tree::conjuncts(predicate).into_iter().partition(|e| self.moves(e));
        if !stay.is_empty() {
            let (last, first) = down.into_iter().partition::<Vec<_>, _>(may_fail);
            down = first;
            stay.extend(last);
        }
        let own = down.len();
        let (last, first) = above.into_iter().partition::<Vec<_>, _>(may_fail);
        down.extend(first);
        if stay.is_empty() {
            down.extend(last);
        } else {
            stay.extend(last);
        }
        // Others that may fail would go further down than the predicates that moved, behind which
        // they are to be tested.
        let moved: Vec<Expr> = down[..own].to_vec();
        if !moved.is_empty() {
            let failing = failing(&input);
            stay.iter_mut().filter(|e| self.is_loose(e, &failing)).for_each(|e| {
                let branches = vec![(tree::and_all(moved.clone()), tree::take_expr(e))];
                let otherwise = Box::new(tree::truth(false));
                *e = tree::boolean(ExprKind::Case { branches, otherwise });
            });
        }
        tree::filtered(self.go(input, down), stay)
    }

    /// True for a predicate over the right side alone that may fail, or reads what may.
    fn is_loose(self, expr: &Expr, failing: &ColumnSet) -> bool {
        (may_fail(expr) || tree::mentioned(expr).intersects(failing))
            && !tree::is_volatile(expr)
            && !tree::has_sub_query(expr)
            && !tree::mentioned(expr).intersects(self.outer)
    }

    fn project(self, input: Plan, columns: Vec<(ColumnId, Expr)>, predicates: Vec<Expr>) -> Plan {
        let mut map: HashMap<ColumnId, Expr> = HashMap::new();
        let mut fixed = ColumnSet::default();
        for (id, expr) in &columns {
            if tree::is_volatile(expr) || tree::has_sub_query(expr) {
                fixed.insert(*id);
            } else if tree::as_column(expr) != Some(*id) {
                map.insert(*id, expr.clone());
            }
        }
        let (stay, mut down): (Vec<_>, Vec<_>) =
            predicates.into_iter().partition(|e| tree::mentioned(e).intersects(&fixed));
        down.iter_mut().for_each(|e| tree::substitute(e, &map));
        let input = Box::new(self.go(input, down));
        tree::filtered(Plan::Project { input, columns }, stay)
    }

    fn aggregate(self, plan: Plan, predicates: Vec<Expr>) -> Plan {
        let Plan::Aggregate { input, keys, aggregates, grouping_sets, set_column } = plan else {
            return tree::filtered(plan, predicates);
        };
        let in_all = |i: usize| grouping_sets.iter().flatten().all(|set| set.contains(&i));
        let mut map: HashMap<ColumnId, Expr> = HashMap::new();
        for (i, (id, expr)) in keys.iter().enumerate() {
            if in_all(i) && !tree::is_volatile(expr) {
                map.insert(*id, expr.clone());
            }
        }
        let on_keys = |e: &Expr| {
            let columns = self.inner(e);
            !columns.is_empty() && columns.iter().all(|id| map.contains_key(&id))
        };
        let (mut down, stay): (Vec<_>, Vec<_>) = predicates.into_iter().partition(on_keys);
        down.iter_mut().for_each(|e| tree::substitute(e, &map));
        let input = Box::new(self.go(*input, down));
        let plan = Plan::Aggregate { input, keys, aggregates, grouping_sets, set_column };
        tree::filtered(plan, stay)
    }

    fn set_operation(self, plan: Plan, predicates: Vec<Expr>) -> Plan {
        let Plan::SetOperation { operator, duplicates, left, right, columns } = plan else {
            return tree::filtered(plan, predicates);
        };
        // Rows that EXCEPT takes away are not to be computed with.
        let is_except = operator == SetOperator::Except;
        let (stay, predicates): (Vec<_>, Vec<_>) =
            predicates.into_iter().partition(|e| is_except && may_fail(e));
        let sides = [(left, true), (right, !is_except)];
        let [left, right] = sides.map(|(side, sinks)| {
            let outputs = tree::output(&side);
            let names = columns
                .iter()
                .zip(outputs)
                .map(|((id, _), (inner, ty))| (*id, tree::column(inner, ty)));
            let names: HashMap<ColumnId, Expr> = names.collect();
            let mut down = if sinks { predicates.clone() } else { Vec::new() };
            down.iter_mut().for_each(|e| tree::substitute(e, &names));
            Box::new(self.go(*side, down))
        });
        tree::filtered(Plan::SetOperation { operator, duplicates, left, right, columns }, stay)
    }

    /// Each predicate goes to the side that it reads, where that leaves the same rows.
    fn join(self, plan: Plan, mut predicates: Vec<Expr>) -> Plan {
        let Plan::Join { mut left, mut right, kind, condition } = plan else {
            return tree::filtered(plan, predicates);
        };
        let (mut in_left, mut in_right) = (tree::output_set(&left), tree::output_set(&right));
        let mut kind = stronger(kind, &predicates, &in_left, &in_right);
        // Who unnests knows no right joins.
        if kind == JoinKind::Right {
            std::mem::swap(&mut left, &mut right);
            std::mem::swap(&mut in_left, &mut in_right);
            kind = JoinKind::Left;
        }
        let lateral = tree::is_lateral(&left, &right);
        let (mut moving, mut condition): (Vec<_>, Vec<_>) =
            tree::conjuncts(condition).into_iter().partition(|e| self.moves(e));
        if kind == JoinKind::Inner {
            predicates.append(&mut moving);
        }
        let reads = |e: &Expr, side: &ColumnSet| {
            let columns = self.inner(e);
            !columns.is_empty() && columns.is_subset(side)
        };
        let (mut to_left, mut to_right, mut above) = (Vec::new(), Vec::new(), Vec::new());
        for part in predicates {
            if kind != JoinKind::Full && reads(&part, &in_left) {
                to_left.push(part);
            } else if matches!(kind, JoinKind::Inner) && !lateral && reads(&part, &in_right) {
                to_right.push(part);
            } else {
                above.push(part);
            }
        }
        let inner_only = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        for part in moving {
            if inner_only && !lateral && reads(&part, &in_right) {
                to_right.push(part);
            } else {
                condition.push(part);
            }
        }
        let left = Box::new(self.go(*left, to_left));
        let right = Box::new(self.go(*right, to_right));
        let condition = tree::and_all(condition);
        tree::filtered(Plan::Join { left, right, kind, condition }, above)
    }
}

/// Columns that `plan` computes above its joins and groups by expressions that may fail.
fn failing(plan: &Plan) -> ColumnSet {
    match plan {
        Plan::Project { input, columns } => {
            let below = failing(input);
            let fails = |e: &Expr| may_fail(e) || tree::mentioned(e).intersects(&below);
            columns.iter().filter(|(_, e)| fails(e)).map(|(id, _)| *id).collect()
        }
        Plan::Filter { input, .. } | Plan::Sort { input, .. } => failing(input),
        Plan::Join { left, right, .. } => {
            let mut all = failing(left);
            all.union(&failing(right));
            all
        }
        _ => ColumnSet::default(),
    }
}
