//! The first rows by their distance from a vector.
//!
//! ```text
//! sort by d -> d = v <-> $1 -> scan             all rows, when what follows has too few
//! walk:        d = v <-> $1 -> near scan of v   the nearest that an index knows, then the next ...
//! ```
//! The index is asked where the table is large, or indexes are preferred; conditions are tested of
//! the rows that it finds. Rows of which it knows no vector come from the sort.

use sql::algebra::{Direction, Function, NullsOrder, Plan};
use sql::catalog::IndexMeta;
use types::packed::distance::Metric;

use super::Lowering;
use super::index::{Access, Found, ScanParts, apply, as_scan};
use crate::physical::{Expr, ExprKind, NearVector, Node, Operator, SortKey};
use crate::{IndexPaths, cost};

/// Rows of a table from which on the nearest are found by an index.
const ROWS_MIN: f64 = 1000.0;

/// A distance that a column of projections over a scan is.
struct Distance<'n> {
    metric: Metric,
    /// The column of the scan.
    column: usize,
    from: &'n Expr,
}

/// The distance from a vector that column `at` of `node` is, where it is one.
fn distance(node: &Node, at: usize) -> Option<Distance<'_>> {
    let Operator::Project { input, exprs } = &node.operator else { return None };
    let (call, arguments) = match &exprs.get(at)?.kind {
        ExprKind::Column(below) => return distance(input, *below),
        ExprKind::Call(Function::Packed(call), arguments) => (call, arguments),
        _ => return None,
    };
    let metric = Metric::of_function(call.function().name)?;
    let (column, from) = match arguments.as_slice() {
        [Expr { kind: ExprKind::Column(column), .. }, from] => (*column, from),
        [from, Expr { kind: ExprKind::Column(column), .. }] => (*column, from),
        _ => return None,
    };
    let column = scanned(input, column)?;
    is_fixed(from).then_some(Distance { metric, column, from })
}

/// The column of the scan below that column `at` of `node` is.
fn scanned(node: &Node, at: usize) -> Option<usize> {
    match &node.operator {
        Operator::Project { input, exprs } => match exprs.get(at)?.kind {
            ExprKind::Column(below) => scanned(input, below),
            _ => None,
        },
        _ => Some(at),
    }
}

/// True for what is the same for all rows.
fn is_fixed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Cast(inner) => is_fixed(inner),
        ExprKind::Call(Function::Packed(_), arguments) => arguments.iter().all(is_fixed),
        _ => expr.is_constant(),
    }
}

/// The node below projections.
fn bottom(node: &Node) -> &Node {
    match &node.operator {
        Operator::Project { input, .. } => bottom(input),
        _ => node,
    }
}

impl Lowering<'_, '_> {
    /// A scan of the rows of `node`, which is one under projections, by a near index of which the
    /// first ones are those wanted; None where there is no such index, or it is not worth it.
    pub(super) fn by_distance(
        &mut self,
        input: &Plan,
        node: &Node,
        sort: &[SortKey],
        first: Option<f64>,
    ) -> Option<Box<Node>> {
        let ([key], Some(first)) = (sort, first) else { return None };
        let ExprKind::Column(at) = key.expr.kind else { return None };
        let in_order = key.direction == Direction::Ascending && key.nulls == NullsOrder::Last;
        let paths = self.context.options.index_paths;
        if !in_order || paths == IndexPaths::Avoid {
            return None;
        }
        let Distance { metric, column, from } = distance(node, at)?;
        let lowest = bottom(node);
        let scan = ScanParts::of(as_scan(lowest))?;
        let ordinal = scan.columns.get(column)?;
        let fits = |index: &IndexMeta| {
            index.near_form().is_some_and(|form| form.metric == metric)
                && !index.is_partial()
                && index.columns.iter().all(|column| column.ordinal == *ordinal)
        };
        let index = scan.table.indexes().iter().position(fits)?;
        let whole = self.context.table(scan.table).rows;
        let few = matches!(lowest.operator, Operator::IndexScan { .. })
            && cost::index(1.0, lowest.rows) < cost::scan(whole);
        let is_worth = whole >= ROWS_MIN.max(first) && !few;
        if !is_worth && paths != IndexPaths::Prefer || input.is_volatile() {
            return None;
        }
        let mut access = Access::any(index);
        let breadth = self.context.options.near.breadth;
        access.way.near = Some(NearVector { from: from.clone(), breadth });
        let mut near = as_scan(lowest).clone();
        apply(&mut near, Found::of(access), None);
        let rows = near.rows;
        let near = self.node(near.operator, near.output, rows);
        Some(Box::new(self.projected(node, near)))
    }

    /// `lowest` under the projections of `node`.
    fn projected(&mut self, node: &Node, lowest: Node) -> Node {
        let Operator::Project { input, exprs } = &node.operator else { return lowest };
        let input = Box::new(self.projected(input, lowest));
        let operator = Operator::Project { input, exprs: exprs.clone() };
        self.node(operator, node.output.clone(), node.rows)
    }

    /// The first rows by `index`, which [`Self::by_distance`] made, before those of the sort.
    pub(super) fn near_walk(&mut self, index: Box<Node>, sort: Node) -> Node {
        let entries_max = self.context.options.near.entries_max.into();
        let (output, rows) = (sort.output.clone(), sort.rows);
        let operator = Operator::Walk { index, entries_max, sort: Box::new(sort) };
        self.node(operator, output, rows)
    }
}
