//! Second copies of expressions: sub-queries in them get columns of their own.

use std::collections::HashMap;

use super::{Binder, Bound};
use crate::algebra::{ColumnId, CteId, Expr, ExprKind, JoinKind, Plan};

/// Old ids to new ones.
#[derive(Default)]
struct Renaming {
    columns: HashMap<ColumnId, ColumnId>,
    ctes: HashMap<CteId, CteId>,
}

impl Binder<'_> {
    /// A copy of `bound`: column ids stay unique in the query although a sub-query now stands in it
    /// twice.
    pub(super) fn refreshed(&mut self, bound: &Bound) -> Bound {
        let mut copy = bound.clone();
        self.refresh_expr(&mut copy.expr);
        copy
    }

    fn refresh_expr(&mut self, expr: &mut Expr) {
        expr.each_child_mut(&mut |child| self.refresh_expr(child));
        if let Some(plan) = expr.subquery_mut() {
            let mut renaming = Renaming::default();
            self.define(plan, &mut renaming);
            rename_plan(plan, &renaming);
        }
    }

    /// Gives every column and CTE that `plan` makes a new id.
    fn define(&mut self, plan: &Plan, renaming: &mut Renaming) {
        for id in made(plan) {
            let fresh = self.fresh();
            renaming.columns.insert(id, fresh);
        }
        if let Plan::With { cte, .. } | Plan::RecursiveWith { cte, .. } = plan {
            let fresh = self.fresh_cte();
            renaming.ctes.insert(*cte, fresh);
        }
        plan.each_expr(&mut |expr| self.define_in(expr, renaming));
        for input in plan.inputs() {
            self.define(input, renaming);
        }
    }

    fn define_in(&mut self, expr: &Expr, renaming: &mut Renaming) {
        expr.each_child(&mut |child| self.define_in(child, renaming));
        if let Some(plan) = expr.subquery() {
            self.define(plan, renaming);
        }
    }
}

/// The columns that this operator itself makes.
fn made(plan: &Plan) -> Vec<ColumnId> {
    match plan {
        Plan::Scan { columns, .. } | Plan::FunctionScan { columns, .. } => {
            columns.iter().map(|(id, _)| *id).collect()
        }
        Plan::Input { columns, .. } => columns.iter().map(|column| column.id).collect(),
        Plan::Series { column, .. } => vec![column.0],
        Plan::Values { columns, .. }
        | Plan::SetOperation { columns, .. }
        | Plan::CteScan { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
        Plan::Project { columns, .. } => columns
            .iter()
            .filter(|(id, expr)| expr.as_column() != Some(*id))
            .map(|(id, _)| *id)
            .collect(),
        Plan::Aggregate { keys, aggregates, set_column, .. } => {
            let keys = keys.iter().map(|(id, _)| *id);
            keys.chain(aggregates.iter().map(|(id, _)| *id)).chain(*set_column).collect()
        }
        Plan::Window { calls, .. } => calls.iter().map(|(id, _)| *id).collect(),
        Plan::Join { kind: JoinKind::Mark(id), .. } => vec![*id],
        Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::Distinct { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::With { .. }
        | Plan::RecursiveWith { .. } => Vec::new(),
    }
}

fn rename_plan(plan: &mut Plan, renaming: &Renaming) {
    let rename = |id: &mut ColumnId| {
        if let Some(fresh) = renaming.columns.get(id) {
            *id = *fresh;
        }
    };
    match plan {
        Plan::Scan { columns, .. } | Plan::FunctionScan { columns, .. } => {
            columns.iter_mut().for_each(|(id, _)| rename(id));
        }
        Plan::Input { columns, .. } => columns.iter_mut().for_each(|c| rename(&mut c.id)),
        Plan::Series { column, .. } => rename(&mut column.0),
        Plan::Values { columns, .. }
        | Plan::SetOperation { columns, .. }
        | Plan::CteScan { columns, .. } => columns.iter_mut().for_each(|(id, _)| rename(id)),
        Plan::Project { columns, .. } => columns.iter_mut().for_each(|(id, _)| rename(id)),
        Plan::Aggregate { keys, aggregates, set_column, .. } => {
            keys.iter_mut().for_each(|(id, _)| rename(id));
            aggregates.iter_mut().for_each(|(id, _)| rename(id));
            set_column.iter_mut().for_each(rename);
        }
        Plan::Window { calls, .. } => calls.iter_mut().for_each(|(id, _)| rename(id)),
        Plan::Join { kind: JoinKind::Mark(id), .. } => rename(id),
        _ => {}
    }
    if let Plan::With { cte, .. } | Plan::RecursiveWith { cte, .. } | Plan::CteScan { cte, .. } =
        plan
        && let Some(fresh) = renaming.ctes.get(cte)
    {
        *cte = *fresh;
    }
    plan.each_expr_mut(&mut |expr| rename_expr(expr, renaming));
    for input in plan.inputs_mut() {
        rename_plan(input, renaming);
    }
}

fn rename_expr(expr: &mut Expr, renaming: &Renaming) {
    if let ExprKind::Column(id) = &mut expr.kind
        && let Some(fresh) = renaming.columns.get(id)
    {
        *id = *fresh;
    }
    expr.each_child_mut(&mut |child| rename_expr(child, renaming));
    if let Some(plan) = expr.subquery_mut() {
        rename_plan(plan, renaming);
    }
}
