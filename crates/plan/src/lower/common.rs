//! Expressions that occur more than once are computed once.
//!
//! Only what is evaluated in any case is shared: an expression that stands in the branches of CASE
//! alone might raise an error for rows that never reach it.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, Function};

use crate::context::Context;
use crate::fingerprint::fingerprint;
use crate::tree;

#[derive(Default)]
struct Seen {
    count: usize,
    unconditional: bool,
}

/// Whether an expression is evaluated for every row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Sometimes,
}

/// Takes the shared parts out of `columns`, which then refer to them; each is a column of a
/// projection below.
pub(crate) fn extract(
    context: &mut Context<'_>,
    columns: &mut [(ColumnId, Expr)],
) -> Vec<(ColumnId, Expr)> {
    if columns.iter().all(|(_, e)| is_leaf(e)) {
        return Vec::new();
    }
    let mut seen: HashMap<u64, Seen> = HashMap::new();
    columns.iter().for_each(|(_, e)| count(e, When::Always, &mut seen));
    seen.retain(|_, seen| seen.count > 1 && seen.unconditional);
    if seen.is_empty() {
        return Vec::new();
    }
    let mut shared: Vec<(u64, ColumnId, Expr)> = Vec::new();
    for (_, expr) in columns.iter_mut() {
        replace(context, expr, &seen, &mut shared);
    }
    shared.into_iter().map(|(_, id, expr)| (id, expr)).collect()
}

fn is_leaf(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_))
}

/// Worth a column of its own: not a leaf, not constant, the same at each evaluation.
fn is_candidate(expr: &Expr) -> bool {
    !is_leaf(expr) && !tree::is_constant(expr) && !tree::is_volatile(expr)
}

fn count(expr: &Expr, when: When, seen: &mut HashMap<u64, Seen>) {
    if is_leaf(expr) {
        return;
    }
    if is_candidate(expr) {
        let entry = seen.entry(fingerprint(expr)).or_default();
        entry.count += 1;
        entry.unconditional |= when == When::Always;
    }
    match &expr.kind {
        ExprKind::Case { branches, otherwise } => {
            for (i, (condition, result)) in branches.iter().enumerate() {
                count(condition, if i == 0 { when } else { When::Sometimes }, seen);
                count(result, When::Sometimes, seen);
            }
            count(otherwise, When::Sometimes, seen);
        }
        ExprKind::Call(Function::Coalesce, list) | ExprKind::And(list) | ExprKind::Or(list) => {
            for (i, part) in list.iter().enumerate() {
                count(part, if i == 0 { when } else { When::Sometimes }, seen);
            }
        }
        _ => tree::operands(expr, &mut |operand| count(operand, when, seen)),
    }
}

fn replace(
    context: &mut Context<'_>,
    expr: &mut Expr,
    seen: &HashMap<u64, Seen>,
    shared: &mut Vec<(u64, ColumnId, Expr)>,
) {
    if is_leaf(expr) {
        return;
    }
    let print = fingerprint(expr);
    if seen.contains_key(&print) && is_candidate(expr) {
        let known = shared.iter().find(|(p, _, e)| *p == print && e == expr).map(|(_, id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = context.fresh();
            shared.push((print, id, expr.clone()));
            id
        });
        *expr = tree::column(id, expr.ty);
        return;
    }
    tree::operands_mut(expr, &mut |operand| replace(context, operand, seen, shared));
}
