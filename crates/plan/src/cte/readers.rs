//! Filters of all readers of a CTE, joined by OR, become a filter of the CTE.
//!
//! ```text
//! WITH c AS (SELECT k, sum(v) FROM t GROUP BY k)
//! SELECT .. FROM c AS a JOIN c AS b .. WHERE a.k = 1 AND b.k = 2
//! -> c: SELECT k, sum(v) FROM t WHERE k = 1 OR k = 2 GROUP BY k        by push-down
//! ```
//! Rows that no reader lets pass need not be computed. Readers keep their filters. A reader without
//! one wants all rows. Filters that may fail, or that ask for a sub-query's value, stay where they
//! are: the sub-query may read the CTE itself.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, CteId, Expr, Plan};

use crate::context::{Context, CteBody};
use crate::guard::may_fail;
use crate::tree;

/// Readers of a CTE up to which their filters are joined: each row is tested by all of them.
const READERS_MAX: usize = 8;

/// Puts the readers' filters above the body of CTE number `at` of `context`; false when some reader
/// has none, and then nothing is changed. To be called once for each CTE, those that read it first.
pub(crate) fn filter_by_readers(context: &mut Context<'_>, root: &Plan, at: usize) -> bool {
    let id = context.ctes[at].id;
    if context.ctes[at].is_narrowed {
        return false;
    }
    context.ctes[at].is_narrowed = true;
    let CteBody::Plain(body) = &context.ctes[at].body else { return false };
    if body.is_volatile() {
        return false;
    }
    let output = tree::output(body);
    let Some(terms) = terms(context, root, id, &output) else { return false };
    if let CteBody::Plain(body) = &mut context.ctes[at].body {
        *body = tree::filtered(tree::take(body), vec![tree::or_all(terms)]);
    }
    true
}

/// Terms that the readers ask for, over the CTE's own output; None when one wants all rows.
fn terms(
    context: &Context<'_>,
    root: &Plan,
    id: CteId,
    output: &[(ColumnId, types::DataType)],
) -> Option<Vec<Expr>> {
    let bodies = context.ctes.iter().flat_map(|cte| cte.body.plans());
    let plans: Vec<&Plan> = bodies.chain(&context.scalars).chain([root]).collect();
    let (mut scans, mut filtered) = (0, 0);
    let mut terms: Vec<Expr> = Vec::new();
    for plan in plans {
        scans += tree::cte_scans(plan, id);
        tree::every_plan(plan, &mut |plan| {
            let Plan::Filter { input, predicate } = plan else { return };
            let Plan::CteScan { cte, columns, .. } = &**input else { return };
            if *cte != id {
                return;
            }
            let names: HashMap<ColumnId, Expr> = columns
                .iter()
                .zip(output)
                .map(|((id, _), (inner, ty))| (*id, tree::column(*inner, *ty)))
                .collect();
            let is_taken = |part: &Expr| {
                let columns = tree::mentioned(part);
                !columns.is_empty()
                    && columns.iter().all(|id| names.contains_key(&id))
                    && !tree::is_volatile(part)
                    && !may_fail(part)
                    && !asks_scalar(context, part)
            };
            let mut parts = tree::conjuncts(predicate.clone());
            parts.retain(is_taken);
            if parts.is_empty() {
                return;
            }
            filtered += 1;
            parts.iter_mut().for_each(|part| tree::substitute(part, &names));
            let term = tree::and_all(parts);
            if !terms.contains(&term) {
                terms.push(term);
            }
        });
    }
    (filtered > 0 && filtered == scans && terms.len() <= READERS_MAX).then_some(terms)
}

/// True when `expr` has the value of a sub-query, or a sub-query, in it.
fn asks_scalar(context: &Context<'_>, expr: &Expr) -> bool {
    if tree::sub_plan(expr).is_some() {
        return true;
    }
    if let sql::algebra::ExprKind::Parameter(number) = expr.kind {
        return context.scalar_index(number).is_some();
    }
    let mut found = false;
    tree::operands(expr, &mut |operand| found = found || asks_scalar(context, operand));
    found
}
