//! Calls whose order shows: nextval beside currval, routines that change something.

use plan::physical::{Expr, ExprKind};
use sql::algebra::Function;

use super::parts::each_child;

/// True when the values of `exprs` depend on which row is computed first, and which of them:
/// something changes what another call, or the same again, reads. nextval of different sequences
/// does not.
pub(crate) fn depend_on_order(exprs: &[Expr]) -> bool {
    let (mut sequences, mut others, mut changes) = (Vec::new(), 0, false);
    let mut note = |expr: &Expr| {
        let (function, arguments) = match &expr.kind {
            ExprKind::Sequence(_, function, arguments) => (*function, arguments),
            _ => return,
        };
        if !function.is_volatile() {
            return;
        }
        changes |= function.has_effects();
        match (function, &arguments[..]) {
            (Function::NextVal, [name]) if columns_are_none(name) => sequences.push(name.clone()),
            _ => others += 1,
        }
    };
    exprs.iter().for_each(|expr| each_node(expr, &mut note));
    let twice = |i: usize| sequences[..i].contains(&sequences[i]);
    let calls = sequences.len() + others;
    changes && calls > 1 && (others > 0 || (0..sequences.len()).any(twice))
}

fn columns_are_none(expr: &Expr) -> bool {
    super::columns_of(expr).is_empty()
}

fn each_node(expr: &Expr, note: &mut impl FnMut(&Expr)) {
    note(expr);
    each_child(&expr.kind, &mut |child| each_node(child, note));
}
