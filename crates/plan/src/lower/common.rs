//! Expressions that occur more than once are computed once.
//!
//! Only what is evaluated in any case is shared: an expression that stands in the branches of CASE
//! alone might raise an error for rows that never reach it.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, Function, Plan};

use crate::context::Context;
use crate::fingerprint::fingerprint;
use crate::tree;

#[derive(Default)]
struct Seen {
    count: usize,
    unconditional: bool,
}

/// Rows that an expression is evaluated for: all or some.
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
    let mut marks = Vec::new();
    for (_, expr) in columns.iter() {
        count(expr, When::Always, &mut seen, &mut marks);
    }
    seen.retain(|_, seen| seen.count > 1 && seen.unconditional);
    if seen.is_empty() {
        return Vec::new();
    }
    let mut replacing = Replacing { context, seen, marks, at: 0, shared: Vec::new() };
    for (_, expr) in columns.iter_mut() {
        replacing.replace(expr);
    }
    replacing.shared.into_iter().map(|(_, id, expr)| (id, expr)).collect()
}

fn is_leaf(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_))
}

/// Facts about an expression from below, so that nobody looks at its operands again.
#[derive(Clone, Copy)]
struct Mark {
    print: u64,
    /// Expressions in it, itself included: the marks of one follow each other.
    size: usize,
    is_constant: bool,
    is_volatile: bool,
    is_leaf: bool,
}

impl Mark {
    /// Worth a column of its own: not a leaf, not constant, the same at each evaluation.
    fn is_candidate(&self) -> bool {
        !self.is_leaf && !self.is_constant && !self.is_volatile
    }
}

/// Marks `expr` and all of its operands, in the order in which they stand, and counts them.
fn count(expr: &Expr, when: When, seen: &mut HashMap<u64, Seen>, marks: &mut Vec<Mark>) -> Mark {
    let volatile = match &expr.kind {
        ExprKind::Call(function, _) => function.is_volatile(),
        _ => tree::sub_plan(expr).is_some_and(Plan::is_volatile),
    };
    let has_rows = matches!(expr.kind, ExprKind::Column(_)) || tree::sub_plan(expr).is_some();
    let mut mark = Mark {
        print: 0,
        size: 1,
        is_constant: !volatile && !has_rows,
        is_volatile: volatile,
        is_leaf: is_leaf(expr),
    };
    let place = marks.len();
    marks.push(mark);
    // Of these only the first operand is evaluated in any case.
    let guards = matches!(
        expr.kind,
        ExprKind::Case { .. }
            | ExprKind::Call(Function::Coalesce, _)
            | ExprKind::And(_)
            | ExprKind::Or(_)
    );
    let mut prints = Vec::new();
    tree::operands(expr, &mut |operand| {
        let is_first = prints.is_empty();
        let when = if guards && !is_first { When::Sometimes } else { when };
        let operand = count(operand, when, seen, marks);
        prints.push(operand.print);
        mark.size += operand.size;
        mark.is_constant &= operand.is_constant;
        mark.is_volatile |= operand.is_volatile;
    });
    mark.print = fingerprint(expr, &prints);
    marks[place] = mark;
    if mark.is_candidate() {
        let entry = seen.entry(mark.print).or_default();
        entry.count += 1;
        entry.unconditional |= when == When::Always;
    }
    mark
}

/// The second walk, which meets expressions in the order of their marks.
struct Replacing<'a, 'c> {
    context: &'a mut Context<'c>,
    seen: HashMap<u64, Seen>,
    marks: Vec<Mark>,
    at: usize,
    shared: Vec<(u64, ColumnId, Expr)>,
}

impl Replacing<'_, '_> {
    fn replace(&mut self, expr: &mut Expr) {
        let mark = self.marks[self.at];
        if !mark.is_candidate() || !self.seen.contains_key(&mark.print) {
            self.at += 1;
            tree::operands_mut(expr, &mut |operand| self.replace(operand));
            return;
        }
        self.at += mark.size;
        let same = |(print, _, e): &&(u64, ColumnId, Expr)| *print == mark.print && e == expr;
        let known = self.shared.iter().find(same).map(|(_, id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.context.fresh();
            self.shared.push((mark.print, id, expr.clone()));
            id
        });
        *expr = tree::column(id, expr.ty);
    }
}
