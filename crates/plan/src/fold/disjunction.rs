//! Conjuncts common to all terms of a disjunction come out of it, and equalities become IN lists.

use sql::algebra::{Expr, ExprKind};
use types::CompareOp;

use crate::tree;

/// The disjunction of `terms`, with what all have in common outside.
///
/// `(a AND b) OR (a AND c)` is `a AND (b OR c)` in three-valued logic too.
pub(crate) fn factor(terms: Vec<Expr>) -> Expr {
    if terms.len() < 2 {
        return tree::or_all(terms);
    }
    let mut split: Vec<Vec<Expr>> = terms.into_iter().map(tree::conjuncts).collect();
    let mut common = Vec::new();
    let mut i = 0;
    while i < split[0].len() {
        let candidate = &split[0][i];
        let everywhere = split[1..].iter().all(|parts| parts.contains(candidate));
        if everywhere && !tree::is_volatile(candidate) {
            let candidate = split[0].remove(i);
            split[1..].iter_mut().for_each(|parts| parts.retain(|part| *part != candidate));
            common.push(candidate);
        } else {
            i += 1;
        }
    }
    if split.iter().any(Vec::is_empty) {
        return tree::and_all(common);
    }
    let terms = merge_equalities(split.into_iter().map(tree::and_all).collect());
    common.push(tree::or_all(terms));
    let mut flat = Vec::new();
    common.into_iter().for_each(|part| tree::split_conjuncts(part, &mut flat));
    tree::and_all(flat)
}

/// `x = 1 OR x IN (2, 3)` is `x IN (1, 2, 3)`.
fn merge_equalities(terms: Vec<Expr>) -> Vec<Expr> {
    let mut out: Vec<Expr> = Vec::new();
    for term in terms {
        let (operand, items) = match as_list(term) {
            Ok(list) => list,
            Err(term) => {
                out.push(term);
                continue;
            }
        };
        let same = out.iter_mut().find_map(|e| match &mut e.kind {
            ExprKind::InList(o, list) if **o == operand => Some(list),
            _ => None,
        });
        match same {
            Some(list) => list.extend(items),
            None => out.push(tree::boolean(ExprKind::InList(Box::new(operand), items))),
        }
    }
    for term in &mut out {
        if matches!(&term.kind, ExprKind::InList(_, list) if list.len() == 1)
            && let ExprKind::InList(operand, mut list) = tree::take_expr(term).kind
        {
            *term = tree::compare(CompareOp::Equal, *operand, list.remove(0));
        }
    }
    out
}

fn as_list(term: Expr) -> Result<(Expr, Vec<Expr>), Expr> {
    let literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
    match term.kind {
        ExprKind::Compare(CompareOp::Equal, left, right)
            if literal(&right) && tree::as_column(&left).is_some() =>
        {
            Ok((*left, vec![*right]))
        }
        ExprKind::InList(operand, list)
            if list.iter().all(literal) && tree::as_column(&operand).is_some() =>
        {
            Ok((*operand, list))
        }
        kind => Err(tree::boolean(kind)),
    }
}
