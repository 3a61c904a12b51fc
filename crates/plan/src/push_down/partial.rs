//! Partial push-down: what a disjunction over several inputs says of one of them.
//!
//! Source: Patel 2018, section 5.1. Departure: terms that lie on several tables of one side are
//! kept for that side, and relaxed further on the way down.

use sql::algebra::{Expr, ExprKind};

use crate::column_set::ColumnSet;
use crate::guard::may_fail;
use crate::tree;

/// The disjunction with everything not on `side` taken as TRUE; None when that leaves nothing.
pub(crate) fn relax(predicate: &Expr, side: &ColumnSet) -> Option<Expr> {
    let ExprKind::Or(terms) = &predicate.kind else {
        return None;
    };
    let mut relaxed = Vec::with_capacity(terms.len());
    for term in terms {
        let term = relax_term(term, side)?;
        if !relaxed.contains(&term) {
            relaxed.push(term);
        }
    }
    Some(tree::or_all(relaxed))
}

fn relax_term(term: &Expr, side: &ColumnSet) -> Option<Expr> {
    let columns = tree::mentioned(term);
    if !columns.is_empty() && columns.is_subset(side) {
        // A term that is not tested for every row may not raise errors for every row.
        return (!may_fail(term)).then(|| term.clone());
    }
    match &term.kind {
        ExprKind::And(parts) => {
            let kept: Vec<Expr> = parts.iter().filter_map(|part| relax_term(part, side)).collect();
            (!kept.is_empty()).then(|| tree::and_all(kept))
        }
        ExprKind::Or(_) => relax(term, side),
        _ => None,
    }
}
