//! Common table expressions: read once they are inlined, else computed once.
//!
//! A definition that is cheap to repeat (a filtered table) or correlated is copied to each place
//! with new column ids; every other one becomes a prelude of the query.
//!
//! Elsewhere: what readers' filters say of a prelude (`readers`).

mod readers;

use sql::algebra::{ColumnId, CteId, Expr, Plan};
use types::DataType;

use crate::context::{Context, Cte, CteBody};
use crate::tree;
pub(crate) use readers::filter_by_readers;

/// Removes every [`Plan::With`] of `plan`, those in sub-queries included.
pub(crate) fn resolve(context: &mut Context<'_>, plan: &mut Plan) {
    resolve_at(context, plan);
}

/// Outermost first: while a CTE is decided, all that reads it still stands in its body.
fn resolve_at(context: &mut Context<'_>, plan: &mut Plan) {
    types::stack::deep(|| resolve_at_here(context, plan))
}

fn resolve_at_here(context: &mut Context<'_>, plan: &mut Plan) {
    while matches!(plan, Plan::With { .. }) {
        let Plan::With { cte, mut definition, mut body, .. } = tree::take(plan) else {
            return;
        };
        resolve_at(context, &mut definition);
        let scans = weighted_scans(&body, cte);
        let correlated = !context.is_closed(&definition);
        let copied = (scans == 1 || is_cheap(&definition)) && !definition.is_volatile();
        if copied || correlated {
            let mut original = Some(*definition);
            inline(context, &mut body, cte, scans, &mut original);
        } else if scans > 0 {
            context.ctes.push(Cte {
                id: cte,
                body: CteBody::Plain(*definition),
                is_narrowed: false,
            });
        }
        *plan = *body;
    }
    tree::inputs_mut(plan, &mut |input| resolve_at(context, input));
    tree::exprs_mut(plan, &mut |expr| resolve_in(context, expr));
}

fn resolve_in(context: &mut Context<'_>, expr: &mut Expr) {
    tree::operands_mut(expr, &mut |operand| resolve_in(context, operand));
    if let Some(plan) = tree::sub_plan_mut(expr) {
        resolve_at(context, plan);
    }
}

/// Scans of `cte`, where one that recursion repeats counts twice.
fn weighted_scans(plan: &Plan, cte: CteId) -> usize {
    let mut count = tree::cte_scans(plan, cte);
    tree::every_plan(plan, &mut |p| {
        if let Plan::RecursiveWith { step, .. } = p {
            count += tree::cte_scans(step, cte);
        }
    });
    count
}

/// True when reading it again costs no more than keeping its rows.
pub(crate) fn is_cheap(plan: &Plan) -> bool {
    match plan {
        Plan::Scan { .. } => true,
        Plan::Values { rows, .. } => rows.len() <= 64,
        Plan::Filter { input, predicate } => is_cheap(input) && !tree::is_volatile(predicate),
        Plan::Project { input, columns } => {
            is_cheap(input) && columns.iter().all(|(_, e)| tree::as_column(e).is_some())
        }
        _ => false,
    }
}

/// Replaces scans of `cte` in `body` by its definition; the last one takes the original.
fn inline(
    context: &mut Context<'_>,
    body: &mut Plan,
    cte: CteId,
    mut left: usize,
    original: &mut Option<Plan>,
) {
    tree::every_plan_mut(body, &mut |plan| {
        let Plan::CteScan { cte: scanned, columns, .. } = plan else {
            return;
        };
        if *scanned != cte {
            return;
        }
        left = left.saturating_sub(1);
        let definition = if left == 0 {
            original.take()
        } else {
            original.as_ref().map(|definition| context.copy(definition).0)
        };
        if let Some(definition) = definition {
            *plan = renamed_output(definition, columns);
        }
    });
}

/// `definition` with its output, by position, named `columns`.
fn renamed_output(definition: Plan, columns: &[(ColumnId, DataType)]) -> Plan {
    let outputs = tree::output(&definition);
    let columns = columns
        .iter()
        .zip(outputs)
        .map(|(&(id, _), (inner, ty))| (id, tree::column(inner, ty)))
        .collect();
    Plan::Project { input: Box::new(definition), columns }
}

/// Makes every recursive CTE of `plan`, which has no sub-queries, a CTE of the query.
pub(crate) fn hoist_recursive(context: &mut Context<'_>, plan: &mut Plan) {
    tree::inputs_mut(plan, &mut |input| hoist_recursive(context, input));
    if !matches!(plan, Plan::RecursiveWith { .. }) {
        return;
    }
    if let Plan::RecursiveWith { cte, duplicates, base, step, body, .. } = tree::take(plan) {
        let recursive = CteBody::Recursive { duplicates, base: *base, step: *step };
        context.ctes.push(Cte { id: cte, body: recursive, is_narrowed: false });
        *plan = *body;
    }
}

/// Inlines the CTEs that are read once after all.
pub(crate) fn inline_single(context: &mut Context<'_>, root: &mut Plan) {
    let mut i = 0;
    while i < context.ctes.len() {
        let id = context.ctes[i].id;
        let inlinable =
            matches!(&context.ctes[i].body, CteBody::Plain(plan) if !plan.is_volatile());
        if inlinable && scans_anywhere(context, root, id) == 1 {
            let CteBody::Plain(definition) = context.ctes.remove(i).body else {
                return;
            };
            put(context, root, id, definition);
            i = 0;
        } else {
            i += 1;
        }
    }
}

fn scans_anywhere(context: &mut Context<'_>, root: &Plan, id: CteId) -> usize {
    let mut count = weighted_scans(root, id);
    count += context.scalars.iter().map(|plan| weighted_scans(plan, id)).sum::<usize>();
    for cte in &mut context.ctes {
        let weight = if matches!(cte.body, CteBody::Plain(_)) { 1 } else { 2 };
        cte.body.plans_mut(&mut |plan| count += weight * weighted_scans(plan, id));
    }
    count
}

/// Puts the definition where the only scan of `id` is.
fn put(context: &mut Context<'_>, root: &mut Plan, id: CteId, definition: Plan) {
    let mut original = Some(definition);
    let mut scalars = std::mem::take(&mut context.scalars);
    let mut ctes = std::mem::take(&mut context.ctes);
    inline(context, root, id, 1, &mut original);
    for plan in &mut scalars {
        inline(context, plan, id, 1, &mut original);
    }
    for cte in &mut ctes {
        cte.body.plans_mut(&mut |plan| inline(context, plan, id, 1, &mut original));
    }
    context.scalars = scalars;
    context.ctes = ctes;
}
