//! Rows and cost of the join of two sets of relations.

use sql::algebra::{Expr, JoinKind};
use types::DataType;

use super::cluster::{Cluster, Edge, Relations};
use crate::properties::Properties;
use crate::{cost, tree};

/// Size of a direct array over a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct DenseKey {
    slots: f64,
    base_rows: f64,
}

/// The direct array over `key`, when its bounds are proved.
pub(super) fn dense_key(key: &Expr, side: &Properties) -> Option<DenseKey> {
    let integer = key.ty.is_integer() || key.ty == DataType::Date;
    let column = tree::as_column(key).and_then(|id| side.column(id)).filter(|_| integer)?;
    let slots = column.range?.width() as f64;
    Some(DenseKey { slots, base_rows: column.base_rows })
}

impl DenseKey {
    /// As `lower::join::dense` decides.
    fn fits(self, build: f64) -> bool {
        cost::is_dense(self.slots, build, self.base_rows)
    }
}

/// A set of relations joined in the best way found.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Estimated rows.
    pub(super) rows: f64,
    /// Cost of everything below and itself.
    pub(super) cost: f64,
    /// The left side.
    pub(super) left: Relations,
    /// The right side.
    pub(super) right: Relations,
    /// The kind of the last join.
    pub(super) kind: JoinKind,
    /// Edges that the last join evaluates.
    pub(super) edges: Vec<usize>,
}

fn holds(edge: &Edge, whole: Relations) -> bool {
    edge.rules.iter().all(|(touched, needed)| touched & whole == 0 || needed & !whole == 0)
}

/// One of two sets that are joined.
#[derive(Clone, Copy)]
pub(super) struct Side<'s> {
    pub(super) set: Relations,
    /// The best way to join the relations of the set.
    pub(super) step: &'s Step,
}

/// The join of two disjoint sets; None when no edge connects them or a rule forbids it.
pub(super) fn combine(cluster: &Cluster, first: Side<'_>, second: Side<'_>) -> Option<Step> {
    let (a, b) = (first.set, second.set);
    let whole = a | b;
    let inside = |set: Relations, of: Relations| set & !of == 0;
    let mut inner: Vec<usize> = Vec::new();
    let mut other: Option<(usize, bool)> = None;
    for (i, edge) in cluster.edges.iter().enumerate() {
        let needs = edge.left | edge.right;
        if !inside(needs, whole) || inside(needs, a) || inside(needs, b) {
            continue;
        }
        if !holds(edge, whole) {
            return None;
        }
        if edge.kind == JoinKind::Inner {
            inner.push(i);
            continue;
        }
        let straight = inside(edge.left, a) && inside(edge.right, b);
        let turned = inside(edge.left, b) && inside(edge.right, a);
        if other.is_some() || !(straight || turned) {
            return None;
        }
        other = Some((i, turned));
    }
    match other {
        Some((i, turned)) => {
            if inner.iter().any(|i| !cluster.edges[*i].predicates.is_empty()) {
                return None;
            }
            let (left, right) = if turned { (second, first) } else { (first, second) };
            Some(special(&cluster.edges[i], i, left, right))
        }
        None if inner.is_empty() => None,
        None => Some(inner_join(cluster, inner, first, second)),
    }
}

fn special(edge: &Edge, index: usize, left: Side<'_>, right: Side<'_>) -> Step {
    let (left_set, right_set) = (left.set, right.set);
    let (left, right) = (left.step, right.step);
    let matched: f64 = edge
        .keys
        .iter()
        .map(|(distinct, whole)| (distinct.min(right.rows) / whole).min(1.0))
        .product();
    let rows = match edge.kind {
        JoinKind::Semi => left.rows * matched,
        JoinKind::Anti => left.rows * (1.0 - matched).max(0.02),
        _ => (left.rows * right.rows * edge.share).max(left.rows),
    };
    let rows = rows.max(1.0);
    let work = if edge.equal {
        let dense = |i: usize, build: f64| edge.dense[i].is_some_and(|key| key.fits(build));
        let straight = cost::hash_join(right.rows, left.rows, dense(1, right.rows));
        let swapped = cost::hash_join(left.rows, right.rows, dense(0, left.rows));
        straight.min(swapped * cost::swap_factor(edge.kind))
    } else {
        cost::nested_loops(right.rows, left.rows)
    };
    Step {
        rows,
        cost: left.cost + right.cost + work + rows,
        left: left_set,
        right: right_set,
        kind: edge.kind,
        edges: vec![index],
    }
}

fn inner_join(
    cluster: &Cluster,
    candidates: Vec<usize>,
    first: Side<'_>,
    second: Side<'_>,
) -> Step {
    let (a, b) = (first.set, second.set);
    let (first, second) = (first.step, second.step);
    // Of each class of equalities the most selective one is enough.
    let mut edges: Vec<usize> = Vec::with_capacity(candidates.len());
    for i in candidates {
        let class = cluster.edges[i].class;
        let same =
            edges.iter_mut().find(|known| class.is_some() && cluster.edges[**known].class == class);
        match same {
            Some(known) if cluster.edges[i].share < cluster.edges[*known].share => *known = i,
            Some(_) => {}
            None => edges.push(i),
        }
    }
    let share: f64 = edges.iter().map(|i| cluster.edges[*i].share).product();
    let rows = (first.rows * second.rows * share).max(1.0);
    let equalities: Vec<&Edge> =
        edges.iter().map(|i| &cluster.edges[*i]).filter(|edge| edge.equal).collect();
    let work = match &equalities[..] {
        [] => cost::nested_loops(first.rows.min(second.rows), first.rows.max(second.rows)),
        [edge] => {
            // Side 0 of the edge is on the first set, or on the second.
            let (of_first, of_second) = if edge.left & !a == 0 { (0, 1) } else { (1, 0) };
            let dense = |i: usize, build: f64| edge.dense[i].is_some_and(|key| key.fits(build));
            let build_second =
                cost::hash_join(second.rows, first.rows, dense(of_second, second.rows));
            let build_first = cost::hash_join(first.rows, second.rows, dense(of_first, first.rows));
            build_second.min(build_first)
        }
        _ => {
            let build_second = cost::hash_join(second.rows, first.rows, false);
            build_second.min(cost::hash_join(first.rows, second.rows, false))
        }
    };
    Step {
        rows,
        cost: first.cost + second.cost + work + rows,
        left: a,
        right: b,
        kind: JoinKind::Inner,
        edges,
    }
}
