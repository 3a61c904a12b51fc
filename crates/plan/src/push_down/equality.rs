//! Equal columns share their predicates.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, Function};
use types::{CompareOp, DataType};

use crate::column_set::ColumnSet;
use crate::tree;

/// Classes of equal columns.
#[derive(Default)]
pub(crate) struct Classes {
    parent: HashMap<ColumnId, ColumnId>,
    types: HashMap<ColumnId, DataType>,
}

impl Classes {
    /// Notes the equality that `part` is, if it is one of two columns of one type.
    pub(crate) fn note(&mut self, part: &Expr) {
        let ExprKind::Compare(CompareOp::Equal, a, b) = &part.kind else {
            return;
        };
        if let Some((x, y)) = tree::as_column(a).zip(tree::as_column(b)).filter(|_| a.ty == b.ty) {
            self.types.insert(x, a.ty);
            self.types.insert(y, b.ty);
            let (x, y) = (self.root(x), self.root(y));
            if x != y {
                self.parent.insert(x.max(y), x.min(y));
            }
        }
    }

    fn root(&self, mut id: ColumnId) -> ColumnId {
        while let Some(parent) = self.parent.get(&id) {
            id = *parent;
        }
        id
    }

    /// The other columns equal to `id`.
    pub(crate) fn equals(&self, id: ColumnId) -> Vec<(ColumnId, DataType)> {
        if !self.types.contains_key(&id) {
            return Vec::new();
        }
        let root = self.root(id);
        let mut out: Vec<_> = self
            .types
            .iter()
            .filter(|(other, _)| **other != id && self.root(**other) == root)
            .map(|(other, ty)| (*other, *ty))
            .collect();
        out.sort_unstable_by_key(|(id, _)| *id);
        out
    }
}

/// The column that a simple restriction is about: a comparison or list of constants.
fn restricted(part: &Expr) -> Option<ColumnId> {
    let simple = match &part.kind {
        ExprKind::Compare(op, a, b) => {
            let plain = !matches!(op, CompareOp::Distinct | CompareOp::NotDistinct);
            plain && (tree::is_constant(a) || tree::is_constant(b))
        }
        ExprKind::InList(_, list) => list.iter().all(tree::is_constant),
        ExprKind::Call(Function::AnyElement(CompareOp::Equal), list) => {
            list.get(1).is_some_and(tree::is_constant)
        }
        _ => false,
    };
    let columns = tree::mentioned(part);
    let only = columns.iter().next().filter(|_| simple && columns.len() == 1)?;
    let direct = match &part.kind {
        ExprKind::Compare(_, a, b) => {
            tree::as_column(a) == Some(only) || tree::as_column(b) == Some(only)
        }
        ExprKind::InList(operand, _) => tree::as_column(operand) == Some(only),
        ExprKind::Call(_, list) => list.first().and_then(tree::as_column) == Some(only),
        _ => false,
    };
    direct.then_some(only)
}

fn moved(part: &Expr, from: ColumnId, to: ColumnId) -> Expr {
    let mut copy = part.clone();
    tree::rename_expr(&mut copy, &std::iter::once((from, to)).collect());
    copy
}

/// Adds restrictions that equalities carry from one side of an inner join to the other.
pub(crate) fn derive(pool: &mut Vec<Expr>, in_left: &ColumnSet, in_right: &ColumnSet) {
    let mut classes = Classes::default();
    pool.iter().for_each(|part| classes.note(part));
    let mut derived: Vec<Expr> = Vec::new();
    for part in pool.iter() {
        let Some(id) = restricted(part) else { continue };
        for (other, _) in classes.equals(id) {
            let copy = moved(part, id, other);
            let known = pool.contains(&copy) || derived.contains(&copy);
            if !known && (in_left.contains(other) || in_right.contains(other)) {
                derived.push(copy);
            }
        }
    }
    pool.append(&mut derived);
}

/// Adds to a condition the restrictions of the right side that follow from it and from what is
/// `known` of the left rows.
pub(crate) fn derive_right(
    condition: &mut Vec<Expr>,
    known: &[Expr],
    in_left: &ColumnSet,
    in_right: &ColumnSet,
) {
    let mut classes = Classes::default();
    condition.iter().for_each(|part| classes.note(part));
    let mut derived: Vec<Expr> = Vec::new();
    for part in known.iter().chain(condition.iter()) {
        let Some(id) = restricted(part).filter(|id| in_left.contains(*id)) else {
            continue;
        };
        for (other, _) in classes.equals(id) {
            let copy = moved(part, id, other);
            if in_right.contains(other) && !condition.contains(&copy) && !derived.contains(&copy) {
                derived.push(copy);
            }
        }
    }
    condition.append(&mut derived);
}
